"""Torch's functions that act element by element, with and without jumps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from npdec._core.signatures import read_parameters
from npdec._core.tags import Pointwise, Stepwise
from npdec._decomposed.components import Use, total
from npdec._decomposed.registry import Answer, Trait
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor, align
from npdec._impl import (
    _interpolate,
    creation_ranges_impl,
    elementwise_float_impl,
    elementwise_impl,
    elementwise_math_impl,
    elementwise_powers_impl,
    rates_impl,
    slopes_impl,
)
from npdec._impl._by_elements import by_elements
from npdec._impl.quotients_impl import of_quotient, of_rest
from npdec._law import ordinary_gated, ordinary_parts, ordinary_pieces
from npdec._law.law import TaggedRule
from npdec._law.named_rules import residuals_are_of_the_baseline
from npdec._law.ordinary_logic import replaced
from npdec._law.ordinary_ranges import evenly_spaced
from npdec._law.ordinary_steps import divided
from npdec._law.reverse_elements import gated, stepped
from npdec._rules.rule import rule
from npdec._rules.softmax_of_few import digits_of

_SAME = {"gammaln": "lgamma", "psi": "digamma"}  # functions of two names
_OF_BOTH = (of_quotient, of_rest)


def _pointwise(names: str, traits: int = 0, slope: Any = None, close: Any = None) -> None:
    """Functions of their first argument, element by element, that take no other tensor that could be decomposed. Of
    each name separated by spaces; the derivative is the one that `rates_impl` has under this name."""
    for name in names.split():
        rate = getattr(rates_impl, _SAME.get(name, name), None)
        rule(name, traits=traits, slope=slope, close=close, rate=rate)(_OF_THE_FIRST)


def _stepwise(names: str) -> None:
    """Those among such functions that have jumps."""
    rule(names)(_OF_THE_FIRST_WITH_JUMPS)


_OF_THE_FIRST, _OF_THE_FIRST_WITH_JUMPS = TaggedRule.of("Pointwise"), TaggedRule.of("Stepwise")

_pointwise("relu relu6 leaky_relu hardtanh hardsigmoid softshrink", Trait.PIECEWISE_LINEAR)
_pointwise("gelu", Trait.COARSE)
_pointwise("sigmoid", Trait.HOLOMORPHIC, slopes_impl.sigmoid)
_pointwise("expit", 0, slopes_impl.sigmoid)
_pointwise("tanh", Trait.HOLOMORPHIC, slopes_impl.tanh)
_pointwise("silu elu selu celu softplus softsign tanhshrink hardswish mish logsigmoid")
for _names in (
    "exp",
    "exp2",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "rsqrt",
    "square",
    "reciprocal",
    "sin",
    "cos",
    "sinh",
    "cosh",
    "tan",
    "atan arctan",
    "atanh arctanh",
    "asinh arcsinh",
    "acosh arccosh",
    "asin arcsin",
    "acos arccos",
):
    _pointwise(_names, Trait.HOLOMORPHIC, close=getattr(slopes_impl, _names.split()[0]))
_pointwise("expm1", Trait.HOLOMORPHIC, close=slopes_impl.exp)
_pointwise("sinc", Trait.HOLOMORPHIC)
_pointwise("erf erfc erfinv erfcx lgamma gammaln digamma psi i0 i0e i1 i1e ndtr ndtri log_ndtr logit")
_pointwise("mvlgamma entr")
rule("nan_to_num", short=replaced)(_OF_THE_FIRST)

_stepwise("angle")
rule("sgn", elementwise_impl.sign, traits=Trait.DIRECTION)(_OF_THE_FIRST_WITH_JUMPS)
rule("frexp", short=ordinary_parts.parts_of_torch)(_OF_THE_FIRST_WITH_JUMPS)
rule("round floor ceil trunc fix frac sign threshold hardshrink", reverse=stepped)(_OF_THE_FIRST_WITH_JUMPS)

rule(torch._C._nn.glu, short=ordinary_gated.gated, reverse=partial(gated, digits_of))(TaggedRule.of("Smooth"))


# -- two arguments -----------------------------------------------------------------------------------------------------


@rule("pow", traits=Trait.HOLOMORPHIC | Trait.POWER, rates=slopes_impl.rates_of_power)
@rule("float_power", traits=Trait.HOLOMORPHIC, rates=slopes_impl.rates_of_power)
@rule("__rpow__", traits=Trait.HOLOMORPHIC)
@rule("atan2 arctan2", mean=slopes_impl.mean_atan2)
@rule("hypot", mean=slopes_impl.mean_hypot)
@rule("logaddexp", mean=slopes_impl.mean_logaddexp)
@rule("logaddexp2", mean=slopes_impl.mean_logaddexp2)
@rule("xlogy", rates=slopes_impl.rates_of_xlogy)
@rule("xlog1py", rates=slopes_impl.rates_of_xlog1py)
@rule("nextafter", mean=slopes_impl.mean_nextafter)
def two_arguments(input: Pointwise, other: Pointwise, *args: Any, **kwargs: Any) -> Any: ...


@rule("fmod", elementwise_impl.fmod, elementwise_impl.float_fmod, traits=Trait.ELEMENTWISE, mean=of_rest)
@rule(
    elementwise_impl.remainder,
    elementwise_impl.float_remainder,
    traits=Trait.ELEMENTWISE,
    mean=of_rest,
    short=partial(divided, of_rest, 1),
)
@rule(
    elementwise_impl.floor_divide,
    elementwise_impl.float_floor_divide,
    traits=Trait.ELEMENTWISE,
    mean=of_quotient,
    short=partial(divided, of_quotient, 0),
)
@rule(elementwise_impl.divmod, traits=Trait.ELEMENTWISE, mean=_OF_BOTH, short=partial(divided, _OF_BOTH, None))
@rule("copysign", traits=Trait.ELEMENTWISE)
def two_arguments_with_jumps(input: Stepwise, other: Stepwise, *args: Any, **kwargs: Any) -> Any: ...


@rule(_interpolate.lines, short=ordinary_pieces.interpolated)
def interpolated(x: Pointwise, points: Any) -> Any: ...


@rule(_interpolate.of_values)
def interpolated_values(func: Any, fp: Any, x: Any, xp: Any, left: Any, right: Any) -> Any:
    """Linear in the values at the points."""
    with no_graph(fp.reverse):
        value, residual = func(fp.value, x, xp, left, right), func(fp.residual, x, xp, left, right)
    components = _interpolate.weighted(fp.components, x, xp, left is None, right is None)
    return DecomposedTensor(value, residual, components, fp.labels, fp.reverse)


@rule(_interpolate.between)
def interpolated_between(func: Any, x: Any, fp: Any, xp: Any, left: Any, right: Any) -> Any:
    """The sum of the values at the points, each times a function of x: the line between the points' midpoints, as x
    moves, and what the points contribute, at both ends of its path."""
    if not residuals_are_of_the_baseline():
        return _interpolate.stepwise(x, xp, fp, left, right)
    with no_graph(x.reverse):
        value, residual = func(x.value, fp.value, xp, left, right), func(x.residual, fp.residual, xp, left, right)
        middle = torch.add(fp.value / 2, fp.residual, alpha=0.5)

    def at_ends(rows: torch.Tensor) -> list[torch.Tensor]:
        return [_interpolate.weighted(rows, end, xp, left is None, right is None) for end in (x.value, x.residual)]

    moved: Any = _interpolate.lines(x, (xp, middle, left, right))
    after, before = at_ends(fp.components)
    beside = DecomposedTensor(value, residual, torch.add(after / 2, before, alpha=0.5), fp.labels, fp.reverse)
    labels, parts = align([moved, beside], None if x.reverse else Use.LAW)
    if middle.requires_grad:  # whose graph the slope of a function of x does not have
        high, low = at_ends((middle - middle.detach()).unsqueeze(0))
        step = x.value - x.residual
        slope = (high - low).squeeze(0) / torch.where(step == 0, 1, step)
        added = DecomposedTensor(moved.value, moved.residual, x.components * slope, x.labels, x.reverse)
        labels, parts = align([moved, beside, added], Use.LAW)
    return DecomposedTensor(value, residual, total(parts), labels, x.reverse)


@rule(torch.polygamma, torch.special.polygamma)
def polygamma(n: int, input: Pointwise) -> Any: ...


@rule(torch.Tensor.polygamma)
def polygamma_method(input: Pointwise, n: int) -> Any: ...


# Kernels that no function of torch stands for.
rule(elementwise_float_impl.nan_to_num, short=replaced)(TaggedRule(read_parameters(elementwise_float_impl.nan_to_num)))
for _kernel, _means in (
    (elementwise_math_impl.sinc, {"traits": Trait.HOLOMORPHIC}),
    (elementwise_math_impl.cbrt, {"close": slopes_impl.cbrt}),
    (elementwise_math_impl.i0, {"rate": rates_impl.i0}),
    (elementwise_float_impl.spacing, {"rate": rates_impl.spacing}),
    (elementwise_powers_impl.float_power, {"traits": Trait.HOLOMORPHIC, "rates": slopes_impl.rates_of_power}),
    (elementwise_math_impl.logaddexp2, {"mean": slopes_impl.mean_logaddexp2}),
    (elementwise_float_impl.modf, {"short": ordinary_parts.fraction_and_whole}),
    (elementwise_float_impl.frexp, {"short": ordinary_parts.mantissa_and_exponent}),
    (elementwise_float_impl.ldexp, {"short": ordinary_parts.moved_exponent}),
):
    rule(_kernel, **_means)(TaggedRule(read_parameters(_kernel)))


# -- several steps -----------------------------------------------------------------------------------------------------


def _steps(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Functions that have rules each."""
    function, *tensors = args
    return function(*tensors)


rule(by_elements, traits=Trait.ELEMENTWISE)(Answer(_steps, delegates=True))


def _spaced(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Evenly spaced numbers, step by step."""
    return creation_ranges_impl.spaced(*args)


rule(creation_ranges_impl.evenly, short=evenly_spaced)(Answer(_spaced, delegates=True))
