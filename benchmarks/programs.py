"""Programs of NumPy: NumPy, npdec as it is, np.jit, and torch.compile of the same source, at small and at real sizes.

    python benchmarks/programs.py [--only NAME,NAME] [--size small,real] [--threads] [--turns 7] [--limit 120]

The programs are the functions of `benchmarks/kernels/`. Steady state is the median, over the turns, of the ratio to
NumPy of calls that are made right before, in processor time (with `--threads`, all threads, in seconds that pass), so
that other programs on the machine do not matter. The first call is the processor time of one process and of the
compilers that it starts, their caches empty. Arguments are made anew for every call, and not counted: a program may
write into them. Each compiler has a process of its own, so that none finds what the other has compiled; one that is not
done after `--limit` seconds has not taken the program. A star says that a program did not become one graph. Geometric
means are at the end.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy

FOLDER = Path(__file__).parent / "kernels"
IMPORT = "import numpy as np"
SIZES = ("small", "real")
TURN_S = 5e-3  # what the calls of one library take in one turn, at least
MOST_BYTES = 1 << 26  # of the arguments that are made for one turn


def modules(library: str) -> Iterator[types.ModuleType]:
    """The files of programs, each with the library in the place of NumPy."""
    for path in sorted(FOLDER.glob("*.py")):
        source = path.read_text()
        assert source.count(IMPORT) == 1
        module = types.ModuleType(f"kernels_{path.stem}_{library}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module  # where torch.compile looks for it
        exec(compile(source.replace(IMPORT, f"import {library} as np"), str(path), "exec"), vars(module))
        yield module


def programs(library: str = "numpy") -> dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]]:
    """By name: the function over the library, and its arguments at each size, which are NumPy's."""
    found = {}
    for theirs, ours in zip(modules("numpy"), modules(library)):
        for function, *arguments in theirs.cases(numpy.random.default_rng(0)):
            name = function.__name__
            found[name] = getattr(ours, name), dict(zip(SIZES, arguments, strict=True))
    return found


def given(tree: Any, library: Any) -> Any:
    """Fresh arguments for one call in the library."""
    if isinstance(tree, tuple):
        return tuple(given(item, library) for item in tree)
    if isinstance(tree, dict):
        return {key: given(item, library) for key, item in tree.items()}
    if isinstance(tree, numpy.ndarray):
        return library.array(tree)
    if isinstance(tree, numpy.random.Generator):
        return library.random.Generator(copy.deepcopy(tree.bit_generator))
    if isinstance(tree, numpy.generic):
        return getattr(library, type(tree).__name__)(tree.item())
    return tree


# -- measuring ---------------------------------------------------------------------------------------------------------


def processor_time() -> float:
    """Seconds of this process and of those that it has waited for."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _leaves(tree: Any) -> Iterator[Any]:
    items = tree.values() if isinstance(tree, dict) else tree
    for item in items:
        if isinstance(item, (tuple, list, dict)):
            yield from _leaves(item)
        else:
            yield item


class Column:
    """One way to run one program."""

    def __init__(self, function: Callable[..., Any], library: Any, arguments: tuple[Any, ...], clock: Any) -> None:
        self.function, self.library, self.arguments, self.clock = function, library, arguments, clock
        once = median(self.seconds(1) for _ in range(5))  # the first calls of what was compiled take longer
        size = sum(leaf.nbytes for leaf in _leaves(arguments) if isinstance(leaf, numpy.ndarray))
        self.loops = max(1, min(200, math.ceil(TURN_S / max(once, 1e-6)), MOST_BYTES // max(size, 1)))

    def seconds(self, loops: int = 0) -> float:
        """Of one call."""
        loops = loops or self.loops
        made = [given(self.arguments, self.library) for _ in range(loops)]
        while True:
            start = self.clock()
            for args in made:
                self.function(*args)
            passed = self.clock() - start
            if passed > 0:  # some machines' clocks of processor time stand still now and then
                return passed / loops
            made = [given(self.arguments, self.library) for _ in range(loops)]


def ratios(numpys: Column, others: dict[str, Column], turns: int) -> tuple[float, dict[str, float]]:
    """Seconds of NumPy's, and what the others take in its terms."""
    seconds = [numpys.seconds()]
    found: dict[str, list[float]] = {name: [] for name in others}
    for _ in range(turns):
        for name, column in others.items():
            seconds.append(numpys.seconds())
            found[name].append(column.seconds() / seconds[-1])
    return median(seconds), {name: median(values) for name, values in found.items()}


class _Late(BaseException):
    pass


def _late(*_: Any) -> None:
    raise _Late


def first_call(column: Callable[[], Any], limit: float) -> float | str:
    """Seconds, or why there are none."""
    signal.signal(signal.SIGPROF, _late)
    signal.setitimer(signal.ITIMER_PROF, limit)
    start = processor_time()
    try:
        column()
    except _Late:
        return f"over {limit:.0f} s"
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return processor_time() - start


