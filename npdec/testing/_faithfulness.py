"""`faithfulness`: how well an attribution says what a function does, by the measures that papers report."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, overload

import torch

from npdec._array import wrap
from npdec._core.tracebacks import ends
from npdec.attribution._games import shapley_of_worths
from npdec.testing._game import Game, correlation

__all__ = ["Faithfulness", "FaithfulnessTable", "faithfulness"]

_MAX_SHAPLEY = 16  # features, whose 65536 subsets are all tried


@dataclass(frozen=True)
class Faithfulness:
    """What `faithfulness` measured, for n features. All arrays are plain arrays of float64.

    `completeness`: f(x) − f(baseline) − attribution.sum().
    `shapley`: the exact Shapley values, in the shape of x; None for more than 16 features. `shapley_distance`: the
    Euclidean distance of the attribution to them.
    `deletion`, `insertion`: the curves, f after each step, the first and last entry included. `deletion_area`,
    `insertion_area`: the areas under them, the steps on [0, 1].
    `infidelity`: how far the sums over subsets are from what their absence does, squared and averaged.
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
    infidelity: float


class FaithfulnessTable(dict[str, Faithfulness]):
    """What `faithfulness` measured of several attributions, by their names: a dict, which prints as a table.

    `seconds`: the processor time of those that were given as functions. `plot(axes)` draws the deletion and insertion
    curves of all into a pair of matplotlib's axes, by default those of a new figure, which it returns.
    """

    def __init__(self, rows: Mapping[str, Faithfulness], seconds: Mapping[str, float]) -> None:
        super().__init__(rows)
        self.seconds = dict(seconds)

    def __repr__(self) -> str:
        head = ["", "completeness", "to Shapley", "insertion − deletion", "infidelity", "sensitivity-n", "seconds"]
        lines = [head]
        for name, row in self.items():
            correlations = [c for c in row.sensitivity.tolist() if not math.isnan(c)]
            numbers = (
                row.completeness,
                row.shapley_distance,
                row.insertion_area - row.deletion_area,
                row.infidelity,
                sum(correlations) / len(correlations) if correlations else None,
                self.seconds.get(name),
            )
            lines.append([name, *("–" if number is None else f"{number:.3g}" for number in numbers)])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join([line[0].ljust(widths[0]), *(w.rjust(n) for w, n in zip(line[1:], widths[1:], strict=True))])
            for line in lines
        )

    def plot(self, axes: Any = None) -> Any:
        """Raises ImportError where matplotlib is not installed."""
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure(figsize=(9, 3.5), layout="constrained").subplots(1, 2, sharey=True)
        for one, title in zip(axes, ("deletion", "insertion"), strict=True):
            for name, row in self.items():
                curve = getattr(row, title).tolist()
                one.plot([i / (len(curve) - 1) for i in range(len(curve))], curve, label=name)
            one.set(
                title=title, xlabel=f"part of the features that is {'absent' if title == 'deletion' else 'present'}"
            )
        axes[0].set_ylabel("f")
        axes[1].legend(frameon=False)
        return axes[0].figure


