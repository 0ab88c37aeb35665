"""np.interp: NumPy's numbers, and the same bits of a few elements, which Python goes through, as of many."""

from __future__ import annotations

import numpy
import pytest

import npdec as np

JUMPS = [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0, 2.0, 2.0], [2.0, 2.0]]


@pytest.mark.parametrize("xp", JUMPS)
@pytest.mark.parametrize("times", [1, 50])
def test_at_a_jump_the_last_of_its_points_counts(xp: list[float], times: int) -> None:
    fp = [5.0 + i for i in range(len(xp))]
    x = xp * times
    assert np.interp(x, xp, fp).tolist() == numpy.interp(x, xp, fp).tolist()
    d = np.interp(np.decompose(np.array(x)), xp, fp)
    assert d.value.tolist() == numpy.interp(x, xp, fp).tolist()
    assert np.allclose(d.residual + d.components.sum(0), d.value)


def test_few_elements_have_the_bits_of_many() -> None:
    """Where places are infinite, nan or in no order, ends are given, and values overflow."""
    rng = numpy.random.default_rng(0)
    special = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.0, 1e308, -1e308])
    for _ in range(150):
        size = int(rng.integers(1, 8))
        xp, fp = (numpy.round(rng.normal(size=size), int(rng.integers(0, 3))) for _ in range(2))
        xp = numpy.sort(xp) if rng.random() < 0.9 else xp
        for values in (xp, fp):
            values[rng.integers(size, size=rng.integers(2))] = rng.choice(special)
        x = rng.choice(numpy.concatenate([xp, rng.normal(size=5) * 2, special]), 12)
        ends = [None if rng.random() < 0.5 else float(rng.normal()) for _ in range(2)]
        few, many = np.interp(x, xp, fp, *ends), np.interp(numpy.tile(x, 10), xp, fp, *ends)
        numpy.testing.assert_array_equal(numpy.asarray(few), numpy.asarray(many)[:12])
        assert (numpy.signbit(few) == numpy.signbit(many)[:12])[~numpy.isnan(numpy.asarray(few))].all()
