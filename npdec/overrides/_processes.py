"""What hands tensors to other processes or devices, and would leave contributions behind, refuses decomposed ones.

torch asks nobody about tensors in lists, about those that its collectives write to, or about what a process group
itself is given. So the methods of process groups that take tensors are replaced, in which every function of
torch.distributed ends; and with them what else reaches other processes or devices (`npdec._torch.patches` lists them).
What goes there in pickles, as object collectives and the functions of torch.distributed.rpc do, keeps contributions.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from npdec._decomposed.tensor import DecomposedTensor
from npdec._rules.dispatch import refuse_collective
from npdec._torch.patches import OF_PROCESSES, patch

__all__ = ["held", "refuse_sharding", "watch_processes"]

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
            if shards:
                refuse_sharding()
            refuse_collective(name)
        return own(*args, **kwargs)

    shards = name.endswith("__new__")
    call.__name__, call.__doc__ = target.rpartition(".")[2], own.__doc__
    return staticmethod(call) if shards else call


def held(items: Any) -> bool:
    """Whether there is a decomposed tensor among the items, or in lists and tuples among them."""
    for item in items:
        if type(item) is DecomposedTensor:
            return True
        if isinstance(item, (tuple, list)) and held(item):
            return True
    return False


def refuse_sharding() -> None:
    """Raise the TypeError of what makes a DTensor, whose operations see its values alone."""
    raise TypeError(
        "a DTensor holds no contributions, and would lose them: a network whose layers compute on parts "
        "(parallelize_module, DTensor.from_local) is not attributed. One sharded by fully_shard is, for its layers "
        "gather their weights; np.attribute(..., mesh=) shares the components over the ranks"
    )
