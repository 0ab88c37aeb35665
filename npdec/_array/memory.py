"""Views of an array's memory, copies that stand for views, and what a write into one means for the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import torch
from torch.autograd import forward_ad as _forward_ad

from npdec._array import wrap
from npdec._array.backwards import Backwards
from npdec._array.element_order import Bytes, as_bytes, bytes_in, is_regular, places, plain, stands_for
from npdec._array.family import Family, family_of
from npdec._core.base import ArrayBase, NDArrayBase
from npdec._decomposed import aliasing, shared_storage
from npdec._decomposed.tensor import DecomposedTensor, carries, is_broadcast
from npdec._impl import _storage, _util
from npdec._native import calls
from npdec._torch.functorch import is_wrapped
from npdec._torch.interrupts import Step, commit, undisturbed
from npdec._torch.tracing import tracing
from npdec.exceptions import DecompositionWarning

_new = object.__new__


def view(source: Any, tensor: torch.Tensor) -> Any:
    """`tensor` as an array, known as a view of `source` if that is an array. A scalar is never aliased."""
    if type(source) is not wrap.ARRAY:
        return wrap.wrap_array(tensor.clone() if isinstance(source, ArrayBase) else tensor)
    if calls is not None and not tracing() and (lazy := calls.lazy_view(source, tensor)) is not None:
        return lazy
    result = seen(source, tensor)
    if type(tensor) is DecomposedTensor and type(source._t) is DecomposedTensor and not tracing():
        aliasing.link(tensor, source._t)
    return result


def seen(array: Any, tensor: torch.Tensor) -> Any:
    """A view of an array, where both carry nothing: `view`, which does not ask."""
    return seen_part(array, tensor, tensor.dtype)


def seen_part(array: Any, tensor: torch.Tensor, dtype: torch.dtype | None = None) -> Any:
    """As `seen`, of a view in the dtype of the array unless another is given."""
    result = _new(wrap.ARRAY)
    result._t = tensor
    result._d = array._d if dtype is None else dtype
    family = array._m
    if family is None:
        family = family_of(array)
    result._m = family
    family.append(ref(result))
    if len(family) > family.limit:
        settle(array, result)
    return result


def seen_frozen(array: Any, tensor: torch.Tensor, reason: str) -> Any:
    """A read-only view of an array, where both carry nothing, and the memory is known to be the array's."""
    family = family_of(array) if array._m is None else array._m
    if family.origin is not None:
        result = view(array, tensor)
    else:
        result = _new(wrap.ARRAY)
        result._t = tensor
        result._d = tensor.dtype
        result._m = family
        family.append(ref(result))
        if len(family) > family.most:
            family.prune()
    result._ro = reason
    family.frozen, family.limit = True, -1
    return result


def settle(source: NDArrayBase, result: NDArrayBase) -> None:
    """The rare part of making a view: a family that has grown is pruned, and a read-only array has read-only views."""
    family = result._m
    if not shares_storage(source._t, result._t):  # it is a copy after all
        family.pop()
        result._m = None
        if not result._t.dim():
            family_of(result)
        return
    if family.origin is not None:
        if _goes_around(source, result):
            result._t = result._t.clone()
            return settle(source, result)
        if hasattr(source, "_src"):
            result._src = source, None  # keeps the copy that is renewed
    if family.frozen:
        result._ro = getattr(source, "_ro", None)
    family.prune()


def _goes_around(source: NDArrayBase, result: NDArrayBase) -> bool:
    """Whether a view of a copy that stands for a view has elements which there lie at no constant strides: axes merged,
    of which one runs backwards. NumPy copies then."""
    shape, strides = source._t.shape, source._t.stride()
    for n, stride in zip(result._t.shape, result._t.stride(), strict=True):
        reach = (n - 1) * stride
        if reach > 0 and not any(s and stride % s == 0 and reach <= (m - 1) * s for m, s in zip(shape, strides)):
            break  # an axis that was none before, nor a part of one
    else:
        return False
    return stands_for(result) is not None and not is_regular(places(result)[1])


