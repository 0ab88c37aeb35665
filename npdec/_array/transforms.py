"""Writing within np.vmap, np.grad and their kin.

What is written may need other memory than that of the array. Within np.vmap an array that the function made holds its
elements once, until something is written that each slice has its own of. Where a function is differentiated, its graph
may keep what is written over. So the array gets memory of its own, and with it all that look at the same.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import ref

import torch

from npdec._array.family import Family, family_of
from npdec._core.base import ArrayBase, NDArrayBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._storage import innermost, shares_memory
from npdec._torch.functorch import batched_level, is_wrapped, unwrapped

__all__ = ["current", "differentiated", "mapped", "renew"]


class _Run:
    """What is known of a transformed function while it runs."""

    def __init__(self, given: Iterable[Any] = ()) -> None:
        # Of a mapped function: what it was given, and the arrays that became batched, with what they held before.
        self.maps = False
        self.given = [innermost(tensor) for tensor in given if isinstance(tensor, torch.Tensor)]
        self.changed: list[tuple[ref[NDArrayBase], torch.Tensor]] = []

    def was_given(self, tensor: torch.Tensor) -> bool:
        held = innermost(tensor)
        return any(shares_memory(held, one) for one in self.given)


current: ContextVar[_Run | None] = ContextVar("npdec_transformed", default=None)


@contextmanager
def differentiated() -> Iterator[None]:
    """While a function runs of which derivatives are wanted."""
    tokens: list[Any] = []
    run = current.get() or _Run()  # within a mapped function, what is known of that holds
    try:
        tokens.extend(map(current.set, (run,)))  # in one: an interrupt would lose the token
        yield
    finally:
        for token in tokens:
            current.reset(token)


@contextmanager
def mapped(given: Iterable[Any]) -> Iterator[None]:
    """While a mapped function runs, which was given these tensors.

    Raises RuntimeError if it wrote what differs from slice to slice into an array from outside; this is what it was.
    """
    run = _Run(given)
    run.maps = True
    tokens: list[Any] = []
    done = False
    try:
        tokens.extend(map(current.set, (run,)))
        yield
        done = True
    finally:
        for token in tokens:
            current.reset(token)
        if any(array() is not None for array, _ in run.changed):
            gc.collect()  # arrays in dead cycles hold nothing
        left = [(found, tensor) for array, tensor in run.changed if (found := array()) is not None]
        for array, tensor in reversed(left):
            array._t = tensor
    if left and done:
        raise RuntimeError(f"vmap: {_OUTSIDE}")


_OUTSIDE = (
    "what is written differs from slice to slice, and the array was not made by the mapped function: give it to the "
    "function as an argument of its own, or write into a copy"
)


def renew(name: str, array: NDArrayBase, written: Iterable[Any]) -> None:
    """Give the array, and all that look at its memory, other memory, if what is to be written or an index needs it."""
    run = current.get()
    assert run is not None
    if type(array._t) is DecomposedTensor:
        return
    tensors = list(_plain(written))
    missing = set().union(*map(_levels, tensors)) - _levels(array._t) if run.maps else ()
    if missing:
        if run.was_given(array._t):
            raise RuntimeError(f"{name}: {_OUTSIDE}")
        false = torch.zeros((), dtype=torch.bool, device=array._t.device)
        for tensor in tensors:
            if not missing.isdisjoint(_levels(tensor)):
                false = false | torch.zeros_like(tensor, dtype=torch.bool).any()
        for members in _memories(array, set()):
            run.changed += [(ref(member), member._t) for member in members]
            _over_other_memory(name, members, lambda memory: torch.where(false, memory, memory))
    elif _has_graph(array._t):
        for members in _memories(array, set()):
            _over_other_memory(name, members, torch.clone)


def _has_graph(tensor: torch.Tensor) -> bool:
    while is_wrapped(tensor):
        if tensor.requires_grad:
            return True
        tensor = unwrapped(tensor)
    return tensor.requires_grad


def _plain(items: Iterable[Any]) -> Iterator[torch.Tensor]:
    for item in items:
        tensor = item._t if isinstance(item, ArrayBase) else item
        if isinstance(tensor, DecomposedTensor):
            tensor = tensor.value
        if isinstance(tensor, torch.Tensor):
            yield tensor
        elif isinstance(tensor, (list, tuple)):
            yield from _plain(tensor)


def _levels(tensor: torch.Tensor) -> set[int]:
    """The transforms by which the tensor is batched."""
    found = set()
    while is_wrapped(tensor):
        level = batched_level(tensor)
        if level >= 0:
            found.add(level)
        tensor = unwrapped(tensor)
    return found


def _memories(array: NDArrayBase, seen: set[int]) -> Iterator[list[NDArrayBase]]:
    """The arrays over each memory that is written with that of the array: what it stands for, what stands for it."""
    family: Family = family_of(array)
    if id(family) in seen:
        return
    seen.add(id(family))
    yield [member for member in family.living() if shares_memory(member._t, array._t)]
    copies = [family.origin() if family.origin is not None else None]
    if copies[0] is not None:
        yield from _memories(copies[0]._src[0], seen)
    for mirror in tuple(family.mirrors):  # of which some may go meanwhile
        copy = mirror()
        if copy is not None:
            yield from _memories(copy, seen)


def _over_other_memory(name: str, members: list[NDArrayBase], make: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Let arrays over one memory look at what is made of it."""
    if len(members) == 1 or not any(member._t.numel() for member in members):
        for member in members:
            member._t = make(member._t)
        return
    if len({member._d.to_real() if member._d.is_complex else member._d for member in members}) > 1:
        raise NotImplementedError(
            f"{name}: within np.vmap and np.grad, memory that is seen as several dtypes is not written: write into a "
            "copy"
        )
    tensors = [member._t for member in members]
    tensors += [tensor._base for tensor in tensors if tensor._base is not None]  # a graph knows a part as that of them
    whole = max(tensors, key=lambda tensor: (tensor.dtype.itemsize, _reach(tensor), tensor.numel()))
    size = math.ceil(max(_reach(tensor) * tensor.dtype.itemsize for tensor in tensors) / whole.dtype.itemsize)
    flat = make(whole.as_strided((size,), (1,), 0))
    for member in members:
        memory = flat if member._d is whole.dtype else torch.view_as_real(flat).reshape(-1)
        member._t = memory.as_strided(member._t.shape, member._t.stride(), member._t.storage_offset())


def _reach(tensor: torch.Tensor) -> int:
    """How many elements the memory has, at least, of which the tensor is a part."""
    if not tensor.numel():
        return 0
    strides = ((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return int(tensor.storage_offset()) + sum(strides) + 1
