"""The README's examples run as they are printed, and so do the commands that it shows."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from npdec.__main__ import main

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8")


def test_examples():
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert result.attempted > 8
    assert not result.failed


@pytest.mark.parametrize("command", re.findall(r"python -m npdec (explain \S.*--data.*)", TEXT))
def test_commands(command, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "94")
    assert main(shlex.split(command)) == 0
    shown = capsys.readouterr().out
    if "black_scholes" in command:
        for line in ("value at the baseline  20,087.00", "oil          76.05        78     -3,059.92  154.0%"):
            assert line in shown
            assert line in TEXT
