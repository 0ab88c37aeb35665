"""Contributions through pointwise functions keep their digits: for ordinary, tiny, huge, nearly equal and equal
numbers."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as F

import npdec as np
import samples
from npdec._decomposed.registry import rows
from npdec._law import law
from npdec._rules import dispatch

# Where the functions are defined; those that are not named are defined everywhere.
DOMAINS: dict[str, tuple[float, float]] = {
    **dict.fromkeys("log log2 log10 sqrt rsqrt reciprocal digamma lgamma gammaln psi".split(), (0.0, numpy.inf)),
    **dict.fromkeys("asin acos arcsin arccos atanh arctanh erfinv".split(), (-1.0, 1.0)),
    **dict.fromkeys("logit ndtri entr".split(), (0.0, 1.0)),
    **dict.fromkeys("acosh arccosh".split(), (1.0, numpy.inf)),
    "log1p": (-1.0, numpy.inf),
    "entr": (0.0, numpy.inf),
}
# Functions with more arguments than the decomposed one.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "clamp": (-0.5, 2.0),
    "clip": (-0.5, 2.0),
    "clamp_min": (0.3,),
    "clamp_max": (0.3,),
    "threshold": (0.3, -1.0),
}
CLAMPS = ("clamp", "clip", "clamp_min", "clamp_max")  # pointwise between bounds that are not decomposed
ORDER_FIRST = {"polygamma": 1}
NOT_HERE = {
    "mvlgamma": "takes a dimension, and is defined above it only",
    "angle": "of real numbers a step",
    "frexp": "gives two results",
}
# At poles and where numbers overflow, which are among the pairs.
pytestmark = pytest.mark.filterwarnings("ignore:.* infinite or not a number:npdec.exceptions.DecompositionWarning")

VALUES = [0.0, 0.7, 2.3, -1.1, 5.0, -20.0, 1.0, -1.0, 0.25, -0.5, 1e-8, -1e-5, 30.0, 1234.5]
EXTREMES = {
    torch.float64: [1e-300, -1e-300, 3e-308, 1e300, -1e300, 1e150, 1e-160],
    torch.float32: [1e-37, -1e-37, 1e37, -1e37, 1e18, 1e-20],
}
NEARNESS = {torch.float64: [1e-3, 1e-6, 1e-9, 1e-12, 1e-15], torch.float32: [1e-3, 1e-5, 2e-7]}
BOUND = {torch.float64: 1e-12, torch.float32: 1e-5}
WIDE = {torch.float64: numpy.longdouble, torch.float32: numpy.float64}


def pairs(dtype: torch.dtype, domain: tuple[float, float]) -> tuple[torch.Tensor, torch.Tensor]:
    """Values and residuals: every number with every other one, and with its neighbours near and far."""
    numbers = [v for v in VALUES + EXTREMES[dtype] if domain[0] <= v <= domain[1]]
    found = list(itertools.product(numbers, numbers))
    for v, near, sign in itertools.product(numbers, NEARNESS[dtype], (1, -1)):
        found.append((v, v * (1 + sign * near)))
    found = [(x, r) for x, r in found if domain[0] <= min(x, r) and max(x, r) <= domain[1]]
    x, r = zip(*found, strict=True)
    return torch.tensor(x, dtype=dtype), torch.tensor(r, dtype=dtype)


def decomposed(x: torch.Tensor, r: torch.Tensor) -> np.DecomposedTensor:
    """Three components an element, two of which partly cancel."""
    step = x - r
    first, second = 3 * step, -1.5 * step
    components = torch.stack([first, second, step - first - second])
    return np.DecomposedTensor(x, r, components, ("a", "b", "c"))


def names_of(tags: set[str]) -> list[str]:
    """The names of torch's functions whose first argument alone has one of the tags."""
    dispatch.rule_of(torch.add)  # the rules are there
    found = []
    for function, row in rows.items():
        rule = law.innermost(row.rule)
        own = set((rule.tags or {}).values()) if isinstance(rule, law.TaggedRule) else set()
        if own and own <= tags and 1 not in rule.tags:
            found.append(function.__name__.removeprefix("special_").removeprefix("_"))
    return list(dict.fromkeys(found))


