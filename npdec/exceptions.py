"""Exceptions and warnings, under NumPy's names where NumPy has one."""

from __future__ import annotations

__all__ = [
    "AxisError",
    "ComplexWarning",
    "DecompositionWarning",
    "DTypePromotionError",
    "LinAlgError",
    "RankWarning",
    "VisibleDeprecationWarning",
]


class AxisError(ValueError, IndexError):
    """An axis out of range for the array. It is a ValueError and an IndexError, as NumPy's is.

    >>> AxisError(2, 1)
    AxisError('axis 2 is out of bounds for array of dimension 1')
    """

    def __init__(self, axis: int | str, ndim: int | None = None, msg_prefix: str | None = None) -> None:
        if ndim is None:
            text = str(axis)
        else:
            text = f"axis {axis} is out of bounds for array of dimension {ndim}"
        super().__init__(f"{msg_prefix}: {text}" if msg_prefix else text)


class ComplexWarning(RuntimeWarning):
    """A cast from complex to real discards the imaginary part."""


class LinAlgError(ValueError):
    """A matrix for which a function of linear algebra has no answer: singular, not square, not positive definite."""


class RankWarning(RuntimeWarning):
    """A least-squares fit is badly conditioned: its matrix lacks full rank."""


class VisibleDeprecationWarning(UserWarning):
    """A deprecation that users should see."""


class DTypePromotionError(TypeError):
    """No common dtype exists for the given dtypes."""


class DecompositionWarning(UserWarning):
    """Contributions are dropped, or completeness is not met within tolerance; the message names the operation."""
