"""Keys whose slices run backwards: what they say, and what is written through them and past them, is NumPy's."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy
import pytest

import npdec as np

pytestmark = pytest.mark.quick


def _slice(draw: random.Random, size: int) -> slice:
    def bound() -> int | None:
        return draw.choice([None, *range(-size - 2, size + 3)])

    return slice(bound(), bound(), draw.choice([None, 1, 2, -1, -1, -2, -3]))


def _drawn(draw: random.Random) -> tuple[Any, Any]:
    shape = [draw.randint(0, 4) for _ in range(draw.randint(1, 3))]
    array = numpy.arange(math.prod(shape)).astype(draw.choice(["f8", "i8", "u4", "c16", "?"])).reshape(shape)
    key = tuple(
        draw.randint(-size, size - 1) if size and draw.random() < 0.3 else _slice(draw, size)
        for size in shape[: draw.randint(1, len(shape))]
    )
    return array, key[0] if len(key) == 1 and draw.random() < 0.5 else key


@pytest.mark.parametrize("seed", range(4))
def test_keys_that_run_backwards(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(150):
        wanted, key = _drawn(draw)
        x = np.array(wanted)
        part, seen = wanted[key], x[key]
        assert numpy.shape(part) == np.shape(seen)
        assert numpy.array_equal(part, numpy.asarray(seen)), (wanted.shape, wanted.dtype, key)
        if not isinstance(part, numpy.ndarray):
            continue
        written = numpy.arange(part.size).reshape(part.shape)
        for value in (True, written, written[:1], numpy.float64(3)):
            if numpy.ndim(value) and numpy.broadcast_shapes(numpy.shape(value), part.shape) != part.shape:
                continue
            wanted[key] = value
            x[key] = np.array(value) if isinstance(value, numpy.ndarray) else np.float64(value) if value != 1 else value
            assert numpy.array_equal(wanted, numpy.asarray(x)), (wanted.shape, wanted.dtype, key, value)
            assert numpy.array_equal(part, numpy.asarray(seen)), (wanted.shape, wanted.dtype, key, value)
        part[...], seen[...] = True, True
        assert numpy.array_equal(wanted, numpy.asarray(x)), (wanted.shape, wanted.dtype, key)


def test_contributions_go_through_keys_that_run_backwards() -> None:
    x, part = np.zeros((2, 3)), np.decompose(np.array([1.0, 2.0, 4.0]), baseline=0.0)
    seen = x[::-1, ::-1]
    x[0, ::-1] = part
    assert x.value.tolist() == [[4.0, 2.0, 1.0], [0.0, 0.0, 0.0]]
    assert seen.components.sum(0).tolist() == [[0.0, 0.0, 0.0], [1.0, 2.0, 4.0]]
    assert x.components[:, 0].tolist() == [[0.0, 0.0, 1.0], [0.0, 2.0, 0.0], [4.0, 0.0, 0.0]]
