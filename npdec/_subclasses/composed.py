"""Methods that NumPy makes of ufuncs, for classes that compute ufuncs themselves: each step goes to the class."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from npdec._array import wrap
from npdec._array.shapes import as_axis
from npdec._core.tags import NoValue

__all__ = ["COMPOSED"]


def _count(array: Any, axis: Any) -> int:
    found = as_axis(axis)
    axes = range(array.ndim) if found is None else found if isinstance(found, tuple) else (found,)
    return math.prod(array.shape[i] for i in axes)


def _divided(total: Any, count: Any) -> Any:
    np = wrap.NAMESPACE.value
    if isinstance(total, np.ndarray):
        return np.true_divide(total, count, out=total, casting="unsafe", subok=False)
    return total.dtype.type(total / count) if hasattr(total, "dtype") else total / count


def _dtype_of(array: Any, dtype: Any) -> Any:
    return float if dtype is None and array.dtype.kind in "biu" else dtype


def _folded(ufunc: str, array: Any, **options: Any) -> Any:
    where = options.pop("where", NoValue)
    options["where"] = True if where is NoValue else where
    return getattr(wrap.NAMESPACE.value, ufunc).reduce(array, **options)


def _reduced(ufunc: str) -> Callable[..., Any]:
    def method(
        array: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **more: Any
    ) -> Any:
        keepdims = False if keepdims is NoValue else keepdims
        return _folded(ufunc, array, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **more)

    return method


def _extreme(ufunc: str) -> Callable[..., Any]:
    folded = _reduced(ufunc)

    def method(array: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **more: Any) -> Any:
        return folded(array, axis, None, out, keepdims, **more)

    return method


def _accumulated(ufunc: str) -> Callable[..., Any]:
    def method(array: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        line = array.ravel() if axis is None else array
        axis = 0 if axis is None else axis
        options = {name: x for name, x in (("dtype", dtype), ("out", out)) if x is not None}
        return getattr(wrap.NAMESPACE.value, ufunc).accumulate(line, axis=axis, **options)

    return method


def _chosen(where: Any) -> dict[str, Any]:
    """`where=`, if it is one that leaves elements out."""
    return {} if where is NoValue or where is True else {"where": where}


def _counted(array: Any, axis: Any, where: Any, keepdims: bool = False) -> Any:
    """How many elements are summed: a number; with a mask, an array of numbers."""
    if not _chosen(where):
        return _count(array, axis)
    np = wrap.NAMESPACE.value
    return np.add.reduce(np.broadcast_to(where, array.shape), axis, np.intp, None, keepdims)


def _mean(
    array: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = NoValue
) -> Any:
    options = {"axis": axis, "dtype": _dtype_of(array, dtype), "out": out, "keepdims": keepdims is True}
    count = _counted(array, axis, where, keepdims is True)
    return _divided(_folded("add", array, **options, **_chosen(where)), count)


def _var(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = NoValue,
    mean: Any = NoValue,
    correction: Any = NoValue,
) -> Any:
    if correction is not NoValue:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    np = wrap.NAMESPACE.value
    center = _mean(array, axis, dtype, None, True, where=where) if mean is NoValue else mean
    apart = np.asanyarray(array - center)
    if array.dtype.kind in "iuf":
        squares = np.square(apart, out=apart)
    elif array.dtype.kind == "c":
        squares = (apart * apart.conj()).real
    else:
        squares = np.multiply(apart, np.conjugate(apart, out=apart), out=apart).real
    total = _folded("add", squares, axis=axis, dtype=dtype, out=out, keepdims=keepdims is True, **_chosen(where))
    return _divided(total, np.maximum(_counted(array, axis, where, keepdims is True) - ddof, 0))


def _std(array: Any, *args: Any, **options: Any) -> Any:
    np, made = wrap.NAMESPACE.value, _var(array, *args, **options)
    return np.sqrt(made, out=made) if isinstance(made, np.ndarray) else np.sqrt(made)


def _round(array: Any, decimals: int = 0, out: Any = None) -> Any:
    np = wrap.NAMESPACE.value
    if decimals:
        factor = 10 ** abs(decimals)
        up, down = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
        if array.dtype.kind != "f":
            return down(np.rint(up(array, factor)), factor, out=out)
        into = np.empty(array.shape, array.dtype) if out is None else out
        scaled = up(array, factor, out=into)
        return down(np.rint(scaled, out=scaled), factor, out=scaled)
    return np.rint(array, out=out)


def _trace(array: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    options = {name: x for name, x in (("dtype", dtype), ("out", out)) if x is not None}
    return wrap.NAMESPACE.value.add.reduce(array.diagonal(offset, axis1, axis2), axis=-1, **options)


def _conjugate(array: Any, *args: Any, **options: Any) -> Any:
    plain = not (args or options) and array.dtype.kind != "c"
    return array if plain else wrap.NAMESPACE.value.conjugate(array, *args, **options)


COMPOSED: dict[str, Callable[..., Any]] = {
    "sum": _reduced("add"),
    "prod": _reduced("multiply"),
    "max": _extreme("maximum"),
    "min": _extreme("minimum"),
    "all": _extreme("logical_and"),
    "any": _extreme("logical_or"),
    "cumsum": _accumulated("add"),
    "cumprod": _accumulated("multiply"),
    "mean": _mean,
    "var": _var,
    "std": _std,
    "round": _round,
    "trace": _trace,
    "conj": _conjugate,
    "conjugate": _conjugate,
}
