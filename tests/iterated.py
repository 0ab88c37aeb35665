"""Arrays in many layouts, to iterate over: each is made with the library that it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["ARRAYS"]

ARRAYS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda lib: lib.arange(6).reshape(2, 3),
    "columns": lambda lib: lib.asfortranarray(lib.arange(6).reshape(2, 3)),
    "transposed": lambda lib: lib.arange(6).reshape(2, 3).T,
    "reversed": lambda lib: lib.arange(6).reshape(2, 3)[::-1],
    "turned": lambda lib: lib.arange(6).reshape(2, 3)[::-1, ::-1],
    "permuted": lambda lib: lib.arange(24).reshape(2, 3, 4).transpose(1, 2, 0),
    "sliced": lambda lib: lib.arange(24).reshape(2, 3, 4)[:, ::2, 1:3],
    "vector": lambda lib: lib.arange(3),
    "0-d": lambda lib: lib.array(3.5),
    "ones": lambda lib: lib.arange(3).reshape(1, 3, 1),
    "strided": lambda lib: lib.arange(12).reshape(2, 6)[:, ::-2],
    "broadcast": lambda lib: lib.broadcast_to(lib.arange(3), (2, 3)),
}
