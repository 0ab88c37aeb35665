"""Piecewise linear interpolation."""

from __future__ import annotations

import bisect
import math
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function

from npdec._impl import _order
from npdec._impl._by_elements import by_elements
from npdec._impl._util import are_numbers

_FEW, _TABLE = 64, 256  # elements, and points between them, that Python goes through sooner

Points = tuple[torch.Tensor, torch.Tensor, Any, Any]  # xp, fp, the values to the left and to the right of them


def lines(x: torch.Tensor, points: Points) -> torch.Tensor:
    """The value at x of the lines between the points.

    For a decomposed x between plain points it is a pointwise function of x, and for plain x it is a linear one of the
    values at plain points; both have rules, and so has a decomposed x beside decomposed values at plain points. Where
    more is decomposed, points enter linearly for the segment in which x lies at the value.
    """
    xp, fp, left, right = points
    if has_torch_function((x,)) and not has_torch_function(points):
        return handle_torch_function(lines, (x,), x, points)
    if has_torch_function((fp,)) and not has_torch_function((x, xp, left, right)):
        return handle_torch_function(of_values, (fp,), fp, x, xp, left, right)
    if has_torch_function((x, fp)) and not has_torch_function((xp, left, right)) and not fp.is_complex():
        return handle_torch_function(between, (x, fp), x, fp, xp, left, right)
    return stepwise(x, *points)


def of_values(fp: torch.Tensor, x: torch.Tensor, xp: torch.Tensor, left: Any, right: Any) -> torch.Tensor:
    """The same, of the values at the points."""
    return stepwise(x, xp, fp, left, right)


def between(x: torch.Tensor, fp: torch.Tensor, xp: torch.Tensor, left: Any, right: Any) -> torch.Tensor:
    """The same, of x and the values at the points."""
    return stepwise(x, xp, fp, left, right)


def weighted(rows: torch.Tensor, x: torch.Tensor, xp: torch.Tensor, to_left: bool, to_right: bool) -> torch.Tensor:
    """Of rows (k, n) of values at the points, the values at x, (k, *x.shape): both ends of a segment by weights. Beyond
    the points there are none, unless those at the ends go on `to_left` and `to_right`."""
    few = are_numbers(x, xp) and x.numel() <= _FEW and len(xp) <= _TABLE
    i, j, weights = (_weights_of_few if few else _weights)(x, xp, to_left, to_right)
    ends = [torch.index_select(rows, 1, k).view(len(rows), *x.shape) for k in (i, j)]
    # What has no weight adds nothing, though it be infinite.
    first, last = (torch.where(weight == 0, 0, end * weight) for weight, end in zip(weights, ends, strict=True))
    return first + last


_Weights = tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]  # where the ends are, and how much each counts


def _weights(x: torch.Tensor, xp: torch.Tensor, to_left: bool, to_right: bool) -> _Weights:
    n, after = len(xp), _order.search(xp, x, right=True)
    i = (after - 1).clamp(0, max(n - 2, 0))
    j = (i + 1).clamp(max=n - 1)
    x0, x1 = xp[i], xp[j]
    width = x1 - x0
    second = (x - x0) / torch.where(width == 0, 1, width)
    second = torch.where(torch.isnan(second), 1, second)  # where one end is infinite
    before, behind = after == 0, x > xp[-1]
    second = torch.where((x == x1) | behind, 1, torch.where((x == x0) | before, 0, second))
    nowhere = torch.isnan(x)
    if not to_left:
        nowhere = nowhere | before
    if not to_right:
        nowhere = nowhere | behind
    return i.reshape(-1), j.reshape(-1), [torch.where(nowhere, 0, weight) for weight in (1 - second, second)]


def _weights_of_few(x: torch.Tensor, xp: torch.Tensor, to_left: bool, to_right: bool) -> _Weights:
    """The same in Python, sooner."""
    places = xp.tolist()
    n = len(places)
    found: list[tuple[int, int, float, float]] = []
    for at in x.reshape(-1).tolist():
        after = bisect.bisect_right(places, at)
        i = min(max(after - 1, 0), max(n - 2, 0))
        j = min(i + 1, n - 1)
        before, behind = after == 0, at > places[-1]
        second = (at - places[i]) / ((places[j] - places[i]) or 1.0)
        if at == places[j] or behind:
            second = 1.0
        elif at == places[i] or before:
            second = 0.0
        elif math.isnan(second):
            second = 1.0
        if math.isnan(at) or (before and not to_left) or (behind and not to_right):
            found.append((i, j, 0.0, 0.0))
        else:
            found.append((i, j, 1 - second, second))
    ends = [torch.tensor([each[k] for each in found], dtype=torch.int64) for k in (0, 1)]
    weights = [torch.tensor([each[k] for each in found], dtype=torch.float64).reshape(x.shape) for k in (2, 3)]
    return ends[0], ends[1], weights