POINTWISE = names_of({"Pointwise", "Stepwise"})


def torch_functions() -> dict[str, Callable[..., Any]]:
    found = {}
    for name in (*POINTWISE, *CLAMPS):
        for owner in (torch.special, F, torch):
            function = getattr(owner, name, None)
            if callable(function):
                found[f"{owner.__name__}.{name}"] = function
    return found


def float_ufuncs() -> dict[str, Callable[..., Any]]:
    found = {}
    for name, item in samples.public_callables().items():
        if isinstance(item, np.ufunc) and item.nin == 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    made = item(np.array([0.5]))
                except TypeError:  # of integers
                    continue
            if item.nout == 1 and made.dtype == np.float64:
                found[f"np.{name}"] = item
    return found


FUNCTIONS = {**float_ufuncs(), **torch_functions()}
FUNCTIONS["np.sinc"], FUNCTIONS["np.i0"], FUNCTIONS["np.nan_to_num"] = np.sinc, np.i0, np.nan_to_num
FUNCTIONS = {name: f for name, f in FUNCTIONS.items() if name.rpartition(".")[2] not in NOT_HERE}


def apply(name: str, argument: Any) -> torch.Tensor:
    short = name.rpartition(".")[2]
    before = (ORDER_FIRST[short],) if short in ORDER_FIRST else ()
    if name.startswith("np."):
        argument = np.asarray(argument)
    made = FUNCTIONS[name](*before, argument, *ARGUMENTS.get(short, ()))
    return made.tensor if isinstance(made, np.ndarray) else made


def test_exceptions_are_pointwise_functions():
    names = set(POINTWISE) | {name.rpartition(".")[2] for name in FUNCTIONS}
    names |= ORDER_FIRST.keys()
    assert DOMAINS.keys() | ARGUMENTS.keys() | NOT_HERE.keys() | ORDER_FIRST.keys() <= names


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_contributions_add_up_to_the_last_digits(name, dtype):
    x, r = pairs(dtype, DOMAINS.get(name.rpartition(".")[2], (-numpy.inf, numpy.inf)))
    try:
        apply(name, x)
    except (NotImplementedError, RuntimeError):
        pytest.skip(f"torch has no {name} of {dtype}")
    finite = check(name, x, r, apply(name, decomposed(x, r)), dtype)
    assert finite.sum() >= 20


def check(name: str, x: torch.Tensor, r: torch.Tensor, made: Any, dtype: torch.dtype) -> Any:
    """Every element is complete to the last digits, and has no components where it has no step. Returns which elements
    are finite."""
    value, residual, components = (t.numpy().astype(WIDE[dtype]) for t in (made.value, made.residual, made.components))
    finite = numpy.isfinite(value) & numpy.isfinite(residual)
    with numpy.errstate(all="ignore"):
        error = abs(value - residual - components.sum(0))
        scale = numpy.maximum(numpy.maximum(abs(value), abs(residual)), abs(components).sum(0))
        # Numbers below the smallest normal one have fewer digits.
        wrong = finite & ~(error <= BOUND[dtype] * scale + 64 * torch.finfo(dtype).tiny * torch.finfo(dtype).eps)
    worst = [(float(a), float(b), float(v), float(s), c.tolist()) for a, b, v, s, c in
             zip(x[wrong], r[wrong], made.value[wrong], made.residual[wrong], made.components.T[wrong])]  # fmt: skip
    assert not worst, f"{name}: {len(worst)} of {finite.sum()}: (x, r, f(x), f(r), components) = {worst[:3]}"
    equal = (x == r).numpy() & finite
    assert (components[:, equal] == 0).all()
    return finite


# -- two arguments, one of them decomposed -----------------------------------------------------------------------------

OTHERS = [0.7, 2.0, -1.5, 3.0, 1e-3, 40.0]
POSITIVE_FIRST = {"power": (0.0, numpy.inf), "float_power": (0.0, numpy.inf)}
BINARY = """add subtract multiply divide power float_power floor_divide remainder fmod logaddexp logaddexp2 arctan2
    hypot maximum minimum fmax fmin copysign heaviside ldexp""".split()


