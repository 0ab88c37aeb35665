"""What functions of an array with a component for each element take of memory: `python scripts/memory.py [PATTERN]`.

Prints for each case of tests/memory_cases.py that contains the pattern (a regular expression) how many times the memory
of the plain arrays torch's tensors take at once, the largest last. With `--all` the cases are generated: calls of every
public function of NumPy's face and of torch's (tests/memory_calls.py), twelve minutes of processor time, of which
`--part 2/3` is the second third. Cases are measured in a process of their own, of which memory, processor time and time
by the clock have limits; what was cut at these is listed first, as `cut`. The exit status is 1 if a case takes more
than `--bound` times or was cut, unless it is known to (`BEYOND` in tests/memory_calls.py).
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import re
import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import memory_calls  # noqa: E402  (found by the line above)
import memory_cases  # noqa: E402


class Measured(NamedTuple):
    """How many times the memory of plain arrays a case takes; infinitely many if it was `cut`, NaN if it `raises`."""

    times: float
    case: str
    said: str = ""


def _serve(requests: Connection, spare: int, seconds: float) -> None:
    """Answer requests for the calls of a function, and for measures of a case, with no more memory than `spare` bytes
    beside what the process has, and no more processor time for each than so many seconds."""
    warnings.simplefilter("ignore")
    known = {f.name: f for f in memory_calls.functions()}
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + spare
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    while True:
        try:
            name, arguments, n = requests.recv()
        except EOFError:  # nobody asks any more
            return
        signal.setitimer(signal.ITIMER_PROF, seconds)  # whose signal ends the process, if nobody stops the clock
        try:
            if name is None:
                answer: Any = memory_cases.factor(arguments, n)
            elif arguments is None:
                answer = list(memory_calls.calls(known[name]))
            else:
                answer = memory_calls.factor(known[name], arguments, n)
        except MemoryError as error:
            answer = math.inf, f"cut: {str(error)[:100]}"
        except RuntimeError as error:
            cut = "allocate" in str(error)
            answer = math.inf if cut else math.nan, f"{'cut' if cut else 'RuntimeError'}: {str(error)[:100]}"
        except Exception as error:
            answer = math.nan, f"{type(error).__name__}: {str(error)[:100]}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        requests.send(answer)


class _Measurer:
    """A process that measures, and another one after each that was ended."""

    def __init__(self, spare: int, seconds: float, wall: float) -> None:
        self._spare, self._seconds, self._wall = spare, seconds, wall
        self._process: Any = None
        self._requests: Any = None

    def ask(self, name: str | None, arguments: str | None, n: int = 0) -> Any:
        """The answer to a request, or the reason why there is none."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._requests, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self._spare, self._seconds), daemon=True)
            self._process.start()
            theirs.close()
            self._requests.send((None, "x + 1", 5000))
            self._requests.recv()  # it has started
        self._requests.send((name, arguments, n))
        late = not self._requests.poll(self._wall)  # what waits takes no processor time, which has a limit of its own
        if late:
            self._process.kill()
        try:
            return self._requests.recv()
        except EOFError:
            self._process.join()
            code, self._process = self._process.exitcode, None
        if late:
            return math.inf, f"cut: after {self._wall:g} s by the clock"
        return math.inf, f"cut: after {self._seconds:g} s" if code == -signal.SIGPROF else f"cut: exit code {code}"


def _cases(measurer: _Measurer, pattern: str, generated: bool, part: slice) -> Iterator[tuple[str | None, str]]:
    """The functions and their arguments; a listed case has no function."""
    if not generated:
        yield from ((None, case) for case in [c for c in memory_cases.CASES if re.search(pattern, c)][part])
        return
    for f in [f for f in memory_calls.functions() if re.search(pattern, f.name)][part]:
        found = measurer.ask(f.name, None)
        if isinstance(found, tuple):
            print(f"{f.name}: {found[1]}", flush=True)
        else:
            yield from ((f.name, arguments) for arguments in found)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure the memory of functions of many components.")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--all", action="store_true", help="calls of every function, in place of those that are listed")
    parser.add_argument("--elements", type=int, default=100_000)
    parser.add_argument("--bound", type=float, default=20.0)
    parser.add_argument("--above", type=float, default=0.0, help="print those only that take more than so many times")
    parser.add_argument("--spare", type=float, default=4.0, help="GiB of memory that a case may take")
    parser.add_argument("--seconds", type=float, default=10.0, help="processor time that a case may take")
    parser.add_argument("--wall", type=float, default=300.0, help="time by the clock that a case may take")
    parser.add_argument("--part", default="1/1", help="which part of the functions: 2/3 is the second third")
    parser.add_argument("--progress", action="store_true", help="print each case to stderr when it has been measured")
    options = parser.parse_args(words)
    part, parts = map(int, options.part.split("/"))
    measurer = _Measurer(int(options.spare * 2**30), options.seconds, options.wall)
    found: list[Measured] = []
    for name, arguments in _cases(measurer, options.pattern, options.all, slice(part - 1, None, parts)):
        answer = measurer.ask(name, arguments, options.elements)
        times, said = answer if isinstance(answer, tuple) else (answer, "")
        found.append(Measured(times, arguments if name is None else f"{name}({arguments})", said))
        if options.progress:
            print(*found[-1], file=sys.stderr, flush=True)
    failed = 0
    for one in sorted(found, key=lambda one: (not one.said, one.times)):
        name, _, rest = one.case.partition("(")
        known = memory_calls.BEYOND.get(name) or memory_calls.CALLS_BEYOND.get((name, rest[:-1]))
        known = known if options.all else None
        failed += one.times > options.bound and known is None
        if one.said or one.times > options.above:
            print(f"{one.times:8.1f}  {one.case}  {one.said}{f'  (known: {known})' if known else ''}".rstrip())
    print(f"{len(found)} cases, {failed} of more than {options.bound:g} times that are not known")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
