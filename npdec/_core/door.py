"""Where a call goes that meets what torch cannot hold, or an array of a program's own class: the one door. It is at the
bottom: any module can ask.

`npdec._guests` stands behind it, and `npdec._subclasses` for such classes. Kernels and the law see neither; a call is
handed over where the error that says "torch cannot hold this" arrives, so that calls without one pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npdec._core.base import MetAsking, MetSubclass
from npdec._core.slots import Slot
from npdec._core.tags import NoValue
from npdec._core.tracebacks import ended, standing_for
from npdec._core.unbound import takes_namespace
from npdec.exceptions import AbsentDTypeError

__all__ = [
    "Implementation", "behind", "hand_over", "hand_over_method", "hand_over_ufunc", "open_method_to_guests",
    "open_to_classes", "open_to_guests", "open_to_guests_as", "open_ufunc_method", "opened", "subclasses",
]  # fmt: skip


# They import it when it is first asked for.
behind: Slot[Callable[[], Any]] = Slot("what stands behind the door")
subclasses: Slot[Callable[[], Any]] = Slot("what knows arrays of a program's own class")


def hand_over(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """What NumPy's function of this name (dotted, below `numpy`) gives for the arguments. Raises the error without
    NumPy, and where NumPy has no such function."""
    if not isinstance(error, MetSubclass):
        try:
            return behind.value().function(name, args, kwargs, error)
        except MetSubclass as both:  # a guest beside an array of a program's own class
            error = both
    return subclasses.value().function(name, args, kwargs, error)


def hand_over_method(name: str, array: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """What the method of NumPy's array gives, for an array of npdec's."""
    if not isinstance(error, MetSubclass):
        try:
            return behind.value().method(name, array, args, kwargs, error)
        except MetSubclass as both:
            error = both
    return subclasses.value().method(name, array, args, kwargs)


def hand_over_ufunc(function: Any, method: str, args: tuple[Any, ...], kwargs: Any, error: Exception) -> Any:
    """What NumPy's ufunc of the same name gives: its call ("__call__") or a method of it."""
    if not isinstance(error, MetSubclass):
        if not isinstance(error, MetAsking):
            made = subclasses.value().asked(function, method, args, kwargs or {})
            if made is not NoValue:
                return made
        try:
            return behind.value().ufunc(function, method, args, kwargs or {}, error)
        except MetSubclass as both:
            error = both
    return subclasses.value().ufunc(function, method, args, kwargs or {})


class Implementation:
    """A public function where no class is asked what it means, by its dotted name. NumPy's functions have one by the
    name `_implementation`, which classes that compute functions themselves call for plain arrays."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return subclasses.value().unasked(self._name, args, kwargs)

    def __repr__(self) -> str:
        return f"<implementation of {self._name}>"


def opened(
    function: Callable[..., Any],
    on: Callable[[tuple[Any, ...], dict[str, Any], Exception], Any],
    at_once: Callable[..., Any] | None = None,
) -> Any:
    """The function, whose calls go on by `on` where they meet what torch cannot hold. Before it, `at_once` is asked
    about arguments without names: what it answers with None is left to the function."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if at_once is not None and not kwargs:
                made = at_once(*args)
                if made is not None:
                    return made
            try:
                return function(*args, **kwargs)
            except AbsentDTypeError as error:
                absent = error
            return on(args, kwargs, absent)
        except Exception as error:
            raise ended(error)  # noqa: B904

    return standing_for(call, function)


def open_to_guests(function: Callable[..., Any]) -> Any:
    """The function, whose calls go to NumPy's of the same name where they meet what torch cannot hold. Functions whose
    calls take less than that does are open to guests themselves."""
    return open_to_guests_as(function.__name__)(function)


def open_to_guests_as(name: str) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that does so for NumPy's function of a dotted name."""

    def decorated(function: Callable[..., Any]) -> Any:
        first = int(takes_namespace(function))
        made = opened(function, lambda args, kwargs, error: hand_over(name, args[first:], kwargs, error))
        made._implementation = Implementation(name)
        return made

    return decorated


def open_to_classes(function: Callable[..., Any]) -> Any:
    """The function, whose calls go on where they meet an array of a program's own class. Guests it takes itself."""
    name = function.__name__

    def on(args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
        if not isinstance(error, MetSubclass):
            raise error
        return subclasses.value().function(name, args, kwargs, error)

    made = opened(function, on)
    made._implementation = Implementation(name)
    return made


def open_method_to_guests(method: Callable[..., Any]) -> Any:
    """The method of arrays, in the same way."""
    name = method.__name__
    return opened(method, lambda args, kwargs, error: hand_over_method(name, args[0], args[1:], kwargs, error))


def open_ufunc_method(method: Callable[..., Any], at_once: Callable[..., Any] | None = None) -> Any:
    """The method of ufuncs, in the same way."""
    name = method.__name__.lstrip("_")
    return opened(method, lambda args, kwargs, error: hand_over_ufunc(args[0], name, args[1:], kwargs, error), at_once)
