"""Which functions become methods of a class whose attribute they are: those of which NumPy's do."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import pickle
import types
import warnings
import weakref
from typing import Any

import numpy
import pytest

import npdec as np

MODULES = (
    "", "char", "core.multiarray", "core.numeric", "core.umath", "ctypeslib", "emath", "fft", "lib", "lib.array_utils",
    "lib.format", "lib.introspect", "lib.npyio", "lib.scimath", "lib.stride_tricks", "linalg", "ma", "polynomial",
    "polynomial.chebyshev", "polynomial.polynomial", "polynomial.polyutils", "random", "rec", "strings", "testing",
)  # fmt: skip


def module_of(library: str, name: str) -> Any:
    if library == "numpy" and name == "emath":
        return numpy.emath
    return importlib.import_module(f"{library}.{name}" if name else library)


def becomes_a_method(function: Any) -> bool:
    """Whether it is called with the object of whose class it is an attribute."""
    owner = type("Owner", (), {"attribute": function})()
    return owner.attribute is not function


def functions_of(module: str) -> dict[str, tuple[Any, Any]]:
    """The public functions of a module: npdec's and NumPy's, by name."""
    ours, theirs = module_of("npdec", module), module_of("numpy", module)
    found = {}
    for name in dir(theirs):
        there = getattr(theirs, name)
        here = None if name.startswith("_") else getattr(ours, name, None)
        if callable(here) and callable(there) and not isinstance(here, type) and not isinstance(there, type):
            found[name] = here, there
    return found


@pytest.mark.parametrize("module", MODULES)
def test_functions_bind_as_numpys(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = functions_of(module)
    other = [name for name, (here, there) in found.items() if becomes_a_method(here) != becomes_a_method(there)]
    assert not other


UNBOUND = {
    f"{module}.{name}".removeprefix("."): here
    for module in ("", "lib.array_utils", "char")
    for name, (here, there) in functions_of(module).items()
    if isinstance(there, types.BuiltinFunctionType)
}


def test_the_functions_are_those_that_are_builtins_in_numpy():
    assert {"array", "asarray", "zeros", "empty", "arange", "char.compare_chararrays"} <= UNBOUND.keys()
    assert len(UNBOUND) == 19


@pytest.mark.parametrize("dotted", UNBOUND)
def test_one_that_does_not_bind_is_a_function_all_the_same(dotted):
    function, name = UNBOUND[dotted], dotted.rpartition(".")[2]
    assert function.__name__ == function.__qualname__ == name
    assert function.__module__.startswith("npdec")
    assert function.__doc__
    assert inspect.isroutine(function)
    assert not inspect.isfunction(function)  # as NumPy's
    assert weakref.ref(function)() is function
    assert {function: 1}[function] == 1
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert copy.copy(function) is function
    assert copy.deepcopy({"f": function}) == {"f": function}
    with pytest.raises(AttributeError):
        function.attribute = 1
    assert "_" not in inspect.signature(function).parameters

    @functools.wraps(function)
    def wrapping(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    assert wrapping.__name__ == name


def described(function: Any) -> list[tuple[str, Any]]:
    return [(p.name, p.kind) for p in inspect.signature(function).parameters.values()]


WITHOUT_A_SIGNATURE = ("char.compare_chararrays", "fromstring", "lib.array_utils.normalize_axis_index")  # in NumPy


@pytest.mark.parametrize("dotted", [name for name in UNBOUND if name not in WITHOUT_A_SIGNATURE])
def test_signatures_leave_the_namespace_out(dotted):
    module, _, name = dotted.rpartition(".")
    assert described(UNBOUND[dotted]) == described(getattr(module_of("numpy", module), name))


@pytest.mark.parametrize("lib", [np, numpy])
def test_attributes_of_classes_are_called_without_the_object(lib):
    class Made:
        array, zeros, ones = lib.array, lib.zeros, lib.ones
        read = lib.frombuffer

    class Counted:
        __getitem__ = lib.arange

    made = Made()
    assert made.array([1.0, 2.0], dtype=lib.float32).dtype == lib.float32
    assert made.zeros(3).tolist() == [0.0, 0.0, 0.0]
    assert made.read(b"\x01\x02", dtype=lib.uint8).tolist() == [1, 2]
    assert Counted()[3].tolist() == [0, 1, 2]
    with pytest.raises(TypeError):
        made.ones()  # a function of Python's, which takes the object for a shape


class Tagged:
    """An array of another library, which says what it was asked."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func, args, kwargs


@pytest.mark.parametrize("name", ["array", "asarray", "asanyarray", "zeros", "empty", "arange", "ascontiguousarray"])
def test_like_hands_on_the_public_function(name):
    function, args, _ = getattr(np, name)(3, like=Tagged())
    assert function is getattr(np, name)
    assert args[0] == 3


def program(x, make=np.zeros):
    y = np.asarray(x) + np.arange(3.0) + make(3)
    return (y * np.array([1.0, 2.0, 3.0])).sum()


X = np.array([1.0, 2.0, 4.0])


@pytest.mark.slow
def test_transformations_and_tables_know_them():
    wanted = program(numpy.array([1.0, 2.0, 4.0]))
    assert np.grad(program)(X).tolist() == [1.0, 2.0, 3.0]
    assert np.vmap(program)(X[None]).tolist() == [wanted]
    assert np.attribute(program, X).attribution.tolist() == [1.0, 4.0, 12.0]
    with np.debug.trace() as trace:
        program(X)
    text = str(trace)
    assert all(name in text for name in ("arange", "zeros", "array"))


@pytest.mark.slow
def test_graphs_have_them():
    jitted = np.jit(program, fullgraph=True, backend="eager")
    assert float(jitted(X)) == program(X)
    assert float(jitted(X, np.ones)) == program(X) + 6.0
