"""Type-tagged signatures, read once: the parameters of a kernel with the tag that each one carries."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from npdec._core.tags import LAW_TAGS

__all__ = ["LAW_TAGS", "MASKS", "Parameter", "is_bodyless", "read_parameters", "return_tag"]

MASKS = frozenset({"Mask", "CountedMask"})
_TENSOR_TAGS = frozenset({"ArrayLike", "Coefficients"})  # beside those of the law: tensors that are not written
_ARRAY_TAGS = _TENSOR_TAGS | {"Opaque", "ArrayLikeOrScalar", "InPlace"} | MASKS
_OTHER_TAGS = frozenset({"DTypeLike", "AxisLike", "ShapeLike", "KeepDims", "Like", "OutArray"})
_PLAIN = frozenset(
    {"bool", "int", "float", "str", "complex", "object", "Any", "Callable", "tuple", "list", "dict", "slice", "bytes"}
)
_BODYLESS = {"RESUME", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "NOP", "LOAD_COMMON_CONSTANT", "NOT_TAKEN"}
_MOST_BYTES = 16  # of a function without a body; to disassemble all others takes a tenth of the import
_RETURN_TAGS = frozenset({"Array", "Flat", "Frozen", "Mirror", "View"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel. `tag` is the tag's name, or None; `sequence` says that a list of such is meant, and
    `inexact` that integers and booleans come as float64, `affine` that the result is linear in all such arguments."""

    name: str
    kind: inspect._ParameterKind
    default: Any
    tag: str | None
    plain: str | None
    sequence: bool
    optional: bool
    inexact: bool = False
    affine: bool = False

    @property
    def is_array(self) -> bool:
        return self.tag in LAW_TAGS or self.tag in _ARRAY_TAGS


def _render(annotation: Any) -> str:
    """The annotation as text, whether its evaluation was postponed or not."""
    if isinstance(annotation, str):
        text = annotation
    elif isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        text = annotation.__name__
    else:
        text = repr(annotation)
    for noise in ("typing.", "collections.abc.", "npdec._core.tags.", "~", "_tags."):
        text = text.replace(noise, "")
    if text.startswith("Optional["):
        text = text[len("Optional[") : -1] + " | None"
    return text.strip()


def _parse(kernel: Callable[..., Any], p: inspect.Parameter) -> Parameter:
    """What the annotation of a parameter says; raises TypeError if that is nothing known."""
    name, annotation = p.name, p.annotation
    where = f"{kernel.__module__}.{kernel.__qualname__}, parameter {name!r}"
    if annotation is inspect.Parameter.empty:
        raise TypeError(f"{where}: a kernel's parameter needs a type tag (see npdec._core.tags)")
    text = _render(annotation)
    parts = [part.strip() for part in text.split("|")]
    optional = "None" in parts
    parts = [part for part in parts if part not in ("None", "_NoValueType")]
    base = parts[0]
    sequence = base.startswith("Sequence[")
    if sequence:
        base = base[len("Sequence[") : -1].strip()
    affine = base.startswith("Affine[")
    if affine:
        base = base[len("Affine[") : -1].strip()
    inexact = base.startswith("Inexact[")
    if inexact:
        base = base[len("Inexact[") : -1].strip()
    if all(part.split("[")[0] in _PLAIN for part in parts):
        plain = parts[0].split("[")[0] if len(parts) == 1 else None
        return Parameter(name, p.kind, p.default, None, plain, False, optional)
    if len(parts) == 1:
        if base in LAW_TAGS or base in (_TENSOR_TAGS if inexact else _ARRAY_TAGS | _OTHER_TAGS):
            return Parameter(name, p.kind, p.default, base, None, sequence, optional, inexact, affine)
        if sequence and base.split("[")[0] in _PLAIN:
            return Parameter(name, p.kind, p.default, None, None, False, optional)
    raise TypeError(f"{where}: unknown type tag {text!r} (the tags are listed in npdec._core.tags)")


@functools.cache
def _signature(kernel: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(kernel)


@functools.cache
def read_parameters(kernel: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of a kernel. Raises TypeError on a parameter without a tag, or with an unknown one."""
    return tuple(_parse(kernel, p) for p in _signature(kernel).parameters.values())


def return_tag(kernel: Callable[..., Any]) -> str | None:
    """ "Array", "View", "Flat", "Frozen", "Mirror", or None where a 0-d result becomes a scalar."""
    annotation = _signature(kernel).return_annotation
    if annotation is inspect.Signature.empty:
        return None
    for name in _RETURN_TAGS:
        if name in _render(annotation):
            return name
    return None


def is_bodyless(function: Callable[..., Any]) -> bool:
    """Whether the function consists of its signature (and a docstring): it does nothing and returns None."""
    if not isinstance(function, types.FunctionType) or len(function.__code__.co_code) > _MOST_BYTES:
        return False
    import dis

    operations = list(dis.get_instructions(function))
    returned = [i for i in operations if i.opname in ("LOAD_CONST", "RETURN_CONST", "LOAD_COMMON_CONSTANT")]
    return {i.opname for i in operations} <= _BODYLESS and returned[-1].argval is None
