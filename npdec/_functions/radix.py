"""Integers as text in another base (NumPy's reference: binary operations, output formatting)."""

from __future__ import annotations

import operator
from typing import Any

from npdec._core.tracebacks import ends

__all__ = ["base_repr", "binary_repr"]

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@ends
def binary_repr(num: Any, width: int | None = None) -> str:
    """The binary digits of an integer, at least `width` of them; with a width, negative ones in two's complement.

    Raises ValueError for a width that is too small.

    >>> np.binary_repr(5), np.binary_repr(-5), np.binary_repr(-5, width=6)
    ('101', '-101', '111011')
    """
    number = operator.index(num)
    if not number:
        return "0" * (width or 1)
    if width is None:
        return f"{number:b}"
    needed = number.bit_length() if number > 0 else (-number - 1).bit_length() + 1
    if width < needed:
        raise ValueError(f"Insufficient bit width={width} provided for binwidth={needed}")
    return f"{number % (1 << width):0{width}b}"


@ends
def base_repr(number: int, base: int = 2, padding: int = 0) -> str:
    """The digits of an integer in a base from 2 to 36, with so many zeros in front. ValueError for another base.

    >>> np.base_repr(-12, 3), np.base_repr(255, 16, padding=2)
    ('-110', '00FF')
    """
    if base > len(_DIGITS):
        raise ValueError("Bases greater than 36 not handled in base_repr.")
    if base < 2:
        raise ValueError("Bases less than 2 not handled in base_repr.")
    rest, base, digits = abs(int(number)), operator.index(base), ""
    while rest:
        rest, digit = divmod(rest, base)
        digits = _DIGITS[digit] + digits
    text = ("0" * padding if padding else "") + digits or "0"
    return f"-{text}" if number < 0 else text
