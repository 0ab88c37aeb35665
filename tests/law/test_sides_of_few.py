"""Arrays of few elements beside each other, beside constants and numbers: what C finds is to the last bit what Python
finds, and the contributions are those of the general way."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import npdec as np
from npdec._law import numbers_in_c
from npdec._native import calls

pytestmark = pytest.mark.quick
FUNCTIONS = [
    torch.maximum, torch.minimum, torch.fmax, torch.hypot, torch.atan2, torch.logaddexp, torch.logaddexp2, torch.xlogy,
    torch.pow,
]  # fmt: skip
AFTER, BEFORE = [1.5, 0.4, 2.2], [0.1, 2.5, 2.2]
OTHER, OTHER_BEFORE = [1.4, 0.4, 0.3], [0.2, 2.5, 1.3]


def decomposed(after: Any, before: Any, dtype: torch.dtype, labels: Any = None) -> Any:
    ends = torch.tensor(after, dtype=dtype), torch.tensor(before, dtype=dtype)
    return np.decompose(np.asarray(ends[0]), baseline=np.asarray(ends[1]), labels=labels)._t


def operands(dtype: torch.dtype) -> list[tuple[Any, Any]]:
    """Pairs under the same labels, others, some of them, with axes, numbers and constants."""
    x = decomposed(AFTER, BEFORE, dtype)
    beside = [decomposed(OTHER, OTHER_BEFORE, dtype, labels) for labels in (None, ["p", "q", "r"], ["p", 1, 0])]
    constant = torch.tensor(OTHER, dtype=dtype)
    pairs = [(x, y) for y in (*beside, constant, beside[0][1].clone(), beside[1][2].clone(), x)]
    rows = [torch.stack([x, y]) for y in beside[:2]]
    pairs += [(rows[0], torch.stack([beside[0], x])), (rows[1], rows[1] * 2), (rows[0].mT, rows[0].mT + 1)]
    return pairs + [(b, a) for a, b in pairs] + [(x[0].clone(), constant), (constant, x[1].clone())]


def assert_same(made: Any, wanted: Any) -> None:
    assert type(made) is type(wanted) is np.DecomposedTensor
    assert made.labels == wanted.labels
    for part in ("value", "residual", "components"):
        ours, theirs = getattr(made, part), getattr(wanted, part)
        assert ours.dtype is theirs.dtype
        assert ours.shape == theirs.shape
        assert ours.contiguous().numpy().tobytes() == theirs.contiguous().numpy().tobytes()


def assert_as_elsewhere(monkeypatch: pytest.MonkeyPatch, function: Any, *args: Any) -> None:
    """The result is that of Python to the last bit, and that of the general way to rounding."""
    made = function(*args)
    with monkeypatch.context() as patch:
        patch.setattr(numbers_in_c, "calls", None)
        assert_same(made, function(*args))
    with np.check_completeness():
        wanted = function(*args)
    digits = 1e-5 if made.components.dtype is torch.float32 else 1e-11
    assert set(made.labels) == set(wanted.labels)
    order = [wanted.labels.index(label) for label in made.labels]
    torch.testing.assert_close(made.components, wanted.components[order], rtol=digits, atol=digits)
    assert torch.equal(made.value, wanted.value)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_of_two(function: Any, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """The larger of two, and functions with mean gradients."""
    for a, b in operands(dtype):
        assert_as_elsewhere(monkeypatch, function, a, b)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_chosen(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """Selections by conditions, decomposed or not; a branch may be a number."""
    x = decomposed(AFTER, BEFORE, dtype)
    y = decomposed(OTHER, OTHER_BEFORE, dtype, ["p", 1, 0])
    constant = torch.tensor(OTHER, dtype=dtype)
    conditions = [x > y, y > 1, torch.tensor([True, False, True])]
    for condition in conditions:
        for a, b in ((x, y), (x, constant), (constant, y), (x, 0.0), (2.5, y), (x, x), (x, -y)):
            assert_as_elsewhere(monkeypatch, torch.where, condition, a, b)
    with pytest.raises(RuntimeError):
        torch.where(conditions[0], x, torch.ones(2, dtype=dtype))


@pytest.mark.skipif(calls is None, reason="npdec._native is not built")
def test_in_c() -> None:
    """Few ordinary elements are found in C; numbers, many elements, other dtypes and what has a graph are not."""
    x, y = decomposed(AFTER, BEFORE, torch.float64), decomposed(OTHER, OTHER_BEFORE, torch.float64, ["p", "q", "r"])
    assert calls.larger_of_arrays(1, torch.maximum, x, y) is not None
    assert calls.ends_of_two(x, y) == (AFTER, OTHER, BEFORE, OTHER_BEFORE)
    assert calls.chosen_of_arrays(torch.where, x > y, x, y) is not None
    graph = torch.tensor(OTHER, dtype=torch.float64, requires_grad=True)
    many = decomposed([1.0] * 20, [0.0] * 20, torch.float64)
    for a, b in (
        (x[0].clone(), y[0].clone()),
        (many, many),
        (x, x.to(torch.float32)),
        (x, graph),
        (x, x[:2]),
        (1.0, 2.0),
    ):
        assert calls.larger_of_arrays(1, torch.maximum, a, b) is None
        assert calls.ends_of_two(a, b) is None
    assert calls.weighted_arrays(x.value, x.residual, x, y, [1.0, 2.0], [1.0, 2.0]) is None
    assert calls.weighted_arrays(x.value[:2], x.residual, x, y, [1.0] * 3, [1.0] * 3) is None


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_numbers_in_a_row(dtype: torch.dtype) -> None:
    """Numbers and constants are stacked as vectors of one element are joined."""
    x, y = decomposed(AFTER, BEFORE, dtype), decomposed(OTHER, OTHER_BEFORE, dtype, ["p", 1, 0])
    constant = torch.tensor(0.5, dtype=dtype)
    a, b, c = x[0].clone(), y[2].clone(), x[1].clone()
    for tensors in ([a, c], [a, b], [b, constant, a], [constant, a], [a], [a, a, b, constant, c, b]):
        for dim in (0, -1):
            wanted = torch.cat([t.reshape(1) for t in tensors])
            made = torch.stack(tensors, dim)
            assert_same(made, wanted)
    with pytest.raises((RuntimeError, IndexError)):
        torch.stack([a, b], 1)
    with pytest.raises(RuntimeError):
        torch.cat([a, b])
    with pytest.raises(RuntimeError):
        torch.stack([a, y])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_compared(name: str, dtype: torch.dtype) -> None:
    """Comparisons of numbers with constant arrays, and of arrays, have the contributions of the general way."""
    for a, b in operands(dtype):
        made = getattr(torch, name)(a, b)
        with np.check_completeness():
            wanted = getattr(torch, name)(a, b)
        assert made.discrete
        assert torch.equal(made.value, wanted.value)
        assert torch.equal(made.residual, wanted.residual)
        assert set(made.labels) == set(wanted.labels)
        order = [wanted.labels.index(label) for label in made.labels]
        torch.testing.assert_close(made.components, wanted.components[order])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_close(dtype: torch.dtype) -> None:
    """Closeness of few elements has the contributions of the general way."""
    for a, b in operands(dtype):
        for more in ((), (0.3, 0.5), (0.0, 1.0)):
            with warnings.catch_warnings(record=True) as met:
                warnings.simplefilter("always")
                made, said = torch.isclose(a, b, *more), [str(warning.message) for warning in met]
                try:
                    with np.check_completeness():
                        wanted = torch.isclose(a, b, *more)
                except np.exceptions.CompletenessError:  # of what only rounding has moved
                    assert dtype is torch.float32
                    continue
            assert said == [str(warning.message) for warning in met][len(said) :]
            assert made.discrete
            assert torch.equal(made.value, wanted.value)
            assert torch.equal(made.residual, wanted.residual)
            assert made.components.dtype is wanted.components.dtype
            assert set(made.labels) == set(wanted.labels)
            order = [wanted.labels.index(label) for label in made.labels]
            torch.testing.assert_close(made.components, wanted.components[order])
