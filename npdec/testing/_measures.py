"""Measures of attributions beside `faithfulness`: infidelity, sensitivity, checks by randomisation, and agreement."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._core.tracebacks import ends
from npdec._decomposed.tensor import DecomposedTensor
from npdec.testing._game import Game, correlation, ranks

__all__ = ["Agreement", "Randomization", "agreement", "infidelity", "max_sensitivity", "randomization"]


@ends
def infidelity(
    f: Callable[[Any], Any],
    x: Any,
    baseline: Any,
    attribution: Any,
    *,
    parts: Any = None,
    samples: int = 100,
    seed: int = 0,
    batched: bool = False,
) -> float:
    """How far an attribution is from what perturbations do to `f`: the mean square of
    Σ_i w_i attribution_i − (f(x) − f(x − w (x − baseline))), over perturbations that take away a part w_i of the change
    of each feature (C.-K. Yeh, C.-Y. Hsieh, A. Suggala, D. Inouye and P. Ravikumar, "On the (in)fidelity and
    sensitivity of explanations", NeurIPS 2019, for I = w (x − baseline)). 0 is best.

    `f`, `x`, `baseline`, `attribution` and `batched` are those of `faithfulness`. `parts`: the perturbations w, real
    numbers of shape (m, *S); by default `samples` random subsets, drawn with `seed`, in each of which a feature is
    taken away with probability ½. Raises ValueError for shapes that do not fit, TypeError for features that are not
    floating.

    >>> x = np.array([2.0, 3.0])
    >>> both = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> np.testing.infidelity(lambda x: x[0] * x[1], x, 0.0, np.array([3.0, 3.0]), parts=both)  # 3 − 6, 3 − 6, 6 − 6
    6.0
    """
    game = Game("infidelity", f, x, baseline, batched)
    shares = game.shares(attribution)
    shape = game.value.shape
    if parts is None:
        if samples < 1:
            raise ValueError(f"infidelity: a mean needs a sample or more, not {samples}")
        drawn = torch.rand(samples, len(shares), generator=torch.Generator().manual_seed(seed)) < 0.5
        taken = drawn.to(torch.float64)
    else:
        given = as_tensor(parts)
        if given.ndim != len(shape) + 1 or given.shape[1:] != shape or not len(given):
            raise ValueError(f"infidelity: parts of shape {tuple(given.shape)} for an input of shape {tuple(shape)}")
        taken = given.detach().cpu().to(torch.float64).reshape(len(given), -1)
    full = game.without(torch.zeros(1, len(shares)))
    return float(((taken * shares).sum(1) - (full - game.without(taken))).square().mean())


@ends
def max_sensitivity(
    attribute: Callable[[Any], Any],
    x: Any,
    *,
    radius: float = 0.02,
    samples: int = 10,
    seed: int = 0,
    moves: Any = None,
) -> float:
    """How much an attribution changes where its input hardly does: the largest ‖φ(x + δ) − φ(x)‖ / ‖φ(x)‖, by Euclidean
    norms, over moves δ of at most `radius` in each feature (Yeh et al., NeurIPS 2019, as for `infidelity`).

    `attribute` gives the attribution φ, an array of any shape or an `Attribution`, of an array like `x`, of shape S.
    `moves`: the δ, of shape (m, *S); by default `samples` of them, uniform in the cube, drawn with `seed`. NaN where
    φ(x) is zero. Raises ValueError for shapes that do not fit and a radius that is not positive, TypeError where
    `attribute` returns nothing.

    >>> moves = [[0.5, 0.0], [0.0, -0.25]]
    >>> np.testing.max_sensitivity(lambda x: x**2, np.array([1.0, 0.0]), moves=moves)
    1.25
    """
    value = _numbers(x)
    if moves is None:
        if samples < 1:
            raise ValueError(f"max_sensitivity: a maximum needs a sample or more, not {samples}")
        if not (radius > 0 and math.isfinite(radius)):
            raise ValueError(f"max_sensitivity: radius is a positive number, not {radius}")
        drawn = torch.rand(samples, *value.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        steps = (2 * drawn - 1) * radius
    else:
        steps = _numbers(moves)
        if steps.shape[1:] != value.shape or not steps.ndim or not len(steps):
            raise ValueError(
                f"max_sensitivity: moves of shape {tuple(steps.shape)} for an input of shape {tuple(value.shape)}"
            )
    as_torch = isinstance(x, torch.Tensor)
    first = _flat("max_sensitivity", attribute(x))
    most = 0.0
    for step in steps.to(value):
        moved = value + step
        again = attribute(moved if as_torch else wrap.wrap_array(moved))
        change = (_flat("max_sensitivity", again) - first).norm()
        most = max(most, float(change))
    scale = float(first.norm())
    return most / scale if scale else math.nan


@dataclass(frozen=True)
class Randomization:
    """How like the first an attribution stays while a network is made random, module by module, from its output on.

    `modules`: their names, in that order. `correlation`, `magnitudes`: Spearman's rank correlation with the attribution
    to the network as it is, and of the absolute values of the two, after each.
    """

    modules: tuple[str, ...]
    correlation: Any
    magnitudes: Any

    def __repr__(self) -> str:
        width = max(map(len, self.modules))
        rows = zip(self.modules, self.correlation.tolist(), self.magnitudes.tolist(), strict=True)
        return "\n".join(
            [
                " " * width + "  correlation  of magnitudes",
                *(f"{n.ljust(width)}  {a:11.3f}  {b:13.3f}" for n, a, b in rows),
            ]
        )


@ends
def randomization(
    net: torch.nn.Module,
    attribute: Callable[[torch.nn.Module], Any],
    *,
    modules: Sequence[str] | None = None,
    cascade: bool = True,
    seed: int = 0,
) -> Randomization:
    """Whether an attribution depends on what a network has learned: with random weights it should be another (J.
    Adebayo, J. Gilmer, M. Muelly, I. Goodfellow, M. Hardt and B. Kim, "Sanity checks for saliency maps", NeurIPS 2018).

    `attribute(net)` gives the attribution of a network, an array or an `Attribution`. `net` is left as it is: the
    parameters of copies are drawn anew, from the normal distribution with their mean and deviation, with `seed`.
    `modules`: names, in the order of the randomisation; by default all that have parameters of their own, the last one
    first. `cascade=False`: one at a time, the others as they were.

    Raises ValueError for a name that the network does not have, or without modules to make random, TypeError for what
    is no module, and where `attribute` returns nothing.

    >>> net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    >>> found = np.testing.randomization(net, lambda net: np.attribute(net, torch.tensor([1.0, 2.0, 3.0])))
    >>> found.modules, found.correlation.shape
    (('2', '0'), (2,))
    """
    if not hasattr(net, "named_modules"):
        raise TypeError(f"randomization: net is a torch module, not {type(net).__name__}")
    owned = {name: module for name, module in net.named_modules() if list(module.parameters(recurse=False))}
    names = tuple(reversed(owned)) if modules is None else tuple(modules)
    unknown = [name for name in names if name not in owned]
    if unknown or not names:
        said = f"no modules {unknown} with parameters" if unknown else "no parameters"
        raise ValueError(f"randomization: {type(net).__name__} has {said}: it has {sorted(owned)}")
    source = torch.Generator().manual_seed(seed)
    first = _flat("randomization", attribute(net))
    changed = copy.deepcopy(net)
    found = []
    for name in names:
        if not cascade:
            changed = copy.deepcopy(net)
        with torch.no_grad():
            for parameter in changed.get_submodule(name).parameters(recurse=False):
                drawn = torch.randn(parameter.shape, generator=source, dtype=torch.float64).to(parameter)
                spread = parameter.std() if parameter.numel() > 1 else parameter.new_zeros(())
                parameter.copy_(parameter.mean() + spread * drawn)
        now = _flat("randomization", attribute(changed))
        found.append([correlation(ranks(a), ranks(b)) for a, b in ((now, first), (now.abs(), first.abs()))])
    plain, magnitudes = (torch.stack(column) for column in zip(*found, strict=True))
    return Randomization(names, wrap.wrap_array(plain), wrap.wrap_array(magnitudes))


@dataclass(frozen=True)
class Agreement:
    """How alike methods rank the features: `mean`, `low` and `high` are matrices (k, k) for the k `names`."""

    names: tuple[str, ...]
    mean: Any
    low: Any
    high: Any
    measure: str

    def __repr__(self) -> str:
        cells = [
            [f"{m:.2f} [{a:.2f}, {b:.2f}]" for m, a, b in zip(*row, strict=True)]
            for row in zip(self.mean.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        ]
        lines = [[self.measure, *self.names], *([name, *row] for name, row in zip(self.names, cells, strict=True))]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(word.rjust(n) for word, n in zip(line, widths, strict=True)) for line in lines)


@ends
def agreement(
    attributions: Mapping[str, Any],
    *,
    top: int | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """How far methods agree, for each pair the mean over rows and its confidence interval.

    `attributions`: for each method, by name, an array (rows, *S), or an `Attribution` with one. The measure of a row is
    Spearman's rank correlation of the shares; with `top=k`, the part of the k features with the largest absolute shares
    that the two have in common (S. Krishna et al., "The disagreement problem in explainable machine learning", TMLR
    2024). Intervals are percentiles of the means over `resamples` samples of the rows, drawn with `seed` (B. Efron,
    "Bootstrap methods", Annals of Statistics 1979). Rows in which a method gives all features the same share have no
    correlation, and are left out.

    Raises ValueError for shapes that differ, and for a `top` or `confidence` that cannot be.

    >>> one, two = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]), np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    >>> np.testing.agreement({"one": one, "two": two}).mean
    array([[1., 0.],
           [0., 1.]])
    """
    if not isinstance(attributions, Mapping):
        raise TypeError(f"agreement: attributions by name, a dict, not {type(attributions).__name__}")
    names = tuple(attributions)
    rows = [_numbers(getattr(one, "attribution", one)).to(torch.float64) for one in attributions.values()]
    shapes = {tuple(row.shape) for row in rows}
    if len(shapes) != 1 or rows[0].ndim < 2 or not rows[0].numel():
        raise ValueError(
            f"agreement: attributions (rows, *S) of one shape are compared, not of shapes {sorted(shapes)}"
        )
    if not 0 < confidence < 1:
        raise ValueError(f"agreement: confidence is between 0 and 1, not {confidence}")
    flat = torch.stack(rows).flatten(2)
    n = flat.shape[-1]
    if top is None:
        ranked = ranks(flat)
        each = correlation(ranked[:, None], ranked[None])  # (k, k, rows)
    else:
        if not 1 <= top <= n:
            raise ValueError(f"agreement: top is from 1 to the number of features, {n}, not {top}")
        chosen = torch.zeros_like(flat).scatter_(-1, flat.abs().topk(top, -1).indices, 1.0)
        each = (chosen[:, None] * chosen[None]).sum(-1) / top
    source = torch.Generator().manual_seed(seed)
    draws = torch.randint(each.shape[-1], (resamples, each.shape[-1]), generator=source)
    means = torch.stack([each[..., draw].nanmean(-1) for draw in draws])
    tail = (1 - confidence) / 2
    low, high = (means.nanquantile(q, 0) for q in (tail, 1 - tail))
    measure = "rank correlation" if top is None else f"top {top} in common"
    mean, low, high = (wrap.wrap_array(part) for part in (each.nanmean(-1), low, high))
    return Agreement(names, mean, low, high, measure)


def _numbers(x: Any) -> torch.Tensor:
    tensor = as_tensor(x)
    return (tensor.value if isinstance(tensor, DecomposedTensor) else tensor).detach()


def _flat(name: str, attribution: Any) -> torch.Tensor:
    """An attribution as one row of float64, on the host; of several inputs one after the other."""
    found = getattr(attribution, "attribution", attribution)
    if found is None:
        raise TypeError(f"{name}: attribute(...) returns an attribution or an array, not NoneType")
    parts = found if isinstance(found, tuple) else (found,)
    return torch.cat([_numbers(part).reshape(-1).cpu().to(torch.float64) for part in parts])
