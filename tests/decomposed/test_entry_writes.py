"""Writes into arrays with a component for each element, and functions of several of them: their contributions are those
of one component at a time, computed by NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from test_entries import every_array_is_large

import npdec as np
from npdec._core.memory_meter import Meter
from tiers import fewer

pytestmark = pytest.mark.usefixtures("decomposition_warnings_alone")

N = 24
A = numpy.linspace(0.1, 2.0, N)
ORDER = numpy.random.default_rng(0).permutation(N)
MASK = A > 0.9

# Programs that are linear in x, but for constants: `t` is what they write to, `x` what they write, `v` a view.
WRITES = [
    "t[3:7] = x[:4]", "t[:] = x", "t[::2] = x[::2]", "t[::-1] = x", "t[5] = x[0]", "t[ORDER] = x", "t[MASK] = x[MASK]",
    "t[[0, 0]] = x[:2]", "t[MASK] = x[0]", "t += x", "t -= x", "t *= 2.5", "t /= 4.0", "t += 1.0", "t[3:7] = 0.0",
    "t[MASK] = 1.5", "t[3:7] += x[:4]", "t[MASK] *= 2.0", "lib.add(t, x, out=t)", "lib.copyto(t, x)",
    "lib.copyto(t, x, where=MASK)", "lib.put(t, [0, 3], x[:2])", "lib.place(t, MASK, x[:10])",
    "lib.putmask(t, MASK, x)", "lib.put_along_axis(t, ORDER, x, 0)", "t.fill(3.0)", "t.fill(x[2])",
    "t.reshape(4, -1)[1] = x[:6]", "t.reshape(4, -1).T[1] = x[:4]", "lib.add.at(t, [0, 0, 1], x[:3])",
    "lib.add.at(t, ORDER, x)", "lib.cumsum(x, out=t)", "t[:] = x.mean()", "t[0] = x.sum()", "t -= t.mean()",
    "t[:5] = lib.cumsum(x)[:5]", "t[1:] += t[:-1].copy()", "t[:] = t[::-1].copy()", "v = t[:10]; v *= 2.0; t[2] = 1.0",
    "v = t.reshape(4, -1); v[0] = 1.0; v[:, 1] += x[:4]", "v = t[::-1]; v[:] = x; t[0] = x[3]", "t[0] = t[1] = x[5]",
    "v = t[2:8]; t[:] = x; v[1] = x.sum(); t *= 3.0", "t[:3], t[3:6] = x[3:6], x[:3]",
    "lib.concatenate([x, x[:0]], out=t)",
]  # fmt: skip
TARGETS: dict[str, Callable[[Any, Any], Any]] = {
    "plain": lambda lib, x: lib.zeros(N),
    "copy": lambda lib, x: x.copy(),
    "row": lambda lib, x: lib.zeros((3, N))[1],
    "itself": lambda lib, x: x,
}


def run(program: str, start: Callable[[Any, Any], Any], lib: Any, x: Any) -> tuple[Any, ...]:
    names = {"lib": lib, "x": x, "ORDER": ORDER, "MASK": MASK, "t": start(lib, x)}
    exec(program, names)
    return names["t"], names.get("v", names["t"]), x


# Of a program that reads what it writes NumPy's result depends on how it goes through memory.
PAIRS = [(p, start) for start in TARGETS for p in WRITES if not (start == "itself" and "out=t" in p)]


@pytest.mark.parametrize(("program", "start"), PAIRS)
def test_each_component_is_written_as_if_it_were_alone(program: str, start: str) -> None:
    with every_array_is_large():
        made = run(program, TARGETS[start], np, np.decompose(np.array(A), baseline=0.5))
        parts = [(x.value.to_numpy(), x.residual.to_numpy(), x.components.to_numpy()) for x in made]
    wanted = run(program, TARGETS[start], numpy, A.copy())
    base = run(program, TARGETS[start], numpy, numpy.full(N, 0.5))
    alone = []
    for i in range(N):
        moved = numpy.full(N, 0.5)
        moved[i] = A[i]
        alone.append(run(program, TARGETS[start], numpy, moved))
    for k, (value, residual, components) in enumerate(parts):
        numpy.testing.assert_allclose(value, wanted[k], rtol=1e-12)
        numpy.testing.assert_allclose(residual, base[k], rtol=1e-12)
        each = numpy.array([got[k] - base[k] for got in alone])
        if not made[k].is_decomposed:  # nothing of x was written there
            assert not each.any()
            continue
        numpy.testing.assert_allclose(components, each, rtol=1e-9, atol=1e-12)


# -- one write after the other -----------------------------------------------------------------------------------------

# `t` is written, `x` was decomposed, `v` looks at the memory of t, `kept` are others that may hold what t had, `i` and
# `j` are drawn.
IN_A_ROW = [
    "t[i] = 1.5", "t[i] = x[j]", "t[i] = t[j]", "t[i] += 1.0", "t[i] *= x[j]", "t[i] = x[j] + t[i]", "t[2:5] = 0.5",
    "t[[i, j]] = x[[j, i]]", "t[3:9] = t[1:7]", "t[i] = x.sum()", "t *= 0.5", "t.fill(0.25)", "t[:] = x",
    "t.reshape(4, -1)[i % 4] = x[:6]", "t.reshape(4, -1).T[1, 2] = x[j]", "t[::-1][i] = x[j]",
    "lib.add.at(t, [i, j], x[:2])", "v = t[2:20]; kept.append(v)", "v = t.reshape(4, -1); kept.append(v)", "v[1] = 2.0",
    "v[2] = x[j]", "v = t[5:9]", "kept.append(t.copy())", "kept.append(t * 2.0)", "kept.append(t[i])", "kept.clear()",
    "kept.append(lib.exp(t[i:]))", "kept.append(t[i:][::-1])", "kept.append(t.sum())", "kept.append(t + x)",
    "t = t.copy()", "t = lib.zeros(N)",
]  # fmt: skip


def _parts(x: Any) -> list[Any]:
    parts = [x.value, x.residual, x.components] if x.is_decomposed else [x]
    return [numpy.array(part) for part in parts]  # copies: plain memory that others look at is not decomposed


@pytest.mark.parametrize("seed", range(fewer(12, 3)))
def test_writes_in_a_row_are_those_into_components(seed: int) -> None:
    """Who holds what was there before keeps it, whoever else is written: after each step all are as without entries."""
    rng = numpy.random.default_rng(seed)
    x = np.decompose(np.array(A), baseline=0.5)
    with every_array_is_large():
        y = np.decompose(np.array(A), baseline=0.5)
    dense, entries = ({"lib": np, "N": N, "x": x, "t": 2.0 * x, "v": x[:4].copy(), "kept": []} for x in (x, y))
    for _ in range(30):
        step = "i, j = {}, {}; ".format(*rng.integers(0, N, 2)) + str(rng.choice(IN_A_ROW))
        exec(step, dense)
        with every_array_is_large():
            exec(step, entries)
        if rng.integers(0, 4):  # components that have been made are written too
            continue
        for one, other in zip(*([its["t"], its["v"], *its["kept"]] for its in (dense, entries)), strict=True):
            with every_array_is_large():
                found = _parts(other)
            for its, wanted in zip(found, _parts(one), strict=True):
                numpy.testing.assert_allclose(its, wanted, rtol=1e-9, atol=1e-12, err_msg=step)


SMALL_WRITES = [
    "t[i] = 1.5", "t[i] = x[7]", "t[i] = t[7]", "t[i] += 1.0", "t[i] -= x[7]", "t[i] = x[7] * t[8]", "t[2:5] = 0.5",
    "t[2:5] = x[:3]", "t[[i, 8]] = x[[2, 3]]", "v[1] = x[3]", "t.tensor[i] = 1.5", "t.tensor[2:5].copy_(x.tensor[:3])",
    "lib.put(t, [i], x[:1])",
]  # fmt: skip


@pytest.mark.parametrize("target", ["x * 2", "lib.zeros(M)", "x.copy()", "(x + lib.zeros((4, M)))[2]"])
@pytest.mark.parametrize("write", SMALL_WRITES)
def test_small_writes_take_no_memory_of_the_size_of_the_array(write: str, target: str) -> None:
    """After the first one, by which the array has entries that are nobody else's."""
    size = 10_000
    names: dict[str, Any] = {"lib": np, "M": size, "x": np.decompose(np.linspace(0.1, 2.0, size))}
    names["t"] = eval(target, names)
    names["v"] = names["t"][2:9]
    names["t"][0] = names["x"][0]
    for i in (3, 4, 5):
        names["i"] = i
        with Meter() as meter:
            exec(write, names)
    assert meter.peak < size


