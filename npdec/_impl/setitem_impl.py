"""Writing: `x[key] = value`. The plan of the key is that of reading."""

from __future__ import annotations

from typing import Any

import torch

from npdec._impl import _storage, _util
from npdec._impl.getitem_impl import Plan, is_mask, is_simple, shape_text, wrap_negative


def fit_leading(value: torch.Tensor, ndim: int) -> torch.Tensor:
    """`value` without leading axes of length one that the destination does not have."""
    while value.ndim > ndim and value.shape[0] == 1:
        value = value.squeeze(0)
    return value


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether the shape broadcasts to the wanted one."""
    if len(shape) > len(wanted):
        return False
    return all(size in (1, want) for size, want in zip(reversed(shape), reversed(wanted)))


def broadcast_input(value: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """`value` fit to be copied into memory of the shape. Raises ValueError in NumPy's words."""
    fitted = fit_leading(value, len(shape))
    if not _fits(tuple(fitted.shape), shape):
        raise ValueError(
            f"could not broadcast input array from shape {shape_text(value.shape)} into shape {shape_text(shape)}"
        )
    return fitted


_FEW = 64  # indices that are looked at one by one


def setitem(x: torch.Tensor, key: tuple[Any, ...], value: torch.Tensor) -> None:
    """Write `value`, broadcast and cast to the dtype of `x`, where the key says. An element named twice gets the last.

    `value` must not share memory with `x`. Raises IndexError and ValueError in NumPy's words, with nothing written.
    """
    value = _util.cast(value, x.dtype)
    if is_simple(key):
        try:
            view = x[key]
        except (IndexError, ValueError, TypeError, RuntimeError, OverflowError):
            pass
        else:
            if not view.ndim and value.ndim and Ellipsis not in key:
                if x.dtype.is_complex:
                    raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
                raise ValueError("setting an array element with a sequence.")
            view.copy_(broadcast_input(value, tuple(view.shape)))
            return
    if value.numel() == 1 and value.ndim < 2 and _is_mask_of(x, key):  # without counting the elements first
        mask = key[0].reshape(*key[0].shape, *[1] * (x.ndim - key[0].ndim))
        value = value.reshape(())
        if type(x) is torch.Tensor and type(value) is torch.Tensor:
            _storage.signed(x).masked_fill_(mask, _storage.signed(value))
        else:  # decomposed: torch.vmap, over the components, has torch.where but no masked_fill with a tensor
            x.copy_(torch.where(mask, value, x))
        return
    plan = Plan(tuple(x.shape), key)
    view = plan.view(x)
    flips = plan.flipped()
    if not plan.index:
        value = broadcast_input(value, tuple(view.shape))
        view.copy_(_storage.moved(torch.flip, value.expand(view.shape), flips) if value.numel() != 1 else value)
        return
    _put(view, plan, value, flips)


def _is_mask_of(x: torch.Tensor, key: tuple[Any, ...]) -> bool:
    """Whether the key is one boolean tensor over the first axes of `x`."""
    if len(key) != 1 or not is_mask(key[0]) or not key[0].ndim:
        return False
    return bool(key[0].shape == x.shape[: key[0].ndim])


def _put(view: torch.Tensor, plan: Plan, value: torch.Tensor, flips: list[int]) -> None:
    """Write `value` through the arrays of a plan. The axes that they index lead in `view`."""
    count = len(plan.index)
    indexed = tuple(plan.index[0].shape)
    rest = tuple(view.shape[count:])
    result = rest[: plan.position] + indexed + rest[plan.position :]
    value = fit_indexed(value, result, plan.masked)
    plan.check_bounds()  # NumPy looks at the shape first
    # One plain number may be written twice to an element; anything that carries a graph must not.
    constant = value.numel() == 1 and type(value) is torch.Tensor and not value.requires_grad
    if constant or (value.numel() == 1 and plan.distinct):
        value = value.reshape(())
    else:
        value = value if value.shape == result else value.expand(result)
        if plan.position:
            moved = tuple(range(len(indexed)))
            value = value.movedim(tuple(plan.position + i for i in moved), moved)
        if flips:
            value = _storage.moved(torch.flip, value, [axis - count + len(indexed) for axis in flips])
    index = [i if i.ndim else i.reshape(1) for i in plan.index]
    value = _storage.signed(value)
    if view.ndim == count == index[0].ndim == 1 and _util.are_numbers(view, value, index[0]):
        # Along the one axis of a vector torch writes from first to last, so that the last of several values stays.
        _storage.signed(view).scatter_(0, wrap_negative(index[0], view.shape[0]), value.expand(index[0].shape))
        return
    if not (constant or plan.distinct):
        index, value = _last_wins(index, value, tuple(view.shape[:count]), rest)
    # Decomposed tensors are of float dtypes; for the unsigned ones torch has no index_put.
    _storage.signed(view)[tuple(index)] = value


def fit_indexed(value: torch.Tensor, shape: tuple[int, ...], masked: bool = False) -> torch.Tensor:
    """`value` fit to be assigned to what arrays index, of the shape. Raises ValueError, TypeError in NumPy's words."""
    if masked and value.ndim > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has "
            f"{value.ndim} dimensions"
        )
    fitted = fit_leading(value, len(shape))
    if _fits(tuple(fitted.shape), shape):
        return fitted
    last = value.shape[-len(shape) :] if shape else torch.Size()
    if not last.numel() and _fits(tuple(last), shape):  # of no elements NumPy minds no leading axes
        return value.reshape(last)
    if masked:
        raise ValueError(
            f"NumPy boolean array indexing assignment cannot assign {value.shape[0]} input values to the {shape[0]} "
            "output values where the mask is true"
        )
    raise ValueError(
        f"shape mismatch: value array of shape {shape_text(value.shape)} could not be broadcast to indexing result of "
        f"shape {shape_text(shape)}"
    )


def _last_wins(
    index: list[torch.Tensor], value: torch.Tensor, sizes: tuple[int, ...], rest: tuple[int, ...]
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The index, flat, with the value that each element is to get: torch leaves open which of several it would be."""
    count = index[0].numel()
    index = [i.reshape(-1) for i in index]
    value = value if value.shape == (count, *rest) else value.reshape(count, *rest)
    if count < 2:
        return index, value
    flat = torch.zeros_like(index[0])
    total = 1
    for i, size in zip(index, sizes, strict=True):
        flat = flat * size + wrap_negative(i, size)
        total *= size
    if count <= _FEW and _util.are_numbers(flat) and flat.is_cpu and len({*flat.tolist()}) == count:
        return index, value  # no element is named twice
    order = torch.arange(count, device=flat.device)
    if total <= 8 * count:
        last = order.new_full((total,), -1).scatter_reduce(0, flat, order, "amax").gather(0, flat)
    else:
        ranked, place = torch.sort(flat, stable=True)
        ends = torch.cat([ranked[1:] != ranked[:-1], torch.ones_like(ranked[:1], dtype=torch.bool)])
        # The last of each run of equal indices: the nearest end at or after every rank.
        nearest = torch.where(ends, order, count).flip(0).cummin(0).values.flip(0)
        last = torch.empty_like(place).scatter(0, place, place[nearest])
    stays = (last == order).reshape(-1, *[1] * len(rest))
    # What is overwritten gets no gradient: only the last one of several writes its value with its graph.
    return index, torch.where(stays, value, value[last].detach())
