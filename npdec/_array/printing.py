"""Arrays as text. NumPy formats them where it is installed: its options, its digits, its line breaks.

Only values are formatted, copied to the host if need be; a decomposed array says in a few words what contributed.
Without NumPy, `repr` and `str` still give a readable text, and what needs NumPy's formatter raises ImportError.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from npdec._array.convert import as_tensor, dtype_name
from npdec._array.foreign_arrays import as_argument
from npdec._core.base import ArrayBase
from npdec._core.door import open_to_guests
from npdec._core.tracebacks import ends
from npdec._decomposed.described import described
from npdec._decomposed.tensor import DecomposedTensor
from npdec._show import summary
from npdec._torch.tracing import refuse_recording

__all__ = [
    "array2string",
    "array_repr",
    "array_str",
    "format_float_positional",
    "format_float_scientific",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
]

DELEGATES_TO_NUMPY = True

_UNSAID = (torch.bool, torch.int64, torch.float64, torch.complex128)  # dtypes that the elements show by themselves
_LINE_WIDTH, _THRESHOLD, _EDGE_ITEMS = 75, 1000, 3  # NumPy's defaults, for the text without it


def _numpy(name: str) -> Any:
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{name}: text is formatted by NumPy; install NumPy, or print x.tolist()") from None
    return numpy


def _host(tensor: torch.Tensor) -> Any:
    """The values as a NumPy array; bfloat16, which NumPy lacks, as float32."""
    if type(tensor) is DecomposedTensor:
        tensor = tensor.value
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()


@open_to_guests
def array_repr(
    arr: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The array as an expression that evaluates to it, with its dtype where the elements do not show it.

    A decomposed array also says its residual, how many components there are, and the largest of them: what they add
    to a number, or what part of all contributions to an array they are. The parameters override the print options.

    >>> np.array_repr(np.array([1.0, 2.0], dtype=np.float32))
    'array([1., 2.], dtype=float32)'
    >>> x = np.decompose(np.array([1.0, 3.0]), labels=["a", "b"])
    >>> x
    array([1., 3.], residual=0, components=2: b 75%, a 25%)
    >>> x.prod()
    np.float64(3.0, residual=0, components=2: a +1.5, b +1.5)
    """
    return named_repr("array", arr, max_line_width, precision, suppress_small)


