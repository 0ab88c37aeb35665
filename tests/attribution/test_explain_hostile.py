"""`npdec explain` on hostile command lines, files and names: one line and an exit code, nothing lost, none obeyed."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import npdec as np
import tiers
from explain_cases import EXAMPLES, explain, make_folder
from npdec.__main__ import main
from npdec.explain import output
from tiers import turns

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "start.csv").write_text("a,b,c\n0,0,0\n")
    return make_folder(tmp_path, monkeypatch)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def check_said(captured: Any, code: int) -> None:
    """Standard output is the report or nothing, and standard error a line for each thing that is said."""
    for text in (captured.out, captured.err):
        assert all(line.isprintable() for line in text.split("\n")), text
    lines = captured.err.splitlines()
    assert all(line.startswith("npdec explain: ") for line in lines), captured.err
    assert code in (0, 2), code
    assert bool(code) == any(line.startswith("npdec explain: error: ") for line in lines), captured.err
    assert bool(captured.out) == (code == 0)
    if code:
        assert len(lines) <= 2
        assert lines[-1].startswith("npdec explain: error: ")


# -- no file is lost ---------------------------------------------------------------------------------------------------


def symbolic(folder: Path, name: str, target: Path) -> str:
    (folder / name).symlink_to(target)
    return name


def hard(folder: Path, name: str, target: Path) -> str:
    (folder / name).hardlink_to(target)
    return name


def through_folder(folder: Path, name: str, target: Path) -> str:
    (folder / "elsewhere").symlink_to(folder)
    symbolic(folder, name, target)
    return f"elsewhere/{name}"


LINKS = [symbolic, hard, through_folder]
INPUTS = {"the data": "data.csv", "the baseline": "start.csv", "the script": "model.py"}
OUTPUTS = {"--out": ("x.csv", "x.json"), "--plot": ("x.png", "x.svg", "x.pdf")}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("what", INPUTS)
@pytest.mark.parametrize(("option", "name"), [(option, name) for option, names in OUTPUTS.items() for name in names])
def test_outputs_are_no_inputs(option, name, what, link, folder, capsys):
    path = link(folder, name, folder / INPUTS[what])
    before = contents(folder)
    assert main(explain("model.py:row_model", option, path, baseline="start.csv")) == 2
    said = capsys.readouterr().err
    assert f"{option} {path}: would overwrite {what} {INPUTS[what]}; choose another file" in said
    assert len(said.splitlines()) == 1
    assert contents(folder) == before


@pytest.mark.parametrize("spelling", ["data.csv", "./data.csv", "../{}/data.csv", "{}/../{}/./data.csv"])
def test_the_data_in_other_words(spelling, folder):
    path = (
        spelling.format(folder.name, folder.name) if spelling.startswith("..") else spelling.format(folder, folder.name)
    )
    before = contents(folder)
    assert main(explain("model.py:row_model", "--out", path)) == 2
    assert main(explain("model.py:row_model", "--out", str(folder / "data.csv"))) == 2
    assert contents(folder) == before


def test_two_outputs_are_two_files(folder, capsys):
    (folder / "old.csv").write_text("old")
    symbolic(folder, "x.png", folder / "old.csv")
    assert main(explain("model.py:row_model", "--out", "old.csv", "--plot", "x.png")) == 2
    assert "--plot x.png: would overwrite --out old.csv" in capsys.readouterr().err
    symbolic(folder, "y.csv", folder / "new")
    symbolic(folder, "y.png", folder / "new")
    assert main(explain("model.py:row_model", "--out", "y.csv", "--plot", "y.png")) == 2
    assert (folder / "old.csv").read_text() == "old"
    assert not (folder / "new").exists()


def test_a_link_stays_a_link_and_permissions_stay(folder):
    (folder / "old.csv").write_text("old")
    (folder / "old.csv").chmod(0o600)
    symbolic(folder, "link.csv", folder / "old.csv")
    assert main(explain("model.py:row_model", "--out", "link.csv")) == 0
    assert (folder / "link.csv").is_symlink()
    assert stat.S_IMODE((folder / "old.csv").stat().st_mode) == 0o600
    assert (folder / "old.csv").read_text().startswith("row,column")


@pytest.mark.parametrize("where", ["write_text", "replace", "chmod", "fsync", "savefig"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), OSError()])
def test_a_failed_write_keeps_the_older_file(where, error, folder, monkeypatch, capsys):
    from matplotlib.figure import Figure

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise error

    old = {"x.csv": b"older results", "x.png": b"older plot"}
    for name, content in old.items():
        (folder / name).write_bytes(content)
    before = contents(folder)
    holder = {"fsync": os, "savefig": Figure}.get(where, Path)
    monkeypatch.setattr(holder, where, fail)
    option, name = ("--plot", "x.png") if where == "savefig" else ("--out", "x.csv")
    code = main(explain("model.py:row_model", option, name))
    monkeypatch.undo()
    assert code == (130 if isinstance(error, KeyboardInterrupt) else 2)
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert contents(folder) == before


# -- kinds of files ----------------------------------------------------------------------------------------------------


def fifo(folder: Path) -> str:
    os.mkfifo(folder / "pipe.csv")
    text = (folder / "data.csv").read_text()
    threading.Thread(target=lambda: (folder / "pipe.csv").write_text(text), daemon=True).start()
    return "pipe.csv"


def written(content: bytes, name: str = "odd.csv", mode: int = 0o644) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        (folder / name).write_bytes(content)
        (folder / name).chmod(mode)
        return name

    return make


def circle(folder: Path) -> str:
    symbolic(folder, "one.csv", folder / "two.csv")
    return symbolic(folder, "two.csv", folder / "one.csv")


def made_folder(folder: Path) -> str:
    (folder / "folder.csv").mkdir()
    return "folder.csv"


FILES: dict[str, tuple[Callable[[Path], str], str]] = {
    "missing": (lambda folder: "absent.csv", "no such file"),
    "directory": (made_folder, "is a directory"),
    "in no directory": (lambda folder: "absent/x.csv", "no such file|does not exist|nor a file"),
    "below a file": (lambda folder: "data.csv/x.csv", "Not a directory|no such file|nor a file|does not exist"),
    "links in a circle": (circle, "[Ss]ymlink loop|Too many levels"),
    "name too long": (lambda folder: "x" * 300 + ".csv", "File name too long"),
    "null character": (lambda folder: "a\0b.csv", "null"),
    "escape sequence": (lambda folder: "\x1b[2J.csv", r"\\x1b\[2J"),
    "bytes that are no text": (lambda folder: os.fsdecode(b"\xff.csv"), r"\\udcff"),
    "zeros without end": (lambda folder: "/dev/zero", "is a device|extension|no regular file"),
    "nothing": (lambda folder: "/dev/null", "is a device|extension|no regular file"),
    "empty": (written(b""), "is empty"),
    "line ends": (written(b"\n\r\n\n"), "is empty"),
    "binary": (written(bytes(range(256)) * 20), "is not text in UTF-8"),
    "zipped": (written(b"PK\x03\x04" + bytes(200)), "is a zip archive that cannot be read"),
    "UTF-16 without a mark": (written("a,b,c\n1,2,3\n".encode("utf-16-le")), "error"),
    "null characters": (written(b"a,b,c\n1,2\0,3\n"), "is not numeric|is not a number"),
    "huge field": (written(b"a,b,c\n1,2," + b"3" * 200_000 + b"\n"), "is not finite"),
    "huge header": (written(b"a" * 200_000 + b",b\n1,2\n"), "IndexError: index 2|no column .a."),
    "huge number": (written(b"a,b,c\n1,2," + b"3" * 100_000 + b"\n"), "is not finite"),
    "columns of one name": (written(b"a,b,a\n1,2,3\n"), "two columns are named 'a'"),
    "open quote": (written(b'a,b,c\n1,"2,3\n'), "is not valid CSV"),
    "unreadable": (written(b"a,b,c\n1,2,3\n", mode=0), "cannot be read"),
    "large numbers": (written(b"a,b,c\n0,1.7e308,0\n0,1.7e308,0\n0,-1.7e308,0\n"), "error|warning|^$"),
}


@pytest.mark.parametrize("kind", FILES)
def test_data_and_baseline_of_any_kind(kind, folder, capsys):
    if kind == "unreadable" and ROOT:
        pytest.skip("root reads all")
    make, says = FILES[kind]
    path = make(folder)
    before = contents(folder)
    for arguments in (
        explain("model.py:row_model", data=path),
        explain("model.py:row_model", baseline=path),
        explain("model.py:row_model", "--plot", "x.png", "--out", "x.csv", row="0,0", data=path, baseline="zero"),
    ):
        code = main(arguments)
        captured = capsys.readouterr()
        check_said(captured, code)
        if kind != "large numbers":
            assert code == 2
            assert re.search(f"{says}|nor a file|a baseline file has one", captured.err), captured.err
            assert contents(folder) == before


def test_a_pipe_is_data(folder, capsys):
    assert main(explain("model.py:row_model", data=fifo(folder))) == 0
    check_said(capsys.readouterr(), 0)


@pytest.mark.parametrize("kind", FILES)
def test_scripts_of_any_kind(kind, folder, capsys):
    if kind == "unreadable" and ROOT:
        pytest.skip("root reads all")
    code = main(explain(f"{FILES[kind][0](folder)}:f"))
    check_said(capsys.readouterr(), code)
    assert code == 2


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("option", OUTPUTS)
def test_outputs_of_any_kind(kind, option, folder, capsys):
    path = FILES[kind][0](folder)
    path = path if option == "--out" else path.replace(".csv", ".png")
    exists = os.path.isfile(path) if "\0" not in path else False
    before = contents(folder)
    code = main(explain("model.py:row_model", option, path))
    check_said(capsys.readouterr(), code)
    if code:
        assert contents(folder) == before
    elif exists:
        assert contents(folder).keys() == before.keys()


def test_a_pipe_is_not_replaced(folder, capsys):
    os.mkfifo(folder / "pipe.csv")
    assert main(explain("model.py:row_model", "--out", "pipe.csv")) == 2
    assert "is no regular file" in capsys.readouterr().err
    assert stat.S_ISFIFO((folder / "pipe.csv").stat().st_mode)


# -- names, numbers and options ----------------------------------------------------------------------------------------

NASTY = [
    "\x1b[31mred", "\x1b]0;title\x07", "\x9b2J", "\x7f", "a\rb", "\x08\x08", "\u202eevil", "\u2028", "\ufeff",
    "é\u0301", "=1+1", "+1", "-2+3", "@SUM(A1)", "\uff1d1", "\t=1", "\r=1", "'=1",
    '=HYPERLINK("http://x","y")', "=cmd|' /C calc'!A0",
    "[bold]x[/bold]", "[/]", ":smile:", "$\\frac{$", "$$", "{x}", "%s", "\\", "日本", "🎉", "x" * 500, "a,b", 'a"b',
    "a\nb", "nan", "None", "0x", "row", "a b", "\0", "--out", "<b>&amp;",
]  # fmt: skip
NUMBERS = [
    "1", "-1", "0", "1e308", "-1e308", "5e-324", "1e-300", "", "nan", "inf", "-inf", "1e999", "1,5", "1_0", "0x1",
    "\u0661", "²", " 2 ", "+3", "1e", "--1", "true", "\x1b[31m1", "=1+1", "9" * 400,
]  # fmt: skip
SAFE_TEXT = re.compile(r"[^=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]|$")

names = st.lists(st.sampled_from(NASTY) | st.text(max_size=6), min_size=1, max_size=4)
options = st.lists(
    st.sampled_from(
        ["--columns", "--target", "--drop", "--rule", "--mode", "--output", "--top", "--row", "--baseline"]
    ),
    max_size=2,
)
words = st.sampled_from([*NASTY, *NUMBERS, "all", "0:2", "mean", "reverse", "forward", "affine", "scaling", "0,1"])


def table(header: list[str], rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    return text.getvalue()


SUM = (
    "import numpy as np\ndef total(row): return np.sum(np.exp(row / 1e3) * 3)\ndef text(row): raise ValueError({!r})\n"
)


def run_hostile(header: list[str], rows: list[list[str]], more: list[str], name: str, plot: bool) -> tuple[int, Any]:
    """The command on a table, in a folder of its own: it keeps to its promises whatever it is given."""
    here = Path.cwd()
    for old in (*here.glob("x.*"), here / "data.csv"):
        old.unlink(missing_ok=True)
    (here / "data.csv").write_text(table(header, rows), "utf-8", "surrogatepass", newline="")
    (here / "sums.py").write_text(SUM.format(header[0]), "utf-8", "surrogatepass")
    before = contents(here)
    arguments = ["explain", f"sums.py:{name}", "--data", "data.csv", "--row", "all", "--baseline", "0"]
    arguments += [*more, "--out", "x.csv", *(["--plot", "x.svg"] if plot else [])]
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = main(arguments)
    shown: Any = type("Captured", (), {})
    shown.out, shown.err = (stream.buffer.getvalue().decode() for stream in (out, err) if not stream.flush())
    check_said(shown, code)
    after = contents(here)
    assert {key: after[key] for key in before} == before
    assert set(after) - set(before) == (set() if code else {"x.csv", *(["x.svg"] if plot else [])})
    return code, shown


def check_cells(text: str) -> None:
    """What a spreadsheet makes of the file: text that begins no formula, and numbers."""
    header, *lines = csv.reader(io.StringIO(text, newline=""))
    assert lines
    for line in lines:
        cells = dict(zip(header, line, strict=True))
        assert SAFE_TEXT.match(cells.pop("column"))
        for key, cell in cells.items():
            assert (key == "share" and not cell) or repr(float(cell)) == cell or str(int(cell)) == cell


@pytest.mark.parametrize(
    "name", [n if not i % 3 else pytest.param(n, marks=pytest.mark.slow) for i, n in enumerate(NASTY)]
)
def test_names(name, folder):
    turn = NASTY.index(name)
    for header in turns([[name, "b"], ["b", name]], turn, 2):
        plot = turn % 5 == 0  # which takes longer than all that follows
        code, shown = run_hostile(header, [["1", "2"], ["3", "4"]], [], "total", plot=plot)
        assert code == 0, shown.err
        check_cells((folder / "x.csv").read_text("utf-8"))
        assert not plot or "\x1b" not in (folder / "x.svg").read_text("utf-8")
        assert run_hostile(header, [["1", "2"]], [], "text", plot=False)[0] == 2
        run_hostile(header, [["1", name]], [], "total", plot=False)
        run_hostile(header, [["1", "2"], ["3", name]], ["--drop", header[1]], "total", plot=False)
        options = "--row --baseline --columns --drop --target --rule --mode --output --top"
        for option in turns(options.split(), turn, 4):
            run_hostile(header, [["1", "2"]], [option, name], "total", plot=False)


@settings(max_examples=tiers.fewer(100, 4))
@given(names, st.data())
def test_any_command_line(tmp_path_factory, names, data):
    cells = st.sampled_from(NUMBERS) | st.floats().map(repr)
    rows = data.draw(st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), min_size=1, max_size=3))
    more = [part for option in data.draw(options) for part in (option, data.draw(words))]
    here = Path.cwd()
    os.chdir(tmp_path_factory.getbasetemp())
    try:
        run_hostile(names, rows, more, data.draw(st.sampled_from(["total", "text", "absent", ""])), plot=False)
    finally:
        os.chdir(here)


def test_what_spreadsheets_read_is_in_json_as_it_was(folder):
    (folder / "data.csv").write_text("=a,-b\n1,2\n3,4\n")
    (folder / "f.py").write_text("def f(row): return row[0] * row[1]\n")
    for name in ("x.json", "x.csv"):
        assert main(explain("f.py:f", "--out", name)) == 0
    (row,) = json.loads((folder / "x.json").read_text())["rows"]
    lines = list(csv.DictReader(io.StringIO((folder / "x.csv").read_text())))
    for line, wanted in zip(lines, row["contributions"], strict=True):
        assert line["column"] == f"'{wanted['column']}"
        assert [float(line[key]) for key in ("input", "baseline", "contribution", "share")] == [
            wanted[key] for key in ("input", "baseline", "contribution", "share")
        ]


def test_labels_are_shown_not_obeyed():
    x = np.decompose(np.array([1.0, 2.0]), labels=["\x1b[2Jred", "a\nb"])
    for shown in (x.contributions(), x.sum().contributions()):
        assert all(line.isprintable() for line in repr(shown).splitlines())
        assert "\\x1b[2Jred" in repr(shown)
        assert len(repr(shown).splitlines()) == 4
        assert dict(shown).keys() == set(x.labels)


def test_exceptions_and_warnings_that_cannot_be_shown(folder, capsys):
    (folder / "f.py").write_text(
        "import warnings\n"
        "class Mute(Exception):\n    def __str__(self): raise RuntimeError('no')\n"
        "class Odd(BaseException): pass\n"
        "def f(row): raise Mute\n"
        "def g(row): raise Odd('\\x1b[2J')\n"
        "def h(row):\n    warnings.warn('\\x1b[2Jred\\r', stacklevel=1)\n    return row[0]\n"
    )
    for name in "fgh":
        code = main(explain(f"f.py:{name}"))
        check_said(capsys.readouterr(), code)
        assert code == (0 if name == "h" else 2)


# -- the terminal and signals ------------------------------------------------------------------------------------------


def environment(*places: Path) -> dict[str, str]:
    path = os.pathsep.join([*map(str, places), str(EXAMPLES.parent), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": ""}


def shell(command: str) -> subprocess.CompletedProcess[str]:
    command = command.replace("npdec", f"{sys.executable} -m npdec")
    return subprocess.run(
        ["bash", "-c", command], check=False, capture_output=True, text=True, timeout=300, env=environment()
    )


COMMAND = "npdec explain model.py:row_model --data data.csv --row all --baseline mean"


@pytest.mark.long
@pytest.mark.parametrize("unbuffered", ["", "1"])  # when Python meets the error: as it ends, or as it writes
@pytest.mark.parametrize(
    ("ending", "code", "says"),
    [
        ("> /dev/full", 1, "npdec explain: error: the report cannot be written: No space left on device\n"),
        (">&-", 1, "npdec explain: error: standard output is closed; send it to /dev/null to do without the report\n"),
        ("| exec true; exit ${PIPESTATUS[0]}", 141, ""),
        ("> /dev/null 2>&-", 0, ""),
        ("--row 99 2>/dev/full", 2, ""),
        ("--help > /dev/full", 1, "npdec explain: error: the report cannot be written: No space left on device\n"),
    ],
)
def test_outputs_that_take_nothing(ending, code, says, unbuffered):
    done = shell(f"PYTHONUNBUFFERED={unbuffered} {COMMAND} {ending}")
    assert (done.returncode, done.stderr, done.stdout) == (code, says, "")


@pytest.mark.long
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("model.py > /dev/full", 1, "npdec check: error: the report cannot be written: No space left on device\n"),
        (
            "model.py >&-",
            1,
            "npdec check: error: standard output is closed; send it to /dev/null to do without the report\n",
        ),
        ("model.py | exec true; exit ${PIPESTATUS[0]}", 141, ""),
        ("nothing 2> /dev/full", 2, ""),
        ("nothing 2>&-", 2, ""),
    ],
)
def test_the_check_writes_to_what_takes_nothing(command, code, says, unbuffered):
    done = shell(f"PYTHONUNBUFFERED={unbuffered} npdec check {command}")
    assert (done.returncode, done.stderr, done.stdout) == (code, says, "")


@pytest.mark.slow
def test_a_terminal_that_knows_ascii_only(folder):
    (folder / "data.csv").write_text("ä,日本,\x1b[31m\n1,2,3\n4,5,6\n")
    done = shell(f"PYTHONIOENCODING=ascii {COMMAND}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xe4" in done.stdout
    assert "\\x1b[31m" in done.stdout


def interrupted(started: Path, *places: Path, program: tuple[str, ...] = ("-m", "npdec")) -> tuple[int, str]:
    command = [sys.executable, *program, *COMMAND.split()[1:]]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(*places)
    )
    try:
        while not started.exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out == ""
    return process.returncode, err


WAIT = "import pathlib, time\npathlib.Path('started').touch()\ntime.sleep(60)\n"


@pytest.mark.parametrize("program", [("-m", "npdec"), ("npdec",)], ids=["module", "script"])
def test_interrupted_while_torch_is_imported(program, folder):
    """In place of torch stands a package that takes its time; an import may swallow what it is interrupted by."""
    (folder / "slow" / "torch").mkdir(parents=True)
    (folder / "slow" / "torch" / "__init__.py").write_text(
        f"try:\n    exec({WAIT!r})\nexcept BaseException:\n    raise ImportError('torch is broken')\n"
    )
    (folder / "npdec").write_text("import sys\nfrom npdec.__main__ import main\nsys.exit(main())\n")  # as pip makes it
    assert interrupted(folder / "started", folder / "slow", program=program) == (130, "npdec: interrupted\n")


@pytest.mark.slow
def test_interrupted_in_the_script(folder):
    (folder / "model.py").write_text(WAIT)
    assert interrupted(folder / "started") == (130, "npdec explain: interrupted\n")


@pytest.mark.slow
def test_other_programs_keep_their_handler():
    code = "import signal; import npdec; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert done.stdout == "True\n"


def test_mode_of_a_new_file_is_that_of_any_other(folder):
    (folder / "other").touch()
    with output.replacing(folder / "x.csv", "--out") as path:
        path.write_text("")
    assert (folder / "x.csv").stat().st_mode == (folder / "other").stat().st_mode
