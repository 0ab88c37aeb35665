"""Which decomposed tensors look at the same memory, and how tensors become decomposed in place.

Values alias through torch's own storage. The parts have to lie in memory as the values do, or what is written into one
tensor would be missed by another: each decomposed tensor knows its views and what it is a view of, and before one is
written they are given parts in common. A tensor that nobody knows cannot be: where one is found, nothing is written.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

import torch

from npdec._decomposed import DecomposedTensor, Labels, carries, expand_components, is_broadcast, union
from npdec._impl._storage import shares_memory
from npdec._sizes import zeros
from npdec._tracing import tracing

if TYPE_CHECKING:
    from npdec._deferred import Deferred

__all__ = [
    "Views",
    "each_once",
    "family",
    "is_settled",
    "lay_out",
    "link",
    "link_results",
    "nothing",
    "ready",
    "shares_memory",
]

_undispatched = torch._C.DisableTorchFunctionSubclass


class Views(list["ref[DecomposedTensor]"]):
    """Weak references to the decomposed tensors over one memory; dead ones are dropped when it has doubled.

    `loose` says that some have their values in common, but not their residuals or components: a view of a tensor whose
    parts do not lie in memory as its value does may be a copy of them, or elements of a part may be one in memory where
    those of the value are several. `lazy` says that of some it is not known yet. Their components may be lent to
    products that are yet to be made of them (`npdec._deferred`).
    """

    __slots__ = ("borrowers", "lazy", "limit", "loose")

    def __init__(self, members: Iterable[Any]) -> None:
        super().__init__(map(ref, members))
        self.limit, self.loose, self.lazy = 16, False, False
        self.borrowers: WeakSet[Deferred] | None = None

    def lend(self, product: Deferred) -> None:
        if self.borrowers is None:
            self.borrowers = WeakSet()
        self.borrowers.add(product)

    def call_in(self) -> None:
        """Have the products made, as the components are about to be written, or known to others."""
        borrowers, self.borrowers = self.borrowers, None
        for product in borrowers or ():
            product.dense()

    def living(self) -> list[DecomposedTensor]:
        return [tensor for member in self if (tensor := member()) is not None]


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
    if view is source or torch._C._functorch.is_functorch_wrapped_tensor(view.value):
        return  # within torch.vmap and its like a tensor has no memory to be looked at
    # Components that are yet to be made are a view, if they are to be.
    lazy = "components" not in view.__dict__ or "components" not in source.__dict__
    if not shares_memory(view.value, source.value):
        if shares_memory(view.residual, source.residual):
            view.residual = _copied(view.residual)
        if not lazy and shares_memory(view.components, source.components):
            view.components = _copied(view.components)
        return
    views = family(source)
    if view.views is views:
        return
    if view.views is not None:
        view.views.call_in()
    view.views = views
    views.append(ref(view))
    views.lazy |= lazy
    views.loose |= not (_is_like(view.residual, source.residual, source.value) and (lazy or _has_like(view, source)))
    if len(views) > views.limit:
        views[:] = [member for member in views if member() is not None]
        views.limit = max(16, 2 * len(views))


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
            if not torch._C._functorch.is_functorch_wrapped_tensor(arg.value):
                yield arg
        elif type(arg) is tuple or type(arg) is list:
            yield from _decomposed_among(arg)


def _has_like(a: DecomposedTensor, b: DecomposedTensor) -> bool:
    return _is_like(a.components, b.components, b.value)


def _is_like(part: torch.Tensor, other: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether a part has its memory in common with that of another tensor, and in this only those elements are one
    that are in the value."""
    if not shares_memory(part, other):
        return False
    steps = other.stride()
    return 0 not in steps or not any(
        n > 1 and its and not step for n, its, step in zip(value.shape, value.stride(), steps[-value.ndim :])
    )


def _copied(part: torch.Tensor) -> torch.Tensor:
    with torch.set_grad_enabled(part.requires_grad):
        return part.clone()


