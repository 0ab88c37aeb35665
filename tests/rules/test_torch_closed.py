"""Rules of torch's functions against references of another kind: sums over all paths, networks written by hand, exact
integrals of what bends."""

from __future__ import annotations

import contextlib
import itertools

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import npdec as np
import tiers

D = torch.float64


def _integral_of_rows(rate, pieces: int):
    """As `_integral`, of a function that gives a row for each number in a column."""
    x, w = (torch.from_numpy(part) for part in numpy.polynomial.legendre.leggauss(4))
    t = (torch.arange(pieces, dtype=D)[:, None] + (x + 1) / 2) / pieces
    rows = rate(t.reshape(-1, 1))
    return torch.tensordot((w / 2 / pieces).repeat(pieces), rows.to(D), 1)


def _integral(rate, nodes: int = 400):
    """The integral of a function over [0, 1], by midpoints of so many pieces, with 4 Gauss–Legendre nodes in each."""
    x, w = numpy.polynomial.legendre.leggauss(4)
    total = 0.0
    for i in range(nodes):
        for node, weight in zip(x, w, strict=True):
            total = total + rate((i + (float(node) + 1) / 2) / nodes) * (float(weight) / 2 / nodes)
    return total


def _spelled(labels: tuple[int, ...]) -> tuple[int, ...]:
    kept = [label for i, label in enumerate(labels) if not i or label != labels[i - 1]]
    return tuple(label for label in kept if label)


