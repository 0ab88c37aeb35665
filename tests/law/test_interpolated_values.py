"""np.interp of decomposed values at plain points: each contributes what it changes alone."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import npdec as np

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
