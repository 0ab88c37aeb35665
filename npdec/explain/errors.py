"""What the command reports in one line instead of a traceback."""

from __future__ import annotations

__all__ = ["InputError", "one_line"]


class InputError(Exception):
    """Something that the user gave cannot be used; the message is the whole report."""


def one_line(text: object, limit: int = 300) -> str:
    """The text on a single line, shortened in the middle if it is long."""
    line = " ".join(str(text).split())
    return line if len(line) <= limit else f"{line[: limit - 60]} … {line[-50:]}"
