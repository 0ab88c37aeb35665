"""Where a function of one number has a kink: its slope jumps there, between pieces that are smooth."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

__all__ = ["Point", "kink"]

_LOOKS = 6
_ENOUGH = 2.0**7  # roundings of the values that may be missed by the place
_EDGE = 2.0**-10  # of the width: where to look when the pieces meet at an end of it, but for rounding
_STRAIGHT = 2.0**-40  # of a jump: what the slope beside it changes by where the pieces are lines
_UNLIKE = 2.0  # times the median: what changes more than that is no smooth change


class Point(NamedTuple):
    """The function at a place."""

    t: float
    value: float
    slope: float


class _Side(NamedTuple):
    """One side of a kink: the point nearest to it, and the line through the slopes of this and another one."""

    near: Point
    bend: float
    length: float

    @classmethod
    def of(cls, points: Sequence[Point], width: float) -> _Side:
        """Of points, the nearest first. The other one is not so near that rounding tells how the slope changes over
        the width."""
        near, *rest = points
        far = next((p for p in rest if abs(p.t - near.t) >= width / 2), rest[-1] if rest else near)
        length = near.t - far.t
        return cls(near, (near.slope - far.slope) / length if length else 0.0, abs(length))

    def slope(self, t: float) -> float:
        return self.near.slope + self.bend * (t - self.near.t)


def kink(points: Sequence[Point], look: Callable[[list[float]], list[Point]], eps: float) -> float | None:
    """The place of a kink between two of the points, which stand in order; None if none is seen. `look` gives the
    function at more places, all of which lie between these two. `eps` is the rounding of its values."""
    gap = _gap(points)
    if gap is None:
        return None
    left, right = [*points[gap::-1]], [*points[gap + 1 :]]  # the nearest first
    place: float | None = None
    for _ in range(_LOOKS):
        low, high = left[0], right[0]
        width = high.t - low.t
        before, after = _Side.of(left, width), _Side.of(right, width)
        first, along = _meeting(before, after, width)
        if not 0 < along < width:
            if place is None:
                return None
            first = along = width * (_EDGE if along <= 0 else 1 - _EDGE)
        place = low.t + along
        jump = abs(after.slope(place) - before.slope(place))
        if len(left) + len(right) == len(points) and jump <= abs(after.bend - before.bend) * width:
            return None  # where the slope only bends
        rounding = _ENOUGH * eps * (abs(low.value) + abs(high.value))
        if width * jump <= rounding or width <= 4 * eps * abs(place):
            return place
        if max(abs(before.bend), abs(after.bend)) * width <= _STRAIGHT * jump:
            return place
        # What the lines miss is of a higher order in the width than what they change the place by.
        around = abs(along - first) / 2 * min(1.0, width / max(before.length, after.length, width))
        around = max(around, rounding / jump if jump else 0.0, width * 2.0**-20)
        places = [place + step for step in (-around, 0.0, around) if low.t < place + step < high.t]
        if not places:
            return place
        for p in look(places):
            if abs(p.slope - before.slope(p.t)) <= abs(p.slope - after.slope(p.t)):
                left.insert(0, p)
            else:
                right.insert(0, p)
                break  # the first on the right is the nearest
    return place


def _gap(points: Sequence[Point]) -> int | None:
    """The points i and i + 1 between which the slope changes as it does not beside them."""
    bends = [(b.slope - a.slope) / (b.t - a.t) for a, b in itertools.pairwise(points)]
    count = len(bends)
    beside = [(i - 1, i + 1) if 0 < i < count - 1 else (1, 2) if i == 0 else (i - 2, i - 1) for i in range(count)]
    jumps = [min(abs(bends[i] - bends[j]) for j in others) for i, others in enumerate(beside)]
    most = max(range(count), key=jumps.__getitem__)
    return most if jumps[most] > _UNLIKE * median(jumps) else None


def _meeting(before: _Side, after: _Side, width: float) -> tuple[float, float]:
    """How far from the left point the values of the pieces meet: with the slopes of the points, and with slopes that
    change as they do beside them."""
    low, high = before.near, after.near
    rise = high.value - low.value
    jump = low.slope - high.slope
    first = along = (rise - high.slope * width) / jump if jump else width / 2
    for _ in range(4):
        rest = width - along
        missing = low.slope * along + before.bend * along**2 / 2 + high.slope * rest - after.bend * rest**2 / 2 - rise
        change = low.slope + before.bend * along - high.slope + after.bend * rest
        if not change:
            break
        along -= missing / change
    return first, along
