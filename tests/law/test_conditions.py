"""Comparisons, logic, counts and masks carry contributions: values and residuals are NumPy's own, contributions are
complete and those of the law; what is frozen at the value warns where the baseline would choose otherwise."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import numpy
import pytest
import torch

import npdec as np

X = numpy.array([[1.0, 2.0, -3.0, 0.5], [0.0, -1.0, 2.0, 2.0]])
X0 = numpy.array([[-1.0, 3.0, 1.0, -2.0], [1.0, -1.0, -2.0, 2.0]])
Y = numpy.array([[1.5, 1.0, -2.0, 0.5], [0.25, -1.0, 3.0, -2.0]])
Y0 = numpy.array([[0.0, 4.0, -1.0, -2.0], [2.0, 1.0, -2.0, 2.0]])
EDGES = [-2.0, 0.0, 1.5]


def assigned(np, key, value, like=None):
    made = np.zeros((2, 4)) + (0 if like is None else like)
    made[key] = value
    return made


def masked(np, write):
    made = np.ones((2, 4))
    write(made)
    return made


# Programs of two arrays: all of them by NumPy as well.
PROGRAMS = {
    **{op: eval(f"lambda np, x, y: x {op} y") for op in "< <= > >= == !=".split()},
    **{f"number {op}": eval(f"lambda np, x, y: 1.0 {op} x") for op in "< <= > >= == !=".split()},
    **{op: eval(f"lambda np, x, y: (x > 0) {op} (y < x)") for op in "& | ^ + *".split()},
    **{f"mask {op}": eval(f"lambda np, x, y: (x > 0) {op} (np.arange(8).reshape(2, 4) % 2 == 0)") for op in "&|^"},
    "~": lambda np, x, y: ~(x > 0),
    **{
        f"logical_{name}": eval(f"lambda np, x, y: np.logical_{name}(x, y > 0)")
        for name in "and or xor".split()
    },
    "logical_not": lambda np, x, y: np.logical_not(x),
    **{
        f"{name} {axis}": eval(f"lambda np, x, y: np.{name}(x > -1, axis={axis})")
        for name in "all any sum mean count_nonzero prod cumsum max min".split()
        for axis in ("0", "1", *([] if name == "cumsum" else ["None", "(0, 1)"] if name != "cumprod" else []))
    },
    "keepdims": lambda np, x, y: np.any(x > y, axis=1, keepdims=True),
    "numbers any": lambda np, x, y: np.any(x, axis=0),
    "astype int": lambda np, x, y: (x > 0).astype(int) + (2.7 * y).astype(int),
    "astype float": lambda np, x, y: (x > 0).astype("f4") * 2,
    "astype bool": lambda np, x, y: x.astype(bool),
    "int arithmetic": lambda np, x, y: (x > 0) * 3 - (y > 0).astype("i4") * 2 + np.int16(2),
    "integer division": lambda np, x, y: ((x > 0) * 7 + (y > 0) * 2) // 3 + ((x > 0) * 7) % 4,
    "true division": lambda np, x, y: (x > 0).sum(0) / ((y > 0).sum(0) + 1),
    "power": lambda np, x, y: 2 ** (x > 0).sum(0) + (y > 0).sum(0) ** 2,
    "abs of integers": lambda np, x, y: abs((x > 0) * 2 - (y > 0) * 5),
    "matmul": lambda np, x, y: (x > 0) @ y.T,
    "matmul of integers": lambda np, x, y: (x > 0).astype(int) @ (y > 0).astype(int).T,
    "matmul of booleans": lambda np, x, y: (x > 0) @ (y > 0).T,
    "dot of a mask": lambda np, x, y: (x > 0) @ np.arange(4),
    "exp": lambda np, x, y: np.exp(x > 0) + np.sqrt((y > 0).sum()),
    "views": lambda np, x, y: np.concatenate([(x > 0).T.reshape(-1)[::2], (y > 0)[:, None, 1:].ravel()]),
    "where": lambda np, x, y: np.where(x > 0, x, y),
    "where of numbers": lambda np, x, y: np.where(x > y, 1.0, -2.0),
    "where of integers": lambda np, x, y: np.where(x > y, 3, np.arange(4)),
    "where by numbers": lambda np, x, y: np.where(x, y, -1.0),
    "nested": lambda np, x, y: np.where(x > 0, np.where(y > 0, x * y, 2.0), np.where(y > 1, y, x)),
    "guarded quotient": lambda np, x, y: np.where(x != 0, y / x, 0.0),
    "guarded logarithm": lambda np, x, y: np.where(x > 0, np.log(x), y),
    "guarded root": lambda np, x, y: np.where(x >= 0, np.sqrt(x), -np.sqrt(-x)),
    "select": lambda np, x, y: np.select([x < 0, x < 1.5], [x * y, x**2], 7.0),
    "select overlapping": lambda np, x, y: np.select([x < 1, y < 1, x > y], [y, -x, 0.5], x),
    "piecewise": lambda np, x, y: np.piecewise(x, [x < 0, x >= 1], [lambda v: -(v**3), 10.0]),
    "piecewise default": lambda np, x, y: np.piecewise(x * y, [x > 0], [lambda v: v + 1, lambda v: 2 * v]),
    "piecewise overlapping": lambda np, x, y: np.piecewise(x, [x < 1, x < 0], [lambda v: v, lambda v: -v, 3.0]),
    "choose": lambda np, x, y: np.choose((x > 0).astype(int) + (y > 0), [x, y, 5.0]),
    "digitize": lambda np, x, y: np.digitize(x, np.array(EDGES)),
    "digitize falling": lambda np, x, y: np.digitize(x, np.array(EDGES[::-1]), right=True),
    "choose by digitize": lambda np, x, y: np.choose(np.digitize(x, np.array(EDGES)), [10.0, x, y, x * y]),
    "searchsorted": lambda np, x, y: np.searchsorted(np.array(EDGES), x, side="right"),
    "searchsorted in numbers": lambda np, x, y: np.searchsorted(np.array(EDGES) + y[0, 0], x),
    "clip": lambda np, x, y: np.clip(x, y - 1, y),
    "heaviside": lambda np, x, y: np.heaviside(x, 0.5) * y,
    "sign": lambda np, x, y: np.sign(x) * y,
    "signbit": lambda np, x, y: np.signbit(x),
    "floor": lambda np, x, y: np.floor(x * 1.3),
    "isclose": lambda np, x, y: np.isclose(x, 2.0) | np.isclose(x, y, atol=0.6),
    "assignment": lambda np, x, y: assigned(np, x > 0, 5.0),
    "assignment of a number": lambda np, x, y: assigned(np, x > 0, y[0, 1], like=y),
    "assignment of rows": lambda np, x, y: assigned(np, x[:, 0] > 0, y[1], like=x),
    "assignment with slices": lambda np, x, y: assigned(np, (slice(None), x[0] > 0), y.sum()),
    "assignment in a column": lambda np, x, y: assigned(np, (x[:, 0] > 0, 1), 3.0),
    "assignment, reversed": lambda np, x, y: assigned(np, (slice(None, None, -1), y[1] > 0), -1.0),
    "putmask": lambda np, x, y: masked(np, lambda z: np.putmask(z, x > 0, [1.0, 2.0, 3.0])),
    "copyto": lambda np, x, y: masked(np, lambda z: np.copyto(z, y, where=x > 0)),
    "place": lambda np, x, y: masked(np, lambda z: np.place(z, x > 0, 7.0)),
    "ufunc where": lambda np, x, y: masked(np, lambda z: np.add(x, 1, out=z, where=y > 0)),
    "reduction where": lambda np, x, y: np.sum(x * y, axis=1, where=x > 0) + np.max(y, where=y > x, initial=-9.0),
    "mean where": lambda np, x, y: np.mean(y, where=x > -2),
    "mask times": lambda np, x, y: ((x > 0) * y + (x <= 0) * (y**2)).sum(1),
    "relu": lambda np, x, y: (x * (x > 0)).sum(),
    "stump": lambda np, x, y: np.where(x[0] > 0, 1.0, 0.0) + 0 * y[0],
    "written booleans": lambda np, x, y: masked(np, lambda z: z.__setitem__((0, 1), (x > 0).all())),
}  # fmt: skip


# A quotient by zero that a guard does not choose is said to be infinite, as NumPy says it.
@pytest.mark.filterwarnings("ignore:.* infinite or not a number:npdec.exceptions.DecompositionWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_conditions_carry(name):
    program = PROGRAMS[name]
    with numpy.errstate(all="ignore"):
        value, residual = program(numpy, X.copy(), Y.copy()), program(numpy, X0.copy(), Y0.copy())
    x, y = np.decompose((np.array(X), np.array(Y)), baseline=(X0, Y0))
    made = program(np, x, y)
    assert made.is_decomposed
    assert made.dtype == value.dtype
    if value.dtype.kind in "bi":
        assert made.value.tolist() == value.tolist()
        assert made.residual.tolist() == residual.tolist()
    numpy.testing.assert_allclose(made.value.tolist(), value, rtol=1e-15, atol=0)
    numpy.testing.assert_allclose(made.residual.tolist(), residual, rtol=1e-15, atol=0)
    change = value.astype(float) - residual.astype(float)
    numpy.testing.assert_allclose(made.components.sum(0).tolist(), change, rtol=1e-12, atol=1e-12)

    def total(x, y):
        return (program(np, x, y) * np.arange(1.0, value.size + 1).reshape(value.shape)).sum()

    wanted = total(x, y).components.tolist()
    found = np.attribute(total, np.array(X), np.array(Y), baseline=(X0, Y0)).attribution
    numpy.testing.assert_allclose(
        [*found[0].ravel().tolist(), *found[1].ravel().tolist()], wanted, rtol=1e-11, atol=1e-12
    )


# A quotient by zero that a guard does not choose is said to be infinite, as NumPy says it.
@pytest.mark.filterwarnings("ignore:.* infinite or not a number:npdec.exceptions.DecompositionWarning")
@pytest.mark.parametrize("name", ["guarded quotient", "where", "assignment", "any None", "select", "digitize"])
def test_conditions_are_frozen_where_that_is_wanted(name):
    x, y = np.decompose((np.array(X), np.array(Y)), baseline=(X0, Y0))
    with np.rule(conditions="frozen"):
        made = PROGRAMS[name](np, x, y)
    assert made.value.tolist() if hasattr(made, "value") else made.tolist() == PROGRAMS[name](numpy, X, Y).tolist()
    if name == "where":
        assert made.residual.tolist() == numpy.where(X > 0, X0, Y0).tolist()
    if name in ("assignment", "any None", "digitize"):
        assert not made.is_decomposed


# -- the law, by brute force -------------------------------------------------------------------------------------------


def test_a_comparison_is_the_secant_of_its_step():
    x, x0, t, t0 = (numpy.array(v) for v in ([3.0, -1.0, 2.0], [1.0, 2.0, 0.0], [2.0, 0.0, 5.0], [2.5, 1.0, 4.0]))
    a, b = np.decompose((np.array(x), np.array(t)), baseline=(x0, t0), axis=0)
    made = a > b
    jump = (x > t).astype(float) - (x0 > t0)
    # A unit jump of x − t, divided as x and t have moved their difference.
    step = (x - t) - (x0 - t0)
    numpy.testing.assert_allclose(made.components.sum(0).tolist(), jump, atol=1e-15)
    both = np.decompose((np.array(x), np.array(t)), baseline=(x0, t0))
    made = both[0] > both[1]
    by_x, by_t = jump * (x - x0) / step, -jump * (t - t0) / step
    wanted = numpy.concatenate([numpy.diag(by_x), numpy.diag(by_t)])
    numpy.testing.assert_allclose(made.components.tolist(), wanted, rtol=1e-15)


@pytest.mark.parametrize("everything", [True, False])
def test_all_and_any_are_aumann_shapley_of_a_product(everything):
    """Of n booleans: the integral of the derivative of the multilinear extension, in rational numbers."""
    for value, residual in itertools.product(itertools.product([0, 1], repeat=4), repeat=2):
        x = np.decompose(np.array(value, dtype=float) - 0.5, baseline=np.array(residual) - 0.5) > 0
        made = x.all() if everything else x.any()
        wanted = [_share(i, value, residual, everything) for i in range(4)]
        numpy.testing.assert_allclose(made.components.tolist(), [float(w) for w in wanted], atol=1e-15)
        function = all if everything else any
        assert (bool(made.value), bool(made.residual)) == (function(value), function(residual))


def _share(i, value, residual, everything):
    """∫ Π_{j≠i} u_j(t) dt · (x_i − r_i), u being the conditions or their complements; polynomials by coefficients."""
    product = [Fraction(1)]
    for j, (x, r) in enumerate(zip(value, residual, strict=True)):
        if j == i:
            continue
        line = [r, x - r] if everything else [1 - r, r - x]
        longer = [Fraction(0)] * (len(product) + 1)
        for k, c in enumerate(product):
            longer[k] += c * line[0]
            longer[k + 1] += c * line[1]
        product = longer
    return sum(c / (k + 1) for k, c in enumerate(product)) * (value[i] - residual[i])


def test_a_choice_is_a_product_of_condition_and_branches():
    """where(m, a, b) = m a + (1 − m) b: the integral along the path, by Simpson's rule, which is exact for squares."""
    rng = numpy.random.default_rng(0)
    a, a0, b, b0 = rng.normal(size=(4, 50))
    c, c0 = rng.normal(size=(2, 50))
    one, two, three = np.decompose((np.array(c), np.array(a), np.array(b)), baseline=(c0, a0, b0), axis=())
    parts = [np.decompose(np.array(v), baseline=v0, axis=(), labels=[n])
             for v, v0, n in ((c, c0, "c"), (a, a0, "a"), (b, b0, "b"))]  # fmt: skip
    made = np.where(parts[0] > 0, parts[1], parts[2])
    m, m0 = (c > 0).astype(float), (c0 > 0).astype(float)
    wanted = numpy.zeros((3, 50))
    for t, weight in ((0.0, 1 / 6), (0.5, 4 / 6), (1.0, 1 / 6)):
        at, high, low = m0 + t * (m - m0), a0 + t * (a - a0), b0 + t * (b - b0)
        wanted += weight * numpy.stack([(high - low) * (m - m0), at * (a - a0), (1 - at) * (b - b0)])
    assert made.labels == ("c", "a", "b")
    numpy.testing.assert_allclose(made.components.tolist(), wanted, rtol=1e-13, atol=1e-15)
    whole = np.where(one > 0, two, three)
    numpy.testing.assert_allclose(whole.components[0].tolist(), wanted.sum(0), rtol=1e-13, atol=1e-15)


