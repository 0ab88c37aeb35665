"""Closed forms for the functions of network layers: embeddings, sampling at moving places, pooling, packed sequences,
recurrent layers' inputs, and what draws random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F

from npdec._decomposed.choices import is_watched, places_beside
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor, copy_of
from npdec._law import law
from npdec._law.half_precision import widened
from npdec._law.ordinary_linear import unless_training
from npdec._rules import inplace
from npdec._rules.by_formula import by_formula, own_numbers, pointwise, residual_of, same_draws, value_of, with_numbers
from npdec._rules.elementary import routed
from npdec._rules.layers_reverse import weighted_bags
from npdec._rules.rule import rule

Function = Callable[..., Any]
_N = torch._C._nn


# -- embeddings --------------------------------------------------------------------------------------------------------


@rule(F.embedding, indices=(0, "input"))
def _embedding(
    func: Function,
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Rows of the weight. (What the other arguments say of gradients is not about contributions.)"""
    index = value_of(input)
    if not isinstance(weight, DecomposedTensor):  # contributions of an index
        return func(index, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    if weight.ndim != 2:
        return func(index, weight.value)  # raises
    if max_norm is not None:
        _shrink(weight, index, max_norm, norm_type)
    return _looked_up(weight, index)


def _looked_up(weight: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
    """torch.embedding: the weight comes first, and the rest is about gradients."""
    index = value_of(indices)
    return weight.index_select(0, index.reshape(-1)).reshape((*index.shape, weight.shape[-1]))


def _shrink(weight: Any, index: torch.Tensor, max_norm: float, norm_type: float) -> Any:
    """Rows that are looked up are shrunk in place to a norm of at most `max_norm`."""
    rows = torch.unique(index)
    shrunk = weight.index_copy(0, rows, torch.renorm(weight.index_select(0, rows), norm_type, 0, max_norm))
    with torch.no_grad():
        value, residual = copy_of(value_of(weight).detach()), copy_of(residual_of(weight).detach())
        torch.embedding_renorm_(value, index, max_norm, norm_type)
        torch.embedding_renorm_(residual, index, max_norm, norm_type)
    return inplace.assign(weight, with_numbers(value, residual, shrunk))


@rule("embedding_renorm_")
def _embedding_renorm_(func: Function, weight: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    return _shrink(weight, value_of(indices), max_norm, norm_type)


def _embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Any, ...]:
    """Sums (mode 0), means (1) or maxima (2) of rows, bag by bag. (Two of the arguments are about gradients only.)"""
    indices, offsets = value_of(indices), value_of(offsets)
    starts = offsets[:-1] if include_last_offset else offsets
    count = len(starts)
    bags = torch.searchsorted(starts.contiguous(), torch.arange(len(indices), device=starts.device), right=True) - 1
    if padding_idx is not None and padding_idx >= 0:
        kept = indices != padding_idx
        indices, bags = indices[kept], bags[kept]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[kept]
    rows = weight.index_select(0, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    zeros = torch.zeros((count, weight.shape[1]), dtype=weight.dtype, device=weight.device)
    if mode == 2:
        index = bags.unsqueeze(1).expand(rows.shape)
        made: Any = torch.scatter_reduce(zeros, 0, index, rows, "amax", include_self=False)
    else:
        made = zeros.index_add(0, bags, rows)
        if mode == 1:
            made = made / torch.bincount(bags, minlength=count).clamp(min=1).unsqueeze(1)
    return made, None, None, None


# -- sampling ----------------------------------------------------------------------------------------------------------

_BILINEAR, _NEAREST, _BICUBIC = 0, 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2


def _tent(u: torch.Tensor) -> torch.Tensor:
    return (1 - u.abs()).clamp(min=0)


def _cubic(u: torch.Tensor) -> torch.Tensor:
    """Keys' cubic convolution kernel with a = −3/4."""
    a, d = -0.75, u.abs()
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return torch.where(d <= 1, near, torch.where(d < 2, far, torch.zeros_like(d)))


@rule("grid_sampler grid_sampler_2d grid_sampler_3d")
def _grid_rule(
    func: Function, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """Linear in the input; in the grid, a product of one function of the distance to each pixel for each axis."""
    options = (interpolation_mode, padding_mode, align_corners)
    if not isinstance(grid, DecomposedTensor):
        return law.TaggedRule.of("Linear")(func, (input, grid, *options), {})
    return own_numbers(func, (input, grid, *options), {}, _sampled(widened(input), widened(grid), *options))


def _sampled(input: Any, grid: DecomposedTensor, mode: int, padding: int, corners: bool) -> Any:
    sizes = tuple(input.shape[2:])
    places: list[torch.Tensor] = []
    weights: list[Any] = []
    for axis, size in enumerate(sizes):
        g = cast(DecomposedTensor, grid.flatten(1, -2)[..., len(sizes) - 1 - axis])
        u = (g + 1) * ((size - 1) / 2) if corners else ((g + 1) * size - 1) / 2
        if mode != _BICUBIC:
            u = _moved_inside(u, size, padding, corners)
        place, weight = _neighbours(u, mode)
        inside = (place >= 0) & (place < size)
        if mode == _BICUBIC and padding != _ZEROS:
            place = _moved_inside(place.to(g.dtype), size, padding, corners).long()
        elif padding == _ZEROS:
            weight = torch.where(inside, weight, 0)
        places.append(place.clamp(0, size - 1))
        weights.append(weight)
    count = len(sizes)
    flat = input.flatten(2)
    combined: Any = 0
    for axis, size in enumerate(sizes):
        shape = [1] * count
        shape[axis] = places[axis].shape[-1]
        combined = combined * size + places[axis].reshape(*places[axis].shape[:2], *shape)
    index = combined.flatten(1).unsqueeze(1).expand(-1, input.shape[1], -1)
    corner = flat.gather(2, index).reshape(*input.shape[:2], *combined.shape[1:])
    letters = "xyz"[:count]
    equation = f"ncp{letters}," + ",".join(f"np{letter}" for letter in letters) + "->ncp"
    return torch.einsum(equation, corner, *weights).reshape(*input.shape[:2], *grid.shape[1:-1])


def _moved_inside(u: Any, size: int, padding: int, corners: bool) -> Any:
    """Coordinates outside the image, moved to its border or reflected into it."""
    if padding == _ZEROS:
        return u
    low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)

    def reflected(v: torch.Tensor) -> torch.Tensor:
        span = high - low
        if span == 0:
            return torch.zeros_like(v)
        away = torch.remainder(v - low, 2 * span)
        return torch.where(away > span, 2 * span - away, away) + low

    def moved(v: torch.Tensor) -> torch.Tensor:
        return (reflected(v) if padding == _REFLECTION else v).clamp(0, size - 1)

    return pointwise(moved, u)


def _neighbours(u: DecomposedTensor, mode: int) -> tuple[torch.Tensor, Any]:
    """The pixels that the value and the residual are made of, (N, P, K), and what each of them is multiplied with."""
    with no_graph(u.reverse):
        x, r = u.value.detach(), u.residual.detach()
        offsets = torch.arange(*{_BILINEAR: (0, 2), _NEAREST: (0, 1), _BICUBIC: (-1, 3)}[mode], device=x.device)
        start = torch.round if mode == _NEAREST else torch.floor
        first, second = start(x).long().unsqueeze(-1), start(r).long().unsqueeze(-1)
        place = torch.cat([first + offsets, second + offsets], -1)
        known = (second + offsets - first >= offsets[0]) & (second + offsets - first <= offsets[-1])
        counted = torch.cat([torch.ones_like(first + offsets, dtype=torch.bool), ~known], -1)
    if mode == _NEAREST:
        weight: Any = law.TaggedRule.of("Stepwise")(_here, (u.unsqueeze(-1), place), {})
    else:
        weight = pointwise(_tent if mode == _BILINEAR else _cubic, u.unsqueeze(-1) - place)
    return place, torch.where(counted, weight, 0)


def _here(u: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    return (torch.round(u) == place).to(u.dtype) + 0 * u


# -- pooling -----------------------------------------------------------------------------------------------------------


@rule(_N.fractional_max_pool2d, _N.fractional_max_pool3d)
def _fractional_pool(func: Function, x: Any, kernel_size: Any, output_size: Any, random_samples: Any) -> Any:
    """The maximum of each window; the windows are drawn, and are the same for all parts."""
    samples = value_of(random_samples)
    if not isinstance(x, DecomposedTensor):
        return func(x, kernel_size, output_size, samples)
    with no_graph(x.reverse):
        value, indices = func(x.value, kernel_size, output_size, samples)
        if is_watched():
            indices = places_beside(func.__name__, indices, func(x.residual, kernel_size, output_size, samples)[1])
    count = int(func.__name__[-2])
    batched = x if x.ndim == count + 2 else x.unsqueeze(0)
    kernels = list(kernel_size) if isinstance(kernel_size, (tuple, list)) else [kernel_size] * count
    windows: Any = batched
    for i in range(count):
        n, size, k = batched.shape[i + 2], value.shape[i - count], kernels[i]
        draw = samples[: batched.shape[0], ..., i if count == 3 else 1 - i].to(value.dtype)  # in torch's order
        steps = torch.arange(size, device=value.device)
        alpha = (n - k) / (size - 1) if size > 1 else 0.0
        starts = ((steps + draw[..., None]) * alpha).long() - (draw[..., None] * alpha).long()
        starts[..., -1] = n - k
        places = starts[..., None] + torch.arange(k, device=value.device)  # (N, C, size, k)
        shape = [1] * windows.ndim
        shape[:2], shape[i + 2] = list(places.shape[:2]), size * k
        index = places.flatten(2).reshape(shape)
        wanted = [*windows.shape[:2], *windows.shape[2:]]
        wanted[i + 2] = size * k
        windows = windows.gather(i + 2, index.expand(wanted)).unflatten(i + 2, (size, k)).movedim(i + 3, -1)
    wanted_shape = windows.shape[: 2 + count]
    result = routed(windows.flatten(2 + count), -1, 1, value.reshape(wanted_shape), False)
    return result.reshape(tuple(value.shape)), indices


@rule(_N.max_unpool2d, _N.max_unpool3d, indices=(1, "indices"))
def _max_unpool(func: Function, x: Any, indices: Any, *options: Any, **named: Any) -> Any:
    """Elements put back to where they were taken from; the last one of those that go to one place stays. (The options
    are the size of the result, and in three dimensions the strides and padding that it was made with.)"""
    indices = value_of(indices)
    positions = torch.arange(1, x.numel() + 1, dtype=torch.float64, device=x.device).reshape(tuple(x.shape))
    source = func(positions, indices, *options, **named).long()
    made = x.reshape(-1)[(source - 1).clamp(min=0)]
    return own_numbers(func, (x, indices, *options), named, torch.where(source > 0, made, 0))


# -- sequences of several lengths --------------------------------------------------------------------------------------


@rule("_pack_padded_sequence")
def _pack_padded(func: Function, x: Any, lengths: Any, batch_first: bool) -> Any:
    """The elements of padded sequences, step by step."""
    steps, batch = (x.shape[1], x.shape[0]) if batch_first else x.shape[:2]
    positions = torch.arange(steps * batch, device=x.device).reshape(steps, batch, 1)
    index, sizes = func(positions, lengths, False)
    flat = (x.transpose(0, 1) if batch_first else x).flatten(0, 1)
    return flat.index_select(0, index.squeeze(-1)), sizes


@rule("_pad_packed_sequence")
def _pad_packed(
    func: Function, data: Any, batch_sizes: Any, batch_first: bool, padding_value: float, total_length: int
) -> Any:
    positions = torch.arange(data.shape[0], device=data.device).unsqueeze(-1)
    index, lengths = func(positions, batch_sizes, batch_first, -1, total_length)
    index = index.squeeze(-1)
    made = data[index.clamp(min=0)]
    outside = (index < 0).reshape(*index.shape, *[1] * (data.ndim - 1))
    return made.masked_fill(outside, padding_value), lengths


def _pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    longest = max(s.shape[0] for s in sequences)
    padded = []
    for s in sequences:
        missing = longest - s.shape[0]
        around = (missing, 0) if padding_side == "left" else (0, missing)
        padded.append(F.pad(s, (0, 0) * (s.ndim - 1) + around, value=padding_value))
    return torch.stack(padded, 0 if batch_first else 1)


# -- random numbers ----------------------------------------------------------------------------------------------------


@rule(F.dropout, short=unless_training)
def _dropout(func: Function, x: Any, p: float = 0.5, training: bool = True) -> Any:
    return _masked(func, x, p, training)


@rule("feature_dropout", torch.dropout, short=unless_training)
@rule("native_dropout")
def _masked(func: Function, x: Any, p: float, train: bool | None) -> Any:
    """One mask for all parts: it is drawn by dropping out ones. Where nothing is, torch gives back what it got."""
    if not 0 <= p <= 1:
        return func(x.value, p, train)  # which says so
    mask_too = func is torch.native_dropout
    if not mask_too and not (train and p):
        return x
    drawn = func(torch.ones_like(x.value), p, train)
    return (torch.mul(x, drawn[0]), drawn[1]) if mask_too else torch.mul(x, drawn)


@rule(torch.alpha_dropout, torch.feature_alpha_dropout)
def _alpha_dropout(func: Function, x: Any, p: float, train: bool) -> Any:
    """What is dropped takes the number that keeps mean and variance (Klambauer et al., "Self-normalizing neural
    networks", 2017, appendix)."""
    if not train or not 0 < p < 1:
        return _masked(func, x, p, train)
    depth = 1.7580993408473766
    a = 1 / math.sqrt((depth * depth * p + 1) * (1 - p))
    drawn = func(torch.ones_like(x.value), p, train)
    noise = (drawn > a * (1 - depth) / 2 + depth * a * p).to(x.dtype)  # one where it is kept
    shift = noise.sub(1).mul_(depth * a).add_(depth * a * p)
    return x * noise.mul(a) + shift


@rule("normal")
def _normal(func: Function, mean: Any, std: Any = 1.0, *, generator: torch.Generator | None = None) -> Any:
    """mean + std · z for normal numbers z, which depend on no input."""
    like = value_of(mean if isinstance(mean, torch.Tensor) else std)
    given = [t for t in (mean, std) if isinstance(t, torch.Tensor)]
    shape = torch.broadcast_shapes(*[tuple(t.shape) for t in given])
    numbers = same_draws(func, (mean, std), {"generator": generator}, like.device)
    z = torch.normal(torch.zeros(shape, dtype=like.dtype, device=like.device), 1.0, generator=generator)
    made = z * std + mean
    return made if numbers is None else with_numbers(*numbers, made)


# -- normalisation -----------------------------------------------------------------------------------------------------


def _cross_map_lrn(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> Any:
    """Numbers over a power of the squares of the channels near theirs, of which torch's running sum keeps the first."""
    channels, ahead = input.shape[1], int((size - 1) / 2 + 1)
    near = torch.zeros(channels, channels, dtype=input.dtype, device=input.device)
    near[0, : min(ahead, channels)] = 1
    for c in range(1, channels):
        near[c] = near[c - 1]
        if c < channels - ahead + 1:
            near[c, c + ahead - 1] += 1
        if c > ahead:
            near[c, c - ahead] -= 1
    sums = torch.matmul(near, input.square().flatten(2)).reshape(tuple(input.shape))
    return input * (sums * (alpha / size) + k).pow(-beta)


@rule("native_batch_norm")
def _native_batch_norm(
    func: Function,
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """The normalised elements, and in training the means and the inverse deviations of the channels."""
    whole: Any = torch.batch_norm
    made = whole(x, weight, bias, running_mean, running_var, training, momentum, eps, False)
    with no_graph(made.reverse):
        values, residuals = (
            func(pick(x), pick(weight), pick(bias), None, None, True, momentum, eps)
            if training
            else (made.value, made.value.new_empty(0), made.value.new_empty(0))
            for pick in (value_of, residual_of)
        )
    if not training or not isinstance(x, DecomposedTensor):
        return made, *values[1:]
    axes = [axis for axis in range(x.ndim) if axis != 1]
    spread = pointwise(torch.rsqrt, torch.var(x, axes, correction=0) + eps)
    return made, *with_numbers(tuple(values[1:]), tuple(residuals[1:]), (torch.mean(x, axes), spread))


rule(torch.nn.modules._functions.CrossMapLRN2d)(by_formula(_cross_map_lrn))
rule(torch.embedding, indices=(1, "indices"))(by_formula(_looked_up))
rule("_embedding_bag", torch.embedding_bag, short=weighted_bags, indices=(1, 2, "indices", "offsets"))(
    by_formula(_embedding_bag)
)
rule("pad_sequence")(by_formula(_pad_sequence))
