"""Python's numbers that an array cannot hold, beside arrays of each dtype: what functions give is what NumPy gives, the
same dtype and numbers, or an error of the same kind."""

import math
import warnings

import numpy
import pytest

import npdec as np
import tiers
from dtype_cases import DTYPES

NUMBERS = [-1, 1, 256, 2**31, 2**63, 2**64, -(2**63) - 1, math.nan, math.inf, 300.5, -1.5, True]
SOME = [True, False, True, False]


def wrote(write, x):
    write(x)
    return x


# A function of the module, an array of four elements, and a number.
CALLS = {
    "pad": lambda n, x, v: n.pad(x, 1, constant_values=v),
    "pad, a pair": lambda n, x, v: n.pad(x, 1, constant_values=(1, v)),
    "pad, a table": lambda n, x, v: n.pad(x.reshape(2, 2), 1, constant_values=[[1, v], [2, 3]]),
    "pad, nothing": lambda n, x, v: n.pad(x, (0, 1), constant_values=v),
    "full": lambda n, x, v: n.full((2,), v, dtype=x.dtype),
    "full_like": lambda n, x, v: n.full_like(x, v),
    "copyto": lambda n, x, v: wrote(lambda x: n.copyto(x, v), x),
    "copyto, unsafe": lambda n, x, v: wrote(lambda x: n.copyto(x, v, casting="unsafe"), x),
    "copyto, where": lambda n, x, v: wrote(lambda x: n.copyto(x, v, where=SOME), x),
    "fill": lambda n, x, v: wrote(lambda x: x.fill(v), x),
    "put": lambda n, x, v: wrote(lambda x: n.put(x, [0, 2], v), x),
    "put, a list": lambda n, x, v: wrote(lambda x: n.put(x, [0, 2], [v, 1]), x),
    "place": lambda n, x, v: wrote(lambda x: n.place(x, SOME, [v]), x),
    "putmask": lambda n, x, v: wrote(lambda x: n.putmask(x, SOME, v), x),
    "put_along_axis": lambda n, x, v: wrote(lambda x: n.put_along_axis(x, n.array([1]), v, 0), x),
    "fill_diagonal": lambda n, x, v: wrote(lambda x: n.fill_diagonal(x, v), x.reshape(2, 2)),
    "x[0] =": lambda n, x, v: wrote(lambda x: x.__setitem__(0, v), x),
    "x[1:3] =": lambda n, x, v: wrote(lambda x: x.__setitem__(slice(1, 3), v), x),
    "x[[0, 1]] =": lambda n, x, v: wrote(lambda x: x.__setitem__([0, 1], v), x),
    "x[:2] = a list": lambda n, x, v: wrote(lambda x: x.__setitem__(slice(0, 2), [v, 1]), x),
    "x[x > 1] =": lambda n, x, v: wrote(lambda x: x.__setitem__(x > 1, v), x),
    "x.flat[0] =": lambda n, x, v: wrote(lambda x: x.flat.__setitem__(0, v), x),
    "x.flat[:2] =": lambda n, x, v: wrote(lambda x: x.flat.__setitem__(slice(0, 2), v), x),
    "isclose": lambda n, x, v: n.isclose(x, v),
    "isclose, of the number": lambda n, x, v: n.isclose(v, x),
    "isclose, infinity": lambda n, x, v: n.isclose(x * (math.inf if x.dtype.kind == "f" else 1), v),
    "quantile": lambda n, x, v: n.quantile(x, v),
    "nanpercentile": lambda n, x, v: n.nanpercentile(x, v),
    "power, nowhere": lambda n, x, v: n.power(x, v, where=False, out=n.zeros(4, "c16")),
    "power, somewhere": lambda n, x, v: n.power(x, v, where=n.array(SOME), out=n.zeros(4, "c16")),
    "where": lambda n, x, v: n.where(SOME, x, v),
    "choose": lambda n, x, v: n.choose([0, 1, 0, 1], [x, v]),
    "select": lambda n, x, v: n.select([x > 2], [x], v),
    "piecewise": lambda n, x, v: n.piecewise(x, SOME, [v, 1]),
    "insert": lambda n, x, v: n.insert(x, 1, v),
    "append": lambda n, x, v: n.append(x, v),
    "clip": lambda n, x, v: n.clip(x, None, v),
    "searchsorted": lambda n, x, v: n.searchsorted(x, v),
    "isin": lambda n, x, v: n.isin(x, v),
    "diff": lambda n, x, v: n.diff(x, prepend=v),
    "sum": lambda n, x, v: n.sum(x, initial=v),
    "max": lambda n, x, v: n.max(x, initial=v),
    "add": lambda n, x, v: n.add(x, v),
    "maximum": lambda n, x, v: n.maximum(x, v),
    "less": lambda n, x, v: n.less(x, v),
    "equal": lambda n, x, v: n.equal(x, v),
    "floor_divide": lambda n, x, v: n.floor_divide(x, v),
    "concatenate": lambda n, x, v: n.concatenate([x, [v]]),
    "array": lambda n, x, v: n.array([v, 1], dtype=x.dtype),
    "asarray": lambda n, x, v: n.asarray(v, dtype=x.dtype),
}


def told(n, name, dtype, number):
    try:
        made = CALLS[name](n, n.array([1, 2, 3, 4]).astype(dtype), number)
    except Exception as error:
        kinds = (OverflowError, ValueError, TypeError)
        return next((kind for kind in kinds if isinstance(error, kind)), type(error))
    return str(made.dtype), numpy.asarray(made)


