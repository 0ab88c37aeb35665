"""Sampled Shapley values beside SHAP's PermutationExplainer: processor time to equal standard error.

Both go through random orders of the inputs forwards and backwards. The time of a call is multiplied by the variance of
what it estimates, over the seeds: of two ways the one with the smaller product reaches a given standard error sooner.
Needs SHAP (`pip install -c constraints.txt -e '.[compare]'`).

    python benchmarks/shapley.py [--seeds 20] [--orders 25]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy
import shap
import torch

import npdec as np

INPUTS = (12, 40, 100)
HIDDEN = 64


def models(inputs: int) -> dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]:
    """Functions of rows of numbers, written with NumPy and with npdec."""
    rng = numpy.random.default_rng(inputs)
    first, bias = rng.normal(size=(inputs, HIDDEN)) / inputs**0.5, rng.normal(size=HIDDEN) / 10
    second = rng.normal(size=HIDDEN) / HIDDEN**0.5

    def written(xp: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        w, b, v = xp.asarray(first), xp.asarray(bias), xp.asarray(second)
        return (
            lambda x: xp.tanh(x @ w + b) @ v,
            lambda x: xp.maximum(x @ w, 0) @ v + x[..., 0] * x[..., 1] * xp.exp(-(x[..., 2] ** 2)),
        )

    return dict(zip(("tanh network", "ReLU and products"), zip(written(numpy), written(np)), strict=True))


def measured(call: Callable[[int], Any], seeds: int) -> tuple[float, float]:
    """Seconds of processor time of a call, the median; the mean variance of an estimate."""
    seconds, found = [], []
    call(seeds)
    for seed in range(seeds):
        start = time.process_time()
        made = call(seed)
        seconds.append(time.process_time() - start)
        found.append(numpy.asarray(made, dtype=float))
    return median(seconds), float(numpy.var(found, axis=0, ddof=1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--orders", type=int, default=25)
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(f"{'':32}{'ms':>16}{'standard error':>20}{'time x variance':>18}")
    print(f"{'':32}{'npdec':>8}{'SHAP':>8}{'npdec':>10}{'SHAP':>10}{'ratio':>18}")
    for inputs in INPUTS:
        x = numpy.random.default_rng(0).normal(size=inputs)
        for name, (in_numpy, in_npdec) in models(inputs).items():
            masker = shap.maskers.Independent(numpy.zeros((1, inputs)))

            def theirs(seed: int, f: Any = in_numpy, masker: Any = masker, x: Any = x) -> Any:
                evaluations = given.orders * (2 * len(x) + 1)
                explainer = shap.explainers.Permutation(f, masker, seed=seed)
                return explainer(x[None], max_evals=evaluations, silent=True).values[0]

            def ours(seed: int, f: Any = in_npdec, x: Any = x) -> Any:
                return np.attribute(
                    f, np.array(x), baseline=0.0, method="shapley", samples=given.orders, batched=True, seed=seed
                ).attribution

            seconds, variance = measured(ours, given.seeds)
            their_seconds, their_variance = measured(theirs, given.seeds)
            ratio = seconds * variance / (their_seconds * their_variance)
            print(
                f"{inputs:3} inputs, {name:20}{seconds * 1e3:8.2f}{their_seconds * 1e3:8.2f}"
                f"{variance**0.5:10.1e}{their_variance**0.5:10.1e}{ratio:18.2f}"
            )


if __name__ == "__main__":
    main()
