"""The short ways of functions beside constants, of steps, of logic, and of tensors under different labels, by
references in plain NumPy and in rational numbers."""

import itertools
import math
import operator
import pickle
from fractions import Fraction

import numpy
import pytest
import torch
import torch.nn.functional as F

import npdec as np

SIZE = 60
_rng = numpy.random.default_rng(3)
ROW = _rng.uniform(0.5, 2.0, SIZE)


def decomposed(seed, labels="abc", step=1 / 8):
    """Numbers on a grid, exact in rational arithmetic, of which the components neither cancel nor are nothing."""
    numbers = numpy.random.default_rng(seed)
    residual = torch.from_numpy(numbers.integers(3, 40, SIZE) * step)
    parts = numbers.integers(1, 9, (len(labels), SIZE)) * step * numpy.where(numbers.random(SIZE) < 0.3, -0.1, 1.0)
    parts = torch.from_numpy(numpy.round(parts / step * 64) * step / 64)
    return np.DecomposedTensor(residual + parts.sum(0), residual, parts, tuple(labels))


def _gelu(x):
    return x / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _row(t):
    return torch.from_numpy(ROW).to(t.dtype)


BESIDE = {
    "x ** 2.5": (lambda t: t**2.5, lambda x: x**2.5),
    "x ** 2": (lambda t: t**2, lambda x: x**2),
    "pow 3": (lambda t: torch.pow(t, 3), lambda x: x**3),
    "x ** -0.5": (lambda t: t**-0.5, lambda x: x**-0.5),
    "1.5 ** x": (lambda t: 1.5**t, lambda x: 1.5**x),
    "x ** row": (lambda t: t ** _row(t), lambda x: x**ROW),
    "row ** x": (lambda t: _row(t) ** t, lambda x: ROW**x),
    "float_power": (lambda t: torch.float_power(t, 1.5), lambda x: x**1.5),
    "atan2(x, row)": (lambda t: torch.atan2(t, _row(t)), lambda x: numpy.arctan2(x, ROW)),
    "atan2(row, x)": (lambda t: torch.atan2(_row(t), t), lambda x: numpy.arctan2(ROW, x)),
    "hypot": (lambda t: torch.hypot(t, _row(t)), lambda x: numpy.hypot(x, ROW)),
    "logaddexp": (lambda t: torch.logaddexp(_row(t), t), lambda x: numpy.logaddexp(ROW, x)),
    "xlogy": (lambda t: torch.xlogy(t, _row(t)), lambda x: x * numpy.log(ROW)),
    "xlogy(row, x)": (lambda t: torch.xlogy(_row(t), t), lambda x: ROW * numpy.log(x)),
    "elu": (lambda t: F.elu(t - 2, alpha=0.7), lambda x: numpy.where(x > 2, x - 2, 0.7 * numpy.expm1(x - 2))),
    "celu": (lambda t: F.celu(t - 2, 1.3), lambda x: numpy.where(x > 2, x - 2, 1.3 * numpy.expm1((x - 2) / 1.3))),
    "softplus": (lambda t: F.softplus(t - 2, beta=2.0), lambda x: numpy.log1p(numpy.exp(2 * (x - 2))) / 2),
    "leaky_relu": (lambda t: F.leaky_relu(t - 2, 0.3), lambda x: numpy.where(x > 2, x - 2, 0.3 * (x - 2))),
    "LeakyReLU": (lambda t: torch.nn.LeakyReLU(0.2)(t - 2), lambda x: numpy.where(x > 2, x - 2, 0.2 * (x - 2))),
    "hardtanh": (lambda t: F.hardtanh(t, min_val=1.0, max_val=2.5), lambda x: numpy.clip(x, 1.0, 2.5)),
    "gelu": (lambda t: F.gelu(t - 2, approximate="tanh"), lambda x: _gelu(x - 2)),
    "clamp(min=)": (lambda t: torch.clamp(t, min=2.0), lambda x: numpy.maximum(x, 2.0)),
    "np.power": (lambda t: np.power(np.asarray(t), 1.5).tensor, lambda x: x**1.5),
    "np.power of a number": (lambda t: np.power(1.5, np.asarray(t)).tensor, lambda x: 1.5**x),
    "number / x": (lambda t: (2.0 / np.asarray(t)).tensor, lambda x: 2.0 / x),
    "np.logaddexp2": (lambda t: np.logaddexp2(np.asarray(t), 1).tensor, lambda x: numpy.logaddexp2(x, 1)),
    "np.positive": (lambda t: np.positive(np.asarray(t)).tensor, lambda x: x),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", BESIDE)
def test_functions_beside_constants_have_the_secant_slope(name, dtype):
    function, reference = BESIDE[name]
    t = decomposed(1)
    if dtype is torch.float32:
        t = np.DecomposedTensor(*[p.float() for p in (t.value, t.residual, t.components)], t.labels)
    made = function(t)
    x, r, parts = (p.double().numpy() for p in (t.value, t.residual, t.components))
    slope = (reference(x) - reference(r)) / (x - r)
    rtol = 1e-11 if dtype is torch.float64 else 2e-4
    numpy.testing.assert_allclose(made.value.double().numpy(), reference(x), rtol=rtol / 10)
    numpy.testing.assert_allclose(made.residual.double().numpy(), reference(r), rtol=rtol / 10)
    numpy.testing.assert_allclose(made.components.double().numpy(), parts * slope, rtol=rtol, atol=rtol / 10)


@pytest.mark.parametrize("name", ["elu", "leaky_relu", "celu", "relu", "hardtanh", "threshold"])
def test_what_is_to_be_done_in_place_is(name):
    t = decomposed(2)
    options = {"threshold": (2.0, 0.5)}.get(name, ())
    wanted = getattr(F, name)(t, *options)
    given = t.clone()
    made = getattr(F, name)(given, *options, inplace=True)
    assert made is given
    for part in ("value", "residual", "components"):
        assert torch.equal(getattr(given, part), getattr(wanted, part))


# -- steps of two ------------------------------------------------------------------------------------------------------

STEPS_OF_TWO = {
    "fmod": (torch.fmod, math.trunc),
    "remainder": (torch.remainder, math.floor),
    "floor_divide": (torch.floor_divide, math.floor),
    "np.mod": (lambda a, b: np.mod(np.asarray(a), np.asarray(b)).tensor, math.floor),
    "//": (lambda a, b: (np.asarray(a) // np.asarray(b)).tensor, math.floor),
    "copysign": (torch.copysign, None),
}


def _in_both_orders(x, r, y, s):
    """What each of two has of the change of copysign: its Shapley value."""
    ends = {(u, v): abs(u) if v >= 0 else -abs(u) for u in (x, r) for v in (y, s)}
    of_a = (ends[x, s] - ends[r, s] + ends[x, y] - ends[r, y]) / 2
    return of_a, ends[x, y] - ends[r, s] - of_a


def _of_quotients(name, rounded, x, r, y, s):
    """What each of two has of the change of q = x / y, rounded, and of x - q y: they share the steps of q as they do
    the change of x / y."""
    q, q_r = rounded(x / y), rounded(r / s)
    of_x, of_y = (x - r) * (1 / y + 1 / s) / 2, (1 / y - 1 / s) * (x + r) / 2
    of_x, of_y = ((q - q_r) * part / (of_x + of_y) for part in (of_x, of_y))
    if name in ("floor_divide", "//"):
        return of_x, of_y
    middle = (y + s) / 2
    return (x - r) - middle * of_x, -Fraction(q + q_r, 2) * (y - s) - middle * of_y


@pytest.mark.parametrize("labels", ["abc", "xyz", "cbx"])
@pytest.mark.parametrize("name", STEPS_OF_TWO)
def test_two_share_steps(name, labels):
    function, rounded = STEPS_OF_TWO[name]
    a, b = decomposed(4), decomposed(5, labels)
    if rounded:  # a divisor that crosses zero has no quotient to share
        b = b.abs() + 0.1
    made = function(a, b)
    found = {label: part.tolist() for label, part in zip(made.labels, made.components, strict=True)}
    assert list(found) == list(dict.fromkeys("abc" + labels))
    for i in range(SIZE):
        x, r, y, s = (Fraction(t[i].item()) for t in (a.value, a.residual, b.value, b.residual))
        of_a, of_b = _of_quotients(name, rounded, x, r, y, s) if rounded else _in_both_orders(x, r, y, s)
        for label, parts in found.items():
            wanted = sum(
                change / step * Fraction(t.components[t.labels.index(label), i].item())
                for change, step, t in ((of_a, x - r, a), (of_b, y - s, b))
                if label in t.labels
            )
            assert parts[i] == pytest.approx(float(wanted), rel=1e-11, abs=1e-12)


# -- logic -------------------------------------------------------------------------------------------------------------

LOGIC = {"and": lambda a, b: a * b, "or": lambda a, b: a + b - a * b, "xor": lambda a, b: a + b - 2 * a * b}
WRITTEN = {
    "and": [torch.logical_and, operator.and_, torch.bitwise_and],
    "or": [torch.logical_or, operator.or_, torch.bitwise_or],
    "xor": [torch.logical_xor, operator.xor, torch.bitwise_xor],
}


def _condition(seed, labels):
    """A condition of which value, residual and components are anything that adds up."""
    numbers = numpy.random.default_rng(seed)
    value, residual = (torch.from_numpy(numbers.random(SIZE) < 0.5) for _ in range(2))
    parts = torch.from_numpy(numbers.integers(-8, 9, (len(labels) - 1, SIZE)) / 8.0)
    last = value.double() - residual.double() - parts.sum(0)
    return np.DecomposedTensor(value, residual, torch.cat([parts, last[None]]), tuple(labels))


@pytest.mark.parametrize("kind", ["abc", "cbx", "a tensor", "an element", True])
@pytest.mark.parametrize("word", LOGIC)
def test_logic_is_linear_in_each_condition(word, kind):
    a, plain = _condition(6, "abc"), torch.from_numpy(numpy.random.default_rng(8).random(SIZE) < 0.5)
    b = {"a tensor": plain, "an element": plain[0], True: True}.get(kind)
    b = _condition(7, kind) if b is None else b
    ends = [(t.value, t.residual) if isinstance(t, np.DecomposedTensor) else (t, t) for t in (a, b)]
    ends = [[numpy.broadcast_to(numpy.asarray(end), SIZE).astype(float) for end in pair] for pair in ends]
    middles = [(x + r) / 2 for x, r in ends]
    formula = LOGIC[word]
    slopes = [formula(1, middles[1]) - formula(0, middles[1]), formula(middles[0], 1) - formula(middles[0], 0)]
    for function, swapped in itertools.product(WRITTEN[word], (False, True)):
        if b is True and function.__module__ != "_operator":  # torch takes tensors there
            continue
        made = function(b, a) if swapped else function(a, b)
        assert made.dtype is torch.bool
        assert numpy.array_equal(made.value.numpy(), formula(ends[0][0], ends[1][0]) == 1)
        assert numpy.array_equal(made.residual.numpy(), formula(ends[0][1], ends[1][1]) == 1)
        for label, parts in zip(made.labels, made.components, strict=True):
            wanted = sum(
                slope * t.components[t.labels.index(label)].numpy()
                for slope, t in zip(slopes, (a, b), strict=True)
                if isinstance(t, np.DecomposedTensor) and label in t.labels
            )
            numpy.testing.assert_allclose(parts.numpy(), wanted, rtol=0, atol=1e-15)


@pytest.mark.parametrize("function", [torch.logical_not, operator.invert, torch.bitwise_not])
def test_the_complement_takes_away_what_the_condition_gives(function):
    c = _condition(9, "abc")
    made = function(c)
    assert torch.equal(made.value, ~c.value)
    assert torch.equal(made.residual, ~c.residual)
    assert torch.equal(made.components, -c.components)


def test_numbers_count_as_conditions_by_whether_they_are_zero():
    t = decomposed(10)
    given = np.DecomposedTensor(
        torch.where(torch.arange(SIZE) % 2 == 0, t.residual + t.components.sum(0), 0), t.residual,
        torch.where(torch.arange(SIZE) % 2 == 0, t.components, -t.residual / 3), t.labels,
    )  # fmt: skip
    step = (given.value != 0).double() - 1
    slope = torch.where(step == 0, 0, step / (given.value - given.residual))
    for made, sign in ((np.logical_and(np.asarray(given), 2.0).tensor, 1), (torch.logical_not(given), -1)):
        torch.testing.assert_close(made.components, sign * given.components * slope, rtol=1e-13, atol=1e-15)


# -- labels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [operator.add, operator.mul, operator.matmul, np.maximum, operator.lt])
def test_inputs_of_their_own_keep_their_own_components(function):
    a, b = np.decompose(np.array([0.5, 2.0, 1.0]), baseline=0.25), np.decompose(np.array([1.5, 0.75, 3.0]))
    made = function(a, b)
    assert made.labels == (*a.labels, *b.labels)
    again = function(a, b) + a.sum()  # whose labels are there already
    assert again.labels == made.labels
    numpy.testing.assert_allclose(made.c_sum().astype(float), made.value.astype(float), atol=1e-15)
    alone = function(a, np.array([1.5, 0.75, 3.0]))
    assert alone.labels == a.labels


def test_equal_labels_are_one_though_they_are_other_objects():
    a = np.decompose(np.array([0.5, 2.0, 1.0]), baseline=0.25)
    b = np.decompose(np.array([1.0, 1.0, 4.0]))
    copy = pickle.loads(pickle.dumps(a))
    assert all(one is not other for one, other in zip(a.labels, copy.labels, strict=True))
    made = (a * 2.0 + b) + copy
    assert made.labels == (*a.labels, *b.labels)
    torch.testing.assert_close(made.tensor.components[:3], 3 * a.tensor.components)
    mixed = np.decompose(np.array([1.0, 2.0, 3.0]), labels=["p", "q", "r"])
    both = copy + mixed + a
    assert both.labels == (*a.labels, "p", "q", "r")
    torch.testing.assert_close(both.tensor.components[:3], 2 * a.tensor.components)


@pytest.mark.parametrize("divided", [2.0, torch.tensor([2.0, 3.0], dtype=torch.float64), "decomposed"])
def test_a_divisor_that_has_moved_to_infinity_leaves_no_nan(divided):
    parts = torch.tensor([[math.inf, 0.5], [0.25, 0.25]], dtype=torch.float64)
    residual = torch.tensor([1.0, 2.0], dtype=torch.float64)
    t = np.DecomposedTensor(residual + parts.sum(0), residual, parts, ("a", "b"))
    if isinstance(divided, str):
        ones = torch.ones(2, dtype=torch.float64)
        divided = np.DecomposedTensor(3 * ones, ones, torch.stack([ones, ones]), ("a", "b"))
    made = divided / t
    assert made.value[0] == 0
    assert torch.isfinite(made.components).all()
    torch.testing.assert_close(made.components.sum(0), made.value - made.residual)