def is_settled(tensor: DecomposedTensor) -> bool:
    """Whether the parts can be written where they are: views have them in common as they have their values, and no
    element is one with another."""
    views = tensor.views
    if views is not None and not tracing():
        if views.lazy:
            views.loose |= not all(_has_like(tensor, member) for member in views.living())
            views.lazy = False
        if views.loose:
            return False
    return not tensor.has_broadcast_parts()


def ready(
    target: torch.Tensor,
    source: DecomposedTensor | None,
    others: Sequence[torch.Tensor] = (),
    known: Sequence[torch.Tensor] = (),
) -> Callable[[], None]:
    """Make `target` able to hold the contributions of `source`, if there are any: decomposed, under all its labels,
    with parts that can be written and that its views have in common. What is returned makes it what it was.

    A plain tensor becomes decomposed, and so do the one that it is a view of and the `others` over its memory; those
    that are `known` need not. Raises RuntimeError where that would leave another tensor over the same memory behind.
    """
    if not isinstance(target, DecomposedTensor):
        assert source is not None
        return lay_out([target, *others], source, known)
    members = [target] if target.views is None or tracing() else target.views.living()
    if target.views is not None and not tracing():
        target.views.call_in()
    for member in members:
        member.origin = None
        if not tracing():
            member.writes += 1
    missing = source is not None and not target.covers(source.labels)
    if not missing and is_settled(target):
        return nothing
    if len(members) > 1 or any(other is not target for other in others):
        return lay_out([target, *others], target if source is None else source, known)
    if missing:
        _check_alone(members, known)
    return _own(target, target.labels if source is None else union([target, source]))


def nothing() -> None:
    """What undoes nothing."""


def _own(target: DecomposedTensor, labels: Labels) -> Callable[[], None]:
    """Give a tensor that has no views the labels, and parts of which several elements are one in memory, memory of
    their own."""
    before = target.residual, target.components, target.labels
    components = expand_components(target.components, target.labels, labels)
    if is_broadcast(components):
        components = components.clone(memory_format=torch.contiguous_format)
    if is_broadcast(target.residual):
        target.residual = target.residual.clone(memory_format=torch.contiguous_format)
    target.components, target.labels = components, labels

    def undo() -> None:
        target.residual, target.components, target.labels = before

    return undo


