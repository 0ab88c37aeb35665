"""Ufuncs and operators between arrays and numbers of different dtypes: the short way beside the general one."""

from __future__ import annotations

import itertools
import operator
import random
from typing import Any

import numpy
import pytest

import npdec as np
from dtype_cases import DTYPES, elements_of
from npdec._core.tags import NoValue
from npdec._normalizer import ordinary_calls

pytestmark = pytest.mark.quick

NUMBERS = [
    2, -3, 0, True, 1.5, -0.0, float("nan"), float("inf"), 1j, 2 + 1j, 2**40, 300, np.float64(-0.5), np.float32(2.5),
    np.complex128(1 - 2j), np.int8(-4), np.uint64(2**63 + 5), np.int64(2**53 + 1),
]  # fmt: skip
OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod,
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt, operator.ge, operator.eq,
)  # fmt: skip
UFUNCS = sorted({
    f for name in dir(np) if isinstance(f := getattr(np, name), np.ufunc) and f.nin == 2 and f.signature is None
}, key=lambda f: f.__name__)  # fmt: skip


def _given(made: Any) -> Any:
    if isinstance(made, tuple):
        return tuple(map(_given, made))
    if not isinstance(made, (np.ndarray, np.generic)):
        return made
    array = numpy.array(made)
    parts = numpy.stack([array.real, array.imag]) if array.dtype.kind == "c" else array
    signs = numpy.signbit(parts) & ~numpy.isnan(parts) if array.dtype.kind in "fc" else parts
    return type(made), array.dtype, array.shape, array.strides, parts.astype("O").tolist(), signs.tolist()


def _called(function: Any, *args: Any) -> Any:
    try:
        return _given(function(*args))
    except Exception as error:
        return type(error), str(error)


def _is_short(function: Any, pair: tuple[Any, ...]) -> bool:
    try:
        return isinstance(function, np.ufunc) and ordinary_calls.computed(function, pair) is not NoValue
    except ValueError:  # of the kernel
        return True


def _cases(seed: int) -> list[tuple[Any, ...]]:
    arrays = [np.array(elements_of(dtype)) for dtype in DTYPES]
    numbers = [*NUMBERS, *(np.dtype(dtype).type(3) for dtype in DTYPES)]
    pairs = [
        *itertools.product(arrays, arrays),
        *itertools.product(arrays, numbers),
        *itertools.product(numbers, arrays),
    ]
    return random.Random(seed).sample(list(itertools.product((*UFUNCS, *OPERATORS), pairs)), 2500)


@pytest.mark.parametrize("seed", range(2))
def test_arrays_and_numbers_of_different_dtypes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = _cases(seed)
    for function, pair in cases:
        _called(function, *pair)  # dtypes are remembered
    short = [_called(function, *pair) for function, pair in cases]
    taken = sum(_is_short(function, pair) for function, pair in cases)
    monkeypatch.setattr(ordinary_calls, "computed", lambda *_: NoValue)
    for (function, pair), found in zip(cases, short, strict=True):
        assert repr(found) == repr(_called(function, *pair)), (function, pair)
    assert taken > 200  # or nothing has been compared
