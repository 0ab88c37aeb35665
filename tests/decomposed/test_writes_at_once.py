"""In-place methods of tensors that no other one looks at, by the short way: against the general one, which is gone
while somebody looks on."""

from __future__ import annotations

import pytest
import torch

import npdec as np

V = torch.tensor([0.5, -1.0, 4.0])
METHODS = {
    "add_ of a number": lambda x: x.add_(1),
    "sub_": lambda x: x.sub_(V),
    "mul_": lambda x: x.mul_(V),
    "div_": lambda x: x.div_(2),
    "add_ of itself": lambda x: x.add_(x),
    "sub_ of its value": lambda x: x.sub_(x.value),
    "mul_ of itself": lambda x: x.mul_(x),
    "add_ by name": lambda x: x.add_(V, alpha=2),
    "+=": lambda x: x.__iadd__(V),
    "*=": lambda x: x.__imul__(3),
    "masked_fill_": lambda x: x.masked_fill_(V > 0, 2.0),
    "relu_": lambda x: x.relu_(),
    "tanh_": lambda x: x.tanh_(),
    "clamp_": lambda x: x.clamp_(0, 1),
    "neg_": lambda x: x.neg_(),
    "floor_": lambda x: x.floor_(),
    "add_ of another dtype": lambda x: x.add_(torch.tensor(1.0, dtype=torch.float64)),
}


def _tensor():
    return np.decompose(torch.tensor([1.25, -2.0, 3.5]), baseline=torch.tensor([0.5, 0.1, 0.2]))


@pytest.mark.quick
@pytest.mark.parametrize("name", METHODS)
def test_parts_are_written_where_they_are(name):
    x, other = _tensor(), _tensor()
    parts = x.value, x.residual, x.components
    assert METHODS[name](x) is x
    with np.check_completeness():
        METHODS[name](other)
    for before, after, expected in zip(
        parts, (x.value, x.residual, x.components), (other.value, other.residual, other.components), strict=True
    ):
        assert after is before
        torch.testing.assert_close(after, expected, rtol=1e-6, atol=1e-6)
    assert x._version == other._version
    assert x.writes == other.writes


@pytest.mark.quick
def test_what_does_not_fit_writes_nothing():
    x = _tensor()
    before = x.value.clone(), x.residual.clone(), x.components.clone()
    for write in (lambda: x.add_(torch.ones(2, 3)), lambda: x.mul_(V[:2]), lambda: x.add_(1j)):
        with pytest.raises(RuntimeError):
            write()
    assert all(map(torch.equal, before, (x.value, x.residual, x.components)))


@pytest.mark.quick
def test_other_tensors_over_the_memory_see_it():
    x = _tensor()
    seen, parts = x[1:], x.value
    x.add_(1)
    assert torch.equal(seen.value, parts[1:])
    seen.mul_(2)
    assert torch.equal(parts, torch.tensor([2.25, -2.0, 9.0]))
    torch.testing.assert_close(x.c_sum(), x.value)


@pytest.mark.quick
def test_weights_that_require_gradients_and_leaves():
    weight = V.clone().requires_grad_()
    x = _tensor()
    x.add_(weight)
    assert torch.equal(torch.autograd.grad(x.value.sum(), weight)[0], torch.ones(3))
    leaf = np.decompose(V.clone().requires_grad_(), baseline=V / 2)
    made = leaf * 2
    made.relu_()
    torch.testing.assert_close(made.c_sum(), made.value)
    assert made.value.requires_grad
