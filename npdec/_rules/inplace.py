"""In-place operations on the torch face: every part of a DecomposedTensor is written, and a plain tensor that receives
decomposed numbers becomes a DecomposedTensor itself, where no other tensor looks at its memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.aliasing import is_settled, makes_graph, shares_memory
from npdec._decomposed.axes import lead
from npdec._decomposed.entries_in_place import steps_of, unmade
from npdec._decomposed.kept_components import handed_on
from npdec._decomposed.overwriting import are_distinct, put
from npdec._decomposed.registry import Answer
from npdec._decomposed.shared_entries import Shared, entries_under
from npdec._decomposed.shared_storage import due, laid_out, make_writable
from npdec._decomposed.tensor import DecomposedTensor, carries, expand_components
from npdec._impl import _util
from npdec._impl._storage import laid_out_alike
from npdec._law.native_forms import in_c
from npdec._law.ordinary import carries_graph, is_ordinary
from npdec._law.reverse_writes import written_in_reverse
from npdec._native import calls
from npdec._rules.choosing import chosen_by, masked, plain_index
from npdec._rules.rule import rule
from npdec._torch.functorch import is_wrapped
from npdec._torch.interrupts import Step, commit, each
from npdec._torch.tracing import tracing
from npdec.exceptions import DecompositionWarning

__all__ = ["NO_INPLACE", "method", "short", "write_outputs"]

Function = Callable[..., Any]


_DRAWN = frozenset("random_ normal_ uniform_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_".split())


def method(name: str) -> Answer:
    """The rule of the in-place method `name`: the out-of-place one, written into the tensor."""
    if name in _DRAWN:
        return Answer(_draw)
    found = [getattr(owner, name[:-1], None) for owner in (torch.Tensor, F, torch)]
    functions = [function for function in found if callable(function)]
    if not functions:
        return NO_INPLACE

    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return _applied(functions[0], args, kwargs, func)

    made = Answer(rule, delegates=True)
    made.in_place = name
    return made


def short(name: str) -> Function | None:
    """The form of the in-place method `name`: of an ordinary tensor that no other one looks at the memory of."""
    function = getattr(torch.Tensor, name[:-1], None)
    if not callable(function):
        return None

    @in_c("written over", batch=function)
    def form(func: Function, args: Sequence[Any]) -> Any:
        return _written(function, args)

    return form


def _written(function: Function, args: Sequence[Any]) -> Any:
    target: Any = args[0] if args else None
    if type(target) is DecomposedTensor and target.reverse:
        return written_in_reverse(function, args, {})
    if not is_ordinary(target) or target.views is not None or carries_graph(target) or not is_settled(target):
        return NotImplemented
    made: Any = function(*args)
    if calls is not None and calls.few_written_over(target, made) is not None:
        return target
    if not is_ordinary(made) or made.labels is not target.labels or made.value.shape != target.value.shape:
        return NotImplemented
    if made.value.dtype is not target.value.dtype or carries_graph(made) or shares_memory(made.value, target.value):
        return NotImplemented
    target.origin = None
    target.writes += 1
    parts = ((target.value, made.value), (target.residual, made.residual), (target.components, made.components))
    commit([_copying(part, its) for part, its in parts], target.value)
    return target


def _applied(function: Function, args: Sequence[Any], kwargs: dict[str, Any], in_place: Function | None = None) -> Any:
    """The function's result, written into its first argument."""
    args = list(args) if args else [kwargs["input"]]
    kwargs = {key: item for key, item in kwargs.items() if key != "input"}
    target = args[0]
    given = [*args, *kwargs.values()]
    if any(isinstance(arg, DecomposedTensor) and arg.reverse for arg in args) or makes_graph(given):
        args[0] = target.clone()  # backward will want what is overwritten
    result = function(*args, **kwargs)
    _check_cast(result, target)
    known = isinstance(result, DecomposedTensor) and not tracing() and not result.value.requires_grad
    if in_place is not None and target.is_complex() and known:
        result = _rounded_in_place(in_place, result, target, args[1:], kwargs)
    return assign(target, result, (*args[1:], *kwargs.values()))


def _rounded_in_place(
    function: Function, made: DecomposedTensor, target: torch.Tensor, args: Sequence[Any], kwargs: dict[str, Any]
) -> DecomposedTensor:
    """`made` with the value that the function itself writes: its loops for complex numbers round otherwise in place."""
    value = laid_out_alike(_value(target).detach())
    with torch.no_grad():
        function(value, *map(_value_of_any, args), **{key: _value_of_any(item) for key, item in kwargs.items()})
    return DecomposedTensor(value, made.residual, handed_on(made), made.labels, made.reverse)


