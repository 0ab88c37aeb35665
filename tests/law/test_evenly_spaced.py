"""Evenly spaced numbers between a few decomposed ones: the short way beside the steps of the function itself."""

from __future__ import annotations

import dataclasses
import random
import warnings

import pytest
import torch

import npdec as np
from npdec._decomposed.registry import rows
from npdec._impl import creation_ranges_impl
from tiers import fewer

POOL = [0.0, -0.0, 1.0, -1.0, 0.1, 1e300, 5e-324, 1e-45, float("inf"), float("nan"), 1e-8]


def drawn(source: random.Random, count: int | None, dtype):
    def number():
        return source.choice(POOL) if source.random() < 0.3 else source.gauss(0, 1)

    ends = [number() if count is None else [number() for _ in range(count)] for _ in "xr"]
    if source.random() < 0.2:
        ends[1] = ends[0]
    return np.decompose(np.asarray(ends[0], dtype=dtype), baseline=np.asarray(ends[1], dtype=dtype))


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    alike = (a == b) & (torch.signbit(a) == torch.signbit(b))
    return a.dtype is b.dtype and a.shape == b.shape and bool((alike | (a.isnan() & b.isnan())).all())


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_short_way_has_the_numbers_of_all_steps(dtype):
    """Ends bit for bit, and contributions: of two that carry something, of one beside a constant, of vectors beside
    numbers."""
    np.linspace(drawn(random.Random(0), 2, dtype), 1.0, 3)  # which reads the rules
    source, row = random.Random(5), rows[creation_ranges_impl.evenly]
    for _ in range(fewer(600, 40)):
        count = source.choice([None, 1, 2, 3])
        a, b = drawn(source, count, dtype), drawn(source, count, dtype)
        if source.random() < 0.4:
            b = source.choice([a, a * 2, 1.0, np.asarray(3.0, dtype=dtype)])
        if source.random() < 0.2 and count:
            a = a[0]
        if source.random() < 0.5:
            a, b = b, a
        options = {"num": source.choice([1, 2, 3, 5, 7]), "endpoint": source.random() < 0.7}
        made = []
        try:
            for way in (row, dataclasses.replace(row, short=None)):
                rows[creation_ranges_impl.evenly] = way
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made.append(getattr(np.linspace(a, b, **options), "_t", None))
        finally:
            rows[creation_ranges_impl.evenly] = row
        short, full = made
        if type(short) is not np.DecomposedTensor:
            assert type(full) is not np.DecomposedTensor
            continue
        assert short.labels == full.labels
        assert same_bits(short.value, full.value)
        assert same_bits(short.residual, full.residual)
        size = sum(part.nan_to_num(0, 0, 0).abs() for part in (full.value, full.residual))
        size = size + full.components.nan_to_num(0, 0, 0).abs().amax(0)
        c, d = short.components, full.components
        near = (c - d).abs() <= 16 * torch.finfo(c.dtype).eps * size + 1e-40
        assert bool(((c == d) | (c.isnan() & d.isnan()) | near).all())


@pytest.mark.quick
def test_steps_carry_too():
    """The step between the numbers has contributions of its own."""
    x = np.decompose(np.array([1.0, 3.0]), baseline=np.array([0.5, 1.0]))
    numbers, step = np.linspace(x[0], x[1], 5, retstep=True)
    assert step.value == 0.5
    assert step.residual == 0.125
    assert step.components.tolist() == [-0.125, 0.5]
    assert numbers.components.sum(0).tolist() == (numbers.value - numbers.residual).tolist()
