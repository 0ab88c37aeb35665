"""Decomposed integers and booleans: they are what the function makes of plain ones, and what they are made of adds up,
beside plain integers and where a choice is frozen."""

from __future__ import annotations

import math
import warnings

import numpy
import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec import DecomposedTensor
from npdec._decomposed.registry import rows


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
    """What the integer of 1e30 is, nobody knows: the contributions could not add up. Those of its neighbours do."""
    x = np.decompose(np.array([1.0, 2.0]), baseline=np.array([1e30, 0.0]), labels=["a", "b"])
    with pytest.warns(np.exceptions.DecompositionWarning, match="1 of 2 elements.* dropped"):
        made = x.astype("int64")
    assert made.residual.tolist() == [1, 0]
    assert made.components.tolist() == [[0, 0], [0, 2]]
    with pytest.warns(np.exceptions.DecompositionWarning, match="dropped"):
        assert not x[:1].astype("int64").is_decomposed


def steps_along_the_path(value, residual, parts, of):
    """What each part contributes to a function that moves by jumps, by walking from residual to value."""
    ways = residual + numpy.linspace(0, 1, 4001)[:, None] * (value - residual)
    jumps = numpy.diff(of(ways), axis=0).sum(0)
    return parts * jumps / numpy.where(value == residual, 1, value - residual)


OVERFLOWING = {
    "astype": lambda x: x.astype("int8"),
    "assigned": lambda x: (y := np.zeros(x.shape, dtype="int8"), y.__setitem__(..., x))[0],
    "copyto": lambda x: (y := np.zeros(x.shape, dtype="int8"), np.copyto(y, x, casting="unsafe"))[0],
    "a view": lambda x: (y := np.zeros((2, *x.shape), dtype="int8"), y[1, ::-1].__setitem__(..., x[::-1]), y[1])[2],
    "narrowed": lambda x: x.astype("int64").astype("int8"),
    "a torch tensor": lambda x: np.asarray(x.tensor.to(torch.int8)),
}


@pytest.mark.parametrize("name", OVERFLOWING)
def test_an_element_that_overflows_drops_its_contributions_alone(name):
    rng = numpy.random.default_rng(7)
    value, residual = rng.uniform(-90, 90, (2, 12))
    value[3], residual[8] = 300.5, -1000.25
    shares = rng.uniform(-1, 1, (3, 12))
    shares = (value - residual) * shares / shares.sum(0)
    tensor = np.DecomposedTensor(*map(torch.from_numpy, (value, residual, shares)), ("a", "b", "c"))
    with pytest.warns(np.exceptions.DecompositionWarning, match="2 of 12 elements.* dropped"):
        made = OVERFLOWING[name](np.asarray(tensor))
    out = numpy.isin(numpy.arange(12), [3, 8])
    assert made.value.tolist() == value.astype("int64").astype("int8").tolist()
    assert made.residual[~out].tolist() == numpy.trunc(residual[~out]).tolist()
    wanted = numpy.where(out, 0, steps_along_the_path(value, residual, shares, numpy.trunc))
    numpy.testing.assert_allclose(numpy.asarray(made.components), wanted, rtol=1e-12, atol=1e-12)
    assert made.residual[out].tolist() == made.value[out].tolist()


def test_products_that_overflow_drop_their_contributions_alone():
    x = np.decompose(np.array([100.0, 2.0, 3.0]), baseline=np.array([1.0, 5.0, 3.0])).astype("int8")
    with pytest.warns(np.exceptions.DecompositionWarning, match="1 of 3 elements.* dropped"):
        made = x * x
    assert made.value.tolist() == [*made.residual.tolist()[:1], 4, 9] == [16, 4, 9]
    assert made.residual.tolist() == [16, 25, 9]
    assert made.components.sum(0).tolist() == [0, -21, 0]


