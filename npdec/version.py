"""The version: `npdec.version` is npdec's own, as text; its attributes are those of `numpy.version`.

What a library asks NumPy for is the version of its API: `np.version.version` is `np.__version__`, the release of NumPy
whose API this is, with npdec's own version as the local part. Cut into parts it has those of the release.

>>> str(np.version), np.version.short_version
('0.1.0', '2.4.6')
"""

from __future__ import annotations

import sys
from typing import SupportsIndex

_OWN = "0.1.0"

short_version = "2.4.6"


class _Release(str):
    """A version that libraries cut at its points to take each part for an integer: the local part would be none."""

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return short_version.split(sep, maxsplit)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return short_version.rsplit(sep, maxsplit)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


version = full_version = __version__ = _Release(f"{short_version}+npdec.{_OWN}")
git_revision = ""
release = True


class _Version(str):
    """npdec's version, which tells that of NumPy's API as the module `numpy.version` does."""

    __doc__ = __doc__

    def __reduce__(self) -> str:
        return "version"


_ASIDE = ("_ASIDE", "_Release", "_Version", "_found", "SupportsIndex")
_found = _Version(_OWN)
vars(_found).update({name: value for name, value in globals().items() if name not in _ASIDE})
sys.modules[__name__] = _found  # type: ignore[assignment]
