"""Slopes between close numbers, in closed forms: beside the same slopes in 60 digits."""

from __future__ import annotations

import pytest
import torch

import npdec as np
from npdec._decomposed.registry import rows

mpmath = pytest.importorskip("mpmath")

np.decompose(np.ones(1)) * 2  # the rules are entered with the first call
IN_MPMATH = {
    "exp2": lambda u: mpmath.mpf(2) ** u,
    "log2": lambda u: mpmath.log(u, 2),
    "rsqrt": lambda u: 1 / mpmath.sqrt(u),
    "square": lambda u: u * u,
    "reciprocal": lambda u: 1 / u,
}
INSIDE_ONE = {"atanh"}
FORMS = {
    function.__name__: row.close
    for function, row in rows.items()
    if row.close is not None and function is getattr(torch, getattr(function, "__name__", ""), None)
}
FORMS = {name: close for name, close in FORMS.items() if not name.startswith("arc")}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_close_slopes_keep_their_digits(name, dtype):
    exact = IN_MPMATH.get(name) or getattr(mpmath, name)
    start = torch.tensor([0.03, 0.11, 0.37, 0.52, 0.81, 0.9], dtype=dtype)
    if name not in INSIDE_ONE:
        start = torch.cat([start, torch.tensor([1.3, 2.2, 3.9, 7.1], dtype=dtype)])
    for relative in (0.05, 1e-3, 1e-6, -1e-2, -1e-5):
        r = start
        x = r * (1 + relative)
        step = x - r
        found = FORMS[name](x, r, step)
        with mpmath.workdps(60):
            for a, b, slope in zip(x.tolist(), r.tolist(), found.tolist(), strict=True):
                wanted = (exact(mpmath.mpf(a)) - exact(mpmath.mpf(b))) / (mpmath.mpf(a) - mpmath.mpf(b))
                size = max(abs(wanted), abs(mpmath.diff(exact, b)), mpmath.mpf(1) / 100)
                assert abs(slope - wanted) <= 12 * torch.finfo(dtype).eps * size, (name, a, b)


@pytest.mark.parametrize("name", FORMS)
def test_a_vanishing_step_gives_the_derivative(name):
    r = torch.tensor([0.03, 0.37, 0.81], dtype=torch.float64)
    u = r.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(getattr(torch, name)(u).sum(), u)
    torch.testing.assert_close(FORMS[name](r, r, torch.full_like(r, 1e-154)), wanted, rtol=4e-15, atol=0)
