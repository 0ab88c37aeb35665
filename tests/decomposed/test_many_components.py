"""What is computed in pieces, node by node or by gathering where components are many is what the law says."""

from __future__ import annotations

import gc
import weakref

import numpy
import pytest
import torch
from numpy.polynomial.legendre import leggauss

import npdec as np
from npdec._decomposed import size_limits
from npdec._decomposed.entries import Entries, owner_dtype

N = 9000


def _numbers(seed: int, low: float = 0.1, high: float = 0.9) -> numpy.ndarray:
    return numpy.random.default_rng(seed).uniform(low, high, N)


def test_a_product_of_many_factors():
    """Each factor has the mean along the path of the product of the others."""
    a, b = _numbers(0, 0.99, 1.01), _numbers(1, 0.99, 1.01)
    made = np.prod(np.decompose(np.array(a), baseline=np.array(b)))
    nodes, weights = leggauss(60)
    nodes, weights = (nodes + 1) / 2, weights / 2
    points = b[:, None] + nodes * (a - b)[:, None]
    expected = (weights * points.prod(0) / points).sum(1) * (a - b)
    numpy.testing.assert_allclose(numpy.asarray(made.components), expected, rtol=0, atol=1e-13 * abs(expected).max())


@pytest.mark.parametrize("sign", [1, -1])
def test_a_running_extremum_from_one_baseline_is_an_element(sign: int):
    a = sign * _numbers(2)
    function = torch.cummax if sign > 0 else torch.cummin
    made = function(np.decompose(torch.tensor(a)), 0).values
    extremum = sign * numpy.maximum.accumulate(sign * a)
    for k in (0, 1, 100, N - 1):
        expected = numpy.zeros(N)
        expected[numpy.flatnonzero(a == extremum[k])[0]] = extremum[k]
        numpy.testing.assert_array_equal(made[k].components.numpy(), expected)


def test_equal_elements_share_a_running_maximum():
    made = torch.cummax(np.decompose(torch.tensor([1.0, 2.0, 2.0])), 0).values
    numpy.testing.assert_allclose(made.components.numpy(), [[1, 0, 0], [0, 2, 1], [0, 0, 1]])


def test_interpolation_between_decomposed_points():
    """It is linear in the heights of the points."""
    places, x, heights = numpy.sort(_numbers(3)), _numbers(4, 0, 1), _numbers(5)
    made = np.interp(np.array(x), np.array(places), np.decompose(np.array(heights)))
    part = made[:5]
    for j in {int(i) for i in numpy.searchsorted(places, x[:5]).clip(0, N - 1)}:
        alone = numpy.zeros(N)
        alone[j] = heights[j]
        numpy.testing.assert_allclose(numpy.asarray(part.components[j]), numpy.interp(x[:5], places, alone), atol=1e-15)
    numpy.testing.assert_array_equal(numpy.asarray(made.value), numpy.interp(x, places, heights))


def test_derivatives_at_decomposed_places():
    """Each derivative depends on three places, as Richardson's differences of NumPy's gradient say."""
    places, f = numpy.cumsum(_numbers(6)), _numbers(7)
    base = places + 1e-3 * _numbers(8)
    made = np.gradient(np.array(f), np.decompose(np.array(places), baseline=np.array(base)))
    k = 4000
    row = numpy.asarray(made[k].components)
    assert set(numpy.flatnonzero(row)) <= {k - 1, k, k + 1}
    nodes, weights = leggauss(8)
    for j in (k - 1, k, k + 1):
        total = 0.0
        for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            point, h = base + node * (places - base), 1e-4
            up, down = point.copy(), point.copy()
            up[j], down[j] = up[j] + h, down[j] - h
            part = slice(k - 2, k + 3)
            change = numpy.gradient(f[part], up[part]) - numpy.gradient(f[part], down[part])
            total += weight * change[2] / (2 * h) * (places - base)[j]
        assert row[j] == pytest.approx(total, rel=1e-5)


def test_angles_continued():
    """The steps do not change with where they begin: all that follow have the contributions of the first step back."""
    a = numpy.cumsum(_numbers(9)) % (2 * numpy.pi)
    made = np.unwrap(np.decompose(np.array(a)))
    numpy.testing.assert_array_equal(numpy.asarray(made.value), numpy.unwrap(a))
    part = made[[10, 5000]]
    numpy.testing.assert_allclose(
        numpy.asarray(part.residual + part.components.sum(0)), numpy.unwrap(a)[[10, 5000]], rtol=1e-10
    )


