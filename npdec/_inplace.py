"""In-place operations on the torch face: every part of a DecomposedTensor is written, and a plain tensor that receives
decomposed numbers becomes a DecomposedTensor itself, where no other tensor looks at its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed import DecomposedTensor, carries, expand_components, is_broadcast, union
from npdec._impl import _util
from npdec._secant import lead
from npdec._tracing import tracing
from npdec.exceptions import DecompositionWarning

__all__ = ["RULES", "method", "write_outputs"]

Function = Callable[..., Any]


_DRAWN = frozenset("random_ normal_ uniform_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_".split())


def method(name: str) -> Function:
    """The rule of the in-place method `name`: the out-of-place one, written into the tensor."""
    if name in _DRAWN:
        return _draw
    found = [getattr(owner, name[:-1], None) for owner in (torch.Tensor, F, torch)]
    functions = [function for function in found if callable(function)]
    if not functions:
        return _no_inplace

    def rule(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return _applied(functions[0], args, kwargs)

    rule.delegates = True  # type: ignore[attr-defined]
    return rule


def _applied(function: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The function's result, written into its first argument."""
    args = list(args) if args else [kwargs["input"]]
    kwargs = {key: item for key, item in kwargs.items() if key != "input"}
    target = args[0]
    if any(isinstance(arg, DecomposedTensor) and arg.whole for arg in args):
        args[0] = target.clone()  # backward will want what is overwritten
    return assign(target, function(*args, **kwargs))


