"""np.jit and generators: what is drawn is drawn in each call, and is NumPy's."""

from __future__ import annotations

import numpy
import pytest

import npdec as np

SAMPLES = [numpy.random.default_rng(0).normal(size=9), -numpy.random.default_rng(1).random(9)]
GRAPHS = {
    "around arrays": lambda np, r, x: (
        r.normal(x, 2.0),
        r.laplace(x, 1.0, size=(2, 9)),
        r.gumbel(x, 0.5),
        r.logistic(x),
    ),
    "on a scale": lambda np, r, x: (r.normal(x.mean(), x.std(), size=3), r.random(3)),
    "on scales": lambda np, r, x: r.normal(0, abs(x)),
    "Python's numbers": lambda np, r, x: (r.random(), r.normal(), x * r.random(), r.normal(x[0], 0.5), r.uniform(1, 2)),
    "scalars": lambda np, r, x: r.normal(np.float64(1.5), np.float64(0.3), size=3),
    "indices": lambda np, r, x: (x[r.integers(0, 9, 5)], x[r.permutation(9)], r.choice(x, 4), x[r.choice(9, 3)]),
    "samples": lambda np, r, x: [np.sort(x[r.integers(0, 9, 9)]) for _ in range(3)],
    "after a condition": lambda np, r, x: r.normal(size=2) if x[0] > 0 else r.normal(size=3),
}


def _check(got, want):
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            _check(one, other)
    else:
        assert isinstance(got, float) == isinstance(want, float)
        numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-15)


@pytest.mark.parametrize("program", GRAPHS.values(), ids=list(GRAPHS))
def test_draws_are_numpys_call_after_call(program):
    fast = np.jit(lambda r, x: program(np, r, x), backend="eager", fullgraph=True)
    mine, theirs = np.random.default_rng(3), numpy.random.default_rng(3)
    for x in (*SAMPLES, *SAMPLES):
        _check(fast(mine, np.array(x)), program(numpy, theirs, x))


@pytest.mark.parametrize("of", [numpy.random.MT19937, numpy.random.PCG64])
def test_a_graph_that_is_for_other_numbers_draws_nothing(of):
    fast = np.jit(lambda r, x: r.normal(size=2) if x[0] > 0 else -r.normal(size=2), backend="eager", fullgraph=True)
    mine, theirs = np.random.Generator(of(5)), numpy.random.Generator(of(5))
    for x in (1.0, -1.0, 1.0, -1.0):
        assert fast(mine, np.array([x])).tolist() == (numpy.sign(x) * theirs.normal(size=2)).tolist()


def test_numbers_that_depend_on_draws_have_no_graph():
    fast = np.jit(lambda r, x: x if r.random() < 0.5 else -x, backend="eager")
    mine, theirs = np.random.default_rng(3), numpy.random.default_rng(3)
    with pytest.warns(UserWarning, match="draws others"):
        assert fast(mine, np.ones(1))[0] == (1 if theirs.random() < 0.5 else -1)
    assert [fast(mine, np.ones(1))[0] for _ in range(9)] == [1 if theirs.random() < 0.5 else -1 for _ in range(9)]


@pytest.mark.parametrize("program", [lambda r, x: r.normal(0, -abs(x)), lambda r, x: r.normal(x, 1.0, size=3)])
def test_errors_of_draws_are_those_of_the_function(program):
    with pytest.raises(ValueError, match=r"scale|shape|broadcast"):
        np.jit(program, backend="eager")(np.random.default_rng(0), np.array(SAMPLES[0]))


def _bootstrap(np, x):
    rng = np.random.default_rng([3, 5])
    means = np.array([x[rng.integers(0, len(x), len(x))].mean() for _ in range(4)])
    order = rng.permutation(len(x))
    x += rng.normal(x, 0.5)
    if rng.random() < 0.5:
        x[rng.choice(len(x), 2, replace=False)] = 0.0
    return means, x[order], rng.standard_normal(), rng.integers(9), rng.exponential(2.0, (2, 2))


def test_a_generator_of_a_seed_draws_the_same_in_each_call():
    fast = np.jit(lambda x: _bootstrap(np, x), backend="eager", fullgraph=True)
    for start in (0.0, 3.0):
        mine, theirs = np.arange(6.0) + start, numpy.arange(6.0) + start
        found, want = fast(mine), _bootstrap(numpy, theirs)
        for one, other in zip([*found, mine], [*want, theirs], strict=True):
            assert isinstance(one, float) == isinstance(other, float)
            numpy.testing.assert_allclose(numpy.asarray(one), numpy.asarray(other), rtol=1e-15)


@pytest.mark.parametrize("seed", [None, "x"])
def test_a_generator_of_no_known_seed_is_refused(seed):
    fast = np.jit(lambda x: np.random.default_rng(seed if seed is None else x).random() + x, fullgraph=True)
    with pytest.raises(RuntimeError, match="seed"):
        fast(np.array(3))
