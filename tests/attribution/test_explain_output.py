"""The command `npdec explain`: what it writes, draws and prints, and how it runs as a process."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from explain_cases import DIABETES, EXAMPLES, MARKET, explain, make_folder, results
from npdec.__main__ import main
from npdec.explain import output, report
from npdec.explain.errors import InputError
from npdec.explain.explanation import Explanation
from tiers import turns


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_folder(tmp_path, monkeypatch)


# What is written.


def test_csv_output(folder: Path) -> None:
    assert main(explain("model.py:row_model", "--out", "out.csv", "--top", "1", row="all")) == 0
    with (folder / "out.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["row"]) for row in rows] == ["0"] * 3 + ["1"] * 3 + ["2"] * 3
    for number in "012":
        own = [row for row in rows if row["row"] == number]
        total = math.fsum(float(row["contribution"]) for row in own)
        assert float(own[0]["value"]) - float(own[0]["baseline_value"]) == pytest.approx(total, rel=1e-12)
        assert math.fsum(float(row["share"]) for row in own) == pytest.approx(1)


def test_equal_row_and_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    row = results(*explain("model.py:row_model", row="1", baseline="1"))["rows"][0]
    assert [line["contribution"] for line in row["contributions"]] == [0, 0, 0]
    assert [line["share"] for line in row["contributions"]] == [None] * 3
    assert "nan" not in capsys.readouterr().out


def test_files_are_written_whole_or_not_at_all(folder: Path) -> None:
    (folder / "kept.csv").write_text("old")
    before = sorted(folder.iterdir())

    def fail_half_way(path: Path) -> None:
        path.write_text("half")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"), output.replacing(folder / "kept.csv", "--out") as temporary:
        fail_half_way(temporary)
    with pytest.raises(InputError, match="cannot be written"), output.replacing(folder / "kept.csv", "--out"):
        raise OSError(28, "No space left on device")
    assert (folder / "kept.csv").read_text() == "old"
    assert sorted(folder.iterdir()) == before


def test_nothing_is_written_when_a_later_row_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = explain("model.py:infinite_at_row", "--out", "out.csv", row="0,1,2", baseline="zero")
    assert main(arguments) == 2
    assert not (folder / "out.csv").exists()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plot(suffix: str, folder: Path) -> None:
    signature = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    for rows in turns(["0", "0,1", ",".join("012" * 4)], ["png", "svg", "pdf"].index(suffix), 3):
        assert main(explain("model.py:row_model", "--plot", f"bridge.{suffix}", row=rows)) == 0
        content = (folder / f"bridge.{suffix}").read_bytes()
        assert content.startswith(signature)
        assert len(content) > 5000


# What is printed.


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *DIABETES, "--row", "0", "--baseline", "mean"]) == 0
    printed = capsys.readouterr().out
    value, start, change = (
        float(re.search(rf"^  {name} +([-+.\d]+)$", printed, re.M)[1])  # type: ignore[index]
        for name in ("value", "value at the baseline", "change")
    )
    assert value - start == pytest.approx(change, abs=0.02)
    lines = re.findall(r"^  (\w+) +([-.\d]+) +([-.\d]+) +([-+][.\d]+) +(-?[.\d]+)%", printed, re.M)
    assert len(lines) == 10
    assert math.fsum(float(line[3]) for line in lines) == pytest.approx(change, abs=0.06)
    assert re.search(r"^  sum +([-+.\d]+) +100.0%$", printed, re.M)
    assert re.search(r"completeness error [-.\de]+, relative [-.\de]+", printed)


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in packages:
            monkeypatch.delitem(sys.modules, name)
    for name in packages:
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("rows", ["0", "0:3", "all"])
@pytest.mark.parametrize("arguments", [DIABETES, MARKET], ids=["diabetes", "market"])
def test_lines_fit_the_terminal_with_and_without_rich(
    width: int, rows: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    command = ["explain", *arguments, "--row", "0:12" if rows == "all" else rows, "--baseline", "1"]
    command[1] = os.path.relpath(command[1])
    command[3] = os.path.relpath(command[3])
    assert main(command) == 0
    rich = capsys.readouterr().out
    without(monkeypatch, "rich")
    assert main(command) == 0
    assert capsys.readouterr().out == rich
    assert max(map(len, rich.splitlines()[1:])) <= width


def test_top_sums_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *DIABETES, "--row", "0", "--baseline", "mean", "--top", "3"]) == 0
    assert re.search(r"^  7 others +[-+][.\d]+ ", capsys.readouterr().out, re.M)


def test_stream_that_knows_ascii_only() -> None:
    item = Explanation(0, "row 0", ("a", "b"), (1.0, 2.0), (0.0, 0.0), (3.0, -1.0), 2.0, 0.0, 0.0)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    report.Report(stream).show([item, item], "f", "d", "zero")
    stream.seek(0)
    assert "#" in stream.read()


def test_column_names_are_not_markup(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "odd.csv").write_text(
        "[bold]a,:smile:,$x^2$ and a name that is far too long for a column\n1,2,3\n2,3,4\n"
    )
    assert main(explain("model.py:row_model", "--plot", "odd.png", data="odd.csv")) == 0
    printed = capsys.readouterr().out
    assert "[bold]a" in printed
    assert ":smile:" in printed
    assert "$x^2$ and a name that i…" in printed


def test_warnings_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(explain("model.py:noisy", row="all")) == 0
    assert capsys.readouterr().err == "npdec explain: warning: old formula\n"


def test_warning_while_the_script_is_loaded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "loud.py").write_text("import warnings\nwarnings.warn('a\\nb')\ndef f(row): return row[0]\n")
    assert main(explain("loud.py:f")) == 0
    assert capsys.readouterr().err == "npdec explain: warning: a b\n"


def test_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(explain("model.py:interrupted")) == 130
    assert capsys.readouterr().err == "npdec explain: interrupted\n"


def test_incomplete_contributions_get_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import npdec

    def wrong(f: Any, x: Any, *, baseline: Any) -> Any:
        return npdec.Attribution(f(npdec.decompose(x)).value, f(baseline), x * 0)

    monkeypatch.setattr(npdec, "attribute", wrong)
    assert main(explain("model.py:row_model")) == 0
    assert "npdec explain: warning: the contributions at row 0 miss the value by" in capsys.readouterr().err


def test_plot_without_matplotlib(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    without(monkeypatch, "matplotlib")
    assert main(explain("model.py:row_model", "--plot", "x.png")) == 2
    assert capsys.readouterr().err == "npdec explain: error: --plot needs matplotlib: pip install matplotlib\n"


@pytest.mark.parametrize("rich", [True, False])
def test_progress_only_on_a_terminal(
    rich: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not rich:
        without(monkeypatch, "rich")
    assert main(explain("model.py:row_model", row="all")) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert main(explain("model.py:row_model", row="all")) == 0
    assert "explaining row" in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--help"]) == 0
    assert "FILE.py:FUNCTION" in capsys.readouterr().out


# As a process of its own.


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(EXAMPLES.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, env=environment)


@pytest.mark.slow
def test_command_line(folder: Path) -> None:
    command = [sys.executable, "-m", "npdec", *explain("model.py:row_model", "--plot", "bridge.png", "--out", "o.json")]
    done = run(command, folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "completeness error" in done.stdout
    assert (folder / "bridge.png").exists()
    assert (folder / "o.json").exists()


@pytest.mark.slow
def test_command_line_that_is_refused(folder: Path) -> None:
    done = run([sys.executable, "-m", "npdec", *explain("model.py:row_model", "--out", "o.txt")], folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_without_numpy(folder: Path) -> None:
    """The script says `import numpy` on a machine that has none."""
    block = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy', 'rich', 'matplotlib'])); "
        "from npdec.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", block, *explain("model.py:row_model")]
    done = run(command, folder)
    assert done.returncode == 0, done.stderr  # torch warns that it has no NumPy
    assert "completeness error" in done.stdout
