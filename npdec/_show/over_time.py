"""Contributions over time, stacked."""

from __future__ import annotations

import datetime
from typing import Any

import torch

from npdec._show import style
from npdec._show.parts import Others, Parts, name_of

__all__ = ["stacked"]

_BARS = 40  # numbers, up to which each has a bar; more are drawn as areas


def stacked(parts: Parts, times: Any, top: int, title: str | None, unit: str, ax: Any) -> Any:
    """`Plots.stacked`."""
    import numpy

    name = "plot.stacked"
    parts = parts.real(name).of_rows(name)
    parts.from_baseline(name)
    count = parts.shape[0]
    axis = _Times(times, count, name)
    places = axis.places
    shown = parts.top(top)
    axes = style.axes_for(name, ax, 8.5, 4.4)
    colours = iter(style.PALETTE)
    above, below = numpy.zeros(count), numpy.zeros(count)
    for label, word, amounts in zip(shown.labels, shown.names(), shown.amounts.numpy()[:, axis.order], strict=True):
        up, down = numpy.maximum(amounts, 0), numpy.minimum(amounts, 0)
        look: dict[str, Any] = {
            "color": style.REST if isinstance(label, Others) else next(colours, style.REST),
            "lw": 0,
        }
        if count <= _BARS:
            drawn = axes.bar(places, up, axis.width, bottom=above, **look)
            axes.bar(places, down, axis.width, bottom=below, **look)
        else:
            drawn = axes.fill_between(places, above, above + up, **look)
            axes.fill_between(places, below, below + down, **look)
        drawn.set_label(style.plain(word))
        above, below = above + up, below + down
    change = parts.amounts.sum(0).numpy()[axis.order]
    look = {"marker": "o", "ms": 3} if count <= _BARS else {}
    axes.plot(places, change, color=style.ink(), lw=1.5, label="sum", **look)
    axes.axhline(0, color=style.faint(), lw=0.8)
    if count > 1:
        edge = 0.75 * axis.width if count <= _BARS else 0
        axes.set_xlim(places[0] - edge, places[-1] + edge)
    style.tidy(axes, "y")
    axis.say(axes)
    axes.set_ylabel(style.with_unit("change from the baseline", unit))
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, borderaxespad=0, fontsize=9)
    return style.finish(axes, title or "Contributions over time", parts.notes(unit))


class _Times:
    """Where numbers stand along the axis, in the order of their times: numbers as they are, dates as matplotlib counts
    them, and anything else one beside the other, with its words below."""

    def __init__(self, times: Any, count: int, name: str) -> None:
        import numpy

        if isinstance(times, torch.Tensor):
            times = times.detach().cpu()
        given = numpy.arange(count) if times is None else numpy.asarray(times)
        if given.shape != (count,):
            raise ValueError(f"{name}: {count} numbers need as many times, not shape {given.shape}")
        self.counted, self.words = times is None, None
        of_dates = given.dtype.kind == "O" and all(isinstance(time, datetime.date) for time in given)
        self.dated = count > 0 and (given.dtype.kind == "M" or of_dates)
        if self.dated:
            from matplotlib.dates import date2num

            places = numpy.asarray(date2num(given))
        elif given.dtype.kind in "fiu":
            places = given.astype(float)
        else:
            places, self.words = numpy.arange(float(count)), [name_of(time, 16) for time in given]
        if not numpy.isfinite(places).all():
            raise ValueError(f"{name}: times are missing or infinite; leave out their numbers")
        self.order = numpy.argsort(places, kind="stable")
        self.places = places[self.order]
        least = numpy.diff(self.places).min(initial=numpy.inf)
        if least == 0:
            raise ValueError(f"{name}: several numbers have the same time; add them up, or choose one of them")
        self.width = 0.8 * float(least) if count > 1 else 0.8

    def say(self, axes: Any) -> None:
        """The times below the axis, as many as can be read beside each other."""
        if self.dated:
            from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

            axes.xaxis_date()
            places = AutoDateLocator(minticks=3, maxticks=7)
            axes.xaxis.set_major_locator(places)
            axes.xaxis.set_major_formatter(ConciseDateFormatter(places))
        elif self.words is not None:
            style.columns(axes, self.words, most=20)
        elif self.counted:
            axes.xaxis.get_major_locator().set_params(integer=True)
