"""What the layout of the code promises, counted."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import architecture


@pytest.mark.slow
def test_no_count_is_beyond_its_bound(capsys):
    assert architecture.main() == 0, capsys.readouterr().out


def test_a_circle_and_a_table_are_found(monkeypatch):
    monkeypatch.setattr(architecture, "imports", lambda: {"a": {"b.c"}, "b.c": {"d"}, "d": {"a"}, "e": {"d"}})
    assert architecture.circles() == ["a", "b.c", "d"]
    monkeypatch.setattr(architecture, "imports", lambda: {"a": {"b.c"}, "b.c": {"d"}, "d": set(), "e": {"d"}})
    assert architecture.circles() == []
    assert architecture.floors() == 3
