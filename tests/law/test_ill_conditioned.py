"""Baselines that are large, infinite or not a number: contributions are rounded to the digits of the larger numbers, no
function may lose more than that by itself, and what is not chosen contributes nothing."""

from __future__ import annotations

import itertools
import warnings

import numpy
import pytest
import torch

import npdec as np


@pytest.mark.parametrize("seed", range(4))
def test_correlations_of_what_hardly_varies(seed):
    source = numpy.random.default_rng(seed)
    far = (100 * source.normal(size=(3, 6))).astype("float32")
    near = (1 + 1e-3 * source.normal(size=(3, 6))).astype("float32")
    rounded = np.decompose(np.array(near), baseline=np.array(far)) / np.float32(3)
    made = np.corrcoef(rounded)
    for part, numbers in ((made.value, near), (made.residual, far)):
        numpy.testing.assert_allclose(part, numpy.corrcoef(numbers / numpy.float32(3)), rtol=1e-12)
    length = numpy.linalg.norm((near - near.mean(1, keepdims=True)) / 3, axis=1).min()
    error = abs(numpy.asarray(made.value - made.residual - made.components.sum(0))).max()
    assert error <= numpy.finfo("float32").eps * abs(far).max() / length


def test_a_variables_correlation_with_itself_is_constant():
    made = np.corrcoef(np.decompose(np.array([1.0, 2.0, 4.0]), baseline=np.array([2.0, -1.0, 0.5])))
    assert made.value == made.residual == 1
    numpy.testing.assert_allclose(made.components, 0, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", ["prod", "cumprod", "nanprod", "multiply.accumulate"])
def test_products_of_the_smallest_numbers(name, dtype):
    """Subnormal factors are no nearer to one than they can be brought; none makes a contribution of NaN."""
    tiny = float(numpy.finfo(dtype).smallest_subnormal)
    values = numpy.array([-1e-3, tiny, 0.5, 3 * tiny, 1e-3, tiny], dtype)
    bases = numpy.array([tiny, tiny, tiny, 0.25, tiny, 1.0], dtype)
    for x, r in ((values, bases), (bases, values), (values, numpy.zeros_like(values)), (values, values)):
        d = np.decompose(np.array(x), baseline=np.array(r))
        function = np.multiply.accumulate if "." in name else getattr(np, name)
        made = function(d)
        assert numpy.isfinite(numpy.asarray(made.components)).all()
        assert float(np.abs(made.value - made.c_sum()).max()) <= 4e-3 * numpy.finfo(dtype).eps


# -- nan at the baseline or at the value -------------------------------------------------------------------------------

NAN_FUNCTIONS = "nansum nanprod nancumsum nancumprod nanmean nanvar nanstd nanmax nanmin nan_to_num".split()
MASKS = {
    "isnan": lambda lib, x: lib.where(lib.isnan(x), -1.0, x),
    "isinf": lambda lib, x: lib.where(lib.isinf(x), -1.0, x),
    "isfinite": lambda lib, x: lib.where(lib.isfinite(x), x, -1.0),
    "isposinf": lambda lib, x: lib.where(lib.isposinf(x), 3.0, lib.where(lib.isneginf(x), -3.0, x)),
    "count": lambda lib, x: lib.isnan(x).sum() + lib.isfinite(x).mean(),
    "put": lambda lib, x: lib.where(lib.isfinite(x), x, lib.ones(4)).max(),
    **{name: lambda lib, x, name=name: getattr(lib, name)(x) for name in NAN_FUNCTIONS},
}
ENDS = [
    ([1.0, 2.0, 4.0, 5.0], [1.0, numpy.nan, 3.0, numpy.nan]),
    ([1.0, numpy.nan, 4.0, 5.0], [1.0, 7.0, 3.0, numpy.nan]),
    ([-3.0, 2.0, 4.0, -5.0], [numpy.nan, numpy.nan, numpy.nan, 2.5]),
]


@pytest.mark.parametrize("number", range(len(ENDS)))
@pytest.mark.parametrize("name", MASKS)
def test_what_is_not_a_number_is_asked_for_at_both_ends(name, number):
    f, (x, r) = MASKS[name], ENDS[number]
    with numpy.errstate(all="ignore"):
        value, residual = f(numpy, numpy.array(x)), f(numpy, numpy.array(r))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = f(np, np.decompose(np.array(x), baseline=np.array(r)))
    assert not said or name in ("nanmax", "nanmin")  # nan counts as an infinity in these
    numpy.testing.assert_allclose(made.value, value)
    numpy.testing.assert_allclose(made.residual, residual)
    there = numpy.isfinite(value) & numpy.isfinite(residual)
    missing = numpy.asarray(made.value * 1.0 - made.residual * 1.0 - made.components.sum(0))
    sizes = 1 + numpy.asarray(abs(made.components).sum(0))
    assert said or (abs(missing) <= 1e-14 * sizes)[there].all()


@pytest.mark.parametrize("ends", itertools.product([1.0, 2.0, 3.0, -numpy.inf], repeat=4), ids=str)
def test_lines_from_infinity_that_never_lead_contribute_nothing(ends):
    x, r = numpy.array([ends[:2], ends[2:]])
    want, base = x.max(), r.max()
    for f in (np.max, lambda t: np.maximum(t[0], t[1]), lambda t: torch.amax(t.tensor, 0)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            made = np.asarray(f(np.decompose(np.array(x), baseline=np.array(r))))
        assert (made.value, made.residual) == (want, base)
        if not (numpy.isfinite(want) and numpy.isfinite(base)):
            continue
        components = numpy.asarray(made.components)
        if numpy.isfinite(components).all():
            numpy.testing.assert_allclose(want - base - components.sum(0), 0, atol=1e-14)
            leads = (x == want) | (r == base)
            assert not components[~leads].any()
        else:
            assert said


# -- jumps of two arguments, two results -------------------------------------------------------------------------------


PAIRS = {
    "remainder": numpy.remainder,
    "fmod": numpy.fmod,
    "floor_divide": numpy.floor_divide,
    "copysign": numpy.copysign,
    "divmod": lambda a, b: numpy.divmod(a, b)[0],
    "divmod's remainder": lambda a, b: numpy.divmod(a, b)[1],
}


WHOLE = {"remainder": numpy.floor, "fmod": numpy.trunc, "floor_divide": numpy.floor}


def _drawn_pairs(name, dtype, positive):
    """The numbers and the baseline's, and what each of two arguments has of the change."""
    source = numpy.random.default_rng(0)
    x, y, r, s = source.normal(size=(4, 300)).astype(dtype)
    if positive:
        y, s = abs(y), abs(s)
    a, b = np.decompose(
        (np.array(x), np.array(y)), baseline=(np.array(r), np.array(s)), groups=(np.zeros(300, int), np.ones(300, int))
    )
    mine = {"divmod": lambda a, b: np.divmod(a, b)[0], "divmod's remainder": lambda a, b: np.divmod(a, b)[1]}
    made = mine.get(name, getattr(np, name, None))(a, b)
    return (x, y, r, s), [numpy.asarray(part) for part in made.components]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PAIRS)
def test_jumps_of_two_arguments_are_their_shapley_values(name, dtype):
    """Of quotients, where the path crosses a divisor of zero."""
    (x, y, r, s), parts = _drawn_pairs(name, dtype, positive=False)
    f = PAIRS[name]
    first = (f(x, s) - f(r, s)) / 2 + (f(x, y) - f(r, y)) / 2
    last = (f(r, y) - f(r, s)) / 2 + (f(x, y) - f(x, s)) / 2
    sizes = abs(f(x, s)) + abs(f(r, y)) + abs(f(x, y)) + abs(f(r, s))
    across = numpy.full(300, True) if name == "copysign" else numpy.signbit(y) != numpy.signbit(s)
    for part, want in zip(parts, (first, last), strict=True):
        assert (abs(part - want) <= 4 * numpy.finfo(dtype).eps * sizes)[across].all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [name for name in PAIRS if name != "copysign"])
