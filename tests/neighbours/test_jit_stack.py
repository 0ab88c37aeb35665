"""np.jit and small arrays: they are a kernel's own, products of small matrices too; rows looked up stay whole."""

from __future__ import annotations

import re

import numpy
import pytest
import torch

import npdec as np
from npdec._torch.inductor_fusion import MOST_STREAMS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"),
    pytest.mark.filterwarnings("ignore:.*torch._prims_common.check:FutureWarning"),
]


@pytest.fixture
def code(tmp_path, monkeypatch):
    """What inductor has written for Python: the calls of kernels, and the kernels."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch.compiler.reset()
    with torch._inductor.config.patch(compile_threads=1, fx_graph_cache=False):
        yield lambda: "".join(path.read_text() for path in tmp_path.glob("*/*.py"))
    torch.compiler.reset()


def recurrence(np, x, weight):
    """Single numbers, each of which goes out in an array and into the next one."""
    out, level = np.empty_like(x), x[0]
    for i in range(len(x)):
        level = weight * x[i] + (1 - weight) * level
        out[i] = level
    return out


def epidemic(np, rates, days):
    """Single numbers in a table, and what is taken from the table."""
    s, i, r = 0.9, 0.1, 0.0
    history = np.zeros((days, 3))
    for day in range(days):
        new, gone = rates[0] * s * i / (s + i + r), rates[1] * i
        s, i, r = s - new, i + new - gone, r + gone
        history[day, 0], history[day, 1], history[day, 2] = s, i, r
    return history, history[:, 1].max()


def joined(np, x, y):
    """Arrays put together, within the kernel and for others: of parts that are read, and go out, by themselves too."""
    z, parts = x, []
    for k in range(6):
        z = np.tanh(np.concatenate([z[1:] * k, y[:1] - z[:1]]))
        parts.append(z.sum())
    both = np.concatenate([z, y * 2])
    return np.stack(parts), np.stack([both[::2], both[1::2]]), both.sum(), z


def filtered(np, f, q, seen):
    """Products of small matrices between formulas."""
    mean, cov, fit = np.zeros(len(f)), np.eye(len(f)), 0.0
    for y in seen:
        mean, cov = f @ mean, f @ cov @ f.T + q
        gain = cov[:, 0] / (cov[0, 0] + 0.5)
        fit = fit + (y - mean[0]) ** 2
        mean, cov = mean + gain * (y - mean[0]), cov - np.outer(gain, cov[0])
    return mean, cov, fit


def written(np, x, out):
    """Small arrays that are written in place, and an argument that is."""
    table = np.zeros((4, len(x)))
    for k in range(1, 4):
        table[k] = table[k - 1] * 0.5 + x * k
        table[k, ::2] += 1.0
        out[k] = table[k].max()
    return table.sum(1), out[1:]


def numbers(*shape):
    return numpy.random.default_rng(7).random(shape)


PROGRAMS = {  # arguments, and arrays that torch is asked for
    recurrence: ((numbers(40), 0.3), 1),
    epidemic: ((numbers(2), 12), 2),
    joined: ((numbers(9), numbers(9)), 4),
    filtered: ((numbers(3, 3), numbers(3, 3), numbers(5)), 3),
    written: ((numbers(9), numbers(6)), 1),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_small_arrays_are_the_kernels_own(program, code):
    given, count = PROGRAMS[program]
    fast = np.jit(lambda *args: program(np, *args), fullgraph=True)
    for _ in range(2):
        ours = [np.array(one) if isinstance(one, numpy.ndarray) else one for one in given]
        theirs = [one.copy() if isinstance(one, numpy.ndarray) else one for one in given]
        made, want = fast(*ours), program(numpy, *theirs)
        for one, other in zip([*ours, *(made if isinstance(made, tuple) else [made])],
                              [*theirs, *(want if isinstance(want, tuple) else [want])], strict=True):  # fmt: skip
            numpy.testing.assert_allclose(numpy.asarray(one), other, rtol=1e-12)
    text = code()
    assert text.count(" = empty_strided_cpu(") <= count
    assert " = reinterpret_tensor(" not in text
    assert "extern_kernels." not in text


@pytest.mark.parametrize("width", [16, 21, 64])
def test_rows_that_are_looked_up_are_read_as_a_whole(width, code):
    def means(np, table, words, weights):
        return (table[words] * weights[:, :, None]).sum(1)

    given = numbers(50, width), numpy.random.default_rng(5).integers(-50, 50, (30, 20)), numbers(30, 20)
    made = np.jit(lambda *args: means(np, *args), fullgraph=True)(*map(np.array, given))
    numpy.testing.assert_allclose(numpy.asarray(made), means(numpy, *given), rtol=1e-12)
    assert "_inner" not in code()


def test_products_of_what_is_rolled():
    def rolled(np, a, b, large, x):
        return np.roll(a, 1, 1) @ b, np.roll(large, 2, 1) @ x

    given = numbers(3, 4), numbers(4, 2), numbers(80, 80), numbers(80)
    made = np.jit(lambda *args: rolled(np, *args), fullgraph=True)(*map(np.array, given))
    for one, other in zip(made, rolled(numpy, *given), strict=True):
        numpy.testing.assert_allclose(numpy.asarray(one), other, rtol=1e-12)


def solved(np, low, main, up, d):
    """A tridiagonal system for each column: each row of the tables is made of the one before."""
    c, x = np.zeros_like(d), d.copy()
    c[0], x[0] = up[0] / main[0], d[0] / main[0]
    for i in range(1, len(main)):
        m = 1.0 / (main[i] - low[i] * c[i - 1])
        c[i], x[i] = up[i] * m, (d[i] - low[i] * x[i - 1]) * m
    for i in range(len(main) - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return x


def test_a_loop_goes_along_few_rows(code):
    rng = numpy.random.default_rng(3)
    given = *rng.random((3, 20)), rng.random((20, 4000))
    given[1][:] += 4
    made = np.jit(lambda *args: solved(np, *args), fullgraph=True)(*map(np.array, given))
    numpy.testing.assert_allclose(numpy.asarray(made), solved(numpy, *given), rtol=1e-12)
    loops = code().split("for(int64_t")[1:]
    assert len(loops) > 2
    for loop in loops:
        assert len(set(re.findall(r"(?:loadu\(|store\()(\w+ \+ [^,]*),", loop))) <= MOST_STREAMS
