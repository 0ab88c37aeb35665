"""np.interp of decomposed values at plain points: each contributes what it changes alone."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

import npdec as np
from tiers import fewer

ENDS: list[dict[str, float]] = [{}, {"left": 2.5}, {"right": -1.0}, {"left": 0.5, "right": 3.0}, {"period": 1.7}]


def drawn(seed: int, size: tuple[int, ...], kind: str) -> tuple[Any, Any, Any, Any]:
    """Where, and the points, their values and baselines."""
    rng = numpy.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    xp = numpy.sort(rng.normal(size=n)).round(1)
    if kind == "infinite points":
        xp[0], xp[-1] = -numpy.inf, numpy.inf
    x = rng.normal(size=size) * 1.5
    x = numpy.where(rng.random(size) < 0.3, rng.choice(xp, size=size), x)
    if kind == "nan":
        x = numpy.where(rng.random(size) < 0.3, numpy.nan, x)
    fp, base = rng.normal(size=n), rng.normal(size=n)
    return x, xp, fp + 1j * base if kind == "complex" else fp, base.astype(complex if kind == "complex" else float)


@pytest.mark.parametrize("kind", ["finite", "infinite points", "nan", "complex"])
@pytest.mark.parametrize("size", [(), (3,), (2, 2), (0,), (100,)])
@pytest.mark.parametrize("ends", ENDS, ids=str)
def test_each_value_contributes_what_it_changes_alone(kind: str, size: tuple[int, ...], ends: Any) -> None:
    if "period" in ends and kind == "infinite points":
        pytest.skip("points lie within a period")
    for seed in range(6):
        x, xp, fp, base = drawn(seed, size, kind)
        found = np.interp(x, xp, np.decompose(np.array(fp), baseline=np.array(base)), **ends)
        with numpy.errstate(all="ignore"):
            assert numpy.allclose(numpy.asarray(found.value), numpy.interp(x, xp, fp, **ends), equal_nan=True)
            before = numpy.interp(x, xp, base, **ends)
            assert numpy.allclose(numpy.asarray(found.residual), before, equal_nan=True)
            for k in range(len(fp)):
                one = numpy.where(numpy.arange(len(fp)) == k, fp, base)
                moved = numpy.interp(x, xp, one, **ends) - before
                moved = numpy.where(numpy.isnan(x), 0, moved)  # a number that is none moves by nothing
                assert numpy.allclose(numpy.asarray(found.components[k]), moved, atol=1e-12)


def test_in_reverse_mode() -> None:
    x, xp, fp, base = drawn(3, (5,), "finite")
    forward = np.interp(x, xp, np.decompose(np.array(fp), baseline=np.array(base))).components.sum(axis=1)
    backward = np.attribute(lambda values: np.interp(x, xp, values).sum(), np.array(fp), baseline=np.array(base))
    assert numpy.allclose(numpy.asarray(backward.attribution), numpy.asarray(forward), atol=1e-12)


@pytest.mark.quick
def test_places_and_values_that_both_move():
    """The residual is the function of the baseline, in whatever segment that lies, and contributions are complete: of a
    product of two, the shares of both orders' mean."""
    source = numpy.random.default_rng(3)
    for turn in range(fewer(60)):
        points = numpy.sort(source.normal(size=4))
        (x, r), (f, g) = source.normal(0, 1.5, (2, 3)), source.normal(size=(2, 4))
        if turn % 3 == 0:
            x[0], r[1] = points[0], points[-1]
        if turn % 4 == 0:
            r[2] = x[2]
        ends = {"left": -1.0} if turn % 2 else {"right": 2.0} if turn % 5 else {}
        (at, values) = np.decompose((np.array(x), np.array(f)), baseline=(np.array(r), np.array(g)))
        made = np.interp(at, points, values, **ends)
        assert numpy.allclose(made.value, numpy.interp(x, points, f, **ends), rtol=1e-14)
        assert numpy.allclose(made.residual, numpy.interp(r, points, g, **ends), rtol=1e-14)
        orders = [numpy.interp(a, points, b, **ends) for a in (x, r) for b in (f, g)]
        by_places = (orders[0] - orders[2] + orders[1] - orders[3]) / 2
        by_values = (orders[0] - orders[1] + orders[2] - orders[3]) / 2
        parts = made.components.tensor.numpy()
        assert numpy.allclose(parts[:3].sum(0), by_places, atol=1e-14)
        assert numpy.allclose(parts[3:].sum(0), by_values, atol=1e-14)


@pytest.mark.quick
def test_gradients_of_both():
    """Contributions are differentiated by the places and by the values."""
    x, r = torch.tensor([0.3, 1.7, 0.6]).double(), torch.tensor([1.4, 0.2, 0.65]).double()
    f, g = torch.tensor([1.0, 3.0, 2.5]).double(), torch.tensor([0.5, -1.0, 0.4]).double()

    def contributions(*given):
        x, r, f, g = map(np.asarray, given)
        at, values = np.decompose((x, f), baseline=(r, g))
        return np.interp(at, [0.0, 1.0, 2.0], values)._t.components

    assert torch.autograd.gradcheck(contributions, [t.requires_grad_() for t in (x, r, f, g)])
