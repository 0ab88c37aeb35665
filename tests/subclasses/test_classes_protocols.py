"""The protocols of classes derived from arrays, in programs that run under NumPy and under npdec: the same calls in the
same order, with the same arguments and results."""

from __future__ import annotations

import copy
import types
from typing import Any

import numpy
import pytest

import npdec
from subclasses_of import noted_class


def creation(np: Any, log: list[Any]) -> None:
    """Who is called when an array is made: by its class, as a view, as a part of another."""

    class Told(np.ndarray):
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            log.append("new")
            return super().__new__(cls, *args, **kwargs)

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            log.append("init")

        def __array_finalize__(self, obj: Any) -> None:
            log.append(("finalize", type(self).__name__, type(obj).__name__))

    made = Told((4,))
    log += [made.shape, made.base is None]
    part, plain = made[1:], np.arange(3.0)
    view = plain.view(Told)
    log += [part.base is made, view.base is plain, view[1:].base is view, view[1:][1:].base is view]
    log.append(np.asarray(view).base is plain)
    over = Told((2,), float, plain, 8)
    over[0] = 7.0
    log += [plain.tolist(), over.base is plain, Told(shape=(2, 2), dtype="i4", order="F").flags.f_contiguous]
    view += 1
    log += [plain.tolist(), isinstance(view, np.ndarray), issubclass(Told, np.ndarray), type(view.T).__name__]
    for step in (
        lambda: view.reshape(3, 1), view.copy, lambda: view.astype("f4"), lambda: view[[0, 1]], view.ravel,
        lambda: view.take([0]), lambda: view[0], lambda: np.array(view), lambda: np.array(view, subok=True),
        lambda: np.zeros_like(view), view.flatten, view.view, lambda: view.view(np.ndarray), lambda: np.add(view, 1),
    ):  # fmt: skip
        log.append("step")
        step()


def information(np: Any, log: list[Any]) -> None:
    """An attribute that is given where the array is made, and follows from array to array."""
    Noted = noted_class(np)
    x, y = Noted([[1.0, 2.0], [3.0, 4.0]], "x"), Noted([5.0, 6.0], "y")
    make, arguments, state = x.__reduce__()
    again = make(*arguments)
    again.__setstate__(state)
    for one in (
        x + y, y + x, x @ y, np.linalg.inv(x), x[0], x.sum(), x.mean(axis=0), np.sort(x), -x, copy.copy(x),
        copy.deepcopy(x), copy.deepcopy([x])[0], again, np.median(x), x == y, np.where(x > 1, x, 0), x.real, 2 * x,
    ):  # fmt: skip
        log.append((type(one).__name__, getattr(one, "info", None), np.asarray(one).tolist()))
    x -= y
    out = np.add(x, y, out=y.copy()[None].repeat(2, 0))
    log += [x.info, type(out).__name__, out.info, repr(x), str(x), f"{x.sum():.1f}", repr(y.astype("f4"))]
    log += [repr(Noted(3.0)), repr(Noted([])), repr(np.arange(30.0).view(Noted)), np.array_repr(y), np.array_str(y)]


def wrapping(np: Any, log: list[Any]) -> None:
    """What `__array_wrap__` is given, and whose is asked."""

    class Wrapping(np.ndarray):
        def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
            said = context and (context[0].__name__, len(context[1]), context[2])
            log.append(("wrap", type(self).__name__, type(array).__name__, array.ndim, said, return_scalar))
            return super().__array_wrap__(array, context, return_scalar)

    class Higher(Wrapping):
        __array_priority__ = 5.0

    class Unwrapping(np.ndarray):
        def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
            return array[()] if return_scalar else np.asarray(array)

    x, h, u = np.arange(3.0).view(Wrapping), np.ones(3).view(Higher), np.ones(3).view(Unwrapping)
    for made in (
        np.add(x, 1), np.add(1, x), x + h, h + x, np.modf(x), x.sum(), np.add.reduce(x), x.max(), np.add(x, x, out=x),
        np.add(np.ones(3), x), np.add(x, x, subok=False), np.cumsum(x), np.add.outer(x, [1, 2]), u + 1, u.sum(),
        np.concatenate([x, np.ones(2)]), np.concatenate([np.ones(2), h]), np.stack([x, h]),
    ):  # fmt: skip
        log.append([type(one).__name__ for one in made] if isinstance(made, tuple) else type(made).__name__)
    x += 1
    log.append(x.tolist())


