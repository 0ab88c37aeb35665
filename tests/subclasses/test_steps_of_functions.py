"""Functions that NumPy makes of ufuncs, with arrays of a class that computes ufuncs itself: the class is asked for the
same steps as under NumPy, and the results have the classes, shapes, dtypes and values that they have there."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import npdec
from npdec._subclasses import numpys
from samples import SAMPLES, Sample, find

# Functions whose steps, or the class of whose result, differ, and why.
APART = {
    "clip": "npdec has no ufunc of that name",
    "count_nonzero": "NumPy sums within its C",
    "nanmedian": "NumPy goes by its masked arrays",
    "round": "integers to tens are rounded by NumPy into an array that is plain",
    "var": "a single number: NumPy refuses its own array as out=",
    "std": "a single number: NumPy refuses its own array as out=",
}
# Functions that tell apart what they find by hashes in NumPy, in no order, and here by sorting.
HASHED = {"intersect1d", "setdiff1d", "setxor1d", "unique_values"}
# Functions that leave elements in an order of which NumPy says nothing, and which its vector code changes.
UNORDERED = {"partition", "argpartition"}


def _names() -> list[str]:
    found = []
    for name in SAMPLES:
        try:
            find(numpy, name)
        except AttributeError:
            continue
        found.append(name)
    return found


class Library:
    """NumPy or npdec, with a class of its arrays that computes ufuncs itself, and notes which."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.asked: list[tuple[str, str]] = []
        asked = self.asked

        class Metre(lib.ndarray):
            def __array_ufunc__(self, function: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
                def bare(x: Any) -> Any:
                    return x.view(lib.ndarray) if isinstance(x, Metre) else x

                def given(x: Any) -> Any:
                    return x.view(Metre) if isinstance(x, lib.ndarray) else x

                asked.append((function.__name__, method))
                options = {name: bare(x) for name, x in options.items()}
                if out is not None:
                    options["out"] = tuple(map(bare, out))
                made = getattr(function, method)(*map(bare, inputs), **options)
                if out is not None:
                    return out[0] if len(out) == 1 else out
                return tuple(map(given, made)) if isinstance(made, tuple) else given(made)

        self.cls = Metre

    def marked(self, x: Any, chosen: int, count: list[int]) -> Any:
        """An argument in which one array (or all, for 0) is of the class."""
        if type(x) is self.lib.ndarray:
            count[0] += 1
            return x.view(self.cls) if chosen in (0, count[0]) else x
        if type(x) in (list, tuple):
            return type(x)(self.marked(item, chosen, count) for item in x)
        return x

    def seen(self, x: Any) -> Any:
        if isinstance(x, self.lib.ndarray):
            return "own" if type(x) is self.cls else "plain", x.shape, str(x.dtype)
        if isinstance(x, (list, tuple)):
            return [self.seen(item) for item in x]
        if isinstance(x, type):
            return x.__name__
        return ("scalar", str(x.dtype)) if isinstance(x, self.lib.generic) else type(x).__name__

    def outcome(self, name: str, sample: Sample, chosen: int) -> Any:
        """What a call gives, the steps that the class was asked for, and the values; None where no array is there."""
        args, kwargs = sample.build(self.lib)
        count = [0]
        args = [self.marked(x, chosen, count) for x in args]
        kwargs = {key: self.marked(x, chosen, count) for key, x in kwargs.items()}
        if count[0] < max(chosen, 1):
            return None
        self.asked.clear()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = find(self.lib, name)(*args, **kwargs)
        except Exception as error:
            return type(error).__name__, [], []
        steps = [] if any("complex" in str(getattr(x, "dtype", "")) for x in args) else list(self.asked)
        return self.seen(made), steps, [] if name.startswith("empty") else _values(made)


def _values(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [value for item in x for value in _values(item)]
    return list(numpy.ravel(x.tolist())) if hasattr(x, "tolist") and not isinstance(x, type) else []


def _check(name: str, samples: list[Sample], places: tuple[int, ...]) -> int:
    theirs, ours, count = Library(numpy), Library(npdec), 0
    for sample in samples:
        for place in places:
            wanted = theirs.outcome(name, sample, place)
            if wanted is None:
                continue
            count += 1
            made = ours.outcome(name, sample, place)
            assert made[0] == wanted[0], (name, sample, place)
            if name not in HASHED:
                assert made[1] == wanted[1], (name, sample, place)
                values = (sorted(made[2]), sorted(wanted[2])) if name in UNORDERED else (made[2], wanted[2])
                numpy.testing.assert_allclose(*values, rtol=1e-5, err_msg=name)
    return count


def test_steps_of_some_functions() -> None:
    for name in ("diff", "trapezoid", "append", "isreal", "nansum", "sum"):
        assert _check(name, SAMPLES[name][:1], (1,))


@pytest.mark.slow
def test_steps_of_all_functions() -> None:
    assert sum(_check(name, SAMPLES[name], (1, 2, 3, 0)) for name in _names() if name not in APART) > 2500


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(APART))
def test_what_is_apart_differs(name: str) -> None:
    with pytest.raises(AssertionError):
        _check(name, SAMPLES[name], (1, 2, 3, 0))


def _with_units(lib: Any) -> Any:
    """A class that wraps what ufuncs give, with the unit that comes of the ufunc."""

    class Length(lib.ndarray):
        unit = 0

        def __array_finalize__(self, source: Any) -> None:
            self.unit = getattr(source, "unit", 0)

        def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
            made = lib.asarray(array).view(type(self))
            units = [getattr(x, "unit", 0) for x in context[1]] if context is not None else [-1]
            name = context[0].__name__ if context is not None else "none"
            made.unit = sum(units) if name == "multiply" else units[0] - sum(units[1:]) if "div" in name else max(units)
            return made

    return Length


def test_a_class_that_wraps_gets_its_unit_of_each_step() -> None:
    seen = []
    for lib in (numpy, npdec):
        x = lib.array([1.0, 2.5, -3.5]).view(_with_units(lib))
        x.unit = 1
        made = [
            lib.diff(x), lib.ediff1d(x), lib.trapezoid(x, x), lib.fix(x), lib.cross(x, x), lib.linspace(x, 2 * x, 3),
            lib.isclose(x, x), lib.nan_to_num(x), lib.average(x, weights=abs(x)), lib.outer(x, x), lib.linalg.norm(x),
        ]  # fmt: skip
        seen.append([(type(item).__name__, getattr(item, "unit", None)) for item in made])
    assert seen[0] == seen[1]


def test_options_of_a_reduction_come_as_they_were_given() -> None:
    class Asked:
        def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
            return options

    for lib in (numpy, npdec):
        reduce, x = lib.multiply.reduce, Asked()
        assert reduce(x) == {}
        assert reduce(x, 0) == {"axis": 0}
        assert reduce(x, 0, None, None, False) == {"axis": 0, "dtype": None, "keepdims": False}
        assert reduce(x, out=None, axis=0, keepdims=True) == {"axis": 0, "keepdims": True}
        assert lib.add(x, 1, out=...) == {}


def test_assertions_compare_by_the_class() -> None:
    for lib in (numpy, npdec):

        class Cents(lib.ndarray):
            def __array_ufunc__(self, function: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
                bare = [x.view(lib.ndarray) // 100 if isinstance(x, Cents) else x for x in inputs]  # noqa: B023
                return getattr(function, method)(*bare, **options)

        x = lib.array([100, 250]).view(Cents)
        for check in (lib.testing.assert_array_equal, lib.testing.assert_equal, lib.testing.assert_allclose):
            check(x, lib.array([1, 2]))
            with pytest.raises(AssertionError):
                check(x, lib.array([100, 250]))
        lib.testing.assert_array_less(x, lib.array([2, 3]))


def test_arguments_come_to_a_class_as_they_were_given() -> None:
    for lib in (numpy, npdec):

        class Listening(lib.ndarray):
            def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
                return args, kwargs

        own = lib.ones(2).view(Listening)
        plain = lib.ones(2)
        ((first, second), _) = lib.isin(1, own)
        assert (first, type(first), second is own) == (1, int, True)
        ((first, _), _) = lib.isin(plain, own)
        assert first is plain
        ((first,), kwargs) = lib.cumsum(plain, out=own)
        assert first is plain
        assert kwargs["out"] is own
        ((first,), _) = lib.block([[plain, [own]]])
        assert first[0][1][0] is own
        assert type(lib.atleast_1d([plain, lib.ones(2).view(type("S", (lib.ndarray,), {}))])) is lib.ndarray


def test_a_number_of_an_array_of_a_class_is_a_scalar() -> None:
    for lib in (numpy, npdec):
        own = type("S", (lib.ndarray,), {})
        assert type(lib.bool(lib.array(1.0).view(own))) is lib.bool
        assert type(lib.float64(lib.array(2).view(own))) is lib.float64


def test_a_shape_of_none_is_the_shape_that_is_there() -> None:
    for lib in (numpy, npdec):
        x = lib.arange(6.0).reshape(2, 3)
        made = x.reshape(None)
        made[0, 0] = 7
        assert (made.shape, x[0, 0]) == ((2, 3), 7)


def test_functions_are_made_of_numpys_where_all_that_they_name_is_public() -> None:
    assert numpys.composed("diff").__code__ is numpy.diff._implementation.__code__
    assert numpys.composed("diff") is numpys.composed("diff")
    assert numpys.composed("linalg.inv") is None  # a loop written in C
    assert numpys.composed("sum") is None  # a method
    assert numpys.composed("no_such_function") is None
