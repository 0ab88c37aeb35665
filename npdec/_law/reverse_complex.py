"""Forms of ordinary calls in reverse mode of complex numbers: Fourier transforms, and what is linear in one argument
beside them; products of two; magnitudes. The value is put on the graph by a linear function that has the mean
derivative, as in `npdec._law.reverse_forms`, and autograd takes gradients back by its conventions."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.aliasing import link_lazily
from npdec._decomposed.axes import again_and_again, narrowed
from npdec._decomposed.broadcast_residuals import equal_axes, row_along
from npdec._decomposed.reverse_graph import with_vjp
from npdec._decomposed.size_warnings import has_finite_sum
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._storage import shares_memory
from npdec._law.ordinary_reverse import ANY, is_ordinary, on_graph, on_graph_of
from npdec._law.reverse_forms import Single, affine, constant, single
from npdec._native import calls

__all__ = ["added", "along_axes", "length", "linear", "product", "seen", "transform"]

Function = Callable[..., Any]
Options = dict[str, Any] | None
_NUMBERS = (int, float, complex)


def along_axes(last: int | None, place: int = 2, sizes: int | None = 1) -> Callable[[Single], int]:
    """The axes before those that a transform is along: those that its argument of this place names, or the `last` ones,
    or as many as `sizes`, the argument of that place, or all."""

    def leading(call: Single) -> int:
        count, args = call.x.value.ndim, call.args
        given = args[place] if len(args) > place else call.options.get("dim")
        if given is None:
            lengths: Any = args[sizes] if sizes is not None and len(args) > sizes else call.options.get("s")
            if last is None:
                return count - len(lengths) if type(lengths) in (tuple, list) else 0
            return max(count - last, 0)
        axes = [given] if type(given) is int else list(given)
        return min([axis % count for axis in axes]) if count and axes else 0

    return leading


def transform(
    leading: int | Callable[[Single], int], func: Function, args: Sequence[Any], options: Options = None
) -> Any:
    """A function that is linear in its first argument and gives new memory: real or complex numbers of real or complex
    ones. It looks at each row of the `leading` axes alone."""
    if not args or type(args[0]) is not DecomposedTensor:
        return NotImplemented
    return affine(leading, func, args, options, ANY)


def seen(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """A linear function that gives a view of complex numbers, or complex numbers that are one: parts, conjugates."""
    call = None if options or len(args) != 1 else single(func, args, None, ANY)
    if call is None or not call.x.value.is_complex():
        return NotImplemented
    x = call.x
    value = func(x.value)
    if type(value) is not torch.Tensor or value is x.value:
        return NotImplemented
    made = on_graph(value, func(x.residual), func(on_graph_of(x)), x)
    if shares_memory(value, x.value):
        link_lazily(made, x)
    return made


def linear(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """A product with a finite constant, or a sum or difference, where one of both is complex."""
    if options or len(args) != 2:
        return NotImplemented
    place = 0 if type(args[0]) is DecomposedTensor else 1
    x, other = args[place], args[1 - place]
    if type(x) is not DecomposedTensor or not is_ordinary(x, ANY):
        return NotImplemented
    if type(other) not in _NUMBERS:
        other = constant(other, x.value, True)
        if other is None or not _is_finite(other):
            return NotImplemented
    elif not cmath.isfinite(other):
        return NotImplemented
    if not (x.value.is_complex() or type(other) is complex or (type(other) is torch.Tensor and other.is_complex())):
        return NotImplemented

    def call(u: torch.Tensor) -> Any:
        return func(other, u) if place else func(u, other)

    carrier = call(on_graph_of(x))
    if type(carrier) is not torch.Tensor or carrier.dtype.to_real() is not x.value.dtype.to_real():
        return NotImplemented
    axes = equal_axes([x.residual], [other] if type(other) is torch.Tensor else [], carrier.shape)
    residual = call(row_along(x.residual, axes))
    return on_graph(carrier.detach(), residual.expand(carrier.shape), carrier, x)


def _is_finite(t: torch.Tensor) -> bool:
    return has_finite_sum(torch.view_as_real(t.resolve_conj()) if t.is_complex() else t)


def _both(args: Sequence[Any]) -> tuple[DecomposedTensor, DecomposedTensor] | None:
    """Two ordinary tensors of one precision, of which one is complex; None of others."""
    a, b = args
    if not (is_ordinary(a, ANY) and is_ordinary(b, ANY)) or a.labels != b.labels:
        return None
    if not (a.value.is_complex() or b.value.is_complex()) or a.value.dtype.to_real() is not b.value.dtype.to_real():
        return None
    return a, b


def product(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """A product of two, of which one is complex, or of one and a constant."""
    if options or len(args) != 2 or not type(args[0]) is type(args[1]) is DecomposedTensor:
        return linear(func, args, options)
    pair = _both(args)
    if pair is None:
        return NotImplemented
    at_a, at_b = (torch.add(t.value / 2, t.residual, alpha=0.5) for t in pair)
    if not (_is_finite(at_a) and _is_finite(at_b)):
        return NotImplemented
    a, b = pair
    value, residual = func(a.value, b.value), func(a.residual, b.residual)
    carrier = func(on_graph_of(a), at_b) + func(at_a, on_graph_of(b))
    carrier.data = value
    return on_graph(value, residual.expand(value.shape), carrier, a)


def added(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """A sum or difference, where one of both is complex."""
    if options or len(args) != 2 or not type(args[0]) is type(args[1]) is DecomposedTensor:
        return linear(func, args, options)
    pair = _both(args)
    if pair is None:
        return NotImplemented
    a, b = pair
    carrier = func(on_graph_of(a), on_graph_of(b))
    residual = func(a.residual, b.residual).expand(carrier.shape)
    return on_graph(carrier.detach(), residual, carrier, a)


def length(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """The magnitudes of complex numbers: the mean directions of the paths take gradients back."""
    if options or len(args) != 1 or type(args[0]) is not DecomposedTensor or not is_ordinary(args[0], ANY):
        return NotImplemented
    x = args[0]
    if not x.value.is_complex() or not x.value.numel() or not x.value.ndim:
        return NotImplemented
    row = narrowed(x.residual, x.residual.ndim)
    if not row.any():  # on paths that start at the origin the direction stays what autograd takes it for
        carrier = func(on_graph_of(x))
        return on_graph(carrier.detach(), func(row).expand(carrier.shape), carrier, x)
    if calls is None or not x.value.is_cpu:
        return NotImplemented
    whole = again_and_again(x.residual, x.residual.ndim)
    ends = [torch.view_as_real(t.resolve_conj().contiguous()) for t in (x.value, whole)]
    means = torch.empty(x.value.shape, dtype=x.value.dtype)
    if not calls.pair_directions(*ends, torch.view_as_real(means)):
        return NotImplemented
    carrier = with_vjp(func(x.value), on_graph_of(x), partial(torch.mul, means))
    return on_graph(carrier.detach(), func(row).expand(carrier.shape), carrier, x)
