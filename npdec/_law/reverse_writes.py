"""Functions written in place, in reverse mode, by the shortest way: what they give is copied into the value, and stands
for the tensor from then on. The general way is `npdec._rules.inplace`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._storage import shares_memory
from npdec._law.ordinary_reverse import is_ordinary, on_graph_of
from npdec._torch.interrupts import commit

__all__ = ["written_in_reverse"]


def written_in_reverse(function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> Any:
    """What a function gives, written into its first argument, which is no leaf, and whose memory no other decomposed
    tensor looks at."""
    target: Any = args[0] if args else None
    if type(target) is not DecomposedTensor or not is_ordinary(target) or target.views is not None:
        return NotImplemented
    if "on_graph" not in vars(target) or target.value.is_inference() or not target.value.is_contiguous():
        return NotImplemented
    made: Any = function(*args, **options)
    if type(made) is not DecomposedTensor or not is_ordinary(made) or made.value.shape != target.value.shape:
        return NotImplemented
    if made.value.dtype is not target.value.dtype or made.labels is not target.labels or made.views is not None:
        return NotImplemented
    if shares_memory(made.value, target.value):
        return NotImplemented
    carrier = on_graph_of(made)
    commit([(torch.Tensor.copy_, target.value, made.value), (_follow, target, made.residual, carrier)], target.value)
    return target


def _follow(target: DecomposedTensor, residual: torch.Tensor, carrier: torch.Tensor) -> None:
    """Let a tensor whose value was written to have another residual and component."""
    carrier.data = target.value
    its = vars(target)
    for name in ("components", "standing_in", "row"):
        its.pop(name, None)
    its.update(residual=residual, on_graph=carrier, origin=None, writes=target.writes + 1)
