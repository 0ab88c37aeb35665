"""Contributions that are infinite, not a number, or far larger than what they come from and add up to: never without a
warning that names the operation."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy
import pytest
import torch
from test_pointwise_digits import BINARY, FUNCTIONS, apply

import npdec as np
from tiers import turns

INF = math.inf
# A function, a value at which it is finite, and a baseline at which it is not.
POLES = {
    "log": (np.log, 2.0, 0.0),
    "log2": (np.log2, 2.0, 0.0),
    "log10": (np.log10, 2.0, 0.0),
    "log1p": (np.log1p, 2.0, -1.0),
    "reciprocal": (np.reciprocal, 2.0, 0.0),
    "1 / x": (lambda x: 1 / x, 2.0, 0.0),
    "x / x": (lambda x: x / x, 2.0, 0.0),
    "x ** -1": (lambda x: x**-1, 2.0, 0.0),
    "x ** -0.5": (lambda x: x**-0.5, 2.0, 0.0),
    "power of the exponent": (lambda x: np.power(0.0, x), 2.0, -1.0),
    "arctanh": (np.arctanh, 0.5, 1.0),
    "arctanh below": (np.arctanh, 0.5, -1.0),
    "exp overflows": (np.exp, 1.0, 1000.0),
    "sqrt of a negative number": (np.sqrt, 2.0, -1.0),
    "log of a negative number": (np.log, 2.0, -1.0),
    "arccosh below one": (np.arccosh, 2.0, 0.0),
    "rsqrt": (lambda x: torch.rsqrt(x.tensor), 2.0, 0.0),
    "digamma": (lambda x: torch.digamma(x.tensor), 2.0, 0.0),
    "lgamma": (lambda x: torch.lgamma(x.tensor), 2.0, 0.0),
    "logit": (lambda x: torch.logit(x.tensor), 0.5, 0.0),
    "erfinv": (lambda x: torch.erfinv(x.tensor), 0.5, 1.0),
    "float_power": (lambda x: np.float_power(x, -2), 2.0, 0.0),
    "infinite factor": (lambda x: x * np.inf, 2.0, 0.0),
    "divided by zero": (lambda x: x / 0.0, 2.0, 1.0),
}
REGULAR = {
    "sqrt": (np.sqrt, 2.0, 0.0),
    "x ** 0.5": (lambda x: x**0.5, 2.0, 0.0),
    "cbrt": (np.cbrt, 2.0, 0.0),
    "arccosh": (np.arccosh, 2.0, 1.0),
    "arcsin": (np.arcsin, 0.5, 1.0),
    "norm": (np.linalg.norm, 2.0, 0.0),
    "exp": (lambda x: np.exp(30 * x), 1.0, 0.0),
    "hypot": (lambda x: np.hypot(x, x), 1.0, 0.0),
    "softmax": (lambda x: torch.softmax(x.tensor, 0), 1.0, 0.0),
    "tan": (np.tan, 1.57, 0.0),
    "masked": (lambda x: x + np.array([-np.inf, 0.0]), 1.0, 0.0),
    "square of large numbers": (np.square, 1e12, 0.0),
}


def heard(f, *args):
    """The result and the warnings, each with the file that it names."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        made = f(*args)
    return made, [(str(w.message), w.filename) for w in met if w.category is np.exceptions.DecompositionWarning]


@pytest.mark.parametrize("mode", ["forward", "reverse", "scalar"])
@pytest.mark.parametrize("name", POLES)
def test_a_pole_at_the_baseline_is_said(name, mode):
    f, value, base = POLES[name]
    if mode == "scalar":
        _, said = heard(lambda: f(np.decompose(np.array(value), baseline=base)))
    elif mode == "forward":
        _, said = heard(lambda: f(np.decompose(np.array([value, value]), baseline=base)))
    else:
        _, said = heard(lambda: np.attribute(lambda x: np.asarray(f(x)).sum(), np.array([value, value]), baseline=base))
    assert said, name
    assert all(file == __file__ for _, file in said)
    assert any("infinite or not a number" in text for text, _ in said)
    assert len({text for text, _ in said}) == 1
    _, said = heard(lambda: f(np.array([value, base])))
    assert not said


@pytest.mark.parametrize("name", REGULAR)
def test_what_is_finite_says_nothing(name):
    f, value, base = REGULAR[name]
    made, said = heard(lambda: np.asarray(f(np.decompose(np.array([value, value]), baseline=base))))
    assert not said
    assert np.isfinite(made.components).all()
    _, said = heard(lambda: np.attribute(lambda x: np.asarray(f(x)).sum(), np.array([value, value]), baseline=base))
    assert not said


