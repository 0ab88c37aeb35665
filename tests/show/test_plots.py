"""Plots: what is drawn is the contributions, and all of it can be read."""

from __future__ import annotations

import html.parser
import itertools
import re
import subprocess
import sys

import numpy
import pytest
import torch

import npdec as np
from npdec._array.decompose import DecompositionMixin

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402

from npdec._show import style  # noqa: E402

RNG = numpy.random.default_rng(5)
ROWS = 60


@pytest.fixture(autouse=True)
def _closed():
    with matplotlib.rc_context():
        yield
    plt.close("all")


class Case:
    """A linear model of some columns, whose contributions are known: w·(x − mean)."""

    def __init__(self, count: int) -> None:
        self.labels = [f"a rather long column {i}" if i % 3 else f"c{i}" for i in range(count)]
        self.inputs = RNG.standard_normal((ROWS, count))
        self.weights = RNG.standard_normal(count) * 100
        x = np.decompose(np.array(self.inputs), axis=1, baseline=self.inputs.mean(0), labels=self.labels)
        self.y = x @ np.array(self.weights) + 1000.0
        self.amounts = ((self.inputs - self.inputs.mean(0)) * self.weights).T
        self.residual = self.inputs.mean(0) @ self.weights + 1000.0

    def first(self, most: int, of: numpy.ndarray) -> list[float]:
        """The largest of the contributions to one number, and the sum of the others."""
        order = numpy.argsort(-numpy.abs(of))
        if len(order) <= most + 1:
            return [*of[order]]
        return [*of[order[:most]], of[order[most:]].sum()]


CASES = {count: Case(count) for count in (3, 40, 100)}
counts = pytest.mark.parametrize(
    "case", [pytest.param(CASES[n], id=str(n), marks=pytest.mark.slow if n > 3 else []) for n in CASES]
)


def bars(axes) -> numpy.ndarray:
    """Left ends and widths of the bars, from the top down."""
    return numpy.array([[bar.get_x(), bar.get_width()] for bar in sorted(axes.patches, key=lambda bar: bar.get_y())])


@counts
def test_the_waterfall_goes_from_the_baseline_to_the_value(case):
    axes = case.y[0].plot.waterfall(unit="EUR", top=12)
    wanted = case.first(12, case.amounts[:, 0])
    start, *steps, end = bars(axes)
    numpy.testing.assert_allclose([step[1] for step in steps], wanted, rtol=1e-9)
    levels = case.residual + numpy.cumsum([0, *wanted])
    numpy.testing.assert_allclose([step[0] for step in steps], levels[:-1], rtol=1e-12)
    numpy.testing.assert_allclose([sum(start), sum(end)], [case.residual, levels[-1]], rtol=1e-12)
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert (names[0], names[-1], len(names)) == ("baseline", "value", len(wanted) + 2)
    assert names[1] == case.labels[numpy.abs(case.amounts[:, 0]).argmax()]
    assert ("28 others" in names) is (len(case.labels) == 40)
    assert "EUR" in axes.get_xlabel()


@counts
def test_bars_are_the_contributions(case):
    amounts = case.amounts[:, 7]
    numpy.testing.assert_allclose(bars(case.y[7].plot.bar())[:, 1], case.first(15, amounts), rtol=1e-9)
    order = numpy.argsort(-numpy.abs(case.amounts).sum(1))
    wanted = [*numpy.abs(case.amounts[order[:15]]).mean(1)]
    if len(order) > 16:
        wanted.append(numpy.abs(case.amounts[order[15:]].sum(0)).mean())
    numpy.testing.assert_allclose(bars(case.y.reshape(6, 10).plot.bar())[:, 1], wanted, rtol=1e-9)


