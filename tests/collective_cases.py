"""Every function of torch.distributed and torch.nn.parallel that takes tensors, called in turns with one of its tensors
decomposed: `python tests/collective_cases.py FILE` writes what each did. One process is a group here: what is refused
is refused before anything is sent, and what a process sends to itself it receives."""

from __future__ import annotations

import inspect
import json
import re
import sys
import tempfile
import types
import warnings
from pathlib import Path

import torch
import torch.cuda.comm
import torch.distributed._functional_collectives
import torch.distributed.fsdp
import torch.distributed.nn.functional
import torch.distributed.tensor.experimental
import torch.distributed.tensor.parallel
from torch import distributed
from torch._C import _distributed_c10d as bound

import npdec as np
from npdec._decomposed.tensor import DecomposedTensor

# Modules, and the arguments of their functions, one of which takes each `t()` in turns: a tensor of 4 elements. What
# follows a comma in a name says in which way it is called.
CALLS = {
    "distributed": """
        all_gather: [t()], t()
        all_gather_coalesced: [[t()]], [t()]
        all_gather_into_tensor: t(), t()
        all_gather_object: [None], t()
        all_gather_single: t(), t()
        all_reduce: t()
        all_reduce_coalesced: [t()]
        all_to_all: [t()], [t()]
        all_to_all_single: t(), t()
        batch_isend_irecv: [P2POp(isend, t(), 0), P2POp(irecv, t(), 0)]
        broadcast: t(), 0
        broadcast_object_list: [t()], 0
        gather: t(), [t()]
        gather_object: {"a": t()}, [None]
        irecv: t(), 0
        isend: t(), 0
        recv: t(), 0
        reduce: t(), 0
        reduce_scatter: t(), [t()]
        reduce_scatter_single: t(), t()
        reduce_scatter_tensor: t(), t()
        scatter: t(), [t()]
        scatter_object_list: [None], [(t(), None)]
        send: t(), 0
        _broadcast_coalesced: w, [t()], 100, 0
    """,
    "distributed.nn.functional": """
        all_gather: t()
        all_reduce: t()
        all_to_all: [t()], [t()]
        all_to_all_single: t(), t()
        broadcast: t(), 0
        gather: t()
        reduce: t(), 0
        reduce_scatter: t(), [t()]
        scatter: [t()]
    """,
    "distributed._functional_collectives": """
        all_gather_inplace: [t()], t(), w
        all_gather_into_tensor_coalesced: [t()], w
        all_gather_single: t(), 0, w
        all_gather_single_autograd: t(), 0, w
        all_gather_single_coalesced: [t()], w
        all_gather_tensor: t(), 0, w
        all_gather_tensor_autograd: t(), 0, w
        all_gather_tensor_inplace: t(), t(), w
        all_reduce: t(), "sum", w
        all_reduce_coalesced: [t()], "sum", w
        all_reduce_inplace: t(), "sum", w
        all_to_all_inplace: t(), t(), None, None, w
        all_to_all_single: t(), None, None, w
        all_to_all_single_autograd: t(), [4], [4], w
        batch_p2p_ops_inplace: ["isend"], [0], [0], [t()], w.group_name
        broadcast: t(), 0, w
        irecv_inplace: t(), 0, group=w
        isend_inplace: t(), 0, group=w
        permute_tensor: t(), [0], w
        reduce_scatter_single: t(), "sum", 0, w
        reduce_scatter_single_autograd: t(), "sum", 0, w
        reduce_scatter_single_coalesced: [t()], "sum", [0], w
        reduce_scatter_tensor: t(), "sum", 0, w
        reduce_scatter_tensor_autograd: t(), "sum", 0, w
        reduce_scatter_tensor_coalesced: [t()], "sum", [0], w
        reduce_scatter_tensor_inplace: t(), t(), "sum", w
        wait_tensor: t()
    """,
    "distributed.tensor": """
        distribute_tensor: t(), mesh, [Shard(0)]
        distribute_tensor, of this rank: t(), mesh, [Replicate()], src_data_rank=None
        distribute_module: buffered(t()), mesh
        DTensor.from_local: t(), mesh
        DTensor: t(), distribute_tensor(torch.ones(4), mesh)._spec, requires_grad=False
    """,
    "distributed.tensor.experimental": """
        local_map: lambda a: a * 2, out_placements=None).__call__(t()
        context_parallel: mesh, buffers=[t()], buffer_seq_dims=[0]).__enter__(
    """,
    "distributed.tensor.parallel": """
        parallelize_module: linear(), mesh, ColwiseParallel())(t()
    """,
    "distributed.fsdp": """
        fully_shard: linear(), mesh=mesh)(t()
        FullyShardedDataParallel: linear(), device_id=torch.device("cpu"))(t()
    """,
    "distributed.rpc": """
        rpc_sync: "self", twice, (t(),)
        rpc_sync, a function of torch's: "self", torch.neg, (t(),)
        rpc_async: "self", twice, (t(),)).wait(
        rpc_async, a function of torch's: "self", torch.neg, (t(),)
        remote: "self", twice, (), {"a": t()}).to_here(
        remote, a function of torch's: "self", torch.neg, (t(),)
    """,
    "nn.parallel": """
        data_parallel: linear(), t(), [0, 1]
        gather: [t(), t()], 0
        parallel_apply: [linear()], [t()]
        replicate: buffered(t()), [0]
        scatter: {"a": (t(),)}, [0]
        DataParallel: linear())(t()
        DistributedDataParallel: linear())(t()
        DistributedDataParallel, unused: linear(), find_unused_parameters=True)(t()
        DistributedDataParallel, a buffer: buffered(t())
    """,
    "ops.c10d": """
        allreduce_: [t()], w, sum_, None
        broadcast_: [t()], w, 0, 0
    """,
    "ops._c10d_functional": """
        all_reduce: t(), "sum", w.group_name
        all_reduce_.default: t(), "sum", w.group_name
        all_reduce_coalesced.default: [t()], "sum", w.group_name
    """,
}
COPIES = """
        broadcast: t(), [0]
        broadcast_coalesced: [t()], [0]
        gather: [t(), t()], 0, "cpu"
        reduce_add: [t(), t()], 0
        reduce_add_coalesced: [[t()], [t()]], 0
        scatter: t(), [0]
"""
GROUPS = """
        _allgather_base: t(), t(), AllgatherOptions()
        _reduce_scatter_base: t(), t(), ReduceScatterOptions()
        all_gather_single: t(), t()
        all_gather_single_coalesced: [t()], [t()]
        all_to_all_single: t(), t(), [4], [4]
        allgather: [[t()]], [t()]
        allgather_coalesced: [[t()]], [t()]
        allgather_into_tensor_coalesced: [t()], [t()]
        allreduce: [t()]
        allreduce_coalesced: [t()]
        alltoall: [t()], [t()]
        alltoall_base: t(), t(), [4], [4]
        broadcast: [t()], BroadcastOptions()
        gather: [[t()]], [t()], GatherOptions()
        recv: [t()], 0, 0
        recv_anysource: [t()], 0
        reduce: [t()], ReduceOptions()
        reduce_scatter: [t()], [[t()]]
        reduce_scatter_single: t(), t()
        reduce_scatter_single_coalesced: [t()], [t()]
        reduce_scatter_tensor_coalesced: [t()], [t()]
        scatter: [t()], [[t()]], ScatterOptions()
        send: [t()], 0, 0
"""
BOUND = {"ProcessGroup": distributed.ProcessGroup, "Backend": bound.Backend}
# Under these names functions take tensors, or what holds some, where they are not annotated.
NAMES = re.compile(
    r"(tensors?|inputs?|outputs?|obj|.*object_list|.*_tensors?|.*tensor_lists?|input_list|buffers|p2p_op_list|modules?"
    r"|network|func)$"
)
ELSEWHERE = {
    "distributed.send_object_list", "distributed.recv_object_list",  # of two processes: tests/mesh_cases.py
    "distributed.rpc.new_method", "distributed.fsdp.register_fsdp_forward_method", "distributed.fsdp.share_comm_ctx",
}  # fmt: skip


