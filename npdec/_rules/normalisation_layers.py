"""The rules of torch's normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.axes import axes_of_shape, narrowed
from npdec._decomposed.call import Call
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._util import working_dtype
from npdec._law import law, ordinary_reverse
from npdec._law.native_forms import in_c
from npdec._law.ordinary import FACTORS, has_elements
from npdec._rules.by_formula import own_numbers, value_of
from npdec._rules.normalisation import Function, Layer, normalise
from npdec._rules.normalisation_at_once import (
    back_of_layer,
    back_of_mean_square,
    form,
    of_groups,
    of_instances,
    of_shape,
)
from npdec._rules.rule import rule


def _flat(shape: tuple[int, ...]) -> tuple[Function, Function]:
    """The last axes, of this shape, as one, and back."""
    return lambda t, lead: t.flatten(t.ndim - len(shape)), lambda t, lead: t.unflatten(-1, shape)


_BY_SHAPE = "input normalized_shape weight bias eps cudnn_enable".split()


_LAYER = form(_BY_SHAPE, of_shape(centred=True), (back_of_layer, torch.layer_norm, True))


@rule(F.layer_norm, torch.layer_norm, along=axes_of_shape, short=_LAYER)
def _layer_norm(
    func: Function,
    x: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    shape = tuple(normalized_shape)

    def call(x: torch.Tensor, weight: Any, bias: Any) -> torch.Tensor:
        return torch.layer_norm(x, shape, weight, bias, eps, cudnn_enable)

    rows, shaped = _flat(shape)
    layer = Layer("layer_norm", call, call, rows, shaped, shape, eps, True, x.ndim - len(shape))
    return normalise(layer, x, weight, bias)


_BY_MEAN_SQUARE = "input normalized_shape weight eps".split()
_OF_MEAN_SQUARE = form(_BY_MEAN_SQUARE, of_shape(centred=False), (back_of_mean_square, torch.rms_norm, False))


@rule(F.rms_norm, torch.rms_norm, along=axes_of_shape, short=_OF_MEAN_SQUARE)
def _rms_norm(func: Function, x: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    if x.is_complex():  # torch's mean square of complex numbers is no length
        return law.quadrature(Call(func, None, (x, normalized_shape, weight, eps), {}))
    shape = tuple(normalized_shape)

    def call(x: torch.Tensor, weight: Any, bias: Any) -> torch.Tensor:
        return torch.rms_norm(x, shape, weight, eps)

    rows, shaped = _flat(shape)
    floor = torch.finfo(working_dtype(x.dtype)).eps if eps is None else eps
    layer = Layer("rms_norm", call, call, rows, shaped, shape, floor, False, x.ndim - len(shape))
    return normalise(layer, x, weight, None)


_BY_GROUP = "input num_groups weight bias eps cudnn_enabled".split()


@rule(F.group_norm, torch.group_norm, short=form(_BY_GROUP, of_groups))
def _group_norm(
    func: Function,
    x: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    options = () if func is F.group_norm else (cudnn_enabled,)

    def call(x: torch.Tensor, weight: Any, bias: Any) -> Any:
        return func(x, num_groups, weight, bias, eps, *options)

    shape = tuple(x.shape)
    if len(shape) < 2:
        return call(x.value, value_of(weight), value_of(bias))  # raises

    def rows(t: torch.Tensor, lead: int) -> torch.Tensor:  # of all examples, or of blocks of them
        return t.reshape((*t.shape[: t.ndim - len(shape) + 1], num_groups, -1))

    def shaped(t: torch.Tensor, lead: int) -> torch.Tensor:
        return t.reshape((*t.shape[:-2], *shape[1:]))

    layer = Layer("group_norm", call, call, rows, shaped, _channels(shape), eps, True, 1)
    return normalise(layer, x, weight, bias)


def _channels(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a number for each channel, the second axis."""
    return (shape[1], *[1] * (len(shape) - 2))


_STATISTICS = "input running_mean running_var weight bias training momentum eps".split()


