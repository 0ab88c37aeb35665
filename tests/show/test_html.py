"""What notebooks show of decompositions: the numbers, escaped, and in a real browser, light and dark."""

from __future__ import annotations

import html
import html.parser
import json
import re
import shutil
import subprocess

import numpy
import pytest
import torch

import npdec as np
from npdec._show.html_style import page

RNG = numpy.random.default_rng(8)
HOSTILE = ["</table><script>document.title='x'</script>", '" onmouseover="x', "\x1b[31m\u202e", "a" * 300, "&amp;", ""]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Table(html.parser.HTMLParser):
    """The cells of the tables, and where bars begin and how long they are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables, self.bars, self.tags, self.open = [], [], set(), []
        self.feed(text)
        assert not self.open, "each tag is closed"

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
            self.bars.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "i":
            given = dict(attrs)
            self.bars[-1].append((given["class"], *map(float, re.findall(r"[\d.]+", given["style"]))))

    def handle_data(self, data):
        if "tr" in self.open:
            self.tables[-1][-1][-1] += data

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def shown(count: int) -> tuple[numpy.ndarray, list[str], object]:
    labels = [*HOSTILE, *(f"label {i}" for i in range(200))][:count]
    inputs, weights = RNG.standard_normal((6, count)), RNG.standard_normal(count)
    x = np.decompose(np.array(inputs), axis=1, labels=labels, baseline=0.5)
    return ((inputs - 0.5) * weights).T, labels, x @ np.array(weights)


@pytest.mark.parametrize("count", [1, 3, 16, 40, 150])
def test_a_number_has_a_line_and_a_bar_for_each_label(count):
    amounts, labels, y = shown(count)
    amounts = amounts[:, 0]
    for made in (y[0], y[0].tensor, y.tensor[0], y[0].reshape(1)):
        found = Table(made._repr_html_())
        assert len(found.tables) == 1 + (count > 16)
        full, bars = found.tables[-1], found.bars[-1]
        order = numpy.argsort(-numpy.abs(amounts))[:100]
        wanted = amounts[order]
        if count > 101:
            wanted = numpy.append(wanted, amounts.sum() - wanted.sum())
            assert full[-2][0] == "50 others"
        numbers = [float(row[1].replace(",", "")) for row in full[1:]]
        numpy.testing.assert_allclose(numbers[:-1], wanted, atol=0.006)
        numpy.testing.assert_allclose(numbers[-1], amounts.sum(), atol=0.006)
        for row, i in zip(full[1:], order):
            assert labels[i].startswith(row[0].rstrip("…")) or "\\" in row[0]
        widths = numpy.array([width for _, _, width in bars])
        numpy.testing.assert_allclose(widths * numpy.abs(wanted).max() / widths.max(), numpy.abs(wanted), atol=0.02)
        assert [kind for kind, *_ in bars] == ["up" if amount >= 0 else "down" for amount in wanted]
        assert all(left + width <= 100.02 for _, left, width in bars)
        if count > 16:
            assert len(found.tables[0]) == 1 + 10 + 1 + 1
            assert found.tables[0][-2][0] == f"{count - 10} others"


def test_several_numbers_are_summed_up_for_each_label():
    amounts, _, y = shown(5)
    found = Table(y._repr_html_())
    order = numpy.argsort(-numpy.abs(amounts).sum(1))
    numbers = [[float(cell.replace(",", "")) for cell in row[1:5]] for row in found.tables[0][1:]]
    wanted = [numpy.abs(amounts).mean(1), amounts.mean(1), amounts.min(1), amounts.max(1)]
    numpy.testing.assert_allclose(numbers, numpy.stack(wanted, 1)[order], atol=0.006)
    assert re.search(r"<pre>\[", y._repr_html_())
    assert "shape (6,)" in y._repr_html_()


def test_labels_are_escaped():
    _, _, y = shown(6)
    for made in (y, y[0], y.tensor):
        found = Table(made._repr_html_())
        assert not found.tags & {"script", "img", "a"}
        assert all(ord(c) >= 32 or c == "\n" for c in made._repr_html_())
        assert "\u202e" not in made._repr_html_()


@pytest.mark.parametrize("dtype", ["float32", "complex128", "bool", "int64"])
def test_all_dtypes_are_shown(dtype):
    x = np.decompose(np.array([1.0, 2.0, 3.0]), labels=list("abc"))
    y = {"float32": x.astype("float32"), "complex128": x * 1j, "bool": x > 1.5, "int64": np.floor(x) > 0}[dtype]
    found = Table(y._repr_html_())
    assert len(found.tables[0]) == 4
    assert Table(y[0]._repr_html_()).tables
    assert Table(y.sum()._repr_html_()).tables


def test_what_carries_nothing_is_shown_as_text():
    assert np.ones(3)._repr_html_() is None
    assert np.float64(3)._repr_html_() is None
    many = np.decompose(np.ones((64, 64, 1024)), axis=0)
    assert many._repr_html_() is None, "a table would take longer than a text"
    found = []
    np.attribute(lambda x: (found.append(x._repr_html_()), x.sum())[1], np.ones(2))
    assert found == [None]


def test_tables_of_many_components_are_made_without_their_zeros():
    x = np.exp(np.decompose(np.array(RNG.standard_normal(50_000))))
    found = Table(x._repr_html_())
    assert "components" not in vars(x.tensor)
    assert len(found.tables[-1]) > 50


def test_attributions_are_shown():
    found = np.attribute(lambda x: x[0] * x[1], np.array([3.0, 4.0]))
    rows = Table(found._repr_html_()).tables[0]
    assert rows[1:] == [
        ["[0]", "+6.000", "50.0%", ""],
        ["[1]", "+6.000", "50.0%", ""],
        ["sum", "+12.000", "100.0%", ""],
    ]
    several = np.attribute(lambda x: x * 2.0, torch.ones(3), output=[0, 1])
    assert len(Table(several._repr_html_()).tables[0]) == 4
    slope = np.attribute(lambda x: x[0] * x[1], np.array([3.0, 4.0]), method="gradient")
    assert "no baseline" in slope._repr_html_()


MEASURE = """<script>
const seen = [], inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1;
document.querySelectorAll('details').forEach(d => d.open = true);
const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(x => x / 255)
    .map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b };
