"""Attribution to the layers of a network: what flows through them, and what their outputs do to those of the network.

The law attributes to what flows through a layer in the one run that reverse mode makes (`flow`); `conductance`
integrates what flows along the straight path of the inputs; the other methods attribute the rest of the network to the
layer's output, put in its place (`rooted`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from npdec._array.convert import as_tensor
from npdec._array.decompose import split_input
from npdec._core.base import ArrayBase
from npdec._core.progress import Progress, Show
from npdec._decomposed.tensor import CARRIERS, DecomposedTensor, carries, copy_of
from npdec.attribution import _local, _path
from npdec.attribution._integral import Integral, Rates
from npdec.attribution._problem import Found, Problem, plain
from npdec.attribution._result import Attribution
from npdec.attribution._taps import At, Layer, Tapped, Tensors
from npdec.attribution._twice import twice

__all__ = ["conductance", "flow", "result", "rooted", "split"]


def split(name: str, x: Any, baseline: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """As `split_input`, and for integers too (tokens, say): a layer may be attributed to where they can not."""
    value = as_tensor(x)
    if carries(value.dtype):
        return split_input(name, x, baseline)
    base = as_tensor(baseline).to(value.device)
    return copy_of(value), torch.broadcast_to(base.to(value.dtype), tuple(value.shape))


def _copied(i: int, arrays: Tensors) -> Tensors:
    return [array.clone() for array in arrays]


def _divided(problem: Problem, layer: Layer, f: Callable[..., Any], values: Tensors, residuals: Tensors) -> Problem:
    """What is attributed to at a layer, in its units, to what the function `f` of the layer's arrays makes of them."""
    made = Problem.make(
        f, tuple(values), None, tuple(residuals) if len(values) > 1 else residuals[0],
        layer.axis, layer.groups, layer.labels, problem.output, problem.graph,
    )  # fmt: skip
    made.batched, made.chunk_size, made.ranks = problem.batched, problem.chunk_size, problem.ranks
    made.given = (problem.as_torch,) * len(values)
    return made


# -- by the law --------------------------------------------------------------------------------------------------------


def flow(problem: Problem, at: At, paths: bool, progress: Show) -> Found:
    """What flows through the layers, or along the paths that lead through all of them, in one run."""
    if not any(carries(value.dtype) for value in problem.values):  # nothing flows from tokens: it starts at the layer
        if paths:
            raise TypeError("attribute: paths lead from inputs of floating numbers: integers have no contributions")
        return rooted(problem, at, lambda inner: _local.reverse(inner, progress))
    nodes: list[list[torch.Tensor | None]] = [[] for _ in at.layers]

    def cut(i: int, arrays: Tensors) -> Tensors:
        nodes[i] = []
        made = []
        for array in arrays:
            if not isinstance(array, DecomposedTensor):
                if type(array) in CARRIERS:
                    raise NotImplementedError(
                        f"attribute: {at.layers[i]} is a DTensor: choose a layer whose output is local "
                        "(use_local_output=True), or leave at="
                    )
                nodes[i].append(None)
                made.append(array)
                continue
            node = array.components.clone()
            nodes[i].append(node if node.requires_grad else None)
            # What follows may write to its components: the node stays as it is.
            parts = copy_of(array.value), copy_of(array.residual), node.clone()
            made.append(DecomposedTensor(*parts, array.labels, array.reverse))
        return made

    taps = Tapped(problem.f, at, cut)

    def differentiated(problem: Problem, run: _local.Run, progress: Show) -> Found:
        units = [
            _divided(problem, layer, taps, list(map(plain, arrays)), list(map(_residual, arrays)))
            for layer, arrays in zip(at.layers, taps.seen, strict=True)
        ]
        ways = _Ways(problem, run, nodes, units)
        found = []
        with Progress("attribute", len(run.chosen), progress) as bar:
            for one in run.chosen:
                shares, around = ways.paths(at, one) if paths else ways.layers(one)
                found.append((problem.kept(plain(one)), problem.kept(_residual(one)), shares, around))
                bar.advance()
        value, residual, shares, around = map(torch.stack, zip(*found, strict=True)) if run.several else found[0]
        made = Found(value, residual, shares, None, around)
        made.units = [*units, problem] if paths else units
        return made

    return _local.reverse(dataclasses.replace(problem, f=taps), progress, differentiated)