def test_steps_of_quotients_come_where_the_quotient_moves(name, dtype):
    """The whole number q of floor(x / y) changes as x / y does, and x - q y by the product rule: both written out in
    double precision. Where q does not change, neither argument has anything of it."""
    (x, y, r, s), parts = _drawn_pairs(name, dtype, positive=True)
    x, y, r, s = (t.astype(float) for t in (x, y, r, s))
    function = {"divmod": "floor_divide", "divmod's remainder": "remainder"}.get(name, name)
    q, q_r = (WHOLE[function](u / v) for u, v in ((x, y), (r, s)))
    by_x, by_y = (x - r) * (1 / y + 1 / s) / 2, (1 / y - 1 / s) * (x + r) / 2
    known = (abs(by_x + by_y) > 1e-3 * (abs(by_x) + abs(by_y))) & (abs(q) + abs(q_r) < 1000)
    of_x, of_y = ((q - q_r) * part / (by_x + by_y) for part in (by_x, by_y))
    sizes = abs(of_x) + abs(of_y)
    if function != "floor_divide":
        middle = (y + s) / 2
        of_x, of_y = (x - r) - middle * of_x, -(q + q_r) / 2 * (y - s) - middle * of_y
        sizes = abs(x) + abs(r) + middle * (sizes + abs(q) + abs(q_r))
    assert known.sum() > 250
    assert ((q == q_r) & known).sum() > 40
    for part, want in zip(parts, (of_x, of_y), strict=True):
        assert (abs(part - want) <= 1e4 * numpy.finfo(dtype).eps * sizes)[known].all()
        if function == "floor_divide":
            assert not part[q == q_r].any()