def test_a_guard_that_opens_accounts_for_all():
    """1 / d is infinite at the baseline, where it is not chosen: the condition has the whole difference."""
    d = np.decompose(np.array([2.0, 0.0, -4.0]), labels=["a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 1 / 0
        made = np.where(d != 0, 1 / d, 0.0)
    assert made.residual.tolist() == [0.0, 0.0, 0.0]
    assert made.components.tolist() == [[0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -0.25]]


# -- the torch face ----------------------------------------------------------------------------------------------------


def written(t, key, value):
    made = torch.zeros(3, 4, dtype=t.dtype)
    made[key] = value
    return made


TORCH = {
    "where": lambda t: torch.where(t > 0, t, -1.0),
    "where method": lambda t: t.where(t > 0.5, t**2),
    "masked_fill": lambda t: t.masked_fill(t < 0, -1.0),
    "masked_fill_": lambda t: t.clone().masked_fill_(t < 0, t.sum()),
    "mask": lambda t: (t > 0).float() * t,
    "relu": lambda t: t * (t > 0),
    "sum": lambda t: (t > 0).sum(0),
    "any": lambda t: torch.any(t > 1, 1),
    "all": lambda t: (t > -1).all(dim=0, keepdim=True),
    "logic": lambda t: torch.logical_and(t, t > 1) | ~(t < 0),
    "bool": lambda t: t.bool(),
    "long": lambda t: (3 * t).long() + (t > 0).long(),
    "count": lambda t: torch.count_nonzero(t > 0, 1),
    "setitem": lambda t: written(t, t > 0, 2.0),
    "setitem with a slice": lambda t: written(t, (slice(None), t[0] > 0), t.sum()),
    "softmax": lambda t: torch.softmax(t.masked_fill(t < -2, -torch.inf), -1),
    "searchsorted": lambda t: torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), t),
    "bucketize": lambda t: torch.bucketize(t, torch.tensor([-1.0, 0.0, 1.0]), right=True),
    "isclose": lambda t: torch.isclose(t, torch.ones(3, 4), atol=0.5),
    "view": lambda t: (t > 0).unsqueeze(1).expand(3, 2, 4).transpose(0, 1).reshape(-1),
    "stack": lambda t: torch.stack([t > 0, t < 1]).any(0),
    "gather": lambda t: (t > 0).gather(1, torch.tensor([[0, 3], [1, 1], [2, 0]])),
}


