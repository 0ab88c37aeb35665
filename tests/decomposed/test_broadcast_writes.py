"""Writes into memory of which several elements are one: arrays over it are read-only, as NumPy's are; torch's tensors
are written as torch writes them, or refuse before anything is changed."""

from __future__ import annotations

import warnings

import numpy
import pytest
import torch

import npdec as np
import samples
from decomposition_cases import flat

# -- arrays ------------------------------------------------------------------------------------------------------------


def expanded(*, decomposed=False):
    row = torch.tensor([1.0, 2.0, 3.0])
    return (np.decompose(row, labels="abc") if decomposed else row).expand(2, 3)


MAKERS = {
    "asarray": np.asarray,
    "dtype": lambda t: np.asarray(t, dtype="float32"),
    "asanyarray": np.asanyarray,
    "array": lambda t: np.array(t, copy=False),
    "array if needed": lambda t: np.array(t, copy=None),
    "chkfinite": np.asarray_chkfinite,
    "astype": lambda t: np.astype(t, np.float32, copy=False),
    "einsum": lambda t: np.einsum("ij->ji", t),
    "real": np.real,
    "broadcast_to": lambda t: np.broadcast_to(t, (4, 2, 3)),
    "torch's function": lambda t: torch.transpose(np.asarray(t), 0, 1),
    "row": lambda t: np.asarray(t)[0],
    "backwards": lambda t: np.asarray(t)[::-1],
    "a row of it backwards": lambda t: np.asarray(t)[0, ::-1],
}
WRITES = {
    "all": lambda x: x.__setitem__(..., 7.0),
    "one": lambda x: x.__setitem__(0, 7.0),
    "decomposed": lambda x: x.__setitem__(0, np.decompose(np.array(7.0), labels="d")),
    "flat": lambda x: x.flat.__setitem__(0, 7.0),
    "put": lambda x: np.put(x, [1, 1, 1], [1.0, 2.0, 3.0]),
    "put itself": lambda x: np.put(x, [1, 1, 1], x),
    "add": lambda x: x.__iadd__(1.0),
    "out": lambda x: np.exp(x, out=x),
    "where": lambda x: np.copyto(x, 7.0, where=x > 0),
    "add.at": lambda x: np.add.at(x, 0, 1.0),
    "sort": lambda x: x.sort(),
    "fill": lambda x: x.fill(7.0),
    "reshaped": lambda x: np.reshape(x, x.shape).__setitem__(0, 7.0),
}


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_arrays_over_expanded_tensors_are_read_only(make, decomposed):
    for name, write in WRITES.items():
        with samples.named(name):
            check_read_only(make, write, decomposed)


def check_read_only(make, write, decomposed):
    tensor = expanded(decomposed=decomposed)
    x = make(tensor)
    assert not x.flags.writeable
    assert np.shares_memory(x, np.asarray(tensor)) or x.base is not None
    with pytest.raises(ValueError, match="read-only"):
        write(x)
    assert np.asarray(tensor).value.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert x.is_decomposed is decomposed


def test_what_is_not_expanded_can_be_written():
    for tensor in (
        torch.zeros(3).expand(1, 3),
        torch.zeros(2, 3).T,
        torch.zeros(1).expand(1),
        torch.zeros(0).expand(2, 0),
    ):
        x = np.asarray(tensor)
        assert x.flags.writeable
        x[...] = 5.0
        assert (tensor == 5).all()


def test_a_copy_can_be_written():
    for make in (np.array, np.copy, lambda t: np.require(t, requirements="W"), np.ascontiguousarray):
        x = make(expanded())
        x[0] = 7.0
        assert x.tolist() == [[7, 7, 7], [1, 2, 3]]


def _made(item, make):
    """An argument of a sample; with equal rows in memory of one, as `make` gives them, for its arrays."""
    if isinstance(item, samples.Arr):
        rows = torch.from_numpy(numpy.array(item.data, item.dtype))
        return make(rows[:1].clone().expand(rows.shape) if rows.ndim and rows.numel() else rows)
    if isinstance(item, samples.Made):
        return item.make(np)
    return type(item)(_made(part, make) for part in item) if type(item) in (list, tuple) else item


