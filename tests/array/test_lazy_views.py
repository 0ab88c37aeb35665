"""Views of arrays of few elements: they are lazy, whatever function makes them, and share the memory."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

import npdec as np
from native_cases import native

VIEWS = {
    "swapaxes": lambda lib, x: lib.swapaxes(x, 0, 1),
    "moveaxis": lambda lib, x: lib.moveaxis(x, 0, -1),
    "rollaxis": lambda lib, x: lib.rollaxis(x, 1),
    "permute_dims": lambda lib, x: lib.permute_dims(x, (1, 0)),
    "expand_dims": lambda lib, x: lib.expand_dims(x, 1),
    "squeeze": lambda lib, x: lib.squeeze(x[:1]),
    "matrix_transpose": lambda lib, x: lib.matrix_transpose(x),
    "mT": lambda lib, x: x.mT,
    "reshape": lambda lib, x: lib.reshape(x, (3, 2)),
    "reshape by columns": lambda lib, x: x.T.reshape((6,), order="F"),
    "diagonal": lambda lib, x: lib.diagonal(x),
    "linalg.diagonal": lambda lib, x: lib.linalg.diagonal(x, offset=1),
    "broadcast_to": lambda lib, x: lib.broadcast_to(x, (2, 2, 3)),
    "split": lambda lib, x: lib.split(x, 3, axis=1)[1],
    "array_split": lambda lib, x: lib.array_split(x, 2)[1],
    "unstack": lambda lib, x: lib.unstack(x, axis=1)[2],
    "einsum": lambda lib, x: lib.einsum("ij->ji", x),
    "a view of a view": lambda lib, x: lib.swapaxes(x[:, ::2], 0, 1)[1:],
    "a view that runs backwards": lambda lib, x: lib.swapaxes(x[::-1], 0, 1),
}


def is_lazy(x: Any) -> bool:
    """Whether an array has no tensor of its own yet."""
    try:
        object.__getattribute__(x, "_e")
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_numpys(view: str) -> None:
    def program(lib: Any) -> list[Any]:
        x = lib.arange(6.0).reshape(2, 3).copy()
        y = VIEWS[view](lib, x)
        seen = [y.tolist(), y.shape, y.flags.writeable, lib.shares_memory(x, y)]
        x[1, 1] = -1.0
        seen.append(y.tolist())
        if y.flags.writeable:
            y[...] = 7.0
        else:
            with pytest.raises(ValueError, match="read-only"):
                y[...] = 7.0
        return [*seen, x.tolist(), y[...].flags.writeable, y[::-1].flags.writeable]

    assert program(np) == program(numpy)


@native
@pytest.mark.parametrize("view", VIEWS)
def test_they_and_the_array_stay_lazy(view: str) -> None:
    x = np.arange(6.0).reshape(2, 3).copy()
    y = VIEWS[view](np, x)
    assert is_lazy(x) == is_lazy(y) == (view != "a view that runs backwards")


def test_an_argument_that_a_function_gives_back_is_itself() -> None:
    x = np.arange(3.0) + 1
    assert np.atleast_1d(x) is np.squeeze(x) is x
    assert np.swapaxes(x, 0, 0) is not x


def test_a_graph_is_told_of_writes_through_them() -> None:
    """A gradient that keeps the elements, and a view that is written before they are needed."""
    x = np.arange(1.0, 4.0) + 1
    view = np.expand_dims(x, 0)
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    total = (w * torch.as_tensor(x.tensor)).sum()
    view[0, 0] = 9.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_copies_are_no_views() -> None:
    x = np.arange(6.0).reshape(2, 3).copy()
    y = np.reshape(x.T, -1)
    y[0] = 5.0
    assert x[0, 0] == 0.0
    assert not np.shares_memory(x, y)
