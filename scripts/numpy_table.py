"""Write docs/numpy.md: every public name of NumPy, and what npdec has for it.

    python scripts/numpy_table.py          # rewrite what is out of date
    python scripts/numpy_table.py --check  # exit code 1 if it is, or if something is undeclared

A name is native (a torch kernel, or code of npdec), delegated (done by the installed NumPy on the host), or absent with
the reason that npdec itself gives. What is delegated is declared in the module that does it: `DELEGATES_TO_NUMPY` is
True, or the set of its names. It is an error if a name of NumPy is missing without a reason, if a public function goes
to NumPy and its module does not say so, and if a declared name does not exist.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

import npdec
from npdec._core.absent import ABSENT
from npdec._running.states import find, functions_of, is_delegated, reason

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "numpy.md"
COMMAND = "python scripts/numpy_table.py"
WIDTH = 120
STATES = ("native", "delegated", "absent")

POLYNOMIALS = "polynomial chebyshev hermite hermite_e laguerre legendre".split()
MODULES = [
    "", "linalg", "fft", "random", "polynomial", *(f"polynomial.{name}" for name in (*POLYNOMIALS, "polyutils")),
    "emath", "lib", "lib.array_utils", "lib.format", "lib.introspect", "lib.mixins", "lib.npyio", "lib.scimath",
    "lib.stride_tricks", "strings", "char", "exceptions", "dtypes", "typing", "testing",
]  # fmt: skip
KINDS = "Polynomial Chebyshev Hermite HermiteE Laguerre Legendre".split()
CLASSES = [
    "ndarray", "generic", "dtype", "ufunc", "finfo", "iinfo", "nditer", "flatiter", "broadcast", "poly1d",
    "random.Generator", "random.RandomState",
    *(f"polynomial.{name}" for name in KINDS),
]  # fmt: skip
# An object that has the attributes which a class of npdec gives to each object.
INSTANCES: dict[str, Callable[[], Any]] = {
    "ufunc": lambda: npdec.add,
    "dtype": lambda: npdec.dtype("f8"),
    "flatiter": lambda: npdec.ones(2).flat,
    "broadcast": lambda: npdec.broadcast(npdec.ones(2), 1),
    "nditer": lambda: npdec.nditer(npdec.ones(2)),
    "poly1d": lambda: npdec.poly1d([1.0, 2.0]),
}


@dataclass(frozen=True)
class Table:
    """The public names of a namespace or class, each with its state, and the reasons of those that are absent."""

    title: str
    states: dict[str, str]
    reasons: dict[str, str]

    def having(self, state: str) -> list[str]:
        return [name for name, found in self.states.items() if found == state]


# -- NumPy's names -----------------------------------------------------------------------------------------------------


def module_of_numpy(dotted: str) -> types.ModuleType:
    try:
        return importlib.import_module(f"numpy.{dotted}".removesuffix("."))
    except ModuleNotFoundError:
        return find(numpy, dotted)  # emath is another module's name


def public_names(dotted: str) -> list[str]:
    """The public names of a namespace of NumPy that are no modules: `__all__`, and for NumPy itself all there are."""
    module = module_of_numpy(dotted)
    listed = getattr(module, "__all__", None) if dotted else None
    names = listed or [name for name in dir(module) if not name.startswith("_")]
    return sorted(name for name in names if not isinstance(getattr(module, name), types.ModuleType))


def members(dotted: str) -> list[str]:
    return sorted(name for name in dir(find(numpy, dotted)) if not name.startswith("_"))


# -- npdec's ----------------------------------------------------------------------------------------------------------


def table(dotted: str, names: list[str], title: str, instance: Callable[[], Any] | None = None) -> Table:
    """The states of the names; one that is missing without a reason is left out."""
    states, reasons = {}, {}
    try:
        owner = find(npdec, dotted)
    except (AttributeError, ModuleNotFoundError):
        owner = None
    for name in names:
        item = inspect.getattr_static(owner, name, None) if isinstance(owner, type) else None
        if item is None:
            try:
                item = getattr(owner if instance is None else instance(), name)
            except AttributeError:
                why = reason(owner, dotted, name)
                if why is not None:
                    states[name], reasons[name] = "absent", why
                continue
        states[name] = "delegated" if is_delegated(owner, name, item) else "native"
    return Table(title, states, reasons)


def tables() -> tuple[list[Table], list[Table]]:
    """Of the namespaces, and of the classes."""
    modules = [table(dotted, public_names(dotted), f"numpy.{dotted}".removesuffix(".")) for dotted in MODULES]
    classes = [table(dotted, members(dotted), f"numpy.{dotted}", INSTANCES.get(dotted)) for dotted in CLASSES]
    return modules, classes


# -- what is undeclared ------------------------------------------------------------------------------------------------


def missing(found: list[Table]) -> list[str]:
    """The names of NumPy that npdec has not, and gives no reason for."""
    wanted = dict(zip((t.title for t in found), [*map(public_names, MODULES), *map(members, CLASSES)], strict=True))
    return [f"{t.title}.{name}" for t in found for name in wanted[t.title] if name not in t.states]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _imports_numpy(function: types.FunctionType) -> bool:
    """Whether its body imports NumPy; `sys.modules` and hasattr do not count, which look only whether it is there."""
    return any("numpy" in code.co_names and "numpy" not in function.__globals__ for code in _codes(function.__code__))


def _is_gateway(item: Any) -> bool:
    """Whether a function of npdec hands out the installed NumPy, or says what needs it."""
    return isinstance(item, types.FunctionType) and _imports_numpy(item) and "ImportError" in item.__code__.co_names


def undeclared() -> list[str]:
    """Public functions that go to NumPy in their own body, in modules that do not declare it."""
    found = []
    for dotted, names in [*((d, public_names(d)) for d in MODULES), *((d, members(d)) for d in CLASSES)]:
        try:
            owner = find(npdec, dotted)
        except (AttributeError, ModuleNotFoundError):
            continue
        for name in names:
            item = inspect.getattr_static(owner, name, None)
            if item is None or is_delegated(owner, name, item):
                continue
            for function in functions_of(item):
                called = {word for code in _codes(function.__code__) for word in code.co_names}
                gates = [word for word in called if _is_gateway(function.__globals__.get(word))]
                if gates or _imports_numpy(function):
                    place = function.__globals__.get("__name__", owner)
                    found.append(f"{dotted}.{name} goes to NumPy: say so in DELEGATES_TO_NUMPY of {place}")
    return found


def stale() -> list[str]:
    """Declared names that their modules do not have."""
    found = []
    for module_name, module in sorted(sys.modules.items()):
        said = getattr(module, "DELEGATES_TO_NUMPY", ())
        if module_name.startswith("npdec") and isinstance(said, (set, frozenset, tuple)):
            members_of = {name for item in vars(module).values() if isinstance(item, type) for name in vars(item)}
            found += [
                f"{module_name}.{name} is declared as delegated, and does not exist"
                for name in sorted(said)
                if name not in members_of and not hasattr(module, name)
            ]
    return found


# -- the page ----------------------------------------------------------------------------------------------------------

VERSION = ".".join(numpy.__version__.split(".")[:2])

HEAD = f"""# NumPy's names

