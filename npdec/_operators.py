"""Operators and methods of arrays and scalars, made from the kernels that declare them.

`ufunc(operator="add")` gives `__add__`, `__radd__` and, on arrays, `__iadd__`; `public(method=True)` gives the method.
Between plain arrays of one dtype that torch computes itself, and with a Python number, an operator goes straight to the
torch function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import torch

from npdec import _wrap
from npdec._base import ArrayBase
from npdec._composition import Composition
from npdec._convert import as_tensor
from npdec._methods import ArrayMethods
from npdec._normalizer import compile_method
from npdec._output import check_writeable, write
from npdec._ufunc import ufunc

__all__ = ["attach_matmul", "attach_methods", "attach_operators"]

_UNARY = {"neg", "pos", "abs", "invert"}
_COMPARISONS = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_COMMUTATIVE = {"add", "mul"}
_WITH_NUMBER = {"add", "sub", "mul", "truediv", "pow", "lt", "le", "gt", "ge", "eq", "ne"}
_PYTHON_SCALARS = frozenset({bool, int, float, complex})

_FAST = """
def {name}(self, other):
    d = self._d
    if type(other) is _Array:
        if d is not other._d or d not in _arrays:
            return _slow(self, other)
        other = other._t
    elif d not in _direct or type(other) not in _numbers:
        return _slow(self, other)
    try:
        r = _torch(self._t, other)
    except (RuntimeError, OverflowError):
        return _slow(self, other)
    if type(r) is _Tensor and r.dim():
        c = _new(_Array); c._t = r; c._d = {dtype}
        return c
    return _wrap(r)
"""


def _accepts(other: Any) -> bool:
    """Whether the other operand of an operator is something array-like, to be taken in by npdec."""
    kind = type(other)
    if kind in _PYTHON_SCALARS or isinstance(other, (ArrayBase, torch.Tensor, list, tuple, range)):
        return True
    if isinstance(other, str) or other is None or getattr(other, "__array_ufunc__", 0) is None:
        return False
    return (
        hasattr(other, "__array__") or hasattr(other, "__array_interface__") or isinstance(other, (int, float, complex))
    )


def _operand(other: Any) -> Any:
    return other if type(other) in _PYTHON_SCALARS else as_tensor(other)


def _name(function: Callable[..., Any], name: str, text: str) -> Callable[..., Any]:
    function.__name__ = name
    function.__qualname__ = f"ndarray.{name}"
    function.__module__ = "npdec"
    function.__doc__ = text
    return function


def _binary(function: ufunc, reflected: bool) -> Callable[..., Any]:
    def slow(self: Any, other: Any) -> Any:
        if not _accepts(other):
            return NotImplemented
        return function._general((other, self) if reflected else (self, other))

    return slow


def _comparison(function: ufunc, stem: str) -> Callable[..., Any]:
    """As `_binary`; whatever is no number is unequal to every element."""

    def slow(self: Any, other: Any) -> Any:
        if _accepts(other):
            return function._general((self, other))
        if stem in ("eq", "ne") and (other is None or isinstance(other, str)):
            return _wrap.wrap(torch.full(tuple(self._t.shape), stem == "ne", device=self._t.device))
        return NotImplemented

    return slow


def _in_place(function: ufunc, stem: str) -> Callable[..., Any]:
    name = function.__name__

    def operator(self: Any, other: Any) -> Any:
        if not _accepts(other):
            return NotImplemented
        check_writeable(name, self)
        write(name, self, function.compute((self._t, _operand(other))), "same_kind")
        return self

    return operator


def attach_operators(functions: Iterable[Any]) -> None:
    """Give the classes the operators of the ufuncs that declare one."""
    for function in functions:
        if not isinstance(function, ufunc):
            continue
        stem = function.__kernel__.__npdec__.operator  # type: ignore[attr-defined]
        if stem is None:
            continue
        text = f"The operator of np.{function.__name__}."
        if stem in _UNARY:
            _attach(ArrayMethods, f"__{stem}__", _name(_unary(function), f"__{stem}__", text))
            continue
        if stem in _COMPARISONS:
            _attach(ArrayMethods, f"__{stem}__", _name(_comparison(function, stem), f"__{stem}__", text))
        else:
            _attach(ArrayMethods, f"__{stem}__", _name(_binary(function, False), f"__{stem}__", text))
            _attach(ArrayMethods, f"__r{stem}__", _name(_binary(function, True), f"__r{stem}__", text))
            if function.nout == 1:
                _attach(Composition, f"__i{stem}__", _name(_in_place(function, stem), f"__i{stem}__", text))
        if function._direct and function._torch is not None:
            _attach(Composition, f"__{stem}__", _name(_fast(function, stem), f"__{stem}__", text))
            if stem in _COMMUTATIVE:
                _attach(Composition, f"__r{stem}__", _name(_fast(function, stem, "r"), f"__r{stem}__", text))


def _unary(function: ufunc) -> Callable[..., Any]:
    # The ufunc is a global of the operator, not in its closure, because torch.compile traces the former only.
    scope: dict[str, Any] = {"_function": function}
    exec("def operator(self): return _function(self)", scope)
    return scope["operator"]  # type: ignore[no-any-return]


def _fast(function: ufunc, stem: str, prefix: str = "") -> Callable[..., Any]:
    assert function._torch is not None
    name = f"__{prefix}{stem}__"
    scope: dict[str, Any] = {
        "_Array": Composition,
        "_Tensor": torch.Tensor,
        "_arrays": function._arrays,
        "_direct": function._direct - {torch.complex64, torch.complex128} if prefix else function._direct,
        "_new": object.__new__,
        "_numbers": frozenset({int, float}) if stem in _WITH_NUMBER else frozenset(),
        "_slow": getattr(ArrayMethods, name),
        "_torch": function._torch,
        "_wrap": _wrap.wrap,
    }
    expression = "r.dtype" if stem in _COMPARISONS else "d"
    exec(compile(_FAST.format(name=name, dtype=expression), f"<operator {name}>", "exec"), scope)
    return cast(Callable[..., Any], scope[name])


def attach_matmul(matmul: Callable[..., Any]) -> None:
    """The operator @, which is no ufunc of elements."""

    def __matmul__(self: Any, other: Any) -> Any:
        return matmul(self, other) if _accepts(other) else NotImplemented

    def __rmatmul__(self: Any, other: Any) -> Any:
        return matmul(other, self) if _accepts(other) else NotImplemented

    def __imatmul__(self: Any, other: Any) -> Any:
        if not _accepts(other):
            return NotImplemented
        check_writeable("matmul", self)
        write("matmul", self, as_tensor(matmul(self, other)), "same_kind")
        return self

    for function, cls in ((__matmul__, ArrayMethods), (__rmatmul__, ArrayMethods), (__imatmul__, Composition)):
        _attach(cls, function.__name__, _name(function, function.__name__, "The operator of np.matmul."))


def attach_methods(kernels: Iterable[Callable[..., Any]]) -> None:
    """Give the classes the methods that kernels declare."""
    for kernel in kernels:
        if kernel.__npdec__.method is not None:  # type: ignore[attr-defined]
            for name in kernel.__npdec__.method.split():  # type: ignore[attr-defined]
                _attach(ArrayMethods, name, compile_method(kernel, name))


def _attach(cls: type, name: str, function: Callable[..., Any]) -> None:
    if name in vars(cls):
        raise TypeError(f"{cls.__name__}.{name} is declared twice")
    setattr(cls, name, function)
