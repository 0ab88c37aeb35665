"""Python's numbers in a recording: float(x), x.item() and x.tolist() of what the graph computes.

Such a number is known only when the graph has run. It stands in the results, and beside arrays as a Python float does;
sums and products with other numbers are operations of the graph, as Python's floats are IEEE doubles. Whatever needs
the number itself (text, math, a quotient, which may have no divisor) has no graph.
"""

from __future__ import annotations

import dis
import math
import operator
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from npdec._array import wrap
from npdec._array.generic import generic
from npdec._core.base import ArrayBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import Refused, recording

__all__ = ["CALLED", "Later", "Numbers", "as_float", "given", "made", "refusal", "with_calls"]

_PLAIN = (bool, int, float)
_SINGLE = (torch.float32, torch.complex64)
_SMALL = {torch.float16, torch.bfloat16, *_SINGLE}
CALLED = "float()"  # the name of `as_float` in a recorded function


def refusal() -> Refused:
    """The reason why there is no graph."""
    return Refused("Python asks for a number (float(), .item(), math) that depends on the arguments")


class Later:
    """A Python float or complex number, that at a place of a vector which the graph computes."""

    def __init__(self, numbers: torch.Tensor, place: int) -> None:
        self._numbers, self._place = numbers, place

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return complex if self._numbers.is_complex() else float

    def __pow__(self, other: Any) -> Later:
        if type(other) is not int or not 0 < other < 4:
            raise refusal()
        found = mine = given(self)
        for _ in range(other - 1):
            found = found * mine
        if found.isinf() & mine.isfinite():
            raise refusal()  # OverflowError
        return made(found)

    def __int__(self) -> int:
        mine = given(self)
        if ~(mine.abs() < 2**62):
            raise refusal()
        return int(mine.to(torch.int64))

    def __bool__(self) -> bool:
        return bool(_tensor(self) != 0)

    def __neg__(self) -> Later:
        return made(-_tensor(self))

    def __pos__(self) -> Later:
        return self

    def __abs__(self) -> Later:
        return made(_tensor(self).abs())

    def __getattr__(self, name: str) -> Any:
        raise refusal()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            raise refusal()
        strong = [x._t.dtype for x in inputs if isinstance(x, ArrayBase)]
        return ufunc(*[_beside(x, strong) if type(x) is Later else x for x in inputs], **options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        leaves = tree_leaves((args, kwargs))
        small = {x._t.dtype for x in leaves if isinstance(x, ArrayBase)} & _SMALL
        if small or any(type(x) is Later and x._numbers.is_complex() for x in leaves):
            raise refusal()  # beside these the number would have another dtype
        args, kwargs = tree_map(lambda x: _beside(x, []) if type(x) is Later else x, (args, kwargs))
        return func(*args, **kwargs)


def _beside(number: Later, strong: list[torch.dtype]) -> Any:
    """The number as an array scalar of the dtype that it takes beside others."""
    tensor = _tensor(number)
    if torch.float16 in strong or torch.bfloat16 in strong or (tensor.is_complex() and strong):
        raise refusal()
    inexact = [dtype for dtype in strong if dtype.is_floating_point or dtype.is_complex]
    return wrap.wrap_scalar(tensor.to(torch.float32) if inexact and set(inexact) <= {*_SINGLE} else tensor)


def _tensor(number: Later) -> torch.Tensor:
    return number._numbers[number._place]


def made(tensor: torch.Tensor) -> Later:
    """The number that a tensor of one element holds."""
    return Later(tensor.reshape(1), 0)


_OPERATORS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv}


def _operator(name: str, reflected: bool) -> Callable[[Later, Any], Any]:
    function = _OPERATORS.get(name) or getattr(torch, name)

    def computed(self: Later, other: Any) -> Any:
        if isinstance(other, (ArrayBase, torch.Tensor)):
            return NotImplemented
        mine, other = given(self), given(other)
        a, b = (other, mine) if reflected else (mine, other)
        if name == "truediv" and bool(b == 0):
            raise refusal()  # ZeroDivisionError
        found = function(a, b)
        return bool(found) if found.dtype is torch.bool else made(found)

    return computed


