"""An array's memory: flags, bases, views of bytes, buffers, interfaces, the constructor, order, overlap, pickles."""

from __future__ import annotations

import array
import ctypes
import gc
import itertools
import pickle
import random
import subprocess
import sys
import warnings
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from npdec.exceptions import DecompositionWarning

BOTH = pytest.mark.parametrize("lib", [np, numpy], ids=["npdec", "numpy"])


def same(got: Any, want: Any) -> None:
    assert type(got) is np.ndarray
    assert got.dtype.name == want.dtype.name
    numpy.testing.assert_array_equal(numpy.asarray(got), want)
    assert got.shape == want.shape


def outcome(call: Any, *errors: type[Exception]) -> Any:
    """What a call gives, or the type and the text of the error that it raises."""
    try:
        return call()
    except errors as error:
        return type(error).__name__, str(error)


def told(call: Any) -> tuple[str, str]:
    """The type and the text of the error that a call raises."""
    with pytest.raises(Exception) as error:  # noqa: PT012
        call()
        raise AssertionError("nothing was raised")
    return type(error.value).__name__, str(error.value)


# -- names -------------------------------------------------------------------------------------------------------------

PRIVATE = {"__array_finalize__", "__setstate__", "__getformat__", "__getnewargs__"}


@pytest.mark.parametrize("name", ["ndarray", "generic", "float64", "int64", "complex128", "bool_", "dtype"])
def test_every_attribute(name):
    theirs = {n for n in dir(getattr(numpy, name)) if not n.startswith("_") or n.startswith("__array")}
    assert not theirs - set(dir(getattr(np, name))) - PRIVATE


# -- flags -------------------------------------------------------------------------------------------------------------

KEYS = (
    "C CONTIGUOUS C_CONTIGUOUS F FORTRAN F_CONTIGUOUS O OWNDATA A ALIGNED W WRITEABLE X WRITEBACKIFCOPY B BEHAVED CA "
    "CARRAY FA FARRAY FNC FORC"
).split()
LAYOUTS: dict[str, Any] = {
    "rows": lambda x: x,
    "columns": lambda x: x.T,
    "gaps": lambda x: x[:, ::2],
    "vector": lambda x: x[0],
    "one": lambda x: x[:1, :1],
    "empty": lambda x: x[:0],
    "permuted": lambda x: x.reshape(2, 3, 2).transpose(1, 0, 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_flags(layout):
    ours, theirs = (LAYOUTS[layout](lib.arange(12.0).reshape(3, 4)) for lib in (np, numpy))
    for key in KEYS:
        assert ours.flags[key] == theirs.flags[key], key
    for name in dir(theirs.flags):
        if not name.startswith("_"):
            assert getattr(ours.flags, name) == getattr(theirs.flags, name), name
    assert repr(ours.flags) == repr(theirs.flags)
    assert str(ours.flags) == str(theirs.flags)
    assert ours.flags == ours.flags
    for key in ("c", "c_contiguous", "UPDATEIFCOPY", 1):
        with pytest.raises(KeyError, match="Unknown flag"):
            ours.flags[key]


@BOTH
def test_flags_can_be_set(lib):
    x = lib.zeros(3)
    x.flags["W"] = False
    assert not x.flags.writeable
    assert not x[1:].flags.writeable
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        x[1:].flags.writeable = True
    x.flags.writeable = True
    assert x.flags["WRITEABLE"]
    x.setflags(write=0)
    assert not x.flags.writeable
    x.setflags(write=1, align=True, uic=False)
    for key in ("C", "OWNDATA", "foo"):
        with pytest.raises(KeyError, match="Unknown flag"):
            x.flags[key] = True
    for name in ("c_contiguous", "num", "foo"):
        with pytest.raises(AttributeError):
            setattr(x.flags, name, True)
    with pytest.raises(ValueError, match="cannot set WRITEBACKIFCOPY flag to True"):
        x.setflags(uic=True)


def test_memory_is_always_aligned():
    with pytest.raises(ValueError, match="aligned"):
        np.zeros(2).setflags(align=False)


@BOTH
def test_bases(lib):
    x = lib.arange(6.0)
    assert x.base is None
    assert x[1:].base is x
    assert x[1:][1:].base is x
    assert x.view("i8")[1:].base is x
    assert x.copy().base is None
    assert x[1:].copy().flags.owndata
    data = b"12345678"
    assert lib.frombuffer(data).base is data
    made = lib.frombuffer(bytearray(data), dtype="u1")
    assert isinstance(made.base, memoryview)
    assert not made.flags.owndata
    assert made[1:].base is made
    buffer = bytearray(16)
    assert lib.ndarray((2,), buffer=buffer).base is buffer
    assert lib.ndarray((2,), buffer=x).base is x


# -- memory read as another dtype --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("start", ["i1", "i4", "f8", "c16"])
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "f8", "c16", "f4"])
def test_views_of_other_dtypes(layout, start, dtype):
    ours, theirs = (LAYOUTS[layout](lib.arange(12).reshape(3, 4).astype(start)) for lib in (np, numpy))
    want = outcome(lambda: theirs.view(dtype), ValueError)
    if isinstance(want, tuple):
        assert told(lambda: ours.view(dtype)) == want
        return
    got = ours.view(dtype)
    same(got, want)
    if got.size:
        got[...], want[...] = 1, 1
        assert numpy.asarray(ours).tobytes() == theirs.tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("start", "dtype"), [("c16", "f8"), ("c8", "f4"), ("f8", "c16"), ("f4", "c8")])
