"""Count what the layout of npdec promises, and print it: circles of imports, private modules at the top, long files,
floors of packages, tables of torch's functions beside the registry, functions with two rules, attributes that the type
checker is told not to look for.

`python scripts/architecture.py` prints the counts with their bounds, and ends with status 1 if one is beyond its own.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import npdec as np

PACKAGE = Path(np.__file__).parent
MOST_LINES, MOST_FLOORS, MOST_IGNORED = 400, 12, 5
TORCHS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType)


@functools.cache
def imports() -> dict[str, set[str]]:
    """The modules of npdec that each module imports, for types and within functions included."""
    paths = {".".join(p.relative_to(PACKAGE).with_suffix("").parts): p for p in PACKAGE.rglob("*.py")}
    names = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    return {name: _imported(path, names.keys()) - {name} for name, path in names.items()}


def _imported(path: Path, names: Iterable[str]) -> set[str]:
    known, found = set(names), set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            targets = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for target in targets:
            first, _, rest = target.partition(".")
            while first == "npdec" and rest and rest not in known:
                rest = rest.rpartition(".")[0]
            if first == "npdec":
                found.add(rest or "__init__")
    return found


def circles() -> list[str]:
    """The modules that import themselves by way of others."""
    found = []
    for start in imports():
        seen: set[str] = set()
        ahead = set(imports()[start])
        while ahead:
            name = ahead.pop()
            seen.add(name)
            ahead |= imports()[name] - seen
        if start in seen:
            found.append(start)
    return found


def floors() -> int:
    """The packages (and modules at the top) on the longest way of imports down."""
    above: dict[str, set[str]] = {}
    for name, targets in imports().items():
        room = name.partition(".")[0]
        above.setdefault(room, set()).update(t.partition(".")[0] for t in targets)

    @functools.cache
    def height(room: str) -> int:
        return 1 + max((height(below) for below in above.get(room, ()) if below != room), default=0)

    return max(map(height, above))


def private_modules() -> list[str]:
    """The private modules that lie directly in npdec."""
    return [p.stem for p in PACKAGE.glob("_*.py") if not p.stem.startswith("__")]


def long_files() -> list[str]:
    """The files that are too long."""
    return [
        str(p.relative_to(PACKAGE))
        for p in PACKAGE.rglob("*.py")
        if len(p.read_text("utf-8").splitlines()) > MOST_LINES
    ]


def ignored() -> int:
    """How often the type checker is told that an attribute is there."""
    return sum(p.read_text("utf-8").count("ignore[attr-defined]") for p in PACKAGE.rglob("*.py"))


def _is_torchs(item: Any) -> bool:
    if isinstance(item, TORCHS):
        return "torch" in repr(item) or "Tensor" in repr(item)
    return isinstance(item, types.FunctionType) and str(item.__module__).partition(".")[0] == "torch"


def keyed() -> dict[str, int]:
    """The tables of modules, other than the registry, whose keys or members are functions of torch: how many."""
    x = np.decompose(np.array([1.0, 2.0]))  # the rules are there
    assert len((x + x).labels) == 2
    found = {}
    for info in pkgutil.walk_packages(np.__path__, "npdec."):
        if info.name.rpartition(".")[2] == "__main__":
            continue
        module = importlib.import_module(info.name)
        for name, item in vars(module).items():
            if isinstance(item, (dict, set, frozenset, tuple, list)) and name not in ("rows", "__builtins__"):
                count = sum(map(_is_torchs, item))
                if count:
                    found[f"{info.name.removeprefix('npdec.')}.{name}"] = count
    return found


def main() -> int:
    """Print the counts."""
    tables = keyed()
    counts: list[tuple[str, int, int, Any]] = [
        ("modules in circles of imports", len(circles()), 0, circles()),
        ("private modules directly in npdec", len(private_modules()), 0, private_modules()),
        (f"files above {MOST_LINES} lines", len(long_files()), 0, long_files()),
        ("floors of packages", floors(), MOST_FLOORS, ""),
        ("torch functions keyed outside the registry", sum(tables.values()), 0, tables),
        ("ignore[attr-defined]", ignored(), MOST_IGNORED, ""),
    ]
    for what, count, most, which in counts:
        print(f"{what:45} {count:5}  (at most {most})  {which if count > most else ''}")
    print("functions with two rules: refused by the registry as it is filled")
    return int(any(count > most for _, count, most, _ in counts))


if __name__ == "__main__":
    sys.exit(main())
