"""Decomposed tensors in reverse mode in place of those of many components."""

from __future__ import annotations

from typing import Any

import torch

from npdec._decomposed.components import Source, Use
from npdec._decomposed.kept_components import stand_in
from npdec._decomposed.parts import Views
from npdec._decomposed.tensor import DecomposedTensor, Labels, places_of
from npdec._torch.functorch import is_transformed

__all__ = ["in_reverse", "may_use_vjp"]


_ALL = ("all inputs",)


class _ReadOnly(Views):
    """The views of a stand-in: what was written there would be lost."""

    __slots__ = ()

    def call_in(self) -> None:
        raise MemoryError("a tensor with so many components is not written in place by this function: write a copy")


def may_use_vjp(tensor: DecomposedTensor) -> bool:
    """Whether the components of what follows from a tensor may be found backwards: nothing else differentiates."""
    if tensor.reverse or tensor.value.is_inference() or torch.is_inference_mode_enabled():
        return False
    if is_transformed():
        return False
    components: Any = tensor.kept if "components" not in vars(tensor) else tensor.components
    return not (components.requires_grad or tensor.value.requires_grad or tensor.residual.requires_grad)


def in_reverse(tensor: DecomposedTensor, labels: Labels) -> tuple[DecomposedTensor, list[Source]]:
    """The tensor in reverse mode, and what the graph of its components begins at."""
    index = None
    if tensor.labels != labels:
        index = torch.tensor(places_of(tensor.labels, labels), dtype=torch.int64, device=tensor.value.device)
    given = stand_in(tensor, Use.SUMS)
    if given is None:
        total = tensor.components.sum(0).detach().requires_grad_()
        sources = [Source(total, tensor.components, index)]
    else:
        total, sources = given.on_graph(index)
    made = DecomposedTensor(tensor.value, tensor.residual, total.unsqueeze(0), _ALL, reverse=True)
    made.views = _ReadOnly([made])
    return made, sources
