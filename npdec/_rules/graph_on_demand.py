"""Ordinary calls whose parts carry a graph: of weights that require gradients, in most models.

Forms (`npdec._law.ordinary`) of functions that are not linear make no graph of the components, and what does takes
several times as long. So the components are computed by the form, and what makes their graph is called when somebody
asks for gradients. Value and residual have torch's own graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.registry import rows
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.on_demand import graph_on_demand
from npdec._law.ordinary import built, carries_graph, is_ordinary, of_the_value
from npdec._rules.argument_names import following

__all__ = ["answer"]

Function = Callable[..., Any]


def _without(x: DecomposedTensor) -> Any:
    return built(x.value.detach(), x.residual.detach(), x.components.detach(), x.labels)


def answer(func: Function, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """What a call gives that a form answers but for the graph; NotImplemented of all others. Nobody looks on."""
    row = rows.get(func)
    if row is None or row.short is None or row.short is of_the_value or row.rule.in_place:
        return NotImplemented
    if row.rule.passes:  # its body may draw numbers
        return NotImplemented
    if options:
        args, options = following(func, args, options)
        if options and (not row.options or any(isinstance(x, DecomposedTensor) for x in options.values())):
            return NotImplemented
    places = [i for i, x in enumerate(args) if isinstance(x, DecomposedTensor)]
    given: list[DecomposedTensor] = [args[i] for i in places]
    if not all(map(is_ordinary, given)) or not any(map(carries_graph, given)):
        return NotImplemented  # components of others may be made when they are read
    plain = list(args)
    for place, x in zip(places, given, strict=True):
        plain[place] = _without(x)
    with torch.no_grad():
        made = row.short(func, plain, options) if options else row.short(func, plain)
    if type(made) is not DecomposedTensor or made.discrete or made.reverse or made.kept is not None:
        return NotImplemented
    ends = []
    for part in ("value", "residual"):
        for place, x in zip(places, given, strict=True):
            plain[place] = getattr(x, part)
        ends.append(func(*plain, **options))
    value, residual = ends
    if not torch.equal(residual, made.residual):  # of some functions it is something else
        return NotImplemented
    strides = made.residual.stride()
    if 0 in strides:  # as the rows that are equal are one in it
        one = tuple([slice(None) if stride else slice(0, 1) for stride in strides])
        residual = residual[one].expand(value.shape)
    components = graph_on_demand(func, args, options, made.components)
    return built(value, residual, components, made.labels)
