"""Closed forms of the law for functions that the tags do not describe: quotients, maxima, selections by order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch

from npdec import _law
from npdec._decomposed import DecomposedTensor
from npdec._gradients import no_graph
from npdec._impl.envelope_impl import leading_fractions

__all__ = ["CLOSED_FORMS"]

Function = Callable[..., Any]


def _divide(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """x / y: linear in x; in y, and in both, the product of x with the reciprocal of y, whose slope is −1 / (x y)."""
    rounding = kwargs.get("rounding_mode")
    x, y = args
    if rounding is not None:
        return _law.TaggedRule.of("Stepwise", "Stepwise")(func, args, kwargs)
    if func is torch.Tensor.__rtruediv__ or func is getattr(torch.Tensor, "__rdiv__", None):
        x, y = y, x
    if not isinstance(y, DecomposedTensor):
        return _law.TaggedRule.of("Multilinear", "Multilinear")(torch.div, (x, y), {})
    product = cast(DecomposedTensor, torch.mul(x, torch.reciprocal(y)))
    # The value is the quotient itself, not the product with a rounded reciprocal.
    x_value = x.value if isinstance(x, DecomposedTensor) else x
    x_residual = x.residual if isinstance(x, DecomposedTensor) else x
    with no_graph(product.whole):
        value, residual = torch.div(x_value, y.value), torch.div(x_residual, y.residual)
    return DecomposedTensor(value, residual, product.components, product.labels, product.whole)


def _routed(values: DecomposedTensor, dim: int, sign: int, value: torch.Tensor, keepdim: bool) -> DecomposedTensor:
    """The maximum (sign 1) or minimum (−1) along an axis, each element passing on what it has for the part it leads."""
    x, r = values.value, values.residual
    base = r.amax(dim, keepdim) if sign > 0 else r.amin(dim, keepdim)
    fractions = leading_fractions(sign * x, sign * r, dim % x.ndim)
    components = (values.components * fractions).sum(dim % x.ndim + 1, keepdim)
    return DecomposedTensor(value, base, components, values.labels, values.whole)


def _extremum_along(sign: int) -> Function:
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """amax, amin: over one axis, several, or all."""
        x, dim, keepdim = _read(args, kwargs, dim=(), keepdim=False)
        if not x.value.ndim:
            return x.clone()
        if dim is None or isinstance(dim, (tuple, list)):
            axes = tuple(dim) if dim else tuple(range(x.value.ndim))
            axes = tuple(a % x.value.ndim for a in axes)
            kept = [a for a in range(x.value.ndim) if a not in axes]
            shape = [x.value.shape[a] for a in kept]
            flat = x.permute((*kept, *axes)).reshape([*shape, -1])
        else:
            flat = x.movedim(dim, -1)
        value = func(x.value, *args[1:], **kwargs)
        result = _routed(flat, -1, sign, value if not keepdim else value.reshape(flat.value.shape[:-1]), False)
        return result.reshape(tuple(value.shape)) if keepdim else result

    return rule


def _max_or_min(sign: int) -> Function:
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """torch.max and torch.min in their three forms: of all elements, along an axis with indices, of two tensors."""
        x, dim, keepdim = _read(args, kwargs, dim=None, keepdim=False)
        other = kwargs.get("other", dim)
        if isinstance(other, torch.Tensor) or (isinstance(x, torch.Tensor) and not isinstance(x, DecomposedTensor)):
            return _pairwise(sign)(torch.maximum if sign > 0 else torch.minimum, (x, other), {})
        if dim is None:
            value = func(x.value)
            return _routed(x.reshape(-1), 0, sign, value, False)
        made = func(x.value, dim, keepdim)
        return type(made)((_routed(x, dim, sign, made.values, keepdim), made.indices))

    return rule


def _pairwise(sign: int) -> Function:
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """maximum, minimum, fmax, fmin: two lines, and the part of the path on which each one leads."""
        a, b = (args[0], args[1]) if len(args) > 1 else (args[0], kwargs["other"])
        plain = [t.value if isinstance(t, DecomposedTensor) else t for t in (a, b)]
        with no_graph(_whole(a, b)):
            value = func(*plain)
            base = func(*[t.residual if isinstance(t, DecomposedTensor) else t for t in (a, b)])
        pair = cast(DecomposedTensor, torch.stack([_spread(a, value), _spread(b, value)]))
        result = _routed(pair, 0, sign, value, False)
        result.residual = base
        return result

    return rule


def _whole(*tensors: Any) -> bool:
    return any(isinstance(t, DecomposedTensor) and t.whole for t in tensors)


def _spread(t: Any, like: torch.Tensor) -> torch.Tensor:
    t = t if isinstance(t, torch.Tensor) else torch.as_tensor(t, dtype=like.dtype, device=like.device)
    return torch.broadcast_to(t.to(like.dtype), tuple(like.shape))


def _clamp(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """clamp with plain bounds is pointwise; with decomposed bounds, a maximum and a minimum."""
    x, low, high = _read(args, kwargs, min=None, max=None)
    if not isinstance(low, DecomposedTensor) and not isinstance(high, DecomposedTensor):
        return _law.TaggedRule.of("Pointwise")(func, args, kwargs)
    if low is not None:
        x = torch.maximum(x, _spread(low, x if isinstance(x, torch.Tensor) else low))
    if high is not None:
        x = torch.minimum(x, _spread(high, x))
    return x


def _ordered(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """sort, topk, kthvalue, median, mode: the order is the values'; the parts follow it (residual included)."""
    x = args[0]
    made = func(x.value, *args[1:], **kwargs)
    if isinstance(made, torch.Tensor):  # median of all elements
        flat = x.reshape(-1)
        _, index = func(flat.value, 0)
        return flat[index]
    names = func.__name__
    position = {"sort": 0, "msort": 0, "median": 0, "nanmedian": 0, "topk": 1, "kthvalue": 1, "mode": 0}[names]
    dim = kwargs.get("dim", args[position + 1] if len(args) > position + 1 else -1)
    keepdim = made.values.ndim == x.value.ndim
    index = made.indices if keepdim else made.indices.unsqueeze(dim)
    axis = dim % x.value.ndim
    residual = torch.gather(x.residual, axis, index)
    components = torch.gather(x.components, axis + 1, index.expand(len(x.components), *index.shape))
    if not keepdim:
        residual, components = residual.squeeze(axis), components.squeeze(axis + 1)
    return type(made)((DecomposedTensor(made.values, residual, components, x.labels, x.whole), made.indices))


