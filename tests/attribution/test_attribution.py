"""The methods of np.attribute against Captum, exact Shapley values by brute force, and formulas."""

from __future__ import annotations

import itertools
import math
import warnings

import captum.attr
import numpy
import pytest
import torch

import npdec as np
import tiers

F64 = torch.float64


def network(*activations, inputs=6, outputs=3, width=16):
    torch.manual_seed(1)
    layers = [torch.nn.Linear(inputs, width)]
    for activation in activations:
        layers += [activation(), torch.nn.Linear(width, width)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, outputs)).double()


def pair(n=6, rows=1, seed=3):
    source = torch.Generator().manual_seed(seed)
    return torch.randn(rows, n, generator=source, dtype=F64), torch.randn(rows, n, generator=source, dtype=F64)


SMOOTH = network(torch.nn.Tanh, torch.nn.Sigmoid)
KINKED = network(torch.nn.Tanh, torch.nn.ReLU)
NETWORKS = pytest.mark.parametrize("net", [SMOOTH, KINKED], ids=["smooth", "kinked"])


@pytest.fixture(autouse=True)
def _captum_warns():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Input Tensor 0 did not already require gradients")
        warnings.filterwarnings("ignore", message="Setting forward, backward hooks")
        yield


def close(a, b, atol=1e-10):
    torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b).detach(), rtol=0, atol=atol)


# -- the path ----------------------------------------------------------------------------------------------------------


@NETWORKS
@pytest.mark.parametrize("batched", [False, True, "vmap"])
@pytest.mark.parametrize("steps", [1, 7, 50])
def test_path_with_fixed_steps_is_captums(monkeypatch, net, batched, steps):
    x, base = pair()
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)  # Captum rounds its weights to single precision
    torch.set_default_dtype(F64)
    try:
        wanted = captum.attr.IntegratedGradients(net).attribute(
            x, base, target=1, n_steps=steps, method="gausslegendre", internal_batch_size=None
        )
    finally:
        torch.set_default_dtype(torch.float32)
    f = (lambda a: net(a[:, 0])[:, 1]) if batched is True else lambda a: net(a)[0, 1]
    made = np.attribute(
        f, x, baseline=base, method="path", steps=steps, batched=batched, chunk_size=9 if batched else None
    )
    close(made.attribution, wanted)
    close(made.value, net(x)[0, 1], 0)
    close(made.residual, net(base)[0, 1], 0)
    close(made.error, made.value - made.residual - wanted.sum())


@pytest.mark.parametrize("net", [SMOOTH, pytest.param(KINKED, marks=pytest.mark.slow)], ids=["smooth", "kinked"])
def test_path_adapts_to_completeness(net):
    x, base = pair()
    made = np.attribute(net, x, baseline=base, method="path", output=[(0, 0), (0, 2)])
    assert made.error.abs().max() < 1e-10
    for row, target in zip(made.attribution, (0, 2)):
        steps = {"n_steps": 4000 if tiers.quick else 20000, "method": "riemann_middle", "internal_batch_size": 5000}
        reference = captum.attr.IntegratedGradients(net).attribute(x, base, target=target, **steps)
        close(row, reference, 1e-5 if net is KINKED else 1e-8)


def test_path_finds_the_kinks():
    """A piecewise linear function: between kinks one node is exact, so a few panels give all digits."""
    x = np.array([1.0, 1.0, 1.0])
    base = np.array([-1.0, -0.3, -0.1])
    calls = []

    def f(a):
        calls.append(len(a))
        return np.maximum(a, 0.0).sum(-1)

    made = np.attribute(f, x, baseline=base, method="path", batched=True)
    close(made.attribution.tensor, torch.ones(3, dtype=F64), 1e-15)
    assert sum(calls) < 400


