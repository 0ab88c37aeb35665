"""Ufuncs and reductions against NumPy on drawn arrays: every dtype, broadcasting, nan and inf, nothing at all; and
errors."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import npdec as np
import samples
from tiers import fewer

BOOLS, INTEGERS = ("bool",), ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS, COMPLEXES = ("float16", "float32", "float64"), ("complex64", "complex128")
DTYPES = BOOLS + INTEGERS + FLOATS + COMPLEXES
RTOL = {"float16": 4e-3, "float32": 3e-6, "complex64": 3e-5, "float64": 1e-12, "complex128": 1e-12}

UFUNCS = [
    name
    for name, item in samples.public_callables().items()
    if isinstance(item, np.ufunc)
    and item.signature is None
    and isinstance(getattr(numpy, name, None), numpy.ufunc)
    and name not in samples.aliases()
]
# Only these are given infinite complex numbers: of the others NumPy's results at infinity are those of one C library.
COMPLEX_AT_INFINITY = frozenset(
    """add subtract negative positive conjugate absolute equal not_equal less less_equal greater greater_equal
    logical_and logical_or logical_xor logical_not isnan isinf isfinite maximum minimum fmax fmin""".split()
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


# -- drawing -----------------------------------------------------------------------------------------------------------


def numbers(dtype: str, largest: float = 50.0, special: bool = True) -> st.SearchStrategy[Any]:
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        info = numpy.iinfo(dtype)
        return st.one_of(
            st.integers(max(info.min, -6), 9), st.integers(info.min, info.max), st.sampled_from([info.min, info.max])
        )
    if kind == "f":
        width = 8 * numpy.dtype(dtype).itemsize
        ordinary = st.floats(-largest, largest, width=width, allow_subnormal=False)
        chosen = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.5] + [numpy.nan, numpy.inf, -numpy.inf] * special
        return st.one_of(ordinary, st.sampled_from(chosen))
    # Near 1 NumPy's complex logarithms lose the digits of tiny parts.
    parts = numbers("float32", largest, special).map(lambda v: round(v, 3) if math.isfinite(v) else v)
    return st.builds(complex, parts, parts)


def arrays(dtype: str, shape: Any, **options: Any) -> st.SearchStrategy[Any]:
    return hnp.arrays(dtype, shape, elements=numbers(dtype, **options))


# -- comparing ---------------------------------------------------------------------------------------------------------


def outcome(function: Callable[[], Any]) -> Any:
    """What a call returns, or the exception that it raises."""
    try:
        return function()
    except Exception as error:
        return error


def compare(got: Any, want: Any, scale: float = 0.0, rtol: float = 0.0) -> None:
    """The same kind of result with the same numbers, or the same exception. `scale`: what rounding is relative to;
    `rtol`: a larger rounding than that of the result's dtype."""
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"{got!r} instead of {want!r}"
        assert type(got).__name__ in {cls.__name__ for cls in type(want).__mro__[:-2]}, f"{got!r} instead of {want!r}"
        return
    if isinstance(got, Exception):
        raise got
    if isinstance(want, tuple):
        for g, w in zip(got, want, strict=True):
            compare(g, w, scale, rtol)
        return
    assert isinstance(got, np.ndarray) is isinstance(want, numpy.ndarray)
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if want.dtype.kind in "biu":
        numpy.testing.assert_array_equal(got, want)
        return
    rtol = max(rtol, RTOL[str(want.dtype)])
    if want.dtype.kind == "c":
        strange = ~numpy.isfinite(want)
        numpy.testing.assert_array_equal(numpy.isfinite(got), ~strange)
        numpy.testing.assert_array_equal(numpy.isnan(got[strange]), numpy.isnan(want[strange]))
        got, want = numpy.where(strange, 0, got), numpy.where(strange, 0, want)
        assert (abs(got - want) <= rtol * numpy.maximum(abs(want), scale)).all(), (got, want)
    else:
        tiniest = float(numpy.finfo(want.dtype).smallest_subnormal)
        numpy.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale + 2 * tiniest)


def same(call: Callable[..., Any], *operands: Any, scale: float = 0.0, rtol: float = 0.0) -> None:
    """`call(lib, *operands)` gives with npdec what it gives with NumPy."""
    want = outcome(lambda: call(numpy, *operands))
    made = [np.array(x) if isinstance(x, numpy.ndarray) else x for x in operands]
    compare(outcome(lambda: call(np, *made)), want, scale, rtol)


# -- ufuncs ------------------------------------------------------------------------------------------------------------


def _special(name: str, dtype: str) -> bool:
    return numpy.dtype(dtype).kind != "c" or name in COMPLEX_AT_INFINITY


