"""Every kind of components, in every place where a tensor may stand: the law holds, whatever carries the numbers.

A kind is found here as soon as its file lies in npdec/_decomposed: a subclass of Components with `of`.
"""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import pkgutil

import pytest
import torch
import torch.nn.functional as F

import npdec as np
import npdec._decomposed
from npdec._decomposed.components import Components, Use
from path_integrals import randn, reference

for _module in pkgutil.iter_modules(npdec._decomposed.__path__, "npdec._decomposed."):
    importlib.import_module(_module.name)


class Minimal(Components):
    """A kind that says nothing but what it has to: all else is computed of the tensor."""

    __slots__ = ("held",)
    uses = Use.LINEAR | Use.LAW | Use.SUMS

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.held.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.held.dtype

    def dense(self) -> torch.Tensor:
        return self.held.clone()

    @classmethod
    def of(cls, components: torch.Tensor) -> Components:
        return cls(components.clone())


def _kinds(base: type[Components] = Components) -> list[type[Components]]:
    found = [kind for sub in base.__subclasses__() for kind in [sub, *_kinds(sub)]]
    return [kind for kind in found if "of" in vars(kind)]


KINDS = {kind.__name__: kind for kind in _kinds()}
LABELS = ("a", "b", "c")
R, C = randn(4, 6, seed=1), randn(3, 4, 6, seed=2)
X = R + C.sum(0)
W, FACTOR, OTHER = randn(6, 5, seed=3), randn(4, 6, seed=4), randn(2, 4, 6, seed=5)
KERNEL = randn(2, 4, 3, seed=6)

# Functions that torch differentiates, of a tensor (4, 6).
SMOOTH = {
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(1, keepdim=True),
    "total": lambda x: x.sum(),
    "reshape": lambda x: x.reshape(3, 8),
    "transpose": lambda x: x.T,
    "slice": lambda x: x[1:, ::2],
    "one element": lambda x: x[1, 2],
    "fancy": lambda x: x[[0, 2, 2], 1:],
    "mask": lambda x: x[FACTOR > 0],
    "product with a matrix": lambda x: x @ W,
    "product of a matrix": lambda x: W.T @ x[0],
    "layer": lambda x: F.linear(x, W.T, W[0, :5]),
    "scaled": lambda x: 2 * x * FACTOR / (1 + FACTOR**2) - x,
    "broadcast": lambda x: x * OTHER + FACTOR,
    "joined": lambda x: torch.cat([x, 2 * x], 1),
    "stacked": lambda x: torch.stack([x, -x]),
    "split": lambda x: x.split(4, 1)[1],
    "running sums": lambda x: x.cumsum(0),
    "padded": lambda x: F.pad(x, (1, 2)),
    "chosen": lambda x: torch.where(FACTOR > 0, x, 0.0),
    "flipped": lambda x: x.flip(0).roll(1, 1),
    "convolution": lambda x: F.conv1d(x[None], KERNEL),
    "mean pool": lambda x: F.avg_pool1d(x[None], 2),
    "curve": lambda x: torch.tanh(x) + torch.sigmoid(x) * 2,
    "exponential of a sum": lambda x: torch.exp(x / 8).sum(1),
    "square": lambda x: x * x,
    "scores": lambda x: x @ x.T,
    "hypotenuse": lambda x: torch.hypot(x, 2 + x * 0.1),
    "distribution": lambda x: torch.softmax(x, 1),
    "normal rows": lambda x: F.layer_norm(x, (6,), W[:, 0]),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
    "variance": lambda x: x.var(0),
}


def given(kind: str, labels=LABELS):
    return np.DecomposedTensor(X, R, KINDS[kind].of(C.clone()), labels)


each_kind = pytest.mark.parametrize("kind", sorted(KINDS))


def check(made, value, residual, components):
    torch.testing.assert_close(made.value, value, rtol=0, atol=1e-12)
    torch.testing.assert_close(made.residual, residual, rtol=0, atol=1e-12)
    torch.testing.assert_close(made.components.detach(), components, rtol=0, atol=1e-8)


def one_by_one(f, x, r):
    """The law for a function of each element alone: the slope between the ends."""
    return (f(x) - f(r)) / (x - r) * C


def test_kinds_are_found():
    assert len(KINDS) >= 4


@each_kind
def test_functions(kind):
    for name, f in SMOOTH.items():
        made = f(given(kind))
        if name == "curve":  # the law is applied to each function, not to what they are together
            wanted = one_by_one(torch.tanh, X, R) + 2 * one_by_one(torch.sigmoid, X, R)
        elif name == "exponential of a sum":
            wanted = one_by_one(lambda x: torch.exp(x / 8), X, R).sum(2)
        elif name == "hypotenuse":
            wanted = reference(f, X, R, C)
        else:
            wanted = reference(f, X, R, C)
        try:
            check(made, f(X), f(R), wanted)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


@each_kind
@pytest.mark.parametrize("f", [torch.relu, torch.abs, torch.round], ids=lambda f: f.__name__)
def test_functions_with_kinks_and_jumps(kind, f):
    check(f(given(kind)), f(X), f(R), one_by_one(f, X, R))


