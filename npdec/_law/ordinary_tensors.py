"""What an ordinary decomposed tensor is, and how one is made of its parts (`npdec._law.ordinary`); of numbers among
them, Python's numbers, in which a handful of components is computed sooner than by torch."""

from __future__ import annotations

from typing import Any

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._law.of_few import vector
from npdec._native import calls

__all__ = [
    "Condition", "Number", "built", "condition_in", "is_condition", "is_number", "is_ordinary", "number_in",
    "number_of",
]  # fmt: skip

# The value, the residual and the components.
Number = tuple[float, float, list[float]]
Condition = tuple[bool, bool, list[float]]
# Looked up once: these names are read in every call.
_Tensor, _as_subclass, _detach = torch.Tensor, torch.Tensor.as_subclass, torch.Tensor.detach
_REAL = (torch.float64, torch.float32)
_CPU = torch.device("cpu")


def is_ordinary(x: Any) -> bool:
    """Whether a tensor is a decomposed one of real numbers in single or double precision, with few dense components."""
    if type(x) is not DecomposedTensor or x.reverse or x.kept is not None:
        return False
    value, origin = x.value, x.origin
    if origin is not None and origin.is_near:
        return False
    dtype = value.dtype
    return (
        dtype in _REAL
        and x.components.dtype is dtype
        and type(value) is _Tensor
        and len(x.labels) < size_limits.MANY
        and not value.is_meta
    )


def is_condition(x: Any) -> bool:
    """Whether it is a decomposed condition with a few dense components in single or double precision."""
    if type(x) is not DecomposedTensor or x.value.dtype is not torch.bool or type(x.value) is not _Tensor:
        return False
    if x.reverse or x.kept is not None or len(x.labels) >= size_limits.MANY or x.value.is_meta:
        return False
    return x.components.dtype in _REAL


def built(value: torch.Tensor, residual: torch.Tensor, components: torch.Tensor, labels: Labels) -> Any:
    """The decomposed tensor of parts that are known to be of one dtype. The residual has as many axes as the value, and
    may be one of rows that are equal."""
    if value.requires_grad or value._is_view():
        made: Any = _as_subclass(value, DecomposedTensor)
    else:  # the same, sooner
        made = _detach(value)
        made.__class__ = DecomposedTensor
    made.value, made.components, made.labels = value, components, labels
    made.residual = residual if residual.numel() == value.numel() > 0 else residual.expand(value.shape)
    made.reverse = made.discrete = False  # torch.compile finds none of them on the class
    made.origin = None
    return made


def is_number(x: DecomposedTensor) -> bool:
    """Whether a tensor is a number on the host that nobody differentiates, with a handful of components."""
    value = x.value
    if value.ndim or not value.is_cpu or value.requires_grad or not 0 < len(x.labels) <= HANDFUL:
        return False
    return not (x.residual.requires_grad or x.components.requires_grad)


def number_in(x: Any) -> Number | None:
    """What an ordinary number is made of, if nobody differentiates it; None of anything else."""
    found: Number | None = None if calls is None else calls.number_in(x)
    if found is not None:
        return found
    if type(x) is not DecomposedTensor or x.value.ndim or not is_ordinary(x) or not is_number(x):
        return None
    return x.value.item(), x.residual.item(), x.components.tolist()


def condition_in(x: Any) -> Condition | None:
    """The same of a condition."""
    found: Condition | None = None if calls is None else calls.condition_in(x)
    if found is not None:
        return found
    if type(x) is not DecomposedTensor or x.value.ndim or not is_condition(x) or not is_number(x):
        return None
    return bool(x.value), bool(x.residual), x.components.tolist()


def number_of(
    value: torch.Tensor | float,
    residual: torch.Tensor | float,
    components: list[float],
    labels: Labels,
    dtype: torch.dtype,
) -> Any:
    """The decomposed number, or condition, of components of the dtype; the value and the residual are tensors without
    axes, floats for numbers of the dtype, or booleans."""
    made = None if calls is None else calls.number_of(value, residual, components, labels, dtype)
    if made is not None:
        return made
    value, residual = _as_tensor(value, dtype), _as_tensor(residual, dtype)
    made = built(value, residual, vector(components, dtype), labels)
    made.discrete = value.dtype is torch.bool
    return made


def _as_tensor(number: torch.Tensor | float, dtype: torch.dtype) -> torch.Tensor:
    if isinstance(number, torch.Tensor):
        return number
    return torch.scalar_tensor(number, dtype=torch.bool if type(number) is bool else dtype, device=_CPU)
