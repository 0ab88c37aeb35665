"""Closed forms of the law against exact integrals: products, determinants, angles, quotients; and infinite changes."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy
import pytest
import torch

import npdec as np
import tiers

INF = math.inf


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def decomposed(x, r):
    return np.decompose(np.array(x), baseline=np.array(r))


def components(x) -> numpy.ndarray:
    return x.components.tensor.numpy()


# -- products ----------------------------------------------------------------------------------------------------------


def exact_product(x, r) -> list[float]:
    """The law's integrals for the product of all factors, in rational numbers."""
    found = []
    for j in range(len(x)):
        polynomial = [Fraction(1)]
        for k in range(len(x)):
            if k != j:
                a, b = Fraction(r[k]), Fraction(x[k]) - Fraction(r[k])
                longer = [a * c for c in polynomial] + [Fraction(0)]
                for i, c in enumerate(polynomial):
                    longer[i + 1] += b * c
                polynomial = longer
        mean = sum(c / (i + 1) for i, c in enumerate(polynomial))
        found.append(float(mean * (Fraction(x[j]) - Fraction(r[j]))))
    return found


def factors(k: int, zeros: int = 0) -> tuple[list[float], list[float]]:
    source = numpy.random.default_rng(k)
    x, r = source.normal(0.5, 1.3, k), source.normal(0, 1.3, k)
    x[1 : 1 + zeros] = 0.0
    r[2 : 2 + zeros] = 0.0
    return x.tolist(), r.tolist()


@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 21])
def test_products(k, zeros):
    x, r = factors(k, zeros)
    exact = exact_product(x, r)
    y = np.prod(decomposed(x, r))
    numpy.testing.assert_allclose(components(y), exact, rtol=0, atol=1e-12 * max(map(abs, exact)) or 0)
    runs = np.cumprod(decomposed(x, r))
    numpy.testing.assert_allclose(components(runs)[:, -1], exact, rtol=0, atol=1e-12 * max(map(abs, exact)) or 0)
    if k > 2:
        part = exact_product(x[:3], r[:3])
        numpy.testing.assert_allclose(components(runs)[:3, 2], part, rtol=0, atol=1e-13 * max(map(abs, part)) or 0)
        assert not components(runs)[3:, 2].any()


def test_products_of_hundreds_of_factors():
    source = numpy.random.default_rng(0)
    x = source.uniform(0.5, 2, 3000)
    r = x * source.uniform(0.995, 1.004, 3000)
    y = np.prod(decomposed(x, r))
    assert abs(np.completeness(y)) <= 1e-11 * abs(y.value)
    # Factors that all move by one ratio have equal shares.
    y = np.prod(decomposed(numpy.full(500, 1.01), numpy.full(500, 0.99)))
    numpy.testing.assert_allclose(components(y), float(y.value - y.residual) / 500, rtol=1e-11)


def test_products_whose_parts_leave_the_range():
    x, r = [1e200, 1e150, 1e-200, -3e-160], [1e190, 2e150, 1e-190, 3e-100]
    numpy.testing.assert_allclose(components(np.prod(decomposed(x, r))), exact_product(x, r), rtol=1e-13)
    single = np.decompose(np.array([1e30, 1e-30, 1e20], "float32"), baseline=np.array([2e30, 2e-30, 1e19], "float32"))
    exact = exact_product(single.value.tolist(), single.residual.tolist())
    numpy.testing.assert_allclose(components(np.prod(single)), exact, rtol=1e-5)


def test_products_along_axes():
    source = numpy.random.default_rng(3)
    x, r = source.normal(size=(2, 3, 4)), source.normal(size=(2, 3, 4))
    y = np.prod(decomposed(x, r), axis=(0, 2), keepdims=True)
    assert y.shape == (1, 3, 1)
    for i in range(3):
        exact = exact_product(x[:, i].ravel(), r[:, i].ravel())
        got = components(y)[:, 0, i, 0].reshape(2, 3, 4)[:, i].ravel()
        numpy.testing.assert_allclose(got, exact, rtol=1e-10)
    assert np.prod(decomposed(numpy.zeros((2, 0)), 0.0), axis=1).tolist() == [1, 1]


# -- determinants ------------------------------------------------------------------------------------------------------


def cofactors(a: numpy.ndarray) -> numpy.ndarray:
    found = numpy.zeros_like(a)
    for i, j in numpy.ndindex(a.shape):
        found[i, j] = (-1) ** (i + j) * numpy.linalg.det(numpy.delete(numpy.delete(a, i, 0), j, 1))
    return found


