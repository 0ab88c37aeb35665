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
from tiers import turns


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


def test_attention_keeps_no_scores() -> None:
    def f(u: Any) -> Any:
        return F.scaled_dot_product_attention(u, u * 0.5, u + 1.0).sum()

    def plain(q: torch.Tensor) -> torch.Tensor:
        leaf = q.clone().requires_grad_()
        return torch.autograd.grad(f(leaf), leaf)[0]

    few, many = torch.randn(2, 4, 256, 8), torch.randn(6, 4, 256, 8)
    more = _peak(lambda: np.attribute(f, many)) - _peak(lambda: np.attribute(f, few))
    assert more < 6 * (_peak(lambda: plain(many)) - _peak(lambda: plain(few)))


SIZES = [(1, 1, 600, 500), (30, 2, 50, 60)]
OPTIONS = ["none", "causal", "mask", "added", "empty"]


@pytest.mark.parametrize(
    ("option", "size"),
    [
        pytest.param(option, size, marks=() if (i + j) % 2 else pytest.mark.slow)
        for i, option in enumerate(OPTIONS)
        for j, size in enumerate(SIZES)
    ],
)
def test_attention_passes_back_what_it_does_forward(option: str, size: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    batch, heads, length, keys = size
    q, k = torch.randn(batch, heads, length, 2), torch.randn(batch, heads, keys, 2)
    x, r = torch.randn(2, batch, heads, length, 2, dtype=torch.float64)
    options: dict[str, Any] = {"is_causal": True} if option == "causal" else {}
    if option in ("mask", "empty"):
        options["attn_mask"] = torch.rand(length, keys) > 0.3
        if option == "empty":
            options["attn_mask"][3] = False
    elif option == "added":
        options["attn_mask"] = torch.randn(batch, 1, length, keys, dtype=torch.float64)
    labels = torch.arange(x.numel()).reshape(x.shape) * 3 // x.numel()
    k, weights = k.double(), q.double()

    def f(u: Any) -> Any:
        keyed = k + 0.1 * u.mean((2,), keepdim=True)
        return (F.scaled_dot_product_attention(u, keyed, keyed * 0.3 + 1.0, **options) * weights).sum()

    for baseline in (r, 0.2):
        back = np.attribute(f, x, baseline=baseline, groups=labels)
        ahead = np.attribute(f, x, baseline=baseline, groups=labels, mode="forward")
        torch.testing.assert_close(back.attribution, ahead.attribution, rtol=1e-10, atol=1e-10)
        assert torch.equal(torch.as_tensor(back.value), f(x))


def test_queries_that_are_written_to_after_they_are_attended_with() -> None:
    x = torch.randn(2, 5, 4, dtype=torch.float64)

    def f(u: Any, written: bool = True) -> Any:
        query = u * 2.0
        made = F.scaled_dot_product_attention(query, query, query)
        if written:
            query.add_(1.0)
        return (made * x).sum()

    wanted = np.attribute(lambda u: f(u, False), x).attribution
    torch.testing.assert_close(np.attribute(f, x).attribution, wanted)


@pytest.mark.parametrize("batch_first", [False, True])
def test_heads_leave_equal_rows_one_in_memory(batch_first: bool) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=batch_first).double().eval().requires_grad_(False)
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    seen = []

    def f(u: Any) -> Any:
        made = layer(u)
        seen.append(made)
        return (made * x).sum()

    back = np.attribute(f, x)
    assert seen[0].residual.stride()[:2] == (0, 0)
    torch.testing.assert_close(seen[0].residual, layer(torch.zeros_like(x)))
    assert torch.equal(seen[0].value, layer(x.clone().requires_grad_()))
    torch.testing.assert_close(back.attribution, np.attribute(f, x, mode="forward").attribution)


@pytest.mark.parametrize("f", [lambda u: u.mT.contiguous(), lambda u: u.contiguous()])
def test_copies_by_rows_are_written_to_alone(f: Callable[..., Any]) -> None:
    x = torch.randn(3, 4, dtype=torch.float64)

    def g(u: Any) -> Any:
        first = u * 1.0
        second = f(first)
        second += 1.0
        second *= 2.0
        return (first * torch.arange(12.0, dtype=torch.float64).reshape(3, 4)).sum() + second.square().sum()

    found = np.attribute(g, x)
    torch.testing.assert_close(found.residual, g(torch.zeros_like(x)))
    torch.testing.assert_close(found.attribution, np.attribute(g, x, mode="forward").attribution)


@pytest.mark.parametrize(
    "layer", [nn.GroupNorm(2, 4), nn.InstanceNorm2d(4), nn.BatchNorm2d(4), nn.LayerNorm([40, 40]), nn.RMSNorm([40, 40])]
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_normalisations_of_many_rows(layer: nn.Module, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer = layer.to(dtype).requires_grad_(False)
    x, r, weights = torch.randn(3, 12, 4, 40, 40, dtype=dtype)
    labels = torch.arange(x.numel()).reshape(x.shape) * 5 // x.numel()
    for baseline in turns((r, r[:1], 0.5 * x), (dtype is torch.float64) + type(layer).__name__.count("o"), 3):
        for net in (layer, layer.eval()):

            def f(u: Any, net: nn.Module = net) -> Any:
                return (net(u) * weights).sum()

            back = np.attribute(f, x, baseline=baseline, groups=labels).attribution
            ahead = np.attribute(f, x, baseline=baseline, groups=labels, mode="forward").attribution
            tolerance = 1e-10 if dtype is torch.float64 else 1e-3
            torch.testing.assert_close(back, ahead, rtol=tolerance, atol=tolerance)
