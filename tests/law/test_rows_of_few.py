"""Functions of rows of a handful of numbers, and those whose contributions are those of a formula, which have shorter
ways: what they give is what the general way gives, which is gone where somebody looks on (np.check_completeness)."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
import tiers

pytestmark = pytest.mark.quick
NUMBERS = [0.0, -0.0, 1.0, 2.0, -1.0, 0.5, 1e-9, 1e30, math.inf, math.nan, 3.0, 1e-310, 1.0 + 1e-12]
SHAPES = [(3,), (2, 3), (3, 1), (2, 2, 2)]
DIGITS = {torch.float32: 3e-6, torch.float64: 1e-11}

OF_ROWS: dict[str, Callable[..., Any]] = {  # of a tensor, an axis or several, and whether these stay
    "std": lambda x, dim, keepdim: torch.std(x, dim, keepdim=keepdim),
    "var": lambda x, dim, keepdim: torch.var(x, dim, correction=0, keepdim=keepdim),
    "vector_norm": lambda x, dim, keepdim: torch.linalg.vector_norm(x, 2, dim, keepdim),
    "norm": lambda x, dim, keepdim: torch.norm(x, dim=dim, keepdim=keepdim),
    "amax": torch.amax,
    "amin": lambda x, dim, keepdim: x.amin(dim, keepdim),
    "max": lambda x, dim, keepdim: x.max(dim, keepdim)[0],
    "min": lambda x, dim, keepdim: x.min(dim, keepdim)[0],
    "prod": torch.prod,
    "logsumexp": torch.logsumexp,
    "any": lambda x, dim, keepdim: (x > 0).any(dim, keepdim),
    "all": torch.all,
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "normalize": lambda x: F.normalize(x, dim=-1),
    "normalize columns": lambda x: F.normalize(x, dim=0),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x.flip(-1) + 0.5, -1),
    "aminmax": lambda x: tuple(torch.aminmax(x)),
    "mse": lambda x: F.mse_loss(x, x.flip(-1)),
    "huber": lambda x: F.huber_loss(x, torch.ones_like(x.value)),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, x.flip(-1), beta=0.5, reduction="sum"),
    "l1": lambda x: F.l1_loss(x, torch.zeros_like(x.value), reduction="none"),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.softmax(x.value, -1)),
    "classes": lambda x: F.cross_entropy(x.reshape(-1, x.shape[-1]), torch.zeros(x.numel() // x.shape[-1]).long()),
    "kl_div": lambda x: F.kl_div(x, torch.sigmoid(x)),
    "bce": lambda x: F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(x.value)),
    "cdist": lambda x: torch.cdist(x, x + 1),
    "pairwise": lambda x: F.pairwise_distance(x, x.flip(-1)),
    "lerp": lambda x: torch.lerp(x, x.flip(-1), 0.25),
    "nansum": torch.nansum,
    "diff": torch.diff,
    "soft_margin": lambda x: F.soft_margin_loss(x, torch.sign(x.value)),
    "poisson": lambda x: F.poisson_nll_loss(x, x.abs()),
    "hinge": lambda x: F.hinge_embedding_loss(x, torch.sign(x.value)),
    "triplet": lambda x: F.triplet_margin_loss(x, x.flip(-1), x * 2),
    "broadcast_tensors": lambda x: torch.broadcast_tensors(x, x[..., :1]),
    "count_nonzero": torch.count_nonzero,
    "count along": lambda x: torch.count_nonzero(x, -1),
    "count of conditions": lambda x: torch.count_nonzero(x > 0.5, 0),
    "count of one": lambda x: torch.count_nonzero(x.reshape(-1)[0]),
    "xlogy": lambda x: torch.xlogy(x, x.flip(-1).abs()),
    "mean of squares": lambda x: x.square().mean(),
    "mean square": lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6),
}


def drawn(seed: int, shape: tuple[int, ...], dtype: torch.dtype, hostile: float) -> Any:
    """A decomposed tensor under three labels, some of whose numbers are unfriendly."""
    rng, count = random.Random(seed), math.prod(shape)
    number = lambda: rng.choice(NUMBERS) if rng.random() < hostile else rng.uniform(-3, 3)  # noqa: E731
    v, r = (torch.tensor([number() for _ in range(count)], dtype=dtype) for _ in range(2))
    components = torch.zeros(3, count, dtype=dtype)
    for i in range(count):
        components[i % 3, i] = (v - r)[i]
    return np.DecomposedTensor(v.reshape(shape), r.reshape(shape), components.reshape(3, *shape), ("a", "b", "c"))


def tensors() -> Iterator[Any]:
    for seed, hostile in enumerate((0.0, 0.0, 0.2, 0.5)):
        for dtype in DIGITS:
            for shape in SHAPES:
                x = drawn(seed, shape, dtype, hostile)
                yield x
                if len(shape) == 2:
                    yield x.T  # a view
                    yield x[:, :1]


def found(call: Callable[[], Any]) -> Any:
    """What a call gives; None where it raises, or the general way says that it is not complete."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (np.exceptions.CompletenessError, RuntimeError, IndexError, ValueError):
            return None


