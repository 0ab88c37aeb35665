"""Residuals of which rows are one in memory: what follows is computed for one row, and is what it would be for all."""

from __future__ import annotations

import numpy
import pytest
import torch
import torch.nn.functional as F

import npdec as np

D = torch.float64
ROWS, X = 50, torch.randn(50, 6, generator=torch.Generator().manual_seed(0), dtype=D)
W, BASE = torch.linspace(-1, 2, 30, dtype=D).reshape(6, 5), torch.linspace(0, 1, 6, dtype=D)
# Each of a tensor, of which rows may be equal.
FUNCTIONS = {
    "matmul": lambda x: x @ W,
    "matmul of more axes": lambda x: x @ W.expand(3, 6, 5),
    "on the right": lambda x: (W.T @ x.mT).mT,
    "linear": lambda x: F.linear(x, W.T, W[0]),
    "bmm": lambda x: torch.bmm(x.expand(2, *x.shape), W.expand(2, 6, 5)),
    "with a row": lambda x: x * W[:, :1].T + W[:, 1],
    "with a number": lambda x: torch.tanh(x) * 2.0 - torch.tensor(3.0, dtype=D),
    "with each other": lambda x: x * torch.exp(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_row_stands_for_all(name):
    made = FUNCTIONS[name](np.decompose(X, axis=1, baseline=BASE))
    want = FUNCTIONS[name](BASE.expand(ROWS, 6).clone())
    torch.testing.assert_close(made.residual, want, rtol=1e-14, atol=1e-14)
    assert made.residual.stride(-2) == 0
    torch.testing.assert_close(made.c_sum(), made.value)


# Plain tensors beside it that differ from row to row, two of them too, or along the axis of columns.
BESIDE = {"rows": X, "column": X[:, :1], "rows of two": X[:2, None, None], "matrices": X[:4].reshape(2, 2, 6)[:, :1]}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("function", [torch.mul, torch.add, torch.atan2])
def test_rows_differ_where_another_array_does(function, beside):
    for rows in (2, ROWS):
        other = BESIDE[beside][:rows]
        made = function(np.decompose(X[:rows], axis=1, baseline=BASE), other)
        want = getattr(numpy, {"mul": "multiply", "atan2": "arctan2"}.get(function.__name__, function.__name__))(
            BASE.expand(rows, 6).numpy(), other.numpy()
        )
        numpy.testing.assert_allclose(made.residual.numpy(), want, rtol=1e-14)
        torch.testing.assert_close(made.c_sum(), made.value)
