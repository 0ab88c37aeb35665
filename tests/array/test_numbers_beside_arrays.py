"""Python's numbers beside arrays, which are kept as tensors, and arrays of two dtypes: NumPy's, to a bit."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from npdec._impl import _promotion, dtypes_impl

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv]
COMPARED = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.iand, operator.irshift]
UFUNCS = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "less", "equal", "copysign"]
ARRAYS = {
    "float64": [0.0, -0.0, 1.5, -2.25, 1e300, float("inf"), float("nan"), 5e-324],
    "float32": [0.0, -0.0, 1.5, -2.25, 3e38, float("inf"), float("nan"), 1e-45],
    "int64": [0, 1, -1, 7, -8, 2**62, -(2**62), 2**53 + 1],
    "int32": [0, 1, -1, 7, -8, 2**30, -(2**30), 100],
    "bool": [True, False, True, True, False, False, True, True],
}
# Zeros of either sign in turns, numbers that are equal and of two types, some that no integer of 64 bits is.
NUMBERS = [0.0, -0.0, 0, 0.0, 2, 2.0, 2, True, -1, 0.5, 1e300, float("inf"), float("nan"), 2**53 + 1, 2**63, -(2**63)]


def _tried(call: Callable[[], Any]) -> Any:
    """What a call gives: bytes, shape and dtype, or that it raises."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = call()
        except (TypeError, OverflowError, ValueError):
            return "an error"
    plain = numpy.asarray(found)
    return plain.dtype.name, plain.shape, numpy.where(plain != plain, 0, plain).astype(plain.dtype).tobytes()


def _function(name: Any, library: Any) -> Callable[..., Any]:
    return getattr(library, name) if isinstance(name, str) else name


@pytest.mark.parametrize("dtype", list(ARRAYS))
def test_numbers_beside_arrays(dtype: str) -> None:
    for name in (*ARITHMETIC, *COMPARED, *BITS, *UFUNCS):
        for number, turned in itertools.product([*NUMBERS, *NUMBERS], (False, True)):

            def call(library: Any) -> Any:
                x = library.array(ARRAYS[dtype], dtype=dtype)
                return _function(name, library)(*((number, x) if turned else (x, number)))  # noqa: B023

            if name in ("maximum", "minimum", "fmax") and number == 0:
                continue  # which of two equal zeros an extreme is, NumPy leaves open
            assert _tried(lambda: call(np)) == _tried(lambda: call(numpy)), (name, number, turned)


@pytest.mark.parametrize("dtype", list(ARRAYS))
def test_scalars_beside_arrays_of_their_dtype(dtype: str) -> None:
    for name, turned in itertools.product(UFUNCS, (False, True)):
        for number in [*ARRAYS[dtype], *ARRAYS[dtype]]:

            def call(library: Any) -> Any:
                x = library.array(ARRAYS[dtype], dtype=dtype)
                scalar = x.dtype.type(number)  # noqa: B023
                return _function(name, library)(*((scalar, x) if turned else (x, scalar)))  # noqa: B023

            if name in ("maximum", "minimum", "fmax") and number == 0:
                continue  # which of two equal zeros an extreme is, NumPy leaves open
            assert _tried(lambda: call(np)) == _tried(lambda: call(numpy)), (name, number, turned)


@pytest.mark.parametrize("dtype", list(ARRAYS))
def test_numbers_in_place(dtype: str) -> None:
    for function, number in itertools.product(IN_PLACE, [*NUMBERS, *NUMBERS]):

        def call(library: Any) -> Any:
            x = library.array(ARRAYS[dtype], dtype=dtype)
            function(x[1:6:2], number)  # noqa: B023
            return x

        assert _tried(lambda: call(np)) == _tried(lambda: call(numpy)), (function, number)


@pytest.mark.parametrize(("one", "other"), itertools.permutations(ARRAYS, 2))
def test_arrays_of_two_dtypes(one: str, other: str) -> None:
    for function, shapes in itertools.product((*ARITHMETIC, *COMPARED, *BITS), [(8, 8), ((8, 1), 8), ((), 8), (8, ())]):

        def call(library: Any) -> Any:
            operands = zip((one, other), shapes)  # noqa: B023
            a, b = (library.resize(library.array(ARRAYS[dtype], dtype=dtype), shape) for dtype, shape in operands)
            return function(a, b)  # noqa: B023

        assert _tried(lambda: call(np)) == _tried(lambda: call(numpy)), (function, shapes)


KEYS = [slice(1, 3), slice(None, None, 2), numpy.array([0, 2]), (slice(None),), Ellipsis, slice(2, 2), [1, 0]]


@pytest.mark.parametrize("dtype", list(ARRAYS))
def test_numbers_written_by_keys(dtype: str) -> None:
    for key, number in itertools.product(KEYS, NUMBERS):

        def call(library: Any) -> Any:
            x = library.array(ARRAYS[dtype], dtype=dtype)
            x[library.array(key) if isinstance(key, numpy.ndarray) else key] = number  # noqa: B023
            return x

        assert _tried(lambda: call(np)) == _tried(lambda: call(numpy)), (key, number)


def test_choices_of_numbers() -> None:
    arrays = [numpy.arange(3).astype(dtype) for dtype in ("float64", "float32", "int64", "int32", "bool")]
    for x, y in itertools.product([*NUMBERS[:14], *arrays, *(x[1] for x in arrays)], repeat=2):

        def call(library: Any) -> Any:
            sides = [library.array(side) if isinstance(side, numpy.ndarray) else side for side in (x, y)]  # noqa: B023
            sides = [getattr(library, type(s).__name__)(s) if isinstance(s, numpy.generic) else s for s in sides]
            return library.where(library.array([True, False, True]), *sides)

        assert _tried(lambda: call(np)) == _tried(lambda: call(numpy)), (x, y)


def test_what_a_mode_of_torch_makes_is_not_kept() -> None:
    x = np.array([1.0, 2.0])
    with torch.inference_mode():
        assert (x * 0.734375).tolist() == [0.734375, 1.46875]
    with torch._subclasses.FakeTensorMode():
        dtypes_impl.kept(0.734375, torch.float64)
    assert np.vmap(lambda row: row * 0.734375)(np.ones((2, 1))).tolist() == [[0.734375]] * 2
    leaf = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (np.array(leaf) * 0.734375).sum().tensor.backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [0.734375] * 2
    assert np.grad(lambda v: (v * 0.828125).sum())(x).tolist() == [0.828125] * 2
    kept = dtypes_impl.kept(0.828125, torch.float64)
    assert type(kept) is torch.Tensor
    assert not kept.requires_grad
    assert not torch._C._functorch.is_functorch_wrapped_tensor(kept)


def test_few_numbers_are_kept() -> None:
    x = np.zeros(2)
    for i in range(1000):
        assert (x + i / 7).tolist() == [i / 7] * 2
    assert all(len(numbers) <= _promotion._MOST_KEPT for numbers in _promotion.KEPT.values())