def flagged(position: int, rule: Function) -> Function:
    """The rule of a function with an argument `inplace`, which stands at this position."""

    def applied(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        inplace = kwargs.get("inplace", args[position] if len(args) > position else False)
        args = (*args[:position], *args[position + 1 :])
        kwargs = {key: item for key, item in kwargs.items() if key != "inplace"}
        if inplace:
            return _applied(lambda *a, **k: rule(func, a, k), args, kwargs)
        return rule(func, args, kwargs)

    applied.rule = rule  # type: ignore[attr-defined]
    applied.delegates = getattr(rule, "delegates", False)  # type: ignore[attr-defined]
    return applied


def _draw(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Random numbers: they depend on no input."""
    target, *rest = args
    if any(isinstance(arg, DecomposedTensor) for arg in (*rest, *kwargs.values())) or not isinstance(
        target, DecomposedTensor
    ):
        return _no_inplace(func, args, kwargs)
    return assign(target, func(torch.empty_like(target.value), *rest, **kwargs))


def _no_inplace(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    raise NotImplementedError(f"{func.__name__}: a decomposed tensor has no such in-place operation")


def write_outputs(result: Any, out: Any) -> Any:
    """`out=` of a torch function."""
    if isinstance(out, (tuple, list)):
        return type(out)(write_outputs(r, o) for o, r in zip(out, result, strict=True))
    if not out.numel() and type(out) is torch.Tensor:
        out.resize_(result.shape)  # as torch does with an empty one
    return assign(out, result)


def assign(target: torch.Tensor, source: Any) -> torch.Tensor:
    """Copy `source`, which broadcasts, into all the parts of `target`."""
    source = _fitting(target, source)
    if isinstance(source, DecomposedTensor):
        target = ready(target, source)
    if not isinstance(target, DecomposedTensor):
        target.copy_(source)
        return target
    _own(target)
    if not isinstance(source, DecomposedTensor):
        target.value.copy_(source)
        target.residual.copy_(source)
        target.components.zero_()
        return target
    target.value.copy_(source.value)
    target.residual.copy_(source.residual)
    target.components.copy_(lead(expand_components(source.components, source.labels, target.labels), target.value.ndim))
    return target


def _fitting(target: torch.Tensor, source: Any) -> Any:
    """What `target` can hold of `source`: integers hold no contributions."""
    if not isinstance(source, DecomposedTensor) or carries(target.dtype):
        return source
    _util.warn(
        f"writing decomposed numbers into a tensor of dtype {target.dtype} drops their contributions",
        DecompositionWarning,
    )
    return source.value


def ready(target: torch.Tensor, source: DecomposedTensor) -> DecomposedTensor:
    """`target` able to hold the contributions of `source`: decomposed, under all its labels.

    Raises RuntimeError where that would leave another tensor over the same memory behind.
    """
    if isinstance(target, DecomposedTensor):
        if not target.covers(source.labels):
            labels = union([target, source])
            _check_alone(target.value, holders=2)  # the tensor and its value
            target.components = expand_components(target.components, target.labels, labels)
            target.labels = labels
        return target
    _check_alone(target, holders=1)
    plain = target.as_subclass(torch.Tensor) if type(target) is not torch.Tensor else target.view_as(target)
    target.__class__ = DecomposedTensor
    assert isinstance(target, DecomposedTensor)
    target.value = plain
    target.residual = plain.clone()
    target.components = plain.new_zeros((len(source.labels), *plain.shape))
    target.labels = source.labels
    target.whole = source.whole
    target.origin = None
    return target


def _own(target: DecomposedTensor) -> None:
    """Give broadcast parts, of which several elements are one in memory, memory of their own."""
    if is_broadcast(target.residual):
        target.residual = target.residual.clone(memory_format=torch.contiguous_format)
    if is_broadcast(target.components):
        target.components = target.components.clone(memory_format=torch.contiguous_format)


def _check_alone(value: torch.Tensor, holders: int) -> None:
    """Raise RuntimeError if more tensors than `holders` (and the base of a view) look at the memory of `value`."""
    if tracing():
        raise NotImplementedError(
            "writing decomposed numbers into a plain tensor, or into one without their labels (an assignment, out=, an "
            "in-place method), is not possible in code that torch.compile traces: make a new tensor "
            "(torch.cat, torch.where, torch.index_copy), or decompose the target before"
        )
    storage = value.untyped_storage()
    users = torch._C._storage_Use_Count(storage._cdata) - 1  # `storage` itself is one
    if users > holders + (value._base is not None) or (
        value._base is not None and value._base.numel() != value.numel()
    ):
        raise RuntimeError(
            "writing decomposed numbers into a tensor that shares its memory with another one (a view of it, or its "
            "base), which would not know of them. Write before taking views, or use npdec arrays, whose views follow"
        )


def _setitem(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    target, index, source = args
    index = _plain_index(index)
    source = _fitting(target, source)
    if isinstance(source, DecomposedTensor):
        target = ready(target, source)
    if isinstance(target, DecomposedTensor):
        _own(target)
    if not isinstance(target, DecomposedTensor):
        target[index] = source
    elif isinstance(source, DecomposedTensor):
        target.value[index] = source.value
        target.residual[index] = source.residual
        _set_components(target, index, expand_components(source.components, source.labels, target.labels))
    else:
        target.value[index] = source
        target.residual[index] = source
        _set_components(target, index, None)


def _set_components(target: DecomposedTensor, index: Any, components: torch.Tensor | None) -> None:
    """Write components (zero for None) at an index of the value, which the components' axis precedes."""
    if components is not None and (tracing() or _share_memory(components, target.components)):
        components = components.clone()  # `y[0] += 1` writes what it is a view of
    items = index if isinstance(index, tuple) else (index,)
    if all(isinstance(item, (int, slice)) or item is None or item is Ellipsis for item in items):
        place = (slice(None), *items)
        region = target.components[place]
        target.components[place] = 0 if components is None else lead(components, region.ndim - 1)
        return
    for i in range(len(target.labels)):
        target.components[i][index] = 0 if components is None else components[i]


def _share_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage()._cdata == b.untyped_storage()._cdata


def _plain_index(index: Any) -> Any:
    if isinstance(index, DecomposedTensor):
        return index.value
    return tuple(_plain_index(i) for i in index) if isinstance(index, tuple) else index


def _copy(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return assign(args[0], args[1])


def _fill(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    value = args[1] if len(args) > 1 else kwargs["value"]
    return assign(args[0], value if isinstance(value, torch.Tensor) else torch.full_like(_value(args[0]), value))


def _value(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.value if isinstance(tensor, DecomposedTensor) else tensor


def _zero(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return assign(args[0], torch.zeros_like(args[0].value))


def _requires_grad(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Of the value: contributions do not depend on it."""
    args[0].value.requires_grad_(*args[1:], **kwargs)
    return args[0]


def _fill_diagonal(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    def fill(target: Any, fill_value: Any, wrap: bool = False) -> Any:
        mask = torch.zeros(target.shape, dtype=torch.bool, device=target.device).fill_diagonal_(True, wrap)
        return assign(target, torch.masked_fill(target, mask, fill_value))

    return fill(*args, **kwargs)


def _no_inplace_view(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    raise RuntimeError(f"{func.__name__}: a decomposed tensor keeps its shape in place; use the out-of-place function")


RULES: dict[Function, Function] = {
    torch.Tensor.__setitem__: _setitem,
    torch.Tensor.copy_: _copy,
    torch.Tensor.fill_: _fill,
    torch.Tensor.zero_: _zero,
    torch.Tensor.fill_diagonal_: _fill_diagonal,
    torch.Tensor.requires_grad_: _requires_grad,
    **{
        getattr(torch.Tensor, name): _no_inplace_view
        for name in "t_ transpose_ squeeze_ unsqueeze_ swapaxes_ swapdims_ resize_ resize_as_ set_ as_strided_".split()
    },
}
