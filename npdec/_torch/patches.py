"""What of torch is replaced: all of it stands here, with the reason and the upstream source.

A replacement is made of the original, which it calls. The tests hold the originals to their sources.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["PATCHED", "is_applied", "original", "patch"]

_SOURCE = "https://github.com/pytorch/pytorch/blob/v2.13.0/torch"
_ASYNC = "torch._inductor.async_compile.AsyncCompile"
_DYNAMO = "torch._dynamo.variables.torch_function"

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
    "torch.autograd.Function.apply": (
        "__torch_function__ does not see the call of an autograd Function",
        f"{_SOURCE}/autograd/function.py",
    ),
    "torch.jit.ScriptFunction.__call__": (
        "a function that torch.jit has compiled takes a subclass for a plain tensor",
        f"{_SOURCE}/csrc/jit/python/script_init.cpp",
    ),
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
