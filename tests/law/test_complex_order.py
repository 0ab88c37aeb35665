"""The order of complex numbers against the path integral, which NumPy computes.

The integral is that of smooth functions of which the order is the limit: real parts decide, and imaginary ones ten
thousand times less; and the step of what decides is a steep logistic function.
"""

from __future__ import annotations

import itertools
import warnings

import numpy
import pytest
import torch

import npdec as np
from tiers import fewer

SLIGHT, EQUAL, STEEP = 1e-4, 1e-8, 1e-13  # of imaginary parts, of whether equal ones count, of the logistic function
NODES, WEIGHTS = numpy.polynomial.legendre.leggauss(20)
COUNT = 3  # components
EXTREMA = {"maximum": 1, "fmax": 1, "minimum": -1, "fmin": -1}
ORDERS = {"greater": (1, -EQUAL), "greater_equal": (1, EQUAL), "less": (-1, -EQUAL), "less_equal": (-1, EQUAL)}


def path(center):
    """Distances from a place, with weights, over the path from −center to 1 − center: in panels that halve towards the
    place."""
    edges = [-center, 1 - center]
    if 0 <= center <= 1:
        edges = [0.0, *[end / 2**k for k in range(60) for end in edges]]
    panels = itertools.pairwise(sorted(edges))
    return numpy.concatenate([[a + (b - a) * (1 + NODES) / 2, WEIGHTS * (b - a) / 2] for a, b in panels], 1)


def integrals(x, r, parts, direction, shift=0.0):
    """For a pair of numbers `x` (2,), their baselines and their components (C, 2), the contributions to the one that
    leads, and to whether the first one does: where it is greater (`direction` 1), or less (−1)."""
    start, end = (direction * (one[0] - one[1]) for one in (r, x))
    low, high = (gap.real + SLIGHT * gap.imag + shift for gap in (start, end))
    center = low / (low - high) if high != low else 2.0
    u, weights = path(center)
    height = (high - low) * u if high != low else numpy.full_like(u, low)
    leads = 1 / (1 + numpy.exp(-numpy.clip(height / STEEP, -600, 600)))
    toward = direction * (parts[:, :1] - parts[:, 1:])
    rate = leads * (1 - leads) / STEEP * (toward.real + SLIGHT * toward.imag)
    gap = direction * (start + (u + center) * (end - start))
    chosen = leads * parts[:, :1] + (1 - leads) * parts[:, 1:] + rate * gap
    return (chosen * weights).sum(1), (rate * weights).sum(1)


