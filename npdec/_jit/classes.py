"""Classes that programs define, and their instances, in the world of a recording: copies whose methods read what the
recording reads, and whose attributes are looked at before the graph is used (`npdec._jit.environment`)."""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

from torch.utils import _pytree

from npdec._torch.tracing import Refused

__all__ = ["as_results", "copied", "is_record", "rebuilt"]

_FIELDS = "__dataclass_fields__"
# What Python or `dataclasses` has written about a class, and what belongs to the class alone.
_ABOUT = frozenset(
    {"__module__", "__qualname__", "__doc__", "__annotations__", "__match_args__", "__dataclass_params__"}
)
_OWN = frozenset({"__dict__", "__weakref__"})
_HOOKS = ("__slots__", "__init_subclass__", "__getattribute__", "__getattr__", "__new__", "__del__")
_SIMPLE = (bool, int, float, complex, str, bytes, type(None), enum.Enum)


def is_record(value: Any, is_library: Callable[[str], bool]) -> bool:
    """Whether a value is an instance of classes of a program that hold nothing but attributes."""
    kind = type(value)
    if type(kind) is not type or not hasattr(value, "__dict__"):
        return False
    return all(one is object or not is_library(str(one.__module__)) for one in kind.__mro__)


def copied(environment: Any, original: type, where: str) -> type:
    """The class in the environment's world, whose methods are functions of that world."""
    found = vars(original)
    hook = next((name for name in _HOOKS if name in found), None)
    if hook is not None or type(original) is not type:
        raise Refused(f"it uses {where}, a class with {hook or 'a metaclass'}, which may do anything")
    bases = []
    for base in original.__bases__:
        bases.append(base if base is object else environment.read(lambda base=base: base, base, f"{where}'s base"))
    _check_fields(found.get(_FIELDS, {}), where)
    made = type(original.__name__, tuple(bases), {})
    environment.note_class(original, made)
    for name, value in list(found.items()):
        if name in _OWN:
            continue
        if name in _ABOUT or name == _FIELDS:
            setattr(made, name, value)
            continue
        get = functools.partial(operator.getitem, found, name)
        setattr(made, name, _attribute(environment, get, value, f"{where}.{name}"))
    names = tuple(found)
    environment.guards.append((lambda: tuple(vars(original)), names, False))
    environment.watched(vars(made), where)
    return made


def _check_fields(fields: Any, where: str) -> None:
    """Refuse defaults of a dataclass that methods which it wrote hold, and nobody looks at."""
    for field in fields.values():
        plain = field.default is dataclasses.MISSING or isinstance(field.default, _SIMPLE)
        made = field.default_factory
        if not plain or not (made is dataclasses.MISSING or made is list or made is dict):
            raise Refused(f"it uses {where}, whose field {field.name!r} has a default that may change unnoticed")


def _attribute(environment: Any, get: Callable[[], Any], value: Any, where: str) -> Any:
    if isinstance(value, (staticmethod, classmethod)):
        environment.exactly(get, value)
        return type(value)(environment.read(lambda: get().__func__, value.__func__, where))
    if type(value) is property:
        environment.exactly(get, value)
        parts = [
            None if part is None else environment.read(functools.partial(_part, get, name), part, where)
            for name in ("fget", "fset", "fdel")
            for part in [getattr(value, name)]
        ]
        return property(*parts)
    if isinstance(value, types.FunctionType) and value.__code__.co_qualname.startswith("__create_fn__."):
        environment.exactly(get, value)  # written by `dataclasses`
        return value
    return environment.read(get, value, where)


def _part(get: Callable[[], Any], name: str) -> Any:
    return getattr(get(), name)


def rebuilt(made: type, attributes: dict[str, Any]) -> Any:
    """An instance with these attributes."""
    instance: Any = object.__new__(made)
    vars(instance).update(attributes)
    return instance


# -- results -----------------------------------------------------------------------------------------------------------


class _Instance:
    """An instance among the results: its class, and what it holds."""

    def __init__(self, kind: type, attributes: dict[str, Any]) -> None:
        self.kind, self.attributes = kind, attributes


def _flat(instance: _Instance) -> tuple[list[Any], Any]:
    return list(instance.attributes.values()), (instance.kind, tuple(instance.attributes))


def _together(values: Any, context: Any) -> Any:
    kind, names = context
    return rebuilt(kind, dict(zip(names, values, strict=True)))


_pytree.register_pytree_node(_Instance, _flat, _together)


def as_results(tree: Any, originals: dict[type, type], given: frozenset[int]) -> Any:
    """Results with instances of copied classes in a form that is put together as one of the original class. `given` are
    the ids of arguments, which would have to come back as the same objects."""
    kind = type(tree)
    if kind in originals:
        if id(tree) in given:
            raise Refused(f"it returns an argument, a {kind.__name__}: return what it holds")
        items = {name: as_results(value, originals, given) for name, value in vars(tree).items()}
        return _Instance(originals[kind], items)
    if kind is list or kind is tuple or hasattr(kind, "_fields"):
        made = [as_results(item, originals, given) for item in tree]
        return kind(*made) if hasattr(kind, "_fields") else kind(made)
    return {key: as_results(value, originals, given) for key, value in tree.items()} if kind is dict else tree
