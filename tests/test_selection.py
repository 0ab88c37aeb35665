"""`choose` and `clip` as methods and functions, and what they take for choices, bounds and casting."""

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
    "casting unknown": lambda np: np.can_cast("i4", "f4", casting="f"),
}


def outcome(np, call):
    """What a call gives, with its dtype, or its error."""
    try:
        made = call(np)
    except (TypeError, ValueError, RuntimeError) as error:
        return type(error).__name__, str(error)
    return (made.dtype.name, made.tolist()) if hasattr(made, "dtype") else made


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_outcome_is_numpys(call):
    assert outcome(npdec, call) == outcome(numpy, call)
