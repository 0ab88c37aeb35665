"""Files of other kinds than text, by their first bytes: Parquet, Feather, Excel, `.npy`; read by pandas and NumPy."""

from __future__ import annotations

import gzip
import io
import math
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from npdec.explain.errors import InputError, one_line

__all__ = ["Cells", "is_workbook", "read_binary", "unpacked"]

Cells = tuple[list[str], list[tuple[str, ...]]]  # the names of the columns, and the rows

_READERS = "pip install 'npdec[explain]'"
_REFUSED = {
    b"\xd0\xcf\x11\xe0": "is an old Excel workbook; save it as .xlsx or CSV",
    b"SQLite format 3": "is an SQLite database, not a table",
    b"\x89HDF": "is an HDF5 file; save the table as Parquet or CSV",
    b"\x80\x02": "is a pickle, which could run any code; save the table as Parquet or CSV",
    b"\x80\x03": "is a pickle, which could run any code; save the table as Parquet or CSV",
    b"\x80\x04": "is a pickle, which could run any code; save the table as Parquet or CSV",
    b"\x80\x05": "is a pickle, which could run any code; save the table as Parquet or CSV",
    b"%PDF": "is a PDF, not a table",
    b"\x89PNG": "is a picture, not a table",
    b"\xff\xd8\xff": "is a picture, not a table",
    b"<stata_dta>": "is a Stata file; save the table as Parquet or CSV",
    b"$FL2": "is an SPSS file; save the table as Parquet or CSV",
    b"$FL3": "is an SPSS file; save the table as Parquet or CSV",
    b"MATLAB 5.0": "is a MATLAB file; save the table as CSV",
    b"Obj\x01": "is an Avro file; save the table as Parquet or CSV",
    b"ORC": "is an ORC file; save the table as Parquet or CSV",
    b"X\n\x00\x00": "is data of R; save the table as CSV",
    b"RDX": "is data of R; save the table as CSV",
    b"BZh": "is compressed; unpack it first",
    b"\xfd7zXZ": "is compressed; unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed; unpack it first",
}
_ZIPPED = b"PK\x03\x04"
_LARGEST = 1 << 31  # bytes that a compressed file may hold


def unpacked(path: Path, content: bytes) -> bytes:
    """What a file compressed by gzip holds; any other as it is."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            found = file.read(_LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be unpacked: {error}") from None
    if len(found) > _LARGEST:
        raise InputError(f"{path}: holds more than {_LARGEST >> 20} MiB; unpack it first")
    return found


def is_workbook(content: bytes) -> bool:
    """Whether a table that could be read has sheets."""
    return content.startswith(_ZIPPED)


def read_binary(path: Path, content: bytes, sheet: str | None) -> Cells | None:
    """The cells of a file that is no text; None for what may be text. Raises InputError for what cannot be read."""
    for mark, what in _REFUSED.items():
        if content.startswith(mark):
            raise InputError(f"{path}: {what}")
    kinds: dict[bytes, tuple[str, Callable[[bytes, str | None], Cells]]] = {
        b"PAR1": ("Parquet", _parquet),
        b"ARROW1": ("Feather", _feather),
        b"FEA1": ("Feather", _feather),
        b"\x93NUMPY": ("a .npy file", _npy),
        _ZIPPED: ("an Excel workbook", _excel),
    }
    for mark, (what, read) in kinds.items():
        if content.startswith(mark):
            return _read(path, content, sheet, what, read)
    return None


def _read(
    path: Path, content: bytes, sheet: str | None, what: str, read: Callable[[bytes, str | None], Cells]
) -> Cells:
    if what == "an Excel workbook":
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = archive.namelist()
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise InputError(f"{path}: is a zip archive that cannot be read: {one_line(error, 100)}") from None
        if not any(name.startswith("xl/") for name in members):
            if any(name.endswith(".npy") for name in members):
                raise InputError(f"{path}: is a .npz archive of arrays; save one of them as .npy")
            if "mimetype" in members:
                raise InputError(f"{path}: is an OpenDocument file; save it as .xlsx or CSV")
            raise InputError(f"{path}: is a zip archive, not an Excel workbook; unpack it first")
    try:
        return read(content, sheet)
    except ImportError as error:
        missing = error.name or one_line(error, 60)
        raise InputError(f"{path}: is {what}, and reading it needs {missing}: {_READERS}") from None
    except Exception as error:  # whatever the readers raise is about this file
        raise InputError(f"{path}: is {what} that cannot be read: {one_line(error, 120)}") from error


def _parquet(content: bytes, sheet: str | None) -> Cells:
    import pandas as pd
    import pyarrow  # noqa: F401

    return _of_frame(pd.read_parquet(io.BytesIO(content)))


def _feather(content: bytes, sheet: str | None) -> Cells:
    import pandas as pd
    import pyarrow  # noqa: F401

    return _of_frame(pd.read_feather(io.BytesIO(content)))


def _excel(content: bytes, sheet: str | None) -> Cells:
    import openpyxl  # noqa: F401
    import pandas as pd

    name: Any = 0 if sheet is None else int(sheet) if sheet.isdigit() else sheet
    return _of_frame(pd.read_excel(io.BytesIO(content), sheet_name=name, dtype=object, keep_default_na=False))


def _npy(content: bytes, sheet: str | None) -> Cells:
    import numpy

    if b"'descr': '|O'" in content[:200]:
        raise ValueError("its elements are objects, a pickle of which could run any code; save it as Parquet or CSV")
    array = numpy.load(io.BytesIO(content), allow_pickle=False)
    parts = [array.dtype[name] for name in array.dtype.names or ()] or [array.dtype]
    if any(part.base.kind == "c" for part in parts):
        raise ValueError("the numbers are complex; save their real parts or magnitudes")
    if array.dtype.names:
        rows = [array[name].tolist() for name in array.dtype.names]
        return list(array.dtype.names), _transposed(rows)
    if array.ndim not in (1, 2):
        raise ValueError(f"the array has {array.ndim} dimensions; a table has two")
    table = array if array.ndim == 2 else array[:, None]
    return [f"column {i}" for i in range(1, table.shape[1] + 1)], _transposed([c.tolist() for c in table.T])


def _of_frame(frame: Any) -> Cells:
    """The cells of a data frame; an index with a name is a column."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    return names, _transposed([frame.iloc[:, i].tolist() for i in range(len(names))])


def _transposed(columns: list[Iterable[Any]]) -> list[tuple[str, ...]]:
    return list(zip(*[[_text(cell) for cell in column] for column in columns]))


def _text(cell: Any) -> str:
    """A cell as it would stand in a CSV."""
    if isinstance(cell, float):
        return "" if math.isnan(cell) else repr(float(cell))
    if cell is None or str(cell) in ("NaT", "<NA>"):
        return ""
    return cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)