def rows():
    """The names of the calls and what they evaluate."""
    table = dict(CALLS) | {"nn.parallel.comm": COPIES, "cuda.comm": COPIES, "ProcessGroup": GROUPS, "Backend": GROUPS}
    found = {}
    for place, text in table.items():
        for line in text.strip().splitlines():
            name, _, args = line.strip().partition(": ")
            function = name.partition(",")[0]
            if place not in BOUND:
                found[f"{place}.{name}"] = f"torch.{place}.{function}({args})"
            elif hasattr(BOUND[place], name):
                found[f"{place}.{name}"] = f"{'w' if place == 'ProcessGroup' else 'backend'}.{name}({args})"
    return found


def taking_tensors():
    """The names of all public functions whose arguments may be or hold tensors."""
    found = set()
    for place in ("nn.parallel.comm", *CALLS):
        module = torch
        for part in place.split("."):
            module = getattr(module, part)
        for name in getattr(module, "__all__", None) or [name for name in vars(module) if name[0] != "_"]:
            function = vars(module).get(name)
            if not isinstance(function, types.FunctionType) or re.search("_(backward|setup_context)$", name):
                continue
            home = function.__module__
            if not home.startswith(f"torch.{place.split('.')[0]}.") or (
                place == "distributed._functional_collectives" and home != module.__name__
            ):
                continue
            parameters = inspect.signature(function).parameters.values()
            if any("Tensor" in str(one.annotation) or NAMES.match(one.name) for one in parameters):
                found.add(f"{place}.{name}")
    for place, cls in BOUND.items():
        for name, method in vars(cls).items():
            if re.search(r"\(.*torch\.Tensor.*\) ->", method.__doc__ or ""):
                found.add(f"{place}.{name}")
    return found


