"""Factorisations of matrices with equal, zero or repeated eigenvalues: finite, and complete or warned of."""

from __future__ import annotations

import warnings

import numpy
import pytest
import torch

import npdec as np

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
