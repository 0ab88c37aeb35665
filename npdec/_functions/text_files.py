"""Tables of numbers in text files, which the installed NumPy reads and formats.

Text is formatted before a file is opened: an array that cannot be written leaves no file behind, and none half written.
"""

from __future__ import annotations

import importlib
import io
import locale
import operator
import os
from collections.abc import Callable
from typing import Any

from npdec._array.host_numpy import numpy_for, to_numpy_dtype
from npdec._core.base import ArrayBase
from npdec._core.door import open_to_classes
from npdec._core.tracebacks import ends
from npdec._core.unbound import unbound
from npdec._guests.exchange import arguments, received, storable
from npdec._normalizer.like import handed_on

__all__ = ["fromstring", "genfromtxt", "loadtxt", "savetxt"]

DELEGATES_TO_NUMPY = True

_DELETECHARS = " !#$%&'()*+,-./:;<=>?@[\\]^{|}~"


@unbound
@ends
def fromstring(_: Any, string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", like: Any = None) -> Any:
    """A 1-d array of the numbers in a text, in which `sep` separates them. All of them, or `count`.

    Raises ValueError where the text holds something else or ends early, and without `sep`: for bytes there is
    `np.frombuffer`.

    >>> np.fromstring("1, 2.5", sep=",")
    array([1. , 2.5])
    """
    if like is not None:
        return handed_on(fromstring, like, string, dtype, count, sep=sep)
    return received(numpy_for("fromstring").fromstring(string, to_numpy_dtype(dtype), count, sep=sep))


def _converters(converters: Any) -> Any:
    """The caller's functions of text, giving NumPy Python's numbers where they give npdec's."""
    if converters is None:
        return None
    if callable(converters):
        return _plain(converters)
    if not isinstance(converters, dict):
        return converters
    return {_place(key): _plain(value) if callable(value) else value for key, value in converters.items()}


def _plain(function: Any) -> Callable[[Any], Any]:
    if isinstance(function, type) and not issubclass(function, ArrayBase):
        return function  # NumPy looks whether it is bytes
    call: Callable[[Any], Any] = function

    def converted(text: Any) -> Any:
        number = call(text)
        return number.item() if hasattr(number, "item") else number

    return converted


def _place(key: Any) -> Any:
    return key if isinstance(key, str) else operator.index(key)


def _columns(usecols: Any) -> Any:
    """Column numbers as Python's."""
    if isinstance(usecols, ArrayBase):
        return usecols.tolist()  # type: ignore[attr-defined]
    if isinstance(usecols, (list, tuple)):
        try:
            return [_place(column) for column in usecols]
        except TypeError as error:
            raise TypeError(f"usecols must be integers, or names of fields: {error}") from None
    return usecols


@ends
def loadtxt(
    fname: Any,
    dtype: Any = float,
    comments: Any = "#",
    delimiter: str | None = None,
    converters: Any = None,
    skiprows: int = 0,
    usecols: Any = None,
    unpack: bool = False,
    ndmin: int = 0,
    encoding: str | None = None,
    max_rows: int | None = None,
    *,
    quotechar: str | None = None,
    like: Any = None,
) -> Any:
    """Read a table of numbers from a text file (a name, a file, or an iterable of lines), a row from each line.

    `comments` begins a comment, `delimiter` separates columns (white space unless given), `converters` maps columns to
    functions of their text, `usecols` chooses columns, `unpack` gives the transpose, `ndmin` the least dimension.
    Raises ValueError where rows differ in length or text is no number.

    >>> np.loadtxt(["1 2  # a comment", "3 4.5"])
    array([[1. , 2. ],
           [3. , 4.5]])
    """
    if like is not None:
        return handed_on(loadtxt, like, **{name: value for name, value in locals().items() if name != "like"})
    table = numpy_for("loadtxt").loadtxt(
        fname,
        float if dtype is None else arguments("loadtxt", dtype),
        comments,
        delimiter,
        _converters(converters),
        skiprows,
        _columns(usecols),
        unpack,
        ndmin,
        encoding,
        max_rows,
        quotechar=quotechar,
    )
    return received(table)


@ends
def genfromtxt(
    fname: Any,
    dtype: Any = float,
    comments: str | None = "#",
    delimiter: Any = None,
    skip_header: int = 0,
    skip_footer: int = 0,
    converters: Any = None,
    missing_values: Any = None,
    filling_values: Any = None,
    usecols: Any = None,
    names: Any = None,
    excludelist: Any = None,
    deletechars: Any = _DELETECHARS,
    replace_space: str = "_",
    autostrip: bool = False,
    case_sensitive: Any = True,
    defaultfmt: str = "f%i",
    unpack: bool | None = None,
    usemask: bool = False,
    loose: bool = True,
    invalid_raise: bool = True,
    max_rows: int | None = None,
    encoding: str | None = None,
    *,
    ndmin: int = 0,
    like: Any = None,
) -> Any:
    """Read a table of numbers from a text file in which some are missing: they become NaN (-1 among integers), or what
    `filling_values` says.

    Fields may have a fixed width (`delimiter` gives the widths), `missing_values` are the words for nothing, and names
    in the first line can choose columns (`usecols`). A table whose columns differ in kind, or have `names`, is one of
    records, and a masked one (`usemask=True`) a masked array: these are NumPy's own.

    >>> np.genfromtxt(["1,2", "3,"], delimiter=",")
    array([[ 1.,  2.],
           [ 3., nan]])
    """
    if like is not None:
        return handed_on(genfromtxt, like, **{name: value for name, value in locals().items() if name != "like"})
    table = numpy_for("genfromtxt").genfromtxt(
        fname,
        arguments("genfromtxt", dtype),
        comments,
        delimiter,
        skip_header,
        skip_footer,
        _converters(converters),
        missing_values,
        arguments("genfromtxt", filling_values),
        _columns(usecols),
        names,
        excludelist,
        deletechars,
        replace_space,
        autostrip,
        case_sensitive,
        defaultfmt,
        unpack,
        usemask,
        loose,
        invalid_raise,
        max_rows,
        encoding,
        ndmin=ndmin,
    )
    return received(table)


@open_to_classes
def savetxt(
    fname: Any,
    X: Any,
    fmt: Any = "%.18e",
    delimiter: str = " ",
    newline: str = "\n",
    header: str = "",
    footer: str = "",
    comments: str = "# ",
    encoding: str | None = None,
) -> None:
    """Write a vector or a matrix to a text file (a name or a file), a line for each row; names that end in .gz, .bz2 or
    .xz are compressed.

    `fmt` formats a number, several formats or one with as many places a row. `header` and `footer` are written as
    comments. Of a decomposed array the value is written, with a DecompositionWarning. Raises ValueError for more than
    two axes or a format that does not fit, TypeError where a number cannot be formatted so.

    >>> import io
    >>> file = io.StringIO()
    >>> np.savetxt(file, np.array([[1, 2], [3, 4]]), fmt="%d")
    >>> file.getvalue()
    '1 2\\n3 4\\n'
    """
    numpy = numpy_for("savetxt")
    table = X if isinstance(X, numpy.ndarray) else storable("savetxt", X, True)
    formatted = io.StringIO()
    numpy.savetxt(formatted, table, fmt, delimiter, newline, header, footer, comments)
    text = formatted.getvalue()
    if isinstance(fname, (str, os.PathLike)):
        text.encode(encoding or locale.getpreferredencoding(False))  # raises before the file is opened
        with _opened(os.fspath(fname), encoding) as file:
            file.write(text)
    elif hasattr(fname, "write"):
        try:
            fname.write(text)
        except TypeError:  # it is open for bytes
            fname.write(text.encode(encoding or "latin1"))
    else:
        raise ValueError("fname must be a string or file handle")


_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}


def _opened(path: str, encoding: str | None) -> Any:
    """The file, open for text, and compressed if its name says so."""
    module = _COMPRESSED.get(os.path.splitext(path)[1])
    opener = open if module is None else importlib.import_module(module).open
    return opener(path, "wt", encoding=encoding)
