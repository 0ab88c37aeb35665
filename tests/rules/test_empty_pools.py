"""Pools without windows, and of nothing, are what torch makes of them, at the baseline too."""

import itertools

import pytest
import torch
import torch.nn.functional as F

import npdec as np


@pytest.mark.parametrize("name", ["max_pool", "adaptive_max_pool", "adaptive_avg_pool", "avg_pool"])
def test_pools_of_any_size(name):
    seen = 0
    for n, batch in itertools.product((1, 2, 3), (0, 2)):
        x, r = torch.randn(2, batch, 2, *[3] * n, dtype=torch.float64)
        for size, indices in itertools.product(itertools.product((0, 1, 2), repeat=n), (False, True)):
            options = {"return_indices": True} if indices else {}
            try:
                want, base = (getattr(F, f"{name}{n}d")(t, size, **options) for t in (x, r))
            except (RuntimeError, TypeError):  # a window of no size; indices of means
                continue
            made = getattr(F, f"{name}{n}d")(np.decompose(x, baseline=r), size, **options)
            want, base, made = (found[0] if indices else found for found in (want, base, made))
            assert torch.equal(made.value, want)
            torch.testing.assert_close(made.residual, base)
            torch.testing.assert_close(made.c_sum(), want)
            seen += not want.numel()
    assert seen > 2
