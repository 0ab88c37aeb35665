"""Interrupted writes: `python scripts/interrupts.py --count 10000 [--seed N] [--way signal]`.

As many writes are interrupted by a signal at a random microsecond, and as many by an exception that is raised before a
random instruction, or in place of a random torch operation. Prints what was broken; the exit status is 1 if there is
anything.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import interrupted  # noqa: E402  (found by the line above)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Interrupt random writes, and look at what is left.")
    parser.add_argument("--count", type=int, default=10_000, help="of interrupts, and of exceptions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--way", choices=interrupted.WAYS, help="this one only")
    parser.add_argument("--show", type=int, default=20, help="how many failures to print")
    options = parser.parse_args(words)
    parts = {"signal": 1.0, "instruction": 0.6, "operation": 0.4}
    failed = False
    for way, part in parts.items():
        if options.way not in (None, way):
            continue
        start = time.process_time()
        count = options.count if options.way else round(part * options.count)
        hits, failures = interrupted.explore(way, count, options.seed)
        print(f"{way}: {hits} interrupted, {len(failures)} broken, {time.process_time() - start:.0f} s", flush=True)
        print("\n".join(failures[: options.show]))
        failed |= bool(failures)
    return failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
