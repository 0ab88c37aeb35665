"""`np.frompyfunc`: a ufunc of any Python function of numbers."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_dtype, as_tensor
from npdec._array.foreign_arrays import as_operand, asks_ufuncs
from npdec._array.output import check_writeable, write, write_out
from npdec._array.shapes import as_axis
from npdec._core.base import MetAsking, MetSubclass
from npdec._core.door import hand_over, opened, subclasses
from npdec._core.tags import NoValue
from npdec._core.unbound import unbound
from npdec._functions.per_element import call_each, device_of, gather, operand, shape_of
from npdec._impl import _util
from npdec._normalizer import call_options
from npdec._normalizer.ufunc import ufunc

__all__ = ["frompyfunc"]


def _open(method: Callable[..., Any]) -> Any:
    """The method, whose calls go to NumPy's ufunc of the same function where they meet what torch cannot hold."""
    return opened(method, functools.partial(_elsewhere, method.__name__))


def _elsewhere(method: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    function, *given = args
    if isinstance(error, MetSubclass):
        return subclasses.value().ufunc(function, method, tuple(given), kwargs)
    if isinstance(error, MetAsking):
        made = subclasses.value().asked(function, method, tuple(given), kwargs)
        if made is not NoValue:
            return made
    known = {"identity": function.identity} if function._reorderable else {}
    theirs = hand_over("frompyfunc", (function._function, function.nin, function.nout), known, error)
    return hand_over(f"ufunc.{method}", (theirs, *given), kwargs, error)


class PythonUfunc(ufunc):
    """A ufunc that calls a Python function for each element."""

    __module__ = "npdec"

    def __init__(self, function: Callable[..., Any], nin: int, nout: int, identity: Any) -> None:
        self._function = function
        self.nin, self.nout, self.nargs = nin, nout, nin + nout
        self.identity = None if identity is NoValue else identity
        self._reorderable = identity is not NoValue
        name = getattr(function, "__name__", "?")
        self.__name__ = self.__qualname__ = f"{name} (vectorized)"
        self.__doc__ = getattr(function, "__doc__", None)

    @property
    def __signature__(self) -> inspect.Signature:
        P = inspect.Parameter
        names = ["x"] if self.nin == 1 else [f"x{i}" for i in range(1, self.nin + 1)]
        words = [P(name, P.POSITIONAL_ONLY) for name in names]
        words.append(P("out", P.POSITIONAL_OR_KEYWORD, default=None if self.nout == 1 else (None,) * self.nout))
        options = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
        return inspect.Signature(words + [P(name, P.KEYWORD_ONLY, default=value) for name, value in options.items()])

    @property
    def types(self) -> list[str]:
        """One loop, of Python objects."""
        return ["O" * self.nin + "->" + "O" * self.nout]

    def __reduce__(self) -> Any:
        make = functools.partial(frompyfunc, identity=self.identity) if self._reorderable else frompyfunc
        return make, (self._function, self.nin, self.nout)

    @_open
    def __call__(self, *args: Any, out: Any = NoValue, **options: Any) -> Any:
        if len(args) < self.nin:
            raise call_options.miscounted(self, len(args))
        if len(args) > self.nin or (out is None and self.nout > 1):
            first, more = call_options.placed_out(self, args[self.nin :], out)
            out = (first, *more) if more else first
        if any(map(asks_ufuncs, args[: self.nin])):
            made = subclasses.value().asked(self, "__call__", args, {**options, "out": out})
            if made is not NoValue:
                return made
        operands = [operand(x) for x in args[: self.nin]]
        if not options and (out is NoValue or out is None) and not any(_dims(x) for x in operands):
            return self._function(*[_python(x) for x in operands]) if self.nout else self._nothing(operands)
        call = call_options.read(self, args[: self.nin], out, (), options)
        results = self._apply(operands, call.dtype, call.mask)
        return call_options.deliver(self, call, results, None) if self.nout else ()

    def _nothing(self, operands: list[Any]) -> tuple[()]:
        self._function(*[_python(x) for x in operands])
        return ()

    def _apply(
        self, operands: Any, dtype: torch.dtype | None = None, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, ...]:
        """The tensors of the results, one element after the other."""
        shape = shape_of(operands)
        if mask is not None:
            shape = _util.broadcast_shapes(shape, mask.shape)
            mask = mask.expand(shape)
        returned = call_each(self._function, operands, shape, self.nout, mask)
        device = device_of(operands)
        return tuple(gather(items, shape, dtype, device) for items in returned)

    # -- methods -------------------------------------------------------------------------------------------------------

    def _check_binary(self, method: str) -> None:
        if self.nin != 2 or self.nout != 1:
            raise ValueError(f"{method} only supported for binary functions")

    def _combine(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return self._apply((left, right))[0]

    @_open
    def reduce(
        self,
        array: Any,
        /,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NoValue,
        where: Any = True,
    ) -> Any:
        """Apply the function along one or several axes, from the first element to the last, until one is left."""
        self._check_binary("reduce")
        if where is not True:
            raise TypeError(
                f"{self.__name__}.reduce: select the elements before, as array[mask]; where= is not supported"
            )
        a = as_operand(array) if dtype is None else as_tensor(array, as_dtype(dtype))
        axes = _util.normalize_axes(as_axis(axis), a.ndim) if a.ndim else ()
        if len(axes) > 1 and not self._reorderable:
            raise ValueError(
                f"reduction operation '{self.__name__}' is not reorderable, so at most one axis may be specified"
            )
        rows = list(torch.unbind(_util.move_axes_last(a, axes), -1)) if axes else [a]
        if initial is not NoValue and initial is not None:
            rows.insert(0, as_tensor(initial))
        elif not rows:
            if self.identity is None:
                raise ValueError(f"zero-size array to reduction operation {self.__name__} which has no identity")
            rows = [as_tensor(self.identity).expand([n for dim, n in enumerate(a.shape) if dim not in axes])]
        result = rows[0]
        for row in rows[1:]:
            result = self._combine(result, row)
        if keepdims:
            result = _util.restore_axes(result, axes)
        return wrap.wrap(result.clone()) if out is None else write_out(self.__name__, out, result)

    @_open
    def accumulate(self, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """The results of all the partial reductions along an axis."""
        self._check_binary("accumulate")
        a = as_operand(array) if dtype is None else as_tensor(array, as_dtype(dtype))
        if not a.ndim:
            raise TypeError("cannot accumulate on a scalar")
        dim = _util.normalize_axis(as_axis(axis), a.ndim)
        rows = list(torch.unbind(a, dim))
        for i in range(1, len(rows)):
            rows[i] = self._combine(rows[i - 1], rows[i])
        result = _stacked(rows, dim) if rows else a.clone()
        return wrap.wrap_array(result) if out is None else write_out(self.__name__, out, result)

    @_open
    def reduceat(self, array: Any, /, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """Reduce the slices that begin at each of the indices and end at the next."""
        self._check_binary("reduceat")
        a = as_operand(array) if dtype is None else as_tensor(array, as_dtype(dtype))
        dim = _util.normalize_axis(as_axis(axis), a.ndim)
        rows, length = torch.unbind(a, dim), a.shape[dim]
        starts = _util.integers(as_tensor(indices))
        results = []
        for start, stop in zip(starts, [*starts[1:], length], strict=True):
            if not 0 <= start < length:
                raise IndexError(f"index {start} out-of-bounds in {self.__name__}.reduceat [0, {length})")
            result = rows[start]
            for row in rows[start + 1 : stop]:
                result = self._combine(result, row)
            results.append(result)
        made = _stacked(results, dim) if results else a.narrow(dim, 0, 0)
        return wrap.wrap_array(made) if out is None else write_out(self.__name__, out, made)

    @_open
    def outer(self, a: Any, b: Any, /, **options: Any) -> Any:
        """The function of all pairs (one element of `a`, one of `b`): shape `a.shape + b.shape`."""
        self._check_binary("outer")
        left, right = as_operand(a), as_operand(b)
        return self(left.reshape(tuple(left.shape) + (1,) * right.ndim), right, **options)

    @_open
    def at(self, a: Any, indices: Any, b: Any = NoValue, /) -> None:
        """Apply the function in place at the indices; an index that occurs several times counts each time."""
        array = check_writeable(f"{self.__name__}.at", a)
        if (b is NoValue) != (self.nin == 1):
            raise ValueError(
                "second operand needed for ufunc" if b is NoValue else "second operand provided when ufunc is unary"
            )
        flat = list(torch.unbind(array._t.reshape(-1)))
        positions = wrap.wrap_array(torch.arange(array.size).reshape(array.shape))[indices]
        chosen = as_tensor(positions)
        others = () if b is NoValue else torch.unbind(as_tensor(b).expand(chosen.shape).reshape(-1))
        for i, place in enumerate(chosen.reshape(-1).tolist()):
            more = (others[i],) if others else ()
            flat[place] = self._apply((flat[place], *more))[0].to(array._d)
        write(self.__name__, array, torch.stack(flat).reshape(array.shape) if flat else array._t)


def _dims(x: Any) -> int:
    return x.dim() if isinstance(x, torch.Tensor) else 0


def _python(x: Any) -> Any:
    """A 0-d operand as the function is passed it."""
    if not isinstance(x, torch.Tensor):
        return x
    received: list[Any] = []
    call_each(received.append, [x], (), 1)
    return received[0]


def _stacked(rows: list[torch.Tensor], dim: int) -> torch.Tensor:
    dtype = gather([row.new_zeros(()) for row in rows], (len(rows),), None).dtype
    return torch.stack([row.to(dtype) for row in rows], dim)


@unbound
def frompyfunc(_: Any, func: Callable[..., Any], /, nin: int, nout: int, **kwargs: Any) -> PythonUfunc:
    """A ufunc, with broadcasting and the methods of ufuncs, that calls `func` for each element.

    The function takes `nin` numbers and returns `nout` of them (a tuple, unless it is one): Python numbers, or scalars
    where these carry contributions or are part of a graph. The results are in their common dtype, not objects as
    NumPy's, unless one is no number: then NumPy calls the function. For operands without dimensions it is the function
    itself.
    `identity=` is the value of a reduction over nothing (None: there is none), and allows those over several axes.

    >>> clipped = np.frompyfunc(lambda x, most: min(x, most), 2, 1)
    >>> clipped(np.array([1.0, 5.0, 9.0]), [6.0, 4.0, 2.0])
    array([1., 4., 2.])
    >>> clipped.reduce([3, 1, 2])
    np.int64(1)
    """
    identity = kwargs.pop("identity", NoValue)
    for name in kwargs:
        raise TypeError(f"'{name}' is an invalid keyword argument for frompyfunc()")
    if not callable(func):
        raise TypeError("function must be callable")
    nin, nout = operator.index(nin), operator.index(nout)
    if nin < 0 or nout < 0 or nin + nout > 64:
        raise ValueError(f"Cannot construct a ufunc with more than 64 operands (requested number were: {nin + nout})")
    return PythonUfunc(func, nin, nout, identity)
