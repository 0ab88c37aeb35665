"""Print the way of one decomposed call through npdec: its Python functions in the order in which they are called.

`python scripts/route.py linear` shows one of the calls below; without a name, how many functions in how many files each
runs. The call is warm: made before, so that what is done once is not counted. Functions of torch that are written in
Python are left out, and shown with `--all`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.nn.functional as F

import npdec as np

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


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("call", nargs="?", choices=CALLS)
    parser.add_argument("--all", action="store_true", help="torch's own functions as well")
    given = parser.parse_args(arguments)
    if given.call:
        for file, name, depth in route(CALLS[given.call], given.all):
            print(f"{'  ' * depth}{name}  ({file})")
    for name in [given.call] if given.call else CALLS:
        steps = route(CALLS[name], given.all)
        print(f"{name:12} {len(steps):4} functions in {len({file for file, _, _ in steps}):2} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
