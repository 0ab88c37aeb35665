"""np.jit and indices that are known to be within bounds: the graph does not look at them."""

from __future__ import annotations

import numpy
import pytest
import torch

import npdec as np
from npdec._jit.bounds import Bounds

aten = torch.ops.aten
RNG = numpy.random.default_rng(5)
TABLE, NUMBERS = RNG.integers(0, 99, 16), RNG.integers(-99, 99, 12)
WITHIN = {
    "masked": lambda np, t, x: t[x & 15],
    "masked in place": lambda np, t, x: t[np.bitwise_and(x, 7, out=x)],
    "shifted": lambda np, t, x: t[(x & 0xFF) >> 4],
    "remainder": lambda np, t, x: t[x % 16] + t[x % -16],
    "clipped": lambda np, t, x: t[np.clip(x, -3, 15)] + t[np.minimum(np.maximum(x, 0), 5)],
    "range": lambda np, t, x: t[np.arange(4, 16)] * x,
    "place": lambda np, t, x: t[x.argmax()] + t[np.argsort(x)],
    "searched": lambda np, t, x: t[np.minimum(np.searchsorted(np.sort(x), x), 15)],
    "chosen": lambda np, t, x: t[np.where(x > 0, 3, x & 1)],
    "compared": lambda np, t, x: t[(x > 0).astype(int) * 5 + 2],
    "overflows": lambda np, t, x: t[(x & 15) * 2**62 >> 61],
    "divided": lambda np, t, x: t[(x & 63) // 4],
    "joined": lambda np, t, x: t[np.concatenate([x & 3, np.zeros(4, int), x[:2] % 9])],
    "of a table": lambda np, t, x: t[(x[:, None] & np.array([1, 2, 8]))[:, 1]],
}
UNKNOWN = {
    "given": lambda np, t, x: t[x],
    "written": lambda np, t, x: (y := x & 15, y.__setitem__(slice(0, 2), x[:2]), t[y])[-1],
    "seen": lambda np, t, x: (y := x & 15, z := y[:3], z.__setitem__(0, x[0]), t[y])[-1],
}


def recorded(function, x):
    """What it gives, and whether the graph has conditions."""
    graphs = []

    def backend(graph, tensors):
        graphs.append(graph)
        return graph.forward

    made = np.jit(lambda t, x: function(np, t, x), backend=backend)
    result = made(np.array(TABLE), np.array(x))
    return result, made, any("aminmax" in str(node.target) for node in graphs[0].graph.nodes)


@pytest.mark.parametrize("name", WITHIN)
def test_an_index_within_bounds_is_no_condition(name):
    for numbers in (NUMBERS, NUMBERS[::-1] - 7):
        result, _, asks = recorded(WITHIN[name], numbers)
        assert not asks
        numpy.testing.assert_array_equal(numpy.asarray(result), WITHIN[name](numpy, TABLE, numbers.copy()))


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_index_that_may_be_out_of_bounds_is_looked_at(name):
    inside = NUMBERS % 8
    result, made, asks = recorded(UNKNOWN[name], inside)
    assert asks
    numpy.testing.assert_array_equal(numpy.asarray(result), UNKNOWN[name](numpy, TABLE, inside.copy()))
    inside[0] = 16
    with pytest.raises(IndexError):
        made(np.array(TABLE), np.array(inside))


BINARY = [
    aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.bitwise_xor.Tensor, aten.bitwise_right_shift.Tensor,
    aten.bitwise_left_shift.Tensor, aten.remainder.Tensor, aten.floor_divide.default, aten.add.Tensor, aten.sub.Tensor,
    aten.mul.Tensor, aten.minimum.default, aten.maximum.default, aten.lt.Tensor, aten.le.Tensor, aten.gt.Tensor,
    aten.ge.Tensor, aten.eq.Tensor, aten.ne.Tensor, aten.max.other, aten.min.other,
]  # fmt: skip
UNARY = [aten.abs.default, aten.neg.default, aten.logical_not.default, aten.argmax.default, aten.amax.default,
         aten.any.default, aten.all.default, aten.aminmax.default, aten.clone.default]  # fmt: skip


def test_results_lie_between_the_bounds():
    looked = 0
    for dtype in (torch.int64, torch.int8, torch.uint8, torch.bool):
        for _ in range(400):
            bounds = Bounds(lambda tensor: 0)
            given = []
            for _ in range(2):
                top = 1 if dtype is torch.bool else 7 if dtype is torch.int64 else 60
                low, high = sorted(RNG.integers(0 if dtype in (torch.uint8, torch.bool) else -top, top + 1, 2).tolist())
                tensor = torch.tensor(RNG.integers(low, high + 1, 6)).to(dtype)
                bounds.note(tensor, (low, high))
                given.append(tensor)
            func = [*BINARY, *UNARY][RNG.integers(len(BINARY) + len(UNARY))]
            args = tuple(given[: 2 if func in BINARY else 1])
            if "shift" in str(func) and int(args[1].min()) < 0:
                continue
            try:
                made = func(*args)
            except RuntimeError:  # no remainder by zero, no difference of booleans
                continue
            results = list(made) if isinstance(made, tuple) else [made]
            for result, span in zip(results, bounds.made(func, args, {}, results), strict=True):
                if span is not None:
                    looked += 1
                    assert span[0] <= int(result.min()) <= int(result.max()) <= span[1], (func, args, span)
    assert looked > 300
