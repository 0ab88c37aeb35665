"""`npdec explain` on many rows: in one call or one at a time, over cores, in groups; pairs of columns; the page."""

from __future__ import annotations

import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import npdec as np
from explain_cases import DIABETES, EXAMPLES, explain, make_folder, results
from npdec.__main__ import main
from npdec.explain import batches
from npdec.explain.runner import Model
from npdec.explain.work import Counting
from tiers import turns

MODELS = """
import numpy as np

calls = []

def table(x):
    return np.tanh(x[..., 0]) * x[..., 1] + np.exp(x[..., 2] / 3)

def several(x):
    return np.stack([x[..., 0], x[..., 0] * x[..., 1]], axis=-1)

def named(a, b, c):
    return np.sqrt(a * a + b * b) * c

# What takes a table and means something else by it.
def ranked(x):
    return x[..., 0] * x[..., 1] / np.sum(x[..., 0])

def of_columns(x):
    return np.tanh(x[0]) * x[1] + x[2]

def largest(x):
    return x[..., 0] * 2 + 0 * np.max(x) + np.where(x[..., 1] >= np.max(x[..., 1]), 1.0, 0.0)

def branch(row):
    return row[1] * row[2] if row[0] > 1 else row[1]

def constant(x):
    return 7.0
"""


_SEEN = """
import torch
import numpy as np

def threads(x):
    with open("seen", "a") as file:
        file.write(f"{torch.get_num_threads()} ")
    {work}
    return np.tanh(x[..., 0]) * x[..., 1]
"""
_BUSY = "np.ones((480, 480)) @ np.ones((480, 480))"
THREADS = {"small": _SEEN.replace("{work}", "pass"), "large": _SEEN.replace("{work}", _BUSY)}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = make_folder(tmp_path, monkeypatch)
    (made / "models.py").write_text(MODELS)
    rows = numpy.random.default_rng(0).normal(size=(20, 3)).round(3)
    lines = [
        ",".join(["g", "a", "b", "c"]),
        *(f"{'xy'[i % 2]}," + ",".join(map(str, row)) for i, row in enumerate(rows)),
    ]
    (made / "many.csv").write_text("\n".join(lines) + "\n")
    return made


