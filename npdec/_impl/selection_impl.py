"""Choosing elements by conditions (NumPy's reference: indexing routines, searching, piecewise functions).

Conditions count by their value; what they choose passes its contributions on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Affine, Array, ArrayLike, ArrayLikeOrScalar, NoValue, Opaque, OutArray, out_casting, public
from npdec._impl import _host, _order, _util
from npdec._impl.dtypes_impl import can_cast, element, kept_beside, result_type, scalar_tensor
from npdec._impl.indexing_impl import read_mode
from npdec._impl.sorting_impl import as_truth, flatnonzero, nonzero

_WEAK = (int, float, complex)
_MOST = 64  # arrays that choose takes, the index among them


def _operand(x: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A tensor or Python scalar in the dtype; an int wraps around."""
    if isinstance(x, torch.Tensor):
        return _util.cast(x, dtype)
    if type(x) is int and not dtype.is_floating_point and not dtype.is_complex:
        if not -(2**63) <= x < 2**64:
            raise OverflowError("Python int too large to convert to C long")
        x = x if x < 2**63 else x - 2**64  # the same bits
        return torch.full((), x, dtype=torch.int64, device=device).to(dtype)
    if type(x) is int:
        x = float(x)  # torch takes integers of 64 bits only
    if _util.on_cast is not None and type(x) in (float, complex):
        return _util.cast(scalar_tensor(x, result_type(x), device), dtype)
    try:
        return torch.full((), x, dtype=dtype, device=device)
    except RuntimeError:  # a float that is too large for the dtype, in which it is infinite
        return scalar_tensor(x, dtype, device)


