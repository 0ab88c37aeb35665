"""A pass over inductor's graphs: what is read at several places is computed once, and lies together.

inductor writes a formula out wherever it is used. Where it is used shifted (`p[2:] - p[:-2]`), no two uses are of one
element, and each step of a stencil computes the one before again for each neighbour.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

__all__ = ["shared"]

_aten = torch.ops.aten
_VIEWS = {_aten.slice.Tensor, _aten.select.int}
_WRITES = {_aten.slice_scatter.default, _aten.select_scatter.default}
_GATHERS = {_aten.index.Tensor, _aten._unsafe_index.Tensor, _aten.constant_pad_nd.default}
_FEW_USERS = 3
_LARGE = 1024  # elements: less is computed again faster than memory is asked for


@functools.cache
def shared() -> Any:
    """The pass, for inductor's option `post_grad_custom_pre_pass`."""
    from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files

    class Shared(CustomGraphPass):
        def __call__(self, graph: torch.fx.Graph) -> None:
            for node in list(graph.nodes):
                if _is_formula(node) and _is_read_apart(node):
                    _realize(graph, node, node.meta["val"].stride())
                elif _is_part(node):
                    _realize(graph, node, tuple(stride // 2 for stride in node.meta["val"].stride()))

        def uuid(self) -> Any:
            return get_hash_for_files((__file__,))

    return Shared()


def _is_formula(node: torch.fx.Node) -> bool:
    """Whether inductor would write out what a node computes, which is more than one operation."""
    value = node.meta.get("val")
    if node.op != "call_function" or not isinstance(value, torch.Tensor) or value.device.type != "cpu":
        return False
    if value.numel() < _LARGE or value.requires_grad or value.dtype.is_complex:
        return False
    if node.target in _WRITES:  # a table of many small parts is written in place
        written: Any = node.args[1]
        return bool(written.meta["val"].numel() * 4 > value.numel())
    return node.target in _GATHERS or (_is_pointwise(node) and any(map(_is_pointwise, node.all_input_nodes)))


def _is_pointwise(node: torch.fx.Node) -> bool:
    return torch.Tag.pointwise in getattr(node.target, "tags", ())


def _is_read_apart(node: torch.fx.Node) -> bool:
    """Whether about all elements are read twice or more, each time at another place."""
    reads: dict[Any, int] = {}
    for path, count in _reads(node, ()):
        reads[path] = max(reads.get(path, 0), count)
    return len(reads) > 1 and sum(reads.values()) * 2 > 3 * node.meta["val"].numel()


def _reads(node: torch.fx.Node, path: tuple[Any, ...]) -> Iterator[tuple[Any, int]]:
    for user in node.users:
        if user.target in _VIEWS and user.args[0] is node:
            yield from _reads(user, (*path, (user.target, user.args[1:])))
        elif user.op != "output":
            yield path, node.meta["val"].numel()


def _is_part(node: torch.fx.Node) -> bool:
    """Whether a node is a part of complex numbers, which loops would read at each second place, without vectors."""
    source: Any = node.args[0] if node.target is _aten.select.int else None
    if source is None or source.target is not _aten.view_as_real.default or len(node.users) < _FEW_USERS:
        return False
    value = node.meta["val"]
    return node.args[1] in (-1, value.dim()) and value.numel() >= _LARGE and value.device.type == "cpu"


def _realize(graph: torch.fx.Graph, node: torch.fx.Node, strides: tuple[int, ...]) -> None:
    from torch._inductor import inductor_prims

    value = node.meta["val"]
    source, users = node, list(node.users)
    with graph.inserting_after(node):
        made = graph.call_function(inductor_prims.force_stride_order, (node, strides))
    made.meta.update(node.meta)
    if strides != value.stride():  # a copy, which is not there yet: what is would do as it is
        with graph.inserting_after(node):
            source = graph.call_function(_aten.clone.default, (node,))
        source.meta.update(node.meta)
        source.meta["val"] = made.meta["val"] = value.new_empty_strided(value.shape, strides)
        made.args = (source, strides)
    for user in users:
        user.replace_input_with(node, made)
