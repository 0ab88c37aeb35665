"""Which decomposed tensors look at the same memory.

Values alias through torch's own storage. Whether the parts do is another matter: each decomposed tensor knows its views
and what it is a view of, so that before one is written they can be given parts in common
(`npdec._decomposed.shared_storage`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from weakref import ref

import torch

from npdec._decomposed.entries_in_place import are_alone
from npdec._decomposed.parts import Views
from npdec._decomposed.size_limits import has_many, is_large
from npdec._decomposed.tensor import DecomposedTensor, is_broadcast
from npdec._impl._storage import has_overlap, is_new, shares_memory
from npdec._torch.functorch import is_wrapped
from npdec._torch.interrupts import undisturbed
from npdec._torch.tracing import tracing

__all__ = [
    "apart",
    "family",
    "is_settled",
    "link",
    "link_lazily",
    "link_ordinary",
    "link_results",
    "makes_graph",
    "shares_memory",
]


def family(tensor: DecomposedTensor) -> Views:
    """The tensors over the same memory: made, if it has none but itself."""
    views = tensor.views
    if views is None:
        views = tensor.views = Views([tensor])
    return views


def link(view: DecomposedTensor, source: DecomposedTensor) -> None:
    """Make it known that `view` looks at the memory of `source`, if it does: what is written into one is in both.

    If it does not, its parts get memory of their own, where they lie otherwise than the value and are views yet.
    """
    if view is source or (view.views is not None and view.views is source.views):
        return
    if is_wrapped(view.value):
        return  # within torch.vmap and its like a tensor has no memory to be looked at
    # Components that are yet to be made are a view, if they are to be.
    lazy = "components" not in view.__dict__ or "components" not in source.__dict__
    if (
        is_new(view.value, source.value)
        and is_new(view.residual, source.residual)
        and (lazy or is_new(view.components, source.components))
    ):
        return
    if not shares_memory(view.value, source.value):
        if shares_memory(view.residual, source.residual):
            view.residual = undisturbed(_copied, view.residual)
        if not lazy and shares_memory(view.components, source.components):
            view.components = undisturbed(_copied, view.components)
        return
    views = _enter(view, source)
    views.lazy |= lazy
    views.loose |= not (_is_like(view.residual, source.residual, source.value) and (lazy or _has_like(view, source)))


def link_lazily(view: DecomposedTensor, source: DecomposedTensor) -> None:
    """The same of a view of what has no components yet, nor has it: those that are made of it lie elsewhere."""
    views = source.views
    if views is None or view.views is not None or len(views) >= views.limit:
        views = _enter(view, source)
    else:
        view.views = views
        views.append(ref(view))
    views.lazy = views.loose = True


def _enter(view: DecomposedTensor, source: DecomposedTensor) -> Views:
    """The tensors over the memory of `source`, to which `view` belongs from now on."""
    views = family(source)
    if view.views is views:
        return views
    if view.views is not None:
        view.views.call_in()
    view.views = views
    views.append(ref(view))
    if len(views) > views.limit:
        views[:] = [member for member in views if member() is not None]
        views.limit = max(16, 2 * len(views))
    return views


def _are_views(view: DecomposedTensor, source: DecomposedTensor) -> bool:
    """Whether the parts are views of those of `source`, which lie by rows, as its value does."""
    residual, components = source.residual, source.components
    if not (residual.is_contiguous() and components.is_contiguous()):
        return False
    base, bases = view.residual._base, view.components._base
    return (
        base is not None
        and bases is not None
        and (base is residual or base is residual._base)
        and (bases is components or bases is components._base)
    )


def _are_apart(part: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether torch knows two tensors as none that look at one memory."""
    base, its = part._base, other._base
    return part is not other and (base is None or (base is not other and base is not its)) and its is not part


def link_ordinary(view: DecomposedTensor, source: DecomposedTensor) -> None:
    """As `link`, of tensors with components, outside of the transforms of torch.func: told sooner where torch's bases
    of views tell it."""
    value, its = view.value, source.value
    base = value._base
    if base is None:
        apart = _are_apart(view.residual, source.residual) and _are_apart(view.components, source.components)
        if apart and value is not its and not value.is_inference():
            return
    elif (base is its or base is its._base) and its.is_contiguous() and _are_views(view, source):
        views = source.views
        if views is not None and view.views is None and len(views) < views.limit:
            view.views = views
            views.append(ref(view))
        else:
            _enter(view, source)
        return
    link(view, source)


