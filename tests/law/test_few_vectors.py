"""Products, lengths, tests, searches and masked writes of a handful of numbers: what the short way gives is what the
general law gives."""

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


# -- conditions --------------------------------------------------------------------------------------------------------

CONDITIONS = {
    "all": lambda x: np.all(x > 1), "any": lambda x: np.any(x > 1), "all of numbers": np.all, "any of numbers": np.any,
    "all of an axis": lambda x: np.all(x > 1, axis=0),
    "searched": lambda x: np.searchsorted(np.array([-1.0, 0.5, 1.0, 2.0]), x),
    "from the right": lambda x: np.searchsorted(np.array([-1.0, 0.5, 1.0, 2.0]), x, side="right"),
    "digitize": lambda x: np.digitize(x, np.array([0.5, 1.0, 2.0])),
}  # fmt: skip
ENDS = [
    ([1.5, 2.0, 3.0], [0.5, 0.7, 0.9]), ([1.5, 0.0, 3.0], [0.5, 2.0, 2.0]), ([0.0, 2.0], [1.5, 0.5]), ([2.0], [0.0]),
    ([0.0, 0.0], [0.0, 0.0]), ([2.0, 0.25, 1.5, 0.5, 3.0], [0.5, 2.0, 0.0, 1.5, 0.25]), ([1.0, 0.5], [1.0, 1.0]),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_have_what_the_law_gives(name, dtype):
    for value, residual in ENDS:
        x = np.decompose(torch.tensor(value, dtype=dtype), baseline=torch.tensor(residual, dtype=dtype))
        x = np.array(x)
        made, wanted = CONDITIONS[name](x), general(CONDITIONS[name], x)
        assert type(made) is type(wanted)
        numpy.testing.assert_array_equal(made.value, wanted.value)
        numpy.testing.assert_array_equal(made.residual, wanted.residual)
        numpy.testing.assert_allclose(made.components, wanted.components, rtol=16 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("shape", [(4,), (2, 2), ()])
@pytest.mark.parametrize("source", [0.0, "decomposed"])
def test_masked_writes_have_what_the_law_gives(shape, source):
    x = np.decompose(np.array([1.5, 0.25, 3.0, -1.0][: 4 if shape else 1]).reshape(shape), baseline=0.5)

    def written():
        y = np.array(x * 1.0)
        view = y[...]
        y[x > 1] = 0.0 if source == 0.0 else x.sum()
        numpy.testing.assert_array_equal(view.components, y.components)
        return y

    made, wanted = written(), general(written)
    numpy.testing.assert_array_equal(made.value, wanted.value)
    numpy.testing.assert_array_equal(made.residual, wanted.residual)
    numpy.testing.assert_allclose(made.components, wanted.components, rtol=1e-15)
    numpy.testing.assert_allclose(made.c_sum(), made.value, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("equation", ["ij,j->i", "ij,jk->ik", "ij,ij->", "ij,k->kji", "ii,i->i"])
@pytest.mark.parametrize("baseline", [0.0, "other"])
def test_einstein_sums_have_what_the_law_gives(equation, baseline):
    rng = numpy.random.default_rng(3)
    first, second = (rng.normal(size=(3,) * len(term)) for term in equation.split("->")[0].split(","))
    ends = (0.0, 0.0) if baseline == 0.0 else (first[::-1].copy(), second * 2)
    a, b = (np.decompose(np.array(v), baseline=r) for v, r in zip((first, second), ends, strict=True))
    made, wanted = np.einsum(equation, a, b), general(np.einsum, equation, a, b)
    assert made.labels == wanted.labels
    numpy.testing.assert_array_equal(made.value, wanted.value)
    numpy.testing.assert_allclose(made.residual, wanted.residual, rtol=1e-14, atol=1e-15)
    numpy.testing.assert_allclose(made.components, wanted.components, rtol=1e-14, atol=1e-15)
