"""Contributions in forward mode that are differentiated themselves, beside finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy
import pytest
import torch

import npdec as np
import samples
import tiers
from decomposition_cases import CASES, Path, baseline, leaves, run

D = torch.float64
X, R = torch.tensor([1.5, -0.7, 0.8], dtype=D), torch.tensor([-0.5, 0.25, 0.9], dtype=D)
A = torch.tensor([[3.0, 0.5, 0.2], [0.1, 2.0, 0.3], [0.4, 0.2, 4.0]], dtype=D)
NAMES = [name for name in dict(CASES) if not name.startswith(("trim_zeros", "unique"))]

OF_A_VECTOR = {
    "maximum": lambda x: torch.maximum(x, x * 0 + 0.2),
    "minimum of two": lambda x: torch.minimum(x, x.flip(0)),
    "amax": torch.amax,
    "max along an axis": lambda x: torch.max(x.expand(2, 3) * torch.tensor([[1.0], [-2.0]], dtype=D), 1)[0],
    "cummax": lambda x: torch.cummax(x, 0)[0],
    "max_pool1d": lambda x: torch.nn.functional.max_pool1d(x[None, None], 2)[0, 0],
    "infinity norm": lambda x: torch.linalg.vector_norm(x, float("inf")),
    "where": lambda x: torch.where(x > 0.1, x * 2, x * 3),
    "comparison": lambda x: (x > 0.1).double() * x,
    "clamp": lambda x: x.clamp(-0.2, 0.3),
    "median": torch.median,
}
OF_A_MATRIX = {
    "solve": lambda a: torch.linalg.solve(a, X),
    "tensorsolve": lambda a: np.linalg.tensorsolve(np.asarray(a), np.array(X)).tensor,
    "inv": torch.linalg.inv,
    "eigh": lambda a: torch.linalg.eigh((a + a.mT) / 2)[1],
    "svdvals": torch.linalg.svdvals,
    "qr": lambda a: torch.linalg.qr(a)[1],
}


@pytest.mark.filterwarnings("ignore::npdec.DecompositionWarning")
@pytest.mark.parametrize("create", ["decompose", "attribute"])
@pytest.mark.parametrize("name", [*OF_A_VECTOR, *OF_A_MATRIX])
def test_shares_move_with_the_numbers(name: str, create: str) -> None:
    function = {**OF_A_VECTOR, **OF_A_MATRIX}[name]
    given = (X, R) if name in OF_A_VECTOR else (A, torch.diag(torch.tensor([1.5, 2.0, 3.0], dtype=D)))

    def contributions(factor: torch.Tensor, x: torch.Tensor, r: torch.Tensor) -> Any:
        if create == "attribute":
            weighted = lambda x: function(x * factor).sum()  # noqa: E731
            return np.attribute(weighted, x, baseline=r, create_graph=True).attribution
        return function(np.decompose(x, baseline=r) * factor).components

    factor = torch.linspace(0.8, 1.2, given[0].numel(), dtype=D).reshape(given[0].shape)
    assert torch.autograd.gradcheck(
        contributions, [t.clone().requires_grad_() for t in (factor, *given)], fast_mode=tiers.quick
    )


def test_identical_lines_of_a_maximum_share_their_movement() -> None:
    x = X.clone().requires_grad_()
    made = np.decompose(x, baseline=R)
    alone, twice = (torch.amax(t, 0).components for t in (made, torch.cat([made, made])))
    slopes = (torch.autograd.grad(part.square().sum(), x, retain_graph=True)[0] for part in (alone, twice))
    torch.testing.assert_close(*slopes)


def _weighted(name: str, sample: samples.Sample, paths: Sequence[Path], values: Any, bases: Any) -> Any:
    """A sum of the contributions, each times a weight, and their shapes."""
    arrays = [tuple(map(np.asarray, tensors)) for tensors in (values, bases)]
    groups = tuple((numpy.arange(x.size) % 3).reshape(x.shape) for x in arrays[0])
    marked = np.decompose(arrays[0], baseline=arrays[1], groups=groups)
    found = [getattr(out, "tensor", out) for out in run(name, sample, dict(zip(paths, marked, strict=True)))]
    parts = [out.components for out in found if isinstance(out, np.DecomposedTensor)]
    parts = [torch.view_as_real(part.resolve_conj()) if part.is_complex() else part for part in parts]
    source = torch.Generator().manual_seed(3)
    total = sum((torch.rand(part.shape, generator=source, dtype=D) * part).sum() for part in parts)
    return total, [part.shape for part in parts]


@pytest.mark.parametrize("name", NAMES)
def test_functions(name: str) -> None:
    """The derivative in one direction, where finite differences of two widths and to both sides agree on it."""
    for sample in samples.SAMPLES[name]:
        found = {path: leaf for path, leaf in leaves(sample).items() if leaf.dtype == "float64"}
        if not found or sample.base == "nowhere" or "float32" in repr(sample):
            continue
        values = [torch.tensor(leaf.data, dtype=D) for leaf in found.values()]
        bases = [torch.tensor(baseline(leaf, sample.base, path), dtype=D) for path, leaf in found.items()]
        if any(not 0 < x.numel() <= 60 for x in values):
            continue
        source = torch.Generator().manual_seed(1)
        moves = [torch.randn(x.shape, generator=source, dtype=D) for x in (*values, *bases)]

        def at(h: float) -> Any:
            moved = [x + h * d for x, d in zip((*values, *bases), moves, strict=True)]  # noqa: B023
            return _weighted(name, sample, list(found), moved[: len(values)], moved[len(values) :])  # noqa: B023

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ends = {k: at(k * 1e-5) for k in (-2, -1, 0, 1, 2)}
            if not ends[0][1] or any(shapes != ends[0][1] for _, shapes in ends.values()):
                continue
            numbers = {k: float(total) for k, (total, _) in ends.items()}
            narrow, wide = (numbers[1] - numbers[-1]) / 2e-5, (numbers[2] - numbers[-2]) / 4e-5
            sides = (numbers[1] - numbers[0]) / 1e-5, (numbers[0] - numbers[-1]) / 1e-5
            scale = max(1.0, abs(narrow))
            if not (abs(narrow - wide) <= 1e-4 * scale and abs(sides[0] - sides[1]) <= 1e-2 * scale):
                continue  # a kink, a jump, or no number
            inputs = [x.clone().requires_grad_() for x in (*values, *bases)]
            total, _ = _weighted(name, sample, list(found), inputs[: len(values)], inputs[len(values) :])
            if not total.requires_grad:
                assert abs(narrow) <= 1e-6, sample
                continue
            grads = torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)
        slope = float(sum((grad * d).sum() for grad, d in zip(grads, moves, strict=True)))
        if numpy.isnan(slope) and _has_none(name, sample, list(found), values):
            continue
        assert slope == pytest.approx(narrow, abs=2e-4 * scale), sample


def _has_none(name: str, sample: samples.Sample, paths: Sequence[Path], values: Sequence[torch.Tensor]) -> bool:
    """Whether torch has no derivative of the plain function at these numbers."""
    inputs = [x.clone().requires_grad_() for x in values]
    made = run(name, sample, dict(zip(paths, map(np.asarray, inputs), strict=True)))
    total = sum(out.tensor.abs().sum() for out in made if getattr(out, "tensor", X).requires_grad)
    grads = torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)  # type: ignore[arg-type]
    return any(bool(torch.isnan(grad).any()) for grad in grads)


def test_a_kink_that_the_quadrature_crosses_is_named() -> None:
    x = torch.tensor([1.5, -0.7], dtype=D, requires_grad=True)
    made = np.decompose(x, baseline=torch.tensor([0.3, 1.7], dtype=D))
    with pytest.warns(np.DecompositionWarning, match="vector_norm: the path .* crosses a kink, and the gradient"):
        torch.linalg.vector_norm(made, -float("inf"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.linalg.vector_norm(made.detach(), -float("inf"))
        torch.linalg.vector_norm(made, 3)


def test_what_has_not_moved_moves_at_the_slope_beside_jumps() -> None:
    x = torch.tensor([0.75, 2.0], dtype=D, requires_grad=True)
    made = torch.nn.functional.hardshrink(np.decompose(x, baseline=x.detach()))
    assert made.components.tolist() == [[0, 0], [0, 0]]
    assert torch.autograd.grad(made.components.sum(), x)[0].tolist() == [1, 1]
