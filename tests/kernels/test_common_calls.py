"""The short ways of common calls, where they have to give what NumPy gives: numbers, few numbers, memory in common."""

from __future__ import annotations

import itertools
import math
import struct

import numpy
import pytest

import npdec as np
from npdec._impl._numbers import OF_NUMBERS

NUMBERS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.3, -7.7, 2.0**52 + 0.5, 1e16 + 2, 1e308, -1e308, 5e-324,
    math.inf, -math.inf, math.nan,
)  # fmt: skip
OPERATORS = {"add", "sub", "mul", "truediv", "floordiv", "mod", "neg", "pos", "abs", "lt", "le", "gt", "ge", "eq", "ne"}
UFUNCS = [
    value
    for value in vars(np).values()
    if isinstance(value, np.ufunc)
    and (value._torch in OF_NUMBERS or value.__name__ in OF_NUMBERS or value.__kernel__.__npdec__.operator in OPERATORS)
]
UFUNCS = sorted({function.__name__: function for function in UFUNCS}.values(), key=lambda function: function.__name__)


def _bits(x: object) -> object:
    if isinstance(x, float):
        return "nan" if math.isnan(x) else struct.pack("d", x)
    return bool(x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_ufuncs_of_numbers_are_numpys_to_the_last_bit():
    assert len(UFUNCS) > 25
    with numpy.errstate(all="ignore"):
        for function in UFUNCS:
            theirs = getattr(numpy, function.__name__)
            for numbers in itertools.product(NUMBERS, repeat=function.nin):
                if function.nin == 2 and numbers[0] == numbers[1] == 0 and "m" in function.__name__[:2]:
                    continue  # which of two zeros is the greater one, NumPy leaves open
                want = theirs(*numbers)
                for given in (numbers, tuple(map(np.float64, numbers))):
                    got = function(*given)
                    assert type(got).__name__ == type(want).__name__, (function, numbers)
                    assert _bits(got) == _bits(want), (function, numbers)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "all", "any"])
def test_reductions_of_few_numbers_are_numpys(name):
    rng = numpy.random.default_rng(5)
    for size in (1, 2, 3, 7, 16, 17):
        for numbers in (
            rng.standard_normal(size),
            rng.integers(-2, 3, size),
            rng.integers(0, 2, size).astype(bool),
            rng.choice([0.0, 1.0, -1.0, math.nan, math.inf], size),
            numpy.full(size, -0.0),
            rng.integers(0, 3, size).astype("f4"),
        ):
            got, want = getattr(np.array(numbers), name)(), getattr(numbers, name)()
            assert type(got).__name__ == type(want).__name__
            assert _bits(float(got)) == _bits(float(want)), numbers


MEMORY_IN_COMMON = [
    "x[1:] += x[:-1]",
    "x[:-1] -= x[1:]",
    "x[::2] *= x[1::2]",
    "x[:5] //= x[::2] + 1",
    "x[2:8] %= x[1:7] + 1",
    "x += x[::-1]",
    "np.add(x[1:], x[:-1], out=x[1:])",
    "np.subtract(x, x, out=x)",
    "np.sqrt(x[:5], out=x[5:])",
    "np.multiply(x[:5], x[4:9], out=x[3:8])",
    "np.copyto(x[1:], x[:-1])",
    "np.putmask(x, x > 3, x[::-1])",
    "A += A.T",
    "A[1:] += A[:-1]",
    "A.T[:] = A",
    "np.add(A, A.T, out=A)",
    "x.put([0, -1], 7.5)",
    "np.put_along_axis(A, np.array([[0], [2], [1]]), 9.0, 1)",
    "np.array_split(x, 3)[1][:] = 0",
    "np.split(x, 2)[1][0] = 5; np.hsplit(A, 3)[2][:] = 1",
    "A.T[0] = 8; np.ravel(A)[1] = 6; np.swapaxes(A, 0, 1)[2, 0] = 4",
    "np.flip(A)[0, 0] = 3; A[::-1][0] = 2; np.rot90(A)[0, 1] = 1",
    "list(A)[1][:] = 11; A.view(np.int64)[0, 0] = 0; A[None][0, 2] = 12; x[...][1] = 3",
]


@pytest.mark.parametrize("text", MEMORY_IN_COMMON)
def test_what_is_read_and_written_in_common_memory_is_what_numpy_writes(text):
    found = []
    for lib in (np, numpy):
        scope = {"np": lib, "x": lib.arange(10.0), "A": lib.arange(9.0).reshape(3, 3)}
        exec(text, scope)
        found.append([scope["x"].tolist(), scope["A"].tolist()])
    assert found[0] == found[1]


