"""Sample calls of every public function, independent of the library that runs them: the table that other tests read.

A sample holds arguments in which arrays are `Arr` (nested lists and a dtype); `Sample.build(lib)` makes them with NumPy
or with npdec. What a sample cannot say by its arguments, it says by hints (`Sample.of`). `SAMPLES` has one entry a
function, by its dotted name; `NO_SAMPLE` says why a public callable has none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy

import npdec

# -- arrays in samples -------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Arr:
    """An array to be made: nested lists of numbers, and the name of a dtype."""

    data: Any
    dtype: str

    def to(self, dtype: str) -> Arr:
        return Arr(self.data, dtype)

    @property
    def inexact(self) -> bool:
        return self.dtype.startswith(("float", "complex"))


@dataclasses.dataclass(frozen=True)
class Made:
    """An argument that each library makes for itself."""

    make: Callable[[Any], Any]


def _nested(shape: tuple[int, ...], draw: Callable[[], Any]) -> Any:
    return draw() if not shape else [_nested(shape[1:], draw) for _ in range(shape[0])]


def _drawn(kind: str, shape: tuple[int, ...], seed: int, dtype: str, draw: Callable[[random.Random], Any]) -> Arr:
    source = random.Random(f"{kind}{shape}{seed}")
    return Arr(_nested(shape, lambda: draw(source)), dtype)


def real(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> Arr:
    return _drawn("real", shape, seed, "float64", lambda r: round(r.uniform(low, high), 3))


def positive(*shape: int, seed: int = 0) -> Arr:
    return real(*shape, seed=seed, low=0.3, high=2.5)


def unit(*shape: int, seed: int = 0) -> Arr:
    return real(*shape, seed=seed, low=-0.9, high=0.9)


def integers(*shape: int, seed: int = 0, low: int = -5, high: int = 9, dtype: str = "int64") -> Arr:
    return _drawn("int", shape, seed, dtype, lambda r: r.randint(low, high))


def booleans(*shape: int, seed: int = 0) -> Arr:
    return _drawn("bool", shape, seed, "bool", lambda r: r.random() < 0.5)


def compl(*shape: int, seed: int = 0) -> Arr:
    def draw(r: random.Random) -> complex:
        return complex(round(r.uniform(-2, 2), 3), round(r.uniform(-2, 2), 3))

    return _drawn("complex", shape, seed, "complex128", draw)


def well(n: int, *lead: int, seed: int = 0) -> Arr:
    """A well-conditioned matrix, or a stack of them: the diagonal dominates."""

    def dominate(a: Any, depth: int) -> Any:
        if depth:
            return [dominate(b, depth - 1) for b in a]
        return [[x + (3 + 2 * i) * (i == j) for j, x in enumerate(row)] for i, row in enumerate(a)]

    return Arr(dominate(unit(*lead, n, n, seed=seed).data, len(lead)), "float64")


def symmetric(n: int, *lead: int, seed: int = 0) -> Arr:
    def average(a: Any, depth: int) -> Any:
        if depth:
            return [average(b, depth - 1) for b in a]
        return [[(a[i][j] + a[j][i]) / 2 for j in range(n)] for i in range(n)]

    return Arr(average(well(n, *lead, seed=seed).data, len(lead)), "float64")


def with_nan(a: Arr) -> Arr:
    """The array with its second element (of the first row) not a number."""
    rows = [list(row) if isinstance(row, list) else row for row in a.data]
    (rows[0] if isinstance(rows[0], list) else rows)[1] = float("nan")
    return Arr(rows, a.dtype)


def arr(data: Any, dtype: str = "float64") -> Arr:
    return Arr(data, dtype)


# -- samples -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Sample:
    """One call. Hints: `base` is where baselines may lie ("any", "positive", "unit", "above" one, "near" the value, or
    "nowhere": the sample is not decomposed); `freezes` says which selection is made at the value, so that the residual
    need not be the function of the baseline;
    `writes` says that the first argument is changed and is what to compare; `up_to_sign` compares magnitudes (vectors
    of a decomposition), `up_to_order` sorted results; `shape_only` compares no numbers; `degenerate` names the dtypes
    in which the matrix has equal singular values or eigenvalues or lacks rank, so that the vectors are arbitrary."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    base: str = "any"
    writes: bool = False
    up_to_sign: bool = False
    up_to_order: bool = False
    shape_only: bool = False
    freezes: str = ""
    degenerate: tuple[str, ...] = ()

    def of(self, **hints: Any) -> Sample:
        return dataclasses.replace(self, **hints)

    def build(self, lib: Any) -> tuple[list[Any], dict[str, Any]]:
        return [make(lib, a) for a in self.args], {k: make(lib, v) for k, v in self.kwargs.items()}

    def __repr__(self) -> str:
        words = [_short(a) for a in self.args] + [f"{k}={_short(v)}" for k, v in self.kwargs.items()]
        return f"({', '.join(words)})"


def _short(item: Any) -> str:
    if isinstance(item, Arr):
        return f"{item.dtype}{list(numpy.shape(item.data))}"
    if isinstance(item, (list, tuple)) and len(item) < 6:
        return f"[{', '.join(map(_short, item))}]"
    return getattr(item, "__name__", str(item))[:30]


def make(lib: Any, item: Any) -> Any:
    """An argument with its arrays made by the library."""
    if isinstance(item, Arr):
        return lib.array(item.data, dtype=item.dtype)
    if isinstance(item, Made):
        return item.make(lib)
    if isinstance(item, (list, tuple)):
        return type(item)(make(lib, i) for i in item)
    return item


def call(*args: Any, **kwargs: Any) -> Sample:
    return Sample(args, kwargs)


def each(args: list[tuple[Any, ...]], **hints: Any) -> list[Sample]:
    return [call(*a).of(**hints) for a in args]


def unary(
    domain: Callable[..., Arr] = real, base: str = "any", complexes: bool = True, ints: bool = True
) -> list[Sample]:
    """Samples of a function of one array of inexact numbers."""
    made = [call(domain(2, 3)), call(domain(4, seed=1).to("float32")), call(domain(seed=2)), call(domain(2, 0))]
    if ints:
        made.append(call(integers(3, low=1, high=1 if domain is unit else 5)))
    made = [s.of(base=base) for s in made]
    return [*made, call(compl(3)).of(base="near")] if complexes else made


