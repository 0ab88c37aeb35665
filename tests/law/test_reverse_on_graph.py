"""Reverse mode, in which the value itself is on the graph of its component, beside the law forward: programs of layers
and writes, drawn, of which each finds the component made, or not made yet."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np

W, B = torch.randn(6, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64).split([6, 1], 1)
KERNEL = torch.randn(4, 4, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
SCALE = torch.rand(6, generator=torch.Generator().manual_seed(3), dtype=torch.float64) + 0.5
Step = Callable[[Any, list[Any], float], Any]


def _unwatched(h: Any, hs: list[Any], c: float) -> Any:
    with torch.no_grad():
        return h * (1 + c)


def _set(key: Any) -> Step:
    def step(h: Any, hs: list[Any], c: float) -> Any:
        h[key] = c
        return h

    return step


def _of_another(h: Any, hs: list[Any], c: float) -> Any:
    h[:, 1:3] = hs[-1][:, 2:4] * c
    return h


def _through_a_view(h: Any, hs: list[Any], c: float) -> Any:
    h.view(-1)[3] = c
    return h


def _through_columns(h: Any, hs: list[Any], c: float) -> Any:
    columns = h.T
    columns[2] = columns[1] + c
    return h


def _written_over(h: Any, hs: list[Any], c: float) -> Any:
    made = F.linear(h, W)
    made.fill_(c)
    return made + hs[0]


def _read_before(h: Any, hs: list[Any], c: float) -> Any:
    made = F.relu(h)
    h[1] = c
    return made


STEPS: list[Step] = [
    lambda h, hs, c: F.linear(h, W, B.flatten()),
    lambda h, hs, c: F.relu(h),
    lambda h, hs, c: h + c,
    lambda h, hs, c: h * hs[len(hs) // 2],
    lambda h, hs, c: h + hs[0],
    lambda h, hs, c: h.add_(c),
    lambda h, hs, c: h.mul_(1 + c),
    lambda h, hs, c: F.relu(h, inplace=True),
    lambda h, hs, c: torch.tanh(h),
    lambda h, hs, c: F.layer_norm(h, (6,), SCALE),
    lambda h, hs, c: F.conv1d(h[None], KERNEL, padding=1)[0],
    lambda h, hs, c: h.clone().zero_().add_(hs[-1]),
    lambda h, hs, c: F.max_pool1d(h[None], 3, 1, 1)[0],
    lambda h, hs, c: F.gelu(h),
    lambda h, hs, c: h.copy_(hs[0] * c),
    lambda h, hs, c: h / (2 + c),
    lambda h, hs, c: h.sub_(hs[0] * c),
    _unwatched, _set(0), _set((slice(None), 2)), _of_another, _through_a_view, _through_columns, _written_over,
    _read_before,
]  # fmt: skip


def drawn(seed: int) -> Callable[[Any], Any]:
    source = random.Random(seed)
    steps = [(source.choice(STEPS), source.uniform(-1, 1)) for _ in range(source.randint(3, 9))]

    def program(x: Any) -> Any:
        h, seen = x, [x]
        for step, c in steps:
            h = step(h, seen, c)
            seen.append(h)
        return h.sum() + 0.1 * (h * h).sum()

    return program


@pytest.mark.parametrize("seed", range(60))
def test_programs_give_what_the_law_gives_forward(seed: int):
    program, generator = drawn(seed), torch.Generator().manual_seed(seed)
    x, r = torch.randn(2, 4, 6, generator=generator, dtype=torch.float64).unbind(0)
    baseline = (0.0, 0.3, r, r[0])[seed % 4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.DecompositionWarning)
        found = np.attribute(program, x, baseline=baseline)
        forward = np.attribute(program, x, baseline=baseline, mode="forward")
    assert torch.equal(found.value, program(x.clone()))
    size = float(forward.attribution.abs().max()) + abs(float(found.value)) + 1e-9
    assert float((found.attribution - forward.attribution).abs().max()) <= 1e-8 * size
    assert abs(float(found.error)) <= 1e-9 * size
