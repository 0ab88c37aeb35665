"""Which tests are quick: a part of each long table, and fewer random examples. What is not quick is slow, or long.

What takes more than a second or so of processor time is slow, or goes over a part where `quick` says so; what takes
more than four, in all its cases, is long. Many checks that take less than a millisecond are one test, which goes over
the table: pytest takes that long for each."""

from __future__ import annotations

import collections
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

quick = False  # only the quick tests are run; conftest.py says so before any test is collected


def is_slow(path: Path) -> bool:
    """Whether a file says that all its tests are."""
    return re.search(r"^pytestmark = \[?\s*pytest\.mark\.slow\b", path.read_text("utf-8"), re.MULTILINE) is not None


def fewer(number: int, part: int = 5) -> int:
    """So many random examples, or a fifth of them where only the quick tests are run."""
    return max(2, number // part) if quick else number


def turns(rows: Iterable[Any], turn: int, of: int, at_length: int = 1) -> list[Any]:
    """The rows of a table that are tested in one of its columns: one in `at_length`, or in `of` where only the quick
    tests are run, those whose turn it is there: each row in some column, and each column on some rows, but not all
    pairs."""
    given = list(rows)
    return [row for i, row in enumerate(given) if (i - turn) % min(of if quick else at_length, len(given)) == 0]


# By the option -m: how many cases of one test are run, and how the others are marked.
CASES = {"quick": (6, "slow"), "not slow": (6, "slow"), "not long": (32, "long")}


def left_out(names: Iterable[str], most: int) -> set[str]:
    """Of the names of tests, with their parameters, those that go beyond so many cases of one test. Which ones is drawn
    from their names, and so the same ones everywhere: no column of a table is left out because rows are counted, and
    other tests draw other rows."""
    cases = collections.defaultdict(list)
    for name in names:
        cases[name.partition("[")[0]].append(name)
    out: set[str] = set()
    for its in cases.values():
        out.update(sorted(its, key=lambda name: zlib.crc32(name.encode()))[most:])
    return out
