"""Calls that have met an array of a program's own class: functions, methods and ufuncs go on with plain arrays, and
what they give takes the class that NumPy gives it."""

from __future__ import annotations

import functools
import operator
from typing import Any

from npdec._array import construct, printing, wrap
from npdec._array.protocols import own_function
from npdec._core.base import ArrayBase, MetSubclass, SubclassBase, UfuncBase
from npdec._core.tags import NoValue, spec_of
from npdec._normalizer.beside import leaves_it_to
from npdec._subclasses import numpys, overrides, pickling, results, table
from npdec._subclasses.arguments import Plain, as_array
from npdec._subclasses.array import Subclassed, adopt, base_of, of_both, taken_over
from npdec._subclasses.composed import COMPOSED
from npdec._subclasses.wrapping import dominant, finished, wrapped, wrapper_among

__all__ = [
    "Subclassed",
    "allocated",
    "constructed",
    "function",
    "implemented",
    "method",
    "of_both",
    "ufunc",
    "ufunc_itself",
    "unasked",
]


def constructed(cls: type, shape: Any, dtype: Any, buffer: Any, offset: int, strides: Any, order: Any) -> Any:
    """`np.ndarray.__new__(cls, shape, ...)`: a new array of a subclass, or one over a buffer."""
    memory = buffer._p if isinstance(buffer, SubclassBase) else buffer
    made = construct.construct(shape, dtype, memory, offset, strides, order)
    if not issubclass(cls, SubclassBase):  # NumPy's own class, which pickles of NumPy's name
        return made
    return adopt(cls, made, None, None if buffer is None else base_of(buffer, cls))


def allocated(plain: Any, beside: Any) -> Any:
    """A new array, of the class of the highest priority among the arrays beside it."""
    source = dominant(beside)
    return plain if source is None else adopt(type(source), plain, None)


# --- ufuncs -----------------------------------------------------------------------------------------------------------