def binary(
    domain: Callable[..., Arr] = real, base: str = "any", complexes: bool = True, ints: bool = True
) -> list[Sample]:
    made = [
        call(domain(2, 3), domain(3, seed=1)),
        call(domain(2, 1), domain(3, seed=2).to("float32")),
        call(domain(3), 1.5),
        call(2, domain(3, seed=1)),
        call(domain(seed=3), domain(seed=4)),
    ]
    if complexes:
        made.append(call(compl(3), compl(2, 1, seed=1)))
    if ints:
        made.append(call(integers(4, low=1), integers(4, low=1, seed=1)))
    return [s.of(base=base) for s in made]


def whole(n: int = 2) -> list[Sample]:
    """Samples of a function of n arrays of integers."""
    a, b = integers(2, 3, low=0, high=9), integers(3, low=1, high=6, seed=1)
    if n == 1:
        return [call(a), call(b.to("uint8")), call(booleans(3)), call(5)]
    return [call(a, b), call(a.to("int16"), b.to("int8")), call(b.to("uint8"), 3), call(b.to("uint64"), b.to("uint64"))]


def compared() -> list[Sample]:
    x, y = arr([1.0, 2.0, 3.0]), arr([[1.0, 2.5, 0.0], [3.0, 2.0, 3.0]])
    return [
        call(x, y),
        call(integers(3), 2),
        call(compl(3), compl(3)),
        call(2.0, 3),
        call(booleans(3), booleans(3, seed=1)),
    ]


def reductions(*, complexes: bool = True, empty: bool = True, dtype: bool = False) -> list[Sample]:
    x = real(2, 3, 4)
    made = [call(x), call(x, axis=1), call(x, axis=(0, -1), keepdims=True), call(real(3).to("float32")), call(real())]
    made += [call(integers(2, 3), axis=0), call(booleans(3))]
    if complexes:
        made.append(call(compl(3, 2), axis=-1))
    if empty:
        made.append(call(real(3, 0), axis=1))
    if dtype:
        made += [call(integers(4), dtype="float32"), call(x, dtype="float32", axis=2)]
    return made


X, Y, V, W, M = real(2, 3), real(2, 3, seed=1), real(5), real(5, seed=1), real(3, 3)
P, N, C, B = positive(2, 3), integers(2, 3), compl(2, 3), booleans(2, 3)
CUBE = real(2, 3, 4)
T = [[1.5, 2.0], [0.5, -1.0]]


def _plus(a: Any, b: Any) -> Any:
    return a * 2 + b


def _plus_itself(a: Any) -> Any:
    return a + a * a


def _range(a: Any) -> Any:
    return a.max() - a.min()


CREATION = {
    "array": [*each([(T,), (3,), (X,), ([1, 2, True],), ([],)]), call(X, "float32"),
              call([1, 2], dtype=complex, ndmin=3), call(X, order="F"), call([[X, Y], [Y, X]])],
    "asarray": [*each([(T,), (X,), (2.5,)]), call(X, "float32"), call(N, float, copy=True)],
    "asanyarray": each([(T,), (X,)]),
    "asarray_chkfinite": each([(T,), (X,)]),
    "ascontiguousarray": [*each([(T,), (2.0,), (X,)]), call(N, dtype="int8")],
    "asfortranarray": each([(T,), (X,)]),
    "require": [call(X), call(X, "float32", "F"), call(X, requirements=["C", "W"])],
    "from_dlpack": [call(X), call(N)],
    "frombuffer": [call(b"\x01\x02\x03\x04", "uint8"), call(bytes(16), count=1, offset=8)],
    "fromiter": [call(Made(lambda lib: iter([1, 2, 3])), "int32"),
                 call(Made(lambda lib: iter([1.5, 2.0, 3.0])), float, 2)],
    "fromfunction": [call(_plus, (2, 3)), call(_plus, (2, 2), dtype=int)],
    "empty": [call((2, 3)).of(shape_only=True), call(3, dtype="int16").of(shape_only=True),
              call((2, 3), order="F").of(shape_only=True)],
    "zeros": each([((2, 3),), (3, "int32"), ((), bool), ((2, 3), complex, "F")]),
    "ones": each([((2, 3),), (3, "int32"), ((), bool)]),
    "full": [*each([((2, 3), 1.5), (3, 2), ((2, 2), [1, 2])]), call(2, 1, dtype="float32"), call((2, 3), real(3))],
    "empty_like": [call(X).of(shape_only=True), call(X, "int8", shape=(4,)).of(shape_only=True)],
    "zeros_like": [call(X), call(N, dtype=float), call(X, shape=(4, 1)), call(T)],
    "ones_like": [call(X), call(N, dtype=float), call(X, shape=3)],
    "full_like": [call(X, 2), call(N, 1.5), call(N, 1.5, dtype=float), call(X, [1, 2, 3]), call(X, real(3))],
    "copy": [call(X), call(T), call(X, order="F")],
    "eye": each([(3,), (2, 4), (3, 3, 1), (3, None, -1, "int8")]),
    "identity": each([(3,), (2, "int64")]),
    "tri": each([(3,), (3, 4, 1), (2, 2, -1, "bool")]),
    "diag": [call(V), call(M), call(X, 1), call(V, -1)],
    "diagflat": [call(X), call(V, 2)],
    "tril": [call(M), call(CUBE, 1), call(N, -1)],
    "triu": [call(M), call(CUBE, -1), call(V)],
    "vander": [call(V), call(V, 3), call(V, 3, True), call(integers(3))],
    "meshgrid": [call(V, real(3)), call(V, real(3), indexing="ij", sparse=True), call(V, real(2), real(3), copy=False)],
    "indices": [call((2, 3)), call((2, 3), "float32"), call((2, 2), sparse=True)],
    "arange": [*each([(5,), (1, 7, 2), (0.0, 1.0, 0.3), (5, 1, -1), (3.5,), (2, 2)]), call(3, dtype="float32")],
    "linspace": [*each([(0, 1), (2.0, 3.0, 5), (1, 10, 4, False)]), call(V, W, 3), call(0, 5, 6, dtype=int),
                 call(1, 2, 3, retstep=True), call(V, 1.0, 4, axis=-1)],
    "logspace": [call(0, 2, 5), call(0.0, 1.0, 3, base=2.0), call(1, 3, 3, endpoint=False), call(V, W, 3)],
    "geomspace": [call(1, 1000, 4), call(positive(2), 3.0, 5).of(base="positive"), call(-1.0, -8.0, 4),
                  call(1j, 16j, 5)],
    "diag_indices": [call(3), call(2, 3)],
    "diag_indices_from": [call(M)],
    "tril_indices": [call(3), call(3, 1, 4)],
    "triu_indices": [call(3), call(3, -1, 2)],
    "tril_indices_from": [call(M), call(X, 1)],
    "triu_indices_from": [call(M), call(X, -1)],
    "mask_indices": [call(3, Made(lambda lib: lib.triu)), call(3, Made(lambda lib: lib.tril), -1)],
}  # fmt: skip

