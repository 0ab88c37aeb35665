"""Symbols and expressions of SymPy beside arrays, on either side of an operator, as beside NumPy's."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest

import npdec

sympy = pytest.importorskip("sympy")
a, b = sympy.symbols("a b")

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


def entries(made: Any) -> Any:
    """The expressions of a result, which is an array of them or one."""
    return [sympy.sympify(item) for item in numpy.asarray(made, dtype=object).ravel().tolist()], numpy.shape(made)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("expression", [a, sympy.Rational(1, 2)], ids=str)
@pytest.mark.parametrize("values", [[[1.0, 2.0], [3.0, 4.0]], [1, 2], 2.0], ids=str)
def test_expressions_operate_on_arrays(op, expression, values):
    for first, second in ((0, 1), (1, 0)):
        theirs, ours = ((expression, lib.array(values)) for lib in (numpy, npdec))
        assert entries(op(ours[first], ours[second])) == entries(op(theirs[first], theirs[second]))


def test_a_sum_of_symbols_times_matrices_is_an_array_of_expressions():
    made = [a * lib.eye(2) + b * lib.array([[0, 1], [1, 0]]) for lib in (numpy, npdec)]
    assert entries(made[1]) == entries(made[0])


def test_matrices_of_sympys_stay_its_own():
    matrix = sympy.Matrix([[a, 1], [2, b]])
    theirs, ours = (matrix * lib.array([[1.0, 2.0], [3.0, 4.0]]) for lib in (numpy, npdec))
    assert type(ours) is type(theirs)
    assert ours == theirs


def test_scalars_and_arrays_become_sympys_numbers():
    def made(lib):
        values = [
            lib.int64(3),
            lib.int8(-1),
            lib.uint64(2**64 - 1),
            lib.bool_(True),
            lib.float64(0.1),
            lib.float32(0.1),
        ]
        values += [
            lib.float16(0.1),
            lib.complex128(1 + 2j),
            lib.complex64(2),
            lib.array(2),
            lib.array([[1, 2], [3, 4]]),
        ]
        found = [
            *map(sympy.sympify, values),
            a * values[0],
            values[0] * a,
            a ** values[1],
            values[5] + sympy.Integer(1),
        ]
        return [(type(x), x, getattr(x, "_prec", None)) for x in found]

    assert made(npdec) == made(numpy)
    with pytest.warns(npdec.DecompositionWarning):
        assert float(sympy.sympify(npdec.decompose(npdec.ones(2)).sum())) == 2
