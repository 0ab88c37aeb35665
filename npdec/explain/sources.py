"""Where the function comes from: a script or a file with a fitted estimator; and once more in another process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npdec.explain.errors import InputError
from npdec.explain.estimators import SUFFIXES, Saved
from npdec.explain.loader import Script
from npdec.explain.runner import Model

__all__ = ["Again", "named_function", "opened"]


def named_function(text: str) -> tuple[Path, str]:
    """The file and the function of `FILE.py:FUNCTION`; of a file with an estimator the function may be left out."""
    if text.lower().endswith(SUFFIXES):
        return Path(text), ""
    file, _, name = text.rpartition(":")
    if not file or not name:
        raise InputError(f"{text!r} is not FILE.py:FUNCTION, nor a model saved as {', '.join(SUFFIXES)}")
    return Path(file), name


def opened(path: Path) -> Script | Saved:
    """What has the functions of a file, as a context manager."""
    return Saved(path) if path.suffix.lower() in SUFFIXES else Script(path)


@dataclass(frozen=True)
class Again:
    """Makes a model once more, in another process."""

    path: Path
    name: str
    names: tuple[str, ...]
    by_name: bool
    output: int | None
    widths: tuple[int, ...]
    coded: frozenset[str]

    @classmethod
    def of(cls, model: Model) -> Again:
        return cls(
            model.script.path, model.name, model.names, model.by_name, model.output, model.widths, model.coded
        )  # fmt: skip

    @contextlib.contextmanager
    def __call__(self) -> Iterator[Model]:
        with opened(self.path) as source:
            function = source.find(self.name)
            yield Model(source, self.name, function, self.names, self.by_name, self.output, {}, self.widths, self.coded)