MOVEMENT = {
    "ndim": [call(X), call(3.0), call(T)],
    "shape": [call(X), call(3.0), call(T)],
    "size": [call(X), call(X, 1), call(T)],
    "reshape": [call(X, (3, 2)), call(X, -1), call(CUBE, (4, -1), order="F"), call(X, (3, 2), copy=True), call(T, 4)],
    "ravel": [call(X), call(X, "F"), call(CUBE, "K"), call(3.0)],
    "transpose": [call(X), call(CUBE, (2, 0, 1)), call(3.0)],
    "permute_dims": [call(X), call(CUBE, (2, 0, 1))],
    "matrix_transpose": [call(X), call(CUBE)],
    "swapaxes": [call(CUBE, 0, -1)],
    "moveaxis": [call(CUBE, 0, -1), call(CUBE, [0, 1], [-1, 0])],
    "rollaxis": [call(CUBE, 2), call(CUBE, 0, 3)],
    "expand_dims": [call(X, 1), call(X, (0, -1)), call(2.0, 0)],
    "squeeze": [call(real(1, 3, 1)), call(real(1, 3, 1), axis=0), call(real(1))],
    "atleast_1d": [call(2.0), call(X), call(V, 1)],
    "atleast_2d": [call(2.0), call(V), call(V, X)],
    "atleast_3d": [call(2.0), call(V), call(X), call(X, CUBE)],
    "broadcast_to": [call(V, (2, 5)), call(2.0, 3), call(real(2, 1), (2, 3))],
    "broadcast_arrays": [call(V, real(2, 1)), call(1.0, X)],
    "broadcast_shapes": [call((2, 1), (3,)), call(3, (2, 3)), call()],
    "real": [call(C), call(X), call(1 + 2j)],
    "imag": [call(C), call(X), call(1 + 2j)],
    "concatenate": [call([X, Y]), call((X, N), 1), call([X, V], axis=None),
                    call([X, Y], dtype="float32", casting="same_kind")],
    "concat": [call([X, Y])],
    "stack": [call([X, Y]), call([X, N], -1), call([1.0, 2.0])],
    "vstack": [call([X, real(3)]), call((V, W)), call([1, 2])],
    "row_stack": [call([X, real(3)])],
    "hstack": [call([X, Y]), call((V, W)), call([1, 2])],
    "dstack": [call([X, Y]), call((V, W))],
    "column_stack": [call([V, W]), call([X, real(2)])],
    "block": [call([[X, Y], [Y, X]]), call([V, 1.0]), call(2.0)],
    "array_split": [call(V, 3), call(X, [1, 2], axis=1)],
    "split": [call(X, 2), call(V, [2, 3]), call(X, [1], axis=-1)],
    "hsplit": [call(X, 3), call(V, [2])],
    "vsplit": [call(X, 2)],
    "dsplit": [call(CUBE, 2)],
    "unstack": [call(X), call(CUBE, axis=-1)],
    "tile": [call(V, 2), call(X, (2, 1, 2)), call(1.0, 3)],
    "repeat": [call(V, 2), call(X, [1, 0, 2], axis=1), call(3.0, 2)],
    "resize": [call(X, (3, 3)), call(X, 4), call(V, (2, 0))],
    "flip": [call(X), call(CUBE, 1), call(CUBE, (0, 2))],
    "fliplr": [call(X)],
    "flipud": [call(X), call(V)],
    "rot90": [call(X), call(CUBE, 2), call(CUBE, -1, (1, 2))],
    "roll": [call(V, 2), call(X, -1, axis=1), call(X, (1, 2), axis=(0, 1))],
    "append": [call(V, 1.0), call(X, Y, axis=0), call(X, N)],
    "insert": [call(V, 1, 9.0), call(X, [0, 2], real(2), axis=1), call(V, slice(1, 3), 0.0), call(X, 1, 5.0)],
    "delete": [call(V, 1), call(X, [0, 2], axis=1), call(V, slice(1, 3)), call(X, 1)],
    "trim_zeros": [call(arr([0.0, 0, 1, 2, 0])), call(arr([0.0, 0, 1, 2, 0]), "f")],
    "diagonal": [call(M), call(CUBE, 1, 0, 2)],
    "take": [call(V, [0, 3, 3]), call(X, 1, axis=1), call(X, [[0, 2], [1, 1]], axis=-1), call(V, [7, -9], mode="wrap"),
             call(V, [7, -9], mode="clip"), call(X, 4)],
    "take_along_axis": [call(X, arr([[0, 2], [1, 1]], "int64"), 1), call(V, arr([4, 0], "int64"), 0),
                        call(X, arr([5, 1], "int64"), None)],
    "compress": [call([True, False, True], V), call([0, 1], X, axis=0)],
    "extract": [call(B, X), call([True, False, True, False, False], V)],
    "choose": [call(arr([1, 0, 1], "int64"), [real(3), real(3, seed=1)]),
               call(arr([3, -1, 1, 0, 8], "int64"), [V, W], mode="wrap")],
    "select": [call([arr([True, False, True], "bool"), arr([True, True, False], "bool")], [real(3), real(3, seed=1)],
                    7.0),
               call([B], [X])],
    "where": [call(B, X, Y), call(B, 1.0, X), call(arr([True, False, True], "bool"), X, 0), call(B),
              call(True, 1, 2.5)],
    "pad": [call(V, 2), call(X, ((1, 0), (0, 2)), constant_values=1.5), call(V, (1, 2), mode="edge"),
            call(V, 2, mode="reflect"),
            call(V, 3, mode="symmetric"), call(X, 1, mode="wrap"), call(V, 2, mode="linear_ramp", end_values=1.0),
            call(V, 2, mode="maximum"), call(X, 1, mode="mean"), call(X, 1, mode="minimum", stat_length=2),
            call(X, 1, mode="median").of(freezes="the order is the value's")],
    "copyto": [call(X, Y), call(X, 1.5, where=B), call(N, True), call(X, V.data[:3])],
    "put": [call(V, [0, 3], [9.0, 8.0]), call(X, [1, 4, 5], 0.5), call(V, [7], 1.0, mode="wrap"), call(X, [0], Y)],
    "place": [call(X, B, arr([1.5, 2.5])), call(V, [True, False, True, False, True], W)],
    "putmask": [call(X, B, Y), call(V, [True, False, True, False, True], arr([9.0, 8.0]))],
    "put_along_axis": [call(X, arr([[0, 2], [1, 0]], "int64"), 9.0, 1),
                       call(V, arr([4, 0], "int64"), arr([1.0, 2.0]), 0)],
    "fill_diagonal": [call(M, 1.5), call(real(4, 2), [1.0, 2.0], wrap=True), call(M, real(3))],
    "nonzero": [call(B), call(N), call(V)],
    "argwhere": [call(B), call(N), call(X)],
    "flatnonzero": [call(B), call(N), call(X)],
    "ix_": [call([0, 2], [1, 3]), call([True, False, True], [2])],
    "ravel_multi_index": [call(([0, 1], [2, 1]), (2, 3)), call(([5], [-1]), (2, 3), mode=("wrap", "clip"), order="F")],
    "unravel_index": [call([5, 2], (2, 3)), call(4, (2, 3), order="F")],
}  # fmt: skip
for _name in ("copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal"):
    MOVEMENT[_name] = [s.of(writes=True) for s in MOVEMENT[_name]]

