"""Arrays in files: NumPy's binary formats and text. The installed NumPy reads and writes them.

What is written is converted, and text is formatted, before a file is opened: an array that cannot be saved leaves no
file behind, and none half written. What is read becomes npdec's arrays.
"""

from __future__ import annotations

import importlib
import io
import locale
import operator
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from npdec._base import ArrayBase
from npdec._convert import as_tensor
from npdec._hosted import arguments, check_like, host_array, numpy_for, result, to_numpy_dtype
from npdec.exceptions import AbsentDTypeError

__all__ = [
    "fromfile", "fromstring", "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez", "savez_compressed",
]  # fmt: skip

DELEGATES_TO_NUMPY = True

_DELETECHARS = " !#$%&'()*+,-./:;<=>?@[\\]^{|}~"


# --- binary files -----------------------------------------------------------------------------------------------------


def _storable(name: str, arr: Any, allow_pickle: bool) -> Any:
    """What NumPy is to write for an array-like. Text and objects, which torch cannot hold, are left to NumPy."""
    numpy = numpy_for(name)
    try:
        made = arr if isinstance(arr, numpy.ndarray) else host_array(name, as_tensor(arr))
    except AbsentDTypeError:
        made = numpy.asanyarray(arguments(name, arr))
    if made.dtype.hasobject and not allow_pickle:
        raise ValueError("Object arrays cannot be saved when allow_pickle=False")
    return made


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write one array to a file in NumPy's format .npy. `file` is a name, to which ".npy" is appended if it has not got
    it, or a file that is open for bytes.

    Of a decomposed array the value is saved, with a DecompositionWarning. Raises TypeError for bfloat16.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.array([1.5, 2.5]))
    >>> _ = file.seek(0)
    >>> np.load(file)
    array([1.5, 2.5])
    """
    numpy_for("save").save(file, _storable("save", arr, allow_pickle), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to one file in NumPy's format .npz: those given by name under it, others as "arr_0", ...

    Of a decomposed array the value is saved, with a DecompositionWarning. Raises TypeError for bfloat16, ValueError
    where a name is taken twice.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez(file, np.arange(2), weights=np.ones(2))
    >>> _ = file.seek(0)
    >>> sorted(np.load(file))
    ['arr_0', 'weights']
    """
    arrays = [_storable("savez", arr, allow_pickle) for arr in args]
    named = {key: _storable("savez", arr, allow_pickle) for key, arr in kwds.items()}
    numpy_for("savez").savez(file, *arrays, allow_pickle=allow_pickle, **named)


