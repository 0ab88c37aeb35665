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
