"""What the tests of `npdec explain` share: a script and its data, and the command as a list of arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npdec.__main__ import main

EXAMPLES = Path(__file__).parents[1] / "examples"
DIABETES = [f"{EXAMPLES / 'diabetes.py'}:predict", "--data", str(EXAMPLES / "diabetes.csv")]
MARKET = [f"{EXAMPLES / 'black_scholes.py'}:value", "--data", str(EXAMPLES / "market.csv")]

SCRIPT = """\
import math
import numpy as np
from numpy import exp

def row_model(row):
    return np.tanh(row[0]) * row[1] + exp(row[2])

def by_name(a, b, c=1.0, *, scale=2.0):
    return scale * a * b + c

def unrelated(a, price):
    return a

def vector(row):
    return row * np.array([1.0, 2.0, 3.0])

def pair(row):
    return [row[0], row[0] * row[1]]

def constant(row):
    return 7

def branch(row):
    return row[1] * row[2] if row[0] > 1 else row[1]

def through_math(row):
    return math.exp(row[0])

def none(row):
    pass

def text(row):
    return "high"

def truth(row):
    return row[0] > 0

def unsure(row):
    return row[0] + 1j

def not_finite(row):
    return row[0] * float("nan")

def infinite_at_row(row):
    return np.exp(np.exp(10.0 * row[0] * (row[0] - 0.5)))

def raises(row):
    raise KeyError("no such\\nmodel")

def exits(row):
    raise SystemExit(3)

def too_wide(row):
    return row[17]

def no_arguments():
    return 1.0

def interrupted(row):
    raise KeyboardInterrupt

def noisy(row):
    import warnings
    warnings.warn("old formula")
    warnings.warn("old formula", DeprecationWarning)
    return row[0]

not_a_function = 3.0
"""

DATA = "a,b,c\n1,2,3\n0.5,-1,2\n-2,4,0.25\n"


def make_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a script and its data, and a terminal of 80 columns."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    (folder / "model.py").write_text(SCRIPT)
    (folder / "data.csv").write_text(DATA)
    return folder


def explain(function: str, *options: str, row: str = "0", baseline: str = "mean", data: str = "data.csv") -> list[str]:
    return ["explain", function, "--data", data, "--row", row, "--baseline", baseline, *options]


def results(*arguments: str) -> dict[str, Any]:
    """What the command writes as JSON."""
    assert main([*arguments, "--out", "results.json"]) == 0
    return json.loads(Path("results.json").read_text())
