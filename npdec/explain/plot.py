"""Draws the bridge from the value at the baseline to the value, as a waterfall, with matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npdec._show.words import decimals, number, visible
from npdec.explain.errors import InputError
from npdec.explain.output import check_writable, replacing
from npdec.explain.runner import Explanation

__all__ = ["check_plot", "draw"]

_SUFFIXES = (".png", ".svg", ".pdf")
_UP, _DOWN, _END, _INK, _FAINT = "#2a9d6f", "#d1495b", "#33475b", "#22303c", "#9aa7b2"
_MOST = 15  # columns that a plot shows unless --top says otherwise
_PANELS = 9  # rows that get a waterfall each; more are drawn as points in one panel


def check_plot(path: Path) -> None:
    """Raise InputError, before any work, if the plot cannot be drawn or saved there."""
    check_writable(path, _SUFFIXES, "--plot")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("--plot needs matplotlib: pip install matplotlib") from None


def draw(path: Path, explanations: Sequence[Explanation], title: str, top: int | None = None) -> None:
    """Save the waterfall of one row, a panel for each of a few rows, or all rows as points per column."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    most = top or _MOST
    style: Any = {"font.size": 10, "font.family": "sans-serif", "axes.edgecolor": _FAINT, "svg.hashsalt": "npdec"}
    with rc_context(style):
        bars = min(len(explanations[0].names), most) + 4
        height = 0.34 * bars + 1.1
        if len(explanations) == 1:
            figure = Figure(figsize=(8, height), layout="constrained")
            _waterfall(figure.subplots(), explanations[0], most)
        elif len(explanations) <= _PANELS:
            across = min(3, len(explanations))
            down = math.ceil(len(explanations) / across)
            figure = Figure(figsize=(6 * across, height * down), layout="constrained")
            panels = list(figure.subplots(down, across, squeeze=False).flat)
            for panel, item in zip(panels, explanations):
                _waterfall(panel, item, most)
            for panel in panels[len(explanations) :]:
                panel.axis("off")
        else:
            figure = Figure(figsize=(8, height), layout="constrained")
            _points(figure, figure.subplots(), explanations, most)
        figure.suptitle(_plain(title), x=0.01, ha="left", weight="bold", color=_INK)
        FigureCanvasAgg(figure)
        with replacing(path, "--plot") as temporary:
            try:
                figure.savefig(temporary, dpi=150, format=path.suffix[1:].lower())
            except (ValueError, ArithmeticError) as error:  # numbers that no axis can hold
                raise InputError(f"--plot {path}: cannot be drawn: {error}") from error


def _plain(text: str) -> str:
    """Text that matplotlib shows as it stands: `$` would begin a formula."""
    return visible(text).replace("$", r"\$")


def _waterfall(axes: Any, item: Explanation, most: int) -> None:
    ranked = item.ranked()
    steps = [(_plain(f"{line.name} = {line.input:.6g}"), line.contribution) for line in ranked[:most]]
    if len(ranked) > most:
        steps.append((f"{len(ranked) - most} others", math.fsum(line.contribution for line in ranked[most:])))
    if item.not_attributed:
        steps.append(("(not attributed)", item.not_attributed))
    places = decimals([*item.contributions, item.not_attributed])

    levels = [item.baseline_value]
    for _, step in steps:
        levels.append(levels[-1] + step)
    low, high = min(levels), max(levels)
    span = (high - low) or abs(high) or 1.0
    floor = low - 0.12 * span  # the bars of the two totals start here: bridges are about differences
    last = len(steps) + 1
    for place, total in ((0, item.baseline_value), (last, item.value)):
        axes.barh(place, total - floor, left=floor, height=0.62, color=_END)
        axes.text(total + 0.012 * span, place, number(total, places), va="center", color=_INK, weight="bold")
    for i, (_, step) in enumerate(steps, 1):
        start, end = levels[i - 1], levels[i]
        axes.barh(i, step, left=start, height=0.62, color=_UP if step >= 0 else _DOWN)
        axes.plot([start, start], [i - 1 + 0.31, i - 0.31], color=_FAINT, lw=0.8)
        text = number(step, places, sign=True)
        axes.text(max(start, end) + 0.012 * span, i, text, va="center", color=_UP if step >= 0 else _DOWN)
    axes.plot([levels[-1]] * 2, [last - 1 + 0.31, last - 0.31], color=_FAINT, lw=0.8)

    names = ["value at the baseline", *(name for name, _ in steps), "value"]
    axes.set_yticks(range(last + 1), names, color=_INK)
    axes.set_ylim(last + 0.6, -0.6)
    axes.set_xlim(floor, high + 0.22 * span)
    axes.set_title(_plain(item.title), loc="left", fontsize=10, color=_INK)
    _tidy(axes)


def _points(figure: Any, axes: Any, explanations: Sequence[Explanation], most: int) -> None:
    """One line a column: the contribution of each row as a point, coloured by the column's input."""
    count = len(explanations[0].names)
    sizes = [math.fsum(abs(item.contributions[i]) for item in explanations) for i in range(count)]
    order = sorted(range(count), key=lambda i: -sizes[i])[:most]
    shades = None
    for place, i in enumerate(order):
        moves = [item.contributions[i] for item in explanations]
        ranks = _ranks([item.inputs[i] for item in explanations])
        heights = [place + offset for offset in _spread(moves)]
        shades = axes.scatter(moves, heights, c=ranks, cmap="coolwarm", vmin=0, vmax=1, s=14, lw=0)
    axes.axvline(0, color=_FAINT, lw=0.8, zorder=0)
    axes.set_yticks(range(len(order)), [_plain(explanations[0].names[i]) for i in order], color=_INK)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlabel("contribution", color=_INK)
    axes.set_title(f"{len(explanations)} rows, a point each", loc="left", fontsize=10, color=_INK)
    bar = figure.colorbar(shades, ax=axes, ticks=[0, 1], aspect=40, pad=0.01)
    bar.ax.set_yticklabels(["low", "high"])
    bar.set_label("input", color=_INK, labelpad=-12)
    bar.outline.set_visible(False)
    _tidy(axes)


def _ranks(numbers: Sequence[float]) -> list[float]:
    """The place of each number among the distinct ones, from 0 to 1."""
    distinct = {n: i for i, n in enumerate(sorted(set(numbers)))}
    return [distinct[n] / (len(distinct) - 1) if len(distinct) > 1 else 0.5 for n in numbers]


def _spread(numbers: Sequence[float], bins: int = 60) -> list[float]:
    """Vertical offsets within ±0.4 that keep points of about equal number apart."""
    low, high = min(numbers), max(numbers)
    width = (high - low) / bins or 1.0
    keys = [int((n - low) / width) for n in numbers]
    crowd = max(keys.count(key) for key in set(keys))
    seen: dict[int, int] = {}
    offsets = []
    for key in keys:
        seen[key] = seen.get(key, 0) + 1
        turn = seen[key] // 2
        offsets.append((turn if seen[key] % 2 else -turn) * min(0.08, 0.8 / crowd))
    return offsets


def _tidy(axes: Any) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", colors=_INK)
    axes.xaxis.set_major_formatter("{x:,.10g}")
    axes.locator_params(axis="x", nbins=7)
    axes.grid(axis="x", color="#e6eaee", lw=0.8)
    axes.set_axisbelow(True)
