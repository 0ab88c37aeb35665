"""Pairs by the law, operation by operation (`order=2`, `method="local"`), against formulas written out in numbers."""

from __future__ import annotations

import math

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import npdec as np

D = torch.float64
NODES, WEIGHTS = (torch.from_numpy(a) for a in numpy.polynomial.legendre.leggauss(60))
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2


def drawn(*shape, seed=0):
    source = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=source, dtype=D)


def pairs(f, x, base=0.0, **options):
    return np.attribute(f, x, baseline=base, order=2, method="local", **options)


def close(a, b, tolerance=1e-10):
    torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b), rtol=tolerance, atol=tolerance)


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_a_product_is_the_pairs():
    made = pairs(lambda a: a[0] * a[1], np.array([3.0, 4.0]))
    assert made.attribution.tolist() == [[0.0, 6.0], [6.0, 0.0]]
    made = pairs(lambda a: a[0] * a[1], np.array([3.0, 5.0]), np.array([1.0, 2.0]))
    assert made.attribution.tolist() == [[4.0, 3.0], [3.0, 3.0]]  # 2·2 and 3·1 alone, 2·3 together
    assert pairs(lambda a: a @ np.array([1.0, 2.0]), np.array([3.0, 4.0])).attribution.tolist() == [[3, 0], [0, 8]]


def test_polynomials_of_degree_two_have_the_pairs_of_the_path():
    a, b, x, base = drawn(5, 5), drawn(5, seed=1), drawn(5, seed=2), drawn(5, seed=3)
    for f in (lambda t: t @ a @ t + b @ t, lambda t: (t * 2 + b).square().sum() - t[0] * t[1], lambda t: (a @ t) @ t):
        close(pairs(f, x, base).attribution, np.attribute(f, x, baseline=base, order=2, method="path").attribution)


class Number:
    """A number with its value, residual, single contributions and pairs: the formulas of the law to second order."""

    def __init__(self, x, r, m, p):
        self.x, self.r, self.m, self.p = x, r, m, p
        self.c = m + p.sum(1)

    def __add__(self, other):
        return Number(self.x + other.x, self.r + other.r, self.m + other.m, self.p + other.p)

    def __mul__(self, other):
        both = torch.outer(self.c, other.c)
        return Number(
            self.x * other.x,
            self.r * other.r,
            self.m * other.r + other.m * self.r,
            self.p * other.r + other.p * self.r + (both + both.T) / 2,
        )

    def through(self, f):
        """f'(r) m, f'(r) P and ∫ (1 − t) f'' dt · c cᵀ."""
        slope = torch.func.grad(f)
        bend = torch.func.vmap(torch.func.grad(slope))(self.r + NODES * (self.x - self.r))
        own = slope(self.r)
        more = (WEIGHTS * (1 - NODES) * bend).sum() * torch.outer(self.c, self.c)
        return Number(f(self.x), f(self.r), own * self.m, own * self.p + more)


def numbers(x, base):
    eye, none = torch.diag(x - base), torch.zeros(len(x), len(x), dtype=D)
    return [Number(x[i], base[i], eye[i], none) for i in range(len(x))]


