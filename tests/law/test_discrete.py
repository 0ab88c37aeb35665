"""Decomposed integers and booleans: they are what the function makes of plain ones, and what they are made of adds up,
beside plain integers and where a choice is frozen."""

from __future__ import annotations

import math
import warnings

import numpy
import pytest
import torch

import npdec as np
from npdec import DecomposedTensor


def index(*places):
    return torch.tensor(places)


TWO = {
    "index_put": lambda x, y: torch.index_put(x, (index(0, 2),), y[:2]),
    "index_put, added": lambda x, y: torch.index_put(x, (index(0, 0),), y[:2], True),
    "index_put, twice": lambda x, y: torch.index_put(x, (index(0, 0),), y[:2]),
    "index_add": lambda x, y: torch.index_add(x, 0, index(0, 0, 2), y),
    "index_copy": lambda x, y: torch.index_copy(x, 0, index(0, 2), y[:2]),
    "put": lambda x, y: torch.put(x, index(0, 2), y[:2]),
    "scatter": lambda x, y: torch.scatter(x, 0, index(0, 2), y[:2]),
    "scatter, twice": lambda x, y: torch.scatter(x, 0, index(0, 0), y[:2]),
    "scatter, named": lambda x, y: torch.scatter(x, 0, index(0, 1), src=y[:2]),
    "scatter_add": lambda x, y: torch.scatter_add(x, 0, index(0, 0), y[:2]),
    "scatter_reduce": lambda x, y: torch.scatter_reduce(x, 0, index(0, 0), y[:2], "sum"),
    "scatter_reduce, largest": lambda x, y: torch.scatter_reduce(x, 0, index(0, 0), src=y[:2], reduce="amax"),
    "masked_scatter": lambda x, y: torch.masked_scatter(x, torch.tensor([True, False, True]), y),
    "select_scatter": lambda x, y: torch.select_scatter(x, y[0], 0, 1),
    "slice_scatter": lambda x, y: torch.slice_scatter(x, y[:2], 0, 0, 2),
    "masked_fill": lambda x, y: torch.masked_fill(x, torch.tensor([True, False, True]), y[0]),
    "index_fill": lambda x, y: torch.index_fill(x, 0, index(1), y[0]),
    "where": lambda x, y: torch.where(torch.tensor([True, False, True]), x, y),
    "where of a condition": lambda x, y: torch.where(x > 1, x, y),
    "cat": lambda x, y: torch.cat([x, y]),
    "add": torch.add,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "heaviside": torch.heaviside,
    "dot": torch.dot,
    "outer": torch.outer,
    "addmm": lambda x, y: torch.addmm(x[None], y[None, :1], y[None]),
    "addcmul": lambda x, y: torch.addcmul(x, y, y),
    "remainder": lambda x, y: torch.remainder(x, y.abs() + 1),
    "clamp": lambda x, y: torch.clamp(x, min=y),
    "einsum": lambda x, y: torch.einsum("i,i->i", x, y),
    "less": torch.lt,
    "and": torch.logical_and,
    "diff": lambda x, y: torch.diff(x, prepend=y[:1]),
    "searchsorted": lambda x, y: torch.searchsorted(x.sort().values, y),
    "index_add_": lambda x, y: x.clone().index_add_(0, index(0, 1, 1), y),
    "index_put_": lambda x, y: x.clone().index_put_((index(0),), y[:1]),
    "scatter_": lambda x, y: x.clone().scatter_(0, index(0, 0), y[:2]),
    "copy_": lambda x, y: x.clone().copy_(y),
    "masked_scatter_": lambda x, y: x.clone().masked_scatter_(torch.tensor([True, False, True]), y),
}  # fmt: skip
ONE = {
    "sort": lambda x: torch.sort(x).values,
    "descending": lambda x: torch.sort(x, descending=True).values,
    "topk": lambda x: torch.topk(x, 2).values,
    "kthvalue": lambda x: torch.kthvalue(x, 2).values,
    "median": torch.median,
    "mode": lambda x: torch.mode(x).values,
    "cummax": lambda x: torch.cummax(x, 0).values,
    "gather": lambda x: torch.gather(x, 0, torch.argsort(x)),
    "unique": torch.unique,
    "prod": torch.prod,
    "cumsum": lambda x: torch.cumsum(x, 0),
    "np.sort": lambda x: np.sort(np.asarray(x)).tensor,
    "np.partition": lambda x: np.partition(np.asarray(x), 1).tensor,
    "np.median": lambda x: torch.as_tensor(np.median(np.asarray(x)).tensor),
    "np.percentile": lambda x: np.percentile(np.asarray(x), [30, 60]).tensor,
    "sorted in place": lambda x: (y := np.array(x), y.sort())[0].tensor,
    "partitioned in place": lambda x: (y := np.array(x), y.partition(1))[0].tensor,
}
X = np.decompose(torch.tensor([3.0, 1.0, 2.0]), baseline=torch.tensor([0.0, 4.0, -2.0]), groups=index(0, 1, 1))
Y = np.decompose(torch.tensor([-2.0, 5.0, 1.0]), baseline=torch.tensor([1.0, 5.0, 0.0]), groups=index(0, 1, 1))
DTYPES = [torch.int64, torch.int32, torch.bool]


