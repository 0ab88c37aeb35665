"""The assertions that compare arrays: NumPy's own, on the values.

Each converts what it is given (`npdec.testing._host`) and calls the function of the same name in the installed NumPy,
so that what passes, what fails and what the message says are NumPy's. The contributions of a decomposed array are not
compared; `check_decomposition` looks at those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_dtype, as_tensor
from npdec._dtypes.dtype import numpy_dtype
from npdec.testing._host import comparing, from_host, host, numpy_testing

__all__ = [
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_compare",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_max_ulp",
    "assert_equal",
    "build_err_msg",
    "print_assert_equal",
]

DELEGATES_TO_NUMPY = True


def _same_dtype(x: Any, y: Any, err_msg: str, verbose: bool) -> None:
    """What `strict` asks of bfloat16, which NumPy sees as float32."""
    pair = [getattr(item, "dtype", None) for item in (x, y)]
    brain = [dtype == torch.bfloat16 for dtype in pair]
    if brain[0] is not brain[1]:
        reason = f"{err_msg}\n(dtypes {pair[0]}, {pair[1]} mismatch)"
        raise AssertionError(build_err_msg([x, y], reason, verbose=verbose))


def _has_spacing(name: str, *items: Any) -> None:
    for item in items:
        if getattr(item, "dtype", None) == torch.bfloat16:
            raise TypeError(
                f"{name}: NumPy does not know the spacing of bfloat16; compare .astype('float32') with a tolerance "
                "(assert_allclose)"
            )


def assert_equal(actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Raise AssertionError unless two numbers, arrays, or lists, tuples and dicts of them, are equal; NaN equals NaN.

    `strict`: of arrays, shapes and dtypes have to agree as well.

    >>> np.testing.assert_equal({"a": np.array([1.0, np.nan])}, {"a": [1.0, np.nan]})
    """
    __tracebackhide__ = True
    if strict:
        _same_dtype(actual, desired, err_msg, verbose)
    compare, own = comparing("assert_equal", actual, desired)
    compare(own(actual), own(desired), err_msg, verbose, strict=strict)


def assert_array_equal(
    actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False
) -> None:
    """Raise AssertionError unless two array-likes have equal elements; NaN equals NaN, and a scalar equals an array
    full of it.

    `strict`: shapes and dtypes have to agree as well.

    >>> np.testing.assert_array_equal(np.array([1, 2]), [1.0, 2.0])
    """
    __tracebackhide__ = True
    if strict:
        _same_dtype(actual, desired, err_msg, verbose)
    compare, own = comparing("assert_array_equal", actual, desired)
    compare(own(actual), own(desired), err_msg, verbose, strict=strict)


def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: float = 1e-07,
    atol: float = 0,
    equal_nan: bool = True,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
) -> None:
    """Raise AssertionError where two array-likes differ by more than `atol + rtol * abs(desired)`.

    `strict`: shapes and dtypes have to agree as well.

    >>> np.testing.assert_allclose(np.exp(np.array([0.0, 1.0])), [1.0, 2.718281828])
    """
    __tracebackhide__ = True
    if strict:
        _same_dtype(actual, desired, err_msg, verbose)
    compare, own = comparing("assert_allclose", actual, desired, rtol, atol)
    compare(own(actual), own(desired), own(rtol), own(atol), equal_nan, err_msg, verbose, strict=strict)


def assert_almost_equal(actual: Any, desired: Any, decimal: int = 7, err_msg: str = "", verbose: bool = True) -> None:
    """Raise AssertionError where two numbers or arrays differ by `1.5 * 10**-decimal` or more.

    >>> np.testing.assert_almost_equal(np.float64(2.0) / 3, 0.6667, decimal=4)
    """
    __tracebackhide__ = True
    compare, own = comparing("assert_almost_equal", actual, desired)
    compare(own(actual), own(desired), decimal, err_msg, verbose)


