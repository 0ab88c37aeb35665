"""`np.char`: functions of text, element by element, which the installed NumPy computes on the host.

Arrays of text are NumPy's own, as torch has none; numbers and booleans among the results become npdec's. The module
compares after stripping white space at the end, as NumPy's older functions of text do.
"""

from __future__ import annotations

from typing import Any

from npdec._functions.strings import names, text_function
from npdec.exceptions import MissingNameError


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return names("char")
    if name.startswith("_") or name not in names("char"):
        raise MissingNameError("npdec.char", name)
    function = globals()[name] = text_function("char", name)
    return function


def __dir__() -> list[str]:
    return sorted(names("char"))
