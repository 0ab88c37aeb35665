"""Which rows of a table are quick tests, and faults that tests must notice."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import tiers

SCRIPT = Path(__file__).parents[2] / "scripts" / "mutants.py"
SOURCE = '''"""Text."""

def f(a, b=2):
    """More text."""
    c = (a) + b  # a - b
    if c is not None and a < 3:
        c = g(a, b)
        del a
    raise ValueError("1", 2)
'''
EDITS = {
    ("constant", "def f(a, b=3):"),
    ("operator", "    c = (a) - b  # a - b"),
    ("line", "    pass  # a - b"),
    ("condition", "    if (not (c is not None and a < 3)):"),
    ("operator", "    if c is None and a < 3:"),
    ("operator", "    if c is not None or a < 3:"),
    ("operator", "    if c is not None and a <= 3:"),
    ("constant", "    if c is not None and a < 4:"),
    ("arguments", "        c = g(b, a)"),
    ("line", "        pass"),
}


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("of", [1, 2, 3, 8])
def test_each_row_has_its_turn_and_each_column_rows(monkeypatch, count, of):
    monkeypatch.setattr(tiers, "quick", True)
    found = [tiers.turns(range(count), turn, of) for turn in range(of)]
    assert all(found)
    assert {row for rows in found for row in rows} == set(range(count))
    assert count < of or sum(map(len, found)) == count
    monkeypatch.setattr(tiers, "quick", False)
    assert tiers.turns(range(count), 1, of) == list(range(count))


def test_faults_are_of_every_kind_and_leave_texts_alone(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("mutants", SCRIPT)
    mutants = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mutants", mutants)
    spec.loader.exec_module(mutants)
    path = tmp_path / "f.py"
    path.write_text(SOURCE, "utf-8")
    found = set()
    for fault in mutants.faults(path):
        (changed,) = (set(fault.mutated().splitlines()) - set(SOURCE.splitlines())) or {"the same"}
        found.add((fault.kind, changed))
    assert found == EDITS
