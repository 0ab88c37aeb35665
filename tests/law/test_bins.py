"""Histograms whose edges carry contributions: counts are those of NumPy, at the value and at the baseline."""

from __future__ import annotations

import numpy
import pytest

import npdec as np

X, R = [0.2, 0.7, -1.0, 1.0, 3.0, 2.5], [1.2, 0.1, 0.3, 1.0, 0.0, 2.0]


@pytest.mark.parametrize("moving", ["numbers", "edges", "both"])
@pytest.mark.parametrize("edges", [[0.0, 1.0], [0.0, 0.5, 3.0], [-1.0, 0.2, 0.7, 2.5]], ids=str)
def test_counts_between_edges_that_carry(moving, edges):
    base = [e + 0.25 for e in edges]
    x = np.decompose(np.array(X), baseline=np.array(R)) if moving != "edges" else np.array(X)
    ends = np.decompose(np.array(edges), baseline=np.array(base)) if moving != "numbers" else np.array(edges)
    made = np.histogram(x, ends)[0]
    at_base = numpy.histogram(X if moving == "edges" else R, edges if moving == "numbers" else base)[0]
    assert getattr(made, "value", made).tolist() == numpy.histogram(X, edges)[0].tolist()
    assert getattr(made, "residual", made).tolist() == at_base.tolist()
    if hasattr(made, "components"):
        assert np.allclose(made.residual + made.components.sum(0), made.value)


@pytest.mark.parametrize("bins", [1, 3, [2, 3]], ids=str)
def test_edges_from_the_data(bins):
    x, r = numpy.array([[0.5, 1.0], [2.0, -1.0], [0.0, 3.0]]), numpy.array([[0.1, 0.0], [1.0, 4.0], [3.0, 2.0]])
    made, edges = np.histogramdd(np.decompose(np.array(x), baseline=np.array(r)), bins)
    for side, given in (("value", x), ("residual", r)):
        counts, ends = numpy.histogramdd(given, bins)
        assert getattr(made, side).tolist() == counts.tolist()
        for one, other in zip(edges, ends, strict=True):
            assert np.allclose(getattr(one, side), other)
    assert np.allclose(made.residual + made.components.sum(0), made.value)


def test_nan_is_in_no_bin_whatever_the_edges():
    x = np.array([0.5, np.nan, 1.5])
    made = np.histogram(x, np.decompose(np.array([0.0, 1.0]), baseline=np.array([0.25, 2.0])))[0]
    assert made.value.tolist() == [1]
    assert made.residual.tolist() == [2]
    assert (made.residual + made.components.sum(0)).tolist() == [1.0]
