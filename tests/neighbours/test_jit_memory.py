"""np.jit knows what has been written: random programs of writes and reads give what they give under NumPy."""

from __future__ import annotations

import numpy
import pytest
import torch

import npdec as np
from jit_programs import Drawn, difference

SHAPES = [(6,), (4, 5), (3, 4, 2)]
DTYPES = ["float64", "int64", "float32", "bool"]


def key_of(rng, shape):
    """An index of few axes: integers, slices with steps, new axes."""
    key = []
    for size in shape[: rng.integers(1, len(shape) + 1)]:
        if rng.random() < 0.45:
            key.append(int(rng.integers(-size, size)))
        else:
            start = int(rng.integers(0, size))
            key.append(slice(start, int(rng.integers(start, size + 1)), int(rng.integers(1, 3))))
    if rng.random() < 0.15:
        key.insert(0, None)
    return tuple(key)


def program(seed):
    """A function of a library and two arrays, made of writes into tables and reads of them."""
    rng = numpy.random.default_rng(seed)
    shape = SHAPES[rng.integers(len(SHAPES))]
    kinds = [DTYPES[i] for i in rng.choice(len(DTYPES), 2, p=[0.5, 0.2, 0.2, 0.1])]
    steps = []
    for _ in range(rng.integers(4, 12)):
        kind = rng.choice(["cell", "copy", "number", "inplace", "view", "table"], p=[0.4, 0.2, 0.1, 0.15, 0.1, 0.05])
        steps.append(
            (str(kind), rng.integers(3, size=2), key_of(rng, shape), key_of(rng, shape), float(rng.integers(-3, 4)))
        )
    last = [key_of(rng, shape) for _ in range(3)]

    def run(np, given, other):
        tables = [np.zeros(shape, kinds[0]), np.full(shape, 3, kinds[1]), given]
        held = []
        for kind, (a, b), key, its, number in steps:
            target, source = tables[a], tables[b]
            if kind == "number":
                target[key] = number
            elif kind == "cell":  # as large as the place asks for, or one number
                place, read = target[key], source[its]
                value = read.sum() if read.shape != place.shape else read + read
                target[key] = value.astype(target.dtype)
            elif kind == "copy":
                value = source[its] if source[its].shape == target[key].shape and a != b else other[key]
                # A number of another kind is checked when it is written: whether it is one depends on the arguments.
                target[key] = value if value.shape else value.astype(target.dtype)
            elif kind == "inplace":
                if target.dtype.kind == "f":
                    target[key] += number
                held.append(target[its] * 1)
            elif kind == "view":
                view = target[:1]
                view[...] = number
                held.append(view[..., :1] + other[:1, ...][..., :1])
            else:
                tables[b] = source.copy()
                held.append(tables[b])
        return [*held, *(tables[i][key] for i, key in enumerate(last)), *(t.sum() for t in tables), tables[1]]

    return run, rng.integers(-4, 5, shape).astype(float), rng.integers(-4, 5, shape).astype(float)


def compare(seed, **options):
    run, given, other = program(seed)
    theirs = given.copy(), other.copy()
    with numpy.errstate(all="ignore"):
        want = run(numpy, *theirs)
    fast = np.jit(lambda given, other: run(np, given, other), fullgraph=True, **options)
    for _ in range(2):
        ours = np.array(given), np.array(other)
        made = fast(*ours)
        for mine, its in zip([*made, *ours], [*want, *theirs], strict=True):
            assert numpy.asarray(mine).dtype == its.dtype
            numpy.testing.assert_array_equal(numpy.asarray(mine), its, err_msg=f"program {seed}")


@pytest.mark.parametrize("start", [0, *(pytest.param(i, marks=pytest.mark.long) for i in range(1, 82, 27))])
def test_random_programs_of_writes(start):
    for seed in range(start, start + 27 if start else 1):
        compare(seed, backend="eager")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*")
@pytest.mark.filterwarnings("ignore:.*torch._prims_common.check:FutureWarning")
@pytest.mark.parametrize("seed", range(1000, 1003))
def test_random_programs_of_writes_compiled(seed):
    compare(seed)


def holds(seeds):
    for seed in seeds:
        drawn = Drawn(seed)
        assert not difference(drawn, backend="eager"), drawn.source


def test_random_programs_of_views():
    holds(range(4))


@pytest.mark.long
@pytest.mark.parametrize("start", range(100, 160, 30))
def test_more_random_programs_of_views(start):
    holds(range(start, start + 30))


