"""An operation is one tagged function: declared at run time, it has all that belongs to an operation."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy
import pytest
import torch

import npdec as np
from npdec import extend
from npdec.extend import (
    Affine,
    Array,
    ArrayLike,
    AxisLike,
    DTypeLike,
    Inexact,
    Linear,
    Multilinear,
    Opaque,
    OutArray,
    Pointwise,
    Smooth,
    operation,
    ufunc,
)

CLASSES = (np.ndarray, np.generic)
pytestmark = pytest.mark.usefixtures("nothing_published")


def softsign(x):
    return x / (1 + abs(x))


# -- functions ---------------------------------------------------------------------------------------------------------


def test_integers_of_an_inexact_argument_are_float64():
    @operation(method=True)
    def toy_root(a: Inexact[ArrayLike], more: Sequence[Inexact[ArrayLike]] = (), w: Inexact[Pointwise] | None = None):
        """Square roots of sums.

        >>> np.toy_root(4)
        np.float64(2.0)
        """
        assert all(x.is_floating_point() or x.is_complex() for x in (a, *more, *([] if w is None else [w])))
        return torch.sqrt(sum((*more, a if w is None else a * w)))

    for dtype in ("bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "complex64"):
        x = numpy.array([1, 4, 1]).astype(dtype)
        wide = x if x.dtype.kind in "fc" else x.astype("float64")
        assert str(np.toy_root(np.array(x)).dtype) == str(wide.dtype)
        assert np.array(x).toy_root().dtype == np.toy_root(x).dtype
        numpy.testing.assert_allclose(
            numpy.asarray(np.toy_root(x, [x, x], x)), numpy.sqrt(wide * wide + wide + wide), 1e-3
        )
        if x.dtype.kind == "f":
            d = np.decompose(np.array(x))
            assert np.toy_root(d, w=x).components.dtype == x.dtype


def test_affine_arguments_are_mapped():
    """What is linear in few decomposed numbers is computed as one map, and so is what is made of it elsewhere."""

    @operation(method=True)
    def toy_pairs(a: Affine[ArrayLike], shift: int = 1):
        """Each element, and the one behind it, in pairs.

        >>> np.toy_pairs([1, 2])
        array([[1, 2],
               [2, 1]])
        """
        return torch.stack([a, torch.roll(a, -shift)], -1)

    for dtype in ("float64", "float32", "complex128"):
        x = np.decompose(np.array([1.0, 2.0, 4.0], dtype=dtype), baseline=0.5)
        for made in (np.toy_pairs(x), x.toy_pairs(), np.toy_pairs(x, 1)):
            assert made.value.tolist() == [[1, 2], [2, 4], [4, 1]]
            assert made._t.residual.tolist() == [[0.5, 0.5]] * 3
            assert made._t.components.sum(0).tolist() == [[0.5, 1.5], [1.5, 3.5], [3.5, 0.5]]
    assert np.toy_pairs([1, 2]).tolist() == [[1, 2], [2, 1]]


def test_an_inexact_argument_is_an_array():
    with pytest.raises(TypeError, match="unknown type tag"):

        @operation
        def toy_axis(a: ArrayLike, axis: Inexact[AxisLike]):
            """No array."""


def test_an_operation_is_a_function_and_a_method():
    @operation(method=True)
    def toy_mean(
        a: ArrayLike, axis: AxisLike | None = None, dtype: DTypeLike | None = None, out: OutArray | None = None
    ):
        """The mean of squares.

        >>> np.toy_mean([1.0, 2.0])
        np.float64(2.5)
        """
        return torch.square(a).mean(axis) if dtype is None else torch.square(a).mean(axis).to(dtype)

    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert np.toy_mean is toy_mean
    assert toy_mean(x).value == x.toy_mean() == 7.5
    assert isinstance(toy_mean([1.0, 2.0]), np.float64)
    assert x.toy_mean(axis=0).tolist() == toy_mean([[1.0, 2.0], [3.0, 4.0]], 0).tolist() == [5.0, 10.0]
    assert toy_mean(x, 1, "float32").dtype == np.float32
    out = np.zeros(2)
    assert toy_mean(x, 0, out=out) is out
    assert out.tolist() == [5.0, 10.0]
    with pytest.raises(ValueError, match=r"wrong shape: \(3,\) instead of \(2,\)"):
        toy_mean(x, 0, out=np.zeros(3))
    assert toy_mean.__name__ == "toy_mean"
    assert toy_mean.__module__ == "npdec"
    assert "mean of squares" in toy_mean.__doc__
    assert np.ndarray.toy_mean.__doc__ == toy_mean.__doc__
    assert list(inspect.signature(toy_mean).parameters) == ["a", "axis", "dtype", "out"]
    assert list(inspect.signature(np.ndarray.toy_mean).parameters) == ["self", "axis", "dtype", "out"]


def test_an_operation_decomposes_through_torch():
    @operation
    def toy_energy(a: ArrayLike):
        """Half the sum of squares."""
        return (a * a).sum(-1) / 2

    d = np.decompose(np.array([1.0, 3.0]), baseline=1.0, labels=["a", "b"])
    made = np.toy_energy(d)
    assert made.value == np.toy_energy(d.value) == 5.0
    assert made.residual == 1.0
    assert made.components.tolist() == [0.0, 4.0]


@pytest.mark.parametrize("tag", [Pointwise, Smooth, ArrayLike])
def test_the_law_by_tag(tag):
    def toy_softsign(x):
        """x / (1 + |x|)."""
        assert tag is ArrayLike or type(x) is torch.Tensor  # a law tag covers the whole kernel
        return x / (1 + torch.abs(x))

    toy_softsign.__annotations__["x"] = tag
    f = operation(toy_softsign)
    x, r = numpy.array([0.5, -2.0, 3.0]), numpy.array([0.1, 1.0, 3.0])
    made = f(np.decompose(np.array(x), baseline=np.array(r), axis=()))
    numpy.testing.assert_allclose(numpy.asarray(made.components)[0], softsign(x) - softsign(r), rtol=1e-9, atol=1e-12)
    numpy.testing.assert_array_equal(numpy.asarray(made.residual), softsign(r))


def test_linear_and_multilinear_and_opaque_arguments():
    @operation(name="toy_mix")
    def mix(a: Multilinear, b: Multilinear, c: Linear, keep: Opaque) -> Array:
        """a · b + c where keep, else 0."""
        assert {type(t) for t in (a, b, c, keep)} == {torch.Tensor}
        return torch.where(keep > 0, a * b + c, 0.0)

    a = np.decompose(np.array([2.0, 3.0]), baseline=1.0, axis=(), labels=["a"])
    b = np.decompose(np.array([5.0, 1.0]), baseline=3.0, axis=(), labels=["b"])
    c = np.decompose(np.array([1.0, 1.0]), axis=(), labels=["c"])
    keep = np.decompose(np.array([1.0, -1.0]), baseline=9.0, axis=(), labels=["keep"])
    with pytest.warns(np.DecompositionWarning, match="toy_mix: what it chooses at the value is frozen"):
        made = np.toy_mix(a, b, c, keep)
    assert made.value.tolist() == [11.0, 0.0]
    assert made.residual.tolist() == [3.0, 0.0]
    assert made.labels == ("a", "b", "c")
    assert made.components.tolist() == [[4.0, 0.0], [3.0, 0.0], [1.0, 0.0]]


# -- ufuncs ------------------------------------------------------------------------------------------------------------


def test_a_ufunc_has_all_of_a_ufunc():
    @ufunc(loops="inexact", identity=0)
    def toy_hypot(x1: Pointwise, x2: Pointwise):
        """The length of a vector.

        >>> np.toy_hypot(3.0, 4.0)
        np.float64(5.0)
        """
        return torch.sqrt(x1 * x1 + x2 * x2)

    f = np.toy_hypot
    assert isinstance(f, np.ufunc)
    assert (f.nin, f.nout, f.identity, f.__name__) == (2, 1, 0, "toy_hypot")
    assert repr(f) == "<ufunc 'toy_hypot'>"
    assert str(inspect.signature(f)) == str(inspect.signature(numpy.hypot))
    assert "length of a vector" in f.__doc__
    x = np.array([3, 5])
    assert f(x, [[4.0], [12.0]]).tolist() == [[5.0, 41**0.5], [153**0.5, 13.0]]
    assert f(np.float32(3), 4).dtype == np.float32
    out = np.full(2, -1.0)
    assert f(x, [4, 12], out=out, where=np.array([False, True])) is out
    assert out.tolist() == [-1.0, 13.0]
    assert f(x, 4, dtype="float32").dtype == np.float32
    assert f.reduce(np.array([2.0, 3.0, 6.0])) == 7.0
    assert f.outer(np.array([3.0]), np.array([4.0, 0.0])).tolist() == [[5.0, 3.0]]
    with pytest.raises(ValueError, match="broadcast"):
        f(np.zeros(2), np.zeros(3))


def test_a_ufunc_of_torch_decomposes_with_method_and_operator():
    @ufunc(torch.special.erf, loops="float", method=True)
    def toy_erf(x: Pointwise):
        """The error function."""

    @ufunc(loops="any", operator="toy", aliases=("toy_minus",))
    def toy_difference(x1: Linear, x2: Linear):
        """x1 - x2."""
        return x1 - x2

    d = np.decompose(np.array([0.5, -1.0]), labels=["a", "b"])
    made = d.toy_erf()
    assert made.value.tolist() == np.toy_erf(d.value).tolist() == torch.erf(d.value.tensor).tolist()
    numpy.testing.assert_allclose(numpy.asarray(made.components.sum(0)), numpy.asarray(made.value), rtol=1e-14)
    assert np.toy_erf(np.float32(0.5)).toy_erf().dtype == np.float32
    assert d.__toy__(1.0).value.tolist() == [-0.5, -2.0]
    assert d.__rtoy__(1.0).components.tolist() == [[-0.5, 0.0], [0.0, 1.0]]
    assert np.toy_minus is np.toy_difference
    y = d.value.copy()
    assert y.__itoy__(1.0) is y
    assert y.tolist() == [-0.5, -2.0]


# -- mistakes ----------------------------------------------------------------------------------------------------------


def test_an_unknown_tag_is_refused_at_declaration():
    with pytest.raises(TypeError, match=r"parameter 'a'.*unknown type tag 'Matrix'"):

        @operation
        def toy_bad(a: Matrix):  # noqa: F821
            """Never published."""

    with pytest.raises(TypeError, match=r"parameter 'b'.*needs a type tag"):

        @operation
        def toy_untagged(a: ArrayLike, b):
            """Never published."""

    with pytest.raises(TypeError, match="a ufunc takes one to three arrays"):

        @ufunc(loops="any")
        def toy_axis(a: Pointwise, axis: AxisLike):
            """Never published."""

    assert not [name for name in vars(np) if name.startswith("toy_")]


def test_a_taken_name_is_refused():
    for name in ("exp", "ndarray", "linalg"):
        with pytest.raises(TypeError, match=f"npdec.{name} exists already"):

            @operation(name=name)
            def toy(a: ArrayLike):
                """Never published."""


def test_every_tag_of_the_vocabulary_is_exported():
    from npdec._core import tags as _tags

    tags = set(_tags.__all__) - {"Spec", "public", "spec_of", "ufunc", "Routed", "Parts", "LAW_TAGS", "law_tag"}
    assert tags <= set(extend.__all__)
