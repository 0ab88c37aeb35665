"""Operators in place on arrays of a few decomposed numbers are what the operators are that make new arrays, and views,
tensors and flags follow as for larger ones."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch

import npdec as np

pytestmark = pytest.mark.quick
OPERATORS = {
    "iadd": operator.add, "isub": operator.sub, "imul": operator.mul, "itruediv": operator.truediv,
    "ifloordiv": operator.floordiv, "imod": operator.mod, "ipow": operator.pow,
}  # fmt: skip


def given(dtype: str = "float64") -> Any:
    return np.decompose(np.asarray([1.5, -0.4, 2.2], dtype=dtype), baseline=np.asarray([0.1, 0.2, 0.3], dtype=dtype))


@pytest.mark.filterwarnings("ignore::npdec.exceptions.DecompositionWarning")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_written_is_what_is_made(name, dtype):
    """Beside numbers, itself, and what has the same labels or others."""
    x, others = given(dtype), np.decompose(np.asarray([2.0, 3.0, 4.0], dtype=dtype), baseline=1.0)
    for other in (2, 2.5, np.asarray(1.5, dtype=dtype)[()], x[0] if name != "ipow" else 2.0, others, others[1]):
        wanted = OPERATORS[name](x, other)._t
        written = x.copy()
        held = written
        written = getattr(operator, name)(written, other)
        assert written is held
        found = written._t
        assert found.labels == wanted.labels
        for part in ("value", "residual", "components"):
            one, another = getattr(found, part), getattr(wanted, part)
            assert one.dtype is another.dtype
            assert torch.allclose(one, another, rtol=1e-6, atol=1e-6, equal_nan=True), part


def test_views_follow_what_is_written():
    """A view that was made before has what is written, and a write into it is one into the array."""
    x = given()
    array = x.copy()
    view = array[:2]
    array += 1.0
    assert view.value.tolist() == array.value.tolist()[:2]
    view *= 2.0
    assert array.value.tolist() == [5.0, 1.2, 3.2]
    assert torch.equal(array._t.components[:, :2], view._t.components)


def test_a_tensor_that_was_handed_out_follows():
    """It is the array's own, and autograd is told of the write."""
    array = given().copy()
    tensor, before = array.tensor, array.tensor.value._version
    array -= 0.5
    assert tensor is array.tensor
    assert tensor.value.tolist() == [1.0, -0.9, 1.7000000000000002]
    assert tensor.value._version > before


def test_refusals_write_nothing():
    """An array that is not to be written, one of another shape, and integers."""
    array = given().copy()
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        array += 1.0
    array = given().copy()
    with pytest.raises(ValueError):
        array += np.ones((2, 3))
    assert array.value.tolist() == [1.5, -0.4, 2.2]


def test_graphs_go_on():
    """Contributions that require gradients have them through what is written."""
    leaf = torch.tensor([[0.5, 1.0]], dtype=torch.float64, requires_grad=True)
    value = torch.tensor([1.5, 2.0], dtype=torch.float64)
    array = np.asarray(np.DecomposedTensor(value, value - leaf.detach()[0], leaf * 1.0, ("a",)))
    array *= 3.0
    array._t.components.sum().backward()
    assert leaf.grad.tolist() == [[3.0, 3.0]]