def link_results(result: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Link what a function made of its arguments to that of which it is a view: nearly always the first."""
    if type(result) is DecomposedTensor:
        rest = args
        if args and type(args[0]) is DecomposedTensor:
            link(result, args[0])
            rest = args[1:]
        if result.views is None and (rest or kwargs):
            for other in _decomposed_among((*rest, *kwargs.values())):
                if shares_memory(result.value, other.value):
                    link(result, other)
    elif type(result) is tuple or type(result) is list:
        for item in result:
            link_results(item, args, kwargs)


def _decomposed_among(args: Iterable[Any]) -> Iterator[DecomposedTensor]:
    for arg in args:
        if type(arg) is DecomposedTensor:
            if not is_wrapped(arg.value):
                yield arg
        elif type(arg) is tuple or type(arg) is list:
            yield from _decomposed_among(arg)


def _has_like(a: DecomposedTensor, b: DecomposedTensor) -> bool:
    return _is_like(a.components, b.components, b.value)


def _is_like(part: torch.Tensor, other: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether a part has its memory in common with that of another tensor, and in this those elements are one that are
    in the value."""
    return shares_memory(part, other) and _lies_like(other, value)


def _lies_like(part: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether of a part (or components) those elements are one in memory that are in the value."""
    if not has_overlap(value):
        return not is_broadcast(part)
    lead = part.ndim - value.ndim
    strides = part.stride()[lead:]
    alike = all(n < 2 or its == stride for n, its, stride in zip(value.shape, value.stride(), strides, strict=True))
    return alike and all(part.stride(axis) or part.shape[axis] < 2 for axis in range(lead))


def _copied(part: torch.Tensor) -> torch.Tensor:
    if not part.requires_grad:
        return part.detach().clone()
    with torch.enable_grad():
        return part.clone()


def is_unmade(value: torch.Tensor, labels: Sequence[Any], reverse: bool) -> bool:
    """Whether a write does without the components of all elements of a memory, as they would be too large."""
    if reverse or is_wrapped(value):
        return False
    return is_large((len(labels), value.untyped_storage().nbytes() // value.dtype.itemsize))


def is_settled(tensor: DecomposedTensor) -> bool:
    """Whether the parts can be written where they are: views have them in common as they have their values, and those
    elements are one with another that are in the value."""
    views = tensor.views
    if has_many(len(tensor.labels)) and not tracing() and is_unmade(tensor.value, tensor.labels, tensor.reverse):
        return (views is not None and views.shared is not None) or are_alone(tensor)
    if views is not None and not tracing():
        if views.lazy:
            views.loose |= not all(_has_like(tensor, member) for member in views.living())
            views.lazy = False
        if views.loose:
            return False
    return _lies_like(tensor.residual, tensor.value) and _lies_like(tensor.components, tensor.value)


def makes_graph(given: Iterable[Any]) -> bool:
    """Whether what is computed of tensors has a graph: one of them, or a part of one, requires gradients."""
    if not torch.is_grad_enabled():
        return False
    for x in given:
        if isinstance(x, DecomposedTensor):
            components = x.__dict__.get("components")  # which are made, and not by asking for them
            if x.value.requires_grad or x.residual.requires_grad or getattr(components, "requires_grad", False):
                return True
        elif isinstance(x, torch.Tensor) and x.requires_grad:
            return True
    return False


def apart(operands: tuple[Any, ...], outs: Iterable[Any]) -> tuple[Any, ...]:
    """Operands of a call that is written into arrays: copies of those over the memory of one of these, if the call
    makes a graph, which wants what is overwritten."""
    if not makes_graph(operands):
        return operands
    written = [out._t for out in outs if out is not None]
    return tuple(
        x.clone() if isinstance(x, torch.Tensor) and any(shares_memory(x, out) for out in written) else x
        for x in operands
    )
