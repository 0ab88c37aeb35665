"""`numpy` as NumPy's own test modules see it here: npdec under the public names, NumPy's private helpers as they are.

`load(path)` executes a test module with an `import` statement of its own. What the module imports from `numpy` by a
public name is npdec's. What it imports from a private module (`numpy._core…`, `numpy.lib._…_impl`) is npdec's too if it
is the object of a public name, and NumPy's own helper otherwise.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import itertools
import sys
import types
from pathlib import Path
from typing import Any

import numpy
from numpy._core import numerictypes
from numpy._core._multiarray_umath import _get_castingimpl

import npdec
from npdec._guests.exchange import arguments, received
from npdec.exceptions import AbsentError

PUBLIC = (
    "char core ctypeslib dtypes emath exceptions f2py fft lib lib.array_utils lib.format lib.introspect lib.mixins "
    "lib.npyio lib.scimath lib.stride_tricks linalg polynomial polynomial.chebyshev polynomial.hermite "
    "polynomial.hermite_e polynomial.laguerre polynomial.legendre polynomial.polynomial polynomial.polyutils random "
    "strings testing typing ma rec lib.recfunctions"
).split()
SHARED = {"_NoValue", "__array_namespace_info__"}  # of npdec's, though they begin as private names do
PREFIX = "npdec_conformance."


class Absent:
    """What npdec does not have, in the text of a test module that is being read: using it while a test runs raises."""

    running = False  # set while a test runs

    def __init__(self, why: Exception) -> None:
        self._why = why

    def _error(self, *args: Any, **kwargs: Any) -> Any:
        if Absent.running:
            raise self._why
        return self

    __call__ = __getitem__ = __or__ = __ror__ = __add__ = __radd__ = __mul__ = __neg__ = _error
    __lt__ = __le__ = __gt__ = __ge__ = __sub__ = __rsub__ = __rmul__ = __truediv__ = __pow__ = _error

    def __iter__(self) -> Any:
        self._error()
        return iter(())

    def __enter__(self) -> Any:
        return self._error()

    def __exit__(self, *exception: object) -> None:
        self._error()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self._error()

    def __hash__(self) -> int:
        self._error()
        return id(self)

    def __repr__(self) -> str:
        return "absent"

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()


def _public_objects() -> dict[int, tuple[str, str]]:
    """The objects of NumPy that have a public name: (module below numpy, name), by identity."""
    found: dict[int, tuple[str, str]] = {}
    for module_name in ("", *PUBLIC):
        module = importlib.import_module(f"numpy.{module_name}") if _importable(module_name) else numpy
        for name in dir(module):
            value = getattr(module, name, None)
            if name.startswith("_") or isinstance(value, types.ModuleType | int | float | str | tuple | list | dict):
                continue
            found.setdefault(id(value), (module_name, name))
    return found


def _importable(module_name: str) -> bool:
    return module_name not in ("", "emath")


_OBJECTS = _public_objects()
_FACES: dict[str, Face] = {}


def _ours(module_name: str) -> Any:
    module: Any = npdec
    for part in module_name.split(".") if module_name else ():
        module = getattr(module, part)
    return module


class Face(types.ModuleType):
    """A module of NumPy as a test module sees it; `public` if npdec stands for it."""

    def __init__(self, name: str, theirs: types.ModuleType) -> None:
        super().__init__(name)
        self.__dict__["_theirs"] = theirs
        below = name.partition(".")[2]
        self.__dict__["_below"] = below
        self.__dict__["_public"] = below == "" or below in PUBLIC
        self.__dict__["__path__"] = []

    def __getattr__(self, name: str) -> Any:
        theirs, below = self._theirs, self._below
        if self._public and (not name.startswith("_") or name in SHARED):
            try:
                value = getattr(_ours(below), name)
            except ModuleNotFoundError as error:
                if below == "testing":
                    return getattr(theirs, name)
                return Absent(AttributeError(str(error)))
            except AttributeError as error:
                if Absent.running or not hasattr(theirs, name):
                    raise
                return Absent(error)
            if isinstance(value, types.ModuleType):
                path = f"{self.__name__}.{name}"
                return face(path) if path.removeprefix("numpy.") in PUBLIC else value
            return value
        return translate(getattr(theirs, name))

    def __dir__(self) -> list[str]:
        if not self._public:
            return dir(self._theirs)
        return [name for name in dir(_ours(self._below)) if not name.startswith("_")]


def translate(value: Any) -> Any:
    """npdec's object for an object of NumPy that has a public name; any other object as it is."""
    if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "numpy":
        return face(value.__name__)
    in_c = isinstance(value, types.BuiltinFunctionType) and str(value.__module__).startswith("numpy._core._")
    if isinstance(value, dict | set | list | tuple) and _holds_types(value):
        return _of_types(value)
    if in_c or _reads_types(value) or getattr(value, "__module__", None) == "numpy.ma.testutils":
        return Helper(value)
    if id(value) in _OBJECTS:
        module_name, name = _OBJECTS[id(value)]
        return getattr(face(f"numpy.{module_name}".rstrip(".")), name)
    return value


def _reads_types(value: Any) -> bool:
    """Whether it is one of NumPy's private functions that look types up in its tables."""
    return isinstance(value, types.FunctionType) and value.__code__ in _READING_TYPES


_READING_TYPES = {
    item.__code__
    for name, item in vars(numerictypes).items()
    if isinstance(item, types.FunctionType) and not hasattr(numpy, name)
}


