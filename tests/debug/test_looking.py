"""`np.debug.trace` and `np.debug.watch`: which operations are told of, what is said of them, and where it stops."""

from __future__ import annotations

import asyncio
import cProfile
import functools
import io
import math
import re
import sys
import threading
import traceback

import numpy
import pytest
import torch

import npdec as np
from npdec.exceptions import CompletenessError
from planted import line_of


def names(steps):
    return [step.name for step in steps]


def program(x):
    y = np.exp(x) + 1
    y[0] = 2.0
    y *= 3
    total = y.sum()  # here
    return total / 2


def test_operations_are_listed_with_their_lines():
    x = np.array([0.0, 1.0])
    with np.debug.trace(quiet=True) as steps:
        program(x)
    assert names(steps) == ["exp", "__add__", "__setitem__", "__imul__", "sum", "__truediv__"]
    found = steps[4]
    assert (found.place.line, found.place.text) == line_of(program)
    assert (found.place.expression, found.place.function, found.place.file) == ("y.sum()", "program", __file__)
    y = numpy.exp([0.0, 1.0]) + 1
    assert (steps[1].low, steps[1].high) == (y.min(), y.max())
    assert [step.written for step in steps] == [False, False, True, True, False, False]
    assert (steps[3].low, steps[3].high) == (6.0, 3 * y[1])
    assert [step.shape for step in steps] == [(2,)] * 4 + [()] * 2
    assert {step.dtype for step in steps} == {"float64"}


def test_the_list_is_printed_as_it_is_made():
    file = io.StringIO()
    with np.debug.trace(file=file) as steps:
        np.arange(3) / 0.0
        assert file.getvalue() == f"{steps}\n"
    lines = file.getvalue().splitlines()
    assert re.fullmatch(r"test_looking.py:\d+, in test_the_list\w+: np.arange\(3\) / 0.0", lines[0])
    assert lines[1].split() == ["arange", "int64", "(3,)", "0", "…", "2"]
    assert lines[2].split()[:3] == ["__truediv__", "float64", "(3,)"]
    assert lines[2].endswith("nothing finite  1 nan  2 inf")


def test_the_largest_contributions_are_named():
    x = np.decompose(np.array([1.0, -5.0, 3.0, 0.5]), labels=["a", "b", "c\n", "d"])
    with np.debug.trace(quiet=True) as steps:
        (2 * x).sum()
    assert steps[-1].largest == (("b", -10.0), ("c\n", 6.0), ("a", 2.0))
    assert str(steps[-1]).endswith("largest b -10, c\\n +6, a +2")


