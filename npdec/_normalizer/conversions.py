"""Statements that turn the caller's arguments into what a kernel receives."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from npdec._core.signatures import MASKS, Parameter
from npdec._core.tags import NoValue
from npdec._native import calls

__all__ = ["how_lent", "of_arrays", "of_other", "tensor_of"]

_Kind = inspect.Parameter


def how_lent(returns: str | None, arrays: Sequence[Parameter]) -> str:
    """By which attribute a lazy array lends its tensor, and stays lazy, to a kernel that only reads its arrays: what is
    made of that has memory of its own, or is a view. Nothing where it does not."""
    if calls is None or any(p.tag == "InPlace" for p in arrays):
        return ""
    if returns in (None, "Array", "Plain"):
        return "_lent"
    return "_viewed" if returns in ("View", "Flat", "Frozen") else ""


def tensor_of(name: str, lent: str) -> str:
    """The expression of the tensor of an array. torch.compile knows no tensor but the one that an array has."""
    return f"({name}._t if _tracing() else {name}.{lent})" if lent else f"{name}._t"


def of_arrays(name: str, parameters: Sequence[Parameter], beside: Sequence[Parameter], lent: str) -> str:
    """The statement that makes all arrays tensors, or `lent` ones. It is one: where an argument is none that torch can
    hold, the call goes on with all of them as they were given. What is `beside` them may be arrays as well."""
    made = [_tensor(name, p, beside, lent) for p in parameters]
    return f"{', '.join(p.name for p in parameters)} = {', '.join(made)}"


def _tensor(name: str, p: Parameter, beside: Sequence[Parameter], lent: str) -> str:
    """The expression of what becomes of one array. The others, as they were given, say where lists and numbers go."""
    n = p.name
    others = "".join(f"{q.name}, " for q in beside if q is not p)
    converted = f"_as_beside({n}, ({others}))" if others else f"_as_argument({n})"
    absent = []
    weakly = p.tag == "ArrayLikeOrScalar" and not p.sequence
    if p.tag in MASKS:
        return f"{n} if {n} is True or {n} is _NoValue else _as_mask({n}, {p.tag == 'CountedMask'}, ({others}))"
    if p.default is NoValue or weakly:
        absent.append(f"{n} is _NoValue")
    if p.optional or p.default is None or (p.default is NoValue and not weakly):
        absent.append(f"{n} is None")
    if p.sequence:
        weak = ", _scalars" if p.tag == "ArrayLikeOrScalar" else ""
        made = f"_as_sequence({name!r}, {n}, ({others}){weak})"
        made = f"[_chosen({name!r}, item) for item in {made}]" if p.tag == "Opaque" else made
    elif p.kind is _Kind.VAR_POSITIONAL and p.tag != "Opaque":
        made = f"[_as_beside(item, {n}) for item in {n}]"
    elif weakly:
        absent.insert(0, f"type({n}) in _scalars")
        return f"{tensor_of(n, lent)} if type({n}) is _Array else {n} if {' or '.join(absent)} else {converted}"
    else:
        made = f"{tensor_of(n, lent)} if type({n}) is _Array else {converted}"
        made = f"_chosen({name!r}, {made})" if p.tag == "Opaque" else made
    return f"{n} if {' or '.join(absent)} else {made}" if absent else made


def of_other(p: Parameter) -> list[str]:
    """The statements of what becomes of any other argument."""
    n = p.name
    if p.sequence and p.tag in ("AxisLike", "DTypeLike", "ShapeLike"):
        raise TypeError(f"{n!r} cannot be a sequence of {p.tag}")
    guard = f"if {n} is not None: " if p.optional or p.default is None else ""
    if p.default is NoValue:
        guard = f"if {n} is not _NoValue and {n} is not None: "
    match p.tag:
        case "KeepDims":
            return [f"if type({n}) is not bool and {n} is not _NoValue: {n} = _as_flag({n})"]
        case "DTypeLike":
            return [f"{guard}{n} = _as_dtype({n})"]
        case "AxisLike":
            return [f"if {n} is not None and type({n}) is not int: {n} = _as_axis({n})"]
        case "ShapeLike":
            return [f"{guard}{n} = _as_shape({n})"]
    if p.plain == "int":
        return [f"if type({n}) is not int and {n} is not None and {n} is not _NoValue: {n} = _index({n})"]
    if p.plain == "float":
        return [f"if isinstance({n}, _ArrayBase):", f"    _chosen('float()', {n}._t)", f"    {n} = {n}.item()"]
    if p.plain == "bool" and p.default is not None:
        return [f"if type({n}) is not bool and {n} is not None and {n} is not _NoValue: {n} = bool({n})"]
    return []
