"""Programs that write into an array, in NumPy's words, and what each input contributes to them by plain NumPy.

A program is a target (how the array that is written came about) and a write: at a key, of a source that is made of the
input, or into the whole of it. All are linear in the input, for as long as it keeps its order, so that what an input
contributes is the change of the result when it alone moves, without any law.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy

Function = Callable[..., Any]

# -- targets: (library, input) -> the array that is written ------------------------------------------------------------


def _reversed(np, x, shape):
    return np.zeros(shape)[tuple(slice(None, None, -1) for _ in shape)]


def _view(np, x, shape):
    return np.zeros((2, *shape))[1]


def _broadcast_row(np, x, shape):
    """Decomposed, with parts of which the rows are one in memory."""
    return np.ones(shape) * (x[0] * 2)


TARGETS: dict[str, Function] = {
    "zeros": lambda np, x, shape: np.zeros(shape),
    "view": _view,
    "reversed": _reversed,
    "transposed": lambda np, x, shape: np.zeros(shape[::-1]).T,
    "column major": lambda np, x, shape: np.zeros(shape, order="F"),
    "single": lambda np, x, shape: np.zeros(shape, np.float32),
    "complex": lambda np, x, shape: np.zeros(shape, complex),
    "decomposed": lambda np, x, shape: np.resize(x * 3, shape),
    "decomposed view": lambda np, x, shape: np.resize(x * 3, (*shape, 2))[..., 0],
    "decomposed reversed": lambda np, x, shape: np.resize(x * 3, shape)[tuple(slice(None, None, -1) for _ in shape)],
    "decomposed transposed": lambda np, x, shape: np.resize(x * 3, shape[::-1]).T,
    "decomposed broadcast": _broadcast_row,
}

# -- sources: (library, input, shape to be filled) -> what is written --------------------------------------------------

SOURCES: dict[str, Function] = {
    "scalar": lambda np, x, shape: x[1],
    "0-d": lambda np, x, shape: x[1:2].reshape(()),
    "broadcast": lambda np, x, shape: np.resize(x, (1, *shape[1:])) if shape else x[2],
    "full": lambda np, x, shape: np.resize(x, shape),
    "reversed": lambda np, x, shape: np.resize(x, shape)[tuple(slice(None, None, -1) for _ in shape)],
    "single": lambda np, x, shape: np.resize(x, shape).astype(np.float32),
    "plain": lambda np, x, shape: np.resize(np.arange(7.0), shape),
}

# -- keys, by the shape that they index --------------------------------------------------------------------------------

MASK = numpy.array([True, False, True, False, True])
MASK2 = numpy.array([[True, False, True, False], [False, False, True, True], [True, True, False, False]])
KEYS: dict[tuple[int, ...], dict[str, Any]] = {
    (5,): {
        "int": 1,
        "negative int": -2,
        "slice": slice(1, 4),
        "steps": slice(None, None, 2),
        "negative slice": slice(4, 0, -2),
        "ellipsis": ...,
        "newaxis": None,
        "ellipsis newaxis": (..., None),
        "fancy": [3, 0, 2],
        "fancy one": [3],
        "duplicates": [0, 2, 0, 0, 2],
        "negative duplicates": [0, -5, -1, 4],
        "fancy 2-d": [[0, 1], [1, 0]],
        "mask": MASK,
        "no mask": ~(MASK | True),
        "mask of numbers": numpy.nonzero(MASK),
        "empty": [],
        "empty slice": slice(3, 3),
    },
    (3, 4): {
        "int": -1,
        "ints": (2, -3),
        "slices": (slice(None, None, -1), slice(3, None, -2)),
        "int slice": (1, slice(None, None, 2)),
        "ellipsis int": (..., 2),
        "newaxes": (None, slice(None), None, 1),
        "rows": [2, 0],
        "rows twice": [2, 0, 2],
        "columns twice": (slice(None), [1, 1, 3]),
        "columns reversed": (slice(None, None, -1), [3, -1, 0]),
        "pairs": ([0, 1, 0, -3], [2, 3, 2, -2]),
        "broadcast pairs": ([[0], [0]], [1, 2, 1]),
        "int and fancy": (1, [0, 0, 2]),
        "fancy after newaxis": (None, [0, 0]),
        "mask": MASK2,
        "mask of rows": numpy.array([True, False, True]),
        "mask and int": (numpy.array([True, False, True]), -1),
        "mask and fancy": (numpy.array([True, False, True]), [1, 1]),
        "slice and mask": (slice(1, None), MASK2[0]),
    },
    (2, 3, 2): {
        "apart": ([0, 1, 0], slice(None), [1, 0, 1]),
        "together": (slice(None), [0, 2, 0], [1, 0, 1]),
        "reversed apart": ([1, 1], slice(None, None, -1), [0, 0]),
        "with newaxis": (slice(None), None, [2, 2], 0),
        "ellipsis": ([0, 0], ..., [1, 1]),
    },
    (): {"all": ..., "empty tuple": (), "newaxis": None, "mask": numpy.array(True), "no mask": numpy.array(False)},
    (0, 3): {"all": slice(None), "fancy": ([], [1]), "rows": [], "column": (slice(None), 1)},
}


# -- writes at a key: (library, target, key, source) -------------------------------------------------------------------


def _set(np, y, key, s):
    y[key] = s


def _add(np, y, key, s):
    y[key] += s


def _subtract(np, y, key, s):
    y[key] -= s


def _scale(np, y, key, s):
    y[key] *= 3
    y[key] = y[key] + s


def _at(np, y, key, s):
    np.add.at(y, key, s)


def _subtract_at(np, y, key, s):
    np.subtract.at(y, key, s)


def _twice(np, y, key, s):
    y[key] = s
    y[key] = y[key] * 2 - s


def _self(np, y, key, s):
    y[key] = s
    y[key] = y[key][::-1] if np.ndim(y[key]) else y[key]


KEYED = {"=": _set, "+=": _add, "-=": _subtract, "*=": _scale, "add.at": _at, "subtract.at": _subtract_at,
         "twice": _twice, "self": _self}  # fmt: skip


# -- writes into the whole of a target: (library, target (3, 4), input) ------------------------------------------------


def _full(np, x):
    return np.resize(x, (3, 4))


def _flat_duplicates(np, y, x):
    y.flat[[0, 5, 0, -7]] = x[:4]


def _flat_slice(np, y, x):
    y.flat[::-3] = x[:4]


def _each(np, y, x):
    for i, row in enumerate(y):
        row += x[i]
        row[i] = x[-1]


def _setflags_shape(np, y, x):
    y[...] = _full(np, x)
    z = y.copy()
    z.shape = (4, 3)
    z[[0, 0]] = x[:3]
    y[...] = z.reshape(3, 4)


def _view_written(np, y, x):
    y[1] = x[:4]
    row = y[1]
    row[[0, 0, 1]] = x[1:4]
    y[2] += row


def _reversed_written(np, y, x):
    y[...] = _full(np, x)
    back = y[::-1, ::-1]
    back[[0, 0]] = x[:4]
    y[0] += back[1]


def _moved_within(np, y, x):
    y[...] = _full(np, x)
    y[1:] = y[:-1]
    y[:, 1:] += y[:, :-1]
    y[...] = y[::-1]


def _out_of_itself(np, y, x):
    y[...] = _full(np, x)
    np.add(y, y[::-1], out=y)
    np.cumsum(y, axis=0, out=y)
    np.negative(y, out=y)


def _matmul_out(np, y, x):
    y[...] = _full(np, x)
    np.matmul(np.arange(9.0).reshape(3, 3), y.copy(), out=y)


def _out_views(np, y, x):
    np.add(x[:4], 1, out=y[1])
    np.multiply(x[:3], 2, out=y[:, 2])
    np.add(y[1], y[0], out=y[0])
    np.sum(y, axis=0, out=y[2])


def _where_out(np, y, x):
    np.add(_full(np, x), y, out=y, where=MASK2)
    np.multiply(y, 2, out=y, where=[True, False, False, True])


def _transposed_out(np, y, x):
    np.concatenate([x[:4], x[:4]], out=y.reshape(-1)[:8])
    np.take(x, [0, 0, 1, 2], out=y[2])
    np.copyto(y.T[1], x[:3])


def _shuffled(np, y, x):
    y[...] = _full(np, x)
    np.random.seed(3)
    np.random.shuffle(y)
    np.random.default_rng(3).shuffle(y, axis=1)


def _permuted(np, y, x):
    y[...] = _full(np, x)
    np.random.default_rng(3).permuted(y, axis=1, out=y)


def _sorted(np, y, x):
    y[...] = _full(np, x)
    y.sort()
    y[0] += x[0]
    y.sort(axis=0)


def _sorted_view(np, y, x):
    y[...] = _full(np, x)
    y[1].sort()
    y.T[0].sort()
    y[::-1][0].sort()


def _partitioned(np, y, x):
    y[...] = _full(np, x)
    y.partition(2, axis=1)
    y[1] += x[2]
    y.partition((0, 1), axis=0)


def _resized(np, y, x):
    z = _full(np, x).copy()
    z.resize((2, 5))
    z[[1, 1], [2, 2]] = x[:2]
    z.resize((3, 4))
    y[...] = z


def _operators(np, y, x):
    y += _full(np, x)
    y -= x[:4]
    y *= 3
    y /= 2
    z = np.ones((3, 3))
    z[0] = 2
    y[...] = z @ y


def _matmul_in_place(np, y, x):
    z = np.resize(x, (2, 2)) + 0
    z @= np.array([[1.0, 2.0], [3.0, 5.0]])
    y[:2, :2] = z


def _delivered(np, y, x):
    np.clip(_full(np, x), -1e6, 1e6, out=y)
    np.put_along_axis(y, np.array([[1, 1], [2, 0], [0, 0]]), x[:2], 1)


WHOLE: dict[str, Function] = {
    "fill": lambda np, y, x: y.fill(x[2]),
    "put": lambda np, y, x: y.put([0, 5, 0, -7], x[:4]),
    "np.put": lambda np, y, x: np.put(y, [11, 5, -1, 5, 1], x[:3]),
    "put clip": lambda np, y, x: np.put(y, [30, 5, 40], x[:3], mode="clip"),
    "put wrap": lambda np, y, x: np.put(y, [12, 0, 13, 1], x[:4], mode="wrap"),
    "put one": lambda np, y, x: np.put(y, [1, 1, 2], x[3]),
    "put list": lambda np, y, x: np.put(y, [1, 1, 2], [x[3], x[4], 1.0]),
    "put_along_axis": lambda np, y, x: np.put_along_axis(y, np.array([[1, 1, 2]] * 3), np.resize(x, (3, 3)), 1),
    "put_along_axis 0": lambda np, y, x: np.put_along_axis(y, np.array([[1, 1, 2, 0], [1, 2, 2, 0]]), x[:4], 0),
    "put_along_axis flat": lambda np, y, x: np.put_along_axis(y, np.array([1, 7, 1]), x[:3], None),
    "copyto": lambda np, y, x: np.copyto(y, x[:4]),
    "copyto where": lambda np, y, x: np.copyto(y, _full(np, x), where=MASK2),
    "copyto scalar": lambda np, y, x: np.copyto(y, x[1], where=[True, False, True, True]),
    "place": lambda np, y, x: np.place(y, MASK2, x[:4]),
    "place all": lambda np, y, x: np.place(y, MASK2, np.resize(x, 9)),
    "putmask": lambda np, y, x: np.putmask(y, MASK2, x[:5]),
    "fill_diagonal": lambda np, y, x: np.fill_diagonal(y, x[:3]),
    "fill_diagonal one": lambda np, y, x: np.fill_diagonal(y, x[2]),
    "fill_diagonal wrap": lambda np, y, x: np.fill_diagonal(y.T, x[:4], wrap=True),
    "flat": lambda np, y, x: setattr(y, "flat", x),
    "flat int": lambda np, y, x: y.flat.__setitem__(-2, x[1]),
    "flat duplicates": _flat_duplicates,
    "flat slice": _flat_slice,
    "flat mask": lambda np, y, x: y.flat.__setitem__(MASK2.reshape(-1), x[0]),
    "real": lambda np, y, x: setattr(y, "real", _full(np, x)),
    "each": _each,
    "shape": _setflags_shape,
    "a view": _view_written,
    "a reversed view": _reversed_written,
    "within": _moved_within,
    "out": _out_of_itself,
    "matmul out": _matmul_out,
    "out views": _out_views,
    "out where": _where_out,
    "out of selections": _transposed_out,
    "shuffle": _shuffled,
    "permuted": _permuted,
    "sort": _sorted,
    "sort views": _sorted_view,
    "partition": _partitioned,
    "resize": _resized,
    "operators": _operators,
    "@=": _matmul_in_place,
    "clip and put_along_axis": _delivered,
}  # fmt: skip


# -- programs, and the reference ---------------------------------------------------------------------------------------

# Numbers and steps that are exact in single precision, and leave the order as it is, whichever of the inputs move.
X = numpy.array([8.0, 3.0, 5.0, 1.0, 11.0])
R = X - numpy.arange(1, 6) / 64
SHAPE = (3, 4)  # of what WHOLE writes into


def whole(target: str, name: str) -> Function:
    """The program (library, input) -> array of a write into the whole of a target."""

    def program(np: Any, x: Any) -> Any:
        y = TARGETS[target](np, x, SHAPE)
        WHOLE[name](np, y, x)
        return y * 1.0

    return program


def keyed(target: str, shape: tuple[int, ...], key: Any, name: str, source: str) -> Function:
    """The program of a write at a key."""
    filled = numpy.zeros(shape)[key].shape

    def program(np: Any, x: Any) -> Any:
        y = TARGETS[target](np, x, shape)
        KEYED[name](np, y, key, SOURCES[source](np, x, filled))
        return y * 1.0

    return program


def is_numpys(program: Function) -> bool:
    """Whether NumPy itself runs the program: some writes do not fit a target, a key or a source."""
    try:
        program(numpy, X.copy())
    except (IndexError, TypeError, ValueError):
        return False
    return True


def keyed_cases() -> Iterator[tuple[str, tuple[int, ...], str, str, str]]:
    """Every target, shape, key, write and source that go together."""
    for shape, keys in KEYS.items():
        yield from itertools.product(TARGETS, [shape], keys, KEYED, SOURCES)


def contributions(program: Function) -> tuple[Any, Any, Any]:
    """Value, residual and contributions (*O, n) of a program at X from R: one input is moved at a time."""
    value, residual = program(numpy, X.copy()), program(numpy, R.copy())
    moved = []
    for i in range(len(X)):
        one = R.copy()
        one[i] = X[i]
        moved.append(program(numpy, one) - residual)
    return value, residual, numpy.stack(moved, -1)


def weighted(np: Any, y: Any) -> Any:
    """One number of an array: its elements times 1, 2, 3, ...; of complex ones the parts apart."""
    weights = numpy.arange(1.0, 1 + y.size).reshape(y.shape)
    if np.iscomplexobj(y):
        return (np.real(y) * weights).sum() + (np.imag(y) * weights.reshape(-1)[::-1].reshape(y.shape)).sum()
    return (y * weights).sum()
