"""np.jit and rolls: slices of one copy in the graph, whatever is written between, into the array or into its rolls."""

from __future__ import annotations

import numpy
import pytest
import torch

import npdec as np
import tiers

DTYPES = ["float64", "int64", "bool", "complex128", "uint8"]
SHAPES = [(7,), (1,), (3, 5), (4, 1), (2, 3, 4), (0, 3)]


def program(seed):
    """A function of a library and an array: rolls of it and of what is made of it, and writes between."""
    rng = numpy.random.default_rng(seed)
    shape = SHAPES[rng.integers(len(SHAPES))]
    dtype = DTYPES[rng.integers(len(DTYPES))]
    steps = []
    for _ in range(rng.integers(2, 9)):
        axes = rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)]
        axes = tuple(int(axis) - len(shape) * int(rng.integers(2)) for axis in axes)
        shifts = tuple(int(shift) for shift in rng.integers(-9, 10, len(axes)))
        if rng.random() < 0.2:
            axes, shifts = None, shifts[0]
        kind = rng.choice(["roll", "write", "into", "view"], p=[0.7, 0.1, 0.1, 0.1])
        steps.append((str(kind), int(rng.integers(3)), shifts, axes))

    def run(np, given):
        seen = [given, given ^ True if dtype == "bool" else given + given, given.T.copy().T]
        for kind, which, shifts, axes in steps:
            x = seen[-which]
            if kind == "roll":
                seen.append(np.roll(x, shifts, axes))
            elif kind == "write":
                x[..., :1] = x[..., -1:]
            elif kind == "into":
                x[...] = seen[-1] if seen[-1] is not x else 1
            else:
                seen.append(np.roll(x[..., ::-1], which + 1, -1))
        return seen[-4:]

    return run, rng.integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)


def test_rolls_between_writes():
    for seed in range(tiers.fewer(200, 25)):
        run, given = program(seed)
        want = given.copy()
        expected = run(numpy, want)
        x = np.array(given)
        made = np.jit(lambda x, run=run: run(np, x), backend="eager")(x)
        for one, theirs in zip([*made, x], [*expected, want], strict=True):
            assert one.dtype == theirs.dtype
            numpy.testing.assert_array_equal(numpy.asarray(one), theirs, err_msg=str(seed))
        for one, theirs in zip(made, expected, strict=True):  # what shares memory is the same
            one[..., :1], theirs[..., :1] = 0, 0
            for other, its in zip([*made, x], [*expected, want], strict=True):
                numpy.testing.assert_array_equal(numpy.asarray(other), its, err_msg=str(seed))


def targets(function, *args):
    """How often each of torch's operations stands in the graph of a function."""
    found = []

    def backend(graph, tensors):
        found.extend(node.target for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    np.jit(function, backend=backend, fullgraph=True)(*args)
    return found


def test_neighbours_look_at_one_copy():
    def around(x):
        return sum(np.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)

    found = targets(around, np.ones((5, 6)))
    assert found.count(torch.ops.aten.cat.default) == 1
    # Rolls of rows are pieces of memory as they are.
    assert found.count(torch.ops.aten.roll.default) == 6
    assert torch.ops.aten.cat.default not in targets(lambda x: np.roll(x, 1, 0) - np.roll(x, -1, 0), np.ones((5, 6)))


@pytest.mark.parametrize("size", [3, 8])
def test_what_is_written_between_is_copied_again(size):
    def shifted(x):
        a = np.roll(x, 1)
        x[0] = 7.0
        return a, np.roll(x, 1), np.roll(x, -1)

    assert targets(shifted, np.arange(size * 1.0)).count(torch.ops.aten.cat.default) == 2
