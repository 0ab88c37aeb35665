"""Batches of attributions in a folder, each of which is there as a whole or not at all: Parquet files, or groups of a
Zarr store (`npdec.attribution._parts_zarr`)."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from npdec._array.convert import as_tensor
from npdec._core.base import ArrayBase
from npdec.attribution._bits import digest

__all__ = ["COLUMNS", "PartFiles", "Parts", "sync"]

Parts = tuple[torch.Tensor, ...]
COLUMNS = "value", "residual", "attribution", "error"
_KEY = b"npdec"
# Arrow's names of torch's dtypes; of bfloat16 and complex numbers it has none.
_NAMES = {getattr(torch, name): name for name in "float64 float32 float16 int64 int32 int16 int8 uint8".split()}


def sync(path: Path) -> None:
    """Return when what was written to a file, or the names in a folder, are on disk."""
    if path.is_dir() and os.name != "posix":
        return
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


class PartFiles:
    """The files of one call, `part-00000.parquet` and so on. Raises FileExistsError where the folder has some and they
    are not to be resumed, ImportError where pyarrow is not installed. `options`: what the numbers depend on, beside the
    rows and the function."""

    suffix = ".parquet"

    def __init__(self, folder: str | os.PathLike[str], resume: bool, options: dict[str, Any]) -> None:
        self._load()
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise FileExistsError(f"attribute_rows: out={self.folder} is a file: give a folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        if not resume and self._numbers():
            raise FileExistsError(
                f"attribute_rows: {self.folder} holds batches: resume=True goes on with them, or give another folder"
            )
        options.pop("progress", None)
        self._options = {name: _said(option) for name, option in sorted(options.items())}
        self._trusted = False

    def made(self, number: int, rows: torch.Tensor, compute: Callable[[], Parts]) -> Parts:
        """The batch of that number, read or else computed and written. Raises ValueError where what was written is of
        other rows, other options, or another function."""
        path = self._path(number)
        said = {**self._options, "rows": digest([rows])}
        if not path.exists():
            made = compute()
            self._write(path, made, said)
            return made
        try:
            found, written = self._read(path, rows)
        except Exception as error:  # whatever a file of another program or a disk that failed makes of it
            raise ValueError(
                f"attribute_rows: {path} cannot be read as a batch ({type(error).__name__}: {error}): remove it, and "
                "it is made anew"
            ) from error
        different = [name for name in sorted(said.keys() | written.keys()) if said.get(name) != written.get(name)]
        if different:
            raise ValueError(
                f"attribute_rows: {path} was written with other {', '.join(different)}: give what it was written with, "
                "or another folder"
            )
        if not self._trusted:
            self._compare(path, found, compute())
            self._trusted = True
        return found

    def end(self, count: int) -> None:
        """Raise ValueError where the folder has more than that many batches."""
        more = [self._path(number).name for number in self._numbers() if number >= count]
        if more:
            raise ValueError(
                f"attribute_rows: the data has {count} batches, and {self.folder} more: {more[0]} to {more[-1]}. "
                "They are of other data: give another folder"
            )

    def _numbers(self) -> list[int]:
        """Those of the batches that are there."""
        names = (re.fullmatch(rf"part-(\d+){re.escape(self.suffix)}", path.name) for path in self.folder.iterdir())
        return sorted(int(name[1]) for name in names if name)

    def _path(self, number: int) -> Path:
        return self.folder / f"part-{number:05}{self.suffix}"

    def _compare(self, path: Path, found: Parts, made: Parts) -> None:
        for name, old, new in zip(COLUMNS[:3], found, made):
            if old.is_floating_point():
                close = torch.finfo(old.dtype).eps ** 0.5  # another processor rounds differently
                scale = max((float(each.abs().max()) for each in (*found[:3], *made[:3]) if each.numel()), default=0.0)
                same = torch.allclose(old, new.to(old), rtol=0, atol=close * scale, equal_nan=True)
            else:
                same = torch.equal(old, new)
            if not same:
                raise ValueError(
                    f"attribute_rows: {path} was written for another function: made anew, its {name} is not the same. "
                    "Give another folder"
                )

    def _load(self) -> None:
        try:
            from pyarrow import parquet
        except ImportError:
            raise ImportError("attribute_rows: out= needs pyarrow, which writes Parquet: pip install pyarrow") from None
        import pyarrow

        self._arrow, self._parquet = pyarrow, parquet

    # -- files -------------------------------------------------------------------------------------------------------

    def _write(self, path: Path, parts: Parts, said: dict[str, str]) -> None:
        said = {**said, "shape": json.dumps(list(parts[2].shape[1:]))}
        table = self._arrow.table([self._column(part) for part in parts], names=COLUMNS)
        table = table.replace_schema_metadata({_KEY: json.dumps(said).encode()})
        for left in self.folder.glob(f".{path.name}.*"):  # by a process that was killed
            left.unlink()
        half = self.folder / f".{path.name}.{secrets.token_hex(4)}"  # readers of folders leave such names out
        with half.open("wb") as file:
            self._parquet.write_table(table, file, use_dictionary=False)
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
        sync(self.folder)  # the name is on disk when its folder is

    def _column(self, part: torch.Tensor) -> Any:
        """Numbers (m,), or a list of numbers for each row of (m, *S)."""
        arrow = self._arrow
        if part.dtype not in _NAMES:
            raise TypeError(
                f"attribute_rows: Parquet has no {str(part.dtype).removeprefix('torch.')}: give rows of another dtype"
            )
        flat = part.detach().cpu().contiguous().reshape(-1)
        size = flat.numel() * flat.element_size()
        raw = arrow.foreign_buffer(flat.data_ptr(), size, base=flat) if size else arrow.py_buffer(b"")
        kind = arrow.type_for_alias(_NAMES[part.dtype])
        numbers = arrow.Array.from_buffers(kind, len(flat), [None, raw])
        if part.ndim == 1:
            return numbers
        return arrow.FixedSizeListArray.from_arrays(numbers, part.shape[1:].numel())

    def _read(self, path: Path, rows: torch.Tensor) -> tuple[Parts, dict[str, str]]:
        table = self._parquet.read_table(path)
        said = json.loads(table.schema.metadata[_KEY])
        shape = json.loads(said.pop("shape"))
        parts = []
        for name in COLUMNS:
            column = table.column(name).combine_chunks()
            numbers = column.flatten() if self._arrow.types.is_fixed_size_list(column.type) else column
            dtype = getattr(torch, {"double": "float64", "float": "float32", "halffloat": "float16"}.get(
                str(numbers.type), str(numbers.type)))  # fmt: skip
            raw = bytearray(numbers.buffers()[1] or b"")
            start = numbers.offset * dtype.itemsize
            flat = torch.frombuffer(raw, dtype=torch.uint8)[start : start + len(numbers) * dtype.itemsize].view(dtype)
            parts.append(flat.reshape(len(table), *(shape if name == "attribution" else ())).to(rows.device))
        return tuple(parts), said


def _said(option: Any) -> str:
    """What is compared of an option: arrays by their bits."""
    if isinstance(option, (torch.Tensor, ArrayBase)) or hasattr(option, "__array__"):
        return digest([as_tensor(option)])
    return f"{option.__module__}.{option.__qualname__}" if hasattr(option, "__qualname__") else repr(option)
