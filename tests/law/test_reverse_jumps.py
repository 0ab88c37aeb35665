"""Jumps, conditions, choices and gates in reverse mode: what C finds in one pass over memory is what torch finds in
several, and what the general law says; what moves nowhere is met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from native_cases import native
from npdec._law import reverse_elements

# Of x, 4 by 6; constants b (6), c (4 by 6), m (4 by 6, of booleans).
CALLS = """
F.threshold(x, 0.1, 0.0) | F.threshold(x, 0.1, -7.0) | F.hardshrink(x) | F.hardshrink(x * 3, 0.3) | torch.sign(x)
torch.round(x * 3) | torch.floor(x[:, 1:4] * 2) | torch.trunc(x.T * 5) | F.threshold(x * b.round(), 0.1, 0.5)
F.hardshrink(torch.cat([x, x * 0])) | torch.sign(x)[0] | F.threshold(x[:, :1], 0.2, 0.0) | F.hardshrink(x[None])
torch.where(x > 0, x, 0.1 * torch.expm1(x)) | torch.where(x >= b, x, c) | torch.where(x < c, c, x * x) * x
torch.where(x != 0.3, x * x, 2.0) | torch.where(x > 0.2, 1, x) | torch.where(c > x, b, torch.tanh(x))
torch.where(x <= 0.1, x, torch.sqrt(x - 0.1)).nan_to_num(0.0) | torch.where(x.T > 0, x.T, x.T * 2)
torch.where((x * 0 + 1) > 0, x, x * x) | torch.where(x > 0, x, x.mean(-1, keepdim=True)) | torch.where(x > 0, b, x * 3)
torch.where(x > 0, torch.tensor(0.5, dtype=x.dtype), x) | torch.where(x[:, :1] > 0, x[:, :1], x[:, 1:2])
torch.where(x.mean(-1, keepdim=True) > 0, x, x * x) | torch.where(m, x, x * x) | x * (x > 0) | (x > b).sum() * x
torch.where(F.relu(x) > 0, x, x * x) | torch.where(x > 0, torch.where(x > 1, x, x * x), x * 0.1)
torch.where(F.linear(x, c) > 0, F.linear(x, c), x[:, :4]) | torch.where(x[0] > 0, x[1], x[2])
F.glu(x) | F.glu(x, 0) | F.glu(x * 8, 1) | F.glu(x.T, 0) | F.glu(x[None], 1) | F.glu(x * 0 + b) | F.glu(x[:, 1:5])
F.glu(F.linear(x, c)) | F.glu(x * 1e-9 + c) | F.glu(x * 40)
"""
TEXTS = [text.strip() for line in CALLS.strip().splitlines() for text in line.split(" | ")]
BASES = [None, 0.3, "rows", "all"]


def _given(dtype: torch.dtype) -> dict[str, Any]:
    drawn = torch.Generator().manual_seed(3)
    x, b, c = [torch.randn(s, generator=drawn, dtype=torch.float64).to(dtype) for s in ((4, 6), (6,), (4, 6))]
    return {"x": x, "b": b, "c": c, "m": c > 0}


def _weighted(text: str, given: dict[str, Any]) -> Callable[[Any], Any]:
    """The sum of what a call gives, of which each element has a weight of its own."""
    call = eval(f"lambda x, b, c, m: {text}", {"torch": torch, "F": F})

    def f(x: Any) -> Any:
        made = call(x + 0, given["b"], given["c"], given["m"]).reshape(-1)
        return (made * torch.linspace(0.5, 1.5, made.numel(), dtype=given["b"].dtype)).sum()

    return f


def _baseline(base: Any, given: dict[str, Any]) -> Any:
    return {"rows": given["b"] / 4, "all": given["c"] / 2}.get(base, base)


def _compare(own: Any, other: Any, text: str, tolerance: float) -> None:
    size = float(other.attribution.abs().max() + other.value.abs() + other.residual.abs())
    torch.testing.assert_close(own.value, other.value, rtol=0, atol=0, msg=text)
    for name in ("residual", "attribution"):
        ends = getattr(own, name), getattr(other, name)
        torch.testing.assert_close(*ends, rtol=0, atol=tolerance * size, msg=f"{text}: {name}")


@native
@pytest.mark.quick
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_one_pass_finds_what_several_find(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    given = _given(dtype)
    for i, text in enumerate(TEXTS):
        f = _weighted(text, given)
        for base in (BASES[i % 4], BASES[(i + 1) % 4]):
            baseline = _baseline(base, given)
            own = np.attribute(f, given["x"], baseline=baseline)
            with monkeypatch.context() as patch:
                patch.setattr(reverse_elements, "is_for_c", lambda x: False)
                other = np.attribute(f, given["x"], baseline=baseline)
            _compare(own, other, f"{text}, {base}", 64 * torch.finfo(dtype).eps)


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore")
def test_it_is_what_the_general_law_says() -> None:
    """Forward every input element has a component of its own, and contributions are checked at each call."""
    given = _given(torch.float64)
    for i, text in enumerate(TEXTS):
        f, base = _weighted(text, given), BASES[i % 4]
        baseline = _baseline(base, given)
        own = np.attribute(f, given["x"], baseline=baseline)
        with np.check_completeness():
            other = np.attribute(f, given["x"], baseline=baseline, mode="forward")
        _compare(own, other, f"{text}, {base}", 1e-9)


@pytest.mark.quick
@pytest.mark.parametrize("rows", [1, 7, 300])
@pytest.mark.parametrize("width", [1, 6, 300])
def test_rows_of_any_length_are_complete(rows: int, width: int) -> None:
    """Rows at the baseline are one in memory, and are read again and again, in blocks."""
    x = torch.randn(rows, 2 * width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    row = torch.linspace(-1, 1, 2 * width, dtype=torch.float64)
    for f in (
        lambda u: torch.where(u > row / 2, u * u, 0.1 * u).sum(),
        lambda u: F.glu(u * row).sum(),
        lambda u: F.hardshrink(u).sum(),
    ):
        for baseline in (None, row / 3, x.flip(0) / 2):
            found = np.attribute(f, x, baseline=baseline)
            start = torch.zeros_like(x) if baseline is None else torch.as_tensor(baseline).expand_as(x)
            torch.testing.assert_close(found.value, f(x), rtol=0, atol=0)
            torch.testing.assert_close(found.residual, f(start))
            torch.testing.assert_close(found.attribution.sum(), f(x) - f(start), rtol=1e-9, atol=1e-9 * x.numel())


@pytest.mark.quick
def test_a_condition_says_by_how_much_it_moves() -> None:
    x, seen = torch.tensor([[1.0, -2.0, 0.5], [-1.0, 3.0, 0.0]]), []

    def f(u: Any) -> Any:
        made = u > 0.25
        seen.append((made.value, made.residual, made.components.detach().clone()))
        return torch.where(made, u, 2 * u).sum()

    np.attribute(f, x)
    assert torch.equal(seen[0][0], x > 0.25)
    assert not seen[0][1].any()
    assert torch.equal(seen[0][2][0], (x > 0.25).float())


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore")
def test_a_branch_that_is_no_number_where_it_is_not_chosen_is_left_to_the_general_law() -> None:
    x = torch.tensor([[4.0, -1.0], [-4.0, 9.0]], dtype=torch.float64)

    def f(u: Any) -> Any:
        return torch.where(u > 1.0, torch.log(u - 1.0), u * u).sum()

    found = np.attribute(f, x, baseline=2.0)
    torch.testing.assert_close(found.value, f(x))
    assert torch.isfinite(found.value)
