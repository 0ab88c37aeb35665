"""Every public function with arrays of a program's own class: the results have the class and the attributes that NumPy
gives them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import npdec
from npdec._subclasses.table import UNASKED
from samples import SAMPLES, Sample, find
from subclasses_of import signal_class

NUMPYS, NPDECS = signal_class(numpy), signal_class(npdec)

# What differs, and why: NumPy computes these by ways that are its own.
ELSEWHERE = {
    "histogramdd": "NumPy's edges of bins are computed from the elements",
    "common_type": "a type is no array",
}


def _marked(cls: Any, x: Any, chosen: int, count: list[int]) -> Any:
    """An argument in which one array (or all, for 0) is of the class."""
    if type(x) in (numpy.ndarray, npdec.ndarray):
        count[0] += 1
        if chosen not in (0, count[0]):
            return x
        made = x.view(cls)
        made.info = f"array {count[0]}"
        return made
    if type(x) in (list, tuple):
        return type(x)(_marked(cls, item, chosen, count) for item in x)
    return x


def seen(lib: Any, cls: Any, x: Any) -> Any:
    """What a result is: the class of its arrays with their attribute, scalars as such."""
    if type(x) is cls:
        return "signal", x.info, x.ndim
    if type(x) is lib.ndarray:
        return "plain", x.ndim
    if isinstance(x, lib.generic):
        return "scalar"
    if isinstance(x, (list, tuple)):
        return [seen(lib, cls, item) for item in x]
    return type(x).__name__


def outcome(lib: Any, cls: Any, name: str, sample: Sample, chosen: int) -> Any:
    """What the call gives; None where there is no such array."""
    args, kwargs = sample.build(lib)
    count = [0]
    args = [_marked(cls, x, chosen, count) for x in args]
    kwargs = {key: _marked(cls, x, chosen, count) for key, x in kwargs.items()}
    if count[0] < max(chosen, 1):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = find(lib, name)(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return [seen(lib, cls, made), [seen(lib, cls, x) for x in args] if sample.writes else None]


def _check(name: str, samples: list[Sample], chosen: tuple[int, ...]) -> None:
    for sample in samples:
        for place in chosen:
            wanted = outcome(numpy, NUMPYS, name, sample, place) if hasattr(numpy, name.partition(".")[0]) else None
            if wanted is None or (name == "var" and place == 2):  # a mean of another class than what it is the mean of
                continue
            assert outcome(npdec, NPDECS, name, sample, place) == wanted, (name, sample, place)


NUMPYS_NAMES = [name for name in SAMPLES if name not in ELSEWHERE and hasattr(numpy, name.partition(".")[0])]


def test_samples_of_some_functions() -> None:
    for name in NUMPYS_NAMES[::6]:
        try:
            find(numpy, name)
        except AttributeError:  # npdec's own
            continue
        _check(name, SAMPLES[name][:1], (1,))


@pytest.mark.slow
def test_all_samples_with_each_argument() -> None:
    for name in NUMPYS_NAMES:
        try:
            find(numpy, name)
        except AttributeError:
            continue
        _check(name, SAMPLES[name], (1, 2, 3, 0))


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_what_differs_differs(name: str) -> None:
    places = [(sample, place) for sample in SAMPLES[name] for place in (1, 2, 3, 0)]
    pairs = [(outcome(npdec, NPDECS, name, *at), outcome(numpy, NUMPYS, name, *at)) for at in places]
    assert any(ours != theirs for ours, theirs in pairs)


def test_classes_are_asked_for_the_functions_for_which_numpy_asks_them() -> None:
    for name in (*NUMPYS_NAMES, "lib.stride_tricks.as_strided", "lib.stride_tricks.sliding_window_view"):
        try:
            theirs = find(numpy, name)
        except AttributeError:
            continue
        asked = hasattr(theirs, "_implementation") or isinstance(theirs, (numpy.ufunc, type))
        told_by_it = ("row_stack", "get_printoptions", "geterr")  # an alias, and functions without arguments
        assert asked != (name in UNASKED) or name in told_by_it, name


@pytest.mark.parametrize("lib", [npdec, numpy], ids=["npdec", "numpy"])
def test_nditer_writes_arrays_of_classes_and_allocates_them(lib):
    first = type("First", (lib.ndarray,), {"__array_priority__": 15})
    second = type("Second", (lib.ndarray,), {"__array_priority__": 20})
    a = lib.arange(4.0).reshape(2, 2).view(first)
    with lib.nditer(a, op_flags=["readwrite"]) as it:
        assert it.operands[0] is a
        for x in it:
            assert type(x) is lib.ndarray
            x[...] = 2 * x
    assert a.tolist() == [[0, 2], [4, 6]]
    plain, above = lib.ones((2, 2)), lib.ones((2, 2)).view(second)
    for beside, flags, expected in (
        ([a, plain], [], first), ([a, above], [], second), ([above, a], [], second),
        ([a, plain], ["no_subtype"], lib.ndarray), ([plain, plain], [], lib.ndarray),
    ):  # fmt: skip
        it = lib.nditer([*beside, None], [], [["readonly"]] * 2 + [["writeonly", "allocate", *flags]])
        with it:
            for x, y, made in it:
                made[...] = x + y
            made = it.operands[2]
            assert made is it.operands[2]
        assert type(made) is expected
        assert made.tolist() == (beside[0] + beside[1]).tolist()
    outer, inner = lib.nested_iters(a, [[0], [1]], op_flags=["readwrite"])
    with outer, inner:
        for _ in outer:
            for x in inner:
                x[...] = -1
        assert inner.operands[0] is a
    assert a.tolist() == [[-1, -1], [-1, -1]]