def test_a_pole_at_the_value_and_one_where_nothing_moves():
    _, said = heard(lambda: np.log(np.decompose(np.array([0.0, 1.0]), baseline=1.0)))
    assert "at the value" in said[0][0]
    assert "baseline" not in said[0][0]
    made, said = heard(lambda: np.log(np.decompose(np.array([0.0, 2.0]), baseline=np.array([0.0, 1.0]))))
    assert not said
    assert made.components.tolist() == [[0.0, 0.0], [0.0, pytest.approx(math.log(2))]]


def test_once_for_a_line_where_warnings_are_shown_once():
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("default")
        __warningregistry__ = globals().setdefault("__warningregistry__", {})
        __warningregistry__.clear()
        for _ in range(3):
            np.log(np.decompose(np.array([2.0])))
    assert len(met) == 1


# -- what is not chosen ------------------------------------------------------------------------------------------------

D, ONES = np.array([2.0, 0.0, -4.0]), np.array([1.0, 1.0, 1.0])
GUARDED = {
    "divide": (lambda d, out: np.divide(ONES, d, where=d != 0, out=out), [0.5, 0.0, -0.25]),
    "divide, a mask": (lambda d, out: np.divide(ONES, d, where=np.array([True, False, True]), out=out), None),
    "without out": (lambda d, out: np.log(d * d, where=d != 0, out=None), [math.log(4), 0.0, math.log(16)]),
    "log": (lambda d, out: np.log(np.abs(d), where=np.abs(d) > 0, out=out), [math.log(2), 0.0, math.log(4)]),
    "two results": (lambda d, out: np.modf(1 / np.where(d != 0, d, 1.0))[0], [0.5, 0.0, -0.25]),
    "of a safe divisor": (lambda d, out: np.where(d != 0, ONES / np.where(d != 0, d, 1.0), 0.0), [0.5, 0.0, -0.25]),
}


@pytest.mark.filterwarnings("ignore:'where' used without 'out'")
@pytest.mark.parametrize("mode", ["decomposed", "reverse"])
@pytest.mark.parametrize("name", GUARDED)
def test_what_is_infinite_where_it_is_not_chosen_is_not_said(name, mode):
    f, wanted = GUARDED[name]
    if mode == "decomposed":
        made, said = heard(lambda: f(np.decompose(D), np.zeros(3)))
    else:
        made, said = heard(np.attribute, lambda d: f(d, np.zeros(3)).sum(), D)
    if wanted is None:  # the mask chooses infinite ones at the baseline
        assert any("infinite or not a number at the baseline" in text for text, _ in said)
        assert all(file == __file__ for _, file in said)
        return
    assert not said
    found = made.components.sum(0) if mode == "decomposed" else made.attribution
    assert np.allclose(found, wanted, rtol=1e-14)


# -- factors that are large --------------------------------------------------------------------------------------------

AMPLIFIERS = {
    "number": lambda x: x.sum() * 1e15,
    "quotient": lambda x: x.sum() / 1e-15,
    "array": lambda x: (x.sum() * np.array([1.0, 1e15])).sum(),
    "matrix": lambda x: (x @ np.array([[1e15, 1.0]] * 2)).sum(),
    "linear layer": lambda x: torch.nn.functional.linear(
        np.asarray(x).tensor, torch.full((1, 2), 1e15, dtype=torch.float64)
    ),
    "in steps": lambda x: x.sum() * 1e5 * 1e5 * 1e5,
    "a factor that carries": lambda x: (x.sum() + 1e15) * x.sum(),
}


@pytest.mark.parametrize("mode", ["forward", "reverse", "decomposed"])
@pytest.mark.parametrize("name", AMPLIFIERS)
def test_contributions_that_a_factor_makes_a_million_times_as_large_are_said(name, mode):
    """Where they cancel; where they do not, the value is as large."""

    def run(x):
        if mode == "decomposed":
            return AMPLIFIERS[name](np.decompose(x))
        return np.attribute(lambda x: np.asarray(AMPLIFIERS[name](x)).sum(), x, mode=mode)

    if (name, mode) != ("in steps", "decomposed"):  # none of its steps makes them as large
        _, said = heard(run, np.array([1.0, -1.0]))
        assert any("a million times as large" in text for text, _ in said)
        assert all(file == __file__ for _, file in said)
    _, said = heard(run, np.array([1.0, 1.0]))
    assert not said


