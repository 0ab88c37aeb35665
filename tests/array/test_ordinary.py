"""Reading and writing by all ordinary keys, in all dtypes, and in place: as NumPy, and whole or not at all."""

import itertools
import math
import operator

import numpy
import pytest

import npdec
from tiers import turns

DTYPES = ("float64", "float32", "float16", "int64", "int8", "uint8", "uint32", "uint64", "bool", "complex128")
KEYS = {
    "slice": lambda a: slice(1, 3),
    "all": lambda a: slice(None),
    "dots": lambda a: Ellipsis,
    "new axis": lambda a: None,
    "row": lambda a: 1,
    "far": lambda a: 9,
    "element": lambda a: (1, 2),
    "part of a row": lambda a: (1, slice(None, 2)),
    "column": lambda a: (slice(None), -1),
    "column by dots": lambda a: (..., 0),
    "steps": lambda a: (slice(None, None, 2), slice(1, None, 2)),
    "backwards": lambda a: slice(None, None, -1),
    "indices": lambda a: a([2, 0]),
    "indices from the back": lambda a: a([-1, 0]),
    "one twice": lambda a: a([1, 2, 1]),
    "one twice, counted from both ends": lambda a: a([1, -3]),
    "out of bounds": lambda a: a([0, 4]),
    "list": lambda a: [0, 2],
    "no indices": lambda a: a([], "int64"),
    "indices in a square": lambda a: a([[0, 1], [2, 0]]),
    "small indices": lambda a: a([0, 2], "uint8"),
    "pairs": lambda a: (a([0, 1, 3]), a([2, 0, 1])),
    "pairs with one twice": lambda a: (a([0, 0]), a([2, 2])),
    "pairs out of bounds": lambda a: (a([0, 1]), a([2, 5])),
    "pairs that do not fit": lambda a: (a([0, 1]), a([2, 0, 1])),
    "indices behind a slice": lambda a: (slice(1, 3), a([2, 0])),
    "indices behind an int": lambda a: (1, a([2, 0])),
    "indices before a new axis": lambda a: (a([2, 0]), None),
    "mask": lambda a: a([[True, False, True], [False] * 3, [True] * 3, [False] * 3], "bool"),
    "mask of rows": lambda a: a([True, False, True, False], "bool"),
    "mask that does not fit": lambda a: a([True, False], "bool"),
    "too many": lambda a: (0, 0, 0),
    "indices between dots and a new axis": lambda a: (..., a([2, 0]), None),
    "indices between a new axis and dots": lambda a: (None, a([2, 0]), ...),
    "dots between new axes and indices": lambda a: (None, ..., None, a([2, 0])),
    "too many behind indices": lambda a: (slice(None), a([0, 1]), slice(None)),
    "too many indices behind a slice": lambda a: (slice(None), a([0, 1]), a([0, 1])),
    "too many beside dots": lambda a: (a([0, 1]), ..., slice(None), slice(None)),
    "list with one twice": lambda a: [2, 0, 2],
    "list out of bounds": lambda a: [0, 4],
    "list of booleans": lambda a: [True, False, False, True],
    "list of too many booleans": lambda a: [True, False, False, True, True],
    "list of numbers and booleans": lambda a: [0, True],
    "empty list": lambda a: [],
    "pairs in lists": lambda a: ([0, 1, 3], [2, 0, 1]),
    "pairs in lists, counted from both ends": lambda a: ([0, -4], [2, -1]),
    "pairs of a list and an array": lambda a: ([-1, 0], a([2, 0])),
    "one of pairs": lambda a: ([1, 3], [2]),
    "list behind a slice": lambda a: (slice(None), [2, 0]),
    "list behind dots": lambda a: (..., [2, 0]),
    "list before dots": lambda a: ([3, 0], ...),
    "list behind a new axis": lambda a: (None, [2, 0]),
    "mask behind an int": lambda a: (1, a([True, False, True], "bool")),
    "mask behind dots": lambda a: (..., a([True, False, True], "bool")),
    "mask behind dots and a new axis": lambda a: (..., None, a([True, False, True], "bool")),
    "mask behind a slice": lambda a: (slice(1, 3), a([True, False, True], "bool")),
    "mask of rows, and a column": lambda a: (a([True, False, True, False], "bool"), 1),
    "mask of rows, and of columns": lambda a: (a([True, False, True, False], "bool"), a([True, False, True], "bool")),
    "mask of nothing behind an int": lambda a: (1, a([False, False, False], "bool")),
    "mask that does not fit behind an int": lambda a: (1, a([True, False], "bool")),
    "mask behind dots and too much": lambda a: (0, ..., 0, a([True, False, True], "bool")),
    "square of indices, and a column": lambda a: (a([[0, 1], [2, 3]]), 1),
    "many": lambda a: a([0, 1, 2, 3] * 100),
    "many out of bounds": lambda a: a([0, 1, 2, 4] * 100),
}
VALUES = {
    "float": lambda a: 1.5,
    "int": lambda a: 7,
    "negative": lambda a: -1,
    "large": lambda a: 2**40,
    "bool": lambda a: True,
    "number": lambda a: a(3),
    "two": lambda a: a([5, 6]),
    "row": lambda a: a([1, 0, 1]),
    "rows": lambda a: a([[4, 5, 6]] * 4),
    "one more axis": lambda a: a([[4, 5, 6]]),
    "no row": lambda a: a([1, 2, 3, 4, 5]),
    "list": lambda a: [1.5, 2, 0],
    "list of ints": lambda a: [5, 6],
    "list of booleans": lambda a: [True, False, True],
    "rows in a list": lambda a: [[4, 5, 6]] * 2,
    "ragged list": lambda a: [[4, 5], 6],
    "list of a large number": lambda a: [2**40],
}
AROUND = {"+": operator.iadd, "*": operator.imul, "&": operator.iand, "/": operator.itruediv, "<<": operator.ilshift}


