"""Plain elements put at places of a decomposed tensor, and spreads of few numbers, by the short way: against the
general one, which is gone while somebody looks on."""

from __future__ import annotations

import pytest
import torch

import npdec as np

PLACES, TWICE = torch.tensor([2, 0]), torch.tensor([1, 1])
TABLE = torch.tensor([[0, 1, 2, 0], [2, 2, 1, 1]])
PUT = {
    "scatter": lambda x, z: torch.scatter(x, 0, TABLE, z),
    "scatter along rows": lambda x, z: x.scatter(1, TABLE[:, :2], z[:, :3]),
    "scatter of a number": lambda x, z: x.scatter(0, TABLE, 2.0),
    "scatter_add": lambda x, z: x.scatter_add(0, TABLE, z),
    "index_copy": lambda x, z: x.index_copy(0, PLACES, z),
    "index_copy of a last axis": lambda x, z: x.index_copy(-1, PLACES, z.new_ones(3, 2)),
    "index_copy of one place": lambda x, z: x.index_copy(0, torch.tensor(1), z[:1]),
    "index_add": lambda x, z: torch.index_add(x, 0, PLACES, z),
    "index_add to one place": lambda x, z: x.index_add(-2, TWICE, z),
    "index_add of several": lambda x, z: x.index_add(0, PLACES, z, alpha=2),
    "slice_scatter": lambda x, z: x.slice_scatter(z, 0, 1, 3),
    "slice_scatter by names": lambda x, z: x.slice_scatter(src=z, start=1),
    "slice_scatter by steps": lambda x, z: torch.slice_scatter(x, z.new_ones(3, 2), 1, 0, 4, 2),
    "select_scatter": lambda x, z: x.select_scatter(z[0, :3], -1, -2),
    "diagonal_scatter": lambda x, z: x.diagonal_scatter(z[0, :3], offset=1, dim1=0, dim2=1),
}
SPREADS = {
    "var": lambda x: x.var(),
    "std": lambda x: x.std(),
    "biased": lambda x: x.std(False),
    "by name": lambda x: torch.var(x, unbiased=False),
    "correction": lambda x: torch.std(x, correction=2),
    "an axis": lambda x: x.reshape(-1).std(0),
    "an axis by name": lambda x: torch.var(x.reshape(-1), dim=-1, correction=0),
    "an axis that stays": lambda x: torch.std(x.reshape(-1), 0, keepdim=True),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", PUT)
def test_elements_at_places(name):
    torch.manual_seed(1)
    x, r = torch.randn(2, 3, 4)
    z, d = torch.randn(2, 4), np.decompose(x, baseline=r)
    made = PUT[name](d, z)
    with np.check_completeness():
        other = PUT[name](d, z)
    assert torch.equal(made.value, PUT[name](x, z))
    assert torch.equal(made.residual, other.residual)
    assert torch.equal(made.components, other.components)
    assert made.components.any()


@pytest.mark.quick
def test_places_that_there_are_not():
    d, z = np.decompose(torch.ones(3, 4)), torch.ones(2, 4)
    with pytest.raises(RuntimeError, match="out of bounds"):
        d.scatter(0, TABLE + 5, z)
    with pytest.raises(IndexError, match="Number of indices"):
        d.index_copy(0, PLACES, z[:1])


@pytest.mark.quick
@pytest.mark.parametrize("offset", [0, 1000])
@pytest.mark.parametrize("name", SPREADS)
def test_spreads_of_few_numbers(name, offset):
    torch.manual_seed(2)
    x, r = torch.randn(2, 2, 3, dtype=torch.float64)
    d = np.decompose(x + offset, baseline=r)
    made = SPREADS[name](d)
    with np.check_completeness():
        other = SPREADS[name](d)
    assert torch.equal(made.value, SPREADS[name](x + offset))
    assert torch.equal(made.residual, other.residual)
    torch.testing.assert_close(made.components, other.components, rtol=1e-9, atol=1e-13)
    torch.testing.assert_close(made.c_sum(), made.value, rtol=1e-13, atol=1e-13 * (1 + offset))


@pytest.mark.quick
def test_a_spread_of_equal_numbers():
    made = np.decompose(torch.ones(3), baseline=torch.zeros(3)).std()
    assert made.value == made.residual == 0
    assert not made.components.any()
