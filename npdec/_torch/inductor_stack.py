"""Small arrays that one kernel makes, and nobody else reads, on that kernel's stack.

inductor asks torch for the memory of each of them in every call, and hands it to the kernel as an argument, which takes
longer than most of them take to compute: a recurrence of single numbers has hundreds. The parts that an array is put
together of are tensors and arguments as well; here the kernel finds them in the whole.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["on_stack"]

_MOST_BYTES = 2048  # of one array
_MOST_TOGETHER = 1 << 17  # of a kernel's arrays: threads have stacks of half a megabyte on some systems


def on_stack(original: Callable[..., Any], applies: Callable[[], bool]) -> Callable[..., Any]:
    """`KernelGroup.codegen_group` that declares small arrays in the kernel, where `applies()` says so."""

    @functools.wraps(original)
    def codegen_group(self: Any, name: str | None = None) -> Any:
        if applies() and self.scheduled_nodes:
            from torch._inductor.codegen.cpp import BracesBuffer

            self.stack.close()  # of what stands around the loops, which ends here
            loops = self.loops_code.getvalue()  # stores to what is declared removed later would be left out
            code = BracesBuffer()
            for line in _Declarations(self.args, self.scheduled_nodes).lines():
                code.writeline(line)
            code.splice(loops)
            self.loops_code = code
        return original(self, name)

    return codegen_group


class _Declarations:
    """What of the arguments of a kernel is declared in it instead."""

    def __init__(self, args: Any, nodes: Any) -> None:
        from torch._inductor.virtualized import V

        graph: Any = V.graph
        self.args, self.graph, self.scheduler = args, graph, graph.scheduler
        self.own = {one.get_name() for node in nodes for one in node.get_nodes()}
        self.room = _MOST_TOGETHER

    def lines(self) -> list[str]:
        """The declarations. What they declare is no argument any more."""
        found = []
        for whole, parts in self._wholes().items():
            size, count = self._size([whole])
            if size <= min(_MOST_BYTES, self.room) and self._has_all(whole, parts):
                found.append(self._declared(whole, count, size))
                inner, read = whole, self.args.input_buffers.pop(whole, None)
                self.graph.removed_buffers.add(whole)
                if read is not None:
                    found.append(f"auto* {read} = {inner};")
            else:
                inner = self.args.output(whole)
            for part, offset in parts:
                found.append(f"auto* {self.args.output_buffers[part]} = {inner} + {offset};")
                self._remove([part])
        for size, count, inner, names in sorted(self._alone()):
            if size > min(_MOST_BYTES, self.room):
                break
            found.append(self._declared(inner, count, size, names[0]))
            called = {self.args.input_buffers.get(name) for name in names}
            called |= {self.args.output_buffers.get(name) for name in names}
            found += [f"auto* {one} = {inner};" for one in sorted(map(str, called - {None, inner})) if "ptr" in one]
            self._remove(names)
        self._forget_views()
        return found

    def _declared(self, inner: str, count: int, size: int, name: str | None = None) -> str:
        from torch._inductor.codegen.cpp_utils import DTYPE_TO_CPP

        self.room -= size
        return f"alignas(64) {DTYPE_TO_CPP[self.graph.get_dtype(name or inner)]} {inner}[{count}];"

    def _remove(self, names: list[str]) -> None:
        from torch._inductor.codegen.common import REMOVED

        for name in names:
            self.args.input_buffers.pop(name, None)
            for held in (self.args.output_buffers, self.args.inplace_buffers):
                if name in held:
                    held[name] = REMOVED
            self.graph.removed_buffers.add(name)

    def _forget_views(self) -> None:
        """Drop the lines that make tensors of the parts of a whole."""
        from torch._inductor.codegen.wrapper import ReinterpretLine

        lines = self.graph.wrapper_code.lines
        gone = self.graph.removed_buffers
        lines[:] = [one for one in lines if not (isinstance(one, ReinterpretLine) and one.reused_as.get_name() in gone)]

    def _size(self, names: list[str]) -> tuple[int, int]:
        """Bytes and elements of a memory."""
        of = self.graph.get_allocation_storage_size
        count = max(int(of(self.graph.get_buffer(name))) for name in names)
        return count * self.graph.get_dtype(names[0]).itemsize, count

    def _wholes(self) -> dict[str, list[tuple[str, int]]]:
        """By whole: the parts that this kernel writes, and where they begin."""
        from torch._inductor import ir

        found: dict[str, list[tuple[str, int]]] = {}
        for name, inner in self.args.output_buffers.items():
            if not isinstance(inner, str) or name in self.args.inplace_buffers or not self._is_made_within(name):
                continue
            layout: Any = self.graph.get_buffer(name).get_layout()
            if type(layout) is not ir.NonOwningLayout:
                continue
            view: Any = layout.view
            whole = getattr(view.data, "data", None)
            if not isinstance(whole, ir.ConcatKernel) or type(whole.get_layout()) is not ir.FixedLayout:
                continue
            made = self.scheduler.name_to_buf[whole.get_name()].defining_op_name()
            if whole.get_layout().device.type == "cpu" and self._is_read_within(name, made):
                found.setdefault(whole.get_name(), []).append((name, int(view.layout.offset)))
        return found

    def _has_all(self, whole: str, parts: list[tuple[str, int]]) -> bool:
        """Whether these parts are all of a whole that this kernel alone reads."""
        made = self.scheduler.name_to_buf[whole].defining_op
        if not self._is_read_within(whole, made.get_name()):
            return False
        return {dep.name for dep in made.read_writes.reads} == {name for name, _ in parts}

    def _alone(self) -> Iterator[tuple[int, int, str, list[str]]]:
        """Bytes, elements, and the names, of what lies by itself and may be on the stack."""
        for inner, names in _memories(self.args).items():
            if len({self.graph.get_dtype(name) for name in names}) == 1 and all(map(self._is_own, names)):
                yield *self._size(names), inner, names

    def _is_own(self, name: str) -> bool:
        """Whether an array is made here, has memory of its own, and is read by nobody else."""
        from torch._inductor import ir

        if not self._is_made_within(name):
            return False
        layout = self.graph.get_buffer(name).get_layout()
        return type(layout) is ir.FixedLayout and layout.device.type == "cpu" and self._is_read_within(name)

    def _is_made_within(self, name: str) -> bool:
        from torch._inductor import ir

        made = self.scheduler.name_to_buf.get(name)
        return made is not None and made.defining_op_name() in self.own and isinstance(made.node, ir.ComputedBuffer)

    def _is_read_within(self, name: str, joining: str = "") -> bool:
        """Whether the operations of this kernel are the only ones that use an array, or a whole and its parts beside
        what joins them: torch names the users of all of these for each."""
        if name in self.graph.get_output_names():
            return False
        states = [name, *[state for state, real in self.scheduler.mutation_real_name.items() if real == name]]
        users = [user.node for state in states for user in self.scheduler.name_to_buf[state].users]
        return all(self._is_within(user, name, joining) for user in users)

    def _is_within(self, user: Any, name: str, joining: str) -> bool:
        if hasattr(user, "get_nodes") and self.own.issuperset(one.get_name() for one in user.get_nodes()):
            return True
        if not joining:
            return False
        reads = user.read_writes.reads if hasattr(user, "read_writes") else ()  # a result of the graph has none
        return user.get_name() == joining or not any(dep.name == name for dep in reads)


def _memories(args: Any) -> dict[str, list[str]]:
    """What a kernel writes: names in the kernel, and of the arrays that lie there one after the other."""
    found: dict[str, list[str]] = {}
    for name, inplaced in args.inplace_buffers.items():
        if hasattr(inplaced, "inner_name"):
            found.setdefault(inplaced.inner_name, []).append(name)
    for name, inner in args.output_buffers.items():
        if isinstance(inner, str) and name not in args.inplace_buffers:
            found[inner] = [name]
    return found
