"""Functions that are linear in their arguments, of a few decomposed numbers: each part is what NumPy gives of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from npdec._core.signatures import read_parameters
from npdec._law import maps_of_few

pytestmark = pytest.mark.quick
VALUES = {"s": 1.5, "t": -0.4, "x": [1.5, -0.4, 2.2], "M": [[1.5, -0.4, 2.2], [1.0, 2.0, 3.0]]}
CASES: dict[str, Callable[..., Any]] = {
    "tile a number": lambda np, g: np.tile(g["s"], 3),
    "tile a matrix": lambda np, g: np.tile(g["M"], (1, 2)),
    "full": lambda np, g: np.full((2, 3), g["s"]),
    "full of rows": lambda np, g: np.full((2, 3), g["x"]),
    "repeat": lambda np, g: np.repeat(g["x"], 2),
    "repeat each": lambda np, g: np.repeat(g["x"], [1, 0, 2]),
    "roll": lambda np, g: np.roll(g["M"], 1),
    "roll along": lambda np, g: np.roll(g["M"], (1, 2), (0, 1)),
    "take": lambda np, g: np.take(g["x"], [[2, -1], [0, 1]]),
    "take a number": lambda np, g: np.take(g["s"], 0),
    "take along": lambda np, g: np.take_along_axis(g["M"], np.asarray([[0], [2]]), 1),
    "append": lambda np, g: np.append(g["x"], g["s"]),
    "append along": lambda np, g: np.append(g["M"], g["M"], 0),
    "vstack": lambda np, g: np.vstack([g["x"], g["x"]]),
    "hstack": lambda np, g: np.hstack([g["s"], g["t"]]),
    "dstack": lambda np, g: np.dstack([g["x"], g["x"]]),
    "column_stack": lambda np, g: np.column_stack([g["x"], g["M"].T]),
    "diff": lambda np, g: np.diff(g["M"], axis=0),
    "trapezoid": lambda np, g: np.trapezoid(g["M"], dx=0.5),
    "compress": lambda np, g: np.compress([True, False, True], g["x"]),
    "extract": lambda np, g: np.extract([True, False, True], g["x"]),
    "delete": lambda np, g: np.delete(g["x"], 1),
    "resize": lambda np, g: np.resize(g["x"], (2, 2)),
}


def given(dtype: str) -> dict[str, Any]:
    """Numbers with two components each, of which one may be infinite, and their parts."""
    made = {}
    for name, value in VALUES.items():
        x = torch.tensor(value, dtype=getattr(torch, dtype))
        x = x * (1 + 0.5j) if x.is_complex() else x
        r = torch.full_like(x, 0.25)
        components = torch.stack([(x - r) * 0.75, (x - r) * 0.25])
        made[name] = np.asarray(np.DecomposedTensor(x, r, components, ("a", "b")))
    for name in "st":
        made[name] = made[name].reshape(1)[0]
    return made


def parts(made: Any) -> list[torch.Tensor]:
    tensor = made._t
    assert type(tensor) is np.DecomposedTensor
    assert tensor.labels == ("a", "b")
    return [tensor.value, tensor.residual, *tensor.components]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("case", CASES)
def test_each_part_is_what_numpy_gives(case, dtype):
    """The value and the residual are NumPy's of these, and each component that of the component; twice, as the map is
    known then."""
    whole = given(dtype)
    for _ in range(2):
        found = parts(CASES[case](np, whole))
        for i, part in enumerate(found):
            alone = {name: parts(x)[i].numpy() for name, x in whole.items()}
            wanted = CASES[case](numpy, alone)
            assert tuple(part.shape) == numpy.shape(wanted)
            if i < 2:
                assert part.numpy().tolist() == numpy.asarray(wanted).tolist()
            numpy.testing.assert_allclose(part.numpy(), wanted, rtol=1e-6, atol=1e-7)


def test_labels_of_several_are_brought_together():
    """Numbers under other labels have zero there."""
    x = np.decompose(np.asarray([1.0, 2.0]), baseline=0.5, labels=["a", "b"])
    y = np.decompose(np.asarray([4.0]), baseline=0.5, labels=["c"])
    made = np.append(x, y)._t
    assert made.labels == ("a", "b", "c")
    assert made.components.tolist() == [[0.5, 0.0, 0.0], [0.0, 1.5, 0.0], [0.0, 0.0, 3.5]]


def test_what_is_moved_may_be_infinite():
    """Infinities and NaN stay where they are."""
    x = torch.tensor([float("inf"), 1.0]), torch.tensor([0.0, 1.0]), torch.tensor([[float("inf"), float("nan")]])
    made = np.tile(np.asarray(np.DecomposedTensor(*[part.double() for part in x], ("a",))), 2)._t
    assert made.value.tolist() == [float("inf"), 1.0] * 2
    assert made.components[0, ::2].tolist() == [float("inf")] * 2
    assert made.components[0, 1::2].isnan().all()


def test_of_two_that_are_multiplied_no_map_is_made():
    """A kernel that is linear in one argument alone is called where the other one carries something."""
    y = np.decompose(np.asarray([1.0, 2.0, 4.0]), baseline=0.5)
    x = np.decompose(np.asarray([0.0, 1.0, 3.0]), baseline=np.asarray([0.0, 1.0, 2.0]))
    made = np.trapezoid(y, x)
    assert made.value == 7.5
    assert made.residual == 1.0
    assert abs(float(made._t.components.sum()) - 6.5) < 1e-12


def test_layouts_and_errors_are_those_of_arrays():
    """A matrix that lies by columns, graphs, and arguments that are refused."""
    columns = np.decompose(np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), baseline=0.5).T
    plain = columns.value
    assert np.roll(columns, 1).value.strides == np.roll(plain, 1).strides
    assert np.roll(columns, 1).value.tolist() == np.roll(plain, 1).tolist()
    with pytest.raises(ValueError, match="negative"):
        np.tile(columns, -1)
    with pytest.raises(IndexError):
        np.take(columns, 9)
    leaf = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    x = np.DecomposedTensor(leaf, torch.zeros(2, dtype=torch.float64), leaf.unsqueeze(0), ("a",))
    made = np.tile(np.asarray(x), 2)._t
    made.components.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]


def test_marked_parameters_are_linear():
    """Whatever numbers a marked argument has, the result is linear in them, or constant: one plus one is two."""
    names = [
        "tile",
        "repeat",
        "roll",
        "append",
        "vstack",
        "hstack",
        "dstack",
        "column_stack",
        "diff",
        "trapezoid",
        "take",
    ]
    for name in names:
        assert any(p.affine for p in read_parameters(getattr(np, name).__kernel__)), name
    assert maps_of_few.of_decomposed([]) is False
