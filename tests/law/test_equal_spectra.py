"""Factorisations of matrices: with equal, zero or repeated eigenvalues they are finite, and complete or warned of.
Where signs and orders at the baseline are others than at the value, it is said."""

from __future__ import annotations

import warnings

import numpy
import pytest
import torch

import npdec as np
from tiers import fewer

MATRICES = {
    "one": numpy.eye(3),
    "two": 2 * numpy.eye(3),
    "zero": numpy.zeros((3, 3)),
    "a pair": numpy.diag([2.0, 2.0, 1.0]),
}
FUNCTIONS = {
    "eigvalsh": np.linalg.eigvalsh,
    "eigvals": np.linalg.eigvals,
    "svdvals": np.linalg.svdvals,
    "eigh": np.linalg.eigh,
    "eig": np.linalg.eig,
    "svd": np.linalg.svd,
    "nuclear": lambda a: np.linalg.norm(a, "nuc"),
    "spectral": lambda a: np.linalg.norm(a, 2),
    "torch.linalg.eigh": lambda a: torch.linalg.eigh(a.tensor),
    "torch.linalg.svd": lambda a: torch.linalg.svd(a.tensor),
    "torch.linalg.eigvalsh": lambda a: torch.linalg.eigvalsh(a.tensor),
    "complex eigh": lambda a: np.linalg.eigh(a + 0j),
}


PATHS = [("one", "zero"), ("one", "one"), ("two", "one"), ("a pair", "a pair")]


@pytest.mark.parametrize(("value", "base"), PATHS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_finite_and_complete_or_warned_of(name, value, base):
    x, r = MATRICES[value], MATRICES[base]
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always", np.exceptions.DecompositionWarning)
        made = FUNCTIONS[name](np.decompose(np.array(x), axis=0, baseline=np.array(r)))
    said = [str(w.message) for w in met if w.category is np.exceptions.DecompositionWarning]
    for one in made if isinstance(made, tuple) else (made,):
        part = np.asarray(one)
        assert np.isfinite(part.components).all()
        if value == base:
            assert not part.components.any()
        if not said:
            assert abs(np.completeness(part)).max() <= 1e-11
            largest = float(abs(part.components).max())
            assert largest <= 2.0**20 * float(abs(part.value).max() + abs(part.residual).max() + abs(x - r).sum())


@pytest.mark.parametrize("name", ["eigvalsh", "svdvals"])
def test_the_mean_of_equal_eigenvalues_moves_with_the_trace(name):
    """Of the path from r to r + s·1 the eigenvalues move by s each, whatever vectors are chosen."""
    change = 0.5 * numpy.eye(3)
    r = MATRICES["a pair"]
    made = FUNCTIONS[name](np.decompose(np.array(r + change), axis=0, baseline=np.array(r)))
    numpy.testing.assert_allclose(made.components.sum(1).tolist(), [0.5, 0.5, 0.5], atol=1e-13)


# -- signs and orders --------------------------------------------------------------------------------------------------

CHOOSING = {
    "eigh": lambda np, a: np.linalg.eigh(a + a.T),
    "eig": lambda np, a: np.linalg.eig(a + 5 * np.diag(np.arange(3.0))),
    "eigvals": lambda np, a: np.linalg.eigvals(a + 5 * np.diag(np.arange(3.0))),
    "svd": lambda np, a: np.linalg.svd(a),
    "svd of more rows": lambda np, a: np.linalg.svd(a[:, :2]),
    "svd, reduced": lambda np, a: np.linalg.svd(a[:, :2], full_matrices=False),
    "qr": lambda np, a: np.linalg.qr(a),
    "qr, complete": lambda np, a: np.linalg.qr(a[:, :2], mode="complete"),
    "roots": lambda np, a: np.roots(np.concatenate([np.ones(1), a[0]])),
}


@pytest.mark.parametrize("distance", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("name", CHOOSING)
def test_the_residual_is_that_of_the_baseline_or_it_is_said(name, distance):
    source, said = numpy.random.default_rng(3), 0
    for _ in range(fewer(6, 2)):
        x = source.normal(size=(3, 3))
        r = x + distance * source.normal(size=(3, 3))
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always", np.exceptions.DecompositionWarning)
            made = CHOOSING[name](np, np.decompose(np.array(x), axis=0, baseline=np.array(r)))
        want = CHOOSING[name](np, np.array(r))
        made, want = (m if isinstance(m, tuple) else (m,) for m in (made, want))
        same = all(
            m.shape == w.shape and np.allclose(np.asarray(m).residual, w, rtol=1e-9, atol=1e-9)
            for m, w in zip(made, want, strict=True)
        )
        chosen = [w for w in met if "at the baseline it would choose otherwise" in str(w.message)]
        assert all(w.filename == __file__ for w in chosen)
        assert same or chosen
        said += bool(chosen)
    assert not said or distance
    assert said or distance < 1 or name in ("qr, complete", "roots")  # signs of a formula, an order that mostly stays


@pytest.mark.parametrize("name", CHOOSING)
def test_reverse_mode_goes_back_by_the_signs_that_were(name):
    """The results are overwritten before gradients go back, by numbers to which other signs would be nearer."""
    x, r = (numpy.random.default_rng(i).normal(size=(3, 3)) * 0.1 + numpy.diag([3.0, 2.0, 1.0]) for i in range(2))

    def total(a):
        made = CHOOSING[name](np, a)
        numbers = [part.real + 0 for part in (made if isinstance(made, tuple) else (made,))]
        for part in made if isinstance(made, tuple) else (made,):
            part[...] = -part if part.ndim > 1 else part[::-1].copy()
        return sum((part * np.arange(1.0, 1 + part.size).reshape(part.shape)).sum() for part in numbers)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.DecompositionWarning)
        both = [np.attribute(total, np.array(x), baseline=np.array(r), mode=mode) for mode in ("forward", "reverse")]
    numpy.testing.assert_allclose(*[numpy.asarray(one.attribution) for one in both], rtol=1e-7, atol=1e-9)
    change = both[1].value - both[1].residual
    assert abs(both[1].attribution.sum() - change) <= 1e-9


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (6, 3)])
@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")  # signs
def test_vectors_leave_the_space_in_which_their_singular_values_are_equal(shape):
    """All along the way the singular values are equal, and the vectors of the longer side turn out of their space."""
    tall, k = shape[0] > shape[1], min(shape)
    r = numpy.eye(2 * k, k)
    x = r + 0.75 * numpy.eye(2 * k, k, -k)
    given = [np.array(a if tall else a.T) for a in (x, r)]
    u, _, vh = np.linalg.svd(np.decompose(given[0], axis=0, baseline=given[1]), full_matrices=False)
    made = u if tall else vh.T
    for ends, a in ((made.value, x), (made.residual, r)):
        numpy.testing.assert_allclose(numpy.asarray(ends @ ends.T), a @ a.T / (a.T @ a)[0, 0], atol=1e-12)
    missing = made.value - made.residual - made.components.sum(0)
    assert abs(missing).max() < 1e-10
    assert abs(made.components).max() > 0.1
