"""Calls whose arguments have so many components that those of the result may be too large to be made.

Their rule is tried first: many know blocks and entries. A rule that asks for large components is stopped, and called
again in reverse mode, with the sum of the components of each argument in place of these. Nothing but the graph of it is
kept, until somebody reads the contributions to an element (`npdec._decomposed.vjp_components`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._core.containers import refilled
from npdec._decomposed.components import Source, Use
from npdec._decomposed.pieces import in_pieces
from npdec._decomposed.reverse_graph import derived_twice
from npdec._decomposed.reverse_stand_ins import in_reverse, may_use_vjp
from npdec._decomposed.size_limits import TooLarge, has_many, in_rule, is_large
from npdec._decomposed.tensor import DecomposedTensor, Labels, union
from npdec._decomposed.vjp_components import FromVJP
from npdec._law.named_rules import is_linear
from npdec._torch.tracing import name_of, tracing

__all__ = ["answer", "has_many_components"]

Rule = Callable[..., Any]


def has_many_components(args: Sequence[Any]) -> bool:
    """Whether one of the arguments (or an item of a sequence among them) has components that may be too large."""
    for arg in args:
        kind = type(arg)
        if kind is DecomposedTensor:
            if has_many(len(arg.labels)):
                return not tracing()
        elif (kind is tuple or kind is list) and has_many_components(arg):
            return True
    return False


def answer(rule: Rule, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The rule's answer to a call of which an argument has many components."""
    leaves = list(_leaves((*args, *kwargs.values())))
    if not is_linear() or _is_inplace(func, kwargs) or not all(map(may_use_vjp, leaves)):
        return _named(rule, func, args, kwargs)
    if not any(_are_found_backwards(leaf) and is_large(leaf.kept.shape) for leaf in leaves):
        drawn = torch.get_rng_state()
        token = in_rule.set(True)
        try:
            made = in_pieces(rule, func, args, kwargs)
            return rule(func, args, kwargs) if made is None else made
        except TooLarge:
            torch.set_rng_state(drawn)  # a rule that draws numbers draws the same again
        finally:
            in_rule.reset(token)
    return _in_reverse(rule, func, args, kwargs, leaves)


def _are_found_backwards(tensor: DecomposedTensor) -> bool:
    """Whether no rule computes with what stands for the components."""
    return tensor.kept is not None and not tensor.kept.uses & (Use.LAW | Use.LINEAR)


def _named(rule: Rule, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The rule's answer; what it has no memory for names the function."""
    try:
        return rule(func, args, kwargs)
    except MemoryError as error:
        if type(error) is not MemoryError or str(error).startswith(name_of(func)):
            raise
        raise MemoryError(f"{name_of(func)}: {error}") from error


def _is_inplace(func: Any, kwargs: dict[str, Any]) -> bool:
    name = name_of(func)
    return bool(kwargs.get("inplace")) or name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))


def _leaves(args: Sequence[Any]) -> Any:
    for arg in args:
        if type(arg) is DecomposedTensor:
            yield arg
        elif type(arg) is tuple or type(arg) is list:
            yield from _leaves(arg)


def _in_reverse(
    rule: Rule, func: Any, args: Sequence[Any], kwargs: dict[str, Any], leaves: Sequence[DecomposedTensor]
) -> Any:
    labels = union(leaves)
    made: dict[int, tuple[DecomposedTensor, list[Source]]] = {}
    sources: dict[int, Source] = {}
    token = derived_twice.set(True)
    try:
        with torch.enable_grad():  # what the caller disables is about its own gradients
            for leaf in leaves:
                if id(leaf) not in made:
                    made[id(leaf)] = in_reverse(leaf, labels)
                    sources |= {id(source.sum): source for source in made[id(leaf)][1]}
            given = [_replaced(arg, made) for arg in args], {key: _replaced(arg, made) for key, arg in kwargs.items()}
            result = in_pieces(rule, func, *given)
            result = rule(func, *given) if result is None else result
            return _restored(result, list(sources.values()), labels)
    finally:
        derived_twice.reset(token)


def _replaced(arg: Any, made: dict[int, tuple[DecomposedTensor, list[Source]]]) -> Any:
    """An argument in reverse mode. (A function within another one that calls itself would keep all that it sees until
    the collector of cycles runs.)"""
    if type(arg) is DecomposedTensor:
        return made[id(arg)][0]
    if type(arg) is tuple or type(arg) is list:
        return type(arg)([_replaced(item, made) for item in arg])
    return arg


def _restored(result: Any, sources: Sequence[Source], labels: Labels) -> Any:
    """What a rule has made in reverse mode, with components that are found when they are read."""
    if type(result) is DecomposedTensor:
        total = result.components.squeeze(0)
        return DecomposedTensor(result.value, result.residual, FromVJP(total, sources, len(labels)), labels)
    if isinstance(result, (tuple, list)):
        items = [_restored(item, sources, labels) for item in result]
        return refilled(result, items)
    return result
