"""The parameters of torch's functions, by name, kind and default: those of Python's, or of the operators' schemas."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch.overrides import get_testing_overrides

__all__ = ["KEYWORD", "POSITIONAL", "Parameter", "bound", "by_name", "public", "signatures"]

Function = Callable[..., Any]
POSITIONAL, KEYWORD = "positional", "keyword"
NOTHING = inspect.Parameter.empty
# What functions of NumPy call them, which torch takes as well.
NUMPY_NAMES = {"dim": ["axis"], "keepdim": ["keepdims"], "input": ["x", "a", "x1"], "other": ["x2"]}


class Parameter(NamedTuple):
    name: str
    kind: str
    default: Any = NOTHING
    type: str = "any"


Signature = tuple[Parameter, ...]


def public(name: str) -> Function | None:
    """The function that goes by the name: "nn.functional.relu", "linalg.norm", "add", "Tensor.add"."""
    for owner in (torch, torch.Tensor):
        found: Any = owner
        for part in name.split("."):
            found = getattr(found, part, None)
        if callable(found):
            return found
    return None


def signatures(function: Any) -> list[Signature]:
    """The overloads of a function of torch; none, if nothing tells them."""
    if isinstance(function, type) and issubclass(function, torch.autograd.Function):
        made = _of_python(function.forward)
        return [made[1:]] if made else []  # without the context
    if isinstance(function, types.FunctionType):
        made = _of_python(function)
        return [made] if made else _of_stand_in(function)
    name = getattr(function, "__name__", "")
    is_method = isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType))
    found = [_of_schema(schema, is_method) for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}")
             if _is_public(schema)]  # fmt: skip
    return found or _of_stand_in(function)


def _is_public(schema: Any) -> bool:
    written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    types_of = [str(a.type) for a in schema.arguments]
    return (
        not any(a.kwarg_only or "List" in str(a.type) for a in written)  # out=, and what only compiled code calls
        and any("Tensor" in t for t in types_of)
        and "Dimname" not in str(schema)
        and schema.overload_name not in ("dimname", "names_dim", "DimnameList")
    )


def _of_python(function: Any) -> Signature | None:
    parameters = list(inspect.signature(function).parameters.values())
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    return tuple(Parameter(p.name, KEYWORD if p.kind is p.KEYWORD_ONLY else POSITIONAL, p.default) for p in parameters)


@functools.cache
def _stand_ins() -> dict[Any, Function]:
    return get_testing_overrides()


def _of_stand_in(function: Any) -> list[Signature]:
    stand_in = _stand_ins().get(function)
    made = _of_python(stand_in) if stand_in is not None else None
    return [tuple(p for p in made if p.name != "out")] if made else []


def _of_schema(schema: Any, is_method: bool) -> Signature:
    return tuple(
        Parameter(
            "input" if a.name == "self" and not is_method else a.name,
            KEYWORD if a.kwarg_only else POSITIONAL,
            a.default_value if a.has_default_value() else NOTHING,
            str(a.real_type),
        )
        for a in schema.arguments
    )


# -- a call ------------------------------------------------------------------------------------------------------------


def _fits(value: Any, type_: str) -> bool:
    if type_.startswith("Optional["):
        return value is None or _fits(value, type_[9:-1])
    if type_.startswith("List["):
        inner = type_[5:-1]
        return (
            all(_fits(v, inner) for v in value)
            if isinstance(value, (list, tuple))
            else inner in ("int", "SymInt", "float", "number") and _fits(value, inner)
        )
    if type_ == "Tensor":
        return isinstance(value, torch.Tensor)
    number = isinstance(value, (int, float, complex)) and not isinstance(value, bool)
    known = {
        "number": number or isinstance(value, bool),
        "int": isinstance(value, int) and not isinstance(value, bool),
        "SymInt": isinstance(value, int) and not isinstance(value, bool),
        "ScalarType": isinstance(value, torch.dtype),
        "float": isinstance(value, (int, float)) and not isinstance(value, bool),
        "bool": isinstance(value, bool),
        "str": isinstance(value, str),
    }
    return known.get(type_, True)


def _bound_to(signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    places = [p for p in signature if p.kind == POSITIONAL]
    given = list(args)
    if len(given) > len(places):
        if not places or not places[-1].type.startswith("List[") or not all(isinstance(a, int) for a in given):
            rest = given[len(places) - 1 :]
            if not places or not places[-1].type.startswith("List[") or not all(isinstance(a, int) for a in rest):
                return None
        given = [*given[: len(places) - 1], tuple(given[len(places) - 1 :])]
    found = {p.name: value for p, value in zip(places, given, strict=False)}
    by_key = {p.name: p for p in signature}
    for name, value in kwargs.items():
        if name not in by_key or name in found:
            return None
        found[name] = value
    for p in signature:
        if p.name in found:
            if not _fits(found[p.name], p.type):
                return None
        elif p.default is NOTHING:
            return None
    return found


def bound(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Signature, dict[str, Any]] | None:
    """The overload that a call has, and its arguments by name."""
    for signature in signatures(function):
        made = _bound_to(signature, args, kwargs)
        if made is not None:
            return signature, made
    return None


def is_default(parameter: Parameter, value: Any) -> bool:
    if parameter.default is NOTHING:
        return False
    default = parameter.default
    if isinstance(value, torch.Tensor) or isinstance(default, torch.Tensor):
        return False
    return (type(value) is type(default) and value == default) or value is default


def by_name(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments by torch's names, and by those of NumPy's that torch takes for them."""
    yield found
    for name, others in NUMPY_NAMES.items():
        if name in found:
            yield {others[0] if key == name else key: value for key, value in found.items()}