def test_path_finds_kinks_between_curves():
    """Each input by itself moves exp(max(a, 0)) from 1 to e, with a kink of its own on the path."""
    x, base = np.array([1.0, 1.0, 1.0]), np.array([-1.0, -0.3, -0.1])
    calls = []

    def f(a):
        calls.append(len(a))
        return np.exp(np.maximum(a, 0.0)).sum(-1)

    made = np.attribute(f, x, baseline=base, method="path", batched=True)
    close(made.attribution.tensor, torch.full((3,), math.e - 1, dtype=F64), 1e-13)
    assert sum(calls) < 200  # halving takes a thousand


def test_path_says_what_it_misses():
    x = np.array([1.0, 2.0])
    with pytest.warns(np.DecompositionWarning, match="attribute: completeness holds only to"):
        made = np.attribute(lambda a: np.floor(a).sum(), x, baseline=-1.0, method="path")
    assert made.error == 5.0
    with pytest.warns(np.DecompositionWarning, match="attribute: completeness fails"):
        np.attribute(lambda a: np.log(a).sum(), x, method="path")
    assert abs(np.attribute(lambda a: np.sqrt(a).sum(), x, method="path").error) < 1e-9
    few = np.attribute(lambda a: np.exp(3 * a).sum(), x, method="path", steps=2)
    assert abs(few.error) > 1e-3


def test_path_tolerance():
    counts = []
    for rtol in (1e-2, 1e-12):
        calls = []
        made = np.attribute(
            lambda a, calls=calls: calls.append(0) or np.exp(-40 * (a - 0.3) ** 2).sum(),
            np.ones(2),
            method="path",
            rtol=rtol,
        )
        assert abs(made.error) <= 4 * rtol  # of the magnitudes along the path, which are 4 in all
        counts.append(len(calls))
    assert counts[0] < counts[1]


def test_path_in_single_precision():
    net, (x, base) = KINKED.float(), pair()
    try:
        made = np.attribute(net, x.float(), baseline=base.float(), method="path", output=(0, 1))
    finally:
        KINKED.double()
    assert made.attribution.dtype is torch.float32
    assert abs(made.error) < 1e-5
    close(
        made.attribution.double(),
        np.attribute(KINKED, x, baseline=base, method="path", output=(0, 1)).attribution,
        1e-5,
    )


def test_path_of_complex_numbers():
    x = np.array([1.0 + 2j, -0.5 + 0.3j])
    made = np.attribute(lambda a: (a * a * a).sum(), x, method="path", baseline=0.1)
    numpy.testing.assert_allclose(numpy.asarray(made.attribution), numpy.asarray(x) ** 3 - 0.001, atol=1e-13)
    assert abs(made.error) < 1e-13
    real = np.attribute(lambda a: (np.abs(a) ** 2).sum(), x, method="path")
    numpy.testing.assert_allclose(numpy.asarray(real.attribution), [5, 0.34], atol=1e-13)


# -- pairs -------------------------------------------------------------------------------------------------------------


def cubic(a):
    return a[0] * a[1] * a[2] + 2 * a[0] * a[1] + a[2] ** 2 - 3 * a[1]


def test_pairs_of_a_polynomial_by_hand():
    made = np.attribute(cubic, np.array([1.0, 2.0, 3.0]), order=2)
    # xyz = 6 over six ordered pairs; 2xy = 4 over two; the square of z and the linear term are their own.
    numpy.testing.assert_allclose(numpy.asarray(made.attribution), [[0, 3, 1], [3, -6, 1], [1, 1, 9]], atol=1e-14)
    product = np.attribute(lambda a: a[0] * a[1], np.array([3.0, 5.0]), baseline=np.array([1.0, 2.0]), order=2)
    # 2·2 and 3·1 alone, 2·3 together
    numpy.testing.assert_allclose(numpy.asarray(product.attribution), [[4, 3], [3, 3]], atol=1e-14)


