"""The law of ordinary calls in reverse mode, by the shortest way: layers, views, sums and pointwise functions of real
tensors, whose one component stands for all inputs and carries the graph (`npdec._law.ordinary`).

Values and residuals require no gradients here, and of parameters their numbers are taken: gradients stay switched on,
and an interrupt leaves nothing switched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F

from npdec._decomposed.aliasing import link
from npdec._decomposed.axes import narrowed, row_by_row
from npdec._decomposed.registry import Trait, rate_of, traits_of
from npdec._decomposed.reverse_graph import stand_in, uses_vjp, with_vjp
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law import secant_at_once
from npdec._law.native_forms import asked, in_c
from npdec._law.of_few import POLYNOMIALS
from npdec._law.ordinary_slopes import ordinary_slope
from npdec._law.secant import derivative, quick_slope
from npdec._native import calls
from npdec._torch.interrupts import undisturbed

__all__ = [
    "ANY", "FEW", "FEW_BESIDE", "REAL", "averaged", "convolution", "derived", "finished", "is_ordinary", "layer",
    "made_of", "of_one", "on_graph", "on_graph_of", "pointwise", "where_still",
]  # fmt: skip

Function = Callable[..., Any]
_as_subclass = torch.Tensor.as_subclass
_OPTIONS = frozenset({int, tuple, list, str})  # strides and their like
_OF_WINDOWS = frozenset({*_OPTIONS, bool, type(None)})
FEW = 2**18  # elements, up to which torch has computed a product before Python has made a node for one that is not
FEW_BESIDE = 2**14  # the same of a product or quotient of two, which takes several passes


REAL = (torch.float64, torch.float32)
ANY = (*REAL, torch.complex128, torch.complex64)


def is_ordinary(x: Any, dtypes: tuple[torch.dtype, ...] = REAL) -> bool:
    """Whether a tensor is one in reverse mode, of real numbers in single or double precision (or of other `dtypes`),
    while graphs are made of what is computed and nothing looks closely."""
    if type(x) is not DecomposedTensor or not x.reverse or x.kept is not None:
        return False
    value = x.value
    return (
        type(value) is torch.Tensor
        and value.dtype in dtypes
        and not (value.is_meta or value.requires_grad or x.residual.requires_grad)
        and ("on_graph" in (known := vars(x)) or known["components"].dtype is value.dtype)
        and torch.is_grad_enabled()
        and uses_vjp(True)
    )


def made_of(value: torch.Tensor, residual: torch.Tensor, component: torch.Tensor, like: DecomposedTensor) -> Any:
    """The decomposed tensor of parts that fit together."""
    made: Any = _as_subclass(value, DecomposedTensor)
    made.value, made.residual, made.components, made.labels = value, residual, component, like.labels
    made.reverse, made.discrete, made.origin = True, False, None
    return made


def on_graph_of(x: DecomposedTensor) -> torch.Tensor:
    """The value on the graph of the component, for a function that only reads it: what stood in for it before, while
    nothing was written to it."""
    known = vars(x)
    components: torch.Tensor | None = known.get("components")
    if components is None:
        found: torch.Tensor | None = known.get("on_graph")
        return stand_in(x.value, x.components) if found is None else found
    beside = known.get("standing_in")
    if beside is not None:
        its, version, value, carrier = beside
        if its is components and version == components._version and value is x.value:
            return cast(torch.Tensor, carrier)
    carrier = stand_in(x.value, components)
    known["standing_in"] = components, components._version, x.value, carrier
    return carrier


def on_graph(value: torch.Tensor, residual: torch.Tensor, on_graph: torch.Tensor, like: DecomposedTensor) -> Any:
    """The decomposed tensor of a value that is on the graph of its component, which is made when it is asked for."""
    made: Any = _as_subclass(value, DecomposedTensor)
    made.value, made.residual, made.labels, made.on_graph = value, residual, like.labels, on_graph
    made.reverse, made.discrete, made.origin = True, False, None
    return made


def derived(
    x: DecomposedTensor, value: torch.Tensor, residual: torch.Tensor, vjp: Function, held: Sequence[torch.Tensor] = ()
) -> Any:
    """What a function gives for the value and for the residual, as new tensors; `vjp` takes gradients of the
    former, and what is `held`, to those of x."""
    carrier = with_vjp(value, on_graph_of(x), vjp, held)
    return on_graph(carrier.detach(), residual, carrier, x)


def layer(func: Function, x: DecomposedTensor, weight: torch.Tensor, bias: torch.Tensor | None) -> Any:
    """Of rows, with a constant weight and bias, which are plain tensors of the dtype."""
    if x.value.ndim < 2 or weight.is_inference():
        return NotImplemented
    weight, bias = weight.detach(), None if bias is None else bias.detach()
    row = narrowed(x.residual, x.value.ndim - 1)
    if x.value.ndim > 2 and not x.value.is_contiguous():  # of which torch derives each of a batch of products
        value = func(x.value, weight, bias)
        residual = func(row, weight, bias).expand(value.shape)
        carrier = with_vjp(value, on_graph_of(x), torch.matmul, (weight,))
        return on_graph(carrier.detach(), residual, carrier, x)
    carrier = func(on_graph_of(x), weight, bias)
    return on_graph(carrier.detach(), func(row, weight, bias).expand(carrier.shape), carrier, x)


@in_c("affine", known=(1, -1, True, False))
def convolution(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """Of a batch, with a constant weight and bias."""
    if options:
        args = _placed(func, args, options)
        return asked(convolution, func, args) if args else NotImplemented
    if not 2 <= len(args) <= 8 or not is_ordinary(args[0]):
        return NotImplemented
    x, weight, *rest = args
    bias = rest[0] if rest else None
    if not _is_constant(weight, x) or not (bias is None or _is_constant(bias, x)) or weight.ndim != x.value.ndim:
        return NotImplemented
    given = (weight.detach(), None if bias is None else bias.detach(), *rest[1:])
    if not all(type(item) in _OPTIONS for item in rest[1:]):
        return NotImplemented
    carrier = func(on_graph_of(x), *given)
    return on_graph(carrier.detach(), row_by_row(lambda row: func(row, *given), x.residual, 1), carrier, x)


@in_c("affine", known=(1, -1, False, False))
def averaged(func: Function, args: Sequence[Any]) -> Any:
    """Means of windows of the last axes of a batch."""
    x, *rest = args
    if not is_ordinary(x) or x.value.ndim < 3 or not all(type(item) in _OF_WINDOWS for item in rest):
        return NotImplemented
    carrier = func(on_graph_of(x), *rest)
    return on_graph(carrier.detach(), row_by_row(lambda row: func(row, *rest), x.residual, 1), carrier, x)


_NAMES = {"input": None, "weight": None, "bias": None, "stride": 1, "padding": 0, "dilation": 1, "groups": 1}
_TRANSPOSED = {
    **dict(list(_NAMES.items())[:5]),
    "output_padding": 0,
    "groups": 1,
    "dilation": 1,
}
_OF_TRANSPOSED = frozenset({F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d})


def _placed(func: Function, args: Sequence[Any], options: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a convolution by their places; none where one has no place, or two."""
    known: dict[str, Any] = _TRANSPOSED if func in _OF_TRANSPOSED else _NAMES
    given = dict(zip(known, args))
    if len(args) > len(known) or not options.keys() <= known.keys() - given.keys():
        return ()
    named = {**known, **given, **options}
    return tuple(named.values())