def check(call, *args):
    plain = [arg.value if isinstance(arg, DecomposedTensor) else arg for arg in args]
    bases = [arg.residual if isinstance(arg, DecomposedTensor) else arg for arg in args]
    try:
        wanted, base = call(*plain), call(*bases)
    except (RuntimeError, TypeError):
        return  # torch has no such function of this dtype
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = call(*args)
    value, residual = (found.value, found.residual) if isinstance(found, DecomposedTensor) else (found, found)
    assert torch.equal(value, wanted)
    if isinstance(found, DecomposedTensor):
        missing = value.double() - residual.double() - found.components.double().sum(0)
        assert missing.abs().max() < 1e-5
    assert heard or torch.equal(residual, base)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", TWO.values(), ids=TWO)
@pytest.mark.parametrize("which", ["both", "first", "second"])
def test_of_two(call, which, dtype):
    x, y = X.to(dtype), Y.to(dtype)
    check(call, x.value if which == "second" else x, y.value if which == "first" else y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", ONE.values(), ids=ONE)
def test_of_one(call, dtype):
    check(call, X.to(dtype))


def test_added_at_places():
    for x, y in ((X.value, Y), (X, Y.value), (X, Y)):
        array = np.array(x.to(torch.int32))
        np.add.at(array, np.array([0, 0, 2]), np.asarray(y.to(torch.int32)))
        assert numpy.asarray(array.value).tolist() == [6, 1, 3]
        assert (array.value - array.residual - array.components.sum(0) == 0).all()


def test_a_baseline_that_is_no_integer_drops_contributions():
    """What the integer of 1e30 is, nobody knows: the contributions could not add up."""
    x = np.decompose(np.array([1.0, 2.0]), baseline=np.array([1e30, 0.0]))
    with pytest.warns(np.exceptions.DecompositionWarning, match="dropped"):
        assert not x.astype("int64").is_decomposed


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_condition_that_has_not_moved_leaves_no_number_with_nothing(number):
    """0 times a branch that is not finite is nothing: the contributions are those of the branch."""
    x = np.decompose(np.array([3.0, 3.0, -3.0]), baseline=np.array([4.0, -4.0, -1.0]), groups=np.zeros(3, int))
    for made in (np.where(x > 1, number, x), np.where(x < 1, x, number)):
        assert made.components[0, 0] == 0
        assert not numpy.isfinite(made.components[0, 1])
        assert made.components[0, 2] == -2
    x[x > 1] = number
    assert x.components[0, 0] == 0
    x[x.value != x.value] = 1.0
    x[x > 100] = 5.0
    assert x.components[0, 2] == -2


@pytest.mark.parametrize("function", [torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor])
def test_bits_of_integers_drop_contributions_and_say_so(function):
    x = np.decompose(torch.tensor([6.0, 3.0]), baseline=torch.tensor([1.0, 2.0])).to(torch.int64)
    with pytest.warns(np.DecompositionWarning, match=function.__name__):
        made = function(x, torch.tensor([3, 1]))
    assert type(made) is torch.Tensor
    assert made.tolist() == function(torch.tensor([6, 3]), torch.tensor([3, 1])).tolist()