# -- functions of two arrays that are decomposed apart -----------------------------------------------------------------

X, Y = numpy.linspace(0.4, 1.9, N), numpy.linspace(1.7, 0.6, N)
BASE = 0.3
# The derivatives by both arguments.
SLOPES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "hypot": (lambda x, y: x / numpy.hypot(x, y), lambda x, y: y / numpy.hypot(x, y)),
    "arctan2": (lambda x, y: y / (x * x + y * y), lambda x, y: -x / (x * x + y * y)),
    "logaddexp": (lambda x, y: 1 / (1 + numpy.exp(y - x)), lambda x, y: 1 / (1 + numpy.exp(x - y))),
    "logaddexp2": (lambda x, y: 1 / (1 + 2 ** (y - x)), lambda x, y: 1 / (1 + 2 ** (x - y))),
    "multiply": (lambda x, y: y, lambda x, y: x),
    "power": (lambda x, y: y * x ** (y - 1), lambda x, y: x**y * numpy.log(x)),
    "subtract": (lambda x, y: numpy.ones_like(x), lambda x, y: -numpy.ones_like(x)),
}


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("name", SLOPES)
def test_functions_of_two_arrays_are_path_integrals(name: str, together: bool) -> None:
    """Each element has two components: those of the two elements that it is computed from."""
    with every_array_is_large():
        if together:
            x, y = np.decompose((np.array(X), np.array(Y)), baseline=BASE)
        else:
            x, y = (np.decompose(np.array(a), baseline=BASE) for a in (X, Y))
        made = getattr(np, name)(x, y)
        components = made.components.to_numpy()
    nodes, weights = numpy.polynomial.legendre.leggauss(40)
    t, w = (nodes + 1) / 2, weights / 2
    path = [BASE + t[:, None] * (a - BASE) for a in (X, Y)]
    wanted = [(w[:, None] * slope(*path)).sum(0) * (a - BASE) for slope, a in zip(SLOPES[name], (X, Y), strict=True)]
    expected = numpy.concatenate([numpy.diag(part) for part in wanted])
    numpy.testing.assert_allclose(components, expected, rtol=1e-9, atol=1e-12)


