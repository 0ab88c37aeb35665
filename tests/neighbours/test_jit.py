"""np.jit: results, aliasing and what is read from elsewhere are those of the function uncompiled, call after call."""

from __future__ import annotations

import doctest
import functools
import types
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import torch

import npdec as np
from jit_graphs import graphs

jit = functools.partial(np.jit, backend="eager")  # the graph as it is recorded; compilers are in the slow tests


def compiled(function: Any, **options: Any) -> Any:
    """Compiled, or an error."""
    return jit(function, fullgraph=True, **options)


def uncompiled(function: Any, *args: Any, match: str) -> Any:
    """What the function returns, with the one warning that it runs as it is."""
    fast = jit(function)
    with pytest.warns(UserWarning, match=match) as told:
        made = fast(*args)
    assert len(told) == 1
    assert str(told[0].message).startswith("np.jit runs ")
    return made


# -- results -----------------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    a: Any
    b: Any


def test_nestings_scalars_and_constants():
    def f(tree, pair, *, n=2):
        return {
            "x": [tree["x"] * n, (pair.a + 1, None)],
            "s": tree["x"].sum(),
            "n": len(tree["x"]),
            "pair": Pair(pair.b, 3),
        }

    fast = compiled(f)
    for x in (np.ones(3), np.arange(3.0)):
        args = {"x": x, "word": "yes"}, Pair(np.float32(2), np.array(4))
        made, want = fast(*args, n=3), f(*args, n=3)
        assert made["x"][0].tolist() == want["x"][0].tolist()
        assert type(made["x"][1][0]) is np.float32
        assert made["x"][1] == want["x"][1]
        assert type(made["s"]) is np.float64
        assert made["s"] == want["s"]
        assert made["n"] == 3
        assert made["pair"].a is args[1].b
        assert made["pair"].b == 3


def test_a_graph_serves_all_numbers_of_one_kind():
    fast, made = graphs(lambda x, n: x[n] * 2)
    x = np.arange(4.0)
    assert [float(fast(x + i, 1)) for i in range(3)] == [2.0, 4.0, 6.0]
    assert len(made) == 1
    assert float(fast(x, 2)) == 4.0  # a number of Python's is part of the graph
    assert fast(x.astype(np.float32), 2).dtype == np.float32
    assert fast(x[::2], 1) == 4.0
    assert len(made) == 4
    assert float(fast(x, 1)) == 2.0
    assert len(made) == 4


def test_the_sign_of_zero_and_types_of_numbers_make_graphs():
    fast = compiled(lambda x, s: np.copysign(x, s))  # noqa: PLW0108
    assert fast(np.ones(1), 0.0).tolist() == [1.0]
    assert fast(np.ones(1), -0.0).tolist() == [-1.0]
    times = compiled(lambda x, s: x * s)
    assert [times(np.ones(1, int), s).dtype.name for s in (True, 1, 1.0)] == ["int64", "int64", "float64"]


def test_arrays_of_numpy_and_tensors():
    fast = compiled(lambda x: (x + 1, x))
    given = numpy.ones(2)
    made, same = fast(given)
    assert type(made) is np.ndarray
    assert made.tolist() == [2.0, 2.0]
    tensor = torch.ones(2)
    made, same = fast(tensor)
    assert type(made) is torch.Tensor
    assert same is tensor


def test_static_arguments():
    def f(x, how, *, scale=1.0):
        return getattr(x, how)() * scale

    fast = compiled(f, static_argnums=1, static_argnames="scale")
    x = np.arange(3.0)
    for _ in range(2):
        assert float(fast(x, "sum", scale=2.0)) == 6.0
        assert float(fast(x, how="max", scale=2.0)) == 4.0
    with pytest.raises(ValueError, match="hashable"):
        fast(x, ["sum"])
    with pytest.raises(ValueError, match="no parameter"):
        np.jit(f, static_argnames="nothing")
    with pytest.raises(ValueError, match="which has 2"):
        np.jit(f, static_argnums=7)
    call = compiled(lambda g, x: g(x), static_argnums=0)
    assert float(call(np.sum, x)) == 3.0
    assert float(call(np.max, x)) == 2.0


