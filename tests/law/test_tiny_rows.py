"""Norms and normalisations of rows whose squares are nothing."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import npdec as np

FUNCTIONS = {
    "rms_norm": lambda t: F.rms_norm(t, t.shape[-1:]),
    "layer_norm": lambda t: F.layer_norm(t, t.shape[-1:]),
    "group_norm": lambda t: F.group_norm(t[None], 1)[0],
    "normalize": lambda t: F.normalize(t, dim=-1),
    "vector_norm": lambda t: torch.linalg.vector_norm(t, dim=-1),
    "std": lambda t: t.std(-1),
    "var": lambda t: t.var(-1),
}
SIZES = {torch.float64: [5e-324, 1e-310, 1e-200, 1e-170], torch.float32: [1e-45, 1e-40, 1e-30, 1e-25]}


@pytest.mark.filterwarnings("ignore::npdec.DecompositionWarning")
@pytest.mark.parametrize("dtype", SIZES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_contributions_are_finite_and_add_up(name, dtype):
    for size in SIZES[dtype]:
        x = torch.tensor([[1.0, 2.0, 3.0, 5.0], [1.0, 1.0, 1.0, 1.0]], dtype=dtype) * size
        for baseline in (torch.zeros_like(x), x.clone(), x.flip(1) * 3):
            step = x - baseline
            components = torch.stack([step / 2, step - step / 2])
            made = FUNCTIONS[name](np.DecomposedTensor(x, baseline, components, ("a", "b")))
            assert bool(torch.isfinite(made.components).all()), (size, made)
            missing = (made.value - made.residual - made.components.sum(0)).abs()
            few = 1e-9 if dtype is torch.float64 else 1e-4
            # What torch's own squares lose is no larger than the numbers are, and 316 = 1e-5 ** -0.5 of the least.
            lost = max(64 * size, 2048 * SIZES[dtype][0])
            assert bool((missing <= few * (made.value.abs() + made.residual.abs()) + lost).all()), (size, made)
