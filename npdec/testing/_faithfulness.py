"""`faithfulness`: how well an attribution says what a function does, by the measures that papers report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._array.decompose import split_input
from npdec._core.base import ArrayBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec.attribution._games import shapley_of_worths

__all__ = ["Faithfulness", "faithfulness"]

_MAX_SHAPLEY = 16  # features, whose 65536 subsets are all tried
_CHUNK = 4096  # subsets in one call of a batched function


@dataclass(frozen=True)
class Faithfulness:
    """What `faithfulness` measured, for n features. All arrays are plain arrays of float64.

    `completeness`: f(x) − f(baseline) − attribution.sum().
    `shapley`: the exact Shapley values, in the shape of x; None for more than 16 features. `shapley_distance`: the
    Euclidean distance of the attribution to them.
    `deletion`, `insertion`: the curves, f after each step, the first and last entry included. `deletion_area`,
    `insertion_area`: the areas under them, the steps on [0, 1].
    `sizes`, `sensitivity`: subset sizes, and the correlation for each (NaN where f or the attribution is constant).
    """

    completeness: float
    shapley: Any
    shapley_distance: float | None
    deletion: Any
    insertion: Any
    deletion_area: float
    insertion_area: float
    sizes: tuple[int, ...]
    sensitivity: Any


def faithfulness(
    f: Callable[[Any], Any],
    x: Any,
    baseline: Any,
    attribution: Any,
    *,
    batched: bool = False,
    steps: int | None = None,
    samples: int = 100,
    seed: int = 0,
) -> Faithfulness:
    """Measure an attribution of `f(x) - f(baseline)` to the elements of `x`, the features, against `f` itself.

    `f` takes an array of shape S (a torch tensor if `x` is one) and returns a real scalar; with `batched`, it takes
    many at once, shape (m, *S), and returns shape (m,), which is much faster. `baseline` broadcasts to S; `attribution`
    has shape S (what `np.attribute` returns will do). A feature that is absent has its baseline. `steps`: of the
    curves, at most n, which is the default up to 100 features. `samples`: random subsets of each size for the
    correlations, drawn with `seed`.

    Shapley values, by all 2**n subsets T of the features N (L. Shapley, "A value for n-person games", 1953):
    φ_i = Σ |T|! (n − |T| − 1)! / n! · (f(T and i) − f(T)), over the T ⊆ N without i.
    Deletion: features become absent in the order of decreasing attribution; a faithful attribution makes f fall fast.
    Insertion: they appear in that order, from the baseline on (V. Petsiuk, A. Das, K. Saenko, "RISE", BMVC 2018).
    Sensitivity-n: the Pearson correlation of Σ_{i ∈ T} attribution_i with f(x) − f(x without T), over random subsets T
    of one size (M. Ancona, E. Ceolini, C. Öztireli, M. Gross, "Towards better understanding of gradient-based
    attribution methods", ICLR 2018).

    Raises ValueError for shapes that do not fit, TypeError for dtypes that are not floating.

    >>> def f(x):
    ...     return x[..., 0] * x[..., 1] + x[..., 2]
    >>> x = np.array([3.0, 2.0, 1.0])
    >>> found = np.testing.faithfulness(f, x, 0.0, np.attribute(f, x), batched=True)
    >>> found.shapley, found.shapley_distance, found.deletion
    (array([3., 3., 1.]), 0.0, array([7., 1., 1., 0.]))
    """
    value, base = split_input("faithfulness", x, baseline)
    value, base = value.detach(), base.detach()
    if value.is_complex():
        raise TypeError("faithfulness: the features must be real")
    shares = as_tensor(getattr(attribution, "attribution", attribution))
    if isinstance(shares, DecomposedTensor):
        shares = shares.value
    if tuple(shares.shape) != tuple(value.shape):
        raise ValueError(
            f"faithfulness: an attribution of shape {tuple(shares.shape)} for an input of shape {tuple(value.shape)}"
        )
    n = value.numel()
    if not n:
        raise ValueError("faithfulness: there are no features")
    game = _Game(f, value, base, batched, isinstance(x, torch.Tensor))
    flat = shares.detach().reshape(-1).cpu().to(torch.float64)
    ends = game(torch.tensor([[True] * n, [False] * n]))
    shapley = _shapley(game) if n <= _MAX_SHAPLEY else None
    deletion, insertion, at = _curves(game, flat, steps)
    sizes, sensitivity = _sensitivity(game, flat, samples, seed, float(ends[0]))
    return Faithfulness(
        completeness=float(ends[0] - ends[1] - flat.sum()),
        shapley=None if shapley is None else wrap.wrap_array(shapley.reshape(value.shape)),
        shapley_distance=None if shapley is None else float((flat - shapley).norm()),
        deletion=wrap.wrap_array(deletion),
        insertion=wrap.wrap_array(insertion),
        deletion_area=float(torch.trapezoid(deletion, at)),
        insertion_area=float(torch.trapezoid(insertion, at)),
        sizes=sizes,
        sensitivity=wrap.wrap_array(sensitivity),
    )


class _Game:
    """f of subsets of the features: the others are at the baseline."""

    def __init__(
        self, f: Callable[[Any], Any], value: torch.Tensor, base: torch.Tensor, batched: bool, as_torch: bool
    ) -> None:
        self.f = f
        self.value, self.base = value, base
        self.batched, self.as_torch = batched, as_torch

    def __call__(self, present: torch.Tensor) -> torch.Tensor:
        """float64 on the host, shape (m,), of booleans (m, n)."""
        parts = [self._some(part) for part in present.split(_CHUNK)]
        return torch.cat(parts)

    def _some(self, present: torch.Tensor) -> torch.Tensor:
        masks = present.to(self.value.device).reshape(len(present), *self.value.shape)
        inputs = torch.where(masks, self.value, self.base)
        if self.batched:
            return self._numbers(self.f(self._as_given(inputs)), (len(present),))
        return torch.stack([self._numbers(self.f(self._as_given(one)), ()) for one in inputs])

    def _as_given(self, tensor: torch.Tensor) -> Any:
        return tensor if self.as_torch else wrap.wrap_array(tensor)

    def _numbers(self, result: Any, shape: tuple[int, ...]) -> torch.Tensor:
        tensor = result._t if isinstance(result, ArrayBase) else as_tensor(result)
        if isinstance(tensor, DecomposedTensor):
            tensor = tensor.value
        if tuple(tensor.shape) != shape or tensor.is_complex():
            wanted = f"real numbers of shape {shape}" if shape else "a real scalar"
            raise ValueError(
                f"faithfulness: f has to return {wanted} here, not shape {tuple(tensor.shape)}, dtype {tensor.dtype}"
            )
        return tensor.detach().cpu().to(torch.float64)


def _shapley(game: _Game) -> torch.Tensor:
    n = game.value.numel()
    coalitions = (torch.arange(2**n)[:, None] >> torch.arange(n)) & 1
    return shapley_of_worths(game(coalitions.bool()))


def _curves(game: _Game, shares: torch.Tensor, steps: int | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The deletion and insertion curves, and the fraction of the features that each point has treated."""
    n = len(shares)
    steps = min(n, 100) if steps is None else steps
    if not 1 <= steps <= n:
        raise ValueError(f"faithfulness: steps must be from 1 to the number of features, {n}, not {steps}")
    counts = torch.linspace(0, n, steps + 1, dtype=torch.float64).round().to(torch.int64)
    rank = torch.empty(n, dtype=torch.int64)
    rank[torch.argsort(shares, descending=True, stable=True)] = torch.arange(n)
    treated = rank < counts[:, None]
    return game(~treated), game(treated), counts / n


def _sensitivity(
    game: _Game, shares: torch.Tensor, samples: int, seed: int, full: float
) -> tuple[tuple[int, ...], torch.Tensor]:
    """Up to ten subset sizes from 1 to n − 1 (1, for one feature), and the correlation for each."""
    n = len(shares)
    if samples < 2:
        raise ValueError(f"faithfulness: a correlation needs two samples or more, not {samples}")
    source = torch.Generator().manual_seed(seed)
    sizes = sorted({round(1 + i * max(n - 2, 0) / 9) for i in range(10)})
    found = []
    for size in sizes:
        order = torch.rand(samples, n, generator=source).argsort(1)
        chosen = torch.zeros(samples, n, dtype=torch.bool).scatter_(1, order[:, :size], True)
        found.append(_correlation((chosen * shares).sum(1), full - game(~chosen)))
    return tuple(sizes), torch.tensor(found, dtype=torch.float64)


def _correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a - a.mean(), b - b.mean()
    scale = float(a.norm() * b.norm())
    return float(a @ b) / scale if scale else math.nan
