"""Choices that are frozen at the value: an order, the place of a maximum, a size, Python's own `if`.

Completeness holds behind them, but the residual follows the value's choice. Where the choice at the baseline is another
one it is not the function of the baseline any more, and a warning says so.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Any

import torch

from npdec._decomposed.registry import Trait, traits_of
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _util
from npdec._torch.functorch import mapped
from npdec._torch.tracing import tracing
from npdec.exceptions import DecompositionWarning

__all__ = ["are_equal", "chosen", "compare_choices", "is_watched", "places_beside"]


def compare_choices(name: str, value: Any, residual: Any) -> None:
    """Warn if what was chosen at the value is not what is chosen at the baseline."""
    if is_watched() and not are_equal(value, residual):
        _warn(name)


def _warn(name: str) -> None:
    _util.warn(
        f"{name}: what it chooses at the value is frozen, and at the baseline it would choose otherwise. The residual "
        "follows the choice at the value: it is not the function of the baseline. Choose by np.where or masks, which "
        'carry contributions, or accept it with np.rule(conditions="frozen")',
        DecompositionWarning,
    )


def is_watched() -> bool:
    """Whether choices are compared: not where values cannot be looked at, and not if nobody wants it."""
    return not (tracing() or mapped() or conditions_are_frozen())


def are_equal(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.shape != b.shape:
            return False
        if torch.equal(a, b):
            return True
        if not (a.is_floating_point() or a.is_complex()):
            return False
        if a.is_floating_point() and b.is_floating_point() and a.is_cpu and a.numel() <= HANDFUL:  # sooner one by one
            ends = a.reshape(-1).tolist(), b.reshape(-1).tolist()
            return all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in zip(*ends, strict=True))
        return bool(((a == b) | (torch.isnan(a) & torch.isnan(b))).all())
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(are_equal, a, b))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)) and cmath.isnan(a):
        return cmath.isnan(b)
    return bool(a == b)


def chosen(name: str, tensor: Any) -> Any:
    """The value of a tensor that a function looks at only; anything else as it is."""
    if type(tensor) is not DecomposedTensor:
        return tensor
    compare_choices(name, tensor.value, tensor.residual)
    return tensor.value


# -- places that come beside values ------------------------------------------------------------------------------------


def places_beside(name: str, made: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
    """The indices that a function such as max or topk gives beside values, which are exact without them.

    Where the baseline has other ones, whoever looks at them is warned, and nobody else: a model that takes the values
    and leaves the indices alone has chosen nothing by them.
    """
    if not is_watched() or are_equal(made, base):
        return made
    places = made.as_subclass(_Places)
    places.plain, places.source = made, name
    return places


class _Places(torch.Tensor):
    """Indices of the value where the baseline has other ones: the first function that reads their elements warns, and
    gives what it gives of plain ones."""

    plain: torch.Tensor
    source: str | None  # of whom they come; None if that was said

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        # Printing says itself that only the value matters.
        looks = not traits_of(func) & Trait.BLIND and func is not torch.Tensor.__repr__
        found = [_plain(arg, looks) for arg in args]
        return func(*found, **{key: _plain(arg, looks) for key, arg in (kwargs or {}).items()})


def _plain(arg: Any, looks: bool) -> Any:
    if type(arg) is _Places:
        source = arg.source
        if looks and source is not None and is_watched():
            arg.source = None
            _warn(f"the indices beside the values of {source}")
        return arg.plain
    if type(arg) in (tuple, list) and any(isinstance(item, (_Places, tuple, list)) for item in arg):
        return type(arg)(_plain(item, looks) for item in arg)
    return arg
