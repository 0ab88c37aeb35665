"""np.jit and inductor: kernels of one graph share a file, recurrences compile in linear time, numbers are the same."""

from __future__ import annotations

import numpy
import pytest
import torch

import npdec as np

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("folder"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"),
    pytest.mark.filterwarnings("ignore:.*torch._prims_common.check:FutureWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A cache of inductor's for these tests alone: what it finds out about the machine takes longest."""
    made = tmp_path_factory.mktemp("inductor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(made))
        torch.compiler.reset()
        with torch._inductor.config.patch(compile_threads=1):
            yield made
        torch.compiler.reset()


@pytest.fixture
def files(folder):
    """How many files have been compiled since the test began."""
    count = lambda: len(list(folder.glob("*/*.main.cpp")))  # noqa: E731
    before = count()
    return lambda: count() - before


def network(np, x, w, v):
    """Kernels before, between and after products of matrices, which are none."""
    for _ in range(2):
        x = np.tanh(x @ w) + x.sum(0)
        w = w - 0.1 * (x.T @ x) / len(x)
    return (x @ v).max(0), w


def arguments():
    rng = numpy.random.default_rng(3)
    return rng.random((5, 4)), rng.random((4, 4)), rng.random((4, 2))


@pytest.mark.long
def test_kernels_of_a_graph_share_a_file(files):
    given = arguments()
    want = network(numpy, *given)
    fast = np.jit(lambda *args: network(np, *args), fullgraph=True)
    for _ in range(2):
        for made, theirs in zip(fast(*map(np.array, given)), want, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(made), theirs, rtol=1e-13)
    assert files() == 1
    # torch.compile, beside it in one process, makes a file of each as before.
    theirs = torch.compile(lambda *args: network(torch, *args), fullgraph=True)
    theirs(*map(torch.tensor, given))
    assert files() > 3


def test_processes_of_compilers_have_a_file_each(files):
    def shifted(x):
        for i in range(12):
            x = np.tanh(x) * np.cumsum(x, axis=0)[::-1] + i
        return x

    x = numpy.linspace(0.0, 1.0, 7)
    want = shifted(np.array(x))
    with torch._inductor.config.patch(compile_threads=2):
        made = np.jit(shifted, fullgraph=True)(np.array(x))
    numpy.testing.assert_allclose(numpy.asarray(made), numpy.asarray(want), rtol=1e-12)
    assert 1 <= files() <= 2


def test_a_division_by_zero_within_a_kernel_raises():
    fast = np.jit(lambda a, b: (torch.div(a, b, rounding_mode="floor"), (a.double() @ b.double()).tanh()))
    fast(torch.tensor([4, 6]), torch.tensor([2, 3]))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        fast(torch.tensor([4, 6]), torch.tensor([2, 0]))


@pytest.mark.long
@pytest.mark.parametrize(("kind", "shape"), [(np.float64, ()), (np.int64, (5,)), (np.float32, (5,))])
def test_recurrences_compile_in_time(kind, shape):
    """Each step uses the one before twice: written out, the last would have 2**40 terms."""

    def steps(x):
        for _ in range(40):
            x = (x * (3 - x)) % 5 if kind is np.int64 else 3.7 * x * (1 - x)
        return x

    x = kind(0.3) if not shape else np.array(numpy.linspace(0.2, 4.0, 5) / 5, dtype=kind)
    numpy.testing.assert_array_equal(numpy.asarray(np.jit(steps, fullgraph=True)(x)), numpy.asarray(steps(x)))


def test_options_of_inductor_are_the_callers():
    fast = np.jit(lambda x: x * 2, options={"realize_opcount_threshold": 50})
    assert fast(np.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="Unexpected optimization option"):
        np.jit(lambda x: x * 2, options={"nothing": 1}, fullgraph=True)(np.ones(2))


def test_booleans_beside_all_kinds_of_numbers():
    """Vectors of booleans are loaded, stored and made numbers of by code of npdec's own, whole ones and the ends."""
    kinds = ["float64", "float32", "int64", "uint8"]

    def masked(np, m, n, *xs):
        made = [m & ~n, m ^ n, m | (n > m), (m == n).sum()]
        for x in xs:
            less, more = x < 3, (x > 1) | m
            made += [less, more & n, np.where(more, x, x * m), less.astype(x.dtype), np.where(m, less, n), less.sum()]
        return made

    rng = numpy.random.default_rng(0)
    fast = np.jit(lambda *args: masked(np, *args), fullgraph=True)
    given = [rng.integers(0, 5, 83).astype(kind) for kind in ["bool", "bool", *kinds]]
    made = fast(*map(np.array, given))
    for i, (one, want) in enumerate(zip(made, masked(numpy, *given), strict=True)):
        assert one.dtype == want.dtype, i
        numpy.testing.assert_array_equal(numpy.asarray(one), want, err_msg=str(i))


def test_parts_of_masks_that_are_written():
    """inductor chooses between vectors of booleans of two widths, which compilers refuse."""

    def flood(np, grid, steps):
        seen = np.zeros(grid.shape, dtype=bool)
        seen[2, 3] = True
        distance = np.full(grid.shape, -1, dtype=np.int16)
        for step in range(1, steps):
            grown = seen.copy()
            grown[1:] |= seen[:-1]
            grown[:-1] |= seen[1:]
            grown[:, 1:] |= seen[:, :-1]
            grown[:, :-1] |= seen[:, 1:]
            grown &= grid
            distance[grown & ~seen] = step
            seen = grown
        return distance

    grid = numpy.random.default_rng(0).random((6, 7)) < 0.8
    made = np.jit(lambda grid: flood(np, grid, 4), fullgraph=True)(np.array(grid))
    assert made.tolist() == flood(numpy, grid, 4).tolist()


def test_products_with_a_large_matrix_are_a_librarys():
    from npdec._jit.rewording import reworded

    found = []

    def backend(graph, tensors):
        found.append([node.target for node in reworded(graph).graph.nodes])
        return graph.forward

    for n, target in ((63, torch.ops.aten.mv.default), (64, torch.ops.aten.mm.default)):
        a, x = numpy.random.default_rng(n).random((2, n, n))
        made = np.jit(lambda a, x: (a.T @ x, a @ x), backend=backend, fullgraph=True)(np.array(a), np.array(x[0]))
        assert found[-1].count(target) == 2
        for one, want in zip(made, (a.T @ x[0], a @ x[0]), strict=True):
            numpy.testing.assert_allclose(numpy.asarray(one), want, rtol=1e-13)


def tables(np, a, b, rows):
    """Tables that are written part by part and read in parts, and states that the next ones read at several places."""
    solved = np.zeros_like(b)
    for i in range(len(b)):
        solved[i] = (b[i] - a[i, :i] @ solved[:i]) / a[i, i]
    factors = a.copy()
    for k in range(len(a) - 1):
        factors[k + 1 :, k] /= factors[k, k]
        factors[k + 1 :, k + 1 :] -= np.outer(factors[k + 1 :, k], factors[k, k + 1 :])
    best = np.zeros(rows.shape[1])
    for i, row in enumerate(rows):
        new = best.copy()
        new[i + 1 :] = np.maximum(best[i + 1 :], best[: -i - 1] + row[i])
        best = new
    p = np.pad(b, 1, mode="edge")
    edges = p[:-2, 2:] + 2 * p[1:-1, 2:] - p[2:, :-2] * p[:-2, 1:-1]
    for i in range(len(rows)):
        rows[i, i:] -= 0.5 * rows[i, : rows.shape[1] - i]
        rows[:, i] += rows[:, -1 - i]
    return solved, factors, best, edges, rows[:3]


@pytest.mark.long
def test_tables_and_states_are_as_numpys():
    rng = numpy.random.default_rng(5)
    a, b, rows = rng.random((12, 12)) + 12 * numpy.eye(12), rng.random((12, 200)), rng.random((8, 40_000))
    given = [np.array(one) for one in (a, b, rows)]
    made = np.jit(lambda *args: tables(np, *args), fullgraph=True)(*given)
    for one, want in zip((*made, given[2]), (*tables(numpy, a, b, rows), rows), strict=True):
        numpy.testing.assert_allclose(numpy.asarray(one), want, rtol=1e-10, atol=1e-12)


def test_what_is_read_at_several_places_is_computed_once():
    from torch._inductor import inductor_prims
    from torch.fx.experimental.proxy_tensor import make_fx

    from npdec._torch.graph_pass import shared

    def realized(function, *shape):
        graph = make_fx(function, tracing_mode="fake")(torch.ones(shape)).graph
        before = [node.target for node in graph.nodes]
        shared()(graph)
        graph.lint()
        found = [node.target for node in graph.nodes]
        assert [target for target in found if target in before] == before
        return found.count(inductor_prims.force_stride_order)

    def after(reads):
        return lambda x: reads((x * 2).sin() + 1)

    assert realized(after(lambda y: y[1:] - y[:-1]), 2000) == 1
    assert realized(after(lambda y: y[1:] - y[:-1]), 1000) == 0
    assert realized(after(lambda y: y[:, 1:] * y[:, :-1]), 50, 50) == 1
    assert realized(after(lambda y: y * y + y.cos()), 2000) == 0
    assert realized(after(lambda y: y * 3 + y[:1]), 2000) == 0


def test_parts_of_concatenations_are_not_written_over():
    def waves(u, v):
        w = u * 2 - v
        ends = np.concatenate([w[-1:], w, w[:1]])
        z = ends[:-2] + ends[2:] - w * 2
        return z, z * 2 - w

    rng = numpy.random.default_rng(1)
    given = [np.array(rng.random(100)) for _ in range(2)]
    for made, want in zip(np.jit(waves, fullgraph=True)(*given), waves(*given), strict=True):
        np.testing.assert_allclose(made, want, rtol=1e-13)


def test_results_lie_apart():
    def copies(x):
        doubled = x * 2
        return doubled.copy(), doubled.copy(), x + 1, x + 1

    def written(x, y):
        x[1:] = y
        return x.copy(), x * 1

    for function, count in ((copies, 1), (written, 2)):
        fast = np.jit(function, fullgraph=True)
        for _ in range(2):
            given = [np.arange(5.0)[i:] for i in range(count)]
            results = fast(*given)
            for i, one in enumerate([*given, *results]):
                before = [other.copy() for other in (*given, *results)]
                one[...] = -1
                for j, other in enumerate((*given, *results)):
                    assert j == i or np.array_equal(other, before[j])


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_choices_and_writes_of_unsigned_integers_are_numpys(dtype):
    def f(np, x):
        y = np.zeros(40, dtype=x.dtype)
        y[0], y[1:], y[::2] = x[0], x[1:], x[::2] >> 1
        y[3:9] += x[:6]
        z = np.where(x & 1, (x >> 1) ^ x.dtype.type(0xB8), x >> 1)
        x[x > 7] = 3
        return x, y, z, np.where(x > 7, x, 0)

    x = numpy.random.default_rng(0).integers(0, numpy.iinfo(dtype).max, 40, dtype)
    made = np.jit(lambda x: f(np, x), fullgraph=True)(np.array(x))
    for one, want in zip(made, f(numpy, x), strict=True):
        assert one.dtype == want.dtype
        assert one.tolist() == want.tolist()