def test_a_factor_whose_contributions_cancel_says_that_those_of_the_product_are_large():
    """The weights grow from 0.3 to 9769, and what the covariance is divided by has contributions of either sign that
    are 200 times as large as it is."""
    degrees = np.degrees(np.decompose(np.array([-0.491, -1.725, -0.231, -0.491, -1.725])))
    made, said = heard(np.cov, degrees, None, True, False, None, None, np.square(degrees) + 0.3)
    largest = abs(numpy.asarray(made.components)).max()
    assert largest > 1e6 * (float(made.value) + 5)
    assert any("a million times as large" in text for text, _ in said)


@pytest.mark.parametrize("kept", [False, True], ids=["few", "many components"])
def test_occurrences_of_an_index_are_one_call(kept):
    """`ufunc.at` makes a product of many: none is a million times as large as the one before."""

    def run(x):
        d = np.decompose(x)
        y = np.stack([d[:2].sum(), d[2:].sum()])
        np.multiply.at(y, [0, 0, 0], 1e5)
        return y

    rest = [0.5] * (4000 if kept else 1)
    _, said = heard(run, np.array([1.0, -1.0, *rest]))
    assert [text.partition(":")[0] for text, _ in said] == ["multiply.at"]
    assert all(file == __file__ for _, file in said)
    _, said = heard(run, np.array([1.0, 1.0, *rest]))
    assert not said


# -- steep functions of what cancels -----------------------------------------------------------------------------------

# Components that cancel, to nothing or to rounding errors, or not; they move an argument around these numbers.
COMPONENTS = [
    (0.1, 0.2, -0.3),
    (1.0, -1.0, 0.0),
    (1.0, -1.0, 1e-9),
    (1e6, -1e6, 1e-3),
    (3.0, -1.0, -1.5),
    (1e-17, 2e-17, 0.0),
]
PLACES = [0.0, 1.0, -1.0, 0.5, -0.5, 1e-9, 1e-300, 2.0, 1 - 2.0**-53, math.pi / 2, 700.0]


def cases(dtype):
    found = []
    for parts, place in itertools.product(COMPONENTS, PLACES):
        components = torch.tensor(parts, dtype=dtype)
        residual = torch.tensor(place, dtype=dtype)
        found.append((residual + components.sum(), residual, components))
        found.append((torch.nextafter(residual, residual + 1), residual, components))  # moved by one rounding error
    value, residual, components = (torch.stack(t) for t in zip(*found, strict=True))
    return value, residual, components.T


def check(name, x, result, said):
    """What is not moderate has been said, and what has not been said is complete."""
    value, residual = float(result.value), float(result.residual)
    made, given = (t.detach().double().numpy() for t in (result.components, x.components))
    there = sum(abs(v) for v in (value, residual) if math.isfinite(v)) + float(abs(given).sum())
    case = f"{name} from {float(x.residual)} to {float(x.value)}, {given}: {made}, {value} from {residual}; {said}"
    if said:
        return
    assert float(abs(made).max()) <= 2.0**20 * there, case
    if math.isfinite(value) and math.isfinite(residual):
        # To rounding, and to what the components miss of the change of the argument.
        eps = torch.finfo(result.value.dtype).eps
        size, gross, x, r = (float(n) for n in (abs(made).sum(), abs(given).sum(), x.value, x.residual))
        missing = abs(x - r - float(given.sum())) + eps * (abs(x) + gross)
        error = abs(value - residual - float(made.sum()))
        assert error <= 512 * (eps * (abs(value) + abs(residual) + size) + size * (missing / gross)), case


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_steep_is_moderate_or_said(name, dtype):
    value, residual, components = cases(dtype)
    turn = 2 * list(FUNCTIONS).index(name) + (dtype is torch.float32)
    for i in turns(range(len(value)), turn, 11, 2):  # one by one: a warning is about one element
        x = np.DecomposedTensor(value[i], residual[i], components[:, i], ("a", "b", "c"))
        try:
            made, said = heard(apply, name, x)
        except (NotImplementedError, RuntimeError) as error:
            pytest.skip(str(error))
        if isinstance(made, np.DecomposedTensor):
            check(name, x, made, said)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("name", BINARY)
def test_what_is_steep_in_one_of_two_is_moderate_or_said(name, place):
    value, residual, components = cases(torch.float64)
    for i in turns(range(0, len(value), 3), 2 * list(BINARY).index(name) + place, 5):
        x = np.asarray(np.DecomposedTensor(value[i], residual[i], components[:, i], ("a", "b", "c")))
        for other in (2.0, -1.0, 0.5):
            if name == "ldexp":
                other = 2
                if place:
                    return
            arguments = (x, np.asarray(other)) if not place else (np.asarray(other), x)
            made, said = heard(getattr(np, name), *arguments)
            check(name, x.tensor, made.tensor, said)


