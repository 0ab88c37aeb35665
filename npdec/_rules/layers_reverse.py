"""Forms of calls of network layers in reverse mode, by the shortest way. The general way is `npdec._rules.layers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._law.ordinary_reverse import on_graph, on_graph_of
from npdec._law.reverse_forms import single

__all__ = ["weighted_bags"]

Function = Callable[..., Any]
Options = dict[str, Any] | None


def weighted_bags(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """The form of sums of constant rows, each by a weight, which is what is decomposed."""
    call = single(func, args, options)
    if call is None or call.place != 6:  # where the weights are
        return NotImplemented
    carrier, *others = call(on_graph_of(call.x))
    residual = call(materialised_residual(call.x))[0]
    return (on_graph(carrier.detach(), residual, carrier, call.x), *others)
