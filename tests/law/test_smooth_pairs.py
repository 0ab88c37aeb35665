"""Smooth functions of two decomposed arguments, and quotients that are rounded: what a handful of numbers has on the
host, what many have by a formula of the derivatives, and what the general law gives, are one."""

import itertools
import math
import random
from fractions import Fraction

import numpy
import pytest
import torch

import npdec as np
from npdec._law.quadrature_nodes import gauss_legendre

DTYPES = [torch.float64, torch.float32]
INF, NAN = math.inf, math.nan
# Pairs of (value, residual): long and short paths, none, through zero, to zero, beyond the range, from nowhere.
PATHS = [
    (1.5, 0.5), (2.0, 0.7), (0.5, 3.0), (1.0, 1.0 + 1e-9), (2.0, 2.0), (-1.0, 2.0), (0.0, 1.0), (1.0, 0.0), (-0.0, 0.0),
    (0.0, 0.0), (-2.0, -0.5), (1e3, 1e-3), (1e-200, 1.0), (1e200, 1.0), (40.0, -40.0), (INF, 1.0), (1.0, INF),
    (NAN, 1.0), (INF, INF), (-1.5, -1.5),
]  # fmt: skip
SMOOTH = {
    "pow": torch.pow, "hypot": torch.hypot, "atan2": torch.atan2, "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2, "float_power": torch.float_power,
}  # fmt: skip
STEPS = {
    "floor_divide": lambda a, b: np.floor_divide(np.array(a), np.array(b)).tensor,
    "remainder": lambda a, b: np.remainder(np.array(a), np.array(b)).tensor,
    "fmod": lambda a, b: np.fmod(np.array(a), np.array(b)).tensor,
    "quotients": lambda a, b: np.divmod(np.array(a), np.array(b))[0].tensor,
    "rests": lambda a, b: np.divmod(np.array(a), np.array(b))[1].tensor,
}


def number(path, dtype, label):
    value, residual = (torch.tensor(end, dtype=dtype) for end in path)
    step = torch.where(value == residual, 0, value - residual)
    return np.DecomposedTensor(value, residual, torch.stack([step / 4, step * 3 / 4]), (label, label + "'"))


def general(f, *args):
    """The law where somebody looks on: no way is short."""
    with np.overrides.registered(torch.Tensor.addcdiv, lambda input, tensor1, tensor2, *, value=1: input):
        return f(*args)


def is_complete(x, tolerance):
    size = x.value.abs() + x.residual.abs()
    return bool(((x.residual + x.components.sum(0) - x.value).abs() <= tolerance * size).all())


def same(made, wanted, digits):
    assert type(made) is type(wanted)
    if type(made) is torch.Tensor:
        assert torch.equal(made, wanted) or made.isnan().all()
        return
    assert made.labels == wanted.labels
    for part in ("value", "residual"):
        numpy.testing.assert_array_equal(getattr(made, part), getattr(wanted, part))
        assert torch.equal(torch.signbit(getattr(made, part)), torch.signbit(getattr(wanted, part)))
    known = torch.isfinite(made.value) & torch.isfinite(made.residual)
    size = torch.where(known, made.value.abs() + made.residual.abs(), 1) + wanted.components.abs().sum(0).nan_to_num(0)
    eps = torch.finfo(made.value.dtype).eps
    if is_complete(made, digits * eps) and not is_complete(wanted, digits * eps):
        return  # powers from zero are integrated term by term, where nodes of quadrature meet slopes without end
    numpy.testing.assert_array_equal(made.components.isfinite(), wanted.components.isfinite())
    apart = (made.components - wanted.components).nan_to_num(0, 0, 0).abs()
    assert bool((apart <= digits * eps * size).all()), (made.components, wanted.components)


def numbers_have_what_the_law_gives(name, dtype, pairs):
    f, digits = (SMOOTH[name], 4000) if name in SMOOTH else (STEPS[name], 200)
    for a, b in pairs:
        x, y = number(a, dtype, "a"), number(b, dtype, "b")
        same(f(x, y), general(f, x, y), digits)


PAIRS = list(itertools.product(PATHS, PATHS))


