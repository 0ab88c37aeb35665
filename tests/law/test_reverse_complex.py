"""Forms of calls in reverse mode of complex numbers, beside the law forward, and beside the general way, which looks at
each call's completeness; and how contributions are added up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import npdec as np
from reverse_cases import drawn, from_everywhere

pytestmark = pytest.mark.quick


X = drawn(3, 4, 6, seed=7)
X[0, 1] = 0.0  # where nothing moves from a baseline of zeros
FACTORS = torch.complex(drawn(4, seed=1), drawn(4, seed=2))
MATRIX = torch.complex(drawn(4, 5, seed=3), drawn(4, 5, seed=4))


def _spectrum(x: Any) -> Any:
    return torch.fft.rfft(x)


def _power(z: Any) -> Any:
    return z.real**2 + z.imag**2


def _correlated(z: Any) -> Any:
    return torch.fft.irfft(z * z.conj(), n=6)


def _product_in_place(x: Any) -> Any:
    z = _spectrum(x)
    z *= FACTORS
    return z.real


def _part_written(x: Any) -> Any:
    z = torch.fft.fft(x)
    part = z.real
    part[0] = 2.0
    return z.abs()


WAYS: dict[str, Callable[[Any], Any]] = {
    "fft": lambda x: torch.fft.fft(x).real,
    "fft along an axis": lambda x: torch.fft.fft(x, dim=1).imag,
    "fft of two axes, one by one": lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real,
    "fft2": lambda x: torch.fft.fft2(x).real,
    "fft2 of named axes": lambda x: torch.fft.fft2(x, dim=(0, 2)).real,
    "fftn": lambda x: torch.fft.fftn(x).imag,
    "fftn of sizes": lambda x: torch.fft.fftn(x, (3, 5)).imag,
    "fftn of axes": lambda x: torch.fft.fftn(x, dim=(1, 2)).real,
    "rfft and irfft": lambda x: torch.fft.irfft(_spectrum(x) * FACTORS, n=6),
    "irfft along an axis": lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=1) * FACTORS[:3, None], n=4, dim=1),
    "rfft2 and irfft2": lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * FACTORS, s=(4, 6)),
    "hfft and ihfft": lambda x: torch.fft.hfft(torch.fft.ihfft(x)),
    "fftshift": lambda x: torch.fft.fftshift(torch.fft.fft(x)).real,
    "fftshift of an axis": lambda x: torch.fft.ifftshift(torch.fft.fft(x), dim=1).abs(),
    "magnitudes": lambda x: _spectrum(x).abs(),
    "magnitudes of moved numbers": lambda x: (_spectrum(x) + FACTORS).abs(),
    "magnitudes of conjugates": lambda x: (_spectrum(x) - (0.5 + 1j)).conj().abs(),
    "squares of magnitudes": lambda x: _spectrum(x).abs() ** 2,
    "powers": lambda x: _power(_spectrum(x)),
    "spectrum by its conjugate": lambda x: _correlated(_spectrum(x)),
    "product of two": lambda x: (_spectrum(x) * (_spectrum(x.cos()) + 1)).real,
    "product with real numbers": lambda x: (_spectrum(x) * x[..., :4]).imag,
    "product with a number": lambda x: (2.5 * _spectrum(x) * 1j).real,
    "real numbers and a complex one": lambda x: (x * (1 - 2j)).abs(),
    "sum with real numbers": lambda x: (_spectrum(x) + x[..., :4]).abs(),
    "difference of two": lambda x: (_spectrum(x) - _spectrum(x.flip(0))).imag,
    "view_as_real": lambda x: torch.view_as_real(_spectrum(x)),
    "matmul": lambda x: (_spectrum(x) @ MATRIX).real,
    "einsum": lambda x: torch.einsum("abc,cd->abd", _spectrum(x), MATRIX).imag,
    "a product in place": _product_in_place,
    "a part that is written": _part_written,
    "transforms of arrays": lambda x: abs(np.fft.rfft2(np.asarray(x))),
}


@pytest.mark.parametrize("name", WAYS)
def test_functions_of_complex_numbers(name: str):
    start = drawn(3, 4, 6, seed=11)
    start[2] = X[2]  # ends that are equal
    from_everywhere(WAYS[name], X, start, list(WAYS).index(name))


def test_single_precision_and_long_paths():
    """Paths that pass the origin closely, keep away from it, or do not move, of lengths of all orders."""
    z = torch.complex(drawn(40, 1), drawn(40, 1, seed=3)) * torch.logspace(-6, 6, 40, dtype=torch.float64)[:, None]
    z[3], z[5] = 0, -z[4]
    start = torch.view_as_real(torch.roll(z, 1, 0) * (1 + 1e-3j))
    x = torch.view_as_real(z)
    for dtype, digits in ((torch.float64, 1e-9), (torch.float32, 1e-4)):
        ends = [t.to(dtype).contiguous() for t in (x, start)]

        def length(u: Any) -> Any:
            return torch.view_as_complex(u).abs().sum()

        found = np.attribute(length, ends[0], baseline=ends[1])
        wanted = np.attribute(lambda u: torch.linalg.vector_norm(u, dim=-1).sum(), ends[0], baseline=ends[1])
        size = float(wanted.attribution.abs().max())
        assert float((found.attribution - wanted.attribution).abs().max()) <= digits * size


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (70, 99)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("baseline", [0.0, 0.25])
def test_contributions_are_gradients_by_changes(shape: tuple[int, ...], dtype: torch.dtype, baseline: float):
    """Of functions whose gradients are broadcast, or have memory of their own."""
    x = torch.as_tensor(drawn(*shape)).to(dtype)
    weight = torch.as_tensor(drawn(*shape, seed=5)).to(dtype)
    kept = weight.clone()
    for f, slope in (
        (lambda u: u.sum(), torch.ones_like(x)),
        (lambda u: (u * weight).sum(), weight),
        (lambda u: u.reshape(-1) @ weight.reshape(-1), weight),
    ):
        found = np.attribute(f, x, baseline=baseline)
        assert torch.equal(found.attribution, slope * (x - baseline))
        assert torch.equal(weight, kept)
        assert torch.equal(x, torch.as_tensor(drawn(*shape)).to(dtype))
    if x.ndim == 2:
        found = np.attribute(lambda u: (u * weight).sum(), x.t().contiguous().t(), baseline=baseline)
        assert torch.equal(found.attribution, weight * (x - baseline))
