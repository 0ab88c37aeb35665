"""What the installed NumPy does for npdec beside arrays of numbers: help, dates, text; and the names around dtypes."""

from __future__ import annotations

import copy
import ctypes
import inspect
import io
import pickle

import numpy
import pytest

import npdec as np

BOTH = pytest.mark.parametrize("lib", [np, numpy], ids=["npdec", "numpy"])


# -- help and settings -------------------------------------------------------------------------------------------------


@BOTH
def test_info_of_an_array_is_its_layout(lib):
    out = io.StringIO()
    lib.info(lib.zeros((2, 3), dtype="c8"), output=out)
    lines = out.getvalue().splitlines()
    assert lines[1:7] == [
        "shape:  (2, 3)", "strides:  (24, 8)", "itemsize:  8", "aligned:  True", "contiguous:  True", "fortran:  False",
    ]  # fmt: skip


def test_info_of_functions_and_names():
    out = io.StringIO()
    np.info(np.polyval, output=out)
    assert out.getvalue().startswith(" polyval(p, x)\n")
    out = io.StringIO()
    np.info("norm", output=out)
    assert "*** Found in npdec.linalg ***" in out.getvalue()
    assert "*** Total of 1 references found. ***" in out.getvalue()
    out = io.StringIO()
    np.info(output=out)
    assert "maxwidth" in out.getvalue()


def test_numpys_own_settings():
    assert np.get_include() == numpy.get_include()
    assert np.show_config("dicts") == numpy.show_config("dicts")
    before = numpy.getbufsize()
    assert np.setbufsize(2 * before) == before
    assert np.getbufsize() == numpy.getbufsize() == 2 * before
    np.setbufsize(before)
    with pytest.raises(ValueError):
        np.setbufsize(-1)


# -- dates -------------------------------------------------------------------------------------------------------------


def test_working_days():
    days = ["2024-03-01", "2024-03-02", "2024-03-04"]
    counted = np.busday_count(days, "2024-04-01")
    assert type(counted) is np.ndarray
    assert counted.tolist() == numpy.busday_count(days, "2024-04-01").tolist()
    assert isinstance(np.busday_count("2024-03-01", "2024-03-08"), np.int64)
    worked = np.is_busday(days, weekmask=np.array([0, 0, 0, 0, 0, 1, 1], dtype=bool))
    assert type(worked) is np.ndarray
    assert worked.tolist() == [False, True, False]
    calendar = np.busdaycalendar(holidays=["2024-03-01"])
    assert isinstance(calendar, numpy.busdaycalendar)
    assert np.is_busday(days, busdaycal=calendar).tolist() == [False, False, True]
    moved = np.busday_offset("2024-03-01", np.array([0, 1, 5]))
    assert isinstance(moved, numpy.ndarray)
    assert moved.tolist() == numpy.busday_offset("2024-03-01", [0, 1, 5]).tolist()
    out = np.zeros(3, dtype=np.int64)
    assert np.busday_count(days, "2024-04-01", out=out) is out
    assert out.tolist() == counted.tolist()
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        np.busday_count(days, "2024-04-01", out=out)


@BOTH
def test_working_days_raise(lib):
    with pytest.raises(ValueError, match="Non-business day"):
        lib.busday_offset("2024-03-02", 1)
    with pytest.raises(ValueError, match="Cannot supply both"):
        lib.is_busday("2024-03-02", weekmask="1111111", busdaycal=lib.busdaycalendar())


@BOTH
def test_dates_as_text(lib):
    assert lib.datetime_data("M8[25s]") == ("s", 25)
    dates = numpy.array(["2024-02-29", "NaT"], dtype="M8[D]")
    assert lib.datetime_as_string(dates).tolist() == ["2024-02-29", "NaT"]


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["char", "strings"])
def test_functions_of_text_are_numpys(module):
    ours, theirs = getattr(np, module), getattr(numpy, module)
    assert dir(ours) == sorted(theirs.__all__) == sorted(ours.__all__)
    for name in theirs.__all__:
        function = getattr(ours, name)
        assert function is getattr(ours, name)
        if not isinstance(function, type):
            assert function.__module__ == f"npdec.{module}"
            assert function.__name__ == name
            assert str(inspect.signature(function)) == str(inspect.signature(getattr(theirs, name))), name


