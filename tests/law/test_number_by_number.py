"""Elementwise functions of arrays of a few numbers over zero: each element is what the function gives of it alone."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import pytest
import torch

import npdec as np

OPERATIONS = {
    "/": operator.truediv, "%": operator.mod, "//": operator.floordiv, "fmod": np.fmod,
    "divmod": lambda a, b: np.divmod(a, b)[1],
}  # fmt: skip
AFTER, BEFORE = [0.0, 1.5, 0.5], [0.75, -0.5, 0.25]
DIVISORS = [([0.0, 1.75, -2.5], [0.75, 1.0, -1.0]), ([1.5, 0.0, 2.0], [0.0, 0.0, 1.0]), ([0.0] * 3, [0.5, -1.0, 2.0])]


def parts_of(x: Any) -> list[torch.Tensor]:
    tensor = x._t
    return [part.nan_to_num(7.0) for part in (tensor.value, tensor.residual, tensor.components)]


@pytest.mark.quick
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_each_as_alone(name: str, dtype: str) -> None:
    function = OPERATIONS[name]
    for ends in DIVISORS:
        x, y = (np.decompose(np.array(a, dtype), baseline=np.array(b, dtype)) for a, b in ((AFTER, BEFORE), ends))
        for a, b in (
            (x, y),
            (np.array(AFTER, dtype), y),
            (x, np.array(ends[0], dtype)),
            (x[0], y),
            (x, y.reshape(3, 1)),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                whole = function(a, b)
                first, second = np.broadcast_arrays(a, b)
                for place in np.ndindex(whole.shape):
                    alone = function(first[place], second[place])
                    for ours, theirs in zip(parts_of(whole[place]), parts_of(alone), strict=True):
                        torch.testing.assert_close(ours, theirs, rtol=1e-6 if dtype == "float32" else 1e-13, atol=1e-13)
