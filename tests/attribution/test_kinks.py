"""The place of a kink, from the function and its slope at a few points."""

from __future__ import annotations

import math
import random

import pytest

from npdec.attribution._kinks import Point, kink

EPS = 2.0**-52


def pieces(place, before, after):
    """A function of two smooth pieces, (function, derivative), which agree at the place."""
    looked = []

    def look(places):
        looked.append(len(places))
        made = []
        for t in places:
            f, slope = before if t <= place else after
            made.append(Point(t, f(t) - f(place), slope(t)))
        return made

    return look, looked


CURVES = {
    "lines": ((lambda t: 2 * t, lambda t: 2.0), (lambda t: -t, lambda t: -1.0)),
    "parabolas": ((lambda t: t * t, lambda t: 2 * t), (lambda t: -((4 + t) ** 2), lambda t: -2 * (4 + t))),
    "waves": ((math.sin, math.cos), (lambda t: -math.exp(2 * t), lambda t: -2 * math.exp(2 * t))),
}


@pytest.mark.parametrize("name", CURVES)
def test_places_are_exact(name):
    draw = random.Random(0)
    for _ in range(50):
        start = draw.uniform(-1, 1)
        width = 10 ** draw.uniform(-4, -0.5)
        places = [start + width * i / 7 for i in range(8)]
        place = start + width * draw.uniform(0.02, 0.98)
        look, looked = pieces(place, *CURVES[name])
        found = kink(look(places), look, EPS)
        assert found is not None
        jump = abs(CURVES[name][0][1](place) - CURVES[name][1][1](place))
        assert abs(found - place) <= 2**10 * EPS * (1 + abs(place)) / jump
        assert len(looked) - 1 <= 6


@pytest.mark.parametrize("name", CURVES)
def test_smooth_functions_have_none(name):
    f, slope = CURVES[name][0]
    look, looked = pieces(0.0, (f, slope), (f, slope))
    assert kink(look([i / 7 for i in range(8)]), look, EPS) is None
    assert len(looked) == 1


def test_a_bend_of_the_slope_is_none():
    """t² on one side only: value and slope agree where the pieces meet."""
    look, looked = pieces(0.4, (lambda t: 0.0, lambda t: 0.0), (lambda t: (t - 0.4) ** 2, lambda t: 2 * (t - 0.4)))
    assert kink(look([i / 7 for i in range(8)]), look, EPS) is None
    assert len(looked) == 1
