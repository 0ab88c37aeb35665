"""The class of series, which the six classes share: coefficients in a basis, on a domain."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any, ClassVar

import npdec as np
from npdec._core.tracebacks import cuts, ends
from npdec.polynomial import _calculus, _fitting, _series, _text, _values
from npdec.polynomial._basis import Basis
from npdec.polynomial.polyutils import as_series, getdomain, is_empty, mapdomain, mapparms, pair, trimcoef

__all__ = ["Series"]

# What a function of coefficients raises for an operand that is none: the operator then leaves it to the other operand.
_NO_OPERAND = (TypeError, ValueError)


class Series:
    """A polynomial as a series in one basis: `coef[k]` times the k-th basis polynomial, summed.

    Its variable is mapped from `domain` to `window` first. Operators take series of the same class, domain, window and
    symbol, or coefficients; a series is never changed, they make new ones.
    """

    _basis: ClassVar[Basis]
    domain: Any
    window: Any
    basis_name: ClassVar[str | None]
    maxpower: ClassVar[int] = 100

    __array_ufunc__ = None  # NumPy's and npdec's arrays leave operators to the series
    __hash__ = None  # type: ignore[assignment]

    def __init_subclass__(cls, basis: Basis | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if basis is not None:
            cls._basis = basis
            cls.domain, cls.window = np.array(basis.domain), np.array(basis.domain)
            cls.basis_name = basis.symbol

    def __init__(self, coef: Any, domain: Any = None, window: Any = None, symbol: str = "x") -> None:
        (self.coef,) = as_series([coef], trim=False)
        if domain is not None:
            self.domain = pair("Domain", domain)
        if window is not None:
            self.window = pair("Window", window)
        if not isinstance(symbol, str):
            raise TypeError("Symbol must be a non-empty string")
        if not symbol.isidentifier():
            raise ValueError("Symbol string must be a valid Python identifier")
        self._symbol = symbol

    @property
    def symbol(self) -> str:
        """The name of the variable."""
        return self._symbol

    def _like(self, coef: Any) -> Any:
        """A series with other coefficients."""
        return type(self)(coef, self.domain, self.window, self.symbol)

    # --- state --------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).copy() for name in ("coef", "domain", "window")}
        return {**arrays, "symbol": self.symbol}

    def __setstate__(self, dict: dict[str, Any]) -> None:
        self.coef, self.domain, self.window = dict["coef"], dict["domain"], dict["window"]
        self._symbol = dict["symbol"]

    def copy(self) -> Any:
        """A series equal to this one, with coefficients of its own."""
        return self._like(self.coef)

    # --- comparison ---------------------------------------------------------------------------------------------------

    def has_samecoef(self, other: Any) -> Any:
        """Whether the coefficients are the same, and as many."""
        return len(self.coef) == len(other.coef) and np.all(self.coef == other.coef)

    def has_samedomain(self, other: Any) -> Any:
        """Whether the domains are the same."""
        return np.all(self.domain == other.domain)

    def has_samewindow(self, other: Any) -> Any:
        """Whether the windows are the same."""
        return np.all(self.window == other.window)

    def has_sametype(self, other: Any) -> bool:
        """Whether `other` is a series of this class."""
        return isinstance(other, self.__class__)

    def __eq__(self, other: object) -> Any:
        return (
            isinstance(other, Series)
            and type(self) is type(other)
            and self.has_samedomain(other)
            and self.has_samewindow(other)
            and self.has_samecoef(other)
            and self.symbol == other.symbol
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    # --- text ---------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        parts = [repr(array)[6:-1] for array in (self.coef, self.domain, self.window)]
        return f"{type(self).__name__}({parts[0]}, domain={parts[1]}, window={parts[2]}, symbol='{self.symbol}')"

    def __str__(self) -> str:
        return _text.text(self.coef, self.mapparms(), self.symbol, self.basis_name)

    def __format__(self, fmt_str: str) -> str:
        if fmt_str and fmt_str not in _text.STYLES:
            raise ValueError(
                f"Unsupported format string '{fmt_str}' passed to {self.__class__}.__format__. "
                "Valid options are 'ascii' and 'unicode'"
            )
        return _text.text(self.coef, self.mapparms(), self.symbol, self.basis_name, fmt_str)

    @staticmethod
    def _repr_latex_scalar(x: Any, parens: bool = False) -> str:
        return rf"\text{{{_text.format_float(x, parens=parens)}}}"

    def _repr_latex_(self) -> str:
        return _text.latex(self.coef, self.mapparms(), self.symbol, self.basis_name, self._repr_latex_scalar)

    # --- values -------------------------------------------------------------------------------------------------------

    def __call__(self, arg: Any) -> Any:
        return _values.value(self._basis, mapdomain(arg, self.domain, self.window), self.coef)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.coef)

    def __len__(self) -> int:
        return len(self.coef)

    def linspace(self, n: int = 100, domain: Any = None) -> tuple[Any, Any]:
        """(x, y): `n` points spread evenly over the domain, or over another one, and the values there.

        >>> np.polynomial.Polynomial([1, 2]).linspace(3)
        (array([-1.,  0.,  1.]), array([-1.,  1.,  3.]))
        """
        domain = self.domain if domain is None else domain
        x = np.linspace(domain[0], domain[1], n)
        return x, self(x)

    def mapparms(self) -> tuple[Any, Any]:
        """(offset, scale) of the line that takes the domain to the window."""
        return mapparms(self.domain, self.window)

    def roots(self) -> Any:
        """The roots in the domain's variable, sorted.

        >>> np.polynomial.Polynomial([-1, 0, 1]).roots()
        array([-1.,  1.])
        """
        return mapdomain(_fitting.roots(self._basis, self.coef), self.window, self.domain)

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    def _coefficients_of(self, other: Any) -> Any:
        """The coefficients of an operand, if it is a series: one that goes together with this one."""
        if not isinstance(other, Series):
            return other
        if not isinstance(other, self.__class__):
            raise TypeError("Polynomial types differ")
        if not np.all(self.domain == other.domain):
            raise TypeError("Domains differ")
        if not np.all(self.window == other.window):
            raise TypeError("Windows differ")
        if self.symbol != other.symbol:
            raise ValueError("Polynomial symbols differ")
        return other.coef

    @cuts
    def _combined(self, function: Any, other: Any, *, reflected: bool = False) -> Any:
        """The series of function(self, other), the other way round if reflected, or NotImplemented."""
        operands = self.coef, self._coefficients_of(other)
        try:
            made = function(self._basis, *(reversed(operands) if reflected else operands))
        except _NO_OPERAND:
            return NotImplemented
        return tuple(map(self._like, made)) if isinstance(made, tuple) else self._like(made)

    @cuts
    def _divided(self, other: Any, part: int, *, reflected: bool = False) -> Any:
        made = self._combined(_series.divide, other, reflected=reflected)
        return made if made is NotImplemented else made[part]

    def __neg__(self) -> Any:
        return self._like(-self.coef)

    def __pos__(self) -> Any:
        return self

    def __add__(self, other: Any) -> Any:
        return self._combined(_series.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._combined(_series.add, other, reflected=True)

    def __sub__(self, other: Any) -> Any:
        return self._combined(_series.subtract, other)

    def __rsub__(self, other: Any) -> Any:
        return self._combined(_series.subtract, other, reflected=True)

    def __mul__(self, other: Any) -> Any:
        return self._combined(_series.multiply, other)

    def __rmul__(self, other: Any) -> Any:
        return self._combined(_series.multiply, other, reflected=True)

    def __truediv__(self, other: Any) -> Any:
        # Only by a number; the quotient of two series is no polynomial, and // is the one with a remainder.
        if isinstance(other, bool) or not isinstance(other, (numbers.Number, np.number)):
            raise TypeError(f"unsupported types for true division: '{type(self)}', '{type(other)}'")
        return self.__floordiv__(other)

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        return self._divided(other, 0)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._divided(other, 0, reflected=True)

    def __mod__(self, other: Any) -> Any:
        return self._divided(other, 1)

    def __rmod__(self, other: Any) -> Any:
        return self._divided(other, 1, reflected=True)

    def __divmod__(self, other: Any) -> Any:
        return self._combined(_series.divide, other)

    def __rdivmod__(self, other: Any) -> Any:
        return self._combined(_series.divide, other, reflected=True)

    def __pow__(self, other: Any) -> Any:
        return self._like(_series.power(self._basis, self.coef, other, self.maxpower))

    # --- degrees ------------------------------------------------------------------------------------------------------

    def degree(self) -> int:
        """One less than the number of coefficients, zero or not."""
        return len(self) - 1

    def truncate(self, size: Any) -> Any:
        """The series of the first `size` coefficients. Raises ValueError unless that is a positive integer.

        >>> np.polynomial.Polynomial([1, 2, 3]).truncate(2).coef
        array([1., 2.])
        """
        count = int(size)
        if count != size or count < 1:
            raise ValueError("size must be a positive integer")
        return self._like(self.coef[:count])

    def cutdeg(self, deg: Any) -> Any:
        """The series without the terms above the degree. Raises ValueError unless that is a non-negative integer.

        >>> np.polynomial.Polynomial([1, 2, 3]).cutdeg(1).coef
        array([1., 2.])
        """
        return self.truncate(deg + 1)

    def trim(self, tol: float = 0) -> Any:
        """The series without the last coefficients that are at most `tol` in magnitude; one always stays.

        >>> np.polynomial.Polynomial([1, 2, 1e-9]).trim(1e-6).coef
        array([1., 2.])
        """
        return self._like(trimcoef(self.coef, tol))

    # --- calculus -----------------------------------------------------------------------------------------------------

    def integ(self, m: Any = 1, k: Any = [], lbnd: Any = None) -> Any:  # noqa: B006  (NumPy's)
        """The m-th integral, with the values `k` at `lbnd`, or where the window has 0 if that is None.

        >>> np.polynomial.Polynomial([1, 2]).integ(k=3).coef
        array([3., 1., 1.])
        """
        offset, scale = self.mapparms()
        lbnd = 0 if lbnd is None else offset + scale * lbnd
        return self._like(_calculus.integral(self._basis, self.coef, m, k, lbnd, 1.0 / scale))

    def deriv(self, m: Any = 1) -> Any:
        """The m-th derivative.

        >>> np.polynomial.Polynomial([1, 2, 3]).deriv().coef
        array([2., 6.])
        """
        return self._like(_calculus.derivative(self._basis, self.coef, m, self.mapparms()[1]))

    # --- other series -------------------------------------------------------------------------------------------------

    def convert(self, domain: Any = None, kind: Any = None, window: Any = None) -> Any:
        """The same polynomial as a series of class `kind`, on another domain and window; by default that class's own.

        >>> np.polynomial.Polynomial([0, 0, 1]).convert(kind=np.polynomial.Chebyshev).coef
        array([0.5, 0. , 0.5])
        """
        kind = type(self) if kind is None else kind
        domain, window = kind._where(domain, window)
        return self(kind.identity(domain, window=window, symbol=self.symbol))

    @classmethod
    def cast(cls, series: Any, domain: Any = None, window: Any = None) -> Any:
        """A series of any class as one of this class.

        >>> np.polynomial.Chebyshev.cast(np.polynomial.Polynomial([0, 0, 1])).coef
        array([0.5, 0. , 0.5])
        """
        return series.convert(domain, cls, window)

    @classmethod
    @ends
    def identity(cls, domain: Any = None, window: Any = None, symbol: str = "x") -> Any:
        """The series of x itself.

        >>> np.polynomial.Polynomial.identity(domain=[0, 4])(3.0)
        np.float64(3.0)
        """
        domain, window = cls._where(domain, window)
        offset, scale = mapparms(window, domain)
        return cls(_series.line(cls._basis, offset, scale), domain, window, symbol)

    @classmethod
    @ends
    def basis(cls, deg: Any, domain: Any = None, window: Any = None, symbol: str = "x") -> Any:
        """The basis polynomial of a degree. Raises ValueError unless that is a non-negative integer.

        >>> np.polynomial.Chebyshev.basis(2).coef
        array([0., 0., 1.])
        """
        degree = int(deg)
        if degree != deg or degree < 0:
            raise ValueError("deg must be non-negative integer")
        domain, window = cls._where(domain, window)
        return cls([0] * degree + [1], domain, window, symbol)

    @classmethod
    @ends
    def fromroots(cls, roots: Any, domain: Any = [], window: Any = None, symbol: str = "x") -> Any:  # noqa: B006
        """The series with these roots and the coefficient 1 of the highest power of its variable.

        `domain` is the class's own for an empty list, and the least that holds the roots for None.

        >>> np.polynomial.Polynomial.fromroots([1, 2]).coef
        array([ 2., -3.,  1.])
        """
        (roots,) = as_series([roots], trim=False)
        domain = getdomain(roots) if domain is None else None if is_empty(domain) else domain
        domain, window = cls._where(domain, window)
        offset, scale = mapparms(domain, window)
        coef = _series.fromroots(cls._basis, offset + scale * roots) / scale ** len(roots)
        return cls(coef, domain=domain, window=window, symbol=symbol)

    @classmethod
    def _where(cls, domain: Any, window: Any) -> tuple[Any, Any]:
        """The domain and the window, the class's own for None."""
        return cls.domain if domain is None else domain, cls.window if window is None else window

    @classmethod
    @ends
    def fit(
        cls, x: Any, y: Any, deg: Any, domain: Any = None, rcond: Any = None, full: bool = False, w: Any = None,
        window: Any = None, symbol: str = "x",
    ) -> Any:  # fmt: skip
        """The series that fits the points (x, y) best, as `polyfit` and its like in the modules do.

        `domain` is the least that holds x for None, and the class's own for an empty list. With `full` the result is
        (series, [squared residuals, rank, singular values, rcond]).

        >>> np.polynomial.Polynomial.fit([0, 1, 2], [1, 3, 5], 1).convert().coef.round(12)
        array([1., 2.])
        """
        if domain is None:
            domain = getdomain(x)
            if domain[0] == domain[1]:
                domain = domain + np.asarray([-1, 1], dtype=domain.dtype, device=domain.device)
        domain, window = cls._where(None if is_empty(domain) else domain, window)
        made = _fitting.fit(cls._basis, mapdomain(x, domain, window), y, deg, rcond, full, w)
        coef, *status = made if full else (made,)
        series = cls(coef, domain=domain, window=window, symbol=symbol)
        return (series, *status) if full else series


for _name in "__init__ __call__ __pow__ linspace roots truncate cutdeg trim mapparms integ deriv convert".split():
    setattr(Series, _name, ends(vars(Series)[_name]))