def ufunc(function: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc, or a method of it: what a class that computes ufuncs itself gives, or the result, wrapped."""
    made = overrides.by_ufunc(function, method, args, kwargs)
    return ufunc_itself(function, method, args, kwargs) if made is NoValue else made


asked = overrides.by_ufunc  # what the classes of the operands give, where one computes ufuncs itself
overridden = overrides.by_function  # and of a function


def ufunc_itself(function: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same, where no class is asked."""
    plain = Plain()
    found = function if method == "__call__" else getattr(function, method)
    given, options = plain(args), plain(kwargs)
    _check_met(function.__name__, plain)
    result = found(*given, **options)
    return delivered(function, method, args, kwargs, result)


def _check_met(name: str, plain: Plain) -> None:
    """Raise TypeError for a call that came here though no argument is of a subclass: what it calls has returned one."""
    if not plain.met:
        raise TypeError(f"{name}: an array of a subclass came up within the call; return np.asarray(x) there")


def delivered(function: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """The results of a ufunc, in the class that they take."""
    if method == "at":
        return None
    inputs, options = overrides.normalized(function, method, args, kwargs)
    if method == "reduceat":
        inputs = inputs[:1]  # the other are indices
    out = options.get("out")
    outs = out if isinstance(out, tuple) else ()
    several = isinstance(result, tuple)
    items = result if several else (result,)
    outs = (*outs, *(None,) * (len(items) - len(outs)))
    source = wrapper_among(inputs) if kwargs.get("subok", True) else None
    given = []
    for i, (item, one) in enumerate(zip(items, outs, strict=False)):
        context = None
        if method in ("__call__", "outer"):
            context = (function, (*inputs, *outs) if any(x is not None for x in outs) else inputs, i)
        if isinstance(one, ArrayBase):
            given.append(finished(one, context))
        elif source is None:
            given.append(item)
        else:
            scalar = type(item) is not wrap.ARRAY
            given.append(wrapped(source, item, context, scalar))
    return tuple(given) if several else given[0]


def default_of_ufunc(array: Any, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.ndarray.__array_ufunc__` of an array of a subclass, for a ufunc of npdec's, of NumPy's or of others:
    NotImplemented, where an operand computes ufuncs itself."""
    if overrides.asks_itself(*overrides.operands(inputs, kwargs)):
        return NotImplemented
    plain = Plain()
    bare = plain(array)
    if isinstance(ufunc, UfuncBase):
        result = getattr(ufunc, method)(*plain(inputs), **plain(kwargs))
    else:
        result = bare.__array_ufunc__(ufunc, method, *plain(inputs), **plain(kwargs))
    return delivered(ufunc, method, inputs, kwargs, result) if plain.met else result


# --- functions --------------------------------------------------------------------------------------------------------


def function(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """A public function: what a class that computes functions itself gives, or the result as NumPy gives it."""
    public = operator.attrgetter(name)(wrap.NAMESPACE.value)
    made = NoValue if name in table.UNASKED or isinstance(public, type) else overrides.by_function(public, args, kwargs)
    return implemented(public, name, args, kwargs, error) if made is NoValue else made


def default_of_function(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.ndarray.__array_function__` of an array of a subclass: NotImplemented, where others than arrays take part."""
    if not all(issubclass(kind, wrap.ARRAY) for kind in types):
        return NotImplemented
    found, _ = own_function(func)
    if found is None:
        return NotImplemented
    module = found.__module__.partition("._")[0]
    return implemented(found, f"{module}.{found.__name__}".removeprefix("npdec."), args, kwargs, None)


def unasked(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same, where no class is asked."""
    public = operator.attrgetter(name)(wrap.NAMESPACE.value)
    plain = Plain()
    plain(args), plain(kwargs)
    return implemented(public, name, args, kwargs, None) if plain.met else public(*args, **kwargs)


def implemented(public: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception | None) -> Any:
    """The same, where no class is asked. Raises the error where there is no array of a subclass in sight."""
    first = args[0] if args else next(iter(kwargs.values()), None)
    if name in table.BY_METHOD and isinstance(first, SubclassBase):
        rest = args[1:]
        options = kwargs if args else dict(list(kwargs.items())[1:])
        if "axes" in options:  # which the method takes without the name
            rest, options = (options["axes"],), {}
        if not rest:  # as NumPy calls it, which a class that overrides the method counts on
            options = dict.fromkeys(table.GIVEN.get(table.BY_METHOD[name], ())) | options
        return getattr(first, table.BY_METHOD[name])(*rest, **options)
    plain = Plain()
    given, options = plain(args), plain(kwargs)
    if name in table.CALLING:
        place, of = table.CALLING[name]
        returned: list[Any] = []
        calling = _calling(given[place], args[of], returned)
        if calling is given[place] and not plain.met and error is not None:  # it was made so before
            raise error
        given = (*given[:place], calling, *given[place + 1 :])
    elif not plain.met and error is not None:
        raise error
    if overrides.sees_steps(plain.met):
        steps = COMPOSED.get(table.BY_METHOD[name]) if name in table.BY_METHOD else numpys.composed(name)
        if steps is not None:
            return steps(*args, **kwargs)
    if name == "array_repr":
        return printing.named_repr(type(first).__name__, *given, **options)
    result = public(*given, **options)
    out = kwargs.get("out")
    if out is not None and not isinstance(out, tuple):
        return finished(out, None)
    if name == "apply_along_axis" and returned:
        return wrapped(returned[0], result)
    inputs = tuple(overrides.leaves((*args, *(x for key, x in kwargs.items() if key not in ("out", "where")))))
    return table.FUNCTIONS.get(name, results.drop)(result, results.Call(args, kwargs, inputs, plain))


def _calling(function: Any, array: Any, returned: list[Any]) -> Any:
    """A function of the program's, which is given parts of an array in the class of that; plain arrays are what it is
    taken to return, and those of subclasses are listed. Of lists of functions each."""
    if isinstance(function, (list, tuple)):
        made = [_calling(one, array, returned) for one in function]
        return function if all(a is b for a, b in zip(made, function, strict=True)) else made
    if not callable(function) or getattr(function, "_is_called_for", False):
        return function

    def called(part: Any, *args: Any, **kwargs: Any) -> Any:
        own = isinstance(array, SubclassBase) and type(part) is wrap.ARRAY
        plain = Plain()
        made = plain(function(adopt(type(array), part, array) if own else part, *args, **kwargs))
        returned.extend(plain.met)
        return made

    marked: Any = called
    marked._is_called_for = True
    return marked


def wrapped_call(function: Any, args: tuple[Any, ...]) -> Any:
    """The results of a function that calls one of the program's for each element: as a ufunc's are wrapped."""
    plain = Plain()
    given = plain(args)
    _check_met("vectorize", plain)
    result = function(given)
    return results.wraps(result, results.Call(args, {}, args, plain))


# --- methods ----------------------------------------------------------------------------------------------------------


_UFUNCS = ("conj", "conjugate")  # methods that are a ufunc, which tells the class so when it wraps the result


def method(name: str, array: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method, an operator or an attribute, of an array of a subclass or with one among its arguments."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(array, *args, **kwargs)
    operated = operators().get(name)
    if operated is not None:
        return _operated(name, *operated, array, args)
    composed = COMPOSED.get(name)
    if composed is not None and (name in _UFUNCS or overrides.asks_itself(array, kwargs.get("out"))):
        return composed(array, *args, **kwargs)
    plain = Plain()
    bare = plain(array)
    given, options = plain(args), plain(kwargs)
    if not plain.met:
        raise MetSubclass(type(array))
    result = getattr(bare, name)(*given, **options)
    if type(result) is wrap.ARRAY and result is not bare:
        out = plain.origin(result)  # out=
        if out is not None:
            return finished(out, None)
    give = table.METHODS.get(name, results.keep)
    return give(result, results.Call((array, *args), kwargs, (array, *args), plain))


def decomposed(function: Any, x: Any, axis: Any, options: dict[str, Any]) -> Any:
    """`np.decompose` of arrays of subclasses, which keep their classes."""
    plain = Plain()
    made = function(plain(x), axis, **options)
    if not isinstance(x, tuple):
        return adopt(type(x), made, x)
    pairs = zip(x, made, strict=True)
    return tuple(adopt(type(a), item, a) if isinstance(a, SubclassBase) else item for a, item in pairs)


# --- operators --------------------------------------------------------------------------------------------------------


@functools.cache
def operators() -> dict[str, tuple[Any, str]]:
    """The ufunc of each operator, and how it is one: "plain", "reflected", "in place"."""
    namespace = wrap.NAMESPACE.value
    found: dict[str, tuple[Any, str]] = {}
    for item in list(vars(namespace).values()):
        stem = (
            spec_of(item.__kernel__).operator if isinstance(item, UfuncBase) and hasattr(item, "__kernel__") else None
        )
        if stem is not None:
            found |= {f"__{stem}__": (item, "plain"), f"__r{stem}__": (item, "reflected")}
            found[f"__i{stem}__"] = item, "in place"
    matmul = namespace.matmul
    found |= {
        "__matmul__": (matmul, "plain"),
        "__rmatmul__": (matmul, "reflected"),
        "__imatmul__": (matmul, "in place"),
    }
    return found


def _operated(name: str, function: Any, kind: str, array: Any, args: tuple[Any, ...]) -> Any:
    """An operator between arrays of which one is of a subclass: the ufunc, with Python's rules for who is asked."""
    if any(not isinstance(other, ArrayBase) and leaves_it_to(array, other, kind == "in place") for other in args):
        return NotImplemented
    inputs = (*args, array) if kind == "reflected" else (array, *args)
    options = {"out": (array,)} if kind == "in place" else {}
    if overrides.asks_itself(*inputs):
        return ufunc(function, "__call__", inputs, options)
    plain = Plain()
    bare = plain(array)
    result = getattr(type(bare), name)(bare, *plain(args))
    if result is NotImplemented:
        return NotImplemented
    return delivered(function, "__call__", inputs, options, result)


# --- methods that are of the class ------------------------------------------------------------------------------------


def _item(array: Any, key: Any) -> Any:
    plain = Plain()
    found = plain(array)[plain(key)]
    if type(found) is wrap.ARRAY and found.base is None and isinstance(array, SubclassBase):
        return adopt(type(array), found, array, found)  # a view of the plain array of what indices have chosen
    return results.keep(found, results.Call((array, key), {}, (array,), plain))


def _set_item(array: Any, key: Any, value: Any) -> None:
    plain = Plain()
    plain(array)[plain(key)] = plain(value)


def _attribute(array: Any, name: str) -> Any:
    if name == "flat":
        return _flat(array)
    plain = Plain()
    found = getattr(plain(array), name)
    return table.METHODS.get(name, results.keep)(found, results.Call((array,), {}, (array,), plain))


def _set_attribute(array: Any, name: str, value: Any) -> None:
    plain = Plain()
    setattr(plain(array), name, plain(value))


def _view(array: Any, dtype: Any = None, type: Any = None) -> Any:
    cls = type
    if dtype is wrap.ARRAY or SubclassBase in getattr(dtype, "__mro__", ()):
        if type is not None:
            raise ValueError("Cannot specify output type twice.")
        dtype, cls = None, dtype
    plain = Plain()
    bare = plain(array)
    made = bare.view() if dtype is None else bare.view(dtype)
    cls = array.__class__ if cls is None else cls
    if not isinstance(made, ArrayBase):
        if cls is not wrap.ARRAY:
            raise TypeError(f"view: an array of {made.dtype!r} is NumPy's own, and can be of no class below npdec's")
        return made
    base = base_of(array, cls)
    if cls is not wrap.ARRAY:
        return adopt(cls, made, array, base)
    kept: Any = made
    kept._exporter = base
    return kept


def _array_wrap(array: Any, result: Any, context: Any = None, return_scalar: bool | None = None) -> Any:
    if type(result) is type(array):
        return result
    if not isinstance(array, SubclassBase):
        return array.__array_wrap__(Plain()(result), context, return_scalar)
    plain = Plain()
    bare = plain(result)
    base = base_of(result, type(array)) if isinstance(result, ArrayBase) else None
    return adopt(type(array), as_array(wrap.NAMESPACE.value.asarray(bare)), array, base)


def _copied(array: Any, memo: Any = None) -> Any:
    made = array._p.__copy__() if memo is None else array._p.__deepcopy__(memo)
    return adopt(type(array), made, array)


def _repr(array: Any) -> str:
    return printing.named_repr(type(array).__name__, array._p)


def _repr_html(array: Any) -> Any:
    return array._p._repr_html_()


def _flat(array: Any) -> Any:
    found = array._p.flat
    found._base = array
    return found


_SPECIAL: dict[str, Any] = {
    "__getitem__": _item,
    "__setitem__": _set_item,
    "__getattribute__": _attribute,
    "__setattr__": _set_attribute,
    "view": _view,
    "__array_wrap__": _array_wrap,
    "__copy__": _copied,
    "__deepcopy__": _copied,
    "__repr__": _repr,
    "_repr_html_": _repr_html,
    "__reduce__": pickling.reduced,
    "__setstate__": pickling.set_state,
}

taken_over.fill(method)
