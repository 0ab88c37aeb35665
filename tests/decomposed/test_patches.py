"""What npdec replaces in torch is still what it was when the replacement was written."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from npdec._torch import patches

PACKAGE = Path(__file__).parents[2] / "npdec"
TESTED = "2.13.0"

# The first digits of the SHA-256 of the source, or of the type of what has no source in Python.
_DYNAMO = "torch._dynamo.variables.torch_function"
SOURCES = {
    f"{_DYNAMO}._flatten_vts": "d7895c0c57571e7b",
    f"{_DYNAMO}.TensorWithTFOverrideVariable.call_torch_function": "cf63503435c65b67",
    f"{_DYNAMO}.TensorWithTFOverrideVariable.call_method": "865042d3bc31ebd6",
    f"{_DYNAMO}.TensorWithTFOverrideVariable.var_getattr": "e606da0695ec2d0d",
    f"{_DYNAMO}.TensorWithTFOverrideVariable.call_tree_map": "9a6df7e79b89cd99",
    f"{_DYNAMO}.TensorWithTFOverrideVariable.call_tree_map_with_path_branch": "d68519385f2a8121",
    "torch._functorch.vmap._process_batched_inputs": "8ab7dfa423c29212",
    "torch._functorch.vmap._unwrap_batched": "d3e5127a50cc8946",
    "torch._inductor.async_compile.AsyncCompile.cpp_pybinding": "cc99f2574aeb5f9b",
    "torch._inductor.async_compile.AsyncCompile.wait": "9df67d85f8d8457f",
    "torch._inductor.codegen.cpp.KernelGroup.codegen_group": "35eab46941b90600",
    "torch._inductor.codegen.cpp.TilingSelect._select_tiling_indices": "dca76802e73891b9",
    "torch._inductor.codegen.cpp.CppScheduling.ready_to_flush": "b11eb39c9e0c1703",
    "torch._inductor.codegen.wrapper.PythonWrapperCodegen.can_reuse": "3f3cbf3e486e9ba0",
    "torch._inductor.codegen.common.DataTypePropagation.deduce_node_dtype_by_inputs": "579e497765924d05",
    "torch._inductor.fx_passes.reinplace.is_node_realized": "510f97e43651e3b0",
    "torch._inductor.scheduler.Scheduler.fusable_weak_dep": "07ad34fb90cdb79b",
    "torch._inductor.scheduler.Scheduler.fusion_prevent_too_many_reads_and_writes": "dd449619d7145182",
    "torch.autograd.Function.apply": "bbc5d31817220a84",
    "torch.jit.ScriptFunction.__call__": "5765fcb837c08b6b",
}
# Of each place, all that is replaced there because it sends tensors elsewhere.
SENDING = {
    "torch.distributed.ProcessGroup": "b6dca3647f7eff89",
    "torch._C._distributed_c10d.Backend": "dfbe81923dba607d",
    "torch.distributed": "bda5ad96d1929481",
    "torch.distributed.rpc.api": "9d5d0210727ef5d4",
    "torch.nn.parallel.comm": "90509271dd1e38d9",
    "torch.cuda.comm": "90509271dd1e38d9",
    "torch.Tensor": "6bb97d9d13c95b90",
    "torch.distributed.tensor.DTensor": "6bb97d9d13c95b90",
}


DIGESTS = """
import hashlib, inspect, json, re
import npdec as np
from npdec._torch import patches

result = (np.ones(2) + 1).tolist()
applied = [target for target in patches.PATCHED if patches.is_applied(target)]

def digest(found):
    try:
        text = inspect.getsource(found)
    except TypeError:
        text = repr(type(found)) + (re.sub("0x[0-9a-f]+", "", found.__doc__) if "pybind11" in repr(found) else "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]

digests = {target: digest(patches.original(target)) for target in patches.PATCHED}
print(json.dumps({"digests": digests, "applied": applied, "result": result}))
"""


@pytest.fixture(scope="module")
def unpatched():
    """What a process of its own says, that decomposes nothing."""
    done = subprocess.run([sys.executable, "-c", DIGESTS], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.long
@pytest.mark.skipif(not torch.__version__.startswith(TESTED), reason=f"the sources are those of torch {TESTED}")
def test_upstream_is_what_is_patched(unpatched):
    found = unpatched["digests"]
    changed = [target for target in SOURCES if found[target] != SOURCES[target]]
    places = {}
    for target in patches.OF_PROCESSES:
        places.setdefault(target.rpartition(".")[0], []).append(found[target])
    made = {place: hashlib.sha256("".join(digests).encode()).hexdigest()[:16] for place, digests in places.items()}
    changed += [place for place, digest in made.items() if SENDING.get(place) != digest]
    assert not changed, f"read the patches of {changed} again: {made}"


def test_all_patches_are_listed():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        for name in re.findall(r"^ *(torch(?:\.\w+)*(?:\.[A-Z]\w+)?\.\w+) = ", text, re.MULTILINE):
            found[name] = path.name
    assert not found, f"torch is changed outside of {patches.__name__}: {found}"
    assert SOURCES.keys() | patches.OF_PROCESSES.keys() == patches.PATCHED.keys()
    for _, (why, url) in patches.PATCHED.items():
        assert why
        assert url.startswith(f"https://github.com/pytorch/pytorch/blob/v{TESTED}/")


def test_what_is_not_listed_or_patched_twice_is_refused():
    with pytest.raises(RuntimeError, match="not listed"):
        patches.patch("torch.add", lambda own: own)
    target = "torch.autograd.Function.apply"
    import npdec.overrides  # noqa: F401

    assert patches.is_applied(target)
    with pytest.raises(RuntimeError, match="replaced already"):
        patches.patch(target, lambda own: own)


@pytest.mark.slow
def test_nothing_is_patched_before_something_is_decomposed(unpatched):
    assert unpatched["applied"] == []
    assert unpatched["result"] == [2.0, 2.0]


LATE = """
import torch
import npdec as np

for name in ("autograd_function", "dispatch"):
    __import__(f"npdec._rules.{name}")  # as the doctests of a module do, or who registers a rule of his own

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.as_tensor(x.detach().numpy() * 2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

d = np.decompose(torch.ones(2))
print(Doubled.apply(d).components.tolist(), torch.nn.CrossMapLRN2d(3)(d.reshape(1, 2, 1, 1)).numc())
"""


@pytest.mark.slow
def test_what_is_decomposed_first_finds_all_replaced_whatever_was_imported():
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["[[2.0,", "0.0],", "[0.0,", "2.0]]", "2"], done.stderr