def twice(a):
    return a * 2


def linear():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 4)


def buffered(tensor):
    module = linear()
    module.register_buffer("mean", tensor)
    return module


class Calls:
    """A call, with one of its tensors in place of others."""

    def __init__(self, scope, text):
        self.scope, self.text = scope, text

    def __call__(self, which, tensor):
        """What is returned and what was given, and how many tensors were."""
        given = []

        def t():
            given.append(tensor if len(given) == which else torch.arange(1.0, 5.0))
            return given[-1]

        held = []
        scope = self.scope | {"t": t}
        result = eval(re.sub(r"(\[None\])", "held(\\1)", self.text), scope | {"held": lambda x: held.append(x) or x})
        return tensors_of([result, given, held])


def tensors_of(found):
    if isinstance(found, torch.Tensor):
        return [found.to_local() if isinstance(found, distributed.tensor.DTensor) else found]
    if isinstance(found, dict):
        return tensors_of(list(found.values()))
    return [t for one in found for t in tensors_of(one)] if isinstance(found, (list, tuple)) else []


def outcome(call, which):
    """What came of the tensor in the place `which`, and how many places there are."""
    x, start = torch.tensor([3.0, -1.0, 2.0, 5.0]), torch.tensor([0.5, 1.0, -2.0, 0.0])
    marked = np.decompose(x, baseline=start)
    try:
        made = call(which, marked)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if re.match("NotImplementedError: torch.*what other processes send", said):
            return "refused"
        return "as plain" if error_of(call, which, x) == said else said
    value, residual = call(which, x), call(which, start)
    parts = [call(which, start + one) for one in marked.components]
    for i, one in enumerate(made):
        if type(one) is not DecomposedTensor:
            if not torch.equal(value[i], residual[i]):
                return f"lost: {one}"
            continue
        expected = torch.stack([part[i] - residual[i] for part in parts])
        for a, b in ((one.value, value[i]), (one.residual, residual[i]), (one.components, expected)):
            torch.testing.assert_close(a, b)
    return "carried"


def error_of(call, which, tensor):
    try:
        call(which, tensor)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main():
    warnings.simplefilter("ignore")
    np.decompose(torch.ones(1))
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    w = distributed.group.WORLD
    given = {"w": w, "twice": twice, "torch": torch, "linear": linear, "buffered": buffered}
    given |= {"backend": w._get_backend(torch.device("cpu")), "sum_": torch.classes.c10d.ReduceOp()}
    given["mesh"] = distributed.device_mesh.init_device_mesh("cpu", (1,))
    scope = {}
    for module in (bound, distributed, distributed.tensor, distributed.tensor.parallel):
        scope |= vars(module)
    scope |= given
    with tempfile.TemporaryDirectory() as folder:
        there = distributed.rpc.TensorPipeRpcBackendOptions(init_method=f"file://{folder}/rendezvous")
        distributed.rpc.init_rpc("self", rank=0, world_size=1, rpc_backend_options=there)
        found = {}
        for name, text in rows().items():
            call = Calls(scope, text)
            found[name] = [outcome(call, which) for which in range(len(re.findall(r"\bt\(\)", text)))]
        distributed.rpc.shutdown()
    unknown = taking_tensors() - found.keys() - ELSEWHERE
    Path(sys.argv[1]).write_text(json.dumps({"unknown": sorted(unknown), "found": found}))


if __name__ == "__main__":
    main()
