"""Functions of one element, or of equal ones, along the axes that they go over: sums of one, norms, softmax, variances.

Of what is subtracted from its own mean rounding alone is left, which a division by the root of a small eps makes large.
The components have at least half of their digits, or a warning says that they have not; the value and the residual are
those of plain calls.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as F

import npdec as np
import tiers

Function = Callable[[Any], Any]
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
RUNNING = None, None, None, None, True, 0.1, 1e-5, False

# Of rows (R, m).
NORMS: dict[str, Function] = {
    "layer_norm": lambda t: F.layer_norm(t, t.shape[1:]),
    "layer_norm eps": lambda t: F.layer_norm(t, t.shape[1:], eps=1e-6),
    "layer_norm weight": lambda t: F.layer_norm(t, t.shape[1:], torch.full(t.shape[1:], 50.0, dtype=t.dtype)),
    "group_norm": lambda t: torch.group_norm(t[None], t.shape[0]),
    "instance_norm": lambda t: torch.instance_norm(t[None], *RUNNING),
    "batch_norm": lambda t: torch.batch_norm(t.T, *RUNNING),
}
OTHERS: dict[str, Function] = {
    "rms_norm": lambda t: F.rms_norm(t, t.shape[1:], eps=1e-5),
    "softmax": lambda t: F.softmax(t, -1),
    "log_softmax": lambda t: F.log_softmax(t, -1),
    "logsumexp": lambda t: torch.logsumexp(t, -1),
    "var": lambda t: torch.var(t, -1, correction=0),
    "std": lambda t: torch.std(t, -1, correction=0),
    "np.var": lambda t: np.var(np.asarray(t), -1).tensor,
    "np.std": lambda t: np.std(np.asarray(t), -1).tensor,
    "less the mean": lambda t: t - t.mean(-1, keepdim=True),
    "normalize": lambda t: F.normalize(t, dim=-1),
    "ptp": lambda t: np.ptp(np.asarray(t), -1).tensor,
}
FUNCTIONS = NORMS | OTHERS


def _rows(dtype: torch.dtype, m: int, scale: float, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    source = numpy.random.default_rng(seed)
    x, r = (torch.tensor(source.uniform(-2, 2, (7, 1)) * scale).to(dtype).expand(7, m).clone() for _ in range(2))
    return x, r


def _made(f: Function, x: torch.Tensor, r: torch.Tensor, components: torch.Tensor) -> tuple[Any, list[str]]:
    labels = tuple(range(len(components)))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = f(np.DecomposedTensor(x, r, components, labels))
    return made, [str(one.message) for one in said]


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a, b) and torch.equal(a.signbit(), b.signbit())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_half_of_the_digits_or_a_warning(name: str, m: int, dtype: torch.dtype) -> None:
    f = FUNCTIONS[name]
    for seed in range(tiers.fewer(20, 4)):
        for scale in (1.0, 1000.0):
            x, r = _rows(dtype, m, scale, seed)
            made, said = _made(f, x, r, (x - r)[None])
            assert _same_bits(made.value, f(x))
            assert _same_bits(made.residual.contiguous(), f(r))
            if not said:
                value, residual, parts = (part.double() for part in (made.value, made.residual, made.components))
                sizes = value.abs() + residual.abs() + parts.abs().sum(0)
                missing = (value - residual - parts.sum(0)).abs()
                eps = torch.finfo(dtype).eps
                # Where nothing is divided, what is left is the rounding of the elements, as anywhere, or of squares.
                largest = float(x.abs().max() + r.abs().max())
                rounding = 0.0 if name in NORMS else 16 * eps * max(largest, largest**2 if "var" in name else 0.0)
                assert bool((missing <= 4 * math.sqrt(eps) * sizes + rounding).all()), (seed, scale)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_it_names_the_layer(name: str, dtype: torch.dtype) -> None:
    heard = []
    for seed in range(5):
        x, r = _rows(dtype, 1, 1000.0, seed)
        said = _made(NORMS[name], x, r, (x - r)[None])[1]
        assert len(said) <= 1
        heard += said
    wanted = f"{name.split(maxsplit=1)[0]}: what it normalises is constant, or one element"
    assert all(text.startswith(wanted) for text in heard)
    if not heard:
        pytest.skip("the mean of one element is that element on this processor, and nothing is left")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_ordinary_rows_say_nothing(name: str, dtype: torch.dtype) -> None:
    source = torch.Generator().manual_seed(0)
    x, r = (torch.randn((7, 5), generator=source, dtype=torch.float64).to(dtype) for _ in range(2))
    zeros, ones = torch.zeros_like(x), torch.ones_like(x)
    for value, base in ((x, r), (x, zeros), (x, ones), (x + 10, x + 9), (zeros, r), (zeros, zeros)):
        assert not _made(NORMS[name], value, base, (value - base)[None])[1]


@pytest.mark.parametrize("name", NORMS)
def test_contributions_that_cancel_beside_rounding_say_nothing(name: str) -> None:
    """Equal elements, each with a component of its own: a thousandth of these is rounding."""
    x = torch.full((2, 3), 1.196, dtype=torch.float32)
    made, said = _made(NORMS[name], x, torch.zeros_like(x), torch.diag_embed(x.flatten()).reshape(6, 2, 3))
    assert not said
    assert float(made.components.abs().max()) > 100
