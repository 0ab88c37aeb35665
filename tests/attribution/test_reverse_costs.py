"""What reverse mode takes: operations and memory, beside a plain pass forward and backward."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import npdec as np
from npdec._core.memory_meter import Meter


class _Counted(TorchDispatchMode):
    """How many operations torch was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def _operations(call: Callable[[], Any]) -> int:
    call()
    with _Counted() as mode:
        call()
    return mode.count


def _peak(call: Callable[[], Any]) -> int:
    call()
    with Meter() as meter:
        call()
    return meter.peak


@pytest.mark.parametrize("f", [lambda x: F.adaptive_max_pool2d(x, 1), lambda x: F.max_pool2d(x, 8)])
def test_operations_do_not_grow_with_a_window(f: Callable[..., Any]) -> None:
    x = torch.randn(2, 3, 16, 16)
    assert _operations(lambda: np.attribute(lambda u: f(u).sum(), x)) < 250


def test_a_graph_keeps_no_component_beside_what_it_reads() -> None:
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
    net.requires_grad_(False)
    x = torch.randn(4, 3, 16, 16)

    def plain() -> torch.Tensor:
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(net(leaf).sum(), leaf)[0]

    assert _peak(lambda: np.attribute(lambda u: net(u).sum(), x)) < 2.75 * _peak(plain)


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_windows_that_hang_over_pass_on_backwards_what_they_do_forward(padding: int, stride: int) -> None:
    x, r = torch.randn(2, 2, 3, 7, 8, dtype=torch.float64)
    weights = torch.randn(2, 3, 9, 9, dtype=torch.float64)

    def f(u: Any) -> Any:
        y = F.max_pool2d(torch.relu(u), 3, stride, padding)
        return (y * weights[..., : y.shape[-2], : y.shape[-1]]).sum()

    back = np.attribute(f, x, baseline=r)
    torch.testing.assert_close(back.attribution, np.attribute(f, x, baseline=r, mode="forward").attribution)
    assert back.value == f(x)


def test_equal_queries_of_a_batch_are_attended_to_once() -> None:
    x = torch.randn(3, 2, 5, 4, dtype=torch.float64)
    mask = torch.randn(5, 5, dtype=torch.float64)
    for options in ({}, {"is_causal": True}, {"attn_mask": mask}):

        def f(u: Any, options: Any = options) -> Any:
            return (F.scaled_dot_product_attention(u, u * 2.0, u + 1.0, **options) * x).sum()

        found = np.attribute(f, x, baseline=0.5)
        torch.testing.assert_close(found.residual, f(torch.full_like(x, 0.5)))
        torch.testing.assert_close(found.attribution, np.attribute(f, x, baseline=0.5, mode="forward").attribution)
