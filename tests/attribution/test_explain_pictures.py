"""What `npdec explain --plot` draws: bars, points and texts, against contributions that were worked out by hand."""

from __future__ import annotations

import itertools
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


def wide_table(count: int, length: int, rows: int = 12) -> tuple[list[str], Any]:
    """A table of many columns, whose names are long, and the function that is explained: its contributions."""
    names = [f"{'a name of a column that goes on and on ' * 8}"[: length - 4] + f" {i}" for i in range(count)]
    cells = numpy.random.default_rng(count).standard_normal((rows, count))
    weights = 1000.0 * 0.9 ** numpy.arange(count) * (-1) ** numpy.arange(count)
    lines = [",".join(names), *(",".join(map(repr, row)) for row in cells.tolist())]
    Path("wide.csv").write_text("\n".join(lines) + "\n", "utf-8")
    Path("wide.py").write_text(
        f"import numpy as np\ndef f(x):\n    return (x * np.array({weights.tolist()})).sum(-1)\n"
    )
    return names, (cells - cells[:1]) * weights


@pytest.mark.long
@pytest.mark.parametrize(
    ("option", "rows", "count", "length"),
    [
        ("--html", "1", 100, 120),
        ("--html", "1:4", 3, 10),
        ("--html", "1:4", 40, 50),
        ("--html", "all", 100, 50),
        ("--plot", "1", 3, 120),
        ("--plot", "1:6", 100, 10),
        ("--plot", "1:4", 40, 120),
        ("--plot", "all", 40, 120),
    ],
)
def test_long_names_leave_room_for_what_they_name(drawn, option, rows, count, length):
    _, amounts = wide_table(count, length)
    file = "wide.png" if option == "--plot" else "wide.html"
    assert main(["explain", "wide.py:f", "--data", "wide.csv", "--row", rows, "--baseline", "0", option, file]) == 0
    (figure,) = drawn
    figure.canvas.draw()
    panels = [axes for axes in figure.axes if axes.axison and axes.get_label() != "<colorbar>"]
    for axes in panels:
        box = axes.get_window_extent()
        assert box.width > 2.2 * figure.dpi, "inches for the bars"
        marks = [text for text in axes.get_yticklabels() if text.get_text()]
        assert len(marks) == min(count, 16) + 2 * (rows != "all")
        for text in [*marks, *axes.texts, axes._left_title, figure._suptitle]:
            place = text.get_window_extent()
            assert place.x0 >= -1 and place.x1 <= figure.bbox.x1 + 1, text.get_text()  # noqa: PT018
        low, high = axes.get_xlim()
        ticks = [
            text.get_window_extent() for at, text in zip(axes.get_xticks(), axes.get_xticklabels()) if low <= at <= high
        ]
        assert all(one.x1 < two.x0 for one, two in itertools.pairwise(ticks))
    if option == "--html":
        assert figure.bbox.width <= 12.5 * figure.dpi, "a page would make the text too small to read"
    if rows == "all" and count > 15:
        (others,) = [cloud for cloud in panels[0].collections if round(cloud.get_offsets()[:, 1].mean()) == 15]
        order = numpy.argsort(-numpy.abs(amounts).sum(0))
        numpy.testing.assert_allclose(
            numpy.sort(others.get_offsets()[:, 0]), numpy.sort(amounts[:, order[15:]].sum(1)), rtol=1e-9
        )


@pytest.mark.parametrize("top", [None, 4])
def test_what_is_left_out_of_a_summary_is_one_line(drawn, top, capsys):
    _, amounts = wide_table(120, 10)
    command = ["explain", "wide.py:f", "--data", "wide.csv", "--row", "all", "--baseline", "0", "--html", "wide.html"]
    assert main([*command, *(["--top", str(top)] if top else [])]) == 0
    shown = top or 100
    order = numpy.argsort(-numpy.abs(amounts).mean(0))
    rest = amounts[:, order[shown:]].sum(1)
    page = Path("wide.html").read_text("utf-8")
    cells = page.partition(f"<td>{120 - shown} others</td>")[2].split("</td>")[:4]
    found = [float(cell.replace("<td>", "").replace(",", "")) for cell in cells]
    numpy.testing.assert_allclose(found, [numpy.abs(rest).mean(), rest.mean(), rest.min(), rest.max()], atol=0.006)
    if top:
        (line,) = [line for line in capsys.readouterr().out.splitlines() if "116 others" in line]
        found = [float(word.replace(",", "")) for word in line.split()[2:6]]
        numpy.testing.assert_allclose(found, [numpy.abs(rest).mean(), rest.mean(), rest.min(), rest.max()], atol=0.006)
