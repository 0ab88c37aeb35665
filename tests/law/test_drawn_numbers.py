"""Functions of drawn decomposed scalars, which are computed on the host: values to the bit, contributions to rounding,
and what is said of them, are those of the general way, which is gone where somebody looks on (np.check_completeness).
"""

import random
import warnings

import numpy
import pytest
import torch

import npdec as np
from npdec._impl.envelope_impl import leading_fractions
from npdec._law.ordinary_vectors import leading
from npdec.exceptions import CompletenessError, DecompositionWarning

PLACES = [-2.0, -1.5, -1.0, -0.5, 0.25, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0]
ONE = {
    name: getattr(np, name)
    for name in (
        "exp log sqrt sin cos tan tanh arctan sinh cosh expm1 log1p exp2 log2 log10 square reciprocal cbrt arcsinh "
        "absolute fabs floor ceil trunc rint sign signbit fix modf spacing sinc negative isnan isfinite logical_not "
        "deg2rad nan_to_num degrees arcsin arccos arctanh arccosh"
    ).split()
}
TWO = {
    name: getattr(np, name)
    for name in (
        "add subtract multiply divide power float_power floor_divide remainder fmod divmod hypot arctan2 logaddexp "
        "logaddexp2 maximum minimum fmax fmin copysign heaviside greater less greater_equal less_equal equal not_equal "
        "logical_and logical_or logical_xor"
    ).split()
}
MORE = {
    "clip": lambda a, b: np.clip(a, -0.75, 1.25),
    "clip between": lambda a, b: np.clip(a, b, 1.25),
    "clip below": lambda a, b: np.clip(a, None, b),
    "where": lambda a, b: np.where(a > 0.6, a, b),
    "where of numbers": lambda a, b: np.where(a > b, 1.0, 0.25),
    "where beside a number": lambda a, b: np.where(a > 0.6, b, 0.0),
    "where of a plain condition": lambda a, b: np.where(a.value > 0.6, a, b),
    "times a condition": lambda a, b: a * (b > 0.6),
    "a condition times": lambda a, b: (b > 0.6) * 2.0,
    "sum of conditions": lambda a, b: (a > 0.6) * 1.0 + (b > 0.6),
    "and": lambda a, b: (a > 0.6) & (b < 0.6),
    "or": lambda a, b: (a > 0.6) | (b < 0.6),
    "xor": lambda a, b: (a > 0.6) ^ (a < b),
    "not": lambda a, b: ~(a > b),
    "round": lambda a, b: np.round(a, 1),
    "isclose": np.isclose,
    "isclose of a distance": lambda a, b: np.isclose(a, b, 0.3, 0.5),
    "isclose of a number": lambda a, b: [np.isclose(a, 0.7, 0.3, 0.5), np.isclose(0.7, a, 0.3, 0.5)],
    "powers": lambda a, b: [a**k for k in (0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5)],
    "roots": lambda a, b: [k**a for k in (0.5, 1.0, 2.0, 7.0)],
    "beside numbers": lambda a, b: [np.hypot(a, 0.7), np.arctan2(a, 0.7), np.arctan2(0.7, a), np.logaddexp(a, 0.7)],
    "rests": lambda a, b: [a % 0.7, 0.7 % a, a // 0.7, np.fmod(a, 0.7), *divmod(a, 0.7)],
    "reductions": lambda a, b: [np.sum(a), np.mean(a), np.max(a), np.prod(a), np.min(a)],
    "lists": lambda a, b: [np.sum([a, b]), np.mean([a, b]), np.max([a, b]), np.prod([a, b]), np.min([a, b])],
    "interp": lambda a, b: np.interp(a, np.array([-1.0, 0.3, 1.0, 2.5]), np.array([0.5, 1.0, -1.0, 2.0])),
}
FUNCTIONS = {**ONE, **TWO, **MORE}


def drawn(generator, dtype):
    """Two scalars: under the same labels, under others, or under some in common; at times one does not move."""

    def ends():
        v, r = generator.choice(PLACES), generator.choice(PLACES)
        if generator.random() < 0.5:
            v, r = v + generator.uniform(-0.2, 0.2), r + generator.uniform(-0.2, 0.2)
        return (v, v) if generator.random() < 0.15 else (v, r)

    def made(labels):
        (v, r), share = ends(), [generator.uniform(0.1, 1.0) for _ in labels]
        value, residual = torch.tensor(v, dtype=dtype), torch.tensor(r, dtype=dtype)
        whole = float(value) - float(residual)
        parts = torch.tensor([whole * s / sum(share) for s in share], dtype=dtype)
        if v == r and generator.random() < 0.5 and len(labels) > 1:  # contributions that cancel
            parts[0], parts[1] = 0.5, -0.5
        return np.asarray(np.DecomposedTensor(value, residual, parts, labels))[()]

    first = ("a", "b", "c")
    second = generator.choice([first, ("x", "y"), ("b", "z"), ("a",), ("c", "b", "a")])
    return made(first), made(second)


def results(f, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", DecompositionWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        made = f(*args)
    flat = list(made) if isinstance(made, (list, tuple)) else [made]
    return flat, bool([w for w in seen if w.category is DecompositionWarning])


def tensor(x):
    return x._t if hasattr(x, "_t") else torch.tensor(x)


def agree(made, general, dtype, gross):
    t, g = tensor(made), tensor(general)
    assert type(t) is type(g)
    assert type(made) is type(general)
    if not isinstance(t, np.DecomposedTensor):
        assert torch.equal(t.nan_to_num(7), g.nan_to_num(7))
        return
    eps, labels = torch.finfo(dtype).eps, set(t.labels)
    assert labels == set(g.labels)
    for a, b in ((t.value, g.value), (t.residual, g.residual)):
        assert a.dtype is b.dtype
        assert a.numpy().tobytes() == b.numpy().tobytes() or bool(a.isnan() & b.isnan())
    order = [g.labels.index(label) for label in t.labels]
    size = max(gross, float(g.components.nan_to_num(0, 0, 0).abs().max()))
    numpy.testing.assert_allclose(t.components, g.components[order], rtol=2048 * eps, atol=2048 * eps * size)
    if bool(torch.isfinite(g.components).all() and torch.isfinite(t.value.double() + t.residual)):
        missing = t.value.double() - t.residual.double() - t.components.double().sum(0)
        assert abs(float(missing)) <= 256 * eps * size


def check(name, seed, dtype):
    """Whether a drawn call agrees with the general way."""
    generator = random.Random(f"{name} {seed}")
    a, b = drawn(generator, dtype)
    args = (a,) if name in ONE else (a, b)
    made, said = results(FUNCTIONS[name], *args)
    try:
        with np.check_completeness(rtol=1e-3 if dtype is torch.float32 else 1e-6):
            general, said_generally = results(FUNCTIONS[name], *args)
    except CompletenessError:  # of what is infinite
        return
    gross = 1.0 + sum(abs(float(x._t.components.abs().sum())) for x in args)
    for one, other in zip(made, general, strict=True):
        agree(one, other, dtype, gross * 4)
    assert said == said_generally


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_drawn_scalars_are_those_of_the_general_way(name):
    for seed in range(6):
        check(name, seed, torch.float64)
    for seed in range(2):
        check(name, seed, torch.float32)


# -- what the general way does not reach -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ends",
    [(1.5, 0.0, 2.0, 0.0), (1.5, 0.0, 2.0, 0.5), (0.0, 1.5, 0.3, 0.6), (1.5, 0.0, -0.5, 0.5), (7.0, 0.0, 1.0, 3.0)],
)
def test_powers_from_zero_keep_all_digits(ends):
    mpmath = pytest.importorskip("mpmath")
    x, r, y, s = ends
    base = np.decompose(np.array([x]), baseline=r, labels=["base"])[0]
    exponent = np.decompose(np.array([y]), baseline=s, labels=["exponent"])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = base**exponent
    with mpmath.workdps(40):
        start, v, step = (s, mpmath.mpf(y) - s, 1) if r == 0 else (y, mpmath.mpf(s) - y, -1)
        end = mpmath.mpf(max(x, r))

        def rate(w):  # by the exponent, at the distance exp(−w) from zero
            t = mpmath.exp(-w)
            return t * (end * t) ** (start + v * t) * mpmath.log(end * t)

        by_exponent = float(mpmath.quad(rate, [0, 1, 4, 16, 64, 256]) * v * step)
    assert made.components[1] == pytest.approx(by_exponent, rel=2e-14, abs=2e-15)
    gross = float(np.abs(made.components).sum())
    assert abs(float(made.value - made.residual - made.components.sum())) <= 1e-15 * gross


def test_lines_lead_as_among_many():
    generator = random.Random(1)
    for count in (1, 2, 3, 5, 9) * 40:
        draw = generator.choice([lambda: generator.uniform(-2, 2), lambda: generator.choice([0.0, 1.0, -1.0])])
        x, r = [draw() for _ in range(count)], [draw() for _ in range(count)]
        wanted = leading_fractions(torch.tensor(x, dtype=torch.float64), torch.tensor(r, dtype=torch.float64), 0)
        numpy.testing.assert_allclose(leading(x, r), wanted, rtol=0, atol=1e-15)


def test_cube_roots_of_numbers_are_those_of_arrays_to_the_bit():
    generator = random.Random(1)
    numbers = [generator.uniform(-9, 9) * 10.0 ** generator.randint(-300, 300) for _ in range(300)]
    for number in [*numbers, 0.0, -0.0, numpy.inf, -numpy.inf, 5e-324, -1e-310]:
        assert (
            numpy.array(np.cbrt(np.float64(number))).tobytes() == numpy.array(np.cbrt(np.array([number]))[0]).tobytes()
        )


def test_conditions_meet_numbers_as_the_general_way_says():
    a = np.decompose(np.array([1.5, 0.25, -2.0]), baseline=np.array([0.5, 0.75, 3.0]))
    s, t = a[0], a[2]
    for f in (
        lambda c: c * 2.0, lambda c: 2.0 * c, lambda c: c + 1.0, lambda c: 1.0 - c, lambda c: c / 4.0, lambda c: c - s,
        lambda c: s * c, lambda c: s - c, lambda c: c * np.float64(3.0), lambda c: c * np.float32(3.0), lambda c: c * 2,
        lambda c: c & True, lambda c: c | np.False_, lambda c: c ^ (t > 0), lambda c: np.where(c, 1.0, 0.0),
        lambda c: np.where(c, s, 0.5), lambda c: np.where(c, 1.0, t), lambda c: c + (t > 0),
    ):  # fmt: skip
        for condition in (lambda: s > 1.0, lambda: t < s, lambda: s > -5.0):
            made = f(condition())
            with np.check_completeness():
                general = f(condition())
            agree(made, general, torch.float64, 8.0)
    x = a.astype(np.float32)
    assert ((x[0] > 1) * x[1]).dtype == np.float32