# -- zeros that change their signs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("signs", itertools.product([0.0, -0.0], repeat=2), ids=str)
@pytest.mark.parametrize(
    "ends", [(-1.0, 2.0), (2.0, -1.0), (-0.0, 0.0), (0.0, -1.0), (-1.0, 0.0), (-2.0, -1.0)], ids=str
)
def test_an_angle_jumps_with_what_moves_or_says_so(ends, signs):
    (r, x), (s, y) = ends, signs
    change = numpy.arctan2(y, x) - numpy.arctan2(s, r)
    through_the_origin = r * x <= 0 and r != x
    for made in (
        lambda: np.arctan2(*np.decompose((np.array(y), np.array(x)), baseline=(np.array(s), np.array(r)), labels="yx")),
        lambda: np.angle(np.decompose(np.array(complex(x, y)), baseline=np.array(complex(r, s)))),
    ):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = made()
        components = numpy.asarray(found.components)
        assert components[-1] == (change if through_the_origin else 0)
        assert not components[:-1].any()
        assert bool(said) == (components.sum() != change)


@pytest.mark.parametrize("steps", [np.remainder, np.fmod, np.floor_divide], ids=lambda f: f.__name__)
def test_counts_that_cancel_have_the_slope_in_reverse_mode_too(steps):
    x, r = np.array([0.2, 0.7, 1.4]), np.array([0.7, 0.2, 1.2])

    def counted(x):
        return (steps((x > 0.5).sum() * 1.0, 1.5) * np.array([1.0])).sum()

    forward = np.attribute(counted, x, baseline=r, mode="forward")
    reverse = np.attribute(counted, x, baseline=r)
    slope = 0.0 if steps is np.floor_divide else 1.0
    numpy.testing.assert_allclose(forward.attribution, numpy.array([-1.0, 1.0, 0.0]) * slope)
    numpy.testing.assert_allclose(reverse.attribution, forward.attribution)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_slopes_beside_jumps_are_those_of_each_element(mode):
    x, r = np.array([0.2, 0.7, 1.4]), np.array([0.7, 0.2, 1.2])

    def rests(x):  # the count does not change, as what moves it cancels; it is divided by six numbers that move
        return np.remainder((x > 0.5).sum() * 1.0, np.array([[1.1], [1.3]]) + 0.01 * x)[1, 2]

    found = np.attribute(rests, x, baseline=r, mode=mode)
    divisor, base = 1.3 + 0.01 * 1.4, 1.3 + 0.01 * 1.2
    wanted = [-1.0, 1.0, 2.0 % divisor - 2.0 % base]
    numpy.testing.assert_allclose(numpy.asarray(found.attribution), wanted)


@pytest.mark.parametrize("kept", [lambda x: x.tensor.unbind(0), lambda x: x.tensor[:0], lambda x: x.tensor.numpy()])
def test_a_write_of_no_elements_is_one_whoever_looks_at_the_memory(kept):
    x = np.zeros((2, 0))
    other = kept(x)
    np.fill_diagonal(x, np.decompose(np.ones(3)))
    x[...] = np.decompose(np.ones((1, 1)))[:, :0]
    assert x.shape == (2, 0)
    assert other is not None


