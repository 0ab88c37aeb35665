"""Write docs/methods.md: methods of attribution by completeness, distance to exact Shapley values, curves and cost.

    python scripts/methods_table.py [--points 50] [NAME ...]  # with names, these problems alone, and nothing is written

Each problem is a function of at most ten inputs, so that all coalitions can be tried, with weights and points drawn
here. What is measured is `np.testing.faithfulness` at each point, from a baseline drawn beside it; the table has means
and their standard errors over the points.
"""

from __future__ import annotations

import argparse
import datetime
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

import npdec as np  # noqa: E402
from npdec.explain.estimators import translated  # noqa: E402
from npdec.explain.transformers import Columns, Raw  # noqa: E402

PAGE = ROOT / "docs" / "methods.md"
POINTS = 50
METHODS: dict[str, dict[str, Any]] = {
    "local": {},
    "path": {"method": "path", "batched": True},
    "input_x_gradient": {"method": "input_x_gradient"},
    "occlusion": {"method": "occlusion", "batched": True},
    "shapley, 10 orders": {"method": "shapley", "batched": True, "samples": 10},
}
PEERS = "Captum DeepLift", "Captum GradientShap, 50"


class Problem(NamedTuple):
    """A function of rows (m, n), what it is, and `draw(count)`: that many points, an array (count, n). Of functions of
    tensors `net` has the modules: where Captum looks for those that have a rule. None: of functions of arrays."""

    says: str
    f: Callable[[Any], Any]
    draw: Callable[[int], Any]
    net: torch.nn.Module | None = None


class Module(torch.nn.Module):
    """A problem as Captum takes it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.f, self.net = problem.f, problem.net

    def forward(self, x: Any) -> Any:
        return self.f(x)


def peer(name: str, problem: Problem) -> Callable[[Any, Any], Any]:
    """A method of Captum's, of a row and its baseline."""
    from captum.attr import DeepLift, GradientShap

    if name == PEERS[0]:
        lift = DeepLift(Module(problem))
        return lambda x, start: lift.attribute(x[None], start[None])[0].detach()
    shap = GradientShap(Module(problem))
    return lambda x, start: shap.attribute(x[None], start[None], n_samples=50)[0].detach()


class Measured(NamedTuple):
    """Of one point: what the shares miss, their distance to Shapley values, and the area between the curves, as parts
    of the sum of the magnitudes of the Shapley values; the time as a multiple of that of the function."""

    completeness: float
    distance: float
    curves: float
    cost: float


# --- problems ---------------------------------------------------------------------------------------------------------


def _normal(size: int) -> Callable[[int], torch.Tensor]:
    return lambda count: torch.randn(count, size, dtype=torch.float64)


def _network(*layers: torch.nn.Module) -> torch.nn.Module:
    return torch.nn.Sequential(*layers).double().eval().requires_grad_(False)


def linear() -> Problem:
    weights = torch.randn(8, dtype=torch.float64)
    return Problem("w · x, 8 inputs", lambda x: x @ weights, _normal(8), torch.nn.Identity())


def products() -> Problem:
    def f(x: Any) -> Any:
        return x[:, 0] * x[:, 1] * x[:, 2] + x[:, 3] * x[:, 4] + x[:, 5] * (x[:, 0] + x[:, 6])

    return Problem("products of two and three of 7 inputs", f, _normal(7), torch.nn.Identity())


def relu() -> Problem:
    layer, act = torch.nn.Linear, torch.nn.ReLU
    net = _network(layer(10, 24), act(), layer(24, 24), act(), layer(24, 1))
    return Problem("ReLU network, 10-24-24-1", lambda x: net(x)[:, 0], _normal(10), net)


def smooth() -> Problem:
    layer = torch.nn.Linear
    net = _network(layer(10, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), layer(16, 16), torch.nn.Tanh(), layer(16, 1))
    return Problem("network with LayerNorm, GELU and tanh", lambda x: net(x)[:, 0], _normal(10), net)