def test_zeros_of_both_signs_and_nan_are_numpys():
    numbers = [2.0, -0.0, 0.0, 2.0, -1.0]
    for data in (numbers, [*numbers, math.nan], [-0.0, -0.0], [-0.0, 1.0], [3.0]):
        for text in (
            "np.add.accumulate(x)", "np.multiply.accumulate(x)", "np.nansum(x)", "np.nanmean(x)", "np.sort(x)",
            "np.nanquantile(x, 0.3)", "np.nan_to_num(x)", "np.round(x, 1)", "x % -1.5", "np.trapezoid(x)",
            "np.partition(x, 1)[:1] if len(x) > 1 else x", "np.asarray_chkfinite(x) if not np.isnan(x).any() else x",
        ):  # fmt: skip
            got, want = (
                numpy.asarray(eval(text, {"np": lib, "x": lib.array(data)})).ravel().tolist() for lib in (np, numpy)
            )
            assert got == pytest.approx(want, rel=1e-15, nan_ok=True), text
            assert [math.copysign(1, v) for v in got if v == 0] == [math.copysign(1, v) for v in want if v == 0], text


def test_histograms_of_few_points_are_numpys():
    rng = numpy.random.default_rng(7)
    for dims in (1, 2, 3):
        points = rng.integers(-3, 4, (6, dims)) * 0.1
        counts, edges = np.histogramdd(np.array(points), 3)
        want, edges_wanted = numpy.histogramdd(points, 3)
        assert numpy.asarray(counts).tolist() == want.tolist()
        for got, wanted in zip(edges, edges_wanted, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(got), wanted, rtol=1e-15, atol=1e-17)


def test_refusals_come_with_numpys_exceptions():
    for text in (
        "np.split(x, 3)", "np.array_split(x, 0)", "np.take(x, np.array([10]))", "x.max(axis=1)", "np.cumsum(A, axis=2)",
        "np.swapaxes(x, 0, 1)", "np.reshape(x, (3, 4))", "np.zeros(-1)", "np.concatenate([x, A])", "A @ x",
        "np.linalg.cholesky(-np.eye(2))", "np.add(x, A)", "x.put(10, 1.0)", "np.broadcast_to(x, (2, 3))",
        "np.put_along_axis(A, np.array([[3]]), 1.0, 1)", "np.diagonal(x)", "np.max(x[:0])", "np.hstack([x, A])",
    ):  # fmt: skip
        raised = []
        for lib in (np, numpy):
            with pytest.raises(Exception) as info:
                eval(text, {"np": lib, "x": lib.arange(10.0), "A": lib.arange(9.0).reshape(3, 3)})
            raised.append(info.type.__name__)
        assert raised[0] == raised[1], text


def test_a_grid_of_too_many_dimensions_is_refused_before_anything_is_counted():
    """With contributions the edges of so many columns took minutes."""
    points = np.decompose(np.ones((3, 65)), baseline=0.5)
    for given in (points, points.value, [points[:, 0]] * 65):
        with pytest.raises(ValueError, match="histogramdd: the sample has 65 columns"):
            np.histogramdd(given, 1)


def test_traces_of_small_matrices_are_numpys():
    """To the last bit, but for the sign of a zero; a decomposed matrix has the same."""
    rng = numpy.random.default_rng(0)
    for n in range(8):
        for m in range(12):
            for _ in range(2):
                a = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-9, 9, (n, m))
                a[rng.random((n, m)) < 0.3] = -0.0
                wanted = (numpy.trace(a) + 0.0).tobytes()
                assert (np.trace(np.array(a)) + 0.0).tensor.numpy().tobytes() == wanted, (n, m)
                assert np.array(a).trace() == numpy.trace(a), (n, m)
                carried = np.trace(np.decompose(np.array(a), axis=None))
                assert (carried.tensor.value + 0.0).numpy().tobytes() == wanted, (n, m)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_bits_of_integers(dtype):
    rng = numpy.random.default_rng(0)
    numbers = rng.integers(0, 2**63, 12, dtype="uint64").astype(dtype)
    others = rng.integers(0, 2**63, 12, dtype="uint64").astype(dtype)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        for shape in ((12,), (3, 1, 4), (1, 12)):
            expected = getattr(numpy, name)(numbers.reshape(shape), others[: shape[-1]])
            found = getattr(np, name)(np.array(numbers).reshape(shape), np.array(others)[: shape[-1]])
            assert found.dtype == expected.dtype
            numpy.testing.assert_array_equal(found.to_numpy(), expected)
        into = np.array(numbers)
        assert getattr(np, name)(into, np.array(others), out=into) is into
        numpy.testing.assert_array_equal(into.to_numpy(), getattr(numpy, name)(numbers, others))


LISTS = [
    [1.5, 2, True], [True, False], [1, True], [2**63], [2**53 + 1, 0.5], [[1, 2.5], [3, 4]], [[True], [False]], [[]],
    [float("nan"), -0.0], [1, 2**63 - 1, -(2**63)], [[[1]], [[2.0]]], (1, 2), [(1, 2), [3, 4]], [1j, 2], [2**70, 1.0],
]  # fmt: skip


@pytest.mark.parametrize("dtype", [None, "float64", "int64", "bool", "float32", "uint8"])
def test_lists_of_numbers(dtype):
    for numbers in LISTS:
        outcomes = []
        for lib in (numpy, np):
            try:
                made = lib.array(numbers, dtype=dtype)
            except (OverflowError, TypeError, ValueError) as error:
                outcomes.append(type(error) if lib is numpy else type(error).__mro__)
            else:
                made = numpy.asarray(made)
                content = made.tolist() if made.dtype.hasobject else made.tobytes()
                outcomes.append((made.dtype, made.shape, content))
        expected, found = outcomes
        assert expected in found if isinstance(expected, type) else found == expected, numbers