@pytest.mark.parametrize("module", ["char", "strings"])
def test_text_stays_numpys_and_numbers_become_npdecs(module):
    lib = getattr(np, module)
    words = numpy.array(["ab", "c"])
    upper = lib.upper(words)
    assert isinstance(upper, numpy.ndarray)
    assert upper.tolist() == ["AB", "C"]
    assert type(lib.str_len(words)) is np.ndarray
    assert lib.str_len(["ab", "c"]).tolist() == [2, 1]
    assert type(lib.isalpha(words)) is np.ndarray
    assert lib.find(words, "b", start=np.array([0, 0])).tolist() == [1, -1]
    assert lib.multiply(words, np.array([2, 1])).tolist() == ["abab", "c"]
    assert lib.equal(words, ["ab", "x"]).tolist() == [True, False]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        lib.nothing


def test_text_functions_write_into_out():
    out = np.zeros(2, dtype=bool)
    assert np.strings.isalpha(numpy.array(["ab", "1"]), out=out) is out
    assert out.tolist() == [True, False]


# -- names around dtypes -----------------------------------------------------------------------------------------------


def test_scalars_of_text_are_numpys():
    assert np.str_ is numpy.str_
    assert np.bytes_ is numpy.bytes_
    assert issubclass(np.str_, np.character)
    assert isinstance(np.bytes_(b"a"), np.flexible)
    assert not issubclass(np.float64, np.flexible)
    assert not isinstance(np.float64(1), np.character)
    for cls in (np.flexible, np.character):
        assert issubclass(cls, np.generic)
        with pytest.raises(TypeError, match="cannot create"):
            cls()


@BOTH
def test_issubdtype_of_text(lib):
    assert lib.issubdtype("U3", lib.character)
    assert lib.issubdtype("S", lib.flexible)
    assert lib.issubdtype(str, lib.generic)
    assert lib.issubdtype("U3", str)
    assert not lib.issubdtype("U3", lib.number)
    assert not lib.issubdtype("f8", lib.flexible)


HELD = [name for name in numpy.dtypes.__all__ if hasattr(numpy.dtypes, name)]


@pytest.mark.parametrize("name", HELD)
def test_classes_of_dtypes(name):
    theirs = getattr(numpy.dtypes, name)
    try:
        held = theirs().kind in "biufc" and theirs().char not in "gG"
    except TypeError:
        held = False
    if not held:
        assert getattr(np.dtypes, name) is theirs
        return
    ours = getattr(np.dtypes, name)
    made = ours()
    assert made is np.dtype(theirs().name)
    assert ours.type is made.type
    assert str(inspect.signature(ours)) == "()"
    assert isinstance(made, ours)
    assert isinstance(made, np.dtype)
    assert type(made) is ours
    assert issubclass(ours, np.dtype)
    assert np.dtype(ours) is made
    assert np.zeros(1, dtype=ours).dtype is made
    assert pickle.loads(pickle.dumps(made)) is made
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert copy.deepcopy(made) is made
    if not name.startswith(("Long", "ULong")):
        assert ours.__name__ == theirs.__name__
    with pytest.raises(TypeError, match="no-argument"):
        ours(1)


def test_a_dtype_cannot_be_changed():
    dtype = np.dtype("f8")
    for name in ("name", "kind", "itemsize", "type", "base", "metadata"):
        with pytest.raises(AttributeError, match="not writable"):
            setattr(dtype, name, 3)
        with pytest.raises(AttributeError, match="not writable"):
            delattr(dtype, name)
    with pytest.raises(ValueError, match="no fields"):
        dtype.names = ("a",)
    assert dtype.name == "float64"