@pytest.mark.parametrize("rank", [6, 5, 4, 3])
def test_determinants_of_singular_matrices(rank):
    """From zero, the cofactors grow with t ** (n - 1)."""
    source = numpy.random.default_rng(rank)
    a = source.integers(-3, 4, (6, rank)).astype(float) @ source.integers(-3, 4, (rank, 6)).astype(float)
    y = np.linalg.det(np.decompose(np.array(a)))
    scale = numpy.linalg.norm(a) ** 6
    numpy.testing.assert_allclose(components(y).reshape(6, 6), cofactors(a) * a / 6, rtol=0, atol=1e-13 * scale)


def test_determinants_by_rows():
    """Only one row moves: the determinant is linear in it."""
    source = numpy.random.default_rng(1)
    a = source.normal(size=(5, 5))
    b = a.copy()
    b[2] = source.normal(size=5)
    y = np.linalg.det(decomposed(a, b))
    numpy.testing.assert_allclose(components(y).reshape(5, 5), cofactors(a) * (a - b), atol=1e-12)


@pytest.mark.parametrize("n", [3, 30, 90])
def test_determinants_are_complete(n):
    source = numpy.random.default_rng(n)
    a, b = source.normal(size=(2, n, n)) / n**0.5 + numpy.eye(n) * 2
    y = np.linalg.det(np.decompose(np.array(a), axis=0, baseline=np.array(b)))
    assert abs(np.completeness(y)) <= 1e-11 * max(abs(y.value), abs(y.residual))


def test_columns_that_complete_a_basis():
    """They stay orthogonal along the path: to first order the components are those of a rotation."""
    source = numpy.random.default_rng(4)
    a, step = source.normal(size=(2, 5, 2))
    x = np.decompose(np.array(a + 1e-6 * step), baseline=np.array(a))
    q, r = np.linalg.qr(x, mode="complete")
    plain, base = (numpy.linalg.qr(m, mode="complete")[0] for m in (a + 1e-6 * step, a))
    numpy.testing.assert_allclose(components(q).sum(0), plain - base, atol=1e-14)
    each = components(q)
    numpy.testing.assert_allclose(base.T @ each, -(each.mT @ base), atol=1e-11)
    assert (np.abs(np.completeness(r)) < 1e-14).all()


@pytest.mark.parametrize(
    ("function", "text"), [(np.linalg.inv, "Singular matrix"), (np.linalg.cholesky, "Matrix is not positive definite")]
)
def test_a_singular_baseline_says_so(function, text):
    with pytest.raises(
        np.linalg.LinAlgError, match=rf"{text} \(the matrix of the baseline: decompose with another one\)"
    ):
        function(np.decompose(np.eye(2)))


def matrices(kind: str, seed: int):
    source = numpy.random.default_rng(seed)
    a, step = source.normal(size=(2, 4, 4))
    if kind == "symmetric":
        a, step = a + a.T + numpy.diag([0.0, 6, 12, 18]), 0.3 * (step + step.T)
    elif kind == "apart":
        a, step = a + numpy.diag([0.0, 5, 10, 20]), 0.1 * step
    else:
        a, step = a[:, : int(kind)], 0.1 * step[:, : int(kind)]
    return np.decompose(np.array(a), baseline=np.array(a + step)), a + step


def rebuilt(name: str, x):
    if name == "eigh":
        w, v = np.linalg.eigh(x)
        return (v * w) @ v.T
    if name == "eig":
        w, v = np.linalg.eig(x)
        return v @ (w[:, None] * np.linalg.inv(v))
    if name == "qr":
        q, r = np.linalg.qr(x)
        return q @ r
    u, s, vh = np.linalg.svd(x, full_matrices=name == "full svd")
    return (u[:, : len(s)] * s) @ vh


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("eigh", "symmetric"),
        ("eig", "apart"),
        ("svd", "3"),
        ("full svd", "2"),
        ("full svd", "3"),
        ("qr", "3"),
        ("qr", "4"),
    ],
)
def test_factors_keep_their_signs_and_order_along_the_path(name, kind, seed):
    """LAPACK's change anywhere: warned of are only those that are others at the baseline (see test_equal_spectra.py),
    and the product of the residuals is the baseline."""
    x, base = matrices(kind, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.DecompositionWarning)
        warnings.filterwarnings("ignore", ".*at the baseline it would choose otherwise", np.DecompositionWarning)
        y = rebuilt(name, x)
    numpy.testing.assert_allclose(y.residual.tensor.numpy().real, base, atol=1e-12)
    assert float(np.abs(np.completeness(y)).max()) < 1e-11


