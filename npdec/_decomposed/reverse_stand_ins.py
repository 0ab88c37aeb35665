"""Decomposed tensors in reverse mode in place of those of many components."""

from __future__ import annotations

from typing import Any

import torch

from npdec._decomposed.kept_components import sparse, summed
from npdec._decomposed.parts import Views
from npdec._decomposed.tensor import DecomposedTensor, Labels, places_of
from npdec._decomposed.vjp_components import Pulled, Source
from npdec._torch.functorch import is_transformed

__all__ = ["as_whole", "may_be_pulled"]


_ALL = ("all inputs",)


class _ReadOnly(Views):
    """The views of a stand-in: what was written there would be lost."""

    __slots__ = ()

    def call_in(self) -> None:
        raise MemoryError("a tensor with so many components is not written in place by this function: write a copy")


def may_be_pulled(tensor: DecomposedTensor) -> bool:
    """Whether the components of what follows from a tensor may be found backwards: nothing else differentiates."""
    if tensor.whole or tensor.value.is_inference() or torch.is_inference_mode_enabled():
        return False
    if is_transformed():
        return False
    components = tensor.windows if "components" not in vars(tensor) else tensor.components
    on_graph = getattr(components, "requires_grad", False) and type(components) is not Pulled
    return not (on_graph or tensor.value.requires_grad or tensor.residual.requires_grad)


def as_whole(tensor: DecomposedTensor, labels: Labels) -> tuple[DecomposedTensor, list[Source]]:
    """The tensor in reverse mode, and what the graph of its components begins at."""
    kept: Any = tensor.windows
    equal = tensor.labels == labels
    if type(kept) is Pulled and "components" not in vars(tensor):
        moved = kept if equal else kept.merged(places_of(tensor.labels, labels), len(labels))
        total, sources = moved.total, list(moved.sources)
    else:
        total = summed(tensor).detach().clone().requires_grad_()
        places = list(range(len(labels))) if equal else places_of(tensor.labels, labels)
        given = sparse(tensor)
        components = tensor.components if given is None else given
        sources = [Source(total, components, torch.tensor(places, dtype=torch.int64, device=total.device))]
    made = DecomposedTensor(tensor.value, tensor.residual, total.unsqueeze(0), _ALL, whole=True)
    made.views = _ReadOnly([made])
    return made, sources