def _holds_types(value: Any) -> bool:
    """Whether a table, however deep, is one of NumPy's scalar types."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, set | list | tuple):
        return isinstance(value, type) and issubclass(value, numpy.generic)
    return any(map(_holds_types, value))


def _of_types(value: Any) -> Any:
    """A table of scalar types, of which npdec's stand for those that it has."""
    if isinstance(value, dict):
        return {name: _of_types(item) for name, item in value.items()}
    if isinstance(value, set | list | tuple):
        return type(value)(map(_of_types, value))
    return received(value)


def _numpys(value: Any) -> Any:
    """NumPy's array, dtype or class of a dtype for npdec's."""
    if isinstance(value, tuple | list):
        return type(value)(map(_numpys, value))
    if isinstance(value, type) and issubclass(value, npdec.dtype) and not issubclass(value, numpy.dtype):
        return value if value is npdec.dtype else type(numpy.dtype(value().name))
    return arguments("a helper of NumPy's tests", value)


_METHOD = type(_get_castingimpl(type(numpy.dtype("i4")), type(numpy.dtype("f4"))))


class Helper:
    """A helper in C of NumPy's, which may crash when it is given anything but NumPy's own arrays: it is given these. So
    is an object that it gives, whose methods are such helpers, and what looks types up in NumPy's tables of them.

    No function: as an attribute of a test class it is no method, as the helper itself is none.
    """

    def __init__(self, helper: Any) -> None:
        self._helper = helper
        self.__name__, self.__doc__ = getattr(helper, "__name__", "?"), helper.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = self._helper(*map(_numpys, args), **{name: _numpys(value) for name, value in kwargs.items()})
        if type(made) is _METHOD:
            return Helper(made)
        return received(made) if isinstance(made, tuple | type) else made  # dtypes, scalar types

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._helper, name)
        return Helper(found) if isinstance(found, types.BuiltinMethodType) else found


def face(name: str) -> Any:
    """The module `numpy…` as test modules see it."""
    if name not in _FACES:
        if name == "numpy.emath":
            theirs: Any = numpy.emath
        else:
            theirs = importlib.import_module(name)
        if ".tests." in name:
            return load(Path(theirs.__file__))
        _FACES[name] = Face(name, theirs)
    return _FACES[name]


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """The `import` statement of a test module."""
    if level:
        package = globals["__package__"].split(".")
        name = ".".join(package[: len(package) - level + 1] + ([name] if name else []))
    if name.partition(".")[0] != "numpy":
        return builtins.__import__(name, globals, locals, fromlist, 0)
    module = face(name)
    for item in fromlist or ():
        try:
            if ".tests" in name and not hasattr(module, item):
                setattr(module, item, load(Path(importlib.import_module(f"{name}.{item}").__file__)))
            elif item != "*" and not hasattr(module, item) and not isinstance(module, Absent):
                importlib.import_module(f"{name}.{item}")
        except ImportError:
            pass
    return module if fromlist else face("numpy")


class _Reading(ast.NodeTransformer):
    """Calls that run while a module is read (in decorators, parameter lists, class bodies) go through `_called`."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        return ast.copy_location(
            ast.Call(ast.Name("__called__", ast.Load()), [node.func, *node.args], node.keywords), node
        )

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        node.args = self.visit(node.args)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.body = [self.visit(item) for item in node.body]
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        return node


def _called(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The result of a call, or a placeholder if it asks npdec for what it does not have."""
    if str(getattr(function, "__module__", "")).startswith("npdec"):
        for value in (*args, *kwargs.values()):
            if isinstance(value, Absent):
                return value
    args = tuple(_items(value) if isinstance(value, types.GeneratorType) else value for value in args)
    try:
        return function(*args, **kwargs)
    except AbsentError as error:
        return Absent(error)
    except TypeError as error:
        if "metadata= is not supported" in str(error):
            return Absent(error)
        raise
    except ValueError:  # `objects.remove(np.invert)`: no ufunc of npdec has a loop for objects
        if getattr(function, "__name__", "") == "remove" and isinstance(function.__self__, list):
            return None
        raise


def _items(generator: Any) -> list[Any]:
    """The parameters that a generator gives, up to one that npdec does not have, which ends it."""
    items: list[Any] = []
    try:
        items.extend(generator)
    except (AbsentError, TypeError, ValueError) as error:
        told = "absent" in str(error)
        if not isinstance(error, AbsentError) and not told:
            raise
    return items


_BUILTINS = {**vars(builtins), "__import__": _import, "__called__": _called}


def load(path: Path) -> types.ModuleType:
    """The test module at `path`, executed with `numpy` resolved to npdec."""
    root = Path(numpy.__file__).parents[1]
    dotted = ".".join(path.relative_to(root).with_suffix("").parts)
    if PREFIX + dotted in sys.modules:
        return sys.modules[PREFIX + dotted]
    module = types.ModuleType(PREFIX + dotted)
    module.__file__ = str(path)
    module.__package__ = dotted.rpartition(".")[0]
    module.__dict__["__builtins__"] = _BUILTINS
    for name in itertools.accumulate((PREFIX + dotted).split(".")[:-1], "{}.{}".format):
        sys.modules.setdefault(name, types.ModuleType(name))  # pickle imports them
    sys.modules[PREFIX + dotted] = module
    try:
        tree = ast.fix_missing_locations(_Reading().visit(ast.parse(path.read_text("utf-8"), str(path))))
        exec(compile(tree, str(path), "exec"), vars(module))
    except BaseException:
        del sys.modules[PREFIX + dotted]
        raise
    return module