def _residual(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.residual if isinstance(tensor, DecomposedTensor) else tensor


class _Ways:
    """The graph of one run, from the inputs to the chosen outputs, and its nodes at the layers."""

    def __init__(
        self, problem: Problem, run: _local.Run, nodes: list[list[torch.Tensor | None]], units: list[Problem]
    ) -> None:
        self.problem, self.run, self.nodes, self.units = problem, run, nodes, units

    def layers(self, one: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The shares (ΣK) of the units of all layers, one after the other, and what goes around each layer (L)."""
        flat = [node for nodes in self.nodes for node in nodes if node is not None]
        given = [*self.run.carriers, *flat]
        slopes = iter(self._slopes(_component(one), given))
        total = self._of_inputs([next(slopes) for _ in self.run.carriers]).sum()
        parts = []
        for nodes, unit in zip(self.nodes, self.units, strict=True):
            shares = [
                torch.zeros_like(value.real) if node is None else _local.share(next(slopes), node)[0]
                for node, value in zip(nodes, unit.values, strict=True)
            ]
            parts.append(self.problem.kept(unit.collected(shares)))
        return torch.cat(parts), torch.stack([self.problem.kept(total - part.sum()) for part in parts])

    def paths(self, at: At, one: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The shares (K₁, …, K_L, C) of the paths through a unit of each layer from a component of the inputs, and
        what takes another way."""
        total = self._of_inputs(self._slopes(_component(one), self.run.carriers)).sum()
        last = len(at.layers) - 1
        shares = self._before(at, last, self._slopes(_component(one), self._at(last)))
        shares = self.problem.kept(shares.permute(*reversed(range(last + 1)), last + 1))
        return shares, self.problem.kept(total - shares.sum()).reshape(1)

    def _before(self, at: At, i: int, slopes: list[torch.Tensor | None]) -> torch.Tensor:
        """The shares (K_i, …, K₁, C) of what leads to a layer, for slopes at it."""
        nodes, unit = self._at(i), self.units[i]
        places = [k for k, node in enumerate(self.nodes[i]) if node is not None]
        rows = []
        for weights in torch.eye(unit.count, dtype=unit.dtype, device=unit.device):
            weight = list(unit.of_elements(weights))
            parts = [
                torch.zeros_like(node) if slope is None else slope * weight[k]
                for k, slope, node in zip(places, slopes, nodes, strict=True)
            ]
            if i == 0:
                rows.append(self._of_inputs(self._slopes(nodes, self.run.carriers, parts)))
                continue
            before = self._slopes(nodes, self._at(i - 1), parts)
            if all(slope is None for slope in before):
                raise ValueError(
                    f"attribute: {at.layers[i]} does not depend on {at.layers[i - 1]}: give the layers of a path in "
                    "the order in which they are computed"
                )
            rows.append(self._before(at, i - 1, before))
        return torch.stack(rows)

    def _at(self, i: int) -> Tensors:
        return [node for node in self.nodes[i] if node is not None]

    def _slopes(self, of: Any, by: Tensors, weights: Tensors | None = None) -> list[torch.Tensor | None]:
        if not by or (isinstance(of, torch.Tensor) and not of.requires_grad) or not len(of if weights else [1]):
            return [None] * len(by)
        graph = self.problem.graph
        return list(torch.autograd.grad(of, by, weights, retain_graph=True, create_graph=graph, allow_unused=True))

    def _of_inputs(self, slopes: Sequence[torch.Tensor | None]) -> torch.Tensor:
        parts = zip(slopes, self.run.changes, strict=True)
        return self.problem.collected([_local.share(slope, change) for slope, change in parts])


def _component(one: torch.Tensor) -> torch.Tensor:
    component = one.components.squeeze(0) if isinstance(one, DecomposedTensor) else torch.zeros_like(one)
    if component.is_complex():
        raise TypeError("attribute: a complex output has no shares at a layer: choose its real or imaginary part")
    return component


# -- by other methods --------------------------------------------------------------------------------------------------


def rooted(problem: Problem, at: At, run: Callable[[Problem], Found], start: bool = True) -> Found:
    """The method `run` on the rest of the network: a function of the layer's arrays, which take the place of those
    that it computes. With `start` their baseline is what it computes from that of the inputs."""
    if len(at.layers) > 1:
        raise TypeError("attribute: several layers are attributed to by method 'local': give one")
    values, residuals = (
        _arrays_at(problem, at, ends) for ends in (problem.values, problem.residuals if start else problem.values)
    )

    def rest(*arrays: Any) -> Any:
        put = [array._t if isinstance(array, ArrayBase) else array for array in arrays]
        points = [copy_of(value) for value in problem.values]
        if problem.batched is True:
            points = [point.expand(len(put[0]), *point.shape).clone() for point in points]
        return dataclasses.replace(problem, f=Tapped(problem.f, at, lambda i, _: put)).call(points)

    unit = _divided(problem, at.layers[0], rest, values, residuals)
    found = run(unit)
    found.units = [unit]
    return found


def _arrays_at(problem: Problem, at: At, inputs: Tensors) -> Tensors:
    """The arrays of the layer, where the network is given these inputs."""
    taps = Tapped(problem.f, at, _copied)
    with problem.evaluating():
        tapped = dataclasses.replace(problem, f=taps)
        if problem.batched is not True:
            tapped.call([copy_of(tensor) for tensor in inputs])
            return [problem.kept(array) for array in taps.seen[0]]
        tapped.call([tensor.clone()[None] for tensor in inputs])
        return [problem.kept(array)[0] for array in taps.seen[0]]


def conductance(problem: Problem, at: At, steps: int | None, rtol: float | None, progress: Show) -> Found:
    """∫ ∂f/∂h · dh/dt dt for the elements h of the layer, where the inputs go from the baseline to their values."""
    if len(at.layers) > 1:
        raise TypeError("attribute: method 'conductance' attributes to one layer at a time")
    if not all(carries(value.dtype) for value in problem.values):
        raise TypeError(
            "attribute: method 'conductance' moves the inputs from the baseline to their values, and there is nothing "
            "between integers: use method='path' or 'local', which begin at the layer"
        )
    arrays = _arrays_at(problem, at, problem.values)
    if any(array.is_complex() for array in arrays):
        raise TypeError("attribute: method 'conductance' attributes to layers of real numbers")
    unit = _divided(problem, at.layers[0], problem.f, arrays, [torch.zeros_like(array) for array in arrays])
    taps = Tapped(problem.f, at, _copied)
    tapped = dataclasses.replace(problem, f=taps)
    value, residual = problem.ends()

    def rates(node: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of each unit, and of what goes around the layer, (*O, K + 1); and the outputs."""
        at_node = node.to(problem.device, problem.dtype).requires_grad_()
        with twice():
            made = tapped.one(problem.along(at_node.expand(problem.count)))
            hidden = taps.seen[0]
            moves = _moves(hidden, at_node)
        columns = _path.columns(made[None])
        parts = []
        for column in columns:
            *slopes, whole = _path.grad(column.sum(), [*hidden, at_node], retain=True)
            shares = unit.collected([slope * move for slope, move in zip(slopes, moves, strict=True)]).detach()
            parts.append(torch.cat([shares, (whole - shares.sum()).reshape(1).to(shares)]))
        return _path.assembled([part[None] for part in parts], made[None])[0], made.detach()

    def integrand(nodes: torch.Tensor) -> Rates:
        shares, values = map(torch.stack, zip(*map(rates, nodes), strict=True))
        return Rates(shares, shares.sum(-1), values)

    def primitive(t: torch.Tensor) -> torch.Tensor:
        with problem.evaluating():
            return problem.one(problem.along(t.to(problem.device, problem.dtype).expand(problem.count)))

    shares = Integral(problem, integrand, primitive, value, residual, progress).over_path(steps, rtol)
    found = Found(value, residual, shares[..., :-1], None, shares[..., -1:])
    found.units = [unit]
    return found


def _moves(hidden: Tensors, t: torch.Tensor) -> Tensors:
    """How the arrays change with t: the gradient, by weights, of the gradient that has these weights."""
    moved = [array for array in hidden if array.requires_grad]
    weights = [torch.zeros_like(array, requires_grad=True) for array in moved]
    found: Iterator[torch.Tensor] = iter(())
    if moved:
        (along,) = torch.autograd.grad(moved, t, weights, create_graph=True, allow_unused=True)
        found = iter(_path.grad(along, weights, retain=True) if along is not None else weights)
    return [next(found).detach() if array.requires_grad else torch.zeros_like(array) for array in hidden]


# -- results -----------------------------------------------------------------------------------------------------------


def result(problem: Problem, at: At, paths: bool, found: Found) -> Attribution:
    """What is returned: for one layer its shares, for several a tuple, of paths one array."""
    labels = [unit.labels for unit in found.units]
    around = found.around
    return Attribution(
        problem.number(found.value),
        problem.number(found.residual),
        _shaped(problem, at, paths, found, found.shares),
        problem.number(_missing(found, at, paths)),
        None if found.standard_error is None else _shaped(problem, at, paths, found, found.standard_error),
        labels[0] if at.single and not paths else tuple(labels),
        problem.number(around[..., 0] if around is not None and (at.single or paths) else around),
    )


def _shaped(problem: Problem, at: At, paths: bool, found: Found, shares: torch.Tensor) -> Any:
    if paths:
        sizes = [size for unit in found.units for size in _sizes(unit)]
        return problem.number(shares.reshape(*found.value.shape, *sizes))
    parts = shares.split([unit.count for unit in found.units], -1)
    made = [unit.shaped(part) for unit, part in zip(found.units, parts, strict=True)]
    return made[0] if at.single else tuple(made)


def _sizes(unit: Problem) -> list[int]:
    """The axes of an array of shares: one for its units, or those of the array that it is."""
    if unit.labels is not None:
        return [unit.count]
    if len(unit.values) > 1:
        raise ValueError(
            f"attribute: paths from or through {len(unit.values)} arrays at once need components: say axis, groups or "
            "labels"
        )
    return list(unit.values[0].shape)


def _missing(found: Found, at: At, paths: bool) -> torch.Tensor | None:
    """What completeness misses, which for several layers of one run is the same."""
    if found.residual is None:
        return None
    shares = found.shares if paths or at.single else found.shares[..., : found.units[0].count]
    rest = found.value - found.residual - shares.sum(tuple(range(found.value.ndim, shares.ndim)))
    return rest if found.around is None else rest - found.around[..., 0]
