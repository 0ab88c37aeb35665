"""What `npdec._native` answers in C is what Python says: the same type, the same number, the same error."""

from __future__ import annotations

import itertools
import math
import operator
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import npdec as np
import tiers
from dtype_cases import DTYPES
from native_cases import in_python, native, told

STEMS = "pow add sub mul truediv floordiv mod and or xor lshift rshift lt le gt ge eq ne".split()
ALONE = "neg pos abs invert".split()
PLAIN: list[Any] = [0, 1, -1, 3, 2**31, 2**53 + 1, 2**63, 2**70, True, False, 0.0, -0.0, 1.5, -2.5, 1e300, 1e-320]
PLAIN += [math.inf, -math.inf, math.nan, 1j, complex(1.5, -2), complex(math.inf, 0)]
NUMBERS = [0, 1, -1, 3, 7, 127, -128, 65535, 2**31 - 1, 2**62, 2**63, -0.0, 0.5, -2.5, 1e-40, 3e38, math.inf, math.nan]


def scalars(dtype: str) -> list[Any]:
    found = []
    for number in NUMBERS:
        try:
            found.append(np.dtype(dtype).type(number))
        except (ValueError, OverflowError):
            continue
    return found


def some(cases: Any) -> Any:
    """Every eleventh case, or where only the quick tests are run one of 67: all of them take minutes."""
    return itertools.islice(cases, 0, None, 67 if tiers.quick else 11)


@native
@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_of_scalars(dtype: str, watched: bool) -> None:
    mine = scalars(dtype)[1::2]
    others = [*PLAIN, *itertools.chain.from_iterable(scalars(other)[1::7] for other in DTYPES), *mine, "text", None]
    with np.errstate(all="warn" if watched else "ignore"):
        for stem, x, y in some(itertools.product(STEMS, mine, others)):
            for name in (f"__{stem}__", f"__r{stem}__"):
                method = getattr(type(x), name, None)
                if method is not None:
                    assert told(method, x, y) == in_python(method, x, y), (name, x, y)
        for stem, x in itertools.product(ALONE, mine):
            method = getattr(type(x), f"__{stem}__")
            assert told(method, x) == in_python(method, x), (stem, x)


@native
@pytest.mark.parametrize("dtype", DTYPES)
def test_new_arrays(dtype: str) -> None:
    def laid(x: Any) -> Any:
        return x if not isinstance(x, np.ndarray) else (x.dtype, x.shape, x.strides, x.base is None, x.tolist())

    def small(x: Any) -> bool:
        return not isinstance(x, np.ndarray) and abs(x) < 100

    calls: list[Callable[[Any, Any], Any]] = [
        lambda x, d: laid(np.array(x, dtype=d)),
        lambda x, d: laid(np.asarray(x, dtype=d)),
        lambda x, d: laid(np.array([x, (x if isinstance(x, np.ndarray) else 1)], dtype=d)),
        lambda x, d: laid(np.asarray(((x,), (True,)), dtype=d)),
        lambda x, d: laid(np.full((2, 1), x, dtype=d)),
        lambda x, d: (
            laid(np.arange(x) if d is None else np.arange(0, x, d if d in (0.5, -1) else 1)) if small(x) else 0
        ),
        lambda x, d: (np.array(x) + 1, np.asarray(x) is x),
    ]
    dtypes = [None, dtype, "f4", int, complex, np.uint8, np.dtype("?"), torch.float64, 0.5, -1, "no such", [1]]
    given = [*PLAIN[:4], *PLAIN[8:], *scalars(dtype)[::3], np.arange(3).astype(dtype), np.arange(6).reshape(2, 3).T]
    with np.errstate(all="ignore"):
        for call, x, d in some(itertools.product(calls, given, dtypes)):
            assert told(call, x, d) == in_python(call, x, d), (x, d)


