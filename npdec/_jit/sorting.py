"""Sorts of a few numbers in a graph, as comparisons of whole arrays.

To inductor a sort is a call of torch, which sorts each row by itself, and finds where each number came from. Rows of
a few numbers (the median of nine neighbours) are sooner sorted by a network that compares all rows at once: K. E.
Batcher, "Sorting networks and their applications", 1968, as Knuth's algorithm M of merge exchange has it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import torch

__all__ = ["sort_few"]

_aten = torch.ops.aten
_FEW = 16  # numbers in a row
_MANY = 1024  # numbers altogether, with fewer of which a compiler takes longer than it saves
_DTYPES = (torch.float32, torch.float64, torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8)


def sort_few(graph: torch.fx.Graph) -> None:
    """Write sorts of short rows, of which nobody wants the places, as comparisons."""
    for node in graph.find_nodes(op="call_function", target=_aten.sort.stable):
        given: Any = node.args[0]
        shape, dtype = given.meta.get("shape", ()), given.meta.get("dtype")
        axis: Any = node.kwargs.get("dim", -1)
        if not shape or node.kwargs.get("descending") or dtype not in _DTYPES or math.prod(shape) < _MANY:
            continue
        axis %= len(shape)
        if not 2 <= shape[axis] <= _FEW or any(user.args[1] for user in node.users):
            continue
        if not all(made.meta["contiguous"] or all(map(_is_cut, made.users)) for made in node.users):
            continue  # whoever looks at all of it may count on how it lies in memory
        with graph.inserting_before(node):
            columns = [graph.call_function(_aten.select.int, (given, axis, i)) for i in range(shape[axis])]
            columns = _sorted_floats(graph, columns) if dtype.is_floating_point else _sorted(graph, columns)
        for made in list(node.users):
            if made.target is operator.getitem:
                _replaced(graph, made, columns, axis, len(shape))
        graph.erase_node(node)


def _is_cut(user: torch.fx.Node) -> bool:
    return user.target in (_aten.select.int, _aten.slice.Tensor)


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    """Which two to compare, one pair after the other."""
    top = p = 1 << (count - 1).bit_length() - 1
    while p:
        q, r, d = top, 0, p
        while True:
            yield from ((i, i + d) for i in range(count - d) if i & p == r)
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2


def _sorted(graph: torch.fx.Graph, columns: list[Any]) -> list[Any]:
    for i, j in _pairs(len(columns)):
        both = columns[i], columns[j]
        columns[i] = graph.call_function(_aten.minimum.default, both)
        columns[j] = graph.call_function(_aten.maximum.default, both)
    return columns


def _sorted_floats(graph: torch.fx.Graph, columns: list[Any]) -> list[Any]:
    """NaN is larger than all numbers: it is infinite while they are compared, and as many as there were are NaN then.
    (A comparison that sees it would need two masks, which inductor keeps in another width.)"""
    call, count = graph.call_function, None
    for i, column in enumerate(columns):
        missing = call(_aten.ne.Tensor, (column, column))
        one = call(_aten.where.ScalarOther, (missing, call(_aten.ones_like.default, (column,)), 0.0))
        count = one if count is None else call(_aten.add.Tensor, (count, one))
        columns[i] = call(_aten.where.ScalarSelf, (missing, math.inf, column))
    found = _sorted(graph, columns)
    for i, column in enumerate(found):
        missing = call(_aten.gt.Scalar, (count, len(found) - 1 - i))
        found[i] = call(_aten.where.ScalarSelf, (missing, math.nan, column))
    return found


def _replaced(graph: torch.fx.Graph, made: torch.fx.Node, columns: list[Any], axis: int, ndim: int) -> None:
    """Put columns in the place of the sorted array, where one or a few are cut out; else put them together again."""
    for user in list(made.users):
        given: Any = user.args
        if not _is_cut(user) or given[0] is not made or given[1] % ndim != axis:
            continue
        if user.target is _aten.select.int:
            user.replace_all_uses_with(columns[given[2]])
        else:
            start, stop, step = (*given[2:], None, None, None)[:3]
            with graph.inserting_before(user):
                part = graph.call_function(_aten.stack.default, (columns[start:stop:step], axis))
            part.meta.update(user.meta)
            user.replace_all_uses_with(part)
        graph.erase_node(user)
    if made.users:
        with graph.inserting_before(made):
            whole = graph.call_function(_aten.stack.default, (columns, axis))
        whole.meta.update(made.meta)
        made.replace_all_uses_with(whole)
    graph.erase_node(made)