def _results(name, sample, make):
    args = [_made(item, make) for item in sample.args]
    options = {key: _made(item, make) for key, item in sample.kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(flat(samples.find(np, name)(*args, **options)))
        except (TypeError, ValueError, RuntimeError, AttributeError, np.linalg.LinAlgError):
            return []  # of equal rows there is none, or it is read-only


@pytest.mark.parametrize("make", [np.asarray, lambda t: t], ids=["arrays", "tensors"])
def test_what_says_that_it_can_be_written_holds_what_is_written(make):
    written = 0
    for name, sample in samples.cases():
        for made in _results(name, sample, make):
            if isinstance(made, np.ndarray) and made.flags.writeable and made.dtype.kind in "iufc":
                wanted = numpy.arange(made.size).reshape(made.shape) % 100
                made[...] = np.array(wanted)
                assert made.tolist() == wanted.tolist(), name
                written += 1
    assert written > 1000


# -- torch's tensors ---------------------------------------------------------------------------------------------------


def parts_of(tensor):
    return tensor.value, tensor.residual, *tensor.components


def alike():
    """Parts that lie in memory as the value does."""
    return expanded(decomposed=True)


def of_a_row():
    return np.decompose(torch.tensor([1.0, 2.0, 3.0]).expand(2, 3), baseline=0.5, groups=torch.zeros(2, 3, dtype=int))


def apart():
    """Of the elements that are one, each has contributions of its own."""
    return np.decompose(torch.tensor([1.0, 2.0, 3.0]).expand(2, 3), axis=0)


NUMBERS = np.decompose(torch.tensor([7.0, 8.0, 9.0]), labels="xyz", baseline=torch.tensor([1.0, 1.0, 1.0]))
STEPS = {
    "row": lambda t: t.__setitem__(0, 5.0),
    "decomposed row": lambda t: t.__setitem__(0, NUMBERS),
    "element": lambda t: t.__setitem__((1, 2), NUMBERS[0]),
    "column": lambda t: t.__setitem__((slice(None), 1), 5.0),
    "all": lambda t: t.__setitem__(..., 5.0),
    "mask": lambda t: t.__setitem__(torch.tensor([[True, False, True], [False, False, True]]), 0.0),
    "decomposed mask": lambda t: t.__setitem__(t > 1.5, 0.0),
    "rows": lambda t: t.__setitem__([0, 1], NUMBERS),
    "different rows": lambda t: t.__setitem__([0, 1], torch.stack([NUMBERS, -NUMBERS])),
    "in a row": lambda t: t[0].add_(1),
    "view": lambda t: t.unbind(0)[1].copy_(NUMBERS),
    "backwards": lambda t: t.mT[1:, 1].mul_(2.0),
    "add": lambda t: t.add_(1),
    "fill": lambda t: t.fill_(2.0),
    "zero": lambda t: t.zero_(),
    "masked_fill": lambda t: t.masked_fill_(torch.tensor([True, False, True]), 0.0),
    "index_copy": lambda t: t.index_copy_(0, torch.tensor([1]), NUMBERS[None]),
    "out": lambda t: torch.exp(t, out=t),
    "array": lambda t: np.asarray(t.unbind(0)[0]).__setitem__(0, 5.0),
    "array decomposed": lambda t: np.asarray(t.unbind(0)[0]).__setitem__(slice(1, None), np.asarray(NUMBERS[1:])),
}


@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors")  # torch's own
@pytest.mark.parametrize("make", [alike, of_a_row, apart])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_expanded_tensors_are_written_as_torch_does_or_not_at_all(make, step):
    """The reference is torch: each part is written as it would be in a plain tensor that is expanded alike."""
    tensor = make()
    before = [part.clone() for part in parts_of(tensor)]
    try:
        step(tensor)
    except RuntimeError as raised:
        error = str(raised)
    else:
        error = ""
    if error:
        assert "several elements are one in memory" in error or "single memory location" in error
        assert all(map(torch.equal, parts_of(tensor), before))
        return
    assert make is not apart
    value, residual, *components = parts_of(tensor)
    assert torch.equal(value[0], value[1])
    for part in (residual, *components):
        assert torch.equal(part[0], part[1])
    assert torch.allclose(value, residual + sum(components))
    plain = torch.tensor([1.0, 2.0, 3.0]).expand(2, 3)
    step_on_value = {"decomposed row": lambda t: t.__setitem__(0, NUMBERS.value),
                     "element": lambda t: t.__setitem__((1, 2), NUMBERS.value[0]),
                     "view": lambda t: t[1].copy_(NUMBERS.value),
                     "array decomposed": lambda t: t[0, 1:].copy_(NUMBERS.value[1:])}  # fmt: skip
    name = next(key for key, one in STEPS.items() if one is step)
    step_on_value.get(name, step)(plain)
    assert torch.equal(value, plain)


def test_a_view_that_does_not_know_its_expanded_source():
    """The source is gone when its row is written: the parts of the row are its own."""
    row = apart()[0]
    row[1] = 5.0
    assert row.value.tolist() == [1, 5, 3]
    assert (row.value - row.residual - row.components.sum(0)).abs().max() == 0


@pytest.mark.parametrize("make", [alike, of_a_row])
def test_arrays_over_expanded_tensors_are_read_only_and_so_are_their_views(make):
    array = np.asarray(make())
    for seen in (array, array[:1], array[0], array.T):
        assert not seen.flags.writeable
        with pytest.raises(ValueError, match="read-only: several of its elements are one in memory"):
            seen[0] = 5.0
    array.copy()[0] = 5.0
