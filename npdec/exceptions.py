"""Exceptions and warnings: NumPy's own where NumPy is installed, and the same under their names where it is not."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

import torch  # noqa: F401 - it imports NumPy where NumPy is installed

__all__ = [
    "AbsentDTypeError",
    "AbsentError",
    "AbsentNameError",
    "AxisError",
    "CompletenessError",
    "ComplexWarning",
    "DecompositionWarning",
    "DTypePromotionError",
    "LinAlgError",
    "MissingNameError",
    "ModuleDeprecationWarning",
    "RankWarning",
    "TooHardError",
    "VisibleDeprecationWarning",
]


class AbsentError(Exception):
    """NumPy has it and npdec does not, since torch cannot hold or do it; the message says why and what to do instead.

    It is raised as one of its two kinds, which are also what NumPy's callers expect there.
    """


class AbsentDTypeError(AbsentError, TypeError):
    """Objects, text, dates, records, extended precision, foreign byte order: dtypes that torch cannot hold."""


class AbsentNameError(AbsentError, AttributeError):
    """A name of NumPy that stands for what torch cannot hold or do."""


# Names that NumPy had for Python's types, and the dtypes of these.
_BUILTINS = {"object": "object_", "int": "int64", "float": "float64", "complex": "complex128", "str": "str_"}


class MissingNameError(AttributeError):
    """A name that a module does not have. The message says which of its names is meant, which is looked for when the
    message is read: who only asks whether there is such a name does not wait for it.

    >>> MissingNameError("npdec", "expp")
    MissingNameError("module 'npdec' has no attribute 'expp'; did you mean 'exp'?")
    """

    def __init__(self, module: str, missing: str) -> None:
        # Python would add its own guess, which knows fewer ways to be like: without a name it makes none.
        super().__init__(f"module {module!r} has no attribute {missing!r}", name=None, obj=None)
        self.module, self.missing = module, missing

    def __str__(self) -> str:
        text = super().__str__()
        if self.module == "npdec" and self.missing in _BUILTINS:
            dtype = f"np.{_BUILTINS[self.missing]}"
            alias = f"`np.{self.missing}` was a deprecated alias for the builtin `{self.missing}`"
            return f"{text}\n{alias}; write that, or {dtype}"
        near = None if self.missing.startswith("_") else _nearest(self.missing, dir(sys.modules.get(self.module)))
        return text if near is None else f"{text}; did you mean {near!r}?"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.module, self.missing)


def _nearest(missing: str, names: list[str]) -> str | None:
    """The public name that is most like one that is missing."""
    public = {name.lower(): name for name in names if not name.startswith("_")}
    found = difflib.get_close_matches(missing.lower(), public, n=1, cutoff=0.7)
    return public[found[0]] if found else None


_numpy = sys.modules.get("numpy")

if TYPE_CHECKING or _numpy is None:

    class AxisError(ValueError, IndexError):
        """An axis out of range for the array. It is a ValueError and an IndexError."""

        def __init__(self, axis: int | str, ndim: int | None = None, msg_prefix: str | None = None) -> None:
            if ndim is None:
                text = str(axis)
            else:
                text = f"axis {axis} is out of bounds for array of dimension {ndim}"
            super().__init__(f"{msg_prefix}: {text}" if msg_prefix else text)

    class ComplexWarning(RuntimeWarning):
        """A cast from complex to real discards the imaginary part."""

    class LinAlgError(ValueError):
        """A matrix for which linear algebra has no answer: singular, not square, not positive definite."""

    class RankWarning(RuntimeWarning):
        """A least-squares fit is badly conditioned: its matrix lacks full rank."""

    class ModuleDeprecationWarning(DeprecationWarning):
        """A module that will go: NumPy's name for it, which neither library gives."""

    class TooHardError(RuntimeError):
        """A question would take more work to answer than was allowed: `shares_memory` under `max_work`."""

    class VisibleDeprecationWarning(UserWarning):
        """A deprecation that users should see."""

    class DTypePromotionError(TypeError):
        """No common dtype exists for the given dtypes."""

else:  # NumPy's own, which its functions raise where they work for npdec, and other libraries catch
    AxisError = _numpy.exceptions.AxisError
    ComplexWarning = _numpy.exceptions.ComplexWarning
    DTypePromotionError = _numpy.exceptions.DTypePromotionError
    LinAlgError = _numpy.linalg.LinAlgError
    ModuleDeprecationWarning = _numpy.exceptions.ModuleDeprecationWarning
    RankWarning = _numpy.exceptions.RankWarning
    TooHardError = _numpy.exceptions.TooHardError
    VisibleDeprecationWarning = _numpy.exceptions.VisibleDeprecationWarning


class DecompositionWarning(UserWarning):
    """Contributions are dropped, or completeness is not met within tolerance; the message names the operation."""


class CompletenessError(ArithmeticError):
    """Within `check_completeness`: value == residual + components.sum(0) does not hold after an operation."""
