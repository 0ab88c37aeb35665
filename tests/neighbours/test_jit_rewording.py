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


def test_quotients_and_directions_are_as_in_numpy():
    parts = [0.0, -0.0, 1.0, -2.5, 1e300, -1e-300, numpy.inf, -numpy.inf, numpy.nan]
    both = [complex(a, b) for a in parts for b in parts]
    z, w = (one.ravel() for one in numpy.meshgrid(both, both))

    def function(np, z, w):
        quotients = z / w, 1 / w, 2.0 / w
        return *[one.real + 0 for one in quotients], *[one.imag + 0 for one in quotients], np.angle(w * 1)

    with numpy.errstate(all="ignore"):
        want = function(numpy, z, w)
    found, made = compiled(function, z, w)
    assert made == 0
    # NumPy's division is one fused step for some operands, and two for others, which tell where both ends are infinite.
    missed = [
        int((~numpy.isclose(a, b, 1e-13, 0, equal_nan=True)).sum()) for a, b in zip(map(numpy.asarray, found), want)
    ]
    assert max(missed) < len(z) / 500
    z, w = RNG.normal(size=(2, 500)) + 1j * RNG.normal(size=(2, 500))
    for a, b in zip(compiled(function, z, w)[0], function(numpy, z, w), strict=True):
        numpy.testing.assert_allclose(numpy.asarray(a), b, rtol=1e-13)


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


def reworded_graph(function, *given):
    """What the graph for inductor gives, and what its nodes call."""
    made = []

    def backend(graph, tensors):
        made.extend(node.target for node in reworded(graph).graph.nodes)
        return graph.forward

    return np.jit(lambda *args: function(np, *args), backend=backend, fullgraph=True)(*map(np.array, given)), made


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16", "uint8"])
def test_short_rows_are_sorted_by_comparisons(dtype):
    def sorts(np, x):
        return np.sort(x, axis=0), np.sort(x.T.copy(), axis=-1), np.partition(x, 3, axis=0)[3], np.median(x, axis=0)

    def cuts(np, x):
        s = np.sort(x, axis=0)
        return s[2:], s[:3], s[::2], s[1:4], s[:, 5:9], s[-1], s

    x = RNG.integers(0, 9, (5, 600)).astype(dtype)
    for made, theirs in zip(reworded_graph(cuts, x)[0], cuts(numpy, x), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(made), theirs)
    for length in (2, 3, 5, 8, 9, 13, 16):
        x = RNG.integers(0, 9, (length, 600)).astype(dtype)
        if x.dtype.kind == "f":
            x[RNG.random(x.shape) < 0.1] = numpy.nan
            x[RNG.random(x.shape) < 0.1] = RNG.choice([numpy.inf, -numpy.inf])
            x[:, 0] = numpy.nan
        if length < 4:
            found, calls = reworded_graph(lambda np, x: sorts(np, np.concatenate([x, x]))[:2], x)
            want = sorts(numpy, numpy.concatenate([x, x]))[:2]
        else:
            found, calls = reworded_graph(sorts, x)
            with numpy.errstate(invalid="ignore"):
                want = sorts(numpy, x)
        for made, theirs in zip(found, want, strict=True):
            assert made.dtype == theirs.dtype
            numpy.testing.assert_array_equal(numpy.asarray(made), theirs)
        assert aten.sort.stable not in calls


def test_sorts_that_stay():
    for function, shape in (
        (lambda np, x: np.argsort(x, axis=-1, kind="stable"), (200, 9)),  # the places are wanted
        (lambda np, x: np.sort(x, axis=-1), (90, 20)),  # long
        (lambda np, x: np.sort(x, axis=-1), (9, 9)),  # few
        (lambda np, x: np.sort(x.T, axis=-1).T.reshape(-1), (9, 200)),  # in the memory of columns
    ):
        x = RNG.normal(size=shape)
        found, calls = reworded_graph(function, x)
        numpy.testing.assert_array_equal(numpy.asarray(found), function(numpy, x))
        assert aten.sort.stable in calls


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8"])
def test_integers_are_divided_by_powers_of_two_by_shifts(dtype):
    limits = numpy.iinfo(dtype)
    x = numpy.array([limits.min, limits.min + 1, -9, -8, -3, -1, 0, 1, 7, 8, limits.max], dtype)

    def quotients(np, x):
        return x // 2, x % 2, x // 64, x % 64, x // 1, x % 1, np.divmod(x, 4)[1]

    found, calls = reworded_graph(quotients, x)
    for made, theirs in zip(found, quotients(numpy, x), strict=True):
        assert made.dtype == theirs.dtype
        assert made.tolist() == theirs.tolist()
    assert not {aten.remainder.Tensor, aten.floor_divide.default} & set(calls)
    others = reworded_graph(lambda np, x: (x // 3, x % 6, x // -2, x % -4, 9 // (x | 1)), x)
    for made, theirs in zip(others[0], (x // 3, x % 6, x // -2, x % -4, 9 // (x | 1)), strict=True):
        assert made.tolist() == theirs.tolist()
    assert aten.bitwise_right_shift.Tensor_Scalar not in others[1]


def test_a_divisor_that_is_written_is_none():
    def function(np, x):
        two = np.array(2)
        two += x[0]
        return x // two

    x = numpy.array([1, 7, -7])
    assert reworded_graph(function, x)[0].tolist() == (x // 3).tolist()
