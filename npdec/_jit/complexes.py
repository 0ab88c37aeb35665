"""Complex numbers of a graph as pairs of real ones: inductor has torch compute with complex ones, step by step.

What a graph computes is written in pairs; a complex tensor is made where something else asks for one, or it goes out.
Tensors that are written into stay complex, and so does a graph that would pass from one to the other all the time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node

from npdec._jit.operations import is_view

__all__ = ["as_pairs"]

_aten = torch.ops.aten
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
Pair = tuple[Any, Any]  # nodes, or numbers


def as_pairs(module: torch.fx.GraphModule) -> None:
    """Write the complex arithmetic of a graph in pairs, where that is more than passing from one to the other."""
    if not any(node.meta.get("dtype") in _REAL for node in module.graph.nodes):
        return
    pairs = _Pairs(module, copy.deepcopy(module.graph))
    pairs.write()
    if pairs.steps > pairs.passages:
        module.graph = pairs.graph


class _Pairs:
    """A graph that is written in pairs."""

    def __init__(self, module: torch.fx.GraphModule, graph: Graph) -> None:
        self.module, self.graph = module, graph
        self.steps = self.passages = 0  # operations in pairs; tensors that are taken apart or put together
        self._pairs: dict[Node, Pair] = {}  # of complex tensors, and of real ones whose last axis is a pair
        self._whole: dict[Node, Node] = {}
        self._written = _written_roots(graph)

    def write(self) -> None:
        """Write it all. What nobody uses any more is gone."""
        for node in list(self.graph.nodes):
            with self.graph.inserting_before(node):
                if node.op == "call_function" and not self._is_done(node):
                    node.args, node.kwargs = torch.fx.node.map_arg((node.args, node.kwargs), self._together)
                elif node.op == "output":
                    node.args = torch.fx.node.map_arg(node.args, self._together)
        self.graph.eliminate_dead_code()
        self.graph.lint()

    def _is_done(self, node: Node) -> bool:
        """Whether the node is written in pairs, or of them."""
        name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
        rule = _RULES.get(name)
        target: Any = node.target
        if rule is None or _root(node) in self._written or target._schema.is_mutable:
            return False
        makes = node.meta.get("dtype") in _REAL
        if not makes and not any(one in self._pairs or _is_complex(one) for one in node.all_input_nodes):
            return False
        if any(_root(one) in self._written and is_view(node.target) for one in node.all_input_nodes):
            return False
        found = rule(self, node)
        if found is None:
            return False
        if isinstance(found, tuple):
            self._pairs[node] = found
        else:
            found.meta.update(node.meta)
            node.replace_all_uses_with(found)
        self.steps += not is_view(node.target)
        return True

    def _together(self, node: Node) -> Node:
        """A tensor for who does not know of pairs."""
        if node not in self._pairs:
            return node
        if node not in self._whole:
            pair = self._pairs[node]
            if node.meta["dtype"] in _REAL:
                made = self.call(_aten.complex.default, *pair)
            else:
                made = self.call(_aten.stack.default, list(pair), -1)
            made.meta.update(node.meta)
            self._whole[node] = made
            self.passages += 1
        return self._whole[node]

    # -- for rules -----------------------------------------------------------------------------------------------------

    def call(self, func: Any, *args: Any, **kwargs: Any) -> Node:
        """A new operation."""
        return self.graph.call_function(func, args, kwargs)

    def pair(self, value: Any, dtype: torch.dtype) -> Pair | None:
        """The parts of an argument, a real one too, in a real dtype."""
        if not isinstance(value, Node):
            number = complex(value)
            return number.real, number.imag
        if value.meta.get("dtype") not in _REAL:
            if value in self._pairs or "shape" not in value.meta:
                return None
            real = value if value.meta["dtype"] is dtype else self.call(_aten._to_copy.default, value, dtype=dtype)
            return real, self.call(_aten.full.default, tuple(value.meta["shape"]), 0.0, dtype=dtype)
        found = self._pairs.get(value) or self._taken_apart(value)
        if _REAL[value.meta["dtype"]] is dtype:
            return found
        a, b = (self.call(_aten._to_copy.default, part, dtype=dtype) for part in found)
        return a, b

    def last(self, node: Any) -> Pair | None:
        """The parts of a real tensor whose last axis is a pair, if it is known as such."""
        return self._pairs.get(node) if isinstance(node, Node) else None

    def _taken_apart(self, node: Node) -> Pair:
        number = self._number(node)
        if number is not None:
            dtype = _REAL[node.meta["dtype"]]
            parts = [self.call(_aten.full.default, (), x, dtype=dtype) for x in (number.real, number.imag)]
        else:
            self.passages += 1
            seen = self.call(_aten.view_as_real.default, node)
            parts = [self.call(_aten.select.int, seen, -1, i) for i in (0, 1)]
        if _root(node) not in self._written:
            self._pairs[node] = parts[0], parts[1]
            self._whole[node] = node
        return parts[0], parts[1]

    def _number(self, node: Node) -> complex | None:
        """The number that a tensor is, if it is the copy of a constant."""
        if node.target is not _aten.clone.default or _root(node) in self._written or node.meta["shape"]:
            return None
        source = node.args[0]
        if not isinstance(source, Node) or source.op != "get_attr":
            return None
        return complex(getattr(self.module, str(source.target)).item())


def _is_complex(node: Node) -> bool:
    return node.meta.get("dtype") in _REAL


def _root(node: Node) -> Node:
    """The node whose memory a node looks at."""
    while node.op == "call_function" and hasattr(node.target, "_schema") and is_view(node.target):
        node = node.all_input_nodes[0]
    return node


def _written_roots(graph: Graph) -> set[Node]:
    found = set()
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.is_mutable:
            continue
        for place, argument in enumerate(schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                given = node.args[place] if place < len(node.args) else node.kwargs.get(argument.name)
                found |= {_root(one) for one in (given if isinstance(given, (list, tuple)) else [given]) if one}
        found.add(node)
    return found


# -- rules -------------------------------------------------------------------------------------------------------------

Rule = Callable[[_Pairs, Node], Any]  # gives a pair, a node in place of the node, or None where there is no rule


def _dtype(node: Node) -> torch.dtype:
    return _REAL[node.meta["dtype"]]


def _two(own: _Pairs, node: Node, dtype: torch.dtype | None = None) -> tuple[Pair, Pair] | None:
    dtype = dtype or _dtype(node)
    a, b = own.pair(node.args[0], dtype), own.pair(node.args[1], dtype)
    return None if a is None or b is None else (a, b)


def _by_parts(own: _Pairs, node: Node) -> Any:
    """The function of each part."""
    if not _is_complex(node) or any(isinstance(arg, torch.dtype) for arg in node.args):
        return None
    pair = own.pair(node.args[0], _dtype(node))
    kwargs: dict[str, Any] = dict(node.kwargs)
    if "dtype" in kwargs:
        kwargs["dtype"] = _dtype(node)
    return pair and tuple(own.call(node.target, part, *node.args[1:], **kwargs) for part in pair)


def _of_lists(own: _Pairs, node: Node) -> Any:
    joined: Any = node.args[0]
    pairs = [own.pair(one, _dtype(node)) for one in joined] if _is_complex(node) else [None]
    if any(pair is None for pair in pairs):
        return None
    return tuple(own.call(node.target, list(parts), *node.args[1:]) for parts in zip(*pairs))


def _added(own: _Pairs, node: Node) -> Any:
    if node.kwargs.get("alpha", 1) != 1 or len(node.args) > 2:
        return None
    if _is_complex(node):
        two = _two(own, node)
    else:
        a, b = map(own.last, node.args)
        two = (a, b) if a and b else None
    return two and tuple(own.call(node.target, a, b) for a, b in zip(*two))


def _negative(own: _Pairs, node: Node) -> Any:
    pair = own.pair(node.args[0], _dtype(node)) if _is_complex(node) else own.last(node.args[0])
    return pair and tuple(own.call(_aten.neg.default, part) for part in pair)


def _product(own: _Pairs, a: Pair, b: Pair) -> Pair:
    times = lambda x, y: own.call(_aten.mul.Tensor, *((x, y) if isinstance(x, Node) else (y, x)))  # noqa: E731
    real = own.call(_aten.sub.Tensor, times(a[0], b[0]), times(a[1], b[1]))
    return real, own.call(_aten.add.Tensor, times(a[0], b[1]), times(a[1], b[0]))


def _multiplied(own: _Pairs, node: Node) -> Any:
    two = _two(own, node) if _is_complex(node) else None
    return two and _product(own, *two)


def _squared(own: _Pairs, node: Node) -> Any:
    pair = own.pair(node.args[0], _dtype(node)) if _is_complex(node) else None
    return _product(own, pair, pair) if pair and (len(node.args) == 1 or node.args[1] == 2) else None


def _divided(own: _Pairs, node: Node) -> Any:
    by: Any = node.args[1]
    pair = own.pair(node.args[0], _dtype(node)) if _is_complex(node) and not node.kwargs else None
    if pair is None:
        return None
    if isinstance(by, Node) and _is_complex(by):
        return _quotient(own, pair, own.pair(by, _dtype(node)))
    if isinstance(by, (Node, complex)) or not by:
        return None
    turn = 0.0 / by  # what is infinite in one part is NaN in the other
    parts = (own.call(_aten.mul.Tensor, part, x) for part, x in zip(pair[::-1], (turn, -turn)))
    return tuple(own.call(_aten.div.Tensor, own.call(_aten.add.Tensor, a, b), by) for a, b in zip(pair, parts))


def _quotient(own: _Pairs, a: Pair, b: Pair | None) -> Pair | None:
    """By the part of the divisor that is larger, as R. L. Smith has it ("Algorithm 116: Complex division", 1962), so
    that no square leaves the range of numbers."""
    if b is None or not all(isinstance(part, Node) for part in (*a, *b)):
        return None
    call, times, add = own.call, _aten.mul.Tensor, _aten.add.Tensor
    sizes = [call(_aten.abs.default, part) for part in b]
    first = call(_aten.ge.Tensor, *sizes)
    large, small = call(_aten.where.self, first, b[0], b[1]), call(_aten.where.self, first, b[1], b[0])
    ratio = call(_aten.div.Tensor, small, large)
    scale = call(_aten.reciprocal.default, call(add, large, call(times, small, ratio)))
    x, y = call(_aten.where.self, first, a[0], a[1]), call(_aten.where.self, first, a[1], a[0])
    real = call(times, call(add, x, call(times, y, ratio)), scale)
    imag = call(times, call(_aten.sub.Tensor, y, call(times, x, ratio)), scale)
    turned = call(_aten.where.self, first, imag, call(_aten.neg.default, imag))
    nothing = call(_aten.eq.Scalar, call(add, *sizes), 0.0)
    ends = [call(_aten.div.Tensor, part, size) for part, size in zip(a, sizes)]
    return call(_aten.where.self, nothing, ends[0], real), call(_aten.where.self, nothing, ends[1], turned)


def _reciprocal(own: _Pairs, node: Node) -> Any:
    pair = own.pair(node.args[0], _dtype(node)) if _is_complex(node) else None
    if pair is None:
        return None
    one, zero = (own.call(_aten.full.default, (), x, dtype=_dtype(node)) for x in (1.0, 0.0))
    return _quotient(own, (one, zero), pair)


def _direction(own: _Pairs, node: Node) -> Any:
    argument: Any = node.args[0]
    pair = own.pair(argument, _REAL[argument.meta["dtype"]]) if _is_complex(argument) else None
    return pair and own.call(_aten.atan2.default, *pair[::-1])


def _exponential(own: _Pairs, node: Node) -> Any:
    pair = own.pair(node.args[0], _dtype(node)) if _is_complex(node) else None
    if pair is None:
        return None
    size = own.call(_aten.exp.default, pair[0])
    real = own.call(_aten.mul.Tensor, size, own.call(_aten.cos.default, pair[1]))
    turned = own.call(_aten.mul.Tensor, size, own.call(_aten.sin.default, pair[1]))
    is_real = own.call(_aten.eq.Scalar, pair[1], 0.0)
    return real, own.call(_aten.where.self, is_real, pair[1], turned)


def _length(own: _Pairs, node: Node) -> Any:
    argument: Any = node.args[0]
    pair = own.pair(argument, _REAL[argument.meta["dtype"]]) if _is_complex(argument) else None
    return pair and own.call(_aten.hypot.default, *pair)


def _conjugate(own: _Pairs, node: Node) -> Any:
    pair = own.pair(node.args[0], _dtype(node)) if _is_complex(node) else None
    return pair and (pair[0], own.call(_aten.neg.default, pair[1]))


def _chosen(own: _Pairs, node: Node) -> Any:
    if not _is_complex(node) or len(node.args) != 3:
        return None
    pairs = [own.pair(one, _dtype(node)) for one in node.args[1:]]
    if any(pair is None or not isinstance(pair[0], Node) for pair in pairs):
        return None
    return tuple(own.call(_aten.where.self, node.args[0], a, b) for a, b in zip(*pairs))


def _compared(join: Any) -> Rule:
    def compared(own: _Pairs, node: Node) -> Any:
        kinds = [_REAL[one.meta["dtype"]] for one in node.all_input_nodes if _is_complex(one)]
        two = _two(own, node, max(kinds, key=lambda kind: kind.itemsize)) if kinds else None
        if two is None or not isinstance(two[0][0], Node):
            return None
        return own.call(join, *[own.call(node.target, a, b) for a, b in zip(*two)])

    return compared


def _copied(own: _Pairs, node: Node) -> Any:
    kwargs = {name: value for name, value in node.kwargs.items() if name != "dtype"}
    if _is_complex(node):
        pair = own.pair(node.args[0], _dtype(node))
        return pair and tuple(own.call(node.target, part, dtype=_dtype(node), **kwargs) for part in pair)
    argument: Any = node.args[0]
    pair = own.pair(argument, _REAL[argument.meta["dtype"]]) if _is_complex(argument) else None
    return pair and own.call(node.target, pair[0], **node.kwargs)


def _as_real(own: _Pairs, node: Node) -> Any:
    argument: Any = node.args[0]
    return own.pair(argument, _REAL[argument.meta["dtype"]])


def _as_complex(own: _Pairs, node: Node) -> Any:
    return own.last(node.args[0])


def _part(own: _Pairs, node: Node) -> Any:
    """A part of a pair, or of both parts of a complex tensor."""
    if _is_complex(node):
        return _by_parts(own, node)
    pair = own.last(node.args[0])
    if not pair or node.args[1] not in (-1, len(node.meta["shape"])):
        return None
    if any(user.op == "output" for user in node.users):
        return None  # it goes out as it lies in memory
    return own.call(_aten.alias.default, pair[int(node.args[2])])  # type: ignore[arg-type]


_BY_PARTS = (
    "clone alias detach slice view reshape expand permute t transpose unsqueeze squeeze diagonal flip roll index "
    "index_select gather repeat _unsafe_view sum mean contiguous lift_fresh resolve_conj"
)
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_BY_PARTS.split(), _by_parts), "cat": _of_lists, "stack": _of_lists, "add": _added, "sub": _added,
    "neg": _negative, "mul": _multiplied, "pow": _squared, "square": _squared, "div": _divided,
    "reciprocal": _reciprocal, "exp": _exponential, "abs": _length, "angle": _direction, "_conj": _conjugate,
    "conj_physical": _conjugate, "where": _chosen,
    "eq": _compared(_aten.logical_and.default), "ne": _compared(_aten.logical_or.default), "_to_copy": _copied,
    "view_as_real": _as_real, "view_as_complex": _as_complex, "select": _part,
}  # fmt: skip