# -- angles ------------------------------------------------------------------------------------------------------------


def integral_of_angle(z: complex, r: complex) -> tuple[float, float]:
    """By y and by x, from many trapezoids of the derivative."""
    t = numpy.linspace(0, 1, 200_001)
    p = r + t * (z - r)
    square = abs(p) ** 2
    return (numpy.trapezoid(p.real / square, t) * (z - r).imag, numpy.trapezoid(-p.imag / square, t) * (z - r).real)


ENDS = [(1 + 2j, 0.5 - 1j), (3 + 1e-9j, 3 + 0j), (-1 + 1j, 2 + 0.5j), (1e-8 + 1j, 1 + 1j), (1 + 1j, 1 + 1j)]


@pytest.mark.parametrize(("z", "r"), ENDS)
def test_angles(z, r):
    y, x = np.decompose((np.array(z.imag), np.array(z.real)), baseline=(r.imag, r.real))
    got = components(np.arctan2(y, x))
    numpy.testing.assert_allclose(got, integral_of_angle(z, r), rtol=1e-7, atol=1e-15)
    numpy.testing.assert_allclose(components(np.angle(decomposed([z], [r])))[0], got.sum(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("z", "r"), [(-1 + 0.5j, -2 - 1j), (-1 - 0.5j, -2 + 1j), (-1 - 3j, 1 + 4j), (-1 - 1e-3j, -1 + 0j)]
)
def test_angles_jump_by_y_where_the_path_crosses_the_cut(z, r):
    y, x = np.decompose((np.array(z.imag), np.array(z.real)), baseline=(r.imag, r.real))
    angle = np.arctan2(y, x)
    by_y, by_x = components(angle)
    without = integral_of_angle(z, r)
    jump = 2 * math.pi * numpy.sign(z.imag - r.imag)
    assert by_x == pytest.approx(without[1], rel=1e-7)
    assert by_y == pytest.approx(without[0] + jump, rel=1e-7)
    assert np.completeness(angle) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("z", [1 + 1j, -1 + 2j, -3 - 1j, 2j, -1 + 0j])
@pytest.mark.parametrize("r", [0j, None])
def test_angles_of_paths_through_the_origin(z, r):
    """The change is shared by the two orders in which x and y can move."""
    r = complex(-z.real / 2 + 0.0, -z.imag / 2 + 0.0) if r is None else r
    y, x = np.decompose((np.array(z.imag), np.array(z.real)), baseline=(r.imag, r.real))
    first, last = math.atan2(r.imag, r.real), math.atan2(z.imag, z.real)
    y_alone, x_alone = math.atan2(z.imag, r.real), math.atan2(r.imag, z.real)
    shares = (y_alone - first + last - x_alone) / 2, (x_alone - first + last - y_alone) / 2
    numpy.testing.assert_allclose(components(np.arctan2(y, x)), shares, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_angles_of_any_scale(scale):
    z, r = numpy.array([1 + 2j, -1 + 1j]), numpy.array([0.5 - 1j, 2 + 0.5j])
    (y, x), (b, a) = ((scale * p.imag, scale * p.real) for p in (z, r))
    got = components(np.arctan2(*np.decompose((np.array(y), np.array(x)), baseline=(np.array(b), np.array(a)))))
    want = components(
        np.arctan2(*np.decompose((np.array(z.imag), np.array(z.real)), baseline=(np.array(r.imag), np.array(r.real))))
    )
    numpy.testing.assert_allclose(got, want, rtol=1e-12)


def test_angles_of_numbers_far_apart():
    """Each coordinate, and that of the baseline, zero or within fourteen powers of ten."""
    source = numpy.random.default_rng(0)
    ends = numpy.where(source.random((4, 500)) < 0.25, 0, source.choice([-1, 1], (4, 500)))
    y, x, b, a = ends * 10 ** source.uniform(-7, 7, ends.shape)
    angle = np.arctan2(*np.decompose((np.array(y), np.array(x)), baseline=(np.array(b), np.array(a))))
    missing = numpy.asarray(angle.value) - numpy.asarray(angle.residual) - components(angle).sum(0)
    assert numpy.all(abs(missing) <= 1e-14 * (1 + abs(components(angle)).sum(0)))
    numpy.testing.assert_allclose(numpy.asarray(angle.residual), numpy.arctan2(b, a), rtol=4e-16)


# -- other functions of two arguments ----------------------------------------------------------------------------------

PAIRS = {
    "logaddexp": lambda a, b: (numpy.exp(a - numpy.logaddexp(a, b)), numpy.exp(b - numpy.logaddexp(a, b))),
    "logaddexp2": lambda a, b: (numpy.exp2(a - numpy.logaddexp2(a, b)), numpy.exp2(b - numpy.logaddexp2(a, b))),
    "power": lambda a, b: (b * a ** (b - 1), a**b * numpy.log(a)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    ("value", "base"),
    [((2.0, 1.5), (0.5, -1.0)), ((3.0, 3.0), (1.0, 1.0)), ((30.0, 2.0), (1.0, 4.0)), ((2.0, 1.0), (2.0, 1.0 + 1e-9))],
)
def test_pairs_against_many_nodes(name, value, base):
    nodes, weights = numpy.polynomial.legendre.leggauss(200)
    t = (nodes + 1) / 2
    a, b = (r + t * (x - r) for x, r in zip(value, base, strict=True))
    slopes = PAIRS[name](a, b)
    want = [(w * weights / 2).sum() * (x - r) for w, x, r in zip(slopes, value, base, strict=True)]
    x = np.decompose(tuple(map(np.array, value)), baseline=base)
    numpy.testing.assert_allclose(components(getattr(np, name)(*x)), want, rtol=1e-11, atol=1e-300)


def test_logaddexp_of_far_numbers():
    x = np.decompose((np.array([1000.0, -1000.0, 1e8]), np.array([998.5, 1000.0, -1e8])), baseline=(1.0, -3.0), axis=())
    y = np.logaddexp(*x)
    assert (np.abs(np.completeness(y)) <= 1e-15 * np.abs(y.value)).all()


def test_powers_of_negative_numbers_whose_exponents_stay():
    a, b = np.decompose(
        (np.array([-2.0, 3.0]), np.array([3.0, 2.0])), baseline=(np.array([-3.0, 1.0]), np.array([3.0, 1.0]))
    )
    y = np.power(a, b)
    assert components(y)[:, 0] == pytest.approx([19.0, 0.0, 0.0, 0.0])
    assert np.completeness(y) == pytest.approx(0, abs=1e-12)


def test_complex_powers_are_pointwise():
    z, r = numpy.array([1 + 2j, 0.3 - 1j]), numpy.array([2 + 1j, 0.5 + 0.1j])
    y = np.decompose(np.array(z), baseline=np.array(r)) ** np.array(1.5 + 0.5j)
    assert np.abs(np.completeness(y)).max() < 1e-14


# -- infinite changes --------------------------------------------------------------------------------------------------

LIMITS = {"exp": INF, "square": INF, "sqrt": INF, "log": INF, "cosh": INF, "absolute": INF, "arctan": math.pi / 4,
          "tanh": 1 - math.tanh(1), "reciprocal": -1.0}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_an_infinite_value_is_its_own_component_s(name):
    y = getattr(np, name)(decomposed([INF, 2.0], 1.0))
    plain = getattr(np, name)(decomposed([3.0, 2.0], 1.0))
    got = components(y)
    assert got[0, 0] == pytest.approx(LIMITS[name])
    assert got[1, 0] == got[0, 1] == 0
    assert got[1, 1] == components(plain)[1, 1]


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_finite_beside_an_infinite_change(name):
    """It has no share of that, and contributes by the slope at infinity where there is one."""
    y = getattr(np, name)(decomposed([INF, 2.0], 1.0).sum())
    shared = getattr(numpy, name)(INF) - getattr(numpy, name)(2.0)
    assert components(y)[0] == pytest.approx(shared)
    assert components(y)[1] == (1.0 if name == "absolute" else 0.0)


def test_two_infinite_components_share():
    y = np.arctan(decomposed([INF, INF, 2.0], 1.0).sum())
    share = (math.pi / 2 - math.atan(3)) / 2
    numpy.testing.assert_allclose(components(y), [share, share, 0], rtol=1e-14)


def test_infinite_changes_of_functions_of_two():
    a, b = np.decompose((np.array([INF, 1.0]), np.array([1.0, 2.0])), baseline=0.0)
    for function in (np.hypot, np.logaddexp):
        got = components(function(a, b))
        assert got[0, 0] == INF
        assert not got[2:, 0].any()
        plain = components(function(a[1:], b[1:]))[:, 0]
        numpy.testing.assert_allclose(got[:, 1], plain, rtol=1e-15)
    got = components(np.abs(decomposed([complex(INF, 0), 1 + 0j], [0j, 0j])))
    numpy.testing.assert_array_equal(got, [[INF, 0], [0, 1]])


@pytest.mark.filterwarnings("ignore:.* infinite or not a number:npdec.exceptions.DecompositionWarning")
def test_a_pole_at_an_end():
    numpy.testing.assert_array_equal(components(np.log(decomposed([0.0, 2.0], [1.0, 2.0]))), [[-INF, 0], [0, 0]])
    numpy.testing.assert_array_equal(components(np.log(decomposed([1.0, 2.0], [0.0, 2.0]))), [[INF, 0], [0, 0]])
    numpy.testing.assert_array_equal(components(1 / decomposed([0.0, 2.0], [1.0, 1.0])), [[INF, 0], [0, -0.5]])
    x = np.decompose((np.array([1.0, 3.0]), np.array([0.0, 2.0])), baseline=1.0)
    got = components(x[0] / x[1])
    numpy.testing.assert_array_equal(got, [[0, 0], [0, 1.5], [INF, 0], [0, -1.0]])


def test_a_quotient_by_zero_leaves_what_does_not_move_alone():
    got = components(decomposed([1.0, 2.0], [1.0, 1.0]) / np.array([0.0, 2.0]))
    numpy.testing.assert_array_equal(got, [[0, 0], [0, 0.5]])


def test_reverse_mode_beside_an_infinite_change():
    x = np.array([INF, 2.0, 0.5])
    found = np.attribute(lambda a: np.exp(a)[1:].sum() + np.tanh(a)[1:].sum(), x, baseline=np.array([1.0, 1.0, 1.0]))
    want = [math.exp(v) - math.e + math.tanh(v) - math.tanh(1) for v in (2.0, 0.5)]
    numpy.testing.assert_allclose(found.attribution[1:].tensor.numpy(), want, rtol=1e-13)


def test_comparing_complex_nan_says_nothing_of_contributions():
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.DecompositionWarning)
        assert np.isclose(decomposed([1j, complex("nan")], [0j, 0j]), 1j).tolist() == [True, False]


# -- autograd ----------------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "prod": lambda d: torch.prod(d, -1),
    "cumprod": lambda d: torch.cumprod(d, -1),
    "atan2": lambda d: torch.atan2(d[0], d[1]),
    "logaddexp": lambda d: torch.logaddexp(d[0], d[1]),
    "pow": lambda d: torch.pow(d[0].abs() + 0.5, d[1]),
    "det": lambda d: torch.linalg.det(d[:, :2]),
    "slogdet": lambda d: torch.linalg.slogdet(d[:, :2])[1],
    "logdet": lambda d: torch.logdet(d[:, :2] @ d[:, :2].T),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("case", ["apart", "equal"])
def test_gradients_flow_through_the_components(name, case):
    source = torch.Generator().manual_seed(7)
    x, r = (torch.randn(2, 3, dtype=torch.float64, generator=source) for _ in range(2))
    if case == "equal":
        x[0, 1] = r[0, 1]
        x[1, 2] = r[1, 2] = 0.25
        x[0, 0] = x[1, 0] = 1.0  # equal arguments

    def function(x, r):
        parts = torch.stack([0.3 * (x - r), 0.7 * (x - r)])
        return FUNCTIONS[name](np.DecomposedTensor(x, r, parts, ("a", "b"))).components

    assert torch.autograd.gradcheck(function, (x.requires_grad_(), r.requires_grad_()), fast_mode=tiers.quick)


@pytest.mark.parametrize(
    "f",
    [torch.logdet, lambda x: torch.logsumexp(x, 1), lambda x: torch.logaddexp(x, 2 * x)],
    ids=["logdet", "sum", "two"],
)
def test_complex_numbers_have_no_largest_one(f):
    """Where the closed form is one of real numbers, the path integral is."""
    generator = torch.Generator().manual_seed(0)
    x, r = (torch.randn(3, 3, dtype=torch.complex128, generator=generator) + 3 * torch.eye(3) for _ in range(2))
    y = f(np.decompose(x, baseline=r))
    assert torch.equal(y.value, f(x))
    assert torch.allclose(y.residual, f(r), rtol=1e-12)
    assert torch.allclose(y.c_sum(), y.value, rtol=1e-11)


# -- pooling -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("special", [None, -0.0, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pools_are_torchs_bit_for_bit(special: float | None, dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 9, 8, dtype=dtype, generator=torch.Generator().manual_seed(0)).round().abs()
    if special is not None:
        x[torch.rand(x.shape, generator=torch.Generator().manual_seed(1)) < 0.4] = special
    bits = torch.int32 if dtype is torch.float32 else torch.int64
    for given in (x, x[0], x.permute(0, 1, 3, 2)):
        for settings in ((2,), (3, 1), ((1, 2), 3), (2, 2, 1), (3, 2, 1, 2)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = torch.nn.functional.max_pool2d(np.decompose(given, axis=()), *settings)
            expected = torch.nn.functional.max_pool2d(given, *settings)
            assert torch.equal(made.value.contiguous().view(bits), expected.contiguous().view(bits))
    made = torch.max_pool1d(np.decompose(x[0], axis=()), kernel_size=2)
    assert torch.equal(made.value.view(bits), torch.max_pool1d(x[0], 2).view(bits))
    with pytest.raises(RuntimeError, match="too small"):
        torch.max_pool2d(np.decompose(x, axis=()), 12)


def test_the_lead_of_few_lines_is_that_of_many() -> None:
    """A pool of four places, and one of eight of which four never lead: their lines lie below."""
    source = torch.Generator().manual_seed(0)
    for digits in (0, 1, 8):
        x, r = (torch.randn(5, 3, 4, 6, dtype=torch.float64, generator=source).round(decimals=digits) for _ in range(2))
        shares = []
        for low in (False, True):
            ends = [torch.cat([t, t - 100], 3).reshape(5, 3, 8, 6) if low else t for t in (x, r)]
            pooled = torch.nn.functional.max_pool2d(np.decompose(ends[0], axis=2, baseline=ends[1]), (4, 1))
            if low:
                pooled = torch.amax(np.decompose(ends[0], axis=2, baseline=ends[1]), 2, keepdim=True)
                rows = pooled.components.reshape(4, 2, 5, 3, 6)
                assert not rows[:, 1].any()
                shares.append(rows[:, 0])
            else:
                shares.append(pooled.components[:, :, :, 0])
        assert torch.allclose(*shares, rtol=0, atol=1e-12)


# -- spreads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [torch.std, lambda x: torch.std_mean(x)[0], lambda x: torch.std(x, correction=0)])
@pytest.mark.parametrize(("value", "base"), [(0.818, -1.913), (0.818, 0.3), (0.7, 0.1), (1e8 / 3, 1e8 / 7)])
@pytest.mark.parametrize("count", [2, 3, 5, 7, 11])
def test_equal_numbers_spread_by_nothing_but_rounding(function, value, base, count):
    x, r = (torch.full((count,), number, dtype=torch.float64) for number in (value, base))
    for options in ({"axis": ()}, {}):
        made = function(np.decompose(x, baseline=r, **options))
        missing = made.value - made.residual - made.components.sum(0)
        assert abs(float(missing)) <= 1e-15 * count * (abs(value) + abs(base))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["hypot", "arctan2", "logaddexp"])
@pytest.mark.parametrize("value", [(0.0, 0.0), (0.25, 0.0), (-0.25, 0.5)])
def test_pairs_from_the_origin_in_every_precision(name, value, dtype):
    def function(x):
        return getattr(np, name)(x[0], x[1])

    made = function(np.decompose(np.array(value, dtype)))
    reverse = np.attribute(function, np.array(value, dtype))
    wanted = getattr(numpy, name)(*value) - getattr(numpy, name)(0.0, 0.0)
    eps = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "float64": 1e-15}[dtype]
    assert abs(float(made.components.sum()) - wanted) <= 4 * eps
    assert np.allclose(reverse.attribution, made.components, rtol=4 * eps, atol=eps)


@pytest.mark.parametrize("scale", [0.5, -0.5, 0.5 + 0.5j])
def test_logarithms_of_determinants_in_reverse_mode(scale):
    x = np.array([[2 + 0.1j, 1, 0.5], [0.3, 3 - 1j, 0.2j], [0.1, 0.4, 2]])
    x = x if isinstance(scale, complex) else x.real.copy()
    base = x + scale * np.eye(3)

    def function(a):
        return np.linalg.slogdet(a)[1]

    made = np.attribute(function, x, baseline=base)
    forward = np.attribute(function, x, baseline=base, mode="forward")
    assert abs(float(made.error)) < 1e-12
    assert np.allclose(made.attribution, forward.attribution, atol=1e-12)
