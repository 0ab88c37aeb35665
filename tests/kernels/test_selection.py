"""Selecting and sorting: `choose`, `clip`, `extract`, `compress`, `trim_zeros`, and what they take for choices, bounds,
casting and kinds."""

import numpy
import pytest

import npdec

CALLS = {
    "clip from below": lambda np: np.arange(5).clip(3),
    "clip": lambda np: np.arange(5).clip(1, 3),
    "clip without bounds": lambda np: np.arange(5).clip(),
    "clip with one bound None": lambda np: np.arange(5).clip(min=1, max=None),
    "clip by name": lambda np: np.arange(5).clip(max=2, casting="unsafe"),
    "clip a scalar": lambda np: np.arange(5)[3].clip(1, 2),
    "choose": lambda np: np.array([0, 1]).choose([[1, 2], [3, 4]]),
    "choose one by one": lambda np: np.array([0, 1]).choose([1, 2], [3, 4]),
    "choose by mode": lambda np: np.array([0, 5]).choose([1, 2], [3, 4], mode="wrap"),
    "choose from a number": lambda np: np.array([0, 1]).choose(5),
    "choose from nothing": lambda np: np.array([0, 1]).choose(),
    "choose from no choices": lambda np: np.choose([0], ()),
    "choose from 63": lambda np: np.choose([0, 1], [1] * 63),
    "choose from 64": lambda np: np.choose([0, 1], [1] * 64),
    "choose an integer that wraps": lambda np: np.choose([0, 1], (1000, np.array([1], dtype=np.uint8))),
    "choose a float": lambda np: np.choose([0, 1], (300.0, np.float32(1))),
    "choose numbers": lambda np: np.choose([0, 1], (True, 2.5)),
    "choose one": lambda np: np.choose(0, (1, 2)),
    "choose among 33 axes": lambda np: np.ones((1,) * 33, dtype=int).choose([1, 2]),
    "choose among 32 axes": lambda np: np.ones((1,) * 32, dtype=int).choose([1, 2]).ravel(),
    "casting None": lambda np: np.can_cast("i4", "f4", casting=None),
    "casting None of a ufunc": lambda np: np.add(1, 2, casting=None),
    "casting None of clip": lambda np: np.clip(np.arange(3), 0, 1, np.arange(3), casting=None),
    "no casting of two booleans": lambda np: np.less(True, False, casting="no"),
    "no casting of a number": lambda np: np.less(np.array([1, 2], dtype=np.int8), 300, casting="no"),
    "running sums along one axis": lambda np: np.cumulative_sum(np.ones((2, 2)), axis=(0,)),
    "running products along one axis": lambda np: np.cumulative_prod(np.full((2, 2), 2.0), axis=(-1,)),
    "running sums along two axes": lambda np: np.cumulative_sum(np.ones((2, 2)), axis=(0, 1)),
    "running sums along none": lambda np: np.cumulative_sum(np.ones(2), axis=()),
    "casting unknown": lambda np: np.can_cast("i4", "f4", casting="f"),
    "extract from nothing": lambda np: np.extract([True], np.array([])),
    "extract nothing": lambda np: np.extract([False, False], np.array([])),
    "extract beyond": lambda np: np.extract([False, True, True], np.array([1, 2])),
    "compress nothing": lambda np: np.compress([True], np.array([])),
    "compress nothing along an axis": lambda np: np.compress([False, True], np.ones((2, 0)), 1),
    "trim a list": lambda np: np.trim_zeros([0, 1, 0, 2, 0]),
    "trim the front of a tuple": lambda np: np.trim_zeros((0.0, 1.0, 0.0), "f"),
    "trim a range": lambda np: np.trim_zeros(range(3)),
    "trim a list of zeros": lambda np: np.trim_zeros([0, 0], "b"),
    "trim a list of lists": lambda np: np.trim_zeros([[0, 1]]),
    "trim a number": lambda np: np.trim_zeros(0),
    "trim an array": lambda np: np.trim_zeros(np.array([[0, 0, 0], [0, 1, 0]])),
    "trim an array along an axis": lambda np: np.trim_zeros(np.array([[0, 0, 0], [0, 1, 0]]), axis=1),
    **{
        f"{name} by {kind!r}": lambda np, name=name, kind=kind: getattr(np, name)(
            np.array([2.0, 1.0, 3.0]), *[1] * ("partition" in name), kind=kind
        )
        for name in ("sort", "argsort", "partition", "argpartition")
        for kind in ("quick", "Q", "stab", b"heapsort", "timsort", "", "introselect", b"introselect", "i", 1, 2.5)
    },
    "the square of booleans": lambda np: np.array([True, False]) ** 2,
    "the square of a boolean array without axes": lambda np: np.array(True) ** 2,
    "the square of a boolean": lambda np: np.bool_(True) ** 2,
    "booleans to the power of an array": lambda np: np.array([True, False]) ** np.int64(2),
    "booleans to a float": lambda np: np.array([True, False]) ** 2.0,
    "the power of booleans": lambda np: np.power(np.array([True, False]), 2),
    "shapes of arrays": lambda np: np.broadcast_shapes(np.array(3), np.array([2, 1]), np.int64(1)),
    "the shape of a float": lambda np: np.broadcast_shapes(2.0),
    "the shape of an array of a float": lambda np: np.broadcast_shapes(np.array(3.0)),
    "fix into more": lambda np: np.fix(np.array([1.5, -1.5]), out=np.zeros((3, 2))),
    "nanmedian into more": lambda np: np.nanmedian(np.array([1.5, np.nan]), out=np.zeros((3, 2), dtype=int)),
    "nanmedian of columns into more": lambda np: np.nanmedian(np.eye(2), axis=0, out=np.zeros((3, 2))),
}


def outcome(np, call):
    """What a call gives, with its dtype, or its error."""
    try:
        made = call(np)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        return type(error).__name__, str(error)
    return (made.dtype.name, made.tolist()) if hasattr(made, "dtype") else made


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_outcome_is_numpys(call):
    assert outcome(npdec, call) == outcome(numpy, call)


@pytest.mark.parametrize("casting", ["no", "equiv"])
def test_a_boolean_beside_others_is_cast(casting):
    """It is no number that takes the dtype of the other."""
    for np in (numpy, npdec):
        for function in (np.less, np.add):
            for operands in ((np.array([1, 2]), True), (True, np.array([1.0])), (True, 2)):
                with pytest.raises(TypeError, match=r"Cannot cast ufunc .* from dtype\('bool'\)"):
                    function(*operands, casting=casting)
