"""Arguments at the edge of what functions take: the same error, warning or result as NumPy's."""

import hashlib
import sys
import warnings

import numpy
import pytest

import npdec as np


def outcome(call, module):
    """The result, or the type of the error, and what was warned of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            result = call(module)
        except Exception as error:
            result = next(kind for kind in type(error).__mro__ if not kind.__module__.startswith("npdec"))
    return result, [warning.category for warning in found]


def product(a, b):
    return a * b


class OptsOut:
    __array_ufunc__ = None


class Answers:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__, method, inputs, [type(out).__name__ for out in kwargs["out"]]


CALLS = {
    "sorter beyond the array": lambda n: n.searchsorted(n.arange(4), 9, sorter=[0, 1, 2, 4]),
    "negative sorter": lambda n: n.searchsorted(n.arange(4), 0, sorter=[-1, 1, 2, 3]),
    "cast to nothing": lambda n: n.can_cast("i4", None),
    "cast from nothing": lambda n: n.can_cast(None, "i4"),
    "finfo of nothing": lambda n: n.finfo(None).bits,
    "items longer than the dtype": lambda n: n.fromiter(((2, 3, 4) for _ in range(5)), dtype=n.dtype((int, 2))),
    "columns that are no integers": lambda n: n.loadtxt(["1 2"], usecols=[0, 1.5]),
    "permutation of a number": lambda n: n.random.default_rng(1).permutation(1.5),
    "reduction over axes, no identity": lambda n: n.frompyfunc(product, 2, 1).reduce(n.ones((2, 2)), axis=(0, 1)),
    "reduction over axes, identity None": lambda n: float(
        n.frompyfunc(product, 2, 1, identity=None).reduce(n.full((2, 2), 3.0), axis=(0, 1))
    ),
    "reduction of nothing, identity None": lambda n: n.frompyfunc(product, 2, 1, identity=None).reduce([]),
    "as few axes as none": lambda n: n.array([1, 2], dtype=object, ndmax=0).item(),
    "more axes than ndmax": lambda n: n.array([[1, 2]], ndmax=1),
    "no axes for elements": lambda n: n.array([1, 2], ndmax=0),
    "out= that takes no ufuncs": lambda n: n.negative(1, out=OptsOut()),
    "out= that answers": lambda n: n.negative(1, out=Answers()),
    **{
        f"{name} over no axes": lambda n, name=name: str(getattr(n.fft, name)(n.array(3.0)).dtype)
        for name in ("fftn", "ifftn")
    },
    "complex scalars of two parts": lambda n: (n.complex128(0.1, 0.3), n.complex64(0.1, 0.3), n.complex64(2)),
    "where with one branch": lambda n: n.where(n.array([True]), 1.0),
    "where of nothing": lambda n: n.where(n.array([True, False]), None, None).tolist(),
    "np.chararray": lambda n: n.chararray.__name__,
    "np.lib.math": lambda n: n.lib.math.__name__,
    **{f"np.{name}": (lambda n, name=name: getattr(n, name)) for name in ("object", "str", "bytes", "float", "int")},
}


@pytest.mark.whole
@pytest.mark.parametrize("name", CALLS)
def test_the_edge_is_numpys(name):
    assert outcome(CALLS[name], np) == outcome(CALLS[name], numpy)


def test_a_removed_alias_names_the_builtin_and_the_dtype():
    with pytest.raises(AttributeError, match=r"`np.float` was a deprecated alias for the builtin `float`.*np\.float64"):
        np.float


def test_terms_of_objects_have_the_sign_that_they_say():
    text = str(np.polynomial.Polynomial(numpy.array([1 + 1j, -2 + 2j, -3], dtype=object)))
    assert text == str(numpy.polynomial.Polynomial(numpy.array([1 + 1j, -2 + 2j, -3], dtype=object)))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python asks for __buffer__ from 3.12 on")
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1", "?", "c16"])
def test_arrays_are_pythons_buffers(dtype):
    plain = numpy.arange(6).reshape(2, 3).astype(dtype)
    array = np.array(plain)
    ours, theirs = memoryview(array), memoryview(plain)
    assert (ours.format, ours.shape, ours.strides, ours.readonly) == (
        theirs.format, theirs.shape, theirs.strides, theirs.readonly,
    )  # fmt: skip
    assert hashlib.sha256(array).digest() == hashlib.sha256(plain).digest()
    assert memoryview(array[0, 0]).readonly
    with pytest.raises(BufferError, match="decomposed"):
        memoryview(np.decompose(np.ones(2)))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "fmax", "fmin", "hypot"])
def test_a_reduction_over_no_axis_begins_somewhere(name):
    """Each element by itself, after what it begins with."""
    for x in (numpy.array([1.0, 2.0, -3.0]), numpy.ones((2, 0)), numpy.array(2.0)):
        made = getattr(np, name).reduce(np.array(x), axis=(), initial=0.5)
        assert numpy.array_equal(numpy.asarray(made), getattr(numpy, name).reduce(x, axis=(), initial=0.5))
