"""Contributions as colours: of labels to several numbers, and of the pixels of an image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from npdec._show import style
from npdec._show.parts import Parts, grid_of, name_of, numbers_of
from npdec._show.words import decimals, number

__all__ = ["heatmap", "image"]

_CELL, _WIDE = 0.27, 0.5  # inches: the height of a cell, and the width of one with a number in it
_WRITTEN = 80  # cells, up to which their numbers are written into them


def heatmap(parts: Parts, columns: Sequence[Any] | None, top: int, title: str | None, unit: str, ax: Any) -> Any:
    """`Plots.heatmap`."""
    name = "plot.heatmap"
    parts = parts.real(name).of_rows(name)
    count = parts.shape[0]
    if columns is not None and len(columns) != count:
        raise ValueError(f"{name}: {count} numbers need as many columns, not {len(columns)}")
    if not count or not len(parts.labels):
        raise ValueError(f"{name}: nothing to show: {len(parts.labels)} labels, {count} numbers")
    shown = parts.first_of_size(top)
    words = [name_of(column, 16) for column in (range(count) if columns is None else columns)]
    lines = len(shown.labels)
    written = lines * count <= _WRITTEN
    across = count * (0.75 if written else max(0.1, min(_WIDE, 9 / count)))
    axes = style.axes_for(name, ax, min(max(across + 3.2, 6.0), 12.0), max(lines * _CELL + 2.0, 2.6))
    amounts = shown.amounts.numpy()
    colours = _coloured(axes, amounts, style.with_unit("contribution", unit), aspect="auto")
    style.columns(axes, words)
    axes.set_yticks(range(lines), [style.plain(word) for word in shown.names()])
    axes.tick_params(length=0)
    if written:
        _write(axes, colours, amounts)
    return style.finish(axes, title or "Contributions of labels to numbers", parts.notes(unit))


def _coloured(axes: Any, amounts: Any, label: str, **look: Any) -> Any:
    """Draw the numbers as colours on both sides of zero, with the scale that tells them."""
    import numpy

    finite = numpy.abs(amounts[numpy.isfinite(amounts)])
    reach = float(finite.max(initial=0.0)) or 1.0
    colours = axes.imshow(amounts, cmap=style.diverging(), vmin=-reach, vmax=reach, interpolation="nearest", **look)
    bar = axes.figure.colorbar(colours, ax=axes, aspect=30, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)
    for side in axes.spines.values():
        side.set_visible(False)
    return colours


def _write(axes: Any, colours: Any, amounts: Any) -> None:
    places = decimals(amounts.reshape(-1).tolist())
    places = places if places < 0 else max(0, places - 1)
    for i, line in enumerate(amounts.tolist()):
        for j, amount in enumerate(line):
            shade = style.legible(colours.cmap(colours.norm(amount)))
            axes.text(j, i, number(amount, places), ha="center", va="center", fontsize=8, color=shade)


def image(parts: Parts, picture: Any, shape: Sequence[int] | None, title: str | None, unit: str, ax: Any) -> Any:
    """`Plots.image`."""
    name = "plot.image"
    parts = parts.real(name).of_number(name)
    amounts = _as_image(parts, shape, name)
    grey = None if picture is None else _grey(numbers_of(picture, name), name)
    height, width = amounts.shape if grey is None else grey.shape
    axes = style.axes_for(name, ax, 6.4, min(max(4.9 * height / width, 1.2), 8.0) + 0.8)
    look: dict[str, Any] = {}
    if grey is not None:
        axes.imshow(grey, cmap="Greys", interpolation="nearest", extent=(0, width, height, 0))
        reach = abs(amounts).max() or 1.0
        look["alpha"] = 0.25 + 0.6 * abs(amounts) / reach
    _coloured(axes, amounts, style.with_unit("contribution", unit), extent=(0, width, height, 0), **look)
    axes.set_xticks([])
    axes.set_yticks([])
    return style.finish(axes, title or "Contributions by place", parts.notes(unit))


def _as_image(parts: Parts, shape: Sequence[int] | None, name: str) -> Any:
    """The amounts (rows, columns)."""
    count = len(parts.labels)
    if shape is not None:
        found: tuple[int, ...] | None = tuple(shape)
        if len(shape) != 2 or math.prod(shape) != count:
            raise ValueError(f"{name}: {count} components have no shape {found}; shape is (rows, columns)")
    else:
        found = grid_of(parts)
    if found is not None and len(found) > 2:
        found = tuple(n for n in found if n != 1)
        found = (1,) * (2 - len(found)) + found
    if found is None or not 2 <= len(found) <= 3 or math.prod(found) != count:
        said = "no shape is known of them" if found is None else f"they have shape {found}"
        raise ValueError(
            f"{name}: {count} components are no image, {said}: give shape=(rows, columns), or decompose an image by "
            "its elements"
        )
    amounts = parts.amounts.numpy().reshape(found)
    if len(found) == 2:
        return amounts
    return amounts.sum(_channels(found, name))


def _channels(shape: Sequence[int], name: str) -> int:
    found = [axis for axis in (0, len(shape) - 1) if shape[axis] <= 4]
    if found:
        return min(found, key=lambda axis: shape[axis] not in (1, 3))
    raise ValueError(f"{name}: an image of shape {tuple(shape)} has no axis of 1 to 4 channels, first or last")


def _grey(picture: Any, name: str) -> Any:
    found = picture.reshape([n for n in picture.shape if n != 1]) if picture.ndim > 2 else picture
    if found.ndim == 3:
        found = found.mean(_channels(found.shape, name))
    if found.ndim != 2 or not found.size:
        raise ValueError(f"{name}: an image has shape (height, width), with channels or without, not {picture.shape}")
    return found
