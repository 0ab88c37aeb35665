"""Run a program as Python does, with numpy as npdec in its own files and in the packages that are named."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npdec._running.finder import Installation
from npdec._running.imports import fill_if_listed, own_builtins

__all__ = ["ProgramError", "run_file", "run_module"]

# Of what happens in an import, Python itself shows no frames, unless frames of others are among them.
_HERE = os.path.join(os.path.dirname(__file__), "")


class ProgramError(Exception):
    """There is no such program; the message is the whole report."""


def run_file(file: str, arguments: Sequence[str], also: Sequence[str] = ()) -> None:
    """`python FILE ARGUMENTS`: of a source, or a folder or archive that has a `__main__.py`.

    Its own files are those below its folder. What the program raises comes out, SystemExit too.
    """
    path = Path(file)
    if not path.exists():
        raise ProgramError(f"can't open file {file!r}: no such file")
    if path.is_file() and not _is_archive(path):
        folder = path.resolve().parent
        _begin(file, arguments, folder, also)
        Installation(also, [folder])
        loader = importlib.machinery.SourceFileLoader("__main__", os.path.abspath(file))
        with io.open_code(loader.path) as source:
            code = _compiled(source.read(), loader.path)
        _execute(code, __file__=loader.path, __loader__=loader, __spec__=None, __package__=None, __cached__=None)
        return
    folder = path.resolve()
    spec = importlib.machinery.PathFinder.find_spec("__main__", [str(folder)])
    if spec is None:
        raise ProgramError(f"can't find '__main__' in {file!r}")
    _begin(file, arguments, folder, also)
    Installation(also, [folder])
    _execute_module(spec)


def run_module(name: str, arguments: Sequence[str], also: Sequence[str] = ()) -> None:
    """`python -m NAME ARGUMENTS`. Its own files are those of the package NAME is in, and those below the current folder
    if it is found there."""
    folder, package = Path.cwd(), name.partition(".")[0]
    _begin("-m", arguments, folder, also)
    top = importlib.util.find_spec(package)
    here = top is not None and top.origin is not None and Path(top.origin).is_relative_to(folder)
    Installation((*also, package), [folder] if here else [])
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        spec = None
    if spec is None or not hasattr(spec.loader, "get_code"):
        raise ProgramError(f"No module named {name}")
    sys.argv[0] = str(spec.origin)
    _execute_module(spec)


def _begin(program: str, arguments: Sequence[str], folder: Path, also: Sequence[str]) -> None:
    """Have `sys.argv` and `sys.path` as the program expects them. Raises ProgramError for a package there is not."""
    sys.argv[:] = [program, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = str(folder)
    for name in also:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            raise ProgramError(f"no package {name!r}")


def _is_archive(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"


def _compiled(source: bytes, path: str) -> types.CodeType:
    _show_the_programs_frames()
    fill_if_listed(source)
    code: types.CodeType = compile(source, path, "exec", dont_inherit=True)
    return code


def _execute_module(spec: importlib.machinery.ModuleSpec) -> None:
    _show_the_programs_frames()
    loader: Any = spec.loader
    fill_if_listed(spec)
    code = loader.get_code(spec.name)
    _execute(
        code,
        __file__=spec.origin,
        __loader__=getattr(loader, "_loader", loader),
        __spec__=spec if spec.name != "__main__" else None,
        __package__=spec.parent,
        __cached__=spec.cached,
    )


def _execute(code: types.CodeType, **about: Any) -> None:
    module = types.ModuleType("__main__")
    vars(module).update(about, __builtins__=own_builtins())
    sys.modules["__main__"] = module
    try:
        exec(code, vars(module))
    except BaseException as error:
        _cut(error, set())
        raise


# --- how it ends ------------------------------------------------------------------------------------------------------


def _show_the_programs_frames() -> None:
    """An error that nobody handles is shown without the frames that lead to the program."""
    show = sys.excepthook

    def shown(kind: type[BaseException], error: BaseException, traceback: types.TracebackType | None) -> None:
        _cut(error, set())
        show(kind, error, error.__traceback__)

    sys.excepthook = shown


def _cut(error: BaseException | None, seen: set[int]) -> None:
    """Take the frames of this package out of the traceback of an error, and of those that led to it."""
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = _without(error.__traceback__)
        _cut(error.__cause__, seen)
        error = error.__context__


def _without(traceback: types.TracebackType | None) -> types.TracebackType | None:
    kept: list[types.TracebackType] = []
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file == __file__:
            kept.clear()  # what has led here
        elif not file.startswith((_HERE, "<frozen importlib.")):
            kept.append(traceback)
        traceback = traceback.tb_next
    made = None
    for one in reversed(kept):
        made = types.TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made
