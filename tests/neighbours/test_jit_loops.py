"""np.jit and long loops: one round is compiled, whatever goes from round to round, and wherever it is written."""

from __future__ import annotations

import copy

import numpy
import pytest

import jit_programs
import npdec as np
from npdec._jit import loops


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Graphs of few operations are long."""
    monkeypatch.setattr(loops, "MOST_OPERATIONS", 150)
    monkeypatch.setattr(loops, "_FEW", 4)


def heat(np, u, count):
    u = u.copy()
    for _ in range(count):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def wave(np, u, v, count):
    for _ in range(count):
        u, v = 2 * u - v + 0.1 * (np.roll(u, 1) + np.roll(u, -1) - 2 * u), u
    return u, v


def path(np, x, w, count):
    out = np.empty((count, *x.shape))
    for t in range(count):
        x = np.tanh(w @ x + 0.1) - 0.01 * x
        out[t] = x
    return out


def driven(np, x, w, forces):
    states = []
    for t in range(len(forces)):
        x = np.tanh(w @ x + forces[t]) - 0.01 * forces[-1 - t]
        states.append(x)
    return np.stack(states), x


def in_place(np, u, count):
    for _ in range(count):
        u[0] = u[1] + 1
        u *= 0.5
        u += u.mean()
        u[1:] = u[:-1] * 2 - u.max()
    return u.sum()


def drawn(np, rng, count):
    s = np.zeros(5)
    for _ in range(count):
        s = s + 0.1 * rng.standard_normal(5) * np.sqrt(np.abs(s) + 1) - 0.01 * s
    return s


def table(np, a, count):
    """Rows made of the rows before."""
    made = np.ones((count + 2, 3))
    for t in range(count):
        made[t + 1] += a * made[t].sum() % 5
        made[t + 2, 1:] = made[t + 1, 1:] - made[t, :2]
    return made


def two_loops(np, u, count):
    for _ in range(count):
        u = np.sin(u) + u[::-1] * 0.5
    v = u.copy()
    for _ in range(count):
        v = 0.5 * v * u + np.cos(v)
        u = np.maximum(np.minimum(u, v), -1) - 0.1
    return u, v


def numbers(np, x, count):
    a, b = x[0], x[1]
    seen = np.zeros(count)
    for t in range(count):
        a, b = a * 0.5 + b * 0.25 + x[t], b - a * 0.125
        seen[t] = a
    return seen, b


pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"),
    pytest.mark.filterwarnings("ignore:.*torch._prims_common.check:FutureWarning"),
]
RNG = numpy.random.default_rng(0)
PROGRAMS = [
    (heat, RNG.random((5, 6)), 60),
    (wave, RNG.random(7), RNG.random(7), 70),
    (path, RNG.random(4), RNG.random((4, 4)) / 4, 60),
    (driven, RNG.random(3), RNG.random((3, 3)) / 3, RNG.random((61, 3))),
    (in_place, RNG.random(5), 50),
    (drawn, numpy.random.default_rng(3), 60),
    (table, RNG.random(3), 64),
    (two_loops, RNG.random(4), 90),
    (numbers, RNG.random(80), 80),
]


def given(value, library):
    if isinstance(value, numpy.random.Generator):
        return library.random.Generator(copy.deepcopy(value.bit_generator))
    return library.array(value) if isinstance(value, numpy.ndarray) else value


def each(made):
    return [numpy.asarray(one) for one in (made if isinstance(made, tuple) else (made,))]


def compiled(function, **options):
    return np.jit(lambda *args: function(np, *args), fullgraph=True, **options)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_programs(program):
    function, *arguments = program
    theirs = [given(one, numpy) for one in arguments]
    want = each(function(numpy, *theirs))
    pieces = []

    def backend(graph, inputs):
        pieces.append(graph)
        return graph.forward

    fast = compiled(function, backend=backend)
    for _ in range(2):
        ours = [given(one, np) for one in arguments]
        for one, its in zip(each(fast(*ours)), want, strict=True):
            numpy.testing.assert_allclose(one, its, rtol=1e-12)
        for one, its in zip(ours, theirs, strict=True):
            if isinstance(its, numpy.ndarray):
                numpy.testing.assert_allclose(numpy.asarray(one), its, rtol=1e-12)
    assert len(pieces) >= 3
    assert all(len(piece.graph.nodes) < 600 for piece in pieces)


@pytest.mark.slow
@pytest.mark.parametrize("program", [PROGRAMS[1], PROGRAMS[4], PROGRAMS[6]], ids=lambda program: program[0].__name__)
def test_programs_by_inductor(program):
    function, *arguments = program
    ours, theirs = ([given(one, library) for one in arguments] for library in (np, numpy))
    for one, its in zip(each(compiled(function)(*ours)), each(function(numpy, *theirs)), strict=True):
        numpy.testing.assert_allclose(one, its, rtol=1e-12)
    for one, its in zip(ours, theirs, strict=True):
        if isinstance(its, numpy.ndarray):
            numpy.testing.assert_allclose(numpy.asarray(one), its, rtol=1e-12)


def test_what_is_no_loop_of_one_body_is_refused():
    def growing(x):
        for _ in range(200):
            x = np.concatenate([x, x[:1]])
        return x

    with pytest.raises(RuntimeError, match="operations"):
        np.jit(growing, backend="eager", fullgraph=True)(np.ones(3))

    def overlapping(x):
        for t in range(100):
            x[t] += x.sum() + x[100 - t]
        return x

    with pytest.raises(RuntimeError, match="a loop of its graph writes into an array"):
        np.jit(overlapping, backend="eager", fullgraph=True)(np.ones(101))


STEPS = """E[t] = a.sum() | E[t + 1] += E[t] | E[t + 1, 1:] = E[t, :2] + t % 1 | s = s + E[t, 0] * 2 - b.sum() % 3 |
E[R + 1 - t] = E[t] + 1 | F = F * 1; F[:2] += E[t, :2] | E[t:t + 2] *= 2 | G.append(F) | F = E[t + 1] - F % 5 |
s = s + F.max() | E[t][1] = s % 7 | v = E[:, 1]; v[t] = v[t + 1] - 1 | w = E.T[..., t]; F = F + w |
F = np.concatenate([F[1:], F[:1]]) % 11 | s, z = z + 1, s % 13 | E = E * 1 | H[t] = s | s = H[t - 1] + 1 if t else s"""


def program(seed):
    """A loop of drawn steps, and its arguments, or None where NumPy refuses them."""
    drawn, rng = jit_programs.Drawn(seed), numpy.random.default_rng(seed)
    *lines, returned = drawn.lines
    made = [line for line in lines if line.startswith(("c = np.", "d = np."))][:2]
    steps = [step.strip() for step in STEPS.replace("\n", " ").split("|")]
    body = [line for line in lines if line not in made] if seed % 2 else []
    for _ in range(rng.integers(2, 6)):
        body.insert(rng.integers(len(body) + 1), steps[rng.integers(len(steps))])
    made += [f"R = {rng.integers(40, 70)}", "E = np.ones((R + 3, 3))", "s = a.sum() * 1.0", "z = s * 0"]
    made += ["F = np.arange(3.0)", "G = []", "H = np.zeros(R)"]
    returned = returned.replace("return [", "return [E, F, s + z, H, *G[-3:], ") if seed % 2 else "return E, F, s, z, H"
    lines = ["def program(np, a, b):", *made, "for t in range(R):", *("    " + line for line in body), returned]
    scope = {}
    exec("\n    ".join(lines), scope)
    return scope["program"], drawn.given


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_drawn_loops(monkeypatch):
    monkeypatch.setattr(loops, "MOST_OPERATIONS", 400)
    tried = count = 0
    for seed in range(30):
        function, arguments = program(seed)
        theirs, ours = ([np.array(one) for one in arguments] for _ in range(2))
        try:
            want = function(np, *theirs)
        except Exception:  # NumPy may refuse it, too
            continue
        tried += 1
        try:
            made = np.jit(lambda *args, function=function: function(np, *args), backend="eager", fullgraph=True)(*ours)
        except RuntimeError:
            continue
        count += 1
        for one, its in zip([*made, *ours], [*want, *theirs], strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(one), numpy.asarray(its), err_msg=str(seed))
    assert 8 * count > tried
