"""Max pools in reverse mode beside the law forward, and beside integrated gradients of many nodes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._native import calls
from npdec._rules import pooling_reverse

pytestmark = pytest.mark.slow

POOLS = {
    "max_pool1d": ((2, 2, 13), [(3,), (4, 2, 1), (3, 1, 1, 2)]),
    "max_pool2d": (
        (2, 3, 9, 8),
        [(2,), (3, 2, 1), ((3, 2), (1, 2), (1, 0)), (2, 1, 0, 3), ((5, 6), 2, (2, 3))],
    ),
    "max_pool3d": ((2, 2, 4, 3, 5), [(2,), (3, 1, 1), ((1, 2, 3), (1, 1, 2))]),
}


def inputs(shape: tuple[int, ...], kind: str, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    x, r = torch.randn((2, *shape), generator=generator, dtype=torch.float64).to(dtype).unbind(0)
    if kind == "equal numbers":  # lines that are one, start as one or end as one
        return (x * 1.5).round(), (r * 1.5).round()
    if kind == "signed zeros":
        return torch.where(x > 0.3, -0.0, x.clamp(max=0.0)), torch.zeros((), dtype=dtype)
    return x, {"a number": torch.tensor(0.25, dtype=dtype), "a row": r[:1], "a channel": r[:1, :1], "apart": r}[kind]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("kind", ["apart", "a row", "a channel", "a number", "equal numbers", "signed zeros"])
@pytest.mark.parametrize("name", POOLS)
def test_gradients_are_those_of_the_law_forward(name: str, kind: str, dtype: torch.dtype, monkeypatch):
    shape, settings = POOLS[name]
    x, r = inputs(shape, kind, dtype)
    for given in settings:
        pool = getattr(F, name)
        weights = torch.rand(pool(x, *given).shape, dtype=dtype)

        def weighed(t: torch.Tensor, pool=pool, given=given, weights=weights) -> torch.Tensor:
            return (pool(t, *given) * weights).sum()

        found = np.attribute(weighed, x, baseline=r)
        forward = np.attribute(weighed, x, baseline=r, mode="forward")
        torch.testing.assert_close(found.attribution, forward.attribution, msg=str(given))
        marked = np.decompose(x, baseline=r)
        assert torch.equal(pool(marked, *given).value, pool(x, *given))
        with monkeypatch.context() as patch:
            patch.setattr(pooling_reverse, "calls", None)
            plain = np.attribute(weighed, x, baseline=r)
        torch.testing.assert_close(found.attribution, plain.attribution, msg=str(given))
        assert torch.equal(found.value, plain.value)
        assert torch.equal(found.residual, plain.residual)


def test_values_are_torchs_to_the_sign_of_zero():
    x, _ = inputs((2, 3, 9, 8), "signed zeros", torch.float32)
    for given in [(2,), (3, 2, 1)]:
        seen = []

        def pooled(t: torch.Tensor, given=given, seen=seen) -> torch.Tensor:
            made = F.max_pool2d(t, *given)
            seen.append(made.value)
            return made.sum()

        np.attribute(pooled, x)
        assert torch.equal(seen[0].view(torch.int32), F.max_pool2d(x, *given).view(torch.int32))


@pytest.mark.skipif(calls is None, reason="not built")
def test_gradients_go_back_by_torch_while_somebody_looks_on(monkeypatch):
    x, r = inputs((2, 3, 9, 8), "apart", torch.float64)
    for given in [(2,), (3, 2, 1), ((3, 2), (1, 2), (1, 0)), (2, 1, 0, 3)]:

        def pooled(t: torch.Tensor, given=given) -> torch.Tensor:
            return (F.max_pool2d(t, *given) ** 2).sum()

        found = np.attribute(pooled, x, baseline=r)
        back = pooling_reverse._Back.__call__

        def watched(self: pooling_reverse._Back, grad: torch.Tensor, back=back) -> torch.Tensor:
            with torch.overrides.BaseTorchFunctionMode():
                return back(self, grad)

        with monkeypatch.context() as patch:
            patch.setattr(pooling_reverse._Back, "__call__", watched)
            again = np.attribute(pooled, x, baseline=r)
        torch.testing.assert_close(found.attribution, again.attribution)


def test_what_is_not_finite_is_looked_at_by_the_general_way():
    x, r = inputs((2, 3, 9, 8), "apart", torch.float64)
    x[0, 0, 0, 0] = torch.nan
    assert torch.isnan(np.attribute(lambda t: F.max_pool2d(t, 2)[0, 0, 0, 0], x, baseline=r).value)
    x[0, 0, 0, 0] = -torch.inf
    found, forward = [
        np.attribute(lambda t: F.max_pool2d(t, 2)[1].sum(), x, baseline=r, mode=mode) for mode in ("reverse", "forward")
    ]
    torch.testing.assert_close(found.attribution[1], forward.attribution[1])
    assert torch.equal(found.value, forward.value)