@pytest.mark.parametrize("name", CALLS)
def test_functions_take_numbers_as_numpys(name):
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for turn, dtype in enumerate(DTYPES):
            for number in tiers.turns(NUMBERS, turn, 4):
                wanted, made = (told(n, name, dtype, number) for n in (numpy, np))
                if isinstance(wanted, tuple) and isinstance(made, tuple):
                    assert made[0] == wanted[0], (dtype, number)
                    assert numpy.array_equal(made[1], wanted[1], equal_nan=wanted[1].dtype.kind in "fc"), (
                        dtype,
                        number,
                    )
                else:
                    assert made == wanted, (dtype, number)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_periods_and_bounds_of_any_size(dtype):
    """Where a period is infinite, no step is too long; numbers that int64 does not hold are bounds as well."""
    steps = numpy.array([0, 1, 7, -3, 3, 3, -9, 2**40], dtype)
    with numpy.errstate(all="ignore"):
        for period in (math.inf, math.nan, 0.0, 2.5, 4, 5, 64):
            for bound in (None, 0.1, 1, 3, 6.5, math.inf, math.nan, 2**63, -(2**64), 10**30):
                wanted = numpy.unwrap(steps, bound, period=period)
                made = np.unwrap(np.array(steps), bound, period=period)
                assert str(made.dtype) == str(wanted.dtype)
                numpy.testing.assert_array_equal(numpy.asarray(made), wanted, f"{period}, {bound}")


def test_weights_of_nothing_are_not_looked_at():
    for weights in (None, [], [1.0], [[1.0]]):
        found = [n.histogram2d([], [], 2, weights=weights) for n in (numpy, np)]
        for made, wanted in zip(found[1], found[0], strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(made), wanted)
            assert str(made.dtype) == str(wanted.dtype)


SHAPES = [(0,), (0, 3), (2, 0), (3,), (2, 3)]
KEYS = [
    [], [0], [5], slice(None), ..., ([0], [0]), (slice(None), [0]), (..., [1]), (..., [7]), ([], slice(0)), 0, (0, 0),
    (slice(None), 0), None, ([], []), (slice(None), slice(None), [0]),
]  # fmt: skip
VALUES = [1, [], [1], [1, 2], [[1, 2]], [[]], [[[1]]]]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_does_not_fit_is_refused_as_numpy_refuses_it(shape):
    """Of a shape that does not fit and an index that is out of bounds NumPy finds the shape first."""
    for key in KEYS:
        for value in VALUES + [numpy.ones(s) for s in ((0,), (3, 0), (2,), (1, 2), (1, 2, 0))]:
            found = []
            for n in (numpy, np):
                x = n.zeros(shape)
                try:
                    x[key] = value if isinstance(value, (int, list)) else n.array(value)
                except (IndexError, ValueError, TypeError) as error:
                    found.append(type(error))
                else:
                    found.append(None)
                found.append(x.tolist())
            assert found[:2] == found[2:], (key, value)


REFUSED = {
    "piecewise of a function, nan": lambda n: n.piecewise(n.array([1, 2]), [[True, False]], [lambda v: math.nan]),
    "piecewise of a function, 300": lambda n: n.piecewise(n.array([1], dtype="u1"), [[True]], [lambda v: 300]),
    "put_along_axis, axis": lambda n: n.put_along_axis(n.zeros(1), n.zeros(2), n.zeros(2), 1),
    "take_along_axis, axis": lambda n: n.take_along_axis(n.zeros(1), n.zeros(2), 1),
    "take_along_axis, no axis": lambda n: n.take_along_axis(n.zeros(1), n.zeros((2, 2)), None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_numpys(name):
    with pytest.raises((ValueError, IndexError, OverflowError)) as wanted:
        REFUSED[name](numpy)
    with pytest.raises((ValueError, IndexError, OverflowError)) as found:
        REFUSED[name](np)
    assert found.type.__name__ == wanted.type.__name__
    assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("name", ["hypot", "gcd", "lcm", "add", "maximum"])
def test_where_nothing_takes_part_a_reduction_is_its_initial_value(name):
    mask = [[False, False, False], [True, False, True], [True, True, True]]
    theirs, ours = (
        getattr(n, name).reduce(n.array([[4, 6, -9]] * 3), axis=1, initial=-3, where=n.array(mask)) for n in (numpy, np)
    )
    assert numpy.allclose(ours.tolist(), theirs, rtol=1e-15, atol=0)
    assert ours.dtype == theirs.dtype


def test_equal_singular_values_of_hermitian_matrices_are_in_numpys_order():
    for a in (numpy.eye(3), numpy.diag([1.0, -1.0, 2.0, -2.0])):
        for mine, its in zip(np.linalg.svd(a, hermitian="abc"), numpy.linalg.svd(a, hermitian="abc"), strict=True):
            assert numpy.array_equal(mine, its)


def test_infinite_complex_numbers_are_added_part_by_part():
    x = numpy.array([1 + 1j, 2, 3])
    for dtype in ("complex64", "complex128"):
        theirs, ours = x.astype(dtype), np.array(x).astype(dtype)
        assert np.sum(ours, initial=math.inf).item() == numpy.sum(theirs, initial=math.inf)
        assert np.diff(ours, prepend=math.inf).tolist() == numpy.diff(theirs, prepend=math.inf).tolist()
        assert (
            np.ediff1d(np.append(ours, -math.inf)).tolist() == numpy.ediff1d(numpy.append(theirs, -math.inf)).tolist()
        )