def _value_of_any(arg: Any) -> Any:
    return arg.value.detach() if isinstance(arg, DecomposedTensor) else arg


def _check_cast(result: Any, target: torch.Tensor) -> None:
    if isinstance(result, torch.Tensor) and result.device != target.device:
        raise RuntimeError(f"a result on the device {result.device} cannot be written into out= on {target.device}")
    if not isinstance(result, torch.Tensor) or result.dtype is target.dtype:  # torch.compile does not trace can_cast
        return
    if not torch.can_cast(result.dtype, target.dtype):
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {target.dtype}")


def flagged(position: int, rule: Any) -> Answer:
    """The rule of a function with an argument `inplace`, which stands at this position."""

    def applied(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        inplace = kwargs.get("inplace", args[position] if len(args) > position else False)
        args = (*args[:position], *args[position + 1 :])
        kwargs = {key: item for key, item in kwargs.items() if key != "inplace"}
        if inplace:
            return _applied(lambda *a, **k: rule(func, a, k), args, kwargs)
        return rule(func, args, kwargs)

    made = Answer(applied, delegates=rule.delegates)
    made.inner = rule
    return made


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


NO_INPLACE = Answer(_no_inplace)


def write_outputs(result: Any, out: Any, args: Sequence[Any] = ()) -> Any:
    """`out=` of a torch function with these other arguments."""
    outs = out if isinstance(out, (tuple, list)) else (out,)
    for one, its in zip(outs, result if outs is out else (result,), strict=True):
        if not one.numel() and type(one) is torch.Tensor:
            one.resize_(its.shape)  # as torch does with an empty one
        _check_cast(its, one)
    each(assign, [(one, its, args) for one, its in zip(outs, result if outs is out else (result,), strict=True)])
    return out


def assign(target: torch.Tensor, source: Any, args: Sequence[Any] = ()) -> torch.Tensor:
    """Copy `source`, which broadcasts, into all the parts of `target`. Views of the latter among `args` follow."""

    commit(*_steps(target, source, _copying, _copying_components, args))
    return target


def _copying(part: torch.Tensor, its: torch.Tensor) -> Step:
    return torch.Tensor.copy_, part, its


def _copying_components(components: torch.Tensor, its: torch.Tensor | None) -> Step:
    if its is None:
        return torch.Tensor.zero_, components
    return torch.Tensor.copy_, components, lead(its, components.ndim - 1)


def _plain_over(target: torch.Tensor, args: Iterable[Any]) -> list[torch.Tensor]:
    """The plain tensors of the target's dtype among the arguments that look at its memory."""
    found = []
    for arg in args:
        if isinstance(arg, (tuple, list)):
            found += _plain_over(target, arg)
            continue
        alike = isinstance(arg, torch.Tensor) and type(arg) is not DecomposedTensor and arg.dtype is target.dtype
        if alike and arg.layout is torch.strided and shares_memory(arg, target):
            found.append(arg)
    return found


def _steps(
    target: torch.Tensor, source: Any, writing: Function, writing_components: Function, args: Sequence[Any] = ()
) -> tuple[list[Step], torch.Tensor]:
    """What is to be committed so that each part of the source is written into the same part of the target; no
    components are written as None. And the part that the first step writes into."""
    source = _fitting(target, source)
    its = source if isinstance(source, DecomposedTensor) else None
    if its is None and not isinstance(target, DecomposedTensor):
        return [writing(target, source)], target
    plain = args and not isinstance(target, DecomposedTensor) and target.layout is torch.strided and not tracing()
    held = make_writable(target, its, _plain_over(target, args) if plain else ())
    steps: list[Step]
    kept = None if tracing() or _changed_with(held) is not None else unmade(held)
    if kept is not None:
        given = None if its is None else entries_under(its, held.labels)
        sparse = None if its is not None and given is None else steps_of(kept, given, writing_components)
        if sparse is not None:
            return [*_of_ends(held, source, writing), *sparse, *due(held)], held.value
        held = laid_out([held], held)
    shared = _changed_with(held)
    if shared is not None:
        shared.write(held, its, writing_components)
        return [*_of_ends(held, source, writing), *due(held)], held.value
    if its is None:
        steps = [writing(held.value, source), writing(held.residual, source), writing_components(held.components, None)]
    else:
        components = expand_components(its.components, its.labels, held.labels)
        # Within torch.vmap and its like a tensor has no memory to be looked at.
        unknown = tracing() or is_wrapped(components)
        if unknown or shares_memory(components, held.components):
            components = components.clone()  # `y[0] += 1` writes what it is a view of
        steps = [
            writing(held.value, its.value), writing(held.residual, its.residual),
            writing_components(held.components, components.to(held.components.dtype)),
        ]  # fmt: skip
    if not tracing():
        _look_for_graphs(held.value, held.residual, held.components)
    return steps + due(held), held.value


def _changed_with(held: DecomposedTensor) -> Shared | None:
    """The components of all elements that the next write changes, if these are not made."""
    return None if tracing() or held.views is None else held.views.shared


def _of_ends(held: DecomposedTensor, source: torch.Tensor, writing: Function) -> list[Step]:
    """What writes the value and the residual."""
    _look_for_graphs(held.value, held.residual)
    ends = (source.value, source.residual) if isinstance(source, DecomposedTensor) else (source, source)
    return [writing(part, end) for part, end in zip((held.value, held.residual), ends, strict=True)]


def _look_for_graphs(*parts: torch.Tensor) -> None:
    """Or torch takes a part for a leaf, if it has written another view:
    https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/VariableTypeUtils.h (check_inplace)"""
    for part in parts:
        _ = part.requires_grad and part.grad_fn


def _fitting(target: torch.Tensor, source: Any) -> Any:
    """What `target` holds of `source`: integers hold the steps of numbers."""
    if not isinstance(source, DecomposedTensor) or (carries(target.dtype) and not source.discrete):
        return source
    if target.is_quantized:
        _util.warn("writing decomposed numbers into a quantized tensor drops their contributions", DecompositionWarning)
        return source.value
    return source.to(target.dtype)


@rule("__setitem__", discrete=True, writes=True)
def _setitem(_: Function, target: Any, index: Any, source: Any) -> None:
    if isinstance(source, torch.Tensor) and source.dtype is not target.dtype:
        _value(target).detach().clone()[_values_in(index)] = _value(source).detach()  # torch refuses some
    found = masked(target, index, source)
    if found is not None:
        condition, place, fitted = found
        seen = target[place] if place else target
        assign(seen, chosen_by(condition, fitted, seen).to(target.dtype))
        return
    index = plain_index("__setitem__", index)
    items = index if isinstance(index, tuple) else (index,)
    source = _fitting(target, source)
    if (
        isinstance(source, torch.Tensor)
        and (isinstance(source, DecomposedTensor) or (isinstance(target, DecomposedTensor) and source.numel() > 1))
        and not are_distinct(target, items)
    ):

        def put_in(held: torch.Tensor, elements: torch.Tensor) -> torch.Tensor:
            held[index] = elements
            return held

        assign(target, put(put_in, target, source))
        return

    every = (*items, slice(None)) if any(item is Ellipsis for item in items) else items

    setitem = _set if tracing() else operator.setitem  # which torch.compile does not trace

    def writing(part: torch.Tensor, its: Any) -> Step:
        return setitem, part, index, its

    def writing_components(components: torch.Tensor, its: torch.Tensor | None) -> Step:
        """They are moved behind the axes that the index is for."""
        return setitem, components.movedim(0, -1), every, 0 if its is None else its.movedim(0, -1)

    commit(*_steps(target, source, writing, writing_components))


def _set(part: torch.Tensor, index: Any, its: Any) -> None:
    part[index] = its


def _values_in(index: Any) -> Any:
    return tuple(map(_value, index)) if isinstance(index, tuple) else _value(index)


@rule("copy_", discrete=True, writes=True)
def _copy(_: Function, target: Any, src: Any, non_blocking: bool = False) -> Any:
    """(Whether it waits for another device is about time.)"""
    return assign(target, src)


@rule("fill_", discrete=True, writes=True)
def _fill(_: Function, target: Any, value: Any) -> Any:
    return assign(target, value if isinstance(value, torch.Tensor) else torch.full_like(_value(target), value))


def _value(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.value if isinstance(tensor, DecomposedTensor) else tensor


@rule("zero_", discrete=True, writes=True)
def _zero(_: Function, target: Any) -> Any:
    return assign(target, torch.zeros_like(target.value))


@rule("requires_grad_", discrete=True, writes=True)
def _requires_grad(_: Function, target: Any, requires_grad: bool = True) -> Any:
    """Of the value: contributions do not depend on it."""
    target.value.requires_grad_(requires_grad)
    return target


@rule("fill_diagonal_", discrete=True, writes=True)
def _fill_diagonal(_: Function, target: Any, fill_value: Any, wrap: bool = False) -> Any:
    mask = torch.zeros(target.shape, dtype=torch.bool, device=target.device).fill_diagonal_(True, wrap)
    return assign(target, torch.masked_fill(target, mask, fill_value))
