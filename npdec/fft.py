"""Discrete Fourier transforms: `np.fft`. The functions are the kernels of `npdec._impl.fft_impl`."""

from npdec._impl import fft_impl as _fft
from npdec._normalizer import publish as _publish

_functions = _publish("npdec.fft", _fft)
globals().update(_functions)

__all__ = [*_functions]
