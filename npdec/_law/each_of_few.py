"""Linear functions of each element, of real numbers or of a few complex ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from npdec._law import complex_laws, ordinary_linear
from npdec._law.complex_of_few import answer, is_given

__all__ = ["each_of_few"]


def each_of_few(func: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The form of such a function."""
    made = ordinary_linear.each(func, args)
    return answer(complex_laws.each, func, args) if made is NotImplemented and is_given(args) else made
