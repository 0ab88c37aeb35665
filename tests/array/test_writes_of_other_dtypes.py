"""Numbers and elements of other dtypes, written by ordinary keys: what NumPy's arrays hold then, to the last bit."""

from __future__ import annotations

import itertools
import random
import warnings
from typing import Any

import numpy
import pytest

import npdec as np
from dtype_cases import DTYPES, elements_of

pytestmark = pytest.mark.quick

KEYS = [
    slice(2, 5), slice(None), Ellipsis, slice(None, None, 2), slice(None, None, -1), 3, numpy.array([1, 4, 2]), [1, 2],
    numpy.arange(6) % 2 == 0, (slice(2, 4),),
]  # fmt: skip
NUMBERS = [
    2, -3, 0, True, 1.5, 1j, 2**40, 300, numpy.float64(-0.5), numpy.complex128(1 - 2j), numpy.int8(-4),
    numpy.uint64(2**63 + 5), numpy.int64(2**53 + 1), numpy.float32(1e30), *(numpy.dtype(d).type(3) for d in DTYPES),
]  # fmt: skip


def _of(dtype: str) -> Any:
    x = elements_of(dtype)
    x[x != x] = 4  # of nan only that it is one is told
    return x


def _in(library: Any, value: Any) -> Any:
    if isinstance(value, numpy.ndarray):
        return library.array(value)
    return getattr(library, type(value).__name__)(value.item()) if isinstance(value, numpy.generic) else value


def _written(library: Any, dtype: str, key: Any, value: Any) -> Any:
    x = library.array(_of(dtype))
    try:
        x[_in(library, key)] = _in(library, value)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error).__name__, numpy.asarray(x).tobytes()
    return numpy.asarray(x).tobytes()


@pytest.mark.parametrize("seed", range(2))
def test_what_is_written(seed: int) -> None:
    counts = [numpy.size(numpy.arange(6)[key]) for key in KEYS]
    cases = []
    for dtype, (key, count) in itertools.product(DTYPES, zip(KEYS, counts, strict=True)):
        arrays = [numpy.resize(_of(other), count) for other in DTYPES] if not isinstance(key, int) else []
        lists: list[Any] = [[1] * count, [1.5] * count, [True] * count] if arrays else []
        cases += [(dtype, key, value) for value in [*NUMBERS, *arrays, *lists]]
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parts that are dropped
        for case in random.Random(seed).sample(cases, 1200):
            assert _written(np, *case) == _written(numpy, *case), case