KEYS: list[Any] = [
    0,
    1,
    -1,
    5,
    -6,
    6,
    -7,
    2**70,
    True,
    None,
    ...,
    1.5,
    (),
    (0,),
    (1, 2),
    (-1, -1),
    (2, 0),
    (0, 4),
    (0, 1, 2),
]
LAYOUTS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: x[1::2],
    lambda x: x[::-1],
    lambda x: x.reshape(2, 3),
    lambda x: x.reshape(2, 3).T,
    lambda x: x.reshape(3, 2)[1:],
    lambda x: x.reshape(3, 2)[:, 1],
    lambda x: x.reshape(1, 2, 3),
    lambda x: x[3].reshape(()) if hasattr(x[3], "reshape") else x[3:4].reshape(()),
    lambda x: x[:0],
    lambda x: np.broadcast_to(x[:3], (2, 3)),
]


@native
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements(dtype: str) -> None:
    keys = [*KEYS, np.int64(1), np.uint8(2), np.int32(-1), (np.int64(1), 2), (0, np.int8(1)), np.float64(1), np.True_]
    for layout, key in some(itertools.product(LAYOUTS, keys)):
        x = layout(np.arange(-2, 4).astype(dtype))
        for _ in range(3):  # an array opens the second time
            assert told(operator.getitem, x, key) == in_python(operator.getitem, x, key), (key, x)


@native
@pytest.mark.parametrize("dtype", DTYPES)
def test_iteration(dtype: str) -> None:
    def through(layout: Callable[[Any], Any], write: bool) -> Any:
        x = layout(np.arange(-2, 4).astype(dtype))
        found = []
        for i, item in enumerate(x):
            found.append(item)
            if write:
                x[-1 - i] = x[0]
        return found

    for layout, write in itertools.product(LAYOUTS, (False, True)):
        for _ in range(2):
            assert told(through, layout, write) == in_python(through, layout, write)


@native
@pytest.mark.parametrize("dtype", DTYPES)
def test_writes_of_elements(dtype: str) -> None:
    values = [*PLAIN, *itertools.chain.from_iterable(scalars(other)[::4] for other in DTYPES)]
    keys = [1, -1, 7, (1, 2), (0, -1), np.int64(0), True]

    def write(x: Any, key: Any, value: Any) -> Any:
        for _ in range(2):
            x[key] = value
        return x.tolist(), x._t._version > 0

    for layout, key, value in some(itertools.product(LAYOUTS[:7], keys, values)):
        x, y = (layout(np.arange(6).astype(dtype)) for _ in range(2))
        with np.errstate(all="ignore"):
            assert told(write, x, key, value) == in_python(write, y, key, value), (key, value)


def alias(x: Any, is_laid: bool = True) -> Any:
    """An array, what it says of its memory, and what a write through it changes. How it is laid out there is not asked
    of what runs backwards: Python has a copy of it, also of what runs forwards again."""
    if not isinstance(x, np.ndarray) or not x.flags.writeable:
        return x
    owner = x.base
    laid = (x.strides, x.flags.c_contiguous) if is_laid else None
    told_of = (x.tolist(), x.dtype, x.shape, owner is None, laid)
    x[...] = 0
    return told_of, None if owner is None else owner.ravel().tolist()  # of what is picked it may have another shape


SLICES: list[Any] = [slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1), slice(None)]
SLICES += [slice(9, 2), slice(None, None, 0), slice(None, None, True), slice(0.5), slice(np.int64(1), None)]
SLICES += [(0,), (slice(1, None), 0), (0, slice(1, None)), (slice(None), slice(None)), (..., 1), (slice(None), None)]
SLICES += [None, (None, 0), (slice(1), None), (..., None), (..., ...), (0, ...), (..., 0, 1), (slice(1, None), ...)]
SLICES += [(slice(1), [0, 1]), (slice(1), True), (0, slice(None), 0), (), -1, 3, (slice(1), (0, 1))]


