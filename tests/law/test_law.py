"""The law on the torch face: completeness, value, residual, and agreement with independent references."""

from __future__ import annotations

import itertools
import math
import warnings

import captum.attr
import pytest
import torch
import torch.nn.functional as F

import npdec as np

F64 = torch.float64


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + 31 * len(shape)), dtype=F64)


def rand(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64) + 0.5


def near(*shape):
    """A well-conditioned matrix, and a baseline near it."""
    return randn(*shape) + 4 * torch.eye(shape[-1], dtype=F64)


def _setitem(a):
    out = torch.zeros(3, dtype=F64)
    out[:2] = a[:2] * 2
    return out


def _chain(a):
    return a.clone().add_(1).mul_(a)


CASES = {
    "add": (torch.add, randn(3), randn(2, 3)),
    "add_alpha": (lambda a, b: torch.add(a, b, alpha=2), randn(3), randn(3, seed=1)),
    "rsub": (lambda a: 1 - a, randn(3)),
    "mul": (torch.mul, randn(3), randn(2, 3)),
    "square_by_mul": (lambda a: a * a, randn(3)),
    "matmul": (torch.matmul, randn(2, 3), randn(3, 4)),
    "div": (torch.div, randn(4), rand(4)),
    "div_by_number": (lambda a: a / 3, randn(4)),
    "number_by": (lambda a: 1 / a, rand(4)),
    "pow": (torch.pow, rand(4), rand(4, seed=1)),
    "pow_number": (lambda a: a**2, randn(4)),
    "rpow": (lambda a: 2.0**a, randn(4)),
    "exp": (torch.exp, randn(4)),
    "expm1": (torch.expm1, randn(4)),
    "tanh": (torch.tanh, randn(4)),
    "floor": (torch.floor, randn(4)),
    "abs": (torch.abs, randn(4)),
    "clamp": (lambda a: a.clamp(-0.1, 0.1), randn(5)),
    "sum": (lambda a: a.sum(0), randn(3, 4)),
    "mean": (lambda a: torch.mean(a, 1, keepdim=True), randn(3, 4)),
    "var": (lambda a: a.var(0), randn(5, 2)),
    "std": (lambda a: a.std(), randn(5, 2)),
    "prod": (torch.prod, randn(4)),
    "prod_with_zeros": (torch.prod, torch.tensor([2.0, 0.0, -1.0, 0.0, 3.0], dtype=F64)),
    "cumprod": (lambda a: torch.cumprod(a, 0), randn(4)),
    "cat_with_constant": (lambda a, b: torch.cat([a, b, torch.ones(2, 3, dtype=F64)], 0), randn(2, 3), randn(1, 3)),
    "cat_dim": (lambda a, b: torch.cat([a, b], 1), randn(2, 3), randn(2, 1)),
    "stack": (lambda a: torch.stack([a, torch.ones(3, dtype=F64)]), randn(3)),
    "where": (lambda a: torch.where(torch.tensor([True, False, True]), a, 2.0), randn(3)),
    "where_method": (lambda a: a.where(torch.tensor([True, False, True]), 2 * a), randn(3)),
    "getitem": (lambda a: a[1:], randn(3)),
    "fancy": (lambda a: a[torch.tensor([0, 0, 2])], randn(3, 2)),
    "mask": (lambda a: a[torch.tensor([True, False, True])], randn(3, 2)),
    "transpose": (lambda a: a.T, randn(3, 2)),
    "unbind": (lambda a: a.unbind(1), randn(3, 2)),
    "split": (lambda a: torch.split(a, 1), randn(3, 2)),
    "flip": (lambda a: a.flip(0), randn(4)),
    "diagonal": (torch.diagonal, randn(3, 3)),
    "gather": (lambda a: torch.gather(a, 1, torch.tensor([[0], [1]])), randn(2, 3)),
    "pad": (lambda a: F.pad(a, (1, 2)), randn(3)),
    "max": (torch.max, randn(9)),
    "max_dim": (lambda a: torch.max(a, 1).values, randn(3, 9)),
    "amax": (lambda a: torch.amax(a, (0, 2)), randn(3, 4, 5)),
    "amin": (lambda a: torch.amin(a, 1, keepdim=True), randn(3, 4, 5)),
    "maximum": (torch.maximum, randn(9), randn(9, seed=1)),
    "maximum_constant": (lambda a: torch.maximum(a, torch.tensor(0.0, dtype=F64)), randn(9)),
    "minimum_of_functions": (lambda a: torch.minimum(a, 2 * a), randn(4)),
    "einsum3": (lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), randn(2, 3), randn(3, 2), randn(2, 2)),
    "tensordot": (lambda a, b: torch.tensordot(a, b, 1), randn(2, 3), randn(3, 2)),
    "outer": (torch.outer, randn(2), randn(3)),
    "conv2d": (F.conv2d, randn(1, 2, 5, 5), randn(3, 2, 3, 3), randn(3)),
    "linear": (F.linear, randn(5, 4), randn(3, 4), randn(3)),
    "addmm": (torch.addmm, randn(3), randn(2, 4), randn(4, 3)),
    "softmax": (lambda a: F.softmax(a, -1), randn(3, 4)),
    "logsumexp": (lambda a: torch.logsumexp(a, -1), randn(3, 4)),
    "layer_norm": (lambda a: F.layer_norm(a, (4,)), randn(3, 4)),
    "group_norm": (lambda a: F.group_norm(a, 2), randn(2, 4, 3)),
    "normalize": (lambda a: F.normalize(a, dim=-1), randn(3, 2)),
    "attention": (lambda a: F.scaled_dot_product_attention(a, a, a), randn(1, 3, 4)),
    "gelu": (F.gelu, randn(5)),
    "silu": (F.silu, randn(5)),
    "mse_loss": (lambda a: F.mse_loss(a, torch.ones(4, dtype=F64)), randn(4)),
    "hypot": (torch.hypot, randn(3), randn(3, seed=1)),
    "atan2": (torch.atan2, rand(3), rand(3, seed=1)),
    "norm": (torch.linalg.norm, randn(4)),
    "solve": (torch.linalg.solve, near(3, 3), randn(3)),
    "inv": (torch.linalg.inv, near(3, 3)),
    "det": (torch.linalg.det, near(3, 3)),
    "svdvals": (torch.linalg.svdvals, torch.diag(torch.tensor([1.0, 4.0, 9.0], dtype=F64)) + 0.1 * randn(3, 3)),
    "rfft": (torch.fft.rfft, randn(8)),
    "abs_of_complex": (lambda a: torch.abs(torch.fft.fft(a)), randn(5)),
    "assignment": (_setitem, randn(3)),
    "in_place_chain": (_chain, randn(3)),
    "embedding": (lambda w: F.embedding(torch.tensor([0, 1, 1]), w), randn(3, 2)),
}
POSITIVE = {"div", "number_by", "pow", "atan2"}
CLOSE = {"solve", "inv", "det", "svdvals"}


