"""Contributions over time, stacked."""

from __future__ import annotations

from typing import Any

import torch

from npdec._show import style
from npdec._show.parts import Others, Parts

__all__ = ["stacked"]

_BARS = 40  # numbers, up to which each has a bar; more are drawn as areas


def stacked(parts: Parts, times: Any, top: int, title: str | None, unit: str, ax: Any) -> Any:
    """`Plots.stacked`."""
    import numpy

    name = "plot.stacked"
    parts = parts.real(name).of_rows(name)
    parts.from_baseline(name)
    count = parts.shape[0]
    if isinstance(times, torch.Tensor):
        times = times.detach().cpu()
    places = numpy.arange(count) if times is None else numpy.asarray(times)
    if places.shape != (count,):
        raise ValueError(f"{name}: {count} numbers need as many times, not shape {places.shape}")
    shown = parts.top(top)
    axes = style.axes_for(name, ax, 8.5, 4.4)
    colours = iter(style.PALETTE)
    above, below = numpy.zeros(count), numpy.zeros(count)
    for label, word, amounts in zip(shown.labels, shown.names(), shown.amounts.numpy(), strict=True):
        up, down = numpy.maximum(amounts, 0), numpy.minimum(amounts, 0)
        look: dict[str, Any] = {
            "color": style.REST if isinstance(label, Others) else next(colours, style.REST),
            "lw": 0,
        }
        if count <= _BARS:
            drawn = axes.bar(places, up, _width(places), bottom=above, **look)
            axes.bar(places, down, _width(places), bottom=below, **look)
        else:
            drawn = axes.fill_between(places, above, above + up, **look)
            axes.fill_between(places, below, below + down, **look)
        drawn.set_label(style.plain(word))
        above, below = above + up, below + down
    change = parts.amounts.sum(0).numpy()
    look = {"marker": "o", "ms": 3} if count <= _BARS else {}
    axes.plot(places, change, color=style.ink(), lw=1.5, label="sum", **look)
    axes.axhline(0, color=style.faint(), lw=0.8)
    if count > 1:
        edge = 0.6 * (places[1] - places[0]) if count <= _BARS and places.dtype.kind in "fiu" else 0
        if places.dtype.kind in "fiu":
            axes.set_xlim(places.min() - edge, places.max() + edge)
    style.tidy(axes, "y")
    if times is None:
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel(style.with_unit("change from the baseline", unit))
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, borderaxespad=0, fontsize=9)
    return style.finish(axes, title or "Contributions over time", parts.notes(unit))


def _width(places: Any) -> Any:
    """Of the bars: four fifths of the least distance between two."""
    import numpy

    if len(places) < 2 or places.dtype.kind not in "fiuM":
        return 0.8
    least = numpy.diff(numpy.sort(places)).min()
    return least * 0.8 if places.dtype.kind != "M" else least * 4 // 5
