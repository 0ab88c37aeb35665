"""`ufunc.at` and `ufunc.reduceat` by arrays of indices, of any dtype and shape, as NumPy does them."""

import numpy
import pytest

import npdec

NAMES = ("add", "subtract", "multiply", "minimum", "maximum")
DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool", "complex128")
SHAPES = ((5,), (4, 3), (3, 2, 2), (0,), (1,))


def outcome(np, name, x, indices, values):
    try:
        getattr(np, name).at(x, indices, values)
    except Exception as error:
        return type(error)
    return None


def operands(draw, shape, dtype, count):
    """As many as there are indices, one for all, of another dtype, and Python's numbers."""
    whole = (count, *shape[1:])
    return [
        draw.integers(1, 5, whole).astype(dtype),
        draw.integers(1, 5, whole).astype("float64"),
        numpy.array(2).astype(dtype),
        draw.integers(0, 2, 3).astype(dtype),
        1.5,
        2,
        True,
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_at_is_numpys(name, dtype):
    for seed, shape in enumerate(SHAPES * 3):
        draw = numpy.random.default_rng(seed)
        count, far = int(draw.integers(0, 5)), seed % 3 == 2
        low, high = (-7, 7) if far or not shape[0] else (-shape[0], shape[0])
        indices = draw.integers(low, high, count)
        for values in operands(draw, shape, dtype, count):
            x = draw.integers(1, 9, shape).astype(dtype)
            y = npdec.array(x)
            given = npdec.array(values) if isinstance(values, numpy.ndarray) else values
            expected = outcome(numpy, name, x, indices, values)
            assert outcome(npdec, name, y, npdec.array(indices), given) is expected, (shape, indices, values)
            numpy.testing.assert_array_equal(y.tensor.numpy(), x, f"{shape} {indices} {values}")


def test_at_writes_through_views_and_not_into_what_it_reads():
    x, y = numpy.arange(12.0).reshape(3, 4), npdec.arange(12.0).reshape(3, 4)
    for a, np in ((x, numpy), (y, npdec)):
        np.add.at(a[:, 1], np.array([0, 2, 2]), a[1:, 2][[0, 1, 0]])
        np.minimum.at(a[::2], np.array([1, 0]), a[:2])
        np.add.at(a[0], np.array([0, 1, 2, 0]), a[0])
    numpy.testing.assert_array_equal(y.tensor.numpy(), x)


@pytest.mark.parametrize("name", NAMES)
def test_at_by_an_index_array_for_each_axis_is_numpys(name):
    for seed, shape in enumerate([(5,), (4, 3), (3, 2, 2)] * 6):
        for dtype in DTYPES:
            draw = numpy.random.default_rng(seed)
            count, turned = int(draw.integers(1, 90)), seed % 2
            far = 1 if seed % 5 == 4 else 0  # beyond the end
            indices = tuple(draw.integers(-n, n + far, count) for n in shape)
            values = draw.integers(1, 5, count).astype(dtype)
            x = draw.integers(1, 9, shape[:: -1 if turned else 1]).astype(dtype)
            y = npdec.array(x)
            theirs, ours = (x.T, y.T) if turned else (x, y)
            expected = outcome(numpy, name, theirs, indices, values)
            given = tuple(map(npdec.array, indices))
            assert outcome(npdec, name, ours, given, npdec.array(values)) is expected, (shape, dtype, seed)
            numpy.testing.assert_array_equal(y.tensor.numpy(), x, f"{shape} {dtype} {seed}")


@pytest.mark.parametrize("dtype", [*DTYPES, "uint16", "int16"])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "bitwise_xor", "logical_and"])
def test_slices_of_many_sizes_are_reduced_as_numpys(name, dtype):
    draw = numpy.random.default_rng(0)
    for shape, axis in (((90,), 0), ((60, 3), 0), ((2, 80), 1)):
        x = draw.integers(0, 4, shape).astype(dtype)
        for places in (numpy.sort(draw.permutation(shape[axis])[:14]), draw.integers(0, shape[axis], 20)):
            results = []
            for np in (numpy, npdec):
                try:
                    found = getattr(np, name).reduceat(np.array(x), np.array(places), axis)
                except TypeError:
                    found = None
                results.append(found)
            theirs, ours = results
            assert (ours is None) == (theirs is None)
            if ours is not None:
                assert ours.tensor.numpy().dtype == theirs.dtype
                numpy.testing.assert_array_equal(ours.tensor.numpy(), theirs)
