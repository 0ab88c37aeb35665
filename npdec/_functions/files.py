"""Arrays in NumPy's binary files, which the installed NumPy reads and writes. Text is in `npdec._functions.text_files`.

What is written is converted before a file is opened: an array that cannot be saved leaves no
file behind, and none half written. What is read becomes npdec's arrays.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from npdec._array.host_numpy import numpy_for, to_numpy_dtype
from npdec._core.door import open_to_classes
from npdec._core.tracebacks import ends
from npdec._core.unbound import unbound
from npdec._guests.exchange import received, storable
from npdec._guests.kinds import holds
from npdec._normalizer.like import handed_on

__all__ = ["fromfile", "load", "save", "savez", "savez_compressed"]

DELEGATES_TO_NUMPY = True


@open_to_classes
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
    numpy_for("save").save(file, storable("save", arr, allow_pickle), allow_pickle=allow_pickle)


@open_to_classes
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
    arrays = [storable("savez", arr, allow_pickle) for arr in args]
    named = {key: storable("savez", arr, allow_pickle) for key, arr in kwds.items()}
    numpy_for("savez").savez(file, *arrays, allow_pickle=allow_pickle, **named)


@open_to_classes
def savez_compressed(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to one compressed file in NumPy's format .npz; see `savez`.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez_compressed(file, zeros=np.zeros(1000))
    >>> len(file.getvalue()) < 1000
    True
    """
    arrays = [storable("savez_compressed", arr, allow_pickle) for arr in args]
    named = {key: storable("savez_compressed", arr, allow_pickle) for key, arr in kwds.items()}
    numpy_for("savez_compressed").savez_compressed(file, *arrays, allow_pickle=allow_pickle, **named)


@ends
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
    are NumPy's own arrays. `mmap_mode` maps the file to memory instead of reading it: "r" read-only, "r+" writing to
    the file, "c" keeping what is written in memory; the result is an array like others.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez(file, x=np.array([1, 2]))
    >>> _ = file.seek(0)
    >>> with np.load(file) as arrays:
    ...     arrays["x"]
    array([1, 2])
    """
    numpy = numpy_for("load")
    # A tensor cannot be told not to write: a private mapping keeps the writes to itself, and the array permits none.
    mode = "c" if mmap_mode == "r" else mmap_mode
    limit = operator.index(max_header_size)
    found = numpy.load(file, mode, allow_pickle, fix_imports, encoding, max_header_size=limit)
    if isinstance(found, numpy.lib.npyio.NpzFile):
        return NpzFile(found)
    mapped = isinstance(found, numpy.memmap) and holds(found.dtype)
    if mapped:
        found = found.view(numpy.ndarray)
    elif type(found) is numpy.ndarray and not found.dtype.isnative and found.dtype.kind in "iufc":
        found = found.astype(found.dtype.newbyteorder("="))
    made = received(found)
    if mapped and mmap_mode == "r":
        made.setflags(write=False)
    return made


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
        return received(self._source[key])

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


@unbound
@ends
def fromfile(
    _: Any, file: Any, dtype: Any = None, count: int = -1, sep: str = "", offset: int = 0, *, like: Any = None
) -> Any:
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
    if like is not None:
        return handed_on(fromfile, like, file, dtype, count, sep, offset)
    read = numpy_for("fromfile").fromfile(file, to_numpy_dtype(dtype), operator.index(count), sep, offset)
    return received(read)