@pytest.mark.slow
@counts
def test_points_lie_where_contributions_are(case):
    axes = case.y.plot.beeswarm(case.inputs, top=10)
    order = numpy.argsort(-numpy.abs(case.amounts).sum(1))
    clouds = axes.collections
    assert len(clouds) == min(len(order), 11)
    for place, (cloud, i) in enumerate(zip(clouds, order[:10])):
        x, y = cloud.get_offsets().T
        numpy.testing.assert_allclose(x, case.amounts[i], rtol=1e-9, atol=1e-9)
        assert numpy.abs(y - place).max() <= 0.45
        assert numpy.argmax(cloud.get_array()) == case.inputs[:, i].argmax()
    axes = case.y.plot.scatter(case.labels[1], case.inputs, color=case.labels[2])
    x, y = axes.collections[0].get_offsets().T
    numpy.testing.assert_allclose(x, case.inputs[:, 1])
    numpy.testing.assert_allclose(y, case.amounts[1], rtol=1e-9, atol=1e-9)
    numpy.testing.assert_allclose(axes.collections[0].get_array(), case.inputs[:, 2])
    alone = case.y.plot.scatter(case.labels[1], case.inputs[:, 1])
    numpy.testing.assert_allclose(alone.collections[0].get_offsets().T, [x, y])


@counts
def test_colours_are_the_contributions(case):
    axes = case.y[:9].plot.heatmap([f"day {i}" for i in range(9)], top=40)
    shown = numpy.asarray(axes.images[0].get_array())
    kept = numpy.sort(numpy.argsort(-numpy.abs(case.amounts[:, :9]).sum(1))[:40])
    numpy.testing.assert_allclose(shown[: len(kept)], case.amounts[kept][:, :9], rtol=1e-9, atol=1e-9)
    numpy.testing.assert_allclose(shown.sum(0), case.amounts[:, :9].sum(0), rtol=1e-9)
    low, high = axes.images[0].get_clim()
    assert low == -high == -numpy.abs(shown).max(), "white is zero"


@counts
@pytest.mark.parametrize("count", [12, pytest.param(ROWS, marks=pytest.mark.slow)])
def test_stacks_end_where_the_signs_add_up(case, count):
    axes = case.y[:count].plot.stacked(times=numpy.arange(count) * 2.0, top=5)
    numpy.testing.assert_allclose(axes.lines[0].get_ydata(), case.amounts[:, :count].sum(0), rtol=1e-9)
    numpy.testing.assert_allclose(axes.lines[0].get_xdata(), numpy.arange(count) * 2.0)
    order = numpy.argsort(-numpy.abs(case.amounts[:, :count]).sum(1))
    shown = case.amounts[order, :count]
    if len(order) > 6:
        shown = numpy.concatenate([shown[:5], shown[5:].sum(0, keepdims=True)])
    up, down = numpy.maximum(shown, 0).sum(0), numpy.minimum(shown, 0).sum(0)
    if count == 12:
        tops = numpy.array([[bar.get_y() + bar.get_height() for bar in group] for group in axes.containers])
        numpy.testing.assert_allclose([tops.max(0), tops.min(0)], [up, down], rtol=1e-9, atol=1e-9)
        heights = numpy.array([[bar.get_height() for bar in group] for group in axes.containers])
        numpy.testing.assert_allclose(heights[::2] + heights[1::2], shown, rtol=1e-9, atol=1e-9)
    else:
        corners = numpy.concatenate([area.get_paths()[0].vertices for area in axes.collections])
        numpy.testing.assert_allclose([corners[:, 1].max(), corners[:, 1].min()], [up.max(), down.min()], rtol=1e-9)
    assert len(axes.get_legend().get_texts()) == len(shown) + 1


LAYOUTS = [pytest.param(x, marks=pytest.mark.slow) for x in ("(h, w)", "(1, h, w)", "(3, h, w)", "shape")]


