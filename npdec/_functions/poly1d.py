"""`np.poly1d`: a polynomial as an object around its coefficients, that of the highest power first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._core.base import Poly1dBase
from npdec._core.tracebacks import ends

__all__ = ["poly1d"]

_LINE_WIDTH = 70


class poly1d(Poly1dBase):
    """A polynomial in one variable, from its coefficients or, with `r`, from its roots.

    It adds, subtracts, multiplies, divides (quotient and remainder), takes whole powers, compares, is called for its
    values or with another polynomial for the composition, and `p[k]` is the coefficient of the k-th power, which can be
    set. Functions such as `np.polyadd` give a poly1d where they get one; elsewhere it counts as the array of its
    coefficients. `variable` is the letter in its text. New code is better off with `np.polynomial`.

    Raises ValueError for coefficients of more than one dimension.

    >>> p = np.poly1d([1, 0, -1])
    >>> print(p)
       2
    1 x - 1
    >>> p(3), p * p, np.sort(p.r)
    (np.int64(8), poly1d([ 1,  0, -2,  0,  1]), array([-1.,  1.]))
    """

    __module__ = "npdec"
    __hash__ = None  # type: ignore[assignment]

    _coefficients: Any
    _variable: str

    @ends
    def __init__(self, c_or_r: Any, r: Any = False, variable: str | None = None) -> None:
        if isinstance(c_or_r, poly1d):
            self._coefficients = c_or_r._coefficients
            self._variable = c_or_r._variable if variable is None else variable
            return
        np = wrap.NAMESPACE.value
        c = np.atleast_1d(np.poly(c_or_r) if r else np.asarray(c_or_r))
        if c.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        c = np.trim_zeros(c, trim="f")
        self._coefficients = c if len(c) else np.zeros(1, dtype=c.dtype)
        self._variable = "x" if variable is None else variable

    @property
    def coeffs(self) -> Any:
        """The coefficients, that of the highest power first: an array that can be written to."""
        return self._coefficients

    @coeffs.setter
    def coeffs(self, value: Any) -> None:
        # `p.coeffs += 1` ends with this assignment, and is all right.
        if value is not self._coefficients:
            raise AttributeError("Cannot set attribute")

    c = coef = coefficients = coeffs

    @property
    def variable(self) -> str:
        """The name of the variable."""
        return self._variable

    @property
    def order(self) -> int:
        """The degree: one less than the number of coefficients."""
        return len(self._coefficients) - 1

    o = order

    @property
    def roots(self) -> Any:
        """The roots, as `np.roots` gives them."""
        return wrap.NAMESPACE.value.roots(self._coefficients)

    r = roots

    # --- as an array --------------------------------------------------------------------------------------------------

    def __array__(self, t: Any = None, copy: bool | None = None) -> Any:
        return self._coefficients.__array__(t, copy=copy)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._coefficients)

    def __len__(self) -> int:
        return self.order

    @ends
    def __getitem__(self, val: Any) -> Any:
        if 0 <= val <= self.order:
            return self._coefficients[self.order - val]
        return self._coefficients.dtype.type(0)

    @ends
    def __setitem__(self, key: Any, val: Any) -> None:
        if key < 0:
            raise ValueError("Does not support negative powers.")
        if key > self.order:
            np, c = wrap.NAMESPACE.value, self._coefficients
            self._coefficients = np.concatenate([np.zeros(key - self.order, dtype=c.dtype, device=c.device), c])
        self._coefficients[self.order - key] = val

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    @ends
    def __call__(self, val: Any) -> Any:
        return wrap.NAMESPACE.value.polyval(self._coefficients, val)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, poly1d):
            return NotImplemented
        if self._coefficients.shape != other._coefficients.shape:
            return False
        return (self._coefficients == other._coefficients).all()

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, poly1d):
            return NotImplemented
        return not self == other

    def __pos__(self) -> poly1d:
        return self

    def __neg__(self) -> poly1d:
        return poly1d(-self._coefficients)

    @ends
    def __add__(self, other: Any) -> poly1d:
        return poly1d(wrap.NAMESPACE.value.polyadd(self._coefficients, poly1d(other)))

    __radd__ = __add__

    @ends
    def __sub__(self, other: Any) -> poly1d:
        return poly1d(wrap.NAMESPACE.value.polysub(self._coefficients, poly1d(other)))

    @ends
    def __rsub__(self, other: Any) -> poly1d:
        return poly1d(wrap.NAMESPACE.value.polysub(poly1d(other), self._coefficients))

    @ends
    def __mul__(self, other: Any) -> poly1d:
        np = wrap.NAMESPACE.value
        if np.isscalar(other):
            return poly1d(self._coefficients * other)
        return poly1d(np.polymul(self._coefficients, poly1d(other)))

    __rmul__ = __mul__

    @ends
    def __truediv__(self, other: Any) -> Any:
        np = wrap.NAMESPACE.value
        return poly1d(self._coefficients / other) if np.isscalar(other) else np.polydiv(self, poly1d(other))

    @ends
    def __rtruediv__(self, other: Any) -> Any:
        np = wrap.NAMESPACE.value
        return poly1d(other / self._coefficients) if np.isscalar(other) else np.polydiv(poly1d(other), self)

    @ends
    def __pow__(self, val: Any) -> poly1d:
        np = wrap.NAMESPACE.value
        if not np.isscalar(val) or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        product = np.array([1])
        for _ in range(int(val)):
            product = np.polymul(self._coefficients, product)
        return poly1d(product)

    @ends
    def integ(self, m: Any = 1, k: Any = 0) -> poly1d:
        """The m-th integral, with the constants `k`, as `np.polyint` gives it.

        >>> np.poly1d([2.0, 1.0]).integ(k=3)
        poly1d([1., 1., 3.])
        """
        return poly1d(wrap.NAMESPACE.value.polyint(self._coefficients, m=m, k=k))

    @ends
    def deriv(self, m: Any = 1) -> poly1d:
        """The m-th derivative.

        >>> np.poly1d([1, 0, -1]).deriv()
        poly1d([2, 0])
        """
        return poly1d(wrap.NAMESPACE.value.polyder(self._coefficients, m=m))

    @classmethod
    def _through(cls, name: str, arguments: tuple[Any, ...]) -> Any:
        """The result of a function on coefficients, some of which are poly1ds, as poly1ds."""
        function = getattr(wrap.NAMESPACE.value, name)
        if name == "polyval":
            value: Any = 0
            for coefficient in wrap.NAMESPACE.value.asarray(arguments[0]):
                value = value * arguments[1] + coefficient
            return value
        result = function(*(wrap.wrap_array(as_tensor(x)) if isinstance(x, Poly1dBase) else x for x in arguments))
        return tuple(map(cls, result)) if isinstance(result, tuple) else cls(result)

    # --- text ---------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"poly1d({repr(self._coefficients)[6:-1]})"

    def __str__(self) -> str:
        return _raised(list(self._terms()))

    def _terms(self) -> Iterator[tuple[str, str]]:
        """The terms as (text, exponent) from the highest power down, leading zeros left out; "" where none is shown."""
        tensor = as_tensor(self._coefficients).detach()
        places = torch.nonzero(tensor != 0).flatten().tolist()
        numbers = tensor.tolist()[places[0] if places else len(tensor) - 1 :]
        begun = False
        for power, number in zip(range(len(numbers) - 1, -1, -1), numbers):
            text = _number(number)
            if text == "0" and (begun or power):
                continue
            if power:
                text = f"{text} {self._variable}"
            if begun:
                text = f" - {text[1:]}" if text.startswith("-") else f" + {text}"
            begun = True
            yield text, str(power) if power > 1 else ""


def _number(x: Any) -> str:
    """A coefficient with four digits; a complex one in parentheses, unless one of its parts is zero."""
    if not isinstance(x, complex):
        return f"{x:.4g}"
    if x.imag == 0:
        return f"{x.real:.4g}"
    return f"{x.imag:.4g}j" if x.real == 0 else f"({x.real:.4g} + {x.imag:.4g}j)"


def _raised(terms: list[tuple[str, str]]) -> str:
    """The terms on two lines, exponents above, broken before a term that would go beyond the line width."""
    lines: list[str] = []
    above, below, pending = "", "", ""
    for text, exponent in terms:
        pending += text
        if not exponent:
            continue
        raised = " " * (len(pending) - 1) + exponent
        base = pending + " " * (len(exponent) - 1)
        if max(len(above) + len(raised), len(below) + len(base)) > _LINE_WIDTH:
            lines += [f" {above}", below]
            above = below = ""
        above, below, pending = above + raised, below + base, ""
    return "\n".join([*lines, f" {above}", f"{below}{pending}"])
