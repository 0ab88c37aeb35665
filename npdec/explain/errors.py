"""What the command reports in one line instead of a traceback, and how text of the user's is shown."""

from __future__ import annotations

from pathlib import Path

from npdec._core.streams import say
from npdec._show.words import visible

__all__ = ["InputError", "counted", "one_line", "quoted", "resolved", "said", "tell"]


class InputError(Exception):
    """Something that the user gave cannot be used; the message is the whole report."""


def said(thing: object) -> str:
    """`str(thing)`, for an exception or a warning of the user's, whose `__str__` may fail."""
    try:
        return str(thing)
    except Exception as error:
        return f"{type(thing).__name__}, which cannot be shown ({type(error).__name__})"


def one_line(text: object, limit: int = 300) -> str:
    """The text on a single line, as it can be shown, shortened in the middle if it is long."""
    line = visible(" ".join(said(text).split()))
    return line if len(line) <= limit else f"{line[: limit - 60]} … {line[-50:]}"


def quoted(text: object, limit: int) -> str:
    """The same in quotes."""
    return f"'{one_line(text, limit)}'"


def counted(count: int, what: str) -> str:
    """How many there are: `1 row`, `2 rows`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def tell(message: object) -> None:
    """Write a line to standard error, if anybody listens there."""
    say(f"npdec explain: {one_line(message, 600)}")


def resolved(path: Path) -> Path:
    """The real path behind links. Raises InputError for one that no file can have."""
    try:
        made = path.resolve()
        made.exists()
    except (OSError, RuntimeError, ValueError) as error:  # too long; links in a circle; a null character
        reason = error.strerror if isinstance(error, OSError) else said(error)
        raise InputError(f"{one_line(path, 100)}: {reason}") from None
    return made
