"""What a function does to tensors, written down as a graph while it runs on stand-ins without memory.

Numbers that Python asks for, to branch or to index by, become conditions of the graph: they are computed from what the
call was given, and whoever runs the graph later looks whether they are the same then.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_iter, tree_map

from npdec._jit import loops
from npdec._jit.bounds import Bounds
from npdec._jit.chosen import Masks
from npdec._jit.forwarding import Memories, Parts, Read
from npdec._jit.later import Numbers
from npdec._jit.operations import (
    copied,
    described,
    is_by_integers,
    is_composite,
    is_view,
    layout,
    memory,
    only_reads,
    written,
)  # fmt: skip
from npdec._jit.rolls import Rolls
from npdec._jit.simplified import simplify
from npdec._jit.sizes import Sizes
from npdec._torch.tracing import Refused

__all__ = ["Recorder"]

_aten = torch.ops.aten
# What torch's products of vectors call to give what they made another shape.
_OF_AXES = {_aten.squeeze_.default, _aten.squeeze_.dim, _aten.squeeze_.dims}
_MOST_CONDITIONS = 256
_MOST_CONSTANT = 4096  # elements of a constant that is computed while recording, for Python to ask for
_MOST_BYTES = 1 << 32  # of the numbers that are computed to answer what Python asks


class Recorder(TorchDispatchMode):
    """The graph of what is done within it to tensors that `given` has made."""

    def __init__(self, asks_sizes: bool = False) -> None:
        super().__init__()
        from torch._subclasses.fake_tensor import FakeTensorMode

        self.fake: Any = FakeTensorMode()
        self.graph = torch.fx.Graph()
        self.root = torch.nn.Module()
        self.conditions: dict[torch.fx.Node, tuple[torch.fx.Node, Any]] = {}
        self._nodes: dict[int, torch.fx.Node] = {}
        self._layouts: dict[int, Any] = {}  # of stand-ins, as they were when their nodes were made
        self._held: list[Any] = []  # stand-ins and their memories, so that no two of them have one id or address
        self._stand_ins: dict[int, torch.Tensor] = {}  # for constants
        self._constants: dict[int, torch.Tensor] = {}
        self._changed: set[int] = set()  # memories of constants that are no longer constant
        self._last: Any = None  # the last placeholder
        self._operations: list[torch.fx.Node] = []
        self._numbers: dict[torch.fx.Node, Any] = {}  # what the operations gave, as far as somebody has asked
        self._answered = self._bytes = self._computing = self._writes = 0
        self._given: list[tuple[torch.fx.Node, torch.Tensor]] = []
        self._memories = Memories()
        self.bounds = Bounds(self._memories.epoch)
        self.masks = Masks(self)
        self._rolls = Rolls()
        self.sizes = Sizes(self, asks_sizes)
        self.numbers = Numbers(self)
        self.draws: Any = None
        self.looked_at: list[torch.Tensor] = []  # what stays in the graph, though nothing comes of it
        self.after: dict[torch.fx.Node, int] = {}  # how many writes an operation was recorded
        self.most = loops.MOST_OPERATIONS  # more where the last of them are those of a loop
        self._forwarded: list[tuple[torch.fx.Node, Any, Any, dict[int, torch.Tensor]]] = []

    # -- what goes in and out ------------------------------------------------------------------------------------------

    def given(self, tensor: torch.Tensor) -> torch.Tensor:
        """The stand-in for a tensor that the graph is given."""
        with _disable_current_modes(), warnings.catch_warnings():
            if tensor.requires_grad:  # torch asks for the gradient, which not all have, and says so
                warnings.filterwarnings("ignore", "The .grad attribute of a Tensor")
            made = self.fake.from_tensor(tensor, static_shapes=True)
        with self.graph.inserting_after(self._last if self._last is not None else self.graph._root):
            self._last = self.graph.placeholder(f"given{len(self._given)}")
        self._given.append((self._last, tensor))
        self._memories.made(None, (), made)
        return self._stands_for(made, self._last)

    def node(self, tensor: torch.Tensor) -> torch.fx.Node:
        """The node of a tensor that the graph knows, or of a constant."""
        return self._nodes[id(self._known(tensor))]

    def is_constant(self, tensor: torch.Tensor) -> bool:
        """Whether the numbers of a tensor are known."""
        return self._constant(self._known(tensor)) is not None

    def epoch(self, tensor: torch.Tensor) -> int:
        """How often the memory of a tensor has been written."""
        return self._memories.epoch(self._known(tensor))

    def _numbers_of(self, tensor: torch.Tensor) -> tuple[Any, ...]:
        bits = tensor.is_conj(), tensor.is_neg()
        return memory(tensor), tensor.storage_offset(), self._memories.epoch(tensor), tensor.dtype, *bits

    def finished(self, results: Iterable[torch.Tensor], apart: Iterable[bool]) -> torch.fx.GraphModule:
        """The graph of these results, and last, if there are conditions, whether they hold. A result that is `apart`
        shares its memory with nothing outside."""
        if self.most == loops.MOST_OPERATIONS:  # a loop that writes a part of an array should not look at the last one
            self._take_back()
        nodes = [self._result(result) if alone else self.node(result) for result, alone in zip(results, apart)]
        if self.conditions:
            call = self.graph.call_function
            hold = call(_aten.stack.default, ([call(_aten.eq.Scalar, one) for one in self.conditions.values()],))
            nodes.append(call(_aten.all.default, (hold,)))
        self.graph.output(tuple(nodes))
        self._rolls.sliced(self.graph)
        kept = set(map(self.node, self.looked_at))
        self.graph.eliminate_dead_code(lambda node: node in kept or node.is_impure())
        if self.most == loops.MOST_OPERATIONS:
            simplify(self.graph, kept)
        return torch.fx.GraphModule(self.root, self.graph)

    def close(self) -> None:
        """Let go of all tensors."""
        known = self._nodes, self._layouts, self._stand_ins, self._constants, self._numbers, self.after
        for held in (*known, self._held, self._given, self._forwarded):
            held.clear()
        self._memories = Memories()
        self.bounds = Bounds(self._memories.epoch)

    # -- recording -----------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is _aten._local_scalar_dense.default:
            return self._number(self._known(args[0]))
        if func is _aten.lift_fresh.default or func is _aten.lift_fresh_copy.default:
            return self._known(args[0])
        if func is _aten.equal.default:
            return self._is_equal(*args)
        if func is _aten._linalg_check_errors.default:
            return self._check_errors(*args, **kwargs)
        if is_composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        self._check(func)
        args, kwargs = tree_map(self._known, (args, kwargs))
        tensors = [leaf for leaf in tree_iter((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        constants = self._constants_of(func, tensors)
        if torch.Tag.dynamic_output_shape in func.tags and not is_by_integers(func, args):
            if constants is not None:
                return tree_map(self._known, self._computed(func, args, kwargs, tensors, constants))
            return self.sizes.made(func, args, kwargs)
        return self._record(func, args, kwargs, tensors, constants)

    def _check(self, func: Any) -> None:
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise Refused("torch draws random numbers: give the function a generator, or what it draws")
        if torch.Tag.data_dependent_output in func.tags:
            raise Refused(f"the result of {func.overloadpacket.__name__} depends on numbers")
        if self._computing >= self.most:
            self.most = loops.bound_beyond(self._computing, self._operations)

    def _record(self, func: Any, args: Any, kwargs: Any, tensors: list[torch.Tensor], constants: Any) -> Any:
        made = func(*args, **kwargs)
        if made is not None and not any(isinstance(leaf, torch.Tensor) for leaf in tree_iter(made)):
            return made  # a device, a shape
        to_nodes = lambda leaf: self._nodes[id(leaf)] if isinstance(leaf, torch.Tensor) else leaf  # noqa: E731
        read: list[torch.Tensor] = tensors if constants is None and only_reads(func) else []
        if func is _aten.copy_.default and args[1] is not args[0]:
            read = [args[1]]
        known = {id(tensor): found for tensor in read if (found := self._read(tensor)) is not tensor}
        if func._schema.is_mutable:
            self._keep_what_was(func, args, kwargs)
        used = tree_map(lambda leaf: known.get(id(leaf), leaf), (args, kwargs)) if known else (args, kwargs)
        node = self.graph.call_function(func, *tree_map(to_nodes, used))
        if known:
            self._forwarded.append((node, args, kwargs, known))
        if func is _aten.roll.default:
            self._rolls.made(node, args, {self._nodes[id(one)]: self._numbers_of(one) for one in (args[0], used[0][0])})
        self._operations.append(node)
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        spans = self.bounds.made(func, used[0], used[1], results)
        self.after[node] = self._writes
        self._computing += not is_view(func)
        real = None
        if constants is not None:
            real = self._computed(func, args, kwargs, tensors, constants)
        elif func._schema.is_mutable:
            self._changed.update(map(memory, written(func, args, kwargs)))
        if func._schema.is_mutable:
            self._writes += 1
            self._note_writes(func, *used)
        if func in _OF_AXES and self._nodes[id(made)].op != "placeholder":
            self._layouts[id(made)] = layout(made)
            self._nodes[id(made)].meta.update(described(made))
        if isinstance(made, torch.Tensor):
            self._memories.made(func, args, made)
            self._keep(made, node, real)
        elif isinstance(made, (tuple, list)):
            for i, part in enumerate(made):
                if isinstance(part, torch.Tensor):
                    item = self.graph.call_function(operator.getitem, (node, i))
                    self._operations.append(item)
                    self._keep(part, item, None if real is None else real[i])
        for result, span in zip(results, spans):
            if span is not None:
                self.bounds.note(result, span)
        return made

    def _result(self, tensor: torch.Tensor) -> torch.fx.Node:
        known = self._known(tensor)
        if not known.is_contiguous() or self._memories.is_read(known):  # in the layout that it has
            return self.node(known)
        with _disable_current_modes(), self.fake:
            found = self._memories.read(known) or self._memories.all_of(known)
            if isinstance(found, Read):
                return self.node(self._do(_aten.clone.default, self._made_of(found, known, known.shape)))
            return self.node(known if found is None else self._made_of(found, known, known.shape))

    def _take_back(self) -> None:
        """Let operations look at memories that others have to look at too: to compute what is written twice, or to keep
        it beside the memory, takes longer."""
        for node, args, kwargs, known in self._forwarded:

            def chosen(leaf: Any, known: dict[int, torch.Tensor] = known) -> Any:
                if not isinstance(leaf, torch.Tensor):
                    return leaf
                found = leaf if self._memories.is_read(leaf) else known.get(id(leaf), leaf)
                return self._nodes[id(found)]

            node.args, node.kwargs = tree_map(chosen, (args, kwargs))

    def _read(self, tensor: torch.Tensor) -> torch.Tensor:
        """What is in the memory of a tensor, if that is known, or the tensor itself."""
        read = self._memories.read(tensor)
        return tensor if read is None else self._made_of(read, tensor, tensor.shape)

    def _do(self, func: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
        tensors = [leaf for leaf in tree_iter(args) if isinstance(leaf, torch.Tensor)]
        return self._record(func, args, kwargs, tensors, None)

    def _made_of(self, found: Read | Parts, like: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
        """A tensor of what is found in a memory, for the graph to use in place of one that looks there."""
        if isinstance(found, Parts):
            axis = found.axis
            cut = lambda length: (*shape[:axis], length, *shape[axis + 1 :])  # noqa: E731
            made = [self._made_of(part, like, cut(length)) for part, length in found.parts]
            return self._do(_aten.cat.default, made, axis)
        value = found.value
        if value is None:
            return self._do(_aten.full.default, tuple(shape), found.fill, dtype=like.dtype, device=like.device)
        if value.dtype is not like.dtype or value.device != like.device:
            value = self._do(_aten._to_copy.default, value, dtype=like.dtype, device=like.device)
        if value.shape != found.shape:  # a copy, as results of functions may lie otherwise if axes have no strides
            value = self._do(_aten.expand.default, value, tuple(found.shape))
            value = self._do(_aten.clone.default, value, memory_format=torch.contiguous_format)
        for axis, (start, step, count) in enumerate(found.parts):
            if (start, step, count) != (0, 1, value.shape[axis]):
                value = self._do(_aten.slice.Tensor, value, axis, start, start + (count - 1) * step + 1, step)
        return value if value.shape == shape else self._do(_aten.reshape.default, value, tuple(shape))

    def _keep_what_was(self, func: Any, args: Any, kwargs: Any) -> None:
        for target in written(func, args, kwargs):
            if (whole := self._memories.unwritten(target)) is not None:
                self._memories.begins(whole, self._do(_aten.clone.default, whole))

    def _note_writes(self, func: Any, args: Any, kwargs: Any) -> None:
        value = args[1] if func is _aten.copy_.default else None
        for target in written(func, args, kwargs):
            self._memories.written(target, value)

    def _keep(self, made: torch.Tensor, node: torch.fx.Node, real: torch.Tensor | None) -> None:
        if id(made) not in self._nodes:  # what is written into is its own result
            self._stands_for(made, node)
            if real is not None:
                self._constants[id(made)] = real

    def _stands_for(self, made: torch.Tensor, node: torch.fx.Node) -> torch.Tensor:
        self._nodes[id(made)] = node
        node.meta.update(described(made))
        self._layouts[id(made)] = layout(made)
        self._held += made, made.untyped_storage()
        return made

    def _known(self, leaf: Any) -> Any:
        """A tensor that is a stand-in; of another one, which nothing given has gone into, that of a constant."""
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if id(leaf) in self._nodes:
            if self._layouts[id(leaf)] != layout(leaf):
                raise Refused("it gives a tensor another shape or other memory (set_(), resize_(), .data)")
            return leaf
        if id(leaf) in self._stand_ins:
            return self._stand_ins[id(leaf)]
        if type(leaf) not in (torch.Tensor, torch.nn.Parameter):
            raise Refused(f"it uses a {type(leaf).__name__} that the graph does not know")
        with _disable_current_modes():
            name, held = f"constant{len(self._held)}", leaf.detach().clone()
            constant = held.clone()
            made = self.fake.from_tensor(held, static_shapes=True)
        setattr(self.root, name, held)
        read = self.graph.get_attr(name)
        node = self.graph.call_function(_aten.clone.default, (read,))  # which may be written, or go out
        self._operations += [read, node]
        self._stands_for(made, node)
        self._constants[id(made)] = constant
        self.bounds.note_numbers(made, constant)
        self._held.append(leaf)
        self._stand_ins[id(leaf)] = made
        return made

    # -- constants -----------------------------------------------------------------------------------------------------

    def _constant(self, tensor: torch.Tensor) -> torch.Tensor | None:
        found = self._constants.get(id(tensor))
        return None if found is None or memory(tensor) in self._changed else found

    def _constants_of(self, func: Any, tensors: list[torch.Tensor]) -> list[torch.Tensor] | None:
        """The numbers of constants, if an operation has only such, and few."""
        found = []
        for tensor in tensors:
            constant = self._constant(tensor)
            if constant is None or constant.numel() > _MOST_CONSTANT:
                return None
            found.append(constant)
        return found

    def _computed(self, func: Any, args: Any, kwargs: Any, tensors: list[torch.Tensor], constants: list[Any]) -> Any:
        """What an operation gives for the numbers of constants."""
        found = dict(zip(map(id, tensors), constants))
        of = lambda leaf: found[id(leaf)] if isinstance(leaf, torch.Tensor) else leaf  # noqa: E731
        real_args, real_kwargs = tree_map(of, (args, kwargs))
        with _disable_current_modes():
            return func(*real_args, **real_kwargs)

    # -- what Python asks for ------------------------------------------------------------------------------------------

    def _number(self, tensor: torch.Tensor) -> Any:
        constant = self._constant(tensor)
        if constant is not None:
            return _item(constant)
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            raise Refused("Python asks for a number (float(), .item(), math) that depends on the arguments")
        low, top = self.bounds.of(tensor) or (0, 1)
        if low == top:
            return bool(low) if tensor.dtype is torch.bool else low
        node = self._nodes[id(tensor)]
        if len(self.conditions) >= _MOST_CONDITIONS:
            raise Refused(f"it asks for more than {_MOST_CONDITIONS} numbers that depend on the arguments")
        self._answer()
        number = _item(self._numbers[node])
        kept = self.graph.call_function(_aten.clone.default, (node,))  # it may be written later
        kept.meta.update(node.meta)
        self._operations.append(kept)
        self.conditions[kept] = kept, number
        return number

    def _is_equal(self, a: torch.Tensor, b: torch.Tensor) -> bool:
        with self:
            return a.shape == b.shape and bool(torch.eq(a, b).all())

    def _check_errors(self, info: torch.Tensor, name: str, *, is_matrix: bool = False) -> None:
        """What torch asks after a factorisation: that it succeeded."""
        with self:
            succeeded = bool(torch.eq(info, 0).all())
        if not succeeded:
            raise Refused(f"{name} has no result for this matrix")

    def _answer(self) -> None:
        """Compute all that is recorded so far, on copies of what is given."""
        with _disable_current_modes():
            for node, tensor in self._given:
                if node not in self._numbers:
                    self._numbers[node] = copied(tensor)
            for node in self._operations[self._answered :]:
                args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), self._numbers.__getitem__)
                if node.op == "get_attr":
                    made = getattr(self.root, str(node.target))
                else:
                    made = node.target(*args, **kwargs)  # type: ignore[operator]
                self._numbers[node] = made
                if isinstance(made, torch.Tensor) and not made._is_view():
                    self._bytes += made.untyped_storage().nbytes()
                    if self._bytes > _MOST_BYTES:
                        raise Refused("to answer what Python asks for takes too much memory")
        self._answered = len(self._operations)


def _item(tensor: torch.Tensor) -> Any:
    with _disable_current_modes():
        return tensor.item()
