"""Writes of plain numbers are whole, wherever an interrupt comes: one is tried at every instruction, or at many."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import npdec as np
import tiers
from interrupted import Places

# Python itself passes over what is raised while it ends a generator that nobody keeps.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

INDEX = numpy.array([3, 0, 2])
MASK = numpy.array([True, False, True, True, False, True])

WRITES = {
    "element": lambda x, a: x.__setitem__(2, a[1]),
    "element from the end": lambda x, a: x.__setitem__(-2, a[1]),
    "item": lambda x, a: x.__setitem__((0,), a[1].item()),
    "slice": lambda x, a: x.__setitem__(slice(1, 5), a[:4]),
    "reversed": lambda x, a: x.__setitem__(slice(None, None, -1), a),
    "number": lambda x, a: x.__setitem__(slice(None), a[0]),
    "array of indices": lambda x, a: x.__setitem__(np.array(INDEX), a[:3]),
    "list of indices": lambda x, a: x.__setitem__([0, 0, 4], a[:3]),
    "mask": lambda x, a: x.__setitem__(np.array(MASK), a[:4]),
    "number under a mask": lambda x, a: x.__setitem__(np.array(MASK), a[3]),
    "list": lambda x, a: x.__setitem__(slice(0, 3), a[:3].tolist()),
    "flat": lambda x, a: x.flat.__setitem__(slice(None, None, 2), a[:3]),
    "flat at an index": lambda x, a: x.flat.__setitem__(1, a[0]),
    "fill": lambda x, a: x.fill(a[2]),
    "put": lambda x, a: np.put(x, np.array(INDEX), a[:3]),
    "put of a number": lambda x, a: np.put(x, np.array(INDEX), a[4].item()),
    "put at an index": lambda x, a: np.put(x, 3, a[4].item()),
    "put_along_axis": lambda x, a: np.put_along_axis(x, np.array(INDEX), a[4].item(), 0),
    "put_along_axis of several": lambda x, a: np.put_along_axis(x, np.array(INDEX), a[:3], 0),
    "putmask": lambda x, a: np.putmask(x, np.array(MASK), a),
    "place": lambda x, a: np.place(x, np.array(MASK), a),
    "copyto": np.copyto,
    "copyto where": lambda x, a: np.copyto(x, a, where=np.array(MASK)),
    "choose": lambda x, a: np.choose(np.array([0, 1, 1, 0, 1, 0]), [a, a[::-1]], out=x),
    "take": lambda x, a: np.take(a, [3, 3, 1, 0, 5, 2], out=x, mode="clip"),
    "compress": lambda x, a: np.compress(MASK, a, out=x[:4]),
    "add": lambda x, a: np.add(x, a, out=x),
    "add where": lambda x, a: np.add(x, a, out=x, where=np.array(MASK)),
    "in place": lambda x, a: x.__iadd__(a),
    "add.at": lambda x, a: np.add.at(x, np.array([0, 0, 4]), a[:3]),
    "multiply.at": lambda x, a: np.multiply.at(x, [0, 0, 4], a[0]),
    "add.accumulate": lambda x, a: np.add.accumulate(a, out=x),
    "cumsum": lambda x, a: np.cumsum(a, out=x),
    "sort": lambda x, a: x.sort(),
    "partition": lambda x, a: x.partition(3),
    "matmul": lambda x, a: np.matmul(np.eye(6, dtype=a.dtype)[::-1], a, out=x),
    "concatenate": lambda x, a: np.concatenate([a[:2], a[2:]], out=x),
    "stack": lambda x, a: np.stack([a[:3], a[3:]], out=x.reshape(2, 3)),
    "mean": lambda x, a: np.mean([a, a], axis=0, out=x) if a.dtype.kind in "fc" else x.fill(1),
    "clip": lambda x, a: np.clip(a, 1, 3, out=x) if a.dtype.kind != "c" else x.fill(1),
    "byteswap": lambda x, a: x.byteswap(inplace=True),
    "shuffle": lambda x, a: np.random.default_rng(0).shuffle(x),
    "indices in a list": lambda x, a: x.__setitem__([3, 0, 2], a[:3]),
    "values in a list": lambda x, a: x.__setitem__([3, 0, 2], [1.5, 2.5, 3.5]),
    "mask in a list": lambda x, a: x.__setitem__(MASK.tolist(), a[0]),
    "put in a list": lambda x, a: np.put(x, [3, 0, 2], a[:3]),
    "real": lambda x, a: setattr(x, "real", a.real),
    "fill_diagonal": lambda x, a: np.fill_diagonal(x[:4].reshape(2, 2), a[0]),
}  # fmt: skip

LAYOUTS = {
    "own": lambda x: (x, x),
    "column": lambda x: (whole := np.stack([x, x], axis=1), whole[:, 0]),
    "reversed": lambda x: (x, x[::-1]),
}


class Interrupt(BaseException):
    pass


def interrupted_at(at: int, write, *args) -> int:
    """Write, interrupted before the instruction of this number; how many there were."""
    places = Places(at, Interrupt(), ("opcode",))
    before = sys.gettrace()
    sys.settrace(places.trace)
    try:
        write(*args)
    except Interrupt:
        pass
    finally:
        sys.settrace(before)
    return places.count


def tried(write, layout, dtype, every=1) -> None:
    def fresh():
        x = np.array([1, 5, 2, 4, 3, 1]).astype(dtype)
        whole, target = LAYOUTS[layout](x)
        target[0], whole.flat[0]  # windows to elements are there
        a = np.array([2, 1, 4, 3, 1, 5]).astype(dtype)
        if dtype == "complex128":
            a = a * (1 + 2j)
        return whole, target, a

    def state(whole, target):
        return whole.tobytes(), target.tobytes()

    whole, target, a = fresh()
    before = state(whole, target)
    write(target, a)
    after = state(whole, target)
    whole, target, a = fresh()
    count = interrupted_at(0, write, target, a)
    for at in range(1, count + 1, every):
        whole, target, a = fresh()
        interrupted_at(at, write, target, a)
        found = state(whole, target)
        assert found in (before, after), f"instruction {at} of {count}: {whole!r}, {target!r}"


def apart(*args, **options):
    """In a thread of its own: where an interrupt comes as a handler begins or ends, Python keeps what is handled."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(tried, *args, **options).result()


DTYPES = ("float64", "complex128", "int64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["element", "put of a number", "putmask"])
def test_no_instruction_divides_a_write(name, dtype):
    apart(WRITES[name], "own", dtype, every=3 if tiers.quick else 1)


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", WRITES)
def test_no_instruction_divides_any_write(name, layout):
    for dtype in DTYPES:
        apart(WRITES[name], layout, dtype, every=13)
