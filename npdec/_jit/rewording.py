"""What inductor compiles into something slow, in other words."""

from __future__ import annotations

import math

import torch

__all__ = ["reworded"]

_aten = torch.ops.aten
_LARGE = 4096  # elements of a matrix, from which on a library's product of it is faster than a sum of products


def reworded(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The graph for inductor."""
    graph = module.graph
    for node in graph.find_nodes(op="call_function", target=_aten.mv.default):
        matrix, vector = node.args
        if math.prod(matrix.meta["shape"]) < _LARGE:
            continue
        # inductor has no product with a vector but the sum of a table of products, which reads columns one by one.
        with graph.inserting_before(node):
            made = graph.call_function(_aten.unsqueeze.default, (vector, 1))
            made = graph.call_function(_aten.mm.default, (matrix, made))
            made = graph.call_function(_aten.squeeze.dim, (made, 1))
        node.replace_all_uses_with(made)
        graph.erase_node(node)
    module.recompile()
    return module