def savez_compressed(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to one compressed file in NumPy's format .npz; see `savez`.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez_compressed(file, zeros=np.zeros(1000))
    >>> len(file.getvalue()) < 1000
    True
    """
    arrays = [_storable("savez_compressed", arr, allow_pickle) for arr in args]
    named = {key: _storable("savez_compressed", arr, allow_pickle) for key, arr in kwds.items()}
    numpy_for("savez_compressed").savez_compressed(file, *arrays, allow_pickle=allow_pickle, **named)


def load(
    file: Any,
    mmap_mode: str | None = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: str = "ASCII",
    *,
    max_header_size: int = 10000,
) -> Any:
    """Read what `save` or `savez` wrote: an array of a .npy file; of a .npz file a mapping of names to arrays, which
    are read when they are asked for: close it, or use it in a `with` block.

    Pickled objects are read with `allow_pickle=True` only (they can run any code): ValueError without. Text and records
    raise AbsentDTypeError; `mmap_mode=` raises NotImplementedError.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez(file, x=np.array([1, 2]))
    >>> _ = file.seek(0)
    >>> with np.load(file) as arrays:
    ...     arrays["x"]
    array([1, 2])
    """
    if mmap_mode is not None:
        raise NotImplementedError(
            f"load: mmap_mode={mmap_mode!r} would map the file to memory, which np.load does not; torch.from_file maps "
            "a file of plain numbers, and np.asarray takes its tensor"
        )
    numpy = numpy_for("load")
    found = numpy.load(file, None, allow_pickle, fix_imports, encoding, max_header_size=operator.index(max_header_size))
    return NpzFile(found) if isinstance(found, numpy.lib.npyio.NpzFile) else result("load", found)


class NpzFile(Mapping[str, Any]):
    """The arrays of a .npz file by name; each is read from the file when it is asked for. `np.load` makes one.

    `files` lists the names, `f` has the arrays as attributes, and `close` closes the file, as a `with` block does.
    """

    __module__ = "npdec.lib.npyio"

    def __init__(self, source: Any) -> None:
        self._source = source
        self.f = _Attributes(weakref.proxy(self))  # no cycle: an archive that is dropped is closed at once

    @property
    def files(self) -> list[str]:
        """The names, without the ending .npy that they have in the archive."""
        return self._source.files

    @property
    def zip(self) -> Any:
        """The archive, a zipfile.ZipFile; None once it is closed."""
        return self._source.zip

    @property
    def fid(self) -> Any:
        """The file under the archive if `np.load` opened it, else None."""
        return self._source.fid

    @property
    def allow_pickle(self) -> bool:
        """Whether pickled objects are read."""
        return self._source.allow_pickle

    @property
    def max_header_size(self) -> int:
        """The longest header that is read."""
        return self._source.max_header_size

    @property
    def pickle_kwargs(self) -> Any:
        """How pickled objects are read."""
        return self._source.pickle_kwargs

    def __getitem__(self, key: str) -> Any:
        return result("load", self._source[key])

    def __contains__(self, key: object) -> bool:
        return key in self._source

    def __iter__(self) -> Iterator[str]:
        return iter(self._source)

    def __len__(self) -> int:
        return len(self._source)

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. The arrays that were read stay."""
        self._source.close()

    def __repr__(self) -> str:
        return repr(self._source)


class _Attributes:
    """The items of a mapping as attributes."""

    def __init__(self, mapping: Mapping[str, Any]) -> None:
        self.__mapping = mapping

    def __getattribute__(self, name: str) -> Any:
        mapping = object.__getattribute__(self, "_Attributes__mapping")
        try:
            return mapping[name]
        except KeyError:
            return object.__getattribute__(self, name)

    def __dir__(self) -> list[str]:
        return list(object.__getattribute__(self, "_Attributes__mapping"))


def fromfile(file: Any, dtype: Any = None, count: int = -1, sep: str = "", offset: int = 0, *, like: Any = None) -> Any:
    """A 1-d array of the numbers in a file: of their bytes, in this machine's order, from byte `offset` on; or of a
    text in which `sep` separates them. All of them, or `count`; of float64 unless `dtype` is given.

    `x.tofile` writes such a file, which does not say its dtype or shape: `np.save` is the better choice.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     np.array([1, 2], dtype=np.int16).tofile(file)
    ...     _ = file.seek(0)
    ...     np.fromfile(file, dtype=np.int16)
    array([1, 2], dtype=int16)
    """
    check_like("fromfile", like)
    read = numpy_for("fromfile").fromfile(file, to_numpy_dtype(dtype), operator.index(count), sep, offset)
    return result("fromfile", read)


# --- text -------------------------------------------------------------------------------------------------------------


def fromstring(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", like: Any = None) -> Any:
    """A 1-d array of the numbers in a text, in which `sep` separates them. All of them, or `count`.

    Raises ValueError where the text holds something else or ends early, and without `sep`: for bytes there is
    `np.frombuffer`.

    >>> np.fromstring("1, 2.5", sep=",")
    array([1. , 2.5])
    """
    check_like("fromstring", like)
    return result("fromstring", numpy_for("fromstring").fromstring(string, to_numpy_dtype(dtype), count, sep=sep))


def _converters(converters: Any) -> Any:
    """The caller's functions of text, giving NumPy Python's numbers where they give npdec's."""
    if converters is None:
        return None
    if callable(converters):
        return _plain(converters)
    if not isinstance(converters, dict):
        return converters
    return {_place(key): _plain(value) if callable(value) else value for key, value in converters.items()}


def _plain(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def converted(text: Any) -> Any:
        number = function(text)
        return number.item() if hasattr(number, "item") else number

    return converted


def _place(key: Any) -> Any:
    return key if isinstance(key, str) else operator.index(key)


def _columns(usecols: Any) -> Any:
    """Column numbers as Python's."""
    if isinstance(usecols, ArrayBase):
        return usecols.tolist()  # type: ignore[attr-defined]
    if isinstance(usecols, (list, tuple)):
        return [_place(column) for column in usecols]
    return usecols


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
    Raises ValueError where rows differ in length or text is no number, AbsentDTypeError for a dtype of text or records.

    >>> np.loadtxt(["1 2  # a comment", "3 4.5"])
    array([[1. , 2. ],
           [3. , 4.5]])
    """
    check_like("loadtxt", like)
    table = numpy_for("loadtxt").loadtxt(
        fname,
        float if dtype is None else to_numpy_dtype(dtype),
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
    return result("loadtxt", table)


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
    records, which torch cannot hold: AbsentDTypeError. So is a masked one (`usemask=True`).

    >>> np.genfromtxt(["1,2", "3,"], delimiter=",")
    array([[ 1.,  2.],
           [ 3., nan]])
    """
    check_like("genfromtxt", like)
    if usemask:
        raise AbsentDTypeError("genfromtxt: torch has no masked arrays; leave usemask out, and look for NaN")
    table = numpy_for("genfromtxt").genfromtxt(
        fname,
        to_numpy_dtype(dtype),
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
    return result("genfromtxt", table)


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
    table = X if isinstance(X, numpy.ndarray) else _storable("savetxt", X, True)
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


def tofile(array: Any, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the elements of an array to a file, in row-major order; see `ndarray.tofile`."""
    values: Iterable[Any] = host_array("tofile", as_tensor(array))
    numpy_for("tofile").ndarray.tofile(values, fid, sep, format)