def one_by_one(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(batches, "_FEWEST", 10**9)
        return results(*arguments)["rows"]


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    real = Model.explain
    monkeypatch.setattr(Model, "explain", lambda *args: found.append(1) or real(*args))
    return found


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(
    ("function", "at_once"),
    [("table", True), ("several", True), ("named", True), ("ranked", False), ("of_columns", False), ("largest", False),
     ("branch", False), ("constant", False)],
)  # fmt: skip
def test_many_rows_are_as_each_of_them(function, at_once, mode, monkeypatch):
    """A function that takes many rows is called a few times; one that means something else by them, for each."""
    arguments = explain(f"models.py:{function}", "--mode", mode, row="all", baseline="median", data="many.csv")
    arguments += ["--output", "1"] if function == "several" else []
    wanted = one_by_one(arguments, monkeypatch)
    calls = count_calls(monkeypatch)
    found = results(*arguments)["rows"]
    assert (len(calls) < 5) == at_once
    assert [row["row"] for row in found] == list(range(20))
    for one, other in zip(found, wanted, strict=True):
        for key in ("value", "baseline_value", "residual"):
            assert one[key] == pytest.approx(other[key], rel=1e-12, abs=1e-13)
        shares = {line["column"]: line["contribution"] for line in other["contributions"]}
        for line in one["contributions"]:
            assert line["contribution"] == pytest.approx(shares[line["column"]], rel=1e-10, abs=1e-12)


def test_two_thousand_rows_of_the_example_take_a_few_calls(folder, monkeypatch):
    """How long they take, `benchmarks/explain.py` measures."""
    header, *lines = (EXAMPLES / "diabetes.csv").read_text().splitlines()
    (folder / "big.csv").write_text("\n".join([header, *(lines * 5)[:2000]]) + "\n")
    calls = count_calls(monkeypatch)
    found = results(*explain(DIABETES[0], row="all", baseline="mean", data="big.csv"))["rows"]
    assert len(found) == 2000
    assert len(calls) < 10  # of single rows, by which the call of all is checked


@pytest.mark.parametrize("work", ["small", "large"])
def test_threads_of_torch_are_left_out_where_calls_are_short(folder, work):
    """A short call is multiplied by threads that wait for one another on a busy machine; a long one needs them."""
    (folder / "models.py").write_text(THREADS[work])
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        results(*explain("models.py:threads", row="all", data="many.csv"))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    seen = [int(line) for line in (folder / "seen").read_text().split()]
    assert seen[1] == 1  # the first call of all rows, after that of the baseline
    assert set(seen[2:5]) == {1 if work == "small" else 2}  # both halves, and what carries contributions


@pytest.mark.parametrize(
    "product",
    [
        lambda: np.ones((30, 20)) @ np.ones((20, 50)),
        lambda: np.dot(np.ones(300), np.ones(300)),
        lambda: np.tensordot(np.ones((30, 4, 5)), np.ones((4, 5, 7))),
        lambda: torch.nn.functional.linear(torch.ones(40, 30), torch.ones(20, 30)),
        lambda: torch.nn.functional.conv1d(torch.ones(3, 4, 50), torch.ones(6, 4, 1)),
    ],
)
def test_multiplications_are_counted_as_torch_counts_them(product):
    with FlopCounterMode(display=False) as flops:
        product()
    with Counting() as counted:
        made = np.asarray(product())
    added = flops.get_total_flops() / 2
    assert added <= counted.multiplications
    assert counted.multiplications <= added + 30 * (made.size + 2000)  # what is made and read


@pytest.mark.slow
def test_rows_are_spread_over_cores(folder, monkeypatch, capsys):
    pytest.importorskip("joblib")
    arguments = explain("models.py:branch", row="all", baseline="0", data="many.csv")
    wanted = one_by_one(arguments, monkeypatch)
    monkeypatch.setattr(batches, "_WORTH", 0.0)
    calls = count_calls(monkeypatch)
    assert results(*arguments, "--jobs", "2")["rows"] == wanted
    assert len(calls) == 3  # the others are another process's
    (folder / "many.csv").write_text("g,a,b,c\n" + "x,0.1,2,3\n" * 19 + "x,0.64,2,3\n")
    (folder / "models.py").write_text(
        "def branch(row):\n    if row[0] == 0.64: raise KeyError('here')\n    return row[1]\n"
    )
    assert main([*arguments, "--jobs", "2"]) == 2
    assert "KeyError: 'here' (models.py, line 2)" in capsys.readouterr().err


def test_groups(capsys):
    arguments = explain("models.py:table", "--by", "g", row="all", baseline="mean", data="many.csv")
    rows = results(*arguments)["rows"]
    assert [row["group"] for row in rows] == ["x", "y"] * 10
    printed = capsys.readouterr().out
    for group in "xy":
        mean = numpy.mean([row["value"] for row in rows if row["group"] == group])
        shown = re.search(rf"^  g={group}: 10 rows: mean value ([-.\d]+),", printed, re.M)
        assert shown
        assert float(shown[1]) == pytest.approx(mean, abs=1e-3)
    assert main([*arguments, "--out", "out.csv"]) == 0
    header, first, *_ = Path("out.csv").read_text().splitlines()
    assert header.endswith(",group")
    assert first.endswith(",x")


def test_pairs_add_up_to_the_contributions(capsys):
    (row,) = results(*explain("models.py:table", "--interactions", data="many.csv", baseline="1"))["rows"]
    pairs = {tuple(pair["columns"]): pair["contribution"] for pair in row["interactions"]}
    assert sum(pairs.values()) == pytest.approx(row["value"] - row["residual"], rel=1e-12)
    for line in row["contributions"]:
        own = [amount / len(names) for names, amount in pairs.items() if line["column"] in names]
        assert sum(own) == pytest.approx(line["contribution"], rel=1e-9)
    assert pairs["a", "c"] == pairs["b", "c"] == 0
    assert "together with" in capsys.readouterr().out
    assert main(explain("models.py:table", "--interactions", row="all", data="many.csv")) == 2
    assert "--interactions shows the pairs of 5 rows at most, not of 20" in capsys.readouterr().err


def test_unit_and_format(capsys):
    options = ["--unit", "EUR", "--format", ",.1f"]
    assert main(explain("models.py:table", *options, data="many.csv")) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^  value +-?\d+\.\d EUR$", printed, re.M)
    assert re.search(r"^  change +[+-]\d+\.\d EUR$", printed, re.M)


class Page(html.parser.HTMLParser):
    """The elements of a page, which are closed in the order in which they were opened, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[str] = []
        self.words: list[str] = []
        self.sources: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.sources += [value or "" for key, value in attrs if key in ("src", "onload", "onclick")]
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.mark.parametrize("rows", turns(["0:3", "0", "all"], 0, 3))
def test_page(rows, folder):
    pytest.importorskip("matplotlib")
    (folder / "odd.csv").write_text((folder / "many.csv").read_text().replace("g,a,b", "g,<script>alert(1)</script>,b"))
    arguments = explain("models.py:table", "--by", "g", "--html", "page.html", row=rows, data="odd.csv")
    row = results(*arguments)["rows"][0]
    text = (folder / "page.html").read_text("utf-8")
    page = Page(text)
    assert "script" not in page.found
    assert not page.sources
    assert "http" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)
    assert page.found.count("svg") == 1
    assert page.found.count("details") == {"0": 1, "0:3": 3, "all": 20}[rows]
    cells = {word.strip() for word in page.words}
    assert {"<script>alert(1)</script>", "b", "c"} <= cells
    shown = [float(word.replace(",", "")) for word in cells if re.fullmatch(r"[+-][\d,]+\.\d+", word)]
    for line in row["contributions"]:
        assert min(abs(number - line["contribution"]) for number in shown) <= 0.006


def test_page_replaces_nothing_that_is_read(folder, capsys):
    (folder / "data.html").write_text((folder / "many.csv").read_text())
    before = (folder / "data.html").read_bytes()
    assert main(explain("models.py:table", "--html", "data.html", data="data.html")) == 2
    assert "--html data.html: would overwrite the data" in capsys.readouterr().err
    assert (folder / "data.html").read_bytes() == before
    assert main(explain("models.py:table", "--html", "page.txt", data="many.csv")) == 2
    assert json.loads(json.dumps(capsys.readouterr().err)).count("\n") == 1


@pytest.mark.long
def test_a_process_of_the_command_collects_garbage_while_the_function_runs(tmp_path):
    """But for what was loaded before; and a program that imports npdec keeps its collector as it is."""
    (tmp_path / "m.py").write_text(
        "import gc\ndef f(a, b):\n    assert gc.isenabled() and gc.get_freeze_count() > 10_000\n    return a * b\n"
    )
    (tmp_path / "d.csv").write_text("a,b\n1,2\n3,4\n")
    command = [sys.executable, "-m", "npdec", "explain", "m.py:f", "--data", "d.csv", "--row", "0", "--baseline", "1"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    program = "import gc, npdec; assert gc.isenabled() and not gc.get_freeze_count()"
    subprocess.run([sys.executable, "-c", program], check=True)
