"""Graphs of np.jit have no copies of what nobody writes, and no writes that nobody reads."""

from __future__ import annotations

import collections
from typing import Any

import numpy
import pytest

import npdec as np


def swept(np: Any, x: Any) -> Any:
    """A table of which the first cells alone are asked for."""
    table = np.zeros(len(x))
    for i in range(len(x)):
        table[i] = x[i] * x[i - 1]
    return table[0] + table[1]


def before_a_write(np: Any, x: Any) -> Any:
    """A number that is read, and written over after that, and one that is copied and written."""
    first, row = x[0], x[:2].copy()
    x[0] = 7.0
    row += x[0]
    return first + x[0], row, x


def looked_at_twice(np: Any, x: Any) -> Any:
    rows = x.reshape(2, 3)
    a, b = rows[0] * 2, rows[0] + rows[1]
    rows[0] = 1.0
    return a, b, rows[0] + b, x[1:].copy(), x[1:].copy()


def handed_out(np: Any, x: Any) -> Any:
    """Copies that go out, and parts of one memory."""
    a = x * 2
    b = a.copy()
    a[0] = 5.0
    return a, b, a[1:], x.copy(), x.copy()


PROGRAMS = [swept, before_a_write, looked_at_twice, handed_out]


@pytest.mark.parametrize("program", PROGRAMS, ids=[one.__name__ for one in PROGRAMS])
def test_results_and_arguments_are_numpys(program: Any) -> None:
    fast = np.jit(lambda x: program(np, x), backend="eager", fullgraph=True)
    for start in (1.0, 4.0):
        mine, theirs = np.arange(6.0) + start, numpy.arange(6.0) + start
        found, want = fast(mine), program(numpy, theirs)
        found, want = (one if isinstance(one, tuple) else (one,) for one in (found, want))
        for one, other in zip([*found, mine], [*want, theirs], strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(one), other)
        arrays = [one for one in (*found, mine) if one.ndim]
        for i, one in enumerate(arrays):  # what may be written afterwards is what NumPy's may be
            one[...] = i
        others = [one for one in (*want, theirs) if one.ndim]
        for i, other in enumerate(others):
            other[...] = i
        for one, other in zip(arrays, others, strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(one), other)


def test_what_is_left_out() -> None:
    counts: dict[Any, int] = {}

    def backend(graph: Any, inputs: Any) -> Any:
        counts.update(collections.Counter(str(node.target) for node in graph.graph.nodes))
        return graph.forward

    np.jit(lambda x: swept(np, x), backend=backend)(np.arange(6.0))
    assert "aten.copy_.default" not in counts
    assert "aten.clone.default" not in counts
    assert counts["aten.select.int"] == 3  # x[-1], x[0], x[1]