def named_repr(
    name: str,
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """`array_repr` under the name of a class."""
    refuse_recording("text is made of an array")
    tensor = as_argument(arr)
    width = max_line_width
    try:
        numpy, values = _numpy("array_repr"), _host(tensor)
    except ImportError:
        text = name + _plain_repr(tensor).removeprefix("array")
    except RuntimeError:  # inside torch.func's transforms and torch.compile a tensor has no values to show
        return f"{name}({tensor!r})"
    else:
        if name != "array":
            values = values.view(type(name, (numpy.ndarray,), {}))  # NumPy lays out lines by the length of the name
        text = numpy.array_repr(values, max_line_width, precision, suppress_small)
        width = width or numpy.get_printoptions()["linewidth"]
    if tensor.dtype is torch.bfloat16:
        text = text.replace("dtype=float32)", "dtype=bfloat16)")
    if isinstance(tensor, DecomposedTensor):
        text = summary.laid_out(text, described(tensor), width or _LINE_WIDTH, len(name) + 1)
    return text


@open_to_guests
def array_str(
    a: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The elements of the array as text. The parameters override the print options.

    >>> np.array_str(np.arange(4).reshape(2, 2))
    '[[0 1]\\n [2 3]]'
    """
    refuse_recording("text is made of an array")
    tensor = as_argument(a)
    try:
        numpy, values = _numpy("array_str"), _host(tensor)
    except ImportError:
        return _plain(tensor, " ", 0)
    except RuntimeError:  # as above
        return repr(tensor)
    return numpy.array_str(values, max_line_width, precision, suppress_small)


@ends
@open_to_guests
def array2string(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
    separator: str = " ",
    prefix: str = "",
    *,
    formatter: dict[str, Callable[..., str]] | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sign: str | None = None,
    floatmode: str | None = None,
    suffix: str = "",
    legacy: Any = None,
) -> str:
    """The elements of the array as text, in the given format. Raises ImportError without NumPy, whose format it is.

    >>> np.array2string(np.array([1.5, 2.25]), separator=", ", precision=1)
    '[1.5, 2.2]'
    """
    refuse_recording("text is made of an array")
    return _numpy("array2string").array2string(
        _host(as_argument(a)),
        max_line_width,
        precision,
        suppress_small,
        separator,
        prefix,
        formatter=formatter,
        threshold=threshold,
        edgeitems=edgeitems,
        sign=sign,
        floatmode=floatmode,
        suffix=suffix,
        legacy=legacy,
    )


def _number(x: Any) -> Any:
    """A scalar as the NumPy scalar of its dtype, which decides the digits; other numbers as they are."""
    return _host(as_tensor(x))[()] if isinstance(x, (ArrayBase, torch.Tensor)) else x


@ends
def format_float_positional(
    x: Any,
    precision: int | None = None,
    unique: bool = True,
    fractional: bool = True,
    trim: str = "k",
    sign: bool = False,
    pad_left: int | None = None,
    pad_right: int | None = None,
    min_digits: int | None = None,
) -> str:
    """A float as text without an exponent, by default with the fewest digits that tell it from its neighbours.

    Raises ImportError without NumPy, whose digits these are.

    >>> np.format_float_positional(np.float32(1e-5))
    '0.00001'
    """
    return _numpy("format_float_positional").format_float_positional(
        _number(x), precision, unique, fractional, trim, sign, pad_left, pad_right, min_digits
    )


@ends
def format_float_scientific(
    x: Any,
    precision: int | None = None,
    unique: bool = True,
    trim: str = "k",
    sign: bool = False,
    pad_left: int | None = None,
    exp_digits: int | None = None,
    min_digits: int | None = None,
) -> str:
    """A float as text with an exponent, by default with the fewest digits that tell it from its neighbours.

    Raises ImportError without NumPy, whose digits these are.

    >>> np.format_float_scientific(np.float32(1234.5))
    '1.2345e+03'
    """
    return _numpy("format_float_scientific").format_float_scientific(
        _number(x), precision, unique, trim, sign, pad_left, exp_digits, min_digits
    )


@ends
def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    suppress: bool | None = None,
    nanstr: str | None = None,
    infstr: str | None = None,
    formatter: dict[str, Callable[..., str]] | None = None,
    sign: str | None = None,
    floatmode: str | None = None,
    *,
    legacy: Any = None,
    override_repr: Callable[..., str] | None = None,
) -> None:
    """Set how arrays print: digits, line width, when to summarise. These are the options of the installed NumPy, so
    they hold for its arrays too. Raises ImportError without NumPy.

    >>> before = np.get_printoptions()
    >>> np.set_printoptions(precision=2)
    >>> np.array([1.23456])
    array([1.23])
    >>> np.set_printoptions(**before)
    """
    _numpy("set_printoptions").set_printoptions(
        precision,
        threshold,
        edgeitems,
        linewidth,
        suppress,
        nanstr,
        infstr,
        formatter,
        sign,
        floatmode,
        legacy=legacy,
        override_repr=override_repr,
    )


def get_printoptions() -> dict[str, Any]:
    """The print options, as keywords for `set_printoptions`. Raises ImportError without NumPy.

    >>> np.get_printoptions()["precision"]
    8
    """
    return _numpy("get_printoptions").get_printoptions()


def printoptions(*args: Any, **kwargs: Any) -> AbstractContextManager[dict[str, Any]]:
    """Print options for the length of a `with` block; the arguments are those of `set_printoptions`.

    Raises ImportError without NumPy.

    >>> with np.printoptions(precision=1):
    ...     print(np.array([1.23456]))
    [1.2]
    """
    return _numpy("printoptions").printoptions(*args, **kwargs)


# --- scalars ----------------------------------------------------------------------------------------------------------

# From this size on, NumPy prints a float of less precision than a double with an exponent.
_LIMITS = {torch.float16: 1e3, torch.bfloat16: 1e3, torch.float32: 1e6}
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def legacy_text() -> bool:
    """Whether NumPy's print options ask for the text that scalars had before NumPy 2: that of `str`."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and numpy.get_printoptions()["legacy"] in ("1.13", "1.21", "1.25")


def legacy_scalar_text(number: Any, torch_dtype: torch.dtype) -> str | None:
    """The text of a scalar where NumPy's print options ask for that of an earlier version: NumPy's."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not numpy.get_printoptions()["legacy"] or torch_dtype is torch.bfloat16:
        return None
    return str(numpy.dtype(dtype_name(torch_dtype)).type(number))


def scalar_text(number: Any, torch_dtype: torch.dtype) -> str:
    """The number with the fewest digits that give it back in its dtype."""
    if isinstance(number, float):
        return _float_text(number, torch_dtype)
    if not isinstance(number, complex):
        return str(number)
    real, imag = (_float_text(x, _REAL[torch_dtype]).removesuffix(".0") for x in (number.real, number.imag))
    if real == "0":
        return f"{imag}j"
    return f"({real}{'' if imag.startswith('-') else '+'}{imag}j)"


def _float_text(x: float, torch_dtype: torch.dtype) -> str:
    limit = _LIMITS.get(torch_dtype)
    if limit is None or x == 0 or not math.isfinite(x):
        return repr(x)
    text = next(text for text in (f"{x:.{n}e}" for n in range(9)) if _rounded(float(text), torch_dtype) == x)
    if 1e-4 <= abs(x) < limit:
        return repr(float(text))
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa.rstrip('0').removesuffix('.') if '.' in mantissa else mantissa}e{exponent}"


def _rounded(x: float, torch_dtype: torch.dtype) -> float:
    # On the host, whatever the default device is: x is a Python number that is being printed.
    return torch.tensor(x, dtype=torch_dtype, device="cpu").item()


# --- without NumPy ----------------------------------------------------------------------------------------------------


def _plain_repr(tensor: torch.Tensor) -> str:
    words = [_plain(tensor, ", ", len("array("))]
    if not tensor.numel() and tensor.ndim > 1:
        words.append(f"shape={tuple(tensor.shape)}")
    if tensor.dtype not in _UNSAID or not tensor.numel():
        words.append(f"dtype={dtype_name(tensor.dtype)}")
    return f"array({', '.join(words)})"


def _plain(tensor: torch.Tensor, separator: str, indent: int) -> str:
    if type(tensor) is DecomposedTensor:
        tensor = tensor.value
    tensor = tensor.detach()
    return "[]" if not tensor.numel() else _rows(tensor, separator, indent, tensor.numel() > _THRESHOLD)


def _rows(tensor: torch.Tensor, separator: str, indent: int, summarise: bool) -> str:
    """The nested rows, one line for each last axis, the middle of a long axis left out if `summarise`."""
    if not tensor.ndim:
        return _element(tensor.item())
    count = len(tensor)
    short = summarise and count > 2 * _EDGE_ITEMS
    indices = [*range(_EDGE_ITEMS), *range(count - _EDGE_ITEMS, count)] if short else range(count)
    if tensor.ndim == 1:
        items = [_element(x) for x in tensor[list(indices)].tolist()]
        between = separator
    else:
        items = [_rows(tensor[i], separator, indent + 1, summarise) for i in indices]
        between = separator.rstrip() + "\n" * (tensor.ndim - 1) + " " * (indent + 1)
    if short:
        items.insert(_EDGE_ITEMS, "...")
    return f"[{between.join(items)}]"


def _element(x: Any) -> str:
    """A number with as many digits as NumPy shows: 8, and a point to mark a float."""
    if isinstance(x, complex):
        return f"{x.real:.8g}{x.imag:+.8g}j"
    if not isinstance(x, float):
        return str(x)
    text = f"{x:.8g}"
    return text if text.strip("-0123456789") else text + "."