def test_views_of_the_parts_of_decomposed_numbers(layout, start, dtype):
    numbers = numpy.arange(12.0).reshape(3, 4).astype(start)
    numbers += 1j * numbers[::-1] if start[0] == "c" else 0
    parts = [numbers, numbers / 4, *numpy.stack([numbers / 4, numbers / 2])]
    value, residual, first, second = (LAYOUTS[layout](part) for part in parts)
    try:
        want = [part.view(dtype) for part in (value, residual, first, second)]
    except ValueError:
        with pytest.raises(ValueError, match="dtype"):
            LAYOUTS[layout](np.decompose(np.array(numbers))).view(dtype)
        return
    tensors = [torch.from_numpy(part.copy()) for part in parts]
    ours = np.asarray(np.DecomposedTensor(*tensors[:2], torch.stack(tensors[2:]), ("a", "b")))
    view = LAYOUTS[layout](ours).view(dtype)
    for _ in range(2):
        for got, it in zip((view.value, view.residual, *view.components), want, strict=True):
            same(got, it)
        for got, it in zip((ours.value, ours.residual, *ours.components), parts, strict=True):
            same(got, it)
        view *= 2  # which writes to both
        for it in want:
            it *= 2


@pytest.mark.parametrize("start", [1, 3])
def test_an_unaligned_view_follows_the_array_and_writes_to_it(start):
    def steps(lib):
        x = lib.arange(41, dtype="u1")
        view = x[start : start + 32].view("f8")
        yield x, view
        x[5] = 9
        yield x, view
        view[1] = 0.5
        yield x, view
        part = view[::2]
        part += 1
        yield x, part
        with lib.errstate(all="ignore"):
            lib.multiply(view, 2, out=view)
        yield x, view
        assert not view.flags.aligned
        assert not part.flags.behaved
        assert x.flags.aligned
        assert view.flags.writeable
        x.flags.writeable = False
        assert not x[start : start + 32].view("f8").flags.writeable

    for (x, view), (theirs, want) in zip(steps(np), steps(numpy), strict=True):
        same(x, theirs)
        same(view, want)


@BOTH
def test_view_arguments(lib):
    x = lib.arange(6.0)
    assert x.view(lib.ndarray).base is x
    assert x.view("i8", lib.ndarray).dtype == lib.int64
    assert x.view(dtype=lib.float64, type=lib.ndarray).shape == (6,)
    assert told(lambda: x.view(lib.ndarray, lib.ndarray)) == ("ValueError", "Cannot specify output type twice.")
    assert told(lambda: x.view(type="a")) == ("ValueError", "Type must be a sub-type of ndarray type")
    assert told(lambda: lib.array(1.0).view("i2"))[0] == "ValueError"
    assert lib.float64(1).view("i8") == 4607182418800017408


