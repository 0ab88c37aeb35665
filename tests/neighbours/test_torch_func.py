"""NumPy code on torch: gradients, vmap and compile see through npdec arrays."""

from __future__ import annotations

import pytest
import torch

import npdec as np


def model(t):
    x = np.asarray(t)
    return (np.exp(-x) * 2 + np.sin(x)[::2].sum() + x.mean() ** 2).tensor


def test_autograd():
    x = torch.randn(6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(model, (x,))


def test_grad_and_vmap():
    t = torch.randn(4, 6, dtype=torch.float64)
    torch.testing.assert_close(torch.vmap(model)(t), torch.stack([model(row) for row in t]))
    slope = torch.func.grad(lambda row: (np.asarray(row) ** 2).sum().tensor)(t[0])
    torch.testing.assert_close(slope, 2 * t[0])


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*")
def test_compile():
    t = torch.randn(6, dtype=torch.float64)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(t), model(t))


def test_default_device():
    with torch.device("meta"):
        assert (np.zeros((2, 3)) + 1).device.type == "meta"
        assert np.arange(3.0).sum().tensor.device.type == "meta"
