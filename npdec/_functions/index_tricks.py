"""Arrays by indexing: `np.r_` and `np.c_` join, `np.mgrid` and `np.ogrid` span grids, `np.s_` and `np.index_exp` keep
what stands between the brackets.
"""

from __future__ import annotations

import math
import sys
from types import FrameType
from typing import Any, NamedTuple

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._array.generic import generic
from npdec._array.host_numpy import numpy_for
from npdec._array.scalars import complexfloating
from npdec._core.absent import absent
from npdec._core.base import ArrayBase, plain_of
from npdec._core.door import hand_over
from npdec._core.installed_numpy import numpy_or_none
from npdec._core.tracebacks import ended, ends
from npdec._decomposed.choices import chosen
from npdec._impl import _util, creation_impl, creation_ranges_impl, dtypes_impl, joining_impl
from npdec._impl._devices import as_device
from npdec._native import calls
from npdec._torch.tracing import tracing
from npdec.exceptions import AbsentError

__all__ = ["c_", "index_exp", "mgrid", "ogrid", "r_", "s_"]

_NUMBERS = (bool, int, float, complex)


def _operand(item: Any) -> Any:
    """A number or array as the kernels take it: Python's numbers are weak in promotion."""
    return item if type(item) in _NUMBERS else as_tensor(item)


def _is_complex(step: Any) -> bool:
    return isinstance(step, (complex, complexfloating))


def _linear(key: slice) -> torch.Tensor:
    """The numbers that a slice names: a step apart, or with an imaginary step that many, the last one included."""
    start, step = 0 if key.start is None else key.start, 1 if key.step is None else key.step
    if _is_complex(step):
        return creation_ranges_impl.linspace(_operand(start), _operand(key.stop), num=int(abs(step)))
    stop = None if key.stop is None else _operand(key.stop)
    return creation_ranges_impl.arange(_operand(start), stop, _operand(step))


class _Options(NamedTuple):
    """What NumPy's way to join looks up: it is called with this in the place of the object."""

    axis: int
    matrix: bool
    ndmin: int
    trans1d: int

    @staticmethod
    def concatenate(*args: Any, **kwargs: Any) -> Any:
        return numpy_for("r_").concatenate(*args, **kwargs)

    @staticmethod
    def makemat(*args: Any, **kwargs: Any) -> Any:
        return numpy_for("r_").matrix(*args, **kwargs)


_NUMPY = None if calls is None else numpy_or_none()
# What NumPy joins with, by the options that stand in the object.
_JOINED = {} if _NUMPY is None else {(0, False, 1, -1): _NUMPY.r_.__getitem__, (-1, False, 2, 0): _NUMPY.c_.__getitem__}


def _is_plain(item: Any) -> bool:
    """Whether it is an array, a number, or a slice of whole numbers."""
    if type(item) is slice:
        return all(x is None or type(x) is int for x in (item.start, item.stop, item.step))
    return type(item) is wrap.ARRAY or type(item) in _NUMBERS or isinstance(item, generic)


