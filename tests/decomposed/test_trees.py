"""Decomposed tensors as nodes of pytrees: torch.func, tree_map and torch.export, against loops over plain calls."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import checkpoint

import npdec as np

DOUBLE = torch.float64
PARTS = ("value", "residual", "components")


def normal(*shape, seed=0):
    return torch.randn(*shape, dtype=DOUBLE, generator=torch.Generator().manual_seed(seed))


def decomposed(*shape, axis=0, labels=None):
    """With components that are dense, and of a length that no other axis has."""
    start = np.decompose(normal(*shape), axis=axis, baseline=normal(*shape, seed=1), labels=labels)
    return start * 2 + normal(*shape, seed=2) * start.flip(axis)


def parts(t):
    return t.value, t.residual, t.components


def same(got, want, rtol=1e-12):
    assert type(got) is type(want) is np.DecomposedTensor
    assert (got.labels, got.reverse) == (want.labels, want.reverse)
    for name in PARTS:
        torch.testing.assert_close(getattr(got, name), getattr(want, name), rtol=rtol, atol=rtol)


X = decomposed(3, 4, 5, axis=1)
SQUARE = decomposed(3, 3, 3)  # as many components as there are rows and columns


# -- apart and together ------------------------------------------------------------------------------------------------


def test_round_trip():
    for t in (X, SQUARE, X[0, 0, 0], np.decompose(normal(2), labels=["a", ("b", 1)]), X.to(torch.complex128)):
        leaves, spec = pytree.tree_flatten({"t": [t]})
        same(pytree.tree_unflatten(leaves, spec)["t"][0], t)
        assert leaves[0] is t.value
        assert leaves[1] is t.residual
        assert leaves[2].shape[: t.value.ndim + 1] == (*t.value.shape, len(t.labels))
    one, other = (pytree.tree_structure(np.decompose(normal(2), labels=names)) for names in ("ab", "ba"))
    assert one != other
    assert one == pytree.tree_structure(np.decompose(normal(2), labels="ab"))


def test_reverse_mode_stays_it():
    seen = []

    def f(x):
        seen.append(pytree.tree_map(lambda leaf: leaf * 2, x))
        return seen[-1].sum()

    answer = np.attribute(f, normal(3))
    torch.testing.assert_close(answer.attribution, 2 * normal(3))
    assert seen[-1].reverse


def test_functions_of_trees():
    same(pytree.tree_map(lambda leaf: leaf * 2, {"t": X})["t"], X * 2)
    same(pytree.tree_map(torch.add, X, X * 3), X * 4)
    same(pytree.tree_map(lambda *rows: torch.stack(rows), *X), X)
    same(pytree.tree_map(torch.tanh, X, is_leaf=lambda t: isinstance(t, np.DecomposedTensor)), torch.tanh(X))
    assert pytree.tree_all(lambda leaf: leaf.dtype is DOUBLE, X)
    shapes = pytree.tree_map(lambda leaf: leaf.shape[:3], X)  # what is no tensor is only kept
    assert pytree.tree_leaves(shapes, is_leaf=lambda s: isinstance(s, tuple)) == [X.shape] * 3
    paths = [pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path({"t": X})[0]]
    assert paths == [f"['t'].{name}" for name in PARTS]


@pytest.mark.parametrize(
    "f",
    [lambda leaf: leaf.sum(), lambda leaf: leaf.flatten(), lambda leaf: leaf[..., 0, :], lambda leaf: leaf.sum(-2),
     lambda leaf: leaf.unsqueeze(-1), lambda leaf: torch.stack([leaf] * 3, -1),
     lambda leaf: torch.stack([leaf] * 3, -2)],
)  # fmt: skip
def test_leaves_that_do_not_fit(f):
    """The axis of the components is not taken for another one, though their lengths be equal."""
    with pytest.raises(ValueError, match="leaves of a decomposed tensor with 3 components have the shapes"):
        pytree.tree_map(f, SQUARE)


def test_what_torch_does_with_trees():
    same(checkpoint(torch.tanh, X, use_reentrant=False), torch.tanh(X))
    linear = nn.Linear(5, 2, dtype=DOUBLE)
    same(torch.func.functional_call(linear, dict(linear.named_parameters()), (X,)), linear(X))


def test_text_of_a_structure():
    spec = pytree.tree_structure([np.decompose(normal(3), labels=["a", ("b", 1, None), 2.5])])
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(TypeError, match=r"InputLabel cannot be written: give np\.decompose labels"):
        pytree.treespec_dumps(pytree.tree_structure(X))


@pytest.mark.slow
def test_nobody_who_decomposes_nothing_has_a_node():
    program = (
        "import torch, npdec as np\n"
        "from torch.utils._pytree import SUPPORTED_NODES\n"
        "before = np.DecomposedTensor in SUPPORTED_NODES\n"
        "np.decompose(torch.ones(2))\n"
        "print(before, np.DecomposedTensor in SUPPORTED_NODES)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


# -- torch.vmap --------------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "tanh": torch.tanh,
    "gelu": nn.functional.gelu,
    "matmul": lambda t: t @ t.mT,
    "softmax": lambda t: torch.softmax(t, -1) * t,
    "sum": lambda t: t.sum(),
    "det": lambda t: torch.linalg.det(t @ t.mT + torch.eye(t.shape[0], dtype=DOUBLE)),
    "by quadrature": torch.asinh,
    "layer_norm": lambda t: nn.functional.layer_norm(t, t.shape[-1:]),
    "index": lambda t: t[1:, ::2].flip(0),
    "in place": lambda t: (t * 1).mul_(2).add_(t),
}


@pytest.mark.parametrize("x", [X, SQUARE], ids=["other lengths", "equal lengths"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_is_a_loop(name, x):
    f = FUNCTIONS[name]
    for dim in (0, 1, 2, -1, -2, -3):
        want = torch.stack([f(row) for row in x.unbind(dim)])
        for out in range(-want.ndim, want.ndim):
            same(torch.func.vmap(f, dim, out)(x), want.movedim(0, out), rtol=1e-10)
    same(torch.func.vmap(f, chunk_size=2)(x), torch.stack([f(row) for row in x]), rtol=1e-10)


def test_vmap_over_nestings():
    w = normal(3, 5, seed=3)
    rows = torch.stack([a * b for a, b in zip(X, w, strict=True)])
    made = torch.vmap(lambda d, w: {"a": [d["t"] * w, w], "b": d["t"].sum()})({"t": X}, w)
    same(made["a"][0], rows)
    same(made["b"], rows.new_tensor(0) + X.sum((1, 2)))
    assert torch.equal(made["a"][1], w)
    made = torch.vmap(lambda d, w: (d[0] * w, d[0]), ([-3], None), (-1, 0))([X], w[0])
    same(made[0], (X * w[0]).movedim(0, -1))
    same(made[1], X)
    same(torch.vmap(torch.vmap(torch.tanh, -1, -1), 1, 1)(X), torch.tanh(X))
    same(torch.vmap(lambda a, b: a * b, (None, 0))(X[0], normal(3)), torch.stack([X[0] * n for n in normal(3)]))
    same(torch.vmap(torch.tanh, out_dims=(1,))(X), torch.tanh(X).movedim(0, 1))


def test_vmap_writes_where_it_looks():
    t = X.clone()
    torch.vmap(lambda row: row.mul_(2))(t)
    same(t, X * 2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: torch.vmap(torch.tanh, 3)(X), ValueError, "Got in_dim=3 for some input, but that input is a Tensor"),
        (lambda: torch.vmap(torch.tanh, -4)(X), ValueError, "-3 <= in_dim < 3"),
        (lambda: torch.vmap(torch.tanh)(X[0, 0, 0]), ValueError, "dimensionality 0"),
        (lambda: torch.vmap(torch.tanh, out_dims=-4)(X), IndexError, "out of range"),
        (lambda: torch.vmap(torch.tanh, out_dims=None)(X), ValueError, "out_dim is None"),
        (lambda: torch.vmap(torch.tanh, out_dims=(0, 1))(X), ValueError, "out_dims is not compatible"),
        (lambda: torch.vmap(lambda a, b: a * b)(X, normal(2)), ValueError, "same size in the mapped dimension"),
        (lambda: torch.vmap(torch.Tensor.item)(X[0, 0]), RuntimeError, "item"),
        (lambda: torch.vmap(lambda t: torch.zeros(4, 5, dtype=DOUBLE).copy_(t))(X), RuntimeError, "vmap: inplace"),
    ],
)
def test_what_cannot_be_mapped(call, error, words):
    with pytest.raises(error, match=words):
        call()


# -- derivatives -------------------------------------------------------------------------------------------------------


def loss(t):
    return (torch.tanh(t @ t.mT).components ** 2).sum() + torch.softmax(t, -1).value.max()


def by_parts(f, x):
    """The function of the three parts as plain tensors."""
    return lambda *given: f(np.DecomposedTensor(*given, x.labels))


def test_gradients_are_those_by_the_parts():
    x = X[0]
    want = torch.func.grad(by_parts(loss, x), (0, 1, 2))(*parts(x))
    got, value = torch.func.grad_and_value(loss)(x)
    torch.testing.assert_close(value, loss(x))
    assert got.labels == x.labels
    for a, b in zip(parts(got), want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
    with torch.no_grad():  # it is about the graph outside
        torch.testing.assert_close(torch.func.grad(loss)(x).components, want[2])


def test_the_gradient_of_a_decomposed_number_is_that_of_its_value():
    got = torch.func.grad(lambda t: torch.tanh(t).sum())(X)
    torch.testing.assert_close(got.value, 1 - torch.tanh(X.value) ** 2)
    assert not got.residual.any()
    assert not got.components.any()


def test_transforms_nest():
    rows = [torch.func.grad(loss)(row) for row in X]
    want = [torch.stack(each, axis) for axis, each in zip((0, 0, 1), zip(*map(parts, rows), strict=True), strict=True)]
    for got in (
        torch.func.vmap(torch.func.grad(loss))(X),
        torch.func.grad(lambda t: torch.func.vmap(loss)(t).sum())(X),
    ):
        for a, b in zip(parts(got), want, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
    again = torch.func.grad(lambda t: (torch.func.grad(loss)(t).components ** 2).sum())(X[0])
    inner = torch.func.grad(by_parts(loss, X[0]), 2)
    outer = torch.func.grad(lambda *given: (inner(*given) ** 2).sum(), (0, 1, 2))(*parts(X[0]))
    for a, b in zip(parts(again), outer, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


def test_products_with_the_jacobian():
    x, v = X[0], X[1]
    f = lambda t: torch.tanh(t) * t  # noqa: E731
    plain = lambda *given: parts(by_parts(f, x)(*given))  # noqa: E731
    primal, tangent = torch.func.jvp(f, (x,), (v,))
    want, slope = torch.func.jvp(plain, parts(x), parts(v))
    same(primal, f(x))
    for a, b in zip((*parts(primal), *parts(tangent)), (*want, *slope), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
    made, pull = torch.func.vjp(f, x)
    same(made, f(x))
    _, plain_pull = torch.func.vjp(plain, *parts(x))
    for a, b in zip(parts(pull(v)[0]), plain_pull(parts(v)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_jacobians():
    x = X[0, 0]
    f = lambda t: torch.tanh(t).components.sum(0)  # noqa: E731
    want = torch.func.jacrev(by_parts(f, x), (0, 1, 2))(*parts(x))
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        got = jacobian(f)(x)
        for a, b in zip(parts(got), (*want[:2], want[2].movedim(1, 0)), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
        nested = jacobian(torch.tanh)(x)  # of a decomposed result: each part's own, by the parts
        torch.testing.assert_close(nested.value.value, torch.diag(1 - torch.tanh(x.value) ** 2))


def test_parameters_of_a_model():
    linear = nn.Linear(5, 2, dtype=DOUBLE)
    parameters = {name: p.detach() for name, p in linear.named_parameters()}
    f = lambda p, t: (torch.func.functional_call(linear, p, (t,)).components ** 2).sum()  # noqa: E731
    got = torch.func.vmap(torch.func.grad(f), (None, 0))(parameters, X)
    for i, row in enumerate(X):
        torch.testing.assert_close(got["weight"][i], torch.func.grad(f)(parameters, row)["weight"])


# -- torch.export ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_export():
    """A program takes decomposed tensors apart and puts its results together; it is saved with the labels."""
    torch._dynamo.reset()
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).double()
    program = torch.export.export(model, (decomposed(2, 4, axis=1, labels="abcd"),), strict=True)
    x = np.decompose(normal(2, 4, seed=5), axis=1, labels="abcd")
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    with torch.no_grad():
        for ready in (program, torch.export.load(file)):
            same(ready.module()(x), model(x))
