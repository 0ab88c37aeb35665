"""Choices between complex scalars by a condition, and logic: values are those of plain numbers, and contributions those
of the general way, which is gone where somebody looks on (np.check_completeness)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import npdec as np

pytestmark = pytest.mark.slow
ENDS = [(1.5 + 1j, 0.1), (-0.4j, 2.0), (0.0, 1.0 + 1j), (2.0, 2.0), (0.0, 0.0), (1e7, 1.0)]


def decomposed(after: Any, before: Any, dtype: str, label: str) -> Any:
    return np.decompose(np.asarray([after], dtype=dtype), baseline=np.asarray(before, dtype=dtype), labels=[label])[0]


def assert_as_in_general(function: Any, *args: Any) -> None:
    made = function(*args)
    with np.check_completeness():
        wanted = function(*args)
    assert made.dtype == wanted.dtype
    for end in ("value", "residual"):
        assert numpy.asarray(getattr(made, end)) == numpy.asarray(getattr(wanted, end))
    assert made._t.labels == wanted._t.labels
    size = 1 + numpy.abs(numpy.asarray(wanted.components)).sum()
    close = 1e-5 if made.dtype in (np.complex64, np.float32) else 1e-12
    assert numpy.abs(numpy.asarray(made.components) - numpy.asarray(wanted.components)).max() <= close * size


@pytest.mark.filterwarnings("ignore::npdec.exceptions.DecompositionWarning")
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_where(dtype: str) -> None:
    """Of decomposed conditions and of plain ones, beside constants and each other, under labels of their own."""
    real = "float64" if dtype == "complex128" else "float32"
    conditions = [decomposed(x, r, real, "c") > 0.5 for x, r in itertools.product((0.0, 1.0), repeat=2)]
    for c, first, second in itertools.product([*conditions, True], ENDS, ENDS[:3]):
        a, b = decomposed(*first, dtype, "a"), decomposed(*second, dtype, "b")
        for branches in ((a, b), (a, 2.5), (1j, b), (b, b)):
            assert_as_in_general(np.where, c, *branches)
        if c is not True:
            assert_as_in_general(np.where, c, 1j, np.asarray(2.0, dtype=dtype)[()])


@pytest.mark.filterwarnings("ignore::npdec.exceptions.DecompositionWarning")
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic(name: str) -> None:
    """Of complex scalars, conditions, integers and real ones."""
    function = getattr(np, name)
    c, x = decomposed(1.0, 0.0, "float64", "c") > 0.5, decomposed(0.7, 0.0, "float64", "x")
    for first, second in itertools.product(ENDS, repeat=2):
        a, b = decomposed(*first, "complex128", "a"), decomposed(*second, "complex128", "b")
        for args in ((a, b), (a, 2.5), (0.0, b), (a, c), (c, b), (a, c.astype(int)), (x, b), (a, np.bool_(True))):
            assert_as_in_general(function, *args)
        assert_as_in_general(np.logical_not, a)