@pytest.mark.parametrize("ungraphed", [torch.no_grad, torch.inference_mode])
def test_a_product_without_gradients_keeps_its_contributions(ungraphed):
    """What is found backwards is found so whatever the caller disables."""
    x, y = (torch.randn(64, 32, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    with ungraphed():
        a, b = np.decompose((x, y), baseline=(0.0, 0.0))
        made = torch.softmax(a @ b.mT, -1) @ b
    shares = made[:4, :4].components.sum(0)
    torch.testing.assert_close(shares, (made.value - made.residual)[:4, :4], rtol=1e-4, atol=1e-4)


def test_running_sums_of_a_ufunc():
    a = _numbers(10)
    made = np.add.accumulate(np.decompose(np.array(a)))
    numpy.testing.assert_array_equal(numpy.asarray(made.value), numpy.add.accumulate(a))
    expected = numpy.where(numpy.arange(N) <= 77, a, 0)
    numpy.testing.assert_allclose(numpy.asarray(made[77].components), expected)


def test_owners_take_no_more_memory_than_their_numbers_need():
    assert np.decompose(torch.ones(5000)).kept.owners.dtype is torch.int32
    assert owner_dtype(2**31 - 1) is torch.int32
    assert owner_dtype(2**31) is torch.int64


@pytest.mark.parametrize("function", [np.cov, np.corrcoef])
@pytest.mark.parametrize("other", [False, True])
def test_products_of_rows_with_themselves_have_the_contributions_of_few(function, other):
    """Of many components they are found backwards, of few forwards."""
    a, base, b = _numbers(6)[:5000], _numbers(7)[:5000], numpy.sin(numpy.arange(5000.0))
    many = function(np.decompose(np.array(a), baseline=np.array(base)), np.array(b) if other else None)
    few = function(
        np.decompose(np.array(a), baseline=np.array(base), groups=np.arange(5000) // 50), np.array(b) if other else None
    )
    got = numpy.asarray(many.components).reshape(100, 50, *many.shape).sum(1)
    numpy.testing.assert_allclose(got, numpy.asarray(few.components), rtol=1e-9, atol=1e-12)
    numpy.testing.assert_array_equal(numpy.asarray(many.value), numpy.asarray(few.value))


WIDE = numpy.cos(numpy.arange(120.0)).reshape(40, 3)
LINEAR = {
    "times a matrix": lambda d: d @ torch.tensor(WIDE),
    "times a vector": lambda d: d @ torch.tensor(WIDE[:, 0]),
    "a row times a matrix": lambda d: d[1] @ torch.tensor(WIDE),
    "a layer": lambda d: torch.nn.functional.linear(d, torch.tensor(WIDE.T.copy()), torch.ones(3, dtype=torch.float64)),
    "a matrix times it": lambda d: (torch.tensor(WIDE[:3, :2]) @ d)[:, :4],
    "a vector times it": lambda d: (torch.tensor(WIDE[0, :2]) @ d)[3:6],
    "a matrix times a row": lambda d: torch.mv(torch.tensor(WIDE.T.copy()), d[0]),
    "sum of products": lambda d: torch.dot(torch.tensor(WIDE[:, 1]), d[1]),
    "sum": lambda d: d.sum(0)[:5],
    "sum, its axis kept": lambda d: d.sum(1, keepdim=True),
    "mean of all": lambda d: d.mean(),
    "scaled": lambda d: (3 * d / torch.tensor(WIDE[:2, :1]) - d)[:, 7],
    "transposed": lambda d: d.T[:3],
    "reshaped": lambda d: d.reshape(8, 10)[6:, 9],
    "backwards": lambda d: d.flip(0, 1)[:, :2],
    "rolled": lambda d: d.roll((1, 2), (0, 1))[:, :4],
    "joined": lambda d: torch.cat([d, 2 * d], 1)[:, 38:42],
    "stacked": lambda d: torch.stack([d, -d], 2)[1, :2],
    "in pieces": lambda d: d.split(15, 1)[2][:, -1],
    "chosen": lambda d: d[:, [5, 5, 0]],
    "chosen where": lambda d: torch.where(torch.tensor(WIDE[:, 0] > 0), d, 1.0)[:, :3],
    "repeated": lambda d: d.repeat_interleave(2, 1)[0, 1:4],
    "running sums": lambda d: d.cumsum(1)[:, 2],
    "added at places": lambda d: torch.zeros(3, dtype=torch.float64).index_add(0, torch.tensor([2, 0]), d[:, 9]),
    "padded": lambda d: torch.nn.functional.pad(d, (2, 0))[:, 1:4],
    "diagonal": lambda d: d[:, :2].diagonal(),
}


def test_linear_functions_have_the_contributions_of_few(monkeypatch):
    a, base = _numbers(8)[:80].reshape(2, 40), _numbers(9)[:80].reshape(2, 40)
    groups = np.arange(80).reshape(2, 40) // 8
    few = np.decompose(np.array(a), baseline=np.array(base), groups=groups).tensor
    few.components = few.components.clone()  # of which it is not known where they are zero
    wanted = {name: function(few) for name, function in LINEAR.items()}
    monkeypatch.setattr(size_limits, "MANY", 80)
    monkeypatch.setattr(size_limits, "_LARGE", 0)
    many = np.decompose(np.array(a), baseline=np.array(base)).tensor
    for name, function in LINEAR.items():
        made, want = function(many), wanted[name]
        got = made.components.reshape(10, 8, *made.shape).sum(1)
        for one, other in ((got, want.components), (made.value, want.value), (made.residual, want.residual)):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12, msg=lambda text, name=name: f"{name}: {text}")


def test_pairs_of_one_component_are_joined_piece_by_piece():
    source = torch.Generator().manual_seed(0)
    numbers = torch.rand((6, 7000), generator=source, dtype=torch.float64)
    owners = torch.randint(0, 4, (6, 7000), generator=source)
    given = Entries(torch.where(owners == 0, 0, numbers), owners, 3)
    made = given.coalesced()
    assert len(made.elements) <= 4
    torch.testing.assert_close(made.dense(), given.dense())
    few = Entries(given.elements[:3], owners[:3], 3)  # each pair by itself
    torch.testing.assert_close(few.apart().dense(), few.dense())
    torch.testing.assert_close(few.magnitude(), few.dense().abs().sum(0))


@pytest.mark.parametrize("negative", [False, True])
def test_sums_of_neighbours_join_what_they_have_in_common(negative: bool):
    numbers = torch.rand((2, 50), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    first = Entries(numbers, torch.stack([torch.arange(1, 51), torch.arange(2, 52)]), 5000)
    second = Entries(numbers.flip(0), torch.stack([torch.arange(2, 52), torch.arange(3, 53)]), 5000)
    made = first.plus(second, negative)
    assert len(made.elements) == 3
    expected = first.dense() - second.dense() if negative else first.dense() + second.dense()
    torch.testing.assert_close(made.dense(), expected)


@pytest.mark.parametrize("name", ["kl_div", "hinge_embedding_loss", "binary_cross_entropy_with_logits"])
def test_losses_called_without_a_reduction(name: str):
    """torch's own functions do not reduce then, those of torch.nn.functional take the mean."""
    function, source = getattr(torch, name), torch.Generator().manual_seed(2)
    a, target = torch.rand((2, 6), generator=source, dtype=torch.float64)
    made = function(np.decompose(a), target)
    torch.testing.assert_close(made.value, function(a, target), rtol=0, atol=0)
    torch.testing.assert_close(made.residual + made.components.sum(0), function(a, target))


def test_nothing_is_kept_of_what_is_not_needed_until_cycles_are_collected():
    """Components that are found backwards keep their graph, and no argument's value."""
    plain = torch.rand(N, dtype=torch.float64)
    running = torch.cumsum(np.decompose(plain), 0)
    seen = weakref.ref(running.value)
    gc.disable()
    try:
        made = torch.cat([running, running * 2])
        del running
        assert seen() is None
    finally:
        gc.enable()
    torch.testing.assert_close(made[3].components.sum(), plain[:4].sum())


def test_entries_become_dense_a_few_rows_at_a_time():
    source = torch.Generator().manual_seed(0)
    numbers = torch.rand((20, 2000), generator=source, dtype=torch.float64)
    owners = torch.randint(0, 8, (20, 2000), generator=source)
    wanted = torch.stack([torch.where(owners == i, numbers, 0).sum(0) for i in range(1, 8)])
    torch.testing.assert_close(Entries(numbers, owners, 7).dense(), wanted)
