"""Writes the results to files, whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from npdec.explain.errors import InputError, resolved
from npdec.explain.explanation import Explanation
from npdec.explain.inputs import Cell
from npdec.explain.interactions import Pair

__all__ = ["as_csv", "as_json", "check_apart", "check_writable", "replacing", "write_results"]

# The last four are the wide forms, which spreadsheets of East Asian languages take for the others.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def check_writable(path: Path, suffixes: Sequence[str], option: str) -> None:
    """Raise InputError, before any work, if the extension is not one of these or the file cannot be made there."""
    if path.suffix.lower() not in suffixes:
        found = f"the extension {path.suffix!r} is" if path.suffix else "a name without extension is"
        raise InputError(f"{option} {path}: {found} not known; use {' or '.join(suffixes)}")
    target = resolved(path)
    if target.is_dir():
        raise InputError(f"{option} {path}: is a directory")
    if target.exists() and not target.is_file():
        raise InputError(f"{option} {path}: is no regular file")
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(f"{option} {path}: the file is not writable")
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"{option} {path}: the directory {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path}: the directory {folder} is not writable")


def check_apart(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
    """Raise InputError if what is to be written, an option and its path, is a file that is read, or another output.

    Links are followed, and two names of one file are one.
    """
    taken = {what: path for what, path in inputs.items() if path is not None}
    for option, path in outputs.items():
        if path is None:
            continue
        for what, other in taken.items():
            if _are_one(path, other):
                raise InputError(f"{option} {path}: would overwrite {what} {other}; choose another file")
        taken[option] = path


def _are_one(path: Path, other: Path) -> bool:
    one, two = resolved(path), resolved(other)
    return one == two or (one.exists() and two.exists() and one.samefile(two))


@contextlib.contextmanager
def replacing(path: Path, option: str) -> Iterator[Path]:
    """A temporary file beside `path` to write, which takes its place when the block succeeds and goes when it fails."""
    target = resolved(path)
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem[:100]}-", suffix=target.suffix, dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        temporary.chmod(_mode(target))  # mkstemp makes it private; the result is a file like any other
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())  # before the older file goes
        temporary.replace(target)
        temporary = None
    except OSError as error:
        raise InputError(f"{option} {path}: cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def write_results(
    path: Path, explanations: Sequence[Explanation], about: Mapping[str, Any], pairs: Sequence[Sequence[Pair]] = ()
) -> None:
    """Write all contributions, as CSV or JSON by the extension."""
    text = as_json(explanations, about, pairs) if path.suffix.lower() == ".json" else as_csv(explanations)
    with replacing(path, "--out") as temporary:
        temporary.write_text(text, "utf-8", "backslashreplace", newline="")


def as_csv(explanations: Sequence[Explanation]) -> str:
    """One line a row and column, ranked within the row; what belongs to the row is repeated on each of its lines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = "row column input baseline contribution share value baseline_value not_attributed completeness_error"
    grouped = any(item.group is not None for item in explanations)
    writer.writerow([*header.split(), *["group"] * grouped])
    for item in explanations:
        own: tuple[Cell, ...] = (item.value, item.baseline_value, item.not_attributed, item.error)
        own += (_as_text(item.group or ""),) * grouped
        for line in item.ranked():
            share = "" if line.share is None else line.share
            cells = (line.name, line.input, line.baseline)
            writer.writerow((item.row, *map(_as_text, cells), line.contribution, share, *own))
    return text.getvalue()


def _as_text(cell: Cell) -> Cell:
    """A name that a spreadsheet takes for text: one that begins a formula gets an apostrophe before it.

    https://owasp.org/www-community/attacks/CSV_Injection
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def as_json(explanations: Sequence[Explanation], about: Mapping[str, Any], pairs: Sequence[Sequence[Pair]] = ()) -> str:
    """Everything, with how it was made."""
    rows: list[dict[str, Any]] = [
        {
            "row": item.row,
            "value": item.value,
            "baseline_value": item.baseline_value,
            "residual": item.residual,
            "not_attributed": item.not_attributed,
            "sum": item.sum,
            "completeness_error": {"absolute": item.error, "relative": item.relative_error},
            "contributions": [
                {
                    "column": line.name,
                    "input": line.input,
                    "baseline": line.baseline,
                    "contribution": line.contribution,
                    "share": line.share,
                }
                for line in item.ranked()
            ],
        }
        for item in explanations
    ]
    for row, item in zip(rows, explanations):
        if item.group is not None:
            row["group"] = item.group
    for row, found in zip(rows, pairs):
        row["interactions"] = [{"columns": [a, b] if a != b else [a], "contribution": c} for a, b, c in found]
    return json.dumps({**about, "rows": rows}, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
