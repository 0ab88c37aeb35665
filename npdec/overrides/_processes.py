"""What hands tensors to other processes or devices, and would leave contributions behind, refuses decomposed ones.

torch asks nobody about tensors in lists, about those that its collectives write to, or about what a process group
itself is given. So the methods of process groups that take tensors are replaced, in which every function of
torch.distributed ends; and with them what else reaches other processes or devices (`npdec._torch.patches` lists them).
What goes there in pickles, as object collectives and the functions of torch.distributed.rpc do, keeps contributions.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from npdec._decomposed.tensor import CARRIERS
from npdec._rules import collectives
from npdec._torch.patches import OF_PROCESSES, patch

__all__ = ["held", "shard", "watch_processes"]

_LATE = ("torch.cuda.comm", "torch.distributed.tensor")  # which take, when they are imported, what is replaced by then


def watch_processes() -> None:
    """Replace what would send the values of decomposed tensors alone."""
    for target in OF_PROCESSES:
        module = next((late for late in _LATE if target.startswith(f"{late}.")), "torch")
        if module in sys.modules:
            patch(target, functools.partial(_refusing, target))


def _refusing(target: str, own: Callable[..., Any]) -> Any:
    name = target.removeprefix("torch.").replace("_C._distributed_c10d.", "distributed.")

    def call(*args: Any, **kwargs: Any) -> Any:
        if held(args) or held(kwargs.values()):
            return part_by_part(name, own, args, kwargs)
        return own(*args, **kwargs)

    call.__name__, call.__doc__ = target.rpartition(".")[2], own.__doc__
    return staticmethod(call) if name.endswith("__new__") else call


def held(items: Any) -> bool:
    """Whether there is a decomposed tensor among the items, or in lists and tuples among them."""
    for item in items:
        if type(item) in CARRIERS:
            return True
        if isinstance(item, (tuple, list)) and held(item):
            return True
    return False


def part_by_part(name: str, own: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> Any:
    """What is linear in what it sends, and writes where it reads, goes part by part; all else is refused."""
    if name.endswith("__new__"):
        return _distributed().made(*args, **kwargs)
    if name in collectives.IN_PLACE:
        return collectives.in_place(name, own, args, dict(kwargs))
    collectives.refuse(name)


def shard(cls: Any, apply: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The answer of torch's own autograd Functions of DTensors."""
    if cls.__name__ == "_FromTorchTensor":
        return _distributed().from_local(apply, args[0], args[1:])
    collectives.refuse(f"distributed.tensor.{cls.__name__}")


def _distributed() -> Any:
    from npdec._rules import distributed

    return distributed
