"""In-place methods of torch's tensors that change the shape and the strides, and views by strides, on the torch face:
the parts become what the out-of-place function makes of them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.aliasing import is_unmade
from npdec._decomposed.components import Components
from npdec._decomposed.kept_components import handed_on
from npdec._decomposed.shared_storage import seen_alike
from npdec._decomposed.size_limits import has_many
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law import law
from npdec._rules.rule import rule
from npdec._torch.functorch import mapped
from npdec._torch.interrupts import Step, commit
from npdec._torch.tracing import tracing

__all__ = ["is_laid_out_alike", "restrided"]

Function = Callable[..., Any]
_set_data: Any = torch.Tensor.data


def _in_place(name: str) -> Function:
    """The closed form of an in-place method that makes the tensor a view of what it was: of the method `name`."""

    def become(func: Function, target: DecomposedTensor, *args: Any, **kwargs: Any) -> Any:
        return _become(func.__name__, target, getattr(torch.Tensor, name)(target, *args, **kwargs))

    return become


def _become(name: str, target: DecomposedTensor, view: DecomposedTensor) -> DecomposedTensor:
    """The tensor, which takes the shape, the strides and the parts of a view of it."""
    if tracing() or mapped():
        raise NotImplementedError(
            f"{name}: the shape of a decomposed tensor does not change in place in code that torch.compile traces or "
            f"torch.func transforms: use {name[:-1]}, which gives a view"
        )
    for member in [] if target.views is None else target.views.living():
        if member.kept is not None and member.kept.source is target:
            member.kept = _of_its_own(member)
    if has_many(len(view.labels)) and "components" not in vars(view):
        its = handed_on(view)
        held: dict[str, Any] = {"components": its} if isinstance(its, torch.Tensor) else {"kept": its}
    else:
        components, kept = view.components, view.kept
        held = {"components": components, "kept": None if kept is None or kept.source is not None else kept}
    parts = {
        "value": view.value,
        "residual": view.residual,
        "origin": None,
        "writes": target.writes + 1,
        **held,
    }
    # Not a write of numbers: what autograd has kept of them stays good.
    reshaped: Step = (torch._C._disabled_torch_function_impl, _set_data.__set__, (), (target, view.value.detach()), {})
    commit([reshaped, (dict.pop, vars(target), "components", None), (vars(target).update, parts)])
    return target


def _of_its_own(member: DecomposedTensor) -> Any:
    """What stands for the components of a view, of a tensor whose shape changes: many of them as they are, others are
    made as a view of its components, in the shape that these have now."""
    if has_many(len(member.labels)):
        return handed_on(member)
    member.components  # noqa: B018
    return member.kept


# -- views by strides --------------------------------------------------------------------------------------------------


def is_laid_out_alike(tensor: DecomposedTensor) -> bool:
    """Whether the parts lie in memories of their own as the value does in its."""
    value, residual = tensor.value, tensor.residual
    length, many = value.untyped_storage().nbytes(), _many(tensor)
    if residual.stride() != value.stride() or residual.storage_offset() != value.storage_offset():
        return False
    if residual.untyped_storage().nbytes() != length:
        return False
    parts = [tensor.components] if many is None else many.tensors() or ()
    return all(
        part.stride()[1:] == value.stride()
        and part.stride(0) * value.element_size() == length
        and part.storage_offset() == value.storage_offset()
        for part in parts
    )


def _many(tensor: DecomposedTensor) -> Components | None:
    """What stands for the tensor's components, if those are too many to be made."""
    its, kept = tensor.value, tensor.kept
    if "components" in vars(tensor) or not is_unmade(its, tensor.labels, tensor.reverse):
        return None
    return None if kept is None or kept.tensors() is None else kept


def restrided(
    tensor: DecomposedTensor, size: Sequence[int], strides: Sequence[int], offset: int | None = None
) -> DecomposedTensor:
    """The view of memories in which the parts lie alike, by strides from a place on (by default the tensor's first)."""
    value, residual, many = tensor.value, tensor.residual, _many(tensor)
    parts = [tensor.components] if many is None else many.tensors() or ()
    with contextlib.nullcontext() if many is None else torch.enable_grad():
        seen = [part.as_strided((len(part), *size), (part.stride(0), *strides), offset) for part in parts]
        components = seen[0] if many is None else many.of_tensors(seen)
    return DecomposedTensor(
        value.as_strided(size, strides, offset),
        residual.as_strided(size, strides, offset),
        components,
        tensor.labels,
        tensor.reverse,
    )


@rule("as_strided")
def _as_strided(func: Function, x: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    if tracing() or mapped():
        return _LINEAR(func, (x, size, stride, storage_offset), {})
    if not is_laid_out_alike(x):
        x = seen_alike([x], x)
    return restrided(x, size, stride, storage_offset)


_LINEAR = law.TaggedRule.of("Linear")


@rule("resize_ resize_as_")
def _resize(func: Function, target: Any, *sizes: Any, memory_format: torch.memory_format | None = None) -> Any:
    """The first elements in memory in another shape. There have to be so many."""
    size = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    size = size.shape if isinstance(size, torch.Tensor) else tuple(size)
    held = target.value.untyped_storage().nbytes() // target.element_size() - target.storage_offset()
    if memory_format not in (None, torch.contiguous_format):
        raise NotImplementedError(f"{func.__name__}: a decomposed tensor is resized in row-major order only")
    if math.prod(size) > held:
        raise RuntimeError(
            f"{func.__name__}: a decomposed tensor of {held} elements in memory does not grow to {size}: what "
            "is in the new ones is undefined. Make a larger tensor (torch.nn.functional.pad, torch.cat)"
        )
    strides = [math.prod([max(n, 1) for n in size[i + 1 :]]) for i in range(len(size))]
    return _become(func.__name__, target, torch.Tensor.as_strided(target, size, strides))  # type: ignore[arg-type]


for _name in "t transpose squeeze unsqueeze swapaxes swapdims as_strided".split():
    rule(f"{_name}_", delegates=True)(_in_place(_name))
