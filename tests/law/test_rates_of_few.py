"""Slopes between close numbers that have no closed form, of a handful: beside autograd, differences of 60 digits, and
the slopes of many."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._decomposed.registry import rate_of, rows

np.decompose(np.ones(1)) * 2  # the rules are entered with the first call
WITH_RATE = {
    function.__name__: function
    for function, row in rows.items()
    if row.rate is not None
    and function in {getattr(owner, getattr(function, "__name__", ""), None) for owner in (torch, torch.special, F)}
}
WITHOUT = {"mish": F.mish, "bessel_j0": torch.special.bessel_j0, "i1": torch.special.i1, "sinc": torch.sinc}
DTYPES = [torch.float64, torch.float32]


@pytest.mark.quick
@pytest.mark.parametrize("name", WITH_RATE)
def test_rates_are_those_of_autograd(name):
    u = torch.tensor([0.03, 0.11, 0.37, 0.52, 0.81, 0.97], dtype=torch.float64, requires_grad=True)
    ends = [u] if name in ("erfinv", "logit", "ndtri", "entr") else [u, u + 3, u + 30]
    if name not in ("erfinv", "logit", "ndtri", "entr", "lgamma", "gammaln", "digamma", "psi"):
        ends += [-u, 0 * u]
    for at in ends:
        at = at.detach().requires_grad_()
        (wanted,) = torch.autograd.grad(WITH_RATE[name](at).sum(), at)
        torch.testing.assert_close(rate_of(WITH_RATE[name])(at.detach()), wanted, rtol=1e-12, atol=1e-300)


def decomposed(count: int, dtype: torch.dtype) -> np.DecomposedTensor:
    r = torch.linspace(0.11, 0.83, count, dtype=dtype)
    x = r * torch.tensor([1 + 1e-5, 1.0, 1 - 1e-9, 1.02] * 100, dtype=dtype)[:count]
    moves = torch.stack([(x - r) * 0.25, (x - r) * 0.75])
    return np.DecomposedTensor(x, r, moves, ("a", "b"))


@pytest.mark.quick
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*WITH_RATE, *WITHOUT])
def test_a_handful_has_the_slopes_of_many(name, dtype):
    f, few = {**WITH_RATE, **WITHOUT}[name], decomposed(8, dtype)
    made = f(few)
    with np.check_completeness():  # the general way
        general = f(few)
    many = f(np.DecomposedTensor(*[torch.cat([t] * 40, -1) for t in (few.value, few.residual, few.components)], "ab"))
    assert torch.equal(made.value, f(few.value))
    assert torch.equal(made.residual, f(few.residual))
    digits = (1e-12, 1e-22) if dtype is torch.float64 else (2e-6, 1e-12)
    torch.testing.assert_close(made.components, general.components, rtol=digits[0], atol=digits[1])
    torch.testing.assert_close(made.components, many.components[:, :8], rtol=digits[0], atol=digits[1])


@pytest.mark.quick
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*WITH_RATE, *WITHOUT])
def test_slopes_keep_their_digits(name, dtype):
    mpmath = pytest.importorskip("mpmath")
    exact = {
        "erf": mpmath.erf,
        "erfc": mpmath.erfc,
        "softplus": lambda u: mpmath.log1p(mpmath.exp(u)),
        "i0": lambda u: mpmath.besseli(0, u),
        "lgamma": mpmath.loggamma,
        "ndtr": mpmath.ncdf,
        "silu": lambda u: u / (1 + mpmath.exp(-u)),
        "bessel_j0": lambda u: mpmath.besselj(0, u),
        "mish": lambda u: u * mpmath.tanh(mpmath.log1p(mpmath.exp(u))),
    }.get(name)
    if exact is None:
        pytest.skip("mpmath has no such function")
    x = decomposed(8, dtype)
    made = {**WITH_RATE, **WITHOUT}[name](x).components.sum(0).tolist()
    with mpmath.workdps(60):
        for a, b, found in zip(x.value.tolist(), x.residual.tolist(), made, strict=True):
            wanted = exact(mpmath.mpf(a)) - exact(mpmath.mpf(b))
            assert abs(found - wanted) <= 200 * torch.finfo(dtype).eps * abs(wanted), (name, a, b)


@pytest.mark.quick
def test_pieces_without_a_step_have_their_derivatives():
    x = torch.tensor([0.5, -0.5, 0.0, 0.7], dtype=torch.float64)
    moves = torch.tensor([[1.0, 1.0, 1.0, 0.1], [-1.0, -1.0, -1.0, 0.1]], dtype=torch.float64)
    made = torch.relu(np.DecomposedTensor(x, x - moves.sum(0), moves, ("a", "b")))
    torch.testing.assert_close(made.components, moves * torch.tensor([1.0, 0.0, 0.0, 1.0], dtype=torch.float64))


@pytest.mark.quick
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_spacing_moves_between_powers_of_two(dtype):
    x = np.decompose(np.array([0.7, 1.2, 5.0], dtype=dtype), baseline=np.array([0.6, 0.9, 5.5], dtype=dtype))
    made = np.spacing(x)
    tensor = made.tensor
    np.testing.assert_array_equal(np.asarray(tensor.value), np.spacing(np.asarray(x.tensor.value)))
    moved = tensor.value - tensor.residual
    torch.testing.assert_close(tensor.components.sum(0), moved, rtol=1e-6, atol=0)
    assert moved[1] > 0
    assert moved[0] == moved[2] == 0
