"""Pages of functions by chapter, and below each docstring the function's rule, read from decomposition.md.

That page is written by scripts/decomposition_table.py, which measures the completeness; here it is only read.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docstrings import restructured

import npdec

_ROW = re.compile(r"^\| `([\w.]+)`(?: \(also ([^)]*)\))? \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|(.*)\|$")
_UNMEASURED = "Without samples"


@dataclass
class Rule:
    """What the table says of one function."""

    name: str
    also: list[str]
    arguments: str
    how: str
    double: str
    single: str
    note: str


def read(page: Path) -> tuple[dict[str, list[Rule]], dict[str, str]]:
    """The rows by chapter, and what the words of the table mean."""
    chapters: dict[str, list[Rule]] = {}
    words: dict[str, str] = {}
    title = ""
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("## "):
            title = line[3:].strip()
        elif match := _ROW.match(line):
            cells = [cell.strip() for cell in match.groups()[2:]]
            chapters.setdefault(title, []).append(Rule(match[1], re.findall(r"`([\w.]+)`", match[2] or ""), *cells))
        elif not title and (cells := line.strip("|").split(" | ")) and len(cells) == 2 and "---" not in line:
            words[cells[0].strip()] = cells[1].strip()
    return chapters, words


def lines_of(rule: Rule, words: dict[str, str]) -> list[str]:
    """The section of one function, in reStructuredText."""
    made = ["", ".. rubric:: Contributions", ""]
    if rule.double == "–" and rule.single == "–":
        return [*made, f"The result carries none. {_literal(rule.note)}.", ""]
    if rule.arguments:
        made += [f"Arguments by their tags: {_literal(rule.arguments)}.", ""]
    if rule.how:
        for word in rule.how.split(", "):
            made.append(f"- *{word}*: {_literal(words.get(word, ''))}")
        made.append("")
    errors = [(rule.double, "double"), (rule.single, "single")]
    measured = " and ".join(f"{error} in {kind} precision" for error, kind in errors if error != "–")
    made += [f"Completeness, measured over the samples of the tests: off by at most {measured}, relative.", ""]
    if rule.note:
        made += [_literal(rule.note[0].upper() + rule.note[1:]) + ".", ""]
    return made


def _literal(text: str) -> str:
    return re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)


def write_chapters(app: Any, config: Any) -> None:
    """One page a chapter, with a table of its functions, each of which leads to a page of its own."""
    source = Path(app.srcdir)
    chapters, _ = read(source / "decomposition.md")
    folder = source / "reference" / "chapters"
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for title, rules in chapters.items():
        if title == _UNMEASURED:
            continue  # the hand-written pages have them
        names = [f"   ~npdec.{name}" for rule in rules for name in (rule.name, *rule.also)]
        page = re.sub(r"\W+", "_", title.lower())
        pages.append(page)
        head = [_TITLES.get(title, title), "=" * 60, ""]
        table = [".. autosummary::", "   :toctree: ../generated", "   :template: autosummary/function.rst", ""]
        _write(folder / f"{page}.rst", "\n".join([*head, *table, *names, ""]))
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()


_TITLES = {
    "Creation": "Creating arrays",
    "Movement": "Shapes, joining, indexing",
    "Elementwise": "Element by element",
    "Reductions": "Sums, means and other reductions",
    "Sorting": "Sorting, searching, sets",
    "Products": "Products",
    "Linalg": "Linear algebra",
    "Fft": "Fourier transforms",
    "Windows": "Windows",
    "Other": "Dtypes and the rest",
}


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def _process(app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    lines += app.npdec_rule_of(name)


def _body(rule_of: Callable[[str], list[str]], name: str) -> str:
    """What stands below the signature of a universal function, which is no function for autodoc."""
    lines = restructured(inspect.getdoc(_found(name)).splitlines()) + rule_of(name)
    return "\n".join("   " + line if line else "" for line in lines)


def _found(name: str) -> Any:
    return functools.reduce(getattr, name.split(".")[1:], npdec)


def _load(app: Any, config: Any) -> None:
    chapters, words = read(Path(app.srcdir) / "decomposition.md")
    chapters.pop(_UNMEASURED)
    rules = {name: rule for own in chapters.values() for rule in own for name in (rule.name, *rule.also)}

    def rule_of(name: str) -> list[str]:
        rule = rules.get(name.removeprefix("npdec."))
        return [] if rule is None else lines_of(rule, words)

    app.npdec_rule_of = rule_of
    config.autosummary_context = {
        "is_ufunc": lambda name: isinstance(_found(name), npdec.ufunc),
        "signature_of": lambda name: str(inspect.signature(_found(name))),
        "body_of": functools.partial(_body, rule_of),
    }


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", write_chapters)
    app.connect("config-inited", _load)
    app.connect("autodoc-process-docstring", _process, priority=600)  # after the docstring itself
    return {"parallel_read_safe": True, "parallel_write_safe": True}
