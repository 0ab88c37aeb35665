"""Closed forms of the law for functions of networks: pooling, padding, dropout, embeddings."""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.axes import narrowed
from npdec._decomposed.choices import chosen, compare_choices, is_watched, places_beside
from npdec._decomposed.kept_components import handed_on, stand_in
from npdec._decomposed.registry import Trait, functions
from npdec._decomposed.reverse_graph import by_vjp, no_graph, uses_vjp
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl.envelope_impl import leading_fractions
from npdec._law import law
from npdec._law.reverse_forms import affine, padded
from npdec._rules.extremes_reverse import adaptive_pool
from npdec._rules.pooling_reverse import max_pool
from npdec._rules.rule import rule
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import name_of, tracing

Function = Callable[..., Any]
Places = Sequence[Sequence[int]]  # along an axis: for each place in a window, where it is for each of the outputs

_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


def _each(setting: Any, count: int) -> list[int]:
    """A setting of a pool for each of its axes."""
    numbers = list(setting) if isinstance(setting, (tuple, list)) else [setting]
    return numbers * count if len(numbers) == 1 else numbers


def _max_pool(
    func: Function,
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    options = (padding, dilation, ceil_mode)
    stride = kernel_size if stride is None else stride
    return _pooled_by(func, x, kernel_size, stride, *options, {"return_indices": return_indices})


def _max_pool_kernel(
    func: Function,
    x: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """The functions in C++, which say by their names whether they give indices."""
    return _pooled_by(func, x, kernel_size, stride, padding, dilation, ceil_mode, {})


def _adaptive_max_pool(func: Function, x: Any, output_size: Any, return_indices: bool = False) -> Any:
    return _pooled(func, x, [], False, lambda t: func(t, output_size, return_indices))


def _adaptive_max_pool_kernel(func: Function, x: Any, output_size: Any) -> Any:
    return _pooled(func, x, [], False, lambda t: func(t, output_size))


def _pooled_by(
    func: Function,
    x: DecomposedTensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    options: dict[str, bool],
) -> Any:
    name = name_of(func)
    count = _axes(name)
    stride = kernel if isinstance(stride, Sequence) and not stride else stride
    settings = [_each(setting, count) for setting in (kernel, stride, padding, dilation)]
    plain = not (ceil_mode or any(options.values())) and name == f"max_pool{count}d"
    return _pooled(
        func, x, settings, plain, lambda t: func(t, kernel, stride, padding, dilation, ceil_mode=ceil_mode, **options)
    )


def _axes(name: str) -> int:
    """How many axes a pool has, by its name."""
    return int(name.partition("pool")[2][0])


def _pooled(
    func: Function,
    x: DecomposedTensor,
    settings: Sequence[list[int]],
    plain: bool,
    call: Callable[[torch.Tensor], Any],
) -> Any:
    """max_pool and adaptive_max_pool, with indices or without: the maximum of each window. `plain` is one without
    indices, of as many windows as there are in whole strides."""
    name = name_of(func)
    count = _axes(name)
    with no_graph(x.reverse):
        high = _seen_at_once(x.value, settings) if plain else None
        made = call(x.value) if high is None else high.amax(0)
        value = made if isinstance(made, torch.Tensor) else made[0]
        places: list[Places] = []
        for i in range(count):
            length, outputs = x.shape[i - count], value.shape[i - count]
            if name.startswith("adaptive"):
                places.append(_adaptive_windows(length, outputs))
            else:
                places.append(_windows(length, outputs, *[setting[i] for setting in settings]))
        row = narrowed(x.residual, x.residual.ndim - count)  # of rows with one baseline one is enough
        high = _seen(x.value, places) if high is None else high
        low = _seen(row, places)
        fractions = leading_fractions(high, low, 0, value)
        residual = low.amax(0).expand(value.shape)
    given = None if x.reverse or name.startswith("adaptive") else stand_in(x)
    components: Any = None if given is None else given.pooled(value, places, settings, _shares, fractions)
    if uses_vjp(x.reverse):
        components = by_vjp(value, residual, x.components, _Spread(x.components, places, fractions))
    if components is None:
        components = _shares(x.components, places, fractions)
    result = DecomposedTensor(value, residual, components, x.labels, x.reverse)
    if isinstance(made, torch.Tensor):
        return result
    indices = made[1]
    if is_watched():
        with no_graph(x.reverse):
            indices = places_beside(name, indices, call(x.residual)[1])
    return result, indices


def _seen_at_once(x: torch.Tensor, settings: Sequence[Sequence[int]]) -> torch.Tensor | None:
    """What windows see, a row for each place in one, if the largest of these are the pool bit for bit (for which torch
    takes many times as long): there must be no NaN, and no zero with a minus sign, of which torch takes the first.
    None where it may not be, or where torch is to check the arguments.
    """
    count = len(settings[0])
    usual = x.device.type == "cpu" and x.dtype in _BITS and x.ndim in (count + 1, count + 2) and x.numel()
    if not usual or tracing() or is_transformed() or type(x) is not torch.Tensor:
        return None
    if (torch.is_grad_enabled() and x.requires_grad) or any(len(setting) != count for setting in settings):
        return None
    places: list[Places] = []
    for n, *window in zip(x.shape[-count:], *settings, strict=True):
        if not all(isinstance(number, int) for number in window):
            return None
        kernel, stride, padding, dilation = window
        room = n + 2 * padding - dilation * (kernel - 1) - 1
        if min(kernel, stride, dilation) < 1 or not 0 <= padding <= kernel // 2 or room < 0:
            return None
        places.append(_windows(n, room // stride + 1, *window))
    if bool(torch.isnan(x.amax())) or int(x.view(_BITS[x.dtype]).amin()) == torch.iinfo(_BITS[x.dtype]).min:
        return None
    return _seen(x, places)


def _seen(x: torch.Tensor, places: Sequence[Places]) -> torch.Tensor:
    """What windows see, a row for each place in one."""
    if tracing() or is_transformed() or (torch.is_grad_enabled() and x.requires_grad):
        return torch.stack(list(_looked_at(x, places)))
    lead, blocks = x.shape[: x.ndim - len(places)], _blocks(places, x.shape)
    if blocks is not None:
        count = len(blocks)
        cut = x.reshape(*lead, *[n for block in blocks for n in block])
        within, outside = _axes_of_blocks(len(lead), count)
        made = cut.permute(*within, *range(len(lead)), *outside)
        return made.reshape(math.prod(size for _, size in blocks), *lead, *[outputs for outputs, _ in blocks])
    rows = list(itertools.product(*places))
    if all(_is_regular(found) for found in itertools.chain(*places)):
        return torch.stack(list(_looked_at(x, places)))
    made = x.new_empty((len(rows), *lead, *[len(axis[0]) for axis in places]))
    for part, row in zip(made, rows, strict=True):
        for to, source in _pieces(row):
            part[to].copy_(x[source])
    return made


_MANY_PLACES = 8  # in a window, from which on one copy takes all of them sooner than one copy each


def _blocks(places: Sequence[Places], shape: Sequence[int]) -> list[tuple[int, int]] | None:
    """For each axis how many windows lie side by side, and of how many places, where they cover it and the places are
    many."""
    if math.prod(map(len, places)) <= _MANY_PLACES:
        return None
    blocks = []
    for axis, n in zip(places, shape[len(shape) - len(places) :], strict=True):
        size, outputs = len(axis), len(axis[0])
        if size * outputs != n or any(
            type(found) is not range or found != range(i, n, size) for i, found in enumerate(axis)
        ):
            return None
        blocks.append((outputs, size))
    return blocks


def _axes_of_blocks(lead: int, count: int) -> tuple[range, range]:
    """The axes within blocks, and those of the blocks, of a tensor that is cut into them."""
    return range(lead + 1, lead + 2 * count, 2), range(lead, lead + 2 * count, 2)


def _pieces(row: Sequence[Sequence[int]]) -> Iterator[tuple[Any, Any]]:
    """Where the windows' outputs are, and what they see at one of their places, as views."""
    for parts in itertools.product(*map(_runs, row)):
        yield (..., *[to for to, _ in parts]), (..., *[source for _, source in parts])


def _runs(found: Sequence[int]) -> list[tuple[slice, slice]]:
    """Places as runs of one step each."""
    if _is_regular(found):
        step = found[1] - found[0] if len(found) > 1 else 1
        return [(slice(None), slice(found[0], found[-1] + 1, step))]
    runs, first = [], 0
    while first < len(found):
        last = first
        step = found[first + 1] - found[first] if first + 1 < len(found) else 0
        while step > 0 and last + 1 < len(found) and found[last + 1] - found[last] == step:
            last += 1
        runs.append((slice(first, last + 1), slice(found[first], found[last] + 1, max(step, 1))))
        first = last + 1
    return runs


def _shares(components: torch.Tensor, places: Any, fractions: Iterable[torch.Tensor]) -> torch.Tensor:
    return _shared_out(_looked_at(components, places), fractions)


def _shared_out(seen: Iterator[torch.Tensor], fractions: Iterable[torch.Tensor]) -> torch.Tensor:
    """Place by place, so that the components are never there for all places at once."""
    terms = zip(seen, fractions, strict=True)
    first, fraction = next(terms)
    components = first * fraction
    for part, fraction in terms:
        components.addcmul_(part, fraction)
    return components


class _Spread:
    """The gradients of the maxima of windows, spread over what each of them looks at."""

    def __init__(self, like: torch.Tensor, places: Sequence[Places], fractions: torch.Tensor) -> None:
        self.shape, self.places, self.fractions = like.shape, places, fractions

    def __call__(self, grad: torch.Tensor) -> torch.Tensor:
        blocks = _blocks(self.places, self.shape)
        if blocks is not None:
            count, lead = len(blocks), len(self.shape) - len(blocks) - 1
            made = (self.fractions * grad.squeeze(0)).unflatten(0, [size for _, size in blocks])
            outside = [i for k in range(count) for i in (count + lead + k, k)]
            return made.permute(*range(count, count + lead), *outside).reshape(self.shape)
        seen = [[place for found in axis for place in found] for axis in self.places]
        apart = all(len(axis) == len(set(axis)) for axis in seen)
        covered = apart and all(len(axis) == n for axis, n in zip(seen, self.shape[-len(seen) :], strict=True))
        made = grad.new_empty(self.shape) if covered else grad.new_zeros(self.shape)
        for row, fraction in zip(itertools.product(*self.places), self.fractions, strict=True):
            for to, source in _pieces(row):
                if apart:
                    torch.mul(grad[to], fraction[to], out=made[source])
                else:
                    made[source].addcmul_(grad[to], fraction[to])
        return made


def _is_regular(found: Sequence[int]) -> bool:
    """Whether places are one step apart, so that what is there is a view."""
    if not found or type(found) is range:
        return bool(found)
    start, step = found[0], found[1] - found[0] if len(found) > 1 else 1
    return step > 0 and found == [start + step * j for j in range(len(found))]


def _looked_at(tensor: torch.Tensor, places: Sequence[Places]) -> Iterator[torch.Tensor]:
    """For each place within a window what all windows see there: the last axes have the shape of the output."""
    for rows in itertools.product(*places):
        taken = tensor
        for i, found in enumerate(rows):
            dim = i - len(places)
            if _is_regular(found):
                start, step = found[0], found[1] - found[0] if len(found) > 1 else 1
                chosen = slice(start, start + step * (len(found) - 1) + 1, step)
                index: Any = (..., chosen, *[slice(None)] * (-1 - dim))
                taken = taken[index]
            else:  # windows that hang over
                taken = taken.index_select(dim, torch.tensor(found, dtype=torch.int64, device=tensor.device))
        yield taken


def _windows(length: int, outputs: int, kernel: int, stride: int, padding: int, dilation: int) -> Places:
    """For each place in a window, where it is for each of the outputs; where it hangs over, the first of its places
    that does not. (Python's numbers: torch.compile traces through them.)"""
    places: list[Sequence[int]] = []
    for start in range(-padding, kernel * dilation - padding, dilation):
        found: Sequence[int] = range(start, start + outputs * stride, stride)
        if outputs and not 0 <= found[0] <= found[-1] < length:
            found = [
                p if 0 <= p < length else _first_inside(i * stride - padding, dilation) for i, p in enumerate(found)
            ]
        places.append(found)
    return places


def _first_inside(start: int, dilation: int) -> int:
    """The first place of a window that is not before the first element."""
    return start if start >= 0 else start % dilation


def _adaptive_windows(length: int, outputs: int) -> Places:
    if outputs and length % outputs == 0:
        size = length // outputs
        return [range(i, length, size) for i in range(size)]
    firsts = [i * length // outputs for i in range(outputs)]
    lasts = [-(-(i + 1) * length // outputs) - 1 for i in range(outputs)]
    longest = max([last - first + 1 for first, last in zip(firsts, lasts, strict=True)], default=1)  # of no windows
    return [[min(first + k, last) for first, last in zip(firsts, lasts, strict=True)] for k in range(longest)]


@rule("pad", traits=Trait.MOVE, reverse=partial(affine, padded))
def _pad(func: Function, x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Padding is linear but for the constant that it pads with, which is no component's."""
    made = law.TaggedRule.of("Linear")(F.pad, (x, pad, mode), {})
    if isinstance(value, DecomposedTensor) and mode == "constant":
        inside = F.pad(torch.ones_like(x.value, dtype=torch.bool), pad)
        return torch.where(inside, made, value.to(x.dtype))
    if mode == "constant" and value:
        with no_graph(x.reverse):
            made = DecomposedTensor(
                func(x.value, pad, mode, value),
                func(x.residual, pad, mode, value),
                handed_on(made),
                x.labels,
                x.reverse,
            )
    return made


@rule("rrelu")
def _rrelu(
    func: Function,
    x: Any,
    lower: Any = 1 / 8,
    upper: Any = 1 / 3,
    training: bool = False,
    generator: torch.Generator | None = None,
) -> Any:
    """rrelu outside training has the slope in the middle; in training it draws one for each negative element."""
    lower, upper = chosen("rrelu", lower), chosen("rrelu", upper)
    if lower > upper:
        return func(x.value, lower, upper)  # raises
    if not training:
        return F.leaky_relu(x, (lower + upper) / 2)
    with no_graph(x.reverse):
        drawn = {} if generator is None else {"generator": generator}  # which F.rrelu does not have
        value = func(x.value, lower, upper, True, **drawn)
    slope = torch.where(x.value < 0, value / x.value, torch.ones_like(value))
    compare_choices("rrelu", x.value < 0, x.residual < 0)  # whose slopes are drawn
    made: Any = torch.mul(x, slope)
    return DecomposedTensor(value, made.residual, handed_on(made), x.labels, x.reverse)


def _enter_pools(found: Sequence[Function], written: Function, kernel: Function) -> None:
    """Give the functions that are written in Python the one rule, and those in C++ the other."""
    for function, its in ((written, True), (kernel, False)):
        chosen_ones = [f for f in found if isinstance(f, types.FunctionType) is its]
        rule(*chosen_ones, short=max_pool, reverse=adaptive_pool)(function)


for _kind, _written, _kernel in (
    ("", _max_pool, _max_pool_kernel),
    ("adaptive_", _adaptive_max_pool, _adaptive_max_pool_kernel),
):
    for _n in "123":
        _enter_pools(functions(f"{_kind}max_pool{_n}d {_kind}max_pool{_n}d_with_indices"), _written, _kernel)
