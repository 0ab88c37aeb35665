"""Products, quotients and sums at places of many elements in reverse mode, of shapes that broadcast, beside the general
way, which looks at each call's completeness; and rows of residuals that stay equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._decomposed.tensor import DecomposedTensor
from npdec._native import calls

pytestmark = [pytest.mark.quick, pytest.mark.filterwarnings("ignore::npdec.exceptions.DecompositionWarning")]

native = pytest.mark.skipif(calls is None, reason="the module in C is not built")


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + len(shape)), dtype=torch.float64)


SHAPE = (6, 8, 10, 12)
X, OTHER, WEIGHT = drawn(*SHAPE), drawn(*SHAPE, seed=3), drawn(8, 1, 12, seed=5)
PLACES = torch.tensor([3, 0, 3, 5, 1, 3])

CALLS: dict[str, Callable[[Any], Any]] = {
    "product": lambda x: x * x.flip(1),
    "square": lambda x: x * x,
    "channels": lambda x: x * x.mean((2, 3), keepdim=True),
    "positions": lambda x: x.amax(1, keepdim=True) * x,
    "outer": lambda x: x[..., None] * x[:, :1, :, None],
    "more axes": lambda x: x * x[0, :, :1],
    "other strides": lambda x: x.transpose(1, 3) * x.permute(0, 3, 2, 1)[..., :1],
    "one number": lambda x: x * x[0, 0, 0, 0],
    "scale and shift": lambda x: x * x[:, :, :1, :1] + x[:, :, 1:2, :1],
    "quotient": lambda x: x / (2 + x.flip(2) ** 2),
    "quotient by channels": lambda x: x / (1 + x.square().mean((2, 3), keepdim=True)),
    "constant over": lambda x: OTHER / (3 + x.square()),
    "number over": lambda x: 2 / (3 + x.square()),
    "steep": lambda x: OTHER[..., 0] / (1e-6 + 1e-4 * x.square().mean(-1)),
    "added at places": lambda x: torch.zeros_like(OTHER).index_add(0, PLACES, x.tanh()),
    "added to itself": lambda x: x.index_add(0, PLACES, x.tanh(), alpha=2),
    "scattered": lambda x: torch.zeros_like(OTHER).scatter_add(0, PLACES[:, None, None, None].expand(SHAPE), x.tanh()),
    "put over a slice": lambda x: torch.slice_scatter(x, x[:, :2].tanh(), 1, 3, 5),
    "many joined": lambda x: torch.stack([x[:, i] * i for i in range(8)] + [WEIGHT[0].expand(6, 10, 12)] * 3, 1),
    "einsum": lambda x: torch.einsum("bcij,bdij->bcd", x, x.tanh()),
    "einsum of an axis less": lambda x: torch.einsum("bcij,bij->bci", x, x.mean(1)),
    "unit vectors": lambda x: F.normalize(x, dim=-1) + F.normalize(x + 1, dim=1),
    "unit vectors of heads": lambda x: F.normalize((x + WEIGHT).transpose(1, 2), dim=-1),
    "normalised heads": lambda x: F.layer_norm((x + WEIGHT).transpose(1, 2), (12,)),
    "softmax of heads": lambda x: torch.softmax((x + WEIGHT).transpose(1, 2), -1),
    "largest of columns": lambda x: (x + WEIGHT).amax(1),
    "least of the middle": lambda x: (x + WEIGHT).amin((1, 2)),
    "rows at places": lambda x: (x + WEIGHT)[PLACES].tanh(),
    "power": lambda x: x**2 + x**3,
    "from zeros": lambda x: torch.cat([x[:, 0], torch.zeros(6, 10, 12, dtype=x.dtype)], 1).tanh(),
}


def total(name: str) -> Callable[[Any], Any]:
    """The function, whose elements are added up with different weights."""

    def function(x: Any) -> Any:
        made = CALLS[name](x)
        return (made * drawn(*made.shape, seed=11)).sum()

    return function


def check(found: torch.Tensor, wanted: torch.Tensor, digits: float) -> None:
    assert float((found - wanted).abs().max()) <= digits * float(wanted.abs().max())


@pytest.mark.parametrize("name", CALLS)
def test_it_is_what_the_general_way_finds(name: str):
    f = total(name)
    for baseline in (0.0, drawn(12, seed=2), drawn(*SHAPE, seed=9)):
        found = np.attribute(f, X, baseline=baseline).attribution
        with np.check_completeness():
            wanted = np.attribute(f, X, baseline=baseline).attribution
        check(found, wanted, 1e-9)
        low = torch.broadcast_to(torch.as_tensor(baseline, dtype=X.dtype), X.shape)
        change = float(f(X) - f(low))
        assert abs(float(found.sum()) - change) <= 1e-8 * max(abs(change), float(found.abs().sum()))


@pytest.mark.parametrize("name", ["channels", "outer", "quotient by channels", "unit vectors", "softmax of heads"])
def test_single_precision_has_its_digits(name: str):
    weights = drawn(*CALLS[name](X).shape, seed=11)
    wanted = np.attribute(lambda x: (CALLS[name](x) * weights).sum(), X.float().double(), baseline=0.5).attribution
    single = weights.float()
    found = np.attribute(lambda x: (CALLS[name](x) * single).sum(), X.float(), baseline=0.5).attribution
    check(found.double(), wanted, 1e-4)


def test_nothing_passes_where_nothing_comes_from():
    """A factor that is infinite where the product is not looked at."""
    endless = X.clone()
    endless[0, 0] = torch.inf

    def f(x: Any) -> Any:
        return (x * x[:, :, :1])[1:].sum()

    found = np.attribute(f, endless, baseline=0.0).attribution
    assert bool(torch.isfinite(found[1:]).all())
    assert bool((found[0] == 0).all() | found[0].isnan().any())


@pytest.mark.parametrize(
    "name",
    [
        *("channels", "scale and shift", "quotient by channels", "many joined", "rows at places"),
        *(pytest.param(name, marks=native) for name in ("positions", "from zeros")),
    ],
)
def test_equal_rows_of_the_residual_stay_one_in_memory(name: str):
    """The baseline is broadcast along the batch, and so is the function of it."""
    seen: list[Any] = []

    def f(x: Any) -> Any:
        made = CALLS[name](x)
        seen.append(made)
        return made.sum()

    np.attribute(f, X, baseline=drawn(*SHAPE[1:], seed=4))
    made = seen[-1]
    assert type(made) is DecomposedTensor
    assert made.residual.stride(0) == 0
