"""What functions of an array with a component for each element take of memory: `python scripts/memory.py [PATTERN]`.

Prints for each case of tests/memory_cases.py that contains the pattern (a regular expression) how many times the memory
of the plain arrays torch's tensors take at once, the largest last. The exit status is 1 if one takes more than
`--bound` times.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from memory_cases import CASES, factor  # noqa: E402  (found by the line above)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure the memory of functions of many components.")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--elements", type=int, default=100_000)
    parser.add_argument("--bound", type=float, default=20.0)
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    found = [(factor(case, options.elements), case) for case in CASES if re.search(options.pattern, case)]
    for times, case in sorted(found):
        print(f"{times:8.1f}  {case}")
    return int(any(times > options.bound for times, _ in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