@native
@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
def test_views(layout: int) -> None:
    def part(x: Any, key: Any) -> Any:
        x = LAYOUTS[layout](x)
        is_laid = layout != 2 and key != slice(None, None, -1)
        seen = [alias(part, is_laid) for part in (x.copy()[key], x[key])]
        return [*seen, alias(x[key], is_laid), alias(x[key][...], is_laid), x[key].base is x]

    for key in [*SLICES, *KEYS]:
        x, y = np.arange(6.0), np.arange(6.0)
        assert told(part, x, key) == in_python(part, y, key), key
        assert x.tolist() == y.tolist(), key
    x, y = (LAYOUTS[layout](np.arange(6.0)) for _ in range(2))
    assert told(lambda: alias(x.T)) == in_python(lambda: alias(y.T))
    frozen = LAYOUTS[layout](np.arange(6.0))
    frozen.flags.writeable = False
    for key in SLICES:
        assert told(lambda key: frozen[key].flags.writeable, key) == in_python(
            lambda key: frozen[key].flags.writeable, key
        )


SHAPES = [(), (1,), (3,), (2, 3), (0,), (4,)]
UFUNCS = [
    name for name, found in vars(np).items() if isinstance(found, np.ufunc) and found.nin <= 2 and found.nout == 1
]


@native
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_of_arrays(dtype: str) -> None:
    arrays = [np.resize(np.arange(-2, 4).astype(dtype), shape) for shape in SHAPES]
    others = [*arrays, np.arange(3.0), np.arange(3), *(scalar for kind in DTYPES for scalar in scalars(kind)[1:3])]
    others += [*PLAIN, np.decompose(np.arange(3.0)), "text", None]
    for _ in range(2):  # numbers are kept from the first time on
        with np.errstate(all="ignore"):
            for stem, x, y in some(itertools.product(STEMS, arrays, others)):
                for name in (f"__{stem}__", f"__r{stem}__"):
                    method = getattr(type(x), name, None)
                    if method is not None and (stem != "lshift" or type(y) is not int or y < 64):
                        assert told(method, x, y) == in_python(method, x, y), (name, x, y)
            for stem, x in itertools.product(ALONE, arrays):
                method = getattr(type(x), f"__{stem}__")
                assert told(method, x) == in_python(method, x), (stem, x)


@native
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64", "complex128"])
def test_calls_of_ufuncs(dtype: str) -> None:
    arrays = [np.resize(np.arange(-2, 4).astype(dtype), shape) for shape in SHAPES[1:4]]
    others = [*arrays, np.arange(3.0), 2, 2.0, -0.0, 1e300, True, np.float64(1.5), np.int64(3)]
    with np.errstate(all="ignore"):
        for name, x in itertools.product(UFUNCS, arrays[:: 3 if tiers.quick else 1]):
            function = getattr(np, name)
            for given in [(x,)] if function.nin == 1 else [*((x, y) for y in others), *((y, x) for y in others)]:
                assert told(function, *given) == in_python(function, *given), (name, given)


@native
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_and_shapes(dtype: str) -> None:
    arrays = [np.resize(np.arange(-2, 4).astype(dtype), shape) for shape in [*SHAPES, (3, 2), (2, 3, 2), (2, 2, 3)]]
    arrays += [np.arange(3.0)[::-1], np.arange(6.0).reshape(2, 3).T, np.decompose(np.arange(3.0))]
    for x, y in itertools.product(arrays, [*arrays, 2.0, [1, 2, 3], None]):
        assert told(operator.matmul, x, y) == in_python(operator.matmul, x, y), (x, y)
    for x in arrays:
        assert told(getattr, x, "shape") == in_python(getattr, x, "shape")


@native
def test_many_elements_are_computed_as_without_it() -> None:
    x, y = np.arange(20_000.0), np.arange(20_000)[::-1]
    for call in (operator.add, operator.lt, np.maximum, operator.mod):
        for given in ((x, x), (y, y), (x, 2.0), (y, 3)):
            np.testing.assert_array_equal(call(*given), in_python_value(call, *given))


# What is written, by an array of the same memory that is written into.
GIVEN: list[Callable[[Any], Any]] = [
    lambda x: 1.5,
    lambda x: -0.0,
    lambda x: 3,
    lambda x: 2**60,
    lambda x: np.float64(2.5),
    lambda x: np.int64(2),
    lambda x: np.float32(2.5),
    lambda x: 1j,
    lambda x: True,
    lambda x: [1.0, 2.0],
    lambda x: x[1:],
    lambda x: x[::-1],
    lambda x: x,
    lambda x: x.copy(),
    lambda x: x[..., :1] * 2,
    lambda x: np.arange(3).astype(x.dtype),
    lambda x: np.arange(3.0, dtype=np.float32),
    lambda x: np.zeros((7, 7), x.dtype),
    lambda x: np.decompose(np.arange(3.0)),
    lambda x: None,
]


