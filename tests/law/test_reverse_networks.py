"""Networks in reverse mode: their attributions are those of the law forward, and go over to gradients, as autograd has
them, where the baseline comes close."""

from __future__ import annotations

import warnings

import pytest
import torch

import npdec as np
from reverse_cases import drawn, looked_at
from reverse_networks import NETWORKS


@pytest.fixture(autouse=True)
def doubles() -> object:
    """Weights in double precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.quick
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_give_what_the_law_gives_forward(name: str) -> None:
    """Value, residual, attribution and completeness, from zero and from a baseline of its own."""
    function, shape = NETWORKS[name](6, 5, torch.Generator().manual_seed(3))
    x = drawn(*shape, seed=1)
    looked_at(function, x, 0.3 * drawn(*shape, seed=2))
    looked_at(function, x, 0.1)


@pytest.mark.quick
@pytest.mark.parametrize("name", NETWORKS)
def test_contributions_go_over_to_gradients(name: str) -> None:
    """Of a small step, each input contributes its gradient times its step."""
    function, shape = NETWORKS[name](6, 5, torch.Generator().manual_seed(4))
    x, step = drawn(*shape, seed=5), 1e-6 * drawn(*shape, seed=6)
    leaf = (x - step / 2).requires_grad_()
    (wanted,) = torch.autograd.grad(function(leaf), leaf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.DecompositionWarning)
        found = np.attribute(function, x, baseline=x - step)
    assert torch.equal(found.value, function(x))
    assert float((found.attribution - wanted * step).abs().max()) <= 1e-4 * float((wanted * step).abs().max())
