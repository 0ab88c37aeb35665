"""Contributions over time: at the place of each time, as wide as can be seen, with times that can be read."""

from __future__ import annotations

import datetime
import itertools

import numpy
import pytest

import npdec as np

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.dates import date2num  # noqa: E402

AMOUNTS = numpy.random.default_rng(5).standard_normal((60, 3))
TIMES = {
    "years": numpy.arange("1960", "2020", dtype="M8[Y]"),
    "months": numpy.arange("2021-01", "2026-01", dtype="M8[M]"),
    "days": numpy.arange("2026-01-20", "2026-03-21", dtype="M8[D]"),
    "nanoseconds": numpy.datetime64("2026-01-20T12:00", "ns") + numpy.arange(60) * numpy.timedelta64(7, "m"),
    "dates": [datetime.date(2026, 1, 1) + datetime.timedelta(days=i) for i in range(60)],
    "times of a zone": [datetime.datetime(2026, 1, 1, i % 24, tzinfo=datetime.UTC) for i in range(24)] * 3,
    "fractions": numpy.linspace(0, 1, 60),
    "far apart": [10.0**i for i in range(60)],
    "backwards": numpy.arange(60)[::-1] * 3,
    "words": [f"day {i}" for i in range(60)],
    "long words": [f"the quarter after {i}" for i in range(60)],
    "the same words": ["Mon", "Tue"] * 30,
    "spans": numpy.arange(60).astype("m8[h]"),
}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def drawn(times, count):
    x = np.decompose(np.array(AMOUNTS[:count]), axis=1, labels=["a", "b", "c"])
    return x.sum(axis=1).plot.stacked(times=times)


def overlap(one, two):
    return min(one.x1, two.x1) - max(one.x0, two.x0) > 0.5 and min(one.y1, two.y1) - max(one.y0, two.y0) > 0.5


@pytest.mark.parametrize("count", [24, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [k if k == "days" else pytest.param(k, marks=pytest.mark.slow) for k in TIMES])
def test_each_number_stands_at_its_time(kind, count):
    given = TIMES[kind][:count]
    if kind == "times of a zone" and count > 24:
        pytest.skip("a day has 24 hours")
    axes = drawn(given, count)
    given = numpy.asarray(given)
    places = numpy.arange(count)
    if given.dtype.kind in "fi":
        places = given
    elif given.dtype.kind in "MO":
        places = date2num(given)
    order = numpy.argsort(places, kind="stable")
    line = axes.lines[0]
    numpy.testing.assert_allclose(line.get_xdata(), places[order])
    numpy.testing.assert_allclose(line.get_ydata(), AMOUNTS[:count][order].sum(1), atol=1e-12)
    figure = axes.figure
    figure.canvas.draw()
    if count <= 40:
        bars = [[bar for bar in group if bar.get_height()] for group in axes.containers]
        heights = numpy.zeros(count)
        for bar in itertools.chain(*bars):
            heights[numpy.abs(places[order] - bar.get_center()[0]).argmin()] += bar.get_height()
            assert kind == "far apart" or bar.get_window_extent().width > 2, "it can be seen"
        numpy.testing.assert_allclose(heights, AMOUNTS[:count][order].sum(1), atol=1e-12)
    else:
        corners = numpy.concatenate([area.get_paths()[0].vertices[:, 0] for area in axes.collections])
        numpy.testing.assert_allclose([corners.min(), corners.max()], [places.min(), places.max()])
    low, high = axes.get_xlim()
    ticks = [
        text for place, text in zip(axes.xaxis.get_ticklocs(), axes.xaxis.get_ticklabels())
        if low <= place <= high and text.get_text()
    ]  # fmt: skip
    texts = [*ticks, axes.xaxis.get_offset_text()]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    assert len(ticks) >= 3
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0 for box in boxes), "none is cut"
    if ticks[0].get_rotation() == 0:
        assert not any(overlap(one, two) for one, two in itertools.combinations(boxes, 2))
    else:
        steps = numpy.diff([text.get_position()[0] for text in ticks]).min() * (axes.bbox.width / (high - low))
        assert steps > ticks[0].get_fontsize() * figure.dpi / 72 * 0.9, "slanted lines of text have room"


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ([1.0, 2.0], "3 numbers need as many times"),
        ([1.0, numpy.nan, 2.0], "times are missing or infinite"),
        (numpy.array(["2026-01", "NaT", "2026-02"], "M8[M]"), "times are missing"),
        ([4, 5, 4], "several numbers have the same time"),
        (numpy.array(["2026-01-01", "2026-01-02", "2026-01-01"], "M8[D]"), "several numbers have the same time"),
    ],
)
def test_times_that_cannot_be_drawn_are_said(times, says):
    with pytest.raises(ValueError, match=rf"plot\.stacked: .*{says}"):
        drawn(times, 3)


@pytest.mark.slow
def test_times_of_pandas():
    pandas = pytest.importorskip("pandas")
    for times in (
        pandas.date_range("2026-01-01", periods=24, freq="D"),
        pandas.Series(pandas.date_range("2026-01-01", periods=24, freq="h", tz="Europe/Oslo")),
    ):
        axes = drawn(times, 24)
        numpy.testing.assert_allclose(axes.lines[0].get_xdata(), date2num(numpy.asarray(times)))
    axes = drawn(pandas.period_range("2026-01", periods=24, freq="M"), 24)
    assert axes.xaxis.get_ticklabels()[0].get_text() == "2026-01"