def lay_out(
    tensors: Sequence[torch.Tensor], like: DecomposedTensor, known: Sequence[torch.Tensor] = ()
) -> Callable[[], None]:
    """Give tensors over one memory, and all that are known to look at it, parts that lie there as the values do.

    They are decomposed in place: plain tensors gain a residual equal to the value and components of zero, decomposed
    ones the labels that they lack, of all of them and of `like`. What is returned makes them what they were. Raises
    RuntimeError where another tensor looks at the memory, and a plain one becomes decomposed or a label is new.
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
    before = [(member, type(member), dict(vars(member))) for member in members]
    values = _values(members)
    parts = _parts(members, values, labels, like)
    views = Views(members)
    done = False
    try:
        for member, value, (residual, components) in zip(members, values, parts, strict=True):
            member.__class__ = DecomposedTensor
            assert isinstance(member, DecomposedTensor)
            member.value, member.residual, member.components = value, residual, components
            member.labels, member.whole, member.views = labels, like.whole, views
            member.discrete = not carries(value.dtype)
            member.origin = member.windows = None
            member.writes += 1
        done = True
    finally:  # a class of tensors may refuse
        if not done:
            _restore(before)
    return functools.partial(_restore, before)


def _restore(before: Sequence[tuple[torch.Tensor, type, dict[str, Any]]]) -> None:
    """Make tensors what they were."""
    for member, kind, attributes in before:
        member.__class__ = kind
        vars(member).clear()
        vars(member).update(attributes)


def _all_over(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors, what torch made them views of, and the decomposed ones known to be over the memory; each once, and
    what others are views of before them."""
    found: dict[int, torch.Tensor] = {}
    for tensor in tensors:
        with _undispatched():
            base = tensor._base
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
        with _undispatched():
            source = made.get(id(member._base))
            if source is not None:
                with torch.enable_grad():
                    value = member._view_func(source)  # type: ignore[attr-defined]
            elif member.requires_grad and not member.is_leaf:
                with torch.enable_grad():
                    value = _Same.apply(member)
            else:
                value = member.detach()
                if member.requires_grad:  # a leaf, written under torch.no_grad(), stays one
                    value.requires_grad_()
        made[id(member)] = value
    return [made[id(member)] for member in members]


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
    members: Sequence[torch.Tensor], values: Sequence[torch.Tensor], labels: Labels, like: DecomposedTensor
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """A residual and components for each value: views of two tensors laid out as the storage of the values is."""
    largest = max(values, key=lambda value: (value.untyped_storage().nbytes(), value.dtype.itemsize))
    length = largest.untyped_storage().nbytes() // largest.dtype.itemsize
    memory = largest.detach()
    memory = memory.conj() if memory.is_conj() else memory
    memory = torch._neg_view(memory) if memory.is_neg() else memory
    residual = memory.as_strided((length,), (1,), 0).clone()
    components = zeros(residual, (len(labels), length), _component_dtype(residual.dtype, like))
    decomposed = [member for member in members if isinstance(member, DecomposedTensor)]
    for part in sorted(decomposed, key=lambda member: member.value.numel()):
        place = each_once(part.value)
        _counterpart(residual, part.value)[place].copy_(part.residual[place])
        full = expand_components(part.components, part.labels, labels)
        _counterpart(components, part.value)[(slice(None), *place)].copy_(full[(slice(None), *place)])
    return [(_counterpart(residual, value), _counterpart(components, value)) for value in values]


def _component_dtype(dtype: torch.dtype, like: DecomposedTensor) -> torch.dtype:
    """The dtype of the components of a value: its own, or for booleans and integers that of what is written."""
    if carries(dtype):
        return dtype
    return like.components.dtype if like.discrete else like.value.dtype.to_real()


def each_once(view: torch.Tensor) -> tuple[slice, ...]:
    """The key of a view's elements without those that a broadcast repeats."""
    return tuple(slice(None) if step else slice(1) for step in view.stride())


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


def _check_alone(members: Sequence[torch.Tensor], known: Sequence[torch.Tensor]) -> None:
    """Raise RuntimeError if other tensors than these (and what they are views of) look at their memory."""
    first = _value(members[0])
    traced = tracing()
    if traced or torch._C._functorch.is_functorch_wrapped_tensor(first):
        raise NotImplementedError(
            "writing decomposed numbers into a plain tensor, or into one without their labels (an assignment, out=, an "
            f"in-place method), is not possible in code that torch.{'compile traces' if traced else 'func transforms'}"
            ": make a new tensor (torch.cat, torch.where, torch.index_copy), or decompose the target before"
        )
    storage = first.untyped_storage()
    holders = set()
    with _undispatched():
        for member in (*members, *known):
            found = [one for tensor in (member, _value(member)) for one in (tensor, tensor._base) if one is not None]
            holders |= {one._cdata for one in found if one.untyped_storage()._cdata == storage._cdata}
    for attempt in range(2):
        if torch._C._storage_Use_Count(storage._cdata) - 1 <= len(holders):  # `storage` itself is one
            return
        if not attempt:
            gc.collect()  # tensors in dead cycles look at nothing
    raise RuntimeError(
        "writing decomposed numbers into a tensor that shares its memory with another one, or with a NumPy array (a "
        "view of it, its base, what a graph keeps), which would not know of them. Write before it is taken, or use "
        "npdec arrays, whose views follow"
    )
