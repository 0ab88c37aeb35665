"""Arrays of few elements, of which `npdec._native` makes a tensor when it is asked for: nobody can tell."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import npdec as np
from native_cases import in_python, native, told


def both_ways(call: Callable[[], Any]) -> tuple[Any, ...]:
    """What a call gives, which is the same where all of it is Python's."""
    found = told(call)
    assert found == in_python(call)
    return found


@pytest.fixture
def eager_garbage() -> Iterator[None]:
    """Garbage is collected whenever something is made."""
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(*before)


class Ending:
    """An object that calls something when it is collected as garbage."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.itself, self.call = self, call

    def __del__(self) -> None:
        self.call()


# -- what is written ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_a_square_in_place(dtype: str) -> None:
    def program() -> Any:
        x = np.arange(4).astype(dtype) + np.ones(4, dtype)
        same, part = x, x[1:3]
        x **= 2
        assert same is x
        assert part.tolist() == [4, 9]
        part **= 2
        return x

    assert both_ways(program)[2] == repr(np.array([1, 16, 81, 16], dtype))


def test_a_reflected_power_of_two() -> None:
    assert both_ways(lambda: (np.zeros(2) + 3).__rpow__(2))[2] == "array([8., 8.])"


# -- shapes and strides -------------------------------------------------------------------------------------------


def test_no_axes() -> None:
    def transposed() -> Any:
        x = np.array(4.0)
        return type(x.T), type(np.sqrt(x.T)), type(np.exp(x.T)), type(x.T + 1)

    assert both_ways(transposed)[2] == repr((np.ndarray, np.float64, np.float64, np.float64))

    def length() -> Any:
        x = np.array(4.0)
        assert x[None].shape == (1,)
        return len(x)

    assert both_ways(length)[1] == "len() of unsized object"


@pytest.mark.parametrize("step", [2**31, 2**60, 2**61 + 5, 2**62])
def test_a_step_beyond_all_memory(step: int) -> None:
    def program() -> Any:
        part = (np.zeros(3) + 1)[::step]
        part += 1
        return part.tolist(), part.strides

    both_ways(program)


# -- autograd -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["whole", "view", "base"])
def test_what_a_graph_keeps_cannot_be_written(of: str) -> None:
    def program() -> Any:
        weight = np.asarray(torch.ones(3, dtype=torch.float64, requires_grad=True))
        x = np.zeros(3 if of == "whole" else 5) + 1
        if of == "base":  # the graph keeps the tensor that the array's one is a view of
            kept = torch.ones(3, dtype=torch.float64)
            y = weight * np.asarray(kept)
            x = np.asarray(kept[:])
            del kept
        else:
            y = weight * (x if of == "whole" else x[1:4])
        x[1:3] = 7
        y.sum().tensor.backward()

    found = both_ways(program)
    assert found[0] is RuntimeError
    assert "modified by an inplace operation" in found[1]


def test_what_a_graph_keeps_outlives_the_array() -> None:
    weight = np.asarray(torch.ones(3, dtype=torch.float64, requires_grad=True))
    y = weight * (np.zeros(6) + 3)[1:4]
    others = [np.zeros(6) + 5 for _ in range(100)]
    y.sum().tensor.backward()
    assert weight.tensor.grad.tolist() == [3, 3, 3]
    assert len(others) == 100


# -- who else runs ------------------------------------------------------------------------------------------------


@native
@pytest.mark.usefixtures("eager_garbage")
def test_garbage_is_collected_meanwhile() -> None:
    for number in range(100):
        x = np.zeros(8) + number
        part = x[1:5]
        Ending(lambda part=part: part.tensor)  # type: ignore[misc]
        total = part + x[2:6]
        Ending(lambda x=x: x.tensor)  # type: ignore[misc]
        every = x[::2]
        Ending(lambda part=part, total=total: (part.tensor, total.tensor))  # type: ignore[misc]
        every[:] = 3
        Ending(lambda x=x: x.tensor)  # type: ignore[misc]
        x += 1
        assert x.tolist() == [4, number + 1] * 4
        assert part.tolist() == [number + 1, 4] * 2
        assert total.tolist() == [2 * number] * 4


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_a_tracer_sees_all() -> None:
    captured = np.zeros(3) + 1

    def program(tensor: torch.Tensor) -> torch.Tensor:
        x, total, more = np.asarray(tensor), np.zeros(3), captured * 1
        total[1:] = x[1:]
        total += x
        more += total
        return (more * x + captured).tensor

    one, other = torch.ones(3, dtype=torch.float64), torch.full((3,), 5.0, dtype=torch.float64)
    traced = torch.jit.trace(program, (one,), check_trace=False)
    for _ in range(2):
        assert traced(other).tolist() == program(other).tolist() == [31, 56, 56]


@native
def test_a_tensor_that_is_weakly_referenced() -> None:
    x = np.zeros(4) + 1
    tensor = x.tensor
    again = weakref.ref(tensor)
    del tensor
    part, before = x[1:], again()._version
    part[0] = 3
    assert again()._version > before
    again().set_(torch.zeros(2, dtype=torch.float64))
    assert part.tolist() == [3, 1, 1]
    assert x.tolist() == [0, 0]


# -- what lies in memory ------------------------------------------------------------------------------------------


def test_bytes_of_booleans() -> None:
    def program() -> Any:
        mask = np.array([0, 1, 2, 255], "u1").view(bool)
        one = np.ones(4, "i4")
        one[1:] = mask[1:]
        return [one, mask + np.zeros(4), np.where(mask, mask, one), one[mask], mask & True, ~mask, mask == mask[::-1]]

    assert "array([1, 1, 1, 1], dtype=int32), array([0., 1., 1., 1.])" in both_ways(program)[2]


@native
def test_memory_runs_out() -> None:
    hooks = pytest.importorskip("_testcapi")

    def program() -> Any:
        x = np.zeros(8) + 1
        part = x[1:5]
        part += 1
        part[1:] = x[:3]
        return x, part, np.where(part > 0, part, part * 2), x.T, part.tensor

    wanted = repr(program())
    for number in range(1, 120):
        hooks.set_nomemory(number, number + 1)
        try:
            program()
        except (MemoryError, RuntimeError):  # torch's own may be the latter
            pass
        finally:
            hooks.remove_mem_hooks()
        assert repr(program()) == wanted


@native
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64"])
def test_extremes_and_sizes(dtype: str) -> None:
    numbers = [[3, 0, 5], [1, 0, 2]]
    rows: list[Any] = [numbers, [[7]], [[float("nan"), 1], [2, 3]], [[-0.0, 0.0]], [[float("inf"), -float("inf")]]]
    for row in rows if dtype.startswith("float") else [numbers, [[7]]]:
        for x in (np.array(row).astype(dtype), np.array(row).astype(dtype).T, np.array(row).astype(dtype)[:, ::2]):
            for call in (x.max, x.min, lambda x=x: np.max(x), lambda x=x: np.amin(x), lambda x=x: (x.nbytes, x.size)):
                both_ways(call)
                both_ways(lambda call=call, x=x: (x[:1], call()))
