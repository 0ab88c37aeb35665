"""softmax, its logarithm, logsumexp and attention against quadrature of their derivatives, written out here."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from path_integrals import agree, decomposed, parts, randn, reference, uniform

MASK = torch.tensor([[0.0, 0, -torch.inf, 0, 0], [0.0, 0, 0, 0, -torch.inf], [0.0, -torch.inf, -torch.inf, 0, 0]])
FUNCTIONS = {
    "torch.softmax": (lambda x: torch.softmax(x, -1), (3, 5)),
    "softmax of the first axis": (lambda x: torch.softmax(x, 0), (4, 3)),
    "softmax of a middle axis": (lambda x: x.softmax(dim=1), (2, 4, 3)),
    "F.softmax": (lambda x: F.softmax(x, dim=1), (2, 4)),
    "special.softmax": (lambda x: torch.special.softmax(x, 0), (4,)),
    "softmax of two": (lambda x: torch.softmax(x, 0), (2,)),
    "softmax of a number": (lambda x: torch.softmax(x, 0), ()),
    "softmin": (lambda x: F.softmin(x, 1), (2, 4)),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), (3, 5)),
    "F.log_softmax of the first axis": (lambda x: F.log_softmax(input=x, dim=0), (4, 3)),
    "Tensor.log_softmax": (lambda x: x.log_softmax(0), (4,)),
    "logsumexp": (lambda x: torch.logsumexp(x, -1), (3, 5)),
    "logsumexp of two axes": (lambda x: torch.logsumexp(x, (0, 2), keepdim=True), (2, 3, 4)),
    "Tensor.logsumexp": (lambda x: x.logsumexp(dim=[0]), (5, 2)),
    "Softmax": (torch.nn.Softmax(dim=-1), (3, 4)),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 2])), (2, 4)),
}


@pytest.mark.parametrize("length", [1.0, 6.0, 30.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_the_path_integral_of_its_derivative(name, length):
    f, shape = FUNCTIONS[name]
    x, r = length * randn(*shape), length * randn(*shape, seed=7)
    components = parts(x, r)
    made = f(decomposed(x, r, components))
    assert torch.equal(made.value, f(x))
    assert torch.equal(made.residual, f(r))
    agree(made.components, reference(f, x, r, components, uniform(round(3 + 2 * length))), 1e-12, 1.0)
    agree(made.c_sum(), made.value, 1e-12)
    single = f(decomposed(x.float(), r.float(), components.float()))
    assert single.components.dtype == torch.float32
    agree(single.components.double(), made.components, 5e-5, 1.0)


@pytest.mark.parametrize("length", [1.0, 6.0, 30.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_is_reverse(name, length):
    f, shape = FUNCTIONS[name]
    x, r = length * randn(*shape), length * randn(*shape, seed=7)
    weights = randn(*f(x).shape, seed=8) if f(x).ndim else 1.0
    forward = (f(np.decompose(x, baseline=r)) * weights).sum()
    reverse = np.attribute(lambda u: (f(u) * weights).sum(), x, baseline=r)
    agree(forward.components.reshape(shape), reverse.attribution, 1e-12)


@pytest.mark.parametrize("length", [1.0, 6.0, 30.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_components(name, length):
    f, shape = FUNCTIONS[name]

    def made(x, r):
        fixed = randn(2, *x.shape, seed=9)
        return f(decomposed(x, r, torch.cat([fixed, (x - r - fixed.sum(0))[None]]))).components

    x, r = length * randn(*shape), length * randn(*shape, seed=7)
    assert torch.autograd.gradcheck(made, (x.requires_grad_(), r.requires_grad_()), fast_mode=True)
