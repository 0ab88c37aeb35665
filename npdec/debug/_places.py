"""Whose code a frame runs, and the line of the program from which an operation was called."""

from __future__ import annotations

import itertools
import linecache
import os
import sys
from dataclasses import dataclass
from types import FrameType

from npdec._core.tracebacks import OWN, PASSED, THEIRS, owner_of

__all__ = ["Place", "caller", "is_own", "is_watching", "place_of"]

_WATCHING = os.path.join(os.path.dirname(__file__), "")


def is_own(frame: FrameType) -> bool:
    """Whether a frame runs code of npdec."""
    return owner_of(frame) is OWN


def is_watching(frame: FrameType) -> bool:
    """Whether a frame is of those who look on, and no operation."""
    return frame.f_code.co_filename.startswith(_WATCHING)


def caller(frame: FrameType | None) -> FrameType | None:
    """The frame of the program that the code of npdec in this frame was called from; None if npdec called it itself.
    Frames of Python's library, of torch and of NumPy are passed through."""
    while frame is not None:
        owner = owner_of(frame)
        if owner is not PASSED:
            return frame if owner is THEIRS else None
        frame = frame.f_back
    return None


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the program: its file, number and text, the function that it is in, and the part of the text that
    calls the operation."""

    file: str
    line: int
    function: str
    text: str
    expression: str

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}, in {self.function}: {self.text}"


def place_of(frame: FrameType) -> Place:
    """Where a frame is."""
    code, line = frame.f_code, frame.f_lineno
    text = linecache.getline(code.co_filename, line, frame.f_globals).rstrip("\n")
    expression = text.strip()
    position = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), None)
    if position is not None:
        first, last, start, end = position
        if first == last == line and start is not None and end is not None:
            part = text.encode()[start:end].decode(errors="replace")
            expression = part or expression
    return Place(code.co_filename, line, getattr(code, "co_qualname", code.co_name), text.strip(), expression)


if sys.implementation.name != "cpython":  # pragma: no cover
    raise ImportError("npdec.debug looks at the frames of CPython")