def test_every_ufunc_of_two_arguments_is_here():
    """Those of integers, those that compare, and nextafter, which moves by one unit of the last digit, aside."""
    found = set()
    for name, function in samples.public_callables().items():
        elementwise = isinstance(function, np.ufunc) and function.signature is None
        if elementwise and (function.nin, function.nout) == (2, 1) and name in samples.SAMPLES:
            try:
                made = function(np.array(2.0), 1)
            except TypeError:  # of integers
                continue
            found |= {name} if made.dtype == np.float64 else set()
    assert found == set(BINARY) | {"nextafter"}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", BINARY)
def test_contributions_of_one_of_two_arguments_add_up(name, dtype, place):
    if name == "ldexp" and place:
        return  # an integer
    x, r = pairs(dtype, POSITIVE_FIRST.get(name, (-numpy.inf, numpy.inf)) if not place else (-numpy.inf, numpy.inf))
    marked = np.asarray(decomposed(x, r))
    for other in OTHERS:
        if name == "ldexp":
            other = int(other)
        if name in POSITIVE_FIRST and place:
            other = abs(other)
        constant = np.asarray(torch.tensor(other, dtype=torch.int32 if name == "ldexp" else dtype))
        made = getattr(np, name)(*((marked, constant) if not place else (constant, marked))).tensor
        check(f"{name} with {other}", x, r, made, dtype)


# -- the slope itself --------------------------------------------------------------------------------------------------

# The slope between r and x = r + d, in formulas that lose nothing where d is small.
SLOPES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "exp": lambda x, r, d: numpy.exp(r) * numpy.expm1(d) / d,
    "expm1": lambda x, r, d: numpy.exp(r) * numpy.expm1(d) / d,
    "log": lambda x, r, d: numpy.log1p(d / r) / d,
    "log1p": lambda x, r, d: numpy.log1p(d / (1 + r)) / d,
    "sqrt": lambda x, r, d: 1 / (numpy.sqrt(x) + numpy.sqrt(r)),
    "square": lambda x, r, d: x + r,
    "reciprocal": lambda x, r, d: -1 / (x * r),
    "sin": lambda x, r, d: numpy.cos((x + r) / 2) * numpy.sin(d / 2) / (d / 2),
    "cos": lambda x, r, d: -numpy.sin((x + r) / 2) * numpy.sin(d / 2) / (d / 2),
    "tanh": lambda x, r, d: numpy.sinh(d) / (d * numpy.cosh(x) * numpy.cosh(r)),
    "sinh": lambda x, r, d: numpy.cosh((x + r) / 2) * numpy.sinh(d / 2) / (d / 2),
    "arctan": lambda x, r, d: numpy.arctan2(d, 1 + x * r) / d,
    "cbrt": lambda x, r, d: 1 / (numpy.cbrt(x) ** 2 + numpy.cbrt(x * r) + numpy.cbrt(r) ** 2),
}


@pytest.mark.parametrize(("dtype", "bound"), [("float64", 2e-14), ("float32", 1e-5)])
@pytest.mark.parametrize("name", SLOPES)
def test_slope_is_accurate_near_equality(name, dtype, bound):
    start = numpy.array([0.3, 0.9, 1.7, 4.0, 11.0], dtype=dtype)[:, None]
    nearness = [0.3, 0.05, 1e-2, 1e-3, 1e-5] + ([1e-7, 1e-9, 1e-12, 1e-15] if dtype == "float64" else [1e-6])
    x = (start * (1 + numpy.array(nearness, dtype=dtype))).ravel()
    r = numpy.broadcast_to(start, (5, len(nearness))).ravel()
    apart = x != r
    x, r = x[apart], r[apart]
    made = getattr(np, name)(np.decompose(np.array(x), baseline=np.array(r), axis=()))
    wide_x, wide_r = x.astype(numpy.longdouble), r.astype(numpy.longdouble)
    d = wide_x - wide_r
    wanted = SLOPES[name](wide_x, wide_r, d)
    got = numpy.asarray(made.components)[0].astype(numpy.longdouble) / d
    # Relative to the slope or to f(x) / x: a function that is nearly flat has fewer digits to give.
    error = abs(got - wanted) / numpy.maximum(abs(wanted), abs(numpy.asarray(made.value) / wide_x))
    worst = error.argmax()
    assert error.max() <= bound, (x[worst], r[worst], float(got[worst]), float(wanted[worst]))


