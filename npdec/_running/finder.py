"""Which modules are executed with numpy as npdec: those of named packages, and of files in named folders."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from npdec._core.tracebacks import ends
from npdec._guests.stand_ins import is_within
from npdec._running.imports import fill_if_listed, own_builtins

__all__ = ["Installation", "checked_names", "install", "is_below"]

_NEVER = frozenset({"numpy", "npdec", "torch", "array_api_compat"})
_PARTS_OF_ENVIRONMENTS = frozenset({"site-packages", "dist-packages"})
_PYTHON = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class Installation(MetaPathFinder):
    """What `install` has done: a finder of modules at the head of `sys.meta_path`. As a context manager it undoes
    itself.

    It asks the finders behind it where a module is, and how it is loaded; of a chosen one it changes nothing but the
    builtins that it is executed with.
    """

    def __init__(self, packages: Iterable[str], folders: Iterable[str | Path] = ()) -> None:
        self.packages = tuple(packages)
        self.folders = tuple(Path(folder).resolve() for folder in folders)
        self.loaded: list[str] = []
        sys.meta_path.insert(0, self)

    def undo(self) -> None:
        """Choose no more modules. Those that are loaded keep what they have imported."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def __enter__(self) -> Installation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.undo()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Where the module is, for a chosen one with a loader that gives it its builtins."""
        if fullname.partition(".")[0] in _NEVER or self not in sys.meta_path:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(fullname, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module") and spec.origin is not None and self._chooses(spec):
                    spec.loader = _Loader(spec.loader, self.loaded)
                return spec
        return None

    def _chooses(self, spec: importlib.machinery.ModuleSpec) -> bool:
        named = any(is_within(spec.name, package) for package in self.packages)
        return named or any(is_below(str(spec.origin), folder) for folder in self.folders)


def is_below(origin: str, folder: Path) -> bool:
    """Whether a file is the user's own, in a folder: of no environment, and not of Python, that lie in the folder."""
    file = Path(origin).resolve()
    if not file.is_relative_to(folder):
        return False
    if _PARTS_OF_ENVIRONMENTS.intersection((folder.name, *file.relative_to(folder).parts)):
        return False
    inner = [place for place in _PYTHON if Path(place).resolve().is_relative_to(folder)]
    return not any(file.is_relative_to(Path(place).resolve()) for place in inner)


class _Loader(Loader):
    """A loader until it executes the module: with the builtins in which numpy is npdec."""

    def __init__(self, loader: Any, loaded: list[str]) -> None:
        self._loader = loader
        self._loaded = loaded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        if isinstance(self._loader, importlib.machinery.ExtensionFileLoader):
            _refuse_arrays_in_c(spec)
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        __tracebackhide__ = True
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        if not isinstance(self._loader, importlib.machinery.ExtensionFileLoader):
            vars(module)["__builtins__"] = vars(own_builtins())
            self._loaded.append(module.__name__)
            fill_if_listed(module.__spec__)
        self._loader.exec_module(module)


def _refuse_arrays_in_c(spec: importlib.machinery.ModuleSpec) -> None:
    """ImportError for an extension module that reads arrays by NumPy's C API: it looks that API up by this name."""
    if b"_ARRAY_API" in Path(str(spec.origin)).read_bytes():
        raise ImportError(
            f"{spec.name} is compiled against NumPy's C API, which reads the memory of NumPy's own arrays; a package "
            f"with such modules keeps NumPy: leave {spec.name.partition('.')[0]!r} out (it takes npdec's arrays, and "
            "gives NumPy's)",
            name=spec.name,
            path=spec.origin,
        )


@ends
def install(packages: str | Iterable[str]) -> Installation:
    """From now on, `numpy` means npdec in these packages, and NumPy itself in all others.

    Parameters
    ----------
    packages : str or iterable of str
        Names of packages or modules of Python, dotted ones too; what is within a package belongs to it. Their sources
        are not edited, and neither are `sys.modules` and the import statements of others: what a package imports that
        is not named here gets NumPy.

    Returns
    -------
    Installation
        Its `undo()` chooses no more modules; as a context manager it does so at the end of the block. What is loaded
        keeps npdec, also where its functions import something later.

    Raises
    ------
    ModuleNotFoundError
        There is no package of that name.
    RuntimeError
        A package has been imported already, with NumPy itself.
    ValueError
        It is NumPy, npdec or what npdec is made of.

    Within such a package, importing an extension module that is compiled against NumPy's C API raises ImportError.

    >>> with np.install(["tabnanny"]):
    ...     import tabnanny

    See Also
    --------
    The guide "Run what exists, unedited": programs, test suites, and what happens to arrays that cross.
    """
    names = checked_names("install", (packages,) if isinstance(packages, str) else packages)
    for name in names:
        if name not in sys.modules and importlib.util.find_spec(name.partition(".")[0]) is None:
            raise ModuleNotFoundError(f"install: no package {name!r}", name=name)
    return Installation(names)


def checked_names(who: str, packages: Iterable[str]) -> tuple[str, ...]:
    """The names of packages. ValueError for one that cannot be chosen, RuntimeError for one that is there already."""
    names = tuple(packages)
    for name in names:
        if name.partition(".")[0] in _NEVER:
            raise ValueError(f"{who}: {name} cannot be run on npdec")
        there = sys.modules.get(name)
        if there is not None and vars(there).get("__builtins__") is not vars(own_builtins()):
            raise RuntimeError(
                f"{who}: {name} has been imported already, with NumPy itself; choose it before its first import"
            )
    return names
