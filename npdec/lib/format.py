"""The .npy format: `np.lib.format`. NumPy writes and reads; arrays go in and come out as npdec's.

Its constants and the functions of headers are NumPy's own, found in the installed NumPy.
"""

from __future__ import annotations

from typing import Any

from npdec._array.host_numpy import numpy_for, to_numpy_dtype
from npdec._array.ndarray import Composition
from npdec._core import absent
from npdec._core.tracebacks import ends
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._dtypes.dtype import is_own
from npdec._guests.exchange import arguments, received
from npdec.exceptions import MissingNameError

__all__ = [
    "descr_to_dtype",
    "drop_metadata",
    "dtype_to_descr",
    "header_data_from_array_1_0",
    "read_array",
    "read_array_header_1_0",
    "read_array_header_2_0",
    "write_array",
]

DELEGATES_TO_NUMPY = True

_NUMPYS = """ARRAY_ALIGN BUFFER_SIZE EXPECTED_KEYS GROWTH_AXIS_MAX_DIGITS MAGIC_LEN MAGIC_PREFIX isfileobj magic
    read_magic write_array_header_1_0 write_array_header_2_0""".split()


def __getattr__(name: str) -> Any:
    if name in _NUMPYS:
        return getattr(numpy_for(f"lib.format.{name}").lib.format, name)
    if f"lib.format.{name}" in absent.ABSENT:
        raise absent.absent(f"lib.format.{name}")
    raise MissingNameError("npdec.lib.format", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NUMPYS})


@ends
def write_array(
    fp: Any, array: Any, version: Any = None, allow_pickle: bool = True, pickle_kwargs: dict[str, Any] | None = None
) -> None:
    """Write an array into a file in the .npy format. Contributions are left behind with a DecompositionWarning.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.lib.format.write_array(file, np.arange(3))
    >>> file.seek(0)
    0
    >>> np.lib.format.read_magic(file)
    (1, 0)
    """
    numpy = numpy_for("lib.format.write_array")
    numpy.lib.format.write_array(fp, arguments("write_array", array), version, allow_pickle, pickle_kwargs)


@ends
def read_array(
    fp: Any, allow_pickle: bool = False, pickle_kwargs: dict[str, Any] | None = None, *, max_header_size: int = 10000
) -> Composition:
    """Read an array in the .npy format from a file.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3))
    >>> file.seek(0)
    0
    >>> np.lib.format.read_array(file)
    array([0, 1, 2])
    """
    numpy = numpy_for("lib.format.read_array")
    found = numpy.lib.format.read_array(fp, allow_pickle, pickle_kwargs, max_header_size=max_header_size)
    return received(found)


@ends
def header_data_from_array_1_0(array: Any) -> dict[str, Any]:
    """What the header of a file says of an array: its dtype, shape and layout.

    >>> np.lib.format.header_data_from_array_1_0(np.ones((2, 3)))["shape"]
    (2, 3)
    """
    numpy = numpy_for("lib.format.header_data_from_array_1_0")
    return numpy.lib.format.header_data_from_array_1_0(arguments("header_data_from_array_1_0", array))


@ends
def dtype_to_descr(dtype: Any) -> Any:
    """What a header says of a dtype.

    >>> np.lib.format.dtype_to_descr(np.dtype("float64"))
    '<f8'
    """
    numpy = numpy_for("lib.format.dtype_to_descr")
    return numpy.lib.format.dtype_to_descr(to_numpy_dtype(dtype))


@ends
def descr_to_dtype(descr: Any) -> dtype_class:
    """The dtype that a header says.

    >>> np.lib.format.descr_to_dtype("<f8")
    dtype('float64')
    """
    numpy = numpy_for("lib.format.descr_to_dtype")
    return dtype_class(numpy.lib.format.descr_to_dtype(descr))


@ends
def drop_metadata(dtype: Any, /) -> dtype_class:
    """The dtype without metadata, of which npdec's own dtypes have none: those are given back.

    >>> np.lib.format.drop_metadata(np.dtype("int8"))
    dtype('int8')
    """
    if is_own(dtype):
        return dtype
    return received(numpy_for("lib.format.drop_metadata").lib.format.drop_metadata(dtype))


@ends
def read_array_header_1_0(fp: Any, max_header_size: int = 10000) -> tuple[tuple[int, ...], bool, dtype_class]:
    """Read a header of version 1.0, behind the magic bytes: shape, whether column-major, dtype.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.ones((2, 3)))
    >>> file.seek(np.lib.format.MAGIC_LEN)
    8
    >>> np.lib.format.read_array_header_1_0(file)
    ((2, 3), False, dtype('float64'))
    """
    return _header("read_array_header_1_0", fp, max_header_size)


@ends
def read_array_header_2_0(fp: Any, max_header_size: int = 10000) -> tuple[tuple[int, ...], bool, dtype_class]:
    """Read a header of version 2.0, behind the magic bytes: shape, whether column-major, dtype."""
    return _header("read_array_header_2_0", fp, max_header_size)


def _header(name: str, fp: Any, max_header_size: int) -> tuple[tuple[int, ...], bool, dtype_class]:
    read = getattr(numpy_for(f"lib.format.{name}").lib.format, name)
    shape, column_major, dtype = read(fp, max_header_size)
    return shape, column_major, dtype_class(dtype)
