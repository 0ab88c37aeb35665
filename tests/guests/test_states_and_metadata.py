"""What holds for guests as well: the state of floating-point errors, metadata, objects that hold each other."""

import io
import warnings

import numpy
import pytest

import npdec

BOTH = pytest.mark.parametrize("lib", [numpy, npdec], ids=["numpy", "npdec"])
CODES = "?bBhHiIlLqQefdFD"


@BOTH
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("divide", "lib.longdouble(1) / 0"),
        ("over", "lib.finfo(lib.longdouble).max * lib.longdouble(2)"),
        ("invalid", "lib.longdouble(0) / lib.longdouble(0)"),
        ("divide", "lib.timedelta64(5, 's') // lib.timedelta64(0, 's')"),
        ("divide", "lib.ones(2, lib.longdouble) / 0"),
    ],
)
def test_errstate_holds_for_numbers_that_numpy_computes(lib, kind, code):
    with lib.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError):
        eval(code)
    with warnings.catch_warnings(), lib.errstate(**{kind: "ignore"}):
        warnings.simplefilter("error")
        eval(code)
    told = []
    with lib.errstate(**{kind: "call"}, call=lambda word, flag: told.append(word)):
        eval(code)
    assert told


def test_errstate_leaves_numpys_state_as_it_was():
    before = numpy.geterr()
    with npdec.errstate(all="raise", under="ignore"):
        assert numpy.geterr() == {"divide": "raise", "over": "raise", "under": "ignore", "invalid": "raise"}
        with npdec.errstate(over="ignore"):
            assert numpy.geterr() == numpy.geterr() | {"over": "ignore", "divide": "raise"}
    assert numpy.geterr() == before
    with pytest.raises(ValueError, match="no such mode"), npdec.errstate(all="no such mode"):
        pass
    assert numpy.geterr() == before


@BOTH
def test_metadata_make_another_dtype(lib):
    for code in CODES:
        lib.zeros(2, code), lib.dtype(lib.zeros(2, code).dtype)  # which equal the dtypes below, and are met before
        dtype = lib.dtype(code, metadata={"unit": "m"})
        assert dtype == lib.dtype(code)
        assert lib.promote_types(dtype, dtype).metadata == {"unit": "m"}
        x = lib.ones(3, dtype)
        assert x.dtype.metadata == {"unit": "m"}
        assert (x + x).dtype == lib.dtype(code)
        dropped = lib.lib.format.drop_metadata(dtype)
        assert dropped.metadata is None
        assert dropped == lib.dtype(code)
        assert lib.lib.format.drop_metadata(dropped) is dropped
        file = io.BytesIO()
        with pytest.warns(UserWarning, match="metadata"):
            lib.save(file, x)
        file.seek(0)
        assert type(lib.load(file)) is lib.ndarray


@BOTH
def test_objects_that_hold_each_other_are_shown(lib):
    x = lib.array([None, 1])
    x[0] = x
    assert repr(x) == "array([array(..., dtype=object), 1], dtype=object)"
    assert str(x) == "[array(..., dtype=object) 1]"
    y, z = lib.array(None), lib.array(None)
    y[()], z[()] = z, y
    assert repr(y) == "array(array(array(..., dtype=object), dtype=object), dtype=object)"
    x[0] = y[()] = 0
    assert repr(x) == "array([0, 1], dtype=object)"


@BOTH
def test_a_number_that_no_dtype_holds_is_an_object(lib):
    for made in (lib.full((2, 3), 10**30), lib.full(2, -(10**30)), lib.full(2, 2**64)):
        assert made.dtype == object
    assert lib.full(2, 2**63).dtype == lib.uint64
    assert lib.negative(2**70) == -(2**70)
    assert lib.bitwise_count(-(2**70) + 1) == 70
    assert type(lib.negative(3)) is lib.int64


@BOTH
def test_a_calendar_is_given_once(lib):
    calendar = lib.busdaycalendar("1111100")
    assert lib.busday_offset("2024-03-01", 1, busdaycal=calendar) == lib.datetime64("2024-03-04")
    with pytest.raises(ValueError, match="weekmask"):
        lib.busday_offset("2024-03-01", 1, weekmask="1111100", busdaycal=calendar)