@pytest.mark.parametrize("layout", ["(h, w, 3)", "patches", *LAYOUTS])
def test_an_image_has_the_contributions_at_their_places(layout):
    shape = {"(1, h, w)": (1, 4, 6), "(3, h, w)": (3, 4, 6), "(h, w, 3)": (4, 6, 3)}.get(layout, (4, 6))
    pixels, weights = RNG.standard_normal((2, *shape))
    amounts = pixels * weights
    wanted = amounts.reshape(4, 6) if amounts.size == 24 else amounts.sum(0 if shape[0] == 3 else 2)
    options = {}
    if layout == "shape":
        x = np.decompose(np.array(pixels), labels=list(range(24)))
        options = {"shape": (4, 6)}
    elif layout == "patches":
        x = np.decompose(np.array(pixels), groups=numpy.arange(4)[:, None] // 2 * 3 + numpy.arange(6) // 2)
        wanted = amounts.reshape(2, 2, 3, 2).sum((1, 3))
        options = {"shape": (2, 3)}
    else:
        x = np.decompose(np.array(pixels))
    grey, overlay = (x * np.array(weights)).sum().plot.image(pixels, **options).images
    numpy.testing.assert_allclose(overlay.get_array(), wanted, rtol=1e-12)
    assert grey.get_array().shape == (4, 6)
    assert grey.get_extent() == overlay.get_extent() == [0, 6, 4, 0]


# -- reading -----------------------------------------------------------------------------------------------------------

DRAWN = {
    "waterfall": lambda c: c.y[0].plot.waterfall(unit="EUR"),
    "waterfall of all": lambda c: c.y[0].plot.waterfall(top=100),
    "bar": lambda c: c.y[3].plot.bar(unit="EUR"),
    "bar of rows": lambda c: c.y.plot.bar(),
    "beeswarm": lambda c: c.y.plot.beeswarm(c.inputs, unit="EUR"),
    "scatter": lambda c: c.y.plot.scatter(c.labels[0], c.inputs, color=c.labels[1]),
    "heatmap": lambda c: c.y.plot.heatmap([f"token {i}" for i in range(ROWS)]),
    "small heatmap": lambda c: c.y[:4].plot.heatmap(unit="EUR"),
    "stacked": lambda c: c.y.plot.stacked(unit="EUR"),
    "long title": lambda c: c.y[0].plot.waterfall(title="What moved the value of the portfolio " * 4),
    "in a panel": lambda c: c.y[0].plot.waterfall(ax=plt.subplots(1, 2, figsize=(11, 6), layout="constrained")[1][0]),
}


def overlap(one, two) -> bool:
    return min(one.x1, two.x1) - max(one.x0, two.x0) > 0.5 and min(one.y1, two.y1) - max(one.y0, two.y0) > 0.5


@counts
@pytest.mark.parametrize("name", [
    name if name in ("waterfall", "small heatmap") else pytest.param(name, marks=pytest.mark.slow) for name in DRAWN
])  # fmt: skip
def test_nothing_is_cut_and_nothing_overlaps(name, case):
    axes = DRAWN[name](case)
    figure = axes.figure
    figure.canvas.draw()
    frame, inner = figure.bbox, axes.get_window_extent()
    limits_of = (axes.xaxis, sorted(axes.get_xlim())), (axes.yaxis, sorted(axes.get_ylim()))
    ticks = [
        text for axis, limits in limits_of
        for tick, text in zip(axis.get_ticklocs(), axis.get_ticklabels()) if limits[0] <= tick <= limits[1]
    ]  # fmt: skip
    beside = [text for text in axes.texts if text.get_text()]
    title = axes._left_title
    labels = [axes.xaxis.label, axes.yaxis.label]
    texts = [text for text in [*ticks, *beside, title, *labels] if text.get_text()]
    boxes = {text: text.get_window_extent() for text in texts}
    for text, box in boxes.items():
        assert box.x0 >= -0.5 and box.x1 <= frame.x1 + 0.5, f"{text.get_text()!r} is cut: {box}"  # noqa: PT018
        assert box.y0 >= -0.5 and box.y1 <= frame.y1 + 0.5, f"{text.get_text()!r} is cut: {box}"  # noqa: PT018
    rotated = [text for text in texts if text.get_rotation() not in (0, 90)]  # whose boxes overlap, and they do not
    for one, two in itertools.combinations([text for text in texts if text not in rotated], 2):
        assert not overlap(boxes[one], boxes[two]), f"{one.get_text()!r} over {two.get_text()!r}"
    notes, numbers = (
        [t for t in beside if "baseline" in t.get_text()],
        [t for t in beside if "baseline" not in t.get_text()],
    )
    for text in numbers:
        assert inner.x0 - 0.5 <= boxes[text].x0 and boxes[text].x1 <= inner.x1 + 0.5, text.get_text()  # noqa: PT018
    (note,) = notes
    assert boxes[note].y0 >= inner.y1
    assert "completeness error" in note.get_text().replace("\n", " ")
    assert inner.width > 0.3 * frame.width / (2 if name == "in a panel" else 1)


# The colours as they are seen without one kind of cones: Machado, Oliveira and Fernandes, IEEE TVCG 2009.
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize("kind", BLIND)
def test_colours_are_told_apart_by_the_colour_blind(kind):
    def seen(colour):
        linear = numpy.array([c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)])
        return numpy.array(BLIND[kind]) @ linear

    assert numpy.abs(seen(style.UP) - seen(style.DOWN)).max() > 0.25
    for one, two in itertools.combinations([*style.PALETTE, style.REST], 2):
        assert numpy.abs(seen(one) - seen(two)).max() > 0.04, (one, two)
    assert numpy.abs(seen("#2a9d6f") - seen("#d1495b")).max() < 0.25 or kind != "deuteranopia", "green and red are not"


