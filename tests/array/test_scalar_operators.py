"""Operators of scalars on the host beside NumPy, bit for bit: two dtypes, Python's numbers, extreme values, errors."""

from __future__ import annotations

import json
import math
import operator
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from npdec._array import generic
from npdec._array.methods import ArrayMethods

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *WHOLE, *REAL, *COMPLEX)
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in "add sub mul truediv floordiv mod and_ or_ xor lshift rshift lt le gt ge eq ne".split()
}
UNARY: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(operator, name) for name in "neg pos abs invert".split()},
    "square": lambda x: x**2,
    "bool": bool,
    "int": lambda x: int(x.real),
    "float": lambda x: float(x.real),
    "hash": hash,
    "text": str,
    "repr": repr,
    "format": lambda x: f"{x:.4}",
    "index": operator.index,
    "item": lambda x: x.item(),
    "round": lambda x: round(x, 1),
}
FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 3.0, -7.25, 65504.0, 1e-8, -6e-8, 1e-310, 3.4e38, 1.7e308, math.inf, -math.inf]


def _values(dtype: str) -> list[Any]:
    """Numbers of a dtype: small ones, the ends of its range, those that are special."""
    if dtype == "bool":
        return [False, True]
    if dtype in WHOLE:
        limits = numpy.iinfo(dtype)
        return [n for n in (0, 1, -1, 2, 3, -7, 63, 100, limits.max, limits.max - 1, limits.min) if n >= limits.min]
    if dtype in REAL:
        return [*FLOATS, math.nan]
    parts = [*FLOATS[:9], math.inf]
    return [complex(a, b) for a, b in zip(parts, parts[3:] + parts[:3], strict=True)] + [complex(math.nan, 1.0)]


def _made(np: Any, dtype: str, value: Any) -> Any:
    return getattr(np, "bool_" if dtype == "bool" else dtype)(value)


def _outcome(function: Callable[[], Any]) -> Any:
    """Type and bits of what comes of a call (of nan only that it is one), or the type of the error."""
    try:
        made = function()
    except Exception as error:
        kinds = (IndexError, OverflowError, ZeroDivisionError, TypeError, ValueError)
        return next(kind for kind in kinds if isinstance(error, kind))
    if made is NotImplemented or not hasattr(made, "dtype"):
        return type(made), repr(made)
    parts = numpy.asarray(made)
    texts = ["nan" if numpy.isnan(part) else part.tobytes() for part in (parts.real, parts.imag)]
    return str(made.dtype), isinstance(made, (np.generic, numpy.generic)), texts


def _compare(function: Callable[..., Any], *operands: tuple[str, Any]) -> None:
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ours, theirs = ([v if d == "python" else _made(m, d, v) for d, v in operands] for m in (np, numpy))
        want = _outcome(lambda: function(*theirs))
        got = _outcome(lambda: function(*ours))
    assert got == want, (operands, got, want)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unary(dtype: str, name: str) -> None:
    for value in _values(dtype):
        if not (name == "hash" and value != value):  # that of nan goes by the object
            _compare(UNARY[name], (dtype, value))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_of_one_dtype(dtype: str, name: str) -> None:
    for i, a in enumerate(_values(dtype)):
        for b in _values(dtype)[i % 3 :: 3]:
            if name == "truediv" and dtype == "complex128" and abs(b) not in (0, float("inf")) and b == b and a == a:
                with numpy.errstate(all="ignore"), np.errstate(all="ignore"):  # torch rounds it otherwise
                    got, want = np.complex128(a) / np.complex128(b), numpy.complex128(a) / numpy.complex128(b)
                numpy.testing.assert_allclose(complex(got), complex(want), rtol=1e-15)
                continue
            _compare(BINARY[name], (dtype, a), (dtype, b))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_of_two_dtypes(dtype: str, name: str) -> None:
    for other in DTYPES:
        if other != dtype:
            for a in _values(dtype)[::4]:
                for b in _values(other)[1::4]:
                    _compare(BINARY[name], (dtype, a), (other, b))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scalar_and_python_number(dtype: str, name: str) -> None:
    numbers = [True, 0, 2, -1, 300, 2**53 + 1, 2**63, 0.1, -0.0, 1e300, math.inf, math.nan, 0.5 + 2j]
    for i, a in enumerate(_values(dtype)[:7]):
        for b in numbers[i % 2 :: 2]:
            if dtype == "bool" and b == 2**63:
                continue  # NumPy's booleans refuse to be compared with it, its integers do not
            _compare(BINARY[name], (dtype, a), ("python", b))
            _compare(BINARY[name], ("python", b), (dtype, a))


