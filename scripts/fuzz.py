"""Random programs, run with NumPy and with npdec: `python scripts/fuzz.py --examples 10000 [--only name] [--seed N]`.

Prints the shortest program found for every function that differs; the exit status is 1 if there is one. `--only` takes
a function's name ("sum", "add.reduce", "ndarray.[]"), or a pattern ("linalg.*").

`--memory arrays` (or `tensors`) runs programs that write into arrays (torch tensors) which share memory instead,
decomposed or not, and compares each with a model after every step; a failure is shown as the shortest program.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), *(str(ROOT / "tests" / folder) for folder in ("", "array", "decomposed"))]

import fuzz_run  # noqa: E402  (found by the line above)


def shared_memory(options: argparse.Namespace) -> int:
    from hypothesis import HealthCheck, seed, settings
    from hypothesis.stateful import run_state_machine_as_test
    from test_aliasing_machine import Aliasing
    from test_tensor_machine import Tensors

    machine = {"arrays": Aliasing, "tensors": Tensors}[options.memory]
    more = settings(
        max_examples=options.examples, stateful_step_count=60, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(seed(options.seed)(machine), settings=more)
    print(f"{options.examples} programs")
    return 0


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Compare npdec with NumPy on random programs.")
    parser.add_argument("--examples", type=int, default=10_000, help="programs in all")
    parser.add_argument("--only", default="*", help="the name of a function, or a pattern of names")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--part", default="1/1", help="which part of the functions: 2/3 is the second third")
    parser.add_argument("--memory", choices=("arrays", "tensors"), help="programs that write into shared memory")
    options = parser.parse_args(words)
    if options.memory:
        return shared_memory(options)
    found = [name for name in fuzz_run.SUBJECTS if fnmatch.fnmatchcase(name, options.only)] or (
        [options.only] if options.only in fuzz_run.SUBJECTS else []
    )
    part, parts = map(int, options.part.split("/"))
    names = found[(part - 1) * len(found) // parts : part * len(found) // parts]
    if not names:
        parser.error(f"no function is named {options.only!r}")
    each, start, run, failures = max(1, options.examples // len(names)), time.perf_counter(), 0, []
    covered = 0
    for name in names:
        if time.perf_counter() - start > options.seconds:
            break
        count, failure = fuzz_run.explore(name, each, options.seed)
        run += count
        covered += 1
        if failure:
            failures.append(name)
            print(f"{name}\n{failure}\n", flush=True)
    print(
        f"{run} programs, {covered} of {len(fuzz_run.SUBJECTS)} subjects, {len(failures)} differ: {' '.join(failures)}"
    )
    return bool(failures)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