def reads_of(function, *args):
    """How many operations of the graph look at memory that is written, and what the function returns."""
    counts = []

    def backend(graph, inputs):
        nodes = graph.graph.nodes
        bases = {node.args[0] for node in nodes if node.target is torch.ops.aten.copy_.default}
        views = {torch.ops.aten.select.int, torch.ops.aten.slice.Tensor, torch.ops.aten.copy_.default}
        counts.append(
            sum(any(arg in bases for arg in node.all_input_nodes) and node.target not in views for node in nodes)
        )
        return graph.forward

    return np.jit(function, fullgraph=True, backend=backend)(*args), counts[0]


def test_a_table_that_is_filled_is_not_read():
    def recurrence(x):
        table = np.zeros((len(x), 3))
        for i in range(len(x)):
            for j in range(3):
                table[i, j] = x[i] + 2 * table[i - 1, j]
        return table[-1, 1]

    x = numpy.arange(4.0)
    made, reads = reads_of(recurrence, np.array(x))
    assert made == 0 + 3 + 2 * (2 + 2 * 1)
    assert reads == 0


def test_what_was_written_may_change_later():
    def f(x):
        table, row = np.zeros((2, 3)), x + 1
        table[0] = row
        row[1] = 7.0
        return table[0] * 1, row

    made, row = np.jit(f, fullgraph=True, backend="eager")(np.zeros(3))
    assert made.tolist() == [1.0, 1.0, 1.0]
    assert row.tolist() == [1.0, 7.0, 1.0]


def test_results_of_one_value_have_memories_of_their_own():
    def f(x):
        table, row = np.zeros((2, 3)), x + 1
        table[0] = row
        return table[0], row

    a, b = np.jit(f, fullgraph=True, backend="eager")(np.zeros(3))
    a[0] = 5.0
    assert b.tolist() == [1.0, 1.0, 1.0]


def test_errors_are_those_of_the_function():
    def f(x):
        table = np.zeros((2, 3))
        table[0] = x
        return table[0]

    with pytest.raises(ValueError, match="broadcast"):
        np.jit(f, backend="eager")(np.ones(4))


def test_slices_are_read_and_given():
    inner = slice(1, None, 2)
    made = np.jit(lambda x, where: (x[inner], x[where]), fullgraph=True, backend="eager")
    for where in (slice(2), slice(1, 3), slice(2)):
        odd, some = made(np.arange(5.0), where)
        assert odd.tolist() == [1.0, 3.0]
        assert some.tolist() == numpy.arange(5.0)[where].tolist()


# -- memory that is not what it seems ----------------------------------------------------------------------------------


def eager(function):
    return np.jit(function, fullgraph=True, backend="eager")


@pytest.mark.parametrize("strides", [(0, 8), (8, 8), (80, 8)])
def test_an_axis_of_one_element_has_any_stride(strides):
    def f(x):
        x[0, 1] = 7.0
        return x[:, 1] + x[0, 2]

    x = numpy.arange(5.0)
    seen = numpy.lib.stride_tricks.as_strided(x, (1, 5), strides)
    assert eager(f)(seen).tolist() == [9.0]
    assert x.tolist() == [0.0, 7.0, 2.0, 3.0, 4.0]


def test_rows_that_were_written_alike_lie_in_memory_as_new_ones():
    def f(x, other):
        table = np.zeros((3, 4))
        table[...] = x
        made = table + other.T  # as the table lies
        return np.lib.stride_tricks.as_strided(made, (12,), (8,)), made

    x, other = numpy.arange(4.0), numpy.arange(12.0).reshape(4, 3)
    flat, made = eager(f)(np.array(x), np.array(other))
    assert flat.tolist() == (x + other.T).ravel().tolist()
    assert made.flags.c_contiguous


@pytest.mark.parametrize("how", ["data", "set_", "resize_", "t_", "unsqueeze_"])
def test_a_tensor_that_gets_other_memory_or_another_shape_runs_uncompiled(how):
    def f(x):
        y = x + 1
        if how == "data":
            y.data = x * 3
        elif how == "set_":
            y.set_(x * 3)
        elif how == "resize_":
            y.resize_(1, 2)
        else:
            getattr(y, how)(*((0,) if how == "unsqueeze_" else ()))
        return y * 2

    x = torch.arange(6.0).reshape(2, 3)
    with pytest.warns(UserWarning, match="another shape or other memory|resize|set_|storage"):
        made = np.jit(f, backend="eager")(x)
    assert made.shape == f(x).shape
    assert torch.equal(made, f(x))


def test_an_address_is_not_taken_for_the_memory_that_was_there():
    def f(x):
        total = np.zeros(4)
        for i in range(20):
            table = np.zeros(4)
            table[i % 4] = x[i % 3]
            total += table * table[::2].sum()
            del table
        return total

    x = numpy.arange(1.0, 4.0)
    want = numpy.zeros(4)
    for i in range(20):
        table = numpy.zeros(4)
        table[i % 4] = x[i % 3]
        want += table * table[::2].sum()
    assert eager(f)(np.array(x)).tolist() == want.tolist()