@pytest.mark.parametrize("name", TORCH)
def test_tensors_carry(name):
    generator = torch.Generator().manual_seed(3)
    x, r = torch.randn(2, 3, 4, generator=generator)
    f = TORCH[name]
    made = f(np.decompose(x, baseline=r, axis=1))
    value, residual = f(x), f(r)
    assert type(made) is np.DecomposedTensor
    assert made.dtype is value.dtype
    assert torch.equal(made.value, value)
    assert torch.equal(made.residual, residual)
    torch.testing.assert_close(made.components.sum(0).float(), value.float() - residual.float(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_dtype_of_components_is_that_of_the_input(dtype):
    t = np.decompose(torch.tensor([1.0, -2.0], dtype=dtype), baseline=torch.tensor([-1.0, -1.0], dtype=dtype))
    made = t > 0
    assert (made.dtype, made.components.dtype) == (torch.bool, dtype)
    assert (made * t).components.dtype is dtype
    assert torch.where(made, t, 1).components.dtype is dtype
    assert made.sum().components.dtype is torch.float64  # as int64 needs


def test_infinite_numbers_compare():
    inf = math.inf
    x = np.decompose(np.array([inf, -inf, 1.0, inf]), baseline=np.array([0.0, 0.0, inf, -inf]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = x > 2.0
    assert made.components.sum(0).tolist() == [1.0, 0.0, -1.0, 1.0]


# -- what is frozen warns ----------------------------------------------------------------------------------------------

FROZEN = {
    "if": lambda x: 1 if x[0] > 2 else 0,
    "while": lambda x: bool(x[1] > 1.5),
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0]),
    "mask": lambda x: x[x > 0],
    "index": lambda x: np.arange(9.0)[np.digitize(x, np.array(EDGES))],
    "take": lambda x: np.take(np.arange(9.0), np.digitize(x, np.array(EDGES))),
    "argmax": np.argmax,
    "argsort": np.argsort,
    "argpartition": lambda x: np.argpartition(x, 1),
    "sort": np.sort,
    "median": np.median,
    "quantile": lambda x: np.quantile(x, 0.3),
    "unique": np.unique,
    "nonzero": lambda x: np.nonzero(x > 0),
    "flatnonzero": lambda x: np.flatnonzero(x > 0),
    "compress": lambda x: np.compress(x > 0, x),
    "extract": lambda x: np.extract(x > 0, x),
    "array_equal": lambda x: np.array_equal(x, np.array(X[0])),
    "allclose": lambda x: np.allclose(x, np.array(X[0])),
    "isin": lambda x: np.isin(x, [2.0, 0.5]),
    "bincount": lambda x: np.bincount(np.digitize(x, np.array(EDGES))),
    "range": lambda x: len(range((x > 1.5).sum())),
    "masked assignment of as many": lambda x: assigned(np, (slice(0, 1), x > 0), np.arange(3.0)),
    "tensor": lambda x: x.tensor[x.tensor > 0],
    "topk": lambda x: torch.topk(x.tensor, 2),
    "gather": lambda x: torch.gather(torch.arange(9.0), 0, (x.tensor > 0).long()),
    "tensor argmax": lambda x: x.tensor.argmax(),
    "contains": lambda x: 2.0 in x,
}


@pytest.mark.whole
@pytest.mark.parametrize("name", FROZEN)
def test_what_is_frozen_warns_and_names_the_line(name):
    baseline = np.array([4.0, 1.0, 2.5, -2.0])
    with pytest.warns(np.DecompositionWarning) as caught:
        FROZEN[name](np.decompose(np.array(X[0]), baseline=baseline))
    assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FROZEN[name](np.array(X[0]))
        if name not in ("float", "int"):  # which are Python's numbers, and carry nothing at all
            # The same choice at the baseline: twice the numbers.
            FROZEN[name](np.decompose(np.array(X[0]), baseline=np.array(X[0]), axis=()))
            with np.rule(conditions="frozen"):
                FROZEN[name](np.decompose(np.array(X[0]), baseline=baseline))


def test_an_attribution_says_what_is_not_of_the_baseline():
    with pytest.warns(np.DecompositionWarning, match="at the baseline it would choose otherwise"):
        np.attribute(lambda x: x[np.argmax(x)], np.array([1.0, 3.0, 2.0]), baseline=np.array([4.0, 0.0, 0.0]))


@pytest.mark.parametrize("value", [0.75, 0.25])
def test_a_condition_without_axes_writes(value):
    x = np.decompose(np.array(value))
    y = np.decompose(np.array(2.0), baseline=1.0)
    y[x > 0.5] = y + 10.0
    y[x > 2.0] = 7.0
    assert (y.value, y.residual) == (2.0 + 10.0 * (value > 0.5), 1.0)
    assert float(y.residual + y.components.sum()) == float(y.value)


@pytest.mark.filterwarnings("ignore:.*infinite or not a number at the baseline")
def test_where_the_baseline_has_no_answer_it_has_another_one():
    x = np.array([1.5, -2.5, -1.0, 0.0])  # the width of the bins is zero at the baseline
    with pytest.warns(np.DecompositionWarning, match="frozen"):
        made = np.histogram_bin_edges(np.decompose(x), "auto")
    assert made.value.tolist() == numpy.histogram_bin_edges(x.__array__(), "auto").tolist()


# -- integers that are written -----------------------------------------------------------------------------------------

INTO = {
    "assignment": lambda z, x: z.__setitem__(slice(None), x),
    "places": lambda z, x: z.__setitem__([2, 0, 1], x),
    "reversed": lambda z, x: z[::-1].__setitem__(slice(None), x),
    "a view": lambda z, x: z[1:].__setitem__(0, x[0]),
    "a mask": lambda z, x: z.__setitem__(np.array([True, False, True]), x[1]),
    "copyto": lambda z, x: np.copyto(z, x, casting="unsafe"),
    "put": lambda z, x: np.put(z, [0, 2], x),
    "out": lambda z, x: np.multiply(x, 2, out=z, casting="unsafe"),
    "fill": lambda z, x: z.fill(x[2]),
    "flat": lambda z, x: z.flat.__setitem__(slice(None), x),
    "diagonal": lambda z, x: np.fill_diagonal(z.reshape(1, 3), x[0]),
}


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "bool"])
@pytest.mark.parametrize("name", INTO)
def test_integers_hold_the_steps_of_what_is_written(name, dtype):
    value, base = numpy.array([1.7, 0.0, 3.2]), numpy.array([-2.5, 1.5, 0.0])
    wanted = []
    for x in (value, base):
        plain = np.ones(3, dtype)
        INTO[name](plain, np.array(x))
        wanted.append(plain)
    made = np.ones(3, dtype)
    view = made[::-1]
    INTO[name](made, np.decompose(np.array(value), baseline=base))
    assert made.value.tolist() == wanted[0].tolist()
    assert made.residual.tolist() == wanted[1].tolist()
    change = wanted[0].astype(float) - wanted[1].astype(float)
    numpy.testing.assert_allclose(made.components.sum(0).tolist(), change.tolist(), atol=1e-12)
    assert view.components.tolist() == made.components[:, ::-1].tolist()


@pytest.mark.filterwarnings("ignore:.* cancel to less than:npdec.exceptions.DecompositionWarning")
@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "isclose"])
def test_complex_numbers_compare_where_what_moves_them_cancels(name):
    x = np.decompose(np.array([0.1, 0.2, -0.3])).sum() * np.array([1 + 1j, 1, 1j])
    for other in (0.0, x[::-1], x * np.array([1, 1j, -1])):
        made = getattr(np, name)(x, other)
        assert np.isfinite(made.components).all()
        assert abs(np.completeness(made)).max() <= 1e-12


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_weights_are_added_up_in_the_order_of_the_plain_run(dtype):
    source = np.random.default_rng(2)
    for count in (3, 20, 100):
        x, r, w = (source.normal(size=count) for _ in range(3))
        weights = w.astype(dtype)
        for edges in (3, 8, [-1.0, 0.0, 0.5]):
            for given in (weights, np.decompose(weights, groups=np.zeros(count, int))):
                made = np.histogram(np.decompose(x, baseline=r, groups=np.zeros(count, int)), edges, weights=given)[0]
                assert made.value.tobytes() == np.histogram(x, edges, weights=weights)[0].tobytes()
