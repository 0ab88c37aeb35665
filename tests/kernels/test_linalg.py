"""Linear algebra where numbers are few or small: singular matrices, ranks, the last digits of single precision."""

from __future__ import annotations

import itertools

import numpy
import pytest
import torch

import npdec as np
from npdec._law import quadrature


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


@pytest.mark.parametrize("factor", [torch.linalg.qr, torch.linalg.svd])
@pytest.mark.parametrize("times", [20.0, 200.0])
def test_directions_of_multiples_of_the_baseline(factor, times):
    """Orthogonal factors do not change along the path: any nodes are complete, and too few of them wrong."""
    a = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64)
    got = factor(np.decompose(times * a, baseline=a))[0]
    components = torch.eye(4, dtype=torch.float64).reshape(4, 2, 2) * a * (times - 1)

    def rate(point, component):
        return torch.func.jvp(lambda u: factor(u)[0], (point,), (component,))[1]

    nodes, weights = numpy.polynomial.legendre.leggauss(200)
    want = torch.zeros_like(got.components)
    for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
        want += float(w) * torch.vmap(rate, (None, 0))(a * (1 + float(t) * (times - 1)), components)
    torch.testing.assert_close(got.components, want, rtol=0, atol=1e-11)


@pytest.mark.parametrize("shape", [(2, 2), (8, 8), (3, 2, 2)])
def test_quadrature_of_many_nodes_at_once_is_that_of_one_by_one(shape, monkeypatch):
    source = torch.Generator().manual_seed(0)
    a, b = (torch.randn(shape, generator=source, dtype=torch.float64) for _ in range(2))
    a, b = a + 4 * torch.eye(shape[-1], dtype=torch.float64), b[..., 0]
    functions = (
        torch.linalg.inv, torch.linalg.pinv, torch.linalg.matrix_exp, lambda a: torch.linalg.solve(a, b),
        lambda a: torch.linalg.solve(a, a.mT), lambda a: torch.linalg.lstsq(a, a.mT).solution,
    )  # fmt: skip
    for f in functions:
        marked = np.decompose(a, axis=-1, baseline=a / 2 + a.mT / 4)
        at_once = f(marked)
        with monkeypatch.context() as patched:
            patched.setattr(quadrature, "_LITTLE", 0)
            alone = f(marked)
        torch.testing.assert_close(at_once.components, alone.components, rtol=1e-11, atol=1e-12)
        torch.testing.assert_close(at_once.c_sum(), at_once.value, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 4, 3)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_pseudo_inverses_of_full_rank_by_golub_and_pereyra(shape, dtype):
    source = torch.Generator().manual_seed(0)
    a, base = (torch.randn(shape, generator=source, dtype=dtype) for _ in range(2))
    base = a + base / 8
    got = torch.linalg.pinv(np.decompose(a, axis=-1, baseline=base))
    change = np.decompose(a, axis=-1, baseline=base).components.numpy()
    nodes, weights = numpy.polynomial.legendre.leggauss(60)
    start, end, want = base.numpy(), a.numpy(), 0.0

    def adjoint(m):
        return m.conj().swapaxes(-1, -2)

    for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
        m = start + t * (end - start)
        p = numpy.linalg.pinv(m)
        left, right = numpy.eye(m.shape[-2]) - m @ p, numpy.eye(m.shape[-1]) - p @ m
        rate = -p @ change @ p + p @ adjoint(p) @ adjoint(change) @ left + right @ adjoint(change) @ adjoint(p) @ p
        want = want + w * rate
    numpy.testing.assert_allclose(got.components.numpy(), want, rtol=0, atol=1e-10)
    assert torch.equal(got.value, torch.linalg.pinv(a))


GENERALISED = {
    "matmul": ((2, 3), (3, 2)),
    "vecdot": ((2, 3), (2, 3)),
    "matvec": ((2, 3), (3,)),
    "vecmat": ((2,), (2, 3)),
}
SIGNATURES = [
    "dd->d", "ff->f", "ll->l", "FF->F", "d", "??->?", ("f8", "f8", "f8"), (None, None, "f4"), "ff->d", "dd", "xx->x",
    ("f4", "f4"), 3,
]  # fmt: skip


@pytest.mark.parametrize("name", GENERALISED)
def test_signatures_of_generalised_ufuncs_are_numpys(name):
    x, y = (numpy.arange(1.0, 1 + numpy.prod(shape)).reshape(shape) for shape in GENERALISED[name])

    def outcome(lib, signature, dtype):
        try:
            made = getattr(lib, name)(lib.array(x, dtype), lib.array(y, dtype), signature=signature)
        except (TypeError, ValueError) as error:
            return TypeError if isinstance(error, TypeError) else ValueError
        return str(made.dtype), numpy.asarray(made).tolist()

    for signature, dtype in itertools.product(SIGNATURES, ["int64", "float32", "float64"]):
        assert outcome(np, signature, dtype) == outcome(numpy, signature, dtype), (signature, dtype)
