"""Directions, spreads and sums of magnitudes of complex numbers against path integrals by nodes, and through zero; and
NaN that fmax and fmin leave out."""

from __future__ import annotations

import random

import numpy
import pytest
import torch

import npdec as np
from npdec._decomposed.tensor import DecomposedTensor
from tiers import fewer

NODES, WEIGHTS = numpy.polynomial.legendre.leggauss(120)
FUNCTIONS = {
    "sgn": torch.sgn,
    "var": torch.var,
    "std": torch.std,
    "var of rows": lambda t: torch.var(t, 1, correction=0),
    "std of rows": lambda t: torch.std(t, 1, keepdim=True),
    "sum of magnitudes": lambda t: torch.linalg.vector_norm(t, 1),
    "sums of magnitudes": lambda t: torch.linalg.vector_norm(t, 1, 0),
    "magnitudes": lambda t: torch.linalg.vector_norm(t[:1], 3, 0),
}


def drawn(seed: int, shift: float = 0.0, dtype: torch.dtype = torch.complex128):
    """Numbers whose three components are no multiples of each other, (2, 3)."""
    source = torch.Generator().manual_seed(seed)
    x, r = (torch.randn(2, 3, generator=source, dtype=torch.complex128) + shift for _ in range(2))
    made = np.decompose(np.asarray(x), baseline=np.asarray(r))
    mixed = made * np.asarray(1 + 0.5j) + made[::-1, ::-1] * 0.7j
    return mixed._t.to(dtype)


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_contributions_are_path_integrals(name):
    """The mean derivative along the path, by nodes."""
    function = FUNCTIONS[name]
    for seed in range(fewer(10)):
        x = drawn(seed, 3.0)
        made = function(x)
        points = [x.residual + (1 + t) / 2 * (x.value - x.residual) for t in NODES]
        for given, found in zip(x.components, made.components, strict=True):
            rates = [torch.func.jvp(function, (point,), (given,))[1] for point in points]
            expected = sum(rate * (weight / 2) for rate, weight in zip(rates, WEIGHTS, strict=True))
            assert torch.allclose(found, expected, rtol=1e-10, atol=1e-10)
        assert torch.equal(made.value, function(x.value))
        assert torch.equal(made.residual, function(x.residual))


@pytest.mark.quick
@pytest.mark.parametrize("dtype", [torch.complex128, torch.complex64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_contributions_are_complete(name, dtype):
    """Wherever the path goes, through zero and from zero too."""
    eps = torch.finfo(dtype).eps
    for seed in range(fewer(20)):
        x = drawn(seed, dtype=dtype)
        kind = seed % 4
        if kind == 1:  # the path of each number goes through zero
            x = (x * 0.0 + x.real * (1 - 0.5j)).to(dtype)
        if kind == 2:
            x = x * torch.tensor([0.0, 1.0, 0.0])
        if kind == 3:
            x = x * torch.tensor([1e-10, 1.0, 1e10])
        made = FUNCTIONS[name](x)
        size = made.value.abs() + made.residual.abs() + made.components.abs().sum(0)
        assert bool(((made.value - made.residual - made.components.sum(0)).abs() <= 1e3 * eps * size).all())


@pytest.mark.quick
@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_no_elements(name):
    """Arrays without elements, and without components."""
    empty = [] if name.startswith(("var", "std")) else [((0, 3), 2), ((0, 3), 0)]  # of which torch warns
    for shape, count in [((2, 3), 0), *empty]:
        x = torch.ones(shape, dtype=torch.complex128)
        given = DecomposedTensor(
            x, x if count == 0 else x * 0, x.expand(count, *shape) / max(count, 1), tuple(range(count))
        )
        assert FUNCTIONS[name](given).components.shape == (count, *FUNCTIONS[name](x).shape)


@pytest.mark.quick
def test_a_direction_jumps_at_zero():
    """Numbers on the real axis that change their sign, and one that leaves zero: each has its own jump."""
    x = np.decompose(np.array([1.5, -0.4, 2.0]) + 0j, baseline=np.array([-0.5, 0.4, 0.0]) + 0j)
    made = np.sign(x)
    assert made.value.tolist() == [1, -1, 1]
    assert made.residual.tolist() == [-1, 1, 0]
    assert numpy.allclose(made.components.tensor, numpy.diag([2, -2, 1]), rtol=0, atol=1e-12)
    still = np.sign(np.decompose(np.zeros(2) + 0j, baseline=0j))
    assert not still.components.tensor.any()


@pytest.mark.quick
def test_directions_in_reverse_mode():
    """A direction in reverse mode has forward mode's contributions."""
    x, r = numpy.array([1 + 2j, -1.0, 0.5j]), numpy.array([2 + 1j, -0.5 + 1j, 1.0])
    forward = np.sign(np.decompose(np.array(x), baseline=np.array(r)))
    total = np.sum(np.real(forward))
    assert numpy.allclose(total.components.tensor.sum(), total.value - total.residual)


@pytest.mark.quick
@pytest.mark.parametrize("function", [np.fmax, np.fmin])
@pytest.mark.parametrize("kind", [float, complex])
def test_what_is_beside_nan_leads(function, kind):
    """fmax and fmin give the number that stands beside NaN, and so its contributions."""
    x = np.decompose(np.array([1.5, -0.4, 2.0], kind), baseline=np.array([0.5, 0.25, 3.0], kind))
    other = np.array([np.nan, np.nan, 2.5], kind)
    both = np.decompose(np.array([np.nan, np.nan, 1.0], kind), baseline=np.array([np.nan, np.nan, 1.0], kind))
    for made in (function(x, other), function(other, x), function(x, both), function(both, x)):
        shift = 0 if made.components.tensor.shape[0] == 3 or made.components.tensor[0, 0] else 3
        parts = made.components.tensor.numpy()[shift : shift + 3, :2]
        assert numpy.array_equal(parts, numpy.diag([1.0, -0.65])[[0, 1, 1]] * [[1], [1], [0]])
        assert numpy.allclose(made.components.tensor.sum(0), made.value - made.residual)
    number = function(x[0], np.nan)
    assert number.value == 1.5
    assert number.residual == 0.5
    assert number.components.tensor.sum() == 1
    nothing = function(both, np.nan)
    assert not numpy.nan_to_num(nothing.components.tensor.numpy())[:, :2].any()


@pytest.mark.quick
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_directions_of_numbers_are_the_laws(dtype):
    """Of one number, on rays, through zero and beside it, as of an array that has it twice."""
    source, within = random.Random(2), 1e-12 if dtype == "complex128" else 1e-5
    for _ in range(200):
        ends = [complex(*[source.choice([0, 1, -1, source.gauss(0, 1)]) for _ in range(2)]) for _ in range(2)]
        x, r = (torch.tensor(end, dtype=getattr(torch, dtype)) for end in ends)
        components = torch.stack([(x - r) / 2 + 0.25j, (x - r) / 2 - 0.25j])
        one = np.asarray(np.DecomposedTensor(x.reshape(1), r.reshape(1), components.reshape(2, 1), ("a", "b")))[0]
        twice = np.sign(np.stack([one, one]))._t
        made = np.sign(one)._t
        assert made.labels == twice.labels
        assert made.value == twice.value[0]
        assert made.residual == twice.residual[0]
        assert torch.allclose(made.components, twice.components[:, 0], rtol=within, atol=within)