def seat(array: NDArrayBase, tensor: torch.Tensor) -> None:
    """Give an array another view of its own memory. Copies that stand for views of it stand for what they did."""
    family = family_of(array)  # it may have no axes now
    mirrors = [copy for member in family.mirrors if (copy := member()) is not None]
    shown = [copy for copy in mirrors if copy._src[0] is array]
    if shown:
        held = view(array, array._t)
        for copy in shown:
            copy._src = held, copy._src[1]
    if hasattr(array, "_w"):  # the window to single elements keeps the tensor, which writes would take for a view
        del array._w
    commit([(setattr, array, "_t", tensor), (setattr, array, "_d", tensor.dtype)])


ONE_IN_MEMORY = "several of its elements are one in memory; take .copy() to have an array to write"


def over(tensor: torch.Tensor) -> Any:
    """An array over the memory of a tensor that was given: read-only, as NumPy's is, if it is a broadcast one."""
    array = wrap.wrap_array(tensor)
    if not tensor.is_contiguous() and is_broadcast(tensor):
        freeze(array, ONE_IN_MEMORY)
    return array


def freeze(array: NDArrayBase, reason: str) -> None:
    """Make the array read-only, and the views that will be taken of it."""
    array._ro = reason
    family = family_of(array)
    family.frozen, family.limit = True, -1


def pin(array: NDArrayBase) -> None:
    """Keep the memory that the array has now for as long as the array lives: its address was given away."""
    held = getattr(array, "_pin", ())
    if not held or not shares_storage(held[-1], array._t):
        array._pin = (*held, array._t)


