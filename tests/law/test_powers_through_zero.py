"""Powers whose base meets zero on the path from the baseline, of all dtypes beside each other: contributions are the
integrals of the derivatives, which have a singularity there, and complete."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from npdec._law.complex_laws import Numbers, power

pytestmark = pytest.mark.quick
DTYPES = "bool int8 int64 float16 float32 float64 complex64 complex128".split()
# The base at the baseline and at the value, and the exponent.
ENDS: list[tuple[complex, complex, complex, complex]] = [
    (0, 1, 0.1, 1.5), (1, 0, 0.3, 0.6), (0, 100, 0.1, 5), (0, 1, 0.01, 40), (0, 1e9, 0.01, 0.02), (0, 2, 5, 7),
    (0, 1, 0, 1), (1, 0, 1, 0), (0.1, -0.4, 0.1, 1.5), (0.1 + 0.1j, -0.4 - 0.4j, 0.5, 2 + 1j), (1e-8, -1, 0.5, 0.7),
    (0, 30 + 20j, 0.3 + 2j, 9 - 4j), (2, -3, 1, 0), (2, -3, 0, 1), (-2, -3, 2, 3), (1, 2j, 1j, 2),
]  # fmt: skip


def decomposed(after: Any, before: Any, dtype: str, label: str) -> Any:
    return np.decompose(np.asarray([after], dtype=dtype), baseline=np.asarray(before, dtype=dtype), labels=[label])


def integrals(r: Any, x: Any, s: Any, y: Any) -> tuple[complex, complex]:
    """The contributions of base and exponent, by the distance exp(-w) from where the base is zero."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(30):
        r, x, s, y = map(mpmath.mpmathify, (r, x, s, y))
        moved, other = x - r, y - s
        zero = -r / moved
        sums = [mpmath.mpf(0)] * 2
        if abs(mpmath.im(zero)) > 1e-20 or not 0 <= mpmath.re(zero) <= 1:
            pieces = [(None, mpmath.mpf(0), mpmath.mpf(1), mpmath.mpf(1))]
        else:
            zero = mpmath.re(zero)
            pieces = [(r + moved * far, zero, far, sign) for far, sign in ((1, 1), (0, -1)) if far != zero]
        for end, near, far, sign in pieces:
            for k in range(2):

                def rate(w: Any, k: int = k, end: Any = end, near: Any = near, far: Any = far) -> Any:
                    ratio = mpmath.exp(-w)
                    t = near + (far - near) * ratio
                    log = mpmath.log(r + moved * t) if end is None else mpmath.log(end) - w
                    v = s + other * t
                    whole = mpmath.exp(v * log) * (far - near) * ratio
                    return whole * (log if k else v / mpmath.exp(log))

                parts = [0, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096]
                sums[k] += sign * mpmath.quad(rate, parts)
        return complex(sums[0] * moved), complex(sums[1] * other)


@pytest.mark.parametrize("ends", ENDS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
def test_contributions_are_the_integrals(ends: tuple[complex, complex, complex, complex], dtype: str) -> None:
    """Those of the base and of the exponent, in the general way and at once."""
    if "float" in dtype and (any(isinstance(end, complex) for end in ends) or numpy.isnan(_ends(ends)).any()):
        return
    r, x, s, y = (complex(numpy.asarray(end, dtype=dtype)) for end in ends)
    wanted = integrals(r, x, s, y)
    base, exponent = decomposed(ends[1], ends[0], dtype, "base"), decomposed(ends[3], ends[2], dtype, "exponent")
    many = np.concatenate([base, np.full(40, 2.0, dtype=dtype)]), np.concatenate([exponent, np.ones(40, dtype=dtype)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.check_completeness():
            general = np.power(base, exponent)
        made = [general, np.power(base, exponent), np.power(base[0], exponent[0]), np.power(*many)[:1]]
    for found in made:
        parts = [complex(c) for c in numpy.asarray(found.components).reshape(-1)]
        gross = max(map(abs, wanted))
        most = 1e-4 if dtype == "float32" else 2e-13
        for part, its in zip(parts, wanted, strict=True):
            assert abs(part - (its if "complex" in dtype else its.real)) <= most * gross


def _ends(ends: Any) -> Any:
    with numpy.errstate(all="ignore"):
        return numpy.power(numpy.asarray([ends[0], ends[1]], dtype=float), [ends[2], ends[3]])


@pytest.mark.parametrize(("first", "second"), itertools.product(DTYPES, DTYPES))
def test_dtypes_beside_each_other(first: str, second: str) -> None:
    """Each is complete, whichever of the two moves from zero, or through it."""
    x = np.decompose(np.asarray([1.5, -0.4, 2.2]), baseline=np.asarray([0.1, 0.1, 2.5]))
    numbers = {dtype: x.astype(dtype) if "float" in dtype or "complex" in dtype else x > 0.5 for dtype in DTYPES}
    for dtype in ("int8", "int64"):
        numbers[dtype] = numbers["bool"].astype(dtype) + (x > 0).astype(dtype)
    a, b = numbers[first], numbers[second]
    for i, j in itertools.product(range(3), range(3)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ends = [np.power(getattr(a[i], end), getattr(b[j], end)) for end in ("value", "residual")]
            if not all(np.isfinite(end) for end in ends):
                continue
            warnings.simplefilter("error", np.exceptions.DecompositionWarning)
            made = np.power(a[i], b[j])
            with np.check_completeness(rtol=1e-2 if "float16" in (first, second) else 1e-5):
                wanted = np.power(a[i], b[j])
        close = 1e-2 if "float16" in (first, second) else 2e-5 if {"float32", "complex64"} & {first, second} else 1e-11
        assert numpy.allclose(numpy.asarray(made.components), numpy.asarray(wanted.components), close, close)


def test_exponents_of_zero_jump() -> None:
    """A base that stays zero is one to the power of zero, and zero else: its exponent has the change."""
    base, exponent = decomposed(0.0, 0.0, "float64", "base"), decomposed(1.0, 0.0, "float64", "exponent")
    with np.check_completeness():
        made = np.power(base, exponent)
    assert made.components.tolist() == [[0.0], [-1.0]]


def test_paths_that_come_close_are_left() -> None:
    """The law of a few leaves a base that passes beside zero, and exponents of which the series does not converge."""
    one = [1 + 0j]
    for r, x, s, y in ((1e-3j, 1, 0.5, 2), (-1 + 1e-9j, 1 + 1e-9j, 0.5, 2), (0, 1, 0.5, 40), (0, 1, -0.5, 1)):
        a, b = Numbers([complex(x)], [complex(r)], one), Numbers([complex(y)], [complex(s)], one)
        ends = torch.tensor([x], dtype=torch.complex128) ** y, torch.tensor([0j], dtype=torch.complex128)
        found = power((a, b), ends, torch.complex128)
        assert found is None or r == 1e-3j
