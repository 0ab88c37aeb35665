"""One file of C++ for all kernels of a graph of np.jit: a compiler takes longer to read the headers than for a kernel.

inductor makes a file, a process of the compiler and a library of each kernel. `joined` is the context in which it puts
off what it would compile, until it waits for it; then as many files are compiled as it has processes for. Tables that
are written part by part are written in place there.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import torch

from npdec._torch.graph_pass import shared
from npdec._torch.inductor_fusion import MOST_STREAMS, few_streams
from npdec._torch.inductor_stack import on_stack
from npdec._torch.patches import is_applied, patch

__all__ = ["joined"]

_PLACE = "torch._inductor.async_compile.AsyncCompile"
_ENTRY = re.compile(r'\s*(#include[^\n]*\n\s*)*extern "C"[^\n]*?\bkernel\(')  # how kernels begin that need nothing else
# Vectors of booleans that are chosen or not, which inductor writes as of another width than what is put in their place:
# https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_inductor/codegen/cpp.py#L1777
_MIXED = re.compile(r"\? (tmp\d+\(\)) : at::vec::VecMask<(\w+,\d+)>::from\(")
_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
_LEAST = 8000  # characters of a file: more files are not worth their headers
_MANY = 4  # writes into a table
_LARGE = 1024  # elements of a table
_MOST_BYTES = 1 << 20  # that the loops of one kernel write: what comes after it may be given their memory

_joining: ContextVar[bool] = ContextVar("npdec_joining", default=False)


class _Later:
    """A kernel that is not compiled yet."""

    def __init__(self, types: list[str], source: str) -> None:
        self.types, self.source = types, source


@contextlib.contextmanager
def joined() -> Iterator[None]:
    """Within the context the kernels of a graph are compiled together."""
    for place, made in _PATCHES.items():
        if not is_applied(place):
            patch(place, made)
    from torch._inductor import config

    token = _joining.set(True)
    try:
        passes = config.post_grad_custom_pre_pass or shared()
        with config.patch(post_grad_custom_pre_pass=passes, max_fusion_unique_io_buffers=MOST_STREAMS):
            yield
    finally:
        _joining.reset(token)


def _put_off(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def cpp_pybinding(self: Any, argtypes: list[str], source_code: str) -> Any:
        source_code = _MIXED.sub(r"? \1.template cast<\2>() : at::vec::VecMask<\2>::from(", source_code)
        if _joining.get() and _ENTRY.match(source_code):
            return _Later(argtypes, source_code)
        return original(self, argtypes, source_code)

    return cpp_pybinding


def _compiled_before(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wait(self: Any, scope: dict[str, Any]) -> None:
        later = [name for name, found in scope.items() if isinstance(found, _Later)]
        files = [(names, _loaded(self, [scope[name] for name in names])) for names in _parted(scope, later)]
        original(self, scope)
        for names, functions in files:
            scope.update(zip(names, functions()(), strict=True))

    return wait


def _realized(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def is_node_realized(node: Any) -> bool:
        return original(node) or (_joining.get() and _is_table(node))

    return is_node_realized


def _is_table(node: Any) -> bool:
    """Whether a node is large, and one of many states of a table, each of which differs in a small part."""
    users = [user for user in node.users if _scatters(user) and user.args[0] is node]
    if not any(_is_small(one, node) for one in (node, *users) if _scatters(one)):
        return False
    count, last = len(users), node
    while _scatters(last) and count < _MANY:
        count, last = count + 1, last.args[0]
    while users and count < _MANY:
        users = [user for user in users[0].users if _scatters(user) and user.args[0] is users[0]]
        count += len(users)
    return count >= _MANY


def _scatters(node: Any) -> bool:
    return getattr(node.target, "__name__", "") == "_generalized_scatter"


def _is_small(scatter: Any, table: Any) -> bool:
    size = table.meta["val"].numel()
    return size >= _LARGE and scatter.args[1].meta["val"].numel() * 4 <= size


def _full(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def ready_to_flush(self: Any) -> Any:
        return original(self) or (_joining.get() and _written(self.kernel_group.args) >= _MOST_BYTES)

    return ready_to_flush


def _written(args: Any) -> int:
    """Bytes of what the loops of a kernel write."""
    from torch._inductor.virtualized import V

    found = [V.graph.try_get_buffer(name) for name in args.output_buffers]
    return sum(int(one.get_numel()) * one.get_dtype().itemsize for one in found if one is not None)


def _apart(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def fusable_weak_dep(self: Any, weak_dep: Any, node1: Any, node2: Any) -> Any:
        return original(self, weak_dep, node1, node2) and not (
            _joining.get() and _reads_elsewhere(self.mutation_real_name, weak_dep.mutating_buf, node1, node2)
        )

    return fusable_weak_dep


def _reads_elsewhere(real: dict[str, str], mutating: str, reader: Any, writer: Any) -> bool:
    """Whether one loop reads other elements of a memory than another writes. Each state of the memory has a name: torch
    looks at the reads of the first one only."""
    from torch._inductor.dependencies import MemoryDep

    (write,) = [write for write in writer.read_writes.writes if write.name == mutating]
    name = real[mutating]
    reads = [read for read in reader.read_writes.reads if real.get(read.name, read.name) == name]
    return not all(
        isinstance(read, MemoryDep) and (read.index, read.size) == (write.index, write.size) for read in reads
    )


def _owned(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def can_reuse(self: Any, input_buffer: Any, output_buffer: Any = None) -> Any:
        return original(self, input_buffer, output_buffer) and not (_joining.get() and _is_part(input_buffer))

    return can_reuse


def _is_part(buffer: Any) -> bool:
    """Whether a buffer is a part of what a concatenation makes. torch gives its memory away when nobody reads the part
    any more, though the whole is read: https://github.com/pytorch/pytorch/issues/100314 was another case of it."""
    from torch._inductor import ir

    node = buffer if isinstance(buffer, ir.Buffer) else buffer.node  # of the scheduler, or what it stands for
    return isinstance(node, ir.Buffer) and isinstance(node.layout, ir.NonOwningLayout)


