"""Calls with tensors in reverse mode that C answers (`npdec/_native/reverse.c`) give what Python gives, within
rounding: values, residuals, attributions; and what is written into the memory of their views is met."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from native_cases import native
from npdec._law import ordinary_reverse

# Of x, 4 by 6; constants w (6 by 6), b (6), c (4 by 6).
CALLS = """
F.linear(x, w) | F.linear(x, w, b) | F.linear(x, w.requires_grad_(), b) | F.linear(x[None], w) | F.linear(x.T, c.T)
F.linear(F.relu(x), w) | F.linear(F.relu(F.linear(x, w)), w, b) | F.relu(x) | F.leaky_relu(x, 0.1) | F.gelu(x)
F.gelu(x, approximate="tanh") | torch.tanh(x) | torch.sigmoid(x) | x.sigmoid() | F.silu(x) | F.elu(x, alpha=0.5)
F.softplus(x, 2.0) | F.softshrink(x, 0.3) | F.hardtanh(x, -0.5, 0.5) | F.relu6(x) | F.mish(x) | F.relu(x * 0)
F.gelu(x * 1e-9 + 0.3) | F.hardsigmoid(x)
torch.tanh(x * 1e-9) | F.relu(x, inplace=True) | F.relu(x - x) | torch.sigmoid(x * 30) | x[:, 0] | x[0] | x[..., 1:3]
x[None] | x.T | x.reshape(-1) | x.reshape(6, 4) | x.flatten(0) | x.unsqueeze(1) | x.permute(1, 0) | x.transpose(0, 1)
x.sum() | x.sum(0) | x.mean(-1) | x.sum(-1, keepdim=True) | x.chunk(2, -1)[1] | x.unbind(0)[2] | x.split(2, 1)[0]
-x | torch.neg(F.relu(x)) | x.clone() | F.relu(x).clone() | torch.cat([x, F.relu(x)]) | torch.stack([F.relu(x), x], 1)
torch.cat([F.relu(x), c]) | x + x | x + F.relu(x) | x - F.relu(x) | F.relu(x) - c | c - F.relu(x) | 1 - torch.sigmoid(x)
F.relu(x) + 3 | 2 - x | x + b | x + 1e9 | (x.sum() + 2.0**30) - 2.0**30 | x * 3 | 3 * x | x * c | x * b | x / 4 | x / c
x * float("inf") | x / 0 | x * F.relu(x) | x * x | F.relu(x) * torch.tanh(x) | x * x.sum() | x * x.mean(-1, True)
x[:, :1] * x | x @ x.T | F.relu(x) @ F.relu(x).T | (x[None] @ x.T[None])[0] | torch.bmm(x[None], F.relu(x).mT[None])
torch.softmax(x, -1) | F.softmax(x, dim=1) | torch.log_softmax(x, 1) | F.log_softmax(x, dim=-1) | x.softmax(0)
torch.softmax(x * 1e-6, -1) | torch.softmax(x * 40, -1) | torch.softmax(F.linear(x, w), -1) | torch.softmax(x[:, :1], 1)
torch.tanh(x)[:, 1:4] * 2 | torch.tanh(x[:, 1:4]) | F.softplus(x[:, :3]) | torch.sigmoid(x.T) | F.hardswish(x * 9)
x ** 2 | x ** 3.0 | (x * x + 1) ** 1.5 | x[:, :3] ** 2 | torch.exp(x * 1e-4) | torch.log(x * x + 1) | torch.sin(x)
torch.sqrt(x * x + 1) | torch.exp(x * 1e-9 + 1) | torch.exp(x * 0 + 1) | torch.sigmoid(x * 0) | 1 / (x * x + 1)
x / (x * x + 1) | c / (x * x + 1) | b / (x * x + 1).sum(-1, keepdim=True) | x / (x[0] * x[0] + 1) | x / (x * x)
x / (x * 1e6 + 1e-3) | -(x ** 2) | torch.cat([x ** 2, x]) | (x ** 2 - b) * x
x * torch.rsqrt((x ** 2).mean(-1, True) + 1) | torch.square(x) - x
(x ** 2).mean(-1, True) + x | x / torch.sqrt((x ** 2).mean(-1, keepdim=True) + 1e-2) | c / ((x ** 2).mean(1, True) + 1)
torch.tanh((x ** 2).mean(-1, keepdim=True)) | x * torch.sqrt((x * x).mean(-1, keepdim=True)).reciprocal()
x.norm(dim=-1) | x.std(-1) | x.amax(-1) | x.amin(0) | F.mse_loss(x, c) | F.huber_loss(x, c, delta=0.5)
F.binary_cross_entropy_with_logits(x, torch.sigmoid(c)) | F.soft_margin_loss(x, c.sign())
F.poisson_nll_loss(x, c.exp()) | F.l1_loss(x, c)
torch.softmax(x, -1, dtype=torch.float64) | F.avg_pool1d(x[None], 2) | F.avg_pool1d(x[None], 3, stride=1, padding=1)
F.adaptive_avg_pool1d(x[None], 2) | F.conv_transpose1d(x[None], w[:4, :3, None]) | F.conv1d(x[None], w[:3, :4, None])
F.conv_transpose1d(x[None], w[:4, :, None].expand(4, 6, 2), b, stride=2, output_padding=1) | x.double() | x.detach() * x
F.layer_norm(x, (6,)) | F.layer_norm(x * 9, (6,), b, b, 1e-3) | F.layer_norm(x, (4, 6), c) | F.layer_norm(x, (5,))
F.layer_norm(x * 0, (6,)) | F.layer_norm(x, (6,), w[0].requires_grad_(), eps=1e-2) | F.layer_norm(x.T, (4,))
F.layer_norm(x, (6,), c) | torch.layer_norm(x, (6,), b) | F.layer_norm(x, (6,), bias=b) | x.max(1).values | x.min(0)[0]
F.smooth_l1_loss(x * 2, c, beta=0.3) | F.l1_loss(x, c, reduction="sum") | F.mse_loss(x, c, reduction="none")
F.cross_entropy(x, c.argmax(1)) | F.cross_entropy(x, c.argmax(1), reduction="sum") | F.nll_loss(x, c.argmax(1))
F.multi_margin_loss(x, c.argmax(1)) | F.multi_margin_loss(x * 3, c.argmax(1), margin=0.4, reduction="sum")
F.cross_entropy(x, c.argmax(1) * 0 + 9) | F.multi_margin_loss(x, c.argmax(1) * 0 + 9) | F.huber_loss(x / 0, c)
F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(c)) | F.normalize(x, dim=-1) | F.cosine_similarity(x, c)
F.binary_cross_entropy(torch.sigmoid(x * 1e-6), torch.sigmoid(c), reduction="sum")
F.soft_margin_loss(x * 1e-6, c.sign()) | F.binary_cross_entropy(torch.sigmoid(x * 9 - 20), torch.sigmoid(c))
F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(c), c)
F.binary_cross_entropy_with_logits(x, torch.sigmoid(c), reduction="sum") | F.l1_loss(x.T, c.T)
F.mse_loss(x[:, 0], c[:, 0]) | torch.amax(x, -1, True) | x.amin(-1) | x.amax((1,)) | x.amax(dim=1, keepdim=True)
F.relu(x - 9).amax(-1) | x.norm(2, -1) | torch.logsumexp(x, -1) | torch.logsumexp(x * 30, 1, keepdim=True)
torch.logsumexp(x, 0) | (x * 0).norm(dim=-1) | torch.linalg.vector_norm(x, 2, [1], True)
torch.linalg.vector_norm(x, dim=-1, dtype=torch.float64) | x.norm(p=1, dim=1) | torch.maximum(x, F.relu(x))
torch.minimum(x, c) | torch.maximum(c, x) | torch.maximum(x, x) | torch.minimum(x, -x) | torch.maximum(x, b)
torch.maximum(x[0], x) | torch.max(x, c) | torch.where(x > 0, x, -x) | torch.where(x > 0.1, x, 2.0)
torch.where(x * 9 < 1, c, x * x) | torch.where((x > 0) & (c > 0), x, b) | torch.where(x >= c, x, c) | (x > 0.3) * x
torch.where(x[:, :1] > 0, x, -x) | torch.where(x > float("inf"), x, -x) | torch.where(x > 1, 1.0, 0.0) + x
3 / (x * x + 1) | F.rms_norm(x, (6,)) | F.rms_norm(x, (6,), b, 1e-2) | F.rms_norm(x, (4, 6))
torch.rms_norm(x * 0, (6,), eps=0.1) | F.rms_norm(x.T, (4,)) | F.rms_norm(x, (6,), weight=b, eps=None)
x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3) | torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3) * x * b
F.pairwise_distance(x, c) | F.pairwise_distance(c, x) | F.pairwise_distance(x, c, keepdim=True)
F.pairwise_distance(x, x * 2) | F.triplet_margin_loss(x, c, -c)
F.triplet_margin_loss(x, c, -c, margin=9.0, reduction="sum") | F.triplet_margin_loss(c, x, -c)
F.hardswish(F.relu(x) - 4) | F.triplet_margin_loss(x, c, -c, swap=True) | F.cosine_embedding_loss(x, c, torch.ones(4))
F.gelu(F.relu(x)) | F.cosine_embedding_loss(x + 1, c, -torch.ones(4), margin=-0.9, reduction="sum")
torch.cat([x, c, F.relu(x)], -1) | torch.stack([F.relu(x), c], -1) | torch.cat([x[:1], x])
torch.einsum("bi,bi->b", x, F.relu(x)) | torch.einsum("bi,bj->ij", x, x)
F.conv1d(x[None], w[:3, :4, None], bias=b[:3], padding=1) | F.conv1d(x[None], w[:3, :4, None], b[:3], dilation=2)
F.conv1d(x, w[:3, :4, None]) | F.conv1d(x[None], w[:3, :4, None], groups=3)
F.conv1d(x[None], weight=w[:4, :4, None])
F.conv_transpose1d(x[None], w[:4, :3, None], groups=1, stride=2)
F.conv1d(x[:, None], w[:2, None, :3], padding="same")
F.conv1d(x[None], w[:3, :4, None].requires_grad_()) | F.conv1d(x[:, None], x[:2, None, :3])
F.batch_norm(x, b, b * b + 1) | F.batch_norm(x, b, b * b + 1, b, b, False, 0.1, 1e-2)
F.batch_norm(x, None, None, training=True)
F.batch_norm(F.relu(x), b, b * b + 1, weight=b, bias=b, eps=0.3) | F.batch_norm(x[None], b[:4], b[:4] ** 2 + 1)
F.kl_div(F.log_softmax(x, -1), torch.softmax(c, -1), reduction="sum") | F.kl_div(x, c, log_target=True)
F.kl_div(x, c.exp()) | F.nll_loss(F.log_softmax(x, -1), c.argmax(1), reduction="sum")
F.kl_div(x, c.exp(), reduction="none")
F.nll_loss(F.log_softmax(x, -1), c.argmax(1), weight=b.exp()) | F.nll_loss(x, c.argmax(1), ignore_index=2)
F.avg_pool1d(x[None], 2, ceil_mode=True) | F.avg_pool2d(x[None, None], (2, 3)) | F.adaptive_avg_pool2d(x[None, None], 1)
torch.stack([F.relu(x)] * 12, 1) | torch.cat([x, F.relu(x)] * 9) | torch.cat([F.relu(x), *[c] * 9], 1)
F.cosine_similarity(x[None] + 3, x[:, None] * 2 + 1, dim=-1) | F.cosine_similarity(x[:1] + 3, c)
(x[None] * 2).flatten(1)
F.cosine_similarity(x + 3, x[:, :1] + 2) | (x[None] * x[:, None]).flatten(0, 1)
(x + 0)[:, None].squeeze(1).reshape(2, -1)
torch.tanh(x[None] * 2).reshape(2, 2, 6).flatten(1) | torch.stack([x, x * 2], -1).flatten(1) * 2
"""
CALLS = [text.strip() for line in CALLS.strip().splitlines() for text in line.split(" | ")]
BASES: list[Any] = [None, 0.5, "rows", "all"]


def _drawn(dtype: torch.dtype) -> dict[str, Any]:
    drawn = torch.Generator().manual_seed(0)
    shapes = {"x": (4, 6), "w": (6, 6), "b": (6,), "c": (4, 6)}
    return {name: torch.randn(shape, generator=drawn, dtype=torch.float64).to(dtype) for name, shape in shapes.items()}


def _found(f: Callable[[Any], Any], x: torch.Tensor, baseline: Any) -> Any:
    try:
        return np.attribute(f, x, baseline=baseline)
    except Exception as error:
        return type(error), str(error)


def _in_python(f: Callable[[Any], Any], x: torch.Tensor, baseline: Any) -> Any:
    before = sys.getprofile()
    sys.setprofile(lambda *event: None)
    try:
        return _found(f, x, baseline)
    finally:
        sys.setprofile(before)


@native
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_it_is_what_python_says(dtype: torch.dtype) -> None:
    given = _drawn(dtype)
    weights = torch.linspace(0.5, 1.5, 256, dtype=dtype)
    for text in CALLS:
        call = eval(f"lambda x, w, b, c: {text}", {"torch": torch, "F": F})

        def f(x: Any, call: Any = call) -> Any:
            made = call(x + 0, given["w"].clone(), given["b"], given["c"])
            return (made.reshape(-1) * weights[: made.numel()]).sum()

        for base in BASES:
            baseline = {"rows": given["b"] / 4, "all": given["c"] / 2}.get(base, base)
            own, other = _found(f, given["x"], baseline), _in_python(f, given["x"], baseline)
            if not isinstance(own, np.attribution.Attribution):
                assert own == other, text
                continue
            ends = torch.stack([other.value, other.residual, other.attribution.abs().max()]).nan_to_num(0, 0, 0)
            size = float(ends.abs().sum())
            close = {"rtol": 0, "atol": 64 * torch.finfo(dtype).eps * size, "equal_nan": True, "msg": f"{text}, {base}"}
            torch.testing.assert_close(own.value, other.value, rtol=0, atol=0, equal_nan=True, msg=text)
            torch.testing.assert_close(own.residual, other.residual, **close)
            torch.testing.assert_close(own.attribution, other.attribution, **close)


WRITES: dict[str, Callable[[Any], Any]] = {
    "into a view of what was computed": lambda y: (y[:, 0].mul_(3), y)[1],
    "into what a view looks at": lambda y: (y.T, y.mul_(2))[0],
    "beside a view": lambda y: (y[1:], y[0].zero_())[0],
    "into a view of a view": lambda y: (y.reshape(-1)[:3].add_(y[0, 3:].clone()), y)[1],
    "into a part that was cut": lambda y: (y.split(3, 1)[1].mul_(y[0, 0].clone()), y)[1],
    "a part over another": lambda y: (y[0].copy_(y[1]), y)[1],
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("before", [lambda x, w: x + 0, F.linear, lambda x, w: torch.tanh(x)])
def test_writes_meet_all_that_looks_at_the_memory(name: str, before: Callable[..., Any]) -> None:
    """In reverse mode and forward the contributions are the same."""
    given = _drawn(torch.float64)

    def f(x: Any) -> Any:
        made = WRITES[name](before(x, given["w"]))
        return (made * torch.arange(1.0, made.numel() + 1, dtype=made.dtype).reshape(made.shape)).sum()

    reverse, forward = np.attribute(f, given["x"]), np.attribute(f, given["x"], mode="forward")
    torch.testing.assert_close(reverse.attribution, forward.attribution)
    torch.testing.assert_close(reverse.residual, f(torch.zeros_like(given["x"])))


def test_the_input_may_be_written_over() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])

    def f(u: Any) -> Any:
        v = u * u
        u.mul_(2)
        return (v + u).sum()

    found = np.attribute(f, x)
    torch.testing.assert_close(found.attribution, x * x + 2 * x)
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_contributions_beside_a_large_constant_are_those_of_the_terms() -> None:
    x = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    seen: list[Any] = []

    def f(u: Any) -> Any:
        made = torch.relu(u) + 2.0**40
        seen.append(made.components.detach().clone())
        return made.sum()

    np.attribute(f, x)
    assert torch.equal(seen[0][0], x)


@native
def test_pointwise_functions_are_answered_without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any) -> Any:
        raise AssertionError("asked in Python")

    monkeypatch.setattr(ordinary_reverse, "pointwise", never)
    x = _drawn(torch.float64)["x"]
    for f in (F.relu, F.silu, F.gelu, F.softplus, torch.tanh, torch.sigmoid, lambda u: F.leaky_relu(u, 0.2)):
        found = np.attribute(lambda u, f=f: f(u * 2).sum(), x)
        torch.testing.assert_close(found.attribution.sum(), f(x * 2).sum() - f(x * 0).sum())
