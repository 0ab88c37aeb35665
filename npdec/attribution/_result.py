"""What an attribution says."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from npdec._decomposed.tensor import Labels

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
