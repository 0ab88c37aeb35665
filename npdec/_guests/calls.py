"""Calls that are left to NumPy: functions, methods and ufuncs of the same name, for arguments of npdec's.

What a call writes into an array of npdec's is written by npdec, so that views, copies that stand for views and
contributions stay right.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from npdec._array import fp_state, wrap
from npdec._array.convert import as_tensor
from npdec._array.output import check_writeable, write_out
from npdec._core.base import ArrayBase, MetAsking
from npdec._core.door import subclasses
from npdec._core.installed_numpy import numpy_or_none
from npdec._core.tags import NoValue
from npdec._decomposed.tensor import DecomposedTensor
from npdec._guests import asking
from npdec._guests.building import array_of_objects, holds_ours
from npdec._guests.exchange import MAKING, Hosted, Values, as_objects, received
from npdec._impl import _devices, _util

__all__ = ["function", "is_host", "method", "run", "ufunc"]


def _found(name: str) -> Any:
    """NumPy's function of a dotted name below `numpy`; None if there is none."""
    try:
        return operator.attrgetter(name)(numpy_or_none())
    except AttributeError:
        return None


def is_host(device: Any) -> bool:
    """Whether a device is the one on which NumPy's arrays lie. Raises ValueError for what is no device."""
    return _devices.current_device(device).type == "cpu"


def _refuse(error: Exception) -> Any:
    """Raise the error that came to the door, with the frames that led there: functions of the program may be among
    them, and of npdec's own the public function leaves the last."""
    raise error from None