const canvas = document.createElement('canvas').getContext('2d');
const over = (top, under) => { canvas.canvas.width = 1; canvas.fillStyle = under; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = top; canvas.fillRect(0, 0, 1, 1);
    return 'rgb(' + [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3) + ')' };
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05) };
const style = e => getComputedStyle(e), root = document.documentElement;
const back = over(style(document.body).backgroundColor, matchMedia('(prefers-color-scheme: dark)').matches
    ? 'rgb(18,18,18)' : 'rgb(255,255,255)');
const all = s => [...document.querySelectorAll(s)];
const found = {
  dark: matchMedia('(prefers-color-scheme: dark)').matches,
  title: document.title, wide: root.scrollWidth, room: root.clientWidth,
  scrolled: all('.scroll').filter(e => e.scrollWidth > e.clientWidth + 1).length,
  cut: all('td,th').filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent),
  bars: all('.track i').filter(e => !inside(e.getBoundingClientRect(), e.parentElement.getBoundingClientRect())).length,
  tracks: all('.track').filter(e => e.getBoundingClientRect().width < 60).length, rows: all('tr').length,
  words: all('.words span').length,
  lines: Math.max(...all('td.name').map(e => e.clientHeight / parseFloat(style(e).lineHeight))),
  text: Math.min(...all('td,th,summary').map(e => contrast(style(e).color, back))),
  coloured: Math.min(9, ...all('.words span').map(e => contrast(style(e).color, over(style(e).backgroundColor, back)))),
  bar: Math.min(...all('.track i').map(e => contrast(style(e).backgroundColor, back))),
};
const pre = document.createElement('pre'); pre.id = 'found'; pre.textContent = 'FOUND' + JSON.stringify(found) + 'END';
document.body.append(pre);
</script>"""


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="no browser: chromium is not installed (apt-get install chromium)")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [500, 1000])
@pytest.mark.parametrize("count", [3, 40, 100])
def test_a_browser_shows_all_of_it(count, width, theme, tmp_path):
    _, _, y = shown(count)
    found = np.attribute(lambda x: x.prod(), np.array([2.0, 3.0]))
    pieces = [y[0], y, y.tensor, y[1].plot.text(unit="points"), found]
    body = "".join(piece._repr_html_() for piece in pieces)
    path = tmp_path / "page.html"
    path.write_text(page("contributions", body + MEASURE), "utf-8")
    scheme = "--blink-settings=preferredColorScheme=" + ("0" if theme == "dark" else "1")
    command = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", scheme,
        f"--window-size={width},1200", "--virtual-time-budget=2000", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    dumped = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    seen = json.loads(html.unescape(re.search(r'id="found">FOUND(.*?)END</pre>', dumped, re.DOTALL)[1]))
    assert seen["dark"] is (theme == "dark")
    assert seen["title"] == "contributions", "no label runs as a script"
    assert seen["wide"] <= seen["room"], "nothing is wider than the page"
    assert not seen["cut"]
    assert not seen["scrolled"], "and no table is wider than its place"
    assert seen["lines"] < 5, "long names are not squeezed into a column of letters"
    assert (seen["bars"], seen["tracks"], seen["words"]) == (0, 0, count)
    assert seen["text"] >= 7, "contrast of text, WCAG AAA"
    assert seen["coloured"] >= 4.5, "contrast of text on the colours of words, WCAG AA"
    assert seen["bar"] >= 3, "contrast of bars, WCAG AA"
