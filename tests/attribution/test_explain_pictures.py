"""What `npdec explain --plot` draws: bars, points and texts, against contributions that were worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from explain_cases import explain, make_folder
from npdec.__main__ import main

pytestmark = pytest.mark.slow  # matplotlib is loaded
figures = pytest.importorskip("matplotlib.figure")


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are saved."""
    make_folder(tmp_path, monkeypatch)
    found: list[Any] = []
    saved = figures.Figure.savefig
    monkeypatch.setattr(figures.Figure, "savefig", lambda self, *a, **k: (found.append(self), saved(self, *a, **k))[1])
    return found


# 2 a b + c, from (−2, 4, 0.25): a product's share is its change times the mean of the other.
BRIDGES = {
    0: ([("a = 1", 18.0), ("c = 3", 2.75), ("b = 2", 2.0)], 7.0),
    1: ([("a = 0.5", 7.5), ("b = -1", 7.5), ("c = 2", 1.75)], 1.0),
}
START = -15.75


def check_bridge(axes: Any, row: int) -> None:
    steps, value = BRIDGES[row]
    levels = [START]
    for _, share in steps:
        levels.append(levels[-1] + share)
    assert levels[-1] == value
    places = dict(zip((text.get_text() for text in axes.get_yticklabels()), axes.get_yticks(), strict=True))
    assert set(places) == {"value at the baseline", *(name for name, _ in steps), "value"}
    assert len(axes.patches) == len(places)

    def ends(name: str) -> list[float]:
        (bar,) = [bar for bar in axes.patches if bar.get_y() <= places[name] <= bar.get_y() + bar.get_height()]
        return sorted((bar.get_x(), bar.get_x() + bar.get_width()))

    for level, (name, share) in zip(levels, steps):
        assert ends(name) == pytest.approx(sorted((level, level + share)), rel=1e-12)
    assert START in ends("value at the baseline")  # these begin where the axis does
    assert value in ends("value")
    order = [places[name] for name in ("value at the baseline", *(name for name, _ in steps), "value")]
    assert order in (sorted(order), sorted(order, reverse=True))


def test_a_bridge_of_one_row(drawn):
    assert main(explain("model.py:by_name", "--plot", "b.png", row="0", baseline="2")) == 0
    (figure,) = drawn
    (axes,) = figure.axes
    check_bridge(axes, 0)
    shown = " ".join(text.get_text() for text in axes.texts)
    assert all(number in shown for number in ("+18", "+2.75", "+2"))
    assert figure.get_suptitle().startswith("model.py:by_name")


def test_a_panel_for_each_of_a_few_rows(drawn):
    assert main(explain("model.py:by_name", "--plot", "b.svg", row="0,1", baseline="2")) == 0
    (figure,) = drawn
    for row, axes in enumerate(figure.axes):
        check_bridge(axes, row)


def test_points_of_many_rows(drawn):
    rows = ",".join("01" * 6)
    assert main(explain("model.py:by_name", "--plot", "b.pdf", row=rows, baseline="2")) == 0
    (figure,) = drawn
    clouds = [cloud for cloud in figure.axes[0].collections if len(cloud.get_offsets()) == 12]
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    places = dict(zip(labels, figure.axes[0].get_yticks(), strict=True))
    assert set(places) == {"a", "b", "c"}
    for cloud in clouds:
        x, y = numpy.asarray(cloud.get_offsets()).T
        name = min(places, key=lambda name: abs(places[name] - y.mean()))
        shares = [next(share for label, share in BRIDGES[row][0] if label.startswith(name)) for row in (0, 1)]
        assert sorted(x.tolist()) == pytest.approx(sorted(shares * 6))
    assert len(clouds) == 3
