"""Batches of attributions as groups of a Zarr store: `part-00000` and so on, with an array of each column.

A group is written beside the store, under another name, and moved there when all of it is on disk: the arrays of a
batch are there together or not at all, and ranks that write at one time share no file.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
from pathlib import Path
from typing import Any

import torch

from npdec.attribution._parts import COLUMNS, PartFiles, Parts, sync

__all__ = ["PartGroups"]

_DTYPES = {
    getattr(torch, name)
    for name in "float64 float32 float16 complex128 complex64 int64 int32 int16 int8 uint8 bool".split()
}


class PartGroups(PartFiles):
    """The groups of one call. Raises what PartFiles does, ImportError where zarr is not installed."""

    suffix = ""

    def _load(self) -> None:
        try:
            import zarr
        except ImportError:
            raise ImportError("attribute_rows: out= of a .zarr folder needs zarr: pip install zarr") from None
        self._zarr = zarr

    def _write(self, path: Path, parts: Parts, said: dict[str, str]) -> None:
        for part in parts:
            if part.dtype not in _DTYPES:
                name = str(part.dtype).removeprefix("torch.")
                raise TypeError(f"attribute_rows: Zarr has no {name}: give rows of another dtype")
        with contextlib.suppress(self._zarr.errors.ContainsGroupError):  # that another rank made since Zarr looked
            self._zarr.open_group(self.folder, mode="a")  # what names the store, which is the same from all ranks
        sync(self.folder)
        name = f".{self.folder.name}.{path.name}."
        for left in self.folder.parent.glob(f"{name}*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        half = self.folder.parent / f"{name}{secrets.token_hex(4)}"
        group = self._zarr.open_group(half, mode="w", attributes={"npdec": json.dumps(said)})
        for column, part in zip(COLUMNS, parts, strict=True):
            numbers = part.detach().cpu().resolve_conj().numpy()
            chunks = tuple(max(1, n) for n in numbers.shape)
            group.create_array(column, data=numbers, chunks=chunks, compressors=None)
        for one in half.rglob("*"):
            sync(one)
        sync(half)
        half.rename(path)
        sync(self.folder)

    def _read(self, path: Path, rows: torch.Tensor) -> tuple[Parts, dict[str, str]]:
        group: Any = self._zarr.open_group(path, mode="r")
        parts = [torch.from_numpy(group[column][...]).to(rows.device) for column in COLUMNS]
        return tuple(parts), json.loads(group.attrs["npdec"])