@pytest.mark.parametrize("name", ["or", "and", "xor"])
def test_logic_of_conditions_in_place(name):
    x = np.decompose(np.array([1.0, 2.0, -1.0, 4.0]), baseline=np.array([-1.0, 2.0, 3.0, -4.0]))
    carrying, plain = x > 0, np.array([True, False, True, False])
    for a, b in ((carrying, plain), (plain, carrying), (carrying, x > 1.5)):
        made = np.asarray(getattr(torch.Tensor, f"__i{name}__")(a.tensor.clone(), b.tensor))
        value, residual = (
            getattr(numpy, f"logical_{name}")(*(numpy.asarray(getattr(c, part)) for c in (a, b)))
            for part in ("value", "residual")
        )
        assert (numpy.asarray(made.value) == value).all()
        assert (numpy.asarray(made.residual) == residual).all()
        assert (numpy.asarray(made.components.sum(0)) == value * 1.0 - residual).all()


def test_sym_sum_is_the_sum():
    x = np.decompose(np.array([1.0, 2.0]), baseline=np.array([0.5, 3.0]))
    for args in ([x.tensor, 1], (x.tensor, torch.ones(2, dtype=torch.float64), x.tensor)):
        made, want = np.asarray(torch.sym_sum(args)), sum(args)
        assert (made.value == np.asarray(want).value).all()
        numpy.testing.assert_array_equal(made.components, want.components)
        numpy.testing.assert_array_equal(made.residual, want.residual)


# -- reverse mode ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_contributions_that_cancel_to_rounding_errors_of_half_precision_are_said(dtype):
    x, r = np.array([1.315, 0.7], dtype), np.array([-2.5, 0.2], dtype)

    def steps(x):
        wide = np.repeat(x, 3).astype(
            "float32"
        )  # whose gradients are rounded to half precision, before they are summed
        return np.ceil((wide * np.array([1.0, -0.7, -0.299999, 1.0, -0.7, -0.299999], "float32")).sum())

    with pytest.warns(np.exceptions.DecompositionWarning, match="they cancel, before a jump"):
        found = np.attribute(steps, x, baseline=r)
    assert not abs(found.error) <= 1  # of the jump from 0 to 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_contributions_that_do_not_cancel_are_not_said_to(dtype):
    found = np.attribute(lambda x: (100 * x).sum(), np.array([1.0, 2.0, 3.0], dtype))  # warnings are errors
    assert found.attribution.tolist() == [100, 200, 300]


# -- products of equal rows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batches", [(1, 3), (3, 1), (3, 3), (1, 1), (1, 0), (0, 1)], ids=str)
@pytest.mark.parametrize("equal", ["rows", "columns", "both"])
def test_batches_of_equal_rows_broadcast_in_products(batches, equal):
    source = numpy.random.default_rng(0)
    x, y = source.normal(size=(batches[0], 2, 4)), source.normal(size=(batches[1], 4, 3))
    row = numpy.ones(4) if equal != "columns" else source.normal(size=(2, 4))
    column = numpy.ones((4, 1)) if equal != "rows" else source.normal(size=(4, 3))
    r, s = np.broadcast_to(np.array(row), x.shape), np.broadcast_to(np.array(column), y.shape)
    a = np.decompose(np.array(x), baseline=r, labels=[*"stuv"], axis=2)
    b = np.decompose(np.array(y), baseline=s, labels=[*"xyz"], axis=2)
    made = np.matmul(a, b)
    base = numpy.broadcast_to(row, x.shape) @ numpy.broadcast_to(column, y.shape)
    numpy.testing.assert_allclose(made.residual, base)
    numpy.testing.assert_allclose(made.value, x @ y)
    numpy.testing.assert_allclose(made.components.sum(0), x @ y - base, atol=1e-12)


def test_unit_vectors_of_what_has_cancelled_say_that_they_are_large():
    x = np.decompose(np.array([[0.1, 0.2, -0.3]]))
    with pytest.warns(np.exceptions.DecompositionWarning, match="normalize: contributions are more than a million"):
        torch.nn.functional.normalize(x.tensor.sum(1, keepdim=True))
