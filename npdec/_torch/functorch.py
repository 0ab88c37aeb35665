"""What npdec asks of the transforms of torch.func, which torch does not say in public.

All of torch's private names that are about them are used here; tests/decomposed/test_patches.py says whether they are
what they were. They are those of torch 2.13:
https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/functorch/init.cpp
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._functorch.predispatch import lazy_load_decompositions

from npdec._torch.tracing import constant_when_traced, tracing

__all__ = [
    "at_level_of",
    "batched_level",
    "depth",
    "differentiated",
    "is_gradient_wrapped",
    "is_transformed",
    "is_wrapped",
    "leave",
    "mapped",
    "unwrapped",
    "vmap",
]

_functorch = torch._C._functorch
_add_axis, _remove_axis = _functorch._add_batch_dim, _functorch._remove_batch_dim
_enter, _leave = _functorch._vmap_increment_nesting, _functorch._vmap_decrement_nesting

# Whether one of the transforms runs the code.
is_transformed: Callable[[], bool] = torch._C._are_functorch_transforms_active
# Whether a tensor is one of a transform's, which stands for others, and has no memory of its own; what it stands for.
is_wrapped: Callable[[torch.Tensor], bool] = _functorch.is_functorch_wrapped_tensor
unwrapped: Callable[[torch.Tensor], torch.Tensor] = _functorch.get_unwrapped
# Whether it is one of torch.func.grad's.
is_gradient_wrapped: Callable[[torch.Tensor], bool] = _functorch.is_gradtrackingtensor


def batched_level(tensor: torch.Tensor) -> int:
    """At which level of nested transforms a tensor is that torch.vmap made; -1 of others."""
    return _functorch.maybe_get_level(tensor) if _functorch.is_batchedtensor(tensor) else -1


# How many transforms run the code, and the end of all but so many of them.
depth: Callable[[], int] = _functorch.get_dynamic_layer_stack_depth
leave: Callable[[int], None] = _functorch.pop_dynamic_layer_stack_and_undo_to_depth


@constant_when_traced
def mapped() -> bool:
    """Whether torch.vmap is running the code: as in a trace, no branch may depend on numbers."""
    if not is_transformed():
        return False
    vmap = _functorch.TransformType.Vmap
    return any(layer.key() == vmap for layer in _functorch.get_interpreter_stack() or ())


@constant_when_traced
def differentiated() -> bool:
    """Whether torch.func.grad or its like is the innermost transform that runs the code."""
    if not is_transformed():
        return False
    top = _functorch.peek_interpreter_stack()
    return top is not None and top.key() == _functorch.TransformType.Grad


@contextlib.contextmanager
def at_level_of(tensor: torch.Tensor) -> Iterator[None]:
    """Where transforms of torch.func are nested, run by those alone that the tensor is of, and not by those within: a
    view of it, made here, is at home where the tensor is."""
    level, above = _functorch.maybe_get_level(tensor), []
    try:
        while (top := _functorch.peek_interpreter_stack()) is not None and top.level() > level:
            above.append(_functorch.pop_dynamic_layer_stack())
        yield
    finally:
        while above:
            _functorch.push_dynamic_layer_stack(above.pop())


def vmap(function: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Any:
    """`torch.vmap(function)(*tensors)`: a tensor, or a list of tensors.

    torch.vmap takes pytrees apart and puts them together again, which on small tensors takes ten times as long as the
    function.
    """
    if tracing():
        made = torch.vmap(function)(*tensors)
        return list(made) if isinstance(made, (tuple, list)) else made
    count = len(tensors[0])
    lazy_load_decompositions()
    level = _enter(count, "error")
    try:
        made = function(*[_add_axis(tensor, 0, level) for tensor in tensors])
        if isinstance(made, (tuple, list)):
            return [_remove_axis(part, level, count, 0) for part in made]
        return _remove_axis(made, level, count, 0)
    finally:
        _leave()