@pytest.mark.parametrize("of", ["functions", "methods", "operators", "scalars", "namespaces", "iteration", "torch"])
def test_all_kinds_of_operations_are_told_of(of):
    a, m = np.arange(1.0, 5.0), np.eye(2)
    s = np.float64(2.0)
    calls, expected = {
        "functions": (lambda: (np.where(a > 1, a, 0), np.zeros(2), np.array([1])), "__gt__ where zeros array"),
        "methods": (lambda: (a.cumsum(), a.reshape(2, 2).T, a.astype("f4")), "cumsum reshape T astype"),
        "operators": (
            lambda: (-a, 1 - a, a @ a, a // 2, a < 2),
            "__neg__ __rsub__ __matmul__ __floordiv__ __lt__",
        ),
        "scalars": (lambda: (s + 1, 1 / s, -s, s < 3, s**2), "__add__ __rtruediv__ __neg__ __lt__ __pow__"),
        "namespaces": (lambda: (np.linalg.inv(m), np.fft.fft(a), np.add.reduce(a)), "inv fft reduce"),
        "iteration": (lambda: list(a), "__iter__ __iter__ __iter__ __iter__"),
        "torch": (lambda: torch.exp(a.tensor) * 2, "torch.exp torch.mul"),
    }[of]
    for _ in range(2):  # methods are compiled when they are first asked for
        with np.debug.trace(quiet=True) as steps:
            calls()
        assert names(steps) == expected.split()


def test_operations_within_operations_are_npdecs_own_but_for_functions_of_the_program():
    with np.debug.trace(quiet=True) as steps:
        np.std(np.arange(4.0))
        np.apply_along_axis(lambda row: row.sum(), 1, np.ones((2, 3)))
        functools.reduce(np.add, [np.ones(2)] * 3)
    assert names(steps)[:2] == ["arange", "std"]
    assert names(steps)[2:].count("sum") >= 2
    assert names(steps)[-4:] == ["apply_along_axis", "ones", "add", "add"]


def test_models_of_torch_are_traced_and_decompose():
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    x = np.decompose(torch.tensor([[1.0, 2.0]]), axis=1, labels=["u", "v"])
    with np.debug.trace(quiet=True) as steps:
        y = net(x)
    assert names(steps) == ["torch.linear", "torch.relu"]
    largest = max(range(2), key=lambda i: float(y.components[i].detach().abs().max()))
    assert steps[-1].largest[0][0] == y.labels[largest]


def test_results_are_the_same_within():
    x = np.decompose(np.linspace(0.1, 2, 5), labels=list("abcde"))
    plain = program(x)
    with np.debug.trace(quiet=True), np.debug.watch():
        seen = program(x)
    numpy.testing.assert_array_equal(plain.components, seen.components)
    assert (plain.value, plain.residual, plain.labels) == (seen.value, seen.residual, seen.labels)


# -- whose operations --------------------------------------------------------------------------------------------------


def test_nothing_is_left_behind():
    assert sys.getprofile() is None
    with np.debug.trace(quiet=True) as outer:
        with np.debug.trace(quiet=True) as inner:
            np.ones(2)
        np.zeros(2)
    assert (names(outer), names(inner)) == (["ones", "zeros"], ["ones"])
    assert sys.getprofile() is None
    with pytest.raises(ZeroDivisionError), np.debug.trace(quiet=True):
        1 / 0
    assert sys.getprofile() is None
    assert not torch.overrides._get_current_function_mode_stack()


def test_an_outer_context_goes_on_where_an_inner_one_has_stopped():
    with np.debug.trace(quiet=True) as steps:
        with pytest.raises(FloatingPointError), np.debug.watch():
            np.log(np.array([0.0]))
        np.ones(2)
    assert names(steps) == ["array", "log", "ones"]


def test_other_threads_and_tasks_are_not_listed():
    with np.debug.trace(quiet=True) as steps:
        thread = threading.Thread(target=lambda: np.ones(3))
        thread.start()
        thread.join()
    assert not len(steps)

    async def other():
        np.full(3, np.nan) + 1
        await asyncio.sleep(0)
        return np.log(np.array([-1.0]))

    async def watching():
        task = asyncio.create_task(other())
        with np.debug.watch():
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return await task

    assert math.isnan(asyncio.run(watching())[0])


def test_a_profiler_is_not_replaced():
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: None)
    try:
        with pytest.raises(RuntimeError, match="a profiler is running"), np.debug.trace():
            pass
    finally:
        sys.setprofile(before)


def test_a_profiler_of_python_is_told_of_or_runs_beside():
    """From 3.12 on cProfile has a place of its own."""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        if sys.getprofile() is None:
            with np.debug.trace(quiet=True) as steps:
                np.zeros(3) + 1
            assert [step.name for step in steps] == ["zeros", "__add__"]
        else:
            with pytest.raises(RuntimeError, match=r"cProfile: disable\(\)"), np.debug.trace():
                pass
    finally:
        profiler.disable()


# -- watch -------------------------------------------------------------------------------------------------------------


def negative(x):
    centred = x - x.mean()
    variance = (centred**2).mean() - 1.0
    return centred / np.sqrt(variance)  # here


def infinite(x):
    y = np.exp(x)
    return 1 / (y - 1)  # here


