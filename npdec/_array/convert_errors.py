"""Errors for what no array can be made of, which say what to pass instead."""

from __future__ import annotations

from typing import Any

import torch

from npdec.exceptions import AbsentDTypeError

__all__ = ["IntegerTooLarge", "inhomogeneous", "layout_refused", "no_numbers", "too_deep"]


class IntegerTooLarge(AbsentDTypeError, OverflowError):
    """NumPy holds such an integer as an object."""


def layout_refused(tensor: torch.Tensor) -> TypeError:
    """The error for a tensor that an array cannot share."""
    if tensor.is_nested:
        kind, way = "a nested tensor is rows of different lengths", "torch.nested.to_padded_tensor(t, 0.0)"
    elif tensor.is_quantized:
        kind, way = f"a quantized tensor ({tensor.dtype}) stands for other numbers", ".dequantize()"
    else:
        kind, way = f"a tensor of the layout {tensor.layout} has no element for each index", ".to_dense()"
    return TypeError(f"{kind}, which an array cannot share: convert it with {way}")


def too_deep(most: int) -> ValueError:
    """The error for sequences that are nested deeper than an array has dimensions."""
    return ValueError(
        "setting an array element with a sequence. The requested array would exceed the maximum number of dimension of "
        f"{most}."
    )


def inhomogeneous(shape: tuple[int, ...]) -> ValueError:
    """The error for nested sequences of several lengths."""
    return ValueError(
        "setting an array element with a sequence. The requested array has an inhomogeneous shape after "
        f"{len(shape)} dimensions. The detected shape was {shape} + inhomogeneous part."
    )


def no_numbers(obj: Any) -> AbsentDTypeError:
    """The error for an object that holds no numbers, with what to pass instead."""
    shown = repr(obj)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    if isinstance(obj, (str, bytes)):
        hint = "give a numeric dtype to parse it (dtype=float), or keep text in a list"
    elif hasattr(obj, "__next__"):
        hint = "pass list(...), or use np.fromiter"
    elif hasattr(obj, "__iter__"):
        hint = "pass list(...) of its numbers"
    elif hasattr(type(obj), "__float__"):
        hint = "give a dtype (dtype=float)"
    else:
        hint = "pass numbers, arrays, or nested lists of them"
    return AbsentDTypeError(
        f"cannot make an array of {shown} of type {type(obj).__name__!r}: NumPy would make an array of objects or "
        f"text, and torch holds numbers and booleans only; {hint}"
    )