ABOVE = arr([[1.2, 2.5, 3.1], [1.7, 1.1, 4.0]])
ELEMENTWISE = {
    **{name: unary() for name in "exp exp2 expm1 sin cos tan sinh cosh tanh arctan arcsinh square sinc".split()},
    **{name: unary() for name in "negative positive conjugate".split()},
    **{name: unary(positive, "positive") for name in "log log2 log10 log1p sqrt reciprocal".split()},
    **{name: unary(unit, "unit") for name in "arcsin arccos arctanh".split()},
    "arccosh": [*each([(ABOVE,), (arr([1.5, 2.0], "float32"),), (integers(3, low=1),)], base="above"),
                call(C).of(base="near")],
    **{name: unary(complexes=False)
       for name in "cbrt fabs degrees radians rad2deg deg2rad floor ceil trunc fix signbit spacing i0".split()},
    "absolute": [*unary(complexes=False), call(C)],
    "rint": unary(),
    "sign": unary(),
    "angle": [call(C), call(C, True), call(X)],
    "add": binary(),
    "subtract": binary(),
    "multiply": binary(),
    "divide": binary(positive, "positive"),
    "power": [*binary(positive, "positive"), call(X, 2), call(X, 3.0), call(N, arr([0, 1, 2], "int64"))],
    "float_power": [*binary(positive, "positive"), call(N, 2)],
    "floor_divide": binary(positive, "positive", complexes=False),
    "remainder": binary(positive, "positive", complexes=False),
    "fmod": binary(positive, "positive", complexes=False),
    "divmod": binary(positive, "positive", complexes=False),
    "logaddexp": binary(complexes=False),
    "logaddexp2": binary(complexes=False),
    "arctan2": binary(positive, "positive", complexes=False),
    "hypot": binary(complexes=False),
    "maximum": [*binary(complexes=False), call(compl(3), compl(2, 1, seed=1))],
    "minimum": [*binary(complexes=False), call(compl(3), compl(2, 1, seed=1))],
    "fmax": [*binary(complexes=False), call(compl(3), compl(2, 1, seed=1))],
    "fmin": [*binary(complexes=False), call(compl(3), compl(2, 1, seed=1))],
    "copysign": binary(complexes=False),
    "nextafter": binary(complexes=False),
    "heaviside": binary(complexes=False),
    "ldexp": [call(X, integers(2, 3)), call(1.5, 3), call(V.to("float32"), 2)],
    "frexp": unary(complexes=False),
    "modf": unary(complexes=False),
    "clip": [call(X, -0.5, 0.5), call(X, None, 0.2), call(X, real(3), positive(3)), call(N, 0, 3), call(X, min=-1.0),
             call(X, max=0)],
    "round": [call(X), call(X, 1), call(N, -1), call(2.567, 2), call(C, 1)],
    "around": [call(X), call(X, 1)],
    "nan_to_num": [call(with_nan(X)).of(base="nowhere"), call(arr([float("inf"), float("-inf"), 1.0])),
                   call(with_nan(V), nan=1.5, posinf=2.0).of(base="nowhere"), call(X)],
    "real_if_close": [call(C),
                      call(arr([1 + 1e-20j, 2.0], "complex128")).of(
                          freezes="whether imaginary parts vanish is decided at the value"),
                      call(X)],
    **{name: whole() for name in "bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm".split()},
    "invert": whole(1),
    "bitwise_count": whole(1),
    "packbits": [call(B), call(N, axis=1), call(True),
                 call(integers(9, low=0, high=1, dtype="uint8"), bitorder="little")],
    "unpackbits": [call(arr([2, 7, 255], "uint8")), call(arr([[2, 7], [9, 0]], "uint8"), 1, 20),
                   call(arr([[2, 7]], "uint8"), axis=1, count=-3, bitorder="little")],
    **{name: compared() for name in "less less_equal greater greater_equal equal not_equal".split()},
    **{name: compared() for name in "logical_and logical_or logical_xor".split()},
    "logical_not": [call(X), call(B), call(N), call(0.0)],
    **{name: [call(with_nan(X)), call(arr([float("inf"), 1.0])), call(C), call(3)]
       for name in "isnan isinf isfinite".split()},
    "isposinf": [call(arr([float("inf"), float("-inf"), 1.0])), call(3)],
    "isneginf": [call(arr([float("inf"), float("-inf"), 1.0])), call(3)],
    **{name: [call(C), call(X), call(arr([1 + 0j, 2j], "complex128"))]
       for name in "isreal iscomplex".split()},
    **{name: [call(C), call(X), call(1j)] for name in "isrealobj iscomplexobj".split()},
    "isclose": [call(X, X), call(V, W, 1.0, 0.5), call(with_nan(V), with_nan(V), equal_nan=True),
                call(1.0, 1.0 + 1e-9)],
    "allclose": [call(X, X), call(V, W), call(with_nan(V), with_nan(V), equal_nan=True)],
    "array_equal": [call(X, X), call(X, V), call(with_nan(V), with_nan(V)),
                    call(with_nan(V), with_nan(V), equal_nan=True)],
    "array_equiv": [call(V, [V, V]), call(X, Y)],
    "isscalar": [call(3.0), call(X), call("a"), call(Made(lambda lib: lib.float64(2)))],
    "piecewise": [call(V, [arr([True, False, True, False, False], "bool")], [1.0, 2.0]),
                  call(V, [arr([True, False, True, False, False], "bool")], [_plus_itself, 2.0])],
    "isnat": [],
}  # fmt: skip

