"""Calls that are computed in memory of arrays of few elements, held to NumPy's answers."""

import numpy
import pytest

import npdec as np

TABLE = numpy.arange(24.0).reshape(4, 6) - 11


def _pair(array):
    return array.copy(), np.array(array)


def _same(theirs, ours):
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


def test_ranges_in_other_dtypes():
    for dtype in (float, "float32", "int8", "uint32", "uint64", int):
        for ends in ((5,), (10, -11, -2), (0, 100, 7), (3, 3)):
            if dtype in ("uint32", "uint64") and min(ends) < 0:
                continue
            _same(numpy.arange(*ends, dtype=dtype), np.arange(*ends, dtype=dtype))


def test_bounds_of_integers_and_floats():
    for array in (TABLE, TABLE.astype(int), TABLE.astype("int8"), TABLE.astype("float32")):
        a, b = _pair(array)
        for low, high in ((-2, 3), (0.5, 4), (5, 1), (numpy.int8(-3), 2)):
            _same(a.clip(low, high), b.clip(low, high))
    assert np.clip(b, -1, 1, out=b) is b
    _same(numpy.clip(a, -1, 1), b)


def test_another_shape_of_what_does_not_lie_in_a_row():
    a, b = _pair(TABLE)
    views = [lambda x: x.T, lambda x: x[:, ::2], lambda x: x[1:3, 1:5], lambda x: x[::2], lambda x: x[::-1]]
    for view in views:
        for shape in (-1, (2, -1), (-1, 2, 2), (1, -1, 1)):
            theirs, ours = view(a).reshape(shape), view(b).reshape(shape)
            _same(theirs, ours)
            assert np.shares_memory(ours, b) == numpy.shares_memory(theirs, a)


def test_writes_where_a_mask_is_true():
    for value in (0, 1.5, TABLE[::-1].copy(), numpy.float64(2)):
        a, b = _pair(TABLE)
        numpy.copyto(a, value, where=a > 0)
        np.copyto(b, np.array(value) if isinstance(value, numpy.ndarray) else value, where=b > 0)
        _same(a, b)
    numpy.putmask(a, a < 0, 7)
    np.putmask(b, b < 0, 7)
    _same(a, b)
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        np.copyto(b, 0, where=np.ones((4, 6), dtype=int))


def test_conditions_that_are_numbers():
    a, b = _pair(TABLE.astype("uint8") % 3)
    _same(numpy.where(a & 1, a, numpy.uint8(9)), np.where(b & 1, b, np.uint8(9)))


def test_operators_of_scalars_of_any_dtype_beside_arrays():
    a, b = _pair(numpy.arange(1, 9, dtype="uint32"))
    _same(numpy.uint32(5) ^ a, np.uint32(5) ^ b)
    _same(numpy.int8(3) * a, np.int8(3) * b)
    numpy.testing.assert_allclose(numpy.asarray(np.float64(1.5) ** b), numpy.float64(1.5) ** a, rtol=1e-15)
    numpy.testing.assert_allclose(numpy.asarray(np.arctan2(TABLE, b[:6])), numpy.arctan2(TABLE, a[:6]), rtol=1e-15)


def test_functions_of_one_number_are_those_of_an_array_of_it():
    for name in ("cos", "exp", "log", "tanh", "sqrt"):
        for number in (0.3, 2.0):
            made = getattr(np, name)(np.float64(number))
            assert type(made) is np.float64
            assert made == getattr(np, name)(np.array([number]))[0] == getattr(np, name)(number)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.log(np.float64(0))


def test_sums_of_arrays_that_lie_otherwise_are_laid_as_the_first():
    a, b = _pair(TABLE[:, :4] * (1 + 1j))
    for theirs, ours in ((a + a.T, b + b.T), (a.T - a, b.T - b)):
        _same(theirs, ours)
    assert (b.T + b).strides == (b.T.copy(order="F") + b).strides == (16, 64)


def test_indices_with_gaps_and_columns_of_what_is_chosen():
    a, b = _pair(TABLE.ravel())
    index = numpy.array([[0, 5, 7], [-1, 2, 3]])
    _same(a[index[:, :2]], b[np.array(index)[:, :2]])
    column = b[b > 0, None]
    _same(a[a > 0, None], column)
    column += 1
    _same(a, b)


def test_shuffles_draw_the_same():
    a, b = _pair(TABLE)
    for array, generator in ((a, numpy.random.default_rng(3)), (b, np.random.default_rng(3))):
        generator.shuffle(array)
        generator.shuffle(array[1])
        generator.shuffle(array, axis=1)
    _same(a, b)


def test_means_of_every_dtype():
    for dtype in (float, "float32", "int8", "int64", "uint8", bool, complex):
        a, b = _pair(TABLE.astype(dtype))
        for axis in (None, 0, -1):
            _same(a.mean(axis), b.mean(axis))
        assert type(b.mean()) is getattr(np, a.mean().dtype.name)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(np.zeros(0).mean())


def test_diagonals_of_matrices_and_matrices_of_diagonals():
    a, b = _pair(TABLE)
    for k in (0, 2, -3, 6, -9):
        _same(numpy.diag(a, k), np.diag(b, k))
        _same(numpy.diagonal(a, k), np.diagonal(b, k))
        _same(numpy.diag(a[0], k), np.diag(b[0], k))
        for dtype in (float, int, bool, complex, "float32"):
            _same(numpy.eye(3, 5, k, dtype), np.eye(3, 5, k, dtype))
    seen = np.diag(b)
    b[1, 1] = 99
    assert seen[1] == 99
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 1


def test_elements_of_what_torch_computed_are_read_and_written_in_memory():
    a = np.eye(3) @ np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
    seen, tensor = np.diag(a), a.tensor
    assert a[1, 2] == 6
    a[1, 1] = 10
    assert seen[1] == tensor[1, 1] == 10
    tensor[0, 0] = -1
    assert a[0, 0] == seen[0] == -1


def test_einsum_of_two_arrays():
    drawn = numpy.random.default_rng(1)
    n = {"b": 2, "i": 3, "j": 4, "k": 5}
    for subscripts in ("ij,j->i", "ij,jk->ik", "ij,kj->ki", "bij,bkj->bki", "i,i->", "ij,ij->i", "bij,bjk", "ij,k->ik"):
        for dtype in (float, "float32"):
            terms = subscripts.partition("->")[0].split(",")
            a, b = (drawn.standard_normal([n[label] for label in term]).astype(dtype) for term in terms)
            theirs, ours = numpy.einsum(subscripts, a, b), np.einsum(subscripts, np.array(a), np.array(b))
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            numpy.testing.assert_allclose(
                numpy.asarray(ours), theirs, rtol=1e-5 if dtype is not float else 1e-13, atol=1e-6
            )
    with pytest.raises(ValueError, match="could not be broadcast"):
        np.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((4, 5)))
