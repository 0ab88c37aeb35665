"""Two arguments that broadcast against each other: the short way beside the general one, and the law."""

from __future__ import annotations

import itertools
import warnings

import pytest
import torch

import npdec as np
import tiers
from npdec._rules import dispatch

SHAPES = [(), (3,), (2, 3), (2, 1), (1, 3), (4, 2, 3), (4, 1, 1), (0, 3), (1, 0)]
FUNCTIONS = [
    torch.add, torch.sub, torch.rsub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.gt, torch.le, torch.eq,
    torch.hypot, torch.atan2, torch.fmod,
]  # fmt: skip


def drawn(shape, generator, baseline=None):
    value, residual = (torch.rand(shape, generator=generator, dtype=torch.float64) * 3 + 0.5 for _ in range(2))
    return np.decompose(np.array(value), baseline=np.array(residual) if baseline is None else baseline).tensor


def at(ends, tensor):
    return getattr(tensor, ends, tensor)


def agree(function, args):
    refusals = []
    for given in ([at("value", x) for x in args], args):
        try:
            function(*given)
        except RuntimeError as error:  # shapes that do not fit
            refusals.append(str(error))
    if refusals:
        assert len(refusals) == 2
        assert refusals[0] == refusals[1]
        return False
    value = function(*(at("value", x) for x in args))
    residual = function(*(at("residual", x) for x in args)).expand(value.shape)
    made, other = function(*args), dispatch.dispatch(function, args, {})
    assert torch.equal(made.value, value)
    assert torch.equal(made.residual, residual)
    assert made.components.shape[1:] == value.shape
    assert made.labels == other.labels
    torch.testing.assert_close(made.components, other.components, rtol=1e-11, atol=1e-12)
    torch.testing.assert_close(made.components.sum(0), value.double() - residual.double(), rtol=0, atol=1e-12)
    return True


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_decomposed_and_constant_arguments_of_all_shapes(function):
    generator, checked = torch.Generator().manual_seed(1), 0
    pairs = itertools.product(SHAPES, repeat=2)
    for first, second in tiers.turns(pairs, FUNCTIONS.index(function), 4):
        a, equal, b = drawn(first, generator), drawn(first, generator, 0.7), drawn(second, generator)
        for args in ((a, b), (a, b.value), (b.value, a), (equal, b), (equal, b.value), (a, a.sum())):
            checked += agree(function, args)
    assert checked > (50 if tiers.quick else 250)


def test_joined_tensors_and_constants():
    generator = torch.Generator().manual_seed(2)
    a, b = drawn((2, 3), generator), drawn((2, 3), generator)
    plain = torch.rand((2, 3), generator=generator, dtype=torch.float64)
    for function, dims in ((torch.cat, (0, 1, -1, -2)), (torch.stack, (0, 1, 2, -1, -3))):
        for dim, tensors in itertools.product(dims, ([a, plain], [plain, a, b], [b, plain, a], (a, b))):
            made, other = function(tensors, dim), dispatch.dispatch(function, (tensors, dim), {})
            for part in ("value", "residual", "components"):
                assert torch.equal(getattr(made, part), getattr(other, part)), (function, dim, part)
            assert made.labels == other.labels


@pytest.mark.parametrize("shapes", [((4, 3), (3,)), ((3,), (3,)), ((3,), (3, 2)), ((4, 3), (3, 2))], ids=str)
def test_a_constant_on_the_left_of_a_product(shapes):
    generator = torch.Generator().manual_seed(3)
    left = torch.rand(shapes[0], generator=generator, dtype=torch.float64)
    for x in (drawn(shapes[1], generator), drawn(shapes[1], generator, 0.5)):
        made = torch.matmul(left, x)
        assert torch.equal(made.value, torch.matmul(left, x.value))
        assert torch.equal(made.residual.contiguous(), torch.matmul(left, x.residual.contiguous()))
        wanted = torch.stack([torch.matmul(left, component) for component in x.components])
        torch.testing.assert_close(made.components, wanted, rtol=1e-14, atol=1e-14)


ENDS = [1.5, float("nan"), float("inf"), -float("inf"), -2.0, 0.0]


@pytest.mark.parametrize(
    "function", [torch.nan_to_num, torch.isnan, torch.isinf, torch.isfinite], ids=lambda f: f.__name__
)
def test_what_tells_finite_numbers_from_others(function):
    for end, start in itertools.product(ENDS, repeat=2):
        value = torch.tensor([1.0, end, 3.0], dtype=torch.float64)
        residual = torch.tensor([0.5, start, 2.0], dtype=torch.float64)
        x = np.decompose(np.array(value), baseline=np.array(residual)).tensor
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.DecompositionWarning)
            made = function(x)
        assert torch.equal(at("value", made), function(value))
        assert torch.equal(at("residual", made), function(residual))
        if torch.isfinite(value).all() and torch.isfinite(residual).all():
            continue
        if function is torch.nan_to_num and (start == end or (start != start and end != end)):
            torch.testing.assert_close(made.components, torch.diag(torch.tensor([0.5, 0.0, 1.0], dtype=torch.float64)))