def function(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """What NumPy's function of a dotted name gives. Raises the error where there is none."""
    found = _found(name)
    if isinstance(error, MetAsking):
        public = operator.attrgetter(name)(wrap.NAMESPACE.value)
        made = asking.by_function(public, found, args, kwargs)
        if made is not NoValue:
            return made
    elif found is None:
        return _refuse(error)
    if kwargs.get("device") is not None:
        if not is_host(kwargs["device"]):
            return _refuse(error)
        kwargs = {**kwargs, "device": "cpu"}  # NumPy takes the word alone
    error.__traceback__ = None
    if name in _WRITING and not isinstance(error, MetAsking):
        return _written(name, found, args, kwargs, error)
    if name in MAKING:
        return _made(name, found, args, kwargs)
    try:
        return run(name, found, args, kwargs)
    except TypeError as refusal:
        if not str(refusal).startswith("no implementation found for"):
            raise
        made = overridden(name, args, kwargs)
        if made is NoValue:
            raise
        return made


def overridden(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the classes of the arguments give that have refused NumPy's function: their tables may know npdec's."""
    ours: Any = wrap.NAMESPACE.value
    for part in name.split("."):
        ours = getattr(ours, part, None)
    return NoValue if ours is None else subclasses.value().overridden(ours, args, kwargs)


def method(name: str, array: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """What NumPy's method gives for an array or a scalar of npdec's."""
    found = _found(f"ndarray.{name}")
    if isinstance(error, MetAsking):
        made = asking.by_method(name, found, array, args, kwargs)
        if made is not NoValue:
            return made
    elif found is None:
        return _refuse(error)
    error.__traceback__ = None
    if name == "astype":
        return _cast(found, array, args, kwargs)
    if type(array) is not wrap.ARRAY:
        array = wrap.wrap_array(as_tensor(array))
    if name in ("getfield", "view") and isinstance(array._t, DecomposedTensor):
        raise TypeError(f"{name}: contributions cannot be read as another dtype; use .value.{name}(dtype)")
    return run(f"ndarray.{name}", found, (array, *args), kwargs)


def ufunc(function: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """What NumPy's ufunc of the same name gives, or a method of it."""
    found = _found(f"{function.__module__}.{function.__name__}".removeprefix("npdec."))
    asks = isinstance(error, MetAsking)
    if asks:
        made = asking.by_ufunc(function, method, found, args, kwargs)
        if made is not NoValue:
            return made
    elif found is None:
        return _refuse(error)
    error.__traceback__ = None
    if method == "at" and isinstance(args[0], ArrayBase):
        return _at(function, found, args, error)
    call = found if method == "__call__" else getattr(found, method, None)
    if call is None:
        return _refuse(error)
    try:
        return run(function.__name__, call, args, kwargs)
    except TypeError as refusal:
        if not asks or "returned NotImplemented" not in str(refusal):
            raise
        return subclasses.value().asked(function, method, args, kwargs)


def run(name: str, found: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function of NumPy's gives. `out=` may be arrays of npdec's: they are written when all is computed."""
    hosted = Hosted(name, args, kwargs)
    out = kwargs.get("out")
    outs = out if isinstance(out, tuple) else (out,)
    if not any(isinstance(one, ArrayBase) for one in outs):
        made = _called(found, *map(hosted, args), **{key: hosted(x) for key, x in kwargs.items()})
        hosted.done()
        numpy: Any = numpy_or_none()
        return out if isinstance(out, numpy.ndarray) else received(made, hosted)
    for one in outs:
        if isinstance(one, ArrayBase):
            check_writeable(name, one)
    fresh = tuple(hosted(one).copy() if isinstance(one, ArrayBase) else hosted(one) for one in outs)
    options = {key: hosted(x) for key, x in kwargs.items() if key != "out"}
    made = _called(found, *map(hosted, args), **options, out=fresh if isinstance(out, tuple) else fresh[0])
    for one, result in zip(outs, fresh, strict=True):
        if isinstance(one, ArrayBase):
            write_out(name, one, as_tensor(result), "unsafe")
    own = all(any(x is one for one in fresh) for x in (made if isinstance(made, tuple) else (made,)))
    return out if own else received(made, hosted)  # a class that computes ufuncs itself may give anything


def _called(found: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What a function of NumPy's gives, in npdec's state of floating-point errors."""
    with fp_state.of_numpy(numpy_or_none()):
        return found(*args, **kwargs)


# --- arrays made of anything ------------------------------------------------------------------------------------------


def _made(name: str, found: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An array of whatever is given. Among objects, scalars and arrays of npdec's stay what they are."""
    numpy: Any = numpy_or_none()
    source: Any = args[0] if args else None
    if hasattr(type(source), "__array__") and not isinstance(source, (ArrayBase, numpy.ndarray, numpy.generic)):
        source = source.__array__()  # which may be npdec's, and NumPy takes only its own from it
        args = (source, *args[1:])
    if not isinstance(source, (list, tuple)) or not holds_ours(source):
        return run(name, found, args, kwargs)
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    if dtype is None:
        dtype = numpy.array(Values(name)(source)).dtype
    if numpy.dtype(Hosted(name)(dtype)).kind != "O":
        return run(name, found, args, kwargs)
    rest = {key: x for key, x in kwargs.items() if key != "dtype"}
    ndmax = {"ndmax": rest["ndmax"]} if "ndmax" in rest else {}
    return run(name, found, (array_of_objects(source, **ndmax), *args[1:]), kwargs)


# --- casts of npdec's arrays ------------------------------------------------------------------------------------------


def _cast(found: Callable[..., Any], array: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`x.astype(object)` and the like: a scalar gives NumPy's scalar, or the object that it is."""
    kwargs = {key: x for key, x in kwargs.items() if not (key == "copy" and x is None)}
    made = run("ndarray.astype", found, (wrap.wrap_array(array._t), *args), kwargs)
    return made if type(array) is wrap.ARRAY else made[()]


# --- writing into npdec's arrays --------------------------------------------------------------------------------------

# Functions that write into their first argument, and which arguments are the values.
_WRITING = {
    "copyto": (1, "src"),
    "put": (2, "v"),
    "place": (2, "vals"),
    "putmask": (2, "values"),
    "put_along_axis": (2, "values"),
    "fill_diagonal": (1, "val"),
}


def _written(
    name: str, found: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> Any:
    """A call that writes into its first argument. What a guest holds for an array of npdec's is cast to its dtype
    first, where NumPy's rule for casts allows."""
    numpy: Any = numpy_or_none()
    if not args or not isinstance(args[0], ArrayBase):
        return run(name, found, args, kwargs)
    array: Any = args[0]
    place, key = _WRITING[name]
    values = args[place] if len(args) > place else kwargs[key]
    if isinstance(values, ArrayBase) and values._d is array._d:  # the guest says where to write
        return _placed(name, found, array, args, kwargs, error)
    made = numpy.asarray(Hosted(name)(values))
    casting = kwargs.get("casting", args[2] if len(args) > 2 else "same_kind") if name == "copyto" else "unsafe"
    target = Hosted(name)(array.dtype)
    if name in ("place", "putmask") and made.dtype.kind in "mM":
        casting = "safe"
    if not numpy.can_cast(made.dtype, target, casting):
        raise TypeError(f"Cannot cast array data from {made.dtype!r} to {target!r} according to the rule '{casting}'")
    cast = wrap.NAMESPACE.value.array(received(made), target)
    args = tuple(cast if i == place else x for i, x in enumerate(args))
    kwargs = {name_: cast if name_ == key else x for name_, x in kwargs.items()}
    return getattr(wrap.NAMESPACE.value, name)(*args, **kwargs)


def _placed(
    name: str, found: Callable[..., Any], array: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> Any:
    """A call whose indices or mask are a guest: done to a copy by NumPy, which mostly refuses them, and written as a
    whole. Raises the error for what carries more than numbers."""
    if not _util.are_numbers(array._t) or any(isinstance(x, ArrayBase) and not _util.are_numbers(x._t) for x in args):
        return _refuse(error)
    hosted = Hosted(name, args, kwargs)
    fresh = hosted(array).copy()
    _called(found, fresh, *map(hosted, args[1:]), **{key: hosted(x) for key, x in kwargs.items()})
    write_out(name, check_writeable(name, array), as_tensor(fresh), "unsafe")
    return None


def _at(function: Any, found: Any, args: tuple[Any, ...], error: Exception) -> Any:
    """`ufunc.at` of an array of npdec's, with a guest among the others: computed beside it, and written as a whole."""
    array = check_writeable(f"{function.__name__}.at", args[0])
    hosted = Hosted(f"{function.__name__}.at", args)
    fresh = as_objects(array) if hosted.among_objects() else hosted(array).copy()
    made = found.at(fresh, *map(hosted, args[1:]))
    if made is not None:  # of a class that computes ufuncs itself
        return received(made, hosted)
    write_out(f"{function.__name__}.at", array, as_tensor(fresh, array._d), "unsafe")
    return None
