"""One graph of a function: how it is recorded, and how it is run on other arrays of the same shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree

from npdec._array import memory, wrap
from npdec._array.convert import as_tensor
from npdec._array.generic import generic
from npdec._core.base import ArrayBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec._jit import loops
from npdec._jit.chosen import Chosen, refusal
from npdec._jit.classes import as_results
from npdec._jit.draws import Draws, rewind
from npdec._jit.environment import Environment, Get, is_atom
from npdec._jit.later import Later
from npdec._jit.operations import copied, copied_as, is_array, merged, parted
from npdec._jit.operations import memory as memory_of
from npdec._jit.recorder import Recorder
from npdec._jit.rolled import rolled
from npdec._random.generator import Generator
from npdec._torch.tracing import Refused, recording

__all__ = ["Mismatch", "Program", "Shared", "recorded"]


class Mismatch(Exception):
    """The graph is not for these numbers."""


class Shared(Exception):
    """The function writes, and two of its arguments lie in one memory: the graph would not see what it writes."""


class _Source(NamedTuple):
    """Where a tensor that the graph is given comes from."""

    place: int | None  # of the leaf of the arguments, or None for what the function reads elsewhere
    get: Get | None
    stand_in: Any
    tensor: torch.Tensor


def tensor_of(leaf: Any) -> torch.Tensor:
    """The tensor of an array or a scalar, of NumPy's, or of torch's."""
    if isinstance(leaf, ArrayBase):
        return leaf._t
    return leaf if isinstance(leaf, torch.Tensor) else as_tensor(leaf)


def _dressed(tensor: torch.Tensor, like: Any) -> Any:
    """A stand-in of the kind of an argument."""
    if isinstance(like, torch.Tensor):
        return tensor
    if isinstance(like, generic):
        return wrap.wrap_scalar(tensor)
    array = wrap.wrap_array(tensor)
    reason = getattr(like, "_ro", None)
    if reason is not None:
        memory.freeze(array, reason)
    return array


def _memories(array: Any, tensor: torch.Tensor) -> list[int]:
    """The memory of an array, and those of what it stands for: a reversed view is a copy."""
    tensors = tensor, *[source._t for source in memory.sources(array)]
    return [one.untyped_storage()._cdata for one in tensors]


def _is_its_memory(array: Any) -> bool:
    """Whether torch looks at the memory of an array of NumPy's."""
    return array.flags.writeable and tensor_of(array).data_ptr() == array.__array_interface__["data"][0]


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.dtype, tensor.shape, tensor.stride(), tensor.device, tensor.requires_grad


# -- what comes out ----------------------------------------------------------------------------------------------------


class _Result(NamedTuple):
    """How a leaf of the results is made: `kind` says from what."""

    kind: str  # "constant", "argument", "view" of an argument, "made" by the graph, "part" of what it made, "number"
    value: Any  # the constant, or the place of the argument or of the result of the graph
    array: Any = None  # for tensors: whether an array (True), a scalar (False) or a tensor (None) is wanted
    layout: tuple[Any, ...] = ()  # shape, strides and offset of a view
    read_only: str | None = None

    def build(self, owners: Sequence[Any], tensors: Sequence[torch.Tensor], made: Sequence[torch.Tensor]) -> Any:
        if self.kind == "made":
            tensor = made[self.value]
        elif self.kind == "constant":
            return self.value
        elif self.kind == "argument":
            return owners[self.value]
        elif self.kind == "number":  # of a list
            return made[self.value][self.layout[0]]
        elif self.kind == "part":
            shape, strides, offset = self.layout
            base = made[self.value]
            tensor = base.as_strided(shape, strides, base.storage_offset() + offset)
        else:
            shape, strides, offset = self.layout
            given = tensors[self.value]
            tensor = given.as_strided(shape, strides, given.storage_offset() + offset)
        if self.array is None:
            return tensor
        if not self.array:
            return wrap.wrap_scalar(tensor)
        array = memory.view(owners[self.value], tensor) if self.kind == "view" else wrap.wrap_array(tensor)
        if self.read_only is not None:
            memory.freeze(array, self.read_only)
        return array