@each_kind
def test_maxima(kind):
    made = given(kind).amax(1)
    torch.testing.assert_close(made.residual + made.components.sum(0), X.amax(1))
    made = F.max_pool1d(given(kind)[None], 2)
    torch.testing.assert_close(made.residual + made.components.sum(0), F.max_pool1d(X[None], 2))


@each_kind
@pytest.mark.parametrize("other", sorted(KINDS))
def test_two_kinds_meet(kind, other):
    second = given(other)
    check(given(kind) - 2 * second, -X, -R, -C)
    check(given(kind) * second, X * X, R * R, C * (X + R))
    apart = given(kind) + given(other, ("d", "a", "e"))
    assert apart.labels == ("a", "b", "c", "d", "e")
    check(apart, 2 * X, 2 * R, torch.stack([C[0] + C[1], C[1], C[2], C[0], C[2]]))


@each_kind
def test_numbers_are_read_without_the_tensor(kind):
    torch.testing.assert_close(given(kind).c_sum(), X)
    torch.testing.assert_close(
        given(kind).groupby(["x", "y", "x"]).components.detach(), torch.stack([C[0] + C[2], C[1]])
    )
    sizes = C.abs().sum((1, 2))
    assert given(kind).top(1).labels == (LABELS[int(sizes.argmax())], "other")
    made = KINDS[kind].of(C.clone())
    assert (len(made), made.ndim, tuple(made.shape), made.dtype) == (3, 3, (3, 4, 6), C.dtype)
    for got, wanted in [
        (made.dense(), C),
        (made.sum(), C.sum(0)),
        (made.magnitude(), C.abs().sum(0)),
        (made.sizes(), sizes),
        (made.part(torch.tensor([True, False, True])), C[0] + C[2]),
        (made.contracted(FACTOR), (C * FACTOR).sum((1, 2))),
    ]:
        torch.testing.assert_close(got.detach(), wanted)


@each_kind
def test_each_method_does_what_it_does_of_the_tensor(kind):
    """Where a method has a result: None asks for the tensor."""

    def tensor(made):
        return made.detach() if isinstance(made, torch.Tensor) else made.dense().detach()

    def each(elements, factor):
        return elements * factor

    def row(elements, factor):
        return elements.cumsum(-1) * factor

    methods = {
        "negative": (lambda c: c.negative(), -C),
        "times": (lambda c: c.times(FACTOR), C * FACTOR),
        "to": (lambda c: c.to(torch.float32), C.to(torch.float32)),
        "each": (lambda c: c.each(each, FACTOR), C * FACTOR),
        "each_row": (lambda c: c.each_row(row, 1, FACTOR[:, :1]), C.cumsum(-1) * FACTOR[:, :1]),
        "each_column": (lambda c: c.each_column(each, FACTOR), C * FACTOR),
        "merged": (lambda c: c.merged([1, 0, 1], 2), torch.stack([C[1], C[0] + C[2]])),
        "weighted": (lambda c: c.weighted(FACTOR, [1]), (C * FACTOR).sum(2)),
        "added_to": (lambda c: c.added_to(C * FACTOR), C * FACTOR + C),
        "plus": (lambda c: c.plus(type(c).of(C * FACTOR)), C * FACTOR + C),
        "entries": (lambda c: c.entries(), C),
        "handed_on": (lambda c: c.handed_on(), C),
        "best": (lambda c: c.best(None), C),
        "magnitude_at": (lambda c: c.magnitude_at(torch.tensor([3, 20])), C.abs().sum(0).flatten()[[3, 20]]),
    }
    for name, (method, wanted) in methods.items():
        made = method(KINDS[kind].of(C.clone()))
        assert made is not None or name in ("each_column", "weighted", "plus", "entries"), name
        if made is not None:
            torch.testing.assert_close(tensor(made), wanted, msg=lambda text, name=name: f"{name}: {text}")


@each_kind
def test_copies_and_pickles(kind):
    for made in (copy.copy(given(kind)), copy.deepcopy(given(kind)), pickle.loads(pickle.dumps(given(kind)))):
        check(made, X, R, C)
    file = io.BytesIO()
    torch.save(given(kind), file)
    file.seek(0)
    check(torch.load(file, weights_only=True), X, R, C)


@each_kind
def test_writes(kind):
    """What is written into one, and what is written of it into another; views see both."""
    target = given(kind).clone()
    row = target[1]
    target *= FACTOR
    target[:, 0] = 1.0
    keep = torch.ones(4, 6, dtype=C.dtype)
    keep[:, 0] = 0
    torch.testing.assert_close(target.components.detach(), C * FACTOR * keep)
    torch.testing.assert_close(row.components.detach(), (C * FACTOR * keep)[:, 1])
    plain = np.zeros((4, 6))
    plain[1:3] = np.asarray(given(kind))[1:3]
    torch.testing.assert_close(plain.components.tensor[:, 1:3].detach(), C[:, 1:3])
    assert not plain.components.tensor[:, [0, 3]].any()
