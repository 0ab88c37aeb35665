"""Quantised kernels have no derivative: they refuse decomposed tensors and say why, where they would give zeros."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import npdec as np
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl.torch_refused_impl import REFUSED

pytestmark = pytest.mark.filterwarnings("ignore")  # torch says of its quantisation that it is to go
WEIGHT = torch.linspace(-1, 1, 20).reshape(5, 4)


def rows(*shape: int) -> torch.Tensor:
    made: torch.Tensor = np.decompose(torch.linspace(0, 1, torch.Size(shape).numel()).reshape(shape))
    return made


def _packed() -> Any:
    return torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(WEIGHT, 0.1, 0, torch.qint8), torch.ones(5))


def _packed_halves() -> Any:
    return torch.ops.quantized.linear_prepack_fp16(WEIGHT, torch.ones(5))


def _dynamic(module: torch.nn.Module) -> Any:
    return torch.ao.quantization.quantize_dynamic(torch.nn.ModuleList([module]), {type(module)})[0]


@pytest.fixture(autouse=True)
def _engine() -> None:
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        pytest.skip("this torch has no quantised kernels for this processor")


OPERATORS: dict[str, Callable[[], Any]] = {
    "linear_dynamic": lambda: torch.ops.quantized.linear_dynamic(rows(2, 4), _packed()),
    "linear_dynamic.default": lambda: torch.ops.quantized.linear_dynamic.default(rows(2, 4), _packed()),
    "linear_relu_dynamic": lambda: torch.ops.quantized.linear_relu_dynamic(rows(2, 4), _packed()),
    "linear_dynamic_fp16": lambda: torch.ops.quantized.linear_dynamic_fp16(rows(2, 4), _packed_halves()),
    "nn.Linear": lambda: _dynamic(torch.nn.Linear(4, 5))(rows(2, 4)),
    "nn.LSTM": lambda: _dynamic(torch.nn.LSTM(4, 5))(rows(3, 2, 4)),
    "nn.GRU": lambda: _dynamic(torch.nn.GRU(4, 5))(rows(3, 2, 4)),
    "nn.LSTMCell": lambda: _dynamic(torch.nn.LSTMCell(4, 5))(rows(2, 4)),
    "nn.GRUCell": lambda: _dynamic(torch.nn.GRUCell(4, 5))(rows(2, 4)),
    "nn.RNNCell": lambda: _dynamic(torch.nn.RNNCell(4, 5))(rows(2, 4)),
    "attribute": lambda: np.attribute(lambda x: _dynamic(torch.nn.Linear(4, 5))(x).sum(), torch.ones(2, 4)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_refuse(name: str) -> None:
    with pytest.raises(NotImplementedError, match=r"contributions do not pass through it.*quantised"):
        OPERATORS[name]()


FUNCTIONS = [
    (name, getattr(owner, name))
    for name, reason in REFUSED.items()
    if reason.startswith("quantised")
    for owner in (torch, torch.Tensor)
    if hasattr(owner, name)
]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_functions_refuse(name: str, function: Any) -> None:
    with pytest.raises(NotImplementedError, match=f"{name}: contributions do not pass through it: quantised numbers"):
        DecomposedTensor.__torch_function__(function, (DecomposedTensor,), (rows(2, 3),))


def test_what_is_packed_is_a_choice() -> None:
    """The bytes of packed weights carry nothing: where the baseline has others, that is said."""
    weight = np.decompose(WEIGHT)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        packed = torch.ops.quantized.embedding_bag_byte_prepack(weight)
    assert torch.equal(packed, torch.ops.quantized.embedding_bag_byte_prepack(WEIGHT))
    assert any("at the baseline it would choose otherwise" in str(w.message) for w in told)
