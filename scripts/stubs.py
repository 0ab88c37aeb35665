"""Write the type stubs of npdec, `npdec/__init__.pyi`, `npdec/linalg.pyi` and `npdec/fft.pyi`, from the live package.

Functions enter their namespaces, and methods the array class, when npdec is imported: a type checker, which imports
nothing, would not know `np.add` or `x.sum()`. `python scripts/stubs.py` writes the files, `python scripts/stubs.py
--check` exits with 1 if one of them is not what it would write.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from stub_overloads import FUNCTIONS, rows, ufunc_class  # noqa: E402

import npdec  # noqa: E402
from npdec import exceptions  # noqa: E402
from npdec._core.signatures import read_parameters  # noqa: E402
from npdec._core.unbound import is_function  # noqa: E402
from npdec._dtypes.dtype import dtype  # noqa: E402

WIDTH = 120
COMMAND = "python scripts/stubs.py"

# What the tags of kernels accept. An array-like is whatever `np.array` takes, which no type describes.
ALIASES = {
    "_ArrayLike": "Any",
    "_DTypeLike": "Any",
    "_IntLike": "SupportsIndex",
    "_IntsLike": "SupportsIndex | Sequence[SupportsIndex]",  # an axis or several, a shape
}
OF_TAG = {
    "AxisLike": "_IntsLike", "DTypeLike": "_DTypeLike", "KeepDims": "bool", "Like": "Any", "OutArray": "Any",
    "ShapeLike": "_IntsLike",
}  # fmt: skip
RETURN_TAGS = {"Array", "View", "Flat", "Frozen", "Mirror"}
ORIGIN = {
    "Any": "typing", "ClassVar": "typing", "Literal": "typing", "Self": "typing", "SupportsIndex": "typing",
    "overload": "typing", "Callable": "collections.abc",
    "Hashable": "collections.abc", "Iterable": "collections.abc", "Iterator": "collections.abc",
    "Mapping": "collections.abc", "Sequence": "collections.abc",
}  # fmt: skip
BARE = {"Callable": "Callable[..., Any]", "dict": "dict[Any, Any]", "list": "list[Any]", "tuple": "tuple[Any, ...]"}

# As in NumPy's own stubs, an operator on an array gives an array, although it is a scalar if all operands are 0-d.
STEMS = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
ARRAY_OPERATORS = {f"__{prefix}{stem}__" for prefix in ("", "r") for stem in STEMS}
ARRAY_OPERATORS |= {f"__{stem}__" for stem in "lt le gt ge neg pos abs invert".split()}
# What an array gives as an array, and a scalar, which has the same methods, as a scalar of some type.
ARRAY_MEMBERS = set("T mT real imag value residual c_sum groupby top".split())
ARRAY_MEMBERS |= set("astype copy view reshape transpose to_device".split())
IN_PLACE = {f"__i{stem}__" for stem in [*STEMS, "matmul"]}
# Said by `object`, or the business of pickle and copy.
SKIPPED = set(dir(object)) - {"__eq__", "__ne__", "__hash__", "__new__", "__lt__", "__le__", "__gt__", "__ge__"}
SKIPPED |= {"__class_getitem__", "__copy__", "__deepcopy__", "__getattr__", "__setstate__"}

# What a reduction of all elements gives: a scalar of some dtype, which a program that expects a float may take for one.
NUMBER = "class _Number(generic, float): ...  # type: ignore[misc]"

PYTHON = (object, float, complex)  # bases of which a stub says nothing

# The classes that a stub defines, by what it calls them.
CLASSES: dict[type, str] = {c: c.__name__ for c in vars(npdec).values() if type(c) is type(npdec.generic)}
CLASSES |= {npdec.ndarray: "ndarray", npdec.bool_: "bool_"}


class Unknown(Exception):
    """An annotation that names what a stub does not know."""


class Stub:
    """The stub of one module: its lines, and the names that they need."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module
        lazy = [name for name in npdec._LAZY if find_spec(f"npdec.{name}")] if module is npdec else []
        self.names = sorted({*module.__all__, *lazy})
        self.shadowed = {name for name in self.names if hasattr(builtins, name)}
        self.lines: list[str] = []
        self.imports: set[tuple[str, str, bool]] = set()  # (module, name, exported)
        self.modules: set[str] = set()
        self.aliases: set[str] = set()
        self.ufuncs: set[tuple[int, int]] = set()  # their numbers of operands and results

    # -- annotations --------------------------------------------------------------------------------------------------

    def use(self, name: str) -> str:
        """The name as an annotation writes it, imported or defined where need be."""
        if name in ALIASES:
            self.aliases.add(name)
        elif name in CLASSES.values():
            if self.module is not npdec:
                self.imports.add(("npdec", name, False))
        elif name == "_DType":
            self.imports.add(("npdec._dtypes.dtype", "dtype", self.module is npdec))
            self.aliases.add(name)
        elif name in ORIGIN:
            self.imports.add((ORIGIN[name], name, False))
        elif name in self.shadowed:
            self.modules.add("builtins")
            return f"builtins.{name}"
        elif name == "torch":
            self.modules.add("torch")
        elif name in ("_Number", *self.names):  # defined in this stub
            pass
        elif not hasattr(builtins, name):
            raise Unknown(name)
        return name

    def annotation(self, text: Any, scope: dict[str, Any]) -> str:
        """An annotation of the source in the names of the stub; `Any` where it speaks of something private."""
        if text is inspect.Parameter.empty:
            return self.use("Any")
        try:
            tree = self._translate(ast.parse(text, mode="eval").body, scope)
        except Unknown:
            return self.use("Any")
        return ast.unparse(tree)

    def _translate(self, node: ast.expr, scope: dict[str, Any]) -> ast.expr:
        match node:
            case ast.Name(name) if name in BARE:
                return self._translate(ast.parse(BARE[name], mode="eval").body, scope)
            case ast.Name(name):
                return ast.parse(self._name(name, scope), mode="eval").body
            case ast.Attribute(ast.Name("torch")):
                self.use("torch")
                return node
            case ast.Constant(None) | ast.Constant(builtins.Ellipsis):
                return node
            case ast.Subscript(ast.Name(name), inside):
                return ast.Subscript(ast.Name(self.use(name)), self._translate(inside, scope), ast.Load())
            case ast.Tuple(items) | ast.List(items):
                return type(node)([self._translate(item, scope) for item in items], ast.Load())
            case ast.BinOp(left, ast.BitOr(), right):
                return ast.BinOp(self._translate(left, scope), ast.BitOr(), self._translate(right, scope))
        raise Unknown(ast.unparse(node))

    def _name(self, name: str, scope: dict[str, Any]) -> str:
        if name == "ArrayBase":
            return self.use("generic")
        if name == "Labels":
            self.use("Hashable")
            return f"{self.use('Sequence')}[Hashable]"
        if name in ("Composition", "NDArrayBase") or name in RETURN_TAGS:
            return self.use("ndarray")
        if name in CLASSES.values():
            return self.use(name)
        found = scope.get(name)
        if found is dtype:
            return self.use("_DType")
        if isinstance(found, type) and found.__module__.startswith("npdec.") and name not in ORIGIN:
            self.imports.add((found.__module__, name, False))
            return name
        return self.use(name)

    # -- functions ----------------------------------------------------------------------------------------------------

    def parameters(self, function: Callable[..., Any], method: bool) -> list[str]:
        """The words of a parameter list."""
        kernel = getattr(function, "__kernel__", None)
        tags = {} if kernel is None else {p.name: p for p in read_parameters(kernel)}
        source = function if kernel is None else kernel
        annotations, scope = getattr(source, "__annotations__", {}), source.__globals__
        words: list[str] = []
        _, by_place = getattr(kernel, "__unshown__", (None, None))  # which NumPy's stubs show too
        found = [
            p.replace(kind=p.POSITIONAL_OR_KEYWORD) if p.name == by_place else p
            for p in inspect.signature(function).parameters.values()
        ]
        kinds = [p.kind for p in found]
        for i, p in enumerate(found):
            if p.kind is p.KEYWORD_ONLY and p.VAR_POSITIONAL not in kinds and p.KEYWORD_ONLY not in kinds[:i]:
                words.append("*")
            if i == 0 and method:
                words.append(p.name)
            else:
                tag = tags.get(p.name)
                if tag is not None and (tag.tag is not None or tag.plain == "int"):
                    kind = self.use("_IntLike" if tag.tag is None else OF_TAG.get(tag.tag, "_ArrayLike"))
                    if (tag.optional or tag.default is None) and ALIASES.get(kind, "Any") != "Any":
                        kind += " | None"
                else:
                    kind = self.annotation(annotations.get(p.name, p.empty), scope)
                stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
                words.append(f"{stars}{p.name}: {kind}{'' if p.default is p.empty else ' = ...'}")
            if p.kind is p.POSITIONAL_ONLY and kinds[i + 1 : i + 2] != [p.POSITIONAL_ONLY]:
                words.append("/")
        return words

    def returns(self, function: Callable[..., Any], scalar: bool = False) -> str:
        """The annotation of the result. A scalar's method that may give a view gives a scalar or an array."""
        source = getattr(function, "__kernel__", function)
        text = source.__annotations__.get("return", inspect.Parameter.empty)
        either = isinstance(text, str) and "|" in text and any(tag in text for tag in RETURN_TAGS)
        if either or (scalar and text in ("View", "Flat", "Frozen", "Mirror")):
            return self.use("Any")
        return self.annotation(text, source.__globals__)

    def define_all(self, name: str, words: list[str], result: str, indent: str = "") -> None:
        """A function or method, with an overload for each of its rows."""
        names = [word.partition(":")[0] for word in words]
        axis = next((word for word in words if word.startswith("axis: ")), "axis: ")[6:].partition(" |")[0]
        found = rows(name, names, axis.removesuffix(" | None"))
        for given, gives in found:
            self.lines.append(f"{indent}@{self.use('overload')}")
            self.define(name, self._with(words, given), self._written(gives), indent)
        if not found:
            self.define(name, words, result, indent)

    def _with(self, words: list[str], given: Mapping[str, str]) -> list[str]:
        """The words of a parameter list with those that are given in their place."""
        made: list[str] = []
        for word in words:
            name = word.partition(":")[0]
            if name.startswith("*") and name in given:
                made += [self._written(given[name]), "/", "*"]
            elif name in given:
                kind, default, _ = given[name].partition(" = ")
                made.append(f"{name}: {self._written(kind)}{' = ...' * bool(default)}")
            else:
                made.append(word)
        return made

    def _written(self, text: str) -> str:
        """An annotation, or `name: annotation`, in the names of the stub."""
        name, colon, kind = text.rpartition(": ")
        tree = ast.parse(kind, mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = self.use(node.id)
        return name + colon + ast.unparse(tree)

    def define(self, name: str, words: list[str], result: str, indent: str = "") -> None:
        """A `def`, wrapped as ruff wraps it."""
        head, tail = f"{indent}def {name}(", f") -> {result}: ..."
        if len(head + ", ".join(words) + tail) <= WIDTH:
            self.lines.append(head + ", ".join(words) + tail)
        elif len(f"{indent}    " + ", ".join(words)) <= WIDTH:
            self.lines += [head, f"{indent}    " + ", ".join(words), indent + tail]
        else:
            self.lines += [head, *(f"{indent}    {word}," for word in words), indent + tail]

    # -- classes ------------------------------------------------------------------------------------------------------

    def define_class(self, cls: type) -> None:
        """A class with its methods, inherited ones included where the base class is no public one."""
        bases = [CLASSES[base] for base in cls.__mro__[1:] if base in CLASSES]
        direct = [base for base in bases if not any(base in self._bases(other) for other in bases)]
        members: dict[str, Any] = {}
        own = [c for c in cls.__mro__ if c not in PYTHON]
        for base in reversed([c for c in own if c is cls or not self._inherits(c, cls)]):
            for name in list(vars(base)):
                getattr(base, name, None)  # compiles a method that nobody has asked for yet
            members |= vars(base)
        shown = {name: item for name, item in members.items() if name not in SKIPPED and self._is_shown(name)}
        # Operators that a public base has, a scalar makes faster, and no more.
        above = [c for base in cls.__mro__[1:] if base in CLASSES for c in base.__mro__ if c not in PYTHON]
        shown = {
            n: i for n, i in shown.items() if n == "__new__" or not (n[:2] == "__" and any(n in vars(c) for c in above))
        }
        native = [base.__name__ for base in cls.__bases__ if base in PYTHON and base is not object]
        head = f"class {CLASSES[cls]}({', '.join(direct + native)}):" if direct else f"class {CLASSES[cls]}:"
        note = "  # type: ignore[misc]" * bool(native)  # Python's methods are of other types
        start = len(self.lines)
        for name in sorted(shown):
            self.member(cls, name, shown[name])
        if len(self.lines) == start:
            self.lines.append(f"{head} ...{note}")
        else:
            self.lines.insert(start, head + note)
            self.lines.append("")

    @staticmethod
    def _bases(name: str) -> list[str]:
        cls = next(c for c, n in CLASSES.items() if n == name)
        return [CLASSES[base] for base in cls.__mro__[1:] if base in CLASSES]

    @staticmethod
    def _inherits(base: type, cls: type) -> bool:
        """Whether the members of a base come by way of a public base class."""
        return any(base in other.__mro__ for other in cls.__mro__[1:] if other in CLASSES)

    @staticmethod
    def _is_shown(name: str) -> bool:
        return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))

    def member(self, cls: type, name: str, item: Any) -> None:
        scalar = cls is not npdec.ndarray
        indent = "    "
        if isinstance(item, property) and item.fget is not None:
            self.lines.append(f"{indent}@property")
            result = self.use("ndarray") if name in ARRAY_MEMBERS and not scalar else self.returns(item.fget)
            self.define(name, ["self"], result, indent)
            if item.fset is not None:
                self.lines.append(f"{indent}@{name}.setter")
                self.define(name, ["self", f"value: {self.use('Any')}"], "None", indent)
        elif isinstance(item, classmethod):
            self.lines.append(f"{indent}@classmethod")
            self.define(name, self.parameters(item.__func__, True), self.returns(item.__func__), indent)
        elif name == "__new__":
            self.define(name, self.parameters(item.__func__, True), self.use("Self"), indent)
        elif item is None:
            kind = f"{self.use('ClassVar')}[None]"
            self.lines.append(f"{indent}{name}: {kind}" + "  # type: ignore[assignment]" * (name == "__hash__"))
        elif isinstance(item, types.FunctionType):
            words, result = self.parameters(item, True), self.returns(item, scalar)
            if name in ARRAY_MEMBERS and not scalar:
                result = self.use("ndarray")
            if name in ("__eq__", "__ne__"):
                words, result = ["self", "other: object", "/"], self.use("Any" if scalar else "ndarray")
                self.define(name, words, result, indent)
                self.lines[-1] += "  # type: ignore[override]" * (not scalar)  # of object gives a bool
                return
            elif name in IN_PLACE:
                words, result = ["self", f"other: {self.use('_ArrayLike')}", "/"], self.use("Self")
            elif name in ARRAY_OPERATORS or name in ("__matmul__", "__rmatmul__"):
                words = ["self", *[f"other: {self.use('_ArrayLike')}", "/"] * (len(words) > 1)]
                result = self.use("ndarray" if name in ARRAY_OPERATORS and not scalar else "Any")
            (self.define if scalar else self.define_all)(name, words, result, indent)

    # -- the module ---------------------------------------------------------------------------------------------------

    def build(self) -> str:
        functions = []
        for name in self.names:
            item = getattr(self.module, name)
            if isinstance(item, npdec.ufunc):
                self.imports.add(("npdec._normalizer.ufunc", "ufunc", self.module is npdec))
                known = item.signature is None and (item.nin, item.nout)
                if known:
                    self.ufuncs.add(known)
                kind = f"_UFunc{item.nin}{item.nout}" if known else "ufunc"
                if known and self.module is not npdec:
                    self.imports.add(("npdec", kind, False))
                functions.append(f"{name}: {kind}")
            elif is_function(item) and self._is_defined(item):
                self.define_all(name, self.parameters(item, False), self.returns(item))
                functions += self.lines
                self.lines = []
            else:
                self.other(name, item)
        others, self.lines = self.lines, []
        if self.module is npdec:
            for cls in sorted(set(CLASSES), key=lambda c: (c is not npdec.ndarray, len(c.__mro__), CLASSES[c])):
                self.define_class(cls)
            self.lines += ["", NUMBER]
            for nin, nout in sorted(self.ufuncs):
                self.lines += ["", *ufunc_class(nin, nout)]
            classes, self.lines = [*self.lines, ""], []
        else:
            classes = []
        if self.module is npdec:
            others.insert(0, "__version__: str")
        lines = _spaced([*sorted(map(self._alias, self.aliases)), *others, "", *classes, *functions])
        title = f'"""The types of `{self.module.__name__}`, written by `{COMMAND}` from the live package."""'
        return "\n".join([title, "", *self._imports(), *lines]).rstrip() + "\n"

    @staticmethod
    def _is_defined(function: types.FunctionType) -> bool:
        """Whether a function needs a definition of its own: others have one in the source, which says the same."""
        if hasattr(function, "__kernel__") or function.__name__ in FUNCTIONS:
            return True
        text = " ".join(map(str, function.__annotations__.values()))
        return any(name in text for name in ("Composition", "NDArrayBase", "generic"))

    def other(self, name: str, item: Any) -> None:
        """A name that is no function of arrays."""
        if isinstance(item, type) and item in CLASSES:
            if CLASSES[item] != name:
                self.lines.append(f"{name} = {CLASSES[item]}")
        elif isinstance(item, types.ModuleType) or (isinstance(item, str) and f"npdec.{name}" in sys.modules):
            self.imports.add(("npdec", name, True))
        elif isinstance(item, type) or is_function(item):
            home = "npdec.exceptions" if getattr(exceptions, name, None) is item else item.__module__
            self.imports.add((home if home != "npdec" else _home(name, item), name, True))
        elif type(item) in CLASSES:
            self.lines.append(f"{name}: {CLASSES[type(item)]}")
        elif item is None:
            self.lines.append(f"{name}: None")
        elif isinstance(item, dict):
            self.lines.append(f"{name}: dict[str, {self.use('Any')}]")
        elif isinstance(item, tuple):
            self.lines.append(f"{name}: tuple[{self.use('Any')}, ...]")
        else:
            kind = type(item)
            if kind.__module__.partition(".")[0] == "npdec":
                self.imports.add((_home(kind.__name__, kind), kind.__name__, False))
                self.lines.append(f"{name}: {kind.__name__}")
            else:
                self.lines.append(f"{name}: {self.use(kind.__name__)}")

    def _alias(self, name: str) -> str:
        if name == "_DType":
            return "_DType = dtype"
        for word in ("Sequence", "SupportsIndex", "Any"):
            if word in ALIASES[name]:
                self.use(word)
        return f"{name} = {ALIASES[name]}"

    def _imports(self) -> Iterator[str]:
        groups: list[dict[str, list[str]]] = [{}, {}, {}]
        lines: list[list[str]] = [[], [], []]
        for module in sorted(self.modules):
            lines[_group(module)].append(f"import {module}")
        for module, name, exported in sorted(self.imports, key=_import_order):
            if exported:
                lines[_group(module)].append(f"from {module} import {name} as {name}")
            else:
                names = groups[_group(module)].setdefault(module, [])
                if not names:
                    lines[_group(module)].append(f"from {module} import ")
                names.append(name)
        for group, found in zip(lines, groups, strict=True):
            for line in group:
                module = line.split()[1]
                yield line + ", ".join(found[module]) if line.endswith(" import ") else line
            if group:
                yield ""