@native
@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "uint8", "float32", "float64", "complex128"])
def test_writes_of_parts(dtype: str) -> None:
    def write(layout: Callable[[Any], Any], key: Any, given: Callable[[Any], Any]) -> Any:
        whole = np.arange(6).astype(dtype)
        before, x = whole.tolist(), layout(whole)
        for _ in range(2):
            x[key] = given(x)
        told_of = whole.tolist() == before or x._t._version > 0  # where nothing changes nobody need be told
        return whole.tolist(), x.tolist(), told_of

    for layout, key, given in some(itertools.product(LAYOUTS, [*SLICES, *KEYS], GIVEN)):
        with np.errstate(all="ignore"):
            assert told(write, layout, key, given) == in_python(write, layout, key, given), (key, given)


@native
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_in_place(dtype: str) -> None:
    def write(layout: Callable[[Any], Any], method: Any, given: Callable[[Any], Any]) -> Any:
        whole = np.arange(6).astype(dtype)
        x = layout(whole)
        same = [method(x, given(x)) is x for _ in range(2)]
        return same, whole.tolist(), x.tolist(), x._t._version > 0

    methods = [getattr(np.ndarray, f"__i{stem}__") for stem in STEMS if hasattr(np.ndarray, f"__i{stem}__")]
    for layout, method, given in some(itertools.product(LAYOUTS, methods, GIVEN)):
        with np.errstate(all="ignore"):
            assert told(write, layout, method, given) == in_python(write, layout, method, given), (method, given)


@native
@pytest.mark.parametrize("write", [lambda x: x.__setitem__(slice(1, None), 2.0), lambda x: x.__iadd__(2.0)])
def test_writes_are_seen(write: Callable[[Any], Any]) -> None:
    """By those who look at the memory in another way, and by autograd."""
    x = np.arange(4.0)
    behind = x[::-1]
    write(x), write(x)
    assert behind.tolist() == x.tolist()[::-1]
    leaf = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    y = np.asarray(leaf * 1)
    write(y)
    assert y.tensor.requires_grad
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        write(frozen)
    z = np.decompose(np.arange(3.0), baseline=0.0)
    write(z)
    assert (z.tensor.value == z.tensor.residual + z.tensor.components.sum(0)).all()
    saved = torch.ones(3, dtype=torch.float64, requires_grad=True)
    w = np.ones(3)
    product = saved * w.tensor
    write(w)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    for given in (np.arange(4.0), np.arange(8.0)[::2]):
        made = np.dot(given, np.asarray(saved[[0, 1, 2, 0]]))
        write(given)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            made.tensor.backward()
    with torch.autograd.forward_ad.dual_level():
        v = np.zeros(3)
        write(v)
    assert v.tolist() in ([0.0, 2.0, 2.0], [2.0] * 3)


def in_python_value(call: Callable[..., Any], *args: Any) -> Any:
    sys.setprofile(lambda *event: None)
    try:
        return call(*args)
    finally:
        sys.setprofile(None)


@native
def test_who_looks_on_is_told() -> None:
    x, seen = np.arange(3.0), []
    x[1], x[1]
    sys.setprofile(lambda frame, event, arg: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        x[1]
    finally:
        sys.setprofile(None)
    assert "__getitem__" in seen


@pytest.mark.slow
def test_without_it() -> None:
    program = (
        "import npdec as np; from npdec._native import calls; x = np.arange(3.0); x[1] = 5; print(calls, x[1] + x[2])"
    )
    environment = os.environ | {"NPDEC_PURE_PYTHON": "1"}
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["None", "7.0"]


@pytest.mark.slow
def test_before_anything_is_decomposed() -> None:
    """Recordings ask for the numbers of scalars, in programs that decompose nothing."""
    program = (
        "import torch, npdec; from npdec._native import calls; print(calls.numbers_as(torch.ones(()), torch.float64))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["None"]
