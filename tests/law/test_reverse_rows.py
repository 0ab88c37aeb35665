"""Products with constant matrices, rows of softmax, and slopes between numbers of which most are equal, in reverse
mode: attributions are those of the law forward, and of the general way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from reverse_cases import drawn, from_everywhere, looked_at

W, LEFT = drawn(6, 4, seed=1), drawn(3, 5, seed=2)
WITH_CONSTANTS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "behind": (lambda x: torch.matmul(x * x, W), (5, 6)),
    "behind a batch": (lambda x: (x * x) @ W, (2, 5, 6)),
    "a vector behind": (lambda x: (x * x) @ W[:, 0], (2, 5, 6)),
    "before": (lambda x: LEFT @ (x * x), (5, 6)),
    "before a batch": (lambda x: torch.matmul(LEFT, x * x), (2, 5, 6)),
    "a vector before": (lambda x: LEFT[0] @ (x * x), (2, 5, 6)),
    "a batch behind": (lambda x: torch.matmul(x * x, W.expand(2, 6, 4)), (2, 5, 6)),
    "scaled rows": (lambda x: (x * W[:5, :1]).sin(), (2, 5, 6)),
    "softmax": (lambda x: torch.softmax(3 * x * x, -1), (4, 7)),
    "softmax of a batch": (lambda x: (3 * x).softmax(dim=2), (2, 3, 7)),
    "softmax of columns": (lambda x: torch.softmax(x * x, 0), (4, 7)),
    "F.softmax": (lambda x: F.softmax(x * x, dim=-1), (4, 7)),
    "softmax of one row": (lambda x: torch.softmax(x * x, 0), (7,)),
    "log_softmax": (lambda x: torch.log_softmax(3 * x * x, -1), (4, 7)),
    "log_softmax of a batch": (lambda x: F.log_softmax(x, 2), (2, 3, 7)),
    "log_softmax far away": (lambda x: torch.log_softmax(40 * x, -1), (4, 7)),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", WITH_CONSTANTS)
def test_products_with_constants_and_rows_of_softmax(name: str) -> None:
    """Matrices before and behind, rows of weights, and softmax along rows and along other axes."""
    f, shape = WITH_CONSTANTS[name]
    from_everywhere(f, drawn(*shape), drawn(*shape, seed=3), list(WITH_CONSTANTS).index(name))


@pytest.mark.quick
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_what_is_written_over_is_asked_again(name: str) -> None:
    """Rows of softmax may be written to before gradients go back."""

    def f(x: Any) -> Any:
        scores = x * 3
        weights = getattr(torch, name)(scores, -1)
        scores.zero_()
        return weights.square() + scores

    looked_at(f, drawn(3, 5), 0.0)


@pytest.mark.quick
def test_slopes_where_most_numbers_are_equal() -> None:
    """The slope of a curved function in single precision is the derivative where a number did not move, beside close
    numbers and far ones."""
    r = torch.linspace(-4, 4, 1 << 14)
    moved = torch.zeros_like(r)
    moved[::3], moved[1::7] = 1e-3, 0.5
    x = torch.stack([0.5 + moved, torch.full_like(r, -0.5)])
    found = np.attribute(lambda x: F.hardswish(x.sum(0) + r).sum(), x)
    start = r.double().requires_grad_()
    derivative = torch.autograd.grad(F.hardswish(start).sum(), start)[0]
    still = (moved == 0) & ((r.abs() - 3).abs() > 1e-3)
    assert float((found.attribution[1] / -0.5 - derivative)[still].abs().max()) <= 1e-6
    end = (x.sum(0) + r).double()
    steps = torch.where(moved == 0, 0, F.hardswish(end) - F.hardswish(r.double()))
    assert float((found.attribution.sum(0) - steps).abs().max()) <= 1e-6
    assert abs(float(found.error)) <= 1e-4 * abs(float(found.value))