REDUCTIONS = {
    "sum": [*reductions(dtype=True), call(X, initial=2.0), call(X, where=B), call(real(0))],
    "prod": [*reductions(dtype=True), call(X, initial=2.0), call(X, where=B), call(arr([2.0, 0.0, 3.0]))],
    "mean": [*reductions(dtype=True), call(X, where=arr([[True], [True]], "bool"))],
    "var": [*reductions(dtype=True), call(V, ddof=1), call(CUBE, axis=(0, 2), correction=1),
            call(X, where=arr([True, False, True], "bool")),
            call(V, mean=arr([0.5]))],
    "std": [*reductions(dtype=True), call(V, ddof=1), call(CUBE, axis=(0, 2), correction=1)],
    "max": [*reductions(empty=False, complexes=False), call(compl(3, 2), axis=-1),
            call(X, initial=1.0, axis=0), call(X, where=B, initial=-9.0), call(with_nan(V))],
    "min": [*reductions(empty=False, complexes=False), call(compl(3, 2), axis=-1),
            call(X, initial=-1.0, axis=0), call(X, where=B, initial=9.0), call(with_nan(V))],
    "ptp": [call(X), call(CUBE, axis=1), call(CUBE, axis=(0, 2), keepdims=True), call(N, axis=0)],
    "argmax": [call(X), call(CUBE, axis=1), call(CUBE, axis=-1, keepdims=True), call(N, 0), call(with_nan(V))],
    "argmin": [call(X), call(CUBE, axis=1), call(CUBE, axis=-1, keepdims=True), call(N, 0), call(with_nan(V))],
    "all": [call(B), call(B, axis=0), call(X, axis=(0, 1), keepdims=True), call(X, where=B), call(real(3, 0), axis=1)],
    "any": [call(B), call(B, axis=0), call(X, axis=(0, 1), keepdims=True), call(X, where=B), call(real(3, 0), axis=1)],
    "count_nonzero": [call(B), call(N, axis=0), call(X, axis=(0, 1), keepdims=True)],
    "cumsum": [call(X), call(X, 1), call(N, axis=0, dtype=float), call(C, 0)],
    "cumprod": [call(X), call(X, 1), call(N, axis=0), call(arr([2.0, 0.0, 3.0]))],
    "cumulative_sum": [call(V), call(X, axis=1, include_initial=True), call(N, axis=0, dtype=float)],
    "cumulative_prod": [call(V), call(X, axis=1, include_initial=True)],
    **{name: [call(with_nan(X)), call(with_nan(X), axis=0), call(with_nan(X), axis=(0, 1), keepdims=True),
              call(X, axis=1), call(N, axis=1)]
       for name in "nansum nanprod nanmean nanvar nanstd nanmax nanmin".split()},
    **{name: [call(with_nan(V)), call(with_nan(X), axis=1), call(N, axis=0)]
       for name in "nancumsum nancumprod nanargmax nanargmin".split()},
    "average": [call(X), call(X, axis=1, weights=positive(3)), call(X, axis=0, returned=True),
                call(V, weights=[1, 2, 3, 4, 5], keepdims=True)],
    "median": [call(V), call(X, axis=1), call(CUBE, axis=(0, 2), keepdims=True), call(N), call(with_nan(V)), call(X)],
    "nanmedian": [call(with_nan(V)), call(with_nan(X), axis=1), call(CUBE, axis=(0, 2), keepdims=True)],
    **{name: [call(V, q[0]), call(X, list(q), axis=1), call(CUBE, q[1], axis=(0, 1), keepdims=True),
              call(V, q[1], method="nearest"),
              call(V, q[0], method="hazen"), call(N, q[1])]
       for name, q in {"quantile": (0.3, 0.75), "percentile": (30, 75.0), "nanquantile": (0.3, 0.75),
                       "nanpercentile": (30, 75.0)}.items()},
    "cov": [call(X), call(V, W), call(real(3, 6), rowvar=False, ddof=0),
            call(V, aweights=positive(5)).of(base="positive"),
            call(real(2, 5), fweights=[1, 2, 1, 1, 3])],
    "corrcoef": [call(real(3, 6)), call(V, W), call(real(6, 3), rowvar=False)],
    "diff": [call(V), call(X, axis=0), call(V, 2), call(X, 1, -1, prepend=0.0, append=Y)],
    "ediff1d": [call(V), call(X, to_end=[1.0, 2.0], to_begin=0.5)],
    "gradient": [call(V), call(V, 0.5), call(real(3, 4)), call(V, arr([0.0, 1.0, 1.5, 3.5, 4.0])),
                 call(real(3, 4), axis=1, edge_order=2)],
    "trapezoid": [call(V), call(X, dx=0.5), call(V, arr([0.0, 1.0, 1.5, 3.5, 4.0])), call(X, axis=0)],
    "convolve": [call(V, real(3)), call(V, real(3), "same"), call(V, real(3), "valid")],
    "correlate": [call(V, real(3)), call(V, real(3), "same"), call(V, real(3), "full"), call(compl(4), compl(2))],
    "interp": [call([0.5, 1.5, 9.0], [0.0, 1.0, 2.0], real(3)),
               call(V, [-2.0, 0.0, 2.0], real(3), left=-1.0, right=1.0),
               call(arr([0.25, 1.75]), arr([0.0, 1.0, 2.0]), real(3), period=3.0).of(base="near")],
    "histogram": [call(V), call(V, 4, (-2, 2)), call(V, [-2.0, 0.0, 1.0, 2.0], density=True), call(V, 3, weights=W)],
    "histogram2d": [call(V, W, 3), call(V, W, [2, 4], [[-2, 2], [-2, 2]])],
    "histogramdd": [call(real(6, 2), 3), call([V, W], (2, 3))],
    "histogram_bin_edges": [call(V), call(V, 4, (-2, 2)), call(V, "auto")],
    "bincount": [call(arr([0, 1, 1, 3], "int64")), call(arr([0, 1, 1], "int64"), real(3)),
                 call(arr([0, 1], "int64"), minlength=4)],
    "digitize": [call(V, [-1.0, 0.0, 1.0]), call(V, [-1.0, 0.0, 1.0], right=True), call(V, [1.0, 0.0, -1.0])],
    "unwrap": [call(arr([0.5, 3.0, -2.5, 0.1, 8.0])),
               call(arr([[0.0, 2.0, 4.5, -9.0], [4.0, 6.5, 2.0, 3.0]]), period=5.0),
               call(arr([[0.5, 7.0, 1.0], [4.0, 0.0, 9.5]]), axis=0), call(arr([1, 2, 3, 0, 1], "int64"), period=4),
               call(X, 1.5, period=1.0)],
    "apply_along_axis": [call(_range, 1, X), call(_range, 0, CUBE)],
    "apply_over_axes": [call(Made(lambda lib: lib.sum), CUBE, [0, 2])],
}  # fmt: skip

