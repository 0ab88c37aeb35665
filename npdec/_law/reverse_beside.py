"""Products and quotients of two tensors in reverse mode, of shapes that broadcast: what gradients come to is found on
the way back, of both in one pass (`npdec._native`), and nothing but the result on the way there.

The slope of a product by each factor is the other's midpoint. A quotient is a product with the reciprocal, whose slope
is −1 / (value residual)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.reverse_graph import scaled, with_vjp
from npdec._decomposed.size_limits import is_for_one_thread
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary_reverse import on_graph
from npdec._native import calls

__all__ = ["beside", "is_for_c", "node"]


def is_for_c(x: torch.Tensor) -> bool:
    """Whether C is asked, which finds in one pass what torch does in several."""
    return calls is not None and x.is_cpu and is_for_one_thread(x.numel())


def beside(
    is_divided: bool,
    like: DecomposedTensor,
    ends: Sequence[tuple[torch.Tensor, torch.Tensor]],
    carriers: Sequence[torch.Tensor | None],
    value: torch.Tensor,
    residual: torch.Tensor,
) -> Any:
    """What a b, or a / b, comes to: of each the value and the residual, which are the same for a constant, and what is
    on the graph, None for that."""
    carrier = node(is_divided, value, *ends[0], *ends[1], *carriers)
    return on_graph(carrier.detach(), residual, carrier, like)


def node(
    is_divided: bool,
    value: torch.Tensor,
    a: torch.Tensor,
    a_low: torch.Tensor,
    b: torch.Tensor,
    b_low: torch.Tensor,
    of_a: torch.Tensor | None,
    of_b: torch.Tensor | None,
) -> torch.Tensor:
    """The value on the graph of what is of a and of b, None of a constant."""
    back = _Back(is_divided, [None if of_a is None else a.shape, None if of_b is None else b.shape])
    return with_vjp(value, [c for c in (of_a, of_b) if c is not None], back, (a, a_low, b, b_low))


class _Back:
    """What takes gradients of the result to those of what has a shape here."""

    def __init__(self, is_divided: bool, shapes: Sequence[torch.Size | None]) -> None:
        self.is_divided, self.shapes = is_divided, shapes

    def __call__(self, grad: torch.Tensor, *ends: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if is_for_c(grad):
            made = [None if shape is None else grad.new_empty(shape) for shape in self.shapes]
            if calls.beside_back(self.is_divided, grad, *ends, *made):
                return tuple([target for target in made if target is not None])
        pairs = zip(self.shapes, self._slopes(*ends), strict=True)
        return tuple([scaled(slope())(grad).sum_to_size(shape) for shape, slope in pairs if shape is not None])

    def _slopes(
        self, a: torch.Tensor, a_low: torch.Tensor, b: torch.Tensor, b_low: torch.Tensor
    ) -> Sequence[Callable[[], torch.Tensor]]:
        """The slope by each of the two."""
        if not self.is_divided:
            return (lambda: b / 2 + b_low / 2), (lambda: a / 2 + a_low / 2)
        end, start = torch.reciprocal(b), torch.reciprocal(b_low)
        return (lambda: end / 2 + start / 2), (lambda: -(end * start) * (a / 2 + a_low / 2))
