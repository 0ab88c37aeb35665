"""Derivatives of functions of matrices by formulas: those of torch.func, at many points and along many tangents."""

from __future__ import annotations

import itertools

import pytest
import torch

import npdec as np
from npdec._rules import matrix_rates as rates

POINTS, TANGENTS = 3, 2


def _drawn(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def _points(shape, dtype=torch.float64, seed=0, positive=False):
    """A well-conditioned matrix for each point, (POINTS, 1, ...)."""
    x = _drawn(POINTS, 1, *shape, dtype=dtype, seed=seed)
    if positive:
        return x @ x.mH + 3 * torch.eye(shape[-1], dtype=dtype)
    return x + 4 * torch.eye(shape[-2], shape[-1], dtype=dtype) * torch.arange(1, shape[-1] + 1)


def _by_torch(function, points, tangents):
    """The same, one by one."""
    made = [
        torch.func.jvp(function, tuple(p[i, 0] for p in points), tuple(t[0, k] for t in tangents))[1]
        for i, k in itertools.product(range(POINTS), range(TANGENTS))
    ]
    several = isinstance(made[0], tuple)
    columns = list(zip(*made, strict=True)) if several else [made]
    return [torch.stack(c).reshape(POINTS, TANGENTS, *c[0].shape) for c in columns]


def _agree(made, wanted):
    for one, other in zip(made, wanted, strict=True):
        one = one.expand(POINTS, TANGENTS, *one.shape[2:])
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-10)


BOTH = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)


@BOTH
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)], ids=str)
def test_inverses_and_factors(dtype, shape):
    tangents = [_drawn(1, TANGENTS, *shape, dtype=dtype, seed=5)]
    points = [_points(shape, dtype)]
    _agree(rates.rates_of_inverse(points, tangents), _by_torch(torch.linalg.inv, points, tangents))
    _agree(rates.rates_of_singular_values(points, tangents), _by_torch(torch.linalg.svdvals, points, tangents))
    positive = [_points(shape, dtype, positive=True)]
    for upper in (False, True):

        def root(a, upper=upper):
            return torch.linalg.cholesky(rates.hermitian_of(a, upper), upper=upper)

        def values(a, upper=upper):
            return torch.linalg.eigvalsh(rates.hermitian_of(a, upper))

        _agree(rates.rates_of_cholesky(positive, tangents, upper), _by_torch(root, positive, tangents))
        _agree(rates.rates_of_hermitian_values(positive, tangents, upper), _by_torch(values, positive, tangents))


@BOTH
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (2, 5, 3)], ids=str)
def test_pseudo_inverses(dtype, shape):
    points, tangents = [_points(shape, dtype)], [_drawn(1, TANGENTS, *shape, dtype=dtype, seed=5)]
    _agree(rates.rates_of_pseudo_inverse(points, tangents), _by_torch(torch.linalg.pinv, points, tangents))


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)], ids=str)
def test_spectra(shape):
    points, tangents = [_points(shape)], [_drawn(1, TANGENTS, *shape, seed=5)]
    _agree(rates.rates_of_eigen(points, tangents)[1][:1], _by_torch(torch.linalg.eigvals, points, tangents))
    _agree(
        rates.rates_of_hermitian(points, tangents, False)[1],
        _by_torch(lambda a: tuple(torch.linalg.eigh(rates.hermitian_of(a, False))), points, tangents),
    )
    _agree(
        rates.rates_of_singular(points, tangents)[1],
        _by_torch(lambda a: tuple(torch.linalg.svd(a, full_matrices=False)), points, tangents),
    )


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 5, 3)], ids=str)
def test_triangular_factors(shape):
    points, tangents = [_points(shape)], [_drawn(1, TANGENTS, *shape, seed=5)]
    _agree(
        rates.rates_of_triangular(points, tangents)[1],
        _by_torch(lambda a: tuple(torch.linalg.qr(a)), points, tangents),
    )


@BOTH
@pytest.mark.parametrize("moving", ["both", "matrix", "right"])
@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3)), ((3, 3), (2, 3, 2)), ((2, 3, 3), (3, 2))],
    ids=str,
)
def test_solutions(dtype, moving, a, b):
    vector = len(b) == 1 or b == a[:-1]
    points = [_points(a, dtype), _drawn(POINTS, 1, *b, dtype=dtype, seed=3)]
    tangents = [_drawn(1, TANGENTS, *s, dtype=dtype, seed=5) for s in (a, b)]
    matrix, right = points[0][0, 0], points[1][0, 0]
    axes = max(len(a), len(b) + vector)
    if moving == "both":
        found = rates.rates_of_solution(None, None, vector, axes)(points, tangents)
        wanted = _by_torch(torch.linalg.solve, points, tangents)
    elif moving == "matrix":
        found = rates.rates_of_solution(None, right, vector, axes)(points[:1], tangents[:1])
        wanted = _by_torch(lambda x: torch.linalg.solve(x, right), points[:1], tangents[:1])
    else:
        found = rates.rates_of_solution(matrix, None, vector, axes)(points[1:], tangents[1:])
        wanted = _by_torch(lambda x: torch.linalg.solve(matrix, x), points[1:], tangents[1:])
    _agree(found, wanted)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.linalg.solve(a, np.array([1.0, 2.0])), np.linalg.inv, np.linalg.pinv, np.linalg.svdvals,
        lambda a: np.linalg.svd(a)[0], lambda a: np.linalg.eigh(a @ a.T)[1], np.linalg.eigvals,
        lambda a: np.linalg.eigvalsh(a @ a.T), lambda a: np.linalg.cholesky(a @ a.T), lambda a: np.linalg.qr(a)[0],
        lambda a: np.linalg.eig(a)[1],
    ],
)  # fmt: skip
def test_the_law_of_few_numbers_needs_no_forward_mode(call, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("torch.func.jvp wraps every operation at every node")

    monkeypatch.setattr("npdec._law.quadrature.jvp", refuse)
    a = np.array([[3.0, 1.0], [0.5, 2.0]])
    made = call(np.decompose(a, baseline=0.8 * a + 0.1))
    assert np.allclose(made.residual + made.components.sum(0), made.value, rtol=1e-11)
