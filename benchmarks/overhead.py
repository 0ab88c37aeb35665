"""What a call costs on arrays of ten float64: raw torch, npdec, torch._numpy and NumPy, in one process and one thread.

    python benchmarks/overhead.py [--turns 200] [--check]

The columns run the same source text; in the second part, where torch has no call that does the same, it runs those that
it takes. A turn times all columns, one right after the other; the table shows the median of a column over the turns,
and the median of the ratio of npdec to raw torch within a turn. The third part is what a call costs more that reaches
an npdec array through NumPy's own function. With --check the exit code is 1 if a ratio is above 1.5 (2 in the second
part), if a detour through NumPy takes more than 3 µs, or if the import takes more than 0.15 s longer than torch's.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy
import torch
import torch._numpy as torch_numpy

import npdec
from timing import ratio

STATEMENTS = ("x + y", "np.add(x, y)", "np.exp(x)", "x.sum(axis=0)", "x[2:5]", "x.reshape(2, 5)", "x + 1.0")
MAX_RATIO = 1.5
OF_SEVERAL_CALLS = {
    "x[2]": "x[2].clone()",  # a scalar, which is no view
    "np.add.reduce(x)": "np.sum(x, 0)",
    "x[m]": "x[m]",
    "np.zeros(10)": "np.zeros(10, dtype=np.float64)",
    "x.mean()": "x.mean()",
    "np.where(m, x, y)": "np.where(m, x, y)",
}
MAX_RATIO_OF_SEVERAL = 2.0
DISPATCHED = ("np.add(x, y)", "np.exp(x)", "np.sum(x)")
MAX_DETOUR_US = 3.0
MAX_IMPORT_S = 0.15
TURN_S = 1e-3  # what one column runs for in one turn

IMPORT = """
from time import perf_counter
start = perf_counter()
import torch
middle = perf_counter()
import npdec
print(middle - start, perf_counter() - middle)
"""


def columns(statement: str) -> dict[str, Callable[[int], float]]:
    """For every library that has it a function from a number of calls to the seconds that they take."""

    def timer(np: Any, array: Callable[[list[float]], Any], text: str = statement) -> Callable[[int], float]:
        x = array([0.1 * i for i in range(10)])
        y = array([1.0 - 0.05 * i for i in range(10)])
        return timeit.Timer(text, globals={"np": np, "x": x, "y": y, "m": x > y}).timeit

    in_torch = OF_SEVERAL_CALLS.get(statement, statement)
    timers = {
        "torch": timer(torch, lambda data: torch.tensor(data, dtype=torch.float64), in_torch),
        "npdec": timer(npdec, npdec.array),
        "torch._numpy": timer(torch_numpy, torch_numpy.array),
        "NumPy": timer(numpy, numpy.array),
    }
    if statement == "np.add.reduce(x)":
        del timers["torch._numpy"]  # its ufuncs have no methods
    return timers


def measure(statement: str, turns: int) -> tuple[dict[str, float], float]:
    """Median µs per call of every column, and the median ratio of npdec to raw torch."""
    timers = columns(statement)
    loops = {name: max(1, round(TURN_S / (timer(200) / 200))) for name, timer in timers.items()}
    names = list(timers)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(turns):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            seconds[name].append(timers[name](loops[name]) / loops[name])
    micros = {name: 1e6 * median(values) for name, values in seconds.items()}
    return micros, ratio(seconds["npdec"], seconds["torch"])


def detour(statement: str, turns: int) -> tuple[float, float]:
    """Median µs of a call of npdec's function, and how much more the same call of NumPy's takes on npdec's arrays."""
    x, y = npdec.array([0.1 * i for i in range(10)]), npdec.array([1.0 - 0.05 * i for i in range(10)])
    timers = [timeit.Timer(statement, globals={"np": lib, "x": x, "y": y}).timeit for lib in (npdec, numpy)]
    loops = max(1, round(TURN_S / (timers[0](200) / 200)))
    pairs = [[timer(loops) / loops for timer in timers] for _ in range(turns)]
    return 1e6 * median(own for own, _ in pairs), 1e6 * median(theirs - own for own, theirs in pairs)


def import_seconds(runs: int) -> tuple[float, float]:
    """Median seconds of `import torch`, and of `import npdec` after it, each run in a fresh interpreter.

    Bytecode is cached, as it is on any machine that imports for the second time: in a folder of its own, filled by a
    first run that does not count.
    """
    pairs = []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        for run in range(-1, runs):
            done = subprocess.run(
                [sys.executable, "-c", IMPORT], env=environment, capture_output=True, text=True, check=True
            )
            if run >= 0:
                pairs.append([float(word) for word in done.stdout.split()])
    return median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=200, help="turns per statement (200)")
    parser.add_argument("--imports", type=int, default=9, help="fresh interpreters for the import time (9)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is not met")
    args = parser.parse_args()
    torch.set_num_threads(1)

    print(f"arrays of 10 float64, one thread, µs per call (torch {torch.__version__}, NumPy {numpy.__version__})\n")
    print(f"{'':18}{'torch':>10}{'npdec':>10}{'torch._numpy':>14}{'NumPy':>10}{'npdec/torch':>14}")
    missed = False
    for statement in (*STATEMENTS, *OF_SEVERAL_CALLS):
        limit = MAX_RATIO_OF_SEVERAL if statement in OF_SEVERAL_CALLS else MAX_RATIO
        micros, over_torch = measure(statement, args.turns)
        missed |= over_torch > limit
        print(
            f"{statement:18}{micros['torch']:10.3f}{micros['npdec']:10.3f}{micros.get('torch._numpy', math.nan):14.3f}"
            f"{micros['NumPy']:10.3f}{over_torch:14.2f}{'' if over_torch <= limit else f'  above {limit}'}"
        )
    print(f"\n{'on npdec arrays':18}{'npdec':>10}{'by NumPy':>10}")
    for statement in DISPATCHED:
        own, more = detour(statement, args.turns)
        missed |= more > MAX_DETOUR_US
        above = "" if more <= MAX_DETOUR_US else f"  above {MAX_DETOUR_US}"
        print(f"{statement:18}{own:10.3f}{f'+{more:.3f}':>10}{above}")
    base, added = import_seconds(args.imports)
    print(f"\nimport torch {base:.3f} s; import npdec adds {added:.3f} s (limit {MAX_IMPORT_S})")
    return int(args.check and (missed or added > MAX_IMPORT_S))


if __name__ == "__main__":
    sys.exit(main())