def _is_constant(t: Any, like: DecomposedTensor) -> bool:
    return (
        type(t) in (torch.Tensor, torch.nn.Parameter)
        and t.dtype is like.value.dtype
        and t.layout is torch.strided
        and not (t.is_meta or t.is_inference())
    )


def of_one(x: DecomposedTensor, value: torch.Tensor, residual: torch.Tensor, front: Function) -> Any:
    """What a linear function gives for the value and for the residual, of which `front` is the function of tensors with
    one more leading axis."""
    if type(value) is not torch.Tensor or value.dtype is not x.value.dtype:
        return NotImplemented
    made = made_of(value, residual, front(x.components), x)
    link(made, x)
    return made


def finished(
    func: Function,
    rest: tuple[Any, ...],
    options: dict[str, Any],
    traits: int,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    slope: torch.Tensor,
    found: tuple[int, float, float, float, bool],
) -> torch.Tensor | None:
    """The slopes that C has found, where some are between close numbers; None where something is to be said of them.
    Of residuals there may be one row."""

    def f(u: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = func(u, *rest, **options)
        return made

    ends = r.expand(x.shape), fr.expand(x.shape)
    made = secant_at_once.finished(f, func, traits, x, ends[0], fx, ends[1], slope, found, derivative)
    if made is None:  # of slopes of zero, among others
        made = quick_slope(f, func, traits, x, ends[0], fx, ends[1], x - ends[0], None, ())
    if made is None or made.steep or made.extreme is not None or made.singular is not None:
        return None
    return made.multiplier


def where_still(func: Function, rest: tuple[Any, ...], options: dict[str, Any], points: torch.Tensor) -> torch.Tensor:
    """The derivatives of a function at points, which are the slopes where numbers do not move."""
    rate = rate_of(func) if not rest and not options and traits_of(func) & Trait.PIECEWISE_LINEAR else None
    if rate is not None:
        found: torch.Tensor = rate(points)
        return found
    return undisturbed(derivative, lambda u: func(u, *rest, **options), points)


def pointwise(x: DecomposedTensor, slope: Function | None, traits: int, f: Function, *more: Any) -> Any:
    """By the secant slope (`ordinary_slope`, whose arguments these are)."""
    found = _power(x, f, *more[1:]) if traits & Trait.POWER else None
    found = ordinary_slope(slope, traits, f, x.value, x.residual, *more) if found is None else found
    if found is None:
        return NotImplemented
    fx, fr, multiplier, difference = found
    if multiplier.numel() > FEW:
        carrier = with_vjp(fx, on_graph_of(x), multiplier.mul)
        return on_graph(carrier.detach(), fr, carrier, x)
    del found, difference  # memory for the product
    carrier = torch.mul(on_graph_of(x), multiplier)
    carrier.data = fx
    return on_graph(fx, fr, carrier, x)


def _power(x: DecomposedTensor, f: Function, exponent: Any = None, others: Sequence[Any] = ()) -> Any:
    """A power of numbers, as `ordinary_slope` gives it, by one pass over memory; None of others."""
    if calls is None or others or type(exponent) not in (int, float) or exponent in POLYNOMIALS:
        return None
    value, row = x.value, narrowed(x.residual, x.value.ndim).contiguous()
    if not value.is_cpu or not value.is_contiguous():
        return None
    fx, fr = f(value), f(row)
    if fx.dtype is not value.dtype:
        return None
    multiplier = torch.empty_like(value)
    if not calls.power_slopes(exponent, value, row, fx, fr, multiplier):
        return None
    return fx, fr.expand(fx.shape), multiplier, None