CHAINS = {
    "products": (lambda a, b, c: a * b * c + a * a, lambda a, b, c: a * b * c + a * a),
    "tanh of a product": (
        lambda a, b, c: torch.tanh(a * b) * torch.exp(c),
        lambda a, b, c: (a * b).through(torch.tanh) * c.through(torch.exp),
    ),
    "a quotient": (
        lambda a, b, c: (a + b) / torch.exp(c),
        lambda a, b, c: (a + b) * c.through(torch.exp).through(lambda u: 1 / u),
    ),
    "deep": (
        lambda a, b, c: torch.sigmoid(torch.sin(a * b) + torch.exp(b * c)) * a,
        lambda a, b, c: ((a * b).through(torch.sin) + (b * c).through(torch.exp)).through(torch.sigmoid) * a,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_chains_by_hand(name):
    f, by_hand = CHAINS[name]
    x, base = drawn(3), drawn(3, seed=1)
    want = by_hand(*numbers(x, base))
    close(pairs(lambda t: f(*t), x, base).attribution, want.p + torch.diag(want.m))
    close(pairs(lambda t: f(*np.array(t)).tensor, x, base).attribution, want.p + torch.diag(want.m))


def test_a_network_by_hand():
    w, b, v, x, base = drawn(6, 4), drawn(6, seed=1), drawn(6, seed=2), drawn(4, seed=3), drawn(4, seed=4)
    made = pairs(lambda t: v @ torch.tanh(w @ t + b), x, base)
    z, r, moved = w @ x + b, w @ base + b, w * (x - base)  # (6, 4)
    at = torch.tanh(r + NODES[:, None] * (z - r))
    bend = (WEIGHTS[:, None] * (1 - NODES)[:, None] * (-2 * at * (1 - at**2))).sum(0)
    single = (v * (1 - torch.tanh(r) ** 2)) @ moved
    close(made.attribution, torch.einsum("k,ki,kj->ij", v * bend, moved, moved) + torch.diag(single))


# -- one operation has the pairs of the path ---------------------------------------------------------------------------

SINGLE = {
    "prod": torch.prod,
    "logsumexp": lambda t: torch.logsumexp(t, 0),
    "cumprod": lambda t: torch.cumprod(t, 0)[2],
    "inv": lambda t: torch.linalg.inv(t.reshape(2, 2) + 3 * torch.eye(2, dtype=D))[0, 1],
    "rms_norm": lambda t: F.rms_norm(t, (4,))[1],
    "var": torch.var,
    "det": lambda t: torch.linalg.det(t.reshape(2, 2)),
    "complex": lambda t: (torch.complex(t[0], t[1]) * torch.complex(t[2], t[3])).imag,
}


@pytest.mark.parametrize("name", SINGLE)
def test_one_operation_has_the_pairs_of_the_path(name):
    x, base = drawn(4), drawn(4, seed=1)
    want = np.attribute(SINGLE[name], x, baseline=base, order=2, method="path", rtol=1e-12).attribution
    close(pairs(SINGLE[name], x, base).attribution, want, 1e-9)


# -- what holds of all -------------------------------------------------------------------------------------------------


def written_in_place(t):
    y = torch.tanh(t)
    y.mul_(t)
    y[0] = y[1] * t[2]
    F.relu(y, inplace=True)
    return y @ y + F.relu(t).sum()


def into_an_array(t):
    a = np.array(t)
    out = np.zeros(3)
    out[0] = a[0] * a[1]
    out[1:] = np.exp(a[1:3])
    out *= a[:3]
    return ((out + 1) ** 2).sum().tensor / t[3].exp()


def _module(make):
    torch.manual_seed(0)
    return make().to(D).requires_grad_(False).eval()


ATTENTION = _module(lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True))
LSTM, GRU = (_module(lambda kind=kind: kind(2, 3)) for kind in (nn.LSTM, nn.GRU))
CONVOLUTION = _module(
    lambda: nn.Sequential(nn.Conv1d(1, 2, 2), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(4, 1))
)
FUNCTIONS = {
    "in place": written_in_place,
    "into an array": into_an_array,
    "convolution": lambda t: CONVOLUTION(t.reshape(1, 1, 6)).sum(),
    "encoder": lambda t: ATTENTION(torch.cat([t, t[:2]]).reshape(1, 2, 4))[0, 0, 1],
    "causal attention": lambda t: F.scaled_dot_product_attention(*[t.reshape(1, 3, 2)] * 3, is_causal=True)[0, 1, 1],
    "lstm": lambda t: LSTM(t.reshape(3, 2))[0][-1, 0],
    "gru": lambda t: GRU(t.reshape(3, 2))[0][-1, 0],
    "layer norm": lambda t: F.layer_norm(t, (6,))[1] * t[0],
    "softmax": lambda t: torch.softmax(t, 0)[1] * t[2],
    "norm": lambda t: torch.linalg.norm(t) * t[0],
    "selections": lambda t: torch.where(t > 0, t * t, torch.sin(t)).sum() + t.median() * t.max() + torch.sort(t)[0][1],
    "spectrum": lambda t: torch.fft.rfft(t).abs().sum(),
    "dropout": lambda t: (torch.manual_seed(1), F.dropout(torch.tanh(t), 0.5).sum())[1],
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")
def test_pairs_are_symmetric_and_sum_to_the_law(name):
    x, base = drawn(6), drawn(6, seed=1)
    made = pairs(FUNCTIONS[name], x, base)
    close(made.attribution, made.attribution.T, 0)
    with np.rule(conditions="frozen"):  # as pairs have them
        close(made.attribution.sum(1), np.attribute(FUNCTIONS[name], x, baseline=base).attribution)
    assert abs(made.error) < 1e-10


def test_components_that_cancel_have_pairs():
    """Nothing moves where −1 and 1 are added, and each of them bends what it meets all the same."""
    x = torch.tensor([1.0, 2.0], dtype=D)
    u = torch.tensor(3.0, dtype=D)
    functions = (torch.tanh, torch.exp, torch.erf, torch.reciprocal, torch.square, lambda u: u**3, lambda u: u**2.5)
    for f in functions:
        bend = torch.func.grad(torch.func.grad(f))(u)
        for away, tolerance in ((0.0, 1e-12), (1e-7, 1e-6)):
            base = torch.tensor([2.0 + away, 1.0], dtype=D)
            made = pairs(lambda t, f=f: f(t[0] + t[1]), x, base).attribution
            torch.testing.assert_close(made[0, 1], -bend / 2, rtol=tolerance, atol=0)


# -- options -----------------------------------------------------------------------------------------------------------


def test_outputs_groups_inputs_and_baselines():
    x, base = drawn(4), drawn(4, seed=1)

    def f(t):
        return {"y": torch.tanh(torch.outer(t, t))[:2, :3]}

    whole = pairs(f, x, base, output="y").attribution
    assert whole.shape == (2, 3, 4, 4)
    close(pairs(f, x, base, output=[("y", 0, 1), ("y", 1, 2)]).attribution, whole[(0, 1), (1, 2)])
    grouped = pairs(f, x, base, output="y", groups=[0, 1, 0, 1], labels="ab")
    members = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 1]], dtype=D)
    close(grouped.attribution, members @ whole @ members.T)
    assert grouped.labels == ("a", "b")
    apart = np.attribute(
        lambda u, v: f(torch.cat([u, v]))["y"], x[:1], x[1:], baseline=(base[:1], base[1:]), order=2, method="local"
    )
    close(apart.attribution, whole)
    sampled = np.attribute(f, x, baselines=torch.stack([base, x]), output="y", order=2, method="local")
    close(sampled.attribution, whole / 2)


def test_what_cannot_be_told_apart_is_refused():
    x = drawn(4)
    with pytest.raises(NotImplementedError, match=r"several operations are taken as one .* use method='path'"):
        pairs(lambda t: (t * torch.rsqrt(t.pow(2).mean(-1, keepdim=True) + 1e-5))[1], x)
    with np.rule("scaling"), pytest.raises(NotImplementedError, match=r"pairs are those of the law"):
        pairs(torch.sum, x)

    with pytest.raises(TypeError, match=r"method 'local' with order=2 takes no steps="):
        pairs(torch.sum, x, steps=3)
    with pytest.raises(TypeError, match=r"order=2 .* leave mode"):
        pairs(torch.sum, x, mode="reverse")
    assert math.isclose(float(pairs(torch.sum, x, mode="forward").attribution.sum()), float(x.sum()))