def stored(x):
    y = np.ones(3)
    y[1:] = x[1]
    y[1:] /= np.arange(2.0)  # here
    return y


def large(x):
    for _ in range(40):
        x = x * 10  # here
    return x


def of_torch(x):
    t = torch.as_tensor(x.tensor)
    return torch.log(t - 1)  # here


@pytest.mark.parametrize(
    ("function", "options", "says"),
    [
        (negative, {}, r"sqrt makes nan: the result, nan; arguments: float64 scalar"),
        (infinite, {}, r"ndarray.__rtruediv__ makes an infinity: 1 of 2 elements; arguments: float64 \(2,\), 1"),
        (stored, {"nan": False}, r"ndarray.__itruediv__ makes an infinity: 1 of 2 elements"),
        (large, {"above": 1e20}, r"makes a magnitude above 1e\+20: 1 of 2 elements"),
        (of_torch, {}, r"torch.log makes nan: 1 of 2 elements; arguments: float64 \(2,\)"),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_it_stops_at_the_first(function, options, says):
    with pytest.raises(FloatingPointError, match=says) as caught, np.debug.watch(**options):
        function(np.array([0.0, 1.0]))
    line, text = line_of(function)
    assert str(caught.value).endswith(f"test_looking.py:{line}, in {function.__name__}: {text}")
    frames = traceback.extract_tb(caught.value.__traceback__)
    (own,) = [i for i, frame in enumerate(frames) if frame.name == function.__name__]
    assert frames[own].lineno == line
    assert len(frames) - own <= 3  # at most two of npdec's


def test_what_was_there_already_is_let_through():
    data = np.array([np.nan, np.inf, 1.0])
    with np.debug.watch(above=1e3):
        y = (data * 2).sum() + np.full(2, np.nan)
        np.where(np.isnan(data), 0.0, data) + np.inf
        np.empty(100)
        data[2] = np.nan
        np.float64(np.nan) + 1
    assert math.isnan(y[0])
    with pytest.raises(FloatingPointError, match="makes nan: 1 of 3"), np.debug.watch():
        np.sqrt(np.array([np.nan, -1.0, 2.0]))  # one more than there was
    with np.debug.watch(nan=False, inf=False):
        np.sqrt(np.array([-1.0]))


@pytest.mark.slow
def test_incomplete_operations_stop_it():
    def cube(t):
        if torch.overrides.has_torch_function((t,)):
            return torch.overrides.handle_torch_function(cube, (t,), t)  # here
        return t**3

    def wrong(t):
        return np.DecomposedTensor(t.value**3, t.residual**3, 3 * t.value**2 * t.components, t.labels)

    def model(t):
        u = torch.exp(t)
        return cube(u).sum()

    t = np.decompose(torch.tensor([0.2, 0.3], dtype=torch.float64))
    with np.debug.watch(completeness=True):
        (t * 2).sum()
    says = pytest.raises(CompletenessError, match=r"cube is incomplete by \d.*float64 \(2,\)")
    with np.overrides.registered(cube, wrong), says as caught, np.debug.watch(completeness=1e-6):
        model(t)
    assert str(caught.value).endswith(f":{line_of(cube)[0]}, in {cube.__qualname__}: {line_of(cube)[1]}")


def test_the_debugger_is_entered_at_the_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("p variance\nq\n"))
    x = np.array([1.0, 1.5, 2.0])
    with pytest.raises(FloatingPointError), np.debug.watch(debugger=True):
        negative(x)
    shown = capsys.readouterr().out
    assert "sqrt makes nan" in shown
    assert f"({line_of(negative)[0]})negative()" in shown
    assert str(numpy.float64(((numpy.asarray(x) - 1.5) ** 2).mean() - 1.0)) in shown


def test_bounds_are_numbers():
    with pytest.raises(ValueError, match="above is nan"), np.debug.watch(above=math.nan):
        pass
