"""Closed forms of the law for functions of networks: pooling, padding, dropout, embeddings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.axes import narrowed
from npdec._decomposed.block_sparse import Windows
from npdec._decomposed.block_sparse_convolutions import fitted, reach
from npdec._decomposed.choices import chosen, compare_choices, is_watched, places_beside
from npdec._decomposed.kept_components import handed_on, known
from npdec._decomposed.registry import Answer, Trait
from npdec._decomposed.reverse_graph import is_pulled, no_graph, pulled
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl.envelope_impl import leading_fractions
from npdec._law import law
from npdec._rules.elementary import by_position, read
from npdec._rules.rule import rule
from npdec._torch.tracing import name_of, tracing

Function = Callable[..., Any]

_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


def _dropout(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """One mask for all parts: the mask is drawn by dropping out ones."""
    x, p, training = read(args, kwargs, p=0.5, training=True)
    return torch.mul(x, func(torch.ones_like(x.value), p, training)) if training and p else x


def _each(setting: Any, count: int) -> list[int]:
    """A setting of a pool for each of its axes."""
    numbers = list(setting) if isinstance(setting, (tuple, list)) else [setting]
    return numbers * count if len(numbers) == 1 else numbers


def _max_pool(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """max_pool and adaptive_max_pool, with indices or without: the maximum of each window."""
    name = name_of(func)
    count = int(name.partition("pool")[2][0])
    x, kernel, stride, padding, dilation, *more = read(
        args, kwargs, kernel_size=None, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
    )
    settings = [_each(setting, count) for setting in (kernel or 1, stride or kernel or 1, padding, dilation)]
    plain = name == f"max_pool{count}d" and not any(more) and not any(settings[2]) and set(settings[3]) == {1}
    with no_graph(x.whole):
        high = _seen_at_once(x.value, *settings[:2]) if plain else None
        made = func(x.value, *args[1:], **kwargs) if high is None else high.amax(0)
        value = made if isinstance(made, torch.Tensor) else made[0]
        places = []  # for each axis, and each place in a window, what the windows look at
        for i in range(count):
            length, outputs = x.shape[i - count], value.shape[i - count]
            if name.startswith("adaptive"):
                places.append(_adaptive_windows(length, outputs))
            else:
                places.append(_windows(length, outputs, *[setting[i] for setting in settings]))
        row = narrowed(x.residual, x.residual.ndim - count)  # of rows with one baseline one is enough
        high = torch.stack(list(_looked_at(x.value, places))) if high is None else high
        low = torch.stack(list(_looked_at(row, places)))
        fractions = leading_fractions(high, low, 0)
        residual = low.amax(0).expand(value.shape)
    windows = None if x.whole or name.startswith("adaptive") else known(x)
    components: Any = None if windows is None else _of_windows(windows, value, places, settings, fractions)
    if is_pulled(x.whole) and all(_is_regular(found) for axis in places for found in axis):
        components = pulled(value, residual, x.components, _Spread(x.components, places, fractions))
    if components is None:
        components = _shared_out(_looked_at(x.components, places), fractions)
    result = DecomposedTensor(value, residual, components, x.labels, x.whole)
    if isinstance(made, torch.Tensor):
        return result
    indices = made[1]
    if is_watched():
        with no_graph(x.whole):
            indices = places_beside(name, indices, func(x.residual, *args[1:], **kwargs)[1])
    return result, indices


def _seen_at_once(x: torch.Tensor, kernel: Sequence[int], stride: Sequence[int]) -> torch.Tensor | None:
    """What windows see that neither hang over nor are dilated, a row for each place in one, if the largest of these are
    the pool bit for bit (for which torch takes many times as long): there must be no NaN, and no zero with a minus
    sign, of which torch takes the first. None where it may not be, or where torch is to check the arguments.
    """
    count = len(kernel)
    usual = x.device.type == "cpu" and x.dtype in _BITS and x.ndim in (count + 1, count + 2) and x.numel()
    if not usual or tracing() or torch._C._are_functorch_transforms_active() or type(x) is not torch.Tensor:
        return None
    if (torch.is_grad_enabled() and x.requires_grad) or len(stride) != count:
        return None
    sizes = list(zip(x.shape[-count:], kernel, stride, strict=True))
    if not all(isinstance(k, int) and isinstance(s, int) and 0 < k <= n and s > 0 for n, k, s in sizes):
        return None
    if bool(torch.isnan(x.amax())) or int(x.view(_BITS[x.dtype]).amin()) == torch.iinfo(_BITS[x.dtype]).min:
        return None
    places = [_windows(n, (n - k) // s + 1, k, s, 0, 1) for n, k, s in sizes]
    return torch.stack(list(_looked_at(x, places)))


def _of_windows(
    windows: Windows,
    value: torch.Tensor,
    places: Sequence[list[list[int]]],
    settings: Sequence[list[int]],
    fractions: torch.Tensor,
) -> Windows | None:
    """Windows of the maxima; None where some of a pool's windows hang over the end of that axis."""
    dim = windows.axis - value.ndim + len(places)
    parts, layout = windows.parts, windows.layout
    if dim >= 0:
        kernel, stride, padding, dilation = (setting[dim] for setting in settings)
        outputs = value.shape[windows.axis]
        found = reach(layout, outputs, kernel, stride, padding, dilation)
        if padding or found is None or (outputs - 1) * stride + dilation * (kernel - 1) >= layout.n:
            return None
        parts, layout = fitted(windows, found.starts, found.width), found.layout
        places = list(places)
        places[dim] = [[k * dilation + stride * j for j in range(layout.width)] for k in range(kernel)]
    seen = (layout.seen(fraction, windows.axis) for fraction in fractions)
    return Windows(_shared_out(_looked_at(parts, places), seen), windows.axis, layout)


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

    def __init__(self, like: torch.Tensor, places: Sequence[list[list[int]]], fractions: torch.Tensor) -> None:
        self.shape, self.places, self.fractions = like.shape, places, fractions

    def __call__(self, grad: torch.Tensor) -> torch.Tensor:
        seen = [[place for found in axis for place in found] for axis in self.places]
        apart = all(len(axis) == len(set(axis)) for axis in seen)
        whole = apart and all(len(axis) == n for axis, n in zip(seen, self.shape[-len(seen) :], strict=True))
        made = grad.new_empty(self.shape) if whole else grad.new_zeros(self.shape)
        for place, fraction in zip(_looked_at(made, self.places), self.fractions, strict=True):
            if apart:
                torch.mul(grad, fraction, out=place)
            else:
                place.addcmul_(grad, fraction)
        return made