def given(number: Any) -> torch.Tensor:
    """A real number as a tensor in double precision."""
    if type(number) is not Later:
        if type(number) not in _PLAIN or (type(number) is int and abs(number) >= 2**53):
            raise refusal()
        return torch.scalar_tensor(float(number), dtype=torch.float64)
    if number._numbers.is_complex():
        raise refusal()
    return _tensor(number)


def _refused(self: Any, *args: Any) -> Any:
    raise refusal()


def _fill() -> None:
    for name in _OPERATORS:
        setattr(Later, f"__{name}__", _operator(name, False))
        setattr(Later, f"__r{name}__", _operator(name, True))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Later, f"__{name}__", _operator(name, False))
    for name in (
        "float", "complex", "index", "hash", "repr", "str", "format", "len", "iter", "getitem", "array", "contains",
        "reversed", "round", "trunc", "floor", "ceil", "rpow", "floordiv", "rfloordiv", "mod", "rmod", "divmod",
        "rdivmod", "matmul", "rmatmul", "copy", "deepcopy", "reduce", "reduce_ex", "call", "invert", "enter", "exit",
    ):  # fmt: skip
        setattr(Later, f"__{name}__", _refused)


_fill()


class Numbers:
    """What Python asks for in one recording."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder
        self.kinds_are_asked = False  # a function names `type`, which would not find floats

    def _is_later(self, tensor: torch.Tensor) -> bool:
        if not (tensor.is_floating_point() or tensor.is_complex()) or self.kinds_are_asked or is_transformed():
            return False
        return not self._recorder.is_constant(tensor)

    def item(self, tensor: torch.Tensor) -> Any:
        """What `tensor.item()` gives."""
        return made(_double(tensor)) if self._is_later(tensor) else tensor.item()

    def as_value(self, value: Any) -> Any:
        """A value that is to be written: an array scalar in the place of such a number."""
        return _beside(value, []) if type(value) is Later else value

    def tolist(self, tensor: torch.Tensor) -> Any:
        """What `tensor.tolist()` gives."""
        if not self._is_later(tensor):
            return tensor.tolist()
        if not tensor.dim():
            return self.item(tensor)
        numbers = _double(tensor).reshape(-1)
        return _nested(numbers, [*tensor.shape], 0)


def _double(tensor: torch.Tensor) -> torch.Tensor:
    """A copy, as the tensor may be written later."""
    return tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64, copy=True)


def _nested(numbers: torch.Tensor, shape: list[int], start: int) -> list[Any]:
    if len(shape) == 1:
        return [Later(numbers, start + i) for i in range(shape[0])]
    size = math.prod(shape[1:])
    return [_nested(numbers, shape[1:], start + i * size) for i in range(shape[0])]


def as_float(value: Any = 0.0, /) -> Any:
    """float(value) in a recorded function."""
    recorder = recording.get()
    held: Any = value
    if type(value) is Later:
        return value if not value._numbers.is_complex() else _refused(value)
    if recorder is None or not isinstance(value, ArrayBase) or (isinstance(value, generic) and not value._carries):
        return float(held)
    tensor = value._t
    plain = type(tensor) is not DecomposedTensor and tensor.is_floating_point()
    return recorder.numbers.item(tensor) if plain and not tensor.dim() else float(held)


def with_calls(code: types.CodeType) -> types.CodeType:
    """The code, with calls of `float` as calls of `CALLED`. What is no call, as in dtype=float, stays."""
    names, raw, place = code.co_names, bytearray(code.co_code), len(code.co_names) << 1 | 1
    if "float" in names and place < 256:  # what is larger takes two instructions
        names = (*names, CALLED)
        for one in dis.get_instructions(code):
            is_called = one.opname == "LOAD_GLOBAL" and one.argval == "float" and one.arg is not None and one.arg & 1
            if is_called and one.arg < 256:  # type: ignore[operator]
                raw[one.offset + 1] = place
    consts = tuple([with_calls(one) if isinstance(one, types.CodeType) else one for one in code.co_consts])
    return code.replace(co_names=names, co_consts=consts, co_code=bytes(raw))
