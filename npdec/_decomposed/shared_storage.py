"""How tensors become decomposed in place, with a write.

The parts of tensors over one memory have to lie in it as the values do, or what is written into one would be missed by
another: before one is written they are given parts in common. A tensor that nobody knows cannot be: where one is found,
nothing is written. Until the write, another tensor with these parts stands in for the one that is to be written.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Sequence
from typing import Any
from weakref import ref

import torch

from npdec._decomposed.aliasing import family, is_settled, is_unmade
from npdec._decomposed.entries_in_place import unmade
from npdec._decomposed.kept_components import component_dtype, dtype_of_steps
from npdec._decomposed.parts import Views
from npdec._decomposed.shared_entries import Shared, gathered, is_same
from npdec._decomposed.size_limits import has_many, zeros
from npdec._decomposed.tensor import DecomposedTensor, Labels, carries, expand_components, is_broadcast, union
from npdec._impl._storage import has_overlap
from npdec._torch.functorch import is_wrapped
from npdec._torch.interrupts import Step, commit, undisturbed
from npdec._torch.tracing import tracing

__all__ = ["due", "each_once", "laid_out", "make_writable", "seen_alike", "settle", "together"]

# Calls a function without the rules of decomposed tensors, from C: no exception leaves them switched off.
_undispatched: Any = torch._C._disabled_torch_function_impl


def make_writable(
    target: torch.Tensor,
    source: DecomposedTensor | None,
    others: Sequence[torch.Tensor] = (),
    known: Sequence[torch.Tensor] = (),
) -> DecomposedTensor:
    """What can hold the contributions of `source`, if there are any, in the memory of `target`: decomposed, under all
    its labels, with parts that can be written and that its views have in common.

    That is the target itself, or a tensor that stands in for it until it (or a view of it) is written. With this write,
    and not before, a plain target becomes decomposed, and so do the one that it is a view of and the `others` over its
    memory; those that are `known` need not. Raises RuntimeError where that would leave another tensor over the same
    memory behind.
    """
    if not isinstance(target, DecomposedTensor):
        assert source is not None
        return laid_out([target, *others], source, known)
    members = [target] if target.views is None or tracing() else target.views.living()
    if target.views is not None and not tracing():
        target.views.call_in()
    for member in members:
        member.origin = None
        if not tracing():
            member.writes += 1
    missing = source is not None and not target.covers(source.labels)
    if not missing and is_settled(target):
        return target
    labels = target.labels if source is None else union([target, source])
    large = has_many(len(labels)) and not tracing() and is_unmade(target.value, labels, target.reverse)
    if large or len(members) > 1 or any(other is not target for other in others) or has_overlap(target.value):
        return laid_out([target, *others], target if source is None else source, known)
    if missing:
        _check_alone(members, known)
    return _own(target, labels)


def _own(target: DecomposedTensor, labels: Labels) -> DecomposedTensor:
    """What stands in for a tensor that has no views: under the labels, with memory of its own for parts of which
    several elements are one in memory."""
    residual, components = target.residual, expand_components(target.components, target.labels, labels)
    if is_broadcast(components):
        components = components.clone(memory_format=torch.contiguous_format)
    if is_broadcast(residual):
        residual = residual.clone(memory_format=torch.contiguous_format)
    if tracing():
        target.residual, target.components, target.labels = residual, components, labels
        return target
    held = DecomposedTensor(target.value, residual, components, labels, target.reverse)
    attributes = {"residual": residual, "components": components, "labels": labels, "kept": None}
    return _standing_in(held, target, [(target, attributes)])


def laid_out(
    tensors: Sequence[torch.Tensor],
    like: DecomposedTensor,
    known: Sequence[torch.Tensor] = (),
    apart: bool = False,
) -> DecomposedTensor:
    """What stands in for the first of tensors over one memory, when all that are known to look at it are to be given
    parts that lie there as the values do.

    They will be decomposed: plain tensors with a residual equal to the value and components of zero, decomposed ones
    under the labels that they lack, of all of them and of `like`. Raises RuntimeError where another tensor looks at the
    memory, and a plain one becomes decomposed or a label is new; and where elements that are one in memory have
    contributions of their own, unless they may be `apart`: then those of one of them stand there.
    """
    if tracing():
        _check_alone(tensors, known)
    for tensor in tensors:
        _check_dense(tensor)
    members = _all_over(tensors)
    decomposed = [member for member in members if isinstance(member, DecomposedTensor)]
    for tensor in decomposed:
        if tensor.views is not None:
            tensor.views.call_in()
    labels = union([*decomposed, like])
    if len(decomposed) < len(members) or not all(member.covers(labels) for member in decomposed):
        _check_alone(members, known)
    values = undisturbed(_values, members)
    changes: list[tuple[torch.Tensor, dict[str, Any]]] = []
    held = None
    parts, shared = _parts(members, values, labels, like, apart)
    for member, value, (residual, components) in zip(members, values, parts, strict=True):
        _check_class(member)
        made = {"components": components, "kept": None} if shared is None else {"kept": components}
        attributes = {"value": value, "residual": residual, "labels": labels, **made}
        attributes |= {"reverse": like.reverse, "discrete": not carries(value.dtype), "origin": None}
        changes.append((member, attributes | {"writes": vars(member).get("writes", 0) + 1}))
        if member is tensors[0]:
            held = DecomposedTensor(value, residual, components, labels, like.reverse)
    assert held is not None
    return _standing_in(held, tensors[0], changes, shared)


def _standing_in(
    held: DecomposedTensor,
    target: torch.Tensor,
    changes: Sequence[tuple[torch.Tensor, dict[str, Any]]],
    shared: Shared | None = None,
) -> DecomposedTensor:
    """The tensor that stands in for the target until a write, with which others get attributes and are decomposed."""
    held.views = views = Views([held])
    changes = [(member, {**attributes, "views": views, "awaited": None}) for member, attributes in changes]
    views.due = [(views.extend, [ref(member) for member, _ in changes])]
    if shared is not None:
        views.shared, shared.changes = shared, [(attributes["value"], attributes) for _, attributes in changes]
        views.due += [(dict.pop, vars(member), "components", None) for member, _ in changes]
        views.due.append((setattr, views, "shared", None))
    views.due += [(dict.update, vars(member), attributes) for member, attributes in changes]
    views.due += [(setattr, member, "__class__", DecomposedTensor) for member, _ in changes]
    views.due.append((setattr, views, "due", ()))
    if is_wrapped(held.value):  # no view of it would be known
        commit(views.due)
        assert isinstance(target, DecomposedTensor)
        return target
    made = [attributes["value"] for _, attributes in changes if "value" in attributes]
    for member, _ in changes:
        vars(member)["awaited"] = [ref(views), *map(ref, made)]
    return held


def together(first: DecomposedTensor, others: Sequence[DecomposedTensor]) -> DecomposedTensor:
    """The first tensor, or what stands in for it, with whose next write also happens what is due for the others."""
    others = [held for held in others if due(held)]
    if not others:
        return first
    if not due(first) and unmade(first) is not None:  # the members over its memory have these entries
        first = laid_out([first], first)
    elif not due(first):
        first = DecomposedTensor(first.value, first.residual, first.components, first.labels, first.reverse)
    views = family(first)
    views.others, views.due = others, [*views.due, (setattr, views, "others", ()), (setattr, views, "due", ())]
    return first


def due(held: DecomposedTensor) -> list[Step]:
    """What is to happen with the next write into the tensor. (A graph of torch.compile knows of no views.)"""
    views = None if tracing() else held.views
    return [] if views is None else [*views.due, *(step for other in views.others for step in due(other))]


def settle(held: DecomposedTensor) -> None:
    """Do it without a write."""
    commit(due(held))


def seen_alike(
    tensors: Sequence[torch.Tensor], like: DecomposedTensor, known: Sequence[torch.Tensor] = ()
) -> DecomposedTensor:
    """The first of tensors over one memory, which get parts that lie there as the values do; or, where of their values
    several elements are one in memory, a copy that has."""
    views = [tensor.views.living() for tensor in tensors if isinstance(tensor, DecomposedTensor) and tensor.views]
    if any(has_overlap(_value(tensor)) for tensor in itertools.chain(tensors, *views)):
        return laid_out(tensors, like, known, apart=True)
    settle(laid_out(tensors, like, known))
    first = tensors[0]
    assert isinstance(first, DecomposedTensor)
    return first


def _check_class(tensor: torch.Tensor) -> None:
    """Raise TypeError if objects of the tensor's class cannot become decomposed tensors."""
    if type(tensor) not in (torch.Tensor, DecomposedTensor):
        torch.empty(0).as_subclass(type(tensor)).__class__ = DecomposedTensor


