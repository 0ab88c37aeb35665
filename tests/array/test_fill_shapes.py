"""What is filled, written or chosen with values of other shapes: the numbers, shapes and exceptions of NumPy, for every
pair of a few shapes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import npdec as np

pytestmark = pytest.mark.filterwarnings("ignore")

Shape = tuple[int, ...]
SHAPES: list[Shape] = [
    (),
    (1,),
    (2,),
    (3,),
    (1, 2),
    (2, 1),
    (2, 2),
    (1, 1, 2),
    (1, 2, 1),
    (1, 1, 1),
    (0,),
    (1, 0),
    (2, 3),
]


def _array(lib: Any, shape: Shape, first: float = 1.5) -> Any:
    return lib.arange(first, first + int(numpy.prod(shape))).reshape(shape)


def _mask(lib: Any, shape: Shape) -> Any:
    return (lib.arange(int(numpy.prod(shape))) % 2 == 0).reshape(shape)


def _writes(write: Callable[[Any, Any, Shape], Any]) -> Callable[[Any, Shape, Shape], Any]:
    """What becomes of an array of the first shape by a write that has to do with the second."""

    def call(lib: Any, a: Shape, b: Shape) -> Any:
        x = _array(lib, a)
        write(lib, x, b)
        return x

    return call


CALLS: dict[str, Callable[[Any, Shape, Shape], Any]] = {
    "full": lambda lib, a, b: lib.full(a, _array(lib, b)),
    "full_like": lambda lib, a, b: lib.full_like(_array(lib, a), _array(lib, b)),
    "copyto": _writes(lambda lib, x, b: lib.copyto(x, _array(lib, b, 9))),
    "copyto where": _writes(lambda lib, x, b: lib.copyto(x, 9, where=_mask(lib, b))),
    "place": _writes(lambda lib, x, b: lib.place(x, _mask(lib, x.shape), _array(lib, b, 9))),
    "place mask": _writes(lambda lib, x, b: lib.place(x, _mask(lib, b), [9.0, 8.0])),
    "putmask": _writes(lambda lib, x, b: lib.putmask(x, _mask(lib, b), [9.0, 8.0])),
    "put": _writes(lambda lib, x, b: lib.put(x, [0], _array(lib, b, 9))),
    "fill": _writes(lambda lib, x, b: x.fill(_array(lib, b, 9))),
    "fill_diagonal": _writes(lambda lib, x, b: lib.fill_diagonal(x, _array(lib, b, 9))),
    "flat": _writes(lambda lib, x, b: setattr(x, "flat", _array(lib, b, 9))),
    "x[...] =": _writes(lambda lib, x, b: x.__setitem__(Ellipsis, _array(lib, b, 9))),
    "x[0] =": _writes(lambda lib, x, b: x.__setitem__(0, _array(lib, b, 9))),
    "x[mask] =": _writes(lambda lib, x, b: x.__setitem__(_mask(lib, x.shape), _array(lib, b, 9))),
    "x +=": _writes(lambda lib, x, b: x.__iadd__(_array(lib, b, 9))),
    "out=": _writes(lambda lib, x, b: lib.add(_array(lib, b), 1, out=x)),
    "select": lambda lib, a, b: lib.select([_mask(lib, a)], [_array(lib, b)], default=7.0),
    "choose": lambda lib, a, b: lib.choose(_mask(lib, a).astype(int), [_array(lib, b), _array(lib, a, 3)]),
    "where": lambda lib, a, b: lib.where(_mask(lib, a), _array(lib, b), 0.0),
    "compress": lambda lib, a, b: lib.compress(_mask(lib, a), _array(lib, b)),
    "extract": lambda lib, a, b: lib.extract(_mask(lib, a), _array(lib, b)),
    "insert": lambda lib, a, b: lib.insert(_array(lib, a), 0, _array(lib, b), axis=0),
    "piecewise": lambda lib, a, b: lib.piecewise(_array(lib, a), [_mask(lib, b)], [1.0, 2.0]),
    "piecewise of functions": lambda lib, a, b: lib.piecewise(
        _array(lib, a), [_mask(lib, b)], [lambda v: v * 2, lambda v: v - v.mean()]
    ),
    "piecewise of two": lambda lib, a, b: lib.piecewise(_array(lib, a), [_mask(lib, a), ~_mask(lib, b)], [1.0, 2.0]),
}
AXES: list[Any] = [[0], [-1], [0, 0], [0, 1], 0, [1], (0,), [2], []]


def _outcome(call: Callable[..., Any], *args: Any) -> Any:
    try:
        made = numpy.asarray(call(*args))
    except (ValueError, IndexError, TypeError) as error:  # AxisError is one
        return type(error).__name__
    return made.shape, str(made.dtype), made.tolist()


@pytest.mark.parametrize("name", CALLS)
def test_shapes_that_fit_and_shapes_that_do_not(name: str) -> None:
    for a, b in itertools.product(SHAPES, SHAPES):
        assert _outcome(CALLS[name], np, a, b) == _outcome(CALLS[name], numpy, a, b), (a, b)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_functions_over_axes(shape: Shape) -> None:
    for axes in AXES:
        for function in ("sum", "amax"):

            def over(lib: Any, axes: Any = axes, function: str = function) -> Any:
                return lib.apply_over_axes(getattr(lib, function), _array(lib, shape), axes)

            assert _outcome(over, np) == _outcome(over, numpy), axes
    for axis in (0, -1, 1, 2):
        for f in (lambda v: v.sum(), lambda v: v[:1], lambda v: v):

            def along(lib: Any, axis: int = axis, f: Any = f) -> Any:
                return lib.apply_along_axis(f, axis, _array(lib, shape))

            assert _outcome(along, np) == _outcome(along, numpy), axis


def test_contributions_pass_a_fill_with_axes_of_one() -> None:
    x = np.decompose(np.array([[[3.0], [5.0]]]), baseline=1.0, labels=["a", "b"])
    made = np.full((2,), x[:, :, 0])
    assert made.components.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    scaled = np.piecewise(np.full((2, 2), x[0].T), [np.array([True, False])], [lambda v: v * 10, lambda v: v])
    assert scaled.value.tolist() == [[30.0, 50.0], [3.0, 5.0]]
    assert scaled.components.sum(0).tolist() == [[20.0, 40.0], [2.0, 4.0]]
    total = np.apply_over_axes(np.sum, x[0, 0, 0], [0])
    assert float(total.value) == 3.0
    assert float(total.components[0]) == 2.0