@pytest.mark.parametrize("name", UFUNCS)
@settings(max_examples=fewer(25))
@given(data=st.data())
def test_ufunc(name, data):
    ufunc = getattr(numpy, name)
    shapes = data.draw(
        hnp.mutually_broadcastable_shapes(num_shapes=ufunc.nin, max_dims=3, min_side=0, max_side=3)
    ).input_shapes
    dtypes = [data.draw(st.sampled_from(DTYPES)) for _ in shapes]
    if ufunc.nin == 2 and data.draw(st.booleans()):
        dtypes[1] = dtypes[0]
    special = all(_special(name, dtype) for dtype in dtypes)
    operands = [data.draw(arrays(dtype, shape, special=special)) for dtype, shape in zip(dtypes, shapes, strict=True)]
    if ufunc.nin == 2 and data.draw(st.integers(0, 4)) == 0:
        operands[1] = data.draw(st.one_of(st.booleans(), st.integers(-3, 300), st.sampled_from([0.5, -2.0, 1j])))
    same(lambda lib, *x: getattr(lib, name)(*x), *operands)


@pytest.mark.parametrize("name", [name for name in UFUNCS if getattr(numpy, name).nin == 2])
@settings(max_examples=fewer(10))
@given(data=st.data())
def test_shapes_that_do_not_broadcast(name, data):
    a, b = data.draw(st.sampled_from([((2,), (3,)), ((2, 3), (2,)), ((0,), (2,)), ((1, 4), (3, 3))]))
    dtype = data.draw(st.sampled_from(DTYPES))
    same(lambda lib, *x: getattr(lib, name)(*x), numpy.ones(a, dtype), numpy.ones(b, dtype))


