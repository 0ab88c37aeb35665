"""Products along axes, and running products, in reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Any

import pytest
import torch

import npdec as np
from npdec._native import calls
from reverse_cases import drawn, from_everywhere

pytestmark = pytest.mark.quick

X = drawn(3, 4, 6, seed=7)
X[0, 1] = 0.0  # where products are zero, and nothing moves from a baseline of zeros
X[1, 2, 3] = 0.0

WAYS: dict[str, Callable[[Any], Any]] = {
    "along the last axis": lambda x: x.prod(-1),
    "along the first axis": lambda x: torch.prod(x, 0),
    "with an axis of one": lambda x: x.prod(1, keepdim=True),
    "by names": lambda x: torch.prod(x, dim=2, keepdim=True),
    "of all": lambda x: (1 + 0.1 * x).prod(),
    "of two": lambda x: x.reshape(3, 12, 2).prod(-1),
    "of three": lambda x: x.reshape(3, 8, 3).prod(-1),
    "of one": lambda x: x.reshape(-1, 1).prod(-1),
    "of as many as are exact": lambda x: (1 + 0.2 * x.sin()).reshape(-1).expand(2, 72)[:, :64].prod(-1),
    "of a long row": lambda x: (1 + 0.2 * x.sin()).reshape(-1).repeat(2, 3).prod(-1),
    "of a long row with zeros": lambda x: x.reshape(1, -1).prod(-1),
    "in another precision": lambda x: x.prod(-1, dtype=torch.float64),
    "running": lambda x: x.cumprod(-1),
    "running along the first axis": lambda x: torch.cumprod(x, 0),
    "running by name": lambda x: torch.cumprod(x, dim=1),
    "running far": lambda x: (1 + 0.2 * x.sin()).reshape(1, -1).repeat(2, 1).cumprod(1),
}


@pytest.mark.parametrize("name", WAYS)
def test_products(name: str):
    start = drawn(3, 4, 6, seed=11)
    start[2] = X[2]  # ends that are equal
    from_everywhere(WAYS[name], X, start, list(WAYS).index(name))


@pytest.mark.skipif(calls is None, reason="it is C's")
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9, 17])
def test_rows_are_exact(count: int):
    """Beside the integrals of polynomials with rational coefficients."""
    from npdec._rules.products_reverse import _rules

    x, r = torch.randint(-9, 9, (5, count)).double(), torch.randint(-9, 9, (1, count)).double()
    made = torch.empty_like(x)
    assert calls.products_back(x, r, _rules(count), None, made)
    for row, found in zip(x.tolist(), made.tolist(), strict=True):
        for place in range(count):
            polynomial = [Fraction(1)]
            for j, (end, start) in enumerate(zip(row, r[0].tolist(), strict=True)):
                if j != place:
                    step, low = Fraction(end) - Fraction(start), Fraction(start)
                    polynomial = [
                        (polynomial[k] * low if k < len(polynomial) else 0) + (polynomial[k - 1] * step if k else 0)
                        for k in range(len(polynomial) + 1)
                    ]
            wanted = sum(c / (k + 1) for k, c in enumerate(polynomial))
            assert abs(found[place] - float(wanted)) <= 1e-13 * (abs(float(wanted)) + prod(map(abs, row)) + 9.0**count)


def test_products_that_leave_the_range_are_left_to_others():
    """Factors whose product is a number though parts of it are none."""
    x = torch.tensor([1e149, 1e149, 1e-149, 1e-149, 2.0], dtype=torch.float64)
    found = np.attribute(lambda u: u[None].prod(-1).sum(), x, baseline=0.5 * x)
    assert abs(float(found.error)) <= 1e-10 * abs(float(found.value))
    assert bool(torch.isfinite(found.attribution).all())
    x = torch.full((3, 700), 0.25, dtype=torch.float64)
    found = np.attribute(lambda u: u.prod(-1).sum(), x, baseline=0.2)
    assert float(found.value) == float(x.prod(-1).sum())
    assert bool(torch.isfinite(found.attribution).all())
