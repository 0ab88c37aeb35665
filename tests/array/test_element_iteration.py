"""Going through a vector: NumPy's scalars, of what the memory holds when each of them is asked for."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

import npdec as np
from dtype_cases import DTYPES
from npdec._array.elements import memory_of

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key", [slice(None), slice(None, None, 2), slice(3, 1), slice(1), slice(None, None, -1)])
def test_elements_are_scalars(dtype: str, key: slice) -> None:
    x = numpy.array([0, 1, 3, 2, 7]).astype(dtype)
    found, wanted = list(np.array(x)[key]), list(x[key])
    assert [type(one).__name__ for one in found] == [type(one).__name__ for one in wanted]
    assert found == wanted
    column = numpy.stack([x, x], 1)
    assert list(np.array(column)[:, 1][key]) == list(column[:, 1][key])


def test_what_is_written_on_the_way_is_seen() -> None:
    shared = numpy.arange(6.0)
    x = np.asarray(shared)
    seen = []
    for i, one in enumerate(x):
        seen.append(float(one))
        if i == 0:
            x[1] = 10.0
        if i == 1:
            shared[2] = 20.0
        if i == 2:
            x.tensor[3] = 30.0
        if i == 3:
            x[4:] *= 2
    assert seen == [0.0, 10.0, 20.0, 30.0, 8.0, 10.0]


def test_contributions_that_come_on_the_way_are_carried() -> None:
    x, part = np.zeros(4), np.decompose(np.array([3.0]), baseline=1.0)
    seen: list[Any] = []
    for i, one in enumerate(x):
        seen.append(one)
        if i == 1:
            x[2:3] = part
    assert [bool(one.is_decomposed) for one in seen] == [False, False, True, True]
    assert float(seen[2].value) == 3.0
    assert seen[2].components.tolist() == [2.0]


def test_a_graph_that_comes_on_the_way_is_kept() -> None:
    x, weight = np.zeros(3), torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    seen: list[Any] = []
    for i, one in enumerate(x):
        seen.append(one)
        if i == 0:
            x[1:] = np.asarray(weight * 3)
    assert [one.tensor.requires_grad for one in seen[1:]] == [True, True]
    assert type(seen[0]) is np.float64


def test_other_memory_that_comes_on_the_way() -> None:
    x = np.arange(3)
    seen = []
    for i, one in enumerate(x):
        seen.append(int(one))
        if i == 0:
            x.resize(5, refcheck=False)
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("size", [0, 8])
def test_memory_that_torch_has_freed_is_not_read(size: int) -> None:
    tensor = torch.arange(6.0)
    x = np.asarray(tensor)
    tensor.untyped_storage().resize_(size)
    assert memory_of(tensor, tensor.dtype) is None
    if not size:
        with pytest.raises(RuntimeError):
            list(x)


def test_batched_programs_go_through_elements() -> None:
    assert np.vmap(sum)(np.ones((2, 3))).tolist() == [3.0, 3.0]


def test_traced_programs_go_through_elements() -> None:
    compiled = torch.compile(lambda x: sum(one * one for one in x), backend="eager", fullgraph=True)
    assert float(compiled(np.arange(3.0))) == 5.0
