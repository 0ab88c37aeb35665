"""What stands for the components of a tensor, if that is true yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npdec._decomposed.components import Components, Use
from npdec._decomposed.parts import Decomposed
from npdec._torch.interrupts import undisturbed
from npdec._torch.tracing import tracing

__all__ = [
    "MadeOnce", "component_dtype", "dtype_of_steps", "handed_on", "kept", "sizes", "stand_in", "summed", "weighted",
]  # fmt: skip


def kept(tensor: Decomposed, use: int = Use.LAW) -> Components | None:
    """What stands for the tensor's components and is good for the use, if it is true yet."""
    found = None if tracing() else tensor.kept  # on which no graph is to depend
    if found is None or not found.uses & use:
        return None
    components: torch.Tensor | None = tensor.__dict__.get("components")
    if not found.is_true(components):
        if components is not None:
            tensor.kept = None
        return None
    if found.source is not None and stand_in(found.source) is None:
        return None
    return found


def stand_in(tensor: Decomposed, use: int = Use.LAW) -> Components | None:
    """The same in the form that is best to compute with."""
    given = kept(tensor, use)
    if given is None:
        return None
    found = given.best(tensor.__dict__.get("components"))
    if found is given:
        return given
    if isinstance(found, torch.Tensor):
        tensor.components, tensor.kept = found, None
        return None
    tensor.kept = found
    return found


def handed_on(tensor: Decomposed) -> Any:
    """The tensor's components for another value and residual: what stands for them, if they are not made."""
    found = None if tracing() or "components" in vars(tensor) else stand_in(tensor, Use.SUMS)
    return tensor.components if found is None else found.handed_on()


def component_dtype(tensor: Decomposed) -> torch.dtype:
    """The dtype of the tensor's components, which are not made to tell it."""
    found = stand_in(tensor, Use.SUMS)
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
    found = stand_in(tensor)
    made = None if found is None else found.weighted(weights, axes, keepdim)
    if made is not None:
        return made
    components: torch.Tensor = tensor.components
    return (components * weights).sum([axis % tensor.ndim + 1 for axis in axes], keepdim)


def summed(tensor: Decomposed, magnitudes: bool = False) -> torch.Tensor:
    """The sum of the tensor's components, or of their magnitudes: of its shape."""
    found = stand_in(tensor, Use.SUMS)
    if found is not None:
        return found.magnitude() if magnitudes else found.sum()
    components: torch.Tensor = tensor.components
    return (components.abs() if magnitudes else components).sum(0)


def sizes(tensor: Decomposed) -> torch.Tensor:
    """The sum of the magnitudes of each component's elements, (C,)."""
    found = stand_in(tensor, Use.SUMS)
    if found is not None:
        return found.sizes()
    components: torch.Tensor = tensor.components
    return components.abs().reshape(len(tensor.labels), tensor.value.numel()).sum(1)


def _less(on_graph: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """The only component, of a value on its graph."""
    with torch.enable_grad():
        return torch.sub(on_graph, residual).unsqueeze(0)


class MadeOnce:
    """The attribute `components` of a decomposed tensor that has none yet, but knows what they are: made once. (Where
    there are components, the instance has an attribute of its own, which comes first.) In reverse mode the value may be
    on the graph of the component, which is then made of it (`npdec._law.ordinary_reverse`)."""

    def __get__(self, tensor: Any, owner: type) -> Any:
        found = None if tensor is None else tensor.kept
        if found is None:
            on_graph = None if tensor is None else vars(tensor).get("on_graph")
            if on_graph is None:
                raise AttributeError("components")
            tensor.components = made = undisturbed(_less, on_graph, tensor.residual)
            tensor.standing_in = made, made._version, tensor.value, on_graph
            return made
        components = undisturbed(found.dense)
        tensor.components = components
        tensor.kept = None if components.is_inference() else found.note(components)
        return components