def assert_array_almost_equal(
    actual: Any, desired: Any, decimal: int = 6, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise AssertionError where two array-likes differ by `1.5 * 10**-decimal` or more; NaN equals NaN.

    >>> np.testing.assert_array_almost_equal(np.array([1.0, 2.00001]), [1, 2], decimal=4)
    """
    __tracebackhide__ = True
    compare, own = comparing("assert_array_almost_equal", actual, desired)
    compare(own(actual), own(desired), decimal, err_msg, verbose)


def assert_approx_equal(
    actual: Any, desired: Any, significant: int = 7, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise AssertionError unless two numbers agree to that many significant digits.

    >>> np.testing.assert_approx_equal(np.float64(0.12345677e-20), 0.1234567e-20)
    """
    __tracebackhide__ = True
    compare, own = comparing("assert_approx_equal", actual, desired)
    compare(own(actual), own(desired), significant, err_msg, verbose)


def assert_array_less(x: Any, y: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Raise AssertionError unless `x < y` everywhere.

    `strict`: shapes and dtypes have to agree as well.

    >>> np.testing.assert_array_less(np.array([1.0, -1.0]), 2.0)
    """
    __tracebackhide__ = True
    if strict:
        _same_dtype(x, y, err_msg, verbose)
    compare, own = comparing("assert_array_less", x, y)
    compare(own(x), own(y), err_msg, verbose, strict=strict)


def assert_array_compare(
    comparison: Callable[[Any, Any], Any],
    x: Any,
    y: Any,
    err_msg: str = "",
    verbose: bool = True,
    header: str = "",
    precision: int = 6,
    equal_nan: bool = True,
    equal_inf: bool = True,
    *,
    strict: bool = False,
    names: tuple[str, str] = ("ACTUAL", "DESIRED"),
) -> None:
    """Raise AssertionError unless `comparison(x, y)` is true everywhere. It is called with arrays of npdec.

    >>> np.testing.assert_array_compare(np.greater_equal, np.array([2, 3]), [2, 2])
    """
    __tracebackhide__ = True

    def compare(a: Any, b: Any) -> Any:
        return host(comparison(from_host(a), from_host(b)))

    if strict:
        _same_dtype(x, y, err_msg, verbose)
    numpy_testing("assert_array_compare").assert_array_compare(
        compare,
        host(x),
        host(y),
        err_msg,
        verbose,
        header,
        precision,
        equal_nan,
        equal_inf,
        strict=strict,
        names=names,
    )


def assert_array_almost_equal_nulp(x: Any, y: Any, nulp: int = 1) -> None:
    """Raise AssertionError where two arrays differ by more than `nulp` times the spacing of the larger number.

    Raises TypeError for bfloat16, whose spacing NumPy does not know.

    >>> np.testing.assert_array_almost_equal_nulp(np.float64(1.0), 1.0 + 2.0**-52)
    """
    __tracebackhide__ = True
    _has_spacing("assert_array_almost_equal_nulp", x, y)
    numpy_testing("assert_array_almost_equal_nulp").assert_array_almost_equal_nulp(host(x), host(y), nulp)


def assert_array_max_ulp(a: Any, b: Any, maxulp: int = 1, dtype: Any = None) -> Any:
    """The number of floating-point numbers between two arrays; raises AssertionError where there are more than
    `maxulp`.

    `dtype` is what both are converted to first. Raises TypeError for bfloat16, whose spacing NumPy does not know.

    >>> np.testing.assert_array_max_ulp(np.array([1.0]), np.array([1.0 + 2.0**-52]))
    array([[1.]])
    """
    __tracebackhide__ = True
    _has_spacing("assert_array_max_ulp", a, b)
    if dtype is not None:
        dtype = numpy_dtype(as_dtype(dtype))
    return from_host(numpy_testing("assert_array_max_ulp").assert_array_max_ulp(host(a), host(b), maxulp, dtype))


def build_err_msg(
    arrays: Any,
    err_msg: Any,
    header: str = "Items are not equal:",
    verbose: bool = True,
    names: tuple[str, ...] = ("ACTUAL", "DESIRED"),
    precision: int = 8,
) -> str:
    """The message of an assertion that failed: the header, `err_msg`, and the arrays under their names.

    >>> print(np.testing.build_err_msg([np.array([1.0, 2.0]), 3], "sizes"))
    <BLANKLINE>
    Items are not equal: sizes
     ACTUAL: array([1., 2.])
     DESIRED: 3
    """
    return str(
        numpy_testing("build_err_msg").build_err_msg(
            [_shown(item) for item in arrays], err_msg, header, verbose, names, precision
        )
    )


class _Shown:
    """An array that says its own dtype."""

    def __init__(self, item: Any) -> None:
        self.item = item

    def __repr__(self) -> str:
        return repr(self.item)


def _shown(item: Any) -> Any:
    """An item for a message. bfloat16 is not called float32 there."""
    if getattr(item, "dtype", None) == torch.bfloat16:
        return _Shown(wrap.wrap_array(as_tensor(item)) if isinstance(item, torch.Tensor) else item)
    return host(item)


def print_assert_equal(test_string: str, actual: Any, desired: Any) -> None:
    """Raise AssertionError, with both written under the words of `test_string`, unless `actual == desired`.

    >>> np.testing.print_assert_equal("a sum", np.float64(1.0) + 1, 2)
    """
    __tracebackhide__ = True
    numpy_testing("print_assert_equal").print_assert_equal(test_string, host(actual), host(desired))
