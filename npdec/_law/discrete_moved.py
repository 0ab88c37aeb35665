"""The law of ordinary calls that move elements of decomposed booleans and integers, or count what is true: value,
residual and components by the function itself, whatever dtypes they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.aliasing import link_ordinary
from npdec._decomposed.batching_rules import is_plain
from npdec._decomposed.kept_components import dtype_of_steps
from npdec._decomposed.registry import Row, Trait, rows
from npdec._decomposed.size_limits import MANY
from npdec._decomposed.tensor import DecomposedTensor, merged, placed
from npdec._law.discrete_of_few import is_discrete
from npdec._law.ordinary import built

__all__ = ["moved"]

Function = Callable[..., Any]
_NONE: dict[str, Any] = {}
_PLAIN = frozenset({int, bool, slice, type(None), type(Ellipsis), torch.Size})


def moved(func: Function, args: Sequence[Any]) -> Any:
    """The answer; NotImplemented of other functions, and where something is not ordinary. Nobody looks on."""
    row = rows.get(func)
    if row is None or not args or row.rule.writes or row.rule.in_place:
        return NotImplemented
    if not row.traits & Trait.MOVE and not (row.traits & Trait.SUM and _is_counted(args[0])):
        return NotImplemented
    if type(args[0]) in (list, tuple):
        return _joined(func, *args) if len(args) <= 2 and row.batch is None else NotImplemented
    return NotImplemented if row.batch is None else _of_one(row, func, *args)


def _of_one(row: Row, func: Function, x: Any, *rest: Any) -> Any:
    if not _is_kept(x) or len(x.labels) >= MANY or not all(map(_is_plain, rest)):
        return NotImplemented
    if row.traits & Trait.INDEX and not is_plain(rest[0]):
        return NotImplemented
    assert row.batch is not None
    value = func(x.value, *rest)
    front = row.batch(func, x.value.ndim, rest, _NONE, value)
    if front is None:
        return NotImplemented
    given = x.components
    if row.traits & Trait.SUM:  # a count may be one that these numbers do not reach
        given = given.to(dtype_of_steps(value.dtype, given.dtype))
    residual, components = func(x.residual, *rest), front(given)
    if type(value) is torch.Tensor:
        return _linked(value, residual, components, x)
    return tuple([_linked(*its, x) for its in zip(value, residual, components, strict=True)])


def _is_counted(x: Any) -> bool:
    """Whether the sum is one of decomposed booleans, which numbers do not reach the end of."""
    return type(x) is DecomposedTensor and x.value.dtype is torch.bool


def _is_kept(x: Any) -> bool:
    """Whether x is discrete, and what is made of it has components of the same dtype."""
    return is_discrete(x) and dtype_of_steps(x.value.dtype, x.components.dtype) is x.components.dtype


def _is_plain(item: Any) -> bool:
    if type(item) in (tuple, list):
        return all(map(_is_plain, item))
    return type(item) in _PLAIN or (type(item) is torch.Tensor and item.dtype is torch.int64)


def _linked(value: torch.Tensor, residual: torch.Tensor, components: torch.Tensor, x: DecomposedTensor) -> Any:
    made = _discrete(value, residual, components, x.labels)
    link_ordinary(made, x)
    return made


def _discrete(value: torch.Tensor, residual: torch.Tensor, components: torch.Tensor, labels: Any) -> Any:
    made = built(value, residual, components, labels)
    made.discrete = True
    return made


def _joined(func: Function, tensors: Sequence[Any], dim: Any = 0) -> Any:
    """cat and stack of tensors of one dtype, of which some may be constants."""
    like = next((t for t in tensors if type(t) is DecomposedTensor), None)
    if like is None or type(dim) is not int or not _is_kept(like):
        return NotImplemented
    dtype, labels = like.components.dtype, like.labels
    for t in tensors:
        if type(t) is DecomposedTensor:
            if not _is_kept(t) or t.components.dtype is not dtype:
                return NotImplemented
            labels = labels if t.labels is labels else merged(labels, t.labels)[0]
        elif type(t) is not torch.Tensor or t.layout is not torch.strided or t.is_meta:
            return NotImplemented
        if t.dtype is not like.value.dtype or t.ndim != like.value.ndim:
            return NotImplemented
    if len(labels) >= MANY:
        return NotImplemented
    ends = [[getattr(t, part) if type(t) is DecomposedTensor else t for t in tensors] for part in ("value", "residual")]
    value, residual = (func(its, dim) for its in ends)
    front = [_under(t, labels, dtype) for t in tensors]
    return _discrete(value, residual, func(front, dim + 1 if dim >= 0 else dim), labels)


def _under(t: Any, labels: Any, dtype: torch.dtype) -> torch.Tensor:
    if type(t) is not DecomposedTensor:
        return t.new_zeros((len(labels), *t.shape), dtype=dtype)
    components: torch.Tensor = t.components
    return components if t.labels is labels else placed(components, merged(labels, t.labels)[1], len(labels))
