"""Integers computed from x in the place of Python's: widths, axes, sizes, orders. They carry, or it is said that they
are frozen, wherever a function takes them, and in every form in which it takes them."""

from __future__ import annotations

import warnings

import numpy
import pytest
import torch

import npdec as np
from npdec.exceptions import DecompositionWarning

X = np.array([3.0, 1.0, 4.0, 1.5])
M = np.array([[1.0, 2.0], [3.0, 4.0]])
CUBE = np.ones((2, 2, 2))
LIB = np.lib.stride_tricks
PROGRAMS = {
    "pad": lambda n: np.pad(X, n),
    "pad, a pair": lambda n: np.pad(X, (n, 1)),
    "pad, a dict": lambda n: np.pad(X, {0: (n, 1)}),
    "stat_length": lambda n: np.pad(X, 2, mode="mean", stat_length=n),
    "stat_length, a pair": lambda n: np.pad(X, 2, mode="maximum", stat_length=(n, 1)),
    "roll": lambda n: np.roll(X, n),
    "repeat": lambda n: np.repeat(X, n),
    "tile": lambda n: np.tile(X, (n, 2)),
    "reshape": lambda n: np.reshape(X, (n, -1)),
    "resize": lambda n: np.resize(X, n),
    "zeros": np.zeros,
    "full": lambda n: np.full((n, 2), 1.0),
    "eye": lambda n: np.eye(3, k=n),
    "ones_like": lambda n: np.ones_like(X, shape=n),
    "broadcast_to": lambda n: np.broadcast_to(1.0, (n, 2)),
    "array": lambda n: np.array(X, ndmin=n),
    "indices": lambda n: np.indices((n, 2)),
    "arange": np.arange,
    "linspace": lambda n: np.linspace(0, 1, n),
    "geomspace": lambda n: np.geomspace(1, 2, n),
    "vander": lambda n: np.vander(X, n),
    "kaiser": lambda n: np.kaiser(n, 1.0),
    "tril": lambda n: np.tril(M, n),
    "diag": lambda n: np.diag(X, n),
    "diagonal": lambda n: np.diagonal(M, n - 1),
    "trace": lambda n: np.trace(M, n - 1),
    "rot90": lambda n: np.rot90(M, n),
    "diff": lambda n: np.diff(X, n),
    "split": lambda n: np.split(X, n),
    "array_split": lambda n: np.array_split(X, n),
    "take": lambda n: np.take(X, n),
    "delete": lambda n: np.delete(X, n),
    "insert": lambda n: np.insert(X, n, 0.0),
    "put": lambda n: np.put(X.copy(), n, 1.0),
    "index": lambda n: X[n],
    "slice": lambda n: X[:n],
    "stride": lambda n: X[::n],
    "partition": lambda n: np.partition(X, n),
    "argpartition": lambda n: np.argpartition(X, n),
    "unravel_index": lambda n: np.unravel_index(n, (2, 2)),
    "bincount": lambda n: np.bincount(np.array([1]), minlength=n),
    "histogram": lambda n: np.histogram(X, bins=n),
    "reduceat": lambda n: np.add.reduceat(X, np.stack([n, n])),
    "reduceat of a function": lambda n: np.frompyfunc(lambda a, b: a + b, 2, 1).reduceat(X, np.stack([n, n])),
    "sum": lambda n: np.sum(CUBE, axis=n),
    "cumsum": lambda n: np.cumsum(CUBE, axis=n),
    "expand_dims": lambda n: np.expand_dims(M, n),
    "moveaxis": lambda n: np.moveaxis(CUBE, 0, n),
    "swapaxes": lambda n: np.swapaxes(CUBE, 0, n),
    "stack": lambda n: np.stack([M, M], axis=n),
    "concatenate": lambda n: np.concatenate([CUBE], axis=n),
    "apply_over_axes": lambda n: np.apply_over_axes(np.sum, CUBE, n),
    "tensordot": lambda n: np.tensordot(CUBE, CUBE, n),
    "tensordot, axes": lambda n: np.tensordot(CUBE, CUBE, np.stack([n, n])),
    "sliding_window_view": lambda n: LIB.sliding_window_view(X, n),
    "matrix_power": lambda n: np.linalg.matrix_power(M, n),
    "fft": lambda n: np.fft.fft(X, n),
    "polyfit": lambda n: np.polyfit(X, X, n),
    "polyder": lambda n: np.polyder(X, n),
    "chebder": lambda n: np.polynomial.chebyshev.chebder(X, n),
    "round": lambda n: np.round(X, n),
    "choose": lambda n: np.choose(n, [X, X + 1, X + 2]),
    "ddof": lambda n: np.nanstd(X, ddof=n - 1),
    "rcond": lambda n: np.linalg.lstsq(M, M, rcond=n / 10.0),
    "tolerance": lambda n: np.real_if_close(M * (1 + 1e-15j), tol=n * 10.0),
    "r_": lambda n: np.r_[0.0 : n + 0.0 : 3j],
    "random": lambda n: np.random.default_rng(0).random(n),
    "choice": lambda n: np.random.default_rng(0).choice(5, n),
    "tensor_split": lambda n: torch.tensor_split(np.decompose(X).tensor, n.tensor),
}  # fmt: skip
FORMS = {
    "without axes": (2.7, 1.2),
    "an array": ([2.7, 1.1], [1.2, 1.2]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_integers_that_are_computed_are_not_dropped_silently(name: str) -> None:
    taken = 0
    for value, base in FORMS.values():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            n = np.decompose(np.array(value), baseline=np.array(base)).astype(int)
            assert not told
            try:
                made = PROGRAMS[name](n)
            except (TypeError, ValueError, IndexError, ZeroDivisionError):  # it takes no such thing
                continue
        taken += 1
        said = any(w.category is DecompositionWarning and w.filename == __file__ for w in told)
        carried = any(getattr(part, "is_decomposed", False) for part in (made if isinstance(made, tuple) else (made,)))
        assert said or carried, value
    assert taken


def test_what_is_at_the_baseline_says_nothing() -> None:
    n = np.decompose(np.array(2.7), baseline=2.2).astype(int)  # warnings are errors
    wanted = numpy.pad(numpy.array([3.0, 1.0, 4.0, 1.5]), 2, mode="mean", stat_length=2)
    assert np.pad(X, n, mode="mean", stat_length=(n, n)).tolist() == wanted.tolist()


@pytest.mark.parametrize("weights", [None, "plain", "decomposed"])
def test_what_moves_between_bins_is_taken_from_one_and_comes_to_the_other(weights):
    source = numpy.random.default_rng(5)
    value, base, heavy, light = source.uniform(-1, 2, (4, 50))
    edges = [-0.5, 0.0, 0.7, 1.5]
    x, w = np.decompose((np.array(value), np.array(heavy)), baseline=(np.array(base), np.array(light)))
    given = {None: None, "plain": np.array(heavy), "decomposed": w}[weights]
    made = np.histogram(x, edges, weights=given)[0]
    expected = numpy.zeros((100, 3))
    for j in range(50):  # the law of a product of two: each moves while the other stands halfway
        before, after = ((numpy.histogram([end], edges)[0]) for end in (base[j], value[j]))
        weight = {None: 1.0, "plain": heavy[j], "decomposed": (heavy[j] + light[j]) / 2}[weights]
        expected[j] = (after - before) * weight
        if weights == "decomposed":
            expected[50 + j] = (after + before) / 2 * (heavy[j] - light[j])
    found = numpy.zeros((100, 3))
    found[: len(made.components)] = made.components
    numpy.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_last_edge_which_is_the_greatest_element_takes_no_digits():
    """Three equal elements are the greatest, each moved by another input: in single precision as in double."""
    x = numpy.array([180.0, 0.0, 180.0, 180.0, 0.0])
    parts = []
    for dtype in ("float32", "float64"):
        moved = np.decompose(np.array(x.astype(dtype)), groups=np.array([0, 1, 1, 2, 2]))
        parts.append(numpy.asarray(np.histogram(moved, 3, weights=moved)[0].components, "float64"))
    numpy.testing.assert_allclose(parts[0], parts[1], atol=180 * 8 * numpy.finfo("float32").eps)
    numpy.testing.assert_allclose(parts[1], [[0, 0, 180.0]] * 3, atol=1e-12)


@pytest.mark.parametrize("weights", [None, [0.5, 2.0]])
@pytest.mark.parametrize("bins", [[], [1.0], [0, 1, 1], [1, 1, 2], [0.0, numpy.nan], 1])
def test_few_edges_and_equal_ones(bins, weights):
    made = np.histogram(np.array([1.0, 2.0]), bins, weights=weights and np.array(weights))
    for got, wanted in zip(made, numpy.histogram([1.0, 2.0], bins, weights=weights), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(got), wanted)
        assert got.dtype.name == wanted.dtype.name


def test_a_maximum_of_many_knows_who_leads():
    source = numpy.random.default_rng(6)
    value, base = source.uniform(0, 1, (2, 6000))
    made = np.max(np.decompose(np.array(value), baseline=np.array(base)))
    led = numpy.zeros(6000)
    for t in (numpy.arange(1000) + 0.5) / 1000:
        led[numpy.argmax(base + t * (value - base))] += 1 / 1000
    numpy.testing.assert_allclose(numpy.array(made.components), led * (value - base), atol=2e-3)


def _edges(x, source, k):
    return [10, 50, 1, 2, numpy.linspace(x.min(), x.max(), 33), numpy.sort(source.choice(x, 7)), "auto"][k % 7]


@pytest.mark.parametrize("k", range(28))
def test_many_elements_are_in_the_bins_of_numpys(k):
    """Evenly spaced edges, others, equal ones; elements that are edges, outside, infinite or nan."""
    source = numpy.random.default_rng(k)
    x = source.standard_normal(5000) * 10 ** source.uniform(-8, 8) + source.choice([0, 1, 1e6])
    x = [x, numpy.round(x, 1), source.integers(0, 20, 5000).astype(float)][k % 3]
    bins = _edges(x, source, k)
    limits = None if k % 2 else (float(x.min()) + 0.25, float(x.max()) + 0.5)
    if limits is not None and k % 7 < 4:
        x[:3] = numpy.nan, numpy.inf, -numpy.inf
    given = np.array(bins) if isinstance(bins, numpy.ndarray) else bins
    for got, wanted in zip(np.histogram(np.array(x), given, limits), numpy.histogram(x, bins, limits), strict=True):
        assert got.tolist() == wanted.tolist()
