"""Slopes between close numbers, in closed forms: beside the same slopes in 60 digits."""

from __future__ import annotations

import pytest
import torch

import npdec as np
from npdec._decomposed.registry import rows
from npdec._impl import elementwise_math_impl, slopes_impl
from npdec._law.close_of_few import CLOSE, exponential_between, power_between

mpmath = pytest.importorskip("mpmath")

np.decompose(np.ones(1)) * 2  # the rules are entered with the first call
IN_MPMATH = {
    "exp2": lambda u: mpmath.mpf(2) ** u,
    "log2": lambda u: mpmath.log(u, 2),
    "rsqrt": lambda u: 1 / mpmath.sqrt(u),
    "square": lambda u: u * u,
    "reciprocal": lambda u: 1 / u,
}
INSIDE_ONE, BEYOND_ONE = {"atanh", "asin", "acos"}, {"acosh"}
FORMS = {
    function.__name__: row.close
    for function, row in rows.items()
    if row.close is not None and function is getattr(torch, getattr(function, "__name__", ""), None)
}
FORMS = {name: close for name, close in FORMS.items() if not name.startswith("arc")}
FORMS["cbrt"] = slopes_impl.cbrt


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_close_slopes_keep_their_digits(name, dtype):
    exact = IN_MPMATH.get(name) or getattr(mpmath, name)
    start = torch.tensor([0.03, 0.11, 0.37, 0.52, 0.81, 0.9], dtype=dtype)
    if name not in INSIDE_ONE:
        start = torch.cat([start, torch.tensor([1.3, 2.2, 3.9, 7.1], dtype=dtype)])
    start = start + 1 if name in BEYOND_ONE else start
    for relative in (0.05, 1e-3, 1e-6, -1e-2, -1e-5):
        r = start
        x = r * (1 + relative)
        step = x - r
        found = FORMS[name](x, r, step)
        one = [CLOSE[FORMS[name]](*ends) for ends in zip(x.tolist(), r.tolist(), step.tolist(), strict=True)]
        with mpmath.workdps(60):
            for a, b, slope, of_one in zip(x.tolist(), r.tolist(), found.tolist(), one, strict=True):
                wanted = (exact(mpmath.mpf(a)) - exact(mpmath.mpf(b))) / (mpmath.mpf(a) - mpmath.mpf(b))
                size = max(abs(wanted), abs(mpmath.diff(exact, b)), mpmath.mpf(1) / 100)
                assert abs(slope - wanted) <= 12 * torch.finfo(dtype).eps * size, (name, a, b)
                assert abs(of_one - wanted) <= 12 * torch.finfo(dtype).eps * size, (name, a, b)


@pytest.mark.parametrize("name", FORMS)
def test_a_vanishing_step_gives_the_derivative(name):
    r = torch.tensor([0.03, 0.37, 0.81], dtype=torch.float64) + (name in BEYOND_ONE)
    u = r.clone().requires_grad_()
    f = getattr(torch, name, None) or getattr(elementwise_math_impl, name)
    (wanted,) = torch.autograd.grad(f(u).sum(), u)
    torch.testing.assert_close(FORMS[name](r, r, torch.full_like(r, 1e-154)), wanted, rtol=4e-15, atol=0)
    of_one = torch.tensor([CLOSE[FORMS[name]](b, b, 1e-154) for b in r.tolist()], dtype=torch.float64)
    torch.testing.assert_close(of_one, wanted, rtol=4e-15, atol=0)


@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, -1, -2, 7, 1 / 3])
def test_powers_of_close_numbers_keep_their_digits(exponent):
    for b in (0.03, 0.7, 1.0, 13.0):
        for relative in (0.02, 1e-3, -1e-6, 1e-12):
            a = b * (1 + relative)
            with mpmath.workdps(60):
                x, r, p = mpmath.mpf(a), mpmath.mpf(b), mpmath.mpf(exponent)
                wanted = (x**p - r**p) / (x - r)
                assert abs(power_between(exponent, a, b, a - b) / wanted - 1) < 4e-15
                wanted = (r**x - r**r) / (x - r) if b != 1 else mpmath.mpf(0)
                assert abs(exponential_between(b, a, b, a - b) - wanted) <= 4e-15 * abs(wanted)