def test_shared_out_to_what_moves_towards_the_value():
    x = np.decompose(np.array([0.1, 0.2, -0.3])).sum()
    made, said = heard(np.sqrt, x)
    assert "sqrt" in said[0][0]
    assert np.completeness(made) == 0
    assert made.components.tolist() == pytest.approx([float(made.value) / 3, 2 * float(made.value) / 3, 0.0])
    x = np.decompose(np.array([1.0, -1.0])).sum() + 1e-12
    made, said = heard(np.reciprocal, x)
    assert made.components.tolist() == [0.0, 0.0]
    assert "reciprocal" in said[0][0]


def test_reverse_mode_says_that_contributions_cancel():
    given = np.array([0.1, 0.2, -0.3])
    found, said = heard(lambda: np.attribute(lambda x: np.ceil(x.sum()), given))
    assert found.value == 1.0
    assert "mode='forward'" in said[0][0]
    forward, said = heard(lambda: np.attribute(lambda x: np.ceil(x.sum()), given, mode="forward"))
    assert said[0][0].startswith("ceil")
    assert forward.attribution.sum() == 1.0
    assert abs(forward.attribution).max() <= 1.0


# -- products whose factors are large ----------------------------------------------------------------------------------

# From a baseline next to a singularity a factor is large there, and what it and the others contribute cancels.
VALUE, NEAR = numpy.array([0.7, -1.2, 0.4]), numpy.array([1e-17, -2e-17, 3e-17])
CANCELLING = {
    "quotient of the length": lambda x: x / np.sqrt(np.sum(x * x)),
    "quotient of the square": lambda x: x[0] * x[1] / (x * x),
    "product with the reciprocal": lambda x: np.reciprocal(x) * np.tanh(x[::-1]),
    "matmul": lambda x: np.reshape(1 / x, (1, 3)) @ np.sin(np.stack([x, x])).T,
    "einsum": lambda x: np.einsum("i,i,j->j", 1 / x, np.tanh(x[::-1]), np.exp(x)),
    "prod of many": lambda x: np.prod(np.concatenate([np.exp(40 * x), np.exp(-40 * x)])),
    "multiply.reduce": lambda x: np.multiply.reduce(np.concatenate([np.exp(40 * x), np.exp(-40 * x)])),
    "corrcoef": lambda x: np.corrcoef(np.stack([x + 0.1, x[::-1] + 0.1])),
    "addcmul": lambda x: np.asarray(torch.addcmul(x.tensor, (1 / x).tensor, torch.tanh(x.tensor.flip(0)))),
    "bmm": lambda x: np.asarray(torch.bmm((1 / x).tensor[None, None], torch.tanh(x.tensor.flip(0))[None, :, None])),
}


@pytest.mark.parametrize("name", CANCELLING)
def test_large_factors_are_moderate_or_said(name):
    f, changes = CANCELLING[name], float(abs(VALUE - NEAR).sum())
    made, said = heard(lambda: f(np.decompose(np.array(VALUE), baseline=np.array(NEAR))))
    there = abs(made.value) + abs(made.residual) + changes
    assert said or bool((abs(made.components).max(0) <= 2.0**20 * there).all())
    found, said = heard(lambda: np.attribute(lambda x: f(x).sum(), np.array(VALUE), baseline=np.array(NEAR)))
    there = abs(float(found.value)) + abs(float(found.residual)) + changes
    assert said or float(abs(found.attribution).max()) <= 2.0**20 * there


USUAL = {
    "product": lambda x: x * np.exp(x),
    "quotient": lambda x: x / (1 + np.square(x)),
    "matmul": lambda x: x @ (1e7 * x),
    "prod": lambda x: np.prod(1e3 * x),
    "variance": lambda x: (x - x.mean()) / np.sqrt(x.var() + 1e-5),
}


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("name", USUAL)
def test_factors_that_do_not_cancel_say_nothing(name, scale):
    x = np.decompose(np.array(VALUE * scale), baseline=np.array([-1.0, 2.0, 0.5]))
    assert not heard(USUAL[name], np.tanh(x) if name == "product" else x)[1]


