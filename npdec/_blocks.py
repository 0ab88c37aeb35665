"""The first product: the components that np.decompose makes are zero but where an element is its component's own.

A matrix product with them need not multiply the zeros. Where components are blocks of the last axis, each meets its own
columns of the weight only; where they are blocks of the other axes, all rows pass at once and are sorted afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from npdec._tracing import tracing

if TYPE_CHECKING:
    from npdec._call import Call
    from npdec._decomposed import DecomposedTensor

__all__ = ["Blocks", "mark", "product"]

_PRODUCTS = frozenset({torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__})
_LEAST = 4  # components, from which on it pays
_MOST_PADDING = 2  # columns with the padding of short blocks, as a multiple of those without


class Blocks:
    """Which component each element belongs to; −1: none. It says so of one tensor of components, as long as nobody
    writes to that."""

    __slots__ = ("components", "member", "version")

    def __init__(self, components: torch.Tensor, member: torch.Tensor) -> None:
        self.components, self.member = components, member
        self.version = components._version

    def hold(self, components: torch.Tensor) -> bool:
        # A leaf of autograd wants the gradient of its zeros, too.
        leaf = components.requires_grad and components.is_leaf
        return components is self.components and components._version == self.version and not leaf


def mark(tensor: DecomposedTensor, member: torch.Tensor) -> None:
    """Note that component c of the tensor is zero where `member`, integers in the tensor's shape, is not c."""
    components = tensor.components
    if (
        member.numel()
        and member.ndim
        and len(components) >= _LEAST
        and not (tracing() or components.is_inference() or components.is_meta)
    ):
        tensor.blocks = Blocks(components, member)


def product(call: Call, components: torch.Tensor) -> torch.Tensor | None:
    """The components times a matrix, (C, ..., n) by (n, o), if they are blocks, and None if they are not."""
    leaf = call.leaves[0]
    blocks = leaf.tensor.blocks
    if (
        blocks is None
        or len(call.leaves) > 1
        or leaf.key != 0
        or leaf.place is not None
        or tracing()
        or not blocks.hold(components)
    ):
        return None
    weight: Any = call.args[1] if len(call.args) > 1 else call.kwargs.get("weight", call.kwargs.get("other"))
    if not isinstance(weight, torch.Tensor) or weight.ndim != 2:
        return None
    if call.func in _PRODUCTS:
        weight = weight.t()
    elif call.func is not F.linear:
        return None
    member = blocks.member
    if _is_constant(member, member.ndim - 1, member.ndim):
        return _rows(components, member, weight)
    if _is_constant(member, 0, member.ndim - 1):
        return _columns(components, member, weight)
    return None


def _is_constant(member: torch.Tensor, first: int, last: int) -> bool:
    """Whether it is the same along these axes, by how it is stored."""
    sizes = zip(member.shape[first:last], member.stride()[first:last], strict=True)
    return all(length == 1 or not step for length, step in sizes)


def _rows(components: torch.Tensor, member: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    index = member.clamp(min=0)[None]
    made = F.linear(components.gather(0, index), weight)
    full = made.new_zeros((len(components), *made.shape[1:]))
    return full.scatter(0, index[..., :1].expand(made.shape), made)


def _columns(components: torch.Tensor, member: torch.Tensor, weight: torch.Tensor) -> torch.Tensor | None:
    count, n = len(components), member.shape[-1]
    own = member[(0,) * (member.ndim - 1)]
    width = -(-n // count)
    if n == count * width and torch.equal(own, torch.arange(n, device=own.device) // width):
        parts = components.reshape(count, -1, count, width).diagonal(dim1=0, dim2=2)
        parts, weights = parts.permute(2, 0, 1), weight.reshape(-1, count, width).permute(1, 2, 0)
    else:
        inside = own >= 0
        order = torch.argsort(own, stable=True)[int((~inside).sum()) :]
        sizes = torch.bincount(own[inside], minlength=count)
        width = int(sizes.max())
        if count * width > _MOST_PADDING * n:
            return None
        # For each component its columns; a short block is filled up with a column of zeros, which stands at the end.
        places = torch.full((count, width), n, device=own.device)
        places[torch.arange(width, device=own.device) < sizes[:, None]] = order
        compact = F.pad(components.gather(0, member.clamp(min=0)[None])[0].reshape(-1, n), (0, 1))
        parts = compact[:, places].transpose(0, 1)
        weights = weight[:, places.clamp(max=n - 1)].permute(1, 2, 0)
    made = torch.bmm(parts, weights)
    return made.reshape(count, *components.shape[1:-1], weight.shape[0])
