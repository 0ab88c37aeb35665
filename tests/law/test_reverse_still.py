"""Numbers that do not move, in reverse mode, have the derivative of a function for their slope; and losses, distances
and normalised rows that are found at once have the law's contributions, which the general way finds one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "relu": F.relu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.3),
    "hardtanh": lambda x: F.hardtanh(x, 0.0, 6.0),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardswish below its range": lambda x: F.hardswish(x - 5),
    "silu": F.silu,
    "gelu": F.gelu,
    "elu": lambda x: F.elu(x, 0.7),
    "mish": F.mish,
    "softplus": F.softplus,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "sin": torch.sin,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("still", [3, 300, 1000])
def test_what_does_not_move_passes_on_by_the_derivative(name: str, dtype: torch.dtype, still: int) -> None:
    """The two inputs move each element by as much as each other, in opposite directions where it is to stay."""
    drawn = torch.Generator().manual_seed(1)
    first, second = torch.randn((2, 1000), generator=drawn, dtype=torch.float64)
    second[:still] = -first[:still]
    weights = torch.linspace(0.5, 1.5, 1000, dtype=dtype)
    f = FUNCTIONS[name]
    given = torch.stack([first, second]).to(dtype)
    found = np.attribute(lambda x: (f(x[0] + x[1] + 0.25) * weights).sum(), given).attribution
    with torch.enable_grad():
        at = torch.full((still,), 0.25, dtype=dtype, requires_grad=True)
        (rates,) = torch.autograd.grad(f(at).sum(), at)
    torch.testing.assert_close(found[:, :still], given[:, :still] * rates * weights[:still])
    with np.check_completeness():
        general = np.attribute(lambda x: (f(x[0] + x[1] + 0.25) * weights).sum(), given).attribution
    torch.testing.assert_close(found, general, rtol=1e-4 if dtype is torch.float32 else 1e-9, atol=1e-6)


_C = torch.linspace(-1.5, 1.0, 24, dtype=torch.float64).reshape(4, 6).sin()
_SIGNS = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
CALLS: dict[str, Callable[[Any], Any]] = {
    "triplet": lambda x: F.triplet_margin_loss(x, _C, -_C),
    "triplet, summed": lambda x: F.triplet_margin_loss(x, _C, _C * 0.9 + 0.1, margin=0.2, reduction="sum"),
    "triplet of constant anchors": lambda x: F.triplet_margin_loss(_C, x, -_C),
    "similarity": lambda x: F.cosine_embedding_loss(x, _C, _SIGNS, margin=-0.5),
    "similarity, summed": lambda x: F.cosine_embedding_loss(x, _C, _SIGNS, reduction="sum"),
    "distances": lambda x: F.pairwise_distance(x, _C).sum(),
    "distances beside axes": lambda x: (F.pairwise_distance(x, _C, keepdim=True) * x).sum(),
    "root mean square": lambda x: (F.rms_norm(x, (6,), _C[0], 1e-3) * _C).sum(),
    "written out": lambda x: (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3) * _C).sum(),
    "written out, over the root": lambda x: (x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3) * _C).sum(),
    "largest": lambda x: (x.amax(-1, keepdim=True) * _C).sum() + x.amin(-1).sum(),
    "larger": lambda x: (torch.maximum(x, _C) * torch.minimum(x, x.flip(0))).sum(),
    "lengths": lambda x: (x.norm(dim=-1, keepdim=True) * _C).sum(),
    "logarithms of sums": lambda x: (torch.logsumexp(x * 3, -1, keepdim=True) * _C).sum(),
    "choices": lambda x: (torch.where(x > 0.1, x * x, 0.1 * x) * _C).sum(),
    "choices of numbers": lambda x: (torch.where(x * 2 < 0.3, 1.5, x) * _C).sum(),
    "products of vectors": lambda x: (torch.einsum("bi,bi->b", x, x.flip(1)) * _SIGNS).sum(),
    "conditions as factors": lambda x: (x * (_C > 0) + (_C < 0.5) * x * x).sum(),
    "over whole numbers": lambda x: (x * x / torch.arange(1, 5)[:, None] + torch.arange(6) / (x * x + 1)).sum(),
    "the larger, by its other name": lambda x: (torch.max(x, _C) * torch.min(x.flip(1), x)).sum(),
    "joined to what is equal": lambda x: (
        torch.stack([torch.ones(4, 6, dtype=x.dtype), x, x * x], -1) * _C[0, :3]
    ).sum(),
    "a number over a sum": lambda x: (3 / (x * x + 1) * _C).sum(),
    "probabilities": lambda x: F.binary_cross_entropy(torch.sigmoid(x), _C * _C),
    "logits": lambda x: F.binary_cross_entropy_with_logits(x, _C * _C, reduction="sum"),
    "soft margins": lambda x: F.soft_margin_loss(x, _C.sign()),
}


@pytest.mark.parametrize("baseline", [0.0, 0.4, "rows"])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_found_at_once_has_the_contributions_of_the_law(name: str, baseline: Any) -> None:
    f, x = CALLS[name], torch.randn((4, 6), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    base = torch.linspace(-0.3, 0.8, 6, dtype=torch.float64) if baseline == "rows" else baseline
    found = np.attribute(lambda x: f(x + 0.2), x, baseline=base)
    with np.check_completeness():
        general = np.attribute(lambda x: f(x + 0.2), x, baseline=base)
    forward = np.attribute(lambda x: f(x + 0.2), x, baseline=base, mode="forward")
    torch.testing.assert_close(found.value, f(x + 0.2), rtol=1e-12, atol=0)
    torch.testing.assert_close(found.attribution, general.attribution, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(found.attribution, forward.attribution.reshape(4, 6), rtol=1e-8, atol=1e-9)
    assert abs(float(found.error)) <= 1e-9 * float(found.attribution.abs().sum() + 1)


def test_probabilities_next_to_nothing_and_to_one() -> None:
    """Of single precision the slopes are those of double precision, rounded."""
    p = torch.tensor([[1e-30, 0.5, 1 - 6e-8], [1e-6, 0.3, 0.999999]])
    target = torch.tensor([[0.2, 0.4, 0.9], [1.0, 0.0, 0.5]])
    found = np.attribute(lambda p: F.binary_cross_entropy(p, target), p, baseline=0.5).attribution
    wide = np.attribute(lambda p: F.binary_cross_entropy(p, target.double()), p.double(), baseline=0.5).attribution
    torch.testing.assert_close(found.double(), wide, rtol=1e-6, atol=1e-7)
