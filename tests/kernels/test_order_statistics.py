"""Medians, quantiles and extremes of many elements, which are found without putting all in order."""

from __future__ import annotations

import numpy
import pytest

import npdec as np

FUNCTIONS = {
    "median": lambda lib, x, axis: lib.median(x, axis),
    "nanmedian": lambda lib, x, axis: lib.nanmedian(x, axis),
    "nanmax": lambda lib, x, axis: lib.nanmax(x, axis),
    "nanmin": lambda lib, x, axis: lib.nanmin(x, axis, keepdims=True),
    **{
        f"quantile {q}": lambda lib, x, axis, q=q: lib.quantile(x, q, axis=axis)  # type: ignore[misc]
        for q in (0.0, 0.1, 0.5, 0.77, 1.0)
    },
    "percentile": lambda lib, x, axis: lib.percentile(x, 50.0, axis=axis, keepdims=True),
}


def _arrays(shape: tuple[int, ...], dtype: str) -> list[numpy.ndarray]:
    source = numpy.random.default_rng(len(shape))
    x = source.standard_normal(shape) * 20
    with_nan, infinite = x.copy(), x.copy()
    with_nan.flat[3] = numpy.nan
    infinite.flat[::7], infinite.flat[1::9] = numpy.inf, -numpy.inf
    made = [x, numpy.round(x / 10), numpy.full(shape, x.flat[0])]
    if dtype in ("float32", "float64"):
        return [a.astype(dtype) for a in (*made, with_nan, infinite)]
    return [numpy.abs(a).astype(dtype) for a in made]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16", "uint8", "uint32"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.filterwarnings("ignore:invalid value")
def test_of_many_elements(name: str, dtype: str) -> None:
    function = FUNCTIONS[name]
    for shape, axes in (((1500,), (None, 0)), ((1501,), (None,)), ((40, 33), (None, 0, -1, (0, 1)))):
        for x in _arrays(shape, dtype):
            for axis in axes:
                wanted, got = function(numpy, x, axis), numpy.asarray(function(np, np.array(x), axis))
                assert got.dtype == wanted.dtype
                rtol = 1e-6 if dtype == "float32" else 0  # an interpolation of NumPy's may round once more
                numpy.testing.assert_allclose(got, wanted, rtol=rtol, equal_nan=True)


@pytest.mark.parametrize("function", ["add", "maximum", "multiply", "bitwise_or"])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "uint32"])
def test_slices_of_equal_and_other_lengths_are_reduced(function: str, dtype: str) -> None:
    x = numpy.random.default_rng(1).integers(0, 200, 3001).astype(dtype)
    for places in ([0, 5, 2, 9, 9, 2999, 3000], list(range(0, 3000, 10)), [0], [], [4, 4, 4]):
        wanted = getattr(numpy, function).reduceat(x, numpy.array(places, int))
        got = getattr(np, function).reduceat(np.array(x), np.array(places, int))
        assert got.dtype.name == wanted.dtype.name
        assert got.tolist() == wanted.tolist()
