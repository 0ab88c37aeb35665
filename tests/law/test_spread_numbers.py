"""A decomposed number beside a plain array of few elements: to the last bit what an array gives that has the number in
all places."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy
import pytest
import torch

import npdec as np

pytestmark = pytest.mark.quick
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]
NUMBERS = [(1.5, 0.1), (-0.4, 0.3), (0.0, 1.0), (1e-7, 2.0), (1e30, 1.0), (numpy.inf, 1.0), (2.0, 2.0), (0.3, -1e-3)]
ARRAYS = [[1.0, 2.0, -3.0], [[0.5, 0.25], [1e-9, 7.0]], [0.0, 1.0], [1e7, 1.0], [numpy.nan, 1.0], [0.1] * 20]


def called(function: Any, *args: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        made = function(*args)
    return made, sorted({str(warning.message) for warning in met})


def parts(made: Any) -> list[Any]:
    tensor = made._t
    return [numpy.asarray(torch.Tensor(part)) for part in (tensor.value, tensor.residual, tensor.components)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("ends", NUMBERS, ids=str)
def test_as_in_each_place(ends: tuple[float, float], dtype: str) -> None:
    """In both orders, warnings included."""
    x = np.decompose(np.asarray([ends[0], 2.0], dtype=dtype), baseline=np.asarray([ends[1], 1.0], dtype=dtype))
    s = x[0] + 0.25 * (x[1] - 1.0) - 0.25 * (x[1] - 1.0)  # of two components
    for other in ARRAYS:
        p = np.asarray(other, dtype=dtype)
        each = np.broadcast_to(s, p.shape).copy()
        for function in OPERATORS:
            for args, wide in (((s, p), (each, p)), ((p, s), (p, each))):
                made, said = called(function, *args)
                wanted, also_said = called(function, *wide)
                assert said == also_said
                for mine, its in zip(parts(made), parts(wanted), strict=True):
                    assert mine.shape == its.shape
                    assert mine.dtype == its.dtype
                    assert numpy.array_equal(mine, its, equal_nan=True), (function, other, args)


def test_own_order_of_subtraction() -> None:
    """torch.rsub subtracts the first from the second."""
    x = torch.tensor([1.5])
    s = np.decompose(np.asarray([1.5, 2.0]), baseline=0.0)._t[0]
    p = torch.tensor([1.0, 4.0], dtype=torch.float64)
    assert torch.rsub(s, p).value.tolist() == [-0.5, 2.5]
    assert torch.rsub(p, s).components.tolist() == [[1.5, 1.5], [0.0, 0.0]]
    assert torch.rsub(x, x).tolist() == [0.0]