@pytest.mark.parametrize("dim", [0, 1])
def test_complex_vectors_over_their_length_are_real_vectors_of_both_parts(dim):
    source = torch.Generator().manual_seed(1)
    x, r = (torch.randn(3, 4, dtype=torch.complex128, generator=source) for _ in range(2))
    made, said = heard(torch.nn.functional.normalize, np.decompose(x, axis=dim, baseline=0 * r), 2.0, dim)
    assert not said
    assert float(made.components.abs().max()) < 100
    made = torch.nn.functional.normalize(np.decompose(x, axis=dim, baseline=r), 2.0, dim)
    t = (torch.arange(4000, dtype=torch.float64)[:, None, None] + 0.5) / 4000
    u, d = r + t * (x - r), x - r
    length = u.abs().square().sum(dim + 1, keepdim=True).sqrt()
    for k in range(x.shape[dim]):
        part = torch.zeros_like(d)
        part.select(dim, k).copy_(d.select(dim, k))
        grown = (u.conj() * part).real.sum(dim + 1, keepdim=True) / length
        wanted = (part / length - u * grown / length.square()).mean(0)
        torch.testing.assert_close(made.components[k], wanted, rtol=0, atol=1e-5)


# -- infinite slopes of what does not move -----------------------------------------------------------------------------

# Of x − x no input moves anything, though reverse mode sees the infinite slope twice, with both signs.
STILL = {
    "power": lambda a, b: (a - a) ** (b + 0.5),
    "float_power": lambda a, b: np.float_power(a - a, b + 0.3),
    "sqrt": lambda a, b: np.sqrt(a - a),
    "hypot": lambda a, b: np.hypot(a - a, a - a),
    "arctan2": lambda a, b: np.arctan2(a - a, b - b),
    "cbrt": lambda a, b: np.cbrt(a - a) * b,
    "arcsin": lambda a, b: np.arcsin(1 + (a - a)) * 1.0,
    "norm": lambda a, b: np.linalg.norm(a - a) + 0 * b,
    "torch.pow": lambda a, b: np.asarray(torch.pow((a - a).tensor, (b + 0.5).tensor)),
}


@pytest.mark.parametrize("name", STILL)
def test_what_does_not_move_contributes_nothing(name):
    def f(a, b):
        return STILL[name](a, b).sum() + (a * b).sum()

    a, b = np.array([0.7, 2.0]), np.array([0.2, 0.4])
    for mode in ("forward", "reverse"):
        found = np.attribute(f, a, b, mode=mode)
        assert found.value == pytest.approx(0.94 + (np.pi if name == "arcsin" else 0))
        for shares in found.attribution:
            numpy.testing.assert_allclose(numpy.asarray(shares), [0.07, 0.4], rtol=1e-12)


# What is not a number is masked out, and nothing goes back through it.
MASKED = {
    "abs": np.abs,
    "angle": np.angle,
    "exp": lambda z: np.exp(z).real,
    "square": lambda z: np.square(z).imag,
    "abs of a sum": lambda z: np.abs(z + 1j * z),
    "hypot": lambda z: np.hypot(z.real, z.imag),
    "arctan2": lambda z: np.arctan2(z.imag, z.real),
    "power": lambda z: z.real ** (z.imag / 4),
    "logaddexp": lambda z: np.logaddexp(z.real, z.imag),
}


@pytest.mark.parametrize("name", MASKED)
def test_nothing_comes_back_from_what_is_no_number(name):
    scale = np.array([1.0, np.nan, 0.5])

    def f(x):
        made = MASKED[name]((x[:3] + 1j * x[3:]) * scale)
        return np.where(np.isnan(scale), 0, made).sum()

    x = np.array([1.0, 2.0, 0.5, 1.0, -1.0, 0.25])
    found = [numpy.asarray(np.attribute(f, x, baseline=0.5, mode=mode).attribution) for mode in ("forward", "reverse")]
    assert numpy.isfinite(found).all()
    assert not found[1][[1, 4]].any()
    numpy.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-12)
    change = f(x) - f(0 * x + 0.5)
    numpy.testing.assert_allclose(found[1].sum(), float(change), rtol=1e-9)


def test_complex_quotients_of_a_real_number_that_is_no_number_at_the_baseline():
    def f(x):
        made = x[0] * np.array([1j, 1.0]) / np.sqrt(x)
        return np.where(np.array([True, False]), made, 0).imag.sum()

    x = np.array([4.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.DecompositionWarning)
        found = np.attribute(f, x, baseline=np.array([1.0, 0.0]))
    assert found.value == 2.0
    assert numpy.asarray(found.attribution).sum() == pytest.approx(1.0)