@pytest.mark.parametrize("targets", [[1, 2], [2, 2], [1]])
def test_ctc_is_the_integral_of_the_sum_over_all_ways_to_spell(targets):
    steps, classes = 4, 3
    ways = [way for way in itertools.product(range(classes), repeat=steps) if _spelled(way) == tuple(targets)]

    def loss(logs: torch.Tensor) -> torch.Tensor:
        each = [sum(logs[t, label] for t, label in enumerate(way)) for way in ways]
        return -torch.logsumexp(torch.stack(each), 0)

    def slope(t: float) -> torch.Tensor:
        at = (base + t * (x - base)).requires_grad_()
        return torch.autograd.grad(loss(at), at)[0]

    source = torch.Generator().manual_seed(0)
    x, base = (torch.randn(steps, classes, generator=source, dtype=D).log_softmax(-1) for _ in range(2))
    got = F.ctc_loss(np.decompose(x, baseline=base), torch.tensor(targets), (steps,), (len(targets),), reduction="sum")
    want = (_integral(slope, 20) * (x - base)).flatten()
    torch.testing.assert_close(got.components, want, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(got.value, loss(x))


def test_components_of_ctc_are_differentiable():
    source = torch.Generator().manual_seed(0)
    x = torch.randn(4, 3, generator=source, dtype=D).log_softmax(-1).requires_grad_()

    def components(x: torch.Tensor) -> torch.Tensor:
        marked = np.decompose(x, axis=0, baseline=torch.full((4, 3), -1.0, dtype=D))
        return F.ctc_loss(marked, torch.tensor([1, 2]), (4,), (2,), reduction="sum").components

    assert torch.autograd.gradcheck(components, x, fast_mode=tiers.quick)


@contextlib.contextmanager
def _own_tanh():
    def tanh(input):
        return 2 * torch.sigmoid(2 * input) - 1 if isinstance(input, np.DecomposedTensor) else torch.tanh(input)

    with np.overrides.registered(torch.tanh, tanh):
        yield


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(
    ("context", "size"),
    [
        (contextlib.nullcontext, 1.0),
        (contextlib.nullcontext, 1e4),  # every gate is shut or open: slopes of nothing
        (contextlib.nullcontext, 0.0),  # nothing moves
        (lambda: np.rule("scaling"), 1.0),
        (lambda: np.rule("abs_affine"), 1.0),
        (_own_tanh, 1.0),
    ],
    ids=["plain", "saturated", "still", "scaling", "abs_affine", "own tanh"],
)
def test_recurrent_networks_are_those_written_by_hand(kind, context, size):
    torch.manual_seed(0)
    network = getattr(nn, kind)(3, 2, dtype=D)
    w, u, b, c = (p.detach() for p in network.parameters())
    base = torch.randn(4, 1, 3, dtype=D)
    x = base + size * torch.randn(4, 1, 3, dtype=D)

    def by_hand(x):
        hidden = cell = torch.zeros(1, 2, dtype=D)
        for step in x:
            given, own = step @ w.T + b, hidden @ u.T + c
            if kind == "RNN":
                hidden = torch.tanh(given + own)
            elif kind == "LSTM":
                i, f, g, o = (given + own).chunk(4, -1)
                cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
                hidden = torch.sigmoid(o) * torch.tanh(cell)
            else:
                (r, z, n), (r1, z1, n1) = given.chunk(3, -1), own.chunk(3, -1)
                r, z = torch.sigmoid(r + r1), torch.sigmoid(z + z1)
                n = torch.tanh(n + r * n1)
                hidden = n + z * (hidden - n)
        return hidden

    marked = np.decompose(x, baseline=base)
    with context():
        got, want = network(marked)[0][-1], by_hand(marked)
    torch.testing.assert_close(got.components, want.components, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(got.components.sum(0) + got.residual, got.value)


def test_prelu_is_the_exact_integral():
    source = torch.Generator().manual_seed(0)
    x, x0 = torch.randn(50, generator=source, dtype=D), torch.randn(50, generator=source, dtype=D)
    w, w0 = torch.tensor([0.3], dtype=D), torch.tensor([-0.8], dtype=D)
    a, b = np.decompose((x, w), baseline=(x0, w0))
    got = F.prelu(a, b)
    below = lambda t: ((x0 + t * (x - x0)) < 0).to(D)  # noqa: E731
    in_x = _integral_of_rows(lambda t: 1 - below(t) + below(t) * (w0 + t * (w - w0)), 4000) * (x - x0)
    in_w = _integral_of_rows(lambda t: below(t) * (x0 + t * (x - x0)), 4000) * (w - w0)
    torch.testing.assert_close(got.components[:50].diagonal(), in_x, rtol=0, atol=2e-3)
    torch.testing.assert_close(got.components[50], in_w, rtol=0, atol=2e-3)
    torch.testing.assert_close(got.c_sum(), got.value, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("sign", [1, -1])
def test_running_extrema_are_the_exact_integral(sign):
    source = torch.Generator().manual_seed(0)
    x, base = torch.randn(6, generator=source, dtype=D), torch.randn(6, generator=source, dtype=D)
    function = torch.cummax if sign > 0 else torch.cummin
    got = function(np.decompose(x, baseline=base), 0).values

    def leads(t: torch.Tensor) -> torch.Tensor:
        return F.one_hot(function(base + t * (x - base), 1).indices, 6)

    want = (_integral_of_rows(leads, 5000) * (x - base)).T
    torch.testing.assert_close(got.components, want, rtol=0, atol=2e-3)
    torch.testing.assert_close(got.c_sum(), got.value)


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_groups_are_reduced_as_by_hand(reduce, include_self):
    source = torch.Generator().manual_seed(0)
    x, s = torch.randn(3, generator=source, dtype=D), torch.randn(5, generator=source, dtype=D)
    x0, s0 = torch.randn(3, generator=source, dtype=D), torch.randn(5, generator=source, dtype=D)
    index = torch.tensor([0, 2, 0, 0, 2])
    a, b = np.decompose((x, s), baseline=(x0, s0))
    got = a.scatter_reduce(0, index, b, reduce, include_self=include_self)
    for place in range(3):
        members = [a[place]] if include_self or place == 1 else []
        members += [b[i] for i in range(5) if index[i] == place]
        group = torch.stack(members)
        want = getattr(group, reduce)(0)
        torch.testing.assert_close(got.components[:, place], want.components)
        torch.testing.assert_close(got.residual[place], want.residual)


@pytest.mark.filterwarnings("ignore:index_reduce.* is in beta:UserWarning")
@pytest.mark.parametrize("reduce", ["mean", "prod", "amax", "amin"])
def test_axes_of_groups_are_counted_from_either_end(reduce):
    source = torch.Generator().manual_seed(1)
    x, x0, s, s0 = (torch.randn(3, size, generator=source, dtype=D) for size in (5, 5, 4, 4))
    a, b = np.decompose((x, s), baseline=(x0, s0))
    index = torch.tensor([[0, 2, 0, 4], [1, 1, 1, 0], [4, 0, 3, 3]])
    for function, places in ((torch.scatter_reduce, index), (torch.index_reduce, index[0])):
        made, same = (function(a, dim, places, b, reduce) for dim in (1, -1))
        plain = function(x, 1, places, s, reduce)
        torch.testing.assert_close(same.value, plain)
        torch.testing.assert_close(same.components, made.components)
        torch.testing.assert_close(same.residual + same.components.sum(0), plain)


SCORES, TARGETS = torch.linspace(-2, 1, 15, dtype=D).reshape(5, 3).cos() * 2, torch.tensor([0, 2, 1, 1, 0])
SHARES, WEIGHTS, SIGNS = SCORES.softmax(1).flip(1), torch.tensor([0.5, 2.0, 1.0], dtype=D), TARGETS.sign() * 2 - 1
LOSSES = {
    "shares of classes, smoothed": lambda x: F.cross_entropy(x, SHARES, label_smoothing=0.3),
    "shares of classes, weights, smoothed": lambda x: F.cross_entropy(x, SHARES, WEIGHTS, label_smoothing=0.3),
    "shares of classes, each": lambda x: F.cross_entropy(x, SHARES, reduction="none"),
    "classes, smoothed": lambda x: F.cross_entropy(x, TARGETS, label_smoothing=0.3),
    "classes, weights, smoothed": lambda x: F.cross_entropy(x, TARGETS, WEIGHTS, label_smoothing=0.3),
    "classes, one ignored": lambda x: F.cross_entropy(x, TARGETS, ignore_index=1, label_smoothing=0.3),
    "classes, one ignored, sum": lambda x: F.cross_entropy(x, TARGETS, WEIGHTS, ignore_index=0, reduction="sum"),
    "logarithms, weights": lambda x: F.nll_loss(x, TARGETS, WEIGHTS),
    "logarithms, one ignored": lambda x: F.nll_loss(x, TARGETS, ignore_index=2, reduction="none"),
    "margins, squares": lambda x: F.multi_margin_loss(x, TARGETS, p=2, margin=0.5, weight=WEIGHTS),
    "margins of several": lambda x: F.multilabel_margin_loss(x, torch.tensor([[2, 0, -1]] * 5)),
    "margins of a sign": lambda x: F.hinge_embedding_loss(x[:, 0], SIGNS, margin=0.7),
    "soft margins": lambda x: F.soft_margin_loss(x[:, 0], SIGNS, reduction="sum"),
    "angles": lambda x: F.cosine_embedding_loss(x, SHARES, SIGNS, margin=0.2),
    "triplets": lambda x: F.triplet_margin_loss(x, SHARES, x.flip(0), swap=True, reduction="sum"),
    "ranks": lambda x: F.margin_ranking_loss(x[:, 0], x[:, 1], SIGNS, margin=0.3),
    "Poisson": lambda x: F.poisson_nll_loss(x, SHARES * 5, full=True),
    "Poisson of rates": lambda x: F.poisson_nll_loss(x.exp(), SHARES * 5, log_input=False),
    "Gauss": lambda x: F.gaussian_nll_loss(x, SHARES, x.square() + 0.1, full=True),
    "divergence": lambda x: F.kl_div(x, SHARES.log(), log_target=True, reduction="batchmean"),
    "two classes": lambda x: F.binary_cross_entropy(x.sigmoid(), SHARES, weight=WEIGHTS),
    "two classes, weights": lambda x: F.binary_cross_entropy_with_logits(x, SHARES, WEIGHTS, pos_weight=WEIGHTS),
    "Huber": lambda x: F.huber_loss(x, SHARES, delta=0.4),
    "smooth": lambda x: F.smooth_l1_loss(x, SHARES, beta=0.4, reduction="none"),
}


def test_losses_with_options_are_torchs_and_complete():
    for name, loss in LOSSES.items():
        made = loss(np.decompose(SCORES, baseline=SCORES.flip(0) * 0.3, axis=0))
        plain = loss(SCORES)
        torch.testing.assert_close(made.value, plain, rtol=0, atol=0, msg=lambda text, name=name: f"{name}: {text}")
        torch.testing.assert_close(
            made.residual + made.components.sum(0), plain, msg=lambda text, name=name: f"{name}: {text}"
        )
        torch.testing.assert_close(made.residual, loss(SCORES.flip(0) * 0.3))


def test_sampling_within_one_pixel_is_a_product():
    """Between the same four pixels the result is bilinear in the two coordinates: its exact Shapley value."""
    source = torch.Generator().manual_seed(0)
    image = torch.randn(1, 1, 3, 3, generator=source, dtype=D)
    grid, base = torch.tensor([[[[0.2, 0.4]]]], dtype=D), torch.tensor([[[[0.6, 0.1]]]], dtype=D)

    def at(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(image, torch.stack([u, v]).reshape(1, 1, 1, 2), align_corners=True).flatten()[0]

    (u, v), (u0, v0) = grid.flatten(), base.flatten()
    want = [
        (at(u, v) - at(u0, v) + at(u, v0) - at(u0, v0)) / 2,
        (at(u, v) - at(u, v0) + at(u0, v) - at(u0, v0)) / 2,
    ]
    got = F.grid_sample(image, np.decompose(grid, baseline=base), align_corners=True)
    torch.testing.assert_close(got.components.flatten(), torch.stack(want))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(2, 9, 7), (2, 8, 7, 9)])
def test_windows_of_fractional_pooling_are_those_of_torch(shape, dtype):
    pool = F.fractional_max_pool2d if len(shape) == 3 else F.fractional_max_pool3d
    for seed in range(tiers.fewer(10)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)
        draws = torch.rand(1, 2, len(shape) - 1, generator=torch.Generator().manual_seed(seed), dtype=dtype)
        got, places = pool(np.decompose(x), 2, output_size=4, return_indices=True, _random_samples=draws)
        flat = np.decompose(x).flatten(1)
        places = torch.tensor(places.tolist())  # from zero, the largest leads all the way
        want = flat.gather(1, places.flatten(1)).reshape(got.shape)
        torch.testing.assert_close(got.components, torch.where(got.value > 0, want.components, got.components))
        torch.testing.assert_close(got.c_sum(), got.value)


@pytest.mark.parametrize("dim", [None, 1, 0, (0, 2)])
@pytest.mark.parametrize("order", [3, 1.5, 0.5, -1, 4.0, -2, 1, 2])
def test_norms_of_any_order_are_the_exact_integral(order, dim):
    source = torch.Generator().manual_seed(0)
    x, base = (torch.rand(3, 4, 2, generator=source, dtype=D) + 0.5 for _ in range(2))

    def rate(t: float) -> torch.Tensor:
        u = (base + t * (x - base)).requires_grad_()
        (found,) = torch.autograd.grad(torch.linalg.vector_norm(u, order, dim).sum(), u)  # each element is in one norm
        return found

    axes = tuple(range(3)) if dim is None else dim
    want = torch.linalg.vector_norm(x, order, dim) - torch.linalg.vector_norm(base, order, dim)
    made = torch.linalg.vector_norm(np.decompose(x, baseline=base, axis=1), order, dim)
    torch.testing.assert_close(made.c_sum() - made.residual, want, rtol=1e-9, atol=1e-9)
    shares = _integral(rate, 4) * (x - base)
    for i, component in enumerate(made.components):
        alone = torch.zeros_like(x)
        alone[:, i] = shares[:, i]
        torch.testing.assert_close(component, alone.sum(axes), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "midpoint"])
@pytest.mark.parametrize("function", [torch.quantile, torch.nanquantile])
def test_values_of_quantiles_have_their_gradient(function, interpolation):
    x = torch.tensor([[3.0, -1.0, 2.0, 7.0], [0.5, 4.0, 1.0, -2.0]], dtype=D, requires_grad=True)
    made = function(np.decompose(x, baseline=0.25), 0.4, 1, interpolation=interpolation)
    (found,) = torch.autograd.grad(made.value.sum(), x)
    (wanted,) = torch.autograd.grad(function(x, 0.4, 1, interpolation=interpolation).sum(), x)
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("function", [torch.cummax, torch.cummin])
def test_running_extrema_say_what_memory_they_would_take(function):
    count = 2**15
    residual, step = torch.linspace(0, 9, count, dtype=D).cos(), torch.linspace(0, 70, count, dtype=D).sin()
    t = np.DecomposedTensor(residual + step, residual, step[None], ("a",))
    with pytest.raises(MemoryError, match=f"a matrix of {count:,} x {count:,}: take a baseline of one number"):
        function(t, 0)


@pytest.mark.parametrize("name", ["chebyshev_polynomial_u", "hermite_polynomial_he", "legendre_polynomial_p"])
def test_degrees_of_polynomials_are_read_as_torch_reads_them(name):
    """Booleans, fractions (towards zero) and NaN too."""
    function, given = getattr(torch.special, name), torch.linspace(0.1, 0.9, 6, dtype=torch.float64)
    for n in (torch.arange(6) % 2 == 0, torch.tensor([-0.5, -1.5, 2.7, -0.9, 3.2, float("nan")], dtype=torch.float64)):
        made = function(np.decompose(given, baseline=0.3), n)
        base = torch.full_like(given, 0.3)
        torch.testing.assert_close(made.value, function(given, n), rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(made.residual, function(base, n), rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(made.components.sum(0), made.value - made.residual, rtol=1e-10, atol=1e-12)
