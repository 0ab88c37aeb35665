"""Derivatives, batches and compilation of NumPy code, against torch.func, finite differences and plain loops."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import torch

import npdec as np
from npdec import func

SOURCE = numpy.random.default_rng(0)
X = SOURCE.normal(size=(3, 4))
V = SOURCE.normal(size=4)


def network(p, x):
    return np.tanh(x @ p["w"] + p["b"]).sum() + (p["more"][0] ** 2).mean() * p["more"][1]


def torch_network(p, x):
    return torch.tanh(x @ p["w"] + p["b"]).sum() + (p["more"][0] ** 2).mean() * p["more"][1]


PARAMETERS = {"w": SOURCE.normal(size=(4, 2)), "b": SOURCE.normal(size=2), "more": [SOURCE.normal(size=3), 2.0]}


def made(tree: Any, make: Any) -> Any:
    return torch.utils._pytree.tree_map(make, tree)


def arrays(tree: Any) -> Any:
    return made(tree, lambda leaf: leaf if isinstance(leaf, float) else np.array(leaf))


def tensors(tree: Any) -> Any:
    return made(tree, lambda leaf: torch.tensor(leaf, dtype=torch.float64))


def same(got: Any, want: Any, rtol: float = 1e-12) -> None:
    """Of one nesting, arrays and scalars of npdec where there are tensors."""
    (mine, one), (theirs, other) = (torch.utils._pytree.tree_flatten(tree) for tree in (got, want))
    assert one == other
    for g, w in zip(mine, theirs, strict=True):
        if isinstance(w, torch.Tensor):
            assert isinstance(g, np.ndarray if w.ndim else (np.ndarray, np.generic))
            numpy.testing.assert_allclose(numpy.asarray(g), w.numpy(), rtol=rtol, atol=1e-14)
        else:
            assert g == w


def numeric(f: Any, x: numpy.ndarray, h: float = 1e-6) -> numpy.ndarray:
    """Central differences of a function that gives one number."""
    result = numpy.zeros_like(x)
    for place in numpy.ndindex(x.shape):
        step = numpy.zeros_like(x)
        step[place] = h
        result[place] = (float(f(np.array(x + step))) - float(f(np.array(x - step)))) / (2 * h)
    return result


# -- gradients ---------------------------------------------------------------------------------------------------------


def loop(x):
    out = np.zeros(x.shape)
    for i in range(len(x)):
        out[i] = x[i] ** 2 + (out[i - 1] if i else 0)
    out *= 2
    return out[::-1].cumsum()[1:].sum()


PROGRAMS = {
    "sum": lambda x: (np.sin(x) ** 2).sum(),
    "mean": lambda x: np.mean(x) ** 3 + np.std(x) * np.var(x, ddof=1),
    "where": lambda x: np.where(x > 0, x, x**2 / 3).sum(),
    "linalg": lambda x: np.linalg.norm(np.outer(x, x) + np.eye(len(x)) * 5) + np.linalg.slogdet(
        np.outer(x, x) + np.eye(len(x)) * 5)[1],
    "solve": lambda x: np.linalg.solve(np.outer(x, x) + np.eye(len(x)) * 5, x).sum(),
    "assigned": loop,
    "fancy": lambda x: x[[0, 2, 2]].prod() + x[x > 0].sum(),
    "sorted": lambda x: (np.sort(x) * np.arange(len(x))).sum() + np.median(x),
    "joined": lambda x: np.concatenate([x, x[:2] ** 2]).reshape(2, -1).max(axis=1).sum(),
    "fft": lambda x: (np.abs(np.fft.rfft(x)) ** 2)[1:].sum(),
    "einsum": lambda x: np.einsum("i,j,i->", x, x, x),
    "branch": lambda x: x.sum() if x[0] > 0 else (x**3).sum(),
    "interp": lambda x: np.interp(0.5, np.arange(4.0), x) + np.dot(x, x),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_finite_differences(name):
    for x in (V, -V):
        gradient = np.grad(PROGRAMS[name])(np.array(x))
        assert isinstance(gradient, np.ndarray)
        numpy.testing.assert_allclose(numpy.asarray(gradient), numeric(PROGRAMS[name], x), rtol=1e-5, atol=1e-7)
        value, again = np.value_and_grad(PROGRAMS[name])(np.array(x))
        assert float(value) == float(PROGRAMS[name](np.array(x)))
        assert again.tolist() == gradient.tolist()


@pytest.mark.parametrize("argnums", [0, 1, -1, (0, 1), (1,), (-1, 0)], ids=str)
def test_argnums_and_nestings(argnums):
    got = np.grad(network, argnums)(arrays(PARAMETERS), np.array(X))
    want = torch.func.grad(torch_network, argnums)(tensors(PARAMETERS), torch.tensor(X))
    same(got, want)
    value, got = np.value_and_grad(network, argnums=argnums)(arrays(PARAMETERS), np.array(X))
    same(got, want)
    same(value, torch_network(tensors(PARAMETERS), torch.tensor(X)))


class Pair(NamedTuple):
    a: Any
    b: Any


def test_what_varies_keeps_its_kind():
    gradient = np.grad(lambda p: (p.a * 3).sum() + p.b)(Pair(np.ones(2), 1.0))
    assert isinstance(gradient, Pair)
    assert type(gradient.a) is np.ndarray
    assert type(gradient.b) is np.float64
    assert type(np.grad(np.sin)(np.array(0.5))) is np.ndarray
    assert type(np.grad(np.sin)(np.float32(0.5))) is np.float32
    assert type(np.grad(np.sin)(0.5)) is np.float64
    assert type(np.grad(lambda x: x.sum())(numpy.ones(2))) is np.ndarray
    assert type(np.grad(lambda x: x.sum())(torch.ones(2))) is torch.Tensor
    seen = []
    np.grad(lambda x, y: seen.append((x, y)) or x)(1.5, 2)
    assert isinstance(seen[0][0], np.float64)
    assert seen[0][1] == 2
    assert type(seen[0][1]) is int


def test_aux():
    def f(x):
        return (x**2).sum(), {"half": x / 2, "total": x.sum(), "n": len(x), "word": "yes"}

    x = np.array([1.0, 3.0])
    for found in (np.grad(f, has_aux=True)(x), np.value_and_grad(f, has_aux=True)(x)):
        aux, gradient = (found[1], found[0]) if isinstance(found[0], np.ndarray) else (found[0][1], found[1])
        assert gradient.tolist() == [2.0, 6.0]
        assert aux["half"].tolist() == [0.5, 1.5]
        assert type(aux["total"]) is np.float64
        assert (aux["n"], aux["word"]) == (2, "yes")
    assert np.value_and_grad(f, has_aux=True)(x)[0][0] == 10.0
    value, pull, aux = np.vjp(f, x, has_aux=True)
    assert (float(value), aux["word"], pull(2.0).tolist()) == (10.0, "yes", [4.0, 12.0])
    value, slope, aux = np.jvp(f, (x,), (np.ones(2),), has_aux=True)
    assert (float(value), float(slope), aux["n"]) == (10.0, 8.0, 2)
    with pytest.raises(TypeError, match="result, aux"):
        np.grad(lambda x: x.sum(), has_aux=True)(x)


def test_derivatives_of_derivatives():
    assert float(np.grad(np.grad(np.grad(np.sin)))(0.7)) == pytest.approx(-numpy.cos(0.7), rel=1e-12)
    hessian = np.vmap(lambda v: np.jvp(np.grad(PROGRAMS["mean"]), (np.array(V),), (v,))[1])(np.eye(4))
    want = torch.func.hessian(lambda t: t.mean() ** 3 + t.std(correction=0) * t.var(correction=1))(torch.tensor(V))
    same(hessian, want, rtol=1e-9)


def test_autograd_users_code():
    """What the introduction to autograd computes, with `from npdec import grad`."""

    def logistic(x):
        return 1.0 / (1.0 + np.exp(-x))

    inputs = np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
    targets = np.array([True, True, False, True])

    def loss(weights):
        p = logistic(np.dot(inputs, weights))
        return -np.sum(np.log(p * targets + (1 - p) * (1 - targets)))

    weights, slope = np.array([0.0, 0.0, 0.0]), np.grad(loss)
    before = loss(weights)
    numpy.testing.assert_allclose(numpy.asarray(slope(weights)), numeric(loss, numpy.zeros(3)), rtol=1e-6)
    for _ in range(100):
        weights -= slope(weights) * 0.01
    assert loss(weights) < 0.6 * before


# -- products with the Jacobian ----------------------------------------------------------------------------------------


def test_vjp_and_jvp():
    def f(lib):
        return lambda a, b: {"s": lib.sin(a) * b, "t": (a.sum(), b @ b)}

    a, b = V, SOURCE.normal(size=4)
    output, pull = np.vjp(f(np), np.array(a), np.array(b))
    want, torch_pull = torch.func.vjp(f(torch), torch.tensor(a), torch.tensor(b))
    same(output, want)
    cotangent = {"s": a * b, "t": (1.0, -2.0)}
    same(pull(arrays(cotangent)), torch_pull(tensors(cotangent)))
    same(
        np.jvp(f(np), (np.array(a), np.array(b)), (np.array(b), np.array(a))),
        torch.func.jvp(f(torch), (torch.tensor(a), torch.tensor(b)), (torch.tensor(b), torch.tensor(a))),
    )
    with pytest.raises(TypeError, match="nested"):
        pull(np.ones(4))
    with pytest.raises(ValueError, match=r"\(4,\)"):
        np.jvp(np.sin, (np.ones(4),), (np.ones(3),))


# -- batches -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("in_dims", "out_dims"), [(0, 0), ((0, None), 0), ((1, None), 1), ((None, 0), -1)], ids=str)
def test_vmap(in_dims, out_dims):
    def f(lib):
        return lambda a, b: lib.outer(a, b) @ b + a.sum()

    a, b = SOURCE.normal(size=(4, 4)), SOURCE.normal(size=(4, 4))
    if in_dims != 0:
        a, b = (a, b[0]) if in_dims[0] is not None else (a[0], b)
    got = np.vmap(f(np), in_dims, out_dims)(np.array(a), np.array(b))
    same(got, torch.vmap(f(torch), in_dims, out_dims)(torch.tensor(a), torch.tensor(b)))


def test_vmap_over_nestings_and_chunks():
    tree = {"a": np.array(X), "b": [np.array(V)]}
    f = lambda t, scale: {"x": t["a"] * scale + t["b"][0], "n": 3.0}  # noqa: E731
    got = np.vmap(f, in_dims=({"a": 0, "b": [None]}, None), chunk_size=2)(tree, 2.0)
    numpy.testing.assert_allclose(numpy.asarray(got["x"]), X * 2 + V)
    assert got["n"].tolist() == [3.0] * 3
    kinds = []
    np.vmap(lambda s: kinds.append(isinstance(s, np.float64)) or s * 2)(np.arange(3.0))
    assert kinds == [True]  # as x[0] of a 1-d array
    per_sample = np.vmap(np.grad(network), (None, 0))(arrays(PARAMETERS), np.array(X))
    rows = [np.grad(network)(arrays(PARAMETERS), np.array(row)) for row in X]
    numpy.testing.assert_allclose(numpy.asarray(per_sample["w"]), numpy.stack([numpy.asarray(r["w"]) for r in rows]))


def test_decomposed_batches():
    x = np.decompose(np.array(X), baseline=np.array(X[::-1].copy()))

    def f(row):
        return np.exp(row) / np.exp(row).sum() + row[::-1]

    def check(got, want):
        assert got.labels == want.labels
        for part in ("value", "residual", "components"):
            numpy.testing.assert_allclose(
                numpy.asarray(getattr(got, part)), numpy.asarray(getattr(want, part)), rtol=1e-12, atol=1e-14
            )

    rows = [f(row) for row in x]
    check(np.vmap(f)(x), np.stack(rows))
    check(np.vmap(f, chunk_size=2)(x), np.stack(rows))
    check(np.vmap(f, -1, -1)(x), np.stack([f(column) for column in x.T], -1))
    check(np.vmap(np.sum)(x), x.sum(1))
    check(np.vmap(lambda p, s: {"a": p["w"] * s, "b": 3.0}, (0, None))({"w": x}, 2.0)["a"], x * 2)
    check(
        np.vmap(lambda row: (np.decompose(row, labels="abcd") ** 2).sum())(np.array(X)),
        np.stack([(np.decompose(np.array(row), labels="abcd") ** 2).sum() for row in X]),
    )
    kinds = []
    np.vmap(lambda s: kinds.append(isinstance(s, np.float64)) or s * 2)(x[0])
    assert kinds == [True]


# -- compilation -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*")
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_jit(backend):
    torch.compiler.reset()

    @np.jit(backend=backend, fullgraph=True)
    def f(p, x):
        """Something."""
        return {"y": np.tanh(np.matmul(x, p["w"]) + p["b"]), "n": 3, "total": x.sum()}

    p = {name: np.array(PARAMETERS[name]) for name in "wb"}
    got = f(p, np.array(X))
    numpy.testing.assert_allclose(numpy.asarray(got["y"]), numpy.tanh(X @ PARAMETERS["w"] + PARAMETERS["b"]))
    assert (got["n"], type(got["total"])) == (3, np.float64)
    assert f.__doc__ == "Something."
    product = np.jit(lambda a, b: a @ b, backend=backend)  # breaks the graph
    numpy.testing.assert_allclose(numpy.asarray(product(np.array(X), np.array(V))), X @ V)
    d = np.decompose(np.array(X), axis=1)
    made = np.jit(lambda p: np.matmul(np.tanh(p["x"]), p["x"].T), backend=backend, fullgraph=True)({"x": d})
    plain = np.tanh(d) @ d.T
    assert made.labels == plain.labels
    numpy.testing.assert_allclose(numpy.asarray(made.components), numpy.asarray(plain.components), rtol=1e-12)
    slope = np.jit(np.grad(PROGRAMS["sum"]), backend=backend)
    numpy.testing.assert_allclose(numpy.asarray(slope(np.array(V))), numpy.sin(2 * V), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*")
def test_compiled_code_makes_arrays_on_the_default_device():
    torch.compiler.reset()
    with np.set_default_device("meta"):
        made = np.jit(lambda x: (np.zeros(3), np.ones(2), x + 1), backend="eager", fullgraph=True)(
            np.ones(3, device="cpu")
        )
    assert [x.device.type for x in made] == ["meta", "meta", "cpu"]


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: np.grad(np.sum)(np.arange(3)), "int64 has no derivatives"),
        (lambda: np.grad(np.square)(3), "an integer has no derivatives"),
        (lambda: np.grad(len)("text"), "only arrays and numbers"),
        (lambda: np.grad(lambda x: "text")(1.0), "returned 'str'"),
        (lambda: np.grad(np.sum)(np.decompose(np.ones(2))), "contributions"),
        (lambda: np.grad(lambda x: (np.decompose(np.ones(2)) * 2).sum())(1.0), "contributions"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_the_result_of_a_gradient_is_one_number():
    with pytest.raises(RuntimeError, match="scalar"):
        np.grad(np.sin)(np.ones(2))
    assert np.grad(lambda x: 3.0)(np.ones(2)).tolist() == [0.0, 0.0]


def test_the_examples_of_the_documentation():
    page = Path(__file__).parents[2] / "docs" / "func.md"
    assert doctest.testfile(str(page), module_relative=False, encoding="utf-8") == (0, 13)


def test_names_are_published():
    for name in func.__all__:
        assert getattr(np, name) is getattr(func, name)
        assert name in dir(np)
        assert name in np.__all__
    assert np.grad(np.tanh).__name__ == "grad(tanh)"
