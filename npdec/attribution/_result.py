"""What an attribution says."""

from __future__ import annotations

from typing import Any, NamedTuple

from npdec._decomposed.tensor import Labels

__all__ = ["Attribution"]


class _Parts(NamedTuple):
    value: Any
    residual: Any
    attribution: Any


class Attribution(_Parts):
    """`value == residual + attribution.sum()`: a tuple of three, `value, residual, attribution = np.attribute(...)`.

    `value`: the chosen output, f(x). `residual`: the output at the baseline (None for method "gradient", which has
    none). `attribution`: an array of the shape of the input, in the structure of the inputs (dicts, tuples, lists);
    with `axis`, `groups` or `labels` one array with an entry for each component; for `order=2` a matrix.

    What was measured comes as attributes, not as items of the tuple: `error` is value − residual − the sum of the
    attribution (None without a residual); `standard_error`, in the shape of the attribution, is that of an estimate
    from samples, or of a mean over several baselines (None where nothing was drawn). `labels` are the labels of the
    components, where there are any.
    """

    error: Any = None
    standard_error: Any = None
    labels: Labels | None = None

    def __new__(
        cls,
        value: Any,
        residual: Any,
        attribution: Any,
        error: Any = None,
        standard_error: Any = None,
        labels: Labels | None = None,
    ) -> Attribution:
        self = super().__new__(cls, value, residual, attribution)
        self.error = error
        self.standard_error = standard_error
        self.labels = labels
        return self

    def __repr__(self) -> str:
        return f"Attribution(value={self.value!r}, residual={self.residual!r}, attribution={self.attribution!r})"
