"""The warning of contributions that left the graph of reverse mode: where they did, and nowhere else."""

from __future__ import annotations

import pickle
import warnings

import pytest
import torch
import torch.nn.functional as F

import npdec as np

X = torch.tensor([1.0, 2.0, -0.5, 3.0])
MANY = torch.randn(500, generator=torch.Generator().manual_seed(0))


def copied(a):
    return (pickle.loads(pickle.dumps(a)) ** 2).sum() + a.sum()


QUIET = {
    "a difference of equals": (lambda a: (a**2).sum() - (a**2).sum(), X),
    "rounding alone": (lambda a: F.layer_norm(a, (500,)).sum(), MANY),
    "rounding of bfloat16": (lambda a: F.layer_norm(a, (500,)).sum(), MANY.bfloat16()),
    "large numbers that cancel": (lambda a: (a + 1e4).sum() - 5e6, MANY),
    "the same in half precision": (lambda a: (a + 100).sum() - 50000, MANY.half()),
    "sines and cosines": (lambda a: (a.sin() ** 2 + a.cos() ** 2).sum(), MANY),
    "beside a large constant": (lambda a: 1e6 + (a * 1e-6).sum(), X),
    "booleans": (lambda a: (a > -1).all() & (a.sum() > 1), X),
    "counts": (lambda a: (a > 0).sum(), X),
    "bytes": (lambda a: (a > 0).to(torch.uint8).sum(dtype=torch.uint8), X),
    "noise": (lambda a: (a * torch.randn(4)).sum() + torch.randn(()), X),
    "dropout": (lambda a: F.dropout(a, 0.5).exp().sum(), X),
    "straight through": (lambda a: (a + (a.round() - a).detach()).sum(), X),
    "nothing": (lambda a: a.sum() * 0 + 3, X),
    "denormal numbers": (lambda a: a.sum() * 1e-42, X),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_small_by_right_is_no_loss(name):
    f, x = QUIET[name]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = np.attribute(f, x)
    if name == "booleans":
        assert (bool(found.value), bool(found.residual)) == (True, False)
        torch.testing.assert_close(found.attribution.sum(), torch.tensor(1.0))


@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_what_is_lost_is_warned_of(dtype, scale):
    with pytest.warns(np.exceptions.DecompositionWarning, match=r"miss more than a hundredth .* mode='forward'"):
        np.attribute(lambda a: copied(a) * scale, X.to(dtype))
