"""Elements of decomposed booleans and integers that are moved: beside the general law, and over the same memory."""

from __future__ import annotations

import pytest
import torch

import npdec as np


def booleans(labels="ab", dtype=torch.float64):
    components = torch.tensor([[1.5, -0.5, 0.0], [-0.5, -0.5, 0.0]], dtype=dtype)
    made = np.DecomposedTensor(
        torch.tensor([True, False, True]), torch.tensor([False, True, True]), components, tuple(labels)
    )
    made.discrete = True
    return made


def integers(dtype=torch.float64):
    value, residual = torch.tensor([[3, 1, 4], [1, 5, 9]]), torch.tensor([[2, 7, 1], [8, 2, 8]])
    change = (value - residual).to(dtype)
    made = np.DecomposedTensor(value, residual, torch.stack([0.25 * change, 0.75 * change]), ("a", "b"))
    made.discrete = True
    return made


CALLS = [
    "c[0]", "c[1:]", "c[-1:]", "n[1]", "n[:, 1:]", "n[0, 2]", "n[..., 0]", "c[torch.tensor([2, 0])]", "n.T", "n.mT",
    "n.flip(1)", "torch.roll(c, 1)", "n.reshape(3, 2)", "n.reshape(-1)", "c.unsqueeze(0)", "c.expand(2, 3)", "n.t()",
    "torch.stack([c, d])", "torch.stack([n, n], 1)", "torch.cat([c, d, p])", "torch.cat([n, n], -1)", "c.unbind()",
    "n.unbind(1)", "n.chunk(2)", "n.split([1, 1])", "n.tril()", "n.diagonal()", "torch.tile(c, (2,))", "c.repeat(2)",
    "torch.take(n, torch.tensor([5, 0]))", "torch.repeat_interleave(c, 2)", "n.permute(1, 0)", "n.select(0, 1)",
    "torch.gather(n, 1, torch.tensor([[0, 2], [1, 1]]))", "n.narrow(1, 0, 2)", "torch.movedim(n, 0, 1)",
    "torch.diag(c.to(torch.int64))", "torch.meshgrid([c, d], indexing='ij')",
]  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("call", CALLS)
def test_moved_elements_have_what_they_had(call, dtype):
    given = {"c": booleans(dtype=dtype), "d": booleans("bx", dtype), "n": integers(dtype), "torch": torch}
    given["p"] = torch.tensor([True, False])
    made = eval(call, given)
    with np.check_completeness():
        general = eval(call, given)
    if isinstance(made, np.DecomposedTensor):
        made, general = [made], [general]
    assert len(made) == len(general)
    for found, wanted in zip(made, general, strict=True):
        assert found.discrete
        assert found.labels == wanted.labels
        for part in ("value", "residual", "components"):
            a, b = getattr(found, part), getattr(wanted, part)
            assert a.dtype is b.dtype
            assert torch.equal(a, b), part
        assert (found.views is None) == (wanted.views is None)


@pytest.mark.quick
@pytest.mark.parametrize("call", ["n[1]", "n[:, 1:]", "n.T", "n.reshape(-1)", "n.unbind()[0]", "n.diagonal()"])
def test_what_is_written_into_a_view_is_in_both(call):
    n = integers()
    view = eval(call, {"n": n})
    view.fill_(7)
    at = eval(call, {"n": n.value})
    assert bool((at == 7).all())
    assert not eval(call, {"n": n.components[0]}).any() if call != "n.T" else not n.components.any()


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore:.* is frozen:npdec.exceptions.DecompositionWarning")
def test_indices_that_are_decomposed_are_looked_at():
    n, c = integers(), booleans()
    assert torch.equal(n[:, c].value, n.value[:, c.value])
    assert n[:, c].labels == n.labels
