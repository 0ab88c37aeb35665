"""Series as text: on lines, in Unicode or ASCII, and as a formula in LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import npdec as np
from npdec.polynomial.polyutils import format_float

__all__ = ["STYLES", "latex", "set_default_printstyle", "text"]

STYLES = ("ascii", "unicode")
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_LINE_WIDTH = 75

_style: ContextVar[str] = ContextVar("npdec.polynomial.printstyle", default="unicode")


def set_default_printstyle(style: str) -> None:
    """Print series in "unicode" (the default) or "ascii" from now on, in this thread or context.

    Raises ValueError for another style.

    >>> np.polynomial.set_default_printstyle("ascii")
    >>> print(np.polynomial.Chebyshev([1, 2, 3]))
    1.0 + 2.0 T_1(x) + 3.0 T_2(x)
    >>> np.polynomial.set_default_printstyle("unicode")
    >>> print(np.polynomial.Chebyshev([1, 2, 3]))
    1.0 + 2.0·T₁(x) + 3.0·T₂(x)
    """
    if style not in STYLES:
        raise ValueError(f"Unsupported format string '{style}'. Valid options are 'ascii' and 'unicode'")
    _style.set(style)


def _line_width() -> int:
    try:
        return max(1, np.get_printoptions()["linewidth"])
    except ImportError:
        return _LINE_WIDTH


def _is_negative(number: Any) -> bool:
    """Whether it is written after a minus sign. Complex numbers have NumPy's order: by real part, then imaginary.
    Objects are negative if they say so, those without an order are not."""
    if not isinstance(number, np.generic):
        try:
            return not number >= 0
        except TypeError:
            return False
    if np.iscomplexobj(number):
        real, imag = float(number.real), float(number.imag)
        return not (real > 0 or (real == 0 and imag >= 0))
    return not float(number) >= 0


def _argument(symbol: str, offset: Any, scale: Any, number: Callable[[Any], str]) -> str:
    """The variable as the basis sees it: offset + scale * symbol."""
    words = [number(offset)] if offset != 0 else []
    words.append(symbol if scale == 1 else f"{number(scale)}{symbol}")
    return " + ".join(words)


def _power_term(style: str, k: int, argument: str, symbol: None) -> str:
    if style == "unicode":
        return f"·{argument}" + (str(k).translate(_SUPERSCRIPT) if k > 1 else "")
    return f" {argument}" + (f"**{k}" if k > 1 else "")


def _basis_term(style: str, k: int, argument: str, symbol: str) -> str:
    if style == "unicode":
        return f"·{symbol}{str(k).translate(_SUBSCRIPT)}({argument})"
    return f" {symbol}_{k}({argument})"


def text(
    coefficients: Any, mapping: tuple[Any, Any], variable: str, symbol: str | None, style: str | None = None
) -> str:
    """The series as a sum, broken into lines before a term that would reach the line width of the print options."""
    style = style or _style.get()
    argument = _argument(variable, *mapping, format_float)
    if argument != variable:
        argument = f"({argument})"
    term: Callable[..., str] = _power_term if symbol is None else _basis_term
    width, last = _line_width(), len(coefficients) - 1
    lines = [format_float(coefficients[0])]
    for k, number in enumerate(coefficients):
        if not k:
            continue
        negative = _is_negative(number)
        sign = "-" if negative else "+"
        written = f"{format_float(-number if negative else number, parens=True)}{term(style, k, argument, symbol)}"
        # What must stay below the width: the line with this term, and with the sign of the next one.
        if len(lines[-1]) + len(f" {sign} {written}") + 2 * (k < last) < width:
            lines[-1] += f" {sign} {written}"
        else:  # the first blank of the term becomes the end of the line, which keeps the sign
            lines[-1] += f" {sign}"
            lines.append(written)
    return "\n".join(lines)


def latex(
    coefficients: Any, mapping: tuple[Any, Any], variable: str, symbol: str | None, number: Callable[..., str]
) -> str:
    """The series as a function of its variable, in LaTeX; terms with a coefficient of zero are grey."""
    argument = _argument(variable, *mapping, number)
    power_of = rf"\left({argument}\right)" if argument != variable else variable
    parts = []
    for k, c in enumerate(coefficients):
        negative = k > 0 and not np.iscomplexobj(c) and _is_negative(c)
        if k == 0:
            part = number(c)
        elif np.iscomplexobj(c):
            part = f" + ({number(c)})"
        else:
            part = f" {'-' if negative else '+'} {number(-c if negative else c, parens=True)}"
        if symbol is not None:
            part += rf"\,{{{symbol}}}_{{{k}}}({argument})"
        elif k:
            part += rf"\,{power_of}" + (f"^{{{k}}}" if k > 1 else "")
        parts.append(rf"\color{{LightGray}}{{{part}}}" if c == 0 else part)
    return rf"${variable} \mapsto {''.join(parts)}$"
