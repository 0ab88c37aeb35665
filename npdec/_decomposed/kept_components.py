"""What stands for the components of a tensor, if that is true yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npdec._decomposed.block_sparse import Windows, are_blocks, blocks
from npdec._decomposed.entries import Entries
from npdec._decomposed.parts import Decomposed
from npdec._decomposed.size_limits import has_many
from npdec._decomposed.vjp_components import Pulled
from npdec._torch.interrupts import undisturbed
from npdec._torch.tracing import tracing

__all__ = [
    "component_dtype", "dtype_of_steps", "entries", "handed_on", "kept", "known", "sizes", "sparse", "summed",
    "unmade", "weighted",
]  # fmt: skip


def known(tensor: Decomposed) -> Windows | None:
    """The windows of the tensor's components, if they have any that are true yet."""
    found = sparse(tensor)
    return found if isinstance(found, Windows) else None


def kept(tensor: Decomposed) -> Windows | Entries | None:
    """What the tensor's components are kept as, if that is true yet and more than themselves."""
    found = None if tracing() else tensor.windows  # on which no graph is to depend
    if not isinstance(found, (Windows, Entries)):
        return None
    components: torch.Tensor | None = tensor.__dict__.get("components")
    # Who has seen components on a graph may ask for gradients by them.
    if components is not None and (
        components is not found.noted or components._version != found.version or components.requires_grad
    ):
        tensor.windows = None
        return None
    if found.source is not None and sparse(found.source) is None:
        return None
    return found


def sparse(tensor: Decomposed) -> Windows | Entries | None:
    """What stands for the tensor's components without their zeros, in the form that is best to compute with."""
    given = kept(tensor)
    few = isinstance(given, Entries) and not has_many(len(given))
    if not isinstance(given, Entries) or not (few or (len(given.numbers) == 1 and are_blocks(given))):
        return given
    components: torch.Tensor | None = tensor.__dict__.get("components")
    found = blocks(given) if len(given.numbers) == 1 else None
    if found is None and not few:
        return given
    if found is None and components is None:
        tensor.components = given.dense()
    elif found is not None and components is not None:
        found.note(components)
    tensor.windows = found
    return found


def entries(tensor: Decomposed) -> Entries | None:
    """The entries of the tensor's components, if these are many and known without their zeros."""
    found = sparse(tensor)
    if isinstance(found, Windows):
        return found.entries() if has_many(len(found)) else None
    return found


def unmade(tensor: Decomposed) -> Windows | Entries | Pulled | None:
    """What stands for the tensor's components, if that can be summed, sized and merged."""
    found = sparse(tensor)
    if found is None and not tracing() and type(tensor.windows) is Pulled and "components" not in vars(tensor):
        return tensor.windows
    return found


def handed_on(tensor: Decomposed) -> Any:
    """The tensor's components for another value and residual: what stands for them, if they are not made."""
    if not tracing() and "components" not in vars(tensor):
        found: Any = sparse(tensor)
        if found is not None:
            return found.like(found.parts if isinstance(found, Windows) else found.numbers)
        if type(tensor.windows) is Pulled:
            return tensor.windows
    return tensor.components


def component_dtype(tensor: Decomposed) -> torch.dtype:
    """The dtype of the tensor's components, which are not made to tell it."""
    found = unmade(tensor)
    dtype: torch.dtype = tensor.components.dtype if found is None else found.dtype
    return dtype


def dtype_of_steps(discrete: torch.dtype, numbers: torch.dtype) -> torch.dtype:
    """The dtype of the components of booleans or integers that are made of numbers: the numbers', or a wider one where
    these do not tell all differences of such integers apart."""
    if discrete is torch.bool or discrete.itemsize == 1:
        return numbers
    return torch.promote_types(numbers, torch.float32 if discrete.itemsize == 2 else torch.float64)


def weighted(tensor: Decomposed, weights: torch.Tensor, axes: Sequence[int], keepdim: bool = False) -> Any:
    """The components times weights of the value's shape, summed over some of its axes."""
    found = entries(tensor)
    if found is not None:
        return found.weighted(weights, axes, keepdim)
    components: torch.Tensor = tensor.components
    return (components * weights).sum([axis % tensor.ndim + 1 for axis in axes], keepdim)


def summed(tensor: Decomposed, magnitudes: bool = False) -> torch.Tensor:
    """The sum of the tensor's components, or of their magnitudes: of its shape."""
    found = unmade(tensor)
    if found is not None:
        return found.magnitude() if magnitudes else found.sum()
    components: torch.Tensor = tensor.components
    return (components.abs() if magnitudes else components).sum(0)


def sizes(tensor: Decomposed) -> torch.Tensor:
    """The sum of the magnitudes of each component's elements, (C,)."""
    found = unmade(tensor)
    if found is not None:
        return found.sizes()
    components: torch.Tensor = tensor.components
    return components.abs().reshape(len(tensor.labels), tensor.value.numel()).sum(1)


class Components:
    """The attribute `components` of a decomposed tensor that has none yet, but knows what they are: made once. (Where
    there are components, the instance has an attribute of its own, which comes first.)"""

    def __get__(self, tensor: Any, owner: type) -> Any:
        windows = None if tensor is None else tensor.windows
        if windows is None:
            raise AttributeError("components")
        components = undisturbed(windows.dense)
        tensor.components = components
        tensor.windows = None if components.is_inference() else windows.note(components)
        return components
