"""PyDec 0.3.0, for each of its algorithms on the operations that it has, against np.rule of the same name.

Not compared is what PyDec 0.3.0 refuses whatever it is given: conv2d and max_pool2d.
"""

from __future__ import annotations

import contextlib

import pydec
import pytest
import torch
import torch.nn.functional as F
from pydec.core import decOVF

import npdec as np

F64 = torch.float64
COMPONENTS = 4

RULES = [
    ("affine", {}),
    ("abs_affine", {}),
    ("hybrid_affine", {}),
    ("hybrid_affine", {"threshold": 0.2}),
    ("hybrid_affine", {"threshold": 0.6}),
    ("scaling", {}),
    ("none", {}),
]
each_rule = pytest.mark.parametrize(("name", "options"), RULES, ids=str)


@contextlib.contextmanager
def under(name, options):
    """The rule in both libraries; PyDec's arguments are those of its context, too."""
    with (
        np.rule(name, **options),
        decOVF.using_decomposition_func(name),
        decOVF.using_decomposition_args(**options),
    ):
        yield


def both(*shape, seed=0, positive=False):
    """The same decomposition for either library; its value is positive where that is asked for."""
    source = torch.Generator().manual_seed(seed)
    components = torch.randn(COMPONENTS, *shape, generator=source, dtype=F64)
    residual = torch.randn(shape, generator=source, dtype=F64)
    if positive:
        components, residual = components.abs(), residual.abs() + 0.1
    value = residual + components.sum(0)
    own = np.DecomposedTensor(value, residual.clone(), components.clone(), tuple(range(COMPONENTS)))
    return own, pydec.as_composition(components, residual)


def same(own, other, atol=1e-12):
    torch.testing.assert_close(own.components, other.components, rtol=1e-10, atol=atol)
    torch.testing.assert_close(own.residual, other.residual, rtol=1e-10, atol=atol)
    torch.testing.assert_close(own.value, other.c_sum(), rtol=1e-10, atol=atol)


POINTWISE = {
    "relu": (F.relu, pydec.nn.functional.relu, False),
    "leaky_relu": (F.leaky_relu, decOVF.leaky_relu, False),
    "gelu": (F.gelu, decOVF.gelu, False),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), lambda x: decOVF.gelu(x, "tanh"), False),
    "tanh": (torch.tanh, pydec.tanh, False),
    "sigmoid": (torch.sigmoid, pydec.sigmoid, False),
    "exp": (torch.exp, pydec.exp, False),
    "reciprocal": (torch.reciprocal, pydec.reciprocal, True),
    "sqrt": (torch.sqrt, pydec.sqrt, True),
}


@each_rule
@pytest.mark.parametrize("operation", POINTWISE)
def test_pointwise(operation, name, options):
    own, theirs, positive = POINTWISE[operation]
    mine, other = both(7, 5, positive=positive)
    with under(name, options):
        same(own(mine), theirs(other))


IN_PLACE = [rule for rule in RULES if rule[0] != "scaling"]  # in place, PyDec's scaling fails for its shapes


@pytest.mark.parametrize(("name", "options"), IN_PLACE, ids=str)
@pytest.mark.parametrize("method", ["relu_", "tanh_", "sigmoid_", "exp_"])
def test_in_place(method, name, options):
    mine, other = both(7, 5, seed=1)
    with under(name, options):
        getattr(mine, method)()
        same(mine, getattr(pydec, method)(other))


def test_square_is_always_the_secant():
    mine, other = both(7, 5)
    same(torch.square(mine), pydec.square(other))


M = torch.randn(5, 3, generator=torch.Generator().manual_seed(9), dtype=F64)
W, B = M.T.contiguous(), M[0]
LINEAR = {
    "add": (lambda x: x + 2, lambda x: x + 2),
    "sub": (lambda x: 3 * x - x - 1, lambda x: 3 * x - x - 1),
    "mul": (lambda x: x * M[:, 0], lambda x: x * M[:, 0]),
    "div": (lambda x: x / 3, lambda x: x / 3),
    "matmul": (lambda x: x @ M, lambda x: x @ M),
    "linear": (lambda x: F.linear(x, W, B), lambda x: pydec.nn.functional.linear(x, W, B)),
    "sum": (lambda x: x.sum(0), lambda x: x.sum(0)),
    "mean": (lambda x: x.mean(-1), lambda x: x.mean(-1)),
    "transpose": (lambda x: x.transpose(0, 1), lambda x: x.transpose(0, 1)),
    "permute": (lambda x: x.permute(1, 0), lambda x: x.permute(1, 0)),
    "reshape": (lambda x: x.reshape(5, 7), lambda x: x.reshape(5, 7)),
    "unsqueeze": (lambda x: x.unsqueeze(1), lambda x: x.unsqueeze(1)),
    "index": (lambda x: x[2:5, 1], lambda x: x[2:5, 1]),
    "select": (lambda x: torch.index_select(x, 0, ROWS), lambda x: pydec.index_select(x, 0, ROWS)),
    "cat": (lambda x: torch.cat([x, 2 * x]), lambda x: pydec.cat([x, 2 * x])),
    "stack": (lambda x: torch.stack([x, x]), lambda x: pydec.stack([x, x])),
    "masked_fill": (lambda x: x.masked_fill(MASK, 0.0), lambda x: x.masked_fill(MASK, 0.0)),
}  # fmt: skip
ROWS = torch.tensor([3, 0])
MASK = torch.arange(35).reshape(7, 5) % 3 == 0


@pytest.mark.parametrize("operation", LINEAR)
@pytest.mark.parametrize("name", ["affine", "none"])
def test_linear(operation, name):
    own, theirs = LINEAR[operation]
    mine, other = both(7, 5)
    with under(name, {}):
        same(own(mine), theirs(other))


@each_rule
def test_a_network(name, options):
    """Several layers, of which PyDec takes the ones that torch calls."""
    torch.manual_seed(2)
    net = torch.nn.Sequential(
        torch.nn.Linear(5, 9), torch.nn.Tanh(), torch.nn.Linear(9, 9), torch.nn.ReLU(), torch.nn.Linear(9, 2)
    ).double()
    net.requires_grad_(False)
    mine, other = both(7, 5)
    with under(name, options):
        same(net(mine), net(other))


def test_frozen_layer_norm():
    mine, other = both(7, 5)
    layer = torch.nn.LayerNorm(5).double().requires_grad_(False)
    layer.weight += torch.arange(5) / 5
    with np.rule(normalisation="frozen"):
        same(layer(mine), layer(other))
