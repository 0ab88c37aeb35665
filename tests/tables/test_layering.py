"""Imports go one way, NumPy stays optional, and files stay small: read from the source, nothing is imported."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[2] / "npdec"
MAX_LINES = 400

# Each package or module imports those to its left, and within a package no module imports one that imports it: typing
# and imports within functions included.
ORDER = (
    "exceptions _native _core _torch _impl _show _decomposed _law _rules _dtypes _array _guests _normalizer "
    "_subclasses _random _functions _jit lib overrides attribution func testing extend fft linalg random version "
    "__init__ debug polynomial _running explain pytest_plugin pydec char core ctypeslib dtypes emath f2py ma rec "
    "strings typing __main__"
).split()
_STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")  # the parts of a statement that are statements
KERNELS_MAY_IMPORT = {"torch", "array_api_compat"}
KERNELS_MAY_IMPORT_OF_NPDEC = {"_core", "exceptions", "_impl"}


class Import(NamedTuple):
    """One imported module, and whether it is imported with the module or only when a function runs."""

    target: str
    line: int
    at_import: bool


@functools.cache
def modules() -> dict[str, Path]:
    """The modules by their dotted names inside the package: `_impl.fft_impl`, and `__init__` for npdec itself."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def imports(path: Path) -> list[Import]:
    """All imports of a file, those for types and those within functions included."""
    return list(_walk(parsed(path), at_import=True))


def _walk(node: ast.AST, at_import: bool) -> Iterator[Import]:
    for name in _STATEMENTS:
        for child in getattr(node, name, ()):
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, child.lineno, at_import) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"line {child.lineno}: write the absolute name"
                yield from (Import(f"{child.module}.{alias.name}", child.lineno, at_import) for alias in child.names)
            else:
                typing = isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                yield from _walk(child, at_import and not (typing or function))


def in_npdec(target: str) -> str | None:
    """The module of npdec that is imported, or of which a name is; None for another package's."""
    first, _, rest = target.partition(".")
    if first != "npdec":
        return None
    while rest and rest not in modules():
        rest = rest.rpartition(".")[0]
    return rest or "__init__"


def rank(name: str) -> int:
    return ORDER.index(name.partition(".")[0])


each_package = pytest.mark.parametrize("package", sorted({name.partition(".")[0] for name in modules()}))


def modules_of(package: str) -> list[str]:
    return [name for name in modules() if name.partition(".")[0] == package]


@each_package
def test_imports_go_one_way(package: str) -> None:
    wrong = [
        f"{name}:{item.line} imports {target}, which stands after it in ORDER"
        for name in modules_of(package)
        for item in imports(modules()[name])
        if (target := in_npdec(item.target)) not in (None, name) and rank(target) > rank(name)
    ]
    assert not wrong


def test_no_module_imports_what_imports_it() -> None:
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, "a circle: " + " imports ".join((*above[above.index(name) :], name))
        if name not in done:
            for item in imports(modules()[name]):
                target = in_npdec(item.target)
                if target not in (None, name):
                    visit(target, (*above, name))
            done.add(name)

    for name in modules():
        visit(name, ())


def test_kernels_import_torch_only() -> None:
    wrong = []
    for name in modules_of("_impl"):
        for item in imports(modules()[name]):
            target = in_npdec(item.target)
            if target is not None:
                allowed = target.partition(".")[0] in KERNELS_MAY_IMPORT_OF_NPDEC
            else:
                first = item.target.partition(".")[0]
                allowed = first in KERNELS_MAY_IMPORT or first in sys.stdlib_module_names
            if not allowed:
                wrong.append(f"{name}:{item.line}: a kernel may not import {item.target}")
    assert not wrong


@each_package
def test_numpy_is_never_imported_with_the_module(package: str) -> None:
    wrong = [
        f"{name}:{item.line}: import NumPy where it is used"
        for name in modules_of(package)
        for item in imports(modules()[name])
        if item.at_import and item.target.partition(".")[0] == "numpy"
    ]
    assert not wrong


@each_package
def test_files_are_short_and_say_what_they_are_for(package: str) -> None:
    paths = {name: modules()[name] for name in modules_of(package)}
    silent = [name for name, path in paths.items() if not ast.get_docstring(parsed(path))]
    assert not silent, "no module docstring"
    long = [name for name, path in paths.items() if len(path.read_text("utf-8").splitlines()) > MAX_LINES]
    assert not long, f"longer than {MAX_LINES} lines: split by chapter"


def test_private_modules_are_in_packages() -> None:
    assert not [path.name for path in PACKAGE.glob("_*.py") if not path.name.startswith("__")]
    assert {name.partition(".")[0] for name in modules()} == set(ORDER), "ORDER names what there is"
