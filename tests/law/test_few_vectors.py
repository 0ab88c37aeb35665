"""Products, running products and lengths of a handful of numbers, whose gradients are found on the host: what they give
is what the general law gives."""

import math
import warnings

import numpy
import pytest
import torch

import npdec as np

INF, NAN = math.inf, math.nan
VECTORS = [
    ([1.5, 2.0, 3.0], [0.5, 0.7, 0.9]), ([1.0, 0.0, 2.0], [0.0, 1.0, 0.0]), ([-1.0, 2.0], [1.0, -2.0]), ([2.0], [0.5]),
    ([0.0, 0.0], [1.0, 0.0]), ([1.0, 2.0], [1.0, 2.0]), ([0.0, 0.0], [0.0, 0.0]),
    ([1e-200, 1e-200, 1e300], [1.0, 1.0, 1.0]),
    ([1e200, 1e200], [1.0, 2.0]), ([INF, 1.0], [1.0, 1.0]), ([NAN, 1.0], [1.0, 1.0]), ([1.0, 1e-9], [1.0, -1e-9]),
    ([1.0 + 1e-12, 2.0], [1.0, 2.0]), ([3.0, -0.0, 1.0], [3.0, 0.0, 2.0]), (list(range(1, 9)), [0.5] * 8),
]  # fmt: skip
FUNCTIONS = {
    "prod": torch.prod, "prod of an axis": lambda t: torch.prod(t, -1), "cumprod": lambda t: torch.cumprod(t, 0),
    "norm": torch.linalg.vector_norm, "norm of axes": lambda t: torch.linalg.vector_norm(t, 2.0, (0,)),
}  # fmt: skip


def general(f, *args):
    """The law where somebody looks on: no way is short."""
    with np.overrides.registered(torch.Tensor.addcdiv, lambda input, tensor1, tensor2, *, value=1: input):
        return f(*args)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("ends", VECTORS, ids=str)
def test_vectors_have_what_the_law_gives(ends, name, dtype):
    value, residual = (torch.tensor(end, dtype=dtype) for end in ends)
    steps = torch.diag(torch.where(value == residual, 0, value - residual))
    t = np.DecomposedTensor(value, residual, torch.cat([steps / 4, steps * 3 / 4]), tuple(range(2 * len(value))))
    with warnings.catch_warnings(record=True) as first:
        warnings.simplefilter("always")
        made = FUNCTIONS[name](t)
    with warnings.catch_warnings(record=True) as second:
        warnings.simplefilter("always")
        wanted = general(FUNCTIONS[name], t)
    assert [str(w.message) for w in first] == [str(w.message) for w in second]
    numpy.testing.assert_array_equal(made.value, wanted.value)
    numpy.testing.assert_array_equal(made.residual, wanted.residual)
    eps = torch.finfo(dtype).eps
    size = (wanted.value.abs() + wanted.residual.abs() + wanted.components.abs().sum(0)).nan_to_num(1, 1, 1)
    numpy.testing.assert_array_equal(made.components.isfinite(), wanted.components.isfinite())
    apart = (made.components - wanted.components).nan_to_num(0, 0, 0).abs()
    assert bool((apart <= 16 * eps * size).all()), (made.components, wanted.components)


def test_their_graphs_are_the_general_laws():
    for f in FUNCTIONS.values():
        x = torch.tensor([1.5, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(f(np.decompose(x, baseline=0.5)).components.square().sum(), x)
        (wanted,) = torch.autograd.grad(general(f, np.decompose(x, baseline=0.5)).components.square().sum(), x)
        torch.testing.assert_close(slope, wanted)
