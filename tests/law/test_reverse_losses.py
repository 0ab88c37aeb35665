"""Losses, layer_norm, and maxima with their places in reverse mode: attributions are those of the law forward, and of
the general way; residuals are those at the baseline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from reverse_cases import drawn, from_everywhere, looked_at

TARGET, SHARES = drawn(5, 6, seed=4), torch.sigmoid(drawn(5, 6, seed=5))
CLASSES, SIGNS = torch.tensor([0, 5, 2, 2, 1]), drawn(5, 6, seed=6).sign()
SCALE, BIAS = drawn(6, seed=7), drawn(6, seed=8)
CASES: dict[str, Callable[[Any], Any]] = {
    "mse_loss": lambda x: F.mse_loss(x, TARGET),
    "mse_loss of all": lambda x: F.mse_loss(x, TARGET, reduction="sum"),
    "mse_loss of each": lambda x: F.mse_loss(x, TARGET, reduction="none"),
    "l1_loss": lambda x: F.l1_loss(3 * x, TARGET),
    "huber_loss": lambda x: F.huber_loss(3 * x, TARGET, delta=0.4),
    "huber_loss of each": lambda x: F.huber_loss(x, TARGET, reduction="none"),
    "huber_loss of small steps": lambda x: F.huber_loss(1e-7 * x + TARGET + 0.4, TARGET, delta=0.4, reduction="sum"),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(2 * x, TARGET, beta=0.3),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(torch.sigmoid(x), SHARES),
    "binary_cross_entropy of many": lambda x: F.binary_cross_entropy(
        x.sigmoid().repeat(90, 1), SHARES.repeat(90, 1), reduction="sum"
    ),
    "with logits": lambda x: F.binary_cross_entropy_with_logits(x, SHARES, reduction="sum"),
    "with logits of each": lambda x: F.binary_cross_entropy_with_logits(x, SHARES, reduction="none"),
    "soft_margin_loss": lambda x: F.soft_margin_loss(x, SIGNS),
    "poisson_nll_loss": lambda x: F.poisson_nll_loss(x, TARGET.exp(), full=True),
    "nll_loss": lambda x: F.nll_loss(F.log_softmax(x, -1), CLASSES),
    "nll_loss with weights": lambda x: F.nll_loss(x, CLASSES, weight=SCALE.abs()),
    "kl_div": lambda x: F.kl_div(F.log_softmax(x, -1), SHARES, reduction="batchmean"),
    "cross_entropy": lambda x: F.cross_entropy(2 * x, CLASSES),
    "cross_entropy of all": lambda x: F.cross_entropy(x, CLASSES, reduction="sum"),
    "cross_entropy of each": lambda x: F.cross_entropy(x, CLASSES, reduction="none"),
    "cross_entropy of ignored ones": lambda x: F.cross_entropy(x, CLASSES, ignore_index=2),
    "multi_margin_loss": lambda x: F.multi_margin_loss(2 * x, CLASSES),
    "multi_margin_loss of all": lambda x: F.multi_margin_loss(x, CLASSES, margin=0.3, reduction="sum"),
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "layer_norm with weights": lambda x: F.layer_norm(x, (6,), SCALE, BIAS, 1e-2),
    "layer_norm by names": lambda x: F.layer_norm(x, [6], bias=BIAS, eps=1e-2),
    "layer_norm of all": lambda x: F.layer_norm(x, x.shape, TARGET),
    "layer_norm of a batch": lambda x: F.layer_norm(x[:, None] * SCALE[:, None], (6,), weight=SCALE),
    "max with places": lambda x: x.max(1).values,
    "min with places of columns": lambda x: torch.min(x, 0, keepdim=True)[0],
    "normalize": lambda x: F.normalize(x + 0.3, dim=-1),
    "cosine_similarity": lambda x: F.cosine_similarity(x + 0.3, TARGET, dim=-1),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", CASES)
def test_losses_and_rows(name: str) -> None:
    """From zeros, from equal rows and from others, across the kinks and beside them."""
    digits = 1e-7 if name == "huber_loss of small steps" else 1e-9
    from_everywhere(CASES[name], drawn(5, 6), drawn(5, 6, seed=3), list(CASES).index(name), digits)


@pytest.mark.quick
@pytest.mark.parametrize("kind", ["square", "magnitude", "huber", "smooth"])
def test_elements_that_do_not_move(kind: str) -> None:
    """A slope at a place is the derivative there: that of zero at a kink, which contributes nothing."""
    loss: Callable[..., Any] = {
        "square": F.mse_loss, "magnitude": F.l1_loss, "huber": F.huber_loss, "smooth": F.smooth_l1_loss
    }[kind]  # fmt: skip
    start = torch.tensor([[0.5, -2.0, 1.0, 0.0]], dtype=torch.float64)
    target = torch.tensor([[0.0, 0.0, 1.0, -1.0]], dtype=torch.float64)
    looked_at(lambda x: loss(x * torch.ones(3, 1, dtype=x.dtype), target.expand(3, 4).clone()), start, start)


@pytest.mark.quick
def test_what_a_layer_has_kept_is_written_over() -> None:
    """A weight may be written to before gradients go back; so may what is normalised."""
    weight = SCALE.clone()

    def f(x: Any) -> Any:
        weight.copy_(SCALE)
        made = F.layer_norm(x * 1, (6,), weight)
        weight.zero_()
        return made

    looked_at(f, drawn(5, 6), 0.0)


@pytest.mark.quick
def test_parameters_keep_their_graph_to_themselves() -> None:
    """Gradients of a layer's weights are nobody's business here: they stay as they were."""
    layer = torch.nn.LayerNorm(6, dtype=torch.float64)
    x = drawn(5, 6)
    found = np.attribute(lambda u: (layer(u) * TARGET).sum(), x)
    assert layer.weight.grad is None
    assert not found.attribution.requires_grad
    assert not found.value.requires_grad
    torch.testing.assert_close(found.attribution.sum(), found.value - found.residual)


@pytest.mark.quick
@pytest.mark.parametrize("loss", [F.mse_loss, F.huber_loss, F.l1_loss])
def test_infinite_numbers_are_what_they_were(loss: Callable[..., Any]) -> None:
    """What is infinite is left to the general way, which says the same as forward."""
    x = torch.tensor([[1.0, torch.inf], [2.0, 3.0]], dtype=torch.float64)
    program = lambda u: loss(u * 1, torch.zeros(2, 2, dtype=torch.float64))  # noqa: E731
    assert torch.equal(np.attribute(program, x).value, program(x))


@pytest.mark.quick
def test_places_of_another_baseline_are_said() -> None:
    """Who reads the places of a maximum is warned where the baseline has others, and nobody else."""
    x = torch.tensor([[1.0, 3.0, 2.0], [4.0, 0.0, 1.0]], dtype=torch.float64)
    np.attribute(lambda u: u.max(1).values.sum(), x)
    with pytest.warns(np.exceptions.DecompositionWarning, match="frozen"):
        np.attribute(lambda u: (u.sum(0)[u.max(1).indices]).sum(), x)


@pytest.mark.quick
@pytest.mark.parametrize("loss", [F.binary_cross_entropy, F.mse_loss, F.soft_margin_loss, F.huber_loss])
def test_a_loss_of_one_number(loss: Callable[..., Any]) -> None:
    """A number without axes has no rows."""
    target = torch.tensor(1.0, dtype=torch.float64)
    looked_at(lambda x: loss(torch.sigmoid(x), target), torch.tensor(0.7, dtype=torch.float64), 0.0)
