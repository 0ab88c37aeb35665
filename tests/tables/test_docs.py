"""What the README and the pages of the site show runs: examples, commands, code, and the scripts that are pages."""

from __future__ import annotations

import doctest
import os
import re
import runpy
import shlex
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from npdec.__main__ import main

pytestmark = pytest.mark.usefixtures("nothing_published")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("guides/*.md"))]
SCRIPTS = [path for folder in ("tutorials", "explanations", "gallery") for path in sorted((DOCS / folder).glob("*.py"))]
# One script, which is short, stands for all of them among the quick tests.
QUICK = "1_numpy_model.py"


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def fenced(path: Path, language: str) -> list[str]:
    """The blocks of a page that are marked as of this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page", [PAGES[0], *(pytest.param(page, marks=pytest.mark.slow) for page in PAGES[1:])], ids=named
)
def test_examples(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=options)
    assert result.attempted == page.read_text("utf-8").count("\n>>> ")
    assert not result.failed


def files(page: Path) -> dict[str, str]:
    """What a reader of a page saves: the blocks whose captions are names of files."""
    block = r"^```{code-block} \w+\n:caption: (\S+)\n\n(.*?)^```"
    return dict(re.findall(block, page.read_text("utf-8"), re.MULTILINE | re.DOTALL))


def commands() -> list[Any]:
    """The calls of `explain` that pages and scripts show, what runs before them, and what they are shown to print."""
    found = []
    for path in [*PAGES, *SCRIPTS]:
        shown = r"((?:\$ python \S+\.py\n)*)(\$ )?python -m npdec (explain \S+ --data .*)\n((?:(?!```).*\n)*)"
        for match in re.finditer(shown, path.read_text("utf-8")):
            before = re.findall(r"\$ python (\S+)", match[1])
            marks = [pytest.mark.slow] if before else []  # it fits a model
            found.append(pytest.param(path, before, match[3], match[4] if match[2] else "", marks=marks))
    return found


@pytest.mark.parametrize(("page", "before", "command", "shown"), commands())
def test_commands(page, before, command, shown, monkeypatch, capsys, tmp_path):
    """In a folder with the examples and the files that the page shows, they print what is shown below them, but for the
    last digits, in which processors differ."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")  # what is printed where no terminal says otherwise
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name, text in files(page).items():
        (tmp_path / name).write_text(text, "utf-8")
    for script in before:
        runpy.run_path(script, run_name="__main__")
    assert main(shlex.split(command)) == 0
    printed, last = capsys.readouterr().out.rsplit("completeness error", 1)
    assert float(last.split()[-1]) < 1e-12
    if shown:
        assert shown.partition("completeness error")[0] == printed


CODE = [(path, block) for path in PAGES for block in fenced(path, "python")]


@pytest.mark.parametrize(("page", "block"), CODE, ids=[f"{named(path)}-{i}" for i, (path, _) in enumerate(CODE)])
def test_code(page, block):
    """Code without output runs, with the names that the text around it supposes."""
    names = "from npdec.extend import *\nimport torch\n" if "@ufunc" in block else ""
    exec(compile(names + textwrap.dedent(block), str(page), "exec"), {"__name__": "snippet"})


@pytest.mark.parametrize(
    "script",
    [pytest.param(p, marks=[] if p.name == QUICK else pytest.mark.slow, id=named(p)) for p in SCRIPTS],
)
def test_scripts(script, monkeypatch, capsys):
    """Each runs from its folder, as a reader would run it; what it asserts holds."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setenv("MPLBACKEND", "agg")
    pyplot.switch_backend("agg")
    monkeypatch.setattr(sys, "argv", [script.name])
    monkeypatch.setattr(pyplot, "show", lambda: None)
    try:
        runpy.run_path(os.fspath(script), run_name="__main__")
    finally:
        pyplot.close("all")
    assert capsys.readouterr().out


def test_each_page_is_reached():
    """Each guide stands in the guides' tables of contents, and each folder of scripts in the index."""
    listed = re.findall(r"```{toctree}\n(.*?)```", (DOCS / "guides" / "index.md").read_text("utf-8"), re.DOTALL)
    assert {path.stem for path in DOCS.glob("guides/*.md")} - {"index"} <= set(" ".join(listed).split())
    index = (DOCS / "index.md").read_text("utf-8")
    assert all(f"made/{path.parent.name}/index" in index for path in SCRIPTS)
