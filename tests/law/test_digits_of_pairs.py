"""Functions of two decomposed arguments in dtypes of few digits: what the arguments contribute may cancel.

The components have at least half of their digits, or a warning says that they have not."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy
import pytest
import torch

import npdec as np
import tiers
from npdec._decomposed.vjp_components import FromVJP

FUNCTIONS = {
    **{name: getattr(torch, name) for name in "div hypot atan2 logaddexp pow fmod remainder xlogy".split()},
    "average": lambda x, y: np.average(np.array(x), weights=np.array(y)).tensor,
    "reciprocal": lambda x, y: torch.div(x.sum(), y.sum()),
}
DTYPES = {torch.float64: 16.0, torch.float32: 6.0, torch.float16: 1.5, torch.bfloat16: 6.0}  # powers of ten they move
SINGULAR = {"pow", "remainder", "xlogy"}  # so near to what is singular the change itself has lost its digits


def _marked(x: torch.Tensor, r: torch.Tensor, dtype: torch.dtype) -> np.DecomposedTensor:
    """One component, of which all is made."""
    return np.DecomposedTensor(x.to(dtype), r.to(dtype), (x.to(dtype) - r.to(dtype))[None], ("all",))


def _found(name: str, dtype: torch.dtype, powers: float, seed: int) -> tuple[float, bool]:
    """How far the components of a sample are from what they should add up to, beside the numbers that are there; and
    whether it warns."""
    source = numpy.random.default_rng([seed, *map(ord, name)])
    numbers = torch.tensor(10 ** source.uniform(-powers / 2, powers / 2, (4, 3)))
    x, x_r, y, y_r = numbers
    if source.integers(2):  # both move alike, so that the quotient stays
        x, x_r = y * source.uniform(1, 2), y_r * source.uniform(1, 2)
    if name == "pow":
        y, y_r = y.clamp(0.1, 3), y_r.clamp(0.1, 3)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", np.DecompositionWarning)
        made: Any = FUNCTIONS[name](_marked(x, x_r, dtype), _marked(y, y_r, dtype))
    value, residual, components = (part.double() for part in (made.value, made.residual, made.components))
    sizes = value.abs() + residual.abs() + components.abs().sum(0)
    if not bool(torch.isfinite(sizes).all()):
        return 0.0, True
    return float(((value - residual - components.sum(0)).abs() / sizes.clamp(min=1e-300)).max()), bool(said)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_half_of_the_digits_or_a_warning(name: str, dtype: torch.dtype) -> None:
    allowed = 8 * math.sqrt(torch.finfo(dtype).eps)
    powers = 8.0 if dtype is torch.float64 and name in SINGULAR else DTYPES[dtype]
    for seed in range(tiers.fewer(100, 10)):
        error, warned = _found(name, dtype, powers, seed)
        assert warned or error <= allowed, f"seed {seed}: {error:.1e}"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["div", "average", "hypot", "logaddexp"])
def test_what_moves_little_keeps_all_digits(name: str, dtype: torch.dtype) -> None:
    for seed in range(10):
        error, warned = _found(name, dtype, 0.5, seed)
        assert not warned
        assert error <= 16 * torch.finfo(dtype).eps, f"seed {seed}: {error:.1e}"


def test_single_precision_warns_where_a_quotient_stays() -> None:
    """A weighted mean of which all weights grow alike: their contributions are a million times as large as it is."""
    weights, base = torch.tensor([40.0, 41.0, 39.0]), torch.tensor([4e-5, 5e-5, 3e-5])
    for dtype in (torch.float32, torch.float64):
        w = np.array(_marked(weights, base, dtype))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", np.DecompositionWarning)
            np.average(np.array([13.0, 14.0, 15.0], dtype=w.dtype), weights=w)
        assert any("half of the digits of float32" in str(one.message) for one in said) is (dtype is torch.float32)


def _kaiser(baseline: float) -> tuple[float, list[str]]:
    beta = np.decompose(np.array(27.0), baseline=baseline)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", np.DecompositionWarning)
        made = np.kaiser(6, beta)
    error = float(numpy.max(abs(numpy.asarray(made.value) - numpy.asarray(made.c_sum()))))
    return error, [str(one.message) for one in said]


def test_a_quotient_of_large_numbers_that_move_together_says_what_it_loses() -> None:
    """A Kaiser window of a decomposed beta: the quotient of two Bessel functions of 1e10."""
    error, said = _kaiser(0.0)
    assert error > 1e-8  # what is warned of
    assert len(said) == 1
    assert "half of the digits of float64" in said[0]
    assert "wider dtype" not in said[0]
    error, said = _kaiser(20.0)
    assert error < 1e-12
    assert not said


@pytest.mark.slow
def test_a_quotient_of_very_many_components_is_looked_at_in_a_few_places() -> None:
    """Vectors over their lengths, from a baseline of zero: the contributions are as large as what they are made of."""
    x = np.decompose(torch.linspace(0.1, 0.9, 5000, dtype=torch.float64).reshape(10, -1))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", np.DecompositionWarning)
        made: Any = torch.nn.functional.normalize(x, 1.0)
    assert not any("half of the digits" in str(one.message) for one in said)
    assert isinstance(made.kept, FromVJP)  # still
    places = torch.tensor([0, 7, 4321])
    numpy.testing.assert_allclose(
        made.kept.magnitude_at(places), made.components.abs().sum(0).flatten()[places], rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore::npdec.DecompositionWarning")
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_quotients_of_complex_numbers_are_looked_at(dtype) -> None:
    value, other = torch.tensor([0.5 - 0.25j, 1.5 - 1j], dtype=dtype), torch.tensor([3 + 1j, 1e-9 + 1e-9j], dtype=dtype)
    x = np.decompose(value, baseline=torch.tensor([1j, 2.0], dtype=dtype), labels=["a", "b"])
    y = np.decompose(other, baseline=torch.tensor([1.0, 1j], dtype=dtype), labels=["a", "b"])
    found = x / y
    missing = found.value - found.residual - found.components.sum(0)
    assert bool((missing.abs() <= 1e-4 * (found.value.abs() + found.components.abs().sum(0))).all())
