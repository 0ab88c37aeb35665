"""Imports point one way, NumPy stays optional, and files stay small: read from the source, nothing is imported."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "npdec"
MAX_LINES = 450

LEAVES = {"_base", "_command", "_patches", "_signature", "_tags", "exceptions"}
LAW = {
    "_amplified",
    "_attention",
    "_autograd_function",
    "_axes",
    "_batched",
    "_call",
    "_checking",
    "_choices",
    "_choosing",
    "_close",
    "_closed",
    "_closed_arithmetic",
    "_closed_forms",
    "_closed_layers",
    "_closed_linalg",
    "_closed_losses",
    "_closed_nn",
    "_closed_products",
    "_closed_recurrent",
    "_closed_sparse",
    "_closed_steps",
    "_closed_torch",
    "_components",
    "_conditions",
    "_decomposed",
    "_deferred",
    "_dispatch",
    "_entries",
    "_entries_forms",
    "_equal_rows",
    "_formula",
    "_frozen",
    "_gradients",
    "_graph",
    "_halves",
    "_inplace",
    "_inplace_views",
    "_jumps",
    "_kinds",
    "_leaf",
    "_interrupts",
    "_law",
    "_laying_out",
    "_leading",
    "_multipliers",
    "_names",
    "_nodes",
    "_normalisation",
    "_normalisation_layers",
    "_norms",
    "_numbers",
    "_of_one",
    "_overwriting",
    "_patch_dynamo",
    "_pieces",
    "_pulled",
    "_pulling",
    "_quadrature",
    "_reverse",
    "_rules",
    "_scope",
    "_secant",
    "_settings",
    "_shared_entries",
    "_sizes",
    "_slope",
    "_softmax",
    "_steep",
    "_stored",
    "_torch_rules",
    "_traced_quadrature",
    "_tracing",
    "_trees",
    "_views",
    "_windowed",
    "_windows",
    "_written_out",
    "overrides",
}
RANKS = ("leaf", "kernel", "law", "face", "publisher")  # an import goes to the same rank or to one before it
KERNELS_MAY_IMPORT = {"torch", "array_api_compat"}
KERNELS_MAY_IMPORT_OF_NPDEC = {"_tags", "exceptions"}


class Import(NamedTuple):
    """One imported module, and whether it is imported with the module or only when a function runs."""

    target: str
    line: int
    at_import: bool


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The dotted name inside the package: `_impl.fft_impl`, `_law`, and the empty string for npdec itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def rank(name: str) -> str:
    """The layer of a module. A private module that is neither leaf, kernel nor law is a face."""
    first = name.partition(".")[0]
    if first == "_impl":
        return "kernel"
    if first in LEAVES:
        return "leaf"
    if first in LAW:
        return "law"
    return "face" if first.startswith("_") and first != "__main__" else "publisher"


@functools.cache
def imports(path: Path) -> list[Import]:
    """All imports of a file except those under `if TYPE_CHECKING`."""
    return list(_walk(ast.parse(path.read_text("utf-8")), at_import=True))


def _walk(node: ast.AST, at_import: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, at_import) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"line {child.lineno}: write the absolute name"
            yield from (Import(target, child.lineno, at_import) for target in _from(child))
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            yield from _walk(ast.Module(child.orelse, []), at_import)
        else:
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _walk(child, at_import and not function)


def _from(node: ast.ImportFrom) -> list[str]:
    """The modules that a `from` statement names: `from npdec._impl import _util` imports npdec._impl._util."""
    module = node.module or ""
    if module.partition(".")[0] != "npdec":
        return [module]
    folder = PACKAGE.joinpath(*module.split(".")[1:])
    if not folder.is_dir():
        return [module]
    inside = [
        alias.name for alias in node.names if (folder / f"{alias.name}.py").exists() or (folder / alias.name).is_dir()
    ]
    others = [module] if len(inside) < len(node.names) else []
    return others + [f"{module}.{name}" for name in inside]


def in_npdec(target: str) -> str | None:
    """The name inside the package, or None for another package's module."""
    first, _, rest = target.partition(".")
    return rest if first == "npdec" else None


each_module = pytest.mark.parametrize("path", modules(), ids=lambda path: name_of(path) or "npdec")


@each_module
def test_imports_point_down(path: Path) -> None:
    own = rank(name_of(path))
    for item in imports(path):
        name = in_npdec(item.target)
        if name is None:
            continue
        assert RANKS.index(rank(name)) <= RANKS.index(own), (
            f"{path.name}:{item.line}: a {own} imports {item.target}, which is a {rank(name)}"
        )


@each_module
def test_kernels_import_torch_only(path: Path) -> None:
    if rank(name_of(path)) != "kernel":
        return
    for item in imports(path):
        name = in_npdec(item.target)
        if name is not None:
            allowed = name in KERNELS_MAY_IMPORT_OF_NPDEC or rank(name) == "kernel"
        else:
            first = item.target.partition(".")[0]
            allowed = first in KERNELS_MAY_IMPORT or first in sys.stdlib_module_names
        assert allowed, f"{path.name}:{item.line}: a kernel may not import {item.target}"


@each_module
def test_numpy_is_never_imported_with_the_module(path: Path) -> None:
    for item in imports(path):
        if item.at_import:
            assert item.target.partition(".")[0] != "numpy", f"{path.name}:{item.line}: import NumPy where it is used"


@each_module
def test_file_is_short_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text("utf-8")
    assert ast.get_docstring(ast.parse(text)), f"{path.name} has no module docstring"
    assert len(text.splitlines()) <= MAX_LINES, f"{path.name} is longer than {MAX_LINES} lines: split it by chapter"


def test_the_named_modules_exist() -> None:
    names = {name_of(path).partition(".")[0] for path in modules()}
    assert names >= LEAVES | LAW, f"the lists of this test name modules that do not exist: {(LEAVES | LAW) - names}"