def test_decorator():
    @np.jit(backend="eager", fullgraph=True)
    def f(x):
        """Something."""
        return x + 1

    assert f(np.zeros(1)).tolist() == [1.0]
    assert f.__doc__ == "Something."
    assert f.__wrapped__(np.zeros(1)).tolist() == [1.0]


# -- memory ------------------------------------------------------------------------------------------------------------


def writes(x):
    x[1:] += x[:-1]
    x *= 2
    return x.sum()


def through_a_view(x):
    row = x[0]
    row += 1
    x.T[1] = 5.0
    return row


def backwards(x):
    x[::-1][0] = 7.0


@pytest.mark.parametrize("function", [writes, through_a_view, backwards])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_argument_that_is_written_into_is_written(function, order):
    fast = compiled(function)
    for start in (0.0, 1.0):
        x, y = (np.array(numpy.arange(6.0).reshape(2, 3) + start, order=order) for _ in range(2))
        around, beside = np.zeros((2, 3)), x[:, 1]
        around[:] = x
        mirrored = x[:, ::-1]
        got, want = fast(x), function(y)
        assert x.tolist() == y.tolist()
        assert beside.tolist() == y[:, 1].tolist()
        assert mirrored.tolist() == y[:, ::-1].tolist()
        assert (got is None) == (want is None)
        if want is not None:
            assert got.tolist() == want.tolist()


def test_what_is_returned_is_an_argument_or_a_view_of_it():
    fast = compiled(lambda x, y: (x, x[1:], x.T, y + 1, x.reshape(-1)[::2], x[:, None]))
    for x in (np.zeros((2, 3)), np.ones((2, 3))):
        same, tail, turned, other, each, wide = fast(x, x[0])
        assert same is x
        for view in (tail, turned, each, wide):
            assert np.shares_memory(view, x)
            assert view.base is x
        assert not np.shares_memory(other, x)
        x[1, 0] = 9.0
        assert tail[0, 0] == 9.0
        assert turned[0, 1] == 9.0
        turned[2, 1] = 8.0
        assert x[1, 2] == 8.0
        tail[:] = np.decompose(np.ones((1, 3)), labels="abc")  # the family of arrays is one
        assert x.labels == ("a", "b", "c")
        assert turned.labels == ("a", "b", "c")


def test_results_that_share_memory():
    def f(x):
        y = x + 1
        return y, y[1:], y.T, y

    y, tail, turned, again = compiled(f)(np.zeros((2, 2)))
    y[1, 0] = 5.0
    assert tail[0, 0] == 5.0
    assert turned[0, 1] == 5.0
    assert again[1, 0] == 5.0
    fresh = compiled(f)(np.zeros((2, 2)))[0]
    assert fresh.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_results_are_new_at_each_call():
    table = np.arange(3.0)
    fast = compiled(lambda x: (x * 2, np.zeros(2), np.array([1.0, 2.0]), table))
    first = fast(np.ones(2))
    for made in first[:3]:
        made += 10
    again = fast(np.ones(2))
    assert [made.tolist() for made in again[:3]] == [[2.0, 2.0], [0.0, 0.0], [1.0, 2.0]]
    assert again[3] is table


def test_arguments_in_one_memory():
    def f(x, y):
        x[0] = 5.0
        return y + 0

    fast = jit(f)
    apart = np.zeros(3)
    assert fast(apart, np.ones(3)).tolist() == [1.0] * 3
    memory = np.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert fast(memory[:3], memory[:3]).tolist() == [5.0, 0.0, 0.0]
        both = np.zeros(3)
        assert fast(both, both).tolist() == [5.0, 0.0, 0.0]
        assert both.tolist() == [5.0, 0.0, 0.0]
    assert compiled(lambda x, y: x + y)(memory[1:], memory[:-1]).tolist() == [5.0, 0.0, 0.0]


def test_a_read_only_array():
    def f(x):
        x[0] = 1.0

    x = np.zeros(2)
    fast = jit(f)
    fast(x)
    x.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        fast(x)
    assert compiled(lambda x: x[:1])(x).flags.writeable is False