def mirror(source: NDArrayBase, copy: NDArrayBase, again: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Make `copy` stand for a view of `source` that torch cannot make, having no negative strides.

    `again` selects it from the tensor of `source`. A write to either of them, or to a view of it, goes on to the other.
    """
    copy._src = source, again
    family, shown = family_of(copy), family_of(source) if source._m is None else source._m
    family.origin = family[0]
    family.limit = -1
    reason = getattr(source, "_ro", None) if shown.frozen else None
    if reason is not None:
        freeze(copy, reason)
    shown.mirrors.append(ref(copy, shown.mirrors.remove))


def sources(array: Any) -> Iterator[NDArrayBase]:
    """What an array stands for that looks at a copy, and what that stands for in turn."""
    family = getattr(array, "_m", None)
    while family is not None and family.origin is not None:
        source = family.origin()._src[0]
        yield source
        family = source._m


def written(array: NDArrayBase, failed: bool = False) -> None:
    """Called after the array's memory was written: copies that stand for views of it follow, and what it stands for.

    Also where it `failed`, with a refusal or an interrupt: nobody knows then how far things have come, but what is
    equal, or adds up yet, stays as it is. (A second interrupt, which comes while this runs for the first one, leaves
    copies behind.)
    """
    family = getattr(array, "_m", None)
    if family is not None and (array._t.requires_grad or _forward_ad._current_level >= 0):
        family.shut()
    if family is None or not (family.mirrors or family.origin or family.mixed):
        return
    told: set[str] = set()  # at the end, for a warning may be an error
    if family.mixed:
        _drop_covered(array._t, family, told, failed=failed)
    while family.origin is not None:
        copy = family.origin()
        assert copy is not None  # every view of it keeps it
        family = _write_back(copy, told)
    _renew(family, told)
    for message in told:
        _util.warn(message, DecompositionWarning)


def _write_back(copy: NDArrayBase, told: set[str]) -> Family:
    """Write a copy that stands for a view into the array that it is of; the family of that array."""
    source, again = copy._src
    assert again is not None
    tensor, shape = copy._t, source._t.shape
    target = source._t
    if isinstance(again, Bytes):
        if type(tensor) is DecomposedTensor:
            told.add(f"writing into memory that is seen as another dtype drops {len(tensor.labels)} components")
            tensor = tensor.value
        raw, family = again.bytes_of(plain(source)), family_of(source)
        fresh = as_bytes(tensor).reshape(raw.shape)
        commit([(raw.copy_, fresh), (_drop_covered, raw, family, told, fresh != raw)])
        return family
    if type(tensor) is DecomposedTensor:
        target = decomposed_by_writing(source, tensor)
    if isinstance(again, Backwards) and not family_of(source).mixed and again.is_view(target, tensor):
        commit([(again.write, target, tensor)])
        return family_of(source)
    positions = torch.arange(math.prod(shape), device=tensor.device).reshape(shape)
    at = torch.unravel_index(again(positions).reshape(tensor.shape), shape)  # its shape may have been set since
    family, held = family_of(source), _storage.signed(target)
    fresh = _storage.signed(tensor)
    steps: list[Step] = [(held.__setitem__, at, fresh)]
    if family.mixed and type(target) is not DecomposedTensor:
        changed = torch.zeros(shape, dtype=torch.bool, device=tensor.device)
        changed[at] = (as_bytes(held[at]) != as_bytes(fresh)).any(-1)
        steps.append((_drop_covered, target, family, told, changed))
    commit(steps)
    return family


def _renew(family: Family, told: set[str]) -> None:
    """Bring the copies that stand for views of a family's memory up to date, and those of these."""
    if not family.mirrors:
        return
    for copy in [copy for member in family.mirrors if (copy := member()) is not None]:
        source, again = copy._src
        assert again is not None
        fresh = again(source._t).reshape(copy._t.shape)
        held = decomposed_by_writing(copy, fresh) if isinstance(fresh, DecomposedTensor) else copy._t
        steps: list[Step] = [(held.copy_, fresh)]
        if copy._m.mixed and not isinstance(held, DecomposedTensor):  # what was written through the copy is equal
            steps.append((_drop_covered, held, copy._m, told, (as_bytes(fresh) != as_bytes(held)).any(-1)))
        commit(steps)
        _renew(copy._m, told)


def shares_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether the two tensors look at the same storage (of values, if they are decomposed)."""
    if type(a) is DecomposedTensor:
        a = a.value
    if type(b) is DecomposedTensor:
        b = b.value
    return aliasing.shares_memory(a, b)


def decomposed_by_writing(array: NDArrayBase, like: DecomposedTensor) -> torch.Tensor:
    """The tensor to write elements into that are decomposed like the given ones: the array's own, or one that stands in
    for it until it is written. Then, and not before, the array is decomposed under (at least) their labels, and with it
    every view of its memory that can be, and copies that stand for views.

    A view of another dtype cannot, unless it is of the real and imaginary parts: it keeps its elements. Raises
    RuntimeError where one of the memories cannot be written.
    """
    return undisturbed(_prepared, array, like)


def _prepared(array: NDArrayBase, like: DecomposedTensor) -> torch.Tensor:
    first, *others = [_ready(connected, like) for connected in _written_with(array)]
    return shared_storage.together(first, others)


def _written_with(array: NDArrayBase) -> list[NDArrayBase]:
    """The array, and one over each memory that gets the contributions that it gets."""
    family = getattr(array, "_m", None)
    if family is None or not (family.mirrors or family.origin):
        return [array]
    return list(_connected(array, set()))


def _connected(array: NDArrayBase, seen: set[int]) -> Iterator[NDArrayBase]:
    """The array, and one over each memory that is written after its: what it stands for, copies that stand for it.

    Not those to which only the bytes of its elements go, as these are seen there as others, which do not carry.
    """
    family = family_of(array)
    if id(family) in seen:
        return
    seen.add(id(family))
    yield array
    copy = None if family.origin is None else family.origin()
    if copy is not None and _carries_with(copy, array):
        yield from _connected(copy._src[0], seen)
    for mirror in tuple(family.mirrors):  # of which some may go meanwhile
        copy = mirror()
        if copy is None or not _carries_with(copy, array):
            continue
        source = copy._src[0]._t  # a reshape that had to copy may be of the family as well, and so may the value
        alike = (type(source) is DecomposedTensor) is (type(array._t) is DecomposedTensor)
        if alike and shares_storage(source, array._t):
            yield from _connected(copy, seen)


def _carries_with(copy: NDArrayBase, array: NDArrayBase) -> bool:
    """Whether a copy that stands for a view carries the contributions of an array over its memory, or over that of its
    source: not if one of the two is of the other's bits."""
    return not isinstance(copy._src[1], Bytes) and is_kin(copy._d, array._d)


def _ready(array: NDArrayBase, like: DecomposedTensor) -> DecomposedTensor:
    tensor = array._t
    if is_wrapped(plain(array)):
        return shared_storage.make_writable(
            tensor, like
        )  # within torch.vmap and its like a tensor has no memory to be looked at
    if type(tensor) is DecomposedTensor and tensor.covers(like.labels) and aliasing.is_settled(tensor):
        return tensor
    kin, others = _over(array)
    return shared_storage.make_writable(tensor, like, kin, others)


def seen_alike(array: NDArrayBase, like: DecomposedTensor) -> DecomposedTensor:
    """The array's tensor, which (as its views) gets contributions that lie in memory as the values do; or a copy with
    such ones."""
    kin, others = _over(array)
    return shared_storage.seen_alike([array._t, *kin], like, others)


def _over(array: NDArrayBase) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Of the arrays over the same memory the tensors that carry contributions if the array does, and the others: those
    of other dtypes, of values, and those to which an address was given away."""
    family = family_of(array)
    alike = [member for member in family.living() if shares_storage(member._t, array._t)]
    values = type(array._t) is DecomposedTensor  # what is plain beside it is a value
    kin: list[torch.Tensor] = []
    others: list[torch.Tensor] = []
    for member in alike:
        as_well = is_kin(member._d, array._d) and (type(member._t) is DecomposedTensor or not values)
        (kin if as_well else others).append(member._t)
        others += getattr(member, "_pin", ())
    family.mixed = any(not is_kin(member._d, array._d) for member in alike)
    return kin, others


def is_kin(a: torch.dtype, b: torch.dtype) -> bool:
    """Whether elements of the two dtypes, seen in the same memory, carry the same contributions."""
    return a is b or (carries(a) and carries(b) and a.to_real() is b.to_real())


def is_foreign(array: NDArrayBase) -> bool:
    """Whether the array, or one that is written with it, looks at the memory of decomposed ones as another dtype."""
    if type(array._t) is DecomposedTensor:
        return False
    for one in _written_with(array):
        family = getattr(one, "_m", None)
        if family is not None and family.mixed and any(_is_decomposed_beside(other, one) for other in family.living()):
            return True
    return False


def _is_decomposed_beside(member: NDArrayBase, array: NDArrayBase) -> bool:
    return type(member._t) is DecomposedTensor and shares_storage(member._t, array._t)


def _drop_covered(
    written: torch.Tensor,
    family: Family,
    told: set[str],
    where: torch.Tensor | None = None,
    failed: bool = False,
) -> None:
    """Drop the contributions of what was written as another dtype: of all elements in whose bytes the tensor lies, or
    those of its elements where it was written; if the write failed, of those whose parts do not add up any more. What
    is to be said of it is added to `told`."""
    if type(written) is DecomposedTensor or not written.numel():
        return
    covered = torch.zeros(written.untyped_storage().nbytes(), dtype=torch.bool, device=written.device)
    its = bytes_in(covered, written)
    its.fill_(True) if where is None else its.copy_(where[..., None])
    for member in family.living():
        tensor = member._t
        if not isinstance(tensor, DecomposedTensor) or not shares_storage(tensor, written):
            continue
        parts = [tensor.value, tensor.residual, tensor.components]
        value, residual, components = map(torch.view_as_real, parts) if tensor.value.is_complex() else parts
        place = shared_storage.each_once(value)
        hit = bytes_in(covered, value)[place].any(-1)
        if failed:
            hit &= ~_adds_up(value[place], residual[place], components[(slice(None), *place)])
        residual[place][hit] = value[place][hit]
        components[(slice(None), *place)].masked_fill_(hit, 0)
        if hit.any():
            told.add("writing into memory that is seen as another dtype drops contributions")


def _adds_up(value: torch.Tensor, residual: torch.Tensor, components: torch.Tensor) -> torch.Tensor:
    """Where the value is what the parts add up to, but for rounding."""
    wanted, size = residual + components.sum(0), residual.abs() + components.abs().sum(0)
    near = (value - wanted).abs() <= 1024 * torch.finfo(value.dtype).eps * size
    return near | (value == wanted) | (torch.isnan(value) & torch.isnan(wanted))
