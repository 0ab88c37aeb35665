"""What a function does with decomposed DTensors (`npdec._rules.distributed_tensor`): it goes part by part, or over the
rows that are here, or over whole tensors on every process.

Imported by the first decomposed tensor that becomes a DTensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec

from npdec._decomposed import completeness
from npdec._decomposed.axes import lead
from npdec._decomposed.batching_rules import batch_rule
from npdec._decomposed.call import Call
from npdec._decomposed.registry import Trait, row_of, traits_of
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor, align, carries
from npdec._law.law import TaggedRule, innermost
from npdec._law.overrides_scope import scope
from npdec._rules.dispatch import rule_of
from npdec._rules.distributed_tensor import (
    DecomposedDTensor,
    Placements,
    answer,
    from_local,
    here,
    made,
    moved,
    packed,
    refuse,
    whole,
)
from npdec._torch.tracing import name_of

__all__ = ["from_local", "made"]

Function = Callable[..., Any]
_WRITES = {
    f"__{name}__"
    for name in """
    setitem iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift
    """.split()
}


def _answer(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Answer a function called with a decomposed DTensor."""
    name = name_of(func)
    if name in _WRITES or kwargs.get("out") is not None or (name.endswith("_") and not name.endswith("__")):
        refuse(name, "it writes to its argument")
    here = scope()
    rule = (None if here is None else here.rules.get(func)) or rule_of(func)
    if rule.passes:
        return rule(func, args, kwargs)
    reverse = next(t for t in _leaves([*args, *kwargs.values()]) if isinstance(t, DecomposedDTensor)).local.reverse
    with no_graph(reverse):
        value = _called(func, args, kwargs, lambda t: t.value)
    if not any(isinstance(v, DTensor) for v in _leaves([value])):  # of numbers a process has only its own
        blind = traits_of(func) & Trait.BLIND and name not in ("item", "tolist")
        return value if blind else _called(func, args, kwargs, DecomposedDTensor.full_tensor)
    if traits_of(func) & Trait.BLIND:
        return value
    with torch.set_grad_enabled(torch.is_grad_enabled() or reverse):
        result = _of_rows_here(func, rule, args, kwargs, value)
        if result is None:
            result = _linear_parts(innermost(rule), func, args, kwargs, value)
        if result is None:
            result = _gathered(func, args, kwargs, value)
    if completeness.is_on(func):
        for one in _leaves([result]):
            if isinstance(one, DecomposedDTensor):
                completeness.check(func, args, one.local, kwargs)
    return result


