"""np.jit and masks: what is written through them is what NumPy writes, in one graph; what needs its length has none."""

from __future__ import annotations

import math
import warnings

import numpy
import pytest

import npdec as np


def _factor(np, x, y):
    x[x < 0] *= -2


def _of_another(np, x, y):
    x[y > 0] = y[y > 0] + 1


def _several(np, x, y):
    m = x > 0
    x[m] += 2 * y[m] * x[m] - x[m].astype(np.float32)
    x[~m] = 3
    return x.sum()


def _functions(np, x, y):
    m = x > 1
    x[m] = np.sqrt(x[m]) + np.where(y[m] > 2, np.maximum(x[m], 1.5), np.clip(y[m], -1, 1))


def _rows(np, x, y):
    m = x[:, 1] > 0
    x[m] = np.exp(-abs(x[m])) * y[0]


def _cast(np, x, y):
    whole = x.astype(int)
    whole[x > 0] += 7
    whole[y < 0] = 2.5 * y[y < 0]
    return whole


def _divided(np, x, y):
    whole = x.astype(int)
    whole[whole != 0] = 12 // whole[whole != 0]
    y[y != 0] = 1 / y[y != 0]
    return whole


def _reduced(np, x, y):
    m = x > 0
    return [np.zeros((), x[m].dtype), x[m].sum(), np.mean(y[m]), (x[m] > 1).any(), np.all(x[m] > 1), x[~m].prod()]


def _of_a_view(np, x, y):
    view = x[:, ::-1]
    view[view > 1] -= y[:, :1][0, 0]
    row = y[1]
    row[row > 0] = 0


def _kept(np, x, y):
    m = x > 0
    t = x[m]
    x += 1  # what was chosen is a copy
    y[m] = t


def _among_slices(np, x, y):
    m = x[0] > 0
    x[:, m] += 2 * x[:, m] - y[0, 0]
    x[1:, m] = y[1:, m] * y[:2, m]
    x[1, m] = y[2, m] + 1
    y[..., m] = 5
    y[y[:, 0] > 1, 2] = x[0, 1]
    y[y[:, 1] < 0, 1:3] -= 1


def _rows_of_several(np, x, y):
    deep = np.stack([x, y, x * y])
    deep[:, x > 0] *= 3
    deep[0][:, y[0] > 0] = 2
    deep[:, y[:, 0] > 0, 1:] += y[0, 1:]
    return deep


def _of_constants(np, x, y):
    low = np.tril_indices(3)
    x[low] = y[low] + 1
    x[:, np.arange(4) % 2 == 1] *= 2
    np.add.at(y, [0, 1, 0], x[0])
    y[np.eye(3, 4) > 0] -= 1
    return np.unique([3, 1, 3])


WRITES = [
    _among_slices,
    _rows_of_several,
    _of_constants,
    _factor,
    _of_another,
    _several,
    _functions,
    _rows,
    _cast,
    _divided,
    _reduced,
    _of_a_view,
    _kept,
]


def drawn(seed):
    rng = numpy.random.default_rng(seed)
    return rng.integers(-3, 4, (3, 4)).astype(float), rng.integers(-3, 4, (3, 4)).astype(float)


@pytest.mark.parametrize("program", WRITES)
def test_writes_through_masks_are_numpys(program):
    fast = np.jit(lambda x, y: program(np, x, y), fullgraph=True, backend="eager")
    for seed in range(2):
        theirs = drawn(seed)
        mine = tuple(map(np.array, theirs))
        with numpy.errstate(all="ignore"):
            want = program(numpy, *theirs)
        got = fast(*mine)
        for one, other in zip([*mine, got], [*theirs, want]):
            assert (one is None) == (other is None)
            if one is not None:
                numpy.testing.assert_array_equal(numpy.asarray(one), other)


def _length(x, m):
    return len(x[m])


def _shape(x, m):
    return np.zeros(x[m].shape)


def _returned(x, m):
    return x[m]


def _into_an_array(x, m):
    return np.array(x[m])


def _joined(x, m):
    return np.concatenate([x[m], x[~m]])


def _beside_others(x, m):
    return (x[m] + np.arange(x[m].size)).sum()