def _is_regular(found: list[int]) -> bool:
    """Whether places are one step apart, so that what is there is a view."""
    start, step = found[0], found[1] - found[0] if len(found) > 1 else 1
    return step > 0 and found == [start + step * j for j in range(len(found))]


def _looked_at(tensor: torch.Tensor, places: Sequence[list[list[int]]]) -> Iterator[torch.Tensor]:
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
                taken = taken.index_select(dim, torch.tensor(found, device=tensor.device))
        yield taken


def _windows(length: int, outputs: int, kernel: int, stride: int, padding: int, dilation: int) -> list[list[int]]:
    """For each place in a window, where it is for each of the outputs; where it hangs over, another one of its places.
    (Python's numbers: torch.compile traces through them.)"""
    windows = []
    for i in range(outputs):
        window = [i * stride - padding + k * dilation for k in range(kernel)]
        inside = [place for place in window if 0 <= place < length]
        windows.append([place if 0 <= place < length else inside[0] for place in window])
    return [[window[k] for window in windows] for k in range(kernel)]


def _adaptive_windows(length: int, outputs: int) -> list[list[int]]:
    firsts = [i * length // outputs for i in range(outputs)]
    lasts = [-(-(i + 1) * length // outputs) - 1 for i in range(outputs)]
    longest = max([last - first + 1 for first, last in zip(firsts, lasts, strict=True)], default=0)
    return [[min(first + k, last) for first, last in zip(firsts, lasts, strict=True)] for k in range(longest)]


def _pad(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Padding is linear but for the constant that it pads with, which is no component's."""
    x, pad, mode, value = read(args, kwargs, pad=None, mode="constant", value=None)
    made = law.TaggedRule.of("Linear")(F.pad, (x, pad, mode), {})
    if isinstance(value, DecomposedTensor) and mode == "constant":
        inside = F.pad(torch.ones_like(x.value, dtype=torch.bool), pad)
        return torch.where(inside, made, value.to(x.dtype))
    if mode == "constant" and value:
        with no_graph(x.whole):
            made = DecomposedTensor(
                func(x.value, pad, mode, value), func(x.residual, pad, mode, value), handed_on(made), x.labels, x.whole
            )
    return made


def _rrelu(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """rrelu outside training has the slope in the middle; in training it draws one for each negative element."""
    x, lower, upper, training = read(args, kwargs, lower=1 / 8, upper=1 / 3, training=False)
    lower, upper = chosen("rrelu", lower), chosen("rrelu", upper)
    if not training:
        return F.leaky_relu(x, (lower + upper) / 2)
    with no_graph(x.whole):
        value = func(x.value, lower, upper, True)
    slope = torch.where(x.value < 0, value / x.value, torch.ones_like(value))
    compare_choices("rrelu", x.value < 0, x.residual < 0)  # whose slopes are drawn
    made: Any = torch.mul(x, slope)
    return DecomposedTensor(value, made.residual, handed_on(made), x.labels, x.whole)


for _kind in ("", "adaptive_"):
    for _n in "123":
        rule(f"{_kind}max_pool{_n}d {_kind}max_pool{_n}d_with_indices")(Answer(by_position(_max_pool)))
rule(F.dropout)(Answer(by_position(_dropout)))
rule("pad", traits=Trait.MOVE)(Answer(by_position(_pad)))
rule("rrelu")(Answer(by_position(_rrelu)))