def test_an_argument_and_its_reversed_view_are_one_memory():
    def f(x, y):
        x[0] = 7.0
        return y[-1] + 0

    fast = np.jit(f, backend="eager")
    assert fast(np.zeros(3), np.zeros(3)) == 0
    x = np.zeros(3)
    with pytest.warns(UserWarning, match="one memory"):
        assert fast(x, x[::-1]) == 7
    assert fast(np.zeros(3), np.zeros(3)) == 0


def test_views_of_reversed_views_that_are_seen_outside_stay_views():
    def of_argument(x):
        return x[::-1].T[1:]

    def of_result(x):
        y = x + 1
        return y, y[::-1].T[1:]

    def of_two(x):
        y = x + 1
        return y[::-1][1:], y[::-1, ::-1]

    x = numpy.arange(6.0).reshape(2, 3)
    for f in (of_argument, of_result, of_two):
        mine, theirs = np.array(x), x.copy()
        fast = np.jit(f, backend="eager")
        with pytest.warns(UserWarning, match="reversed view"):
            got = fast(mine)
        got, want = (list(one) if isinstance(one, tuple) else [one] for one in (got, f(theirs)))
        got[-1][-1:] = want[-1][-1:] = 9.0
        for one, other in zip([mine, *got], [theirs, *want]):
            assert one.tolist() == other.tolist()


def test_read_only_views_of_arguments_are_read_only():
    got = eager(lambda x: (np.broadcast_to(x, (2, 3)), np.diagonal(x[None]), x[1:]))(np.zeros(3))
    assert [one.flags.writeable for one in got] == [False, False, True]
    assert not got[0][0].flags.writeable


def test_derivatives_through_what_was_written():
    def f(x):
        table = np.zeros((3, 2))
        for i in range(3):
            table[i] = x * table[i - 1].sum() + x
        return table[-1].sum() * table[0, 0]

    x = torch.tensor([0.5, 2.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda t: eager(f)(np.array(t)).tensor, x.requires_grad_())


def test_arguments_in_one_memory_do_not_spoil_the_graph_of_others():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return lambda *args: (graphs.append("ran"), graph.forward(*args))[1]

    def f(x, y):
        x[0] = 7.0
        return y[1] + 0

    fast = np.jit(f, backend=backend)
    x = np.zeros(4)
    with pytest.warns(UserWarning, match="one memory"):
        assert fast(x[:3], x[1:]) == 0
    assert fast(x[1:], x[1:].copy()) == 0
    assert fast(x[1:], x[:3]) == 7  # and says it once
    assert fast(np.zeros(3), np.zeros(3)) == 0
    assert len(graphs) == 3
    assert graphs.count("ran") == 2


def products(lib, x, a):
    """torch gives what it makes of a vector another shape in place."""
    made = x @ a
    made[0] = 9.0
    return made, a @ x, x @ a @ x, x @ x, lib.dot(x, a) * 2, (made * 2)[1:]


def test_products_of_vectors_are_operations_of_a_graph():
    x, a = numpy.arange(3.0), numpy.arange(9.0).reshape(3, 3)
    fast = np.jit(lambda x, a: products(np, x, a), backend="eager", fullgraph=True)
    for _ in range(2):
        for made, wanted in zip(fast(np.array(x), np.array(a)), products(numpy, x, a), strict=True):
            assert numpy.array_equal(numpy.asarray(made), wanted)


def test_what_was_there_before_is_known_as_well():
    """Columns of a copy that are scaled and subtracted from each other one by one: nobody reads the table."""

    def orthogonal(a):
        q = a.copy()
        for j in range(q.shape[1]):
            q[:, j] /= np.sqrt(q[:, j] @ q[:, j])
            for k in range(j + 1, q.shape[1]):
                q[:, k] -= (q[:, j] @ q[:, k]) * q[:, j]
        return q

    graphs = []

    def backend(graph, tensors):
        graphs.append(graph.graph)
        return graph.forward

    given = numpy.random.default_rng(0).random((6, 5))
    q = numpy.asarray(np.jit(orthogonal, backend=backend, fullgraph=True)(np.array(given)))
    numpy.testing.assert_allclose(q.T @ q, numpy.eye(5), atol=1e-12)
    numpy.testing.assert_allclose(q, numpy.asarray(orthogonal(np.array(given))), rtol=1e-12)
    # A compiler that drops the writes reads what was given, once for each column.
    cut = [node for node in graphs[0].nodes if node.target is torch.ops.aten.cat.default]
    assert len(cut) == 1
    assert list(cut[0].users) == [graphs[0].output_node()]
