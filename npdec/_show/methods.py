"""How a decomposed tensor shows itself: methods of `DecomposedTensor`. Those of arrays ask these."""

from __future__ import annotations

from typing import Any

from npdec._core.tracebacks import ends
from npdec._show.accessor import Plots
from npdec._show.contributions import Contributions
from npdec._show.parts import of_tensor

__all__ = ["contributions", "of_html", "plot", "plots_of", "to_shap"]

_ELEMENTS = 2**22  # of components, that a table is made of


@ends
def contributions(self: Any, k: int | None = None) -> Contributions:
    """The labels and what each contributes, for reading: printed, a line each. With `k`, the largest (see `top`).

    Iterating gives (label, amount); `.value`, `.residual`, `.labels` and `.amounts` are the parts, and an index is a
    label.

    >>> t = np.decompose(torch.tensor([3.0, 4.0]), baseline=1.0, labels=["width", "height"])
    >>> t.prod().contributions()
    value     12
    residual   1
    width     +5   45.5%
    height    +6   54.5%
    """
    return Contributions(self if k is None else self.top(k))


def plots_of(tensor: Any, what: str) -> Plots:
    """The plots of a decomposed tensor; `what` it is called in messages."""
    return Plots(lambda name, most: of_tensor(tensor, what, name, most))


@property  # type: ignore[misc]
def plot(self: Any) -> Plots:
    """The plots, `t.plot.waterfall()` and others (`np.attribution.Plots`), with matplotlib."""
    return plots_of(self, "tensor")


@ends
def to_shap(self: Any, inputs: Any = None) -> Any:
    """A `shap.Explanation`, which SHAP's own plots take: of a number, of the numbers of rows (n,), or of several for
    each row (n, m). `inputs`, of shape (n, labels), are its data.

    Raises ImportError where SHAP is not installed, ValueError for other shapes, and TypeError for complex numbers.
    """
    from npdec._show.shap_values import to_shap

    return to_shap(of_tensor(self, "tensor", "to_shap"), inputs)


def of_html(tensor: Any, what: str, dtype: str, text: str) -> str | None:
    """What a notebook shows of a decomposed tensor; None, for which it shows the text, where that is all it has time
    for."""
    from npdec._show.html_table import MOST, table

    most = min(MOST, _ELEMENTS // max(1, tensor.value.numel()) - 1)
    if most < 3:
        return None
    parts = of_tensor(tensor, what, "_repr_html_", most)
    return table(parts, f"{what} {dtype}{f', shape {parts.shape}' if parts.shape else ''}", text)