@pytest.mark.parametrize(("discrete", "wanted"), [("int8", "float32"), ("int16", "float32"), ("int32", "float64")])
@pytest.mark.parametrize("given", ["float16", "float32"])
def test_contributions_to_integers_tell_these_apart(given, discrete, wanted):
    """Written into integers, numbers of few digits leave room for those of many that come later."""
    x = np.decompose(np.array([7.7, -3.2, 5.1], dtype=given), labels=["a", "b", "c"])
    made = x.astype(discrete)
    assert made.components.dtype == (given if discrete == "int8" else wanted)
    assert made.components.sum(0).tolist() == [7, -3, 5]
    large = {"int8": 7, "int16": 3001, "int32": 100_000_007}[discrete]
    scaled = made * np.array(large, dtype=discrete)
    assert scaled.components.sum(0).tolist() == [7 * large, -3 * large, 5 * large]
    held = np.zeros(4, dtype=discrete)
    held[:3] = x
    held[3] = np.decompose(np.array(float(large + 1)), labels=["d"])
    assert held.components.sum(0).tolist() == [7, -3, 5, large + 1]
    held += scaled.sum(dtype=discrete)
    assert (held.value - held.residual - held.components.sum(0) == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_counts_of_conditions_on_few_digits_add_up(dtype):
    x = torch.arange(-1500, 1500).to(dtype)
    made = np.decompose(x, baseline=-x, groups=torch.arange(3000) % 7) > 0
    for count in (made.sum(), torch.count_nonzero(made), made.reshape(2, -1).sum(1), made.cumsum(0)):
        assert torch.equal(count.value - count.residual, count.components.sum(0).round().long())


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


def test_many_components_of_few_digits_are_not_made_in_integers():
    x = np.decompose(np.arange(1.0, 40001.0, dtype=np.float32))
    with np.errstate(all="ignore"):
        made = [(x > 2).sum(), x.astype("int64")[-1], (x.astype("int32") * 3).sum()]
    assert [number.value.item() for number in made] == [39998, 40000, 3 * 20000 * 40001]
    for number in made:
        assert abs(number.value - number.residual - number.components.sum(0)) < 1e-2


# What takes indices, of a weight (4, 3) and of integers (3,) from 0 to 2.
INDEXING = {
    "index_select": lambda w, i: torch.index_select(w, 0, i),
    "index_add": lambda w, i: torch.index_add(w, 0, i, w[:3]),
    "index_add_": lambda w, i: w.clone().index_add_(0, index=i, source=w[:3]),
    "index_copy": lambda w, i: torch.index_copy(w, 0, i, w[1:]),
    "index_fill": lambda w, i: torch.index_fill(w, 0, i[:1], 9.0),
    "index_reduce": lambda w, i: torch.index_reduce(w, 0, i, w[1:], "prod"),
    "scatter": lambda w, i: torch.scatter(w, 0, i[None], w[:1]),
    "scatter_": lambda w, i: w.clone().scatter_(0, i[None], 9.0),
    "scatter_add": lambda w, i: torch.scatter_add(w, 0, i[None], w[:1]),
    "scatter_reduce": lambda w, i: torch.scatter_reduce(w, 0, i[None], w[:1], "amax"),
    "embedding": lambda w, i: F.embedding(i, w),
    "torch.embedding": torch.embedding,
    "embedding_bag": lambda w, i: F.embedding_bag(i, w, torch.tensor([0, 2])),
    "bounds of bags": lambda w, i: F.embedding_bag(torch.tensor([3, 0, 1]), w, i.sort().values.clamp(max=1)),
    "nll_loss": lambda w, i: F.nll_loss(w[:3], i),
    "cross_entropy": lambda w, i: F.cross_entropy(w[:3], i),
    "multi_margin_loss": lambda w, i: F.multi_margin_loss(w[:3], i),
    "multilabel_margin_loss": lambda w, i: F.multilabel_margin_loss(w[0], i),
    "max_unpool1d": lambda w, i: F.max_unpool1d(w[None, :1], i[None, None], 2),
    "max_unpool3d": lambda w, i: F.max_unpool3d(w[None, :1, None, None], i[None, None, None, None], 2),
    "bincount": lambda w, i: torch.bincount(i, w[:3, 0]),
    "narrow": lambda w, i: torch.narrow(w, 0, i[0], 2),
    "tensor_split": lambda w, i: torch.tensor_split(w, i.sort().values)[2],
}


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore:index_reduce.* is in beta:UserWarning")
@pytest.mark.parametrize("name", INDEXING)
def test_decomposed_indices_are_taken_by_their_values(name):
    value = torch.linspace(-1, 2, 12, dtype=torch.float64).reshape(4, 3).sin()
    weight = DecomposedTensor(value, value / 2, value[None] / 2, ("w",))
    places = DecomposedTensor(
        torch.tensor([1, 2, 0]), torch.tensor([0, 0, 1]), torch.tensor([[1.0, 2.0, -1.0]]), ("i",)
    )
    wanted = INDEXING[name](weight, places.value)
    with pytest.warns(np.DecompositionWarning, match="at the baseline it would choose otherwise"):
        made = INDEXING[name](weight, places)
    assert made.labels == ("w",)
    for part in ("value", "residual", "components"):
        torch.testing.assert_close(getattr(made, part), getattr(wanted, part), rtol=0, atol=0)


def test_the_functions_that_take_indices_are_tested():
    named = {
        function.__name__.removesuffix("_nd").removesuffix("_loss") for function, row in rows.items() if row.indices
    }
    tested = {name.removeprefix("torch.").removesuffix("_").removesuffix("_loss") for name in INDEXING}
    assert named - {"max_unpool2d", "_embedding_bag"} == tested - {"max_unpool1d", "bounds of bags"}
