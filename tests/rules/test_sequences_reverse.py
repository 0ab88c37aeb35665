"""Attention and recurrent cells in reverse mode, by their short ways: attributions agree with the general law, which
looks at every result, and are complete; residuals of equal examples stay one row."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._decomposed.tensor import DecomposedTensor
from npdec._native import calls

CELLS = {"lstm": torch.nn.LSTMCell, "gru": torch.nn.GRUCell, "rnn": torch.nn.RNNCell}
NEAR = {torch.float32: 2e-5, torch.float64: 1e-10}


def frozen(module: Any, dtype: torch.dtype) -> Any:
    return module.to(dtype).requires_grad_(False).eval()


def check(f: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
    """The attribution is complete, and that of the general law."""
    short = np.attribute(f, x)
    with np.check_completeness():
        general = np.attribute(f, x)
    near = NEAR[x.dtype]
    size = float(general.attribution.abs().max()) + 1e-3
    assert torch.equal(short.value, f(x))
    assert float((short.attribution - general.attribution).abs().max()) <= near * size
    assert abs(float(f(x) - f(torch.zeros_like(x)) - short.attribution.sum())) <= near * size * x.numel() ** 0.5


@pytest.mark.parametrize(
    ("kind", "dtype", "width", "biases"), itertools.product(CELLS, NEAR, (5, 32), (True, False)), ids=str
)
def test_cells(kind: str, dtype: torch.dtype, width: int, biases: bool) -> None:
    """Steps of a cell, of which the first starts from zeros, and of which all outputs are used."""
    torch.manual_seed(width)
    cell = frozen(CELLS[kind](3, width, bias=biases), dtype)

    def f(x: torch.Tensor) -> torch.Tensor:
        state: Any = None
        total: Any = 0
        for t in range(x.shape[1]):
            state = cell(x[:, t], state)
            total = total + (state[0][:, 1] + 0.5 * state[1][:, 0] if kind == "lstm" else state[:, 1])
        return total.sum()

    for scale in (1, 30):
        check(f, scale * torch.randn(4, 3, 3, dtype=dtype))


def test_cells_of_large_numbers() -> None:
    """Gates that are closed or open at both ends."""
    cell = frozen(torch.nn.LSTMCell(3, 4), torch.float64)
    cell.bias_hh += 40
    check(lambda x: cell(x)[0][:, 1].sum(), torch.randn(5, 3, dtype=torch.float64))


def masks(dtype: torch.dtype, batch: int, heads: int, length: int) -> dict[str, Any]:
    some = torch.rand(batch, heads, length, length) > 0.4
    some[..., 0] = True
    return {
        "none": None,
        "causal": None,
        "bools": some[0, 0],
        "numbers": torch.randn(heads, length, length, dtype=dtype),
        "keys": some[:, :1, :1],
        "infinite": torch.zeros(batch, heads, length, length, dtype=dtype).masked_fill(~some, -torch.inf),
    }


@pytest.mark.parametrize(
    ("name", "dtype", "length"),
    itertools.product(("none", "causal", "bools", "numbers", "keys", "infinite"), NEAR, (1, 6, 11)),
    ids=str,
)
def test_attention(name: str, dtype: torch.dtype, length: int) -> None:
    """Of itself, and of a memory that is constant; with short paths of the scores, and with long ones."""
    torch.manual_seed(length)
    batch, heads, width = 3, 2, 4
    project = frozen(torch.nn.Linear(8, 24), dtype)
    mask = masks(dtype, batch, heads, length)[name]
    memory = torch.randn(batch, heads, length, width, dtype=dtype)

    def split(t: torch.Tensor) -> torch.Tensor:
        return t.view(batch, length, heads, width).transpose(1, 2)

    def f(x: torch.Tensor, other: bool = False) -> torch.Tensor:
        q, k, v = [split(t) for t in project(x).chunk(3, -1)]
        k = memory if other else k
        made = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=name == "causal")
        return made.transpose(1, 2).reshape(batch, length, 8)[:, -1, 1].sum()

    for scale in (1, 8):
        x = scale * torch.randn(batch, length, 8, dtype=dtype)
        check(f, x)
        check(lambda x: f(x, True), x)


def test_shared_keys() -> None:
    """Keys and values that several heads of the queries share are those that are repeated."""
    torch.manual_seed(0)
    q_, k_, v_ = [frozen(torch.nn.Linear(8, n), torch.float64) for n in (16, 8, 8)]

    def f(x: torch.Tensor, shared: bool) -> torch.Tensor:
        q, k, v = [t.view(3, 5, -1, 4).transpose(1, 2) for t in (q_(x), k_(x), v_(x))]
        if not shared:
            k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=shared)[:, :, 1].sum()

    x = torch.randn(3, 5, 8, dtype=torch.float64)
    check(lambda x: f(x, True), x)
    made = [np.attribute(lambda x, its=shared: f(x, its), x).attribution for shared in (True, False)]
    torch.testing.assert_close(*made)


def test_rows_stay_one() -> None:
    """Residuals of examples that have one baseline are one row after what moves and joins axes, masks, and attends."""
    seen: dict[str, int] = {}

    def tell(name: str, t: torch.Tensor) -> torch.Tensor:
        if isinstance(t, DecomposedTensor):
            seen[name] = t.residual.stride(0)
        return t

    def f(x: torch.Tensor) -> torch.Tensor:
        h = x.view(3, 5, 2, 4).transpose(1, 2)
        tell("joined", torch.cat([-h[..., 2:], h[..., :2]], -1))
        tell("contiguous", h.contiguous())
        scores = tell("masked", (h @ h.mT).masked_fill(torch.ones(5, 5).tril() == 0, -torch.inf))
        made = torch.softmax(scores, -1) @ h
        tell("reshaped", made.transpose(1, 2).reshape(3, 5, 8))
        made = tell("attended", F.scaled_dot_product_attention(made, h, h, is_causal=True))
        return made[:, :, 1].sum()

    check(f, torch.randn(3, 5, 8, dtype=torch.float64))
    np.attribute(f, torch.randn(3, 5, 8, dtype=torch.float64))
    if calls is not None:
        assert set(seen.values()) == {0}, seen


@pytest.mark.parametrize("dtype", NEAR, ids=str)
def test_sums_beside_views(dtype: torch.dtype) -> None:
    """Sums, products and joined tensors of views that do not lie by rows, and of constants."""
    torch.manual_seed(1)
    project, rate = frozen(torch.nn.Linear(6, 6), dtype), torch.rand(6, dtype=dtype)

    def f(x: torch.Tensor) -> torch.Tensor:
        h, state = project(x), torch.zeros(4, 6, dtype=dtype)
        for t in range(3):
            gate = torch.sigmoid(project(torch.cat([x[:, t, :3], state[:, 3:]], 1)))
            state = rate * state + (1 - gate) * h[:, t] + (h.mT[:, :, t] + 1) * gate
        return torch.cat([torch.ones(4, 2, dtype=dtype), torch.tanh(state)], 1)[:, 1:4].sum()

    check(f, torch.randn(4, 3, 6, dtype=dtype))


@pytest.mark.parametrize("dtype", NEAR, ids=str)
@pytest.mark.parametrize("operands", [3, 4, 5])
def test_einsum_of_several(dtype: torch.dtype, operands: int) -> None:
    """Operands that all move, and one that is constant; axes of which the baseline has equal rows."""
    torch.manual_seed(operands)
    project, constant = frozen(torch.nn.Linear(4, 4), dtype), torch.randn(4, 2, dtype=dtype)

    def f(x: torch.Tensor) -> torch.Tensor:
        parts = [project(x), x, torch.tanh(x), 1 + x, x.flip(1)][:operands]
        alone = torch.einsum(",".join(["btd"] * operands) + "->bt", *parts)
        pairs = torch.einsum("btd, bsd, de, bs -> bte", parts[0], parts[1], constant, alone)
        return pairs[:, 1].sum()

    check(f, torch.randn(3, 5, 4, dtype=dtype))


@pytest.mark.skipif(calls is None, reason="the module in C is not built")
@pytest.mark.parametrize("is_opened", [True, False])
def test_slopes_of_gates(is_opened: bool) -> None:
    """Slopes in single precision are those of double precision, between close numbers and far ones."""
    function = torch.sigmoid if is_opened else torch.tanh
    x = torch.cat([torch.linspace(-9, 9, 301), torch.linspace(-0.7, 0.7, 300), torch.zeros(1)]).expand(4, -1)
    x = (x + torch.tensor([0.0, 1e-3, 1e-6, 0.4])[:, None]).contiguous()
    for low in (x[:1].contiguous(), torch.full_like(x[:1], 0.25)):
        made = torch.empty_like(x)
        assert calls.gate_slopes(is_opened, x, low, function(x), function(low), made)
        ends = x.double(), low.double().expand(4, -1)
        times, weights = torch.linspace(0.5 / 400, 1 - 0.5 / 400, 400, dtype=torch.float64), 1 / 400
        points = ends[1] + times[:, None, None] * (ends[0] - ends[1])
        shape = function(points)
        rates = shape * (1 - shape) if is_opened else 1 - shape * shape
        torch.testing.assert_close(made.double(), (rates * weights).sum(0), rtol=2e-4, atol=2e-6)


@pytest.mark.skipif(calls is None, reason="the module in C is not built")
def test_other_shapes_are_refused() -> None:
    """Nothing is written where tensors do not fit together."""
    x, to = torch.randn(3, 8), torch.full((3, 8), 7.0)
    assert not calls.gate_slopes(True, x, x[:, :4].contiguous(), x, x, to)
    assert not calls.gate_slopes(True, x, x, x.double(), x, to)
    assert not calls.lstm_cell(x, x, x, x, x, x, x, x, to)
    assert not calls.gru_cell(x, x, x, x, x, x, x, x, x, to)
    assert not calls.lstm_cell_back(None, x, x, to, x)
    assert not calls.gru_cell_back(x, x, to, to, x)
    assert not calls.lstm_steps(3, x, x, x[None], x, x, to)
    assert not calls.heads_back(x[None], x[None, :2], to[None], None, 1.0, False, 0, 0, x, x)
    assert bool((to == 7).all())
