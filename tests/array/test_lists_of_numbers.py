"""Lists and tuples of Python numbers, of npdec's scalars and of NumPy's, in any mixture and nesting: NumPy's bits,
dtypes, errors and warnings."""

import random
import warnings

import numpy
import pytest

import npdec as np

_NAMES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
_KINDS = [(who, name) for who in ("own", "numpys") for name in _NAMES]
_KINDS += [("python", name) for name in ("bool", "int", "float", "complex")]
_FLOATS = [0.0, -0.0, 1.5, 1e300, 1e-300, 1e-40, float("nan"), float("inf"), 3.9, 300.7, -1.0, 2.0**24 + 1, 65519.999]
_CONTAINERS = [list, tuple, lambda row: [row], lambda row: [row, tuple(row)], lambda row: (tuple(row),)]


def _number(draw, name):
    if name == "bool":
        return draw.choice([True, False])
    if "int" in name:
        limits = numpy.iinfo("int64" if name == "int" else name)
        return draw.choice([limits.min, limits.max, 0, 1, draw.randint(limits.min, limits.max), draw.randint(0, 100)])
    number = draw.choice([*_FLOATS, draw.gauss(0, 1)])
    return complex(number, draw.choice([0.0, 1.0, number])) if name.startswith("complex") else number


def _drawn(draw):
    """One row for NumPy and for npdec, and a dtype or None."""
    few = draw.sample(_KINDS, draw.choice([1, 2, 2, 3]))
    theirs, ours = [], []
    for who, name in draw.choices(few, k=draw.randint(1, 4)):
        number = _number(draw, name)
        with numpy.errstate(all="ignore"):
            number = number if who == "python" else getattr(numpy, name)(number)
        theirs.append(number)
        ours.append(getattr(np, name)(number.item()) if who == "own" else number)
    dtypes = [None, *_NAMES]
    if any(isinstance(number, (complex, numpy.complexfloating)) for number in theirs):
        dtypes = [None, "bool", "complex64", "complex128"]  # others warn of imaginary parts one by one
    return theirs, ours, draw.choice(dtypes)


def _outcome(module, row, dtype, state):
    with warnings.catch_warnings(record=True) as said, module.errstate(all=state):
        warnings.simplefilter("always")
        try:
            made = module.array(row, dtype=dtype and getattr(module, dtype))
            result = str(made.dtype), made.shape, numpy.asarray(made).tobytes()
        except FloatingPointError as error:
            result = str(error)
        except (OverflowError, ValueError):  # which of two numbers is named first is not compared
            result = "refused"
    return result, sorted({str(warning.message) for warning in said})


@pytest.mark.parametrize("seed", range(4))
def test_a_list_of_numbers_is_numpys(seed):
    draw = random.Random(seed)
    for _ in range(400):
        theirs, ours, dtype = _drawn(draw)
        state, container = draw.choice(["ignore", "warn", "raise"]), draw.choice(_CONTAINERS)
        expected = _outcome(numpy, container(theirs), dtype, state)
        assert _outcome(np, container(ours), dtype, state) == expected, (theirs, dtype, state)


def test_python_numbers_are_rounded_once_to_float16():
    made = np.array([23, 0, 65519.999, 2049.0000001], np.float16)
    assert made.tolist() == [23.0, 0.0, 65504.0, 2050.0]


def test_what_scalars_carry_flows_on_beside_plain_scalars():
    x = np.decompose(np.array([1.0, 2.0]), baseline=np.array([0.5, 1.0]))
    made = np.array([0.0, x[1], np.float64(3.0), np.array([5.0])[0]])
    assert made.tolist() == [0.0, 2.0, 3.0, 5.0]
    assert made.components.sum(0).tolist() == [0.0, 1.0, 0.0, 0.0]
