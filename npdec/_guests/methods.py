"""What the class of guests does: its methods, items, and the protocols by which NumPy's functions ask it."""

from __future__ import annotations

import sys
from typing import Any

from npdec._array import fp_state, wrap
from npdec._array.convert import as_dtype, as_tensor
from npdec._array.generic import generic
from npdec._core.base import ArrayBase, SubclassBase
from npdec._core.installed_numpy import numpy_or_none
from npdec._guests import calls
from npdec._guests.array import as_plain, guest_class
from npdec._guests.building import array_of_objects, holds_ours
from npdec._guests.exchange import Hosted, as_objects, received
from npdec._guests.kinds import holds
from npdec.exceptions import AbsentDTypeError

__all__ = [
    "by_function", "by_ufunc", "compared", "contains", "converted", "given", "item", "lacking", "refused", "resized",
    "set_item",
]  # fmt: skip


def given(name: str, guest: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a method of NumPy's array gives."""
    numpy: Any = numpy_or_none()
    for x in (*args, *kwargs.values()) if name == "view" else ():
        if isinstance(x, type) and issubclass(x, SubclassBase):
            raise AbsentDTypeError(
                f"view: an array of {guest.dtype!r} is NumPy's own, and can be of no class derived from npdec's "
                f"ndarray, as {x.__name__} is: derive the class from numpy.ndarray"
            )
    if name == "to_device" and args and not calls.is_host(args[0]):
        as_tensor(guest)  # raises the error that says how to convert it
    return calls.run(f"ndarray.{name}", getattr(numpy.ndarray, name), (guest, *args), kwargs)


def by_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc of NumPy's with a guest among its operands."""
    out = kwargs.get("out")
    if isinstance(out, tuple) and len(out) == 1:
        kwargs = {**kwargs, "out": out[0]}
    return calls.run(ufunc.__name__, ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)


def by_function(func: Any, args: Any, kwargs: Any) -> Any:
    """A function of NumPy's with a guest among its arguments."""
    return calls.run(func.__name__, func, tuple(args), dict(kwargs))


def lacking(guest: Any, name: str) -> AttributeError:
    """The error for an attribute that NumPy's arrays do not have; of one that npdec's have it says how to convert."""
    said = f"'guest' object has no attribute {name!r}"
    if hasattr(wrap.ARRAY, name):
        try:
            as_tensor(guest)
        except AbsentDTypeError as error:
            said = f"{name}: {error}"
    return AttributeError(said, name=name, obj=guest)


def refused(func: Any, args: list[Any]) -> TypeError:
    """The error for a function of torch that is given a guest, alone or in a list: how to convert it."""
    said = f"torch's {getattr(func, '__name__', func)}"
    for x in args:
        if isinstance(x, (list, tuple)):
            args.extend(x)
        elif type(x) is guest_class():
            try:
                as_tensor(x)
            except AbsentDTypeError as error:
                return AbsentDTypeError(f"{said}: {error}")
    return TypeError(f"{said} takes tensors, and no guest")


def item(guest: Any, key: Any) -> Any:
    """`guest[key]`: an object itself, a scalar, or an array, of npdec's where torch can hold it."""
    hosted = Hosted("an index", key)
    plain = as_plain(guest)
    hosted.origins[id(plain)] = plain, guest
    found = plain[hosted(key)]
    if guest.dtype.hasobject and guest.dtype.names is None and not _is_part(found, plain):
        return found  # whatever the object is
    return received(found, hosted)


def _is_part(found: Any, plain: Any) -> bool:
    """Whether an item of an array of objects is an array of such, and not one object (which may be an array)."""
    numpy: Any = numpy_or_none()
    return (
        isinstance(found, numpy.ndarray)
        and found.dtype == plain.dtype
        and (found.base is not None or found.flags.owndata)
    )


def set_item(guest: Any, key: Any, value: Any) -> None:
    """`guest[key] = value`. Objects are put in as they are, contributions and all."""
    hosted = Hosted("setitem", guest)
    plain, place = hosted(guest), hosted(key)
    if guest.dtype == object:
        value = _as_elements(guest, place, value)
    elif isinstance(value, (list, tuple)) and guest.dtype.hasobject:
        pass  # the fields of a record, of which some are objects
    else:
        value = hosted(value)
    with fp_state.of_numpy(numpy_or_none()):
        plain[place] = value
    hosted.done()


def _as_elements(guest: Any, place: Any, value: Any) -> Any:
    """What is assigned to elements of an array of objects: to a single one, the object itself."""
    numpy: Any = numpy_or_none()
    key = place if isinstance(place, tuple) else (place,)
    if len(key) == guest.ndim and all(isinstance(i, (int, numpy.integer)) and not isinstance(i, bool) for i in key):
        return value
    if isinstance(value, (generic, ArrayBase)):
        return as_objects(value)
    if isinstance(value, (list, tuple)) and holds_ours(value):
        return array_of_objects(value, ndmax=numpy.ndim(as_plain(guest)[place]))
    return value if isinstance(value, (list, tuple)) else Hosted("setitem")(value)


def compared(name: str, guest: Any, other: Any) -> Any:
    """`guest == other` and `guest != other` of records, of which NumPy compares field by field: its own arrays."""
    numpy: Any = numpy_or_none()
    return calls.run(f"ndarray.{name}", getattr(numpy.ndarray, f"__{name}__"), (guest, other), {})


def resized(guest: Any, shape: tuple[Any, ...], refcheck: bool) -> None:
    """`guest.resize(shape)`: where the memory is an array of NumPy's that only the guest looks at, the guest takes over
    what that becomes; else NumPy refuses."""
    numpy: Any = numpy_or_none()
    memory = guest.base  # NumPy's array, or another guest
    whole = type(memory) is numpy.ndarray and memory.base is None and memory.flags.owndata
    if not whole or memory.size != guest.size or not guest.flags.c_contiguous or (refcheck and _is_shared(guest)):
        numpy.ndarray.resize(guest, *shape, refcheck=refcheck)
        return
    made = numpy.array(as_plain(guest), order="C")
    made.resize(*shape, refcheck=False)
    numpy.ndarray.__setstate__(guest, made.__reduce__()[2])


def _is_shared(guest: Any) -> bool:
    """Whether others than a guest look at the array of NumPy's whose memory it shows."""
    return sys.getrefcount(guest.base) > 3  # that of the guest, of `resized`, and of the call


def contains(guest: Any, value: Any) -> Any:
    """`value in guest`."""
    return (as_plain(guest) == Hosted("in", guest)(value)).any()


def converted(guest: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`guest.astype(dtype)`. Objects that carry contributions keep them as elements of a dtype that torch holds."""
    numpy: Any = numpy_or_none()
    dtype = args[0] if args else kwargs.get("dtype")
    if guest.dtype == object and any(_carries(x) for x in guest.flat):
        target = numpy.dtype(Hosted("astype")(dtype))
        if holds(target):
            return wrap.wrap_array(as_tensor(guest, as_dtype(target)))
    return given("astype", guest, args, kwargs)


def _carries(x: Any) -> bool:
    return isinstance(x, ArrayBase) and not (isinstance(x, generic) and not x._carries) and not wrap.is_on_host(x._t)
