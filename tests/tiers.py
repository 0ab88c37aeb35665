"""Which tests are quick: a part of each long table, and fewer random examples. What is not quick is slow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

quick = False  # only the quick tests are run; conftest.py says so before any test is collected


def fewer(number: int, part: int = 5) -> int:
    """So many random examples, or a fifth of them where only the quick tests are run."""
    return max(2, number // part) if quick else number


def turns(rows: Iterable[Any], turn: int, of: int) -> list[Any]:
    """The rows of a table that are tested in one of its columns: all of them, or where only the quick tests are run,
    those whose turn it is there: each row in some column, and each column on some rows, but not all pairs."""
    given = list(rows)
    return [row for i, row in enumerate(given) if not quick or (i - turn) % min(of, len(given)) == 0]
