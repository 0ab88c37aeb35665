"""What a call costs on arrays of ten float64: raw torch, npdec, torch._numpy and NumPy, in one process and one thread.

    python benchmarks/overhead.py [--turns 200] [--check]
    python benchmarks/overhead.py --all [--only PATTERN] [--turns 20] [--check]

The columns run the same source text; in the second part, where torch has no call that does the same, it runs those that
it takes. A turn times all columns, one right after the other; the table shows the median of a column over the turns,
and the median of the ratio of npdec to raw torch within a turn. The third part is what a call costs more that reaches
an npdec array through NumPy's own function. With --check the exit code is 1 if a ratio is above 1.5 (2 in the second
part), if a detour through NumPy takes more than 3 µs, or if the import takes more than 0.15 s longer than torch's.

With --all every public function, method and operator has a row (`overhead_rows`), those whose text contains the pattern
of --only are shown, and what counts are the geometric mean of the ratios, their 95th percentile and the worst of them,
in all and by chapter. Times are of the processor: what else the machine does makes them no longer.
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
from time import process_time
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
TURN_OF_ALL_S = 4e-4
MAX_OF_ALL = {"geometric mean": 1.4, "95th percentile": 2.0, "worst": 3.0}

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
        return timeit.Timer(text, timer=process_time, globals={"np": np, "x": x, "y": y, "m": x > y}).timeit

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


def interleaved(timers: dict[str, Callable[[int], float]], turns: int, turn: float) -> tuple[dict[str, float], float]:
    """Median µs per call of every column, and the median ratio of npdec to raw torch (nan where there is none)."""
    for timer in timers.values():
        timer(2)  # compiles, and fills caches
    loops = {name: max(1, min(5000, round(turn / (timer(20) / 20 + 1e-9)))) for name, timer in timers.items()}
    names = list(timers)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(turns):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            seconds[name].append(timers[name](loops[name]) / loops[name])
    micros = {name: 1e6 * median(values) for name, values in seconds.items()}
    return micros, ratio(seconds["npdec"], seconds["torch"]) if "torch" in seconds else math.nan


def measure(statement: str, turns: int) -> tuple[dict[str, float], float]:
    """Median µs per call of every column, and the median ratio of npdec to raw torch."""
    return interleaved(columns(statement), turns, TURN_S)


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


def summary(ratios: list[float]) -> dict[str, float]:
    """The geometric mean, the 95th percentile and the largest of ratios."""
    ordered = sorted(ratios)
    return {
        "geometric mean": math.exp(sum(map(math.log, ordered)) / len(ordered)),
        "95th percentile": ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))],
        "worst": ordered[-1],
    }


def measure_all(pattern: str, turns: int, check: bool) -> int:
    """The rows of all functions, methods and operators; the exit code."""
    from overhead_rows import rows

    measured = []
    for row in rows(pattern):
        micros, over_torch = interleaved(row.timers, turns, TURN_OF_ALL_S)
        measured.append((row, micros, over_torch))
    computed = sorted((item for item in measured if item[0].raw), key=lambda item: -item[2])
    print(f"{'':52}{'torch':>10}{'npdec':>10}{'NumPy':>10}{'npdec/torch':>13}  raw torch is")
    for row, micros, over_torch in measured if pattern else computed[:20]:
        columns = "".join(f"{micros.get(name, math.nan):10.2f}" for name in ("torch", "npdec", "NumPy"))
        print(f"{row.chapter + ': ' + row.text:52.52}{columns}{over_torch:13.2f}  {row.raw}")
    print(f"\n{'':20}{'rows':>6}" + "".join(f"{name:>17}" for name in MAX_OF_ALL))
    chapters = {row.chapter for row, _, _ in computed}
    for name in ("", *sorted(chapters)):
        ratios = [over_torch for row, _, over_torch in computed if not name or row.chapter == name]
        if ratios:
            print(
                f"{name or 'all':20}{len(ratios):6}" + "".join(f"{value:17.2f}" for value in summary(ratios).values())
            )
    host = [item for item in measured if not item[0].raw]
    if host:
        print(f"\n{'no computation of torch':52}{'npdec':>20}{'NumPy':>10}")
    for row, micros, _ in host:
        print(f"{row.chapter + ': ' + row.text:52.52}{micros['npdec']:20.2f}{micros.get('NumPy', math.nan):10.2f}")
    missed = computed and any(
        value > MAX_OF_ALL[name] for name, value in summary([item[2] for item in computed]).items()
    )
    return int(check and bool(missed))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, help="turns per statement (200; 20 with --all)")
    parser.add_argument("--all", action="store_true", help="every public function, method and operator")
    parser.add_argument("--only", default="", metavar="PATTERN", help="with --all: the rows that have it in their text")
    parser.add_argument("--imports", type=int, default=9, help="fresh interpreters for the import time (9)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is not met")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.all or args.only:
        return measure_all(args.only, args.turns or 20, args.check)
    turns = args.turns or 200

    print(f"arrays of 10 float64, one thread, µs per call (torch {torch.__version__}, NumPy {numpy.__version__})\n")
    print(f"{'':18}{'torch':>10}{'npdec':>10}{'torch._numpy':>14}{'NumPy':>10}{'npdec/torch':>14}")
    missed = False
    for statement in (*STATEMENTS, *OF_SEVERAL_CALLS):
        limit = MAX_RATIO_OF_SEVERAL if statement in OF_SEVERAL_CALLS else MAX_RATIO
        micros, over_torch = measure(statement, turns)
        missed |= over_torch > limit
        print(
            f"{statement:18}{micros['torch']:10.3f}{micros['npdec']:10.3f}{micros.get('torch._numpy', math.nan):14.3f}"
            f"{micros['NumPy']:10.3f}{over_torch:14.2f}{'' if over_torch <= limit else f'  above {limit}'}"
        )
    print(f"\n{'on npdec arrays':18}{'npdec':>10}{'by NumPy':>10}")
    for statement in DISPATCHED:
        own, more = detour(statement, turns)
        missed |= more > MAX_DETOUR_US
        above = "" if more <= MAX_DETOUR_US else f"  above {MAX_DETOUR_US}"
        print(f"{statement:18}{own:10.3f}{f'+{more:.3f}':>10}{above}")
    base, added = import_seconds(args.imports)
    print(f"\nimport torch {base:.3f} s; import npdec adds {added:.3f} s (limit {MAX_IMPORT_S})")
    return int(args.check and (missed or added > MAX_IMPORT_S))


if __name__ == "__main__":
    sys.exit(main())
