"""torch's functions of a tensor without axes, of which most take dim=0 or dim=-1 all the same."""

from __future__ import annotations

import pytest
import torch

import npdec as np

CALLS = """
    t.flip(0); t.flip(-1); torch.flip(t, (0,)); torch.flip(t, dims=[0]); torch.roll(t, 1)
    torch.cumsum(t, 0); torch.cumprod(t, 0); torch.logcumsumexp(t, 0); torch.cummax(t, 0)[0]; torch.cummin(t, 0)[0]
    torch.sum(t, 0); torch.mean(t, -1); torch.prod(t, 0); torch.amax(t, 0); torch.max(t, 0)[0]
    torch.nansum(t, 0); torch.nanmean(t, 0); torch.logsumexp(t, 0); torch.norm(t, dim=0); torch.softmax(t, 0)
    torch.log_softmax(t, -1); torch.nn.functional.softmin(t, 0); torch.nn.functional.normalize(t, dim=0)
    torch.sort(t, 0)[0]; torch.msort(t); torch.median(t, 0)[0]; torch.nanmedian(t, 0)[0]; torch.topk(t, 1, 0)[0]
    torch.kthvalue(t, 1, 0)[0]; torch.mode(t, 0)[0]; torch.quantile(t, 0.5, 0); torch.aminmax(t, dim=0)[0]
    torch.squeeze(t, 0); torch.unsqueeze(t, -1); torch.transpose(t, 0, 0); torch.movedim(t, 0, 0); torch.permute(t, ())
    t.flatten(); t.reshape(1, 1); t.view(1); t.expand(3); t.repeat(3); torch.tile(t, (2,)); torch.atleast_2d(t)
    torch.repeat_interleave(t, 2); torch.index_select(t, 0, torch.tensor([0])); torch.gather(t, 0, torch.tensor(0))
    torch.take(t, torch.tensor(0)); torch.index_fill(t, 0, torch.tensor([0]), 2.0); torch.stack([t, t])
    torch.masked_select(t, t.value > 0)
    torch.scatter_add(t, 0, torch.tensor(0), torch.tensor(3.0, dtype=t.dtype))
"""
CALLS = [text.strip() for text in CALLS.replace("\n", ";").split(";") if text.strip()]


def several(x):
    """A number of three contributions, which are neither zero nor those of elements."""
    return torch.logsumexp(np.decompose(x, baseline=1.0), 0)


@pytest.mark.parametrize("make", [several, lambda x: np.decompose(x, baseline=1.0).sum()], ids=["dense", "sum"])
@pytest.mark.parametrize("text", CALLS)
def test_calls(text, make):
    t = make(torch.tensor([1.0, 0.5, 0.25], dtype=torch.float64))
    call = eval(f"lambda t: {text}", {"torch": torch})
    plain = eval(f"lambda t: {text.replace('t.value', 't')}", {"torch": torch})
    got = call(t)
    assert torch.equal(got.value, plain(t.value))
    assert torch.equal(got.residual, plain(t.residual)) or "softm" in text
    assert got.components.shape == (3, *got.shape)
    torch.testing.assert_close(got.value, got.residual + got.components.sum(0))
