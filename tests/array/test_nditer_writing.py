"""`np.nditer` that writes, beside NumPy's: in place, into new arrays, through buffers of other dtypes, reductions."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import npdec as np
from iterated import ARRAYS
from npdec.exceptions import AbsentDTypeError, AbsentError
from outcomes import same

WRITTEN = {
    "in place": ((), {"op_flags": [["readwrite"], ["readonly"]]}),
    "written only": ((), {"op_flags": [["writeonly"], ["readonly"]]}),
    "wider": ((), {"op_flags": [["readwrite"], ["readonly"]], "op_dtypes": ["f8", "f8"], "casting": "unsafe"}),
    "narrower": ((), {"op_flags": [["writeonly"], ["readonly"]], "op_dtypes": ["i2", "i2"], "casting": "same_kind"}),
    "allocated": ((None,), {}),
    "allocated in a dtype": ((None,), {"op_dtypes": [None, None, "f4"]}),
    "allocated, turned": ((None,), {"op_axes": [[0, 1], [0, 1], [1, 0]]}),
    "allocated, reduced": ((None,), {"op_axes": [[0, 1], [0, 1], [0, -1]], "op_flags": "reduced"}),
}


def after_writing(lib: Any, name: str, case: str, flags: list[str], order: str, by_item: bool) -> Any:
    """What the operands are after a loop that writes into the last of them, or into the first."""
    more, options = WRITTEN[case]
    options = dict(options)
    array = ARRAYS[name](lib)
    array = array.copy() if name == "broadcast" else array
    operands = [array, array * 3 + 1, *more]
    flags = list(flags)
    if options.get("op_flags") == "reduced":
        options["op_flags"] = [["readonly"], ["readonly"], ["readwrite", "allocate"]]
        flags.append("reduce_ok")
    at = 2 if more else 0
    with lib.nditer(operands, flags=flags, order=order, **options) as it:
        if "reduce_ok" in flags:
            it.operands[2][...] = 0
            it.reset()
        steps = 0
        while not it.finished:
            read = it[1] + (it[0] if at == 2 or "readwrite" in str(options.get("op_flags")) else 0)
            if "reduce_ok" in flags:
                it[at][...] += read
            elif by_item:
                it[at] = read * 2 + steps
            else:
                it[at][...] = read * 2 + steps
            steps += "buffered" not in flags  # NumPy fills its buffers by rules of its own where an order is asked for
            it.iternext()
        made, dtypes = it.operands[at], [str(dtype) for dtype in it.dtypes]
    return made, dtypes, steps, made.flags.f_contiguous if at == 2 and not it_is_reversed(name) else None


def it_is_reversed(name: str) -> bool:
    """Whether NumPy walks the array backwards, and allocates with strides that torch does not have."""
    return name in ("reversed", "turned", "strided")


@pytest.mark.parametrize("case", WRITTEN)
@pytest.mark.parametrize("name", ARRAYS)
def test_nditer_writes_as_numpys(name, case):
    for flags in ([], ["multi_index"], ["external_loop"], ["buffered"], ["external_loop", "buffered"]):
        for order, by_item in itertools.product("KCF", (False, True)):
            if case == "allocated, reduced" and "external_loop" in flags:
                continue  # see below
            same(lambda lib, rest=(name, case, flags, order, by_item): after_writing(lib, *rest))


@pytest.mark.parametrize("size", [1, 4, 5, 100])
@pytest.mark.parametrize("name", ARRAYS)
def test_buffers_are_put_back_as_numpys(name, size):
    def doubled(lib: Any, dtype: str) -> Any:
        x = ARRAYS[name](lib)
        x = x.copy() if name == "broadcast" else x
        flags, modes = ["buffered", "external_loop"], [["readwrite"]]
        with lib.nditer(x, flags, modes, [dtype], casting="unsafe", buffersize=size) as it:
            for chunk in it:
                chunk *= 2
                chunk += 1
        return x

    for dtype in ("i8", "f4", "i2"):
        same(lambda lib, dtype=dtype: doubled(lib, dtype))


@pytest.mark.parametrize(
    "text",
    [
        "it([x, None], op_flags=[['readonly'], ['writeonly']])", "it([None])", "it([None], itershape=(2, 3)).nop",
        "it([x, None], op_flags=[['readonly'], ['readonly', 'allocate']])", "it([x, 1], op_flags=['readwrite'])",
        "it([None], op_dtypes=['f4'], itershape=(2, 3)).operands[0].shape", "it(2.5, op_flags=['readwrite'])",
        "it([x, None], op_axes=[[0, 1], [0, -1]], flags=['reduce_ok'])", "it([[1, 2]], op_flags=['readwrite'])",
        "it([x, np.zeros(3)], op_flags=[['readonly'], ['readwrite']])", "it(x, op_flags=['readwrite', 'copy'])",
        "it([x, np.zeros((1, 3))], op_flags=[['readonly'], ['readwrite']])", "it(x, op_flags=['readwrite'])[9]",
        "it([x, np.zeros(3)], op_flags=[['readonly'], ['writeonly']], flags=['reduce_ok'])",
        "it([np.broadcast_to(x, (2, 2, 3))], op_flags=['readwrite'])", "it(x, op_flags=['readwrite'], op_dtypes='f4')",
        "it(x, ['buffered'], ['readwrite'], 'f4')", "it(x, ['buffered'], ['writeonly'], 'f4').dtypes",
        "it(x, ['buffered'], ['writeonly'], 'i2').dtypes",
        "it(x, ['buffered'], ['readwrite'], 'c8', casting='same_kind')",
        "[i := it(x, op_flags=['readwrite']), i.__setitem__(slice(0, 1), (7,)), x][1:]",
        "[i := it([x, x.copy()], op_flags=['readwrite']), i.__setitem__(slice(0, 2), (7, 8)), i[1], x][1:]",
        "[i := it(x, op_flags=['readwrite']), i.__setitem__(-1, 7), x][1:]", "it(x).__setitem__(0, 7)",
        "it(x, op_flags=['readwrite']).__setitem__(1, 7)",
        "it([x, None], op_axes=[[0, 1, -1], [0, 1, 2]]).operands[1].shape",
        "it([x, None], op_axes=[[0, 1, -1], [0, 1, 2]], itershape=(-1, -1, 4)).operands[1].shape",
        "it([x, None], flags=['common_dtype'], op_dtypes=[None, None]).dtypes", "it([x, np.float32(1), None]).dtypes",
        "[i := it([x, None]), i.itviews[0][...].shape, i.itviews[1].__setitem__(..., 5), i.operands[1]][1:]",
        "[i := it(x, op_flags=['readwrite']), i.close(), i.value]", "it(x, ['buffered'], ['writeonly'], ['c8'])",
        "[i := it([x[:-1], x[1:]], ['copy_if_overlap'], [['readonly'], ['writeonly']]), after(i), x][1:]",
        "[i := it([x.T[::-1], x.T], ['copy_if_overlap'], [['readonly'], ['writeonly']]), after(i), x][1:]",
        "[i := it([x, x.T.T[::-1]], ['copy_if_overlap'], ['readwrite']), after(i), x][1:]",
        "[i := it([x, x[0]], ['updateifcopy'], [['writeonly', 'updateifcopy'], ['readonly']])]",
        "[i := it([x[0], x + 1], op_flags=[['readonly'], ['writeonly', 'updateifcopy']], op_dtypes=['f4', 'f4'])]",
        "[y := x + 0, i := it([x, y], [], COPIES, ['f4'] * 2, casting='unsafe'), i.operands[1] is y, after(i), y][2:]",
        "[i := it(x[:, ::2], ['buffered', 'external_loop'], [['readonly', 'contig']]), i[0].flags.contiguous][1:]",
        "[i := it(x[:, ::2], ['buffered'], [['readwrite', 'contig']]), i.__setitem__(0, 9), i.close(), x][1:]",
        "it(x, itershape=(2, 1))", "it([x, x[:1, 0]], op_flags=[['readonly'], ['readonly', 'no_broadcast']])",
        "setattr(it(x, ['external_loop']), 'iterindex', 0)",
        "[i := it([x, x, x + 0], ['copy_if_overlap'], [['readonly'], ['writeonly'], ['readonly']]), i.close()][1:]",
        "[i := it([x, x], ['copy_if_overlap'], [['readonly'], ['writeonly']]), after(i), x][1:]",
    ],
)  # fmt: skip
def test_nditer_that_writes_answers_as_numpys(text):
    def after(it: Any) -> None:
        with it:
            for read, written in it:
                written[...] = read * 2 + 1

    names = {"after": after, "COPIES": [["readonly", "copy"], ["writeonly", "updateifcopy"]]}
    same(lambda lib: eval(text, {**names, "np": lib, "it": lib.nditer, "x": lib.arange(6.0).reshape(2, 3)}))


def test_nditer_writes_contributions():
    x, y = (
        np.decompose(np.array([[1.0, 2.0], [3.0, 4.0]]), labels=["p", "q"], groups=[[0, 1], [0, 1]]),
        np.zeros((2, 2)),
    )
    with np.nditer([x.T, y], op_flags=[["readonly"], ["writeonly"]]) as it:
        for a, b in it:
            b[...] = a * 2
    assert y.components.tolist() == (2 * x.T).components.tolist()
    with np.nditer([x, None], flags=["external_loop"]) as it:
        for a, b in it:
            b[...] = a * a
        assert it.operands[1].components.tolist() == (x * x).components.tolist()
    z = x[::-1, ::-1].copy()[::-1, ::-1]
    with np.nditer(z, ["external_loop", "buffered"], ["readwrite"], buffersize=3) as it:
        for a in it:
            a *= 3
    assert z.components.tolist() == (3 * x).components.tolist()


def test_what_was_not_written_back_is_with_a_warning():
    x = np.arange(3.0)
    it = np.nditer(x, op_flags=[["readwrite", "updateifcopy"]], op_dtypes=["f4"], casting="same_kind")
    it[0] = 7
    assert x[0] == 0
    with pytest.warns(RuntimeWarning, match="context manager"):
        del it
    assert x[0] == 7


ENDS = {
    "nothing": lambda it: None,
    "close": lambda it: it.close(),
    "all values": list,
    "going elsewhere": lambda it: setattr(it, "iterindex", 3),
}


@pytest.mark.parametrize("end", ENDS)
def test_buffers_are_put_back_at_every_end(end):
    def ended(lib: Any) -> Any:
        x = lib.arange(5.0)
        it = lib.nditer(x, ["buffered"], ["readwrite"], "f4", casting="same_kind")
        it[0] = 7.3
        ENDS[end](it)
        del it
        return x

    same(ended)


def test_what_nditer_does_not_write_says_so():
    x = np.zeros((2, 3))
    for flag in ("writemasked", "virtual"):
        with pytest.raises(AbsentDTypeError, match=rf"operand 0 is \"{flag}\".*x\[it.multi_index\]"):
            np.nditer(x, op_flags=[["readwrite", flag]])
    axes = [[0, 1], [0, -1]]
    with pytest.raises(AbsentDTypeError, match=r"operand 1 of shape .* is reduced over chunks"):
        np.nditer([x, np.zeros(2)], ["external_loop", "reduce_ok"], [["readonly"], ["readwrite"]], op_axes=axes)
    with pytest.raises(AbsentError, match="None as an operand"):
        np.nested_iters([x, None], [[0], [1]])
    with pytest.raises(AbsentError, match="keeps its dtype"):
        np.nested_iters(x, [[0], [1]], ["buffered"], ["readwrite"], "f4", casting="unsafe")
    with pytest.raises(AbsentError, match="operand 0 is written by way of a copy"):
        np.nested_iters([x, x], [[0], [1]], ["copy_if_overlap"], [["readwrite"], ["readonly"]])
    with pytest.raises(ValueError, match="read-only"):
        next(np.nditer(np.zeros(3)))[...] = 1.0


@pytest.mark.parametrize("axes", [[[1], [0, 2]], [[0], [1], [2]], [[2, 1], [0]]], ids=str)
def test_nested_loops_write(axes):
    def written(lib: Any) -> Any:
        x = lib.arange(12).reshape(2, 3, 2)
        *outer, inner = lib.nested_iters([x[:, ::-1], x + 5], axes, op_flags=[["readwrite"], ["readonly"]])

        def walk(depth: int) -> None:
            for _ in outer[depth]:
                if depth + 1 < len(outer):
                    walk(depth + 1)
                else:
                    for a, b in inner:
                        a[...] = a * b

        walk(0)
        return x

    same(written)
