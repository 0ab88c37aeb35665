"""`np.testing` says what `numpy.testing` says."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict, namedtuple
from typing import Any

import numpy
import numpy.testing
import pytest
import torch

import npdec as np

# -- numpy.testing -----------------------------------------------------------------------------------------------------

Pair = namedtuple("Pair", "a b")

PAIRS: dict[str, Any] = {
    "equal arrays": lambda lib: (lib.array([1.0, 2.0]), lib.array([1.0, 2.0])),
    "unequal arrays": lambda lib: (lib.array([1.0, 2.0, 5.0]), lib.array([1.0, 2.5, 4.0])),
    "close arrays": lambda lib: (lib.array([1.0, 2.0]), lib.array([1.0, 2.0 + 1e-9])),
    "array and list": lambda lib: (lib.array([[1, 2], [3, 4]]), [[1, 2], [3, 5]]),
    "list of scalars": lambda lib: ([lib.float64(1.5), lib.int8(2)], [1.5, 2]),
    "other dtype": lambda lib: (lib.array([1.0], dtype="float32"), lib.array([1.0])),
    "other shape": lambda lib: (lib.array([1.0, 1.0]), lib.array([[1.0, 1.0]])),
    "0-d and 1-d": lambda lib: (lib.array(1.0), lib.array([1.0])),
    "scalar and array": lambda lib: (lib.float64(1.0), lib.array([1.0, 2.0])),
    "scalar and 0-d": lambda lib: (lib.float64(1.0), lib.array(1.0)),
    "scalars": lambda lib: (lib.float32(1.5), lib.float32(1.5)),
    "unequal scalars": lambda lib: (lib.float32(1.5), lib.float32(1.25)),
    "scalar and number": lambda lib: (lib.int16(3), 4),
    "signed zeros": lambda lib: (lib.float64(0.0), -0.0),
    "nan": lambda lib: (lib.array([lib.nan, 1.0]), lib.array([lib.nan, 1.0])),
    "nan elsewhere": lambda lib: (lib.array([lib.nan, 1.0]), lib.array([1.0, lib.nan])),
    "nan scalar": lambda lib: (lib.float64("nan"), lib.nan),
    "inf": lambda lib: (lib.array([lib.inf, 1.0]), lib.array([-lib.inf, 1.0])),
    "complex": lambda lib: (lib.array([1 + 2j, 3j]), lib.array([1 + 2j, 3.5j])),
    "complex scalars": lambda lib: (lib.complex64(1 + 2j), 1 + 2j),
    "booleans": lambda lib: (lib.array([True, False]), lib.array([True, True])),
    "unsigned": lambda lib: (lib.array([1, 2], dtype="uint8"), lib.array([2, 1], dtype="uint8")),
    "nothing": lambda lib: (lib.zeros((0, 3)), lib.zeros((0, 3))),
    "dict": lambda lib: ({"a": lib.array([1, 2]), "b": [lib.float64(1)]}, {"a": [1, 2], "b": [2.0]}),
    "dict of other keys": lambda lib: ({"a": lib.array([1])}, {"b": lib.array([1])}),
    "ordered dict": lambda lib: (OrderedDict(a=lib.array([1])), {"a": lib.array([1])}),
    "tuples": lambda lib: ((lib.array([1]), (lib.array([2.0]), 3)), (lib.array([1]), (lib.array([2.0]), 4))),
    "named tuples": lambda lib: (Pair(lib.array([1]), "x"), Pair(lib.array([1]), "x")),
    "lengths": lambda lib: ([lib.array([1])], [lib.array([1]), 2]),
    "text": lambda lib: ("abc", "abd"),
    "dtypes": lambda lib: (lib.array([1.0]).dtype, lib.float64),
    "other dtypes": lambda lib: (lib.array([1.0]).dtype, lib.dtype("float32")),
    "types": lambda lib: (lib.float64, lib.floating),
    "none": lambda lib: (None, lib.array([1.0])),
    "large": lambda lib: (lib.arange(2000.0), lib.arange(2000.0)[::-1]),
}
COMPARISONS: dict[str, list[dict[str, Any]]] = {
    "assert_equal": [{}, {"err_msg": "words"}, {"strict": True}, {"verbose": False}],
    "assert_array_equal": [{}, {"err_msg": "words"}, {"strict": True}, {"verbose": False}],
    "assert_allclose": [{}, {"rtol": 0.3, "atol": 0.1}, {"strict": True}, {"equal_nan": False}, {"err_msg": "words"}],
    "assert_almost_equal": [{}, {"decimal": 3}, {"err_msg": "words", "verbose": False}],
    "assert_array_almost_equal": [{}, {"decimal": 0}, {"err_msg": "words"}],
    "assert_approx_equal": [{}, {"significant": 2}, {"err_msg": "words"}],
    "assert_array_less": [{}, {"strict": True}, {"err_msg": "words"}],
    "assert_array_almost_equal_nulp": [{}, {"nulp": 2**23}],
    "assert_array_max_ulp": [{}, {"maxulp": 2**55}, {"maxulp": 2**30, "dtype": "float32"}],
}


def outcome(lib: Any, function: Any, pair: Any, options: dict[str, Any]) -> tuple[str, Any]:
    """What the call says: the kind of its outcome, and its text or numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*pair(lib), **options)
        except Exception as error:
            return type(error).__name__, str(error)
    return type(result).__name__, None if result is None else numpy.asarray(result).tolist()


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_numpys(name, pair):
    for options in COMPARISONS[name]:
        got = outcome(np, getattr(np.testing, name), PAIRS[pair], options)
        want = outcome(numpy, getattr(numpy.testing, name), PAIRS[pair], options)
        if want[0] in ("AttributeError", "TypeError"):  # of what has no numbers; the words name types
            assert got[0] == want[0]
        else:
            assert (got[0], got[1]) == want, options


