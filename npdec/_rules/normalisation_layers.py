"""The rules of torch's normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.call import Call
from npdec._decomposed.registry import Answer
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._util import working_dtype
from npdec._law import law
from npdec._rules.by_formula import own_numbers
from npdec._rules.elementary import by_position, read
from npdec._rules.normalisation import Function, Layer, normalise
from npdec._rules.rule import rule


def _plain(t: Any) -> Any:
    return t.value if isinstance(t, DecomposedTensor) else t


def _flat(shape: tuple[int, ...]) -> tuple[Function, Function]:
    """The last axes, of this shape, as one, and back."""
    return lambda t, lead: t.flatten(t.ndim - len(shape)), lambda t, lead: t.unflatten(-1, shape)


def _layer_norm(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    x, shape, weight, bias, eps = read(args, kwargs, normalized_shape=None, weight=None, bias=None, eps=1e-5)

    def call(x: torch.Tensor, weight: Any, bias: Any) -> torch.Tensor:
        return torch.layer_norm(x, shape, weight, bias, eps)

    rows, shaped = _flat(tuple(shape))
    layer = Layer("layer_norm", call, call, rows, shaped, tuple(shape), eps, True, x.ndim - len(shape))
    return normalise(layer, x, weight, bias)


def _rms_norm(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    x, shape, weight, eps = read(args, kwargs, normalized_shape=None, weight=None, eps=None)
    if x.is_complex():  # torch's mean square of complex numbers is no length
        return law.quadrature(Call(func, None, args, kwargs))

    def call(x: torch.Tensor, weight: Any, bias: Any) -> torch.Tensor:
        return torch.rms_norm(x, shape, weight, eps)

    rows, shaped = _flat(tuple(shape))
    floor = torch.finfo(working_dtype(x.dtype)).eps if eps is None else eps
    layer = Layer("rms_norm", call, call, rows, shaped, tuple(shape), floor, False, x.ndim - len(shape))
    return normalise(layer, x, weight, None)


def _group_norm(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    x, groups, weight, bias, eps = read(args, kwargs, num_groups=None, weight=None, bias=None, eps=1e-5)

    def call(x: torch.Tensor, weight: Any, bias: Any) -> torch.Tensor:
        return torch.group_norm(x, groups, weight, bias, eps)

    shape = tuple(x.shape)

    def rows(t: torch.Tensor, lead: int) -> torch.Tensor:
        return t.reshape((*t.shape[:lead], shape[0], groups, -1))

    def shaped(t: torch.Tensor, lead: int) -> torch.Tensor:
        return t.reshape((*t.shape[:lead], *shape))

    layer = Layer("group_norm", call, call, rows, shaped, _channels(shape), eps, True, 1)
    return normalise(layer, x, weight, bias)


def _channels(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a number for each channel, the second axis."""
    return (shape[1], *[1] * (len(shape) - 2))


_STATISTICS: dict[str, Any] = {"running_mean": None, "running_var": None}


_WEIGHTS: dict[str, Any] = {"weight": None, "bias": None}


def _with_statistics(function: Function, by_channel: bool) -> Function:
    """The rule of batch_norm or instance_norm, as torch or as torch.nn.functional orders the arguments."""
    own = "training" if by_channel else "use_input_stats"
    name = function.__name__
    functional = function in (F.batch_norm, F.instance_norm)
    order = {**_STATISTICS, **_WEIGHTS} if functional else {**_WEIGHTS, **_STATISTICS}
    order |= {own: name == "instance_norm", "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": True}

    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """batch_norm, instance_norm: of the input's statistics, or of given ones, which makes them affine."""
        x, *rest = read(args, kwargs, **order)
        given = dict(zip(order, rest, strict=True))
        if functional:
            del given["cudnn_enabled"]
        weight, bias, eps = given["weight"], given["bias"], given["eps"]
        if not given[own] and any(isinstance(given[key], DecomposedTensor) for key in _STATISTICS):
            return own_numbers(func, args, kwargs, _scaled(x, given))
        given |= {key: _plain(given[key]) for key in _STATISTICS}
        once = {**given, **_STATISTICS} if given[own] else given  # the running statistics see the value alone
        shape = tuple(x.shape)

        def call(x: torch.Tensor, weight: Any, bias: Any) -> Any:
            return function(x, **{**given, "weight": weight, "bias": bias})

        def again(x: torch.Tensor, weight: Any, bias: Any) -> Any:
            return function(x, **{**once, "weight": weight, "bias": bias})

        def rows(t: torch.Tensor, lead: int) -> torch.Tensor:
            return (t.transpose(lead, lead + 1) if by_channel else t).flatten(lead + (1 if by_channel else 2))

        def shaped(t: torch.Tensor, lead: int) -> torch.Tensor:
            if not by_channel:
                return t.reshape((*t.shape[:lead], *shape))
            return t.reshape((*t.shape[:lead], shape[1], shape[0], *shape[2:])).transpose(lead, lead + 1)

        if not any(isinstance(t, DecomposedTensor) for t in (x, weight, bias)):
            return call(x, weight, bias)
        layer = Layer(name, call, again, rows, shaped, _channels(shape), eps, True)
        if not given[own]:
            scale = (given["running_var"].double() + eps).rsqrt().reshape(layer.weight_shape)
            layer = layer._replace(rows=_same, shaped=_same, centred=False, scale=scale)
        return normalise(layer, x, weight, bias)

    return rule


def _scaled(x: Any, given: dict[str, Any]) -> Any:
    """Normalisation by statistics that carry contributions themselves."""
    shape = [1, -1, *[1] * (x.ndim - 2)]
    made = (x - given["running_mean"].reshape(shape)) * torch.rsqrt(given["running_var"].reshape(shape) + given["eps"])
    if given["weight"] is not None:
        made = made * given["weight"].reshape(shape)
    return made if given["bias"] is None else made + given["bias"].reshape(shape)


def _same(t: torch.Tensor, lead: int) -> torch.Tensor:
    return t


rule(F.layer_norm, torch.layer_norm)(Answer(by_position(_layer_norm)))
rule(F.rms_norm, torch.rms_norm)(Answer(by_position(_rms_norm)))
rule(F.group_norm, torch.group_norm)(Answer(by_position(_group_norm)))
rule(F.batch_norm)(Answer(by_position(_with_statistics(F.batch_norm, True))))
rule(torch.batch_norm)(Answer(by_position(_with_statistics(torch.batch_norm, True))))
rule(F.instance_norm)(Answer(by_position(_with_statistics(F.instance_norm, False))))
rule(torch.instance_norm)(Answer(by_position(_with_statistics(torch.instance_norm, False))))
