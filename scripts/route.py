"""Print the way of one decomposed call through npdec: its Python functions in the order in which they are called.

`python scripts/route.py linear` shows one of the calls below; without a name, how many functions in how many files each
runs. The call is warm: made before, so that what is done once is not counted. Functions of torch that are written in
Python are left out, and shown with `--all`. `--registry` counts the calls of all functions that the registry has which
act element by element on one argument, alone or beside a number or a constant tensor, with and without jumps; of those
with jumps on two; and of all products of two. It shows the longest.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.nn.functional as F

import npdec as np
from npdec._decomposed.registry import Trait, rows
from npdec._law.law import TaggedRule
from npdec._rules.rms_norm_pattern import Watched

PACKAGE = str(Path(np.__file__).parent)

_x = np.decompose(torch.rand(4, 3, dtype=torch.float64), baseline=0.25, groups=torch.arange(3).expand(4, 3))
_w, _b = torch.rand(5, 3, dtype=torch.float64), torch.rand(5, dtype=torch.float64)
_d = np.decompose(np.array([1.0, 2.0, 3.0]), baseline=0.5)
_q = _d + 1.0
_p = np.array([1.0, 2.0, 3.0])

CALLS: dict[str, Callable[[], Any]] = {
    "linear": lambda: F.linear(_x, _w, _b),
    "tanh": lambda: torch.tanh(_x),
    "exp": lambda: np.exp(_d),
    "relu": lambda: torch.relu(_x),
    "mul": lambda: _x * _x,
    "multiply": lambda: _d * _d,
    "scale": lambda: _d * 2.0,
    "add": lambda: _d + _d,
    "divide": lambda: _d / _q,
    "sum": _d.sum,
    "reshape": lambda: _x.reshape(3, 4),
    "index": lambda: _d[1],
    "softmax": lambda: torch.softmax(_x, -1),
    "plain add": lambda: _p + _p,
    "plain index": lambda: _p[1],
    "plain sum": _p.sum,
}


def route(call: Callable[[], Any], everything: bool = False) -> list[tuple[str, str, int]]:
    """The functions that the call runs: file, name, and depth."""
    for _ in range(3):
        call()
    found: list[tuple[str, str, int]] = []
    depth = 0

    def note(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal depth
        if event == "call":
            file = frame.f_code.co_filename
            if everything or file.startswith((PACKAGE, "<npdec")):
                found.append((file.removeprefix(PACKAGE + "/"), frame.f_code.co_qualname, depth))
            depth += 1
        elif event == "return":
            depth -= 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def of_registry() -> dict[str, Callable[[], Any]]:
    """The calls that `--registry` counts: of matrices (3, 3) whose elements go from 0.4 or more to less than 1.1, or
    are all larger by one."""
    parts = 0.4 + torch.arange(18, dtype=torch.float64).reshape(2, 3, 3) / 60
    halves = torch.full((2, 3, 3), 0.15, dtype=torch.float64)
    x, y, above = (np.DecomposedTensor(r + 0.3, r, halves, ("a", "b")) for r in (*parts, parts[0] + 1))
    found: dict[str, Callable[[], Any]] = {}
    for function, row in rows.items():
        given = (row.rule.tags or {}) if isinstance(row.rule, (TaggedRule, Watched)) else {}
        tags = [tag for key, tag in given.items() if isinstance(key, int)]
        name = getattr(function, "__qualname__", repr(function)).replace("_VariableFunctionsClass", "torch")
        if row.found or str(getattr(function, "__module__", "")).startswith("npdec"):
            continue  # kernels call functions of torch
        kinds, ways = set(tags), {}
        if len(kinds) == 1 and kinds <= {"Pointwise", "Stepwise"}:
            if len(tags) == 1:
                ways = {"": (x,), " above": (above,)}
            elif len(tags) == 2:
                ways = {" beside a number": (x, 0.7), " beside a tensor": (x, parts[1])}
                if kinds == {"Stepwise"}:
                    ways[" of two"] = (x, y)
        elif row.traits & Trait.PIECEWISE_LINEAR:
            ways = {"": (x,), " above": (above,)}
        elif row.traits & (Trait.MULTIPLY | Trait.MATMUL | Trait.DIVIDE):
            ways = {"": (x, y)}
        for way, arguments in ways.items():
            if _runs(function, *arguments) and (way != " above" or name not in found):
                found[name + way] = functools.partial(function, *arguments)
    return found


def _runs(function: Callable[..., Any], *args: Any) -> bool:
    """Whether a function takes these arguments, and is finite along the path."""
    try:
        made = function(*[getattr(arg, "residual", arg) for arg in args])
    except (TypeError, ValueError, RuntimeError):
        return False
    return isinstance(made, torch.Tensor) and bool(torch.isfinite(made).all())


def counted(call: Callable[[], Any]) -> tuple[int, int]:
    """How many functions in how many files a call runs."""
    steps = route(call)
    return len(steps), len({file for file, _, _ in steps})


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("call", nargs="?", choices=CALLS)
    parser.add_argument("--all", action="store_true", help="torch's own functions as well")
    parser.add_argument("--registry", action="store_true", help="all functions of elements, and products of two")
    given = parser.parse_args(arguments)
    if given.registry:
        counts = sorted(((*counted(call), name) for name, call in of_registry().items()), reverse=True)
        for functions, files, name in counts[:20]:
            print(f"{name:40} {functions:4} functions in {files:2} files")
        print(f"{len(counts)} calls")
        return 0
    if given.call:
        for file, name, depth in route(CALLS[given.call], given.all):
            print(f"{'  ' * depth}{name}  ({file})")
    for name in [given.call] if given.call else CALLS:
        steps = route(CALLS[name], given.all)
        print(f"{name:12} {len(steps):4} functions in {len({file for file, _, _ in steps}):2} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
