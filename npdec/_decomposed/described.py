"""What the repr of a decomposed tensor says of its contributions, at a small part of the cost of its elements."""

from __future__ import annotations

import torch

from npdec._decomposed.kept_components import sizes, stand_in
from npdec._decomposed.parts import Decomposed
from npdec._show import summary
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import tracing

__all__ = ["described", "has_table"]

_MOST = 2**20  # elements that are looked at


def described(tensor: Decomposed) -> list[str]:
    """The words beside the value: the residual, how many components, and the largest of them.

    Components that are not made yet are not made for this, and of very many elements only the labels are said.
    """
    labels, residual = tensor.labels, tensor.residual
    count = f"components={len(labels)}"
    if tensor.reverse or not labels or tracing() or not _has_elements(tensor.value):
        return [count]
    words = [f"residual={summary.of_residual(residual.detach())}"] if residual.numel() else []
    with torch.no_grad():
        return [*words, f"{count}: {_largest(tensor)}"]


def _largest(tensor: Decomposed) -> str:
    labels = tensor.labels
    found = stand_in(tensor)
    if found is None and "components" not in vars(tensor):
        return summary.of_labels(labels)
    size = tensor.components.numel() if found is None else found.numel()
    if size > _MOST or not tensor.value.numel():
        return summary.of_labels(labels)
    if tensor.value.dim():
        return summary.of_sizes(labels, sizes(tensor).detach())
    components: torch.Tensor = tensor.components if found is None else found.dense()
    return summary.of_numbers(labels, components.tolist())


def has_table(tensor: Decomposed) -> bool:
    """Whether a table of the contributions can be made as soon as a text: there are some, and they are at hand."""
    if tensor.reverse or not tensor.labels or tracing() or not _has_elements(tensor.value):
        return False
    return stand_in(tensor) is not None or "components" in vars(tensor)


def _has_elements(tensor: torch.Tensor) -> bool:
    return not (
        tensor.is_meta
        or is_transformed()
        or type(tensor).__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl
    )