@overload
def faithfulness(
    f: Callable[[Any], Any],
    x: Any,
    baseline: Any,
    attribution: Mapping[str, Any],
    *,
    batched: bool = False,
    steps: int | None = None,
    samples: int = 100,
    seed: int = 0,
) -> FaithfulnessTable: ...
@overload
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
) -> Faithfulness: ...
@ends
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
) -> Any:
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

    Infidelity: the mean square of Σ_{i ∈ T} attribution_i − (f(x) − f(x without T)), over random subsets T that have
    each feature with probability ½ (C.-K. Yeh et al., "On the (in)fidelity and sensitivity of explanations", NeurIPS
    2019); `np.testing.infidelity` takes other perturbations.

    Returns a `Faithfulness`. `attribution` may be a dict of several, by name, or of functions without arguments that
    make them, which are timed: then a `FaithfulnessTable` of all, which prints as a table and draws the curves.

    Raises ValueError for shapes that do not fit, TypeError for dtypes that are not floating.

    >>> def f(x):
    ...     return x[..., 0] * x[..., 1] + x[..., 2]
    >>> x = np.array([3.0, 2.0, 1.0])
    >>> found = np.testing.faithfulness(f, x, 0.0, np.attribute(f, x), batched=True)
    >>> found.shapley, found.shapley_distance, found.deletion
    (array([3., 3., 1.]), 0.0, array([7., 1., 1., 0.]))
    >>> x = np.array([3.0, 2.0, 10.0])
    >>> methods = {name: np.attribute(f, x, method=name) for name in ("local", "occlusion")}
    >>> np.testing.faithfulness(f, x, 0.0, methods, batched=True)
               completeness  to Shapley  insertion − deletion  infidelity  sensitivity-n  seconds
    local                 0           0                  4.67         3.6              1        –
    occlusion            -6        4.24                  4.67        11.9              1        –
    """
    game = Game("faithfulness", f, x, baseline, batched)
    if isinstance(attribution, Mapping):
        return _compared(game, attribution, steps, samples, seed)
    shares = game.shares(attribution)
    return _Exact(game).measured(shares, steps, samples, seed)


class _Exact:
    """What does not depend on the attribution: the ends, and the exact Shapley values."""

    def __init__(self, game: Game) -> None:
        n = game.value.numel()
        self.game = game
        self.ends = game(torch.tensor([[True] * n, [False] * n]))
        self.shapley = _shapley(game) if n <= _MAX_SHAPLEY else None

    def measured(self, flat: torch.Tensor, steps: int | None, samples: int, seed: int) -> Faithfulness:
        game, shapley, shape = self.game, self.shapley, self.game.value.shape
        full = float(self.ends[0])
        deletion, insertion, at = _curves(game, flat, steps)
        sizes, sensitivity = _sensitivity(game, flat, samples, seed, full)
        absent = torch.rand(samples, len(flat), generator=torch.Generator().manual_seed(seed)) < 0.5
        return Faithfulness(
            completeness=float(self.ends[0] - self.ends[1] - flat.sum()),
            shapley=None if shapley is None else wrap.wrap_array(shapley.reshape(shape)),
            shapley_distance=None if shapley is None else float((flat - shapley).norm()),
            deletion=wrap.wrap_array(deletion),
            insertion=wrap.wrap_array(insertion),
            deletion_area=float(torch.trapezoid(deletion, at)),
            insertion_area=float(torch.trapezoid(insertion, at)),
            sizes=sizes,
            sensitivity=wrap.wrap_array(sensitivity),
            infidelity=float(((absent * flat).sum(1) - (full - game(~absent))).square().mean()),
        )


def _compared(
    game: Game, attributions: Mapping[str, Any], steps: int | None, samples: int, seed: int
) -> FaithfulnessTable:
    if not attributions:
        raise ValueError("faithfulness: there are no attributions to compare")
    exact = _Exact(game)
    rows, seconds = {}, {}
    for name, given in attributions.items():
        if callable(given):
            start = time.process_time()
            given = given()
            seconds[name] = time.process_time() - start
        rows[name] = exact.measured(game.shares(given), steps, samples, seed)
    return FaithfulnessTable(rows, seconds)


def _shapley(game: Game) -> torch.Tensor:
    n = game.value.numel()
    coalitions = (torch.arange(2**n)[:, None] >> torch.arange(n)) & 1
    return shapley_of_worths(game(coalitions.bool()))


def _curves(game: Game, shares: torch.Tensor, steps: int | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
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
    game: Game, shares: torch.Tensor, samples: int, seed: int, full: float
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
        found.append(float(correlation((chosen * shares).sum(1), full - game(~chosen))))
    return tuple(sizes), torch.tensor(found, dtype=torch.float64)