@pytest.mark.parametrize("name", [*SMOOTH, *STEPS])
@pytest.mark.filterwarnings("ignore")
def test_numbers_have_what_the_law_gives(name):
    for dtype in DTYPES:
        numbers_have_what_the_law_gives(name, dtype, random.Random(name).sample(PAIRS, 12) + PAIRS[:3] + PAIRS[21:23])


@pytest.mark.long
@pytest.mark.parametrize("name", [*SMOOTH, *STEPS])
@pytest.mark.filterwarnings("ignore")
def test_numbers_at_all_ends_have_what_the_law_gives(name):
    """Each pair in one of the dtypes, each path in both, as the first and as the second."""
    apart = [(i // len(PATHS) + i) % 2 for i, _ in enumerate(PAIRS)]
    for turn, dtype in enumerate(DTYPES):
        of_dtype = [pair for pair, place in zip(PAIRS, apart, strict=True) if place == turn]
        numbers_have_what_the_law_gives(name, dtype, of_dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*SMOOTH, *STEPS])
def test_a_handful_and_many_have_what_numbers_have(name, dtype):
    f = {**SMOOTH, **STEPS}[name]
    rng = numpy.random.default_rng(5)
    ends = [torch.tensor(rng.uniform(0.3, 3, 40), dtype=dtype) for _ in range(4)]
    x, y = (np.decompose(v, baseline=r) for v, r in (ends[:2], ends[2:]))
    x, y = (t.tensor if hasattr(t, "tensor") else t for t in (x, y))
    many = f(x, y)
    eps = torch.finfo(dtype).eps
    for start in range(0, 40, 5):
        few = f(x[start : start + 5], y[start : start + 5])
        part = slice(start, start + 5)
        assert torch.equal(few.value, f(x.value[part], y.value[part]))
        assert torch.equal(few.residual, f(x.residual[part], y.residual[part]))
        apart = (few.components - many.components[:, start : start + 5]).abs()
        assert float(apart.max()) <= 100 * eps * float(few.components.abs().max() + few.value.abs().max())
        alone = f(x[start], y[start])
        apart = (alone.components - few.components[:, 0]).abs()
        assert float(apart.max()) <= 100 * eps * float(few.components.abs().max() + few.value.abs().max())


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13, 16])
def test_nodes_and_weights_are_rounded_once(n):
    pairs = gauss_legendre(n)
    nodes, weights = numpy.polynomial.legendre.leggauss(n)
    numpy.testing.assert_allclose([node for node, _ in pairs], (nodes + 1) / 2, rtol=1e-13)
    numpy.testing.assert_allclose([weight for _, weight in pairs], weights / 2, rtol=1e-13)
    for k in range(2 * n):
        exact = sum(Fraction(weight) * Fraction(node) ** k for node, weight in pairs)
        assert abs(exact * (k + 1) - 1) < 8e-16


@pytest.mark.parametrize("f", [torch.special.xlogy, torch.special.xlog1py])
def test_logarithms_with_a_factor_have_a_formula(f):
    """The components are means of the derivatives by a rule of one's own making, the trapezoidal one."""
    ends = [[0.5, 2.0, 0.25], [1.0, 1.0, 0.25], [0.5, 3.0, 0.75], [2.0, 1.0, 0.5]]
    x, r, y, s = (torch.tensor(end, dtype=torch.float64) for end in ends)
    t, u = np.decompose(x, baseline=r), np.decompose(y, baseline=s)
    made = f(t, u)
    shift = 0 if f is torch.special.xlogy else 1
    nodes = (torch.arange(100_000, dtype=torch.float64).unsqueeze(1) + 0.5) / 100_000
    at = r + nodes * (x - r), s + nodes * (y - s)
    by_t, by_u = torch.log(at[1] + shift).mean(0) * (x - r), (at[0] / (at[1] + shift)).mean(0) * (y - s)
    torch.testing.assert_close(made.components.sum(0), by_t + by_u, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(made.components[:3], torch.diag(by_t), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(made.c_sum(), made.value, rtol=1e-13, atol=1e-14)