def measure(args: argparse.Namespace) -> None:
    """All programs by one compiler, a line of JSON for each."""
    import torch

    import npdec

    if not args.threads:
        torch.set_num_threads(1)
    clock = time.perf_counter if args.threads else time.process_time
    ours, theirs = programs("npdec"), programs()
    compiled = npdec.jit if args.compiler == "np.jit" else torch.compile
    library = npdec if args.compiler == "np.jit" else numpy
    compiled(lambda x: x + 1)(library.ones(3))  # headers of the compiler, modules of torch
    for name in chosen(args, theirs):
        for size in args.size.split(","):
            torch.compiler.reset()
            function, arguments = theirs[name][0], theirs[name][1][size]
            mine = ours[name][0]
            with warnings.catch_warnings(record=True) as told, numpy.errstate(all="ignore"):
                warnings.simplefilter("always")
                torch._dynamo.utils.counters.clear()
                if args.compiler == "np.jit":
                    fast = npdec.jit(mine)
                else:
                    fast = torch.compile(function, dynamic=False)
                first = first_call(lambda: fast(*given(arguments, library)), args.limit)  # noqa: B023
                others: dict[str, Column] = {}
                if not isinstance(first, str):
                    others[args.compiler] = Column(fast, library, arguments, clock)
                if args.compiler == "np.jit":
                    others["npdec"] = Column(mine, npdec, arguments, clock)
                seconds, found = ratios(Column(function, numpy, arguments, clock), others, args.turns)
            counters = torch._dynamo.utils.counters
            if args.compiler == "np.jit":
                one = not any("np.jit" in str(warning.message) for warning in told)
            else:
                one = counters["stats"]["unique_graphs"] == 1 and not counters["graph_break"]
            line = {"name": name, "size": size, "numpy": seconds, "first": first, "one": one, **found}
            print(json.dumps(line), flush=True)


# -- the table ---------------------------------------------------------------------------------------------------------


def chosen(args: argparse.Namespace, names: Any) -> list[str]:
    """The names that are asked for."""
    return [name for name in names if not args.only or name in args.only.split(",")]


def run(args: argparse.Namespace, compiler: str) -> Iterator[dict[str, Any]]:
    """What a process of its own measures, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        if not args.threads:
            environment["OMP_NUM_THREADS"] = environment["MKL_NUM_THREADS"] = "1"
            environment["OPENBLAS_NUM_THREADS"] = "1"
        command = [sys.executable, __file__, *sys.argv[1:], "--compiler", compiler]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("{"):
                    yield json.loads(line)
        if process.returncode:
            raise SystemExit(f"{compiler}: exit status {process.returncode}")


def mean(values: list[float]) -> float:
    """The geometric one."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _shown(row: dict[str, Any], key: str) -> str:
    ratio = row.get(key)
    return f"{ratio:9.2f}{' ' if key == 'npdec' or row['one' if key == 'np.jit' else 'whole'] else '*'}" if ratio else (
        f"{'-':>9} "
    )  # fmt: skip


def table(rows: list[dict[str, Any]], size: str) -> None:
    """Print the programs of one size, and their means."""
    print(f"\n{size} sizes{'':12}{'NumPy':>11}{'npdec':>10}{'np.jit':>10}{'torch.compile':>15}{'first calls, s':>22}")
    for row in rows:
        firsts = [row["first"], row["torch_first"]]
        texts = [f"{first:8.2f}" if isinstance(first, float) else f"  {first}" for first in firsts]
        print(
            f"{row['name']:23}{1e6 * row['numpy']:9.0f}µs{_shown(row, 'npdec')}{_shown(row, 'np.jit')}"
            f"{'':5}{_shown(row, 'torch.compile')}{'':8}{''.join(texts)}"
        )
    print(f"{'geometric means':34}", end="")
    for key in ("npdec", "np.jit", "torch.compile"):
        values = [row[key] for row in rows if row.get(key)]
        print(f"{key} {mean(values):.2f} ({len(values)})", end="   ")
    both = [row for row in rows if row.get("np.jit") and row.get("torch.compile")]
    print(f"\nof {len(both)} that both take: np.jit / torch.compile ", end="")
    print(f"{mean([row['np.jit'] / row['torch.compile'] for row in both]):.2f}, first call ", end="")
    print(f"{mean([row['first'] / row['torch_first'] for row in both]):.2f}")
    whole = [row for row in both if row["whole"]]
    print(f"of {len(whole)} that torch.compile takes as one graph: ", end="")
    print(f"{mean([row['np.jit'] / row['torch.compile'] for row in whole]):.2f}, first call ", end="")
    print(f"{mean([row['first'] / row['torch_first'] for row in whole]):.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of programs, with commas between")
    parser.add_argument("--size", default="small,real", help="small, real or both (both)")
    parser.add_argument("--threads", action="store_true", help="all threads, and the seconds that pass")
    parser.add_argument("--turns", type=int, default=7, help="turns of each program (7)")
    parser.add_argument("--limit", type=float, default=120, help="seconds of a first call (120)")
    parser.add_argument("--compiler", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.compiler:
        measure(args)
        return 0
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in run(args, "np.jit"):
        rows[row["name"], row["size"]] = row
        print(f"\r{row['name']:30}", end="", file=sys.stderr)
    for row in run(args, "torch.compile"):
        print(f"\r{row['name']:30}", end="", file=sys.stderr)
        mine = rows[row["name"], row["size"]]
        mine["torch_first"], mine["whole"] = row["first"], row["one"]
        if "torch.compile" in row:
            mine["torch.compile"] = row["torch.compile"]
    torch = importlib.import_module("torch")
    threads = "all threads" if args.threads else "one thread"
    print(f"\rin terms of NumPy's time, {threads} (torch {torch.__version__}, NumPy {numpy.__version__})")
    for size in args.size.split(","):
        table([row for (_, its), row in rows.items() if its == size], size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
