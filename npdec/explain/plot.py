"""Draws the bridge from the value at the baseline to the value, as a waterfall, with matplotlib."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npdec._show import bars, rows, style
from npdec._show.words import cut, visible
from npdec.explain.errors import InputError
from npdec.explain.explanation import Explanation
from npdec.explain.inputs import Cell
from npdec.explain.output import check_writable, replacing
from npdec.explain.writing import PLAIN, Numbers, cell_text

__all__ = ["check_plot", "draw", "drawn"]

_SUFFIXES = (".png", ".svg", ".pdf")
_MOST = 15  # columns that a plot shows unless --top says otherwise
_PANELS = 9  # rows that get a waterfall each; more are drawn as points in one panel
_NAME, _INPUT = 60, 20  # characters of a column's name, and of what is in its cell
_BARS, _CHARACTER = 4.2, 0.085  # inches: room for bars, and for a character beside them
_WIDE, _ON_PAGE = 18.0, 12.0  # inches: the widest figure, in a file and on a page, which makes it narrower


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
        _save(temporary, path.suffix[1:].lower(), explanations, title, top, numbers, _WIDE, f"--plot {path}")


def drawn(explanations: Sequence[Explanation], title: str, top: int | None, numbers: Numbers) -> str:
    """The same as the text of an SVG, which browsers show."""
    text = io.StringIO()
    _save(text, "svg", explanations, title, top, numbers, _ON_PAGE, "--html")
    return text.getvalue()


def _save(
    file: Any,
    form: str,
    explanations: Sequence[Explanation],
    title: str,
    top: int | None,
    numbers: Numbers,
    widest: float,
    option: str,
) -> None:
    from matplotlib import rc_context

    style_of_files: Any = {"font.size": 10, "font.family": "sans-serif", "svg.hashsalt": "npdec"}
    with rc_context(style_of_files):
        try:
            figure = _drawn(explanations, title, top or _MOST, numbers.unit, widest)
            figure.savefig(file, dpi=150, format=form)
        except (ValueError, ArithmeticError) as error:  # numbers that no axis can hold
            raise InputError(f"{option}: cannot be drawn: {error}") from error


def _drawn(explanations: Sequence[Explanation], title: str, most: int, unit: str, widest: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    bridges = [_steps(item, most) for item in explanations] if len(explanations) <= _PANELS else []
    names = [name for steps in bridges for name, _ in steps] or [cut(name, _NAME) for name in explanations[0].names]
    width = _BARS + _CHARACTER * max(map(len, names), default=0)
    across = max(1, min(3, len(bridges), int(widest / width)))
    down = math.ceil(len(bridges) / across) or 1
    height = 0.34 * (min(len(explanations[0].names), most) + 4) + 1.3
    size = max(width, 8 / min(across, 1.3)) * across, height * down
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    heading = textwrap.fill(title, int(size[0] / _CHARACTER / 1.2))
    figure.suptitle(style.plain(heading), x=0.01, ha="left", weight="bold")
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for panel in panels[max(1, len(bridges)) :]:
        panel.axis("off")
    if not bridges:
        _points(panels[0], explanations, most, unit)
    for panel, item, steps in zip(panels, explanations, bridges):
        _waterfall(panel, item, steps, unit)
    return figure


def _steps(item: Explanation, most: int) -> list[tuple[str, float]]:
    ranked = item.ranked()
    steps = [(_step(line.name, line.input), line.contribution) for line in ranked[:most]]
    if len(ranked) > most:
        steps.append((f"{len(ranked) - most} others", math.fsum(line.contribution for line in ranked[most:])))
    if item.not_attributed:
        steps.append(("(not attributed)", item.not_attributed))
    return steps


def _waterfall(axes: Any, item: Explanation, steps: Sequence[tuple[str, float]], unit: str) -> None:
    texts = bars.draw_bridge(
        axes,
        item.baseline_value,
        steps,
        item.value,
        (style.with_unit("value at the baseline", unit), style.with_unit("value", unit)),
    )
    error = f"completeness error {item.error:.1e}, relative {item.relative_error:.1e}"
    style.finish(axes, item.title, error, texts)


def _step(name: str, cell: Cell) -> str:
    return f"{cut(visible(name), _NAME)} = {cut(visible(cell_text(cell)), _INPUT)}"


def _shades(cells: Sequence[Cell]) -> list[float] | None:
    """What colours the points of a column; categories are neither low nor high."""
    return None if any(isinstance(cell, str) for cell in cells) else [float(cell) for cell in cells]


def _points(axes: Any, explanations: Sequence[Explanation], most: int, unit: str) -> None:
    """One line a column: the contribution of each row as a point, coloured by the column's input."""
    names = explanations[0].names
    sizes = [math.fsum(abs(item.contributions[i]) for item in explanations) for i in range(len(names))]
    order = sorted(range(len(names)), key=lambda i: -sizes[i])
    order, left = order[:most], order[most:]
    moves = [[item.contributions[i] for item in explanations] for i in order]
    inputs = [_shades([item.inputs[i] for item in explanations]) for i in order]
    shown = [cut(visible(names[i]), _NAME) for i in order]
    if left:
        shown.append(f"{len(left)} others")
        moves.append([math.fsum(item.contributions[i] for i in left) for item in explanations])
        inputs.append(None)
    rows.draw_points(axes, shown, moves, inputs, style.with_unit("contribution", unit))
    worst = max(item.relative_error for item in explanations)
    style.finish(
        axes,
        f"{len(explanations)} rows, a point each",
        f"completeness error at most {worst:.1e}, relative to the numbers",
    )
