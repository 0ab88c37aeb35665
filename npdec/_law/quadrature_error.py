"""What the derivatives at the nodes of a panel tell of the error of its quadrature.

They are told one node after the other, as a list of them would be most of the memory of a function of many numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from npdec._impl import _util
from npdec._law.quadrature_nodes import last_coefficients
from npdec.exceptions import DecompositionWarning

__all__ = ["LastCoefficients", "Straightness", "evenness", "largest", "warn_of_path"]


def warn_of_path(name: str, worst: float) -> None:
    """Warn of a completeness that no number of nodes has brought within the tolerance."""
    _util.warn(
        f"{name}: completeness holds only to {worst:.1e} of the largest magnitude: the path from the baseline to "
        "the value passes close to a singularity, or the operation is ill-conditioned",
        DecompositionWarning,
    )


def warn_of_kink(name: str) -> None:
    """Warn of contributions with a graph where a kink was found on the path, by panels that are ever narrower."""
    _util.warn(
        f"{name}: the path from the baseline to the value crosses a kink, and the gradient of the contributions leaves "
        "out that its place moves; use another baseline, or a smooth function",
        DecompositionWarning,
    )


def evenness(dtype: torch.dtype) -> float:
    """How far rates at the nodes may differ, relative to the largest, for a function that changes evenly: the change of
    such a function is complete with any nodes, and does not tell whether they are enough."""
    return float(torch.finfo(dtype).eps ** 0.375)


def largest(out: torch.Tensor) -> float:
    """The largest finite magnitude."""
    sizes = out.detach().abs()
    return float(torch.where(torch.isfinite(sizes), sizes, 0).max()) if out.numel() else 0.0


class Straightness:
    """Whether the rates of the outputs are one and the same at all nodes, to about the square root of the precision of
    numbers of the size `scale`."""

    def __init__(self, scale: Sequence[float]) -> None:
        self.scale, self.holds = scale, True
        self._first: Sequence[torch.Tensor] | None = None

    def see(self, rates: Sequence[torch.Tensor]) -> None:
        """The rates at the next node."""
        if not self.holds:
            return
        if self._first is None:
            self._first = rates
            return
        self.holds = all(
            largest(r - r0) <= evenness(r.dtype) * s for r, r0, s in zip(rates, self._first, self.scale, strict=True)
        )
        if not self.holds:  # nobody compares with them any more
            self._first = None


class LastCoefficients:
    """The last two coefficients of the rates of the outputs by Legendre's polynomials, of which the square over the
    largest rate tells how far the nodes are from enough."""

    def __init__(self, nodes: int) -> None:
        self._rows, self._next = last_coefficients(nodes), 0
        self._sums: list[list[torch.Tensor]] = []  # for each output, those of both coefficients
        self._sizes: list[float] = []

    def see(self, rates: Sequence[torch.Tensor]) -> None:
        """The rates at the next node."""
        coefficients = [row[self._next] for row in self._rows]
        if not self._next:
            self._sizes, self._sums = [0.0 for _ in rates], [[n * r for n in coefficients] for r in rates]
        else:
            for sums, r in zip(self._sums, rates, strict=True):
                for i, n in enumerate(coefficients):
                    sums[i] = sums[i] + n * r
        self._sizes = [max(size, largest(r)) for size, r in zip(self._sizes, rates, strict=True)]
        self._next += 1

    def missing(self, length: float, scale: Sequence[float]) -> float:
        """What a panel of the length may lack, relative to numbers of the size `scale`."""
        worst = 0.0
        for sums, size, s in zip(self._sums, self._sizes, scale, strict=True):
            for total in sums:
                last = largest(total)
                worst = max(worst, last * last / size * length / s if size and s else 0.0)
        return worst