def test_labels_of_inputs_apart_are_never_taken_for_one_another() -> None:
    """Labels of many elements are made when they are asked for, so that one may lie where another lay before."""
    with every_array_is_large():
        for _ in range(200):
            x, y = (np.decompose(np.array(a), baseline=BASE) for a in (X, Y))
            labels = (x + y).labels
            assert tuple(labels) == (*x.labels, *y.labels)


STEPS = "floor ceil rint trunc sign fix exp sin log sqrt cbrt tanh square reciprocal modf frexp signbit".split()


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("shape", [(N,), (4, 6), (3, 1, 8)])
def test_what_is_computed_in_pieces_is_the_change_of_each_element(name: str, shape: tuple[int, ...]) -> None:
    """A function of each element alone gives all of its change to the component of the element."""
    a = (4 * A).reshape(shape)
    with every_array_is_large():
        made = getattr(np, name)(np.decompose(np.array(a), baseline=0.7))
        made = made if isinstance(made, tuple) else (made,)
        parts = [item.components.to_numpy() for item in made if item.is_decomposed]
    high, low = (getattr(numpy, name)(end) for end in (a, numpy.full(shape, 0.7)))
    ends = [(1.0 * h, 1.0 * b) for h, b in (zip(high, low, strict=True) if isinstance(high, tuple) else [(high, low)])]
    assert parts
    for components, (value, residual) in zip(parts, ends, strict=False):
        expected = numpy.diag((value - residual).reshape(-1)).reshape(components.shape)
        numpy.testing.assert_allclose(components, expected, rtol=1e-10, atol=1e-12)


def test_a_warning_is_given_once_for_all_pieces():
    x = np.decompose(np.array(numpy.linspace(0.1, 2.0, 20_000)))
    with pytest.warns(np.DecompositionWarning) as caught:
        np.log(x)
    assert len(caught) == 1
    assert re.search("log: infinite", str(caught[0].message))


@pytest.mark.parametrize("write", ["add_", "mul_", "copy_"])
def test_methods_in_place_of_torch(write: str) -> None:
    x = np.decompose(torch.tensor(A))
    with every_array_is_large():
        t, other = x.clone(), torch.linspace(1.0, 2.0, N, dtype=torch.float64)
        view = t[2:5]
        getattr(t, write)(other)
        components, seen = t.components, view.components
    expected = {"add_": numpy.diag(A), "mul_": numpy.diag(A * other.numpy()), "copy_": numpy.zeros((N, N))}[write]
    numpy.testing.assert_allclose(components.numpy(), expected, rtol=1e-12)
    numpy.testing.assert_allclose(seen.numpy(), expected[:, 2:5], rtol=1e-12)
