"""A linear function on all components at once.

`torch.vmap` does it for any function; for the functions that broadcast over leading axes by themselves, in which most
of the time of a network is spent, the call is made directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import lead
from npdec._decomposed.batching_rules import batch_rule
from npdec._decomposed.call import Call
from npdec._decomposed.components import Components, LinearCall
from npdec._decomposed.lazy_products import lazy_product
from npdec._decomposed.registry import Trait
from npdec._decomposed.size_limits import check, has_many
from npdec._decomposed.size_warnings import warn_infinite
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._storage import shares_memory
from npdec._torch.functorch import is_transformed, vmap
from npdec._torch.tracing import name_of, tracing

__all__ = ["apply", "leading_axes", "stacked"]

_LARGE = 2**16  # products of elements for a component, from which on it has a call of its own


def leading_axes(call: Call, tensor: torch.Tensor) -> int:
    """How many axes of the first argument the function leaves where they are, looking at each of their rows alone."""
    if call.traits & Trait.LAYER:
        return tensor.ndim - 1
    if call.traits & Trait.CONV:
        weight: Any = call.args[1] if len(call.args) > 1 else call.kwargs["weight"]
        return 1 if tensor.ndim == weight.ndim else 0
    return 0


def apply(
    call: Call,
    function: Callable[..., Any],
    components: Sequence[Any],
    value: Any,
    places: Sequence[int],
    held: Sequence[Any],
) -> Any:
    """`function` of each component, stacked along a leading axis: a tensor, or a list of tensors for several outputs;
    or what stands for one.

    `components`, tensors or what stands for them, are those of the decomposed arguments at `places`; the
    others are `held`.
    """
    count = len(components[0])
    elementwise = bool(call.traits & Trait.ELEMENTWISE) and isinstance(value, torch.Tensor)
    endless = elementwise and len(components) == 1 and bool(call.constant_factors) and call.has_infinite_factor()
    if any(not isinstance(c, torch.Tensor) for c in components):
        at = LinearCall(call, function, components, value, places, held, endless, stacked)
        for kind in {type(c): c for c in components if isinstance(c, Components)}.values():
            made = kind.linear(at)
            if made is not None:
                return made
        components = [_dense(c, call.tensors[i]) for i, c in zip(places, components, strict=True)]
    if has_many(count) and isinstance(value, torch.Tensor):
        check((count, *value.shape), max(c.numel() for c in components))
    put_off = None if elementwise or not count else lazy_product(call, components[0])
    return stacked(call, function, components, value, places, held, endless) if put_off is None else put_off


def _dense(components: Any, tensor: DecomposedTensor) -> torch.Tensor:
    """The components of a tensor, perhaps under more labels than its own."""
    if isinstance(components, torch.Tensor):
        return components
    made: torch.Tensor = tensor.components if components is tensor.kept else components.dense()
    return made


def stacked(
    call: Call,
    function: Callable[..., Any],
    components: Sequence[torch.Tensor],
    value: Any,
    places: Sequence[int],
    held: Sequence[Any],
    endless: bool = False,
) -> Any:
    """`function` of tensors with one more leading axis, which stays there. With `endless` an argument holds
    infinities, of which zero components take none."""
    count = len(components[0])
    elementwise = bool(call.traits & Trait.ELEMENTWISE) and isinstance(value, torch.Tensor)
    if not count:
        if isinstance(value, torch.Tensor):
            return value.new_zeros((0, *value.shape))
        return [v.new_zeros((0, *v.shape)) for v in value]
    if elementwise:
        result = function(*[lead(c, value.ndim) for c in components])
        if endless:  # what does not move contributes nothing, though its factor be infinite
            result = torch.where(lead(components[0], value.ndim) == 0, 0, result)
            if not bool(torch.isfinite(result).all()) and bool(torch.isfinite(components[0]).all()):
                warn_infinite(name_of(call.func))
        return _expanded(result, count, value)
    if call.traits & Trait.LAYER and [call.decomposed[i].key for i in places] == [0]:
        return function(*components)
    front = None if tracing() else batch_rule(call, value)
    if front is not None:
        made = front(components[0])
        return _single_views(call, made, components) if isinstance(made, (tuple, list)) else made
    if len(components) == 1 and not tracing() and call.traits & Trait.MATMUL:
        product = _of_matrices(call, components[0], places[0], held)
        if product is not None:
            return product
    if count == 1:
        # squeeze and unsqueeze, whose gradients are views (that of an index is a copy)
        one = function(*[c.squeeze(0) for c in components])
        if isinstance(one, (tuple, list)):
            return _single_views(call, [t.unsqueeze(0) for t in one], components)
        return one.unsqueeze(0)
    return vmap(function, components)


def _single_views(call: Call, made: Sequence[torch.Tensor], components: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What a function of several results made of the components. In reverse mode they have a graph, and of views that
    were made together autograd lets nobody write to one."""
    if not call.reverse or tracing():
        return list(made)
    # Of several tensors (broadcast_tensors) each result is a view of its own one, be they over one memory or not.
    own = {
        leaf.key if leaf.place is None else leaf.place: c for leaf, c in zip(call.decomposed, components, strict=True)
    }
    views = []
    for i, one in enumerate(made):
        source = components[0] if len(components) == 1 else own.get(i)
        if source is not None and shares_memory(one, source):
            one = source.as_strided(one.shape, one.stride(), one.storage_offset())
        views.append(one)
    return views


def _of_matrices(call: Call, components: torch.Tensor, place: int, held: Sequence[Any]) -> torch.Tensor | None:
    """The products of a batch of matrices with the batch of each component; None if they are of another kind.

    Large ones are made one by one: for all at once torch would copy the former as often.
    """
    leaf = call.decomposed[place]
    if len(call.args) != 2 or call.kwargs or not isinstance(leaf.key, int):
        return None
    other = held[1 - place] if len(call.decomposed) == 2 else call.args[1 - leaf.key]
    batch, left = other.shape[:-2], leaf.key == 0
    if other.ndim < 3 or components.shape[1:-2] != batch or components.dtype is not other.dtype:
        return None
    rows, columns = (components, other) if left else (other, components)
    grad = torch.is_grad_enabled() and (components.requires_grad or other.requires_grad)
    work = other.numel() * components.shape[-2 if left else -1]
    if work < _LARGE or grad or is_transformed():
        return torch.matmul(rows, columns)
    made = components.new_empty((len(components), *batch, rows.shape[-2], columns.shape[-1]))
    factor = other.flatten(0, -3)
    for c, target in zip(components.flatten(1, -3), made.flatten(1, -3), strict=True):
        torch.bmm(*((c, factor) if left else (factor, c)), out=target)
    return made


def _expanded(result: torch.Tensor, count: int, value: torch.Tensor) -> torch.Tensor:
    shape = (count, *value.shape)
    return result if tuple(result.shape) == shape else result.expand(shape)
