"""Max pools in reverse mode by the shortest way: one pass over the windows tells the maxima and what leads
(`npdec._native`), another takes gradients back. The general way is `npdec._rules.pooling`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import narrowed
from npdec._decomposed.size_limits import is_for_one_thread
from npdec._decomposed.size_warnings import has_finite_sum
from npdec._law.ordinary_reverse import derived, is_ordinary, on_graph_of
from npdec._law.reverse_forms import on_graph_with
from npdec._law.reverse_rows import ALONE
from npdec._native import calls
from npdec._torch.tracing import name_of

__all__ = ["max_pool", "power_pool"]

Function = Callable[..., Any]
_NAMES = "input kernel_size stride padding dilation ceil_mode return_indices".split()
_OF_POWERS = "input norm_type kernel_size stride ceil_mode".split()
_MOST_POWER = 8  # as npdec/_native/powers.c has it
_WALKED = -(2**31)  # as npdec/_native/pools.c has it


def max_pool(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """The form of ordinary calls: pools of as many windows as there are in whole strides, without indices."""
    named = {**dict(zip(_NAMES, args)), **(options or {})}
    x: Any = named.pop("input", None)
    if calls is None or not is_ordinary(x):
        return NotImplemented
    count = x.value.ndim - 2
    is_plain = all(named.get(option, False) is False for option in ("ceil_mode", "return_indices"))
    settings = _settings(named, count) if is_plain and name_of(func) == f"max_pool{count}d" else None
    size = x.value.numel()
    if settings is None or not is_for_one_thread(size, ALONE):
        return NotImplemented
    kernel, stride, padding, dilation = (settings[i : i + count] for i in range(0, 4 * count, count))
    rooms = zip(x.value.shape[2:], kernel, stride, padding, dilation, strict=True)
    outputs = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in rooms if s > 0]
    if len(outputs) < count or min(outputs) < 1:
        return NotImplemented
    shape = (*x.value.shape[:2], *outputs)
    value, leaders = x.value.new_empty(shape), torch.empty(shape, dtype=torch.int32)
    row = narrowed(x.residual, 2).contiguous()
    several = calls.pool_leaders(x.value, row, leaders, value, settings)
    if several is None:
        return NotImplemented
    shares = value.new_empty((several, _product(kernel)))
    if several and not calls.pool_shares(x.value, row, leaders, shares, settings):
        return NotImplemented
    residual = func(row, **named).expand(shape)
    return derived(x, value, residual, _Back(x.value.shape, leaders, shares, settings))


def _settings(named: dict[str, Any], count: int) -> tuple[int, ...] | None:
    """Kernels, strides, paddings and dilations of the axes, one after the other; None of what torch is to look at."""
    made: list[int] = []
    for name, usual in (("kernel_size", None), ("stride", None), ("padding", 0), ("dilation", 1)):
        given: Any = named.get(name, usual)
        if name == "stride" and (given is None or (type(given) in (tuple, list) and not given)):
            given = named.get("kernel_size")
        several = [given] * count if type(given) is int else given
        if type(several) not in (tuple, list):
            return None
        if len(several) == 1:
            several = [several[0]] * count
        if len(several) != count or any(type(number) is not int for number in several):
            return None
        made += several
    return tuple(made)


def _product(numbers: Sequence[int]) -> int:
    made = 1
    for number in numbers:
        made *= number
    return made


class _Back:
    """Gradients of the maxima to those of what they lead."""

    def __init__(
        self, shape: Sequence[int], leaders: torch.Tensor, shares: torch.Tensor, settings: tuple[int, ...]
    ) -> None:
        self.shape, self.leaders, self.shares, self.settings = shape, leaders, shares, settings

    def __call__(self, grad: torch.Tensor) -> torch.Tensor:
        made = grad.new_zeros(self.shape)
        grad = grad.contiguous()
        if not calls.pool_back(grad, self.leaders, self.shares, made, self.settings):
            self._by_torch(grad, made)
        return made

    def _by_torch(self, grad: torch.Tensor, made: torch.Tensor) -> None:
        """The same, place by place, where somebody looks on."""
        count = len(self.settings) // 4
        kernel, stride, padding, dilation = (self.settings[i : i + count] for i in range(0, 4 * count, count))
        walked = self.leaders == _WALKED
        bits = torch.where(walked, 0, self.leaders)
        several = torch.stack([bits >> place & 1 for place in range(_product(kernel))]).sum(0)
        flat = made.view(*made.shape[:2], -1)
        for place in range(_product(kernel)):
            rest, step = place, 1
            index, inside = torch.zeros((), dtype=torch.int64), torch.ones((), dtype=torch.bool)
            for axis in reversed(range(count)):
                rest, at = divmod(rest, kernel[axis])
                first = torch.arange(self.leaders.shape[2 + axis]) * stride[axis] - padding[axis] + at * dilation[axis]
                there = (first >= 0) & (first < self.shape[2 + axis])
                view = [-1 if other == axis else 1 for other in range(count)]
                first, there = (first.clamp(0, self.shape[2 + axis] - 1) * step).view(view), there.view(view)
                index, inside = index + first, inside & there
                step *= self.shape[2 + axis]
            shares = (bits >> place & 1).to(grad.dtype) / several.clamp(min=1)
            shares[walked] = self.shares[:, place]
            where = index.expand(self.leaders.shape).flatten(2)
            flat.scatter_add_(2, where, (grad * shares * inside).flatten(2))


def power_pool(
    pool: Function, count: int, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None
) -> Any:
    """The form of a power-average pool, which is a root of the mean of powers; `pool` averages. That torch takes the
    sign and the magnitude of the mean apart, and multiplies them, changes neither it nor what it passes on by the
    law."""
    named = {**dict(zip(_OF_POWERS, args)), **(options or {})}
    x: Any = named.get("input")
    exponent: Any = named.get("norm_type")
    if calls is None or type(exponent) not in (int, float) or not 1 <= exponent <= _MOST_POWER or not is_ordinary(x):
        return NotImplemented
    kernel: Any = named.get("kernel_size")
    stride: Any = named.get("stride")
    size = kernel if type(kernel) is int else _product(kernel) if type(kernel) in (tuple, list) else 0
    if not size or x.value.ndim != count + 2 or not x.value.is_cpu or not x.value.is_contiguous():
        return NotImplemented
    size = size**count if type(kernel) is int else size

    def pooled(t: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = pool(t, kernel, stride, 0, named.get("ceil_mode", False))
        return made

    ends = x.value, narrowed(x.residual, 2).contiguous()
    powers = [t.pow(exponent) for t in ends]
    first = _slopes(exponent, *ends, *powers)
    sums = [pooled(t).mul_(size) for t in powers]
    made = [t.pow(1.0 / exponent) for t in sums]
    second = None if first is None else _slopes(1 / exponent, *sums, *made)
    if first is None or second is None:
        return NotImplemented
    carrier = pooled(on_graph_of(x) * first) * second.mul_(size)
    return on_graph_with(x, made[0], made[1].expand(made[0].shape), carrier)


def _slopes(exponent: float, x: torch.Tensor, r: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor) -> Any:
    """The slopes of powers; None where they are to be looked at more closely."""
    if exponent == 2:
        slope = x + r
        return slope if has_finite_sum(slope) else None
    slope = torch.empty_like(x)
    return slope if calls.power_slopes(exponent, x, r, fx, fr, slope) else None
