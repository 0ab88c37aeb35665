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


def _step(draw: random.Random, known: list[tuple[Any, Any]]) -> str:
    """One thing that is done with arrays and what NumPy has of them: a view, a write, something computed."""
    x, n = draw.choice(known)
    y, m = draw.choice(known)
    kind = draw.choice(
        ["view", "view", "view", "write", "into", "both", "part", "add", "call", "settle", "drop", "join"]
    )
    if kind == "view":
        key = tuple(_slice(draw, size) for size in n.shape[: draw.randint(1, n.ndim)])
        if n[key].size:
            known.append((x[key], n[key]))
    elif kind == "write":
        place = tuple(draw.randint(-size, size - 1) for size in n.shape)
        x[place] = n[place] = draw.randint(-8, 8) / 2
    elif kind == "into":
        x *= 0.5
        n *= 0.5
    elif kind == "both" and n.shape == m.shape:
        x[...] = y
        n[...] = m
    elif kind == "part":
        key = _slice(draw, len(n))
        x[key] = n[key] = draw.randint(-8, 8) / 2
    elif kind == "add" and n.shape == m.shape:
        known.append((x + y, n + m))
    elif kind == "call":
        for name in ("copy", "ravel", "sum", "tolist", "max", "argmin", "cumsum"):
            assert numpy.array_equal(numpy.asarray(getattr(x, name)()), getattr(n, name)()), name
        assert numpy.array_equal(numpy.asarray(np.where(x > 1, x, 0.0)), numpy.where(n > 1, n, 0.0))
        assert numpy.array_equal(numpy.asarray(x.T), n.T)
        assert n.ndim > 2 or numpy.array_equal(numpy.asarray(x @ x.T), n @ n.T)
    elif kind == "settle":
        assert x.tensor.shape == n.shape  # from now on torch has it
    elif kind == "drop" and len(known) > 3:
        known.pop(draw.randrange(len(known)))
    elif kind == "join":
        assert numpy.array_equal(numpy.asarray(np.concatenate([x, x[::-1]])), numpy.concatenate([n, n[::-1]]))
    return kind


@pytest.mark.parametrize("seed", range(30))
def test_views_that_run_backwards_are_views(seed: int) -> None:
    """Whatever is read and written, through whichever view, before and after torch has the elements."""
    draw = random.Random(seed)
    shape = draw.choice([(6,), (3, 4), (2, 3, 2)])
    n = numpy.arange(float(math.prod(shape))).reshape(shape)
    known, told = [(np.array(n), n)], []
    for _ in range(60):
        told.append(_step(draw, known))
        for x, wanted in known[-4:] if draw.random() < 0.8 else known:
            if draw.random() < 0.5:
                assert [float(value) for value in x.flat] == wanted.ravel().tolist(), told
    for x, wanted in known:
        assert numpy.array_equal(numpy.asarray(x), wanted), told


def test_a_view_of_a_read_only_one_that_runs_backwards_is_read_only() -> None:
    x = np.arange(6.0)
    x.flags.writeable = False
    for _ in range(2):
        part = x[::-1]
        for written in (part, part[1:], part[::-1]):
            with pytest.raises(ValueError, match="read-only"):
                written[0] = 1.0
        assert not part.flags.writeable
        assert part.base is x
