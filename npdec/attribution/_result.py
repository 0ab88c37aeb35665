"""What an attribution says."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from npdec._core.tracebacks import ends
from npdec._decomposed.tensor import Labels
from npdec._show.accessor import Plots
from npdec._show.contributions import Contributions
from npdec._show.parts import Parts

__all__ = ["Attribution"]


T = TypeVar("T")


class _Parts(NamedTuple, Generic[T]):
    value: T
    residual: T
    attribution: T


class Attribution(_Parts[T]):
    """`value == residual + attribution.sum()`: a tuple of three, `value, residual, attribution = np.attribute(...)`.

    `value`: the chosen output, f(x). `residual`: the output at the baseline (None for method "gradient", which has
    none). `attribution`: an array of the shape of the input, in the structure of the inputs (dicts, tuples, lists);
    with `axis`, `groups` or `labels` one array with an entry for each component; for `order=2` a matrix.

    What was measured comes as attributes, not as items of the tuple: `error` is value − residual − the sum of the
    attribution (None without a residual); `standard_error`, in the shape of the attribution, is that of an estimate
    from samples, or of a mean over several baselines (None where nothing was drawn). `labels` are the labels of the
    components, where there are any. `around` is what reaches the output on other ways than through the layer `at`
    which it was attributed (for a list of layers with one more axis, behind; None without `at`, and by methods that put
    the layer's output in its place): value == residual + attribution.sum() + around.

    It shows itself: `contributions()` as text, `plot` as pictures, and a notebook shows a table. Where there are no
    labels, elements have the names by which they are reached in the attribution, `[0][1, 2]`; of pairs (`order=2`)
    those of two labels are named after both.
    """

    error: Any = None
    standard_error: Any = None
    labels: Labels | None = None
    around: Any = None

    def __new__(
        cls,
        value: T,
        residual: T,
        attribution: T,
        error: Any = None,
        standard_error: Any = None,
        labels: Labels | None = None,
        around: Any = None,
    ) -> Attribution[T]:
        self = super().__new__(cls, value, residual, attribution)  # type: ignore[type-var]  # mypy's own _NT
        self.error = error
        self.standard_error = standard_error
        self.labels = labels
        self.around = around
        return self

    def __repr__(self) -> str:
        return f"Attribution(value={self.value!r}, residual={self.residual!r}, attribution={self.attribution!r})"

    def _parts(self, name: str, most: int | None = None) -> Parts:
        from npdec.attribution._shown import parts_of

        return parts_of(self, name)

    @property
    def plot(self) -> Plots:
        """The plots, `found.plot.waterfall()` and others (`np.attribution.Plots`), with matplotlib.

        >>> found = np.attribute(lambda x: x[0] * x[1], np.array([3.0, 4.0]), axis=0, labels=["width", "height"])
        >>> found.plot.bar().get_xlabel()
        'contribution'
        """
        return Plots(self._parts)

    @ends
    def contributions(self, k: int | None = None) -> Contributions:
        """What each label or element contributes, for reading: printed, a line each. With `k`, the largest.

        Raises ValueError for method "gradient", which has no baseline.

        >>> np.attribute(lambda x: x[0] * x[1], np.array([3.0, 4.0])).contributions()
        value     12
        residual   0
        [0]       +6  50.0%
        [1]       +6  50.0%
        """
        parts = self._parts("contributions")
        parts.from_baseline("contributions")
        return Contributions(parts if k is None else parts.top(k))

    def to_shap(self, inputs: Any = None) -> Any:
        """A `shap.Explanation`, which SHAP's own plots take: of a number, or of several. `inputs` are its data: the
        labels' numbers (C,), for several outputs (outputs, C).

        Raises ImportError where SHAP is not installed, ValueError for other shapes or without a baseline, and TypeError
        for complex numbers.
        """
        from npdec._show.shap_values import to_shap

        return to_shap(self._parts("to_shap"), inputs)

    def _repr_html_(self) -> str | None:
        from npdec._show.html_table import table

        value: Any = self.value
        if self.around is not None and tuple(self.around.shape) != tuple(value.shape):
            return None  # several layers are several sums, and a notebook shows the text
        parts = self._parts("_repr_html_")
        shape = f" of outputs of shape {parts.shape}" if parts.shape else ""
        return table(parts, f"attribution{shape}", repr(self.value))
