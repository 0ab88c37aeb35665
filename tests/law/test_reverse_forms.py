"""Forms of calls in reverse mode that are made of torch's own functions, beside the law forward, and beside the general
way, which looks at each call's completeness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from reverse_cases import drawn, from_everywhere

pytestmark = [pytest.mark.quick, pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")]


X = drawn(3, 4, 6, seed=7)
X[0, 1] = 0.0  # where nothing moves from a baseline of zeros
X[1, 2, :3] = X[1, 2, 3:]  # ties
MATRIX, ROW, ROWS, SQUARE = drawn(6, 5), drawn(6), drawn(3, 4, 6, seed=2), drawn(4, 4, seed=3)
BAGS = torch.randint(4, (3, 24), generator=torch.Generator().manual_seed(3))
INDEX = torch.tensor([[[0, 3]], [[5, 5]], [[2, 1]]])
MASK = ROWS > 0.2

LINEAR: dict[str, Callable[[Any], Any]] = {
    "flip": lambda x: x.flip(1),
    "flip of all axes": lambda x: torch.flip(x, (0, 1, 2)),
    "fliplr": torch.fliplr,
    "roll": lambda x: x.roll(2, -1),
    "roll of all elements": lambda x: x.roll(2),
    "take": lambda x: x.take(torch.tensor([1, 5, 7])),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "gather": lambda x: x.gather(2, INDEX),
    "index_select": lambda x: x.index_select(1, torch.tensor([3, 0, 3])),
    "index_add": lambda x: ROWS.index_add(1, torch.tensor([1, 1, 0, 2]), x),
    "weighted bags": lambda x: F.embedding_bag(BAGS, ROWS[0], per_sample_weights=x.flatten(1), mode="sum"),
    "dropout of nothing": lambda x: F.dropout(x, 0.5, False) + torch.nn.Dropout(0.5).eval()(x),
    "triu": lambda x: x.triu(),
    "cumsum of rows": lambda x: x.cumsum(-1),
    "cumsum along the batch": lambda x: x.cumsum(0),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.transpose(0, 1), 2),
    "unfold": lambda x: F.unfold(x[:, None], 2),
    "pad": lambda x: F.pad(x, (1, 2), value=3.0),
    "pad by reflection": lambda x: F.pad(x, (2, 1), "reflect"),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x[:, None], scale_factor=1.5, mode="bilinear"),
    "masked_fill": lambda x: x.masked_fill(MASK, -1e9) * 1e-9,
    "masked_fill that is infinite": lambda x: torch.softmax(x.masked_fill(MASK & (ROWS < 1), -torch.inf), -1),
    "rfft": lambda x: torch.fft.rfft(x).real + torch.fft.rfft(x).imag,
    "elements at places": lambda x: x[torch.arange(3), :, torch.tensor([1, 1, 4])],
    "elements of a mask": lambda x: x[MASK],
    "times a matrix": lambda x: x @ MATRIX,
    "times a vector": lambda x: x @ ROW,
    "a matrix times": lambda x: SQUARE @ x,
    "batches of constants": lambda x: torch.bmm(x, ROWS.mT),
    "constants of a batch": lambda x: torch.matmul(ROWS.mT, x),
    "addmm": lambda x: torch.addmm(ROW[:5], x[0], MATRIX),
    "einsum with a constant": lambda x: torch.einsum("bti,io->bto", x, MATRIX),
    "einsum over the batch": lambda x: torch.einsum("bti,bti->ti", x, ROWS),
    "constant that broadcasts": lambda x: x * ROWS[:, None],
    "sum that broadcasts": lambda x: x - x.mean(-1, keepdim=True) + x[0],
    "number less a row": lambda x: 1 - x[0] + x,
    "attention beyond a mask": lambda x: (x @ x.mT).masked_fill(SQUARE > 1, -torch.inf).softmax(-1) @ x,
    "layer_norm of columns": lambda x: F.layer_norm(x.transpose(0, 1), (6,), ROW),
    "contiguous": lambda x: x.transpose(1, 2).contiguous(),
}
PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "square": lambda x: x * x,
    "product that broadcasts": lambda x: x * x[..., :1],
    "outer": lambda x: x[..., None] * x[:, :, None],
    "einsum": lambda x: torch.einsum("bti,bsi->bts", x, x.tanh()),
}
TARGET, SHARES = ROWS[0], torch.sigmoid(ROWS[0])
SCALES = SQUARE[0].abs()
CLASSES, SIGNS = torch.tensor([2, 0, 5, 5]), torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
LOSSES: dict[str, Callable[[Any], Any]] = {
    "mse_loss": lambda x: F.mse_loss(x[0], TARGET),
    "mse_loss of all": lambda x: F.mse_loss(x, ROWS, reduction="sum"),
    "l1_loss": lambda x: F.l1_loss(x[1], TARGET, reduction="none"),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, ROWS, beta=0.5),
    "huber_loss": lambda x: F.huber_loss(3 * x, ROWS, delta=0.7),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(torch.sigmoid(x[1]), SHARES, reduction="sum"),
    "weighted binary_cross_entropy": lambda x: F.binary_cross_entropy(x[1].sigmoid(), SHARES, weight=ROW.abs()),
    "with logits": lambda x: F.binary_cross_entropy_with_logits(x[0], SHARES, weight=ROW.abs(), pos_weight=ROW**2),
    "kl_div": lambda x: F.kl_div(x[0].log_softmax(-1), SHARES, reduction="batchmean"),
    "kl_div of logarithms": lambda x: F.kl_div(x[0], TARGET, reduction="sum", log_target=True),
    "poisson_nll_loss": lambda x: F.poisson_nll_loss(x, ROWS.abs(), full=True),
    "soft_margin_loss": lambda x: F.soft_margin_loss(x, ROWS.sign()),
    "nll_loss": lambda x: F.nll_loss(x[1], CLASSES, weight=ROW.abs()),
    "nll_loss of ignored ones": lambda x: F.nll_loss(x[1], CLASSES, ignore_index=5, reduction="none"),
    "cross_entropy": lambda x: F.cross_entropy(x[1], CLASSES),
    "smoothed cross_entropy": lambda x: F.cross_entropy(x[2], CLASSES, label_smoothing=0.2, reduction="none"),
    "cross_entropy of probabilities": lambda x: F.cross_entropy(x[1], SHARES, reduction="sum"),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x[1], CLASSES, margin=0.7),
    "multi_margin_loss of each": lambda x: F.multi_margin_loss(x[2], CLASSES, reduction="none"),
    "multi_margin_loss of squares": lambda x: F.multi_margin_loss(x[1], CLASSES, p=2, reduction="sum"),
    "gaussian_nll_loss": lambda x: F.gaussian_nll_loss(x[0], TARGET, x[1].exp(), full=True),
    "gaussian_nll_loss of constants": lambda x: F.gaussian_nll_loss(TARGET, x[0], F.softplus(x[2]), reduction="none"),
    "gaussian_nll_loss that is bounded": lambda x: F.gaussian_nll_loss(x[0], TARGET, x[1].square(), eps=0.5),
    "triplet_margin_loss": lambda x: F.triplet_margin_loss(x[1], TARGET, x[2]),
    "cosine_embedding_loss": lambda x: F.cosine_embedding_loss(x[1] + ROW, TARGET, SIGNS),
    "margin_ranking_loss": lambda x: F.margin_ranking_loss(x[1], x[2], SIGNS[:, None].expand(4, 6), margin=0.1),
    "hinge_embedding_loss": lambda x: F.hinge_embedding_loss(x[1], SIGNS[:, None].expand(4, 6), reduction="sum"),
    "cross_entropy of ignored ones": lambda x: F.cross_entropy(x[1], CLASSES, ignore_index=5),
}
ELEMENTS: dict[str, Callable[[Any], Any]] = {
    "maximum": lambda x: torch.maximum(x, x.flip(-1)),
    "minimum beside a constant": lambda x: torch.minimum(x, ROW),
    "relu by a maximum": lambda x: torch.maximum(x, torch.zeros((), dtype=x.dtype)),
    "quotient": lambda x: x.sin() / (x * x + 1),
    "number over": lambda x: 3 / (x * x + 1),
    "rows over": lambda x: ROW / (x * x + 1).sum(-1, keepdim=True),
    "prelu": lambda x: F.prelu(x, torch.tensor([0.3], dtype=x.dtype)),
    "prelu of numbers": lambda x: F.prelu(x.sum(), torch.tensor([0.3], dtype=x.dtype)),
    "prelu of channels": lambda x: F.prelu(x, ROW[:4]),
    "softshrink": lambda x: F.softshrink(x, 0.4),
    "hardshrink": lambda x: F.hardshrink(x, 0.4),
    "threshold": lambda x: F.threshold(x, 0.3, -1.0),
    "sign": lambda x: torch.sign(x - 0.1) * x,
    "floor": lambda x: (3 * x).floor(),
    "frac": lambda x: torch.frac(x) * x,
    "glu": F.glu,
    "glu of channels": lambda x: F.glu(7 * x, 1),
    "chosen by a mask": lambda x: torch.where(MASK, x, x.tanh()),
    "chosen by itself": lambda x: torch.where(x > 0.2, x * x, x.exp()),
    "chosen, or a constant": lambda x: torch.where(x < ROW, x, 1.5),
    "constants chosen": lambda x: torch.where(x >= 0.1, ROWS, 2.0) * x,
    "logsumexp": lambda x: torch.logsumexp(x, -1),
    "logsumexp along the batch": lambda x: torch.logsumexp(3 * x, 0, keepdim=True),
    "softmax of channels": lambda x: torch.softmax(x, 1),
    "log_softmax of the batch": lambda x: F.log_softmax(x, 0),
    "log_softmax of long rows": lambda x: F.log_softmax(x.repeat(1, 1, 30), -1),
}
LENGTHS: dict[str, Callable[[Any], Any]] = {
    "norm": lambda x: x.norm(dim=-1),
    "norm of all": torch.linalg.vector_norm,
    "norm of channels": lambda x: torch.linalg.vector_norm(x, dim=(0, 2), keepdim=True),
    "std": lambda x: x.std(-1),
    "std over the batch": lambda x: torch.std(x, 0, correction=0, keepdim=True),
    "var": lambda x: x.var((0, 2), unbiased=False),
    "var of all": torch.var,
    "normalize": lambda x: F.normalize(x + ROW, dim=-1),
    "normalize near the origin": lambda x: F.normalize(x + ROW / 100, dim=-1),
    "cosine_similarity": lambda x: F.cosine_similarity(x + ROW, ROWS, dim=-1),
    "cosine_similarity of two": lambda x: F.cosine_similarity(x + ROW, x.exp(), dim=2),
    "pairwise_distance": lambda x: F.pairwise_distance(x[0], TARGET),
    "pairwise_distance of two": lambda x: F.pairwise_distance(x[0], x[1].sin(), keepdim=True),
    "cdist": lambda x: torch.cdist(x[0], MATRIX.T),
    "cdist of sums": lambda x: torch.cdist(x[0], MATRIX.T, p=1),
    "cdist of constants, of sums": lambda x: torch.cdist(MATRIX.T, x[1], p=1.0),
    "norm of sums": lambda x: torch.linalg.vector_norm(x, 1, 1) + x.norm(p=1, dim=-1, keepdim=True).squeeze(-1)[:, :1],
    "norm of all sums": lambda x: torch.linalg.vector_norm(x, 1),
    "cdist of constants": lambda x: torch.cdist(MATRIX.T, x[1]),
    "cdist of what is far from zero": lambda x: torch.cdist(x[0] + 30, MATRIX.T + 30),
    "cdist through a point": lambda x: torch.cdist(x[1], X[1]),
}
EXTREMES: dict[str, Callable[[Any], Any]] = {
    "amax": lambda x: x.amax(-1),
    "amax of planes": lambda x: x.amax((0, 2), keepdim=True),
    "amin of all": torch.amin,
    "max": lambda x: x.max(),
    "max along an axis": lambda x: x.max(1).values,
    "min along an axis": lambda x: torch.min(x, -1, keepdim=True)[0],
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x, 3),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (2, 1)),
    "uneven adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x, 4),
    "instance_norm": lambda x: F.instance_norm(x.repeat(1, 1, 2) + ROWS[0].repeat(1, 2), weight=SCALES, bias=SCALES),
}


def of_cell(kind: str, gates: int) -> Callable[[Any], Any]:
    """The states of a cell after three steps, of which the first starts from zeros."""
    function: Any = getattr(torch, f"{kind}_cell")
    weights = drawn(5 * gates, 6, seed=4), drawn(5 * gates, 5, seed=5), drawn(5 * gates), drawn(5 * gates, seed=8)

    def steps(x: Any) -> Any:
        state: Any = torch.zeros(4, 5, dtype=x.dtype)
        state = (state, state) if kind == "lstm" else state
        for t in range(3):
            state = function(x[t], state, *weights)
        return torch.cat(state) if kind == "lstm" else state

    return steps


CELLS = {kind: of_cell(kind, gates) for kind, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))}
WAYS = CELLS | LINEAR | PRODUCTS | LOSSES | ELEMENTS | LENGTHS | EXTREMES


def _from_everywhere(name: str) -> None:
    start = drawn(3, 4, 6, seed=11)
    start[2] = X[2]  # ends that are equal
    from_everywhere(WAYS[name], X, start, list(WAYS).index(name))


@pytest.mark.parametrize("name", LINEAR | PRODUCTS)
def test_linear_functions_and_products(name: str):
    _from_everywhere(name)


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str):
    _from_everywhere(name)


@pytest.mark.parametrize("name", ELEMENTS)
def test_functions_of_elements(name: str):
    _from_everywhere(name)


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths(name: str):
    _from_everywhere(name)


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_and_instances(name: str):
    _from_everywhere(name)


@pytest.mark.parametrize("name", CELLS)
def test_cells(name: str):
    _from_everywhere(name)