S = arr([3.0, 1.0, 2.0, 1.0, 5.0])
I = arr([3, 1, 2, 1, 5], "int64")
SORTING = {
    "sort": [call(V), call(S), call(CUBE, 1), call(X, None), call(I, kind="stable"), call(with_nan(V)), call(C, 0)],
    "argsort": [call(S, kind="stable"), call(CUBE, 1), call(X, None), call(with_nan(V))],
    "sort_complex": [call(C), call(V)],
    "lexsort": [call((S, arr([1, 0, 0, 1, 0], "int64"))), call(X)],
    "partition": [call(V, 2).of(up_to_order=True), call(X, [0, 1], axis=1)],
    "argpartition": [call(V, 4).of(shape_only=True), call(V, 0).of(shape_only=True)],
    "searchsorted": [call([1.0, 2.0, 3.0], V), call([1, 2, 2, 3], 2, side="right"),
                     call(S, [1.5, 2.5], sorter=[1, 3, 2, 0, 4])],
    "unique": [call(S), call(I, True, True, True), call(arr([[1.0, 0], [1, 0], [2, 3]]), axis=0), call(with_nan(V))],
    "unique_all": [call(I), call(S)],
    "unique_counts": [call(I), call(S)],
    "unique_inverse": [call(arr([[3, 1], [1, 2]], "int64")), call(S)],
    "unique_values": [call(I).of(up_to_order=True), call(S).of(up_to_order=True)],
    "union1d": [call(S, V), call(I, [7, 1])],
    "intersect1d": [call(I, [7, 1, 5]), call(I, [7, 1, 5], return_indices=True), call(S, arr([2.0, 3.0, 7.0]))],
    "setdiff1d": [call(I, [7, 1, 5]), call(S, arr([2.0, 3.0, 7.0]))],
    "setxor1d": [call(I, [7, 1, 5]), call(S, arr([2.0, 3.0, 7.0]))],
    "isin": [call(I, [1, 2]), call(X, V, invert=True), call(I, [1, 2], kind="sort")],
}  # fmt: skip

PRODUCTS = {
    "dot": [call(X, real(3)), call(V, W), call(X, real(3, 2)), call(2.0, X), call(CUBE, real(4, 2)),
            call(N, integers(3))],
    "vdot": [call(V, W), call(C, C), call(X, Y)],
    "inner": [call(V, W), call(X, Y), call(X, 2.0)],
    "outer": [call(V, real(3)), call(X, N), call(C, V)],
    "kron": [call(X, V), call(X, real(2, 2)), call(2.0, V)],
    "tensordot": [call(X, Y), call(CUBE, real(4, 2), 1), call(CUBE, real(3, 2), ([1, 0], [0, 1])), call(V, W, 0)],
    "matmul": [call(X, real(3, 2)), call(V, W), call(CUBE, real(4, 2)), call(N, integers(3)), call(C, real(3))],
    "matvec": [call(X, real(3)), call(CUBE, real(4))],
    "vecmat": [call(real(2), X), call(C, real(3, 2))],
    "vecdot": [call(X, Y), call(C, C), call(X, real(3))],
    "cross": [call(X, Y), call(real(3), real(3, seed=1)), call(real(3, 2), real(3, 2, seed=1), axis=0)],
    "trace": [call(M), call(CUBE, 1, 0, 2), call(N, dtype=float)],
    "einsum": [call("ij,jk->ik", X, real(3, 2)), call("ii", M), call("ij,ij,ij->i", X, Y, X), call("i,j", V, W),
               call("ij->ji", X),
               call("...j,j->...", CUBE, real(4)), call(X, [0, 1], real(3), [1], [0])],
    "einsum_path": [call("ij,jk,kl->il", X, real(3, 2), real(2, 2))],
    "polyval": [call(V, X), call([1.0, 2.0, 3.0], 2.0), call([1, 2], N)],
    "polyder": [call(V), call(V, 2), call([1, 2, 3])],
    "polyint": [call(V), call(V, 2, [1.0, 2.0])],
    "polyadd": [call(V, real(3)), call([1, 2], [3])],
    "polysub": [call(V, real(3))],
    "polymul": [call(V, real(3))],
    "polydiv": [call(V, arr([1.5, 0.5, -1.0])).of(base="near")],
    "poly": [call(real(3)), call(M)],
    "roots": [call(arr([1.0, -6.0, 11.0, -6.0])).of(up_to_order=True, base="near")],
    "polyfit": [call(V, W, 2).of(base="near"), call(V, W, 1, cov=True).of(base="near"),
                call(V, W, 1, w=positive(5)).of(base="near")],
}  # fmt: skip
for _name in ("poly",):
    PRODUCTS[_name][-1] = PRODUCTS[_name][-1].of(base="near")

