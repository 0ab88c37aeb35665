"""One call of an operation, read from the frame of the function that was called: its name, and how to call it again."""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

import npdec as np
from npdec._core.base import ArrayBase, UfuncBase
from npdec._core.tags import NoValue
from npdec._core.unbound import is_function, is_unbound
from npdec.debug._places import Place, place_of

__all__ = ["Call", "read", "read_torch"]

_NO_OPERATIONS = frozenset({"__init__", "__iter__", "__get__", "__instancecheck__", "__subclasscheck__"})
_NAMESPACES = ("", "linalg", "fft", "random")


@dataclass(eq=False, slots=True)
class Call:
    """A call of an operation: `function(*args, **kwargs)` is the same call again.

    `name` is that of npdec ("add", "linalg.norm", "ndarray.sum", "ndarray.__add__") or torch's ("torch.exp"). `kind`
    says what `function` is: "function", "method" (of the first argument), "attribute", "assignment" (to an attribute)
    or "torch".
    """

    name: str
    kind: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    place: Place
    notes: dict[Any, Any] = field(default_factory=dict)  # of those who look on

    @property
    def attribute(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


def read(frame: FrameType, user: FrameType, resumed: int) -> Call | None:
    """The call that a frame of npdec begins, called from a frame of the program; None if it is no operation. `resumed`
    says how often a generator has been before."""
    code, local = frame.f_code, frame.f_locals
    first = local.get(code.co_varnames[0]) if code.co_varnames else None
    if not code.co_argcount and code.co_flags & inspect.CO_VARARGS:  # of `*args`
        first = next(iter(local[code.co_varnames[code.co_kwonlyargcount]]), None)
    if code.co_flags & inspect.CO_GENERATOR:
        array = local.get("self", first)
        if not isinstance(array, ArrayBase):
            return None
        return Call("ndarray.__iter__", "function", operator.getitem, (array, resumed), {}, place_of(user))
    if code.co_name == "__torch_function__":
        return None if "func" not in local else _of_torch(local["func"], local["args"], local["kwargs"], user)
    if code.co_name == "__array_function__":
        function = local["func"]
        return Call(f"numpy.{_name(function)}", "function", function, local["args"], local["kwargs"], place_of(user))
    if code.co_name == "__array_ufunc__":
        args, kwargs = _arguments(code, local, 3, None)
        function = getattr(local["ufunc"], local["method"])
        return Call(f"numpy.{_name(local['ufunc'])}", "function", function, args, kwargs, place_of(user))
    found = _called(code, frame.f_globals, local, first)
    if found is None:
        return None
    name, kind, function, signature, skipped = found
    args, kwargs = _arguments(code, local, skipped, signature)
    return Call(name, kind, function, args, kwargs, place_of(user))


def read_torch(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, user: FrameType) -> Call | None:
    """The call of a function of torch from the program."""
    return _of_torch(function, args, kwargs, user)


def _of_torch(function: Any, args: Any, kwargs: Any, user: FrameType) -> Call | None:
    name = _name(function)
    if name in ("__get__", "__set__", "__delete__"):
        return None  # a size, a flag, a gradient
    module = str(getattr(function, "__module__", None) or "torch").partition(".")[0]
    return Call(
        f"torch.{name}" if module == "torch" else name,
        "torch",
        function,
        tuple(args),
        dict(kwargs or {}),
        place_of(user),
    )


def _name(function: Any) -> str:
    return getattr(function, "__name__", str(function))


# -- which function it is ----------------------------------------------------------------------------------------------


@functools.cache
def _method(name: str) -> Callable[..., Any]:
    """The method of this name of whatever it is called for: in single precision, scalars are of another type."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(type(self), name)(self, *args, **kwargs)

    return method


def _called(code: types.CodeType, scope: dict[str, Any], local: dict[str, Any], first: Any) -> Any:
    """Name, kind, what to call, the function with the signature, and how many parameters are not arguments."""
    name = code.co_name
    if isinstance(first, UfuncBase):
        function = getattr(type(first), name, None)
        if name in ("__call__", first.__name__):
            return first.__name__, "function", first, type(first).__call__, 1
        if name.startswith("_"):
            return None
        return f"{first.__name__}.{name}", "function", getattr(first, name), function, 1
    if name == "__new__" and isinstance(first, type):
        if issubclass(first, torch.Tensor):
            return None  # parts are put together: no operation
        return first.__name__, "function", first, getattr(first, name), 1
    if isinstance(first, ArrayBase):
        attribute = _attribute(type(first), scope.get(name), code)
        if attribute is not None:
            name, held = attribute
            if isinstance(held, property) and _code(held) is not code:
                return f"ndarray.{name}", "assignment", _assigning(name), held.fset, 0
            if isinstance(held, property):
                return f"ndarray.{name}", "attribute", operator.attrgetter(name), held.fget, 0
            return f"ndarray.{name}", "method", _method(name), held, 0
    function = scope.get(name)
    if getattr(function, "__code__", None) is not code:
        function = None
    dotted = _public(code, function, local)
    if dotted is not None:
        return dotted[0], "function", dotted[1], dotted[1], int(is_unbound(dotted[1]))
    if name in _NO_OPERATIONS or type(first).__module__.partition(".")[0] != "npdec":
        return None
    method = getattr(type(first), name, None)  # of a generator of random numbers, a polynomial
    return (f"{type(first).__name__}.{name}", "method", method, None, 0) if callable(method) else None


def _attribute(cls: type, function: Any, code: types.CodeType) -> tuple[str, Any] | None:
    """The attribute of a class that has this code. Operators share theirs: which of them it is their scope says."""
    name = function.__name__ if getattr(function, "__code__", None) is code else code.co_name
    for base in cls.__mro__:
        held = vars(base).get(name)
        if held is not None and code in (_code(held), _code_of_assignment(held)):
            return name, held
    for base in cls.__mro__:
        for other, held in vars(base).items():
            if code in (_code(held), _code_of_assignment(held)):
                return other, held
    return None


def _code(held: Any) -> Any:
    function = held.fget if isinstance(held, property) else getattr(held, "__func__", held)
    return getattr(function, "__code__", None)


def _code_of_assignment(held: Any) -> Any:
    return getattr(held.fset, "__code__", None) if isinstance(held, property) else None


def _assigning(name: str) -> Callable[[Any, Any], None]:
    return lambda array, value: setattr(array, name, value)


def _public(code: types.CodeType, function: Any, local: dict[str, Any]) -> tuple[str, Any] | None:
    """The public function with this code, and its dotted name. Of functions that share a wrapper, that whose variables
    those of the frame are."""
    names = [code.co_name] if function is not None else None
    for namespace in _NAMESPACES:
        module = getattr(np, namespace) if namespace else np
        for name in names or list(vars(module)):
            found: Any = vars(module).get(name)
            if is_function(found) and found.__code__ is code and not name.startswith("_"):
                cells = zip(code.co_freevars, found.__closure__ or ())
                if names or all(local.get(variable) is cell.cell_contents for variable, cell in cells):
                    return (f"{namespace}.{name}" if namespace else name), found
    return None


# -- its arguments -----------------------------------------------------------------------------------------------------


def _arguments(code: types.CodeType, local: dict[str, Any], skipped: int, function: Any) -> Any:
    """The arguments of a frame that begins, without those that are the defaults."""
    count, names = code.co_argcount, code.co_varnames
    defaults = getattr(function, "__defaults__", None) or ()
    first_default = count - len(defaults)
    at = count + code.co_kwonlyargcount
    more: tuple[Any, ...] = ()
    if code.co_flags & inspect.CO_VARARGS:
        more, at = tuple(local[names[at]]), at + 1
        more = more if count else more[skipped:]
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    gap = False
    for i, name in enumerate(names[skipped:count], skipped):
        value = local[name]
        default = defaults[i - first_default] if i >= first_default else NoValue
        if not more and (value is NoValue or (i >= first_default and value is default)):
            gap = True
        elif gap and i >= code.co_posonlyargcount:
            kwargs[name] = value
        else:
            args.append(value)
    others = getattr(function, "__kwdefaults__", None) or {}
    for name in names[count : count + code.co_kwonlyargcount]:
        if local[name] is not NoValue and local[name] is not others.get(name, NoValue):
            kwargs[name] = local[name]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs |= {name: value for name, value in local[names[at]].items() if value is not NoValue}
    return (*args, *more), kwargs
