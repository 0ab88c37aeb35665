"""The patch of torch.compile: it sees decomposed tensors in tuples, takes them for nodes of pytrees, calls torch's own
methods of them, and names in its errors the function whose rule it could not trace. `npdec._torch.patches` lists what
is replaced, and why."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from npdec._torch.patches import is_applied, patch
from npdec._torch.tracing import constant_when_traced, direct, name_of, restart_trace

__all__ = ["leave_to_python", "patch_dynamo"]


def leave_to_python(*functions: Any) -> None:
    """Where torch.compile ends a graph and goes on with what the rest of the code calls, these functions run as they
    are, with all that they call: scalars that hold a tensor are floats by their metaclass alone, at which it fails."""
    from torch._C._dynamo.eval_frame import set_code_exec_strategy
    from torch._dynamo.types import FrameAction, FrameExecStrategy

    for function in functions:
        set_code_exec_strategy(function.__code__, FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP))


@constant_when_traced
def patch_dynamo() -> None:
    """Patch torch.compile, if it is loaded. Called when it first looks at a decomposed tensor, or makes one, it starts
    that trace again."""
    compiler = sys.modules.get("torch._dynamo.variables.torch_function")
    if compiler is None or is_applied("torch._dynamo.variables.torch_function._flatten_vts"):
        return
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.lists import TupleVariable
    from torch._dynamo.variables.tensor import TensorVariable
    from torch.utils._pytree import SUPPORTED_NODES

    def with_tuples(flatten: Callable[..., list[Any]]) -> Any:
        def flatten_tuples(variables: Any) -> list[Any]:
            found: list[Any] = []
            for variable in flatten(variables):
                found += flatten_tuples(variable.items) if isinstance(variable, TupleVariable) else [variable]
            return found

        return flatten_tuples

    def as_node(map_leaf: Callable[..., Any]) -> Any:
        def map_node(self: Any, *args: Any) -> Any:
            return (VariableTracker.call_tree_map if self.class_type in SUPPORTED_NODES else map_leaf)(self, *args)

        return map_node

    def as_node_with_path(map_leaf: Callable[..., Any]) -> Any:
        def map_node(self: Any, *args: Any) -> Any:
            known = self.class_type in SUPPORTED_NODES
            return (VariableTracker._tree_map_with_path_fallback if known else map_leaf)(self, *args)

        return map_node

    def naming(call: Callable[..., Any]) -> Any:
        def call_or_name(self: Any, tx: Any, fn: Any, *args: Any) -> Any:
            try:
                return call(self, tx, fn, *args)
            except _untraceable() as error:
                if self.class_type in SUPPORTED_NODES:
                    _name_the_function(error, fn)
                raise

        return call_or_name

    def is_direct(variable: Any, name: str) -> bool:
        return name in direct and variable.class_type in SUPPORTED_NODES

    def torchs_own(get: Callable[..., Any]) -> Any:
        def get_attribute(self: Any, tx: Any, name: str) -> Any:
            if not is_direct(self, name):
                return get(self, tx, name)
            own = getattr(torch.Tensor, name)
            if not callable(own) and compiler.can_dispatch_torch_function(tx, [self], {}):  # a property
                return compiler.dispatch_torch_function(tx, VariableTracker.build(tx, own.__get__), [self], {})
            return TensorVariable.var_getattr(self, tx, name)

        return get_attribute

    def calling_torchs_own(call: Callable[..., Any]) -> Any:
        def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
            given = [self, *args]
            if is_direct(self, name) and compiler.can_dispatch_torch_function(tx, given, kwargs):
                function = VariableTracker.build(tx, getattr(torch.Tensor, name))
                return compiler.dispatch_torch_function(tx, function, given, kwargs)
            return call(self, tx, name, args, kwargs)

        return call_method

    subclass = "torch._dynamo.variables.torch_function.TensorWithTFOverrideVariable"
    patch("torch._dynamo.variables.torch_function._flatten_vts", with_tuples)
    patch(f"{subclass}.call_torch_function", naming)
    patch(f"{subclass}.call_method", calling_torchs_own)
    patch(f"{subclass}.var_getattr", torchs_own)
    patch(f"{subclass}.call_tree_map", as_node)
    patch(f"{subclass}.call_tree_map_with_path_branch", as_node_with_path)
    if torch._guards.TracingContext.try_get() is not None:
        restart_trace("decomposed tensors in tuples")


def _untraceable() -> tuple[type[Exception], ...]:
    """What torch.compile raises where it cannot trace something; other exceptions of its are not about that."""
    from torch._dynamo.exc import TorchRuntimeError, Unsupported, UserError
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, PendingUnbackedSymbolNotFound

    return Unsupported, UserError, TorchRuntimeError, GuardOnDataDependentSymNode, PendingUnbackedSymbolNotFound


def _name_the_function(error: Exception, variable: Any) -> None:
    function = next((found for name in ("value", "fn") if callable(found := getattr(variable, name, None))), variable)
    name = torch.overrides.resolve_name(function) or name_of(function)
    more = (
        f"{name}: torch.compile cannot trace what this function does with decomposed tensors, for the reason that "
        "follows. Call it outside of the compiled function, or register a rule for it (np.overrides.register_function)"
    )
    message = f"{more}\n{error}"
    error.args = (message, *error.args[1:])
    if hasattr(error, "msg"):
        error.msg = message