def test_comparisons_pass_and_fail():
    kinds = {
        name: {outcome(numpy, getattr(numpy.testing, name), pair, {})[0] for pair in PAIRS.values()}
        for name in COMPARISONS
    }
    assert all("AssertionError" in kind and kind & {"NoneType", "ndarray"} for kind in kinds.values())


@pytest.mark.parametrize("comparison", [operator.ge, lambda a, b: abs(a - b) < 1, "greater_equal"])
def test_assert_array_compare(comparison):
    for a, b in (([1.0, 2.0], [1.0, 1.5]), ([1.0, 2.0], [1.0, 3.5]), ([1, 2], 0)):
        said = []
        for lib in (np, numpy):
            function = getattr(lib, comparison) if isinstance(comparison, str) else comparison
            given = function, lib.array(a), b
            said.append(outcome(lib, lib.testing.assert_array_compare, lambda _, given=given: given, {}))
        assert said[0] == said[1]
    seen = []
    np.testing.assert_array_compare(lambda a, b: seen.append(type(a)) or a == b, np.ones(2), np.ones(2))
    assert set(seen) == {np.ndarray}


def test_messages():
    for lib in (np, numpy):
        text = lib.testing.build_err_msg([lib.array([1.0, 2.0]), lib.float64(3)], "why", names=("a", "b"), precision=3)
        assert text == "\nItems are not equal: why\n a: array([1., 2.])\n b: np.float64(3.0)"
        with pytest.raises(AssertionError, match=r"sum failed\nACTUAL: \nnp.float64"):
            lib.testing.print_assert_equal("sum", lib.float64(1), 2)


def test_only_values_are_compared():
    x = np.decompose(np.array([1.0, 2.0]))
    np.testing.assert_allclose(x * 2, [2.0, 4.0])
    np.testing.assert_equal({"x": [x[0]]}, {"x": [1.0]})
    np.testing.assert_equal(x.tensor, x.value)
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 2"):
        np.testing.assert_array_equal(x, [1.0, 3.0])


def test_gradients_do_not_matter():
    t = torch.ones(2, requires_grad=True)
    np.testing.assert_array_equal(np.asarray(t) * 2, np.asarray(t) + 1)


def test_bfloat16():
    x = np.array([1.0, 2.0], dtype=np.bfloat16)
    np.testing.assert_equal(x, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(x, x.copy(), strict=True)
    np.testing.assert_equal(x.dtype, np.dtype(np.bfloat16))
    with pytest.raises(AssertionError, match=r"dtypes bfloat16, float32 mismatch"):
        np.testing.assert_array_equal(x, np.array([1.0, 2.0], dtype=np.float32), strict=True)
    with pytest.raises(AssertionError):
        np.testing.assert_equal(x.dtype, np.dtype(np.float32))
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 2"):
        np.testing.assert_allclose(x, [1.0, 2.1])
    with pytest.raises(TypeError, match="spacing of bfloat16"):
        np.testing.assert_array_max_ulp(x, x)


def test_what_does_not_concern_arrays_is_numpys():
    for name in np.testing.DELEGATES_TO_NUMPY:
        assert getattr(np.testing, name) is getattr(numpy.testing, name)
    with np.testing.assert_raises(ValueError):
        np.ones(2) + np.ones(3)
    np.testing.assert_raises(ValueError, np.add, np.ones(2), np.ones(3))
    np.testing.assert_raises_regex(ValueError, "could not be broadcast", np.add, np.ones(2), np.ones(3))
    with np.testing.assert_raises(AssertionError), np.testing.assert_no_warnings():
        warnings.warn("words", UserWarning, stacklevel=1)
    times = 3
    assert np.testing.measure("times + 1", times=times) >= 0


def test_every_name_of_numpy_testing():
    assert set(numpy.testing.__all__) <= set(np.testing.__all__) == set(dir(np.testing))
    for name in ("test", "extbuild"):
        with pytest.raises(np.exceptions.AbsentNameError, match=rf"npdec has no testing.{name}: "):
            getattr(np.testing, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        np.testing.nothing


def test_an_object_that_gives_an_array():
    class Holder:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3)

    np.testing.assert_array_equal(np.arange(3), Holder())
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 3"):
        np.testing.assert_array_equal(Holder(), np.array([0, 1, 3]))