@BOTH
def test_dtype_and_strides_can_be_assigned(lib):
    x = lib.arange(4, dtype="i4")
    x.dtype = "i8"
    assert x.shape == (2,)
    assert x.dtype == lib.int64
    z = lib.zeros((2, 2)).T
    with pytest.raises(ValueError, match="last axis must be contiguous"):
        z.dtype = "i4"
    y = lib.arange(6.0).reshape(2, 3)
    with pytest.warns(DeprecationWarning, match="strides"):
        y.strides = (8, 16)
    assert y.tolist() == [[0, 2, 4], [1, 3, 5]]
    with pytest.warns(DeprecationWarning, match="strides"), pytest.raises(ValueError, match="compatible"):
        y.strides = (80, 8)


FIELDS = [("i2", 0), ("i2", 2), ("i1", 3), ("f4", 0), ("i2", 1), ("i2", 3), ("i8", 0), ("i2", -1), ("u1", 1)]


@pytest.mark.parametrize(("dtype", "offset"), FIELDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_fields(dtype, offset, layout):
    ours, theirs = (LAYOUTS[layout](lib.arange(12, dtype="i4").reshape(3, 4) * 1000) for lib in (np, numpy))
    want = outcome(lambda: theirs.getfield(dtype, offset), ValueError)
    if isinstance(want, tuple):
        assert told(lambda: ours.getfield(dtype, offset)) == want
        assert told(lambda: ours.setfield(1, dtype, offset)) == want
        return
    same(ours.getfield(dtype, offset), want)
    assert ours.setfield(7, dtype, offset) is None
    theirs.setfield(7, dtype, offset)
    same(ours, theirs)


@BOTH
def test_parts_of_complex_numbers_are_fields(lib):
    x = lib.array([1 + 2j, 3 + 4j])
    x.getfield("f8", 8)[0] = 9
    assert x.tolist() == [1 + 9j, 3 + 4j]
    x.setfield([5, 6], "f8")
    assert x.real.tolist() == [5, 6]
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x.setfield(1, "f8")
    assert lib.float64(1.5).getfield("f4", 4) == 1.9375
    assert told(lambda: lib.float64(1).setfield(1, "f4"))[0] == "TypeError"


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_byteswap(dtype):
    theirs = numpy.arange(6).reshape(2, 3).astype(dtype)
    ours = np.asarray(theirs.copy())
    assert ours.byteswap().tobytes() == theirs.byteswap().tobytes()
    assert ours.T.byteswap().tobytes() == theirs.T.byteswap().tobytes()
    assert ours.byteswap(inplace=True) is ours
    assert ours.tobytes() == theirs.byteswap().tobytes()
    ours.flags.writeable = False
    with pytest.raises(ValueError, match="byte-swapped is read-only"):
        ours.byteswap(True)
    assert ours[0, 0].byteswap().tobytes() == theirs[0, 0].tobytes()


# -- what others see ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["?", "i2", "f8", "c8"])
def test_data_and_interface(layout, dtype):
    ours, theirs = (LAYOUTS[layout](lib.arange(12).reshape(3, 4).astype(dtype)) for lib in (np, numpy))
    assert isinstance(ours.data, memoryview)
    for name in ("format", "shape", "strides", "itemsize", "nbytes", "readonly", "c_contiguous", "f_contiguous"):
        assert getattr(ours.data, name) == getattr(theirs.data, name), name
    assert ours.data.tobytes() == theirs.data.tobytes()
    told_of, wanted = ours.__array_interface__, theirs.__array_interface__
    assert {k: v for k, v in told_of.items() if k != "data"} == {k: v for k, v in wanted.items() if k != "data"}
    assert told_of["data"][1] is False
    assert numpy.shares_memory(numpy.asarray(ours), numpy.asarray(ours.tensor)) or not ours.size
    assert ours.ctypes.shape[:] == theirs.ctypes.shape[:]
    assert ours.ctypes.strides[:] == theirs.ctypes.strides[:] or not ours.size
    assert ours.ctypes.data == told_of["data"][0] or not ours.size


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python asks for buffers from 3.12 on")
def test_buffers_are_as_they_are_asked_for():
    made = [
        lambda lib: lib.arange(6.0).reshape(2, 3), lambda lib: lib.arange(6.0).reshape(2, 3).T,
        lambda lib: lib.arange(12)[::2], lambda lib: lib.zeros(0), lambda lib: lib.array(1j),
        lambda lib: lib.float64(2.5), lambda lib: lib.int32(3),
    ]  # fmt: skip
    for flags, make in itertools.product([0, 1, 2, 4, 8, 24, 28, 29, 56, 88, 152, 284, 285], made):

        def asked(lib, make=make, flags=flags):
            try:
                seen = make(lib).__buffer__(flags)
            except Exception as error:
                return type(error)
            return seen.format, seen.shape, seen.strides, seen.readonly, seen.tobytes()

        assert asked(np) == asked(numpy), flags
    with pytest.raises(BufferError, match=r"use \.value"):
        memoryview(np.decompose(np.ones(2)))


@BOTH
def test_writing_through_what_is_exported(lib):
    x = lib.zeros((2, 2))
    x.data[0, 1] = 5
    pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    pointer[2] = 7
    numpy.asarray(x)[1, 1] = 8
    assert x.tolist() == [[0, 5], [7, 8]]
    x.flags.writeable = False
    assert x.data.readonly
    assert x.__array_interface__["data"][1] is True
    assert not numpy.asarray(x).flags.writeable
    with pytest.raises(TypeError):
        x.data[0, 0] = 1
    with pytest.raises(AttributeError):
        x.data = bytes(32)


def test_exported_memory_outlives_a_resize():
    x = np.arange(4.0)
    theirs = numpy.asarray(x)
    x.resize(1000)
    gc.collect()
    torch.zeros(1000).fill_(5)
    assert theirs.tolist() == [0, 1, 2, 3]


def test_what_cannot_be_exported_says_so():
    d = np.decompose(np.array([1.0, 2.0]))
    for name in ("data", "ctypes"):
        with pytest.raises(BufferError, match=f"{name}: .*use .value"):
            getattr(d, name)
    assert not hasattr(d, "__array_interface__")
    assert not hasattr(d, "__array_struct__")
    with pytest.warns(DecompositionWarning):
        assert numpy.asarray(d).tolist() == [1, 2]
    with pytest.raises(BufferError, match="bfloat16"):
        np.ones(2, dtype=np.bfloat16).data
    assert numpy.asarray(np.ones(2, dtype=np.bfloat16)).dtype == numpy.float32
    with pytest.raises(TypeError, match="contributions"):
        d.view("i8")
    with pytest.raises(TypeError, match="contributions"):
        d.getfield("f4")
    with pytest.warns(DecompositionWarning, match="byteswap"):
        d.byteswap()


def test_scalars_give_no_memory_away():
    s = np.float64(1.5)
    assert s.data.readonly
    assert s.data.format == "d"
    assert not s.flags.writeable
    assert s.flags.owndata
    assert s.base is None
    assert numpy.asarray(s).tolist() == 1.5
    assert s.fill(3) is s.resize(2) is s.setflags(write=True) is None
    assert s == 1.5
    with pytest.raises(np.exceptions.AxisError):
        s.sort()
    with pytest.raises(ValueError, match="scalar in-place"):
        s.byteswap(inplace=True)


ORDERS = ["C", "F", "A", "K", None, "c"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ORDERS)
def test_tobytes(layout, order):
    ours, theirs = (LAYOUTS[layout](lib.arange(12).reshape(3, 4)) for lib in (np, numpy))
    assert ours.tobytes(order) == theirs.tobytes(order)
    assert bytes(ours) == bytes(theirs)


# -- memory order of copies --------------------------------------------------------------------------------------------

MORE_LAYOUTS = LAYOUTS | {
    "gaps in columns": lambda x: x.T[::2],
    "permuted with gaps": lambda x: x.reshape(2, 3, 2).transpose(1, 0, 2)[:, :, :1],
}


def steps(x: Any) -> tuple[int, ...]:
    """The strides that can be observed: those of axes longer than one."""
    return tuple(step for n, step in zip(x.shape, x.strides, strict=True) if n > 1) if x.size else ()


@pytest.mark.parametrize("layout", MORE_LAYOUTS)
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_order_of_copies(layout, order):
    ours, theirs = (MORE_LAYOUTS[layout](lib.arange(12.0).reshape(3, 4)) for lib in (np, numpy))
    calls = [
        lambda lib, x: x.copy(order),
        lambda lib, x: x.astype("f4", order=order),
        lambda lib, x: x.astype("f8", order=order),
        lambda lib, x: x.astype("f8", order=order, copy=False),
        lambda lib, x: lib.array(x, order=order),
        lambda lib, x: lib.array(x, order=order, copy=None),
        lambda lib, x: lib.array(x, dtype="f4", order=order),
        lambda lib, x: lib.copy(x, order),
        lambda lib, x: lib.asarray(x, order=order),
    ]
    for i, call in enumerate(calls):
        got, want = call(np, ours), call(numpy, theirs)
        assert steps(got) == steps(want), i
        assert (got is ours) == (want is theirs), i
        assert np.shares_memory(got, ours) == numpy.shares_memory(want, theirs), i


def test_order_of_a_copy_of_a_broadcast_view():
    ours, theirs = (lib.broadcast_to(lib.arange(3.0), (2, 3)) for lib in (np, numpy))
    for call in (lambda x: x.copy("K"), lambda x: x.astype("f4"), lambda x: x.copy()):
        assert call(ours).strides == call(theirs).strides


# -- arrays over buffers -----------------------------------------------------------------------------------------------

CONSTRUCTED: list[dict[str, Any]] = [
    {"shape": (2,)},
    {"shape": 2, "offset": 4},
    {"shape": (2,), "offset": 3},
    {"shape": (2, 2), "strides": (16, 4)},
    {"shape": (2, 2), "strides": (16, -4), "offset": 8},
    {"shape": (2, 2), "strides": (16, -4)},
    {"shape": (2, 3), "order": "F"},
    {"shape": (2, 3), "order": "K"},
    {"shape": (20,)},
    {"shape": (2,), "offset": 70},
    {"shape": (2,), "strides": (4, 4)},
    {"shape": (2,), "strides": (400,)},
    {"shape": (3,), "strides": (0,)},
    {"shape": ()},
    {"shape": (0, 3)},
    {"shape": (-1,)},
]


@pytest.mark.parametrize("options", CONSTRUCTED, ids=str)
@pytest.mark.parametrize("kind", ["bytearray", "bytes", "array", "memoryview"])
def test_the_constructor_over_a_buffer(options, kind):
    def buffer(lib):
        data = bytes(range(64))
        if kind == "array":
            return lib.frombuffer(bytearray(data), dtype="u1").copy()
        return {"bytearray": bytearray, "bytes": bytes, "memoryview": lambda d: memoryview(bytearray(d))}[kind](data)

    ours, theirs = buffer(np), buffer(numpy)
    want = outcome(lambda: numpy.ndarray(dtype="i4", buffer=theirs, **options), ValueError, TypeError)
    if isinstance(want, tuple):
        assert told(lambda: np.ndarray(dtype="i4", buffer=ours, **options)) == want
        return
    if kind == "array" and options.get("offset") == 3:
        return  # not aligned: a copy, as of a view
    got = np.ndarray(dtype="i4", buffer=ours, **options)
    same(got, want)
    assert got.flags.writeable == want.flags.writeable
    if want.flags.writeable and want.size and options.get("strides") != (0,):
        got[...] = want[...] = 5
        assert bytes(ours) == bytes(theirs)


@BOTH
def test_the_constructor_without_a_buffer(lib):
    assert lib.ndarray((2, 3)).dtype == lib.float64
    assert lib.ndarray((2, 3), order="F").strides == (8, 16)
    assert lib.ndarray((2, 2), strides=(8, 16)).strides == (8, 16)
    assert lib.ndarray([2, 3], "i2").shape == (2, 3)
    assert lib.ndarray((), None).dtype == lib.float64
    assert told(lambda: lib.ndarray((2, 2), strides=(80, 8)))[0] == "ValueError"
    assert told(lambda: lib.ndarray((2,), "i4", 5)) == ("TypeError", "a bytes-like object is required, not 'int'")


BUFFERS: list[tuple[Any, tuple[Any, ...]]] = [
    (b"abc", ("u1",)), (b"abc", ("u1", 2)), (b"abc", ("u1", -1, 1)), (b"abc", ("u1", 0)), (b"abc", ("u1", 5)),
    (b"abc", ("u1", -1, 4)), (b"abc", ("u1", -1, 3)), (b"abc", ("u1", -1, -1)), (b"abc", ("f8",)), (b"", ("u1",)),
    (bytearray(b"abcdefghi"), ("i2", -1, 1)), (array.array("h", [1, 2]), ("i2",)), (5, ()), ("abc", ()),
]  # fmt: skip


@pytest.mark.parametrize(("buffer", "args"), BUFFERS)
def test_frombuffer(buffer, args):
    want = outcome(lambda: numpy.frombuffer(buffer, *args), ValueError, TypeError)
    if isinstance(want, tuple):
        assert told(lambda: np.frombuffer(buffer, *args)) == want
        return
    got = np.frombuffer(buffer, *args)
    same(got, want)
    if want.size:
        assert got.flags.writeable == want.flags.writeable


@BOTH
def test_frombuffer_aliases(lib):
    data = bytearray(range(8))
    x = lib.frombuffer(data, dtype="u1", offset=2)
    x[0] = 99
    assert data[2] == 99
    data[3] = 77
    assert x[1] == 77
    fixed = lib.frombuffer(bytes(data), dtype="u1")
    with pytest.raises(ValueError, match="read-only"):
        fixed[0] = 1
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        fixed.setflags(write=True)
    y = lib.arange(4.0)
    lib.frombuffer(y)[1] = 9
    assert y[1] == 9
    with pytest.raises(ValueError, match="not C-contiguous"):
        lib.frombuffer(y[::2])


@BOTH
def test_require(lib):
    x = lib.arange(6.0).reshape(2, 3)
    assert lib.require(x, requirements=["C", "A", "w"]) is x
    assert lib.require(x) is x
    assert lib.require(x, requirements="F").flags.fnc
    assert lib.require(x[:, ::2], requirements=["O"]).flags.owndata
    assert lib.require(x, "i4", ["WRITEABLE", "contiguous", "ENSUREARRAY"]).dtype == lib.int32
    fixed = x.copy()
    fixed.flags.writeable = False
    assert lib.require(fixed, requirements="W").flags.writeable
    assert told(lambda: lib.require(x, requirements="Z")) == ("KeyError", "'Z'")
    assert told(lambda: lib.require(x, requirements="CF"))[0] == "ValueError"


RESIZES: list[tuple[Any, ...]] = [(2, 2), ((3, 3),), (None,), (), (0,), ((),), (-1,), (2, "a"), (12,)]


@pytest.mark.parametrize("shape", RESIZES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_resize(shape, order):
    ours, theirs = (lib.arange(6).reshape(2, 3).copy(order) for lib in (np, numpy))
    want = outcome(lambda: theirs.resize(*shape, refcheck=False), ValueError, TypeError)
    if want is not None:
        assert told(lambda: ours.resize(*shape)) == want
        return
    ours.resize(*shape)
    same(ours, theirs)
    assert steps(ours) == steps(theirs)


@BOTH
def test_resize_refuses_views(lib):
    x = lib.arange(6)
    view = x[1:]
    assert told(lambda: x.resize(3))[1].startswith("cannot resize an array that references")
    assert told(lambda: view.resize(3)) == ("ValueError", "cannot resize this array: it does not own its data")
    view.resize(5)
    x.resize(3, refcheck=False)
    assert x.tolist() == [0, 1, 2]


# -- overlap -----------------------------------------------------------------------------------------------------------


def _ends(source, n, steps):
    first, last, step = source.randint(0, n), source.randint(0, n), source.choice(steps)
    return (first, last, step) if step > 0 else (max(first, last), min(first, last), step)


def test_overlap_of_random_views():
    source = random.Random(3)
    shapes = [(24,), (4, 6), (2, 3, 4)]
    answers = set()
    for _ in range(300):
        shape = source.choice(shapes)
        ours, theirs = np.arange(24, dtype="i2").reshape(shape), numpy.arange(24, dtype="i2").reshape(shape)
        pairs = []
        for _ in range(2):
            forward = source.random() < 0.6  # a reversed slice is a copy that stands for a view
            steps = (1, 2, 3) if forward else (1, -1, -2)
            key = tuple(slice(None) if source.random() < 0.3 else slice(*_ends(source, n, steps)) for n in shape)
            axes = source.sample(range(len(shape)), len(shape))
            pairs.append((ours[key].transpose(axes), theirs[key].transpose(axes)))
        (a, b), (c, d) = pairs
        assert np.shares_memory(a, c) == numpy.shares_memory(b, d)
        assert np.may_share_memory(a, c) == numpy.may_share_memory(b, d)
        answers.add((numpy.shares_memory(b, d), numpy.may_share_memory(b, d)))
    assert len(answers) == 3


@BOTH
def test_the_work_of_overlap_is_bounded(lib):
    y = lib.zeros(4)
    for arrays in ((y[::2], y[1::2]), (y, y[1:])):
        for work in (None, -1):
            assert isinstance(lib.shares_memory(*arrays, max_work=work), bool)
        assert told(lambda arrays=arrays: lib.shares_memory(*arrays, max_work=0)) == (
            "TooHardError",
            "Exceeded max_work",
        )
        assert lib.may_share_memory(*arrays)
    assert told(lambda: lib.shares_memory(y, y, max_work=-3)) == ("ValueError", "Invalid value for max_work")
    for other in ("a", 1.0, lib.int8(1), lib.int64(1), lib.array(1), lib.True_):  # only Python's integers are taken
        for ask in (lib.shares_memory, lib.may_share_memory):
            told_of = told(lambda ask=ask, other=other: ask(y, y, max_work=other))
            assert told_of == ("ValueError", "max_work must be an integer")
    assert lib.shares_memory(y, y, max_work=True)
    with pytest.raises(OverflowError, match="too large to convert to C ssize_t"):
        lib.may_share_memory(y, y, max_work=10**100)


def test_too_hard():
    memory = bytearray(40000)
    x = np.ndarray((19, 23, 29, 31), "u1", memory, 0, (210, 330, 462, 2))
    y = np.ndarray((17, 23, 31, 7), "u1", memory, 1, (210, 330, 462, 4))
    assert not np.shares_memory(x, y)
    assert not numpy.shares_memory(numpy.asarray(x), numpy.asarray(y))
    y = np.ndarray((17, 23, 31, 7), "u1", memory, 1, (211, 331, 463, 3))
    assert np.shares_memory(x, y)
    with pytest.raises(np.exceptions.TooHardError, match="Exceeded max_work"):
        np.shares_memory(x, y, max_work=1)
    assert np.may_share_memory(x, y, max_work=1)


# -- pickles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_view_is_pickled_without_what_it_is_a_view_of(protocol):
    x = np.arange(1_000_000.0)
    pickled = pickle.dumps(x[5:8], protocol)
    assert len(pickled) < 2000
    back = pickle.loads(pickled)
    assert back.tolist() == [5, 6, 7]
    assert back.flags.writeable
    assert pickle.loads(pickle.dumps(x[::-1][:3], protocol)).tolist() == [999999, 999998, 999997]
    d = np.decompose(x[:4])[1:3]
    back = pickle.loads(pickle.dumps(d, protocol))
    assert back.value.tolist() == [1, 2]
    assert back.components.tolist() == d.components.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_pickles_keep_the_order(order):
    x = np.arange(6.0).reshape(2, 3).copy(order)
    back = pickle.loads(pickle.dumps(x))
    assert back.strides == x.strides
    assert back.tolist() == x.tolist()


@BOTH
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (), (0, 2)])
@pytest.mark.parametrize("dtype", ["?", "i2", "u2", "f8", "c8"])
def test_pickles_hand_out_their_memory(lib, shape, dtype):
    source = lib.ones(shape, dtype=dtype)
    for x in (source, source.T, source.copy("F"), source[..., None].swapaxes(0, -1)):
        buffers: list[Any] = []
        pickled = pickle.dumps(x, 5, buffer_callback=buffers.append)
        back = pickle.loads(pickled, buffers=buffers)
        assert type(back) is lib.ndarray
        assert back.dtype == x.dtype
        assert steps(back) == steps(x)
        assert back.tolist() == x.tolist()
        if x.size > 1:
            assert len(buffers) == 1
            assert lib.shares_memory(back, x)
            back[...] = 0
            assert not x.any()
            x[...] = 1
        inside = pickle.loads(pickle.dumps(x, 5))
        assert inside.tolist() == x.tolist()
        assert inside.flags.writeable