@pytest.mark.parametrize("batched", [False, "vmap"])
def test_pairs_are_symmetric_complete_and_sum_to_the_first_order(batched):
    x, base = pair(4)
    net = network(torch.nn.Tanh, torch.nn.Sigmoid, inputs=4)
    made = np.attribute(net, x, baseline=base, order=2, output=[(0, 0), (0, 1)], batched=batched)
    first = np.attribute(net, x, baseline=base, method="path", output=[(0, 0), (0, 1)])
    assert made.attribution.shape == (2, 4, 4)
    close(made.attribution, made.attribution.transpose(1, 2), 0)
    close(made.attribution.sum(-1), first.attribution[:, 0], 1e-9)
    assert made.error.abs().max() < 1e-9


def test_pairs_by_another_quadrature():
    """∫ (1 − t) H dt by many midpoints, with the Hessians of torch.func."""
    x, base = (t[0] for t in pair(4))
    net = network(torch.nn.Tanh, inputs=4)
    change, n = x - base, 4000
    times = (torch.arange(n, dtype=F64) + 0.5) / n
    hessians = torch.vmap(torch.func.jacrev(torch.func.jacrev(lambda a: net(a)[1])))(base + times[:, None] * change)
    mixed = ((1 - times)[:, None, None] * hessians).mean(0) * torch.outer(change, change)
    wanted = mixed + torch.diag(change * torch.func.grad(lambda a: net(a)[1])(base))
    close(np.attribute(net, x, baseline=base, order=2, output=1).attribution, wanted, 1e-6)


def test_pairs_of_groups():
    x, base = pair(6)
    whole = np.attribute(SMOOTH, x, baseline=base, order=2, output=(0, 0)).attribution
    made = np.attribute(SMOOTH, x, baseline=base, order=2, output=(0, 0), groups=[0, 1, 0, 2, 2, 1], labels="abc")
    members = torch.tensor([[1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 1], [0, 0, 0, 1, 1, 0]], dtype=F64)
    close(made.attribution, members @ whole @ members.T, 1e-9)
    assert made.labels == ("a", "b", "c")


@pytest.mark.parametrize("times", [20.0, 200.0])
def test_multiples_of_the_baseline(times):
    """The ratio of two numbers that grow alike does not change: any nodes are complete, and too few of them wrong."""
    x, base = np.array([times, 2 * times]), np.array([1.0, 2.0])
    made = np.attribute(lambda a: a[0] / a[1], x, baseline=base, method="path")
    share = math.log(times) / 2  # of ∫ (times − 1) / (2 + 2 (times − 1) t) dt
    numpy.testing.assert_allclose(numpy.asarray(made.attribution), [share, -share], rtol=1e-10)
    second = np.attribute(lambda a: a[0] / a[1], x, baseline=base, order=2)
    numpy.testing.assert_allclose(numpy.asarray(second.attribution.sum(1)), [share, -share], rtol=1e-9)


def test_pairs_of_a_linear_function_are_single():
    made = np.attribute(lambda a: a @ np.array([1.0, 2.0]), np.array([3.0, 4.0]), order=2)
    assert made.attribution.tolist() == [[3.0, 0.0], [0.0, 8.0]]


# -- gradients ---------------------------------------------------------------------------------------------------------


@NETWORKS
def test_gradients_are_captums(net):
    x, base = pair()
    made = np.attribute(net, x, output=(0, 1), method="gradient")
    close(made.attribution, captum.attr.Saliency(net).attribute(x.clone(), target=1, abs=False), 0)
    assert made.residual is made.error is None
    product = np.attribute(net, x, output=(0, 1), method="input_x_gradient")
    close(product.attribution, captum.attr.InputXGradient(net).attribute(x.clone(), target=1), 1e-14)
    close(product.error, net(x)[0, 1] - net(torch.zeros_like(x))[0, 1] - product.attribution.sum(), 1e-14)
    based = np.attribute(net, x, baseline=base, output=[(0, 1), (0, 0)], method="input_x_gradient")
    close(based.attribution[0], (x - base) * made.attribution, 1e-14)


# -- leaving out -------------------------------------------------------------------------------------------------------


