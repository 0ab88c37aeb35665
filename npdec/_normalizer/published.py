"""The public functions of kernels, by name, each compiled when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from npdec._normalizer.normalizer import compile_function, spec_of
from npdec.exceptions import MissingNameError

__all__ = ["Published", "kernels_of"]


def kernels_of(module: ModuleType) -> list[Callable[..., Any]]:
    """The kernels that a module of `npdec._impl` declares itself (and does not import), in their order."""
    return [item for item in vars(module).values() if hasattr(item, "__npdec__") and item.__module__ == module.__name__]


class Published(Mapping[str, Any]):
    """The public functions of kernels, by their names and aliases.

    Ufuncs, from which operators are made, are there from the start (`ufuncs`); every other function is compiled when it
    is first asked for, which keeps the import of npdec short.
    """

    def __init__(self, namespace: str, *modules: ModuleType) -> None:
        self._namespace = namespace
        self.kernels: dict[str, Callable[..., Any]] = {}
        self._compiled: dict[Callable[..., Any], Any] = {}
        for module in modules:
            for kernel in kernels_of(module):
                spec = spec_of(kernel)
                for name in (spec.name, *spec.aliases):
                    if name in self.kernels:
                        raise TypeError(f"{namespace}.{name} is declared twice, the second time in {module.__name__}")
                    self.kernels[name] = kernel
        self.ufuncs = {name: self[name] for name, kernel in self.kernels.items() if spec_of(kernel).loops is not None}

    def __getitem__(self, name: str) -> Any:
        kernel = self.kernels[name]
        function = self._compiled.get(kernel)
        if function is None:
            function = self._compiled[kernel] = compile_function(kernel, self._namespace)
        return function

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def resolve(self, name: str, scope: dict[str, Any]) -> Any:
        """The function that a module was asked for, which then stands in its globals. Raises AttributeError."""
        if name not in self.kernels:
            raise MissingNameError(self._namespace, name)
        function = scope[name] = self[name]
        return function