def stepwise(x: torch.Tensor, xp: torch.Tensor, fp: torch.Tensor, left: Any, right: Any) -> torch.Tensor:
    """The value at x of the lines between the points (xp, fp), which ascend; beyond them `left` and `right`."""
    if fp.is_complex():  # by parts: where one of them is infinite the other need not be nan
        left, right = (None if end is None else _end(end, fp[0]) for end in (left, right))

        def part_of(part: Any) -> torch.Tensor:
            ends = (end if end is None else part(end) for end in (left, right))
            return lines(x, (xp, part(fp), *ends))

        return torch.complex(part_of(torch.real), part_of(torch.imag))
    numbers = are_numbers(x, xp, fp) and not isinstance(left, torch.Tensor) and not isinstance(right, torch.Tensor)
    found = _of_few(x, xp, fp, left, right) if numbers else None
    if found is not None:
        return found
    n = len(xp)
    after = _order.search(xp, x, right=True)  # the index of the first point to the right of x
    i = (after - 1).clamp(0, max(n - 2, 0))
    j = (i + 1).clamp(max=n - 1)
    points = [
        torch.index_select(part, 0, k.reshape(-1)).view(k.shape) if numbers else part[k]
        for part in (xp, fp)
        for k in (i, j)
    ]
    del i, j  # of arrays of many components all that is kept is large
    segment = _segment if n > 1 else _point
    return by_elements(segment, x, after, *points, _end(left, fp[0]), _end(right, fp[-1]), xp[-1])


def _segment(x: torch.Tensor, *points: torch.Tensor) -> torch.Tensor:
    y = _point(x, *points)
    return torch.where(torch.isnan(x), x.to(y.dtype), y)


def _point(
    x: torch.Tensor,
    after: torch.Tensor,
    x0: torch.Tensor,
    x1: torch.Tensor,
    y0: torch.Tensor,
    y1: torch.Tensor,
    left: torch.Tensor,
    right: torch.Tensor,
    last: torch.Tensor,
) -> torch.Tensor:
    """The value at x on the line from (x0, y0) to (x1, y1); `left` where no point is before x, `right` after `last`."""
    width = x1 - x0
    slope = (y1 - y0) / torch.where(width == 0, 1, width)
    y = slope * (x - x0) + y0
    y = torch.where(torch.isnan(y), slope * (x - x1) + y1, y)  # from the other end, where one end is infinite
    y = torch.where(torch.isnan(y) & (y0 == y1), y0, y)
    y = torch.where(x == x1, y1, torch.where(x == x0, y0, y))  # the last of several points at the end
    y = torch.where(after == 0, left, y)
    return torch.where(x > last, right, y)


def _end(given: Any, point: torch.Tensor) -> torch.Tensor:
    if given is None:
        return point
    if isinstance(given, torch.Tensor):
        return given.to(point.dtype)
    return torch.full((), given, dtype=point.dtype, device=point.device)


def _of_few(x: torch.Tensor, xp: torch.Tensor, fp: torch.Tensor, left: Any, right: Any) -> torch.Tensor | None:
    """The same steps in Python, sooner, for a few elements of numbers on the host; None for others."""
    if x.numel() > _FEW or not 1 < len(xp) <= _TABLE:
        return None
    places, heights = xp.tolist(), fp.tolist()
    last = places[-1]
    if math.isnan(last):
        return None
    made = []
    for at in x.reshape(-1).tolist() if x.dim() else [x.item()]:
        after = bisect.bisect_right(places, at)
        i = min(max(after - 1, 0), len(places) - 2)
        x0, x1, y0, y1 = places[i], places[i + 1], heights[i], heights[i + 1]
        if math.isnan(at):
            y = at
        elif at > last:
            y = heights[-1] if right is None else right
        elif after == 0:
            y = y0 if left is None else left
        elif at == x1:
            y = y1
        elif at == x0:
            y = y0
        else:
            slope = (y1 - y0) / ((x1 - x0) or 1.0)
            y = slope * (at - x0) + y0
            if math.isnan(y):
                return None
        made.append(y)
    if not x.dim():
        return torch.scalar_tensor(made[0], dtype=torch.float64)
    return torch.tensor(made, dtype=torch.float64).reshape(x.shape)
