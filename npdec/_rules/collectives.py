"""Collectives of torch.distributed: what is linear in what it sends goes part by part, the rest is refused.

Sums over processes, and pieces of all of them put together, are linear: value, residual and components are sent one
after the other, and every process is left with the sum or the pieces of each. All of them have to send decomposed
tensors with as many components in one order, as they do where all run one program.

In reverse mode contributions are a graph. A collective does not say of which process its result will be differentiated,
and torch's own take the sum over all: DTensors, which know how a tensor lies, have gradients that are meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import torch

from npdec._decomposed.tensor import DecomposedTensor

__all__ = ["IN_PLACE", "LIBRARIES", "in_place", "operator", "refuse"]

# The libraries of operators that reach other processes. They have derivatives; but ranks whose quadratures differ in
# their nodes would wait for each other.
LIBRARIES = {"c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor", "symm_mem"}

IN_PLACE = {"distributed.ProcessGroup.allreduce", "distributed.Backend.allreduce"}


def refuse(name: str) -> NoReturn:
    """Raise the NotImplementedError of what sends tensors to other processes or devices."""
    raise NotImplementedError(
        f"torch.{name}: what other processes send has other contributions, or none, and these would be lost. Sums over "
        "processes (all_reduce) carry contributions forward, and networks of parallelize_module forward and in "
        "reverse; share components over processes with np.attribute(..., mesh=); send decomposed tensors as objects "
        "(torch.distributed.all_gather_object), which keep contributions; for a network that calls this function "
        "itself, register a rule (np.overrides.register_function)"
    )


def _refuse_reverse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.{name}: in reverse mode contributions pass from process to process in DTensors alone: choose "
        "mode='forward', or let torch.distributed.tensor.parallel do it (without torch.no_grad, under which "
        "transformers calls collectives itself)"
    )


def in_place(name: str, own: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A method of a process group that sums a tensor over the processes, in its place."""
    group, tensors, *options = args if len(args) > 1 else (*args, kwargs.pop("tensors", None))
    one = tensors[0] if isinstance(tensors, (list, tuple)) and len(tensors) == 1 else tensors
    if type(one) is not DecomposedTensor or not _is_a_sum([*options, *kwargs.values()]):
        refuse(name)
    if one.reverse:
        _refuse_reverse(name)
    parts = [part.clone(memory_format=torch.contiguous_format) for part in (one.value, one.residual, one.components)]
    works = []
    for part in parts:
        works.append(own(group, [part], *options, **kwargs))
        works[-1].wait()
    one.copy_(DecomposedTensor(*parts, one.labels))
    return works[-1]


def _is_a_sum(options: Iterable[Any]) -> bool:
    """Whether the options of a reduction, of which a sum is the default, say no other one."""
    kind: Any = torch.distributed.ReduceOp.RedOpType
    for given in options:
        asked = getattr(given, "reduceOp", given)
        asked = getattr(asked, "op", asked)
        if isinstance(asked, kind) and asked not in (kind.SUM, kind.AVG):
            return False
    return True


def operator(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """An operator of the functional collectives."""
    library, _, rest = str(func).partition(".")
    name = rest.partition(".")[0]
    x = args[0] if args else None
    linear = {
        "all_gather_into_tensor": True,
        "all_reduce": _reduction(args, kwargs),
        "reduce_scatter_tensor": _reduction(args, kwargs),
        "wait_tensor": True,
        "_wrap_tensor_autograd": True,
    }
    if library != "_c10d_functional" or not linear.get(name) or type(x) is not DecomposedTensor:
        refuse(f"ops.{func}")
    if name in ("wait_tensor", "_wrap_tensor_autograd"):  # it was waited for
        return x
    if x.reverse:
        _refuse_reverse(f"ops.{func}")

    def sent(part: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = torch.ops._c10d_functional.wait_tensor(func(part.contiguous(), *args[1:], **kwargs))
        return made

    if name == "all_reduce":
        components = sent(x.components)
    else:  # pieces are put together, and cut, along the first axis
        components = sent(x.components.transpose(0, 1)).transpose(0, 1)
    return DecomposedTensor(sent(x.value), sent(x.residual), components, x.labels)


def _reduction(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    name = kwargs.get("reduce_op", args[1] if len(args) > 1 else None)
    return name in ("sum", "avg")
