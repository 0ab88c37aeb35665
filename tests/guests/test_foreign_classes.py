"""Objects of other libraries among the operands: what they are asked, and what is made of their answers, as in NumPy.

Each program runs with npdec and with NumPy in its place.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import npdec as np

LIBRARIES = pytest.mark.parametrize("lib", [np, numpy], ids=["npdec", "numpy"])


class Wrapping:
    """It exports its numbers, and wraps what is computed of them."""

    made: Any = None

    def __init__(self, lib: Any) -> None:
        self.lib = lib

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.lib.array([1.0, 4.0])

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        made = type(self)(self.lib)
        made.made, made.context = array, context
        return made


class Urgent(Wrapping):
    __array_priority__ = 20.0


@LIBRARIES
@pytest.mark.parametrize("name", ["add", "minimum", "arctan2", "power"])
def test_results_are_wrapped_by_the_most_urgent_operand(lib, name):
    function, x = getattr(lib, name), lib.ones(2)
    one, urgent = Wrapping(lib), Urgent(lib)
    plain = function(lib.array([1.0, 4.0]), x).tolist()
    for inputs in ((one, x), (one, one), (one, [1.0, 1.0]), (one, 1.0)):
        made = function(*inputs)
        assert type(made) is Wrapping
        assert made.context[0] is function
        assert made.context[1:] == (inputs, 0)
    assert function(one, x).made.tolist() == plain
    for inputs in ((one, urgent), (urgent, one), (x, urgent)):
        assert type(function(*inputs)) is Urgent
    assert type(function(x, x)) is lib.ndarray


@LIBRARIES
def test_a_unary_function_is_wrapped_and_one_of_a_tensor_is_not(lib):
    assert type(lib.exp(Wrapping(lib))) is Wrapping
    torch = pytest.importorskip("torch")
    if lib is np:
        assert type(np.exp(torch.ones(2))) is np.ndarray
        assert type(np.add(np.ones(2), numpy.ones(2, dtype=numpy.float32))) is np.ndarray


@LIBRARIES
def test_reductions_are_wrapped(lib):
    made = lib.add.reduce(Wrapping(lib))
    assert type(made) is Wrapping
    assert float(made.made) == 5.0
    assert float(lib.maximum.reduce(lib.array([1.0, 4.0]))) == 4.0


@LIBRARIES
@pytest.mark.parametrize("given", ["hi", "f4", 10.0, None, [1, 2], object()])
def test_limits_of_what_is_no_integer(lib, given):
    with pytest.raises(ValueError, match="Invalid integer data type"):
        lib.iinfo(given)


class Asked:
    """It computes ufuncs itself, and tells what it was asked."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc.__name__, method, inputs, kwargs


@LIBRARIES
def test_options_are_for_the_class_that_computes(lib):
    a = Asked()
    assert lib.multiply(1, a, subok="text", where=42) == (
        "multiply",
        "__call__",
        (1, a),
        {"subok": "text", "where": 42},
    )
    assert lib.multiply(a, 2, "out") == ("multiply", "__call__", (a, 2), {"out": ("out",)})
    assert lib.multiply(2, a, out="out")[3] == {"out": ("out",)}
    assert lib.frexp(a, "one", "two")[3] == {"out": ("one", "two")}
    assert lib.add(1.0, a, order="Z", casting="any")[3] == {"order": "Z", "casting": "any"}
    assert lib.multiply.reduce(a, "axis", "dtype", "out", "keep") == (
        "multiply", "reduce", (a,), {"axis": "axis", "dtype": "dtype", "out": ("out",), "keepdims": "keep"},
    )  # fmt: skip
    for wrong in ({"unknown": 1}, {"sig": "d", "signature": "d"}):
        with pytest.raises(TypeError):
            lib.multiply(1, a, **wrong)
    with pytest.raises((TypeError, ValueError)):
        lib.multiply(1, 2.0, subok="text")


@LIBRARIES
def test_classes_that_refuse_are_named(lib):
    class Refusing:
        def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match=r"operand type\(s\) all returned NotImplemented .*out=\(1,\)\): 'Refusing', "):
        lib.add(Refusing(), object(), out=1)


@LIBRARIES
def test_tables_of_functions_are_of_the_library_that_the_program_names(lib):
    table: dict[Any, Any] = {}

    class Implementing:
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return table[func](*args, **kwargs) if func in table else NotImplemented

    x = Implementing()
    for name in ("sum", "mean", "concatenate", "linalg.norm", "fft.fft"):
        function = lib
        for part in name.split("."):
            function = getattr(function, part)
        table[function] = lambda *args, name=name, **kwargs: (name, kwargs)
        assert function([x] if name == "concatenate" else x, axis=1) == (name, {"axis": 1})
    with pytest.raises(TypeError, match="no implementation found"):
        lib.prod(x)


@LIBRARIES
def test_protocols_called_by_hand(lib):
    x = lib.array([1, 2])
    assert x.__array_function__(lambda y: y * 2, (lib.ndarray,), (x,), {}).tolist() == [2, 4]
    with pytest.raises(TypeError, match="args must be a tuple"):
        x.__array_function__(numpy.reshape, (lib.ndarray,), x, {})
    with pytest.raises(TypeError, match="kwargs must be a dict"):
        x.__array_function__(numpy.reshape, (lib.ndarray,), (x,), (2, 1))
    for wrong in ((), (1, 2)):
        with pytest.raises(TypeError):
            x.__array_ufunc__(*wrong)


