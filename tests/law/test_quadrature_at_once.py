"""Integrals of derivatives by a formula, of few numbers at all nodes at once, beside those panel by panel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import npdec as np
from npdec._law import quadrature

RIGHT = torch.tensor([[1.0, -2.0], [0.5, 1.0], [2.0, 0.3]], dtype=torch.float64)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "inv": torch.linalg.inv,
    "solve": lambda a: torch.linalg.solve(a, RIGHT),
    "solve of a vector": lambda a: torch.linalg.solve(a, RIGHT[:, 0]),
    "solve of both": lambda a: torch.linalg.solve(a, a[0] * 2 + a[1]),
    "eigvalsh": lambda a: torch.linalg.eigvalsh(a + a.mT),
    "cholesky": lambda a: torch.linalg.cholesky(a @ a.mT + 3 * torch.eye(3, dtype=torch.float64)),
    "pinv": lambda a: torch.linalg.pinv(a[:2]),
}


def paths(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, r = torch.randn(2, 3, 3, generator=generator, dtype=torch.float64).unbind(0)
    one = torch.eye(3, dtype=torch.float64)
    x, r = x + 3 * one, r * 0.5 + 2 * one
    return x, torch.lerp(x, r, 0.2) if seed % 2 else r


@pytest.mark.parametrize("name", FUNCTIONS)
def test_components_are_those_of_panels(name: str, monkeypatch):
    function, used = FUNCTIONS[name], []
    known = quadrature.at_once

    def seen(*args: Any) -> Any:
        made = known(*args)
        used.append(made is not None)
        return made

    for seed in range(6):
        x, r = paths(seed)
        with monkeypatch.context() as patch:
            patch.setattr(quadrature, "at_once", seen)
            found = function(np.decompose(x, baseline=r))
        with monkeypatch.context() as patch:
            patch.setattr(quadrature, "at_once", lambda *args: None)
            wanted = function(np.decompose(x, baseline=r))
        scale = found.value.abs().max() + found.residual.abs().max()
        assert torch.equal(found.value, wanted.value)
        assert torch.equal(found.residual, wanted.residual)
        assert (found.components - wanted.components).abs().max() <= 1e-10 * scale
        assert np.completeness(found).abs().max() <= 2e-12 * scale
    assert any(used)


def test_what_the_nodes_do_not_resolve_is_left_to_panels():
    """A path that comes close to a singular matrix, one that meets it, and one along which only the sign turns."""
    one = torch.eye(2, dtype=torch.float64)
    near = np.decompose(torch.tensor([[1.0, 0.0], [0.0, 1e-3]], dtype=torch.float64), baseline=2 * one)
    found = torch.linalg.inv(near)
    assert np.completeness(found).abs().max() <= 1e-9 * found.value.abs().max()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.linalg.inv(np.decompose(one, baseline=-one))
    assert caught
