"""Discrete Fourier transforms: `np.fft`. The functions are the kernels of `npdec._impl.fft_*`."""

from typing import Any as _Any

from npdec._impl import fft_frequencies_impl as _frequencies
from npdec._impl import fft_impl as _fft
from npdec._normalizer.published import Published as _Published

_functions = _Published("npdec.fft", _fft, _frequencies)


def __getattr__(name: str) -> _Any:
    return _functions.resolve(name, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *_functions})


__all__ = [*_functions]