def test_memory_that_is_set_anew_runs_uncompiled():
    def f(x):
        x.shape = (2, 2)

    x = np.zeros(4)
    uncompiled(f, x, match="shape")
    assert x.shape == (2, 2)


# -- what is read elsewhere --------------------------------------------------------------------------------------------

FACTOR = 2.0
TABLE = np.array([1.0, 2.0, 3.0])
NESTED = {"a": [1.0, {"b": TABLE}], "n": 2}


def helper(x):
    return x * FACTOR


def test_a_global_that_changes(monkeypatch):
    fast = compiled(lambda x: helper(x))  # noqa: PLW0108
    assert fast(np.ones(1)).tolist() == [2.0]
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert fast(np.ones(1)).tolist() == [3.0]
    monkeypatch.setitem(globals(), "helper", lambda x: x - 1)
    assert fast(np.ones(1)).tolist() == [0.0]
    monkeypatch.undo()
    assert fast(np.ones(1)).tolist() == [2.0]


def test_an_array_that_is_no_argument():
    fast, made = graphs(lambda x: x + TABLE + NESTED["a"][1]["b"] * NESTED["n"])
    before = TABLE.copy()
    try:
        assert fast(np.zeros(3)).tolist() == [3.0, 6.0, 9.0]
        TABLE[0] = 10.0
        numpy.asarray(TABLE)[1] = 20.0  # unnoticed by torch
        assert fast(np.zeros(3)).tolist() == [30.0, 60.0, 9.0]
        assert len(made) == 1
        NESTED["n"] = 1
        assert fast(np.zeros(3)).tolist() == [20.0, 40.0, 6.0]
        NESTED["a"].append(0)
        assert fast(np.zeros(3)).tolist() == [20.0, 40.0, 6.0]
    finally:
        TABLE[:] = before
        NESTED["n"] = 2
        del NESTED["a"][2:]


def test_writing_into_an_array_that_is_no_argument():
    total = np.zeros(2)

    def f(x):
        total[:] += x
        return total[0]

    fast = compiled(f)
    assert [float(fast(np.ones(2))) for _ in range(3)] == [1.0, 2.0, 3.0]
    assert total.tolist() == [3.0, 3.0]


def test_variables_of_enclosing_functions():
    scale, shift = 2.0, [1.0]

    def f(x):
        return x * scale + shift[0]

    fast = compiled(f)
    assert fast(np.ones(1)).tolist() == [3.0]
    scale = 5.0
    assert fast(np.ones(1)).tolist() == [6.0]
    shift[0] = 0.0
    assert fast(np.ones(1)).tolist() == [5.0]


def test_defaults_and_recursion():
    def power(x, n=3):
        return x if n == 1 else x * power(x, n - 1)

    fast = compiled(power)
    assert fast(np.array([2.0])).tolist() == [8.0]
    power.__defaults__ = (2,)
    assert fast(np.array([2.0])).tolist() == [4.0]


def test_a_function_that_is_compiled_itself():
    factor = 2.0
    inner = compiled(lambda x: x * factor)
    outer = compiled(lambda x: inner(x) + 1)
    assert outer(np.ones(1)).tolist() == [3.0]
    factor = 4.0
    assert outer(np.ones(1)).tolist() == [5.0]


def test_objects_whose_changes_would_go_unnoticed():
    model = types.SimpleNamespace(weight=2.0)
    assert uncompiled(lambda x: x * model.weight, np.ones(1), match="'model', a SimpleNamespace").tolist() == [2.0]
    assert uncompiled(lambda m, x: x * m.weight, model, np.ones(1), match="'SimpleNamespace'").tolist() == [2.0]
    fast = jit(functools.partial(lambda m, x: x * m.weight, model))
    with pytest.warns(UserWarning, match="a SimpleNamespace"):
        assert fast(np.ones(1)).tolist() == [2.0]
    model.weight = 3.0
    assert fast(np.ones(1)).tolist() == [3.0]


class Settings:
    rate = 2.0


