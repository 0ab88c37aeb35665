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


def noted_class(lib: Any, name: str = "Noted", module: str = __name__) -> Any:
    """The same, told where they are made, and by pickles too, which look for the class by its name in a module."""

    class Noted(signal_class(lib)):
        def __new__(cls, values: Any, info: Any = None) -> Any:
            made = lib.asarray(values).view(cls)
            made.info = info
            return made

        def __reduce__(self) -> Any:
            make, arguments, state = super().__reduce__()
            return make, arguments, (*state, self.info)

        def __setstate__(self, state: Any) -> None:
            self.info = state[-1]
            super().__setstate__(state[:-1])

    Noted.__name__ = Noted.__qualname__ = name
    Noted.__module__ = module
    return Noted