class AxisConcatenator:
    """Joins what is indexed with: arrays, numbers, and slices that stand for ranges."""

    __module__ = "npdec"
    __slots__ = ("axis", "matrix", "ndmin", "trans1d")

    def __init__(self, axis: int = 0, matrix: bool = False, ndmin: int = 1, trans1d: int = -1) -> None:
        self.axis, self.matrix, self.ndmin, self.trans1d = axis, matrix, ndmin, trans1d

    def __getitem__(self, key: Any) -> Any:
        try:
            if type(key) is tuple and (made := self._of_few(key)) is not None:
                return made
            return self._here_or_there(key, sys._getframe(1))
        except Exception as error:
            raise ended(error)  # noqa: B904

    def _of_few(self, key: tuple[Any, ...]) -> Any:
        """What NumPy joins of few elements, which is exact; None for others."""
        join = _JOINED.get((self.axis, self.matrix, self.ndmin, self.trans1d))
        if join is None or tracing():
            return None
        if not any(type(item) is wrap.ARRAY for item in key) or not all(map(_is_plain, key)):
            return None
        return calls.few_by_numpy(join, key)

    def _here_or_there(self, key: Any, caller: FrameType) -> Any:
        try:
            return self._joined(key)
        except AbsentError as error:
            missing = error
        if isinstance(key, str):  # a matrix of the caller's variables
            return hand_over("bmat", (key, caller.f_locals, caller.f_globals), {}, missing)
        options = (self.axis, self.matrix, self.ndmin, self.trans1d)
        return hand_over("lib._index_tricks_impl.AxisConcatenator.__getitem__", (_Options(*options), key), {}, missing)

    def _joined(self, key: Any) -> Any:
        if isinstance(key, str):
            raise absent("bmat")
        items = [plain_of(item) for item in (key if isinstance(key, tuple) else (key,))]
        if self.matrix:
            raise absent("matrix")
        axis, ndmin, trans1d = self.axis, self.ndmin, self.trans1d
        if items and isinstance(items[0], str):
            axis, ndmin, trans1d = _directive(items.pop(0), axis, ndmin, trans1d)
        parts: list[Any] = []
        for item in items:
            if isinstance(item, str):
                raise ValueError("special directives must be the first entry.")
            if isinstance(item, slice):
                part = _linear(item)
                parts.append(_raised(part, ndmin, trans1d))
            elif type(item) in _NUMBERS or isinstance(item, generic):
                parts.append(item)
            else:
                parts.append(_raised(as_tensor(item), ndmin, trans1d))
        if not parts:
            raise ValueError("need at least one array to concatenate")
        dtype = dtypes_impl.result_type(*map(_operand, parts))
        tensors = [
            part if isinstance(part, torch.Tensor) else _raised(as_tensor(part, dtype), ndmin, -1) for part in parts
        ]
        if len({tensor.device for tensor in tensors}) > 1:  # numbers join the arrays on their device
            device = next(part.device for part in parts if isinstance(part, torch.Tensor))
            tensors = [t if isinstance(p, torch.Tensor) else t.to(device) for t, p in zip(tensors, parts, strict=True)]
        return wrap.wrap_array(joining_impl.concatenate(tensors, axis, dtype=dtype, casting="unsafe"))

    def __len__(self) -> int:
        return 0


def _directive(text: str, axis: int, ndmin: int, trans1d: int) -> tuple[int, int, int]:
    """The axis, the least number of axes, and where the axes of an array come among them, as a text says."""
    if text in ("r", "c"):
        raise absent("matrix")
    if "," in text:
        numbers = text.split(",")
        try:
            axis, ndmin = int(numbers[0]), int(numbers[1])
            return axis, ndmin, int(numbers[2]) if len(numbers) == 3 else trans1d
        except ValueError:
            raise ValueError(f"unknown special directive {text!r}") from None
    try:
        return int(text), ndmin, trans1d
    except (TypeError, ValueError):
        raise ValueError("unknown special directive") from None


def _raised(tensor: torch.Tensor, ndmin: int, trans1d: int) -> torch.Tensor:
    """The tensor with leading axes of length one, up to `ndmin` in all, or with its own ones from `trans1d` on."""
    missing = ndmin - tensor.dim()
    if missing <= 0:
        return tensor
    raised = tensor.reshape((1,) * missing + tuple(tensor.shape))
    if trans1d == -1:
        return raised
    first = trans1d + missing + 1 if trans1d < 0 else trans1d
    axes = list(range(ndmin))
    order = axes[:first] + axes[missing:] + axes[first:missing]
    if sorted(order) != axes:
        raise ValueError("axes don't match array")
    return raised.permute(order)


class RClass(AxisConcatenator):
    """Join arrays, numbers and ranges along the first axis, or as a text in front says: `np.r_["1,2,0", x, y]`.

    `start:stop:step` stands for `np.arange(start, stop, step)`, with an imaginary step `nj` for n numbers from start
    to stop, both included. The text names the axis, the least number of axes, and the place of an array's own axes
    among them; "r", "c", and text alone ask for a matrix of NumPy's.

    >>> np.r_[np.array([1, 2]), 0, 5:8]
    array([1, 2, 0, 5, 6, 7])
    >>> np.r_["1,2,0", [1, 2], [3, 4]]
    array([[1, 3],
           [2, 4]])
    """

    __module__ = "npdec"
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0)


