"""What all plots have in common: colours, the figure, a title with notes, room for the numbers beside bars."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import Any

from npdec._show.words import visible

__all__ = [
    "DOWN", "PALETTE", "REST", "UP", "axes_for", "columns", "diverging", "faint", "finish", "ink", "legible", "plain",
    "rising", "tidy", "with_unit",
]  # fmt: skip

# Colours of Okabe and Ito (Color Universal Design, 2008), which the colour-blind tell apart.
UP, DOWN = "#0072b2", "#d55e00"
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
REST = "#999999"
_APART = 4  # pixels between two numbers along an axis


def ink() -> str:
    """The colour of text, by matplotlib's style."""
    import matplotlib

    colour: str = matplotlib.rcParams["text.color"]
    return colour


def faint(strength: float = 0.35) -> Any:
    """The colour of lines that are there to guide the eye: between those of text and background."""
    import matplotlib
    from matplotlib.colors import to_rgb

    behind = matplotlib.rcParams["axes.facecolor"]
    return tuple(strength * a + (1 - strength) * b for a, b in zip(to_rgb(ink()), to_rgb(behind), strict=True))


def diverging() -> Any:
    """From the colour of what takes away, through white, to that of what adds."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("npdec", ["#8a3d00", DOWN, "#f5c9a8", "#f7f7f7", "#a9cfe6", UP, "#003f63"])


def rising() -> Any:
    """From low to high: lighter for all eyes, and nowhere as dark as a dark background."""
    import matplotlib
    from matplotlib.colors import ListedColormap, to_rgb

    colours = matplotlib.colormaps["cividis"]
    dark = legible(to_rgb(matplotlib.rcParams["axes.facecolor"])) == "white"
    return ListedColormap([colours(0.3 + 0.7 * i / 255) for i in range(256)]) if dark else colours


def axes_for(name: str, ax: Any, width: float, height: float) -> Any:
    """The given axes, or those of a new figure of this size in inches."""
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes
    except ImportError:
        raise ImportError(f"{name}: matplotlib is not installed: pip install 'npdec[plot]'") from None
    if ax is None:
        return pyplot.subplots(figsize=(width, min(height, 60.0)), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(f"{name}: ax is a matplotlib Axes, not {type(ax).__name__}")
    return ax


def plain(text: str) -> str:
    """Text that matplotlib shows as it stands: `$` would begin a formula."""
    return visible(text).replace("$", r"\$")


def with_unit(text: str, unit: str) -> str:
    return plain(f"{text} [{unit}]" if unit else text)


def legible(colour: Any) -> str:
    """Black or white, whichever is read more easily on the colour."""
    red, green, blue = colour[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def tidy(axes: Any, axis: str = "x") -> None:
    """Lines where numbers are read off, along one axis, and no box."""
    for side in ("top", "right", *(("left",) if axis == "x" else ())):
        axes.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        axes.spines[side].set_color(faint())
    axes.tick_params(axis="both", color=faint())
    if axis == "x":
        axes.tick_params(axis="y", length=0)
        axes.locator_params(axis="x", nbins=6)
    getattr(axes, f"{axis}axis").set_major_formatter("{x:,.10g}")
    axes.grid(axis=axis, color=faint(0.14), lw=0.8)
    axes.set_axisbelow(True)


def columns(axes: Any, words: Sequence[str], most: int = 40) -> None:
    """Words below what stands at 0, 1, 2, …: at most so many of them, and aslant where they are long."""
    step = math.ceil(len(words) / most)
    slanted = sum(len(word) for word in words[::step]) > 60
    axes.set_xticks(
        range(0, len(words), step), [plain(word) for word in words[::step]],
        rotation=45 if slanted else 0, ha="right" if slanted else "center", rotation_mode="anchor",
    )  # fmt: skip


def finish(axes: Any, title: str, notes: str, beside: Sequence[Any] = ()) -> Any:
    """The title and the notes above the axes, in lines that fit, and limits wide enough for the texts beside bars."""
    root = axes.figure.canvas.figure
    look: dict[str, Any] = {"loc": "left", "weight": "bold", "fontsize": 11}
    head, whole = axes.set_title(plain(title), **look), plain(notes)
    note = axes.annotate(
        whole, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", va="bottom", fontsize=8,
        color=faint(0.7), annotation_clip=False,
    )  # fmt: skip
    for text in (head, note):  # a long line would have the layout make the axes narrow
        text.set_in_layout(False)
    root.draw_without_rendering()
    room = axes.get_window_extent().width
    lines = _wrapped(head, plain(title), room)
    note.set_text(_wrapped(note, whole, room))
    axes.set_title(lines, **look, pad=note.get_window_extent().height * 72 / root.dpi + 9)
    for text in (head, note):
        text.set_in_layout(True)
    root.draw_without_rendering()
    _make_room(axes, beside)
    _thin_out(axes)
    return axes


def _wrapped(text: Any, whole: str, room: float) -> str:
    """The text in as few lines as fit in so many pixels."""
    text.set_text(whole)
    wide = text.get_window_extent().width
    if wide <= room or not whole:
        return whole
    return textwrap.fill(whole, max(12, int(len(whole) * room / wide * 0.97)), break_long_words=True)


def _make_room(axes: Any, texts: Sequence[Any]) -> None:
    """Limits so wide that the texts are within the axes."""
    frame = axes.get_window_extent()
    for _ in range(8):
        boxes = [text.get_window_extent() for text in texts]
        left = max([0.0, *(frame.x0 - box.x0 for box in boxes)])
        right = max([0.0, *(box.x1 - frame.x1 for box in boxes)])
        if left <= 0.5 and right <= 0.5:
            return
        low, high = axes.get_xlim()
        scale = (high - low) / frame.width
        axes.set_xlim(low - (left + 6) * scale * (left > 0.5), high + (right + 6) * scale * (right > 0.5))


def _thin_out(axes: Any) -> None:
    """As few numbers along the axis as can be read apart."""
    from matplotlib.ticker import AutoLocator

    if not isinstance(axes.xaxis.get_major_locator(), AutoLocator):
        return
    for bins in (4, 3, 2):
        axes.figure.canvas.figure.draw_without_rendering()
        low, high = sorted(axes.get_xlim())
        marks = zip(axes.xaxis.get_ticklocs(), axes.xaxis.get_ticklabels(), strict=True)
        boxes = [text.get_window_extent() for place, text in marks if low <= place <= high]
        if all(one.x1 + _APART <= two.x0 for one, two in itertools.pairwise(boxes)):
            return
        axes.locator_params(axis="x", nbins=bins)