Written by `{COMMAND}` for NumPy {VERSION}; `--check` tells whether it is out of date.

- **Native**: a torch kernel, or code of npdec. It runs on the device of its arrays, and contributions pass through it
  where it computes with floating-point numbers.
- **Delegated**: the installed NumPy does it, on the host: files, text, its own streams of random numbers. Without NumPy
  it raises `ImportError`, but for random numbers, which then come from torch's generators.
- **Absent**: what torch cannot hold or do. Asking for it raises `npdec.exceptions.AbsentNameError` with the reason.
"""


def _words(names: list[str]) -> Iterator[str]:
    """Names in code style, in lines of the page's width."""
    line = ""
    for name in names:
        word = f"`{name}`"
        if line and len(line) + len(word) + 2 > WIDTH:
            yield line + ","
            line = word
        else:
            line += f", {word}" if line else word
    if line:
        yield line + "."


def _counts(found: list[Table], what: str) -> Iterator[str]:
    yield f"| {what} | names | native | delegated | absent |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for one in found:
        numbers = [len(one.having(state)) for state in STATES]
        yield f"| `{one.title}` | {sum(numbers)} | {' | '.join(map(str, numbers))} |"


def _section(one: Table) -> Iterator[str]:
    if not one.states:
        return
    yield from ("", f"### `{one.title}`", "")
    for state in STATES[:2]:
        names = one.having(state)
        if names:
            yield from (f"{state.capitalize()} ({len(names)}):", *_words(names), "")
    if one.reasons:
        yield f"Absent ({len(one.reasons)}):"
        yield ""
        reasons: dict[str, list[str]] = {}
        for name, why in one.reasons.items():
            reasons.setdefault(why, []).append(name)
        for why, names in reasons.items():
            yield f"- {', '.join(f'`{name}`' for name in names)}: {why}."
        yield ""


def page(modules: list[Table], classes: list[Table]) -> str:
    submodules = sorted(name for name in dir(numpy) if isinstance(getattr(numpy, name), types.ModuleType))
    lines = [HEAD, *_counts(modules, "namespace"), "", *_counts(classes, "class"), "", "## Namespaces"]
    gone = table("", [name for name in submodules if name in ABSENT], "numpy, whole modules")
    for one in (gone, *modules):
        lines += _section(one)
    lines += ["", "## Classes"]
    for one in classes:
        lines += _section(one)
    text = "\n".join(lines)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.rstrip() + "\n"


def main(words: list[str]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that NumPy deprecates
        modules, classes = tables()
        wrong = [f"{name} is missing, without a reason" for name in missing([*modules, *classes])]
        wrong += [*undeclared(), *stale()]
        text = page(modules, classes)
    if not PAGE.exists() or PAGE.read_text("utf-8") != text:
        if words == ["--check"]:
            wrong.append(f"{PAGE.relative_to(ROOT)} is out of date: run {COMMAND}")
        else:
            PAGE.parent.mkdir(exist_ok=True)
            PAGE.write_text(text, "utf-8")
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
