"""Which rows of a table are quick tests, and faults that tests must notice."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
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
    assert [tiers.turns(range(count), turn, 9, of) for turn in range(of)] == found


def test_of_many_cases_a_part_is_quick():
    many = [f"a.py::test_many[{i}-{kind}]" for i in range(200) for kind in "xyz"]
    few = [f"a.py::test_few[{i}]" for i in range(25)]
    out = tiers.left_out([*many, *few, "a.py::test_one"], 25)
    left = [name for name in many if name not in out]
    assert out < set(many)
    assert len(left) == 25
    assert {name[-2] for name in left} == set("xyz")
    assert out == tiers.left_out(reversed(many), 25)


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location("mutants", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mutants", module)
    spec.loader.exec_module(module)
    return module


def test_faults_are_of_every_kind_and_leave_texts_alone(script, tmp_path):
    path = tmp_path / "f.py"
    path.write_text(SOURCE, "utf-8")
    found = set()
    for fault in script.faults(path):
        (changed,) = (set(fault.mutated().splitlines()) - set(SOURCE.splitlines())) or {"the same"}
        found.add((fault.kind, changed))
    assert found == EDITS


@pytest.mark.parametrize(
    ("line", "slow"),
    [
        ("pytestmark = pytest.mark.slow", True),
        ("pytestmark = [\n    pytest.mark.slow,\n    pytest.mark.filterwarnings('ignore'),\n]", True),
        ("pytestmark = pytest.mark.filterwarnings('ignore')", False),
        ("@pytest.mark.slow\ndef test(): ...", False),
    ],
)
def test_files_of_which_all_is_slow_are_known(tmp_path, line, slow):
    (tmp_path / "test_it.py").write_text(f"import pytest\n\n{line}\n", "utf-8")
    assert tiers.is_slow(tmp_path / "test_it.py") is slow


SAMPLE = """def f(x):
    if x:
        y = 1
    elif x is None:
        y = 2
    return [
        y + 3
        for _ in x
    ]
@functools.cache
def g(x=4):
    return x + 5
"""
# The number in the source that is the fault, the line before which it is marked, and whether it is met once for all.
MARKED = {"1": (3, False), "2": (5, False), "3": (6, False), "4": (10, True), "5": (12, True)}


@pytest.mark.parametrize("number", MARKED)
def test_marks_stand_before_the_statement_of_the_fault(script, tmp_path, number):
    path = tmp_path / "f.py"
    path.write_text(SAMPLE, "utf-8")
    at = SAMPLE.index(number)
    node, once = script.statement(script.Fault("constant", path, at, at + 1, "9"))
    assert (script.line_of(node), once) == MARKED[number]


def test_a_fault_in_an_elif_is_marked_before_the_if(script, tmp_path):
    path = tmp_path / "f.py"
    path.write_text(SAMPLE, "utf-8")
    at = SAMPLE.index("is None")
    assert script.line_of(script.statement(script.Fault("operator", path, at, at + 2, "is not"))[0]) == 2


def test_mutants_that_were_read_have_reasons():
    rows = tomllib.loads((SCRIPT.parent / "mutants_equivalent.toml").read_text("utf-8"))["mutant"]
    for row in rows:
        source = (SCRIPT.parents[1] / row["file"]).read_text("utf-8")
        assert row["reason"]
        for line in row["fault"]:
            assert line[0] == "+" or line[1:] in source, f"no such line any more: take {line!r} out"