@BOTH
def test_dtypes_named_otherwise(lib):
    class Attribute:
        dtype = lib.dtype("f4")

    class Protocol:
        __numpy_dtype__ = lib.dtype("i2")

    class Text:
        dtype = "f8"

    named = {
        ctypes.c_int: "i4", ctypes.c_size_t: "u8", ctypes.c_bool: "?", ctypes.c_void_p: "u8", ctypes.c_float: "f4",
        b"f": "f4", b"int32": "i4", b"<f8": "f8", b"\x00": "?", b"\x0c": "f8", b"\x17": "f2",
    }  # fmt: skip
    for obj, name in named.items():
        assert lib.dtype(obj) == lib.dtype(name), obj
    for obj in (Attribute, Attribute()):
        assert lib.dtype(obj) == lib.float32
        assert lib.zeros(1, dtype=obj).dtype == lib.float32
    for obj in (Protocol, Protocol()):
        assert lib.dtype(obj) == lib.int16
    with pytest.raises(ValueError, match=r"via `\.dtype` value 'f8'"):
        lib.dtype(Text())
    for obj in (b"\xff", b"", b"\x1e", "int0", lib.ones(2)):
        with pytest.raises(TypeError):
            lib.dtype(obj)


@pytest.mark.filterwarnings("ignore:A builtin ctypes object")
def test_types_of_ctypes_that_torch_cannot_hold():
    for obj in (ctypes.c_char, ctypes.py_object, ctypes.c_longdouble, ctypes.c_int * 3, ctypes.c_ushort.__ctype_be__):
        assert isinstance(np.dtype(obj), numpy.dtype)
        assert np.dtype(obj) == numpy.dtype(obj)


@BOTH
def test_subscripts_of_types(lib):
    for cls, most in ((lib.dtype, 1), (lib.ndarray, 2), (lib.number, 1), (lib.complexfloating, 2)):
        assert cls[(int,) * most].__origin__ is cls
        for count in (0, most + 1):
            with pytest.raises(TypeError, match="arguments for"):
                cls[(int,) * count]
    with pytest.raises(TypeError, match="no type variables left"):
        lib.float64[int]


@BOTH
def test_options_of_a_dtype(lib):
    with pytest.raises(TypeError, match="must be dict, not int"):
        lib.dtype("f8", metadata=1)
    with pytest.raises(TypeError, match=r"invalid keyword|unexpected keyword"):
        lib.dtype("f8", nothing=1)
    assert [str(p.kind) for p in inspect.signature(lib.dtype).parameters.values()][-1] == "VAR_KEYWORD"


def test_names_for_annotations():
    assert np.typing.__all__ == numpy.typing.__all__
    assert np.typing.NDArray[np.float64].__origin__ is np.ndarray
    assert np.typing.NDArray[np.float64].__args__[1].__args__ == (np.float64,)
    for name in ("ArrayLike", "DTypeLike"):
        assert str(getattr(np.typing, name))

    def function(x: np.typing.ArrayLike, dtype: np.typing.DTypeLike = None) -> np.typing.NDArray[np.generic]:
        return np.asarray(x, dtype)

    assert function([1]).tolist() == [1]
    with pytest.raises(TypeError, match="final"):
        type("Bits", (np.typing.NBitBase,), {})


@pytest.mark.parametrize("name", numpy.exceptions.__all__)
def test_exceptions_are_numpys_own(name):
    assert getattr(np.exceptions, name) is getattr(numpy.exceptions, name)
    assert name in np.exceptions.__all__


def test_what_functions_of_numpy_raise_is_caught_under_npdecs_names():
    assert np.linalg.LinAlgError is numpy.linalg.LinAlgError
    with pytest.warns(np.exceptions.VisibleDeprecationWarning, match="encoding"):
        np.genfromtxt(["a 1"], dtype=None, encoding="bytes")
    with pytest.raises(numpy.exceptions.AxisError):
        np.zeros(3).sum(axis=1)