A3, S3 = well(3), symmetric(3)
LINALG = {
    "norm": [call(V), call(X), call(X, axis=1), call(V, 1), call(V, float("inf")), call(V, 3), call(X, "nuc"),
             call(X, 2), call(X, 1),
             call(CUBE, axis=(1, 2), keepdims=True), call(C), call(V, 0), call(V, -1)],
    "vector_norm": [call(V), call(X, axis=0, ord=1), call(X, keepdims=True), call(X, ord=float("inf"))],
    "matrix_norm": [call(X), call(CUBE, ord=1, keepdims=True), call(X, ord="nuc"), call(X, ord=-2)],
    "det": [call(A3), call(well(2, 3)), call(integers(3, 3))],
    "slogdet": [call(A3), call(well(2, 3))],
    "matrix_rank": [call(A3), call(arr([[1.0, 2], [2, 4]])), call(V)],
    "cond": [call(A3), call(A3, 1), call(well(2, 3), "fro")],
    "solve": [call(A3, real(3)), call(A3, real(3, 2)), call(well(2, 3), real(3, 2, 1))],
    "inv": [call(A3), call(well(2, 3))],
    "pinv": [call(A3), call(real(4, 2)), call(S3, hermitian=True)],
    "lstsq": [call(real(5, 2), V), call(real(5, 2), real(5, 3))],
    "matrix_power": [call(A3, 3), call(A3, 0), call(A3, -2), call(integers(2, 2), 5)],
    "tensorsolve": [call(arr(well(4).data), real(4))],
    "tensorinv": [call(well(3), 1)],
    "cholesky": [call(S3), call(symmetric(2, 3), upper=True)],
    "qr": [call(A3), call(real(4, 2)), call(real(4, 2), "complete"), call(real(4, 2), "r")],
    "svd": [call(A3), call(real(4, 2), full_matrices=False), call(real(4, 2), compute_uv=False),
            call(S3, hermitian=True)],
    "svdvals": [call(A3), call(real(2, 4, 2))],
    "eig": [call(arr([[2.0, 0.3, 0.1], [0.2, 5.0, 0.4], [0.1, -0.3, 9.0]]))],
    "eigvals": [call(A3)],
    "eigh": [call(S3), call(symmetric(2, 3), "U")],
    "eigvalsh": [call(S3), call(symmetric(2, 3))],
    "cross": [call(X, Y), call(real(3, 2), real(3, 2, seed=1), axis=0)],
    "outer": [call(V, real(3))],
    "matmul": [call(X, real(3, 2)), call(C, compl(3))],
    "vecdot": [call(X, Y), call(C, C, axis=0)],
    "tensordot": [call(X, Y), call(CUBE, real(4, 2), axes=1)],
    "multi_dot": [call([X, real(3, 4), real(4, 2)]), call([real(3), M, real(3, seed=2)])],
    "diagonal": [call(M), call(CUBE, offset=1)],
    "trace": [call(M), call(CUBE, offset=1), call(integers(3, 3), dtype="float32")],
    "matrix_transpose": [call(X), call(CUBE)],
}  # fmt: skip
_IN_DOUBLE = """det slogdet cond solve inv pinv lstsq matrix_power tensorsolve tensorinv cholesky qr svd svdvals eig
    eigvals eigh eigvalsh norm matrix_norm vector_norm""".split()
for _name in _IN_DOUBLE:
    LINALG[_name] = [s.of(base="near") for s in LINALG[_name]]
for _name in "qr svd eig eigh".split():
    LINALG[_name] = [s.of(up_to_sign=True) for s in LINALG[_name]]
for _name, _with_vectors in {"svd": (0, 3), "eig": (0,), "eigh": (0, 1)}.items():
    for _i in _with_vectors:  # as booleans, these are identities
        LINALG[_name][_i] = LINALG[_name][_i].of(degenerate=("bool",))

_NORMS = (None, "ortho", "forward")
FFT = {
    **{name: [call(a), call(a, 4), call(a, 7, norm="ortho"), call(b, axis=0, norm="forward"), call(b, 3)]
       for name, a, b in (("fft", V, X), ("ifft", compl(5), C), ("rfft", V, X), ("irfft", compl(4), C),
                          ("hfft", compl(4), C), ("ihfft", V, X))},
    **{name: [call(a), call(a, (4, 2)), call(a, axes=(1, 0), norm="ortho")]
       for name, a in (("fft2", X), ("ifft2", C), ("rfft2", X), ("irfft2", C), ("fftn", X), ("ifftn", C), ("rfftn", X),
                       ("irfftn", C))},
    "fftfreq": [call(5), call(6, 0.5)],
    "rfftfreq": [call(5), call(6, 0.5)],
    "fftshift": [call(V), call(X, 1), call(X, (0, 1))],
    "ifftshift": [call(V), call(X, 1)],
}  # fmt: skip

WINDOWS = {
    **{name: [call(5), call(4), call(1), call(0), call(3.5)] for name in "bartlett blackman hamming hanning".split()},
    "kaiser": [call(5, 8.6), call(4, 0), call(1, 2.0), call(0, 1.5), call(6, positive())],
}  # fmt: skip