@pytest.mark.parametrize("distance", [1e-6, 1e-4, 1e-2, 0.1, 1.0])
@pytest.mark.parametrize("function", [F.gelu, F.silu, F.mish, F.softplus, torch.sigmoid, torch.tanh, torch.sin])
def test_slope_of_single_precision(function, distance):
    """Against a quadrature in double precision of the derivative that torch has, also where the function turns or has
    few correct digits itself. Two components cancel, as those of models do."""
    source = torch.Generator().manual_seed(0)
    x = torch.randn(20_000, generator=source) * 2
    r = x + distance * torch.randn(x.shape, generator=source)
    r[:100] = x[:100]
    made = function(np.DecomposedTensor(x, r, torch.stack([torch.ones_like(x), x - r - 1]), ("a", "b")))
    wanted = torch.zeros_like(x, dtype=torch.float64)
    for node, weight in zip(*numpy.polynomial.legendre.leggauss(40)):
        point = (r.double() + (node + 1) / 2 * (x.double() - r.double())).requires_grad_()
        wanted += weight / 2 * torch.autograd.grad(function(point).sum(), point)[0]
    error = (made.components[0].double() - wanted).abs()
    worst = int(error.argmax())
    assert error.max() <= 5e-5, (x[worst], r[worst], made.components[0, worst], wanted[worst])
    assert np.completeness(made).abs().max() <= 1e-5


# -- complex functions with a complex derivative -----------------------------------------------------------------------

HOLOMORPHIC = """exp exp2 expm1 log log2 log10 log1p sqrt square reciprocal sin cos tan sinh cosh tanh arcsin arccos
    arctan arcsinh arccosh arctanh""".split()


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_complex_contributions_add_up(name):
    """Across branch cuts too, where the function jumps."""
    source = numpy.random.default_rng(0)
    x, r = (source.uniform(-2, 2, 60) + 1j * source.uniform(-2, 2, 60) for _ in range(2))
    r[:10], r[10:13] = x[:10] * (1 + 1e-9), x[10:13]
    function = getattr(np, name)
    made = function(np.decompose(np.array(x), baseline=np.array(r)))
    value, residual, components = (numpy.asarray(t) for t in (made.value, made.residual, made.components))
    error = abs(value - residual - components.sum(0))
    assert (error <= 1e-14 * numpy.maximum(abs(value), abs(residual))).all()

    def mixed(a: np.ndarray) -> np.ndarray:
        return np.real(function(a)[3]) + np.imag(function(a)[20])

    forward = mixed(np.decompose(np.array(x), baseline=np.array(r))).components
    reverse = np.attribute(mixed, np.array(x), baseline=np.array(r)).attribution
    numpy.testing.assert_allclose(numpy.asarray(reverse), numpy.asarray(forward), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("exponent", [2, 3, 4, 3.0])
@pytest.mark.parametrize("distance", [2.0, 1e-3, 1e-12, 0.0])
def test_small_powers_are_polynomials(exponent, distance):
    """Against the slope in rational numbers."""
    source = random.Random(4)
    for sign in (1.0, -1.0):
        r = source.uniform(-2, 2)
        x = sign * r + distance * source.uniform(-1, 1)
        n, a, b = int(exponent), Fraction(x), Fraction(r)
        wanted = float(sum(a ** (n - 1 - i) * b**i for i in range(n)))
        parts = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
        value, base = (torch.tensor([u], dtype=torch.float64) for u in (x, r))
        made = np.DecomposedTensor(value, base, parts, ("a", "b")) ** exponent
        assert made.components[:, 0].tolist() == pytest.approx([wanted, -wanted], rel=1e-14, abs=1e-15)
