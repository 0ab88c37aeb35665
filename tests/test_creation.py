"""`np.array` and what it asks of the objects that it is given: copies, protocols, depth."""

import numpy
import pytest

import npdec

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
