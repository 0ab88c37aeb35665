"""Draws the bridge from the value at the baseline to the value, as a waterfall, with matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npdec._show import bars, rows, style
from npdec.explain.errors import InputError
from npdec.explain.explanation import Explanation
from npdec.explain.inputs import Cell
from npdec.explain.output import check_writable, replacing
from npdec.explain.writing import PLAIN, Numbers, cell_text

__all__ = ["check_plot", "draw", "drawn"]

_SUFFIXES = (".png", ".svg", ".pdf")
_MOST = 15  # columns that a plot shows unless --top says otherwise
_PANELS = 9  # rows that get a waterfall each; more are drawn as points in one panel


def check_plot(path: Path) -> None:
    """Raise InputError, before any work, if the plot cannot be drawn or saved there."""
    check_writable(path, _SUFFIXES, "--plot")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("--plot needs matplotlib: pip install matplotlib") from None


def draw(
    path: Path, explanations: Sequence[Explanation], title: str, top: int | None = None, numbers: Numbers = PLAIN
) -> None:
    """Save the waterfall of one row, a panel for each of a few rows, or all rows as points per column."""
    with replacing(path, "--plot") as temporary:
        _save(temporary, path.suffix[1:].lower(), explanations, title, top, numbers, f"--plot {path}")


def drawn(explanations: Sequence[Explanation], title: str, top: int | None, numbers: Numbers) -> str:
    """The same as the text of an SVG, which browsers show."""
    text = io.StringIO()
    _save(text, "svg", explanations, title, top, numbers, "--html")
    return text.getvalue()


def _save(
    file: Any,
    form: str,
    explanations: Sequence[Explanation],
    title: str,
    top: int | None,
    numbers: Numbers,
    option: str,
) -> None:
    from matplotlib import rc_context

    style_of_files: Any = {"font.size": 10, "font.family": "sans-serif", "svg.hashsalt": "npdec"}
    with rc_context(style_of_files):
        try:
            figure = _drawn(explanations, title, top or _MOST, numbers.unit)
            figure.savefig(file, dpi=150, format=form)
        except (ValueError, ArithmeticError) as error:  # numbers that no axis can hold
            raise InputError(f"{option}: cannot be drawn: {error}") from error


def _drawn(explanations: Sequence[Explanation], title: str, most: int, unit: str) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(3, len(explanations)) if len(explanations) <= _PANELS else 1
    down = math.ceil(len(explanations) / across) if len(explanations) <= _PANELS else 1
    height = 0.34 * (min(len(explanations[0].names), most) + 4) + 1.3
    figure = Figure(figsize=((6 if across > 1 else 8) * across, height * down), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(style.plain(title), x=0.01, ha="left", weight="bold")
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for panel in panels[len(explanations) :]:
        panel.axis("off")
    if len(explanations) > _PANELS:
        _points(panels[0], explanations, most, unit)
    else:
        for panel, item in zip(panels, explanations):
            _waterfall(panel, item, most, unit)
    return figure


def _waterfall(axes: Any, item: Explanation, most: int, unit: str) -> None:
    ranked = item.ranked()
    steps = [(f"{line.name} = {cell_text(line.input)[:40]}", line.contribution) for line in ranked[:most]]
    if len(ranked) > most:
        steps.append((f"{len(ranked) - most} others", math.fsum(line.contribution for line in ranked[most:])))
    if item.not_attributed:
        steps.append(("(not attributed)", item.not_attributed))
    texts = bars.draw_bridge(
        axes,
        item.baseline_value,
        steps,
        item.value,
        (style.with_unit("value at the baseline", unit), style.with_unit("value", unit)),
    )
    error = f"completeness error {item.error:.1e}, relative {item.relative_error:.1e}"
    style.finish(axes, item.title, error, texts)


def _shades(cells: Sequence[Cell]) -> list[float] | None:
    """What colours the points of a column; categories are neither low nor high."""
    return None if any(isinstance(cell, str) for cell in cells) else [float(cell) for cell in cells]


def _points(axes: Any, explanations: Sequence[Explanation], most: int, unit: str) -> None:
    """One line a column: the contribution of each row as a point, coloured by the column's input."""
    names = explanations[0].names
    sizes = [math.fsum(abs(item.contributions[i]) for item in explanations) for i in range(len(names))]
    order = sorted(range(len(names)), key=lambda i: -sizes[i])[:most]
    moves = [[item.contributions[i] for item in explanations] for i in order]
    inputs = [_shades([item.inputs[i] for item in explanations]) for i in order]
    rows.draw_points(axes, [names[i] for i in order], moves, inputs, style.with_unit("contribution", unit))
    worst = max(item.relative_error for item in explanations)
    style.finish(
        axes,
        f"{len(explanations)} rows, a point each",
        f"completeness error at most {worst:.1e}, relative to the numbers",
    )
