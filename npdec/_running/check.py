"""Which names of NumPy a program uses, read from its source."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import TextIO

from npdec._guests.stand_ins import is_numpy, module_for, npdec_name
from npdec._running.finder import is_below
from npdec._running.program import ProgramError
from npdec._running.states import state

__all__ = ["checked", "uses"]

STATES = ("native", "guest", "delegated", "absent")


class _Reader(ast.NodeVisitor):
    """Collects the names of NumPy that a module uses, by the lines on which it does.

    A name stands for a module or an object of NumPy where an import statement says so, in its own scope and those
    within it; a parameter of the same name does not.
    """

    def __init__(self) -> None:
        self.found: dict[str, list[int]] = {}
        self._scopes: list[dict[str, str | None]] = [{}]
        self._starred: dict[str, str] = {}  # what `from … import *` has brought, of which the module makes use

    def _use(self, dotted: str, line: int) -> None:
        below = npdec_name(dotted).removeprefix("npdec").lstrip(".")
        if below and not below.endswith("__"):
            self.found.setdefault(below, []).append(line)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if is_numpy(alias.name):
                self._scopes[-1][alias.asname or "numpy"] = alias.name if alias.asname else "numpy"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None or not is_numpy(node.module):
            return
        for alias in node.names:
            if alias.name == "*":
                self._starred.update({name: f"{node.module}.{name}" for name in dir(module_for(node.module))})
                continue
            dotted = f"{node.module}.{alias.name}"
            self._scopes[-1][alias.asname or alias.name] = dotted
            if not _is_module(dotted):
                self._use(dotted, node.lineno)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        arguments = node.args
        for outside in (*arguments.defaults, *arguments.kw_defaults, *getattr(node, "decorator_list", ())):
            if outside is not None:
                self.visit(outside)
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for argument in every:
            if argument is not None and argument.annotation is not None:
                self.visit(argument.annotation)
        returns: ast.expr | None = getattr(node, "returns", None)
        if returns is not None:
            self.visit(returns)
        self._scopes.append({argument.arg: None for argument in every if argument is not None})
        for inner in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(inner)
        self._scopes.pop()

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            parts.insert(0, inner.attr)
            inner = inner.value
        known = self._known(inner.id) if isinstance(inner, ast.Name) else None
        if known is None:
            self.generic_visit(node)
            return
        dotted = known
        for part in parts:
            if dotted != known and not _is_module(dotted):
                break  # an attribute of the object
            if dotted == known and known != "numpy" and not _is_module(known):
                return  # what is done with a name that was imported, and counted where it was
            dotted = f"{dotted}.{part}"
        self._use(dotted, node.lineno)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._starred.pop(node.id, None)
        elif self._known(node.id) == self._starred.get(node.id, ""):
            self._use(self._starred[node.id], node.lineno)

    def _known(self, name: str) -> str | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), self._starred.get(name))


def _is_module(dotted: str) -> bool:
    """Whether a dotted name is that of a module of npdec; found without importing what is private."""
    try:
        return is_numpy(dotted) and importlib.util.find_spec(npdec_name(dotted)) is not None
    except ModuleNotFoundError:
        return False
    except ValueError:  # it is made of NumPy's, and has no file
        return True


def uses(source: str | bytes, file: str = "<source>") -> dict[str, list[int]]:
    """The dotted names below `numpy` that a source uses, with the lines. Raises SyntaxError.

    >>> uses("import numpy as np\\nfrom numpy.linalg import norm\\nnorm(np.ones(3)) + np.fft.fft(x)")
    {'linalg.norm': [2], 'ones': [3], 'fft.fft': [3]}
    """
    reader = _Reader()
    reader.visit(ast.parse(source, file))
    return reader.found


def _sources(target: str) -> list[Path]:
    """The files of a source, a folder or a package, which is found without importing it."""
    path = Path(target)
    if path.is_file():
        return [path]
    if not path.is_dir():
        top, *parts = target.split(".")
        try:
            spec = importlib.util.find_spec(top) if target.replace(".", "").isidentifier() else None
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            raise ProgramError(f"{target}: no such file, folder or package")
        if spec.submodule_search_locations is None:
            path = Path(str(spec.origin))
        else:
            path = Path(next(iter(spec.submodule_search_locations)), *parts)
        path = path if path.exists() else path.with_suffix(".py")
        if path.is_file():
            return [path]
    found = sorted(file for file in path.rglob("*.py") if is_below(str(file), path.resolve()))
    if not found:
        raise ProgramError(f"{target}: no sources of Python")
    return found


def checked(target: str, out: TextIO) -> int:
    """Write which names of NumPy a file or a package uses, by what npdec has for them. Returns 1 if one is absent."""
    counts: dict[str, dict[str, None]] = {name: {} for name in STATES}
    for path in _sources(target):
        try:
            found = uses(path.read_bytes(), str(path))
        except (SyntaxError, ValueError) as error:
            out.write(f"{path}: cannot be read: {error}\n")
            continue
        if not found:
            continue
        out.write(f"{path}\n")
        rows = [(*state(name), name, lines) for name, lines in found.items()]
        for kind, why, name, lines in sorted(rows, key=lambda row: (STATES.index(row[0]), row[2])):
            counts[kind][name] = None
            places = ", ".join(map(str, dict.fromkeys(lines)))
            out.write(f"  {kind:<10} {name:<24} {places}{f'  ({why})' if why else ''}\n")
    total = sum(map(len, counts.values()))
    said = ", ".join(f"{len(names)} {kind}" for kind, names in counts.items())
    out.write(f"{total} {'name' if total == 1 else 'names'} of NumPy: {said}\n")
    return 1 if counts["absent"] else 0
