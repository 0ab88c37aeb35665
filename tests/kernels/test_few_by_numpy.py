"""What NumPy computes of few numbers by the steps that the kernels take, products of sequences, and einsum of several
operands: the bits are those of the kernels, and of decomposed numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest
import torch

import npdec as np

pytestmark = pytest.mark.quick

WHOLE = ["int8", "int64", "uint16", "uint64"]


def bits(x: Any) -> tuple[Any, ...]:
    """The bytes, the dtype and the shape of an array, and whether it is a scalar."""
    found = numpy.asarray(x)
    return found.tobytes(), found.dtype, found.shape, isinstance(x, (numpy.ndarray, np.ndarray))


@pytest.mark.parametrize(("first", "second"), itertools.product(WHOLE, WHOLE))
def test_products_of_integers_are_numpys(first, second):
    """They go around where they leave the range of the dtype."""

    def told(lib):
        a = (lib.arange(6) * 77).astype(first)
        b = (lib.arange(6) * 53 + 1).astype(second)
        table, other = a.reshape(2, 3), b.reshape(3, 2)
        found = [lib.convolve(a, b[:2]), lib.correlate(a, b[:3], "full"), lib.dot(a, b), lib.inner(a, b), a @ b]
        found += [table @ other, lib.matmul(table, b[:3]), lib.dot(table, other), lib.vdot(a, b), lib.kron(a, b[:2])]
        return [bits(x) for x in [*found, lib.tensordot(table, other, 1), lib.einsum("ij,jk->ik", table, other)]]

    if "uint64" in (first, second) and first != second and not (first[0] == second[0] == "u"):
        pytest.skip("their results are floats")
    assert told(np) == told(numpy)


def test_integers_beside_floats_are_multiplied_as_before():
    x, y = np.arange(4), np.array([0.1, 0.2, 0.3])
    assert np.convolve(x, y).tolist() == np.convolve(x.astype(float), y).tolist()
    assert np.dot(np.arange(3), y) == np.dot(np.arange(3.0), y)


@pytest.mark.parametrize("seed", range(10))
def test_order_statistics_histograms_and_powers_have_numpys_bits(seed):
    draw = numpy.random.default_rng(seed)
    x, places = draw.standard_normal(20) * 10.0 ** draw.integers(-3, 3), draw.integers(0, 5, 20)

    def told(lib):
        a, n = lib.array(x), lib.array(places)
        found = [lib.percentile(a, [2.5, 50, 97.5]), lib.quantile(a, (0.1, 0.9)), lib.quantile(n, [0.3, 0.4])]
        found += [lib.percentile(a.reshape(4, 5), [10, 20], axis=1), lib.bincount(n, weights=a), lib.vander(a, 4)]
        found += [
            lib.vander(a[:3], increasing=True),
            *lib.histogram(a),
            *lib.histogram(n, 4),
            *lib.histogram(a, [-1, 0, 2]),
        ]
        found += [
            *lib.histogram(a, [-1, 0, 2]),
            lib.argsort(n, kind="stable"),
            *lib.triu_indices(4, 1),
            *lib.tril_indices(3, m=4),
        ]
        return [bits(y) for y in [*found, *lib.triu_indices_from(a.reshape(4, 5), 1)]]

    assert told(np) == told(numpy)


def test_what_is_not_finite_gives_no_warning(recwarn):
    x = np.array([1.0, np.inf, -np.inf, 3.0])
    assert np.isnan(np.percentile(x, [40, 50])).any() or not recwarn.list
    assert not recwarn.list


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sequences_are_multiplied_as_decomposed_ones(mode, dtype):
    draw = numpy.random.default_rng(0)
    for length, other in [(1, 1), (9, 4), (4, 9), (30, 12), (5, 5)]:
        a, v = (draw.standard_normal(n).astype(dtype) for n in (length, other))
        for x, y in ((np.array(a), np.array(v)), (np.array(numpy.repeat(a, 2))[::2], np.array(v)[::-1])):
            for function in ("convolve", "correlate"):
                plain = getattr(np, function)(x, y, mode)
                carried = getattr(np, function)(np.decompose(x), y, mode)
                assert bits(plain)[:3] == bits(carried.value)[:3]
                want = getattr(numpy, function)(numpy.asarray(x), numpy.asarray(y), mode)
                assert plain.dtype == want.dtype
                numpy.testing.assert_allclose(numpy.asarray(plain), want, rtol=1e-4, atol=1e-5)


def test_sequences_with_what_is_not_finite():
    a, v = [1.0, 2.0, 3.0], [1.0, numpy.inf]
    for x, y in ((a, v), (v, a)):
        with numpy.errstate(invalid="ignore"):
            assert str(np.convolve(np.array(x), np.array(y)).tolist()) == str(numpy.convolve(x, y).tolist())
    with pytest.raises(ValueError, match="mode"):
        np.convolve(np.array(a), np.array(a), "none")
    with pytest.raises(ValueError, match="empty"):
        np.convolve(np.array(a), np.array([]))


@pytest.mark.parametrize("text", ["ij,jk,ik->i", "ki,kl,lj->ij", "i,ij,j->", "ij,jk,kl,l->i"])
def test_einsum_of_several_operands_is_torchs(text):
    """Also where the path is known from a call before, and where torch is told to look for none."""
    terms = text.partition("->")[0].split(",")
    operands = [
        torch.arange(1.0, 1 + 4 ** len(term), dtype=torch.float64).sqrt().view(*(4,) * len(term)) for term in terms
    ]
    for enabled in (True, True, False):
        with torch.backends.opt_einsum.flags(enabled=enabled):
            want = torch.einsum(text, *operands)
            found = np.einsum(text, *map(np.asarray, operands))
        assert bits(found)[:3] == bits(want)[:3]
        carried = np.einsum(text, np.decompose(np.array(operands[0])), *map(np.asarray, operands[1:]))
        assert bits(carried.value)[:3] == bits(found)[:3] or not enabled


@pytest.mark.parametrize("name", ["maximum", "minimum", "add", "multiply"])
def test_slices_are_reduced_as_by_numpy(name):
    def told(lib, dtype):
        x = lib.array([3.0, -1.0, 0.0, 2.0, -0.0, 0.0, 7.0]).astype(dtype)
        table = lib.arange(12).astype(dtype).reshape(4, 3)
        found = [getattr(lib, name).reduceat(x[:4], [0, 2]), getattr(lib, name).reduceat(x, [0, 4, 1])]
        return [(*bits(y)[1:], numpy.asarray(y).tolist()) for y in [*found, getattr(lib, name).reduceat(table, [0, 2])]]

    for dtype in ("float64", "float32", "int64", "uint8"):
        assert told(np, dtype) == told(numpy, dtype)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64", "complex128"])
def test_what_is_joined_by_keys_and_in_blocks_is_numpys(dtype):
    def told(lib):
        x, t = lib.arange(4).astype(dtype), lib.arange(6).reshape(2, 3).astype(dtype)
        found = [lib.r_[0, x], lib.r_[x, 1.5, True], lib.r_[x[0], 2:5, x], lib.r_[0:1:3j, x], lib.r_[x, 1:2:0.25]]
        found += [
            lib.c_[x, x],
            lib.c_[t, t],
            lib.r_[t, t],
            lib.r_["0,2", x, x],
            lib.c_[x, lib.zeros(4)],
            lib.r_[x, [7, 8]],
        ]
        found += [
            lib.r_[x, [7, 8]],
            lib.block([[t, t], [t, t]]),
            lib.block([t, t]),
            lib.block([x, 1]),
            lib.indices((2, 3)),
        ]
        return [bits(y) for y in [*found, lib.indices((2,), dtype="float32"), *lib.indices((2, 2), sparse=True)]]

    assert told(np) == told(numpy)
    for bad in (lambda lib: lib.r_[lib.ones(2), lib.ones((2, 2))], lambda lib: lib.block([[lib.ones(2)], lib.ones(2)])):
        for lib in (np, numpy):
            with pytest.raises(ValueError):
                bad(lib)


def test_what_is_joined_carries_contributions():
    x = np.decompose(np.arange(3.0))
    for joined in (np.r_[0.0, x], np.block([[x[None]], [x[None]]]), np.c_[x, np.ones(3)]):
        assert np.allclose(joined.residual + joined.components.sum(0), joined.value)
