"""Elements of an array that were read or written one at a time carry the contributions that it gets later."""

from __future__ import annotations

import pytest

import npdec as np

WAYS = {
    "index": lambda c, x: c.__setitem__(1, x[0]),
    "slice": lambda c, x: c.__setitem__(slice(1, 3), x),
    "mask": lambda c, x: c.__setitem__(np.array([False, True, True, False]), x),
    "indices": lambda c, x: c.__setitem__([1, 2], x),
    "+=": lambda c, x: c.__iadd__(x[0]),
    "out=": lambda c, x: np.add(c, x[0], out=c),
    "fill": lambda c, x: c.fill(x[0]),
    "copyto": lambda c, x: np.copyto(c, x[0]),
    "view": lambda c, x: c[:2].__setitem__(1, x[0]),
    "put": lambda c, x: np.put(c, [1], x[:1]),
}
BEFORE = {
    "nothing": lambda c: None,
    "read once": lambda c: c[1],
    "read": lambda c: [c[1] for _ in range(4)],
    "written": lambda c: c.__setitem__(1, 0.0),
    "read and written": lambda c: [c[0], c[1], c.__setitem__(1, 0.0), c[1]],
}


@pytest.mark.parametrize("way", WAYS)
def test_elements_give_what_was_written(way):
    for prepared in BEFORE.values():
        x = np.decompose(np.array([0.25, 0.5]), labels=["a", "b"])
        c = np.zeros(4)
        prepared(c)
        WAYS[way](c, x)
        for element in (c[1], c[np.int64(1)], c[(1,)], c[-3], next(iter(c[1:]))):
            assert element.is_decomposed
            assert (float(element.value), element.labels) == (0.25, ("a", "b"))
            assert element.components.tolist() == [0.25, 0.0]
        c[1] = c[1] * 2
        assert c[1].components.tolist() == [0.5, 0.0]
        c[1] = 3.0
        assert (c[1].value, c[1].components.tolist()) == (3.0, [0.0, 0.0])


def test_rows_of_a_matrix_too():
    for prepared in BEFORE.values():
        x = np.decompose(np.array([0.25, 0.5]), labels=["a", "b"])
        c = np.zeros((2, 2))
        prepared(c)
        c[0, 0]
        c[0, 0]
        c[1] = x
        assert c[1, 1].components.tolist() == [0.0, 0.5]
        assert [list(row.components.tolist()) for row in c[1]] == [[0.25, 0.0], [0.0, 0.5]]