@pytest.mark.parametrize("name", UFUNCS)
@settings(max_examples=fewer(15))
@given(data=st.data())
def test_ufunc_options(name, data):
    """where=, out=, dtype= and casting=."""
    ufunc = getattr(numpy, name)
    if ufunc.nout > 1:
        return
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(hnp.array_shapes(max_dims=2, max_side=3))
    operands = [data.draw(arrays(dtype, shape, special=False)) for _ in range(ufunc.nin)]
    if name == "power" and numpy.dtype(dtype).kind == "i":
        operands[1] = abs(operands[1] // 2)
    scale = 0.0
    if name in ("log1p", "expm1") and numpy.dtype(dtype).kind == "c":
        scale = 1.0 + float(abs(ufunc(*operands)).max())  # NumPy loses the digits of small parts beside 1
    natural = outcome(lambda: str(ufunc(*operands).dtype))
    target = data.draw(st.sampled_from(DTYPES))
    mask = data.draw(hnp.arrays(bool, shape))
    castings = ["no", "safe", "same_kind", "unsafe"]
    casting = data.draw(st.sampled_from(castings[: 3 if name == "bitwise_count" else 4]))  # uint8 is of no one loop
    way = data.draw(st.sampled_from(["out", "where", "dtype"]))

    def call(lib: Any, *x: Any) -> Any:
        options = {}
        if way == "dtype":
            options = {"dtype": target, "casting": casting}
        else:
            options["out"] = lib.zeros(shape, dtype=target)
            if way == "where":
                options["where"] = lib.array(mask)
        return getattr(lib, name)(*x, **options)

    same(call, *operands, scale=scale, rtol=RTOL.get(natural, 0.0) if isinstance(natural, str) else 0.0)


# ldexp gives floats, which are no exponents: NumPy reduces it for a few dtypes by accident of its table of loops.
# Where NumPy 2.4.6 computes them with vector instructions, arctan2.reduce([1., 0., 1.]) is arctan2(1., 1.) and
# power.reduce([2., 2., 2.]) is 4, unlike the last numbers of their accumulate: a defect.
NOT_REDUCED = {"ldexp", "arctan2", "power"}
REDUCING = [n for n in UFUNCS if getattr(numpy, n).nin == 2 and getattr(numpy, n).nout == 1 and n not in NOT_REDUCED]


@pytest.mark.parametrize("name", REDUCING)
@settings(max_examples=fewer(15))
@given(data=st.data())
def test_ufunc_methods(name, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    x = data.draw(
        arrays(dtype, data.draw(hnp.array_shapes(max_dims=2, max_side=3, min_side=0)), largest=3.0, special=False)
    )
    axis = data.draw(st.sampled_from([0, -1, 1]))
    keepdims = data.draw(st.booleans())
    if data.draw(st.booleans()):
        same(lambda lib, x: getattr(lib, name).reduce(x, axis=axis, keepdims=keepdims), x)
    same(lambda lib, x: getattr(lib, name).accumulate(x, axis=axis), x)
    same(lambda lib, x: getattr(lib, name).outer(x, x[:1]), x)


# -- reductions --------------------------------------------------------------------------------------------------------

PLAIN = "sum prod mean var std max min all any argmax argmin ptp count_nonzero median".split()
OVER_NAN = "nansum nanprod nanmean nanvar nanstd nanmax nanmin nanargmax nanargmin nanmedian".split()
RUNNING = "cumsum cumprod nancumsum nancumprod".split()


def _rounding(x: Any) -> float:
    """What the rounding of sums, squares and products of the numbers is relative to."""
    finite = abs(x[numpy.isfinite(x)].astype(complex)) if x.size else x
    return float(max(1.0, numpy.prod(numpy.maximum(finite, 1)), (finite**2).sum())) if x.size else 0.0


@pytest.mark.parametrize("name", PLAIN + OVER_NAN + RUNNING)
@settings(max_examples=fewer(30))
@given(data=st.data())
def test_reduction(name, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    real = numpy.dtype(dtype).kind != "c"
    x = data.draw(arrays(dtype, shape, largest=3.0, special=real))
    axes: list[Any] = [None, 0, -1, 2, -4]
    options: dict[str, Any] = {}
    if name not in RUNNING:
        if not name.endswith(("argmax", "argmin")):
            if x.size or not name.endswith("median"):  # of nothing along several axes it fails to reshape
                axes += [(0, 1), (-1, 0), (0, 0), (0, 3)]
            if not name.endswith("median"):
                axes.append(())
        if shape or not name.endswith("median"):  # of which NumPy makes a 0-d array then, where others give a scalar
            options["keepdims"] = data.draw(st.booleans())
    options["axis"] = data.draw(st.sampled_from(axes))
    same(lambda lib, x: getattr(lib, name)(x, **options), x, scale=_rounding(x) if real or x.size else 0.0)


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile"])
@settings(max_examples=fewer(25))
@given(data=st.data())
def test_quantiles(name, data):
    dtype = data.draw(st.sampled_from(BOOLS + INTEGERS + FLOATS))
    x = data.draw(arrays(dtype, data.draw(hnp.array_shapes(max_dims=2, max_side=4)), largest=3.0))
    if x.dtype.kind in "iu":
        x = x % 10  # NumPy subtracts in the integer's own dtype, and may overflow
    q = data.draw(st.sampled_from([0.0, 0.5, 1.0, 0.3, [0.1, 0.9], [], 1.5, -0.1]))
    axis = data.draw(st.sampled_from([None, 0, -1, (0,), 4]))
    method = data.draw(
        st.sampled_from("linear lower higher midpoint nearest hazen weibull median_unbiased inverted_cdf no".split())
    )
    same(lambda lib, x: getattr(lib, name)(x, q, axis=axis, method=method), x, scale=_rounding(x))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "cumsum", "cumprod", "var", "nansum"])
@settings(max_examples=fewer(20))
@given(data=st.data())
def test_reduction_in_another_dtype(name, data):
    dtype, target = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(DTYPES))
    x = data.draw(arrays(dtype, data.draw(hnp.array_shapes(max_dims=2, max_side=3)), largest=3.0, special=False))
    if numpy.dtype(dtype).kind in "fc" and numpy.dtype(target).kind in "biu":
        x = abs(numpy.round(x)).astype(dtype)  # a cast of anything else to an unsigned integer is undefined
    same(lambda lib, x: getattr(lib, name)(x, axis=0, dtype=target), x, scale=_rounding(x))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean", "var"])
@settings(max_examples=fewer(20))
@given(data=st.data())
def test_reduction_of_a_selection(name, data):
    """where= and initial=."""
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=3))
    real = numpy.dtype(dtype).kind != "c"
    x = data.draw(arrays(dtype, shape, largest=3.0, special=real))
    mask = data.draw(hnp.arrays(bool, shape))
    options: dict[str, Any] = {"axis": data.draw(st.sampled_from([None, 0, -1]))}
    if name in ("sum", "prod", "max", "min") and data.draw(st.booleans()):
        options["initial"] = data.draw(st.sampled_from([0, 1, 2, True]))
    same(lambda lib, x: getattr(lib, name)(x, where=lib.array(mask), **options), x, scale=_rounding(x))


def test_every_reduction_is_here():
    """The functions of NumPy that take an axis and keepdims are drawn for, or named here."""
    elsewhere = {"nanpercentile", "average", "amax", "amin", "cumulative_sum", "cumulative_prod"}
    found = {
        name
        for name in samples.CHAPTERS["reductions"]
        if hasattr(np, name) and "keepdims" in inspect.signature(getattr(np, name)).parameters
    }
    assert found <= {*PLAIN, *OVER_NAN, *RUNNING, "quantile", "nanquantile", "percentile"} | elsewhere
