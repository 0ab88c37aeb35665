"""Runs the user's script with `numpy` resolved to npdec inside it, and nowhere else.

An `import` statement calls the `__import__` that it finds in the builtins of the module it stands in. So each of the
user's modules is executed with builtins of its own, whose `__import__` answers `numpy` with npdec, loads the modules
beside the script in the same way, and passes everything else to Python. The obvious alternative, putting npdec into
`sys.modules["numpy"]` for a while, would be seen by the whole process: scikit-learn, SciPy or pandas, imported by the
script in that while, would be built on npdec for ever, their compiled parts would fail, and threads would see
one or the other at random. Here they get NumPy, before and after, also when a function imports them later.

`importlib.import_module("numpy")` inside the script asks Python itself and is not redirected.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from npdec._guests.stand_ins import imported
from npdec.explain.errors import InputError, one_line, resolved, said

__all__ = ["Script"]

_PREFIX = "npdec_explained"  # the user's modules live under this name in sys.modules, where dataclasses and pickle look


class Script:
    """The user's script and the modules beside it, as a context manager: on leaving they are forgotten.

    `with Script(path) as script: script.find("predict")`. Raises InputError, in one line, for whatever is wrong.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        file = resolved(path)
        parts = [] if file.stem == "__init__" else [file.stem.replace(".", "_")]
        top = file.parent
        while (top / "__init__.py").is_file() and top != top.parent:  # a script inside a package may import from it
            parts.insert(0, top.name)
            top = top.parent
        self._file = file
        self._name = ".".join(parts)
        self._roots = [str(folder) for folder in dict.fromkeys((file.parent, top))]
        self._modules: dict[str, ModuleType] = {}
        self._files: set[str | None] = set()
        self._builtins = dict(vars(builtins), __import__=self._import)

    def __enter__(self) -> Script:
        if not self.path.is_file():
            reason = "is no regular file" if self.path.exists() else "no such file"
            reason = "is a directory, not a script" if self.path.is_dir() else reason
            raise InputError(f"{self.path}: {reason}")
        try:
            parent = self._name.rpartition(".")[0]
            if parent:
                self._load(parent)
            if self._name not in self._modules:
                self._execute(self._name, self._file)
        except KeyboardInterrupt:
            self.__exit__()
            raise
        except BaseException as error:
            self.__exit__()
            raise InputError(self.describe(error, f"{self.path} cannot be loaded")) from error
        return self

    def __exit__(self, *exception: object) -> None:
        for name, module in self._modules.items():
            if sys.modules.get(f"{_PREFIX}.{name}") is module:
                del sys.modules[f"{_PREFIX}.{name}"]

    def find(self, name: str) -> Any:
        """The function of that name in the script; a dotted name reaches into an object."""
        found: Any = self._modules[self._name]
        for part in name.split("."):
            if not hasattr(found, part):
                own = [key for key, item in vars(self._modules[self._name]).items() if self._is_own_function(key, item)]
                raise InputError(f"{self.path} has no function {name!r}; it has {', '.join(own) or 'none'}")
            found = getattr(found, part)
        if not callable(found):
            raise InputError(f"{name} in {self.path} is of type {type(found).__name__}, not a function")
        return found

    def _is_own_function(self, key: str, item: object) -> bool:
        here = getattr(item, "__module__", None) == self._modules[self._name].__name__
        return callable(item) and here and not key.startswith("_")

    def describe(self, error: BaseException, what: str) -> str:
        """One line on an exception of the user's code: its type, message, and the last line of theirs on its way."""
        if isinstance(error, SyntaxError) and error.filename in self._files:
            return one_line(f"{_relative(error.filename)}, line {error.lineno}: {error.msg}")
        text = said(error)
        message = f"{type(error).__name__}: {text}" if text else type(error).__name__
        if isinstance(error, SystemExit):
            message = "it called exit()"
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in self._files]
        place = f" ({_relative(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
        return f"{what}: {one_line(message)}{place}"

    # The import statement, as the user's modules see it.

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        fromlist = fromlist or ()
        if level:
            package = (globals or {}).get("__package__") or ""
            if not package.startswith(f"{_PREFIX}."):
                raise ImportError("attempted relative import with no known parent package")
            name = importlib.util.resolve_name("." * level + name, package).removeprefix(f"{_PREFIX}.")
        first = name.partition(".")[0]
        if first == "numpy" and not level:
            return imported(name, fromlist)
        if not level and not self._is_own(first):
            return builtins.__import__(name, globals, locals, fromlist, 0)
        module = self._load(name)
        if not fromlist:
            return self._modules[first]
        for item in fromlist:
            for child in getattr(module, "__all__", ()) if item == "*" else (item,):
                if not hasattr(module, child) and self._locate(f"{name}.{child}"):
                    self._load(f"{name}.{child}")
        return module

    def _is_own(self, first: str) -> bool:
        """Whether a top-level name is found beside the script. A folder without `__init__.py` yields to a package."""
        if first in self._modules:
            return True
        if first in sys.builtin_module_names:
            return False
        place = self._locate(first)
        if place is None or place.suffix == ".py":
            return place is not None
        spec = sys.modules[first].__spec__ if first in sys.modules else importlib.util.find_spec(first)
        return any(place.rglob("*.py")) and (spec is None or spec.origin is None)

    def _locate(self, name: str) -> Path | None:
        """The source file of a module, or the folder of a package without `__init__.py`."""
        parent, _, last = name.rpartition(".")
        folders = getattr(self._modules[parent], "__path__", ()) if parent else self._roots
        for candidate in (f"{last}/__init__.py", f"{last}.py", last):
            for folder in folders:
                path = Path(folder, candidate)
                if path.is_dir() if candidate == last else path.is_file():
                    return path
        return None

    def _load(self, name: str) -> ModuleType:
        """The module of that dotted name, loaded with the packages that it is in."""
        if name in self._modules:
            return self._modules[name]
        parent, _, last = name.rpartition(".")
        package = self._load(parent) if parent else None
        if name in self._modules:  # the package imports it
            return self._modules[name]
        place = self._locate(name)
        if place is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = self._execute(name, place)
        if package is not None:
            setattr(package, last, module)
        return module

    def _execute(self, name: str, place: Path) -> ModuleType:
        full = f"{_PREFIX}.{name}"
        if place.is_dir():
            module = ModuleType(full)
            module.__path__ = [str(place)]
            module.__package__ = full
            self._modules[name] = sys.modules[full] = module
            return module
        self._files.add(str(place))
        loader = _Loader(full, str(place), self._builtins)
        folders = [str(place.parent)] if place.name == "__init__.py" else None
        spec = importlib.util.spec_from_file_location(full, place, loader=loader, submodule_search_locations=folders)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        self._modules[name] = sys.modules[full] = module
        try:
            loader.exec_module(module)
        except BaseException:
            del self._modules[name], sys.modules[full]
            raise
        return module


class _Loader(importlib.machinery.SourceFileLoader):
    """Executes a source file with the given builtins; compiles it each time, leaving no cache beside the file."""

    def __init__(self, name: str, path: str, own_builtins: dict[str, Any]) -> None:
        super().__init__(name, path)
        self._builtins = own_builtins

    def exec_module(self, module: ModuleType) -> None:
        code = self.source_to_code(self.get_data(self.path), self.path)
        vars(module)["__builtins__"] = self._builtins
        exec(code, vars(module))


def _relative(path: str | None) -> str:
    """A path as short as the user would write it."""
    try:
        return str(Path(path or "?").relative_to(Path.cwd()))
    except ValueError:
        return str(path)