def _baselines(name, inputs):
    if name in CLOSE:
        return tuple(x + 0.1 * randn(*x.shape, seed=7) for x in inputs)
    return tuple((rand if name in POSITIVE else randn)(*x.shape, seed=7) for x in inputs)


@pytest.mark.parametrize("name", CASES)
def test_value_residual_and_completeness(name):
    f, *inputs = CASES[name]
    bases = _baselines(name, inputs)
    made = f(*np.decompose(tuple(inputs), baseline=bases))
    plain, base = f(*inputs), f(*bases)
    for y, v, r in zip(*[t if isinstance(t, (tuple, list)) else [t] for t in (made, plain, base)], strict=True):
        scale = max(1.0, float(v.abs().max()), float(r.abs().max()))
        assert torch.equal(y.value, v)
        torch.testing.assert_close(y.residual, r, rtol=1e-12, atol=1e-13)
        assert float((y.value - y.residual - y.components.sum(0)).abs().max()) <= 2e-12 * scale


@pytest.mark.parametrize("name", CASES)
def test_forward_equals_reverse(name):
    f, x, *others = CASES[name]
    base, *_ = _baselines(name, (x,))

    def total(a):
        made = f(a, *others)
        made = made if isinstance(made, (tuple, list)) else [made]
        return sum((m * torch.arange(1.0, m.numel() + 1, dtype=F64).reshape(m.shape)).sum().real for m in made)

    forward = total(np.decompose(x, baseline=base))
    reverse = np.attribute(total, x, baseline=base)
    assert torch.equal(forward.value, reverse.value)
    torch.testing.assert_close(forward.components.reshape(x.shape), reverse.attribution, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("activation", [torch.nn.ReLU, torch.nn.Tanh, torch.nn.Sigmoid])
def test_network_equals_deeplift(activation):
    torch.manual_seed(3)
    net = torch.nn.Sequential(
        torch.nn.Linear(6, 9), activation(), torch.nn.Linear(9, 7), activation(), torch.nn.Linear(7, 2)
    ).double()
    x, base = randn(4, 6), randn(4, 6, seed=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Captum announces the hooks that it sets
        wanted = captum.attr.DeepLift(net).attribute(x, base, target=1)
    made = np.decompose(x, baseline=base)
    got = net(made)[:, 1].sum().components.reshape(x.shape)
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-10)
    reverse = np.attribute(lambda a: net(a)[:, 1].sum(), x, baseline=base).attribution
    torch.testing.assert_close(reverse, wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_product_equals_brute_force_shapley(k):
    x, base = randn(k), randn(k, seed=9)
    commas = "," * (k - 1)
    product = torch.einsum(f"{commas}->", *np.decompose(tuple(x), baseline=tuple(base)))
    wanted = torch.zeros(k, dtype=F64)
    for order in itertools.permutations(range(k)):
        state = base.clone()
        for i in order:
            before = state.prod()
            state[i] = x[i]
            wanted[i] += (state.prod() - before) / math.factorial(k)
    torch.testing.assert_close(product.components, wanted, rtol=1e-13, atol=1e-15)


def test_maximum_follows_the_envelope():
    """Brute force: the share of a fine grid of the path on which each element leads."""
    x, base = randn(6, seed=2), randn(6, seed=3)
    t = (torch.arange(200_000, dtype=F64) + 0.5) / 200_000
    leader = (base + t[:, None] * (x - base)).argmax(1)
    shares = torch.bincount(leader, minlength=6).double() / len(t)
    made = torch.amax(np.decompose(x, baseline=base), 0)
    torch.testing.assert_close(made.components, shares * (x - base), rtol=0, atol=2e-5)


def test_equal_leaders_share_evenly():
    made = np.decompose(torch.tensor([1.0, 1.0, 0.0])).max()
    assert made.components.tolist() == [0.5, 0.5, 0.0]


def test_path_near_a_singularity_is_resolved_or_warned_of():
    x, base = torch.tensor([1.0, -2.0, 1.0], dtype=F64), torch.tensor([-1.0, 2.0, -1.0 + 1e-6], dtype=F64)
    made = F.layer_norm(np.decompose(x, baseline=base), (3,), eps=1e-12)  # in closed form
    assert float((made.value - made.c_sum()).abs().max()) < 1e-8
    with pytest.warns(np.DecompositionWarning, match=r"inv: completeness"):
        torch.linalg.inv(np.decompose(torch.eye(2, dtype=F64), baseline=-torch.eye(2, dtype=F64)))


def test_labels_of_separate_inputs_are_united():
    a = np.decompose(torch.tensor([1.0, 2.0]), labels=["a", "b"])
    b = np.decompose(torch.tensor([3.0]), labels=["c"])
    made = a * b + a
    assert made.labels == ("a", "b", "c")
    assert made.components.tolist() == [[2.5, 0.0], [0.0, 5.0], [1.5, 3.0]]
    again = np.decompose(torch.tensor([1.0])) + np.decompose(torch.tensor([1.0]))
    assert len(again.labels) == 2


def test_gradients_flow_through_components():
    def f(x):
        return (torch.tanh(np.decompose(x, baseline=0.1)) ** 2).components

    assert torch.autograd.gradcheck(f, (randn(3).requires_grad_(),))


def test_writes_on_the_torch_face():
    d = np.decompose(torch.tensor([1.0, 2.0, 3.0]), labels=["a", "b", "c"])
    out = torch.zeros(2, 3)
    out[0] = d * 2
    assert isinstance(out, np.DecomposedTensor)
    assert out.components[:, 0].diagonal().tolist() == [2.0, 4.0, 6.0]
    out += 1
    torch.mul(out, 2, out=out)
    assert out.tolist() == [[6.0, 10.0, 14.0], [2.0, 2.0, 2.0]]
    assert torch.equal(out.value, out.c_sum())
    other = np.decompose(torch.tensor(5.0), axis=(), labels=["d"])
    out[1, 0] = other
    assert out.labels == ("a", "b", "c", "d")
    assert torch.equal(out.value, out.c_sum())


def test_a_write_that_views_would_miss_raises():
    out = torch.zeros(3)
    view = out[1:]
    with pytest.raises(RuntimeError, match="shares its memory"):
        out[0] = np.decompose(torch.tensor(5.0), axis=())
    assert view.tolist() == [0.0, 0.0]
    assert out.tolist() == [0.0, 0.0, 0.0]


def test_reverse_mode_looks_through_no_grad():
    def f(x):
        with torch.no_grad():
            return (torch.tanh(x) * x).sum()

    x = randn(4)
    made = np.attribute(f, x)
    torch.testing.assert_close(made.attribution.sum(), made.value - made.residual)
    assert (made.attribution != 0).all()


@pytest.mark.parametrize("f", [torch.relu, torch.tanh, torch.sigmoid, torch.exp, F.softplus])
def test_an_infinity_that_stays_contributes_nothing(f):
    x, base = torch.tensor([-torch.inf, 1.0, 0.5]), torch.tensor([-torch.inf, 0.5, 0.5])
    components = torch.tensor([[0.0, 0.5, 0.0]])
    made = f(np.DecomposedTensor(x, base, components, ("a",)))
    assert made.components[0, ::2].tolist() == [0.0, 0.0]
    torch.testing.assert_close(made.components[0, 1], f(x)[1] - f(base)[1])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * math.inf,
        lambda x: -math.inf * x,
        lambda x: x * torch.tensor([math.inf, -math.inf, 1.0]),
        lambda x: torch.tensor([[math.inf], [2.0]]) * x,
        lambda x: x / 0.0,
        lambda x: x / torch.tensor([0.0, -0.0, 1.0]),
        lambda x: math.inf / (1 + x),
    ],
)
@pytest.mark.filterwarnings("ignore:.* infinite or not a number:npdec.exceptions.DecompositionWarning")
def test_what_does_not_move_contributes_nothing_times_infinity(f):
    x = np.decompose(torch.tensor([3.0, 1.0, 2.0]), baseline=torch.tensor([3.0, 0.5, 1.0]))
    made = f(x)
    moved = torch.eye(3, dtype=torch.bool) & torch.tensor([False, True, True])
    own = torch.broadcast_to(moved if made.ndim == 1 else moved[:, None], made.components.shape)
    assert (made.components[~own] == 0).all()
    assert not torch.isnan(made.components).any()
    assert (made.components[own] != 0).all()
    marked = np.DecomposedTensor(
        x.value, x.residual, (x.value - x.residual)[None].requires_grad_(), ("all",), reverse=True
    )
    assert not torch.isnan(f(marked).components).any()