def _group(module: str) -> int:
    return {"npdec": 2, "torch": 1}.get(module.partition(".")[0], 0)


def _import_order(item: tuple[str, str, bool]) -> tuple[Any, ...]:
    """As ruff sorts imports: constants, classes, the rest; a module's renamed members after its plain ones."""
    module, name, exported = item
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return module, exported, kind, name.lower(), name


def _home(name: str, item: Any) -> str:
    """The module that defines a class which says that it is of `npdec`: one that lists it, before those that use it."""
    homes = [n for n, m in sys.modules.items() if n.startswith("npdec._") and vars(m).get(name) is item]
    if not homes:
        raise LookupError(f"no module of npdec has {name!r}")
    return min(homes, key=lambda n: (name not in getattr(sys.modules[n], "__all__", ()), n))


def _spaced(lines: Iterable[str]) -> Iterator[str]:
    """The lines with blank ones where ruff has them: around classes with a body, between functions and variables."""
    before, kind = "", ""
    for line in lines:
        new = kind if line[:1] in (" ", ")", "") else "def" if line.startswith(("def ", "class ", "@")) else "name"
        opens = line.startswith("class ") and line.partition("  #")[0].endswith(":")
        if line and before and (new != kind or opens):
            yield ""
        if line or before:
            yield line
        before, kind = line, new


def stubs() -> dict[Path, str]:
    """The text of each stub, by its path."""
    return {
        Path(module.__file__ or "").with_suffix(".pyi"): Stub(module).build()
        for module in (npdec, npdec.linalg, npdec.fft)
    }


def main(words: list[str]) -> int:
    stale = {path: text for path, text in stubs().items() if not path.exists() or path.read_text("utf-8") != text}
    for path, text in stale.items():
        if words == ["--check"]:
            sys.stderr.write(f"{path.relative_to(ROOT)} is out of date: run {COMMAND}\n")
        else:
            path.write_text(text, "utf-8")
    return 1 if stale and words == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