def drawn(seed, dtype, count=60):
    """Pairs of numbers (2, n), their baselines, and their components (C, 2, n). The numbers are few, so that some are
    equal, and so are real parts: of a quarter of the pairs all along, and of half of these imaginary parts as well.
    Where real parts alone are equal all along, so are their components: they decide nothing."""
    source = numpy.random.default_rng(seed)
    numbers = source.integers(-2, 3, (2, 2, 2, count)) / 4
    free = source.integers(-4, 5, (COUNT - 1, 2, 2, count)) / 8
    numbers[0, :, 1, : count // 4] = numbers[0, :, 0, : count // 4]
    numbers[1, :, 1, : count // 8] = numbers[1, :, 0, : count // 8]
    alike = (numbers[0, :, 0] == numbers[0, :, 1]).all(0) & (numbers[1, :, 0] != numbers[1, :, 1]).any(0)
    free[:, 0, 1, alike] = free[:, 0, 0, alike]
    (x, r), free = numbers[0] + 1j * numbers[1], free[:, 0] + 1j * free[:, 1]
    return [a.astype(dtype) for a in (x, r, numpy.concatenate([free, (x - r - free.sum(0))[None]]))]


def held(x, r, parts, moving):
    """The same with that one of a pair plain which is not moving."""
    still = ~numpy.array([which in moving for which in range(2)])[:, None]
    return x, numpy.where(still, x, r), numpy.where(still, 0, parts)


def pair(x, r, parts, moving):
    """Both as npdec's arrays, decomposed where they are moving."""
    made = []
    for which in range(2):
        tensors = [torch.from_numpy(a[..., which, :].copy()) for a in (x, r, parts)]
        made.append(np.asarray(np.DecomposedTensor(*tensors, "abc") if which in moving else tensors[0]))
    return made


def found(x):
    return numpy.asarray(x.components) if x.is_decomposed else numpy.zeros((COUNT, *x.shape))


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("moving", [(0, 1), (0,), (1,)], ids=["both", "first", "second"])
@pytest.mark.parametrize("name", EXTREMA)
def test_the_greater_and_the_lesser_of_two(name, moving, dtype):
    x, r, parts = held(*drawn(len(moving) + moving[0], dtype), moving)
    made = getattr(np, name)(*pair(x, r, parts, moving))
    for end, given in ((made.value, x), (made.residual, r)):
        numpy.testing.assert_array_equal(numpy.asarray(end), getattr(numpy, name)(*given))
    assert made.components.dtype == dtype
    wanted = [integrals(x[:, i], r[:, i], parts[..., i], EXTREMA[name])[0] for i in range(x.shape[1])]
    numpy.testing.assert_allclose(found(made), numpy.stack(wanted, 1), rtol=0, atol=2e-3)
    missing = numpy.asarray(made.value - made.residual) - found(made).sum(0)
    assert abs(missing).max() <= 16 * numpy.finfo(dtype).eps


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("name", ORDERS)
def test_comparisons(name, dtype):
    x, r, parts = drawn(5, dtype)
    with warnings.catch_warnings():  # of a jump that is nobody's: what moves across it does not move on the whole
        warnings.simplefilter("ignore", np.exceptions.DecompositionWarning)
        made = getattr(np, name)(*pair(x, r, parts, (0, 1)))
    for end, given in ((made.value, x), (made.residual, r)):
        numpy.testing.assert_array_equal(numpy.asarray(end), getattr(numpy, name)(*given))
    wanted = [integrals(x[:, i], r[:, i], parts[..., i], *ORDERS[name])[1] for i in range(x.shape[1])]
    numpy.testing.assert_allclose(found(made), numpy.stack(wanted, 1), rtol=0, atol=2e-2)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", EXTREMA)
def test_inputs_that_broadcast_in_both_modes(name, mode):
    (x, y), (rx, ry), _ = drawn(7, "complex128")
    x, rx, y, ry = x[-6:], rx[-6:], y[-3:, None], ry[-3:, None]
    wanted = numpy.zeros(6), numpy.zeros((3, 1))
    for i, j in itertools.product(range(6), range(3)):
        ends = numpy.array([[x[i], y[j, 0]], [rx[i], ry[j, 0]]])
        made = integrals(*ends, numpy.diag(ends[0] - ends[1]), EXTREMA[name])[0].imag
        wanted[0][i] += made[0]
        wanted[1][j] += made[1]
    given, base = (tuple(map(np.array, pair)) for pair in ((x, y), (rx, ry)))
    made = np.attribute(lambda a, b: getattr(np, name)(a, b).imag.sum(), *given, baseline=base, mode=mode)
    for got, want in zip(made.attribution, wanted, strict=True):
        numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=0, atol=1e-2)


@pytest.mark.parametrize("name", EXTREMA)
def test_what_is_not_finite_is_beside_what_is(name):
    """A number on a line with an end that is not one is chosen as by a condition; others are not concerned."""
    x, r, parts = drawn(9, "complex128", 6)
    x[0, 1], r[1, 3], x[1, 5] = numpy.nan, complex(numpy.inf, 1), complex(0, numpy.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (np.exceptions.DecompositionWarning, RuntimeWarning))
        made = getattr(np, name)(*pair(x, r, parts, (0, 1)))
        for end, given in ((made.value, x), (made.residual, r)):
            numpy.testing.assert_array_equal(numpy.asarray(end), getattr(numpy, name)(*given))
    for i in (0, 2, 4):
        wanted = integrals(x[:, i], r[:, i], parts[..., i], EXTREMA[name])[0]
        numpy.testing.assert_allclose(found(made)[:, i], wanted, rtol=0, atol=2e-3)


@pytest.mark.parametrize("compare", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
@pytest.mark.parametrize("dtype", ["complex128", "complex64", "float64", "float32"])
def test_comparisons_of_nothing_count_nothing(dtype, compare):
    x = np.decompose(np.zeros((2, 0), dtype), labels=[])
    mask = getattr(np, compare)(x, np.ones((2, 1), dtype))
    assert mask.components.dtype == np.zeros(0, dtype).real.dtype
    for made in (np.any(mask), np.all(mask), np.sum(mask), mask.any(1), mask | mask):
        assert numpy.asarray(made.value).tolist() == numpy.asarray(made.residual).tolist()
        assert not numpy.asarray(made.components).any()


# -- the greatest and the least of a row -------------------------------------------------------------------------------

REDUCTIONS = {"max": 1, "min": -1, "nanmax": 1, "nanmin": -1, "ptp": 0}
SOFT, LESS = 1e-11, 1e-6  # of the softened maximum, whose crossings are not known as distances: STEEP and SLIGHT


def rows_of(seed, dtype, count=24, n=4):
    """Rows of n numbers (n, count), their baselines, and components (C, n, count). Of some rows two numbers have one
    real part at the baseline, of some at the value, and of some all along; a few of these are one number."""
    source = numpy.random.default_rng(seed)
    numbers = source.uniform(-1, 1, (2, 2, n, count))
    free = source.uniform(-1, 1, (2, COUNT - 1, n, count))
    third = count // 4
    numbers[0, 0, 1, :third] = numbers[0, 0, 0, :third]
    numbers[0, 1, 1, third : 2 * third] = numbers[0, 1, 0, third : 2 * third]
    alike = slice(2 * third, 3 * third)
    numbers[0, :, 1, alike], free[0, :, 1, alike] = numbers[0, :, 0, alike], free[0, :, 0, alike]
    same = slice(2 * third, 2 * third + 2)
    numbers[1, :, 1, same], free[1, :, 1, same] = numbers[1, :, 0, same], free[1, :, 0, same]
    (x, r), free = numbers[0] + 1j * numbers[1], free[0] + 1j * free[1]
    x, r, free = (a.astype(dtype) for a in (x, r, free))
    return x, r, numpy.concatenate([free, (x - r - free.sum(0))[None]])


def of_row(x, r, parts, direction):
    """The contributions to the greatest (`direction` 1) or the least (−1) of a row, as of a softened one."""
    x, r, parts = (a.astype(complex) for a in (x, r, parts))
    high, low = (direction * (end.real + LESS * end.imag) for end in (x, r))
    edges = {0.0, 1.0}
    for i, j in itertools.combinations(range(len(x)), 2):
        gaps = low[i] - low[j], high[i] - high[j]
        if gaps[0] != gaps[1]:
            center = gaps[0] / (gaps[0] - gaps[1])
            near = [center, *[center + sign / 2.0**k for k in range(50) for sign in (-1, 1)]]
            edges |= {t for t in near if 0 < t < 1}
    panels = itertools.pairwise(sorted(edges))
    t, weights = numpy.concatenate([[a + (b - a) * (1 + NODES) / 2, WEIGHTS * (b - a) / 2] for a, b in panels], 1)
    lines, heights = r + t[:, None] * (x - r), low + t[:, None] * (high - low)
    lead = numpy.exp((heights - heights.max(1, keepdims=True)) / SOFT)
    lead /= lead.sum(1, keepdims=True)
    toward = direction * (parts.real + LESS * parts.imag)  # (C, n)
    rate = lead * (toward[:, None] - (lead * toward[:, None]).sum(-1, keepdims=True)) / SOFT
    return ((lead * parts[:, None] + rate * lines).sum(-1) * weights).sum(1)


@pytest.mark.parametrize("dtype", ["complex128", pytest.param("complex64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_greatest_and_the_least_of_rows(name, dtype):
    x, r, parts = rows_of(len(name), dtype, 4 * fewer(6, 3))
    d = np.asarray(np.DecomposedTensor(*map(torch.from_numpy, (x, r, parts)), "abc"))
    made = getattr(np, name)(d, axis=0)
    for end, given in ((made.value, x), (made.residual, r)):
        numpy.testing.assert_array_equal(numpy.asarray(end), getattr(numpy, name)(given, axis=0))
    assert made.components.dtype == dtype
    missing = numpy.asarray(made.value - made.residual) - found(made).sum(0)
    # A share of a jump is as exact as the difference of slopes that it is divided by.
    assert abs(missing).max() <= 64 * numpy.finfo(dtype).eps * (1 + abs(found(made)).max())
    for i in range(x.shape[1]):
        given = x[:, i], r[:, i], parts[..., i]
        direction = REDUCTIONS[name]
        wanted = of_row(*given, direction) if direction else of_row(*given, 1) - of_row(*given, -1)
        size = 1 + abs(wanted).max()
        numpy.testing.assert_allclose(found(made)[:, i], wanted, rtol=0, atol=1e-3 * size, err_msg=f"row {i}")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["max", "min"])
def test_rows_in_reverse_mode_and_along_several_axes(name):
    x, r, _ = rows_of(3, "complex128", 12, 6)
    x, r = x.reshape(2, 3, 12), r.reshape(2, 3, 12)
    given, base = np.array(x), np.array(r)

    def f(a):
        y = getattr(np, name)(a, axis=(0, 1), keepdims=True)
        return (y.imag * np.arange(1.0, 13.0)).sum() + y.real.sum()

    forward = np.attribute(f, given, baseline=base, mode="forward", chunk_size=17)
    numpy.testing.assert_allclose(np.attribute(f, given, baseline=base).attribution, forward.attribution, atol=1e-11)
    for i in range(12):
        ends = x[..., i].reshape(-1), r[..., i].reshape(-1)
        wanted = of_row(*ends, numpy.diag(ends[0] - ends[1]), {"max": 1, "min": -1}[name])
        wanted = wanted.imag * (i + 1) + wanted.real
        got = numpy.asarray(forward.attribution)[..., i].reshape(-1)
        numpy.testing.assert_allclose(got, wanted, rtol=0, atol=1e-3 * (1 + abs(wanted).max()))


def test_rows_that_are_not_finite_are_beside_rows_that_are():
    x, r, parts = rows_of(9, "complex128", 4)
    x[1, 1], r[0, 2] = numpy.nan, complex(numpy.inf, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (np.exceptions.DecompositionWarning, RuntimeWarning))
        made = np.max(np.asarray(np.DecomposedTensor(*map(torch.from_numpy, (x, r, parts)), "abc")), axis=0)
    numpy.testing.assert_array_equal(numpy.asarray(made.value), numpy.max(x, axis=0))
    for i in (0, 3):
        wanted = of_row(x[:, i], r[:, i], parts[..., i], 1)
        numpy.testing.assert_allclose(found(made)[:, i], wanted, rtol=0, atol=1e-3 * (1 + abs(wanted).max()))
