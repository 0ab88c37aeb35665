"""Keys of indices, masks, lists and numbers, in all orders: value, residual and each component are what the key takes
of them alone."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from native_cases import in_python, native, told

ITEMS: list[Any] = [
    torch.tensor([0, 1]),
    torch.tensor([[0, -1], [1, 0]]),
    torch.tensor([1], dtype=torch.int32),
    torch.tensor(1),
    torch.tensor([5]),
    torch.tensor([True, False]),
    torch.tensor([[True, False, True], [False, True, True]]),
    torch.tensor(True),
    [0, 1],
    [],
    True,
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, None, 2),
    None,
    Ellipsis,
]


def keys(seed: int, count: int) -> list[Any]:
    """Drawn ones, of one item to four."""
    source = random.Random(seed)
    found: list[Any] = list(ITEMS)
    for size in (1, 2, 3, 4):
        drawn = list(itertools.product(ITEMS, repeat=size))
        found += source.sample(drawn, min(count, len(drawn)))
    return found


@pytest.mark.parametrize("shape", [(2,), (3,), (2, 3), (2, 3, 2), (40, 30)])
@pytest.mark.parametrize("turned", [False, True])
def test_each_part_is_taken_by_the_key(shape: tuple[int, ...], turned: bool) -> None:
    torch.manual_seed(1)
    value, base = torch.randn(shape, dtype=torch.float64), torch.randn(shape, dtype=torch.float64)
    x = np.decompose(value, baseline=base, axis=0)
    if turned:
        value, base, x = (t.flip(0)[::2] if len(shape) == 1 else t.mT for t in (value, base, x))
    for key in keys(len(shape), 60):
        try:
            expected = value[key]
        except (IndexError, TypeError, RuntimeError) as error:
            with pytest.raises(type(error)):
                x[key]
            continue
        found = x[key]
        assert torch.equal(found.value, expected), key
        assert found.value.stride() == expected.stride(), key
        assert torch.equal(found.residual, base[key]), key
        assert torch.equal(found.components, torch.stack([c[key] for c in x.components])), key


CALLS = """
x[at] | x[..., at] | x[at, at] | x[[0, 1]] | x[v > 0] | x.masked_select(v > 0) | x.index_select(0, at)
x.index_select(-1, at) | x.index_fill(0, at, 2.5) | x.index_fill(-1, at, True) | x.masked_fill(v > 0, -1.5)
x.view_as(v) | x.reshape_as(x) | x.add(v, alpha=2) | x.sub(v, alpha=0.5) | torch.add(x, x * 2, alpha=-1.5)
torch.subtract(x * 0, v, alpha=-2) | x * True | x - False | x + True | +x | F.dropout(x, 0.3, False)
F.dropout(x, training=False) | torch.bmm(x[None], x.value.mT[None]) | torch.bmm(x.value.mT[None], x[None])
"""
TEXTS = [text.strip() for line in CALLS.strip().splitlines() for text in line.split(" | ")]


@native
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_as_in_python(text: str, dtype: torch.dtype) -> None:
    """To the bit."""
    torch.manual_seed(2)
    value, v = torch.randn(3, 3, dtype=dtype), torch.randn(3, 3, dtype=dtype)

    def run() -> Any:
        x = np.decompose(value, baseline=value * 0.3, axis=1)
        found = eval(text, {"x": x, "v": v, "at": torch.tensor([0, 2, 0]), "torch": torch, "F": F})
        parts = found.value, found.residual, found.components
        return [(part.dtype, part.shape, part.numpy().tobytes()) for part in parts]

    assert told(run) == in_python(run)


def test_what_torch_gives_back_as_it_was_given() -> None:
    x = np.decompose(torch.tensor([1.0, -2.0]), baseline=0.5)
    assert +x is x
    assert torch.positive(x) is x
    assert F.dropout(x, 0.3, False) is x
    assert torch.nn.Dropout(0.2).eval()(x) is x
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.dropout(x, 1.5, False)
    with pytest.raises(RuntimeError, match="bool"):
        torch.positive(x > 0)


@pytest.mark.parametrize("call", [torch.add, torch.sub, torch.Tensor.add, torch.Tensor.sub, torch.subtract])
def test_the_factor_of_the_second_term(call: Any) -> None:
    x = np.decompose(torch.tensor([1.0, -2.0, 4.0]), baseline=torch.tensor([0.5, 0.25, -1.0]))
    y, v = x * 3, torch.tensor([7.0, 0.5, -2.0])
    sign = -0.25 if "sub" in call.__name__ else 0.25
    with np.check_completeness():
        assert torch.equal(call(x, y, alpha=0.25).components, x.components + sign * y.components)
    for found, second in ((call(x, y, alpha=0.25), y), (call(x, v, alpha=0.25), v)):
        of_second = second.value if isinstance(second, np.DecomposedTensor) else second
        assert torch.equal(found.value, call(x.value, of_second, alpha=0.25))
    assert torch.equal(call(x, v, alpha=0.25).components, x.components)
    with pytest.raises(TypeError):
        call(x, v, alpha=[2])


def test_complex_values_are_those_of_plain_arrays() -> None:
    """Products are rounded alike, wherever their factors lie; orders are those of numbers with two parts."""
    plain = np.tanh(np.array([0.5 - 1j, -1 - 1j, -2.5 - 0.7j, 1.2 + 0.4j, -0.3j, 2.1], dtype=np.complex64)).reshape(
        2, 3
    )
    x = np.decompose(plain, baseline=0)
    assert np.array_equal(np.cross(x, x[::-1]).value, np.cross(plain, plain[::-1]))
    z, r = np.decompose(np.array(1 + 2j), baseline=0), np.decompose(np.array(-0.3), baseline=0)
    assert np.clip(r, z, -1.5).value == -1.5
    assert np.clip(z, 0, r).components.tolist() == [0, -0.3]