@in_c("affine", known=(1, _STATISTICS.index("training"), False, False))
def _by_given_statistics(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """Of given statistics, weight and bias, in reverse mode: an affine function, of which torch makes the graph."""
    named = {**dict(zip(_STATISTICS, args)), **(options or {})}
    x = named.pop("input", None)
    if named.get("training") or not ordinary_reverse.is_ordinary(x):
        return NotImplemented
    for name in _STATISTICS[1:5]:
        constant: Any = named.get(name)
        if constant is None and name in ("weight", "bias"):
            continue
        if type(constant) not in FACTORS or constant.dtype is not x.value.dtype or not has_elements(constant):
            return NotImplemented
        if constant.is_inference():
            return NotImplemented
        named[name] = constant.detach()
    carrier = func(ordinary_reverse.on_graph_of(x), **named)
    residual = func(narrowed(x.residual, 1), **named).expand(carrier.shape)
    return ordinary_reverse.on_graph(carrier.detach(), residual, carrier, x)


@rule(F.batch_norm, short=_by_given_statistics)
def _batch_norm(
    func: Function,
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    options = {"training": training, "momentum": momentum, "eps": eps}
    return _with_statistics(func, x, weight, bias, running_mean, running_var, training, options)


@rule(torch.batch_norm)
def _torch_batch_norm(
    func: Function,
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    options = {"training": training, "momentum": momentum, "eps": eps, "cudnn_enabled": cudnn_enabled}
    return _with_statistics(func, x, weight, bias, running_mean, running_var, training, options)


_OF_INSTANCES = "input running_mean running_var weight bias use_input_stats momentum eps".split()


@rule(F.instance_norm, reverse=form(_OF_INSTANCES, of_instances))
def _instance_norm(
    func: Function,
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    options = {"use_input_stats": use_input_stats, "momentum": momentum, "eps": eps}
    return _with_statistics(func, x, weight, bias, running_mean, running_var, use_input_stats, options)


@rule(torch.instance_norm)
def _torch_instance_norm(
    func: Function,
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    options = {"use_input_stats": use_input_stats, "momentum": momentum, "eps": eps, "cudnn_enabled": cudnn_enabled}
    return _with_statistics(func, x, weight, bias, running_mean, running_var, use_input_stats, options)


def _with_statistics(
    func: Function, x: Any, weight: Any, bias: Any, mean: Any, var: Any, own: bool, options: dict[str, Any]
) -> Any:
    """batch_norm, instance_norm: of the input's statistics, if these are its `own`, or of given ones, which makes them
    affine."""
    name, eps, shape = func.__name__, options["eps"], tuple(x.shape)
    by_channel = name == "batch_norm"
    if not own and (isinstance(mean, DecomposedTensor) or isinstance(var, DecomposedTensor)):
        named = {"weight": weight, "bias": bias, "running_mean": mean, "running_var": var, **options}
        return own_numbers(func, (x,), named, _scaled(x, mean, var, weight, bias, eps))
    mean, var = value_of(mean), value_of(var)

    def call(x: torch.Tensor, weight: Any, bias: Any) -> Any:
        return func(x, weight=weight, bias=bias, running_mean=mean, running_var=var, **options)

    def again(x: torch.Tensor, weight: Any, bias: Any) -> Any:
        return func(x, weight=weight, bias=bias, running_mean=None, running_var=None, **options)

    def rows(t: torch.Tensor, lead: int) -> torch.Tensor:
        return (t.transpose(lead, lead + 1) if by_channel else t).flatten(lead + (1 if by_channel else 2))

    def shaped(t: torch.Tensor, lead: int) -> torch.Tensor:
        if not by_channel:
            return t.reshape((*t.shape[:lead], *shape))
        return t.reshape((*t.shape[:lead], shape[1], shape[0], *shape[2:])).transpose(lead, lead + 1)

    if not any(isinstance(t, DecomposedTensor) for t in (x, weight, bias)):
        return call(x, weight, bias)
    # The running statistics see the value alone.
    layer = Layer(name, call, again if own else call, rows, shaped, _channels(shape), eps, True)
    if not own:
        scale = (var.double() + eps).rsqrt().reshape(layer.weight_shape)
        layer = layer._replace(rows=_same, shaped=_same, centred=False, scale=scale)
    return normalise(layer, x, weight, bias)


def _scaled(x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Normalisation by statistics that carry contributions themselves."""
    shape = [1, -1, *[1] * (x.ndim - 2)]
    made = (x - mean.reshape(shape)) * torch.rsqrt(var.reshape(shape) + eps)
    if weight is not None:
        made = made * weight.reshape(shape)
    return made if bias is None else made + bias.reshape(shape)


def _same(t: torch.Tensor, lead: int) -> torch.Tensor:
    return t
