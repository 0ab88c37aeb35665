"""What functions of an array with a component for each element take of memory: `python scripts/memory.py [PATTERN]`.

Prints for each case of tests/memory_cases.py that contains the pattern (a regular expression) how many times the memory
of the plain arrays torch's tensors take at once, the largest last. With `--all` the cases are generated: calls of every
public function of NumPy's face and of torch's (tests/memory_calls.py). The exit status is 1 if one takes more than
`--bound` times, unless it is known to (`BEYOND` there).
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import memory_calls  # noqa: E402  (found by the line above)
from memory_cases import CASES, factor  # noqa: E402


def _listed(pattern: str, n: int) -> Iterator[tuple[float, str, bool]]:
    for case in CASES:
        if re.search(pattern, case):
            yield factor(case, n), case, False


def _generated(pattern: str, n: int) -> Iterator[tuple[float, str, bool]]:
    for f in memory_calls.functions():
        if not re.search(pattern, f.name):
            continue
        beyond = f.name.rpartition(".")[2] in memory_calls.BEYOND
        for arguments in memory_calls.calls(f):
            case = f"{f.name}({arguments})"
            try:
                yield memory_calls.factor(f, arguments, n), case, beyond
            except (MemoryError, NotImplementedError, ValueError, TypeError) as error:
                print(f"{type(error).__name__}  {case}: {str(error)[:100]}", flush=True)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure the memory of functions of many components.")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--all", action="store_true", help="calls of every function, in place of those that are listed")
    parser.add_argument("--elements", type=int, default=100_000)
    parser.add_argument("--bound", type=float, default=20.0)
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    found = list((_generated if options.all else _listed)(options.pattern, options.elements))
    for times, case, beyond in sorted(found):
        print(f"{times:8.1f}  {case}{'  (known)' if beyond else ''}")
    return int(any(times > options.bound and not beyond for times, _, beyond in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
