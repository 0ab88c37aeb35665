"""What inductor compiles into something slow, in other words."""

from __future__ import annotations

import math
from typing import Any

import torch

from npdec._jit.complexes import as_pairs
from npdec._jit.operations import only_reads
from npdec._jit.sorting import sort_few

__all__ = ["reworded"]

_aten = torch.ops.aten
_LARGE = 4096  # elements of a matrix, from which on a library's product of it is faster than a sum of products
_SMALL = 256  # products of numbers: a call of the library takes longer than these
_THIN = 8  # columns of a product: MKL takes as long for them as for 16
_SHIFTED = (torch.int8, torch.int16, torch.int32, torch.int64)
_TURNED = (_aten.t.default, _aten.transpose.int, _aten.permute.default)


def reworded(module: torch.fx.GraphModule, derived: bool = False) -> torch.fx.GraphModule:
    """The graph for inductor, which is `derived` or not."""
    as_pairs(module)
    graph = module.graph
    if not derived:  # of equal numbers a sort has other derivatives
        sort_few(graph)
    _shift_by_powers_of_two(module)
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


def _shift_by_powers_of_two(module: torch.fx.GraphModule) -> None:
    """Write quotients and remainders of integers by a power of two as shifts and masks: no processor divides several
    integers at once."""
    graph = module.graph
    for target in (_aten.floor_divide.default, _aten.remainder.Tensor):
        for node in graph.find_nodes(op="call_function", target=target):
            given, divisor = node.args
            number = _constant(module, divisor)
            if number is None or number < 1 or number & (number - 1) or not isinstance(given, torch.fx.Node):
                continue
            if given.meta.get("dtype") is not node.meta["dtype"] or node.meta["dtype"] not in _SHIFTED or node.kwargs:
                continue
            with graph.inserting_before(node):
                if target is _aten.remainder.Tensor:
                    made = graph.call_function(_aten.bitwise_and.Scalar, (given, number - 1))
                else:
                    shift = number.bit_length() - 1
                    made = graph.call_function(_aten.bitwise_right_shift.Tensor_Scalar, (given, shift))
            made.meta.update(node.meta)
            node.replace_all_uses_with(made)
            graph.erase_node(node)


def _constant(module: torch.fx.GraphModule, node: Any) -> int | None:
    """The integer that a node is a constant of, if nothing writes over it."""
    if isinstance(node, int):
        return node
    if not isinstance(node, torch.fx.Node) or node.op != "call_function" or node.target is not _aten.clone.default:
        return None
    source: Any = node.args[0]
    if source.op != "get_attr" or not all(user.op == "output" or only_reads(user.target) for user in node.users):
        return None
    held = getattr(module, source.target)
    return held.item() if not held.dim() and held.dtype in _SHIFTED else None


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
