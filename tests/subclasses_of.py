"""Classes derived from the arrays of a library, as programs write them: for NumPy and for npdec alike."""

from __future__ import annotations

from typing import Any


def signal_class(lib: Any) -> Any:
    """A class whose arrays know where they come from."""

    class Signal(lib.ndarray):
        info = None

        def __array_finalize__(self, obj: Any) -> None:
            self.info = getattr(obj, "info", None)

    return Signal
