"""`np.lib.mixins.NDArrayOperatorsMixin`: the operators of a class that says what ufuncs do with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npdec._array import wrap
from npdec._normalizer import namespace

__all__ = ["NDArrayOperatorsMixin"]

_COMPARISONS = {"lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal", "gt": "greater",
                "ge": "greater_equal"}  # fmt: skip
_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "matmul": "matmul", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "divmod": "divmod", "pow": "power", "lshift": "left_shift",
    "rshift": "right_shift", "and": "bitwise_and", "xor": "bitwise_xor", "or": "bitwise_or",
}  # fmt: skip
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def _ask(name: str, inputs: tuple[Any, ...], **options: Any) -> Any:
    """What the operands' own `__array_ufunc__` gives for a ufunc, a subclass before its base, left before right."""
    ufunc = namespace.functions[name]
    asked: list[Any] = []
    for item in inputs:
        cls = type(item)
        if not hasattr(cls, "__array_ufunc__") or cls is wrap.ARRAY or any(type(other) is cls for other in asked):
            continue
        at = next((i for i, other in enumerate(asked) if issubclass(cls, type(other))), len(asked))
        asked.insert(at, item)
    for item in asked:
        result = item.__array_ufunc__(ufunc, "__call__", *inputs, **options)
        if result is not NotImplemented:
            return result
    kinds = ", ".join(repr(type(item).__name__) for item in inputs)
    raise TypeError(
        f"operand type(s) all returned NotImplemented from __array_ufunc__({ufunc!r}, '__call__', ...): {kinds}"
    )


def _leaves_it(other: Any) -> bool:
    """Whether an operand says that ufuncs are not for it."""
    return getattr(other, "__array_ufunc__", True) is None


class NDArrayOperatorsMixin:
    """Gives a class all operators, by way of its `__array_ufunc__`: `x + y` asks for the ufunc `np.add` of the two.

    `__array_ufunc__(ufunc, method, *inputs, **kwargs)` receives the ufuncs of npdec, and in `kwargs` the `out` of
    operators in place. An operand whose `__array_ufunc__` is None is left to decide for itself.

    >>> class Boxed(np.lib.mixins.NDArrayOperatorsMixin):
    ...     def __init__(self, value):
    ...         self.value = value
    ...     def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
    ...         plain = [x.value if isinstance(x, Boxed) else x for x in inputs]
    ...         return Boxed(getattr(ufunc, method)(*plain, **kwargs))
    >>> (1 - Boxed(np.array([1.0, 2.0]))).value
    array([ 0., -1.])
    """

    __module__ = "npdec.lib.mixins"
    __slots__ = ()

    # As for arrays: defining == leaves no hash.
    __hash__ = None  # type: ignore[assignment]


def _binary(ufunc: str) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        return NotImplemented if _leaves_it(other) else _ask(ufunc, (self, other))

    return operator


def _reflected(ufunc: str) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        return NotImplemented if _leaves_it(other) else _ask(ufunc, (other, self))

    return operator


def _in_place(ufunc: str) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        return _ask(ufunc, (self, other), out=(self,))

    return operator


def _unary(ufunc: str) -> Callable[..., Any]:
    def operator(self: Any) -> Any:
        return _ask(ufunc, (self,))

    return operator


def _attach(stem: str, operator: Callable[..., Any], ufunc: str) -> None:
    operator.__name__ = f"__{stem}__"
    operator.__qualname__ = f"NDArrayOperatorsMixin.__{stem}__"
    operator.__doc__ = f"np.{ufunc}, as an operator."
    setattr(NDArrayOperatorsMixin, f"__{stem}__", operator)


def _attach_all() -> None:
    for stem, ufunc in _COMPARISONS.items():
        _attach(stem, _binary(ufunc), ufunc)
    for stem, ufunc in _BINARY.items():
        _attach(stem, _binary(ufunc), ufunc)
        _attach(f"r{stem}", _reflected(ufunc), ufunc)
        if stem != "divmod":
            _attach(f"i{stem}", _in_place(ufunc), ufunc)
    for stem, ufunc in _UNARY.items():
        _attach(stem, _unary(ufunc), ufunc)


_attach_all()
