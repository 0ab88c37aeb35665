"""All rules of torch's functions, entered into the registry: what is imported here enters its own."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch._jit_internal import boolean_dispatched

from npdec._decomposed import block_sparse_rules, entries_rules, overwriting  # noqa: F401  (each fills its slot)
from npdec._decomposed.registry import Answer, Row, Rule, add, rows, wrap
from npdec._law import ordinary_together
from npdec._law.reverse_forms import also, of_body
from npdec._rules import (  # noqa: F401  (each enters its rules)
    arithmetic,
    attention,
    casts_and_special,
    choosing,
    complex_order,
    conditions,
    correlations,
    elementary,
    factorisations,
    inplace,
    inplace_views,
    layers,
    linear,
    losses,
    losses_reverse,
    multilinear,
    normalisation_layers,
    norms,
    opaque,
    pairwise,
    pointwise,
    pooling,
    products,
    recurrent,
    reductions,
    rms_norm_pattern,
    softmax,
    sparse_matmul,
)
from npdec._rules.losses_reverse import of_one_shape, straight
from npdec._rules.multi_head import MultiHead
from npdec._rules.pooling_reverse import power_pool

__all__ = ["body", "load", "short_of"]

Function = Callable[..., Any]


def load() -> None:
    """Put the rules that handle an argument `inplace`, or look on, around those that are entered."""
    for function in vars(F).values():
        if isinstance(function, types.FunctionType) and "inplace" in function.__code__.co_varnames:
            if function not in rows:
                answer = body(function)
                add([function], Row(answer, short=short_of(function, answer), options=True))
            position = list(inspect.signature(function).parameters).index("inplace")
            wrap([function], partial(inplace.flagged, position))
    broadcast: Sequence[tuple[Any, Any, str]] = (
        (F.mse_loss, torch._C._nn.mse_loss, ""),
        (F.l1_loss, torch._C._nn.l1_loss, ""),
        (F.smooth_l1_loss, torch._C._nn.smooth_l1_loss, "beta"),
        (F.huber_loss, torch._C._nn.huber_loss, "delta"),
    )
    for function, kernel, more in broadcast:
        answer = body(function)
        form = also(of_one_shape(more, kernel), also(answer.short, of_body(function, answer.function)))
        add([function], Row(answer, short=form, options=True))
    of_kernels: Sequence[tuple[Any, Any, str]] = (
        (F.cross_entropy, torch._C._nn.cross_entropy_loss, "input target weight | ignore_index label_smoothing"),
        (F.nll_loss, torch._C._nn.nll_loss_nd, "input target weight | ignore_index"),
        (F.multi_margin_loss, torch._C._nn.multi_margin_loss, "input target p margin weight |"),
        (F.soft_margin_loss, torch._C._nn.soft_margin_loss, "input target |"),
        (F.binary_cross_entropy, torch._C._nn.binary_cross_entropy, "input target weight |"),
        (
            F.binary_cross_entropy_with_logits,
            torch.binary_cross_entropy_with_logits,
            "input target weight pos_weight |",
        ),
        (F.poisson_nll_loss, torch.poisson_nll_loss, "input target log_input full eps |"),
    )
    for function, kernel, names in of_kernels:
        answer = body(function)
        form = also(straight(function, names, kernel), also(answer.short, of_body(function, answer.function)))
        add([function], Row(answer, short=form, options=True))
    likelihood: Any = F.gaussian_nll_loss
    answer = body(likelihood)
    form = also(also(answer.short, losses_reverse.likelihood), of_body(likelihood, answer.function))
    add([likelihood], Row(answer, short=form, options=True))
    powers: Sequence[tuple[Any, Any]] = (
        (F.lp_pool1d, F.avg_pool1d),
        (F.lp_pool2d, F.avg_pool2d),
        (F.lp_pool3d, F.avg_pool3d),
    )
    for count, (function, pool) in enumerate(powers, 1):
        answer = body(function)
        form = also(partial(power_pool, pool, count), also(answer.short, of_body(function, answer.function)))
        add([function], Row(answer, short=form, options=True))
    joined: Any = F.multi_head_attention_forward
    add([joined], Row(MultiHead(body(joined))))
    rms_norm_pattern.watch()
    overwriting.watch()


def short_of(func: Any, rule: Rule) -> Function | None:
    """The form of a function that passes through its own body; None of another."""
    if not rule.passes or not isinstance(rule, Answer):
        return None if rule.passes else rule.short
    in_reverse = of_body(func, rule.function)
    return in_reverse if rule.short is None or "inplace" in func.__code__.co_varnames else also(rule.short, in_reverse)


def body(func: types.FunctionType, traced: bool = False) -> Answer:
    """A function of torch that is written in Python, without its own test for overrides: the calls in its body meet the
    decomposed tensors instead. For torch.compile it is given as code of this file, as it traces through few of torch's.
    """
    made = _without_tests(func, traced)

    def through(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return made(*args, **kwargs)

    made_of_itself = Answer(through, delegates=True)
    made_of_itself.passes = True
    if not traced:
        made_of_itself.short = partial(ordinary_together.by_body, made)
    return made_of_itself


def _without_tests(func: types.FunctionType, traced: bool) -> types.FunctionType:
    scope = dict(func.__globals__)
    for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
        if name in scope:
            scope[name] = _never
    closure = func.__closure__
    if func in boolean_dispatched:  # it chooses between two functions that test themselves
        cells = [cell.cell_contents for cell in closure or ()]
        functions = [isinstance(c, types.FunctionType) for c in cells]
        cells = [_without_tests(c, traced) if is_one else c for c, is_one in zip(cells, functions, strict=True)]
        closure = tuple([types.CellType(c) for c in cells])
    code = func.__code__.replace(co_filename=__file__) if traced else func.__code__
    made = types.FunctionType(code, scope, func.__name__, func.__defaults__, closure)
    made.__kwdefaults__ = func.__kwdefaults__
    return made


def _never(*_: Any) -> bool:
    return False