class _Results:
    """The results of a recording, as parts of what the graph is to give."""

    def __init__(self, recorder: Recorder, sources: Sequence[_Source]) -> None:
        self.recorder, self.sources = recorder, sources
        self.tensors: list[torch.Tensor] = []  # of the graph
        self.strides: list[tuple[int, ...] | None] = []  # that a tensor must have, as there are views of it
        self._places: dict[int, int] = {}
        self._given = {source.tensor.untyped_storage()._cdata: i for i, source in reversed([*enumerate(sources)])}
        self._owners = {id(source.stand_in): i for i, source in enumerate(sources)}

    def read(self, tree: Any) -> tuple[list[_Result], Any]:
        leaves, spec = _pytree.tree_flatten(tree)
        if any(isinstance(leaf, Chosen) for leaf in leaves):
            raise refusal()
        _check_keys(tree)
        arrays = [leaf for leaf in leaves if isinstance(leaf, (ArrayBase, torch.Tensor))]
        memories = [_memories(leaf, tensor_of(leaf)) for leaf in arrays if self._is_plain(leaf)]
        self._check_apart(memories)
        owned = [own for own, *_ in memories]
        shared = {one for one in owned if owned.count(one) > 1}
        return [self._leaf(leaf, shared) for leaf in leaves], spec

    def _check_apart(self, memories: list[list[int]]) -> None:
        """Refuse results that stand for parts of a memory that is seen outside as well."""
        by_own = {own: others for own, *others in memories}
        seen = [one for own, others in by_own.items() for one in (own, *others)]
        if any(other in self._given or seen.count(other) > 1 for others in by_own.values() for other in others):
            raise Refused("it returns a reversed view of an array that is seen outside")

    def _is_plain(self, leaf: Any) -> bool:
        if isinstance(tensor_of(leaf), DecomposedTensor):
            raise Refused("it returns decomposed arrays, which none of its arguments is")
        return True

    def _leaf(self, leaf: Any, shared: set[int]) -> _Result:
        if id(leaf) in self._owners:
            return _Result("argument", self._owners[id(leaf)])
        if type(leaf) is Later:
            return _Result("number", self._place(leaf._numbers, None), layout=(leaf._place,))
        if not isinstance(leaf, (ArrayBase, torch.Tensor)):
            if is_atom(leaf) or isinstance(leaf, (int, float, complex, str, bytes)):
                return _Result("constant", leaf)
            raise Refused(f"it returns a {type(leaf).__name__}")
        tensor = self.recorder._known(tensor_of(leaf))
        array = None if isinstance(leaf, torch.Tensor) else not isinstance(leaf, generic)
        read_only = getattr(leaf, "_ro", None)
        storage = tensor.untyped_storage()._cdata
        if array is not False and storage in self._given:
            place = self._given[storage]
            base = self.sources[place].tensor
            if base.dtype is not tensor.dtype or base.is_conj() != tensor.is_conj() or base.is_neg() != tensor.is_neg():
                raise Refused("it returns a view of an argument as another dtype")
            offset = tensor.storage_offset() - base.storage_offset()
            return _Result("view", place, array, (tensor.shape, tensor.stride(), offset), read_only)
        if array is not False and storage in shared:
            base = tensor._base if tensor._base is not None else tensor
            if base.dtype is not tensor.dtype or tensor.is_conj() or tensor.is_neg() or not _is_dense(base):
                raise Refused("its results look at one memory as several dtypes, or with gaps")
            offset = tensor.storage_offset() - base.storage_offset()
            place = self._place(base, base.stride())
            return _Result("part", place, array, (tensor.shape, tensor.stride(), offset), read_only)
        return _Result("made", self._place(tensor, None), array, (), read_only)

    def _place(self, tensor: torch.Tensor, strides: tuple[int, ...] | None) -> int:
        if id(tensor) not in self._places:
            self._places[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
            self.strides.append(strides)
        place = self._places[id(tensor)]
        self.strides[place] = strides or self.strides[place]
        return place


def _check_keys(tree: Any) -> None:
    """Refuse results under keys that are stand-ins."""
    if isinstance(tree, dict) and any(isinstance(leaf, ArrayBase) for leaf in _pytree.tree_leaves([*tree])):
        raise Refused("it returns a dict with a key that depends on the arguments")
    if isinstance(tree, (dict, list, tuple)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            _check_keys(item)


def _is_dense(tensor: torch.Tensor) -> bool:
    order = sorted(range(tensor.dim()), key=tensor.stride, reverse=True)
    return tensor.permute(order).is_contiguous()


# -- the program -------------------------------------------------------------------------------------------------------


class Program:
    """A compiled graph, what it is given and what becomes of its results."""

    def __init__(self, recorder: Recorder, environment: Environment, sources: list[_Source], draws: Draws) -> None:
        self.environment, self.draws = environment, draws
        self.places = [source.place for source in sources]
        self.gets = [source.get for source in sources]
        self.layouts = [_layout(tensor_of(source.get())) if source.get else None for source in sources]
        self.written: list[int] = []
        self.conditional = bool(recorder.conditions)
        self.reads_elsewhere, self.draws_some = any(self.gets), bool(draws.calls)
        self.results: list[_Result] = []
        self.spec: Any = None
        self.is_tuple = False  # of results, nothing deeper
        self.strides: list[tuple[int, ...] | None] = []
        self.memories: list[int] = []  # of what stands for the results
        self.lists: set[int] = set()  # results that hold Python's numbers
        self.merged: list[int] | None = None  # results that the compiler has put into one memory
        self.compiled: Callable[..., Any] = lambda: ()

    def owners(self, leaves: Sequence[Any]) -> list[Any]:
        """The arrays that the graph is given, of the leaves of the arguments."""
        if not self.reads_elsewhere:
            return [leaves[place] for place in self.places]  # type: ignore[index]
        found = []
        for place, get, layout in zip(self.places, self.gets, self.layouts):
            if place is not None:
                found.append(leaves[place])
            else:
                assert get is not None
                owner = get()
                if _layout(tensor_of(owner)) != layout:
                    raise Mismatch
                found.append(owner)
        return found

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run it. Raises Mismatch or Shared, with nothing written, if the graph is not for these arguments."""
        owners = self.owners(leaves)
        tensors = [owner._t if type(owner) is wrap.ARRAY else tensor_of(owner) for owner in owners]
        if self.written:
            memories = [one for owner, tensor in zip(owners, tensors) for one in _memories(owner, tensor)]
            if len(set(memories)) < len(memories):
                raise Shared
        kept = [copied(tensors[i]) for i in self.written] if self.conditional else []
        states = self.draws.states(leaves) if self.conditional and self.draws_some else ()
        try:
            drawn = self.draws.drawn(leaves) if self.draws_some else ()
            made = self.compiled(*tensors, *drawn)
            if self.merged is None:
                self.merged = merged(made, (*tensors, *drawn), self.memories)
            if self.merged:
                made = parted(made, self.merged)
            if self.conditional and not made[-1].item():
                raise Mismatch
        except Exception:
            if not self.conditional and self.written:
                raise
            for i, before in zip(self.written, kept):
                tensors[i].detach().copy_(before)
            rewind(states)
            raise Mismatch from None  # uncompiled it may say what is wrong
        for i in self.written:
            if isinstance(owners[i], wrap.ARRAY):
                memory.written(owners[i])
        if any(self.strides):
            made = [
                tensor if strides is None or tensor.stride() == strides else copied_as(tensor, strides)
                for tensor, strides in zip(made, self.strides)
            ]
        if self.lists:
            made = [one.tolist() if place in self.lists else one for place, one in enumerate(made)]
        results = [result.build(owners, tensors, made) for result in self.results]
        if self.spec is None:
            return results[0]
        return tuple(results) if self.is_tuple else _pytree.tree_unflatten(results, self.spec)


def recorded(
    function: Callable[..., Any],
    leaves: Sequence[Any],
    build: Callable[[Environment, list[Any]], tuple[Any, dict[str, Any]]],
    backend: Callable[[torch.fx.GraphModule, list[torch.Tensor]], Callable[..., Any]],
    check: Callable[[tuple[Any, ...]], None],
    asks_sizes: bool = False,
) -> Program:
    """The program of a function for arguments of which these are the leaves. `build` puts leaves together again.

    Raises Refused where there is none, and whatever the function raises. Nothing outside has changed then. Before the
    graph is compiled `check` looks at the numbers that Python asked for, on which shapes depend if it `asks_sizes`.
    """
    recorder = Recorder(asks_sizes)
    draws = recorder.draws = Draws()
    sources: list[_Source] = []

    def stand_in(leaf: Any, place: int | None, get: Get | None) -> Any:
        tensor = tensor_of(leaf)
        if isinstance(tensor, DecomposedTensor):
            raise Refused("it reads a decomposed array that is no argument")
        if tensor.layout is not torch.strided or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise Refused(f"it is given a tensor that is a {type(tensor).__name__}, {tensor.layout}")
        made = recorder.given(tensor)
        dressed = _dressed(made, leaf)
        sources.append(_Source(place, get, dressed, made))
        return dressed

    environment = Environment(lambda get, value: stand_in(value, None, get))
    with ExitStack() as stack:
        stack.enter_context(recorder.fake)
        stack.enter_context(recorder)
        with torch.utils._python_dispatch._disable_current_modes():
            made: dict[int, Any] = {}
            stand_ins = []
            for place, leaf in enumerate(leaves):
                if is_array(leaf):
                    if id(leaf) not in made:
                        made[id(leaf)] = stand_in(leaf, place, None)
                    stand_ins.append(made[id(leaf)])
                elif isinstance(leaf, Generator):
                    stand_ins.append(draws.stand_in(leaf, place, recorder))
                else:
                    stand_ins.append(leaf)
            args, kwargs = build(environment, stand_ins)
            ours = environment.read(lambda: function, function, "the function")
            recorder.numbers.kinds_are_asked = environment.asks_kinds
        versions = [source.tensor._version for source in sources]
        token = recording.set(recorder)
        stack.callback(recording.reset, token)
        returned = ours(*args, **kwargs)
        environment.check_unchanged()
        if environment.originals:
            returned = as_results(returned, environment.originals, frozenset(map(id, environment.given)))
        results = _Results(recorder, sources)
        found, spec = results.read(returned)
        written = [i for i, source in enumerate(sources) if source.tensor._version != versions[i]]
        for source in sources:
            if isinstance(source.stand_in, ArrayBase) and source.stand_in._t is not source.tensor:
                raise Refused("it sets the shape, the dtype or the decomposition of an array that is given")
        if draws.calls and len(recorder.conditions) > draws.asked:
            raise Refused("it asks for numbers, and draws others from a generator")
        check(tuple([number for _, number in recorder.conditions.values()]))
        graph = recorder.finished(results.tensors, [steps is None for steps in results.strides])
    program = Program(recorder, environment, sources, draws)
    owners = program.owners(leaves)
    if not all(isinstance(owners[i], (ArrayBase, torch.Tensor)) or _is_its_memory(owners[i]) for i in written):
        raise Refused("it writes into an array of NumPy's that torch has to copy")
    program.written, program.results, program.strides = written, found, results.strides
    program.lists = {result.value for result in found if result.kind == "number"}
    program.memories = [*map(memory_of, results.tensors)]
    program.spec = None if spec.is_leaf() else spec
    program.is_tuple = type(returned) is tuple and all(child.is_leaf() for child in spec.children())
    tensors = [tensor_of(owner) for owner in owners]
    if recorder.most > loops.MOST_OPERATIONS:
        if any(tensor.requires_grad for tensor in tensors):
            raise Refused("its loop is long, and derivatives go back through it")
        program.compiled = rolled(graph, [*tensors, *draws.samples], backend)
    else:
        program.compiled = backend(graph, [*tensors, *draws.samples])
    for part in (recorder, environment, draws):
        part.close()
    return program