def _tiled(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _select_tiling_indices(self: Any, fn_list: Any, var_sizes_list: Any, tiling_factor: Any) -> Any:
        found = original(self, fn_list, var_sizes_list, tiling_factor)
        if not _joining.get() or len(found) != 1:
            return found
        return _along_gathered(fn_list, var_sizes_list, tiling_factor, found)

    return _select_tiling_indices


def _along_gathered(fn_list: Any, var_sizes_list: Any, count: int, found: list[int]) -> list[int]:
    """The axis that vectors go along, if along the one that was found each number of a table is looked up by itself:
    another one, along which all that is read lies together or is one number, if there is one."""
    from torch._inductor import dependencies
    from torch._inductor.codegen.cpp import stride_at_vec_range

    indices = []
    for function, sizes in zip(fn_list, var_sizes_list):
        touched = dependencies.extract_read_writes(function, *sizes)
        indices += [dep.index for dep in (*touched.reads, *touched.writes)]
    is_axis = lambda symbol: re.fullmatch(r"d\d+", symbol.name)  # noqa: E731
    gathers = [index for index in indices if not all(map(is_axis, index.free_symbols))]
    axes = {symbol for index in gathers for symbol in index.free_symbols if is_axis(symbol)}
    lengths = [*max(var_sizes_list, key=lambda sizes: len(sizes[1]))]
    lengths = [length for group in lengths for length in group]
    for axis in sorted(axes, key=lambda symbol: symbol.name, reverse=True):
        place = int(axis.name[1:])
        if place == found[0] or place >= len(lengths) or lengths[place] < count:
            continue
        strides = [stride_at_vec_range(index, axis, count) for index in indices if axis in index.free_symbols]
        if all(axis in index.free_symbols for index in gathers) and all(stride == 1 for stride in strides):
            return [place]
    return found


def _stacked(original: Callable[..., Any]) -> Callable[..., Any]:
    return on_stack(original, _joining.get)


def _with_few_streams(original: Callable[..., Any]) -> Callable[..., Any]:
    return few_streams(original, _joining.get)


def _chosen(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def deduce_node_dtype_by_inputs(self: Any, node: Any) -> Any:
        if _joining.get() and node.target == "where":
            found = [_dtype(one) for one in node.args[2:]]
            if found[0] is found[1] and found[0] in _UNSIGNED:
                return found[0]
        return original(self, node)

    return deduce_node_dtype_by_inputs


def _dtype(node: Any) -> Any:
    """The dtype that is known of a node of a kernel."""
    from torch._inductor.codegen.common import OptimizationContext

    known = getattr(node, "meta", {}).get(OptimizationContext.key)
    return None if known is None else known.dtype


_PATCHES = {
    "torch._inductor.codegen.common.DataTypePropagation.deduce_node_dtype_by_inputs": _chosen,
    "torch._inductor.codegen.wrapper.PythonWrapperCodegen.can_reuse": _owned,
    "torch._inductor.codegen.cpp.KernelGroup.codegen_group": _stacked,
    "torch._inductor.codegen.cpp.TilingSelect._select_tiling_indices": _tiled,
    "torch._inductor.scheduler.Scheduler.fusable_weak_dep": _apart,
    "torch._inductor.scheduler.Scheduler.fusion_prevent_too_many_reads_and_writes": _with_few_streams,
    "torch._inductor.codegen.cpp.CppScheduling.ready_to_flush": _full,
    f"{_PLACE}.wait": _compiled_before,
    f"{_PLACE}.cpp_pybinding": _put_off,
    "torch._inductor.fx_passes.reinplace.is_node_realized": _realized,
}


def _parted(scope: dict[str, Any], names: list[str]) -> list[list[str]]:
    """The names by files of about the same length, as many as are compiled at once."""
    from torch._inductor.async_compile import get_compile_threads

    length = sum(len(scope[name].source) for name in names)
    count = max(1, min(get_compile_threads(), length // _LEAST))
    parts: list[list[str]] = [[] for _ in range(count)]
    seen = 0
    for name in names:
        parts[seen * count // length].append(name)
        seen += len(scope[name].source)
    return [part for part in parts if part]


def _loaded(compiler: Any, kernels: list[_Later]) -> Any:
    """What waits until one file of these kernels is compiled, and gives the function that returns its functions."""
    from torch._inductor.async_compile import get_compile_threads
    from torch._inductor.codecache import CppPythonBindingsCodeCache

    sources = [_ENTRY.sub(lambda found, i=i: f"{found[0][:-1]}_{i}(", kernel.source, count=1)  # type: ignore[misc]
               for i, kernel in enumerate(kernels)]  # fmt: skip
    functions = [_FUNCTION.format(i=i, count=len(kernel.types), args=_arguments(kernel.types))
                 for i, kernel in enumerate(kernels)]  # fmt: skip
    rows = "".join(f'{{"kernel_{i}", kernel_{i}_py, METH_VARARGS, ""}}, ' for i in range(len(kernels)))
    table = _TABLE.format(rows=rows, count=len(kernels))
    prefix = _MASKS if any("VecMask" in source for source in sources) else ""
    # inductor formats this text, and puts it where its functions for the arguments of kernels are known.
    text = "\n".join([*functions, table]).replace("{", "{{").replace("}", "}}")
    # `kernel` is the name of a file's one function: here it gives all that the file has.
    made = {"extra_parse_arg": text, "call_entry_function": "return kernels();"}
    cache: Any = type("JoinedBindings", (CppPythonBindingsCodeCache,), made)
    submit = compiler.submit if get_compile_threads() > 1 else None
    return cache.load_pybinding_async([], prefix + "\n".join(sources), submit_fn=submit)


def _arguments(types: list[str]) -> str:
    return ", ".join(f"parse_arg<{kind.replace('const ', '')}>(args, {n})" for n, kind in enumerate(types))


_FUNCTION = """
static PyObject* kernel_{i}_py(PyObject* self, PyObject* args) {{
    if (PyTuple_GET_SIZE(args) != {count}) {{
        PyErr_SetString(PyExc_RuntimeError, "requires {count} args");
        return nullptr;
    }}
    try {{
        kernel_{i}({args});
    }} catch (std::exception const& error) {{
        PyErr_SetString(PyExc_RuntimeError, error.what());
        return nullptr;
    }}
    Py_RETURN_NONE;
}}
"""

_TABLE = """
static PyMethodDef kernel_table[] = {{ {rows} }};

static PyObject* kernels() {{
    PyObject* made = PyTuple_New({count});
    for (int i = 0; made && i < {count}; i++) {{
        PyObject* function = PyCFunction_New(&kernel_table[i], nullptr);
        if (!function) {{
            Py_DECREF(made);
            return nullptr;
        }}
        PyTuple_SET_ITEM(made, i, function);
    }}
    return made;
}}
"""

# How inductor's vectors of booleans are loaded and stored. torch's headers go through an array, element by element, of
# which gcc makes no vectors: https://github.com/pytorch/pytorch/blob/v2.13.0/aten/src/ATen/cpu/vec/vec_mask.h
_MASKS = """
#include <torch/csrc/inductor/cpp_prefix.h>
#if INDUCTOR_USE_VECTOR_TYPES() && defined(__GNUC__)
#include <cstring>
namespace at::vec {
inline namespace CPU_CAPABILITY {

template <int count>
using bytes_of __attribute__((vector_size(count))) = int8_t;
template <typename T, int count>
using lanes_of __attribute__((vector_size(count * sizeof(T)))) = int_same_size_t<T>;

template <>
template <>
inline VecMask<float, 1> VecMask<float, 1>::from<const bool>(const bool* b, int count) {
  constexpr int lanes = size();
  bytes_of<lanes> read = {};
  if (count == lanes) {
    std::memcpy(&read, b, lanes);
  } else {
    std::memcpy(&read, b, count);
  }
  lanes_of<float, lanes> mask = __builtin_convertvector(read != 0, lanes_of<float, lanes>);
  return VectorizedN<float, 1>(Vectorized<float>::loadu(&mask));
}

template <>
template <>
inline VecMask<float, 1> VecMask<float, 1>::from<bool>(bool* b, int count) {
  return from(static_cast<const bool*>(b), count);
}

template <typename T, int N>
constexpr bool is_wide = !std::is_same_v<T, bool> && VecMask<T, N>::size() <= Vectorized<bool>::size();

template <typename T, int N>
struct VecMaskTo<bool, 1, T, N, std::enable_if_t<is_wide<T, N>>> {
  static inline VecMask<bool, 1> apply(const VecMask<T, N>& mask) {
    constexpr int lanes = Vectorized<T>::size();
    __at_align__ bool made[Vectorized<bool>::size()] = {};
    for (int i = 0; i < N; i++) {
      lanes_of<T, lanes> wide;
      mask[i].store(&wide);
      bytes_of<lanes> narrow = __builtin_convertvector(wide, bytes_of<lanes>) & 1;
      std::memcpy(made + i * lanes, &narrow, lanes);
    }
    return VectorizedN<bool, 1>(Vectorized<bool>::loadu(made));
  }
};

}  // namespace CPU_CAPABILITY
}  // namespace at::vec
#endif
"""
