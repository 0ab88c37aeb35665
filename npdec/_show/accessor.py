"""`x.plot`: the plots of an array, a tensor or an attribution. Each is imported with matplotlib when it is called."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from npdec._core.tracebacks import ends
from npdec._show.parts import Parts

if TYPE_CHECKING:
    from npdec._show.coloured_text import Html

__all__ = ["Plots"]

Source = Callable[[str, int | None], Parts]


def _most(name: str, top: Any) -> int:
    if not isinstance(top, int) or isinstance(top, bool) or top < 1:
        raise ValueError(f"{name}: top is how many labels are shown, at least 1, not {top!r}")
    return top


class Plots:
    """The plots of a decomposition, with matplotlib (`pip install 'npdec[plot]'`).

    Each says the baseline and what completeness misses. All take `title`; `unit`, a word for the numbers' unit; and
    `ax`, the matplotlib Axes to draw in (a new figure of pyplot's by default). They return the Axes, whose `.figure`
    can be saved; `text` returns HTML. Where there are more labels than `top`, the others are shown as one. The colours
    tell signs apart for the colour-blind, and text and lines follow matplotlib's style, `dark_background` too.

    All raise ValueError for an array that carries no contributions or has another number of axes than the plot shows,
    TypeError for complex numbers, and ImportError where matplotlib is not installed.
    """

    __module__ = "npdec.attribution"  # where users find it
    __slots__ = ("_source",)

    def __init__(self, source: Source) -> None:
        self._source = source

    def __repr__(self) -> str:
        return f"<plots: {', '.join(name for name in vars(Plots) if not name.startswith('_'))}>"

    @ends
    def waterfall(self, *, top: int = 15, title: str | None = None, unit: str = "", ax: Any = None) -> Any:
        """The bridge from the baseline to the value of one number: a step for each label, the largest first.

        >>> sides = np.decompose(np.array([3.0, 4.0]), baseline=1.0, labels=["width", "height"])
        >>> axes = sides.prod().plot.waterfall(unit="m²")
        >>> [text.get_text() for text in axes.get_yticklabels()]
        ['baseline', 'height', 'width', 'value']
        """
        from npdec._show import bars

        name = "plot.waterfall"
        return bars.waterfall(self._source(name, _most(name, top)), top, title, unit, ax)

    @ends
    def bar(self, *, top: int = 15, title: str | None = None, unit: str = "", ax: Any = None) -> Any:
        """A bar for each label, the largest first: its contribution to one number; of an array of any shape the mean
        magnitude of its contributions.

        >>> sides = np.decompose(np.array([3.0, 4.0]), baseline=1.0, labels=["width", "height"])
        >>> [float(bar.get_width()) for bar in sides.prod().plot.bar().patches]
        [6.0, 5.0]
        """
        from npdec._show import bars

        name = "plot.bar"
        return bars.bar(self._source(name, None), _most(name, top), title, unit, ax)

    @ends
    def beeswarm(
        self, inputs: Any = None, *, top: int = 15, title: str | None = None, unit: str = "", ax: Any = None
    ) -> Any:
        """A point for each number of a 1-d array (a row of data, say) and each label, the labels with the largest
        contributions first. `inputs`, of shape (numbers, labels), colour the points from low to high, for each label by
        itself. Raises ValueError for inputs of another shape.

        >>> x = np.decompose(np.array([[1.0, 2.0], [3.0, 1.0]]), axis=1, labels=["age", "dose"])
        >>> axes = (x * np.array([0.5, 2.0])).sum(axis=1).plot.beeswarm(inputs=x)
        >>> [text.get_text() for text in axes.get_yticklabels()]
        ['dose', 'age']
        """
        from npdec._show import rows

        name = "plot.beeswarm"
        return rows.beeswarm(self._source(name, None), inputs, _most(name, top), title, unit, ax)

    @ends
    def scatter(
        self,
        label: Hashable,
        inputs: Any,
        *,
        color: Hashable | None = None,
        title: str | None = None,
        unit: str = "",
        ax: Any = None,
    ) -> Any:
        """The dependence of one label's contribution on its input: a point for each number of a 1-d array.

        `inputs`: those of the label (numbers,), or of all labels (numbers, labels); with these, `color` is another
        label, whose inputs colour the points. Raises KeyError for a label that there is not, and ValueError for inputs
        of another shape.

        >>> x = np.decompose(np.array([[1.0, 2.0], [3.0, 1.0]]), axis=1, labels=["age", "dose"])
        >>> axes = (x[:, 0] * x[:, 1]).plot.scatter("age", x, color="dose")
        >>> axes.get_xlabel()
        'age'
        """
        from npdec._show import rows

        name = "plot.scatter"
        return rows.scatter(self._source(name, None), label, inputs, color, title, unit, ax)

    @ends
    def heatmap(
        self,
        columns: Sequence[Any] | None = None,
        *,
        top: int = 40,
        title: str | None = None,
        unit: str = "",
        ax: Any = None,
    ) -> Any:
        """The contribution of each label (down, in their order) to each number of a 1-d array (across): of tokens to
        positions, of columns to classes. `columns` name the numbers; ValueError if there are not as many.

        >>> x = np.decompose(np.array([1.0, 2.0]), labels=["a", "b"])
        >>> axes = (np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]) @ x).plot.heatmap(["low", "middle", "high"])
        >>> axes.images[0].get_array().tolist()
        [[1.0, 2.0, 0.0], [0.0, 2.0, 6.0]]
        """
        from npdec._show import grids

        name = "plot.heatmap"
        return grids.heatmap(self._source(name, None), columns, _most(name, top), title, unit, ax)

    @ends
    def stacked(
        self, times: Any = None, *, top: int = 7, title: str | None = None, unit: str = "", ax: Any = None
    ) -> Any:
        """The contributions to each number of a 1-d array over time, stacked up from zero where they are positive and
        down where they are negative, and the line of their sum, which is the change from the baseline. `times` are
        numbers or dates, drawn in their order, or words. ValueError if there are not as many, or one is missing or
        comes twice. `top` is at most 7: so many colours can be told apart.

        >>> x = np.decompose(np.array([1.0, 2.0]), labels=["a", "b"])
        >>> axes = (np.arange(5.0)[:, None] * x).sum(axis=1).plot.stacked()
        >>> axes.lines[0].get_ydata().tolist()
        [0.0, 3.0, 6.0, 9.0, 12.0]
        """
        from npdec._show import over_time

        name = "plot.stacked"
        if _most(name, top) > 7:
            raise ValueError(
                f"{name}: at most 7 labels can be told apart by colour, not {top}: plot.heatmap shows more"
            )
        return over_time.stacked(self._source(name, None), times, top, title, unit, ax)

    @ends
    def image(
        self,
        image: Any = None,
        *,
        shape: Sequence[int] | None = None,
        title: str | None = None,
        unit: str = "",
        ax: Any = None,
    ) -> Any:
        """The contributions of pixels or patches to one number, over the image in grey.

        The components are the elements of a 2-d input (or 3-d with 1 to 4 channels first or last, which are added up),
        or have the given `shape`, (rows, columns), by rows. `image`: (height, width), with channels or without.
        Raises ValueError where the components do not have such a shape.

        >>> x = np.decompose(np.array([[0.0, 1.0], [2.0, 1.0]]))
        >>> (x * x).sum().plot.image(x).images[-1].get_array().tolist()
        [[0.0, 1.0], [4.0, 1.0]]
        """
        from npdec._show import grids

        return grids.image(self._source("plot.image", None), image, shape, title, unit, ax)

    @ends
    def text(self, words: Sequence[Any] | None = None, *, title: str | None = None, unit: str = "") -> Html:
        """The words of a text, each coloured by its contribution to one number, as HTML: a notebook shows it, `str`
        gives its source and `.save(path)` writes a page. `words` are shown in place of the labels; ValueError if there
        are not as many. It needs no matplotlib.

        >>> x = np.decompose(np.array([1.0, -2.0]), labels=["not", "bad"])
        >>> "bad" in str(x.sum().plot.text(title="sentiment"))
        True
        """
        from npdec._show import coloured_text

        return coloured_text.text(self._source("plot.text", None), words, title, unit)
