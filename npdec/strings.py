"""`np.strings`: functions of text, element by element, which the installed NumPy computes on the host.

Arrays of text are NumPy's own, as torch has none; numbers and booleans among the results become npdec's. The module
holds NumPy's functions of text.
"""

from __future__ import annotations

from typing import Any

from npdec._functions.strings import names, text_function
from npdec.exceptions import MissingNameError


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return names("strings")
    if name.startswith("_") or name not in names("strings"):
        raise MissingNameError("npdec.strings", name)
    function = globals()[name] = text_function("strings", name)
    return function


def __dir__() -> list[str]:
    return sorted(names("strings"))
