"""What NumPy writes through a guest into npdec's memory is seen by all who look at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import npdec as np

# Ways to write into an array of spans of time, by the library that made it.
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "item": lambda lib, g: g.__setitem__(1, lib.timedelta64(50, "s")),
    "slice": lambda lib, g: g.__setitem__(slice(2, 4), lib.array([7, 8], "m8[s]")),
    "fill": lambda lib, g: g.fill(lib.timedelta64(3, "s")),
    "copyto": lambda lib, g: lib.copyto(g, lib.timedelta64(4, "s")),
    "out": lambda lib, g: lib.add(g, g, out=g),
    "in place": lambda lib, g: g.__iadd__(lib.timedelta64(5, "s")),
    "sort": lambda lib, g: g[::-1].sort(),
    "view": lambda lib, g: g.view("i8").__setitem__(0, 9),
}


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.parametrize("seen", ["the array", "its reverse", "a part of its reverse"])
def test_reversed_views_follow_what_is_written_through_a_guest(way: str, seen: str) -> None:
    found = []
    for lib in (numpy, np):
        x: Any = lib.arange(6)
        y = x[::-1]
        looked_at = {"the array": x, "its reverse": y, "a part of its reverse": y[1:]}[seen]
        guest = looked_at.view("m8[s]")
        WRITES[way](lib, guest)
        x[3] += 100
        found.append((x.tolist(), y.tolist(), guest.view("i8").tolist()))
    assert found[0] == found[1]


def test_what_numpy_gives_of_an_array_is_a_view_of_it() -> None:
    x = np.arange(3.0)
    widened, _ = np.broadcast_arrays(x, np.array([["a"] * 3] * 2))
    assert np.shares_memory(widened, x)
    x[0] = 5
    assert widened[:, 0].tolist() == [5, 5]
    days = np.arange(4).view("M8[D]").reshape(2, 2).view("i8")
    assert days.tolist() == [[0, 1], [2, 3]]


def test_contributions_are_not_seen_as_another_dtype() -> None:
    x = np.decompose(np.array([1.0, 2.0]))
    for name in ("view", "getfield"):
        with pytest.raises(TypeError, match=f"{name}: contributions"):
            getattr(x, name)("m8[s]")
    text = np.array(["a", "b"])
    with pytest.warns(np.DecompositionWarning):
        plain, _ = np.broadcast_arrays(x, text)
    assert not np.shares_memory(plain, x.value)


class Tagged(numpy.ndarray):
    """A subclass of NumPy's arrays, of which nothing but the elements counts in a list, an index, an assignment."""


MADE: dict[str, Callable[[Any], Any]] = {
    "tagged": lambda x: numpy.asarray(x).view(Tagged),
    "matrix": numpy.matrix,
    "masked": lambda x: numpy.ma.array(x, mask=numpy.zeros_like(x)),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("kind", MADE)
def test_elements_of_subclasses_are_elements(kind: str) -> None:
    given = MADE[kind]([[1.0, 2.0], [3.0, 4.0]])
    found = []
    for lib in (numpy, np):
        x: Any = lib.zeros((2, 2))
        x[...] = given
        y: Any = lib.zeros(4)
        y.flat = given
        rows = lib.array([given, lib.ones((2, 2))])
        chosen = lib.arange(10)[MADE[kind]([[1, 2]])]
        found.append([item.tolist() for item in (x, y, rows, chosen)])
    assert found[0] == found[1]
    x = np.decompose(np.ones((2, 2)))
    assert np.array([x, given]).components.shape == (4, 2, 2, 2)


@pytest.mark.parametrize("name", ["add", "multiply", "subtract"])
def test_at_with_objects_keeps_contributions(name: str) -> None:
    start, values = np.array([1.0, 2.0, 3.0]), np.decompose(np.array([0.5, 4.0]))
    wanted, found = np.array(start), np.array(start)
    getattr(np, name).at(wanted, [0, 2], values)
    getattr(np, name).at(found, [0, 2], np.array(values, dtype=object))
    assert found.tolist() == wanted.tolist()
    numpy.testing.assert_allclose(found.residual + found.components.sum(0), numpy.asarray(found.value), rtol=1e-14)


# -- floating-point errors, comparisons, scalars -----------------------------------------------------------------------


@pytest.mark.parametrize("call", ["np.divide(x, 0)", "x / 0", "np.log(x - x)", "y.__setitem__(0, t)", "t.astype('f4')"])
def test_floating_point_errors_of_numpy_are_those_of_npdec(call: str) -> None:
    scope = {"np": np, "x": np.array([1.0], dtype=np.longdouble), "y": np.zeros(1, "f4"), "t": np.array("1e300")}
    eval(call, scope)  # warnings are errors in the tests, and npdec ignores these
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        eval(call, scope)
    with np.errstate(all="warn"), pytest.warns(RuntimeWarning):
        eval(call, scope)


OTHERS = "np.array(['a', 'b'])", "np.array(['2020', '2021'], 'M8[Y]')", "np.array([b'a', b'b'])"


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize(
    "text", ["x == o", "x != o", "o == x", "o != x", "s == o", "x < o", "np.equal(x, o)", "x[:1] == o"]
)
def test_comparisons_between_kinds(text: str, other: str) -> None:
    found = []
    for lib in (numpy, np):
        scope = {"np": lib, "x": lib.array([1, 2]), "s": lib.int64(1)}
        scope["o"] = eval(other, scope)
        try:
            found.append(eval(text.replace(";", ","), scope).tolist())
        except Exception as error:
            found.append(isinstance(error, TypeError))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["int64", "float64", "float32", "uint8", "bool_"])
@pytest.mark.parametrize("symbol", ["+", "*", "<", "=="])
@pytest.mark.parametrize("other", ["Decimal('1.5')", "Fraction(1, 2)", "None", "object()"])
def test_scalars_beside_other_objects(kind: str, symbol: str, other: str) -> None:
    from decimal import Decimal
    from fractions import Fraction

    found = []
    for lib in (numpy, np):
        scope = {"s": getattr(lib, kind)(1), "o": eval(other, {"Decimal": Decimal, "Fraction": Fraction})}
        for text in (f"s {symbol} o", f"o {symbol} s"):
            try:
                made = eval(text, scope)
                found.append((bool(made), str(made)))
            except TypeError:
                found.append(TypeError)
    assert found[:2] == found[2:]


def test_choices_and_polynomials_of_objects() -> None:
    from fractions import Fraction

    for random in (np.random, np.random.RandomState(0), np.random.default_rng(0)):
        assert random.choice([None], ()).shape == ()
        assert random.choice(["a"], ()).shape == ()
    halves = np.array([Fraction(1, 2), Fraction(3, 4)], dtype=object)
    assert np.polynomial.Polynomial(halves)(Fraction(2)) == Fraction(2)
    assert (np.polynomial.Polynomial(halves) * 2).coef.tolist() == [1, Fraction(3, 2)]
