"""Linear algebra where numbers are few or small: singular matrices, ranks, the last digits of single precision."""

from __future__ import annotations

import numpy
import pytest

import npdec as np


@pytest.mark.parametrize("matrix", [[[1, 0], [0, 0]], [[0, 0], [0, 0]], [[0, 0, 1], [0, -2, 0], [1, 0, 0]]])
def test_singular_vectors_of_singular_hermitian_matrices_are_orthonormal(matrix):
    u, s, vh = np.linalg.svd(np.array(matrix, dtype=float), hermitian=True)
    for vectors in (u, vh):
        numpy.testing.assert_allclose(numpy.asarray(vectors @ vectors.T), numpy.eye(len(matrix)), atol=1e-15)
    numpy.testing.assert_allclose(numpy.asarray((u * s) @ vh), matrix, atol=1e-15)


@pytest.mark.parametrize("rcond", [None, -1, 0.0, 1e-16, 3e-16])
@pytest.mark.parametrize("small", [1e-16, 1.5e-16, 4e-16, 6e-16])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ranks_of_least_squares_are_numpys(rcond, small, dtype):
    scale = 2.0**29 if dtype == "float32" else 1.0
    a = numpy.diag([1.0, small * scale]).astype(dtype)
    b = numpy.ones(2, dtype=dtype)
    got, want = np.linalg.lstsq(a, b, rcond), numpy.linalg.lstsq(a, b, rcond)
    assert got[2] == want[2]
    numpy.testing.assert_allclose(numpy.asarray(got[0]), want[0], rtol=1e-6)


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (3, 3), (3, 7)])
def test_least_squares_solve_to_the_last_digit(shape):
    numbers = numpy.random.default_rng(3)
    for _ in range(20):
        a = numbers.integers(-9, 10, shape).astype("f4") + 10 * numpy.eye(*shape, dtype="f4")
        b = numbers.integers(-9, 10, shape[0]).astype("f4")
        x = numpy.asarray(np.linalg.lstsq(a, b)[0])
        assert abs(a @ x - b).max() <= 4 * numpy.finfo("f4").eps * (abs(a) @ abs(x) + abs(b)).max()


HILBERT = numpy.array([[1 / (i + j + 1) for j in range(5)] for i in range(5)], dtype="f4")
CALLS = {
    "inv": lambda lib, a: lib.linalg.inv(a),
    "pinv": lambda lib, a: lib.linalg.pinv(a),
    "pinv rtol": lambda lib, a: lib.linalg.pinv(a, rtol=None),
    "solve": lambda lib, a: lib.linalg.solve(a, a[:, 0] * 3),
    "lstsq": lambda lib, a: lib.linalg.lstsq(a, a[:, 0] * 3)[0],
    "det": lambda lib, a: lib.linalg.det(a),
    "slogdet": lambda lib, a: lib.linalg.slogdet(a)[1],
    "cond": lambda lib, a: lib.linalg.cond(a, 1),
    "svdvals": lambda lib, a: lib.linalg.svdvals(a),
    "matrix_rank": lambda lib, a: lib.linalg.matrix_rank(a),
    "cholesky": lambda lib, a: lib.linalg.cholesky(a),
    "eigvalsh": lambda lib, a: lib.linalg.eigvalsh(a),
    "eigvals": lambda lib, a: lib.sort(lib.linalg.eigvals(a)),
}


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", CALLS)
def test_single_precision_is_computed_in_double(name, dtype):
    """Of these matrices single precision would leave no digit right."""
    got = CALLS[name](np, np.array(HILBERT, dtype=dtype))
    want = CALLS[name](numpy, HILBERT.astype(dtype))
    assert got.dtype == want.dtype
    numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-5 if name.startswith("pinv") else 1e-6)