@pytest.mark.parametrize("name", ["pow", "divmod"])
@pytest.mark.parametrize("dtype", ["bool", *WHOLE, *REAL])
def test_powers_and_quotients_are_those_of_the_general_operator(dtype: str, name: str) -> None:
    """Type, bits and errors, beside numbers of all types; a square is a product instead."""
    function = {"pow": operator.pow, "divmod": divmod}[name]
    general, turned = (vars(ArrayMethods)[f"__{r}{name}__"] for r in ("", "r"))
    python: list[Any] = [True, 0, 3, -1, 300, 2**63, 0.1, -0.0, 1e300, math.inf, math.nan, -2, 0.5, 4.0, -0.5, 1, 3.0]
    numbers = [*python, *(_made(np, other, b) for other in ("bool", *WHOLE, *REAL) for b in _values(other)[::4])]
    values = [*_values(dtype)[::2], *(numpy.random.default_rng(3).normal(size=30).tolist() if dtype in REAL else ())]
    for a in (_made(np, dtype, value) for value in values):
        for b in numbers:
            assert _both(lambda: function(a, b)) == _both(lambda: general(a, b)), (a, b)  # noqa: B023
            if b in python:
                assert _both(lambda: function(b, a)) == _both(lambda: turned(a, b)), (b, a)  # noqa: B023


def test_powers_of_two_scalars_are_those_of_tensors() -> None:
    """torch raises to a number otherwise: these differ in the last digit."""
    a, b = np.float32(0.0013131498), np.float32(-1.5918192)
    assert _outcome(lambda: a**b) == _outcome(lambda: vars(ArrayMethods)["__pow__"](a, b))


