"""Docstrings are plain text with names in backquotes and examples; this makes reStructuredText of them.

A name of npdec's in backquotes becomes a link, anything else in backquotes is code, and characters that mean something
in reStructuredText stand for themselves.
"""

from __future__ import annotations

import re
from typing import Any

import npdec

_WIDTH = 100  # of lines without their indentation, which is 4 to 12
_SPECIAL = re.compile(r"([*_|\\])")
_QUOTED = re.compile(r"(``[^`]+``|`[^`]+`)")
_PUBLIC = re.compile(r"(?:np\.|npdec\.)([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(\(\))?")


def restructured(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText: examples stay as they are, text has its names marked."""
    made: list[str] = []
    example = False
    for block in _blocks(lines):
        starts = block[0].lstrip().startswith(">>>")
        if starts and not example:
            made += [".. rubric:: Examples", ""]
        example = starts
        made += [*(block if starts else _text(block)), ""]
    return made


def _blocks(lines: list[str]) -> list[list[str]]:
    """Paragraphs and examples: what blank lines part."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _text(block: list[str]) -> list[str]:
    """Paragraphs: code may go over the end of a line, so lines are joined before they are marked."""
    items: list[str] = []
    ended = True
    for line, following in zip(block, [*block[1:], ""], strict=True):
        if ended or line.lstrip().startswith("- "):
            items.append(line.strip())
        else:
            items[-1] += " " + line.strip()
        ended = _ends(line, following)
    made: list[str] = []
    for item in items:
        if made and not (item.startswith("- ") and made[-1].startswith("- ")):
            made.append("")
        made.append(("- " if item.startswith("- ") else "") + _marked(item.removeprefix("- ")))
    return made


def _ends(line: str, following: str) -> bool:
    """Whether the line was ended on purpose: a sentence is over, and the next word would have had room."""
    return line.rstrip().endswith((".", ".)", ":")) and len(line) + len(following.split(" ", 1)[0]) < _WIDTH


def _marked(text: str) -> str:
    """One paragraph with its code and its links."""
    parts = _QUOTED.split(text)
    made = ""
    for i, part in enumerate(parts):
        if i % 2 == 0:
            made += _SPECIAL.sub(r"\\\1", part)
            continue
        piece = _code(part.strip("`"))
        # Inline markup needs a blank or a sign on either side of it; an escaped blank is none in the text.
        before = r"\ " if made and not made[-1].isspace() and made[-1] not in "([{'\"<-/:" else ""
        after = r"\ " if i + 1 < len(parts) and re.match(r"[^\s'\")\]}>/:.,;!?\\-]", parts[i + 1]) else ""
        made += before + piece + after
    return made


def _code(text: str) -> str:
    match = _PUBLIC.fullmatch(text)
    if match and _is_public(match[1]):
        return f":py:obj:`{text} <npdec.{match[1]}>`"
    return f"``{text}``"


def _is_public(name: str) -> bool:
    item: Any = npdec
    for part in name.split("."):
        if part.startswith("_") or not hasattr(item, part):
            return False
        item = getattr(item, part)
    return callable(item)


def _process(app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
