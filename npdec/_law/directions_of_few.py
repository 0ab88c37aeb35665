"""The direction of one complex number, z / |z|, on the host: its mean derivative along a straight path in closed form,
as `npdec._law.complex_directions` has it of all others."""

from __future__ import annotations

import cmath
import math
from typing import Any

import torch

from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.complex_laws import REAL_OF
from npdec._law.complex_of_few import are_few
from npdec._law.ordinary import built

__all__ = ["direction_of_number"]

_ROUNDINGS = 16  # of the larger end of a path, by which one through zero may miss it
_CLEAR = 0.02  # of the larger end, from which on the distance of a path from zero, and its length, have all digits
_FAR = 1e100


def direction_of_number(x: Any) -> DecomposedTensor | None:
    """The direction of a decomposed number; None where the path passes zero closely, or hardly moves."""
    if type(x) is not DecomposedTensor or x.value.ndim or x.value.dtype not in REAL_OF or not are_few(x):
        return None
    dtype = x.value.dtype
    after, before, components = x.value.item(), x.residual.item(), x.components.tolist()
    most = max(abs(after), abs(before))
    if not 1 / _FAR < most < _FAR or not all(map(cmath.isfinite, components)):
        return None
    value, residual = _direction(after, dtype), _direction(before, dtype)
    means = _means(after, before, value, residual, _ROUNDINGS * torch.finfo(dtype).eps * most)
    if means is None:
        return None
    turned, mirrored = means
    parts = [turned * c + mirrored * c.conjugate() for c in components]
    end, start = (torch.scalar_tensor(number, dtype=dtype, device="cpu") for number in (value, residual))
    made: DecomposedTensor = built(end, start, torch.tensor(parts, dtype=dtype, device="cpu"), x.labels)
    return made


def _direction(z: complex, dtype: torch.dtype) -> complex:
    """z / |z|, by the steps of the kernel: scaled without rounding, over the length that torch finds."""
    if not z:
        return 0j
    power = 2.0 ** (math.frexp(max(abs(z.real), abs(z.imag)))[1] - 1)
    across, up = z.real / power, z.imag / power
    kind = REAL_OF[dtype]
    length = torch.hypot(*[torch.scalar_tensor(part, dtype=kind, device="cpu") for part in (across, up)]).item()
    return complex(across / length, up / length)


def _means(x: complex, r: complex, after: complex, before: complex, near: float) -> tuple[complex, complex] | None:
    """What a component is multiplied with, and its conjugate. Of a path through zero what moves along it has the jump;
    beside that, what moves across a vector turns it."""
    step, most = x - r, max(abs(x), abs(r))
    length = abs(step)
    if not length > _CLEAR * most:
        return None
    ahead = step / length
    start, end = ((z * ahead.conjugate()).real for z in (r, x))  # places on the line, from its foot
    distance = (r * ahead.conjugate()).imag
    nearest = abs(r) if start >= 0 else abs(x) if end <= 0 else abs(distance)
    if nearest <= near:
        share = (after - before) / length / 2  # of what moves along: the half of c and of its mirror image
        return share * ahead.conjugate(), share * ahead
    if distance == 0:
        along, cross, across = 0.0, 0.0, abs(math.log(end / start))
    elif abs(distance) > _CLEAR * most:
        low, high = math.hypot(start, distance), math.hypot(end, distance)
        along, cross = end / high - start / low, distance / low - distance / high
        across = math.asinh(end / abs(distance)) - math.asinh(start / abs(distance)) - along
    else:
        return None
    # The matrix (along, -cross; -cross, across) of parts along the path and across it.
    turned = complex((along + across) / 2, 0.0) / length
    mirrored = complex((along - across) / 2, -cross) / length * ahead * ahead
    return turned, mirrored