@NETWORKS
def test_occlusion_is_captums_ablation(net):
    x, base = pair()
    made = np.attribute(net, x, baseline=base, output=(0, 1), method="occlusion")
    close(made.attribution, captum.attr.FeatureAblation(net).attribute(x, base, target=1), 1e-14)
    groups = torch.tensor([[0, 0, 1, 2, 2, 1]])
    grouped = np.attribute(net, x, baseline=base, output=(0, 1), method="occlusion", groups=groups)
    wanted = captum.attr.FeatureAblation(net).attribute(x, base, target=1, feature_mask=groups)
    close(grouped.attribution, wanted[0, [0, 2, 3]], 1e-14)


def brute_force(f, x, base):
    """The mean over all orders of what each element adds."""
    n = len(x)
    total = [0.0] * n
    for order in itertools.permutations(range(n)):
        now = list(base)
        before = f(now)
        for i in order:
            now[i] = x[i]
            after = f(now)
            total[i] += after - before
            before = after
    return [t / math.factorial(n) for t in total]


def number(a):
    return math.sin(a[0] * a[1]) + a[2] * a[3] * a[4] - abs(a[0] - a[4])


@pytest.mark.parametrize("batched", [False, True, "vmap"])
def test_shapley_values_are_exact(batched):
    def f(a):
        return np.sin(a[..., 0] * a[..., 1]) + a[..., 2] * a[..., 3] * a[..., 4] - np.abs(a[..., 0] - a[..., 4])

    x, base = [0.3, -1.2, 2.0, 0.7, -0.4], [0.0, 0.5, 0.1, -1.0, 0.2]
    made = np.attribute(f, np.array(x), baseline=np.array(base), method="shapley", batched=batched)
    numpy.testing.assert_allclose(numpy.asarray(made.attribution), brute_force(number, x, base), atol=1e-14)
    assert made.standard_error is None
    assert abs(made.error) < 1e-14


@pytest.mark.parametrize("options", [{"samples": 40}, {"samples": 40, "batched": True, "chunk_size": 5}])
def test_shapley_values_from_samples_are_within_their_error(options):
    x, base = pair()
    f = KINKED if "batched" not in options else lambda a: KINKED(a[:, 0])[:, None]
    exact = np.attribute(KINKED, x, baseline=base, method="shapley", output=(0, 1))
    made = np.attribute(f, x, baseline=base, method="shapley", output=(0, 1), **options)
    assert made.standard_error.shape == made.attribution.shape == (1, 6)
    off = (made.attribution - exact.attribution).abs() / made.standard_error
    assert 0.01 < off.max() < 4
    assert abs(made.error) < 1e-13
    captums = captum.attr.ShapleyValueSampling(KINKED).attribute(x, base, target=1, n_samples=300)
    assert (captums - made.attribution).abs().max() < 0.05
    again = np.attribute(f, x, baseline=base, method="shapley", output=(0, 1), **options)
    other = np.attribute(f, x, baseline=base, method="shapley", output=(0, 1), seed=1, **options)
    assert torch.equal(again.attribution, made.attribution)
    assert not torch.equal(other.attribution, made.attribution)


def test_standard_errors_mean_what_they_say():
    """Over many seeds, the deviation in standard errors has about unit spread."""
    x, base = (t.reshape(-1) for t in pair(5))
    net = network(torch.nn.ReLU, inputs=5)
    f = lambda a: net(a)[:, 0]  # noqa: E731
    exact = np.attribute(f, x, baseline=base, method="shapley", batched=True).attribution
    deviations = []
    for seed in range(60):
        made = np.attribute(f, x, baseline=base, method="shapley", samples=30, seed=seed, batched=True)
        deviations.append((made.attribution - exact) / made.standard_error)
    spread = torch.stack(deviations).square().mean().sqrt()
    assert 0.85 < spread < 1.25


