"""Decomposed calls in torch.inference_mode go the same ways as outside of it, and give inference tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._law.ordinary import is_observed

CALLS = """
-x; x * 2; x + 1; 2 - x; x * v; x / v; x @ w; x * x; x / (x + 9); x.sum(); x.sum(0); x.mean(-1); x.mT; x[0]; x[:, 1:]
x + x; x.unsqueeze(1); x.reshape(-1); x.view(3, 2); x.clone(); x.detach(); x.mT[1:]; x.mT.reshape(-1); torch.cat([x, x])
torch.stack([x, x]); torch.relu(x); torch.tanh(x); torch.exp(x); F.gelu(x); torch.softmax(x, -1); F.layer_norm(x, (3,))
F.linear(x, w); torch.maximum(x, x * 2); torch.where(x > 1, x, 0.5); x.max(); x.var(); x[0, 1] * 2; x[0, 1] / x[1, 1]
torch.gather(x, 0, at); torch.scatter(x, 0, at, v); x.masked_fill(v > 2, 0.0); x.cumsum(0); x.to(torch.float32)
x.add_(1); x.mul_(v); x[0].copy_(v); x.relu_(); x.squeeze_(); x.T[0].neg_()
"""
TEXTS = [text.strip() for line in CALLS.strip().splitlines() for text in line.split(";")]


def names_of(text: str) -> dict[str, Any]:
    """What a call uses: a decomposed matrix `x`, and plain tensors."""
    value = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(2, 3)
    x = np.decompose(value, baseline=value * 0.5, labels=list("abcdef"))
    plain = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    at, w = torch.tensor([[1, 0, 1]]), torch.arange(9.0, dtype=torch.float64).reshape(3, 3)
    return {"x": x, "v": plain[None] if "scatter" in text else plain, "w": w, "at": at, "torch": torch, "F": F}


def called(text: str, is_inside: bool) -> tuple[Any, Any]:
    """What a call gives, and what it leaves of its argument, of tensors that were made in the mode or outside of it."""
    with torch.inference_mode(is_inside):
        names = names_of(text)
        return eval(text, names), names["x"]


def lines(t: Any) -> Any:
    return [part.tolist() for part in (t.value, t.residual, t.components)]


@pytest.mark.parametrize("text", TEXTS)
def test_as_outside(text: str) -> None:
    for made, expected in zip(called(text, True), called(text, False), strict=True):
        assert made.value.is_inference()
        assert made.labels == expected.labels
        for part, its in zip(lines(made), lines(expected), strict=True):
            torch.testing.assert_close(torch.tensor(part), torch.tensor(its), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("text", TEXTS)
def test_inputs_from_outside(text: str) -> None:
    """The same of what was decomposed before."""
    names = names_of(text)
    with torch.inference_mode():
        made = eval(text, names)
    expected, left = called(text, False)
    for part, its in zip(lines(made) + lines(names["x"]), lines(expected) + lines(left), strict=True):
        torch.testing.assert_close(torch.tensor(part), torch.tensor(its), rtol=1e-12, atol=1e-14)


def test_nobody_looks_on() -> None:
    with torch.inference_mode():
        assert not is_observed()
        with torch.autograd.forward_ad._set_fwd_grad_enabled(True):
            assert not is_observed()
    with torch.autograd.forward_ad._set_fwd_grad_enabled(False):
        assert is_observed()
