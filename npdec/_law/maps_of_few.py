"""Kernels that are linear in a few numbers, or constant, and whatever else they are given are numbers and words: the
map is found once, by the kernel itself, of each number alone. What only moves numbers is computed by the map, and so
are the components of all others.
"""

from __future__ import annotations

import array
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._core.signatures import Parameter
from npdec._core.tags import NoValue
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary import is_observed
from npdec._native import calls
from npdec._torch.tracing import tracing

__all__ = ["mapped", "of_decomposed"]

Function = Callable[..., Any]
_FLOATS = frozenset({torch.float64, torch.float32, torch.complex128, torch.complex64})
_INDICES = frozenset({torch.int64, torch.bool})
_WORDS = frozenset({int, float, bool, str, type(None), type(NoValue), torch.dtype, torch.Size})
_MOST_GIVEN, _MOST_MADE = 16, 64  # numbers
_Tensor = torch.Tensor


class _Place:
    """The place of a tensor among the arguments."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


@functools.lru_cache(256)
def _place(shape: tuple[int, ...], place: int) -> _Place:
    return _Place(shape)


class _Indices(NamedTuple):
    """A constant tensor of a few integers, or a mask."""

    shape: torch.Size
    dtype: torch.dtype
    numbers: tuple[int, ...]


class _Map(NamedTuple):
    """The sums that a kernel computes: of each result the constant, and from where to where its terms stand in the
    places and the weights; the dtype and the shape."""

    shape: tuple[int, ...]
    constants: bytes
    starts: bytes
    places: bytes
    weights: bytes
    moves: bool  # whether each is one of the numbers, or constant


def mapped(kernel: Function, parameters: Sequence[Parameter]) -> Function:
    """The kernel, of which some parameters are marked as `Affine`."""
    if calls is None:
        return kernel

    places: frozenset[int | str] = frozenset(key for i, p in enumerate(parameters) if p.affine for key in (i, p.name))

    def apply(*args: Any, **kwargs: Any) -> Any:
        made = None if tracing() or is_observed() else _of_few(kernel, places, args, kwargs)
        return kernel(*args, **kwargs) if made is None else made

    return apply


def _of_few(kernel: Function, affine: frozenset[int | str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors: list[Any] = []
    dtype = None
    key: list[Any] = []
    for place, x in (*enumerate(args), *kwargs.items()):
        kind = type(x)
        if kind is DecomposedTensor:
            own = x.value.dtype
            if place not in affine:
                return None
            if dtype is None and own in _FLOATS:
                dtype = own
            if own is not dtype:
                return None
            key.append(_place(x.value.shape, len(tensors)))
            tensors.append(x)
        elif kind in _WORDS or (kind is tuple and all(type(item) in _WORDS for item in x)):
            key.append(x)
        elif kind is _Tensor and x.dtype in _INDICES and x.numel() <= _MOST_GIVEN and x.is_cpu:
            key.append(_Indices(x.shape, x.dtype, tuple(x.reshape(-1).tolist())))
        elif kind is list and place in affine:
            places = []
            for item in x:
                if type(item) is not DecomposedTensor or item.value.dtype not in _FLOATS:
                    return None
                dtype = dtype or item.value.dtype
                if item.value.dtype is not dtype:
                    return None
                places.append(_place(item.value.shape, len(tensors)))
                tensors.append(item)
            key.append(tuple(places))
        else:
            return None
    found = _map_of(kernel, dtype, len(args), tuple(kwargs), *key)
    if found is None:
        return None
    if found.moves:
        return calls.few_mapped(*found, tuple(tensors), None, None)
    ends = []
    for residual in (False, True):
        given = [_end(x, residual) for x in args]
        ends.append(kernel(*given, **{name: _end(x, residual) for name, x in kwargs.items()}))
    return calls.few_mapped(*found, tuple(tensors), *ends)


def _end(x: Any, residual: bool) -> Any:
    if type(x) is list:
        return [_end(item, residual) for item in x]
    return (x.residual if residual else x.value) if type(x) is DecomposedTensor else x


@functools.lru_cache(1024, typed=True)
def _map_of(kernel: Function, dtype: torch.dtype, count: int, names: tuple[str, ...], *key: Any) -> _Map | None:
    """The map of a kernel; None of many numbers, and where it gives others than of the dtype."""
    shapes = [x.shape for item in key for x in (item if type(item) is tuple else (item,)) if type(x) is _Place]
    sizes = [torch.Size(shape).numel() for shape in shapes]
    total = sum(sizes)
    if not 0 < total <= _MOST_GIVEN:
        return None

    def at(place: int) -> Any:
        """What the kernel gives, where of all numbers that of this place is one, and the others are zero."""
        row = torch.zeros(total, dtype=dtype)
        if place >= 0:
            row[place] = 1
        parts = [part.reshape(shape) for part, shape in zip(row.split(sizes), shapes, strict=True)]
        following = iter([part.clone() for part in parts])
        given = [_filled(item, following) for item in key]
        return kernel(*given[:count], **dict(zip(names, given[count:], strict=True)))

    constant = at(-1)
    if type(constant) is not _Tensor or constant.dtype is not dtype or not 0 < constant.numel() <= _MOST_MADE:
        return None
    columns = [(at(place) - constant).reshape(-1) for place in range(total)]
    if dtype.is_complex:
        if any(bool(column.imag.any()) for column in (*columns, constant)):
            return None
        columns, constant = [column.real for column in columns], constant.real
    constants = constant.reshape(-1).tolist()
    starts, places, weights = [0], list[int](), list[float]()
    for row in zip(*[column.tolist() for column in columns], strict=True):
        for place, weight in enumerate(row):
            if weight:
                places.append(place)
                weights.append(weight)
        starts.append(len(places))
    moves = all(weight == 1 for weight in weights)
    for i, number in enumerate(constants):
        terms = starts[i + 1] - starts[i]
        moves = moves and (terms == 0 or (terms == 1 and not number))
    return _Map(
        tuple(constant.shape),
        array.array("d", constants).tobytes(),
        array.array("i", starts).tobytes(),
        array.array("i", places).tobytes(),
        array.array("d", weights).tobytes(),
        moves,
    )


def _filled(item: Any, following: Any) -> Any:
    if type(item) is _Place:
        return next(following)
    if type(item) is _Indices:
        return torch.tensor(item.numbers, dtype=item.dtype).reshape(item.shape)
    if type(item) is tuple and item and type(item[0]) is _Place:
        return [next(following) for _ in item]
    return item


def of_decomposed(tensors: Sequence[Any]) -> bool:
    """Whether a list begins with a decomposed tensor."""
    return bool(tensors) and type(tensors[0]) is DecomposedTensor