def _leaves(items: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        found += _leaves(item) if isinstance(item, (tuple, list)) else [item]
    return found


def _called(func: Function, args: Sequence[Any], kwargs: dict[str, Any], put: Function) -> Any:
    """The call with others in place of decomposed DTensors."""

    def given(item: Any) -> Any:
        if isinstance(item, DecomposedDTensor):
            return put(item)
        return type(item)(given(i) for i in item) if type(item) in (tuple, list) else item

    return func(*[given(arg) for arg in args], **{name: given(arg) for name, arg in kwargs.items()})


def _linear_parts(rule: Any, func: Function, args: Sequence[Any], kwargs: dict[str, Any], value: Any) -> Any:
    """The result of a function that is linear in the decomposed arguments, or a product of two; None of others."""
    if not isinstance(rule, TaggedRule):
        return None
    parts = [t for t in _leaves([*args, *kwargs.values()]) if isinstance(t, DecomposedDTensor)]
    if any(part.local.discrete or not carries(part.dtype) for part in parts):
        return None
    labels, components = align([part.local for part in parts])
    given = iter(
        DecomposedTensor(part.value, part.residual, whole(c, part._spec, len(labels)), labels, part.local.reverse)
        for part, c in zip(parts, components, strict=True)
    )
    call = _called(lambda *a, **k: Call(func, rule.tags, a, k, rule.optional), args, kwargs, lambda _: next(given))
    tags = [leaf.tag for leaf in call.decomposed]
    if not call.decomposed or not set(tags) <= {"Linear", "Multilinear"}:
        return None
    factors = tags.count("Multilinear")
    if factors > 1 and (factors != len(tags) or factors > 2 or call.traits & Trait.ELEMENTWISE):
        return None
    results = value if isinstance(value, (tuple, list)) else [value]
    if not all(isinstance(v, DTensor) and carries(v.dtype) for v in results) or (factors == 1 < len(tags)):
        return None
    reverse = call.reverse
    with no_graph(reverse):
        residual = call(*[t.residual for t in call.tensors])
    if factors < 2:
        made = _of_components(call, call.linear_part, [t.components for t in call.tensors], value, alone=True)
    else:
        a, b = call.tensors
        with no_graph(reverse):
            points = [(t.value + t.residual) / 2 for t in (a, b)]
        left = _of_components(call, lambda c: call.linear_part(c, points[1]), [a.components], value)
        made = left + _of_components(call, lambda c: call.linear_part(points[0], c), [b.components], value)
    if not isinstance(value, (tuple, list)):
        return packed(value, residual, made, labels, reverse)
    return type(value)(packed(*each, labels, reverse) for each in zip(value, residual, made, strict=True))


def _of_components(call: Call, function: Function, components: Sequence[Any], value: Any, alone: bool = False) -> Any:
    """A linear function of all components at once where it has a form for that, else of one after the other."""
    count = len(components[0])
    if call.traits & Trait.ELEMENTWISE and isinstance(value, torch.Tensor):
        made = function(*[lead(c, value.ndim) for c in components])
        return (
            made if made.ndim == value.ndim + 1 and made.shape[1:] == value.shape else made.expand(count, *value.shape)
        )
    if alone and call.traits & Trait.LAYER and [leaf.key for leaf in call.decomposed] == [0]:
        return function(*components)
    front = batch_rule(call, value) if alone else None
    if front is not None:
        rows = front(components[0])
        # Where torch lays out axes that are counted from the back in another way than the plain call, that one is made.
        if [one.placements for one in _leaves([rows])] == [moved(one.placements) for one in _leaves([value])]:
            return rows
    each = [function(*[c.select(0, k) for c in components]) for k in range(count)]
    if isinstance(value, (tuple, list)):
        return [torch.stack(one) for one in zip(*each, strict=True)]
    return torch.stack(each)


def _of_rows_here(func: Function, rule: Any, args: Sequence[Any], kwargs: dict[str, Any], value: Any) -> Any:
    """The result of a function of elements or rows, computed from those that are here; None of others, and where torch
    does not leave its arguments where they are. (Norms that a model writes out remember of which tensor a number is.)
    """
    if not isinstance(value, DTensor) or any(type(p) not in (Shard, Replicate) for p in value.placements):
        return None
    name = name_of(func)
    every = _leaves([*args, *kwargs.values()])
    if name == "dropout" and kwargs.get("training", args[2] if len(args) > 2 else True):
        refuse(name, "each process would draw other numbers (network.eval())")
    row = row_of(func)
    if row is not None and row.along is not None:
        first = args[0] if args else None
        others = [t for t in every if isinstance(t, DTensor) and t is not first]
        if not isinstance(first, DecomposedDTensor) or any(type(p) not in (Shard, Replicate) for p in first.placements):
            return None
        along = row.along(first, *args[1:], **kwargs)
        if any(isinstance(p, Shard) and p.dim in along for p in first.placements):
            return None
        heads = name == "scaled_dot_product_attention"
        if (heads and _has_mask(args, kwargs)) or (not heads and any(isinstance(t, DecomposedDTensor) for t in others)):
            return None
        # Beside rows there are weights, which belong to all of them.
        everywhere = (Replicate(),) * len(first.placements)
        placed = {id(t): first.placements if heads or t is first else everywhere for t in (first, *others)}
    elif name == "dropout" or innermost(rule).elementwise or traits_of(func) & (Trait.ELEMENTWISE | Trait.CAST):
        placed = {id(t): _alike(t, value) for t in every if isinstance(t, DTensor)}
    else:
        return None

    def local_of(item: Any) -> Any:
        if isinstance(item, DTensor):
            laid = item.redistribute(placements=placed[id(item)])
            if not isinstance(laid, DecomposedDTensor):
                return here(laid)
            # What all processes have, and each uses for its own part of the result, has gradients to be summed.
            pairs = list(zip(laid.placements, value.placements, strict=True))
            if all(own.is_replicate() <= result.is_replicate() for own, result in pairs):
                return laid.local
            return laid.to_local(grad_placements=[
                Partial() if own.is_replicate() and not result.is_replicate() else own for own, result in pairs
            ])  # fmt: skip
        return type(item)(local_of(i) for i in item) if type(item) in (tuple, list) else item

    given, options = [local_of(arg) for arg in args], {key: local_of(arg) for key, arg in kwargs.items()}
    local = func(*given, **options)
    if not isinstance(local, DecomposedTensor):
        return value
    if local.reverse and not local.numel():
        # A process that has no rows has a graph none the less: the way back asks all of them for their part of sums.
        asked = [t.components.sum() for t in _leaves([*given, *options.values()]) if isinstance(t, DecomposedTensor)]
        components = local.components + torch.stack(asked).sum()
        local = DecomposedTensor(local.value, local.residual, components, local.labels, True)
    return DecomposedDTensor.of(local, value._spec) if local.shape == here(value).shape else None


def _has_mask(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    return kwargs.get("attn_mask", args[3] if len(args) > 3 else None) is not None


def _alike(tensor: DTensor, value: DTensor) -> Placements:
    """Where an argument has to lie, which is broadcast to the value, for the value to lie where it does."""
    missing = value.ndim - tensor.ndim
    found: list[Any] = []
    placements: Placements = value.placements
    for p in placements:
        axis = p.dim - missing if isinstance(p, Shard) else -1
        inside = axis >= 0 and tensor.shape[axis] == value.shape[p.dim]
        found.append(Shard(axis) if inside else Replicate())
    return tuple(found)


def _gathered(func: Function, args: Sequence[Any], kwargs: dict[str, Any], value: Any) -> Any:
    """Any function: of whole tensors, by each process."""

    def all_of(item: Any) -> Any:
        if isinstance(item, DTensor):
            return item.full_tensor()
        return type(item)(all_of(i) for i in item) if type(item) in (tuple, list) else item

    made = func(*[all_of(arg) for arg in args], **{key: all_of(arg) for key, arg in kwargs.items()})
    if isinstance(value, (tuple, list)):
        return type(value)(_laid_out(m, v) for m, v in zip(made, value, strict=True))
    return _laid_out(made, value)


def _laid_out(made: Any, value: Any) -> Any:
    """What all processes have, as torch lays out the plain result."""
    if not isinstance(made, DecomposedTensor) or not isinstance(value, DTensor):
        return value
    spec = value._spec
    everywhere = DTensorSpec(spec.mesh, tuple(Replicate() for _ in spec.placements), tensor_meta=spec.tensor_meta)
    result = DecomposedDTensor.of(made, everywhere)
    placements = tuple(Replicate() if p.is_partial() else p for p in spec.placements)
    with no_graph(made.reverse):
        value = value.redistribute(placements=placements)  # sums may have been put off
    part = result.redistribute(placements=placements).local
    own = DecomposedTensor(here(value), part.residual, part.components, part.labels, part.reverse)
    return DecomposedDTensor.of(own, value._spec)


answer.fill(_answer)