@pytest.mark.parametrize("function", ["add", "multiply"])
def test_running_results_of_vectors(function):
    for numbers in ([], [-0.0], [-0.0, 1.0], [0.0, -0.0], [1.5, -2.5, 1e300], [float("nan"), 1.0], [-0.0, -0.0, -0.0]):
        expected = getattr(numpy, function).accumulate(numpy.array(numbers))
        for x in (np.array(numbers), np.array([*numbers, 5.0])[:-1]):
            for _ in range(3):  # by torch, then from memory
                assert getattr(np, function).accumulate(x).to_numpy().tobytes() == expected.tobytes(), numbers


@pytest.mark.parametrize("function", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint8", "uint32", "bool"])
def test_running_results_of_vectors_have_numpys_dtypes(function, dtype):
    for numbers in ([], [7], [100, 100, 3, 0, 101], [1.5, float("nan"), 2.5]):
        with numpy.errstate(all="ignore"):
            theirs = numpy.array(numbers).astype(dtype)
        for options in ({}, {"axis": 0}, {"axis": -1}):
            want = getattr(numpy, function).accumulate(theirs, **options)
            got = numpy.asarray(getattr(np, function).accumulate(np.array(theirs), **options))
            assert got.dtype == want.dtype
            assert numpy.array_equal(got, want, equal_nan=True), numbers


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64"])
def test_integers_beside_python_numbers(dtype):
    limits = numpy.iinfo(dtype)
    numbers = [limits.min, limits.max, 0, 1, 3, limits.max // 2, limits.max - 1]
    for name in ("add", "subtract", "multiply", "less", "less_equal", "greater", "greater_equal", "bitwise_and"):
        for number in (0, 1, 3, limits.max, limits.min):
            found = getattr(np, name)(np.array(numbers, dtype=dtype), number)
            expected = getattr(numpy, name)(numpy.array(numbers, dtype=dtype), number)
            assert found.dtype == expected.dtype
            numpy.testing.assert_array_equal(found.to_numpy(), expected, err_msg=f"{name} {number}")
    for name in ("less", "less_equal", "greater", "greater_equal"):
        for shift in range(len(numbers)):
            turned = numbers[shift:] + numbers[:shift]
            found = getattr(np, name)(np.array(numbers, dtype=dtype), np.array(turned, dtype=dtype))
            expected = getattr(numpy, name)(numpy.array(numbers, dtype=dtype), numpy.array(turned, dtype=dtype))
            numpy.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_numbers_beside_unsigned_arrays_stay_what_they_are(dtype):
    theirs = numpy.arange(5, dtype=dtype)
    for _ in range(2):
        for text in ("x + 7", "7 - x", "x << 7", "np.maximum(x, 7)", "np.remainder(7, x + 1)", "np.divmod(x, 7)[0]"):
            ours = eval(text, {"np": np, "x": np.array(theirs)})
            assert ours.tolist() == eval(text, {"np": numpy, "x": theirs}).tolist()
            ours += ours
            ours[...] = 0


def test_chosen_columns_lie_in_memory_as_numpys():
    theirs, index = numpy.arange(20.0).reshape(4, 5), [3, 0, 3]
    ours = np.array(theirs)
    for text in ("x[:, i]", "x[1:3, i]", "x.T[:, i]", "x[::2][:, i]", "x[..., i]"):
        got, want = (eval(text, {"x": x, "i": lib.array(index)}) for lib, x in ((np, ours), (numpy, theirs)))
        assert got.tolist() == want.tolist()
        assert got.strides == want.strides, text
        got[0] = -1.0
    assert ours.tolist() == theirs.tolist()


def test_many_reversed_arrays_follow_what_is_written():
    x = np.arange(4.0)
    kept = [x[::-1] for _ in range(40) if x[::-1] is not None]  # half of them are gone
    x[0] = 7.0
    kept[3][0] = 8.0
    assert all(one.tolist() == [8.0, 2.0, 1.0, 7.0] for one in kept)
    assert x.tolist() == [7.0, 1.0, 2.0, 8.0]


def test_pairs_are_those_of_numpy_in_every_dtype():
    for name in ("add", "multiply", "less", "remainder", "left_shift", "hypot"):
        for dtype in ("bool", "int8", "uint32", "int64", "float32", "float64", "complex128"):
            theirs = numpy.arange(3).astype(dtype) + numpy.ones(1, dtype)
            outcomes = []
            for lib in (numpy, np):
                x = lib.array(theirs)
                try:
                    made = numpy.asarray(getattr(lib, name).outer(x, x))
                    outcomes.append((made.dtype, made.tolist()))
                except TypeError:
                    outcomes.append(TypeError)
            assert outcomes[0] == outcomes[1], (name, dtype)