OTHER = {
    "can_cast": [call("int8", "float32"), call(float, "float32"), call("float64", "float32", "same_kind"),
                 call(N, "float64")],
    "promote_types": [call("int8", "uint8"), call("float32", "int64"), call(bool, "complex64")],
    "result_type": [call(X, 1j), call(N, 2.0), call("int8", X.to("float32"), 3), call(3)],
    "min_scalar_type": [call(3), call(-300), call(1e50), call(X), call(2j)],
    "common_type": [call(X), call(X.to("float32"), C), call(N)],
    "mintypecode": [call("df"), call(["d", "F"]), call("i")],
    "issubdtype": [call("float32", Made(lambda lib: lib.floating)), call(int, float),
                   call("int8", Made(lambda lib: lib.generic))],
    "isdtype": [call(Made(lambda lib: lib.dtype("float32")), "real floating"),
                call(Made(lambda lib: lib.dtype("int8")), ("bool", Made(lambda lib: lib.dtype("int8"))))],
    "array2string": [call(X), call(V, precision=2, separator=", "), call(N, prefix="abc")],
    "array_repr": [call(X), call(X.to("float32")), call(real(0, 3)), call(real(40, 30))],
    "array_str": [call(X), call(V, precision=2)],
    "format_float_positional": [call(3.14159), call(2.0, trim="-"), call(1234.5678, precision=2)],
    "format_float_scientific": [call(31415.9), call(0.00012, precision=1)],
    "get_printoptions": [call()],
    "geterr": [call()],
    "may_share_memory": [call(X, Y), call(X, X)],
    "binary_repr": [call(3), call(-3), call(-3, 5), call(0, 3), call(2**70), call(-4, width=3)],
    "base_repr": [call(5), call(7, 5, 3), call(-12, 3), call(0), call(35, base=36)],
    "typename": [call("d"), call("?"), call("Q")],
    "astype": [call(X, int).of(base="nowhere"), call(N, "float32"), call(X, float, copy=False)],
    "isfortran": [call(X), call(Made(lambda lib: lib.ones((2, 3), order="F"))), call(V)],
    "iterable": [call(X), call(3), call([1]), call(real())],
    "shares_memory": [call(X, Y), call(X, X)],
}  # fmt: skip

CHAPTERS: dict[str, dict[str, list[Sample]]] = {
    "creation": CREATION,
    "movement": MOVEMENT,
    "elementwise": ELEMENTWISE,
    "reductions": REDUCTIONS,
    "sorting": SORTING,
    "products": PRODUCTS,
    "linalg": {f"linalg.{name}": samples for name, samples in LINALG.items()},
    "fft": {f"fft.{name}": samples for name, samples in FFT.items()},
    "windows": WINDOWS,
    "other": OTHER,
}
SAMPLES: dict[str, list[Sample]] = {name: samples for chapter in CHAPTERS.values() for name, samples in chapter.items()}

# Public callables without a sample, and why.
NO_SAMPLE = {
    "test": "runs the examples of the documentation: tests/tables/test_numpy_names.py",
    "frompyfunc": "gives ufuncs, and of numbers, where NumPy has objects: tested in test_vectorize.py",
    "nested_iters": "gives iterators: tested in test_iteration.py",
    "isnat": "refuses every dtype that torch has",
    "set_printoptions": "changes the state of the process: tested by its effect on printing",
    "geterrcall": "the state of floating-point errors: tests/array/test_errstate.py",
    "seterr": "changes the state of the thread: tests/array/test_errstate.py",
    "seterrcall": "changes the state of the thread: tests/array/test_errstate.py",
    "printoptions": "a context manager: tested by its effect on printing",
    **dict.fromkeys(["grad", "jit", "jvp", "value_and_grad", "vjp", "vmap"], "npdec's own: test_func.py"),
    "decompose": "npdec's own: tests of the law",
    "install": "npdec's own, of imports: tests/running",
    "attribute": "npdec's own: tests of the law",
    "attribute_text": "npdec's own: of language models",
    "completeness": "npdec's own: tests of its checks",
    "check_completeness": "npdec's own: tests of its checks",
    "rule": "npdec's own: tests of the rules",
    "register_rule": "npdec's own: tests of the rules",
    "fromfile": "files: tests/array/test_files.py",
    "fromstring": "files: tests/array/test_files.py",
    "genfromtxt": "files: tests/array/test_files.py",
    "load": "files: tests/array/test_files.py",
    "loadtxt": "files: tests/array/test_files.py",
    "save": "files: tests/array/test_files.py",
    "savetxt": "files: tests/array/test_files.py",
    "savez": "files: tests/array/test_files.py",
    "savez_compressed": "files: tests/array/test_files.py",
    "busday_count": "done by NumPy itself: tests/array/test_host_side.py",
    "busday_offset": "done by NumPy itself: tests/array/test_host_side.py",
    "datetime_as_string": "done by NumPy itself: tests/array/test_host_side.py",
    "datetime_data": "done by NumPy itself: tests/array/test_host_side.py",
    "get_include": "done by NumPy itself: tests/array/test_host_side.py",
    "getbufsize": "done by NumPy itself: tests/array/test_host_side.py",
    "info": "done by NumPy itself: tests/array/test_host_side.py",
    "is_busday": "done by NumPy itself: tests/array/test_host_side.py",
    "setbufsize": "done by NumPy itself: tests/array/test_host_side.py",
    "show_config": "done by NumPy itself: tests/array/test_host_side.py",
    "show_runtime": "done by NumPy itself: tests/array/test_host_side.py",
}
SAMPLES = {name: samples for name, samples in SAMPLES.items() if name not in NO_SAMPLE}


# -- the functions -----------------------------------------------------------------------------------------------------


def find(lib: Any, name: str) -> Any:
    """The function of a dotted name, or None."""
    for part in name.split("."):
        lib = getattr(lib, part, None)
    return lib


def public_callables() -> dict[str, Any]:
    """Every public callable that is no class, by its dotted name."""
    found = {}
    for prefix, module in (("", npdec), ("linalg.", npdec.linalg), ("fft.", npdec.fft)):
        for name in module.__all__:
            item = getattr(module, name)
            if callable(item) and not isinstance(item, type):
                found[prefix + name] = item
    return found


def aliases() -> dict[str, str]:
    """Public names that are other names of a function with samples."""
    names = {id(find(npdec, name)): name for name in reversed(SAMPLES)}
    return {
        name: names[id(item)] for name, item in public_callables().items() if name not in SAMPLES and id(item) in names
    }


def cases(names: Any = None) -> list[tuple[str, Sample]]:
    """(name, sample) for every function that npdec has."""
    return [(name, s) for name in (names or SAMPLES) if find(npdec, name) is not None for s in SAMPLES[name]]


@contextlib.contextmanager
def named(name: object) -> Iterator[None]:
    """Failures within say of what they are: for tests that go over several rows of a table."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {name}")
        raise


def check_all(check: Callable[..., None], rows: Iterable[tuple[Any, ...]]) -> None:
    """Check each row of a table, and say of which it was that the check failed."""
    for row in rows:
        with named(", ".join(map(repr, row))):
            check(*row)


def case_id(case: Any) -> str:
    return case if isinstance(case, str) else repr(case)