def _base(tensor: torch.Tensor) -> torch.Tensor | None:
    """What torch made the tensor a view of."""
    base: torch.Tensor | None = _undispatched(getattr, (), (tensor, "_base"))
    return base


def _all_over(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors, what torch made them views of, and the decomposed ones known to be over the memory; each once, and
    what others are views of before them."""
    found: dict[int, torch.Tensor] = {}
    for tensor in tensors:
        base = _base(tensor)
        its: Sequence[torch.Tensor]
        if isinstance(tensor, DecomposedTensor):
            its = [tensor] if tensor.views is None else tensor.views.living()
        else:
            its = [tensor] if base is None or isinstance(base, DecomposedTensor) else [base, tensor]
        found.update((id(one), one) for one in its)
    return list(found.values())


class _Same(torch.autograd.Function):
    """A tensor on the same memory and graph, which is no view: a view keeps what it is of."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0]


def _values(members: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Plain tensors for the values of members that are to hold them as an attribute.

    None is a view of a member: that would keep it, and itself, for ever. But those of views are views of that of what
    they are of, so that one graph sees what is written to each.
    """
    made: dict[int, torch.Tensor] = {}
    for member in members:
        if isinstance(member, DecomposedTensor):
            made[id(member)] = member.value
            continue
        _check_writeable(member)
        made[id(member)] = _undispatched(_seen_alike, (), (member, made.get(id(_base(member)))))
    return [made[id(member)] for member in members]


def _seen_alike(member: torch.Tensor, source: torch.Tensor | None) -> torch.Tensor:
    """A tensor on the same memory and graph, the view of `source` that the member is of what it is a view of."""
    if source is not None:
        flags = [(tensor.is_conj(), tensor.is_neg()) for tensor in (member, source)]
        with torch.enable_grad():
            # Where views of other dtypes come in between torch's function keeps one, which would count as unknown.
            if member.dtype is source.dtype and flags[0] == flags[1]:
                value: torch.Tensor = source.as_strided(member.shape, member.stride(), member.storage_offset())
            else:
                value = member._view_func(source)  # type: ignore[attr-defined]
    elif member.requires_grad and not member.is_leaf:
        with torch.enable_grad():
            value = _Same.apply(member)
    else:
        value = member.detach()
        if member.requires_grad:  # a leaf, written under torch.no_grad(), stays one
            value.requires_grad_()
    return value


def _check_dense(tensor: torch.Tensor) -> None:
    if tensor.layout is not torch.strided or tensor.is_nested:
        kind = "a nested tensor" if tensor.is_nested else f"a tensor of the layout {tensor.layout}"
        raise NotImplementedError(f"writing decomposed numbers into {kind}: only dense tensors hold contributions")


def _check_writeable(tensor: torch.Tensor) -> None:
    """Raise RuntimeError where torch allows no in-place operation. It would, on what is detached of the tensor."""
    if tensor.is_inference() and not torch.is_inference_mode_enabled():
        raise RuntimeError(
            "writing decomposed numbers into an inference tensor is not allowed outside torch.inference_mode(). Write "
            "into a copy"
        )
    if tensor.requires_grad and tensor.is_leaf and torch.is_grad_enabled():
        raise RuntimeError(
            "writing decomposed numbers into a leaf that requires grad, or into a view of one: torch allows no "
            "in-place operation there. Write under torch.no_grad(), or into a copy"
        )


def _parts(
    members: Sequence[torch.Tensor],
    values: Sequence[torch.Tensor],
    labels: Labels,
    like: DecomposedTensor,
    apart: bool,
) -> tuple[list[tuple[torch.Tensor, Any]], Shared | None]:
    """A residual and components for each value: views of two tensors laid out as the storage of the values is. Too
    many components are not made: then they are what the second result has in their place."""
    largest = max(values, key=lambda value: (value.untyped_storage().nbytes(), value.dtype.itemsize))
    length = largest.untyped_storage().nbytes() // largest.dtype.itemsize
    memory = largest.detach()
    memory = memory.conj() if memory.is_conj() else memory
    memory = torch._neg_view(memory) if memory.is_neg() else memory
    residual = memory.as_strided((length,), (1,), 0).clone()
    dtype = _component_dtype(residual.dtype, like)
    shared = gathered(members, values, labels, like, length, dtype, each_once)
    components = zeros(residual, (len(labels), length), dtype) if shared is None else None
    decomposed = [member for member in members if isinstance(member, DecomposedTensor)]
    for part in sorted(decomposed, key=lambda member: member.value.numel()):
        place = each_once(part.value)
        its = _counterpart(residual, part.value)
        its[place].copy_(part.residual[place])
        if components is not None:
            full = expand_components(part.components, part.labels, labels)
            there = _counterpart(components, part.value)
            there[(slice(None), *place)].copy_(full[(slice(None), *place)])
        if apart or not has_overlap(part.value):
            continue
        alike = shared.agrees(part) if components is None and shared is not None else is_same(there, full)
        if not (is_same(its, part.residual) and alike):
            raise RuntimeError(
                "writing into a decomposed tensor of which several elements are one in memory (it was expanded), "
                "though they have contributions of their own. Write into a copy (.clone())"
            )
    residuals = [_counterpart(residual, value) for value in values]
    if components is not None:
        return [(r, _counterpart(components, value)) for r, value in zip(residuals, values, strict=True)], None
    assert shared is not None
    return [(r, shared.seen(value)) for r, value in zip(residuals, values, strict=True)], shared


def _component_dtype(dtype: torch.dtype, like: DecomposedTensor) -> torch.dtype:
    """The dtype of the components of a value: its own, or for booleans and integers that of what is written, if it
    holds their differences."""
    if carries(dtype):
        return dtype
    return dtype_of_steps(dtype, component_dtype(like) if like.discrete else like.value.dtype.to_real())


def each_once(view: torch.Tensor) -> tuple[slice, ...]:
    """The key of a view's elements without those that a broadcast repeats."""
    return tuple(slice(None) if stride else slice(1) for stride in view.stride())


def _counterpart(flat: torch.Tensor, view: torch.Tensor) -> torch.Tensor:
    """The view of `flat` (a copy of a whole storage, perhaps with a components axis) that `view` is of its storage."""
    if view.dtype is not flat.dtype and carries(view.dtype):
        if flat.dtype.is_complex and not view.dtype.is_complex:
            flat = torch.view_as_real(flat).flatten(-2)
        else:
            flat = flat.view(view.dtype)
    lead = flat.ndim - 1
    size = (*flat.shape[:lead], *view.shape)
    stride = (*flat.stride()[:lead], *view.stride())
    made = flat.as_strided(size, stride, flat.storage_offset() + view.storage_offset())
    made = made.conj() if view.is_conj() else made
    return torch._neg_view(made) if view.is_neg() else made


def _value(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.value if isinstance(tensor, DecomposedTensor) else tensor


def _holders(tensors: Sequence[torch.Tensor], storage: torch.UntypedStorage) -> set[int]:
    """What of the tensors, their values, and what these are views of, holds the storage."""
    holders = set()
    for tensor in tensors:
        found = [one for its in (tensor, _value(tensor)) for one in (its, its._base) if one is not None]
        holders |= {one._cdata for one in found if one.untyped_storage()._cdata == storage._cdata}
    return holders


def _check_alone(members: Sequence[torch.Tensor], known: Sequence[torch.Tensor]) -> None:
    """Raise RuntimeError if other tensors than these (and what they are views of) look at their memory."""
    first, empty = _value(members[0]), not any(_value(member).numel() for member in members)
    traced = tracing()
    if traced or is_wrapped(first):
        raise NotImplementedError(
            "writing decomposed numbers into a plain tensor, or into one without their labels (an assignment, out=, an "
            f"in-place method), is not possible in code that torch.{'compile traces' if traced else 'func transforms'}"
            ": make a new tensor (torch.cat, torch.where, torch.index_copy), or decompose the target before"
        )
    storage = first.untyped_storage()
    everyone = [*members, *known]
    for member in (*members, *known):  # what stood in for it until a write that failed, if somebody keeps the error
        for found in (reference() for reference in vars(member).get("awaited") or ()):
            everyone += found.living() if isinstance(found, Views) else [] if found is None else [found]
    holders = _undispatched(_holders, (), (everyone, storage))
    for attempt in range(2):
        if empty or torch._C._storage_Use_Count(storage._cdata) - 1 <= len(holders):  # `storage` itself is one
            return
        if not attempt:
            gc.collect()  # tensors in dead cycles look at nothing
    raise RuntimeError(
        "writing decomposed numbers into a tensor that shares its memory with another one, or with a NumPy array (a "
        "view of it, its base, what a graph keeps), which would not know of them. Write before it is taken, or use "
        "npdec arrays, whose views follow"
    )