def _both(function: Callable[[], Any]) -> Any:
    """The outcome, which is a pair of divmod."""
    try:
        made = function()
    except Exception as error:
        return type(error), str(error)
    return [_outcome(lambda: part) for part in made] if isinstance(made, tuple) else _outcome(lambda: made)  # noqa: B023


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_made_of_numbers(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Python's numbers and of scalars of other types: as by the general way, which makes a tensor."""
    python = [True, False, 0, 3, -1, 255, 300, 2**31, 2**53 + 1, 2**63, 2**64, 10**400, 1.5, -2.75, 0.1, -0.0, 1e300]
    python += [65519.0, 65520.0, 1e-46, 2.0**63, math.inf, -math.inf, math.nan]
    numbers = [*python, *(_made(np, other, b) for other in DTYPES for b in _values(other))]
    make = getattr(np, "bool_" if dtype == "bool" else dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [_both(lambda: make(number)) for number in numbers]  # noqa: B023
        monkeypatch.setattr(generic, "_number_of", lambda x, dtype: None)
        for number, made in zip(numbers, found, strict=True):
            assert made == _both(lambda: make(number)), number  # noqa: B023


@pytest.mark.parametrize("dtype", [*WHOLE, *REAL])
def test_errors_that_are_watched(dtype: str) -> None:
    """The same warnings as NumPy's, in the same words, or the same exceptions."""
    for name in ("add", "sub", "mul", "truediv", *(("floordiv", "mod") if dtype != "float16" else ())):
        for a in _values(dtype)[::2]:
            for b in _values(dtype)[1::2]:
                said = []
                for module in (np, numpy):
                    with module.errstate(all="ignore"):
                        operands = _made(module, dtype, a), _made(module, dtype, b)
                    with warnings.catch_warnings(record=True) as caught, module.errstate(all="warn", under="ignore"):
                        warnings.simplefilter("always")
                        BINARY[name](*operands)
                    said.append(sorted(str(w.message) for w in caught))
                assert said[0] == said[1], (name, a, b)


def test_numbers_on_the_host_are_pythons() -> None:
    x = np.arange(3.0) + 0.5
    s, z = x[1], np.array([1 + 2j])[0]
    assert type(s) is np.float64
    assert isinstance(s, float)
    assert isinstance(z, complex)
    assert np.float64.__mro__[-2] is float
    assert json.dumps({"a": s, "b": [x.mean()]}) == '{"a": 1.5, "b": [1.5]}'
    assert (f"{s:.3f}", "%f" % s, math.sqrt(s), float.hex(s)) == ("1.500", "1.500000", 1.5**0.5, "0x1.8000000000000p+0")  # noqa: UP031
    assert torch.full((2,), s).tolist() == [1.5, 1.5]
    for made in (s, z, np.float32(0.1), np.int8(3), np.True_, s + 1, s < 2):
        again = pickle.loads(pickle.dumps(made))
        assert (type(again), again) == (type(made), made)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_what_a_number_cannot_carry(dtype: str) -> None:
    given = torch.tensor([2.0, 3.0], dtype=getattr(torch, dtype), requires_grad=True)
    s = np.asarray(given)[0]
    cls = getattr(np, dtype)
    assert isinstance(s, cls)
    assert issubclass(type(s), cls)
    assert isinstance(s, (float, complex)) is (dtype != "float32")
    host = cls(5)
    for made in (s * host, host * s, s + 1, 1 - s, s / host, -s, abs(s), s * np.int8(2)):
        assert made.tensor.requires_grad
    d = np.decompose(np.array([2.0, 3.0]).astype(dtype))[1]
    for made in (d * host, host * d, d + 1, 1 - d, -d, d * np.int8(2), np.float32(2) * d):
        assert made.is_decomposed
    for made in (s, d, host, d + s):  # a number, whatever it holds
        before = made.tensor.detach().clone()
        made.tensor.add_(1)
        assert made.item() == before.item()


def test_public_types_are_those_that_are_seen() -> None:
    for base in (np.generic, np.floating, np.integer, np.float64, np.float32):
        own = [cls for cls in base.__subclasses__() if cls.__module__ == base.__module__]  # tests make some, too
        assert all(vars(np).get(cls.__name__.replace("bool", "bool_")) is cls for cls in own)
    carried = np.decompose(np.array([1.0]))[0]
    assert type(type(carried)(2.0)) is np.float64
    assert type(carried).__name__ == "float64"


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_a_scalar_are_those_of_a_0d_array(dtype: str) -> None:
    functions = [f for f in vars(np).values() if isinstance(f, np.ufunc) and f.nin == f.nout == 1]
    assert len(functions) > 40
    with np.errstate(all="ignore"):
        for function in functions:
            for value in _values(dtype)[::4]:
                s = _made(np, dtype, value)
                assert _outcome(lambda: function(s)) == _outcome(lambda: function(np.array(s))), function  # noqa: B023


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne", "add", "and_"])
def test_booleans_beside_integers_that_no_dtype_holds(name: str) -> None:
    compute = getattr(operator, name)
    for number in (2**63 - 1, 2**63, -(2**63) - 1, 2**64, 2**100):
        for make in (lambda lib: lib.False_, lambda lib: lib.array(True), lambda lib: lib.array([True, False])):
            for mirrored in (False, True):
                outcomes = []
                for lib in (numpy, np):
                    operands = (number, make(lib)) if mirrored else (make(lib), number)
                    try:
                        outcomes.append(repr(compute(*operands)))
                    except OverflowError as error:
                        outcomes.append(str(error))
                assert outcomes[0] == outcomes[1], (number, mirrored)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_go_around(dtype: str) -> None:
    limits = numpy.iinfo(dtype)
    values = {limits.min, limits.max, limits.max // 2 + 1, limits.min + 1, 0, 1, 3, 7, 31, 64, 100}
    names = ["add", "sub", "mul", "lshift", "rshift", "floordiv", "mod"]
    with np.errstate(all="ignore"), numpy.errstate(all="ignore"):
        for name in names:
            compute = getattr(operator, name)
            for a in values:
                for b in values:
                    want = compute(_made(numpy, dtype, a), _made(numpy, dtype, b))
                    for made in (
                        compute(_made(np, dtype, a), _made(np, dtype, b)),
                        compute(_made(np, dtype, a), b),
                        compute(a, _made(np, dtype, b)),
                    ):
                        assert (int(made), made.dtype) == (int(want), want.dtype), (name, a, b)
        for a in values:
            for b in (0, 2, 5, 31, limits.max):
                made, want = (_made(lib, dtype, a) ** _made(lib, dtype, b) for lib in (np, numpy))
                assert (int(made), made.dtype) == (int(want), want.dtype), (a, b)
                if b:
                    made, want = (divmod(_made(lib, dtype, a), _made(lib, dtype, b)) for lib in (np, numpy))
                    assert [*map(int, made)] == [*map(int, want)], (a, b)
        for compute in (operator.neg, operator.abs, operator.invert):
            for a in values:
                assert int(compute(_made(np, dtype, a))) == int(compute(_made(numpy, dtype, a))), (compute, a)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in scalar add"):
        _made(np, dtype, limits.max) + _made(np, dtype, limits.max)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_quotients_rounded_down_and_what_is_left(dtype: str) -> None:
    rng = numpy.random.default_rng(4)
    special = [0.0, -0.0, 1.0, -2.5, numpy.inf, -numpy.inf, numpy.nan, 1e-3, 6e4]
    pairs = [(a, b) for a in special for b in special if b]
    pairs += (rng.normal(size=(300, 2)) * 10.0 ** rng.integers(-3, 4, (300, 2))).tolist()
    with np.errstate(all="ignore"), numpy.errstate(all="ignore"):
        for a, b in pairs:
            for compute in (operator.floordiv, operator.mod):
                made, want = (compute(_made(lib, dtype, a), _made(lib, dtype, b)) for lib in (np, numpy))
                assert float(made).hex() == float(want).hex(), (compute, a, b)
                assert type(made) is getattr(np, dtype)
            made, want = (divmod(_made(lib, dtype, a), _made(lib, dtype, b)) for lib in (np, numpy))
            assert [float(one).hex() for one in made] == [float(one).hex() for one in want], (a, b)


def test_scalars_are_not_none() -> None:
    for dtype in DTYPES:
        s = _made(np, dtype, 0)
        assert (s == None) is False  # noqa: E711
        assert (s != None) is True  # noqa: E711
