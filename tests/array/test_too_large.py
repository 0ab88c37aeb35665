"""Numbers, shapes and axes that are too large, and what is dropped of complex numbers: as NumPy says it."""

import pickle
import warnings

import numpy
import pytest

import npdec

BOTH = pytest.mark.parametrize("lib", [numpy, npdec], ids=["numpy", "npdec"])

WEAK = """lib.where(lib.array([True, False]), x, 1e150) lib.where(True, 1e150, x) lib.clip(x, -1e150, 1e150)
    lib.clip(x, 0, 1e150) lib.clip(x, None, -1e150) lib.select([x>9],[x],1e150) lib.maximum(x,1e150)
    lib.choose([0,1],[x,1e150]) lib.where(True, x, -1e999) lib.where(True, 1e39j, x)""".split("\n")


def _expressions():
    return [text.strip() for line in WEAK for text in line.replace(") lib", ")\nlib").split("\n")]


@pytest.mark.parametrize("text", _expressions())
@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_python_numbers_too_large_for_the_dtype_are_infinite(text, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, expected = (eval(text, {"lib": lib, "x": lib.array([1.0, 2.0], dtype)}) for lib in (npdec, numpy))
    assert made.dtype == expected.dtype
    assert made.tolist() == expected.tolist()


def test_they_are_told_where_errors_are_watched():
    x = npdec.ones(2, "f4")
    with npdec.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        npdec.where([True, False], x, 1e150)


@BOTH
def test_what_has_too_many_elements_or_axes(lib):
    x, i = lib.ones((3,) * 5), lib.zeros(7132, int)
    with pytest.raises(ValueError, match="too big" if lib is npdec else "too large"):
        x[lib.ix_(i, i, i, i, i)]
    with pytest.raises(ValueError, match="too big" if lib is npdec else "too large"):
        x[lib.ix_(i, i, i, i, i)] = 0
    with pytest.raises(IndexError, match="shape mismatch"):
        x[[0, 1], [0, 1, 2]]
    deep = lib.ones((1,) * 33)
    with pytest.raises(ValueError, match=r"dim|at most 64"):
        lib.add.outer(deep, deep)
    assert lib.add.outer(deep, lib.ones(2)).ndim == 34


@BOTH
@pytest.mark.parametrize("dtype", ["u1", "i8", "f4"])
def test_each_write_of_complex_numbers_says_what_it_drops(lib, dtype):
    value = lib.complex64(2 + 3j)
    values = lib.array([value, value])
    for write in (
        lambda x: x.fill(value),
        lambda x: lib.copyto(x, value, casting="unsafe"),
        lambda x: lib.copyto(x, values, casting="unsafe", where=[True, False]),
        lambda x: x.__setitem__([True, True], values),
        lambda x: x.__setitem__([0, 1], values),
        lambda x: x.__setitem__(slice(None), values),
        lambda x: lib.add(values, 0, out=x, casting="unsafe"),
    ):
        x = lib.zeros(2, dtype)
        with pytest.warns(lib.exceptions.ComplexWarning) as told:
            write(x)
        assert len(told) == 1
        assert x[0] == 2
    flags = lib.zeros(2, bool)
    flags[...] = values
    assert flags.all()


@BOTH
def test_pickles_of_arrays_with_gaps_have_no_buffers(lib):
    source = lib.arange(24.0).reshape(2, 3, 4)
    for x, count in ((source[:, :2], 0), (source[..., ::2], 0), (source.swapaxes(0, 2), 1), (source[1:], 1)):
        buffers = []
        pickled = pickle.dumps(x, 5, buffer_callback=buffers.append)
        assert len(buffers) == count
        assert pickle.loads(pickled, buffers=buffers).tolist() == x.tolist()


@BOTH
def test_align_is_a_boolean(lib):
    for align in (0, 3, 10**100, None, lib.int64(1)):
        with pytest.warns(lib.exceptions.VisibleDeprecationWarning, match="align should be passed"):
            assert lib.dtype("f8", align=align) == lib.dtype("f8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for align in (True, False, lib.True_, lib.False_):
            lib.dtype("f8", align=align)
        lib.dtype("f8", 0, 1)
    assert all(type(lib.dtype(code))._is_numeric for code in "?bhlfdFD")


JOINED = (
    "[lib.float32(1), 1.0]", "[x, 1.0]", "[x, 1, 2.5]", "[1, 2.5]", "[True, 1]", "[x, 1j]", "[lib.ones(2, 'i1'), 300]",
    "[1, True, x > 1]", "[lib.ones(2, 'u1'), -1]", "[x, lib.float64(1)]", "[x, [1.0]]", "(1.0, x[:1])", "[1e300, x]",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow")
def test_python_scalars_are_weak_among_what_is_joined():
    for text in JOINED:
        made, expected = (
            lib.concatenate(eval(text, {"lib": lib, "x": lib.array([1.0, 2.0], "f4")}), axis=None)
            for lib in (npdec, numpy)
        )
        assert made.dtype == expected.dtype, text
        assert made.tolist() == expected.tolist(), text
    x = npdec.decompose(npdec.array([1.0, 2.0]))
    joined = npdec.concatenate([x, 3.0], axis=None)
    assert joined.components.sum(0).tolist() == [1.0, 2.0, 0.0]
    for lib in (numpy, npdec):
        with pytest.raises(ValueError, match="dimension"):
            lib.concatenate([lib.ones(2), 1.0])