def pixels(axes) -> numpy.ndarray:
    figure = axes.figure
    figure.canvas.draw()
    found = numpy.asarray(figure.canvas.buffer_rgba()).copy()
    plt.close(figure)
    return found


@pytest.mark.slow
def test_arrays_tensors_and_attributions_give_the_same_picture():
    given, labels = RNG.standard_normal(4), list("abcd")
    y = (np.decompose(np.array(given), labels=labels) * 2.0).sum()
    found = np.attribute(lambda x: (x * 2.0).sum(), np.array(given), axis=0, labels=labels)
    pictures = [pixels(x.plot.bar()) for x in (y, y.tensor, found)]
    assert (pictures[0] == pictures[1]).all()
    assert (pictures[0] == pictures[2]).all()
    blue = (pictures[0][..., :3] == [round(255 * c) for c in to_rgb(style.UP)]).all(-1)
    assert blue.any() is numpy.True_


@pytest.mark.slow
def test_plots_follow_the_style():
    with plt.style.context("dark_background"):
        axes = CASES[3].y[0].plot.waterfall()
        assert to_rgb(axes.get_figure().get_facecolor()) == (0, 0, 0)
        shades = [to_rgb(text.get_color()) for text in [*axes.texts, *axes.get_yticklabels(), axes._left_title]]
        assert min(map(max, shades)) > 0.6


# -- attributions ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_elements_of_attributions_are_named_as_they_are_reached():
    found = np.attribute(lambda p: (p["w"] @ p["x"][0]).sum(), {"w": np.ones((2, 2)), "x": [np.array([1.0, 3.0])]})
    names = [text.get_text() for text in found.plot.bar().get_yticklabels()]
    sizes = {"['w'][0, 1]": 1.5, "['w'][0, 0]": 0.5, "['x'][0][1]": 3.0, "['x'][0][0]": 1.0}
    assert {name: size for name, size in zip(names, bars(plt.gca())[:, 1]) if name in sizes} == pytest.approx(sizes)
    pairs = np.attribute(lambda x: x[0] * x[1] + x[0], np.array([3.0, 4.0]), order=2, axis=0, labels=["u", "v"])
    shown = dict(pairs.contributions())
    shown = {name: float(amount) for name, amount in shown.items()}
    assert shown == pytest.approx({"u": 3, "u × v": 6, "v × u": 6, "v": 0})
    several = np.attribute(lambda x: np.array([[1.0, 2.0], [0.0, 3.0]]) @ x, np.array([1.0, 2.0]), output=[0, 1])
    numpy.testing.assert_allclose(several.plot.heatmap().images[0].get_array(), [[1, 0], [4, 6]])
    gradient = np.attribute(lambda x: x.prod(), np.array([3.0, 4.0]), method="gradient")
    assert bars(gradient.plot.bar())[:, 1].tolist() == [4, 3]
    with pytest.raises(ValueError, match=r"plot\.waterfall: the attribution has no baseline"):
        gradient.plot.waterfall()
    net = (
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        .double()
        .requires_grad_(False)
    )
    layer = np.attribute(net, torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64), output=(0, 0), at="1")
    steps = bars(layer.plot.waterfall())
    numpy.testing.assert_allclose(steps[1:-1, 1].sum(), float(layer.value - layer.residual), rtol=1e-9)
    assert "around the layer" in [text.get_text() for text in plt.gca().get_yticklabels()]
    picture = np.attribute(lambda x: (x * x).sum(), np.array(RNG.standard_normal((1, 3, 5, 4))))
    assert picture.plot.image().images[0].get_array().shape == (5, 4)