def ufuncs(np: Any, log: list[Any]) -> None:
    """A class that computes ufuncs itself, by those of plain arrays, and notes which arguments were of it."""

    class Noting(np.ndarray):
        seen: Any = None

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
            def bare(x: Any) -> Any:
                return x.view(np.ndarray) if isinstance(x, Noting) else x

            marked = [i for i, x in enumerate(inputs) if isinstance(x, Noting)]
            if out is not None:
                options["out"] = tuple(map(bare, out))
            given = super().__array_ufunc__(ufunc, method, *map(bare, inputs), **options)
            if given is NotImplemented or method == "at":
                log.append((ufunc.__name__, method, marked, given))
                return given
            results = given if ufunc.nout > 1 else (given,)
            outs = out or (None,) * ufunc.nout
            results = tuple(np.asarray(r).view(Noting) if o is None else o for r, o in zip(results, outs, strict=True))
            for one in results:
                if isinstance(one, Noting):
                    one.seen = (ufunc.__name__, method, marked, options.get("axis", 0))
            return results if ufunc.nout > 1 else results[0]

    class Refusing:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "radd"

    class Other(np.ndarray):
        def __array_ufunc__(self, *args: Any, **options: Any) -> Any:
            return NotImplemented

    x, p = np.arange(4.0).view(Noting), np.ones(4)
    made = [
        np.sin(x), x + 1, 1 + x, p + x, x @ x, -x, x < 2, np.add(p, p, out=x.copy()), np.add.reduce(x),
        x.sum(), x.max(),
        np.sum(x), np.prod(x, axis=0), np.add.accumulate(x), x.cumsum(), np.add.outer(x, p), np.add.reduceat(x, [0, 2]),
        np.modf(x)[1], np.multiply(x, 2, where=[True] * 4, out=np.zeros(4).view(Noting)), x.conj(), np.any(x), abs(x),
    ]  # fmt: skip
    log += [(type(one).__name__, one.seen, one.tolist()) for one in made]
    np.add.at(x, [0, 0, 1], 1)
    p += x
    x *= 2
    log += [x.tolist(), x.seen, p.tolist(), type(p).__name__, x + Refusing()]
    for refused in (
        lambda: np.add(x, Refusing()), lambda: np.ones(4).view(Other) + 1, lambda: np.add(x, "text"),
        lambda: np.add.reduce(np.ones(4).view(Other)),
    ):  # fmt: skip
        with pytest.raises(TypeError) as error:
            refused()
        log.append(type(error.value).__name__)
    log.append(p.__array_ufunc__(np.add, "__call__", p, np.ones(4).view(Other)) is NotImplemented)


def operators(np: Any, log: list[Any]) -> None:
    """A class with reflected operators of its own, of which arrays and scalars take the place on the left."""

    class Reflecting(np.ndarray):
        def __radd__(self, other: Any) -> str:
            return "radd"

        __rmul__ = __rsub__ = __rpow__ = __radd__

        def __gt__(self, other: Any) -> str:
            return "gt"

        __ge__ = __ne__ = __gt__

    x = np.arange(3.0).view(Reflecting)
    for left in (np.float64(2), np.int8(1), np.bool_(True), np.complex64(1j), 2.0, np.arange(3), np.array(1), x[:1]):
        for made in (left + x, left * x, left - x, left**x, left < x, left == x, left != x, left / (x + 1), x < left):
            log.append((type(made).__name__, np.asarray(made).tolist()))
    p = np.arange(9.0).reshape(3, 3)
    w = p.copy().view(Reflecting)
    for made in (p @ w, w @ p, p.__matmul__(w), p.__rmatmul__(w), [1.0, 2.0, 3.0] @ w):
        log.append((type(made).__name__, made.tolist()))
    p @= w
    log += [type(p).__name__, p.tolist()]


def functions(np: Any, log: list[Any]) -> None:
    """A class that is asked for functions: by their names, with the types that take part."""

    class Asked(np.ndarray):
        inside = False

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            if not Asked.inside:  # how NumPy's own functions call each other is not compared
                log.append((func.__name__, sorted(kind.__name__ for kind in types), len(args) + len(kwargs)))
            Asked.inside, before = True, Asked.inside
            try:
                return super().__array_function__(func, types, args, kwargs)
            finally:
                Asked.inside = before

    class Refusing(np.ndarray):
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return NotImplemented

    x, p = np.arange(4.0).view(Asked), np.ones(4)
    for made in (
        np.sum(x), np.concatenate([x, p]), np.stack((p, x)), np.median(x), np.linalg.norm(x), np.where(x > 1, x, 0.0),
        np.zeros_like(x), np.dot(x, p), np.fft.fft(x).real, np.reshape(x, (2, 2)), np.sort(x), np.array_equal(x, x),
    ):  # fmt: skip
        log.append((type(made).__name__, np.asarray(made).tolist()))
    log.append(np.concatenate([p, p.view(Refusing)]).tolist())  # a plain array takes part, and does it
    with pytest.raises(TypeError, match="no implementation found"):
        np.sum(p.view(Refusing))


@pytest.mark.parametrize("program", [creation, information, wrapping, ufuncs, operators, functions])
def test_programs_run_as_under_numpy(program: types.FunctionType) -> None:
    ours: list[Any] = []
    theirs: list[Any] = []
    program(npdec, ours)
    program(numpy, theirs)
    assert len(ours) == len(theirs)
    for mine, wanted in zip(ours, theirs, strict=True):
        assert mine == wanted


def test_an_old_array_wrap_is_warned_of_at_the_programs_line() -> None:
    class Old(npdec.ndarray):
        def __array_wrap__(self, array: Any) -> Any:
            return array

    x = npdec.arange(3.0).view(Old)
    for call in (lambda: x + 1, lambda: npdec.add(x, 1), x.sum, lambda: npdec.median(x)):
        with pytest.warns(DeprecationWarning, match="return_scalar") as said:
            call()
        assert [warning.filename for warning in said] == [__file__]
