"""np.jit and results whose sizes depend on numbers: a graph serves the sizes that come twice in a row."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy
import pytest

import npdec as np

RNG = numpy.random.default_rng(7)
SAMPLES = [RNG.normal(size=9) * 2 for _ in range(2)]


def _written(np, x):
    x[x > 0] = x[x > 0] * 2 + np.arange(int((x > 0).sum()))
    return x


PROGRAMS = {
    "nonzero": lambda np, x: np.nonzero(x > 0),
    "of a matrix": lambda np, x: (np.argwhere(x.reshape(3, 3) > 0), np.where(x.reshape(3, 3) > 0)),
    "chosen": lambda np, x: (x[x > 0][::-1], len(x[x > 0]), np.median(x[x > 0])),
    "rows": lambda np, x: x.reshape(3, 3)[x[:3] > -1, 1:] * 2,
    "unique": lambda np, x: np.unique(np.round(x), return_index=True, return_inverse=True, return_counts=True),
    "sets": lambda np, x: (
        np.setdiff1d(np.arange(9), np.flatnonzero(x > 0)),
        np.intersect1d(np.round(x), np.round(-x)),
    ),
    "counts": lambda np, x: (np.bincount((x > 0) + 2), np.bincount((abs(x) * 3).astype(int), weights=x, minlength=3)),
    "repeats": lambda np, x: np.repeat(x, (x > 0).astype(int) + 1),
    "left": lambda np, x: (np.extract(x > 0, x), np.compress(x > 0, x), np.delete(x, np.flatnonzero(x < 0))),
    "parts": lambda np, x: np.split(x, np.flatnonzero(x > 0)),
    "pieces": lambda np, x: np.piecewise(x, [x < 0, x >= 1], [lambda t: -t, lambda t: t**2, 0.5]),
    "written": _written,
    "none": lambda np, x: (x[x > 99], np.nonzero(x > 99), np.unique(x[x > 99])),
}


def _leaves(tree):
    return [leaf for item in tree for leaf in _leaves(item)] if isinstance(tree, (tuple, list)) else [tree]


def _check(fast, program, x):
    mine, theirs = np.array(x), x.copy()
    got, want = _leaves(fast(mine)), _leaves(program(numpy, theirs))
    assert len(got) == len(want)
    for one, other in zip([*got, mine], [*want, theirs]):
        assert isinstance(one, (np.ndarray, np.generic)) == isinstance(other, (numpy.ndarray, numpy.generic))
        assert numpy.asarray(one).dtype == numpy.asarray(other).dtype
        numpy.testing.assert_array_equal(numpy.asarray(one), other)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_results_of_sizes_that_depend_on_numbers_are_numpys(program):
    for fullgraph in (False, True):
        fast = np.jit(lambda x: program(np, x), backend="eager", fullgraph=fullgraph)
        for _ in range(3):
            _check(fast, program, SAMPLES[0])
        if not fullgraph:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                for x in (*SAMPLES, -SAMPLES[0]):
                    _check(fast, program, x)


def test_nothing_is_compiled_for_sizes_that_are_never_the_same():
    made = []

    def backend(graph, inputs):
        made.append(graph)
        return graph.forward

    def f(x):
        return x[x > 0] * 2

    fast = np.jit(f, backend=backend)
    assert fast(np.array([1.0, -1.0, 3.0])).tolist() == [2.0, 6.0]
    with pytest.warns(UserWarning, match="what a mask chooses") as told:
        assert fast(np.array([1.0, 2.0, 3.0])).tolist() == [2.0, 4.0, 6.0]
    assert fast(np.array([1.0, 2.0, 3.0])).tolist() == [2.0, 4.0, 6.0]
    assert not made
    assert len(told) == 1
    fast = np.jit(f, backend=backend)
    for x in ([1.0, -1.0, 3.0], [-1.0, 1.0, 3.0], [1.0, 2.0, -3.0]):
        assert fast(np.array(x)).tolist() == [2 * one for one in x if one > 0]
    assert len(made) == 1
    again = np.jit(f, backend="eager", fullgraph=True)
    assert again(np.array([1.0, -1.0])).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="what a mask chooses"):
        again(np.array([1.0, 2.0]))


def test_modules_that_a_recording_imports_hold_no_stand_ins():
    code = """
import npdec as np
x = np.linspace(0, 2, 5)
f = lambda x: np.polynomial.chebyshev.chebval(x, [1, 2]) + np.polynomial.Chebyshev([1.0, 2.0])(x)
assert (np.jit(f, backend="eager", fullgraph=True)(x) == f(x)).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_nothing_is_compiled_for_many_answers_until_they_come_again():
    made = []

    def backend(graph, inputs):
        made.append(graph)
        return graph.forward

    def f(x):
        return [2 * one if one > 0 else -one for one in x]

    def program(_, x):
        return f(x)

    one, other = numpy.array([1.0, -1.0] * 5), numpy.array([1.0, -2.0, -3.0, 4.0, 5.0] * 2)
    fast = np.jit(f, backend=backend)
    for x, graphs in ((one, 0), (other, 0), (one * 3, 1), (one, 1), (other, 2), (other * 2, 2), (one * 5, 2)):
        _check(fast, program, x)
        assert len(made) == graphs
    made.clear()
    _check(np.jit(f, backend=backend, fullgraph=True), program, one)
    assert len(made) == 1
    fast = np.jit(f, backend=backend)
    for i in range(8):
        _check(fast, program, numpy.where(numpy.arange(10) > i, 1.0, -1.0))
    with pytest.warns(UserWarning, match="were others in each of 8 calls"):
        _check(fast, program, one)
    assert len(made) == 1
