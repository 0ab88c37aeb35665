"""np.jit and Python's numbers: what float(x), x.item() and x.tolist() give of what a graph computes."""

from __future__ import annotations

import copy
import math
import warnings

import numpy
import pytest

import npdec as np

RNG = numpy.random.default_rng(0)
SAMPLES = [RNG.normal(size=9) for _ in range(2)]


def _kept_while_written(np, x):
    first, all_of_them = x[0].item(), x.tolist()
    x[:] = 9
    return first, all_of_them, float(x[0])


def _in_place(np, x):
    x -= float(x.mean())
    x *= x[0].item()
    x[0] = float(x[1])
    z, whole, single = x.astype(complex), np.arange(3), x.astype(np.float32)
    z[1], whole[0], whole[1:], single[2] = x[2].item(), x[3].item() * 10, float(x[4]), float(x[0])
    return x, z, whole, single


def _beside_arrays(np, x):
    s = float(x[0])
    parts = x * s, s * x, x + s, s - x, x / float(np.linalg.norm(x)), s / x, np.maximum(s, x), x > s
    parts += x.astype(np.float32) * s, np.arange(9) * s, x.astype(np.float32)[1] * s, (x > 0) * s, x[0] / float(x[1])
    parts += np.where(x > 0, s, 0.0), np.clip(x, float(x.min()) + 1, 1.0), np.full(3, s), np.linspace(s, 1, 3)
    return *parts, np.dot(s, x), np.polyval(x[:3], s), np.sqrt(abs(s)), np.sum([s, float(x[1])]), np.float64(3) * s


def _as_arrays(np, x):
    s, single = float(x[0]), x.astype(np.float32)
    made = np.array([s, 2.0]), np.array([float(v) for v in x]), np.array([s, np.float32(2)]), np.mean(x.tolist())
    return *made, np.array([single[0], single[1].item()]), np.array([[1, s]], dtype=np.float32), np.array([1, s], int)


GRAPHS = {
    "float": lambda np, x: (float(x.sum()), float(x.astype(np.float32)[0]), float(np.array(x[0]))),
    "item": lambda np, x: (x.sum().item(), x.item(2), x.reshape(3, 3).item(1, 2), x[:1].item(), (x[0] * 1j).item()),
    "tolist": lambda np, x: (x.tolist(), x.reshape(3, 3).tolist(), x[0].tolist(), (x + 1j * x).tolist()),
    "history": lambda np, x: [float((x * i).sum()) for i in range(3)],
    "nested": lambda np, x: {"a": float(x[0]), "b": [x[1].item(), {"c": x.tolist()[2]}]},
    "sums": lambda np, x: (
        float(x[0]) + 1,
        2 * float(x[0]) - float(x[1]),
        -x[0].item(),
        abs(x[0].item()),
        1 - x.item(0),
    ),
    "quotients": lambda np, x: (float(x[0]) / 3, 2 / float(x[0]), float(x[0]) / float(x[1])),
    "powers": lambda np, x: (float(x[0]) ** 2, x[1].item() ** 3, int(float(x[0]) * 10), bool(float(x[0]))),
    "conditions": lambda np, x: [i for i in range(3) if float(x[i]) > 0],
    "order": lambda np, x: (min(x.tolist()), max(x.tolist()), sorted(x.tolist())[:2], sum(x.tolist())),
    "kinds": lambda np, x: (isinstance(float(x[0]), float), isinstance(x.item(0), (int, float))),
    "dtypes": lambda np, x: (np.zeros(3, dtype=float) + x[:3], x.astype(float), np.dtype(float) == x.dtype),
    "constants": lambda np, x: (0.0, float("1.5"), float(3), float(np.float64(2)), float(x.shape[0]), math.pi),
    "math": lambda np, x: (math.sqrt(abs(x[0])), math.exp(float(x[0])), math.log(abs(x[0]), 2), math.isnan(x[0])),
    "math of two": lambda np, x: (math.atan2(x[0], x[1]), math.hypot(x[0], 3), math.pow(2, x[0]), math.floor(2.5)),
    "kept": _kept_while_written,
    "written": _in_place,
    "beside": _beside_arrays,
    "arrays": _as_arrays,
}
UNCOMPILED = {
    "text": lambda np, x: f"{float(x[0]):.3f}",
    "type": lambda np, x: type(float(x[0])) is float,
    "key": lambda np, x: {float(x[0]): 1},
    "key of an array": lambda np, x: {int(x[0] > 9): 0, (x > 9)[0].astype(int) + 1: 2},
    "rounded": lambda np, x: round(float(x[0]), 2),
    "copied": lambda np, x: copy.deepcopy([float(x[0])]),
    "rest": lambda np, x: float(x[0]) % 1.0,
    "a method": lambda np, x: x.astype(np.float32).clip(float(x[0]), 2.0),
    "single precision": lambda np, x: np.where(x.astype(np.float32) > 0, x.astype(np.float32), float(x[0])),
}
ERRORS = {
    "quotient": (ZeroDivisionError, lambda np, x: 1 / (float(x[0]) - float(x[0]))),
    "root": (ValueError, lambda np, x: math.sqrt(-abs(x[0]))),
    "exponential": (OverflowError, lambda np, x: math.exp(9e3 * abs(x[0]))),
    "logarithm": (ValueError, lambda np, x: math.log(x[0] - x[0])),
    "power": (OverflowError, lambda np, x: (1e300 * float(x[0])) ** 2),
    "integer": (OverflowError, lambda np, x: int(float(x[0]) * math.inf)),
}


def _check(got, want):
    if isinstance(want, (list, tuple, dict)):
        assert type(got) is type(want)
        assert len(got) == len(want)
        if isinstance(want, dict):
            assert [*map(str, got)] == [*map(str, want)]
            got, want = got.values(), want.values()
        for one, other in zip(got, want):
            _check(one, other)
    elif isinstance(want, (numpy.ndarray, numpy.generic)):
        assert isinstance(got, (np.ndarray, np.generic))
        assert got.dtype == want.dtype
        numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-6 if want.dtype.itemsize == 4 else 1e-12)
    else:
        assert type(got) is type(want)
        assert got == pytest.approx(want, rel=1e-14) if isinstance(want, float) else got == want


@pytest.mark.parametrize("program", GRAPHS.values(), ids=list(GRAPHS))
def test_numbers_of_a_graph_are_pythons(program):
    fast = np.jit(lambda x: program(np, x), backend="eager", fullgraph=True)
    for x in (SAMPLES[0], SAMPLES[0], SAMPLES[1]):
        mine, theirs = np.array(x), x.copy()
        _check((fast(mine), mine), (program(numpy, theirs), theirs))


@pytest.mark.parametrize("program", UNCOMPILED.values(), ids=list(UNCOMPILED))
def test_what_needs_the_number_itself_runs_uncompiled(program):
    fast = np.jit(lambda x: program(np, x), backend="eager")
    with pytest.warns(UserWarning, match=r"np\.jit runs"):
        _check(fast(np.array(SAMPLES[0])), program(numpy, SAMPLES[0]))
    _check(fast(np.array(SAMPLES[1])), program(numpy, SAMPLES[1]))


@pytest.mark.parametrize(("error", "program"), ERRORS.values(), ids=list(ERRORS))
def test_errors_of_numbers_are_pythons(error, program):
    fast = np.jit(lambda x: program(np, x), backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            with pytest.raises(error):
                fast(np.array(SAMPLES[0]))