def test_attributes_of_classes_and_modules(monkeypatch):
    fast = compiled(lambda x: x * Settings.rate)
    assert fast(np.ones(1)).tolist() == [2.0]
    monkeypatch.setattr(Settings, "rate", 3.0)
    assert fast(np.ones(1)).tolist() == [3.0]
    module = types.ModuleType("somebodys")
    exec("rate = 2.0\ndef times(x):\n    return x * rate", vars(module))
    through = compiled(lambda x: module.times(x) + module.rate)
    assert through(np.ones(1)).tolist() == [4.0]
    module.rate = 3.0
    assert through(np.ones(1)).tolist() == [6.0]


def test_running_extremes_and_sums_are_one_operation():
    for name, dtypes in {
        "maximum": ("float64", "float32", "int16", "bool"),
        "minimum": ("float64", "int64"),
        "add": ("float64", "int32"),
        "multiply": ("float64", "int64"),
        "logical_or": ("bool",),
        "logical_and": ("bool",),
    }.items():
        for dtype in dtypes:
            fast, made = graphs(lambda x, name=name: getattr(np, name).accumulate(x, axis=-1))
            x = np.random.default_rng(0).integers(0, 3, (4, 30)).astype(dtype)
            found, want = fast(x), getattr(np, name).accumulate(x, axis=-1)
            assert found.dtype == want.dtype
            assert found.tolist() == want.tolist()
            assert len(made[0].graph.nodes) < 8
    slopes = compiled(np.grad(lambda x: np.maximum.accumulate(x).sum()))(np.array([1.0, 3.0, 2.0]))
    assert slopes.tolist() == [1.0, 2.0, 0.0]


def test_what_is_added_to_a_part_is_written_once():
    def f(x, y):
        x[1:] += y[:-1]
        x[0] *= 2
        x[:, 1] -= y[:, 0]
        x[1] = x[1]
        row = x[2]
        row += 1
        x[2] = row
        x[1] = row
        return x

    fast, made = graphs(f)
    given = np.arange(12.0).reshape(4, 3), np.ones((4, 3))
    want = f(given[0].copy(), given[1])
    assert fast(*given).tolist() == want.tolist()
    writes = [node for node in made[0].graph.nodes if getattr(node.target, "_schema", None) is not None]
    assert sum(node.target._schema.is_mutable for node in writes) == 5


def test_subtract_at():
    def f(x, i, j, y):
        np.subtract.at(x, (i, j), y)
        np.subtract.at(x, i, 1.0)
        return x

    given = np.ones((3, 2)), np.array([0, 2, 0]), np.array([1, 1, 1]), np.array([1.0, 2.0, 4.0])
    want = f(given[0].copy(), *given[1:])
    assert compiled(f)(*given).tolist() == want.tolist()


def test_text_is_no_part_of_a_graph():
    for text in (lambda x: str(x), lambda x: repr(x), lambda x: f"{x}"):  # noqa: PLW0108
        assert uncompiled(text, np.ones(2), match="text is made of an array") == text(np.ones(2))


def test_writing_into_an_array_of_numpys():
    def f(x):
        x[0] = 5.0
        return x.sum()

    whole = numpy.ones(4)
    assert float(compiled(f)(whole)) == 8.0
    assert whole.tolist() == [5.0, 1.0, 1.0, 1.0]
    assert float(uncompiled(f, whole[::-1], match="torch has to copy")) == 12.0
    assert whole[3] == 5.0


COUNT = 0


def counts(x):
    global COUNT  # noqa: PLW0603
    COUNT += 1
    return x + COUNT


def test_what_a_function_does_elsewhere_it_does_at_every_call():
    assert uncompiled(counts, np.zeros(1), match="COUNT").tolist() == [1.0]
    seen, number = [], 0

    def notes(x):
        seen.append(1)
        return x

    fast = jit(notes)
    with pytest.warns(UserWarning, match="changes 'seen'"):
        fast(np.zeros(1))
    fast(np.zeros(1))
    assert seen == [1, 1]

    def numbers(x):
        nonlocal number
        number += 1
        return x

    uncompiled(numbers, np.zeros(1), match="changes the variable 'number'")
    assert number == 1
    parameters = {"w": np.ones(2)}

    def replaces(p):
        p["w"] = p["w"] * 2

    uncompiled(replaces, parameters, match="changes a dict that is given")
    assert parameters["w"].tolist() == [2.0, 2.0]


