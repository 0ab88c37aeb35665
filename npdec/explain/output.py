"""Writes the results to files, whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from npdec.explain.errors import InputError
from npdec.explain.runner import Explanation

__all__ = ["as_csv", "as_json", "check_writable", "replacing", "write_results"]


def check_writable(path: Path, suffixes: Sequence[str], option: str) -> None:
    """Raise InputError, before any work, if the extension is not one of these or the file cannot be made there."""
    if path.suffix.lower() not in suffixes:
        found = f"the extension {path.suffix!r} is" if path.suffix else "a name without extension is"
        raise InputError(f"{option} {path}: {found} not known; use {' or '.join(suffixes)}")
    if path.is_dir():
        raise InputError(f"{option} {path}: is a directory")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InputError(f"{option} {path}: the directory {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path}: the directory {folder} is not writable")


@contextlib.contextmanager
def replacing(path: Path, option: str) -> Iterator[Path]:
    """A temporary file beside `path` to write, which takes its place when the block succeeds and goes when it fails."""
    target = path.resolve()
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes it private; the result is a file like any other
        yield temporary
        temporary.replace(target)
        temporary = None
    except OSError as error:
        raise InputError(f"{option} {path}: cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_results(path: Path, explanations: Sequence[Explanation], about: Mapping[str, Any]) -> None:
    """Write all contributions, as CSV or JSON by the extension."""
    text = as_json(explanations, about) if path.suffix.lower() == ".json" else as_csv(explanations)
    with replacing(path, "--out") as temporary:
        temporary.write_text(text, "utf-8", newline="")


def as_csv(explanations: Sequence[Explanation]) -> str:
    """One line a row and column, ranked within the row; what belongs to the row is repeated on each of its lines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        "row column input baseline contribution share value baseline_value not_attributed completeness_error".split()
    )
    for item in explanations:
        own = (item.value, item.baseline_value, item.not_attributed, item.error)
        for line in item.ranked():
            share = "" if line.share is None else line.share
            writer.writerow((item.row, line.name, line.input, line.baseline, line.contribution, share, *own))
    return text.getvalue()


def as_json(explanations: Sequence[Explanation], about: Mapping[str, Any]) -> str:
    """Everything, with how it was made."""
    rows = [
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
    return json.dumps({**about, "rows": rows}, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
