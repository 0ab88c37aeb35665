"""Multipliers of functions of half precision: computed in single precision, and rounded once, with the contributions.

The ten bits of float16, or seven of bfloat16, leave a quotient of differences hardly any, and float16 ends at 65504.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from npdec._decomposed.size_warnings import warn_infinite
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._util import single, working_dtype
from npdec._law.pointwise_call import Known
from npdec._law.secant import secant
from npdec._law.secant_cancellation import is_of_torch
from npdec._law.slope import Slope
from npdec._torch.functorch import mapped
from npdec._torch.tracing import name_of, tracing

__all__ = ["is_known_in_single", "secant_of_halves", "warn_beyond_range", "widened"]

_Function = Callable[..., torch.Tensor]


def widened(item: Any) -> Any:
    """An argument, or a tuple, list or dict of them, with tensors and dtypes of half precision in single precision."""
    if isinstance(item, torch.Tensor):
        return single(item)
    if isinstance(item, torch.dtype):
        return working_dtype(item)
    if type(item) in (tuple, list):
        return type(item)([widened(inner) for inner in item])
    if type(item) is dict:
        return {key: widened(inner) for key, inner in item.items()}
    return item


def is_known_in_single(function: object) -> bool:
    """Whether a function is the same in single precision: torch's own and npdec's are, which hold no numbers."""
    return is_of_torch(function) or hasattr(function, "__npdec__")


def secant_of_halves(
    f: _Function,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    others: tuple[torch.Tensor, ...] = (),
) -> Slope:
    """`secant` of numbers of half precision, a slope of single precision."""
    return secant(_wide(f, x.dtype), single(x), single(r), single(fx), single(fr), tuple(map(single, others)))


def _wide(f: _Function, dtype: torch.dtype) -> _Function:
    """The function for arguments of single precision. One that may hold numbers of half precision itself is given
    those."""
    return f if is_known_in_single(getattr(f, "function", None)) else _Wide(f, dtype)


class _Wide(Known):
    def __init__(self, f: _Function, dtype: torch.dtype) -> None:
        self.f, self.dtype = f, dtype
        self.function = getattr(f, "function", None)

    def __call__(self, u: torch.Tensor, *others: torch.Tensor) -> Any:
        given = [o.to(self.dtype) if o.dtype is torch.float32 else o for o in others]
        return single(self.f(u.to(self.dtype), *given))


# -- the end of float16 ------------------------------------------------------------------------------------------------


def warn_beyond_range(func: Callable[..., Any], args: Any, result: Any) -> None:
    """Warn where contributions in float16, which ends at 65504, have become infinite or NaN in an operation."""
    if type(result) is not DecomposedTensor:
        if isinstance(result, (tuple, list)):
            for item in result:
                warn_beyond_range(func, args, item)
        return
    if result.value.dtype is not torch.float16 or tracing() or mapped() or result.value.is_meta:
        return
    if not _is_finite(result) and all(map(_is_finite, _decomposed(args))):
        warn_infinite(name_of(func), result.value.detach(), result.residual.detach())


def _decomposed(args: Any) -> Iterator[DecomposedTensor]:
    for arg in args:
        if type(arg) is DecomposedTensor:
            yield arg
        elif isinstance(arg, (tuple, list)):
            yield from _decomposed(arg)


def _is_finite(tensor: DecomposedTensor) -> bool:
    """Whether the contributions are finite; those that are still to be made count as such."""
    given = tensor.kept
    if given is not None:
        return given.dtype is not torch.float16 or given.is_finite()
    numbers = tensor.components
    if not numbers.numel():
        return True
    return numbers.dtype is not torch.float16 or all(map(math.isfinite, torch.aminmax(numbers.detach())))