def test_what_prints_or_looks_at_the_clock(capsys):
    import random
    import time

    def prints(x):
        print("here")  # noqa: T201
        return x

    fast = jit(prints)
    with pytest.warns(UserWarning, match=r"print\(\)"):
        fast(np.zeros(1))
    fast(np.zeros(1))
    assert capsys.readouterr().out == "here\nhere\n"
    uncompiled(lambda x: x + time.time(), np.zeros(1), match="'time'")
    uncompiled(lambda x: x + random.random(), np.zeros(1), match="'random'")


# -- random numbers ----------------------------------------------------------------------------------------------------


def draws(rng, x):
    y = rng.normal(size=3) * x + rng.integers(0, 9, 3)
    return y, rng.random((2, 2)), rng.permutation(4), rng.choice(5, size=2)


@pytest.mark.parametrize("seed", [3, torch.Generator().manual_seed(3)], ids=["NumPy", "torch"])
def test_a_generator_draws_what_it_draws_uncompiled(seed):
    def source():
        if isinstance(seed, int):
            return np.random.default_rng(seed)
        return np.random.Generator(torch.Generator().manual_seed(3))

    ours, theirs, fast = source(), source(), compiled(draws)
    for x in (1.0, 2.0, 3.0):
        for a, b in zip(fast(ours, np.float64(x)), draws(theirs, np.float64(x)), strict=True):
            assert a.tolist() == b.tolist()
    assert ours.random() == theirs.random()


def test_numbers_drawn_at_random_are_no_constants():
    state = np.random.default_rng(0)
    for f in (
        lambda x: x + np.random.rand(),
        lambda x: x + np.random.default_rng().random(3),
        lambda x: x + torch.rand(3).numpy(),
        lambda x: x + state.random(3),
    ):
        fast = jit(f)
        with pytest.warns(UserWarning, match="np.jit runs"):
            first = fast(np.zeros(3))
        assert first.tolist() != fast(np.zeros(3)).tolist()


# -- numbers that Python asks for --------------------------------------------------------------------------------------


def test_a_branch_that_depends_on_numbers():
    def f(x):
        if x.sum() > 0:
            return x * 2
        x -= 1
        return x

    fast, made = graphs(f)
    for start in (1.0, 2.0, -1.0, 3.0, -2.0):
        x, y = np.full(2, start), np.full(2, start)
        assert fast(x).tolist() == f(y).tolist()
        assert x.tolist() == y.tolist()
    assert len(made) == 2


def test_a_loop_until_something_holds():
    def f(x):
        for step in range(50):  # noqa: B007
            if np.abs(x).max() < 0.1:
                break
            x = x / 2
        return x, step

    fast, made = graphs(f)
    for start in (1.0, 1.1, 4.0, 1.0):
        got, want = fast(np.array([start])), f(np.array([start]))
        assert got[0].tolist() == want[0].tolist()
        assert got[1] == want[1]
    assert len(made) == 2


def test_an_error_that_depends_on_numbers_is_raised():
    fast = jit(lambda x, i: x[i])
    x = np.arange(3.0)
    assert fast(x, np.array([0, 2])).tolist() == [0.0, 2.0]
    assert fast(x, np.array([-1, 0])).tolist() == [2.0, 0.0]
    with pytest.raises(IndexError, match="out of bounds"):
        fast(x, np.array([0, 3]))
    loose = jit(lambda a: np.linalg.inv(a))  # noqa: PLW0108
    assert loose(np.eye(2)).tolist() == np.eye(2).tolist()
    with pytest.raises(np.linalg.LinAlgError):
        loose(np.zeros((2, 2)))


def test_too_many_ways():
    def f(x):
        return x * int(x.sum())

    fast = jit(f)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for i in range(12):
            assert fast(np.array([i])).tolist() == [i * i]
    assert len(told) == 1
    assert "8 calls" in str(told[0].message)


