"""Iterators over elements: `x.flat`, ndenumerate, ndindex, broadcast, nditer and nested_iters, beside NumPy's own."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from iterated import ARRAYS
from outcomes import described, same

# -- x.flat ------------------------------------------------------------------------------------------------------------

KEYS = [
    "()", "...", "slice(1, 3)", "[1, 2]", "[True, False, True]", "True", "False", "3", "-13", "12", "1.5", "None",
    "(1,)", "(1, 2)", "np.array([[1, 2], [3, 4]])", "np.array(3)", "np.array([True] * 12)",
    "np.array([[True] * 4] * 3)", "np.array([True, False])", "[]", "np.array([1.0])", "slice(None, None, -1)", "'a'",
    "(slice(1, 3),)", "(...,)", "([1, 2],)", "np.float64(2)", "np.int8(2)", "[99]", "[-1, 0]",
]  # fmt: skip


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("key", KEYS)
def test_flat_is_indexed_as_numpys(key, transposed):
    def get(lib):
        x = lib.arange(12.0).reshape(3, 4)
        return (x.T if transposed else x).flat[eval(key, {"np": lib})]

    same(get)


@pytest.mark.parametrize("value", [[100, 200], 7, [5.0], []], ids=str)
@pytest.mark.parametrize("key", KEYS)
def test_flat_is_assigned_to_as_numpys(key, value):
    for transposed in (False, True):

        def put(lib, transposed=transposed):
            x = lib.arange(12.0).reshape(3, 4)
            (x.T if transposed else x).flat[eval(key, {"np": lib})] = value
            return x

        same(put)


@pytest.mark.parametrize("value", [[], [1, 2], [1, 2, 3, 4, 5], 7, 1j, [1.5, 2.7]], ids=str)
def test_assigning_flat_repeats_values(value):
    def whole(lib):
        x = lib.arange(4)
        x.flat = value
        return x

    same(whole)


def test_flat_says_where_it_is():
    def walk(lib):
        x = lib.arange(12.0).reshape(3, 4)
        it = x.flat
        seen = [next(it), next(it), it.index, it.coords]
        it[3]
        seen += [it.index, it.coords, next(it)]
        it[1] = 5
        seen.append(it.index)
        return [
            *seen,
            list(it),
            it.index,
            it.coords,
            it.copy(),
            len(it),
            it == x.ravel(),
            it != 3,
            it < 3,
            it.base is x,
        ]

    same(walk)


@pytest.mark.parametrize(
    "text",
    [
        "np.flatiter()", "hash(np.arange(3).flat)", "np.add(np.arange(3).flat, 1)", "np.arange(3) + np.arange(3).flat",
        "np.asarray(np.arange(6).reshape(2, 3).T.flat)", "np.array(np.arange(6).reshape(2, 3).T.flat, dtype=float)",
        "np.sum(np.arange(6).flat)", "np.concatenate([np.arange(2).flat, np.arange(2)])", "list(np.float32(3).flat)",
        "np.arange(5)[np.arange(3).flat]", "list(np.zeros((0, 2)).flat)", "[np.array(3.0).flat.coords]",
        "list(np.ndenumerate(np.arange(6).reshape(2, 3).T))", "list(np.ndenumerate(3.5))",
        "list(np.ndindex(2, 3))", "list(np.ndindex((2, 3)))", "list(np.ndindex())", "list(np.ndindex(()))",
        "list(np.ndindex(2, 0))", "list(np.ndindex(2, -1))", "list(np.ndindex(1.5))", "list(np.ndindex([2, 3]))",
        "list(np.broadcast([1, 2, 3], [[10], [20]]))", "np.broadcast([1, 2, 3], [1, 2])", "np.broadcast().shape",
        "np.broadcast(np.broadcast([1, 2, 3], [[1], [2]]), 4).numiter", "list(np.broadcast(3, 4))",
        "[(b := np.broadcast([1, 2], [[3]])).shape, b.nd, b.ndim, b.size, next(b), b.index, b.reset(), b.index]",
        "[list(i) for i in np.broadcast([1, 2, 3], [[10], [20]]).iters]", "np.broadcast(*[1] * 65)",
    ],
)  # fmt: skip
def test_elements_are_visited_as_by_numpy(text):
    same(lambda lib: eval(text, {"np": lib}))


def test_read_only_arrays_stay_so():
    def put(lib):
        x = lib.arange(3)
        x.flags.writeable = False
        x.flat[0] = 9

    same(put)


def test_elements_of_decomposed_arrays_are_decomposed():
    x = np.decompose(np.array([[1.0, 2.0], [3.0, 4.0]]), labels=list("abcd"))
    assert [scalar.components.tolist() for scalar in x.T.flat] == [
        [1, 0, 0, 0], [0, 0, 3, 0], [0, 2, 0, 0], [0, 0, 0, 4]
    ]  # fmt: skip
    assert x.flat[1:3].components.sum(0).tolist() == [2.0, 3.0]
    for place, scalar in np.ndenumerate(x):
        assert scalar.components.tolist() == x[place].components.tolist()
    assert [(a * b).components.tolist() for a, b in np.broadcast(x[0], 2.0)] == [[2, 0, 0, 0], [0, 4, 0, 0]]
    assert [v.components.sum(0).tolist() for v in np.nditer(x, flags=["external_loop"])] == [[1.0, 2.0, 3.0, 4.0]]


def test_writes_during_iteration_are_seen():
    x, y = np.zeros(3), np.decompose(np.array([5.0]), labels=["in"])
    for it in (x.flat, np.nditer(x)):
        x[...] = 0.0
        next(it)
        x[1] = y[0]
        assert next(it).components.tolist() == [5.0]
        x = np.zeros(3)


def test_flat_writes_contributions_into_views():
    x, y = np.zeros((2, 2)), np.decompose(np.array([5.0, 6.0]), labels=["p", "q"])
    x.T.flat[1:3] = y
    assert x.tolist() == [[0.0, 6.0], [5.0, 0.0]]
    assert x.components.tolist() == [[[0.0, 0.0], [5.0, 0.0]], [[0.0, 6.0], [0.0, 0.0]]]
    z = np.arange(3.0)
    z[::-1].flat[0] = 9.0
    assert z.tolist() == [0.0, 1.0, 9.0]


@pytest.mark.parametrize("kind", ["plain", "decomposed", "with a graph"])
def test_flat_of_a_scalar_is_that_of_a_copy(kind):
    scalar = {
        "plain": lambda: np.float64(1.0),
        "decomposed": lambda: np.decompose(np.array([1.0]))[0],
        "with a graph": lambda: np.asarray(torch.ones(1, dtype=torch.float64, requires_grad=True))[0],
    }[kind]()
    scalar.flat[0] = 7.0
    scalar.flat[[0, 0]] = [7.0, 8.0]
    assert scalar.item() == scalar.flat[0].item() == 1.0


# -- nditer ------------------------------------------------------------------------------------------------------------

OPERANDS = [(name,) for name in ARRAYS] + [
    ("rows", "vector"), ("columns", "vector"), ("rows", "columns"), ("reversed", "turned"), ("sliced", "0-d"),
    ("transposed", "transposed"), ("rows", "broadcast"),
]  # fmt: skip
FLAGS = [[], ["multi_index"], ["c_index"], ["f_index"], ["c_index", "multi_index"], ["external_loop"]]


def visited(lib: Any, *args: Any, **options: Any) -> Any:
    it = lib.nditer(*args, **options)
    seen: list[Any] = [it.ndim, it.shape, it.itersize, it.nop]
    if "buffered" not in options.get("flags", ()):
        seen.append(it.itviews)
    while not it.finished:
        index = it.index if it.has_index else None
        place = it.multi_index if it.has_multi_index else None
        seen.append((index, place, it.iterindex, described(lib, it[:])))  # NumPy uses its buffers again
        it.iternext()
    return seen


@pytest.mark.parametrize("order", "KCFA")
@pytest.mark.parametrize("operands", OPERANDS, ids="-".join)
def test_nditer_visits_in_numpys_order(operands, order):
    for flags in FLAGS:
        same(lambda lib, f=flags: visited(lib, [ARRAYS[name](lib) for name in operands], flags=f, order=order))


@pytest.mark.parametrize("size", [0, 1, 4, 5, 7, 100])
@pytest.mark.parametrize("operands", OPERANDS[:11], ids="-".join)
def test_nditer_fills_buffers_as_numpys(operands, size):
    for grows in ([], ["grow_inner"]):
        flags = ["external_loop", "buffered", *grows]
        same(lambda lib, f=flags: visited(lib, ARRAYS[operands[0]](lib), flags=f, buffersize=size))


@pytest.mark.parametrize(
    "text",
    [
        "it(x, flags=['bad'])", "it(x, op_flags=['bad'])", "it(x, op_flags=['contig'])", "it([])", "it(x, order='Z')",
        "it(x, op_dtypes='f4')", "it(x, op_dtypes='f8')", "list(it(x, op_dtypes='f8', flags=['buffered']))",
        "it(x, op_dtypes='f8', op_flags=[['readonly', 'copy']]).operands", "it(np.zeros((0, 2)))", "it(x, casting='x')",
        "list(it(np.zeros((0, 2)), flags=['zerosize_ok']))", "it(np.zeros((0, 2)), flags=['zerosize_ok']).finished",
        "it(x, flags=['external_loop', 'c_index'])", "it(x, flags=['c_index', 'f_index'])", "it(x).multi_index",
        "it(x, flags=['ranged', 'external_loop'])", "it(x).index", "it(x)[5]", "it(x).__setitem__(0, 3)",
        "[(i := it(x)).iterindex, i.iterrange, i.operands[0] is x, i.value, i[-1], len(i), i[0:1], i.dtypes]",
        "[(i := it(x)), list(i), i.finished, i.iternext(), i.reset(), i.value, i.iterindex][1:]",
        "it(x[:, ::2], op_flags=['readonly', 'contig'])", "list(it(x, op_flags=['readonly', 'contig']))",
        "list(it(x.T[::-1], ['external_loop']))", "list(it(x[::-1].T))", "it(x).__delitem__(0)",
        "list(it(np.zeros(3, 'f4')[0:1].reshape(()), op_dtypes='f8'))",
        "[(i := it(x[::-1], ['multi_index'])), i.remove_axis(0), list(i)][1:]",
        "[(i := it(x)), list(i), i.value]", "[(i := it(x)), list(i), i[0]]", "[(i := it(x)), list(i), i.shape]",
        "[(i := it(x)), setattr(i, 'iterindex', 4), i[0], next(i), next(i)][1:]", "setattr(it(x), 'iterindex', 14)",
        "setattr(it(x), 'multi_index', (1, 1))", "setattr(it(x, flags=['multi_index']), 'multi_index', (1, 5))",
        "setattr(it(x, flags=['multi_index']), 'multi_index', (1,))", "it(x, flags=['c_index']).remove_axis(0)",
        "[(i := it(x, flags=['multi_index'])), setattr(i, 'multi_index', (1, 1)), i[0], i.iterindex][1:]",
        "[(i := it(x, flags=['multi_index'])), i.remove_axis(0), i.shape, i.ndim, list(i)][1:]",
        "[(i := it(x, flags=['multi_index'])), i.remove_multi_index(), i.has_multi_index, i.shape][1:]",
        "[(i := it(x)), i.close(), i.finished][1:]", "[(i := it(x)), i.close(), i[0]]",
        "[(i := it(x, flags=['buffered', 'delay_bufalloc'])).has_delayed_bufalloc, i.reset(), i[0]]",
        "it(x, flags=['buffered', 'delay_bufalloc'])[0]", "setattr(it(x), 'iterrange', (2, 4))",
        "[(i := it(x, flags=['ranged'])), setattr(i, 'iterrange', (2, 4)), list(i)][1:]",
        "[(i := it(x)), i.enable_external_loop(), list(i)][1:]", "it(x, flags=['c_index']).enable_external_loop()",
        "[(i := it(x, flags=['f_index'])), setattr(i, 'index', 4), i[0], i.copy()[0]][1:]",
        "setattr(it(x, flags=['c_index']), 'index', 14)", "it([x, np.zeros(4)])", "it(x, op_flags='readonly')",
        "it([x, np.zeros(3)], op_flags=[['readonly', 'no_broadcast']] * 2)", "it(x, flags='multi_index')",
        "it(x, op_flags=[['readonly'], ['readonly']])", "it(x, op_flags=['readonly', 'readwrite'])",
        "it([x, np.zeros(3, 'f4')], flags=['common_dtype', 'buffered']).dtypes",
        "it([x, np.zeros(3, 'f4')], flags=['common_dtype']).dtypes",
        "[it(3.5)[0], it([1, 2, 3])[0], it(([1, 2, 3], [4, 5, 6])).nop, it(3.5).shape, it(3.5).ndim]",
    ],
)  # fmt: skip
def test_nditer_answers_as_numpys(text):
    same(lambda lib: eval(text, {"np": lib, "it": lib.nditer, "x": lib.arange(6).reshape(2, 3)}))


@pytest.mark.parametrize(
    "options",
    [
        {"op_axes": [[1, 0]]}, {"op_axes": [[1, 0, -1]]}, {"op_axes": [[1, 0, None]]}, {"op_axes": [[1, 1]]},
        {"op_axes": [[1, 0, -1]], "itershape": (3, 2, 4)}, {"op_axes": [[1]]}, {"op_axes": [[5, 0]]},
        {"op_axes": [[1, 0], [0, 1]]}, {"itershape": (2, 3)}, {"itershape": (4, 2, 3)}, {"itershape": (-1, -1)},
        {"op_axes": [[0, 1]], "itershape": (4, 3)}, {"op_axes": [[0, 1]], "itershape": (2, -1)}, {"itershape": (-1,)},
    ],
    ids=str,
)  # fmt: skip
def test_axes_of_operands(options):
    same(lambda lib: visited(lib, [lib.arange(6).reshape(2, 3)], flags=["multi_index"], **options))


def test_operands_along_axes_of_their_own():
    def outer(lib):
        operands, axes = [lib.arange(2), lib.arange(3)], [[0, -1], [-1, 0]]
        return visited(lib, operands, op_axes=axes, flags=["multi_index"])

    same(outer)


def nested(lib: Any, operands: Any, axes: Any, **options: Any) -> Any:
    levels = lib.nested_iters(operands, axes, **options)
    seen: list[Any] = [level.shape for level in levels]

    def walk(depth: int) -> None:
        for value in levels[depth]:
            seen.append(
                (depth, levels[depth].multi_index if levels[depth].has_multi_index else None, described(lib, value))
            )
            if depth + 1 < len(levels):
                walk(depth + 1)

    walk(0)
    return seen


@pytest.mark.parametrize(
    "axes",
    [[[1], [0, 2]], [[0], [1], [2]], [[0], [2, 1]], [[], [0, 1, 2]], [[2, 1, 0], []], [[1], [2]], [[-1], [0]],
     [[0], [0]], [[0]], [[0], [3]], [0, 1]],
    ids=str,
)  # fmt: skip
def test_nested_loops(axes):
    for options, turned in itertools.product(
        ({}, {"flags": ["multi_index"]}, {"flags": ["external_loop"]}, {"order": "F"},
         {"flags": ["buffered"], "op_dtypes": "f8"}),
        (False, True),
    ):  # fmt: skip

        def loops(lib, options=options, turned=turned):
            x = lib.arange(12).reshape(2, 3, 2)
            return nested(lib, x[:, ::-1] if turned else x, axes, **options)

        same(loops)


def test_nditer_has_numpys_members():
    missing = {name for name in dir(numpy.nditer) if not name.startswith("_")} - set(dir(np.nditer))
    assert not missing
    assert not {name for name in dir(numpy.broadcast) if not name.startswith("_")} - set(dir(np.broadcast))
    assert not {name for name in dir(numpy.flatiter) if not name.startswith("_")} - set(dir(np.flatiter))
