"""Closed forms of the law for functions of networks: pooling, padding, dropout, embeddings."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from npdec._rules.rule import rule
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import name_of, tracing

Function = Callable[..., Any]

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
    plain = not (ceil_mode or any(options.values()) or any(settings[2])) and set(settings[3]) == {1}
    plain = plain and name == f"max_pool{count}d"
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
    indices, whose windows neither hang over nor are dilated."""
    name = name_of(func)
    count = _axes(name)
    with no_graph(x.reverse):
        high = _seen_at_once(x.value, *settings[:2]) if plain else None
        made = call(x.value) if high is None else high.amax(0)
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
    given = None if x.reverse or name.startswith("adaptive") else stand_in(x)
    components: Any = None if given is None else given.pooled(value, places, settings, _shares, fractions)
    if uses_vjp(x.reverse) and all(_is_regular(found) for axis in places for found in axis):
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


def _seen_at_once(x: torch.Tensor, kernel: Sequence[int], stride: Sequence[int]) -> torch.Tensor | None:
    """What windows see that neither hang over nor are dilated, a row for each place in one, if the largest of these are
    the pool bit for bit (for which torch takes many times as long): there must be no NaN, and no zero with a minus
    sign, of which torch takes the first. None where it may not be, or where torch is to check the arguments.
    """
    count = len(kernel)
    usual = x.device.type == "cpu" and x.dtype in _BITS and x.ndim in (count + 1, count + 2) and x.numel()
    if not usual or tracing() or is_transformed() or type(x) is not torch.Tensor:
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

    def __init__(self, like: torch.Tensor, places: Sequence[list[list[int]]], fractions: torch.Tensor) -> None:
        self.shape, self.places, self.fractions = like.shape, places, fractions

    def __call__(self, grad: torch.Tensor) -> torch.Tensor:
        seen = [[place for found in axis for place in found] for axis in self.places]
        apart = all(len(axis) == len(set(axis)) for axis in seen)
        covered = apart and all(len(axis) == n for axis, n in zip(seen, self.shape[-len(seen) :], strict=True))
        made = grad.new_empty(self.shape) if covered else grad.new_zeros(self.shape)
        for place, fraction in zip(_looked_at(made, self.places), self.fractions, strict=True):
            if apart:
                torch.mul(grad, fraction, out=place)
            else:
                place.addcmul_(grad, fraction)
        return made


def _is_regular(found: list[int]) -> bool:
    """Whether places are one step apart, so that what is there is a view."""
    if not found:
        return False
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
                taken = taken.index_select(dim, torch.tensor(found, dtype=torch.int64, device=tensor.device))
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
    longest = max([last - first + 1 for first, last in zip(firsts, lasts, strict=True)], default=1)  # of no windows
    return [[min(first + k, last) for first, last in zip(firsts, lasts, strict=True)] for k in range(longest)]


@rule("pad", traits=Trait.MOVE)
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
    rule(*[f for f in found if isinstance(f, types.FunctionType)])(written)
    rule(*[f for f in found if not isinstance(f, types.FunctionType)])(kernel)


for _kind, _written, _kernel in (
    ("", _max_pool, _max_pool_kernel),
    ("adaptive_", _adaptive_max_pool, _adaptive_max_pool_kernel),
):
    for _n in "123":
        _enter_pools(functions(f"{_kind}max_pool{_n}d {_kind}max_pool{_n}d_with_indices"), _written, _kernel)