class Data:
    """What looks like a sequence, whose items do not."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, key: Any) -> Any:
        return type(self)(self.data[key])


class Keyed:
    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> Any:
        raise self.error


@LIBRARIES
def test_what_is_no_sequence_after_all_is_an_object(lib):
    assert lib.array(Data([1, 2, 3])).shape == (3,)
    made = lib.array([Keyed(KeyError)])
    assert made.shape == (1,)
    assert made.dtype == object
    with pytest.raises(ValueError):
        lib.array([Keyed(ValueError)])


# --- arrays of what torch cannot hold ---------------------------------------------------------------------------------


@LIBRARIES
@pytest.mark.parametrize("dtype", ["O", "U3", "S2", "i4,f4", "u4,O", "M8[D]"])
@pytest.mark.parametrize("shape", [(15,), (2, 1), (0,), (3, 2, 2)])
def test_resize_in_place(lib, dtype, shape):
    a, wanted = lib.zeros(6, dtype=dtype), numpy.zeros(6, dtype=dtype)
    a.resize(shape)
    wanted.resize(shape)
    assert a.shape == shape
    assert a.tolist() == wanted.tolist()
    a.resize((2,), refcheck=False)
    wanted.resize((2,))
    assert a.tolist() == wanted.tolist()


@LIBRARIES
def test_resize_refuses_memory_that_others_look_at(lib):
    a = lib.zeros(6, dtype=object)
    view = a[2:]
    with pytest.raises(ValueError, match="cannot resize"):
        view.resize((2,))
    with pytest.raises(ValueError, match="cannot resize"):
        a.resize((7,))
    assert view.base is a
    assert a[...].base is a
    assert a[1:][1:].base is a


@LIBRARIES
def test_records_are_compared_field_by_field(lib):
    a = lib.array([[(0,)], [(1,)]], dtype=[("a", "f8", (1,))])
    b = lib.array([(0,), (0,), (1,)], dtype=[("a", "f8", (1,))])
    assert (a == b).tolist() == [[True, True, False], [False, False, True]]
    assert (a != b).tolist() == [[False, False, True], [True, True, False]]
    x = lib.array([(5, 42), (10, 1)], dtype=[("a", "10>f8"), ("b", "5<f8")])
    y = lib.array([(5, 43), (10, 1)], dtype=[("a", "10<i8"), ("b", "5>i8")])
    assert (x == y).tolist() == [False, True]
    with pytest.raises(TypeError):
        hash(a)


def test_scalars_print_as_the_options_ask():
    for number in (1.123456789123456789, 1e15, 65504.0, 1.0):
        for name in ("float64", "float32", "float16", "int64", "complex128"):
            for legacy in ("1.13", "2.2", False):
                if name == "float16" and number > 1e5:
                    continue
                with np.printoptions(legacy=legacy):
                    assert str(getattr(np, name)(number)) == str(getattr(numpy, name)(number))


@LIBRARIES
def test_keepdims_of_a_generalised_ufunc_is_a_boolean(lib):
    x = lib.ones((2, 3))
    assert lib.vecdot(x, x, keepdims=True).shape == (2, 1)
    with pytest.raises(TypeError):
        lib.vecdot(x, x, keepdims="true")


class Numbers:
    """It exports an array, and nothing else."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.lib.array([1, 0], dtype)


BESIDE_GUESTS: dict[str, Any] = {
    "index of text": lambda lib, x: lib.array(["a", "b"])[x],
    "index of objects": lambda lib, x: lib.array(["a", None])[x],
    "assigned": lambda lib, x: lib.array(["2001", "2002"], "M8[Y]").__setitem__(x, lib.datetime64("2003")),
    "dates": lambda lib, x: lib.array(["2001", "2002"], "M8[Y]") + x,
    "where": lambda lib, x: lib.where(x, lib.array(["a", "b"]), "c"),
    "take": lambda lib, x: lib.array(["a", "b"]).take(x),
    "concatenate": lambda lib, x: lib.concatenate([lib.array(["a", "b"]), x]),
    "stack": lambda lib, x: lib.stack([lib.array([None, 1]), x]),
    "repeated": lambda lib, x: lib.strings.multiply(lib.array(["a", "b"]), x),
    "fields": lambda lib, x: lib.rec.fromarrays([x, lib.array(["a", "b"])]),
    "objects of it": lambda lib, x: lib.array(x, dtype=object),
    "text of it": lambda lib, x: lib.array(x, "U"),
    "objects of a list": lambda lib, x: lib.array([x, None], dtype=object)[0] is x,
    "an object": lambda lib, x: (o := lib.array([None]), o.__setitem__(0, x), o[0] is x)[2],
    "filled": lambda lib, x: (o := lib.array([None]), o.fill(x), o[0] is x)[2],
}


@pytest.mark.parametrize("call", BESIDE_GUESTS)
def test_objects_that_give_npdecs_arrays_stand_beside_what_torch_cannot_hold(call):
    made, expected = (BESIDE_GUESTS[call](lib, Numbers(lib)) for lib in (np, numpy))
    assert repr(made).replace("np.", "") == repr(expected).replace("np.", "")