@BOTH
def test_a_read_only_array_is_pickled_as_one_in_protocol_5(lib):
    x = lib.arange(3.0)
    x.flags.writeable = False
    assert not pickle.loads(pickle.dumps(x, 5)).flags.writeable
    assert pickle.loads(pickle.dumps(x, 4)).flags.writeable


class Buffer(ctypes.Structure):
    """What an exporter fills in, as C code sees it: a memoryview fills in what is missing."""

    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)), ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    ]  # fmt: skip


@BOTH
@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (0,)])
def test_buffers_of_pickles_have_the_strides_that_are_asked_for(lib, shape, writeable):
    """Ray copies them without a look, and ctypes leaves them out: an array made a worker of Ray crash."""
    x = lib.ones(shape)
    x.flags.writeable = writeable
    buffers: list[Any] = []
    pickle.dumps(x, 5, buffer_callback=buffers.append)
    found, full = Buffer(), 0x11C  # PyBUF_FULL_RO
    api = ctypes.pythonapi
    assert api.PyObject_GetBuffer(ctypes.py_object(buffers[0]), ctypes.byref(found), full) == 0
    try:
        assert found.format
        assert found.readonly != writeable
        sizes, steps_, size = [], [], found.itemsize
        assert found.strides, "no strides"
        for axis in range(found.ndim):
            sizes.append(found.shape[axis])
            steps_.append(found.strides[axis])
        for length in sizes:
            size *= length
        assert size == found.len == x.nbytes
        assert steps_[-1] == found.itemsize
    finally:
        api.PyBuffer_Release(ctypes.byref(found))