def test_numbers_that_leave_the_graph():
    assert uncompiled(lambda x: round(float(x.sum()), 1), np.ones(2), match=r"float.*test_jit.py: .*round") == 2.0
    with pytest.raises(RuntimeError, match=r"np\.jit"):
        compiled(lambda x: f"{x.sum():.1f}")(np.ones(2))
    x = np.array([1.5, 2.0])
    for bytes_of in (lambda x: x.tobytes(), bytes, lambda x: x[0].tobytes(), lambda x: x.astype(np.uint8).tobytes()):
        assert uncompiled(bytes_of, x, match="bytes") == bytes_of(x)
    pieces = [lambda t: -t, lambda t: t * t]
    assert jit(lambda x: np.piecewise(x, [x < 2, x >= 2], pieces))(x).tolist() == [-1.5, 4.0]


def test_memory_that_two_arrays_share():
    f = compiled(lambda x: (np.may_share_memory(x, x + 1), np.shares_memory(x, x[1:]), np.shares_memory(x[:1], x[1:])))
    assert f(np.ones(3)) == (False, True, False)


@pytest.mark.slow
def test_a_loop_that_is_too_long():
    def f(x):
        for _ in range(3000):
            x = x * 0.5 + 1
        return x

    assert uncompiled(f, np.ones(1), match=r"4000 operations.*test_jit.py: x = x \* 0.5").tolist() == [2.0]


def test_errors_of_the_function():
    fast = jit(lambda x, y: x + y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(ValueError, match="broadcast"):
                fast(np.ones(2), np.ones(3))


def test_an_error_that_the_function_catches():
    def f(x):
        try:
            return x * round(float(x.sum()))
        except Exception:
            return x

    assert uncompiled(f, np.ones(2), match="float").tolist() == [2.0, 2.0]


# -- with others -------------------------------------------------------------------------------------------------------


def test_derivatives_and_batches_within():
    def f(x):
        slope = np.grad(lambda y: (np.sin(y) * y).sum())(x)
        return slope, np.vmap(lambda r: r * r.sum())(np.outer(x, x))

    fast = compiled(f)
    for x in (np.arange(3.0), np.ones(3)):
        for got, want in zip(fast(x), f(x), strict=True):
            numpy.testing.assert_allclose(numpy.asarray(got), numpy.asarray(want), rtol=1e-14)


def test_within_derivatives_and_batches():
    fast = jit(lambda x: (np.sin(x) ** 2).sum())
    x = np.arange(3.0)
    numpy.testing.assert_allclose(numpy.asarray(np.grad(fast)(x)), numpy.sin(2 * numpy.arange(3.0)), rtol=1e-14)
    numpy.testing.assert_allclose(
        numpy.asarray(np.vmap(fast)(np.outer(x, x))), (numpy.sin(numpy.outer([0, 1, 2], [0, 1, 2])) ** 2).sum(1)
    )


def test_autograd_through_a_compiled_function():
    fast = compiled(lambda x: (x**3).sum())
    tensor = torch.arange(3.0, dtype=torch.float64, requires_grad=True)
    fast(tensor).backward()
    assert tensor.grad.tolist() == [0.0, 3.0, 12.0]
    with torch.no_grad():
        assert not fast(tensor).requires_grad


def test_floating_point_errors_are_looked_for():
    fast = jit(lambda x: 1 / x)
    fast(np.zeros(1))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        fast(np.zeros(1))


def test_devices_are_part_of_the_kind():
    fast = compiled(lambda x: x + np.ones(2))
    assert fast(np.zeros(2)).tolist() == [1.0, 1.0]
    with np.set_default_device("meta"):
        assert compiled(lambda x: np.ones(2))(np.ones(2, device="cpu")).device.type == "meta"


def test_the_examples_of_the_documentation():
    page = Path(__file__).parents[2] / "docs" / "compile.md"
    assert doctest.testfile(str(page), module_relative=False, encoding="utf-8") == (0, 5)
