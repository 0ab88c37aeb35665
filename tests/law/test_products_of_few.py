"""Products of few decomposed numbers, whose components go through the function one by one: beside derivatives along the
path, taken by torch.func.jvp at the nodes of a rule that is exact for them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np

DOUBLE = torch.float64
NODES = [(1 - 1 / math.sqrt(3)) / 2, (1 + 1 / math.sqrt(3)) / 2]
BIAS = torch.tensor([0.5, -0.25], dtype=DOUBLE)


def made(shape: tuple[int, ...], labels: str, seed: int) -> np.DecomposedTensor:
    generator = torch.Generator().manual_seed(seed)
    value, baseline = torch.randn((2, *shape), generator=generator, dtype=DOUBLE)
    groups = torch.arange(value.numel()).reshape(shape) % len(labels)
    return np.decompose(value, baseline=baseline, groups=groups, labels=list(labels))


OF_VECTORS: dict[str, Callable[[Any, Any], Any]] = {
    "inner": torch.inner,
    "vdot": torch.vdot,
    "outer": torch.outer,
    "kron": torch.kron,
    "cross": torch.linalg.cross,
    "vecdot": torch.linalg.vecdot,
    "tensordot": lambda a, b: torch.tensordot(a, b, 1),
    "tensordot by name": lambda a, b: torch.tensordot(a, b, dims=0),
    "einsum i,i->": lambda a, b: torch.einsum("i,i->", a, b),
    "einsum i,j->ij": lambda a, b: torch.einsum("i,j->ij", a, b),
    "einsum i,i->i": lambda a, b: torch.einsum("i,i->i", a, b),
    "pad": lambda a, b: F.pad(a, (1, 2)) * F.pad(b, (1, 2), value=1.5),
    "pad by name": lambda a, b: F.pad(a, [0, 1], mode="constant", value=2) * F.pad(b, (-1, 2)),
}
OF_ROWS: dict[str, Callable[[Any, Any], Any]] = {
    "conv1d": F.conv1d,
    "conv1d, bias": lambda a, b: F.conv1d(a, b, BIAS),
    "conv1d, bias by name": lambda a, b: F.conv1d(a, b, bias=BIAS, dilation=2),
    "conv1d, same": lambda a, b: F.conv1d(a, b, BIAS, padding="same"),
    "conv1d, stride": lambda a, b: F.conv1d(a, b, None, 2, 1),
    "conv_transpose1d": lambda a, b: F.conv_transpose1d(a, b.transpose(0, 1)),
    "conv2d": lambda a, b: F.conv2d(a[:, None], b[:, :1, None]),
    "tensordot": lambda a, b: torch.tensordot(a, b, ([0, 1], [0, 2])),
    "einsum": lambda a, b: torch.einsum("abc,dbe->adce", a, b),
    "kron": torch.kron,
}


def expected(function: Callable[[Any, Any], Any], a: Any, b: Any) -> dict[Any, torch.Tensor]:
    """The contribution of each label."""
    ends = [
        (t.value, t.residual, dict(zip(t.labels, t.components, strict=True)))
        if isinstance(t, np.DecomposedTensor)
        else (t, t, {})
        for t in (a, b)
    ]
    found = {}
    for label in [*ends[0][2], *ends[1][2]]:
        steps = tuple(parts.get(label, torch.zeros_like(value)) for value, _, parts in ends)
        terms = []
        for node in NODES:
            point = tuple(residual + node * (value - residual) for value, residual, _ in ends)
            terms.append(torch.func.jvp(function, point, steps)[1])
        found[label] = (terms[0] + terms[1]) / 2
    return found


def checked(function: Callable[[Any, Any], Any], a: Any, b: Any) -> None:
    result, wanted = function(a, b), expected(function, a, b)
    values = [t.value if isinstance(t, np.DecomposedTensor) else t for t in (a, b)]
    residuals = [t.residual if isinstance(t, np.DecomposedTensor) else t for t in (a, b)]
    assert torch.equal(result.value, function(*values))
    torch.testing.assert_close(result.residual, function(*residuals), rtol=1e-14, atol=1e-15)
    assert set(result.labels) == set(wanted)
    for label, part in zip(result.labels, result.components, strict=True):
        torch.testing.assert_close(part, wanted[label], rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(result.residual + result.components.sum(0), result.value, rtol=1e-12, atol=1e-13)


VECTORS = {
    "x": made((3,), "abc", 0),
    "y": made((3,), "abc", 1),
    "z": made((3,), "cde", 2),
    "one label": made((3,), "a", 3),
    "plain": torch.tensor([0.5, -1.5, 2.0], dtype=DOUBLE),
    "equal rows": np.decompose(torch.ones(1, dtype=DOUBLE).expand(3), baseline=torch.zeros(1, dtype=DOUBLE).expand(3)),
}


@pytest.mark.parametrize("name", OF_VECTORS)
def test_vectors(name: str) -> None:
    for a, b in itertools.product(VECTORS, repeat=2):
        if a != "plain" or b != "plain":
            checked(OF_VECTORS[name], VECTORS[a], VECTORS[b])


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows(name: str) -> None:
    inputs, weights = made((2, 3, 6), "abcd", 4), made((2, 3, 3), "axy", 5)
    checked(OF_ROWS[name], inputs, weights)
    checked(OF_ROWS[name], inputs, weights.value)
    checked(OF_ROWS[name], inputs.value, weights)


def test_a_bias_that_is_decomposed() -> None:
    inputs, weights, bias = made((2, 3, 6), "abcd", 4), made((2, 3, 3), "axy", 5), made((2,), "az", 6)
    whole, less = F.conv1d(inputs, weights, bias), F.conv1d(inputs, weights)
    at = whole.labels.index("z")
    torch.testing.assert_close(whole.components[at], bias.components[1][None, :, None].expand_as(whole.value))
    torch.testing.assert_close(whole.value - less.value, bias.value[None, :, None].expand_as(whole.value))


def test_gradients_of_contributions() -> None:
    x, weight = made((1, 3, 6), "abcd", 7), torch.randn(2, 3, 3, dtype=DOUBLE, requires_grad=True)
    result = F.conv1d(x, weight, BIAS)
    (gradient,) = torch.autograd.grad(result.components.square().sum(), weight)
    components = torch.stack([F.conv1d(c, weight) for c in x.components])
    (wanted,) = torch.autograd.grad(components.square().sum(), weight)
    torch.testing.assert_close(gradient, wanted)
