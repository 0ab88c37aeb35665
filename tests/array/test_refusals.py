"""What is refused, and in which words, where NumPy's own depend on more than the type of an argument."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import npdec as np

# Expressions of `np`, whose errors have NumPy's type and text.
EXPRESSIONS = """
np.isin(np.array([1, 2], 'i2'), np.array([-128, 0, 127], 'i1'), kind='table')
np.isin(np.array([1, 2], 'i1'), np.array([-100, 100], 'i1'), kind='table')
np.isin(np.array([1, 2]), np.array([-(2**62), 2**62 + 5]), kind='table')
np.unique(np.array([1.0, 2.0]), axis=0.0)
np.unique(np.array([1.0, 2.0]), axis='a')
np.histogramdd(np.ones((2, 3)), bins=[1, 0.99, 1])
np.histogramdd(np.ones((2, 3)), bins=[1, 1.5, 1])
np.histogramdd(np.ones((2, 3)), bins=[1, -1, 1])
np.histogramdd(np.ones((2, 3)), bins=[1, 1, [1, 3, 2]])
np.histogramdd(np.ones((2, 3)), bins=[1, 1, [[1, 3, 2]]])
np.add(1, 2, ...)
np.sin(np.ones(2), ...)
np.add(1, 2, ..., out=...)
np.add(1, 2, ..., 3)
np.add(1, 2, None, out=None)
np.sin(1.0, (np.ones(()),))
np.sin(1.0, (...,))
np.sin(1.0, out=(...,))
np.modf(1.0, ...)
np.modf(1.0, None, ...)
np.modf(1.0, None, None, None)
np.modf(1.0, out=(None, ...))
np.modf(1.0, out=None)
np.divmod(np.ones(2), 2.0, out=np.ones(2))
np.frompyfunc(lambda x: (x, x), 1, 2)(1.0, out=None)
np.matmul(np.ones((2, 2)), np.ones((2, 2)), ...)
np.matmul(np.ones((2, 2)), np.ones((2, 2)), None, None)
np.matmul(np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2)), out=np.ones((2, 2)))
np.vecdot(np.ones(2), np.ones(2), ...)
np.frompyfunc(lambda x: x, 1, 1)(np.ones(2), ...)
np.add.reduce(np.ones(2), 0, None, ...)
np.add.reduce(np.ones(2), 0, None, None, out=None)
np.add.reduce(np.ones(2), 0, None, None, False, initial=1, keepdims=True)
np.add.reduce(np.ones(2), out=(...,))
np.add.accumulate(np.ones(2), 0, None, ...)
np.add.accumulate(np.ones(2), 0, None, None, out=np.ones(2))
np.add.reduceat(np.ones(2), [0], 0, None, ...)
np.add.reduceat(np.ones(2), [0], out=(...,))
np.mean(np.ones(2), where=None)
np.ones(2).std(where=[None, True])
np.ones(2).var(where=None)
""".strip().splitlines()

# Expressions whose errors are of NumPy's type and say what its text says, and more.
SAYING = """
np.fft.fft(np.ones(30), out='')                                              | must be of ArrayType
np.sum(np.ones(30), out=[1])                                                 | must be of ArrayType
np.fft.fft(np.ones(30), out=np.zeros((5, 6)))                                | has wrong shape
np.fft.rfftn(np.ones((9, 5, 6)), s=(3, 3, 3), axes=(0, 1, 2), out=np.zeros((9, 5, 6))) | has wrong shape
np.fft.fft(np.ones(30), out=np.zeros(30))                                    | Cannot cast ufunc 'fft' output
""".strip().splitlines()


def outcome(lib: Any, expression: str) -> tuple[type, str]:
    with pytest.raises(Exception) as caught:
        eval(expression, {"np": lib})
    return next(cls for cls in caught.type.__mro__ if cls.__module__ == "builtins"), str(caught.value)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_errors_are_numpys(expression):
    assert outcome(np, expression) == outcome(numpy, expression)


# Where arrays to write to, and other options, are given by place.
PLACED = """
np.arange(0, 5, 2, 'f4')
np.arange(5, None, None, np.float32)
np.arange(0, 5, 1, None, like=None)
np.add(1, 2, out=...)
np.add(np.ones(2), 1.0, np.zeros(2))
np.add(np.ones(2), np.ones(2), np.zeros(2, 'f4'))
np.add(np.ones(2), 1.0, None)
np.sin(np.zeros(2), np.ones(2))
np.clip(np.ones(2), 0.0, 0.5, np.zeros(2))
np.modf(np.ones(2), np.zeros(2))
np.modf(np.ones(2), None, np.zeros(2))
np.modf(1.0, out=...)
np.matmul(np.ones((2, 2)), np.ones((2, 2)), np.zeros((2, 2)))
np.vecdot(np.ones(2), np.ones(2), None)
np.vecdot(np.ones(2), np.ones(2), out=...)
np.add.reduce(np.ones(2), 0, None, np.zeros(()))
np.add.reduce(np.ones((2, 2)), 0, 'i8', None, True, 5, [True, False])
np.add.reduce(np.ones(2), out=...)
np.add.accumulate(np.ones(2), 0, None, np.zeros(2))
np.add.reduceat(np.ones(2), [0], 0, None, np.zeros(1))
""".strip().splitlines()


def test_options_by_place_are_taken():
    for expression in PLACED:
        made, expected = (eval(expression, {"np": lib}) for lib in (np, numpy))
        for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (made, expected)), strict=True):
            assert repr(a) == repr(b), expression


@pytest.mark.parametrize("line", SAYING)
def test_errors_say_what_numpys_do(line):
    expression, text = (part.strip() for part in line.split("|"))
    for lib in (np, numpy):
        assert text in outcome(lib, expression)[1]
    assert outcome(np, expression)[0] is outcome(numpy, expression)[0]


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2"])
def test_lengths_of_none_are_deprecated(name):
    for lib in (np, numpy):
        with pytest.warns(DeprecationWarning, match="array containing `None` values to `s`"):
            getattr(lib.fft, name)(lib.ones((3, 4, 5)), s=(2, None, 3), axes=(0, 1, 2))


def test_tables_that_numpy_can_make():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isin([1, 2], np.array([0, 255], "u1"), kind="table").tolist() == [False, False]
        assert np.isin([1, 2], np.array([], int), kind="table").tolist() == [False, False]
        assert np.isin([True], [True, False], kind="table").tolist() == [True]
        huge = np.array([2**63, 2**63 + 1], "u8")
        assert np.isin(huge, huge[1:], kind="table").tolist() == [False, True]


@pytest.mark.parametrize("array", [np.zeros(0), np.zeros(2), np.zeros((1, 0), dtype=int), np.array(True)])
def test_none_is_no_number_beside_an_array(array):
    """With an empty array NumPy gives an array of objects."""

    def outcome(text, lib, array):
        try:
            found = eval(text, {"array": array, "np": lib})
        except (TypeError, ValueError) as error:
            return isinstance(error, TypeError)
        return found.dtype, numpy.asarray(found).tolist()

    texts = ["divmod(array, None)[0]"]
    for symbol in ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "@"):
        texts += [f"array {symbol} None", f"None {symbol} array"]
    texts += [f"np.{name}(array, None)" for name in ("add", "maximum", "equal")]
    for text in texts:
        assert outcome(text, np, array) == outcome(text, numpy, array.to_numpy()), text
    assert not (array == None).any()  # noqa: E711
    assert (array != None).all()  # noqa: E711
