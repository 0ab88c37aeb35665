"""Losses in reverse mode by the shortest way: the slope of each element, of which the sum or the mean is taken. The
general way is `npdec._rules.losses`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn import _reduction

from npdec._decomposed.axes import again_and_again
from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._decomposed.registry import Trait, row_of
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import is_for_one_thread
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.native_forms import asked
from npdec._law.ordinary import FACTORS
from npdec._law.ordinary_reverse import is_ordinary, on_graph_of
from npdec._law.ordinary_slopes import ordinary_slope
from npdec._law.reverse_forms import Single, constant, on_graph_with, single
from npdec._native import calls
from npdec._rules.softmax_of_few import digits_of
from npdec._rules.softmax_reverse import mean_of_rows

__all__ = ["by_formula", "cross_entropy", "likelihood", "margins", "of_elements", "of_one_shape", "straight"]

Function = Callable[..., Any]
Named = dict[str, Any]
Slope = Callable[[Function, torch.Tensor, torch.Tensor, Named], torch.Tensor | None]
Kind = tuple[str, str]  # of a slope that C finds of differences to the target, and the argument that is its parameter
_NONE, _MEAN, _SUM = 0, 1, 2  # torch's numbers of reductions
_REDUCTIONS = {"none": _NONE, "mean": _MEAN, "sum": _SUM}
_FEW = 2**11  # elements, of which one function of them all is sooner computed than several of some
_MOST = 2**30  # elements of an inner product


def of_elements(names: str, slope: Slope, kind: Kind | None = None, low: Function | None = None) -> Function:
    """The form of a loss of two tensors of one shape, of which the first is decomposed, whose kernel has these
    arguments: `slope(kernel, value, residual, arguments)` is that of each element, and `low(kernel, residual,
    arguments)` the loss at the residual, where it is found sooner than by the kernel."""
    return partial(_of_elements, names.split(), slope, kind, low)


def _of_elements(
    names: Sequence[str],
    slope: Slope,
    kind: Kind | None,
    low: Function | None,
    func: Function,
    args: Sequence[Any],
    options: Named | None = None,
) -> Any:
    call = single(func, args, options) if settings.get().rule == "affine" else None
    if call is None or call.place:
        return NotImplemented
    x, named = call.x, {**dict(zip(names, call.args)), **call.options}
    target: Any = named.get("target")
    if not _is_like(target, x.value) or not x.value.numel():
        return NotImplemented
    for name in ("weight", "pos_weight"):
        given: Any = named.get(name)
        if given is not None and torch.broadcast_shapes(given.shape, x.value.shape) != x.value.shape:
            return NotImplemented
    reduction, slopes = named.get("reduction", _NONE), None
    if kind is not None:
        factor = 1 / x.value.numel() if reduction == _MEAN and named.get("weight") is None else 1.0
        slopes = _at_once(kind[0], x.value, x.residual, target, named.get(kind[1], 1.0), factor)
        reduction = _SUM if slopes is not None and factor != 1 else reduction
    if slopes is None:
        slopes = slope(func, x.value, x.residual, named)
    if slopes is None:
        return NotImplemented
    if named.get("weight") is not None:
        slopes = slopes * named["weight"]
    # Of numbers that are only added and multiplied the kernel gives the same wherever they lie.
    made = None if low is None else low(func, x.residual, named)
    if made is None:
        made = call(x.residual if kind is not None and x.residual.is_cpu else materialised_residual(x))
    return _reduced(call, made, slopes, reduction)


def _at_once(kind: str, x: torch.Tensor, r: torch.Tensor, target: torch.Tensor, *more: float) -> Any:
    """The slopes that C finds in one pass; None of others."""
    if calls is None or not x.ndim or not is_for_one_thread(x.numel()):
        return None
    return calls.loss_slopes(kind, x, again_and_again(r, x.ndim - 1), target, *(more or (1.0, 1.0)))


def _is_like(t: Any, like: torch.Tensor) -> bool:
    return isinstance(t, torch.Tensor) and t.shape == like.shape and t.dtype is like.dtype


def _reduced(call: Single, residual: torch.Tensor, slopes: torch.Tensor, reduction: int) -> Any:
    value = call(call.x.value)
    if value.dtype is not call.x.value.dtype:
        return NotImplemented
    carrier = _together(on_graph_of(call.x), slopes, reduction)
    return on_graph_with(call.x, value, residual, carrier)


def _together(carrier: torch.Tensor, slopes: torch.Tensor, reduction: int) -> torch.Tensor:
    """The elements on a graph times their slopes, added up by one function where they are."""
    if reduction == _NONE:
        return carrier * slopes
    if reduction == _MEAN:
        slopes = slopes / slopes.numel()
    if slopes.numel() > _MOST:
        return (carrier * slopes).sum()
    return torch.dot(carrier.reshape(-1), slopes.reshape(-1))


def _secant(
    closed: Function | None, traits: int, f: Function, x: torch.Tensor, r: torch.Tensor, function: Function
) -> torch.Tensor | None:
    slope: torch.Tensor | None = None
    if calls is not None and closed is None:
        row = again_and_again(r, r.ndim)
        slope = calls.slope_at_once(f, function, traits, x.contiguous(), row)
    if slope is not None:
        return slope
    found = ordinary_slope(closed, traits, f, x, r, function)
    return None if found is None else found[2]


def _of_difference(traits: int, f: Callable[[Function, torch.Tensor, Named], torch.Tensor]) -> Slope:
    """The slope of a function of input − target."""

    def slope(func: Function, x: torch.Tensor, r: torch.Tensor, named: Named) -> torch.Tensor | None:
        target = named["target"]
        return _secant(None, traits, lambda d: f(func, d, named), x - target, r - target, func)

    return slope


def square(func: Function, x: torch.Tensor, r: torch.Tensor, named: Named) -> torch.Tensor:
    """That of (input − target)²."""
    target = named["target"]
    return (x - target) + (r - target)


def _kernel(parameter: str) -> Callable[[Function, torch.Tensor, Named], torch.Tensor]:
    """A kernel of a difference alone, with its parameter."""

    def of(func: Function, d: torch.Tensor, named: Named) -> torch.Tensor:
        made: torch.Tensor = func(d, torch.zeros_like(d), _NONE, named.get(parameter, 1.0))
        return made

    return of


magnitude = _of_difference(Trait.ELEMENTWISE | Trait.PIECEWISE_LINEAR, lambda func, d, named: torch.abs(d))
smooth, huber = _of_difference(Trait.ELEMENTWISE, _kernel("beta")), _of_difference(Trait.ELEMENTWISE, _kernel("delta"))


def logits(func: Function, x: torch.Tensor, r: torch.Tensor, named: Named) -> torch.Tensor | None:
    """That of binary_cross_entropy_with_logits."""
    found = _secant(None, Trait.ELEMENTWISE, F.logsigmoid, x, r, F.logsigmoid)
    if found is None:
        return None
    target, positive = named["target"], named.get("pos_weight")
    made = None if positive is not None else _at_once("logits", found, found, target)
    if made is not None:
        return made
    factor = found if positive is None else (1 + (positive - 1) * target) * found
    return (1 - target) - factor


def probabilities(func: Function, x: torch.Tensor, r: torch.Tensor, named: Named) -> torch.Tensor | None:
    """That of binary_cross_entropy, of which the logarithms are bounded."""
    ends = [float(end) for t in (x, again_and_again(r, r.ndim)) for end in torch.aminmax(t)]
    if not (0.0 < min(ends[::2]) and max(ends[1::2]) < 1.0):
        return None
    one = _secant(None, Trait.ELEMENTWISE, torch.log, x, r, torch.log)
    other = _secant(None, Trait.ELEMENTWISE, torch.log, 1 - x, 1 - r, torch.log)
    return None if one is None or other is None else torch.addcmul(other, named["target"], one + other, value=-1)


def of_equal_probabilities(func: Function, r: torch.Tensor, named: Named) -> torch.Tensor | None:
    """binary_cross_entropy at a residual of equal rows, of which the logarithms are made once; None of another."""
    row = again_and_again(r, r.ndim - 1)
    if row.numel() == r.numel() or r.numel() < _FEW or named.get("weight") is not None:
        return None
    one, other = torch.log(row).clamp_(min=-100), torch.log1p(-row).clamp_(min=-100)  # as torch bounds them
    made = torch.addcmul(-other, named["target"], other - one)
    reduction = named.get("reduction", _NONE)
    return made if reduction == _NONE else made.mean() if reduction == _MEAN else made.sum()


def counts(func: Function, x: torch.Tensor, r: torch.Tensor, named: Named) -> torch.Tensor | None:
    """That of poisson_nll_loss of logarithms."""
    if not named["log_input"]:
        return None
    found = _secant(None, Trait.ELEMENTWISE, torch.exp, x, r, torch.exp)
    return None if found is None else found - named["target"]


def margin(func: Function, x: torch.Tensor, r: torch.Tensor, named: Named) -> torch.Tensor | None:
    """That of soft_margin_loss."""
    target = named["target"]
    found = _secant(None, Trait.ELEMENTWISE, F.logsigmoid, target * x, target * r, F.logsigmoid)
    return None if found is None else -target * found


def margins(func: Function, args: Sequence[Any], options: Named | None = None) -> Any:
    """multi_margin_loss of rows of scores, and of classes: of each other score how far it comes over the margin."""
    names = ["input", "target", "p", "margin", "weight", "reduction"]
    call = single(func, args, options) if settings.get().rule == "affine" else None
    if call is None or call.place:
        return NotImplemented
    x, named = call.x, {**dict(zip(names, call.args)), **call.options}
    target, reduction, margin = named.get("target"), named.get("reduction", _NONE), named.get("margin", 1)
    if x.value.ndim != 2 or not isinstance(target, torch.Tensor) or target.dtype is not torch.int64:
        return NotImplemented
    if named.get("p", 1) != 1 or named.get("weight") is not None or target.shape != x.value.shape[:1]:
        return NotImplemented
    value = call(x.value)  # first: torch says which classes there are none of
    if not x.value.numel():
        return NotImplemented
    slopes = None
    if calls is not None and reduction != _NONE:
        factor = 1 / (x.value.numel() if reduction == _MEAN else x.value.shape[1])
        slopes = calls.margin_slopes(x.value, again_and_again(x.residual, 1), target, margin, factor)
    if slopes is not None:
        carrier = _together(on_graph_of(x), slopes, _SUM)
        return on_graph_with(x, value, call(x.residual), carrier)
    index = target.unsqueeze(1)
    over, before = (t - t.gather(1, index) + margin for t in (x.value, materialised_residual(x)))
    # Of the own score, which is left out, a step whose slope is known.
    steps = over.scatter(1, index, 1.0), before.scatter(1, index, 0.0)
    slopes = _secant(None, Trait.ELEMENTWISE | Trait.PIECEWISE_LINEAR, F.relu, *steps, F.relu)
    if slopes is None:
        return NotImplemented
    slopes = slopes.scatter(1, index, 0.0)
    slopes = slopes.scatter(1, index, -slopes.sum(1, keepdim=True)) / x.value.shape[1]
    carrier = on_graph_of(x) * slopes
    carrier = carrier.sum(1) if reduction == _NONE else carrier.sum() if reduction != _MEAN else carrier.sum(1).mean()
    return on_graph_with(x, value, call(materialised_residual(x)), carrier)


def likelihood(func: Function, args: Sequence[Any], options: Named | None = None) -> Any:
    """gaussian_nll_loss of a decomposed variance that is nowhere so small that torch bounds it, and has all axes."""
    code: Any = func.__code__
    named: Any = {**dict(zip(code.co_varnames, args)), **(options or {})}
    x, target, var = named.get("input"), named.get("target"), named.get("var")
    full, reduction = named.get("full", False), named.get("reduction", "mean")
    if type(var) is not DecomposedTensor or not is_ordinary(var) or not var.value.numel():
        return NotImplemented
    if not all(isinstance(t, torch.Tensor) and t.shape == var.value.shape for t in (x, target)):
        return NotImplemented
    if not min(float(end.min()) for end in (var.value, var.residual)) >= named.get("eps", 1e-6) > 0:
        return NotImplemented
    if reduction not in ("none", "mean", "sum"):
        return NotImplemented
    loss = 0.5 * (torch.log(var) + (x - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def by_formula(formula: Function, func: Function, args: Sequence[Any], options: Named | None = None) -> Any:
    """A loss of several tensors by its formula, whose functions have forms each, with its own numbers."""
    tensors = [t for t in (*args, *(options or {}).values()) if isinstance(t, torch.Tensor)]
    given = [t for t in tensors if type(t) is DecomposedTensor]
    if not given or not all(map(is_ordinary, given)) or settings.get().rule != "affine":
        return NotImplemented
    if not all(type(t) is DecomposedTensor or constant(t, given[0].value) is not None for t in tensors):
        return NotImplemented
    value, residual = (_at(func, args, options or {}, end) for end in ("value", "residual"))
    made = formula(*args, **(options or {}))
    if type(made) is not DecomposedTensor or not is_ordinary(made) or made.value.shape != value.shape:
        return NotImplemented
    return on_graph_with(made, value, residual, on_graph_of(made).clone())


def _at(func: Function, args: Sequence[Any], options: Named, end: str) -> torch.Tensor:
    """The function of the value or of the residual of what is decomposed, and of constants as they are."""

    def part(item: Any) -> Any:
        if type(item) is DecomposedTensor:
            return getattr(item, end)
        return item.detach() if isinstance(item, torch.Tensor) else item

    made: torch.Tensor = func(*map(part, args), **{name: part(item) for name, item in options.items()})
    return made


def of_one_shape(names: str, kernel: Function) -> Function:
    """The form of a function of torch.nn.functional that broadcasts its arguments: of those of one shape, by its
    kernel, which has these arguments."""
    return partial(_of_one_shape, names.split(), kernel)


def _of_one_shape(
    names: Sequence[str], kernel: Function, func: Function, args: Sequence[Any], options: Named | None = None
) -> Any:
    code: Any = func.__code__
    named = {**dict(zip(code.co_varnames, args)), **(options or {})}
    x: Any = named.get("input")
    target: Any = named.get("target")
    its: Any = target.value if type(target) is DecomposedTensor else target
    like = x.value if type(x) is DecomposedTensor else x
    if type(like) not in FACTORS or not _is_like(its, like):
        return NotImplemented
    if any(named.get(name) is not None for name in ("size_average", "reduce", "weight")):
        return NotImplemented
    reduction: Any = named.get("reduction", "mean")
    if reduction not in ("none", "mean", "sum") or named.get("beta") == 0:
        return NotImplemented
    given = x, target, _reduction.get_enum(reduction), *[named.get(name, 1.0) for name in names]
    row = row_of(kernel)
    made = NotImplemented if row is None or row.short is None else asked(row.short, kernel, given)
    return kernel(*given) if made is NotImplemented else made


def straight(function: Function, names: str, kernel: Function) -> Function:
    """The form of a function of torch.nn.functional that only hands its arguments on: the names are those of what its
    kernel has before the reduction, and after it."""
    code: Any = function.__code__
    given: Any = function.__defaults__
    before, after = (part.split() for part in names.split("|"))
    known = code.co_varnames[: code.co_argcount]
    return partial(_straight, known, dict(zip(known[-len(given) :], given, strict=True)), before, after, kernel)


def _straight(
    known: Sequence[str],
    defaults: Named,
    before: Sequence[str],
    after: Sequence[str],
    kernel: Function,
    func: Function,
    args: Sequence[Any],
    options: Named | None = None,
) -> Any:
    named = {**defaults, **dict(zip(known, args)), **(options or {})}
    x, target = named.get("input"), named.get("target")
    row, code = row_of(kernel), _REDUCTIONS.get(named["reduction"])
    if type(x) is not DecomposedTensor or type(target) is not torch.Tensor or code is None:
        return NotImplemented
    if row is None or row.short is None or named["size_average"] is not None or named["reduce"] is not None:
        return NotImplemented
    if named.get("weight") is not None or (target.dtype.is_floating_point and target.shape != x.value.shape):
        return NotImplemented
    return asked(row.short, kernel, (*[named[name] for name in before], code, *[named[name] for name in after]))


def cross_entropy(func: Function, args: Sequence[Any], options: Named | None = None) -> Any:
    """torch's kernel of cross_entropy, of rows of logits, and of classes or of probabilities."""
    names = ["input", "target", "weight", "reduction", "ignore_index", "label_smoothing"]
    call = single(func, args, options)
    if call is None or call.place or settings.get().rule != "affine" or settings.get().frozen_attention:
        return NotImplemented
    x, named = call.x, {**dict(zip(names, call.args)), **call.options}
    target, reduction, smoothing = named["target"], named.get("reduction", _NONE), named.get("label_smoothing", 0.0)
    if named.get("weight") is not None or x.value.ndim != 2 or not isinstance(target, torch.Tensor):
        return NotImplemented
    value = call(x.value)  # first: torch says which classes there are none of
    rows, classes = x.value.shape
    if not rows or not classes:
        return NotImplemented
    means = mean_of_rows(x.value, x.residual, digits_of)
    if means is None:
        return NotImplemented
    is_class, ignored = target.dtype is torch.int64 and target.shape == (rows,), named.get("ignore_index", -100)
    residual, factor = None, 1 / rows if reduction == _MEAN else 1.0
    if is_class and not smoothing and calls.class_slopes(means, target, ignored, factor):
        slopes = means
        residual = _of_equal_logits(x.residual, target, reduction)
    else:
        if is_class and not bool((target == ignored).any()):
            wanted = torch.zeros_like(x.value).scatter_(1, target.unsqueeze(1), 1.0)
        elif target.dtype is x.value.dtype and target.shape == x.value.shape:
            wanted = target
        else:
            return NotImplemented
        if smoothing:
            wanted = wanted * (1 - smoothing) + smoothing / classes
        if wanted is target or smoothing:
            means = means * wanted.sum(1, keepdim=True)
        slopes = (means - wanted).mul_(factor)
    carrier = (on_graph_of(x) * slopes).sum(1) if reduction == _NONE else _together(on_graph_of(x), slopes, _SUM)
    return on_graph_with(x, value, call(materialised_residual(x)) if residual is None else residual, carrier)


def _of_equal_logits(r: torch.Tensor, target: torch.Tensor, reduction: int) -> torch.Tensor | None:
    """Cross entropy at a residual of equal rows, of which the logarithm of softmax is made once; None of another."""
    row = again_and_again(r, 1)
    if len(row) > 1 or not r.is_cpu:
        return None
    kernel: Any = torch._C._nn.nll_loss_nd
    found: torch.Tensor = kernel(torch.log_softmax(row, 1).expand_as(r), target, None, reduction)
    return found
