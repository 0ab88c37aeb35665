"""A point for each row of data: how the contributions of labels spread, and how they depend on their inputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from npdec._show import style
from npdec._show.parts import Others, Parts, name_of, numbers_of

__all__ = ["beeswarm", "draw_points", "scatter"]

_MANY = 20_000  # points that are drawn as an image in a vector file


def beeswarm(parts: Parts, inputs: Any, top: int, title: str | None, unit: str, ax: Any) -> Any:
    """`Plots.beeswarm`."""
    name = "plot.beeswarm"
    parts = parts.real(name).of_rows(name)
    given = None if inputs is None else _inputs(parts, inputs, name)
    shown = parts.top(top)
    shades = None
    if given is not None:
        place = {label: i for i, label in enumerate(parts.labels)}
        shades = [None if isinstance(label, Others) else given[:, place[label]].tolist() for label in shown.labels]
    axes = style.axes_for(name, ax, 7.5, 0.36 * len(shown.labels) + 1.4)
    draw_points(axes, shown.names(), shown.amounts.tolist(), shades, style.with_unit("contribution", unit))
    heading = title or f"Contributions to {parts.shape[0]:,} numbers, a point each"
    return style.finish(axes, heading, parts.notes(unit))


def draw_points(
    axes: Any,
    names: Sequence[str],
    moves: Sequence[Sequence[float]],
    shades: Sequence[Sequence[float] | None] | None,
    label: str,
) -> None:
    """Draw a line of points for each name; `shades` colour them, those of each name from its lowest to its highest."""
    dots = None
    for place, amounts in enumerate(moves):
        heights = [place + offset for offset in _spread(amounts)]
        look: dict[str, Any] = {"s": 14 if len(amounts) < 500 else 7, "lw": 0, "rasterized": len(amounts) > _MANY}
        inputs = None if shades is None else shades[place]
        if inputs is None:
            axes.scatter(amounts, heights, color=style.REST if shades is not None else style.UP, **look)
        else:
            dots = axes.scatter(amounts, heights, c=_ranks(inputs), cmap=style.rising(), vmin=0, vmax=1, **look)
    axes.axvline(0, color=style.faint(), lw=0.8, zorder=0)
    axes.set_yticks(range(len(names)), [style.plain(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(label)
    style.tidy(axes)
    if dots is not None:
        bar = axes.figure.colorbar(dots, ax=axes, ticks=[0, 1], aspect=30, pad=0.02)
        bar.ax.set_yticklabels(["low", "high"])
        bar.set_label("input")
        bar.outline.set_visible(False)


def scatter(
    parts: Parts, label: Hashable, inputs: Any, color: Hashable | None, title: str | None, unit: str, ax: Any
) -> Any:
    """`Plots.scatter`."""
    name = "plot.scatter"
    parts = parts.real(name).of_rows(name)
    place = _place(parts, label, name)
    given = numbers_of(inputs, name)
    if given.ndim == 1 and color is None and given.shape == parts.shape:
        own, shades = given, None
    else:
        if given.ndim == 1 and color is not None:
            raise ValueError(f"{name}: color={color!r} needs the inputs of all labels, shape {_wanted(parts)}")
        given = _inputs(parts, inputs, name)
        own = given[:, place]
        shades = None if color is None else given[:, _place(parts, color, name)]
    axes = style.axes_for(name, ax, 6.5, 4.4)
    amounts = parts.amounts[place].tolist()
    look: dict[str, Any] = {"s": 16 if len(amounts) < 500 else 8, "lw": 0, "rasterized": len(amounts) > _MANY}
    axes.axhline(0, color=style.faint(), lw=0.8, zorder=0)
    if shades is None:
        axes.scatter(own, amounts, color=style.UP, **look)
    else:
        dots = axes.scatter(own, amounts, c=shades, cmap=style.rising(), **look)
        bar = axes.figure.colorbar(dots, ax=axes, aspect=30, pad=0.02)
        bar.set_label(style.plain(name_of(color)))
        bar.outline.set_visible(False)
    style.tidy(axes, "y")
    axes.set_xlabel(style.plain(name_of(label)))
    axes.set_ylabel(style.with_unit("contribution", unit))
    return style.finish(axes, title or f"Contribution of {name_of(label)}", parts.notes(unit))


def _place(parts: Parts, label: Hashable, name: str) -> int:
    try:
        return list(parts.labels).index(label)
    except ValueError:
        some = ", ".join(repr(known) for known in list(parts.labels)[:10])
        raise KeyError(f"{name}: no component is labelled {label!r}; there are {some}") from None


def _wanted(parts: Parts) -> tuple[int, int]:
    return parts.shape[0], len(parts.labels)


def _inputs(parts: Parts, inputs: Any, name: str) -> Any:
    """The inputs (numbers, labels)."""
    given = numbers_of(inputs, name)
    if given.shape != _wanted(parts):
        raise ValueError(f"{name}: inputs have shape (numbers, labels), {_wanted(parts)}, not {given.shape}")
    return given


def _ranks(numbers: Sequence[float]) -> list[float]:
    """The place of each number among the distinct ones, from 0 to 1."""
    distinct = {n: i for i, n in enumerate(sorted(set(numbers)))}
    return [distinct[n] / (len(distinct) - 1) if len(distinct) > 1 else 0.5 for n in numbers]


def _spread(numbers: Sequence[float], bins: int = 60) -> list[float]:
    """Vertical offsets within ±0.4 that keep points of about equal number apart."""
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    width = (high - low) / bins or 1.0
    keys = [int((n - low) / width) for n in numbers]
    crowd = max((keys.count(key) for key in set(keys)), default=0)
    seen: dict[int, int] = {}
    offsets = []
    for key in keys:
        seen[key] = seen.get(key, 0) + 1
        turn = seen[key] // 2
        offsets.append((turn if seen[key] % 2 else -turn) * min(0.08, 0.8 / crowd))
    return offsets