COLLECTED = """
import gc, pickle, sys
import npdec as np

for writeable in (True, False):
    x = np.arange(10.0)
    x.flags.writeable = writeable
    buffers = []
    pickle.dumps(x, 5, buffer_callback=buffers.append)
    cycle = [buffers.pop()]
    cycle.append(cycle)
    del cycle
    gc.collect()
"""


@pytest.mark.slow
def test_buffers_of_pickles_can_be_collected_in_a_cycle():
    subprocess.run([sys.executable, "-c", COLLECTED], check=True)


def test_dump(tmp_path):
    x = np.decompose(np.array([1.0, 2.0]))
    x.dump(tmp_path / "x")
    with open(tmp_path / "y", "wb") as file:
        x.dump(file)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in "xy":
            with open(tmp_path / name, "rb") as file:
                back = pickle.load(file)
            assert back.components.tolist() == x.components.tolist()


def test_bytes_of_decomposed_numbers_warn_and_their_memory_is_not_lent():
    d = np.decompose(np.array([1.0, 2.0]))
    for read in (
        lambda x: x.tobytes(),
        lambda x: x.tobytes("F"),
        bytes,
        lambda x: x.T.tobytes(),
        lambda x: x[0].tobytes(),
    ):
        with pytest.warns(np.DecompositionWarning, match="tobytes drops"):
            assert read(d) == read(d.value)
    for lend in (np.frombuffer, lambda x: np.ndarray(2, buffer=x), lambda x: np.ndarray(2, np.int32, x, 4)):
        with pytest.raises(BufferError, match="holds its value only"):
            lend(d)
        assert lend(d.value).base is not None