def test_orders_gone_through_both_ways_are_exact_for_products_of_two():
    made = np.attribute(lambda a: a[0] * a[1] - a[1] * a[2], np.array([2.0, 3.0, 5.0]), method="shapley", samples=1)
    assert made.attribution.tolist() == [3.0, -4.5, -7.5]
    assert made.standard_error is None


def test_many_components_are_sampled_and_all_coalitions_on_demand():
    x = np.arange(14.0)
    assert np.attribute(lambda a: a.sum(), x, method="shapley").standard_error is not None
    every = np.attribute(lambda a: (a**2).sum(-1), x, method="shapley", batched=True)
    assert every.standard_error is None
    numpy.testing.assert_allclose(numpy.asarray(every.attribution), numpy.arange(14.0) ** 2, atol=1e-11)
    with pytest.raises(ValueError, match="30 components have 2\\*\\*30 coalitions"):
        np.attribute(lambda a: a.sum(), np.ones(30), method="shapley", samples="all")


# -- the law -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", [torch.nn.ReLU, torch.nn.Tanh, torch.nn.Sigmoid])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_the_law_is_captums_deeplift(activation, mode):
    net = network(activation, activation)
    x, base = pair(rows=3)
    for target in range(3):
        wanted = captum.attr.DeepLift(net).attribute(x, base, target=target)
        made = np.attribute(lambda a, t=target: net(a)[:, t].sum(), x, baseline=base, mode=mode)
        close(made.attribution, wanted)
        assert abs(made.error) < 1e-12


# -- several baselines -------------------------------------------------------------------------------------------------


def test_a_mean_over_baselines_is_captums_deepliftshap():
    net = network(torch.nn.Tanh, torch.nn.Tanh)
    x, _ = pair()
    bases = torch.randn(7, 6, dtype=F64)
    wanted = captum.attr.DeepLiftShap(net).attribute(x, bases, target=1)
    for mode in ("reverse", "forward"):
        made = np.attribute(net, x, baselines=bases[:, None], output=(0, 1), mode=mode)
        close(made.attribution, wanted)
        close(made.residual, net(bases)[:, 1].mean(), 1e-14)
        close(made.error, torch.tensor(0.0, dtype=F64), 1e-14)
    each = [np.attribute(net, x, baseline=b, output=(0, 1)).attribution for b in bases]
    close(made.standard_error, torch.stack(each).std(0) / math.sqrt(7), 1e-14)


def test_a_mean_over_baselines_is_captums_gradientshap():
    """Captum draws baselines and places on the path; it agrees within the spread of many draws."""
    net = network(torch.nn.Tanh)
    x, _ = pair()
    bases = torch.randn(5, 6, dtype=F64)
    made = np.attribute(net, x, baselines=bases[:, None], output=(0, 1), method="path")
    runs = [captum.attr.GradientShap(net).attribute(x, bases, target=1, n_samples=500, stdevs=0.0) for _ in range(20)]
    spread = torch.stack(runs).std(0) / math.sqrt(20)
    assert ((torch.stack(runs).mean(0) - made.attribution).abs() < 4.5 * spread).all()


@pytest.mark.parametrize("method", ["local", "path", "input_x_gradient", "shapley", "occlusion"])
def test_every_method_averages(method):
    def f(a):
        return np.tanh(a[0] * a[1]) + a[2] ** 2

    x, bases = np.array([1.0, -0.5, 2.0]), np.array([[0.0, 0.1, 0.2], [0.5, -1.0, 1.0]])
    made = np.attribute(f, x, baselines=bases, method=method)
    parts = [np.attribute(f, x, baseline=b, method=method) for b in bases]
    numpy.testing.assert_allclose(
        numpy.asarray(made.attribution), numpy.mean([numpy.asarray(p.attribution) for p in parts], 0), atol=1e-15
    )
    assert made.residual == (parts[0].residual + parts[1].residual) / 2
    one = np.attribute(f, x, baselines=bases[:1], method=method)
    assert one.attribution.tolist() == parts[0].attribution.tolist()
    assert one.standard_error is None