def _side(x: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """As `_operand`, for what is read alone: not to be written, nor to be a view of what is returned."""
    made = kept_beside(x, dtype) if device.type == "cpu" else None
    return _operand(x, dtype, device) if made is None else made


def _shape(x: Any) -> tuple[int, ...]:
    return tuple(x.shape) if isinstance(x, torch.Tensor) else ()


@public
def where(
    condition: ArrayLike, x: ArrayLikeOrScalar = NoValue, y: ArrayLikeOrScalar = NoValue, /
) -> Array | tuple[Array, ...]:
    """Elements of `x` where the condition is true (not zero), of `y` elsewhere; all three broadcast.

    The dtype is the common one of `x` and `y`, Python scalars being weak. With the condition alone: `nonzero` of it.
    Contributions come from the side that is chosen at the value. Raises ValueError if only one of `x` and `y` is
    given, or the shapes do not broadcast.

    >>> np.where(np.array([True, False, True]), np.array([1.0, 2.0, 3.0]), 0.0)
    array([1., 0., 3.])
    """
    if condition.dtype is torch.bool:
        a, b = x, y
        if not isinstance(a, torch.Tensor):
            if type(a) in _WEAK and isinstance(b, torch.Tensor) and b.is_cpu:
                a = kept_beside(a, b.dtype)
        elif type(b) in _WEAK and a.is_cpu:
            b = kept_beside(b, a.dtype)
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype is b.dtype:
            try:
                return torch.where(condition, a, b)
            except RuntimeError:  # shapes that do not fit, or a device; see below
                pass
    if x is NoValue or y is NoValue:
        if x is not y:
            raise ValueError("either both or neither of x and y should be given")
        return nonzero(condition)
    mask = condition if condition.dtype is torch.bool else condition != 0
    common = result_type(x, y)
    a, b = _side(x, common, mask.device), _side(y, common, mask.device)
    try:
        return torch.where(mask, a, b)
    except RuntimeError:
        _util.broadcast_shapes(mask.shape, a.shape, b.shape)
        raise


@public
def select(condlist: Sequence[ArrayLike], choicelist: object, default: object = 0) -> Array:
    """Elements of the first choice whose condition is true, of `default` where none is; all broadcast.

    The conditions are boolean arrays (TypeError), as many as choices (ValueError). The dtype is the common one of the
    choices and the default, Python scalars being weak.

    >>> x = np.array([0, 1, 2, 3])
    >>> np.select([x < 1, x > 2], [x - 10, x * 10], -1)
    array([-10,  -1,  -1,  30])
    """
    listed = cast(Sequence[Any], choicelist)
    device = condlist[0].device if condlist else torch.device("cpu")
    choices = [c if type(c) in _WEAK else _host.as_tensor(c, device=device) for c in listed]
    if len(condlist) != len(choices):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    for i, condition in enumerate(condlist):
        if condition.dtype is not torch.bool:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    rest = default if type(default) in _WEAK else _host.as_tensor(default, device=device)
    common = result_type(*choices, rest)
    shape = _util.broadcast_shapes(*(_shape(x) for x in (*condlist, *choices, rest)))
    result = _side(rest, common, device)
    result = result if result.shape == shape else result.expand(shape)
    for condition, choice in zip(reversed(condlist), reversed(choices)):
        x = scalar_tensor(choice, common, device) if isinstance(choice, int) else _side(choice, common, device)
        result = torch.where(condition, x, result)
    return result


@public
@out_casting("unsafe")
def choose(a: ArrayLike, choices: object, out: OutArray | None = None, mode: str = "raise"):
    """For each index in `a`, the element of the choice of that number; the index and all choices broadcast.

    An index out of range raises ValueError, counts modulo the number of choices (mode "wrap"), or means the nearest
    choice ("clip"). The dtype is the common one of the choices, Python scalars being weak. Raises TypeError if `a` is
    not of integers, ValueError for more than 63 choices, RuntimeError for more than 32 axes.

    >>> np.choose(np.array([2, 0, 1]), [[0, 1, 2], [10, 11, 12], [20, 21, 22]])
    array([20,  1, 12])
    """
    mode = read_mode(mode)
    if not hasattr(choices, "__len__"):
        raise TypeError(f"object of type {type(choices).__name__!r} has no len()")
    listed, device = cast(Sequence[Any], choices), a.device
    given = [choice if type(choice) in _WEAK else _host.as_tensor(choice, device=device) for choice in listed]
    if not given:
        raise ValueError("0-length sequence.")
    if len(given) >= _MOST:
        raise ValueError(f"Need at least 0 and at most {_MOST} array objects.")
    if not can_cast(a.dtype, torch.int64):
        raise TypeError(f"choose: the indices must be integers that int64 holds, not {a.dtype}")
    index = a.to(torch.int64)
    if mode == "wrap":
        index = torch.remainder(index, len(given))
    elif mode == "clip":
        index = index.clamp(0, len(given) - 1)
    shape = _util.broadcast_shapes(index.shape, *map(_shape, given))
    # Where nothing is chosen no index is looked at.
    if mode == "raise" and 0 not in shape and _util.is_known_true(torch.any((index < 0) | (index >= len(given)))):
        raise ValueError(f"invalid entry in choice array: an index is not from 0 to {len(given) - 1}")
    if len(shape) > 32:
        raise RuntimeError(f"this function only supports up to 32 dimensions but the array has {len(shape)}.")
    common = result_type(*given)
    if type(index) is not torch.Tensor:  # whose contributions say how far the choice was moved
        result = _operand(given[0], common, index.device).expand(shape)
        for i, choice in enumerate(given[1:], 1):
            result = torch.where(index == i, _operand(choice, common, index.device), result)
        return result
    stacked = torch.stack([_operand(choice, common, index.device).expand(shape) for choice in given])
    return _order.pick(stacked, index.expand(shape).unsqueeze(0), 0).squeeze(0)


def _where_true(condition: torch.Tensor, arr: torch.Tensor) -> torch.Tensor | None:
    if condition.dtype is not torch.bool or condition.shape != arr.shape or not arr.dim():
        return None
    return arr[as_truth(condition)]


@public(direct=Direct(_where_true))
def extract(condition: Opaque, arr: Affine[ArrayLike]):
    """The elements of the array, read row by row, at which the condition (read likewise) is true, 1-d.

    Raises IndexError if the condition is true beyond the end of the array.

    >>> np.extract(np.array([[True, False], [False, True]]), np.array([[1, 2], [3, 4]]))
    array([1, 4])
    """
    index, flat = flatnonzero(condition), arr.reshape(-1)
    if condition.numel() > len(flat) and _util.is_known_true(torch.any(index >= len(flat))):
        if not len(flat):
            raise IndexError("cannot do a non-empty take from an empty axes.")
        raise IndexError(f"index {int(index[-1])} is out of bounds for axis 0 with size {len(flat)}")
    return _order.pick(flat, index, 0)


@public
def piecewise(x: ArrayLike, condlist: object, funclist: object, *args: Any, **kw: Any) -> Array:
    """A function given by cases: each function is called with the elements of `x` where its condition is true.

    A function may be a number instead; one more than there are conditions is for where none is true (else 0). Later
    conditions overrule earlier ones. The functions also get `args` and `kw`. The result has the shape and dtype of `x`.

    >>> x = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> np.piecewise(x, [x < 0, x > 1], [lambda v: -v, 10.0])
    array([ 2.,  1.,  0., 10.])
    """
    functions = list(funclist)  # type: ignore[call-overload]
    conditions = _conditions_of_number(condlist, x)
    if conditions is None:
        stacked = _as_condition(_host.as_tensor(condlist, device=x.device))
        # One condition needs no list around it. Numbers in a list are one condition, 0-d arrays are several.
        if not stacked.ndim or (stacked.ndim == 1 and x.ndim and not hasattr(condlist[0], "__setitem__")):  # type: ignore[index]
            stacked = stacked.unsqueeze(0)
        conditions = list(torch.unbind(stacked))
    if len(functions) == len(conditions) + 1:
        conditions.append(~torch.any(torch.stack(conditions), 0))
    elif len(functions) != len(conditions):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = torch.zeros_like(x)
    for condition, function in zip(conditions, functions):
        rest: tuple[int, ...] = ()  # axes behind those that the condition is for
        if not condition.ndim:
            condition = condition.expand(x.shape) if x.ndim else condition
        elif tuple(condition.shape) != tuple(x.shape):
            condition, rest = _of_leading_axes(condition, x)
        if type(function) in (bool, int, float, complex):
            values = element(function, x.dtype, x.device)
        elif not callable(function):
            values = _operand(_host.as_tensor(function, device=x.device), x.dtype, x.device)
        else:
            values = None
        if values is not None and not values.ndim:
            y = torch.where(condition, values, y)
            continue
        made = y
        for index in _each_choice(condition) if values is None else [flatnonzero(condition)]:
            if not len(index):
                continue
            piece = values
            if piece is None:
                pieces = _order.pick(x.reshape(-1), index, 0).reshape(-1, *rest)
                made_of = function(_host.as_array(pieces), *args, **kw)
                is_number = type(made_of) in (bool, int, float, complex)
                piece = element(made_of, x.dtype) if is_number else _host.as_tensor(made_of, device=x.device)
                piece = _util.cast(piece.to(x.device), x.dtype)
            if rest:
                piece = piece.expand(len(index) // math.prod(rest), *rest).reshape(-1)
            _util.broadcast_shapes(piece.shape, index.shape)
            made = _put_flat(made, index, piece)
        y = torch.where(condition, made, y) if hasattr(condition, "residual") else made
    return y


def _as_condition(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype is torch.bool else x != 0


def _conditions_of_number(condlist: object, x: torch.Tensor) -> list[torch.Tensor] | None:
    """The conditions for a number, if all are scalars or arrays without axes; None of others."""
    if x.ndim or type(condlist) is not list or not all(hasattr(c, "dtype") and not c.ndim for c in condlist):
        return None
    return [_as_condition(_host.as_tensor(condition, device=x.device)) for condition in condlist]


def _of_leading_axes(condition: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, tuple[int, ...]]:
    """A condition for the first axes of x, as one for all of them; and the lengths of the others. As an index it may
    have an axis without length for any: then it chooses nothing."""
    shape, rest = tuple(condition.shape), tuple(x.shape[condition.ndim :])
    if condition.ndim > x.ndim or any(n not in (0, m) for n, m in zip(shape, x.shape)):
        raise IndexError(f"piecewise: a condition of shape {shape} for x of shape {tuple(x.shape)}")
    if not condition.numel():
        return torch.zeros(x.shape, dtype=torch.bool, device=condition.device), ()
    return condition.reshape(*shape, *[1] * len(rest)).expand(x.shape), rest


def _each_choice(condition: torch.Tensor) -> list[torch.Tensor]:
    """The elements that a condition chooses; of one that carries contributions, apart from these those that it chooses
    at the baseline alone, of which a function is asked as well."""
    decomposed: Any = condition
    if not hasattr(decomposed, "residual"):
        return [flatnonzero(condition)]
    value, residual = decomposed.value, decomposed.residual
    return [flatnonzero(value), flatnonzero(residual & ~value)]


def _put_flat(y: torch.Tensor, index: torch.Tensor, piece: torch.Tensor) -> torch.Tensor:
    """`y` with the piece at places that count the elements in row-major order."""
    flat = torch.index_put(_util.to_ordered(y.reshape(-1)), (index,), _util.to_ordered(piece))
    return _util.from_ordered(flat, y.dtype).reshape(y.shape)