# -- text --------------------------------------------------------------------------------------------------------------


class Words(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found, self.inside = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.inside = tag == "span" and "title" in given
        if self.inside:
            self.found.append([given["style"], given["title"], ""])

    def handle_data(self, data):
        if self.inside:
            self.found[-1][2] += data

    def handle_endtag(self, tag):
        self.inside = False


def test_words_are_coloured_by_their_contributions(tmp_path):
    labels = ["<script>alert(1)</script>", 'a"b', "plain", "&amp;", "\x1b[2J"]
    amounts = numpy.array([2.0, -4.0, 0.0, 1.0, 3.0])
    shown = np.decompose(np.array(amounts), labels=labels).sum().plot.text(unit="points", title="a < b")
    found = Words(str(shown)).found
    assert [word for *_, word in found] == [*labels[:4], "\\x1b[2J"]
    depths = [float(look.rpartition(",")[2].rstrip(")")) for look, *_ in found]
    numpy.testing.assert_allclose(numpy.array(depths) / max(depths), numpy.abs(amounts) / 4, atol=0.01)
    assert [float(told.split()[0]) for _, told, _ in found] == amounts.tolist()
    assert "<script>" not in str(shown)
    assert "a &lt; b" in str(shown)
    tokens = np.decompose(np.array(amounts), labels=["I", " am", " not", " sad", "."]).sum().plot.text()
    assert re.sub("<.*?>", "", str(tokens).split('class="words">')[1].split("</div>")[0]) == "I am not sad."
    shown.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")
    assert shown._repr_html_() == str(shown)


# -- what cannot be drawn ----------------------------------------------------------------------------------------------

X = np.decompose(np.ones((3, 2)), axis=1, labels=["a", "b"])
NUMBER, VECTOR = X.sum(), X.sum(1)
WRONG = {
    "plain": (np.ones(3).plot.bar, ValueError, "plot.bar: the array carries no contributions"),
    "plain scalar": (np.float64(3).plot.waterfall, ValueError, "plot.waterfall: the array carries no"),
    "many for one": (X.plot.waterfall, ValueError, r"shape \(3, 2\): choose one, as x\[0\]"),
    "many for text": (VECTOR.plot.text, ValueError, r"plot.text: .* shape \(3,\)"),
    "one for many": (NUMBER.plot.beeswarm, ValueError, "plot.beeswarm: .* one number: x.plot.bar"),
    "matrix": (X.plot.heatmap, ValueError, r"plot.heatmap: .* shape \(3, 2\): choose an axis"),
    "complex": ((X * 1j).sum().plot.bar, TypeError, "plot.bar: complex numbers"),
    "top": (lambda: NUMBER.plot.bar(top=0), ValueError, "top is how many labels"),
    "colours": (lambda: VECTOR.plot.stacked(top=8), ValueError, "at most 7"),
    "ax": (lambda: NUMBER.plot.bar(ax=3), TypeError, "ax is a matplotlib Axes, not int"),
    "label": (lambda: VECTOR.plot.scatter("c", numpy.ones(3)), KeyError, "no component is labelled 'c'"),
    "inputs": (lambda: VECTOR.plot.beeswarm(numpy.ones((2, 3))), ValueError, r"\(3, 2\), not \(2, 3\)"),
    "text inputs": (lambda: VECTOR.plot.beeswarm([["u", "v"]] * 3), TypeError, "numbers are asked for"),
    "colour": (lambda: VECTOR.plot.scatter("a", numpy.ones(3), color="b"), ValueError, "inputs of all labels"),
    "columns": (lambda: VECTOR.plot.heatmap(["u"]), ValueError, "3 numbers need as many columns, not 1"),
    "times": (lambda: VECTOR.plot.stacked([1, 2]), ValueError, "3 numbers need as many times"),
    "words": (lambda: NUMBER.plot.text(["u"]), ValueError, "2 components need as many words, not 1"),
    "no image": (NUMBER.plot.image, ValueError, "2 components are no image"),
    "shape": (lambda: NUMBER.plot.image(shape=(3, 3)), ValueError, r"no shape \(3, 3\)"),
    "unknown": (lambda: NUMBER.plot.pie, AttributeError, "pie"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_drawn_is_said(name):
    call, kind, words = WRONG[name]
    with pytest.raises(kind, match=words):
        call()


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plot\.bar: .*npdec\[plot\]"):
        NUMBER.plot.bar()
    assert "b" in str(NUMBER.plot.text())


@pytest.mark.slow
def test_nothing_of_plots_is_imported_before_one_is_drawn():
    code = (
        "import sys, npdec as np; x = np.decompose(np.ones(2)).sum(); x.plot; repr(x)\n"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('matplotlib', 'shap') or m.startswith('npdec._show.')]\n"
        "print(sorted(bad))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(eval(made)) <= {f"npdec._show.{m}" for m in "accessor contributions methods parts summary words".split()}


# -- tensors and SHAP --------------------------------------------------------------------------------------------------


def test_tensors_have_all_that_arrays_have():
    names = {name for name in vars(DecompositionMixin) if not name.startswith("_")} | {"_repr_html_"}
    t = np.decompose(torch.tensor([3.0, -4.0]), labels=["a", "b"])
    assert not [name for name in names if not hasattr(t, name)]
    assert str(t.sum().contributions()) == str(
        np.decompose(np.array([3.0, -4.0]), labels=["a", "b"]).sum().contributions()
    )
    assert t.contributions(1).labels == ("b", "other")
    assert t.contributions()["a"].tolist() == [3.0, 0.0]


@pytest.mark.long
def test_shap_takes_them():
    shap = pytest.importorskip("shap")
    case = CASES[3]
    one, rows = case.y[0].to_shap(case.inputs[0]), case.y.to_shap(case.inputs)
    assert isinstance(rows, shap.Explanation)
    numpy.testing.assert_allclose(rows.values, case.amounts.T, rtol=1e-9, atol=1e-9)
    numpy.testing.assert_allclose(rows.base_values + rows.values.sum(1), case.inputs @ case.weights + 1000.0)
    numpy.testing.assert_allclose(one.base_values, case.residual)
    assert rows.feature_names == case.labels
    table = np.stack([case.y, 2 * case.y], axis=1).to_shap(case.inputs)
    assert table.values.shape == (ROWS, 3, 2)
    numpy.testing.assert_allclose(table.values[..., 1], 2 * case.amounts.T, rtol=1e-9, atol=1e-9)
    found = np.attribute(lambda x: x @ np.array(case.weights), np.array(case.inputs[0]), axis=0, labels=case.labels)
    numpy.testing.assert_allclose(found.to_shap().values, case.inputs[0] * case.weights)
    shap.plots.waterfall(one, show=False)
    shap.plots.beeswarm(rows, show=False)
    with pytest.raises(ValueError, match=r"to_shap: inputs have shape \(60, 3\)"):
        case.y.to_shap(case.inputs[:5])
    with pytest.raises(ValueError, match="to_shap: SHAP explains"):
        case.y.reshape(3, 4, 5).to_shap()
