"""Random decomposed programs, held to the law: `python scripts/fuzz_law.py --programs 50000 [--seed N]`.

A program has one to three inputs (any dtype that carries, strided, broadcast, empty or of no dimensions) and 3 to 15
lines: calls of every function that tests/samples.py knows, operators, views, writes, masks, torch's functions. Each is
compared with itself run plain, and run plain on the baselines; with reverse mode; with one component alone; and checked
for completeness and for contributions of no sensible size (tests/law_promises.py). One program in twenty is a single
call, and is compared with the path integral of its derivative, which NumPy computes (tests/law_singles.py).

Prints each kind of failure once, as the shortest program found that fails so, with its seed (`--only N` runs that one
alone). The exit status is 1 if there was a failure. `--part 2/3` runs the second third of the programs.
"""

from __future__ import annotations

import argparse
import collections
import re
import resource
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from law_shrink import broken, explore, shortened  # noqa: E402  (found by the line above)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Hold random decomposed programs to the law.")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others count on from it")
    parser.add_argument("--only", type=int, help="run the program of this seed alone, and show it as it was drawn")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--part", default="1/1", help="which part of the programs: 2/3 is the second third")
    parser.add_argument("--smooth", action="store_true", help="no line that chooses by comparing what is decomposed")
    parser.add_argument("--tame", action="store_true", help="no baseline at a singularity")
    options = parser.parse_args(words)
    draw = {"choices": not options.smooth, "steep": not options.tame}
    if options.only is not None:
        program, failure = explore(options.only, **draw)
        print(f"{program.text}\n# {failure}")
        return bool(failure)
    # A grid of ten bins along each of ten axes fills the memory, under NumPy too: a line that is refused is no line.
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    part, parts = map(int, options.part.split("/"))
    seeds = range(options.seed + part - 1, options.seed + options.programs, parts)
    start, run, lines = time.perf_counter(), 0, 0
    names: collections.Counter[str] = collections.Counter()
    classes: collections.Counter[str] = collections.Counter()
    for seed in seeds:
        if time.perf_counter() - start > options.seconds:
            break
        program, failure = explore(seed, **draw)
        run += 1
        lines += len(program.lines)
        names.update(program.names)
        if failure is not None:
            short = program if failure.promise == "path integral" else shortened(program, failure.promise)
            kind = _kind(failure.promise, short.lines)
            classes[kind] += 1
            if classes[kind] == 1:
                print(f"seed {seed}\n{short.text}\n# {broken(short) or failure}\n", flush=True)
    for kind, count in classes.most_common():
        print(f"{count:6} {kind}")
    print(f"{run} programs of {lines} lines, {len(names)} functions and kinds of write, {classes.total()} fail")
    return bool(classes)


def _kind(promise: str, lines: tuple[str, ...]) -> str:
    words = re.findall(r"(?:np|torch)(?:\.\w+)+", " ".join(lines))
    return f"{promise}: {' '.join(dict.fromkeys(words)) or ' | '.join(lines)}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
