"""Ordinary calls, which the law answers by the shortest way: linear functions give each component as torch gives it,
what is not ordinary goes the general way, and every function runs once."""

import pytest
import torch
import torch.nn.functional as F

import npdec as np

CUTS = {
    "split": lambda t: t.split(2),
    "split of an axis": lambda t: torch.split(t, 3, 1),
    "split into sizes": lambda t: t.split([1, 3], 0),
    "chunk": lambda t: t.chunk(3, -1),
    "unbind": lambda t: t.unbind(1),
    "rows": torch.unbind,
    "tensor_split": lambda t: t.tensor_split(3, 1),
    "hsplit": lambda t: t.hsplit(2),
}
KEYS = {
    "number": 1,
    "slice": slice(1, 3),
    "column": (slice(None), -1),
    "axis": None,
    "list": [0, 2],
    "indices": torch.tensor([[3, 0], [1, 1]]),
    "indices of two axes": (torch.tensor([0, 1]), torch.tensor([2, 2])),
    "mask": torch.tensor([True, False, True, True]),
    "true": True,
}


def decomposed(shape=(4, 6), labels=3, dtype=torch.float64):
    numbers = torch.Generator().manual_seed(sum(shape) + labels)
    components = torch.randn(labels, *shape, generator=numbers, dtype=dtype)
    residual = torch.randn(shape, generator=numbers, dtype=dtype)
    return np.DecomposedTensor(residual + components.sum(0), residual, components, tuple(range(labels)))


def assert_linear(function, *arguments):
    """The function of the decomposed arguments has the parts that torch gives of their parts."""
    made = function(*arguments)
    parts = made if isinstance(made, (tuple, list)) else [made]

    def given(take):
        found = function(*map(take, arguments))
        return found if isinstance(found, (tuple, list)) else [found]

    for part, value, residual in zip(parts, given(lambda t: t.value), given(lambda t: t.residual), strict=True):
        assert torch.equal(part.value, value)
        assert torch.equal(part.residual, residual)
    for i in range(len(arguments[0].labels)):
        for part, component in zip(parts, given(lambda t, i=i: t.components[i]), strict=True):
            assert torch.equal(part.components[i], component)
    return parts


@pytest.mark.parametrize("name", CUTS)
def test_pieces_have_their_pieces_of_the_components(name):
    t = decomposed()
    pieces = assert_linear(CUTS[name], t)
    with torch.no_grad():
        pieces[-1].mul_(2)  # a view: it is written into the whole
    torch.testing.assert_close(t.c_sum(), t.value)
    assert torch.equal(CUTS[name](t.value)[-1], pieces[-1].value)


@pytest.mark.parametrize("name", KEYS)
def test_keys_choose_of_each_component(name):
    assert_linear(lambda t: t[KEYS[name]], decomposed())


@pytest.mark.parametrize("join", [torch.cat, torch.concat, torch.hstack, torch.vstack, torch.stack])
def test_joined_tensors_have_the_components_joined(join):
    assert_linear(lambda a, b: join([a, b]), decomposed(), decomposed(labels=3) * 2)


def test_an_empty_vector_is_joined_as_torch_joins_it():
    t, nothing = decomposed(), decomposed((0,))
    for arguments in ([t, nothing], [nothing, t], [nothing, t, nothing], [nothing, nothing]):
        for dim in (0, -1):
            assert_linear(lambda *tensors, dim=dim: torch.cat(tensors, dim), *arguments)
    with pytest.raises(RuntimeError, match=r"Sizes of tensors|Tensors must have"):
        torch.cat([t, decomposed((1,))])


@pytest.mark.parametrize("other", [torch.int64, torch.float32, torch.complex128])
def test_a_matrix_of_another_dtype_is_refused_as_torch_refuses_it(other):
    t, matrix = decomposed(), torch.ones(6, 6, dtype=other)
    for function in (torch.matmul, torch.mm, F.linear):
        with pytest.raises(RuntimeError) as expected:
            function(t.value, matrix)
        with pytest.raises(RuntimeError) as found:
            function(t, matrix)
        assert str(found.value) == str(expected.value)


def test_layers_of_tensors_without_memory_go_through():
    t = np.DecomposedTensor(*(torch.empty(s, device="meta") for s in ((4, 6), (4, 6), (3, 4, 6))), tuple("abc"))
    matrix = torch.empty(6, 5, device="meta")
    for function in (lambda t: t @ matrix, lambda t: F.linear(t, matrix.T), torch.neg, lambda t: t.sum(0)):
        assert function(t).components.shape == (3, *function(t.value).shape)


def test_a_function_that_gives_nothing_runs_once():
    t = decomposed()
    t.value.requires_grad_()
    seen = []
    total = (t * 2.0).sum()
    total.register_hook(seen.append)
    assert t.grad is None
    total.backward()
    assert len(seen) == 1
    assert torch.equal(t.value.grad, torch.full((4, 6), 2.0, dtype=torch.float64))
