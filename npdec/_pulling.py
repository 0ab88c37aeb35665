"""Calls whose arguments have so many components that those of the result may be too large to be made.

Their rule is tried first: many know windows and entries. A rule that asks for large components is stopped, and called
again in reverse mode, with the sum of the components of each argument in place of these. Nothing but the graph of it is
kept, until somebody reads the contributions to an element (`npdec._pulled`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed import DecomposedTensor, Labels, places_of, union
from npdec._gradients import derived_twice
from npdec._kinds import Views
from npdec._pieces import in_pieces
from npdec._pulled import Pulled, Source
from npdec._rules import is_linear
from npdec._sizes import TooLarge, has_many, in_rule, is_large
from npdec._tracing import name_of, tracing
from npdec._windows import sparse, summed

__all__ = ["answer", "as_whole", "has_many_components", "may_be_pulled"]

Rule = Callable[..., Any]
_ALL = ("all inputs",)


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
    if not is_linear() or _is_inplace(func, kwargs) or not all(map(may_be_pulled, leaves)):
        return _named(rule, func, args, kwargs)
    if not any(type(leaf.windows) is Pulled and is_large(leaf.windows.shape) for leaf in leaves):
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


class _ReadOnly(Views):
    """The views of a stand-in: what was written there would be lost."""

    __slots__ = ()

    def call_in(self) -> None:
        raise MemoryError("a tensor with so many components is not written in place by this function: write a copy")


def _leaves(args: Sequence[Any]) -> Any:
    for arg in args:
        if type(arg) is DecomposedTensor:
            yield arg
        elif type(arg) is tuple or type(arg) is list:
            yield from _leaves(arg)


def may_be_pulled(tensor: DecomposedTensor) -> bool:
    """Whether the components of what follows from a tensor may be found backwards: nothing else differentiates."""
    if tensor.whole or tensor.value.is_inference() or torch.is_inference_mode_enabled():
        return False
    if torch._C._are_functorch_transforms_active():
        return False
    components = tensor.windows if "components" not in vars(tensor) else tensor.components
    on_graph = getattr(components, "requires_grad", False) and type(components) is not Pulled
    return not (on_graph or tensor.value.requires_grad or tensor.residual.requires_grad)


def _in_reverse(
    rule: Rule, func: Any, args: Sequence[Any], kwargs: dict[str, Any], leaves: Sequence[DecomposedTensor]
) -> Any:
    labels = union(leaves)
    made: dict[int, tuple[DecomposedTensor, list[Source]]] = {}
    for leaf in leaves:
        if id(leaf) not in made:
            made[id(leaf)] = as_whole(leaf, labels)
    sources = {id(source.sum): source for _, its in made.values() for source in its}

    def replaced(arg: Any) -> Any:
        if type(arg) is DecomposedTensor:
            return made[id(arg)][0]
        if type(arg) is tuple or type(arg) is list:
            return type(arg)([replaced(item) for item in arg])
        return arg

    token = derived_twice.set(True)
    try:
        with torch.enable_grad():
            given = [replaced(arg) for arg in args], {key: replaced(arg) for key, arg in kwargs.items()}
            result = in_pieces(rule, func, *given)
            result = rule(func, *given) if result is None else result
    finally:
        derived_twice.reset(token)
    return _restored(result, list(sources.values()), labels)


def as_whole(tensor: DecomposedTensor, labels: Labels) -> tuple[DecomposedTensor, list[Source]]:
    """The tensor in reverse mode, and what the graph of its components begins at."""
    kept: Any = tensor.windows
    equal = tensor.labels == labels
    if type(kept) is Pulled and "components" not in vars(tensor):
        moved = kept if equal else kept.merged(places_of(tensor.labels, labels), len(labels))
        total, sources = moved.total, list(moved.sources)
    else:
        total = summed(tensor).detach().clone().requires_grad_()
        places = list(range(len(labels))) if equal else places_of(tensor.labels, labels)
        given = sparse(tensor)
        components = tensor.components if given is None else given
        sources = [Source(total, components, torch.tensor(places, dtype=torch.int64, device=total.device))]
    made = DecomposedTensor(tensor.value, tensor.residual, total.unsqueeze(0), _ALL, whole=True)
    made.views = _ReadOnly([made])
    return made, sources


def _restored(result: Any, sources: Sequence[Source], labels: Labels) -> Any:
    """What a rule has made in reverse mode, with components that are found when they are read."""
    if type(result) is DecomposedTensor:
        total = result.components.squeeze(0)
        return DecomposedTensor(result.value, result.residual, Pulled(total, sources, len(labels)), labels)
    if isinstance(result, (tuple, list)):
        items = [_restored(item, sources, labels) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result
