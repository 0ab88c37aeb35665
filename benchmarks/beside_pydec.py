"""What a decomposed call on three numbers takes beside PyDec 0.3.0, for functions of torch that PyDec knows.

    python benchmarks/beside_pydec.py [--only PATTERN] [--turns 7] [--check]

Both carry the contributions of three numbers, each under its own label, and run the same source text; times are µs of
the processor, in one thread. With --check the exit code is 1 if a linear function takes more than 1.5 times PyDec's
time in the geometric mean, or any other function more than its own.
"""

from __future__ import annotations

import argparse
import math
import sys
import timeit
import warnings
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

import npdec as np

CALLS = 100  # in one turn
MAX_LINEAR, MAX_OTHER = 1.5, 1.0

# Of a decomposed vector x or matrix A: `v`, `row` and `w` are plain tensors, `at` places.
LINEAR = """
-x, x * 2, 2 * x, x / 2, x + 1, 1 + x, x - 1, x + x, x - x, x + v, v + x, x - v, x * v, v * x, x / v, x * one, x + one
x.add(1), x.mul(2.0), torch.add(x, x), torch.sub(x, 1), torch.mul(x, v), torch.div(x, 2)
x.sum(), x.sum(0), x.sum(dim=0), x.sum(-1, keepdim=True), torch.sum(x), torch.sum(x, 0)
x.mean(), x.mean(0), x.mean(dim=-1), torch.mean(x), A.sum(), A.sum(1), A.sum(dim=1, keepdim=True), A.mean(-1)
x.reshape(3, 1), x.view(3, 1), x.view(-1), A.reshape(-1), A.view(3, 2), x.squeeze(), A.squeeze(0)
x.unsqueeze(0), torch.unsqueeze(x, 0), A.unsqueeze(1), A.mT, A.transpose(0, 1), A.permute(1, 0)
torch.permute(A, (1, 0))
x[0], x[-1], x[1:], x[None], x[...], x[at], A[0], A[:, 1], A[0, 1], A[:, 1:], A[..., 0], x.select(0, 1)
x.index_select(0, at), torch.index_select(x, 0, at), torch.gather(x, 0, at), x.masked_fill(v > 2, 0.0)
x.masked_select(v > 1)
torch.cat([x, x]), torch.cat([A, A], 1), torch.stack([x, x]), x.clone(), x.contiguous(), x.detach(), x.to(torch.float64)
x @ row, x @ w.T, w @ x, torch.matmul(w, x), A @ row, A @ w.T, torch.mm(A, w.T), torch.bmm(A[None], w.T[None])
F.linear(x, w), F.linear(x, w, w[:, 0]), F.linear(A, w), F.linear(A, w, w[:, 0])
"""
OTHERS = """
torch.relu(x), torch.tanh(x), torch.sigmoid(x), torch.exp(x), torch.sqrt(x), F.gelu(x), x * x, A * A, x / (x + 1)
torch.softmax(x, 0), torch.softmax(A, 0), torch.softmax(A, -1), torch.relu(A), torch.tanh(A), torch.square(x)
F.layer_norm(x, (3,)), F.layer_norm(A, (3,)), torch.bmm(A[None], A.mT[None])
"""


class Cost(NamedTuple):
    """The ratio of two times, and these in µs."""

    ratio: float
    text: str
    npdec: float
    pydec: float


def texts(table: str) -> list[str]:
    """The calls of a table, which commas separate outside of brackets."""
    found, depth = [""], 0
    for letter in table.strip().replace("\n", ", "):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [text.strip() for text in found]


def names() -> tuple[dict[str, Any], dict[str, Any]]:
    """What calls use, with npdec's decomposed tensors and with PyDec's."""
    import pydec

    value, baseline = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, 0.7, 0.9])
    rows = torch.arange(6.0).reshape(2, 3) + 0.5
    x = np.decompose(value, baseline=baseline)
    A = np.decompose(rows, baseline=rows * 0.5)
    generator = torch.Generator().manual_seed(0)
    plain = {
        "v": value,
        "row": torch.rand(3, generator=generator),
        "w": torch.rand(4, 3, generator=generator),
        "one": torch.ones(()),
        "at": torch.tensor([0, 2]),
        "torch": torch,
        "F": F,
    }
    theirs = {name: pydec.Composition(t.components.clone(), t.residual.clone()) for name, t in (("x", x), ("A", A))}
    return {**plain, "x": x, "A": A}, {**plain, **theirs}


def costs(table: str, pattern: str, turns: int) -> list[Cost]:
    ours, theirs = names()
    found = []
    for text in texts(table):
        if pattern not in text:
            continue
        timers = [timeit.Timer(text, timer=process_time, globals=scope) for scope in (ours, theirs)]
        both = [[timer.timeit(CALLS) / CALLS * 1e6 for timer in timers] for _ in range(turns + 1)][1:]
        a, b = (median(turn[i] for turn in both) for i in (0, 1))
        found.append(Cost(median(turn[0] / turn[1] for turn in both), text, a, b))
    return sorted(found, reverse=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="the calls that have it in their text")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--check", action="store_true", help="exit with 1 where a bound does not hold")
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    held = True
    for title, table, most in (("linear", LINEAR, MAX_LINEAR), ("others", OTHERS, MAX_OTHER)):
        measured = costs(table, args.only, args.turns)
        if not measured:
            continue
        print(f"{title:44}{'npdec':>9}{'PyDec':>9}{'ratio':>8}")
        for cost in measured:
            print(f"{cost.text:44}{cost.npdec:9.1f}{cost.pydec:9.1f}{cost.ratio:8.2f}")
        mean = math.exp(sum(math.log(cost.ratio) for cost in measured) / len(measured))
        within = sum(cost.ratio <= most for cost in measured)
        print(f"geometric mean {mean:.2f}; within {most}: {within} of {len(measured)}\n")
        held &= (mean if title == "linear" else measured[0].ratio) <= most
    return 0 if held or not args.check else 1


if __name__ == "__main__":
    sys.exit(main())
