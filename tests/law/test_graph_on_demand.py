"""Gradients of contributions whose graph is made when they are asked for: against those of the graph made at once, and
against differences."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._native import calls

WEIGHT = torch.linspace(0.5, 2, 4, dtype=torch.float64).requires_grad_()
FUNCTIONS = {
    "relu": F.relu,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "softmax": lambda h, _: torch.softmax(h / 4, -1),
    "log_softmax of the first axis": lambda h, _: F.log_softmax(h, dim=0),
    "layer_norm": lambda h, _: F.layer_norm(h, (4,), WEIGHT, WEIGHT.sin()),
    "rms_norm": lambda h, _: F.rms_norm(h, (4,), weight=WEIGHT),
    "a quotient": lambda h, g: h / (g.square() + 3),
    "of two, the second made of the first": lambda h, _: torch.hypot(h, h + 1),
    "of two": torch.atan2,
    "a power": lambda h, _: (h.square() + 1) ** 1.5,
    "the magnitude": lambda h, _: torch.abs(h),
    "clamp": lambda h, _: h.clamp(-0.3, 0.4),
    "max": lambda h, _: h.max(),
}
ONE = {"relu", "tanh", "gelu"}


@pytest.fixture
def layers():
    torch.manual_seed(3)
    return torch.nn.Linear(3, 4).double(), torch.nn.Linear(4, 4).double()


def _gradients(name, layers, twice):
    """What a call gives, and gradients of a sum of its parts by what it was computed of, or of their squares."""
    first, second = layers
    torch.manual_seed(5)
    x, r = torch.randn(2, 2, 3, dtype=torch.float64)
    x.requires_grad_()
    h = first(np.decompose(x, baseline=r))
    made = FUNCTIONS[name](h) if name in ONE else FUNCTIONS[name](h, second(h))
    parts = made.components, made.value, made.residual
    of = [x, WEIGHT, *first.parameters(), *second.parameters()]
    total = sum((part * torch.linspace(1, 2, part.numel()).reshape(part.shape)).sum() for part in parts)
    grads = torch.autograd.grad(total, of, create_graph=twice, allow_unused=True)
    if twice:
        squares = sum(grad.square().sum() for grad in grads if grad is not None and grad.requires_grad)
        grads = torch.autograd.grad(squares, of, allow_unused=True) if isinstance(squares, torch.Tensor) else ()
    return made, [torch.zeros_like(t) if grad is None else grad for t, grad in zip(of, grads, strict=False)]


@pytest.mark.quick
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("twice", [False, True])
def test_gradients_are_those_of_a_graph_made_at_once(layers, name, twice):
    made, grads = _gradients(name, layers, twice)
    if calls is not None or "norm" not in name:  # layers by rows are C's
        assert "_Components" in _names(made.components.grad_fn)
    with np.check_completeness():  # while somebody looks on, all goes the general way
        other, expected = _gradients(name, layers, twice)
    assert "_Components" not in _names(other.components.grad_fn)
    assert torch.equal(made.value, other.value)
    assert torch.equal(made.residual, other.residual)
    torch.testing.assert_close(made.components, other.components, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(grads, expected, rtol=1e-10, atol=1e-12)


def _names(node):
    """The names of the nodes of a graph."""
    found, waiting = set(), [node]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting.extend(inner for inner, _ in node.next_functions)
    return " ".join(node.name() for node in found)


@pytest.mark.quick
def test_by_differences(layers):
    """Gradients by a weight of a contribution are what it changes by."""
    x, r = torch.randn(2, 3, dtype=torch.float64)

    def contribution(weight):
        h = F.linear(np.decompose(x, baseline=r), weight)
        return torch.softmax(F.gelu(h), 0).components

    weight = layers[0].weight.detach().requires_grad_()
    assert torch.autograd.gradcheck(contribution, (weight,), atol=1e-7)


@pytest.mark.quick
def test_several_gradients_at_once_and_the_rule_in_force(layers):
    """Gradients go back in a batch; the rule is the one under which the contributions were computed."""
    x, r = torch.randn(2, 3, dtype=torch.float64)
    d = np.decompose(x, baseline=r)
    weight = layers[0].weight
    made = torch.tanh(layers[0](d)).components.sum(0)
    each = [torch.autograd.grad(one, weight, retain_graph=True)[0] for one in made]
    together = torch.autograd.grad(made, weight, torch.eye(4).double(), is_grads_batched=True)[0]
    torch.testing.assert_close(together, torch.stack(each))
    loss = torch.tanh(layers[0](d)).components[0].sum()
    expected = torch.autograd.grad(loss, weight, retain_graph=True)[0]
    with np.rule("scaling"):
        found = torch.autograd.grad(loss, weight)[0]
    assert torch.equal(found, expected)


@pytest.mark.quick
@pytest.mark.parametrize("write", [lambda h: h.mul_(2), lambda h: h[0].zero_()])
def test_arguments_that_were_written_since_are_named(layers, write):
    """Nothing is computed of what stands there now, and a clone is not written."""
    x = np.decompose(torch.randn(2, 3, dtype=torch.float64))
    h = layers[0](x)
    given = h.clone()
    expected = torch.autograd.grad(torch.tanh(h).components.sum(), layers[0].weight, retain_graph=True)[0]
    made, apart = torch.tanh(h).components.sum(), torch.tanh(given).components.sum()
    write(h)
    assert torch.equal(torch.autograd.grad(apart, layers[0].weight)[0], expected)
    with pytest.raises(RuntimeError, match=r"tanh: .* written since; make a new tensor"):
        torch.autograd.grad(made, layers[0].weight)