def _read(args: Sequence[Any], kwargs: dict[str, Any], **names: Any) -> list[Any]:
    """The first argument and the named ones after it, wherever they stand."""
    args = list(args) if args else [kwargs["input"]]
    found = [args[0]]
    for i, (name, default) in enumerate(names.items(), 1):
        found.append(args[i] if len(args) > i else kwargs.get(name, default))
    return found


def _view(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A view of another shape is linear; the bits read as integers are something that is looked at."""
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    if isinstance(dtype, torch.dtype) and not (dtype.is_floating_point or dtype.is_complex):
        return args[0].value.view(dtype)
    return _law.TaggedRule.of("Linear")(func, args, kwargs)


def _dropout(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """One mask for all parts: the mask is drawn by dropping out ones."""
    x = args[0] if args else kwargs["input"]
    rest = args[1:]
    kept = {k: v for k, v in kwargs.items() if k not in ("input", "inplace")}
    mask = func(torch.ones_like(x.value), *rest, **kept)
    return torch.mul(x, mask)


CLOSED_FORMS: dict[str, Function] = {
    "div": _divide,
    "divide": _divide,
    "true_divide": _divide,
    "__rtruediv__": _divide,
    "__rdiv__": _divide,
    "amax": _extremum_along(1),
    "amin": _extremum_along(-1),
    "max": _max_or_min(1),
    "min": _max_or_min(-1),
    "maximum": _pairwise(1),
    "minimum": _pairwise(-1),
    "fmax": _pairwise(1),
    "fmin": _pairwise(-1),
    "clamp": _clamp,
    "clip": _clamp,
    "sort": _ordered,
    "topk": _ordered,
    "kthvalue": _ordered,
    "median": _ordered,
    "nanmedian": _ordered,
    "mode": _ordered,
    "dropout": _dropout,
    "view": _view,
}
