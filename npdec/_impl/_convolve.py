"""Correlation of sequences by matrix products.

torch.conv1d computes float64 and integers by way of a matrix that is as many times larger than the sequence as the
kernel is long, so it is not used: the sequence is cut into blocks, each of which is a row that a Toeplitz matrix of the
kernel maps to a block of the result.
"""

from __future__ import annotations

import functools
import math
import operator

import torch
import torch.nn.functional as F

from npdec._impl import _util

_BLOCK = 256
_FEW = 32  # elements that Python adds sooner
_SMALL = 2**16
_PRODUCTS = 2**22


def correlate(a: torch.Tensor, v: torch.Tensor, mode: str | int) -> torch.Tensor:
    """sum over n of a[n + k] * v[n] for each shift k that the mode asks for; `v` is not longer than `a`."""
    if hasattr(mode, "__index__") and not isinstance(mode, bool):
        number = operator.index(mode)
        if not 0 <= number < 3:
            raise ValueError("integer convolve/correlate mode must be 0, 1, or 2")
        mode = ("valid", "same", "full")[number]
    if not isinstance(mode, str):
        raise TypeError("convolve/correlate mode not understood")
    if mode not in ("full", "same", "valid"):
        raise ValueError("Use one of 'valid', 'same', or 'full' for convolve/correlate mode")
    dtype, n = a.dtype, len(v)
    exact = not (dtype.is_floating_point or dtype.is_complex)
    if exact:
        a, v = _util.to_int64(a), _util.to_int64(v)
    if mode != "valid":
        before = n - 1 if mode == "full" else n // 2
        after = n - 1 if mode == "full" else n - 1 - before
        if not exact and not _are_finite(v):
            # The zeros that the sequence is continued with would make nan of infinities.
            return _by_shifts(a, v)[n - 1 - before : len(a) + after]
        a = F.pad(a, (before, after))
    if exact:
        return _util.from_int64(_by_products(a, v), dtype)
    length = len(a) - n + 1
    if length * n <= _SMALL:
        return torch.mv(a.unfold(0, n, 1), v)
    terms = []
    for start in range(0, n, _BLOCK):
        part = v[start : start + _BLOCK]
        terms.append(_by_blocks(a[start : start + length + len(part) - 1], part))
    return functools.reduce(torch.add, terms)


def _are_finite(v: torch.Tensor) -> bool:
    if v.dtype is torch.float64 and len(v) <= _FEW and _util.are_numbers(v) and math.isfinite(sum(v.tolist())):
        return True
    return _util.is_known_true(torch.all(torch.isfinite(v)))


def _by_shifts(a: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """All overlaps, as the sum of the products of `a` with each element of `v`, each shifted to its place."""
    n, length = len(v), len(a)
    total = torch.zeros(length + n - 1, dtype=a.dtype, device=a.device)
    for start in range(0, n, _BLOCK):
        part = torch.flip(v[start : start + _BLOCK], (0,))
        rows = F.pad(part.unsqueeze(1) * a, (0, len(part)))  # read with one column less, each row moves on by one
        shifted = rows.reshape(-1)[: -len(part)].reshape(len(part), length + len(part) - 1)
        before = n - start - len(part)
        total = total + F.pad(torch.sum(shifted, 0), (before, start))
    return total


def _by_blocks(a: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    n = len(v)
    length = len(a) - n + 1
    blocks = -(-length // _BLOCK)
    a = F.pad(a, (0, blocks * _BLOCK - length))
    rows = a.unfold(0, _BLOCK + n - 1, _BLOCK)
    place = torch.arange(_BLOCK + n - 1, device=a.device).unsqueeze(1) - torch.arange(_BLOCK, device=a.device)
    toeplitz = F.pad(v, (_BLOCK - 1, _BLOCK - 1))[place + _BLOCK - 1]
    return torch.matmul(rows, toeplitz).reshape(-1)[:length]


def _by_products(a: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """For integers, of which CUDA has no matrix product."""
    n = len(v)
    length = len(a) - n + 1
    step = max(1, _PRODUCTS // length)
    total = torch.zeros(length, dtype=a.dtype, device=a.device)
    for start in range(0, n, step):
        part = v[start : start + step]
        total = total + torch.sum(a[start : start + length + len(part) - 1].unfold(0, len(part), 1) * part, -1)
    return total
