"""What inductor compiles into something slow, in other words."""

from __future__ import annotations

import math

import torch

from npdec._jit.complexes import as_pairs

__all__ = ["reworded"]

_aten = torch.ops.aten
_LARGE = 4096  # elements of a matrix, from which on a library's product of it is faster than a sum of products
_SMALL = 256  # products of numbers: a call of the library takes longer than these
_THIN = 8  # columns of a product: MKL takes as long for them as for 16
_TURNED = (_aten.t.default, _aten.transpose.int, _aten.permute.default)


def reworded(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The graph for inductor."""
    as_pairs(module)
    graph = module.graph
    _sum_small_products(graph)
    _sum_thin_products(graph)
    for node in graph.find_nodes(op="call_function", target=_aten.mv.default):
        matrix, vector = node.args
        if math.prod(matrix.meta["shape"]) < _LARGE:
            continue
        # inductor has no product with a vector but the sum of a table of products, which reads columns one by one.
        with graph.inserting_before(node):
            made = graph.call_function(_aten.unsqueeze.default, (vector, 1))
            made = graph.call_function(_aten.mm.default, (matrix, made))
            made = graph.call_function(_aten.squeeze.dim, (made, 1))
        made.meta.update(node.meta)
        node.replace_all_uses_with(made)
        graph.erase_node(node)
    module.recompile()
    return module


def _sum_small_products(graph: torch.fx.Graph) -> None:
    """Write products of small matrices out: a library is called by itself, between kernels that hand it tensors."""
    for node in graph.find_nodes(op="call_function", target=_aten.mm.default):
        (n, k), (_, m) = (side.meta["shape"] for side in node.args)
        dtype = node.meta["dtype"]
        if not 0 < n * k * m <= _SMALL or not dtype.is_floating_point or dtype.itemsize < 4:
            continue
        with graph.inserting_before(node):
            left = graph.call_function(_aten.unsqueeze.default, (node.args[0], 2))
            right = graph.call_function(_aten.unsqueeze.default, (node.args[1], 0))
            made = graph.call_function(_aten.mul.Tensor, (left, right))
            made = graph.call_function(_aten.sum.dim_IntList, (made, [1]))
        made.meta.update(node.meta)
        node.replace_all_uses_with(made)
        graph.erase_node(node)


def _sum_thin_products(graph: torch.fx.Graph) -> None:
    """Write products of a large transposed matrix with a few columns as sums of rows, which lie together."""
    for node in graph.find_nodes(op="call_function", target=_aten.mm.default):
        left, right = node.args
        (n, k), (_, m) = left.meta["shape"], right.meta["shape"]
        dtype = node.meta["dtype"]
        if left.target not in _TURNED or not 1 < m <= _THIN or n < 2 * _THIN or n * k < _LARGE:
            continue
        if not dtype.is_floating_point or dtype.itemsize < 4:
            continue
        with graph.inserting_before(node):
            columns = [graph.call_function(_aten.select.int, (right, 1, i)) for i in range(m)]
            products = [graph.call_function(_aten.mul.Tensor, (left, column)) for column in columns]
            sums = [graph.call_function(_aten.sum.dim_IntList, (one, [1])) for one in products]
            made = graph.call_function(_aten.stack.default, (sums, 1))
        made.meta.update(node.meta)
        node.replace_all_uses_with(made)
        graph.erase_node(node)
