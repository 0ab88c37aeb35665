"""Inputs and outputs in dicts, tuples and lists: taken apart into arrays, and put together again."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from npdec._core.containers import refilled

__all__ = ["Inputs", "flatten", "is_container", "spread"]


def _is_number(item: Any) -> bool:
    if isinstance(item, (list, tuple)):
        return all(_is_number(inner) for inner in item)
    return isinstance(item, numbers.Number)


def is_container(tree: Any) -> bool:
    """Whether it is a dict, tuple or list of arrays. Lists of nothing but numbers are arrays themselves."""
    return isinstance(tree, (dict, Inputs)) or (isinstance(tree, (list, tuple)) and not _is_number(tree))


def flatten(tree: Any) -> tuple[list[Any], Callable[[Iterable[Any]], Any]]:
    """The leaves of a tree, and the function that puts others in their places. None holds no leaf and stays None."""
    found: list[Any] = []
    _collect(tree, found)

    def rebuild(leaves: Iterable[Any]) -> Any:
        return _rebuilt(tree, iter(leaves))

    return found, rebuild


def _collect(tree: Any, found: list[Any]) -> None:
    if tree is None:
        return
    if not is_container(tree):
        found.append(tree)
        return
    for item in tree.values() if isinstance(tree, dict) else tree:
        _collect(item, found)


def _rebuilt(tree: Any, leaves: Any) -> Any:
    if tree is None:
        return None
    if not is_container(tree):
        return next(leaves)
    if isinstance(tree, dict):
        made = copy.copy(tree)  # of whatever class of dict it is
        for key, item in tree.items():
            made[key] = _rebuilt(item, leaves)
        return made
    items = [_rebuilt(item, leaves) for item in tree]
    return refilled(tree, items)


def spread(prefix: Any, tree: Any, what: str) -> list[Any]:
    """For each leaf of the tree what `prefix` says of it: it has the structure of the tree, or of an upper part of it,
    and what it has for a part goes for all leaves there. Raises ValueError if the two do not fit."""
    if tree is None:
        return []
    if not is_container(tree):
        return [prefix]
    if isinstance(tree, dict):
        if not isinstance(prefix, dict):
            return _everywhere(prefix, tree.values(), what)
        if prefix.keys() != tree.keys():
            raise ValueError(f"attribute: {what} has the keys {sorted(map(str, prefix))}, not {sorted(map(str, tree))}")
        return [leaf for key, item in tree.items() for leaf in spread(prefix[key], item, what)]
    if not isinstance(prefix, tuple if isinstance(tree, tuple) else list):
        return _everywhere(prefix, tree, what)
    if len(prefix) != len(tree):
        raise ValueError(f"attribute: {what} has {len(prefix)} items for {len(tree)} arrays")
    return [leaf for part, item in zip(prefix, tree, strict=True) for leaf in spread(part, item, what)]


def _everywhere(prefix: Any, items: Sequence[Any] | Iterable[Any], what: str) -> list[Any]:
    return [leaf for item in items for leaf in spread(prefix, item, what)]


class Inputs(tuple[Any, ...]):
    """Several inputs: a tuple that is never an array, though all of its items be numbers."""

    __slots__ = ()
