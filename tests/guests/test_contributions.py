"""Decomposed numbers among objects keep their contributions; where a guest cannot hold them, a warning says so."""

from __future__ import annotations

import operator
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest

import npdec as np

X = [1.5, -2.0, 4.0]


def parts(item: Any) -> tuple[Any, Any, Any]:
    return numpy.asarray(item.value), numpy.asarray(item.residual), numpy.asarray(item.components)


def check(found: Any, value: Any, residual: Any, components: Any) -> None:
    for got, want in zip(parts(found), (value, residual, components), strict=True):
        numpy.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)


# Functions that are linear in each element, with the factor of each: the contributions are known without a law.
LINEAR: dict[str, tuple[Callable[[Any, Any], Any], list[float]]] = {
    "object * array": (lambda o, p: o * p, [2.0, 0.5, 3.0]),
    "array * object": (lambda o, p: p * o, [2.0, 0.5, 3.0]),
    "np.multiply": (np.multiply, [2.0, 0.5, 3.0]),
    "object + array": (lambda o, p: o + p - o, [1.0, 1.0, 1.0]),
    "array / object": (lambda o, p: p / o, [0.5, 2.0, 1 / 3]),
    "where": (lambda o, p: np.where([True, True, False], p, o), [1.0, 1.0, 0.0]),
    "concatenate": (lambda o, p: np.concatenate([o, p])[3:], [1.0, 1.0, 1.0]),
    "take": (lambda o, p: np.stack([o, p])[1], [1.0, 1.0, 1.0]),
    "assigned": (lambda o, p: operator.setitem(o, slice(None), p) or o, [1.0, 1.0, 1.0]),
    "assigned one by one": (lambda o, p: [operator.setitem(o, i, p[i]) for i in range(3)] and o, [1.0, 1.0, 1.0]),
    "assigned as a list": (lambda o, p: operator.setitem(o, slice(0, 3), list(p)) or o, [1.0, 1.0, 1.0]),
    "made of a list": (lambda o, p: np.array([*p, None])[:3], [1.0, 1.0, 1.0]),
    "made of an array": (lambda o, p: np.array(p, dtype=object), [1.0, 1.0, 1.0]),
    "astype": (lambda o, p: p.astype(object), [1.0, 1.0, 1.0]),
    "full": (np.full_like, [1.0, 1.0, 1.0]),
    "vectorize": (np.vectorize(lambda a, b: a * b, otypes=[object]), [2.0, 0.5, 3.0]),
    "frompyfunc": (np.frompyfunc(lambda a, b: a * b, 2, 1), [2.0, 0.5, 3.0]),
}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("back", ["astype", "array", "asarray"])
def test_contributions_survive_among_objects(name: str, back: str) -> None:
    function, factors = LINEAR[name]
    objects = np.array([2, Fraction(1, 2), 3], dtype=object)
    found = function(objects, np.decompose(np.array(X)))
    assert isinstance(found, numpy.ndarray)
    assert found.dtype == object
    numbers = found.astype(float) if back == "astype" else getattr(np, back)(found, dtype=float)
    assert type(numbers) is np.ndarray
    fixed = numpy.array([3.0 if name == "where" and not factor else 0.0 for factor in factors])
    check(numbers, fixed + numpy.multiply(factors, X), fixed, numpy.diag(numpy.multiply(factors, X)))


def test_sums_of_objects_keep_contributions() -> None:
    objects = np.array(np.decompose(np.array(X)), dtype=object)
    for total in (objects.sum(), np.sum(objects), np.add.reduce(objects), objects[0] + objects[1] + objects[2]):
        check(total, sum(X), 0.0, X)
    check(np.dot(objects, np.array([1, 2, 3], dtype=object)), 9.5, 0.0, [1.5, -4, 12])


def test_arrays_are_objects_too() -> None:
    one, two = np.decompose(np.array(X)), np.arange(2.0)
    held = np.empty(2, dtype=object)
    held[0], held[1] = one, two
    assert held[0] is one
    assert held[1] is two
    doubled = held * 2
    check(doubled[0], numpy.multiply(X, 2), numpy.zeros(3), numpy.diag(numpy.multiply(X, 2)))
    ragged = np.array([one, two, None], dtype=object)
    assert ragged[0] is one
    assert ragged[1] is two
    assert type(np.array([np.float32(1), None])[0]) is np.float32


@pytest.mark.parametrize("number", [Fraction(1, 2), Decimal("0.5")])
def test_scalars_that_carry_take_other_numbers(number: Any) -> None:
    scalar = np.decompose(np.array(X))[0]
    check(scalar * number, 0.75, 0.0, [0.75, 0, 0])
    check(number * scalar, 0.75, 0.0, [0.75, 0, 0])
    check(scalar + number, 2.0, 0.5, [1.5, 0, 0])


LOSING = {
    "a field": lambda p: operator.setitem(np.zeros(3, "f8,i4"), "f0", p),
    "a record": lambda p: operator.setitem(np.zeros(3, "f8,i4"), 0, (p[0], 1)),
    "text": lambda p: np.array([*p, "a"]),
    "astype text": lambda p: p.astype(str),
    "long double": lambda p: p + np.ones(3, np.longdouble),
    "spans": lambda p: p * np.timedelta64(1, "s"),
    "masked": lambda p: np.ma.array(p, mask=[0, 1, 0]),
    "matrix": lambda p: np.matrix([[1.0, 2, 3]]) + p,
    "rec": lambda p: np.rec.fromarrays([p], names="a"),
    "char": lambda p: np.char.mod("%d", p),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("way", LOSING)
def test_what_loses_contributions_warns(way: str) -> None:
    with pytest.warns(np.DecompositionWarning):
        LOSING[way](np.decompose(np.array(X)))


WITHOUT = """
import sys
sys.modules["numpy"] = None
import npdec as np
for name, call in {calls}:
    try:
        eval(call)
    except np.exceptions.AbsentError as error:
        assert isinstance(error, TypeError if name == "dtype" else AttributeError), call
    else:
        raise AssertionError(call)
assert not isinstance(1.0, (np.ndarray, np.generic, np.dtype))
assert isinstance(np.ones(2), np.ndarray) and isinstance(np.float32(1), np.floating)
"""


@pytest.mark.slow
def test_without_numpy_the_errors_say_what_to_do() -> None:
    refused = """np.array(['a']) | np.empty(3, object) | np.ones(2) + np.array([None]) | np.dtype('M8[s]')
        np.sum(None) | np.add('a', 1) | np.array([1, None]) | np.zeros(2).astype(str) | np.zeros(2).view('S8')
        np.ndarray(2, object) | np.add.accumulate(['a']) | np.issubdtype('U1', float) | np.result_type('U1')"""
    calls = [("dtype", call.strip()) for call in refused.replace("\n", "|").split("|")]
    calls += [("name", f"np.{name}") for name in ("object_", "datetime64", "matrix", "longdouble", "fromregex", "void")]
    program = WITHOUT.replace("{calls}", repr(calls))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
