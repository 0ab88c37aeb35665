"""What `put`, `place`, `putmask`, `put_along_axis` and `fill_diagonal` write: arrays cast by a rule, numbers in lists
have to fit. And what is written of the array itself, where a condition says."""

import warnings

import numpy
import pytest

import npdec
from outcomes import described

WRITERS = {
    "put": lambda np, a, v: np.put(a, [0, 1], v),
    "put method": lambda np, a, v: a.put([0, 1], v),
    "place": lambda np, a, v: np.place(a, np.array([[True, False], [True, True]]), v),
    "putmask": lambda np, a, v: np.putmask(a, np.array([[True, False], [True, True]]), v),
    "put_along_axis": lambda np, a, v: np.put_along_axis(a, np.array([[0, 1]]), v, 1),
    "fill_diagonal": lambda np, a, v: np.fill_diagonal(a, v),
}
DTYPES = ("bool", "int8", "uint8", "int64", "float32", "float64", "complex64")
NUMBERS = [1, 1.5, 2j, 300, -1, True, float("nan"), [1], [1.5], [300], [2j], [1, 2], [], (1, 2), range(2), [[1], [2]]]
SOURCES = ("bool", "int8", "uint8", "int64", "uint64", "float32", "float64", "complex128")


def _outcome(lib, write, dtype, values):
    array = lib.ones((2, 2), dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of casts
        try:
            write(lib, array, values)
        except (TypeError, ValueError, OverflowError) as error:
            return type(error).__name__
    return described(lib, array)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers(name, dtype):
    for values in NUMBERS:
        want, got = (_outcome(lib, WRITERS[name], dtype, values) for lib in (numpy, npdec))
        assert str(got) == str(want), values


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_and_scalars(name, dtype):
    for source in SOURCES:
        for make in (lambda lib, s: lib.array([1, 2], dtype=s), lambda lib, s: lib.array(1, dtype=s),
                     lambda lib, s: lib.zeros(0, dtype=s), lambda lib, s: lib.dtype(s).type(1)):  # fmt: skip
            want, got = (_outcome(lib, WRITERS[name], dtype, make(lib, source)) for lib in (numpy, npdec))
            assert got == want, (source, make(numpy, source))


@pytest.mark.parametrize("name", WRITERS)
def test_contributions_are_written(name):
    x = npdec.decompose(npdec.array([3.0, 4.0]))
    for values in (x, [x[0], x[1]]):
        array = npdec.zeros((2, 2))
        view = array[:]
        WRITERS[name](npdec, array, values)
        assert (array.components.sum((1, 2)) > 0).all()
        assert (array.c_sum() == array.value).all()
        assert (view.components == array.components).all()


@pytest.mark.parametrize("shape", [(3,), (3, 0), (0, 4)])
@pytest.mark.parametrize("given", [(5, 0), (5, 1), (0, 5), (0,), (0, 0), (5, 2, 0), (1, 5, 0), (5, 0, 4), (2, 0)])
def test_values_of_no_elements(shape, given):
    """NumPy minds no axes in front of them, where an index selects no elements either."""

    def outcome(lib):
        key = lib.zeros((0,), dtype=int) if shape == (3,) else lib.array([0, 1]) if shape[0] else lib.zeros((0, 4), int)
        try:
            lib.zeros(shape)[key if shape[0] else (key, lib.arange(4))] = lib.zeros(given)
        except ValueError:
            return "ValueError"
        return "written"

    assert outcome(npdec) == outcome(numpy)


# -- of the array itself -----------------------------------------------------------------------------------------------

KEPT = [3.0, 4.0, 5.0]
THEMSELVES = {
    "x[0-d] = x": lambda np, x, m: x.__setitem__(m[0], x),
    "x[0-d] = part": lambda np, x, m: x.__setitem__(m[0], x[:1]),
    "x[0-d] = reversed": lambda np, x, m: x.__setitem__(m[0], x[::-1]),
    "x[0-d] = reshaped": lambda np, x, m: x.__setitem__(m[0], x.reshape(1, 3)),
    "x[m] = element": lambda np, x, m: x.__setitem__(m, x[0]),
    "x[m] = part": lambda np, x, m: x.__setitem__(m, x[1:2]),
    "x.T[0-d] = reshaped": lambda np, x, m: x.T.__setitem__(m[0], x.reshape(-1)),
    "x[:2][0-d] = part": lambda np, x, m: x[:2].__setitem__(m[0], x[1:]),
    "x[..., m] = element": lambda np, x, m: x.__setitem__((..., m), x[2]),
    "copyto": lambda np, x, m: np.copyto(x, x, where=m),
    "copyto reversed": lambda np, x, m: np.copyto(x, x[::-1], where=m),
    "copyto part": lambda np, x, m: np.copyto(x, x[:1], where=m),
    "copyto into a part": lambda np, x, m: np.copyto(x[1:], x[:2], where=m[:2]),
    "putmask": lambda np, x, m: np.putmask(x, m, x[::-1]),
    "putmask part": lambda np, x, m: np.putmask(x, m, x[:1]),
    "add out": lambda np, x, m: np.add(x, x[::-1], out=x, where=m),
    "multiply out": lambda np, x, m: np.multiply(x, x[:1], out=x, where=m),
    "fill_diagonal": lambda np, x, m: np.fill_diagonal(x[None], m[0] * x[:1]),
    "put": lambda np, x, m: np.put(x, [0, 2], m[:2] * x[1:]),
    "where": lambda np, x, m: x.__setitem__(slice(None), np.where(m, x[::-1], x)),
}


@pytest.mark.parametrize("name", THEMSELVES)
def test_views_of_what_is_written(name):
    def program(lib, given):
        x = lib.array(KEPT)
        THEMSELVES[name](lib, x, given > 0)
        return x

    value, base = numpy.array([0.5, -1.0, 2.0]), numpy.array([-1.0, 1.0, 3.0])
    made = program(npdec, npdec.decompose(npdec.array(value), baseline=npdec.array(base)))
    assert made.value.tolist() == program(numpy, value).tolist()
    assert made.residual.tolist() == program(numpy, base).tolist()
    assert abs(npdec.completeness(made)).max() <= 1e-12
