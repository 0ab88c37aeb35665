"""Bars: the bridge from the baseline to the value, and contributions by their size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from npdec._show import style
from npdec._show.parts import Others, Parts
from npdec._show.words import decimals, number

__all__ = ["bar", "draw_bridge", "waterfall"]

_THICK = 0.62  # of the distance between two bars
_ROW = 0.3  # inches


def waterfall(parts: Parts, top: int, title: str | None, unit: str, ax: Any) -> Any:
    """`Plots.waterfall`."""
    parts = parts.real("plot.waterfall").of_number("plot.waterfall")
    start = float(parts.from_baseline("plot.waterfall"))
    shown = parts.top(top)
    steps = list(zip(shown.names(), shown.amounts.tolist(), strict=True))
    axes = style.axes_for("plot.waterfall", ax, 7.5, _ROW * (len(steps) + 2) + 1.3)
    texts = draw_bridge(axes, start, steps, float(parts.value), ("baseline", "value"))
    axes.set_xlabel(style.with_unit("value", unit))
    return style.finish(axes, title or "From the baseline to the value", parts.notes(unit), texts)


def draw_bridge(
    axes: Any, start: float, steps: Sequence[tuple[str, float]], end: float, ends: tuple[str, str]
) -> list[Any]:
    """Draw the steps between two totals; the texts beside the bars are returned."""
    levels = [start]
    for _, step in steps:
        levels.append(levels[-1] + step)
    low, high = min(*levels, end), max(*levels, end)
    span = (high - low) or abs(high) or 1.0
    floor = low - 0.12 * span  # the bars of the two totals start here: bridges are about differences
    places = decimals([*(step for _, step in steps)]) if any(step for _, step in steps) else decimals([start, end])
    last, gap, line = len(steps) + 1, 0.012 * span, style.faint()
    texts = []
    for place, total in ((0, start), (last, end)):
        axes.barh(place, total - floor, left=floor, height=_THICK, color=style.faint(0.6))
        texts.append(axes.text(total + gap, place, number(total, places), va="center", weight="bold"))
    for i, (_, step) in enumerate(steps, 1):
        before, after = levels[i - 1], levels[i]
        axes.barh(i, step, left=before, height=_THICK, color=style.UP if step >= 0 else style.DOWN)
        axes.plot([before, before], [i - 1 + _THICK / 2, i - _THICK / 2], color=line, lw=0.8)
        texts.append(axes.text(max(before, after) + gap, i, number(step, places, sign=True), va="center"))
    axes.plot([levels[-1]] * 2, [last - 1 + _THICK / 2, last - _THICK / 2], color=line, lw=0.8)
    axes.set_yticks(range(last + 1), [style.plain(name) for name in (ends[0], *(name for name, _ in steps), ends[1])])
    axes.set_ylim(last + 0.6, -0.6)
    axes.set_xlim(floor, high + 0.05 * span)
    style.tidy(axes)
    return texts


def bar(parts: Parts, top: int, title: str | None, unit: str, ax: Any) -> Any:
    """`Plots.bar`."""
    parts = parts.real("plot.bar")
    single = parts.value.numel() == 1
    shown = (parts.of_number("plot.bar") if single else parts).top(top)
    if single:
        amounts, what, heading = shown.amounts.tolist(), "contribution", "Contributions"
    else:
        sizes = shown.amounts.abs().reshape(len(shown.labels), -1)
        amounts = (sizes.mean(1) if sizes.shape[1] else sizes.sum(1)).tolist()
        what, heading = "mean magnitude of the contribution", f"Contributions to {parts.value.numel():,} numbers"
    axes = style.axes_for("plot.bar", ax, 7.5, _ROW * len(amounts) + 1.3)
    places = decimals(amounts)
    reach = max((abs(amount) for amount in amounts), default=0.0) or 1.0
    texts = []
    for place, (label, amount) in enumerate(zip(shown.labels, amounts, strict=True)):
        colour = (style.UP if amount >= 0 else style.DOWN) if single else style.UP
        axes.barh(place, amount, height=_THICK, color=colour, alpha=0.5 if isinstance(label, Others) else 1.0)
        gap, side = (0.012 * reach, "left") if amount >= 0 else (-0.012 * reach, "right")
        texts.append(axes.text(amount + gap, place, number(amount, places, sign=single), va="center", ha=side))
    axes.axvline(0, color=style.faint(), lw=0.8)
    axes.set_yticks(range(len(amounts)), [style.plain(name) for name in shown.names()])
    axes.set_ylim(len(amounts) - 0.4, -0.6)
    axes.set_xlim(min([0.0, *amounts]) - 0.02 * reach, max([0.0, *amounts]) + 0.05 * reach)
    axes.set_xlabel(style.with_unit(what, unit))
    style.tidy(axes)
    return style.finish(axes, title or heading, parts.notes(unit), texts)