def classifier() -> Problem:
    net = _network(torch.nn.Linear(10, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    last = torch.nn.Softmax(1)  # a module, which Captum has a rule for
    f = lambda x: last(3 * net(x))[:, 0]  # noqa: E731
    return Problem("softmax classifier: probability of a class", f, _normal(10), torch.nn.ModuleList([net, last]))


def attention() -> Problem:
    torch_layer = torch.nn.MultiheadAttention(4, 2, batch_first=True).double().eval().requires_grad_(False)
    embedding = torch.randn(2, 4, dtype=torch.float64)
    with torch.no_grad():
        torch_layer.in_proj_weight.mul_(3)

    def f(x: Any) -> Any:
        tokens = x.reshape(-1, 5, 2) @ embedding
        return torch_layer(tokens, tokens, tokens)[0][:, -1].sum(1)

    return Problem("attention of two heads over 5 tokens of 2 numbers", f, _normal(10), torch_layer)


def recurrent() -> Problem:
    lstm = torch.nn.LSTM(1, 8, batch_first=True).double().eval().requires_grad_(False)
    head = torch.randn(8, dtype=torch.float64)
    return Problem("LSTM over 8 steps", lambda x: lstm(2 * x[:, :, None])[0][:, -1] @ head, _normal(8), lstm)


def option() -> Problem:
    def f(x: Any) -> Any:
        spot, strike, rate, volatility, years = (x[:, i] for i in range(5))
        spread = volatility * years.sqrt()
        first = ((spot / strike).log() + (rate + volatility**2 / 2) * years) / spread
        discounted = strike * (-rate * years).exp()
        return spot * torch.special.ndtr(first) - discounted * torch.special.ndtr(first - spread)

    low, high = torch.tensor([[80, 80, 0.0, 0.1, 0.2], [120, 120, 0.06, 0.5, 2.0]], dtype=torch.float64)
    draw = lambda n: low + (high - low) * torch.rand(n, 5).double()  # noqa: E731
    return Problem("Black–Scholes price of a call", f, draw, torch.nn.Identity())


def forest() -> Problem:
    from sklearn.ensemble import RandomForestRegressor

    rows = torch.randn(400, 6, dtype=torch.float64)
    target = rows[:, 0] * rows[:, 1] + (rows[:, 2] > 0) + rows[:, 3].sin()
    model = RandomForestRegressor(12, max_depth=5, random_state=0).fit(rows.numpy(), target.numpy())
    predict = translated(model, "predict", Raw(tuple(range(6)), Columns(None, 6)))
    return Problem("random forest of 12 trees", lambda x: predict(x)[..., 0], lambda n: np.asarray(_normal(6)(n)))


def conditions() -> Problem:
    def f(x: Any) -> Any:
        risk = np.where(x[:, 0] > 0.3, np.where(x[:, 1] > -0.2, 3.0, 1.0), np.where(x[:, 2] > 0, 2.0, 0.0))
        return risk * (1 + 0.5 * (x[:, 3] > 0)) + np.where(x[:, 4] > 0.5, x[:, 5], -x[:, 5])

    return Problem("rules with thresholds, 6 inputs", f, lambda n: np.asarray(_normal(6)(n)))


PROBLEMS: Sequence[Callable[[], Problem]] = (
    linear, products, relu, smooth, classifier, attention, recurrent, option, forest, conditions,
)  # fmt: skip


# --- measures ---------------------------------------------------------------------------------------------------------


def measured(problem: Problem, points: int) -> tuple[dict[str, list[Measured]], float]:
    """For each method what was measured at each point, and the seconds of a plain call."""
    rows, starts = problem.draw(points), problem.draw(points)
    peers = {} if problem.net is None else {name: peer(name, problem) for name in PEERS}
    found: dict[str, list[Measured]] = {name: [] for name in (*METHODS, *peers)}
    for x, start in zip(rows, starts, strict=True):
        plain = _seconds(lambda x=x: problem.f(x[None]))
        shares, seconds = {}, {}
        for name, options in METHODS.items():
            f = problem.f if options.get("batched") else lambda v: problem.f(v[None])[0]
            call = lambda f=f, x=x, start=start, options=options: np.attribute(f, x, baseline=start, **options)  # noqa: E731
            shares[name], seconds[name] = _timed(call)
        for name, method in peers.items():
            shares[name], seconds[name] = _timed(lambda method=method, x=x, start=start: method(x, start))
        table = np.testing.faithfulness(problem.f, x, start, shares, batched=True, samples=2)
        for name, row in table.items():
            size = float(np.abs(np.asarray(row.shapley)).sum()) or 1.0
            curves = (row.insertion_area - row.deletion_area) / size
            distance = row.shapley_distance / size if row.shapley_distance is not None else math.nan
            found[name].append(Measured(abs(row.completeness) / size, distance, curves, seconds[name] / plain))
    return found, plain


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    call()
    began = time.process_time()
    return call(), time.process_time() - began


def _seconds(call: Callable[[], Any], repeats: int = 20) -> float:
    call()
    began = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - began) / repeats


def said(numbers: Sequence[float], digits: str = ".2g") -> str:
    """The mean and its standard error. What is below 1e-12 is rounding."""
    mean = statistics.fmean(numbers)
    if abs(mean) < 1e-12 and max(map(abs, numbers)) < 1e-11:
        return "< 1e-12"
    error = statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else 0.0
    return f"{_plain(mean, digits)} ± {_plain(error, '.1g')}"


def _plain(number: float, digits: str) -> str:
    """The digits without an exponent, where the number is not small."""
    text = f"{number:{digits}}"
    return f"{float(text):.0f}" if abs(number) >= 10 else text


MEASURES = (
    ("completeness", "Completeness: what the shares miss of the change"),
    ("distance", "Distance to the exact Shapley values"),
    ("curves", "Area between the insertion and the deletion curve (more is better)"),
    ("cost", "Cost, in calls of the function"),
)


def tables(results: Mapping[str, dict[str, list[Measured]]]) -> list[str]:
    lines, names = [], (*METHODS, *PEERS)
    for place, (_, title) in enumerate(MEASURES):
        lines += ["", f"## {title}", "", f"| problem | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]
        for problem, found in results.items():
            digits = ".2g" if place < 3 else ".3g"
            cells = [said([row[place] for row in found[name]], digits) if name in found else "–" for name in names]
            lines.append(f"| {problem} | {' | '.join(cells)} |")
    return lines


HEAD = """\
# Methods of attribution, measured

Written by `scripts/methods_table.py` on {date} with torch {torch}: {points} points of each of {count} problems, with a
baseline drawn beside each. All numbers are means, with their standard errors over the points. The first three are parts
of the sum of the magnitudes of the exact Shapley values, which are found by all coalitions; "< 1e-12" is rounding.

`local` is npdec's default, the law operation by operation; `path` is integrated gradients, by as many nodes as its
tolerance asks for; `occlusion` takes one input away at a time; the Shapley values are sampled from ten orders, each
also gone through backwards. Captum's DeepLift stands beside them (over several baselines it is DeepLiftShap), and its
GradientShap of 50 points on the way; "–" where a function is not one of tensors, which they need. What is "in calls of
the function" is processor time, and on functions of ten numbers it is mostly the overhead of each operation: for large
models `local` takes less than two plain forward-and-backward passes.

**Read from the tables.** `local` and the Shapley values miss nothing anywhere; integrated gradients miss their
tolerance, and on trees and rules, whose gradient is zero, half of that sum and more. In smooth functions `local` and
`path` are about equally near to the exact Shapley values: `path` is nearer for products of three, softmax and
attention, `local` behind LayerNorm; they order the inputs equally well. On trees and rules `local` is 30 times nearer
or more. Ten random orders of so few inputs are nearer than either, except that their cost grows with the inputs, and
that of `local` does not: of a fast function of ten numbers take Shapley values, of a network, a simulation or a text
`local`. DeepLift is `local` in the network of linear layers and ReLU modules. With LayerNorm or a softmax it is not
complete, and where a network multiplies what it computed (products, attention, LSTM, the price) it is gradient times
input, as far from the Shapley values as that. GradientShap is `path`, but for what its draws miss.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--points", type=int, default=POINTS)
    options = parser.parse_args()
    chosen = [make for make in PROBLEMS if not options.names or make.__name__ in options.names]
    results = {}
    for make in chosen:
        torch.manual_seed(0)
        problem = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # path integrals of steps do not converge
            results[problem.says], _ = measured(problem, options.points)
        print(problem.says, {name: said([row[1] for row in rows]) for name, rows in results[problem.says].items()})
    made = tables(results)
    if options.names or options.points != POINTS:
        print("\n".join(made))
        return
    head = HEAD.format(date=datetime.date.today(), torch=torch.__version__.partition("+")[0], points=POINTS,
                       count=len(results))  # fmt: skip
    PAGE.write_text("\n".join([head.rstrip(), *made]) + "\n")


if __name__ == "__main__":
    main()
