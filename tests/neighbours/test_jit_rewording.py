"""np.jit and what inductor compiles badly: its graph has parts of complex numbers, and sums for thin products."""

from __future__ import annotations

import numpy
import pytest
import torch

import npdec as np
from npdec._jit.rewording import reworded

aten = torch.ops.aten
RNG = numpy.random.default_rng(0)
Z = RNG.normal(size=(4, 5)) + 1j * RNG.normal(size=(4, 5))
Z[0, 0], Z[2, 2] = 0, complex(1, -0.0)
W, R = 2 * Z[::-1], RNG.normal(size=(4, 5))


def arithmetic(np, z, w, r):
    sums = z * w + r, (z - 2) * (w * 1j), -z / 2, z * r + 3, 1j * r + 2, r * z - 1j, (z**2).sum(), (z * z).mean(0)
    return *sums, np.abs(z * w), np.exp(z), z.real + w.imag, np.conj(z) * w, z == w, z != w, np.where(r > 0, z, w)


def parts(np, z, w, r):
    joined = np.concatenate([z, w * z])[1:, ::2].T
    return joined, np.stack([w, z * z])[1, :, 0], (z * w)[[0, 2]] * z[[1, 3]], np.roll(z * w, 1, 0).reshape(-1)


def written(np, z, w, r):
    z[1:] = w[1:] * 2 + z[1:]
    y = z * w
    y[0] = 3
    u = y.T * w.T
    z *= 2
    return u, y.real, y.imag * 2, z.sum(0), z


def steps(np, z, w, r):
    for _ in range(3):
        z = z * z + (0.1 + 0.2j)
        w = np.exp(1j * r) * w
    return z, w, np.angle(w), np.abs(z) > 2


def mixed(np, z, w, r):
    single = z.astype(np.complex64)
    product = single * single + w.astype(np.complex64)
    square = product * product
    spectrum = np.fft.fft(square * z - w) * square + 1
    return product, square * np.complex64(2), spectrum, (product * w)[r > 0].sum(), np.float32(2) * product


def others(np, z, w, r):
    """Sums as another dtype, parts that go out as they lie."""
    y = z * w * w
    return y.sum(0, dtype=np.complex64), r.sum(dtype=complex) * y, y[1:].real, (y + z).T


def compiled(function, *given):
    """What its graph for inductor gives, and how often it makes complex tensors of parts."""
    made = []

    def backend(graph, tensors):
        reworded(graph)
        made.extend(node for node in graph.graph.nodes if node.target is aten.complex.default)
        return graph.forward

    found = np.jit(lambda *args: function(np, *args), backend=backend, fullgraph=True)(*map(np.array, given))
    return found, len(made)


@pytest.mark.parametrize("function", [arithmetic, parts, written, steps, mixed, others])
def test_parts_are_what_complex_numbers_are(function):
    want = function(numpy, Z.copy(), W.copy(), R.copy())
    found, _ = compiled(function, Z, W, R)
    for made, theirs in zip(found, want, strict=True):
        assert made.dtype == theirs.dtype
        assert made.strides == theirs.strides or function is parts
        close = (
            {"rtol": 1e-4, "atol": 1e-5}
            if theirs.dtype == np.complex64 or function is mixed
            else {"rtol": 1e-13, "atol": 1e-15}
        )
        numpy.testing.assert_allclose(numpy.asarray(made), theirs, **close)


def test_infinite_parts_are_as_in_numpy():
    inf = numpy.inf
    z = numpy.array([complex(inf, 1), complex(1, -inf), complex(-inf, inf), complex(numpy.nan, 0), complex(-0.0, 0)])
    w = numpy.array([1j, 2, 0, 1 - 1j, complex(0, inf)])

    def function(np, z, w, r):
        return z * w, z + r, z * r, -z / 2, np.abs(z), z == z, np.conj(z) * 2.0

    with numpy.errstate(all="ignore"):
        want = function(numpy, z, w, z.imag)
    for made, theirs in zip(compiled(function, z, w, z.imag)[0], want, strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(made), theirs)


def test_a_graph_that_passes_to_and_fro_stays_complex():
    assert compiled(lambda np, z: np.fft.fft(np.fft.fft(z) * 2), Z)[1] == 0
    assert compiled(steps, Z, W, R)[1] == 2  # what goes out


def test_what_is_written_stays_complex():
    def function(np, z, w):
        before = z * z * w * w
        z[0] = before[1]
        return z * z * w * w + before

    want = function(numpy, Z.copy(), W)
    numpy.testing.assert_allclose(numpy.asarray(compiled(function, Z, W)[0]), want, rtol=1e-13)


@pytest.mark.parametrize(("columns", "products"), [(2, 0), (5, 0), (9, 1)])
def test_thin_products_of_transposed_matrices_are_sums(columns, products):
    a, b, left = RNG.random((300, 20)), RNG.random((300, columns)), []

    def backend(graph, tensors):
        reworded(graph)
        left.extend(node for node in graph.graph.nodes if node.target is aten.mm.default)
        return graph.forward

    found = np.jit(lambda a, b: a.T @ b, backend=backend, fullgraph=True)(np.array(a), np.array(b))
    numpy.testing.assert_allclose(numpy.asarray(found), a.T @ b, rtol=1e-13)
    assert len(left) == products
