"""Where `npdec._native` stops: what runs Python meanwhile, and what it leaves to Python."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.overrides

import npdec as np
from dtype_cases import DTYPES
from native_cases import in_python, native, told


class Bound:
    """An index that counts how often it is asked, and may do more."""

    def __init__(self, then: Callable[[], Any]) -> None:
        self.asked, self.then = 0, then

    def __index__(self) -> int:
        self.asked += 1
        self.then()
        return 1


@native
def test_bounds_of_slices_are_asked_once() -> None:
    def read(then: Callable[[], Any]) -> Any:
        x, bound = np.arange(3.0), Bound(then)
        return told(lambda: x[bound:]), told(lambda: x.__setitem__(slice(None, bound), 1.5)), bound.asked

    def fail() -> None:
        raise ValueError("no bound")

    np.arange(3.0)[:1] = 1.5  # this number is kept from now on
    for then in (lambda: None, fail):
        found = read(then)
        sys.setprofile(lambda *event: None)
        try:
            assert read(then) == found
        finally:
            sys.setprofile(None)


@native
def test_an_array_may_get_another_tensor_while_its_key_is_read() -> None:
    x = np.arange(3.0)

    def decompose() -> None:
        x[0] = np.decompose(np.float64(5.0))

    assert x[Bound(decompose) :].tolist() == [1.0, 2.0]
    assert isinstance(x.tensor, np.DecomposedTensor)


@native
def test_an_operator_is_of_its_owner() -> None:
    x = np.arange(3.0)
    x + 1.5, x < 1.5, x - 1.5
    for stem in ("add", "sub", "lt"):
        for name in (f"__{stem}__", f"__r{stem}__"):
            method = getattr(np.ndarray, name, None)
            if method is not None:
                for first in (1.5, np.float64(1.5), None):
                    assert told(method, first, x) == in_python(method, first, x), (name, first)


@native
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_at_odd_addresses(dtype: str) -> None:
    memory = bytearray(65)
    x = np.frombuffer(memory, dtype, count=4, offset=1)
    for _ in range(3):
        x[1] = 1
        assert x[1] == 1
        assert x[1:][0] == 1


class Closing(torch.overrides.TorchFunctionMode):
    """A mode that gives a tensor away as soon as anything is asked of it."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        array, self.array = self.array, None
        if array is not None:
            array.tensor  # which shuts its window
        return found


@native
def test_a_mode_may_shut_the_window_that_is_read() -> None:
    x = np.arange(3.0)
    for _ in range(2):
        x[1], x[1]
        with Closing(x):
            assert x[1] == 1
        with Closing(x):
            x[1] = 1
        with Closing(x):
            assert (x + 1.5)[1] == 2.5


@native
def test_a_type_may_ask_for_its_hash() -> None:
    x, asked = np.arange(3.0), []

    class Hashed(type):
        def __hash__(cls) -> int:
            asked.append(x[1])
            return 1

    class Number(metaclass=Hashed):
        def __float__(self) -> float:
            return 2.5

    x[0], x[0]
    assert told(x.__setitem__, 0, Number()) == in_python(x.__setitem__, 0, Number())


@native
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_numbers_are_taken_as_in_python_on_other_devices(dtype: str) -> None:
    """What is not taken as it is becomes a tensor on the default device, which here refuses it."""

    def write(x: Any, value: Any) -> Any:
        x[1:] = value
        return x.tolist()

    for value in (1, 1.0, 1.5, 2**53 + 1, 2.0**54, np.float64(1.0), np.int64(2**53 + 1)):
        x, y = np.arange(3).astype(dtype), np.arange(3).astype(dtype)
        told(operator.add, x, value), told(write, np.arange(3).astype(dtype), value)  # it may be kept from now on
        with torch.device("meta"):
            assert told(write, x, value) == in_python(write, y, value), value
            for call in (np.add, operator.add, operator.lt):
                assert told(call, y, value) == in_python(call, y, value), (call, value)
