"""`np.lib.NumpyVersion`: versions of NumPy in their order."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["NumpyVersion"]

_NUMBERS = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_BEFORE = re.compile(r"(?:a|b|rc)\d")


class NumpyVersion:
    """A version of NumPy, to be compared with others and with texts: alpha, beta and candidates come before the release
    of their number, and development versions before what they lead to.

    Raises ValueError for a text that is no version.

    >>> np.lib.NumpyVersion("1.9.0") > "1.9.0rc1", np.lib.NumpyVersion("2.0.0") < "1.26.4"
    (True, False)
    """

    __module__ = "npdec.lib"
    __slots__ = ("bugfix", "is_devversion", "major", "minor", "pre_release", "version", "vstring")

    def __init__(self, vstring: str) -> None:
        found = _NUMBERS.match(vstring)
        if found is None:
            raise ValueError("Not a valid numpy version string")
        self.vstring = vstring
        self.version = found.group()
        self.major, self.minor, self.bugfix = map(int, found.groups())
        before = _BEFORE.match(vstring, found.end())
        self.is_devversion = "dev" in vstring
        self.pre_release = before.group() if before else "final" if vstring == self.version else ""

    def _key(self) -> tuple[Any, ...]:
        released = self.pre_release == "final"
        return self.major, self.minor, self.bugfix, released, self.pre_release, not self.is_devversion

    def _compare(self, other: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        if not isinstance(other, (str, NumpyVersion)):
            raise ValueError("Invalid object to compare with NumpyVersion.")
        return self._key(), (NumpyVersion(other) if isinstance(other, str) else other)._key()

    def __lt__(self, other: Any) -> bool:
        mine, theirs = self._compare(other)
        return mine < theirs

    def __le__(self, other: Any) -> bool:
        mine, theirs = self._compare(other)
        return mine <= theirs

    def __eq__(self, other: Any) -> bool:
        mine, theirs = self._compare(other)
        return mine == theirs

    def __ne__(self, other: Any) -> bool:
        mine, theirs = self._compare(other)
        return mine != theirs

    def __gt__(self, other: Any) -> bool:
        mine, theirs = self._compare(other)
        return mine > theirs

    def __ge__(self, other: Any) -> bool:
        mine, theirs = self._compare(other)
        return mine >= theirs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"NumpyVersion({self.vstring})"