def _made(lib, dtype):
    return lib.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]], dtype=dtype)


def _result(lib, step):
    """What a step gives, or that it is refused."""
    try:
        with numpy.errstate(all="ignore"):
            made = step(lib)
    except (IndexError, ValueError, TypeError, OverflowError):
        return "refused"  # where two things are wrong, either is said
    return _described(made)


def _described(array):
    made = numpy.asarray(array)
    return made.dtype, made.shape, repr(made.tolist())


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_key_reads(dtype):
    for name, key in KEYS.items():
        found = [_result(lib, lambda lib, key=key: _made(lib, dtype)[key(lib.array)]) for lib in (npdec, numpy)]
        assert found[0] == found[1], name


@pytest.mark.filterwarnings("ignore::npdec.exceptions.ComplexWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_key_writes(dtype):
    pairs = turns(itertools.product(KEYS, VALUES), DTYPES.index(dtype), len(DTYPES))
    for name, value in pairs:
        outcomes = []
        for lib in (npdec, numpy):
            array = _made(lib, dtype)

            def made(data, kind=None, lib=lib, value=value):
                return lib.array(data, dtype=kind or (None if value == "number" else dtype))

            def step(lib, array=array, made=made, name=name, value=value):
                array[KEYS[name](lib.array)] = VALUES[value](made)
                return array

            outcomes.append((_result(lib, step), _described(array)))
        assert outcomes[0] == outcomes[1], (name, value)


@pytest.mark.parametrize("key", [[True, False, True], ([True, False, True],), [2, 0], ([2, 0],)])
def test_a_mask_takes_no_axis_more_than_a_vector_has(key):
    outcomes = []
    for lib in (npdec, numpy):
        array = lib.array([1.0, 2.0, 3.0])
        found = []
        for value in ([[4.0, 5.0]], lib.array([[6.0, 7.0]]), lib.array([[[8.0]]]), [9.0, 0.0]):

            def step(lib, array=array, value=value):
                array[key] = value
                return array

            found.append((_result(lib, step), _described(array)))
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_in_place(dtype):
    for sign, value in itertools.product(AROUND, VALUES):
        outcomes = []
        for lib in (npdec, numpy):
            array = _made(lib, dtype)
            view = array[1:]

            def step(lib, array=array, value=value, sign=sign):
                return AROUND[sign](array, VALUES[value](lambda data: lib.array(data, dtype=dtype)))

            outcomes.append((_result(lib, step), _described(view)))
        assert outcomes[0] == outcomes[1], (sign, value)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_memory_that_overlaps(dtype):
    steps = {
        "forward": lambda x: operator.setitem(x, slice(1, None), x[:-1]),
        "back": lambda x: operator.setitem(x, slice(None, -1), x[1:]),
        "by index": lambda x: operator.setitem(x, slice(None), x[::-1]),
        "in place": lambda x: operator.iadd(x[1:], x[:-1]),
        "itself": lambda x: operator.iadd(x, x),
        "transposed": lambda x: operator.iadd(x[:3], x[:3].T),
        "through a view": lambda x: operator.setitem(x, 1, operator.iadd(x[1], x[0])),
        "reversed": lambda x: operator.setitem(x[::-1], slice(0, 2), x[2:]),
    }
    for name, step in steps.items():
        ours, theirs = _made(npdec, dtype), _made(numpy, dtype)
        step(ours), step(theirs)
        assert numpy.asarray(ours).tolist() == theirs.tolist(), name


def test_an_index_that_is_written():
    for write in (lambda n: operator.setitem(n, n, 0), lambda n: operator.setitem(n, n[:2], n[1:])):
        ours, theirs = npdec.array([2, 0, 1]), numpy.array([2, 0, 1])
        write(ours), write(theirs)
        assert ours.tolist() == theirs.tolist()


def test_what_may_not_be_written_is_not():
    x = npdec.zeros(3)
    x.setflags(write=False)
    for write in (lambda: operator.setitem(x, 0, 1.0), lambda: operator.setitem(x, slice(None), 1.0)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    with pytest.raises(ValueError, match="read-only"):
        x += 1.0
    assert x.tolist() == [0.0, 0.0, 0.0]
    x.setflags(write=True)
    x += 1.0
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("size", [1, 50, 200_000])
def test_of_several_values_for_an_element_the_last_stays(size):
    draw = numpy.random.default_rng(size)
    at, values = draw.integers(-100, 100, size), draw.normal(size=size)
    for dtype in ("float64", "uint16"):
        ours, theirs = npdec.zeros(100, dtype), numpy.zeros(100, dtype)
        given = (100 * abs(values)).astype(dtype)
        ours[npdec.array(at)] = npdec.array(given)
        theirs[at] = given
        assert ours.tolist() == theirs.tolist()
        assert ours[npdec.array(at)].tolist() == theirs[at].tolist()
        assert npdec.take(ours, npdec.array(at)).tolist() == theirs[at].tolist()


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_or"])
def test_running_results_and_those_of_slices(name, dtype):
    numbers = [[0.0, -0.0, 3.0, NAN, 2.0, -INF], [-0.0, 0.0, 5.0, 100.0, 7.0, 90.0], [2.0, 1.0, INF, 4.0, NAN, 5.0]]
    for data in (numbers, [row[::-1] for row in numbers], [[2.0, 3.0, 1.0], [5.0, 0.5, 4.0]]):
        with numpy.errstate(all="ignore"):
            theirs = numpy.nan_to_num(numpy.array(data), posinf=9.0, neginf=-9.0).astype(dtype)
            if theirs.dtype.kind == "f":
                theirs = numpy.array(data, dtype)
            ours = npdec.array(theirs)
            for axis in (0, 1):
                want = getattr(numpy, name).accumulate(theirs, axis)
                got = numpy.asarray(getattr(npdec, name).accumulate(ours, axis))
                assert got.dtype == want.dtype
                assert _signs(name, got) == _signs(name, want)
                at = [0, 1, 0] if axis == 0 else [1, 0, 2, 2, 1, 0]
                want = getattr(numpy, name).reduceat(theirs, at, axis)
                got = numpy.asarray(getattr(npdec, name).reduceat(ours, at, axis))
                assert _signs(name, got) == _signs(name, want)


def _signs(name, numbers):
    """The numbers, with the signs of zeros but where two zeros are compared, of which either is the greater one."""
    return repr((numbers + 0.0 if name in ("maximum", "minimum") else numbers).tolist())


def test_operands_over_the_memory_that_is_written_are_read_before():
    for dtype in ("float64", "int64", "complex128"):
        x = numpy.arange(1, 10).reshape(3, 3).astype(dtype)
        for write in (
            lambda lib, a: lib.add(a.T, a, out=a.T),
            lambda lib, a: lib.multiply(a, a.T, out=a),
            lambda lib, a: a.T.__iadd__(a),
            lambda lib, a: a[1:].__imul__(a[:-1]),
            lambda lib, a: a[::2].__isub__(a[0]),
            lambda lib, a: a[:, ::-1].__iadd__(a),
            lambda lib, a: a.__imul__(a),
        ):
            theirs, ours = x.copy(), npdec.array(x)
            write(numpy, theirs)
            write(npdec, ours)
            assert numpy.array_equal(ours.to_numpy(), theirs)


# -- layouts -----------------------------------------------------------------------------------------------------------

LAYOUTS = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.T,
    "every other": lambda x: x[:, ::2],
    "axes exchanged": lambda x: x.transpose(1, 0, 2),
}
ROWS, SQUARE = [1, 0, 2], [[0, 1], [2, 1]]
ARRAY_KEYS = {
    "rows": lambda a: a(ROWS),
    "square": lambda a: a(SQUARE),
    "columns": lambda a: (slice(None), a([1, 0, 1])),
    "listed columns": lambda a: (slice(None), [1, 0]),
    "columns in a square": lambda a: (slice(None), a([[0, 1], [1, 1]])),
    "last axis": lambda a: (slice(None), slice(None), a([1, 0, -1])),
    "last axis by dots": lambda a: (..., a([1, 0])),
    "dots behind": lambda a: (slice(1, None), a([1, 0]), ...),
    "between slices": lambda a: (slice(1, None), a([1, 0, 1]), slice(None, None, 2)),
    "pairs": lambda a: (a([1, 0]), a([0, 1])),
    "pairs behind a slice": lambda a: (slice(None), a([1, 0]), a([0, 1])),
    "rows and a slice": lambda a: (a(ROWS), slice(1, 3)),
    "behind an int": lambda a: (0, a([1, 0])),
    "behind a slice and an int": lambda a: (slice(None), 0, a([1, 0])),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ARRAY_KEYS)
def test_what_arrays_choose_lies_in_memory_as_numpys(name, layout):
    x = numpy.arange(60.0).reshape(3, 4, 5)
    key = ARRAY_KEYS[name]
    expected = LAYOUTS[layout](x)[key(numpy.array)]
    found = LAYOUTS[layout](npdec.array(x))[key(npdec.array)]
    numpy.testing.assert_array_equal(found.tensor.numpy(), expected)
    assert found.strides == expected.strides


_ITEMS = [
    slice(None), slice(None, None, 2), slice(1, None), slice(None, None, -1), None, Ellipsis, 0, 1, True, [], [0, 1],
    [-1, 0, 1], [[0], [1]], [True, False], ("array", [0, 1]), ("array", [[0, 1], [1, 0]]), ("array", [True, False]),
    ("array", [[True, False, True], [False, True, True]]),
]  # fmt: skip


@pytest.mark.parametrize("seed", turns(range(8), 0, 4))
def test_drawn_keys(seed):
    numbers = numpy.random.default_rng(seed)

    def outcome(f):
        try:
            return f()
        except Exception as error:
            return type(error)

    def written(array, key, value):
        array[key] = value
        return array.tolist()

    for _ in range(400):
        shape = [(), (3,), (2,), (2, 3), (2, 2, 3), (3, 2, 2, 2), (0, 2)][numbers.integers(0, 7)]
        drawn = [_ITEMS[i] for i in numbers.integers(0, len(_ITEMS), numbers.integers(1, len(shape) + 3))]
        keys = [tuple(m.array(i[1]) if type(i) is tuple else i for i in drawn) for m in (numpy, npdec)]
        given = numpy.arange(float(math.prod(shape))).reshape(shape)
        arrays = given, npdec.reshape(npdec.arange(float(math.prod(shape))), shape)
        if numbers.integers(0, 2):
            arrays = given.T, arrays[1].T
        theirs, ours = (outcome(lambda x=x, k=k: x[k].tolist()) for x, k in zip(arrays, keys, strict=True))
        assert ours == theirs, (shape, drawn)
        if given.size:
            x = npdec.decompose(arrays[1] * 1)
            made = outcome(lambda x=x, k=keys[1]: x[k].value.tolist())
            assert made == theirs, (shape, drawn)
        region = outcome(lambda x=arrays[0], k=keys[0]: x[k].shape)
        region = region if type(region) is tuple else ()
        sizes = [region, region[1:], (1, *region), (), tuple(1 if numbers.integers(0, 3) == 0 else n for n in region)]
        value = numbers.integers(0, 9, sizes[numbers.integers(0, 5)])
        values = (value, npdec.array(value.tolist(), dtype=int).reshape(value.shape))
        if numbers.integers(0, 2):
            values = (value.tolist(),) * 2
        theirs, ours = (
            outcome(lambda x=x, k=k, v=v: written(x, k, v)) for x, k, v in zip(arrays, keys, values, strict=True)
        )
        assert ours == theirs, (shape, drawn, values)


def test_sequences_of_more_axes_than_there_are_to_write():
    for lib in (numpy, npdec):
        x = lib.zeros((2, 3))
        for key, value in (
            (Ellipsis, [[[1, 2, 3]]]), (0, [[1, 2, 3]]), ((slice(None), 0), [[1, 2]]), ((..., 1), ((1, 2),)),
            (slice(1, None), [x, x]), ((None, slice(None)), [[[[1.0]]]]),
        ):  # fmt: skip
            with pytest.raises(ValueError, match="setting an array element with a sequence"):
                x[key] = value
        assert not x.any()
        x[[0]] = [[[1, 2, 3]]]  # beside arrays, sequences are arrays
        x[1:] = lib.ones((1, 1, 3))
        assert x.tolist() == [[1, 2, 3], [1, 1, 1]]
        bits = lib.zeros(2, dtype=bool)
        bits[0] = lib.array([5])
        assert bits.tolist() == [True, False]
        with pytest.raises(ValueError, match=r"sequence|truth value"):
            bits[1] = lib.array([1, 2])
