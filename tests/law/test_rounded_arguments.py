"""Where nothing but rounding moves an argument and the function is steep, contributions miss, and it is said."""

from __future__ import annotations

import warnings

import numpy
import pytest
import torch

import npdec as np
from npdec import DecomposedTensor

FUNCTIONS = {
    "standardised": lambda b: (b - b.mean()) / b.std(),
    "inverse": lambda b: 1 / b.std(),
    "reciprocal": lambda b: np.reciprocal(b.std()),
    "power": lambda b: b.std() ** -1.0,
    "log": lambda b: np.log(b.std()),
    "log of a difference": lambda b: np.log(np.abs(b - (b * 3 - b * 2))),
    "inverse of a difference": lambda b: 1 / (b - (b * 3 - b * 2)),
    "angle": lambda b: np.arctan2(b.std(), 1e-7),
    "scaled": lambda b: 3e6 * b.std(),
    "interpolated": lambda b: np.interp(0.05 * b, [0.0, 1.0, 2.0], [0.5, 2.0, -1.0], period=np.nanstd(b) + 1e-30),
    "correlated": lambda b: np.corrcoef(b, np.arange(7.0, dtype=b.dtype))[0, 1],
}


@pytest.mark.parametrize("scale", [1e-3, 1.0, 20.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_contributions_of_a_constant_column_add_up_or_it_is_said(name, dtype, scale):
    value, baseline = (numpy.full(7, number * scale, dtype) for number in (5.700492, 3.8814244))
    x = np.decompose(np.array(value), baseline=baseline, groups=[0, 0, 0, 1, 1, 1, 1]) * 1.0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = FUNCTIONS[name](x)
    value, residual, components = (numpy.asarray(part) for part in (made.value, made.residual, made.components))
    size = numpy.abs(value) + numpy.abs(residual) + numpy.abs(components).sum(0)
    with numpy.errstate(invalid="ignore"):
        change = numpy.where(value == residual, 0, value - residual)
        missing = numpy.abs(change - components.sum(0)) > 4 * numpy.finfo(dtype).eps ** 0.5 * size
    told = any(issubclass(one.category, np.exceptions.DecompositionWarning) for one in said)
    assert told or not missing.any(), (value, residual, components)


@pytest.mark.parametrize("step", [np.trunc, np.floor, np.sign, lambda d: d >= 1], ids=["trunc", "floor", "sign", ">="])
def test_a_step_that_is_rounding_is_not_made_by_components_of_another_size(step):
    """Correlations of a row with itself: 1 and 1 − 1.1e-16, between contributions that add up to −2e-5."""
    made = DecomposedTensor(
        torch.tensor(1.0, dtype=torch.float64),
        torch.tensor(0.9999999999999999, dtype=torch.float64),
        torch.tensor([-0.0082, 0.0903, -0.082121], dtype=torch.float64),
        ("a", "b", "c"),
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = step(np.asarray(made))
    components = numpy.asarray(found.components)
    assert abs(components).max() <= 1
    assert components.sum() == float(found.value) - float(found.residual)
    assert len(said) == bool(components.any())
