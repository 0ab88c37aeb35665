"""What of torch is replaced: all of it stands here, with the reason and the upstream source.

A replacement is made of the original, which it calls. The tests hold the originals to their sources.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["OF_PROCESSES", "PATCHED", "is_applied", "original", "patch"]

_SOURCE = "https://github.com/pytorch/pytorch/blob/v2.13.0/torch"
_ASYNC = "torch._inductor.async_compile.AsyncCompile"
_DYNAMO = "torch._dynamo.variables.torch_function"

_GROUP = "/csrc/distributed/c10d/init.cpp"
_GROUPS = {  # the methods of torch's two classes of process groups that take tensors
    "torch.distributed.ProcessGroup": """
        _allgather_base _reduce_scatter_base all_gather_single all_gather_single_coalesced all_to_all_single allgather
        allgather_coalesced allgather_into_tensor_coalesced allreduce allreduce_coalesced alltoall alltoall_base
        broadcast gather recv recv_anysource reduce reduce_scatter reduce_scatter_single reduce_scatter_single_coalesced
        reduce_scatter_tensor_coalesced scatter send""",
    "torch._C._distributed_c10d.Backend": """
        _allgather_base _reduce_scatter_base allgather allgather_coalesced allreduce allreduce_coalesced alltoall
        alltoall_base broadcast gather recv recv_anysource reduce reduce_scatter scatter send""",
}
_COPIES = "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter"
_CALLS = "_invoke_remote_builtin _invoke_remote_torchscript _invoke_rpc_builtin _invoke_rpc_torchscript"

# What sends values to other processes and devices, and where it stands.
OF_PROCESSES: dict[str, str] = {
    **{f"{cls}.{name}": _GROUP for cls, names in _GROUPS.items() for name in names.split()},
    "torch.distributed._broadcast_coalesced": _GROUP,
    **{f"torch.distributed.rpc.api.{name}": "/csrc/distributed/rpc/init.cpp" for name in _CALLS.split()},
    **{f"torch.nn.parallel.comm.{name}": "/nn/parallel/comm.py" for name in _COPIES.split()},
    **{f"torch.cuda.comm.{name}": "/cuda/comm.py" for name in _COPIES.split()},
    "torch.Tensor._dtensor__new__": "/csrc/autograd/python_variable.cpp",
    "torch.distributed.tensor.DTensor.__new__": "/distributed/tensor/_api.py",
}

# The target, why it is replaced, and where it stands in torch 2.13.0.
PATCHED: dict[str, tuple[str, str]] = {
    f"{_DYNAMO}._flatten_vts": (
        "torch.compile looks for subclasses in lists only: torch.cat((x, y)) is a function of their values alone",
        f"{_SOURCE}/_dynamo/variables/torch_function.py",
    ),
    f"{_DYNAMO}.TensorWithTFOverrideVariable.call_torch_function": (
        "its errors do not say which function's rule could not be traced",
        f"{_SOURCE}/_dynamo/variables/torch_function.py",
    ),
    f"{_DYNAMO}.TensorWithTFOverrideVariable.call_method": (
        "it traces no method that a subclass has of its own (npdec._rules.direct)",
        f"{_SOURCE}/_dynamo/variables/torch_function.py",
    ),
    f"{_DYNAMO}.TensorWithTFOverrideVariable.var_getattr": (
        "as call_method",
        f"{_SOURCE}/_dynamo/variables/torch_function.py",
    ),
    f"{_DYNAMO}.TensorWithTFOverrideVariable.call_tree_map": (
        "tree_map takes a subclass for a leaf, though it is registered as a node",
        f"{_SOURCE}/_dynamo/variables/tensor.py",
    ),
    f"{_DYNAMO}.TensorWithTFOverrideVariable.call_tree_map_with_path_branch": (
        "as call_tree_map",
        f"{_SOURCE}/_dynamo/variables/tensor.py",
    ),
    "torch._functorch.vmap._process_batched_inputs": (
        "an axis that is counted from the back is that of the leaves, which have more axes",
        f"{_SOURCE}/_functorch/vmap.py",
    ),
    "torch._functorch.vmap._unwrap_batched": (
        "a result that is a tensor is taken for a leaf, though it is registered as a node",
        f"{_SOURCE}/_functorch/vmap.py",
    ),
    f"{_ASYNC}.cpp_pybinding": (
        "a kernel is a file, a process of the compiler and a library: most of their time goes into headers",
        f"{_SOURCE}/_inductor/async_compile.py",
    ),
    f"{_ASYNC}.wait": (
        "as cpp_pybinding",
        f"{_SOURCE}/_inductor/async_compile.py",
    ),
    "torch._inductor.codegen.cpp.KernelGroup.codegen_group": (
        "each array that a kernel makes has memory of torch's and is an argument, single numbers too",
        f"{_SOURCE}/_inductor/codegen/cpp.py",
    ),
    "torch._inductor.codegen.cpp.TilingSelect._select_tiling_indices": (
        "sums of rows of a table that are looked up take each number of a row by itself",
        f"{_SOURCE}/_inductor/codegen/cpp.py",
    ),
    "torch._inductor.codegen.cpp.CppScheduling.ready_to_flush": (
        "loops stand in one kernel until it has 500 arguments, and all of their results have memory of their own",
        f"{_SOURCE}/_inductor/codegen/cpp.py",
    ),
    "torch._inductor.codegen.wrapper.PythonWrapperCodegen.can_reuse": (
        "what has gone into a concatenation is written over while the concatenation is read",
        f"{_SOURCE}/_inductor/codegen/wrapper.py",
    ),
    "torch._inductor.codegen.common.DataTypePropagation.deduce_node_dtype_by_inputs": (
        "the dtype of a choice is promoted with that of its condition, which unsigned integers have no promotion with",
        f"{_SOURCE}/_inductor/codegen/common.py",
    ),
    "torch._inductor.fx_passes.reinplace.is_node_realized": (
        "each write into a part of an array is a copy of all of it: a table takes the square of its time",
        f"{_SOURCE}/_inductor/fx_passes/reinplace.py",
    ),
    "torch._inductor.scheduler.Scheduler.fusable_weak_dep": (
        "a loop that writes into memory is fused with one that reads it elsewhere, if that had been written before",
        f"{_SOURCE}/_inductor/scheduler.py",
    ),
    "torch._inductor.scheduler.Scheduler.fusion_prevent_too_many_reads_and_writes": (
        "loops are fused until one goes along all rows of a table at once, and waits for memory at each",
        f"{_SOURCE}/_inductor/scheduler.py",
    ),
    "torch.autograd.Function.apply": (
        "__torch_function__ does not see the call of an autograd Function",
        f"{_SOURCE}/autograd/function.py",
    ),
    "torch.jit.ScriptFunction.__call__": (
        "a function that torch.jit has compiled takes a subclass for a plain tensor",
        f"{_SOURCE}/csrc/jit/python/script_init.cpp",
    ),
    **{
        target: ("asks nobody about its tensors, and leaves their contributions behind", f"{_SOURCE}{place}")
        for target, place in OF_PROCESSES.items()
    },
}

_originals: dict[str, Any] = {}


def patch(target: str, make: Callable[[Any], Any]) -> None:
    """Replace what stands at the dotted name by what is made of it. Raises RuntimeError for what is not listed, or is
    replaced already."""
    if target not in PATCHED or target in _originals:
        raise RuntimeError(f"{target} is {'replaced already' if target in PATCHED else 'not listed in PATCHED'}")
    owner, name = _owner(target)
    _originals[target] = found = getattr(owner, name)
    setattr(owner, name, make(found))


def is_applied(target: str) -> bool:
    """Whether the target is replaced."""
    return target in _originals


def original(target: str) -> Any:
    """What torch itself has there."""
    if target in _originals:
        return _originals[target]
    owner, name = _owner(target)
    return getattr(owner, name)


def _owner(target: str) -> tuple[Any, str]:
    place, _, name = target.rpartition(".")
    try:
        return importlib.import_module(place), name
    except ModuleNotFoundError:
        module, _, cls = place.rpartition(".")
        return getattr(importlib.import_module(module), cls), name
