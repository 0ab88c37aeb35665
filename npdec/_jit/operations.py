"""What torch's operations do to what they are given, as their schemas say, and where tensors lie."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_iter

from npdec._core.base import ArrayBase

__all__ = [
    "computes",
    "copied",
    "copied_as",
    "described",
    "is_array",
    "is_by_integers",
    "is_composite",
    "is_view",
    "layout",
    "memory",
    "merged",
    "only_reads",
    "parted",
    "written",
]


@functools.cache
def only_reads(func: Any) -> bool:
    """Whether an operation looks at the numbers of its arguments, and gives memory of its own."""
    return not any(argument.alias_info for argument in (*func._schema.arguments, *func._schema.returns))


@functools.cache
def is_view(func: Any) -> bool:
    """Whether an operation looks at the memory of an argument, and computes nothing."""
    return any(given.alias_info and not given.alias_info.is_write for given in func._schema.returns)


@functools.cache
def is_composite(func: Any) -> bool:
    """Whether torch makes an operation of others, which are seen then."""
    if func.namespace != "aten":
        return False
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))


def is_by_integers(func: Any, args: Any) -> bool:
    """Whether an operation indexes by integers alone, so that the shape does not depend on them."""
    if func is not torch.ops.aten.index.Tensor:
        return False
    return all(index is None or index.dtype not in (torch.bool, torch.uint8) for index in args[1])


def computes(node: torch.fx.Node) -> bool:
    """Whether a node of a graph does more than to look at what others have made."""
    return node.op == "call_function" and node.target is not operator.getitem and not is_view(node.target)


def written(func: Any, args: Any, kwargs: Any, kind: type = torch.Tensor) -> list[Any]:
    """The tensors that an operation writes into, or their nodes."""
    found: list[Any] = []
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[place] if place < len(args) else kwargs.get(argument.name)
            found += [leaf for leaf in tree_iter(given) if isinstance(leaf, kind)]
    return found


def is_array(value: Any) -> bool:
    """Whether a value is an array or a scalar, one of NumPy's, or a tensor."""
    if isinstance(value, (ArrayBase, torch.Tensor)):
        return True
    return hasattr(value, "__array_interface__") and not isinstance(value, type)


def memory(tensor: torch.Tensor) -> int:
    """What two tensors have in common that lie in one memory."""
    return tensor.untyped_storage()._cdata


def layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Where a tensor lies."""
    return memory(tensor), tensor.storage_offset(), tensor.shape, tensor.stride()


def described(tensor: torch.Tensor) -> dict[str, Any]:
    """What a node says of the tensors that it stands for."""
    lies = {"shape": tensor.shape, "stride": tensor.stride(), "contiguous": tensor.is_contiguous()}
    return {**lies, "dtype": tensor.dtype, "device": tensor.device}


def merged(made: Sequence[torch.Tensor], given: Sequence[torch.Tensor], memories: Sequence[int] = ()) -> list[int]:
    """The places of results that lie in the memory of another one, or of what was given, and should not: `memories` are
    those of what stood for them.

    Compilers take equal copies for one (https://github.com/pytorch/pytorch/issues/88813), and a copy of what is written
    for what it is written into (https://github.com/pytorch/pytorch/issues/195451).
    """
    known: dict[int, Any] = dict.fromkeys(map(memory, given))
    found = []
    for place, tensor in enumerate(made):
        own = memories[place] if place < len(memories) else -1 - place
        if tensor.numel() and known.setdefault(memory(tensor), own) != own:
            found.append(place)
    return found


def parted(made: Sequence[torch.Tensor], places: Sequence[int]) -> list[torch.Tensor]:
    """The results, those at some places with memory of their own."""
    return [tensor.clone() if place in places else tensor for place, tensor in enumerate(made)]


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy that lies in memory as the tensor does."""
    tensor = tensor.detach()
    if 0 in tensor.stride():
        return tensor.clone()
    return copied_as(tensor, tensor.stride())


def copied_as(tensor: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """A copy that lies in memory with these strides."""
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
