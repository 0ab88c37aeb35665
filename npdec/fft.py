"""Discrete Fourier transforms: `np.fft`. The functions are the kernels of `npdec._impl.fft_impl`."""

from __future__ import annotations

from npdec._impl import fft_impl
from npdec._normalizer import publish

_functions = publish("npdec.fft", fft_impl)
globals().update(_functions)

__all__ = [*_functions]
