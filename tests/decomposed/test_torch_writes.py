"""Writing into torch tensors, decomposed or not: single cases. `test_tensor_machine` draws them at random."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import npdec as np


def decomposed(*numbers, labels):
    return np.decompose(torch.tensor(numbers), labels=labels)


def is_complete(*tensors):
    return all(torch.allclose(t.value, t.c_sum(), rtol=0, atol=1e-6) for t in tensors)


def test_a_view_is_written_where_the_residual_is_broadcast():
    x = torch.tanh(torch.ones(3, 1) * decomposed(1.0, 2.0, labels=["a", "b"]))
    row, column = x[0], x[:, 0]
    row.add_(1)
    column.mul_(2)
    flat = x.reshape(-1)
    flat[-1] = 5.0
    assert is_complete(x, row, column, flat)
    assert x[2, 1].residual == 5


def test_labels_reach_every_view():
    x = decomposed(1.0, 2.0, 3.0, labels=["a", "b", "c"])
    tail, whole = x[1:], x.detach()
    x[2] = np.decompose(torch.tensor(7.0), axis=(), labels=["d"])
    assert tail.labels == whole.labels == ("a", "b", "c", "d")
    assert tail.components[3].tolist() == [0, 7]
    assert is_complete(x, tail, whole)


def test_what_a_plain_view_is_of_becomes_decomposed():
    x = torch.zeros(3)
    x[1:].copy_(decomposed(4.0, 6.0, labels=["a", "b"]))
    assert isinstance(x, np.DecomposedTensor)
    assert x.components.tolist() == [[0, 4, 0], [0, 0, 6]]
    x += 1
    assert is_complete(x)


def test_another_view_that_would_miss_it():
    x = torch.zeros(3)
    head, tail = x[:1], x[1:]
    with pytest.raises(RuntimeError, match="shares its memory"):
        tail.copy_(decomposed(4.0, 6.0, labels=["a", "b"]))
    assert [type(t) for t in (x, head, tail)] == [torch.Tensor] * 3
    assert not x.any()


@pytest.mark.parametrize(
    "target", [torch.zeros(3), decomposed(0.0, 0.0, 0.0, labels="xyz")], ids=["plain", "decomposed"]
)
def test_nothing_is_written_where_the_shapes_do_not_fit(target):
    kind, labels = type(target), getattr(target, "labels", None)
    for write in (
        target.copy_,
        target.add_,
        lambda t: target.__setitem__(slice(None), t),
        lambda t: torch.add(t, 1, out=target[:]),
    ):
        with pytest.raises(RuntimeError):
            write(decomposed(1.0, 2.0, labels=["a", "b"]))
    assert type(target) is kind
    assert getattr(target, "labels", None) == labels
    assert not target.any()


def test_what_a_dtype_or_a_device_cannot_hold():
    x = decomposed(1.0, 2.0, labels=["a", "b"])
    with pytest.raises(RuntimeError, match="can't be cast"):
        x.add_(torch.tensor([1j, 2j]))
    counts = torch.zeros(2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="can't be cast"):
        counts.add_(x)
    counts.copy_(x)
    assert (counts.tolist(), counts.components.tolist()) == ([1, 2], [[1, 0], [0, 2]])
    half = torch.zeros(2, dtype=torch.float16)
    half.copy_(x)
    assert half.components.dtype is torch.float16
    with pytest.raises(RuntimeError):
        x.add_(torch.zeros(2, device="meta"))
    with pytest.raises(TypeError, match="NumPy array"):
        x.numpy()
    assert x.tolist() == [1, 2]


def test_a_square_that_was_written_is_none():
    """What is recognised as a normalisation must still be what it was."""
    x = np.decompose(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), labels=["a", "b", "c"])
    mean = x.pow(2).mean(-1, keepdim=True)
    mean[:1].mul_(3)
    y = x * torch.rsqrt(mean + 1e-3)
    assert not y.residual.any()
    assert is_complete(y)
    assert torch.allclose(y.value, x.value * torch.rsqrt(3 * x.value.pow(2).mean() + 1e-3))


def test_components_are_filled_each_with_its_own():
    value = decomposed(5.0, 6.0, labels=["a", "b"]).sum()
    filled = torch.index_fill(torch.zeros(2, 2), 0, torch.tensor([1]), value)
    assert filled.components[:, 1, 0].tolist() == [5, 6]
    assert F.relu(filled, inplace=True) is filled


def test_a_copy_has_no_part_in_common():
    """The residual of this sum lies in row-major order, its value does not: contiguous() copies the value alone."""
    x = decomposed(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, labels="abcdef").reshape(2, 3).T + torch.ones(3, 2)
    for copy in (x.contiguous(), x.reshape(-1), np.asarray(x).ravel().tensor):
        copy[0] = 0.0
        assert is_complete(x, copy)
    assert x.residual.tolist() == [[1, 1]] * 3


# Views of tensors that are given in a sequence.
OF_SEQUENCES = {
    "meshgrid": lambda x, y: torch.meshgrid([x, y], indexing="ij"),
    "meshgrid, of a tuple": lambda x, y: torch.meshgrid((x, y), indexing="xy"),
    "atleast_2d": lambda x, y: torch.atleast_2d([x, y]),
    "atleast_3d": lambda x, y: torch.atleast_3d((y, x))[::-1],
}


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", OF_SEQUENCES)
def test_views_of_members_of_a_sequence_follow_writes(name, which):
    given = [np.decompose(torch.arange(1.0, 4.0)), np.decompose(torch.arange(5.0, 9.0))]
    made = OF_SEQUENCES[name](*given)
    given[which].mul_(3.0)
    plain = [torch.arange(1.0, 4.0), torch.arange(5.0, 9.0)]
    plain[which] *= 3.0
    for got, want in zip(made, OF_SEQUENCES[name](*plain), strict=True):
        assert torch.equal(got.value, want)
        torch.testing.assert_close(got.components.sum(0), want)  # of a baseline of zeros
        assert not got.residual.any()
