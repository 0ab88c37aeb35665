"""Secant slopes in one pass over memory (`npdec._native`) beside those of torch's calls, and what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from native_cases import native
from npdec._decomposed.axes import narrowed
from npdec._decomposed.registry import Trait, traits_of
from npdec._decomposed.tensor import DecomposedTensor, first_use
from npdec._law.secant import at_once, secant

FUNCTIONS: list[Callable[..., Any]] = [
    F.relu, F.gelu, F.silu, F.elu, F.softplus, F.leaky_relu, torch.abs, torch.sin, torch.exp, F.mish
]  # fmt: skip
SHAPES = {
    "rows apart": ((3, 700), (3, 700)), "one row": ((4, 5, 300), (300,)), "a short row": ((90, 7), (7,)),
    "a number": ((700,), ()), "one row of many": ((3, 2, 1500), (2, 1500)),
}  # fmt: skip


def ends(shape: tuple[int, ...], row: tuple[int, ...], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers and baselines, of which some are close and some are equal."""
    first_use.value()
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(shape, generator=generator, dtype=dtype)
    r = torch.randn(row, generator=generator, dtype=dtype).expand(shape)
    near = torch.rand(shape, generator=generator)
    x = torch.where(near < 0.1, r + 1e-3 * x, x)
    return torch.where(near > 0.95, r, x), r


@native
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SHAPES)
def test_slopes_are_those_of_the_definition(name: str, dtype: torch.dtype):
    x, r = ends(*SHAPES[name], dtype)
    for function in FUNCTIONS:
        fx, fr = function(x), function(r)
        row = function(narrowed(r, r.ndim)).expand(r.shape)
        found = at_once(function, function, traits_of(function), x, r, fx, row)
        assert found is not None, function
        plain = secant(function, x, r, fx, fr)
        exact = secant(function, x.double(), r.double(), function(x.double()), function(r.double())).multiplier
        eps = torch.finfo(dtype).eps
        missed = (found.multiplier - exact).abs()
        if traits_of(function) & Trait.PIECEWISE_LINEAR:  # as exact as the difference is
            missed = torch.where(x == r, missed, missed - 4 * eps * (fx.abs() + fr.abs()) / (x - r).abs())
        allowed = 64 * eps if dtype is torch.float32 else 1e-11  # of the other, which has lost some of its digits
        assert (missed / exact.abs().clamp(min=1)).max() <= allowed, function
        assert found.steep == plain.steep


@native
def test_what_leaves_the_range_is_looked_at_more_closely():
    x = torch.tensor([1.0, 2.0]).repeat(400)
    for number in (torch.inf, torch.nan, 1e30):
        moved = x.clone()
        moved[77] = number
        for function in (F.gelu, F.relu):
            r = torch.zeros(()).expand(x.shape)
            assert at_once(function, function, traits_of(function), moved, r, function(moved), r) is None


@native
def test_numbers_that_lie_otherwise_are_torchs():
    x, r = ends((30, 40), (30, 40), torch.float64)
    fx, fr = F.gelu(x), F.gelu(r)
    assert at_once(F.gelu, F.gelu, traits_of(F.gelu), x, r, fx, fr) is not None
    assert at_once(F.gelu, F.gelu, traits_of(F.gelu), x.T, r.T, fx.T, fr.T) is None
    assert at_once(F.gelu, F.gelu, traits_of(F.gelu), x[:, ::2], r[:, ::2], fx[:, ::2], fr[:, ::2]) is None
    half = [t.to(torch.float16) for t in (x, r, fx, fr)]
    assert at_once(F.gelu, F.gelu, traits_of(F.gelu), *half) is None
    with torch.overrides.BaseTorchFunctionMode():
        assert at_once(F.gelu, F.gelu, traits_of(F.gelu), x, r, fx, fr) is None


@native
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "layer",
    [
        lambda x, w, b: F.layer_norm(x, (6,), w[:6], b[:6]),
        lambda x, w, b: F.rms_norm(x, (6,), w[:6], 1e-4),
        lambda x, w, b: F.group_norm(x, 2, w[:4], b[:4]),
    ],
)
def test_normalisations_in_reverse_mode_are_what_paths_give(layer: Callable[..., torch.Tensor], dtype: torch.dtype):
    """By integrated gradients, which are the law of one operation, in double precision; also of gradients that are
    taken back while somebody looks on."""
    torch.manual_seed(5)
    x, factor = torch.randn(2, 2, 4, 6, dtype=dtype).unbind(0)
    w, b = torch.randn(2, 8, dtype=dtype)
    baselines = {
        "a number": 0.5, "a row": torch.randn(6, dtype=dtype), "apart": torch.randn(2, 4, 6, dtype=dtype),
        "close": x + 1e-2 * factor, "across": -x + 1e-2 * factor, "nothing": 0.0,
    }  # fmt: skip
    for name, baseline in baselines.items():

        def weighed(t: torch.Tensor) -> torch.Tensor:
            return (layer(t, w.to(t.dtype), b.to(t.dtype)) * factor.to(t.dtype)).sum()

        found = np.attribute(weighed, x, baseline=baseline)
        base = baseline.double() if isinstance(baseline, torch.Tensor) else baseline
        wanted = np.attribute(weighed, x.double(), baseline=base, method="path", rtol=1e-11).attribution
        size = wanted.abs().max()
        bound = 1e-6 if dtype is torch.float64 else 2e-5  # near a singular point of quadrature, too
        assert (found.attribution - wanted).abs().max() < bound * size, name
        assert found.error.abs() < 100 * torch.finfo(dtype).eps * (size + abs(found.value) + abs(found.residual)), name
        with torch.overrides.BaseTorchFunctionMode():
            watched = np.attribute(weighed, x, baseline=baseline)
        close = 1e-11 if dtype is torch.float64 else 1e-5  # by the general way, in torch's calls
        assert (watched.attribution - found.attribution).abs().max() < close * size, name


@native
def test_gradients_go_back_by_torch_while_somebody_looks_on():
    """What was kept by the way forward is read by torch's calls alike."""
    torch.manual_seed(2)
    x, weight = torch.randn(5, 4, 6, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    for baseline in (0.0, 0.3, torch.randn(5, 4, 6, dtype=torch.float64)):
        t = np.decompose(x, baseline=baseline).value
        carrier = (t - baseline).unsqueeze(0).requires_grad_()
        residual = torch.as_tensor(baseline, dtype=torch.float64).expand(x.shape)
        marked = DecomposedTensor(t, residual, carrier.clone(), ("all",), reverse=True)
        component = F.group_norm(marked, 2, weight).components
        grad = torch.randn_like(component)
        first = torch.autograd.grad(component, carrier, grad, retain_graph=True)[0]
        with torch.overrides.BaseTorchFunctionMode():
            second = torch.autograd.grad(component, carrier, grad)[0]
        torch.testing.assert_close(first, second, rtol=1e-10, atol=1e-11)