def _changed_mask(x, m):
    chosen = x[m]
    m[0] = not m[0]
    m[1] = not m[1]
    x[m] = chosen
    return x


def _along_an_axis(x, m):
    return x[m].sum(axis=0)


def _sorted(x, m):
    return np.sort(x[m])[0]


@pytest.mark.parametrize(
    "program",
    [
        _length,
        _shape,
        _returned,
        _into_an_array,
        _joined,
        _beside_others,
        _along_an_axis,
        _sorted,
    ],
)
def test_what_needs_the_length_has_a_graph_for_one_length(program):
    fast = np.jit(lambda x: program(x, x > 1), backend="eager")
    for x in ([3.0, 0.0, 2.0], [0.0, 5.0, 2.0], [4.0, 0.0, 2.0], [0.0, 6.0, 2.0]):
        assert np.array_equal(fast(np.array(x)), program(np.array(x), np.array(x) > 1))
    x = [0.0, 0.0, 2.0]
    with pytest.warns(UserWarning, match="depends on numbers"):
        assert np.array_equal(fast(np.array(x)), program(np.array(x), np.array(x) > 1))


def test_a_mask_that_changes_has_no_graph():
    fast = np.jit(lambda x: _changed_mask(x, x > 1), backend="eager")
    for i, x in enumerate(([3.0, 0.0, 2.0], [0.0, 5.0, 2.0], [0.0, 0.0, 2.0])):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert np.array_equal(fast(np.array(x)), _changed_mask(np.array(x), np.array(x) > 1))
        assert len(told) == (i == 1)


@pytest.mark.parametrize("seed", range(2))
def test_masks_are_the_same_only_if_their_numbers_are(seed):
    def written_between(np, x, y):
        a, b = x + 1, x + 1
        a[0] = -5
        x[a > 0] = y[b > 0]

    def of_others(np, x, y):
        x[x > 0] = y[y > 0]

    def by_another_number(np, x, y):
        x[x > 0] = y[x >= 0]

    def written_while(np, x, y):
        m = x > 0
        chosen = y[m]
        m[1] = ~m[1]
        x[m] = chosen

    for program in (written_between, of_others, by_another_number, written_while):
        theirs = drawn(seed)
        mine = tuple(map(np.array, theirs))
        fast = np.jit(lambda x, y, program=program: program(np, x, y), backend="eager")
        try:
            program(numpy, *theirs)
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                fast(*mine)
            continue
        fast(*mine)
        assert mine[0].tolist() == theirs[0].tolist()


def test_errors_are_those_of_the_function():
    def f(x):
        whole = x.astype(int)
        whole[x > 0] += 0.5

    with pytest.raises(TypeError, match="same_kind"):
        np.jit(f, backend="eager")(np.ones(3))


# -- numbers that become elements of integers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    ["int8", "int64", *(pytest.param(d, marks=pytest.mark.slow) for d in ("int32", "uint8", "bool", "float32"))],
)
@pytest.mark.parametrize("of", ["float64", pytest.param("float32", marks=pytest.mark.slow), "int64"])
def test_a_number_of_another_kind_becomes_an_element(dtype, of):
    def f(np, x):
        made = np.zeros(4, dtype)
        made[0], made[1], made[2:] = x[0], x[1] * 2, x.sum()
        return made

    fast = np.jit(lambda x: f(np, x), fullgraph=True, backend="eager")
    for numbers in ([2.7, 3.2], [5.9, 1.1], [0.4, 0.0]):
        x = numpy.array(numbers).astype(of)
        assert fast(np.array(x)).tolist() == f(numpy, x).tolist()


@pytest.mark.parametrize(("number", "error"), [(math.nan, ValueError), (1e30, OverflowError), (200.0, OverflowError)])
def test_a_number_that_is_no_element_raises_as_uncompiled(number, error):
    def f(x):
        made = np.zeros(4, np.int8)
        made[0] = x[0]
        return made

    fast = np.jit(f, backend="eager")
    assert fast(np.array([2.5])).tolist() == [2, 0, 0, 0]
    with pytest.raises(error):
        fast(np.array([number]))
    with pytest.raises(error):
        f(np.array([number]))
    assert fast(np.array([-127.5])).tolist() == [-127, 0, 0, 0]
