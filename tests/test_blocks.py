"""The first product with components that are blocks of the input: as with any other components, without the zeros."""

from __future__ import annotations

import time

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec import _blocks

F64 = torch.float64
X = torch.randn(3, 5, 12, generator=torch.Generator().manual_seed(0), dtype=F64)
W = torch.randn(7, 12, generator=torch.Generator().manual_seed(1), dtype=F64)
BIAS = torch.ones(7, dtype=F64)

PARTITIONS = {
    "last axis": {"axis": 2},
    "another axis": {"axis": 1},
    "several axes": {"axis": (0, 1)},
    "equal blocks": {"groups": torch.arange(12) // 3},
    "equal groups that are no blocks": {"groups": torch.arange(12) % 4},
    "unequal groups": {"groups": [0, 1, 2, 3, 3, 3, 1, 1, 2, 0, 0, 0]},
    "groups of rows": {"groups": torch.arange(5)[:, None] % 4},
}
DENSE = {
    "a few": {"groups": [0, 1, 2] * 4},
    "both axes": {"groups": torch.arange(60).reshape(5, 12) % 7},
    "each element": {"axis": None},
    "very unequal": {"groups": [0] * 9 + [1, 2, 3]},
}
PRODUCTS = {
    "linear": lambda d: F.linear(d, W, BIAS),
    "linear by name": lambda d: F.linear(input=d, weight=W),
    "matmul": lambda d: d @ W.T,
    "numpy": lambda d: (np.asarray(d) @ np.asarray(W.T)).tensor,
    "module": torch.nn.Linear(12, 7).double(),
}


@pytest.fixture
def used(monkeypatch):
    """For each product that is asked, whether blocks were made use of."""
    made = []
    product = _blocks.product

    def spy(*args):
        result = product(*args)
        made.append(result is not None)
        return result

    monkeypatch.setattr(_blocks, "product", spy)
    return made


def again(d):
    """The same without the knowledge of blocks."""
    return np.DecomposedTensor(d.value, d.residual, d.components, d.labels)


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("partition", [*PARTITIONS, *DENSE])
def test_products(used, partition, product):
    d = np.decompose(X, baseline=0.25, **{**PARTITIONS, **DENSE}[partition])
    made = PRODUCTS[product](d)
    if product != "linear by name":
        assert any(used) is (partition in PARTITIONS)
    wanted = PRODUCTS[product](again(d))
    torch.testing.assert_close(made.components, wanted.components, rtol=0, atol=1e-13)
    assert torch.equal(made.value, wanted.value)
    assert torch.equal(made.residual, wanted.residual)
    torch.testing.assert_close(made.c_sum(), made.value)


def test_one_row_and_no_rows(used):
    for x in (X[0, 0], X[:1, 0], X[:0, 0]):
        d = np.decompose(x, axis=-1)
        torch.testing.assert_close(F.linear(d, W).components, F.linear(again(d), W).components)
    assert all(used[:1])


def test_components_that_were_written_to(used):
    for write in (
        lambda d: d.components.mul_(2),
        lambda d: d.components[0].fill_(1.0),
        lambda d: d.mul_(3.0),
        lambda d: d.__setitem__((slice(None), 0), 5.0),
    ):
        d = np.decompose(X, axis=2)
        write(d)
        torch.testing.assert_close(F.linear(d, W).components, torch.stack([F.linear(c, W) for c in d.components]))
    assert not any(used)


def test_two_decomposed_factors_are_left_alone(used):
    d = np.decompose(X[0], axis=1, baseline=0.5)
    made = d @ d.T
    torch.testing.assert_close(made.components, (again(d) @ again(d).T).components)
    torch.testing.assert_close(made.c_sum(), made.value)
    assert not any(used)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_gradients(partition):
    x, weight = X.clone().requires_grad_(), W.clone().requires_grad_()

    def f(x, weight):
        return F.linear(np.decompose(x, **PARTITIONS[partition]), weight).components[:2]

    assert torch.autograd.gradcheck(f, (x, weight))


def test_gradients_by_the_components():
    d = np.decompose(X[0], axis=1)
    d.components.requires_grad_()
    (found,) = torch.autograd.grad(F.linear(d, W).components.sum(), d.components)
    torch.testing.assert_close(found, W.sum(0).expand(12, 5, 12))


@pytest.mark.parametrize("chunk_size", [4, 5, 12])
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"groups": torch.arange(12) % 6}])
def test_chunks(used, options, chunk_size):
    def f(a):
        return torch.tanh(a @ W.T).sum(-1)

    made = np.attribute(f, X[0], baseline=0.5, mode="forward", chunk_size=chunk_size, **options)
    whole = f(again(np.decompose(X[0], baseline=0.5, **options)))
    torch.testing.assert_close(made.attribution.flatten(1), whole.components.T)
    assert any(used) is bool(options)


@pytest.mark.parametrize("partition", ["last axis", "another axis", "unequal groups"])
def test_under_transforms(partition):
    def f(x):
        return F.linear(np.decompose(x, **PARTITIONS[partition]), W).components

    stacked = torch.stack([X, X + 1])
    torch.testing.assert_close(torch.vmap(f)(stacked), torch.stack([f(X), f(X + 1)]))
    torch.testing.assert_close(torch.func.jvp(f, (X,), (stacked[1],))[1], f(X + 1))  # it is linear
    with torch.inference_mode():
        torch.testing.assert_close(f(X).clone(), f(X))
    assert F.linear(np.decompose(X.to("meta"), axis=2), W.to("meta")).components.shape == (12, 3, 5, 7)


def test_it_takes_less_time():
    x, weight = torch.randn(32, 256), torch.randn(256, 256)
    d = np.decompose(x, axis=1)
    dense = again(d)

    def seconds(t):
        F.linear(t, weight)
        start = time.perf_counter()
        F.linear(t, weight)
        return time.perf_counter() - start

    assert min(seconds(d) for _ in range(5)) < min(seconds(dense) for _ in range(5))


def test_what_is_made_of_it_knows_nothing():
    d = np.decompose(X, axis=2)
    for other in (d.clone(), d + 0, d.detach(), d.groupby(lambda label: label.index[0] // 3)):
        assert other.blocks is None