def assert_same(made: Any, general: Any) -> None:
    if isinstance(made, (tuple, list)):
        for pair in zip(made, general, strict=True):
            assert_same(*pair)
        return
    assert type(made) is type(general)
    if type(made) is not np.DecomposedTensor:
        return
    assert made.value.dtype is general.value.dtype
    assert made.components.shape == general.components.shape
    for part in ("value", "residual"):
        ends = [getattr(t, part).double().nan_to_num(7) for t in (made, general)]
        torch.testing.assert_close(*ends, rtol=1e-15, atol=0.0)
    wanted = general.components[[general.labels.index(label) for label in made.labels]].double()
    if wanted.numel() and wanted.isfinite().all():  # or something was said of it
        size = float(wanted.abs().max()) + float(general.value.double().abs().nan_to_num(0, 0).max())
        digits = DIGITS[made.components.dtype]
        torch.testing.assert_close(made.components.double(), wanted, rtol=digits, atol=digits * min(size, 1e300))


def compare(call: Callable[[], Any]) -> None:
    made = found(call)
    with np.check_completeness():
        general = found(call)
    if made is not None and general is not None:
        assert_same(made, general)


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_as_the_general_way(name: str) -> None:
    for x in tiers.turns(tensors(), list(OF_ROWS).index(name), 12, 2):
        axes: list[Any] = [0, -1]
        if x.ndim > 1 and name not in ("max", "min", "prod"):
            axes.append((0, 1))
        for dim in axes:
            for keepdim in (False, True):
                compare(lambda x=x, dim=dim, keepdim=keepdim: OF_ROWS[name](x, dim, keepdim))


@pytest.mark.parametrize("name", OTHERS)
def test_others_as_the_general_way(name: str) -> None:
    for x in tiers.turns(tensors(), list(OTHERS).index(name), 12, 2):
        compare(lambda x=x: OTHERS[name](x))


@pytest.mark.parametrize("name", ["mse", "huber", "cross_entropy", "normalize", "cosine_similarity", "pairwise"])
def test_gradients_of_the_contributions(name: str) -> None:
    """Where a part requires gradients, these are the ones of the general way."""

    def gradient() -> Any:
        v = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=torch.float64, requires_grad=True)
        x = np.decompose(v, baseline=torch.full_like(v, 0.125), groups=torch.tensor([[0, 1, 2], [2, 1, 0]]))
        (found,) = torch.autograd.grad(OTHERS[name](x).components.square().sum(), v)
        return found

    made = gradient()
    with np.check_completeness():
        torch.testing.assert_close(made, gradient(), rtol=1e-9, atol=1e-9)


def test_torch_says_what_is_wrong_with_arguments() -> None:
    x = drawn(0, (2, 3), torch.float64, 0.0)
    with pytest.raises(IndexError):
        torch.logsumexp(x, 5)
    with pytest.raises(IndexError):
        x.amax(-3)
    with pytest.raises(RuntimeError):
        torch.std(x, (0, 0))
    with pytest.raises(ValueError, match="is not a valid value for reduction"):
        F.mse_loss(x, x, reduction="none of these")


def test_results_of_one_shape_are_views() -> None:
    x = drawn(0, (3,), torch.float64, 0.0)
    wide, same = torch.broadcast_tensors(x[:1], x)
    assert wide.shape == (3,)
    x[1] = 7.0
    assert same.value[1] == 7.0
    assert not same.components[:, 1].any()
