"""Decomposed numbers, and arrays of few elements, beside each other and beside constants, where `npdec._native` is
built: what their functions give, or None where the law in Python is to find it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import elementwise_float_impl, elementwise_impl
from npdec._impl.quotients_impl import in_both_orders, of_quotient, of_rest
from npdec._law.all_components import current as chunk
from npdec._law.means_of_few import NUMBERED
from npdec._native import calls

__all__ = [
    "chosen", "clamped_number", "compared_numbers", "divided_by_zero", "ends_of_two", "jumps_of_numbers", "larger",
    "over_zero", "smooth_numbers",
    "stepped_beside",
    "weighted", "weighted_arrays",
]  # fmt: skip

Function = Callable[..., Any]

# By their numbers in `npdec/_native/few_choices.c`.
_COMPARISONS = {operator.eq: 0, operator.ne: 1, operator.lt: 2, operator.le: 3, operator.gt: 4, operator.ge: 5}

# Functions of two, with the shares of their changes, by their numbers in `npdec/_native/few_jumps.c`.
_JUMPS: dict[Any, int] = {
    (of_quotient, elementwise_impl.floor_divide): 0,
    (of_quotient, elementwise_impl.float_floor_divide): 0,
    (of_rest, elementwise_impl.remainder): 1,
    (of_rest, elementwise_impl.float_remainder): 1,
    (of_rest, torch.fmod): 2,
    (of_rest, torch.Tensor.fmod): 2,
    (of_rest, elementwise_impl.fmod): 2,
    (of_rest, elementwise_impl.float_fmod): 2,
    (in_both_orders, torch.copysign): 3,
    (in_both_orders, torch.Tensor.copysign): 3,
    (in_both_orders, elementwise_float_impl.heaviside): 4,
    ((of_quotient, of_rest), elementwise_impl.divmod): 5,
}


def larger(sign: int, func: Function, a: Any, b: Any) -> Any:
    """The maximum (sign 1) or minimum (−1) of two numbers, or of a few elements."""
    made = None if calls is None else calls.larger_number(sign, a, b)
    return calls.larger_of_arrays(sign, func, a, b) if made is None and calls is not None else made


def compared_numbers(compare: Function, a: Any, b: Any) -> Any:
    """A comparison, by that of Python's numbers, where conditions are no frozen ones."""
    return None if calls is None or chunk.get() is not None else calls.compared_numbers(_COMPARISONS[compare], a, b)


def smooth_numbers(key: Any, func: Function, a: Any, b: Any) -> Any:
    """A smooth function of two numbers, one of which may be constant, by the `key` of its means."""
    which = None if calls is None else NUMBERED.get(key)
    return None if which is None else calls.smooth_numbers(which, func, a, b)


def clamped_number(x: Any, low: Any, high: Any) -> Any:
    """A number between two bounds."""
    return None if calls is None else calls.clamped_number(x, low, high)


def chosen(func: Function, condition: Any, a: Any, b: Any) -> Any:
    """One of two numbers, or of a few elements, by a condition, which may be decomposed too."""
    if calls is None:
        return None
    here = settings.get()
    if type(condition) is DecomposedTensor and (here.frozen_conditions or here.rule == "none"):
        return None
    made = calls.chosen_number(condition, a, b)
    if made is None:
        made = calls.complex_chosen(condition, a, b)
    return calls.chosen_of_arrays(func, condition, a, b) if made is None else made


def ends_of_two(a: Any, b: Any) -> Any:
    """The numbers of few elements of both at the value, and at the residual."""
    return None if calls is None else calls.ends_of_two(a, b)


def weighted_arrays(value: Any, residual: Any, a: Any, b: Any, of_a: list[float], of_b: list[float]) -> Any:
    """What has of the components of both, of few elements, each times its weight, added up."""
    return None if calls is None else calls.weighted_arrays(value, residual, a, b, of_a, of_b)


def jumps_of_numbers(shares: Any, func: Function, a: Any, b: Any) -> Any:
    """A function with jumps of two, which have these shares of its change, or a tuple of its two results."""
    if calls is None or chunk.get() is not None:
        return None
    which = _JUMPS.get((shares, func))
    if which is None:
        return None
    made = calls.jumps_of_numbers(which, a, b)
    if made is None and type(a) is type(b) is DecomposedTensor:
        return calls.jumps_of_arrays(which, a, b)
    return made


def divided_by_zero(shares: Any, func: Function, a: Any, b: Any) -> Any:
    """A rounded quotient of two numbers, the rest, or a tuple of both, where the divisor is zero at an end, and how
    many infinite shares they have."""
    which = None if calls is None or chunk.get() is not None else _JUMPS.get((shares, func))
    return None if which is None else calls.divided_by_zero(which, a, b)


def over_zero(a: Any, b: Any) -> Any:
    """A quotient of the same, and its reciprocals at both ends if contributions are infinite."""
    return None if calls is None or chunk.get() is not None else calls.over_zero(a, b)


def stepped_beside(value: Any, residual: Any, x: Any) -> Any:
    """A result of a number beside a few constants, of which each element has its jump shared."""
    return None if calls is None or chunk.get() is not None else calls.stepped_beside(value, residual, x)


def weighted(value: Any, residual: Any, a: Any, b: Any, of_a: float, of_b: float) -> Any:
    """The number of two ends that has of the components of two each its weight, added up."""
    return None if calls is None else calls.weighted_numbers(value, residual, a, b, of_a, of_b)
