"""Transforms of plain and of decomposed arrays: the same bits, whatever the library does with another layout."""

from __future__ import annotations

import pytest
import torch

import npdec as np

NAMES = "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()
REAL = ("rfft", "ihfft")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(2, 4), (4, 4), (3, 5), (8, 7)], ids=str)
def test_values_are_the_plain_runs(name, shape):
    """The direct way of plain arrays goes through the same steps, in the same layouts, as the kernel."""
    for dtype in (torch.float64, torch.float32) if name.startswith(REAL) else (torch.float64, torch.complex128):
        x = torch.randn(shape, dtype=dtype)
        for laid in (x, x.T.contiguous().T):
            call = getattr(np.fft, name)
            plain, decomposed = call(np.asarray(laid)), call(np.decompose(np.asarray(laid), baseline=0.0))
            assert torch.equal(plain.tensor, decomposed.value.tensor)