class CClass(AxisConcatenator):
    """Join arrays, numbers and ranges as columns: `np.r_["-1,2,0", ...]`.

    >>> np.c_[[1, 2], [3, 4]]
    array([[1, 3],
           [2, 4]])
    """

    __module__ = "npdec"
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(-1, ndmin=2, trans1d=0)


class IndexExpression:
    """Gives back what it is indexed with: `np.s_[1:3]` is a slice, `np.index_exp[1:3]` a tuple with it.

    >>> np.s_[::2, 3], np.index_exp[::2]
    ((slice(None, None, 2), 3), (slice(None, None, 2),))
    """

    __module__ = "npdec"
    __slots__ = ("maketuple",)

    def __init__(self, maketuple: bool) -> None:
        self.maketuple = maketuple

    def __getitem__(self, item: Any) -> Any:
        return (item,) if self.maketuple and not isinstance(item, tuple) else item


# -- grids -------------------------------------------------------------------------------------------------------------


class nd_grid:
    """The coordinates of the grid that slices span. An imaginary step `nj` gives n numbers, the last one included."""

    __module__ = "npdec"
    __slots__ = ("sparse",)

    def __init__(self, sparse: bool = False) -> None:
        self.sparse = sparse

    @ends
    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return wrap.wrap_array(_line(key))
        lines = [_Line(item) for item in key]
        dtype = dtypes_impl.result_type(0, *[number for line in lines for number in line.numbers])
        grids = creation_impl.indices(tuple(line.size for line in lines), dtype, sparse=True)
        spread = [line.place(grid) for line, grid in zip(lines, grids, strict=True)]
        if self.sparse:
            return tuple(map(wrap.wrap_array, spread))
        if not spread:
            return wrap.wrap_array(torch.empty((0,), dtype=torch.int64, device=as_device(None)))
        return wrap.wrap_array(torch.stack(torch.broadcast_tensors(*spread)))


class _Line:
    """One slice of a grid: where it starts, how far apart its numbers are, how many, and what its dtype comes from."""

    def __init__(self, key: slice) -> None:
        step = 1 if key.step is None else key.step
        start, stop = (0 if key.start is None else key.start), key.stop
        count = abs(step)
        self.start = _operand(start)
        if _is_complex(step):
            self.numbers = [self.start, _operand(stop), _operand(count)]
            self.size = int(count)
            self.step = _operand((stop - start) / float(self.size - 1)) if self.size != 1 else 1
        else:
            self.numbers = [self.start, _operand(stop), _operand(step)]
            self.size = math.ceil(_plain((stop - start) / step))
            self.step = self.numbers[2]
        if self.size < 0:
            raise ValueError("negative dimensions are not allowed")

    def place(self, counted: torch.Tensor) -> torch.Tensor:
        """The numbers, of 0, 1, 2, ... in the dtype of the grid."""
        numbers = counted * self.step + self.start
        return numbers if numbers.dtype is counted.dtype else _util.cast(numbers, counted.dtype)


def _line(key: Any) -> torch.Tensor:
    """The grid of one axis alone."""
    if not _is_complex(key.step):
        return _linear(key)
    line = _Line(key)
    dtype = dtypes_impl.result_type(*line.numbers)
    return line.place(torch.arange(line.size, device=as_device(None)).to(dtype))


def _plain(number: Any) -> Any:
    return chosen("a complex step", number._t).item() if isinstance(number, ArrayBase) else number


r_ = RClass()
c_ = CClass()
s_ = IndexExpression(maketuple=False)
index_exp = IndexExpression(maketuple=True)
mgrid = nd_grid(sparse=False)
ogrid = nd_grid(sparse=True)
