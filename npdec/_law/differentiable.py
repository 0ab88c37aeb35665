"""How a function of tensors is differentiated along the path: by torch.func, or by a derivative of its own."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import torch

__all__ = ["Differentiable", "OwnDerivative", "Stacked", "jvp", "load_jvp"]

Function = Callable[..., Any]
# The derivatives of the outputs at points (n, 1, ...) along tangents (1, m, ...): (n, m, ...) each. A formula for
# functions that torch computes for whole stacks, without the wrapping of each operation by torch.func.
Stacked: TypeAlias = Callable[[Sequence[torch.Tensor], Sequence[torch.Tensor]], Sequence[torch.Tensor]]


class OwnDerivative(Protocol):
    """A derivative that torch.func cannot take: along tangents, which may be `batched`, and of weighted outputs."""

    def rates(
        self, function: Function, points: Sequence[torch.Tensor], tangents: Sequence[torch.Tensor], batched: bool
    ) -> list[torch.Tensor]: ...

    def vjp(
        self, function: Function, points: Sequence[torch.Tensor], grads: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]: ...


@dataclass(slots=True)
class Differentiable:
    """A tuple-valued function of tensors, and how it is differentiated: `own` is its derivative, where torch.func
    cannot take it; `one_by_one` says that torch does not map it over points, or maps it wrongly; `graph` that the
    derivative is differentiated itself. `stacked` is its derivative at many points at once, if there is a formula."""

    call: Function
    own: OwnDerivative | None = None
    one_by_one: bool = False
    graph: bool = False
    stacked: Stacked | None = None


@functools.cache
def load_jvp() -> None:
    """torch.func.jvp compiles some formulas with the deprecated torch.jit.script when it is first used, and warns of
    it: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_functorch/eager_transforms.py
    (lazy_load_decompositions)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.func.jvp(torch.sin, (torch.zeros(()),), (torch.zeros(()),))


def jvp(
    function: Differentiable, points: tuple[torch.Tensor, ...], tangents: tuple[torch.Tensor, ...]
) -> tuple[Any, ...]:
    """The directional derivatives of the outputs, as a tuple."""
    with torch.enable_grad():  # torch.func.jvp differentiates nothing under no_grad
        if not function.graph:
            try:
                made: tuple[Any, ...] = torch.func.jvp(function.call, points, tangents)
                return made[1]
            except NotImplementedError:
                pass
        # Where torch has no formula of forward mode, or one that is not differentiable itself (that of solve takes its
        # factors for constants): the derivative of the transposed product, which is linear.
        found: tuple[Any, ...] = torch.func.vjp(function.call, *points)
        outputs, vjp = found
        found = torch.func.vjp(vjp, tuple(torch.zeros_like(out) for out in outputs))
        return found[1](tangents)[0]
