"""What a decomposed call on a few numbers costs, for every public function: beside the same call of plain arrays.

    python benchmarks/decomposed_calls.py [--only PATTERN] [--turns 7]

Functions are called as the first of their samples says (`tests/samples.py`), with the first array of floats in it under
three labels. Times are µs of the processor in one thread. At the end stand, for functions that are linear in their
arguments and for all others by how the law reaches them (the column "by" of docs/decomposition.md), the geometric mean,
the 95th percentile and the largest; and a multiplication by a number, as what the cheapest of decomposed calls takes.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch

import npdec as np
from overhead import summary
from overhead_rows import _statement, _timer, _tree, samples

TURN_S = 2e-3
PAGE = Path(__file__).resolve().parents[1] / "docs" / "decomposition.md"
KINDS = ("linear", "product", "slope", "quotient", "envelope", "order", "step", "quadrature")


class Cost(NamedTuple):
    """The µs of a function's call, decomposed and plain, and how the law reaches it."""

    decomposed: float
    plain: float
    name: str
    by: str


def ways() -> dict[str, str]:
    """How the law reaches each function, as the table says."""
    rows = (re.match(r"\| `([\w.]+)` \| [^|]*\| ([^|]*)\|", line) for line in PAGE.read_text().splitlines())
    return {row[1]: row[2].strip() for row in rows if row}


def decomposed(args: list[Any]) -> list[Any] | None:
    """The arguments, of which the first array of floats is decomposed; None where there is none."""
    found = []

    def leaf(x: Any) -> Any:
        if found or not isinstance(x, np.ndarray) or x.dtype.kind != "f" or not 0 < x.size <= 1000:
            return x
        found.append(x)
        groups = (np.arange(x.size) % 3).reshape(x.shape) if x.ndim else None
        return np.decompose(x, baseline=x * 0.5 + 0.1, groups=groups)

    made = [_tree(a, leaf) for a in args]
    return made if found else None


def micros(timer: Callable[[int], float], turns: int) -> float:
    timer(3)
    loops = max(1, min(500, round(TURN_S / (timer(3) / 3 + 1e-9))))
    return 1e6 * median(timer(loops) / loops for _ in range(turns))


def costs(pattern: str, turns: int) -> Iterator[Cost]:
    by = ways()
    for name, known in samples.SAMPLES.items():
        function = samples.find(np, name)
        if function is None or name not in by or pattern not in name:
            continue
        args, kwargs = known[0].build(np)
        carried = decomposed(args)
        if carried is None:
            continue
        try:
            function(*carried, **kwargs)
        except (TypeError, ValueError, NotImplementedError):  # which takes none
            continue
        both = []
        for given in (carried, args):
            text, scope = _statement(given, kwargs)
            both.append(micros(_timer(text, {**scope, "f": function}), turns))
        yield Cost(both[0], both[1], name, by[name])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="the functions that have it in their names")
    parser.add_argument("--turns", type=int, default=7)
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    measured = sorted(costs(args.only, args.turns), reverse=True)
    print(f"{'':30}{'decomposed':>12}{'plain':>10}  by")
    for cost in measured:
        print(f"{cost.name:30}{cost.decomposed:12.1f}{cost.plain:10.1f}  {cost.by}")
    print(f"\n{'by':30}{'functions':>10}{'geometric mean':>16}{'95th percentile':>17}{'worst':>10}")
    left = measured
    for kind in reversed(KINDS):  # each function counts where it is dearest
        here = [cost for cost in left if kind in cost.by]
        left = [cost for cost in left if kind not in cost.by]
        if here:
            mean, high, worst = summary([cost.decomposed for cost in here]).values()
            print(f"{kind:30}{len(here):10}{mean:16.1f}{high:17.1f}{worst:10.1f}")
    x = np.decompose(np.array([1.0, 2.0, 3.0]), baseline=0.5)
    print(f"{'x * 2.0':30}{'':10}{micros(_timer('x * 2.0', {'x': x}), args.turns):16.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
