"""`np.array` and what it asks of the objects that it is given: copies, protocols, depth; what arrays tell in turn."""

import ctypes
import sys

import numpy
import pytest

import npdec
from npdec._dtypes.spelling import as_dtype

COPIES = {
    "True": True,
    "None": None,
    "False": False,
    "always": numpy._CopyMode.ALWAYS,
    "if needed": numpy._CopyMode.IF_NEEDED,
    "never": numpy._CopyMode.NEVER,
    "text": "always",
    "list": [],
    "two": [1, 2],
}


@pytest.fixture(params=[numpy, npdec], ids=lambda lib: lib.__name__)
def lib(request):
    return request.param


def outcome(call):
    """What a call gives, or the first line of its error."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]


class Own:
    """Objects that give an array which they keep, and note how they were asked."""

    def __init__(self, array):
        self.kept, self.asked = array, []

    def __array__(self, dtype=None, copy=None):
        self.asked.append(copy)
        return self.kept


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_copy_is_made_as_numpy_makes_it(copy):
    def shared(lib, source, dtype=None, order="K"):
        return outcome(lambda: bool(lib.shares_memory(source, lib.array(source, dtype, copy=copy, order=order))))

    for arguments in ((), ("f4",), (None, "F")):
        assert shared(npdec, npdec.ones((2, 3)), *arguments) == shared(numpy, numpy.ones((2, 3)), *arguments)
    for number in (2.5, [1, 2], numpy.int64(3)):
        ours = npdec.int64(3) if isinstance(number, numpy.generic) else number
        expected = outcome(lambda number=number: numpy.array(number, copy=copy).tolist())
        assert outcome(lambda ours=ours: npdec.array(ours, copy=copy).tolist()) == expected


@pytest.mark.parametrize("copy", [True, None, False])
def test_an_object_is_trusted_with_the_copy(lib, copy):
    given = Own(lib.arange(3))
    made = lib.array(given, copy=copy)
    assert made is given.kept
    assert given.asked == [copy]
    given = Own(lib.arange(3))
    assert lib.asarray(given) is given.kept
    assert given.asked == [None]
    given = Own(lib.arange(3))
    made = lib.array([given], copy=True)
    assert given.asked == [None]
    assert not lib.shares_memory(made, given.kept)


def test_an_object_that_takes_no_copy_is_copied(lib):
    class Old:
        def __array__(self, dtype=None):
            return kept

    kept = lib.arange(3)
    assert lib.array(Old(), copy=None) is kept
    with pytest.warns(DeprecationWarning, match="copy"):
        assert not lib.shares_memory(lib.array(Old(), copy=True), kept)
    with pytest.warns(DeprecationWarning, match="copy"), pytest.raises(ValueError, match="Unable to avoid copy"):
        lib.array(Old(), copy=False)


@pytest.mark.parametrize("copy", [True, None, False])
def test_who_tells_where_its_memory_lies_is_the_base(lib, copy):
    class Interface:
        __array_interface__ = numpy.arange(3).__array_interface__

    given = Interface()
    made = lib.array(given, copy=copy)
    assert made.base is (None if copy else given)
    assert made.flags.owndata is bool(copy)
    assert lib.asarray(given).base is given


def test_a_buffer_is_copied(lib):
    memory = bytearray(b"abc")
    lib.array(memory)[0] = 0
    assert memory == b"abc"
    lib.asarray(memory)[0] = 0
    assert memory == b"\0bc"


DEPTHS = {
    "equal": ([[1, 2], [3, 4]], 2),
    "greater": ([[1, 2], [3, 4]], 3),
    "less": ([[[1], [2]], [[3], [4]]], 2),
    "negative": ([1], -1),
    "beyond": ([1], 65),
    "number": (1, 0),
}


@pytest.mark.parametrize(("nested", "most"), DEPTHS.values(), ids=DEPTHS)
def test_the_depth_is_limited(nested, most):
    expected, got = (outcome(lambda lib=lib: lib.array(nested, ndmax=most).shape) for lib in (numpy, npdec))
    assert got == expected


def test_the_least_depth_is_at_most_the_greatest(lib):
    with pytest.raises(ValueError, match=r"ndmin must be <= ndmax \(1\)"):
        lib.array([[1]], ndmin=2, ndmax=1)
    with pytest.raises(ValueError, match=r"ndmin must be <= ndmax \(64\)"):
        lib.array([[1]], ndmin=65)
    nested = 1.5
    for _ in range(65):
        nested = [nested]
    with pytest.raises(ValueError, match="would exceed the maximum number of dimension of 64"):
        lib.array(nested)
    with pytest.raises(ValueError, match="would exceed the maximum number of dimension of 64"):
        lib.array([lib.zeros((1,) * 64)] * 2)


CALLS = {
    "an endless step": lambda np: np.arange(0, 1, np.inf).tolist(),
    "an endless step away": lambda np: np.arange(0, 1, -np.inf).tolist(),
    "a step far beyond": lambda np: np.arange(0, 1e-300, 1e300).tolist(),
    "an endless step of nothing": lambda np: np.arange(1, 1, np.inf).tolist(),
    "an axis beyond 64 bits": lambda np: np.zeros(2**64),
    "more bytes than 64 bits": lambda np: np.zeros((2**40, 2**40)),
    "no mode": lambda np: np.convolve([1, 2], [1], mode=None),
    "a mode by number": lambda np: np.convolve([1, 2], [1, 3], mode=2).tolist(),
    "no such number": lambda np: np.convolve([1, 2], [1], mode=-1),
    "no such mode": lambda np: np.correlate([1, 2], [1], mode="f"),
    "another stream": lambda np: np.arange(2).to_device("cpu", stream=1),
    "a version of the API": lambda np: np.arange(2).__array_namespace__(api_version="2024.12") is np,
    "no version of the API": lambda np: np.arange(2).__array_namespace__(api_version="2025.12"),
    "a number for a version": lambda np: np.arange(2).__array_namespace__(api_version=2024),
    "a mode of copies for astype": lambda np: np.arange(2).astype(float, copy=numpy._CopyMode.NEVER),
    "an integer as it is": lambda np: np.copyto(np.arange(3), 3, casting="equiv"),
    "an integer into less": lambda np: np.copyto(np.arange(3, dtype="u1"), 3, casting="safe"),
    "an integer into another dtype": lambda np: np.copyto(np.arange(3, dtype="u1"), 3, casting="equiv"),
    "a float into another dtype": lambda np: np.copyto(np.arange(3, dtype="f4"), 3.0, casting="equiv"),
    "steps along an axis of one": lambda np: np.ndarray((2, 1), "f8", numpy.arange(9.0), 8, (16, 3)).tolist(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_outcome_is_numpys(call):
    assert outcome(lambda: call(npdec)) == outcome(lambda: call(numpy))


def _scalar(key):
    return lambda np: np.asarray(np.float64(1.5)[key]).shape


FORMATS = {
    "a pointer": lambda np: np.array(memoryview(ctypes.pointer(ctypes.c_uint8()))),
    "wide characters": lambda np: np.array((ctypes.c_wchar * 4)()),
    "a scalar among 64 axes": _scalar((None,) * 64),
    "a scalar among 65 axes": _scalar((None,) * 65),
    "a scalar at two ellipses": _scalar((..., ...)),
    "a scalar by truth": _scalar(True),
    "a scalar by a number": _scalar(0),
}


@pytest.mark.parametrize("call", FORMATS.values(), ids=FORMATS)
def test_memory_and_scalars_that_cannot_be_read(call):
    assert outcome(lambda: call(npdec)) == outcome(lambda: call(numpy))


@pytest.mark.filterwarnings("ignore:A builtin ctypes object")
def test_records_in_memory_are_numpys():
    class Record(ctypes.Structure):
        _fields_ = [("a", ctypes.c_uint8), ("b", ctypes.c_uint32)]

    made = npdec.asarray(Record(1, 2))
    assert made.dtype.names == ("a", "b")
    assert made["b"] == 2


CAPSULES = {
    "plain": {},
    "copied": {"copy": True},
    "versioned": {"max_version": (1, 0)},
    "of the host": {"dl_device": (1, 0)},
    "of another device": {"dl_device": (10, 0)},
    "of no device": {"dl_device": 3},
    "of no version": {"max_version": 1},
    "copied by text": {"copy": "no"},
}


@pytest.mark.parametrize("options", CAPSULES.values(), ids=CAPSULES)
@pytest.mark.parametrize("writeable", [True, False])
def test_capsules_of_dlpack(options, writeable):
    def capsule(np):
        x = np.arange(3)
        x.flags.writeable = writeable
        return type(x.__dlpack__(**options)).__name__

    expected, got = outcome(lambda: capsule(numpy)), outcome(lambda: capsule(npdec))
    assert (got[0] if isinstance(got, tuple) else got) == (expected[0] if isinstance(expected, tuple) else expected)


def test_dlpack_never_lets_a_read_only_array_be_written(lib):
    x = lib.arange(3)
    with pytest.raises(RuntimeError, match="stream=None"):
        x.__dlpack__(stream=1)
    x.flags.writeable = False
    assert not lib.from_dlpack(x).flags.writeable
    assert lib.from_dlpack(x, copy=True).flags.writeable
    numpy.from_dlpack(x, copy=True)[0] = 7
    assert x.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="Device not understood"):
        lib.from_dlpack(x, device="gpu")


def test_the_size_of_an_array_counts_its_own_memory(lib):
    x = lib.ones(100)
    assert sys.getsizeof(x) > 800 > sys.getsizeof(x[...])
    assert sys.getsizeof(x) < sys.getsizeof(x.reshape(100, 1, 1).copy())


def test_too_little_memory_is_a_memory_error(lib):
    huge = lib.broadcast_to(lib.array(0, dtype="u1"), 2**62)
    for make in (lambda: lib.empty(2**62, dtype="u1"), lambda: lib.array(huge), lambda: lib.array([huge])):
        with pytest.raises(MemoryError, match="Unable to allocate"):
            make()


def test_text_is_no_dtype_of_torch():
    for spelling in ("c", ">c", "S1"):
        assert isinstance(npdec.dtype(spelling), numpy.dtype)
        assert npdec.dtype(spelling) == numpy.dtype(spelling)
        with pytest.raises(npdec.exceptions.AbsentDTypeError, match=r"no text|no bytes"):
            as_dtype(spelling)


@pytest.mark.parametrize("numbers", [range(10, 1), range(1, 10, -1), range(0), range(5, 5), range(7, 0, -2)], ids=str)
def test_ranges_are_read_as_numpy_reads_them(numbers):
    for make in ("array", "asarray"):
        made = getattr(npdec, make)(numbers)
        assert made.tolist() == numpy.array(numbers).tolist()
        assert str(made.dtype) == str(numpy.array(numbers).dtype)
