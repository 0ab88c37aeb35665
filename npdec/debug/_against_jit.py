"""The graph that np.jit makes of a program, with each operation's result as an output, beside the program itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

import npdec as np
from npdec._core.base import ArrayBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec._jit import jit
from npdec._jit.recorder import copied
from npdec._torch.tracing import recording
from npdec.debug._calls import Call
from npdec.debug._differences import Difference, departure, difference_of, in_words
from npdec.debug._followed import UNSPECIFIED
from npdec.debug._looking import looking_on
from npdec.debug._places import Place
from npdec.debug._steps import version_of
from npdec.debug._values import arrays_in, elements_of, shown

__all__ = ["Compiled", "compiled_beside"]

Backend = Callable[[torch.fx.GraphModule, list[torch.Tensor]], Callable[..., Any]]


class Compiled(NamedTuple):
    """What the comparison has found: the first difference, how many operations were compared, and in which layer it is
    ("compiler", "recorder"), or why the program was not compiled."""

    difference: Difference | None
    operations: int
    layer: str
    note: str


class _Row(NamedTuple):
    """An operation, and what was kept of its results and of what it wrote."""

    call: Call
    kept: list[Any]


class _Keeper:
    """Keeps results: as numbers where the program runs, as parts of the graph where it is recorded."""

    def __init__(self) -> None:
        self.rows: list[_Row] = []
        self.recorder: Any = None

    def before(self, call: Call) -> None:
        call.notes[self] = [(array, version_of(array)) for array in arrays_in((call.args, call.kwargs))]

    def failed(self, call: Call) -> None:
        pass

    def after(self, call: Call, result: Any) -> None:
        given = call.notes.pop(self)
        if call.attribute in UNSPECIFIED:
            return
        arrays = [*arrays_in(result), *(array for array, version in given if version_of(array) != version)]
        arrays = [array for array in arrays if isinstance(array, (ArrayBase, torch.Tensor))]
        if not arrays:
            return
        self.recorder = recording.get()
        self.rows.append(_Row(_without_arrays(call), [self.keep(array) for array in arrays]))

    def keep(self, array: Any) -> Any:
        if self.recorder is None:
            numbers = elements_of(array)
            return None if numbers is None else numbers.clone()
        tensor = array._t if isinstance(array, ArrayBase) else array
        if isinstance(tensor, DecomposedTensor):
            return None
        made = self.recorder._known(tensor).clone()
        self.recorder.looked_at.append(made)
        return made


class _Words:
    """An argument of which only the words are kept."""

    def __init__(self, text: str) -> None:
        self.__name__ = text

    def __call__(self) -> None: ...


def _without_arrays(call: Call) -> Call:
    args = tuple(_Words(shown(arg)) for arg in call.args)
    kwargs = {name: _Words(shown(arg)) for name, arg in call.kwargs.items()}
    return Call(call.name, call.kind, call.function, args, kwargs, call.place)


class _Graph:
    """The backend that keeps the graph and what it is given, and runs it as it is."""

    def __init__(self, keeper: _Keeper) -> None:
        self.keeper = keeper
        self.graph: Any = None
        self.inputs: list[torch.Tensor] = []

    def __call__(self, graph: torch.fx.GraphModule, tensors: list[torch.Tensor]) -> Callable[..., Any]:
        recorder = self.keeper.recorder
        self.graph = graph
        self.nodes = [
            [None if tensor is None else recorder.node(tensor) for tensor in row.kept] for row in self.keeper.rows
        ]

        def run(*inputs: torch.Tensor) -> Any:
            self.inputs = [copied(one) for one in inputs]
            return graph.forward(*inputs)

        return run

    def results(self, backend: Backend, rows: list[int]) -> list[list[torch.Tensor | None]]:
        """What the graph gives for these rows, compiled by a backend."""
        found = torch.fx.Graph()
        copies: dict[torch.fx.Node, torch.fx.Node] = {}
        found.graph_copy(self.graph.graph, copies)
        wanted = [node for row in rows for node in self.nodes[row] if node is not None]
        found.output(tuple(copies[node] for node in wanted))
        module = torch.fx.GraphModule(self.graph, found)
        inputs = [copied(one) for one in self.inputs]
        made = iter(backend(module, inputs)(*inputs) if wanted else ())
        return [[None if node is None else next(made) for node in self.nodes[row]] for row in rows]


def compiled_beside(
    function: Callable[..., Any], arguments: Callable[[], tuple[Any, ...]], backend: Any, rtol: Callable[[Any], float]
) -> Compiled:
    """The first operation of the program whose result is another one in the compiled graph."""
    function = getattr(function, "_compiled_from", function)
    eager, recorded = _Keeper(), _Keeper()
    given = arguments()
    with looking_on(eager, torch_too=False):
        result = function(*given)
    graph = _Graph(recorded)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with looking_on(recorded, torch_too=False):
            try:
                jit.Jitted(function, graph, False, frozenset(), frozenset())(*arguments())
            except jit.Carrying:
                return Compiled(None, 0, "", "an argument is decomposed: np.jit leaves it to torch.compile")
        for one in said:
            if str(one.message).startswith("np.jit runs"):
                return Compiled(None, 0, "", str(one.message))
        if graph.graph is None:
            return Compiled(None, 0, "", "np.jit ran it uncompiled")
        compiled_given = arguments()
        whole = np.jit(function, backend=backend)(*compiled_given)
    compiler = jit.compiler(backend, None, None)
    way = _other_way(eager.rows, recorded.rows)
    if way is not None:
        return Compiled(way, len(recorded.rows), "recorder", "")
    every = list(range(len(eager.rows)))
    difference = _first(eager.rows, every, graph.results(compiler, every), rtol)
    if difference is None and _differs((result, given), (whole, compiled_given), rtol):
        difference = _bisected(eager.rows, graph, compiler, rtol) or _of_the_whole(
            eager.rows, (result, given), (whole, compiled_given), rtol
        )
    if difference is None:
        return Compiled(None, len(every), "", "")
    uncompiled = _first(eager.rows, every, graph.results(jit.compiler("eager", None, None), every), rtol)
    return Compiled(difference, len(every), "compiler" if uncompiled is None else "recorder", "")


def _other_way(eager: list[_Row], recorded: list[_Row]) -> Difference | None:
    for one, other in zip(eager, recorded):
        ours, theirs = one.call, other.call
        if (ours.name, ours.place.line, ours.place.file) != (theirs.name, theirs.place.line, theirs.place.file):
            return difference_of(ours, "way", str(ours.place), f"{theirs.place}, {theirs.name}")
    if len(eager) != len(recorded):
        more = (eager if len(eager) > len(recorded) else recorded)[min(len(eager), len(recorded))]
        return difference_of(more.call, "way", f"{len(eager)} operations", f"{len(recorded)} under np.jit")
    return None


def _first(rows: list[_Row], which: list[int], made: Any, rtol: Callable[[Any], float]) -> Difference | None:
    """The first of these operations whose results differ."""
    for place, results in zip(which, made):
        call, kept = rows[place]
        for ours, theirs in zip(kept, results):
            if ours is None or theirs is None:
                continue
            if ours.dtype is not theirs.dtype or ours.shape != theirs.shape:
                kind = "shape" if ours.dtype is theirs.dtype else "dtype"
                return difference_of(call, kind, shown(ours), f"{shown(theirs)} under np.jit")
            found = departure(ours, theirs)
            if found is not None and found[1] > rtol(ours):
                absolute, relative, index = found
                return difference_of(
                    call, "values", in_words(ours, index), f"{in_words(theirs, index)} under np.jit",
                    absolute=absolute, relative=relative, index=index,
                )  # fmt: skip
    return None


def _bisected(rows: list[_Row], graph: _Graph, compiler: Backend, rtol: Callable[[Any], float]) -> Difference | None:
    """The first operation that differs as the only output of the graph: compiled so, operations are put together that
    are apart if the result of each is asked for."""

    def differs(place: int) -> Difference | None:
        return _first(rows, [place], graph.results(compiler, [place]), rtol)

    low, high = 0, len(rows) - 1
    if high < 0 or differs(high) is None:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if differs(middle) is not None else (middle + 1, high)
    return differs(low)


def _leaves(tree: Any) -> list[Any]:
    return list(arrays_in(tree))


def _differs(ours: Any, theirs: Any, rtol: Callable[[Any], float]) -> bool:
    a, b = _leaves(ours), _leaves(theirs)
    found = [(departure(one, other), one) for one, other in zip(a, b)]
    return len(a) != len(b) or any(one is None or one[1] > rtol(array) for one, array in found)


def _of_the_whole(rows: list[_Row], ours: Any, theirs: Any, rtol: Callable[[Any], float]) -> Difference:
    """A result that differs where all operations, each by itself, agree: it is said at the last one."""
    for one, other in zip(_leaves(ours), _leaves(theirs)):
        found = departure(one, other)
        if found is None or found[1] > rtol(one):
            call = rows[-1].call if rows else None
            place = call.place if call is not None else Place("", 0, "", "", "")
            absolute, relative, index = found or (float("nan"), float("nan"), ())
            return Difference(
                "the whole program", place, "values", in_words(one, index), f"{in_words(other, index)} under np.jit",
                absolute=absolute, relative=relative, index=index,
            )  # fmt: skip
    return Difference("the whole program", Place("", 0, "", "", ""), "shape", "results", "others under np.jit")
