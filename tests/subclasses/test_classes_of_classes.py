"""Classes derived from arrays that have a metaclass of their own, or abstract bases, and what programs take from
`np.ndarray` itself to call it with arrays of such classes, beside NumPy's."""

from __future__ import annotations

import abc
import collections.abc
import copy
from typing import Any

import numpy
import pytest

import npdec
from outcomes import same
from subclasses_of import signal_class


class Made(type):
    """A metaclass that makes classes of what it is given, as programs write it."""

    def __new__(cls, name: str, base: type, namespace: dict[str, Any]) -> Any:
        return super().__new__(cls, name, (base,), namespace)

    def __init__(cls, name: str, base: type, namespace: dict[str, Any]) -> None:
        super().__init__(name, (base,), namespace)
        cls.made_by = Made


def by_metaclass(np: Any) -> Any:
    Individual: Any = Made("Individual", signal_class(np), {"weight": 2.0})
    x = np.array([1.0, 2.0]).view(Individual)
    x.info = "x"
    return type(Individual).__name__, type(x + 1).__name__, (x + 1).info, (x * x.weight).tolist(), copy.copy(x).tolist()


def with_abstract_base(np: Any) -> Any:
    class Listed(np.ndarray, collections.abc.Sequence):
        pass

    x = np.array([1.0, 2.0, 1.0]).view(Listed)
    return type(Listed).__name__, isinstance(x, collections.abc.Sequence), x.count(1.0), x.index(2.0), x[1:].tolist()


def abstract(np: Any) -> Any:
    class Shaped(np.ndarray, metaclass=abc.ABCMeta):
        @abc.abstractmethod
        def area(self) -> float: ...

    class Square(Shaped):
        def area(self) -> float:
            return float(self[0] ** 2)

    x = Square((1,), buffer=np.array([3.0]))
    return x.area(), type(Square).__name__, issubclass(Square, np.ndarray), Shaped.__abstractmethods__


def by_metaclass_of_arrays(np: Any) -> Any:
    class Counting(type(np.ndarray)):  # type: ignore[misc]
        pass

    class Counted(np.ndarray, metaclass=Counting):
        pass

    x = np.arange(3.0).view(Counted)
    return type(Counted).__name__, type(x[1:]).__name__, isinstance(np.zeros(2), Counted), isinstance(x, np.ndarray)


@pytest.mark.parametrize("program", [by_metaclass, with_abstract_base, abstract, by_metaclass_of_arrays])
def test_classes_of_arrays_have_the_metaclass_that_programs_give_them(program):
    assert program(npdec) == program(numpy)


def test_a_class_derived_from_arrays_is_of_pythons_own_type():
    assert type(signal_class(npdec)) is type
    assert npdec.ndarray in signal_class(npdec).__mro__


ARGUMENTS = {
    "__deepcopy__": ({},), "__format__": ("",), "__getitem__": (0,), "__setitem__": (0, 5), "__contains__": (1,),
    "__getattribute__": ("shape",), "__array_finalize__": (None,),
}  # fmt: skip
# What is of the class, what Python's own `object` has, and what gives an object of C's that tells nothing.
ASIDE = frozenset(
    "__new__ __class__ __class_getitem__ __init_subclass__ __subclasshook__ __getstate__ __setattr__ __delattr__ "
    "__array_wrap__ __array_ufunc__ __array_function__ __array_namespace__ __setstate__ __delitem__ __dlpack__ "
    "__repr__ __str__ __reduce__ __reduce_ex__ __sizeof__ __init__ __dir__ __hash__".split()
)
SPECIAL = sorted(
    name for name, item in vars(numpy.ndarray).items() if name.startswith("__") and callable(item) and name not in ASIDE
)


def arguments_of(name: str) -> tuple[Any, ...]:
    """What a special method is given beside the array."""
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    try:
        getattr(numpy.ndarray, name)(numpy.array(1))
    except TypeError as error:
        return (2,) if "expected" in str(error) else ()
    return ()


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("values", [[1, 2, 3], 7, 2.5], ids=["vector", "integer", "float"])
def test_special_methods_taken_from_the_class_take_arrays_of_subclasses(name, values):
    def called(np: Any) -> Any:
        x = np.array(values).view(signal_class(np))
        made = getattr(np.ndarray, name)(x, *arguments_of(name))
        kind = type(made).__name__ if isinstance(made, np.ndarray) else None
        return kind, list(made) if name == "__iter__" else made, x.tolist()

    same(called)


def test_a_pickle_that_names_numpys_class_gives_an_array():
    made = npdec.ndarray.__new__(numpy.ndarray, (2,), "f8")
    assert type(made) is npdec.ndarray
    assert made.shape == (2,)


@pytest.mark.parametrize("name", ["conj", "conjugate"])
def test_conjugates_tell_the_class_of_which_ufunc_they_come(name):
    def program(np: Any) -> Any:
        told = []

        class Told(np.ndarray):
            def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
                told.append(None if context is None else (context[0].__name__, len(context[1])))
                return array.view(type(self))

        x = np.array([1 + 2j, 3j]).view(Told)
        return getattr(x, name)(), type(getattr(x, name)()).__name__, told

    same(program)


def test_the_state_of_numpys_pickles_is_taken():
    for lib in (npdec, numpy):
        x = lib.zeros(1).view(type("Kept", (lib.ndarray,), {}))
        for state, expected in (
            ((1, (), lib.dtype("f8"), False, b"\0\0\0\0\0\x004@"), 20.0),
            ((1, (2, 2), lib.dtype("i2"), True, b"\1\0\2\0\3\0\4\0"), [[1, 3], [2, 4]]),
            ((1, (0, 3), lib.dtype("f8"), False, b""), []),
        ):
            x.__setstate__(state)
            assert x.tolist() == expected
            assert x.dtype == state[2]
            x[...] = 7
        with pytest.raises(ValueError, match="buffer size does not match array size"):
            x.__setstate__((1, (2,), lib.dtype("f8"), False, b"12"))
