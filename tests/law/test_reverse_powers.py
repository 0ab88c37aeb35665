"""Powers in reverse mode, and pools and normalisations that are made of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._native import calls
from reverse_cases import drawn, from_everywhere

pytestmark = [pytest.mark.quick, pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")]

X = drawn(2, 6, 6, 4, seed=7)
X[0, 1] = 0.0  # where nothing moves from a baseline of zeros

WAYS: dict[str, Callable[[Any], Any]] = {
    "a root": lambda x: (x.abs() + 0.25).pow(0.5),
    "a root of what may be zero": lambda x: x.relu().pow(1.5),
    "a negative power": lambda x: (x.square() + 1).pow(-0.75),
    "a whole power of negative numbers": lambda x: x.pow(5),
    "a reciprocal": lambda x: (x.square() + 0.5).pow(-1),
    "lp_pool1d": lambda x: F.lp_pool1d(x.relu().flatten(2), 2, 3),
    "lp_pool2d": lambda x: F.lp_pool2d(x.relu(), 2, 2),
    "lp_pool2d of signed numbers": lambda x: F.lp_pool2d(x, norm_type=2.0, kernel_size=(2, 3), stride=1),
    "lp_pool2d of cubes": lambda x: F.lp_pool2d(x.relu(), 3, 2, ceil_mode=True),
    "lp_pool2d of magnitudes": lambda x: F.lp_pool2d(x.abs(), 1, 2),
    "lp_pool2d of the largest": lambda x: F.lp_pool2d(x, float("inf"), 2),
    "lp_pool3d": lambda x: F.lp_pool3d(x.relu()[:, None], 2, 2),
    "a pool without a batch": lambda x: F.lp_pool2d(x[0].relu(), 2, 2),
    "LPPool2d": lambda x: torch.nn.LPPool2d(1.5, 3, 2)(x.relu()),
    "local_response_norm": lambda x: F.local_response_norm(x, 3, 0.1),
    "local_response_norm of rows": lambda x: F.local_response_norm(x.flatten(2), 4, 0.5, 0.5, 2.0),
    "a generalised mean": lambda x: F.avg_pool2d(x.clamp(min=1e-6).pow(3), 2).pow(1 / 3),
}


@pytest.mark.parametrize("name", WAYS)
def test_powers_and_pools(name: str):
    start = drawn(2, 6, 6, 4, seed=11)
    start[1] = X[1]  # ends that are equal
    from_everywhere(WAYS[name], X, start, list(WAYS).index(name), 1e-8)


@pytest.mark.skipif(calls is None, reason="it is C's")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("exponent", [-2, 3, 4, 5, 7])
def test_slopes_of_whole_powers_are_exact(exponent: int, dtype: torch.dtype):
    """Beside rational numbers: steps of all orders, ends that are equal, and rows that are shorter than the tensor."""
    r = drawn(40, seed=3).abs() + 0.1
    x = (r * (1 + drawn(7, 40) * torch.logspace(-14, 0.5, 40, dtype=torch.float64))).abs().to(dtype)
    r = r.to(dtype)
    x[3] = r
    fx, fr, made = x.pow(exponent), r.pow(exponent), torch.empty_like(x)
    assert calls.power_slopes(exponent, x, r[None], fx, fr[None], made)
    for a, b, slope in zip(x.reshape(-1).tolist(), r.repeat(7).tolist(), made.reshape(-1).tolist(), strict=True):
        end, start = Fraction(a), Fraction(b)
        step = end - start
        wanted = (end**exponent - start**exponent) / step if step else exponent * start ** (exponent - 1)
        assert abs(slope / float(wanted) - 1) <= 64 * torch.finfo(dtype).eps


@pytest.mark.skipif(calls is None, reason="it is C's")
def test_slopes_are_refused_where_they_are_none():
    one = torch.ones(3)
    for exponent, x, r in ((0.5, -one, one), (-1, one, 0 * one), (9, one, one), (0.5, one * torch.inf, one)):
        assert not calls.power_slopes(exponent, x, r, x.pow(exponent), r.pow(exponent), torch.empty(3))
    assert not calls.power_slopes(0.5, one, one, one, one, torch.empty(2))
    assert not calls.power_slopes(0.5, one, torch.ones(2), one, torch.ones(2), torch.empty(3))
    with pytest.raises(TypeError, match="real number"):
        calls.power_slopes("2", one, one, one, one, torch.empty(3))


def test_many_elements():
    """As many as are computed in blocks, and more than Python and C leave to each other."""
    x = drawn(2, 16, 100, 100, seed=5).relu()
    for f in (lambda u: F.lp_pool2d(u, 2, 2).sum(), lambda u: F.local_response_norm(u, 5).sum()):
        found = np.attribute(f, x)
        assert abs(float(found.error)) <= 1e-10 * abs(float(found.value))
        assert torch.equal(found.value, f(x))
