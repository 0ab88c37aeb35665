"""Components that are known by their windows: as any other components, without computing their zeros."""

from __future__ import annotations

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import npdec as np
import tiers
from npdec._decomposed import block_sparse
from npdec._decomposed.block_sparse import BlockSparse
from npdec._decomposed.kept_components import stand_in
from tiers import fewer

F64 = torch.float64
X = torch.randn(3, 5, 12, generator=torch.Generator().manual_seed(0), dtype=F64)
W = torch.randn(7, 12, generator=torch.Generator().manual_seed(1), dtype=F64)
BIAS = torch.ones(7, dtype=F64)


@pytest.fixture(autouse=True)
def worth_it(monkeypatch):
    monkeypatch.setattr(block_sparse, "_SMALL", 0)


PARTITIONS = {
    "last axis": {"axis": 2},
    "another axis": {"axis": 1},
    "several axes": {"axis": (0, 1)},
    "equal blocks": {"groups": torch.arange(12) // 3},
    "equal groups that are no blocks": {"groups": torch.arange(12) % 4},
    "unequal groups": {"groups": [0, 1, 2, 3, 3, 3, 1, 1, 2, 0, 0, 0]},
    "groups of rows": {"groups": torch.arange(5)[:, None] % 4},
    "each element": {"axis": None},
    "a group without elements of the last row": {"groups": torch.arange(5)[:, None].clamp(max=3)},
}
DENSE = {
    "a few": {"groups": [0, 1, 2] * 4},
    "both axes": {"groups": torch.arange(60).reshape(5, 12) * 7 % 5},
    "very unequal": {"groups": [0] * 9 + [1, 2, 3]},
}


def again(d):
    """The same without the knowledge of windows."""
    return np.DecomposedTensor(d.value, d.residual, d.components.clone(), d.labels)


def is_lazy(d):
    return stand_in(d) is not None and "components" not in vars(d)


def check(made, wanted, tolerance=1e-12):
    assert made.labels == wanted.labels
    torch.testing.assert_close(made.components, wanted.components, rtol=0, atol=tolerance)
    assert torch.equal(made.value, wanted.value)
    assert torch.equal(made.residual, wanted.residual)
    torch.testing.assert_close(made.c_sum(), made.value)


# -- what keeps the windows --------------------------------------------------------------------------------------------

KEPT = {
    "linear": lambda d: F.linear(d, W, BIAS),
    "linear by name": lambda d: F.linear(input=d, weight=W),
    "matmul": lambda d: d @ W.T,
    "numpy": lambda d: (np.asarray(d) @ np.asarray(W.T)).tensor,
    "module": nn.Linear(12, 7).double(),
    "layer norm": lambda d: F.layer_norm(d, (12,), X[0, 0], X[1, 0]),
    "rms norm": lambda d: F.rms_norm(d, (12,)),
    "scaled": lambda d: 2.0 * d / 3.0 - d * X[0, 0],
    "scaled by rows": lambda d: d * X[0, :, :1] / (2 + X[0].abs()),
    "moved": lambda d: (5.0 - (d + 1.0 - X[0])).neg(),
    "summed": lambda d: d + torch.tanh(d) * 2.0,
    "curves": lambda d: F.gelu(torch.relu(d)) + torch.sigmoid(d).exp(),
    "transposed": lambda d: d.transpose(0, 2).mT.permute(1, 2, 0).movedim(0, 1),
    "reshaped": lambda d: d.reshape(3, 5, 3, 4).transpose(-1, 1).flatten(0, 0)[:, :, None].squeeze(2).unsqueeze(-1),
    "pieces": lambda d: d.split(7, 2)[0].chunk(3, -1)[1].unbind(0)[1].clone(),
    "sum of another axis": lambda d: d.sum(0) * 2.0 - d.mean(dim=[0]),
    "one of the rows": lambda d: d[1, :, ...].contiguous(),
}
LESS = {
    "squeezed": lambda d: d[:, :, :1].squeeze().unsqueeze(0).squeeze(0) + d[:1].squeeze(0).sum(-1),
    "reflected": lambda d: d.mT.__rmatmul__(X) + d.__rsub__(X).__rmul__(X).__radd__(X).sum(-1, keepdim=True),
    "sliced": lambda d: d[:, 1:4, 2:].double(),
    "fancy": lambda d: d[[2, 0, 1]][:, [4, 3, 2, 1, 0]][..., torch.arange(11, -1, -1)],
    "the other axis merged": lambda d: d.reshape(15, 12) @ W.T,
    "mean": lambda d: d.mean(1) + d.sum(2, keepdim=True)[:, 0],
    "softmax": lambda d: torch.softmax(d, -1),
    "another shape": lambda d: d + torch.ones(2, 1, 1, 1, dtype=F64),
    "sums": lambda d: d.sum() + d.mean() - d.sum(1).mean(dim=1).sum(0, keepdim=True) + d.sum((0, -2)).mean(),
    "vectors": lambda d: torch.cat([d[0, 1] @ W.T, W @ d[1, 2], torch.dot(d[2, 0], W[0])[None], d[0, :, 3] @ X[0]]),
    "scores": lambda d: d @ (d * 2.0).mT,
    "attention": lambda d: torch.softmax(d @ d.mT, -1) @ d,
    "flat scores": lambda d: torch.bmm(d, d.mT) @ d.exp(),
    "rows times rows": lambda d: (d * torch.tanh(d)).mT @ d,
    "constant scores": lambda d: X @ d.mT + d @ X.mT,
    "dense and windows": lambda d: d + d.roll(1, 1) + torch.cumsum(d, 1) * d,
    "normal of a decomposed weight": lambda d: F.layer_norm(d, (12,), d[0, 0]),
    "normal of all": lambda d: F.layer_norm(d, (5, 12)),
    "to a lower precision": lambda d: d.float().double() + d.to(torch.float32),
}


@pytest.mark.parametrize("function", [*KEPT, *LESS])
@pytest.mark.parametrize("partition", [*PARTITIONS, *DENSE])
def test_functions(partition, function):
    d = np.decompose(X, baseline=0.25, **{**PARTITIONS, **DENSE}[partition])
    f = {**KEPT, **LESS}[function]
    made = f(d)
    lazy = is_lazy(made)
    tolerance = 1e-6 if "precision" in function else 1e-12
    check(made, f(again(d)), tolerance)
    if function in KEPT and partition in ("another axis", "groups of rows"):
        assert lazy, "the windows got lost on the way"
    assert partition not in DENSE or not lazy


IMAGES = torch.randn(2, 3, 16, 12, generator=torch.Generator().manual_seed(2), dtype=F64)
KERNELS = torch.randn(4, 3, 3, 3, generator=torch.Generator().manual_seed(3), dtype=F64)
LAYERS = {
    "plain": lambda d: F.conv2d(d, KERNELS, torch.ones(4, dtype=F64)),
    "padded": lambda d: F.conv2d(d, KERNELS, padding=1),
    "wide": lambda d: F.conv2d(d, KERNELS, padding=(2, 1), stride=(2, 1)),
    "dilated": lambda d: F.conv2d(d, KERNELS, padding=2, dilation=2),
    "stride": lambda d: F.conv2d(d, KERNELS, stride=3),
    "same": lambda d: F.conv2d(d, KERNELS, padding="same"),
    "grouped": lambda d: F.conv2d(d, KERNELS[:3, :1], groups=3),
    "pooled": lambda d: F.max_pool2d(d, 2),
    "pooled by threes": lambda d: F.max_pool2d(d, 3, stride=2),
    "pooled with padding": lambda d: F.max_pool2d(d, 3, stride=2, padding=1),
    "pooled over the end": lambda d: F.max_pool2d(d, 5, stride=3, ceil_mode=True),
    "pooled with indices": lambda d: F.max_pool2d(d, 2, return_indices=True)[0],
    "adaptive": lambda d: F.adaptive_max_pool2d(d, (5, 3)),
    "network": nn.Sequential(
        nn.Conv2d(3, 5, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(5, 4, 3),
        nn.Tanh(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(24, 3),
    ).double(),
    "volume": lambda d: F.conv3d(d[:, :, None], KERNELS[:, :, None], padding=1),
    "line": lambda d: F.conv1d(d[:, :, :, 0], KERNELS[..., 0], padding=1),
}
PATCHES = {
    "rows": {"axis": 2},
    "columns": {"axis": 3},
    "channels and rows": {"axis": (1, 2)},
    "pixels": {"axis": (2, 3)},
    "blocks of the elements": {"groups": (torch.arange(3 * 16 * 12) * 10 // (3 * 16 * 12)).reshape(3, 16, 12)},
    "patches": {"groups": torch.arange(16)[:, None] // 4 * 3 + torch.arange(12) // 4},
    "images": {"axis": 0},
    "uneven rows": {"groups": torch.tensor([0, 0, 1, 2, 2, 2, 3, 4, 5, 5, 5, 6, 7, 7, 8, 9])[:, None]},
    "scattered rows": {"groups": (torch.arange(16) * 5 % 8)[:, None]},
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("partition", PATCHES)
@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")
def test_images(partition, layer):
    base = torch.linspace(-1, 1, 12, dtype=F64)
    d = np.decompose(IMAGES, baseline=base, **PATCHES[partition])
    check(LAYERS[layer](d), LAYERS[layer](again(d)))


def test_windows_of_rows_go_through_convolutions_and_pools():
    d = np.decompose(IMAGES, axis=2)
    first = F.conv2d(d, KERNELS, padding=1)
    assert stand_in(first).layout.width == 3
    pooled = F.max_pool2d(torch.relu(first), 2)
    assert is_lazy(pooled)
    assert pooled.kept.layout.width == 2
    again(pooled)  # reads the components
    assert not is_lazy(pooled)


# -- who may write, and who has looked ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda d: d.components.mul_(2),
        lambda d: d.components[0].fill_(1.0),
        lambda d: d.mul_(3.0),
        lambda d: d.__setitem__((slice(None), 0), 5.0),
        lambda d: d[0].add_(d[1]),
        lambda d: d.transpose(0, 1).__setitem__(0, 2.0),
        lambda d: setattr(d, "components", d.components + 1),
    ],
)
@pytest.mark.parametrize("start", ["made", "made and seen", "computed", "computed and seen"])
def test_components_that_were_written_to(start, write):
    d = np.decompose(X, axis=1)
    if "computed" in start:
        d = F.linear(d, torch.eye(12, dtype=F64))
        assert is_lazy(d)
    if "seen" in start:
        assert d.components.shape == (5, 3, 5, 12)
    write(d)
    torch.testing.assert_close(F.linear(d, W).components, torch.stack([F.linear(c, W) for c in d.components]))


def test_views_follow():
    """Writes into an array are in its views, and the other way round, whoever was asked for components first."""
    for first in (True, False):
        for into_view in (True, False):
            d = torch.tanh(np.decompose(X, axis=1))
            view = d.transpose(0, 1)[:, :, 2:5]
            other = d.reshape(3, 5, 3, 4)
            assert is_lazy(view)
            before = again(d)
            if first:
                view.components.sum()
            if into_view:
                view[1] = d[0, 0, :3] * 2.0
                before.transpose(0, 1)[:, :, 2:5][1] = before[0, 0, :3] * 2.0
            else:
                d[:, 1, 2:5] = d[0, 0, :3] * 2.0
                before[:, 1, 2:5] = before[0, 0, :3] * 2.0
            check(d, before)
            check(view, before.transpose(0, 1)[:, :, 2:5])
            check(other, before.reshape(3, 5, 3, 4))
            check(torch.exp(view), torch.exp(before.transpose(0, 1)[:, :, 2:5]))
            assert view.components.untyped_storage()._cdata == d.components.untyped_storage()._cdata


def test_copies_do_not_follow():
    d = torch.tanh(np.decompose(X, axis=1))
    copies = [d.clone(), d + 0.0, d.float(), d[:, :, [0]], d.mT.contiguous()]
    wanted = [again(c) for c in copies]
    d.mul_(2.0)
    for copy, old in zip(copies, wanted, strict=True):
        torch.testing.assert_close(copy.components, old.components, rtol=0, atol=0)
        assert torch.equal(copy.value, old.value)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_gradients(partition):
    x, weight = X[:, :, :6].clone().requires_grad_(), W[:, :6].clone().requires_grad_()
    options = dict(PARTITIONS[partition])
    if "groups" in options:
        options["groups"] = torch.as_tensor(options["groups"])[..., :6]

    def f(x, weight):
        return torch.tanh(F.linear(np.decompose(x, **options), weight)).components[:2]

    assert torch.autograd.gradcheck(f, (x, weight), fast_mode=tiers.quick)


def test_gradients_by_the_components():
    d = np.decompose(X[0], axis=1)
    d.components.requires_grad_()
    (found,) = torch.autograd.grad(F.linear(d, W).components.sum(), d.components)
    torch.testing.assert_close(found, W.sum(0).expand(12, 5, 12))
    weight = W.clone().requires_grad_()
    made = F.linear(np.decompose(X, axis=1), weight)
    seen = made.components
    (found,) = torch.autograd.grad((made * 3.0).components.sum(), seen)
    torch.testing.assert_close(found, torch.full_like(seen, 3.0))


def test_components_are_on_a_graph_or_not_as_when_they_were_computed():
    weight = W.clone().requires_grad_()
    made = F.linear(np.decompose(X, axis=1), weight)
    with torch.no_grad():
        assert made.components.requires_grad
    with torch.inference_mode():
        made = F.linear(np.decompose(X, axis=1), weight)
        inner = torch.tanh(made)
    assert inner.components.is_inference()
    made = F.linear(np.decompose(X, axis=1), W)
    with torch.inference_mode():
        shape = made.components.shape
    assert not made.components.is_inference()
    assert shape == (5, 3, 5, 7)
    made.mul_(2.0)


@pytest.mark.parametrize("chunk_size", [4, 5, 12])
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"groups": torch.arange(12) % 6}])
def test_chunks(options, chunk_size):
    seen = []

    def f(a):
        made = torch.tanh(a @ W.T)
        seen.append(isinstance(stand_in(made), BlockSparse))
        return made.sum(-1)

    made = np.attribute(f, X[0], baseline=0.5, mode="forward", chunk_size=chunk_size, **options)
    whole = f(again(np.decompose(X[0], baseline=0.5, **options)))
    torch.testing.assert_close(made.attribution.flatten(1), whole.components.T)


@pytest.mark.parametrize("partition", ["last axis", "another axis", "unequal groups"])
def test_under_transforms(partition):
    def f(x):
        return F.linear(np.decompose(x, **PARTITIONS[partition]), W).components

    stacked = torch.stack([X, X + 1])
    torch.testing.assert_close(torch.vmap(f)(stacked), torch.stack([f(X), f(X + 1)]))
    torch.testing.assert_close(torch.func.jvp(f, (X,), (stacked[1],))[1], f(X + 1))  # it is linear
    with torch.inference_mode():
        torch.testing.assert_close(f(X).clone(), f(X))


def test_rules_and_checks_see_components():
    d = np.decompose(X, axis=1)
    for rule in ("abs_affine", "scaling", "none"):
        with np.rule(rule):
            check_parts = (torch.tanh(F.linear(d, W)), torch.tanh(F.linear(again(d), W)))
        torch.testing.assert_close(check_parts[0].components, check_parts[1].components)
    with np.check_completeness():
        check(F.layer_norm(torch.exp(d), (12,)), F.layer_norm(torch.exp(again(d)), (12,)))


@pytest.mark.filterwarnings("ignore:.* infinite or not a number:npdec.exceptions.DecompositionWarning")
def test_an_infinite_slope_and_one_out_of_range():
    x = torch.tensor([[0.0, 1.0], [4.0, 0.0], [1e-300, 9.0], [2.0, 3.0]], dtype=F64)
    d = np.decompose(x, axis=0)
    for f in (torch.sqrt, torch.log1p, lambda t: torch.exp(t * 700), lambda t: 1e200 * torch.sin(t * 1e200)):
        torch.testing.assert_close(f(d).components, f(again(d)).components, equal_nan=True)


def test_zeros_are_not_multiplied():
    x, weight = torch.randn(32, 256), torch.randn(256, 256)
    d = np.decompose(x, axis=1)

    def operations(t):
        with FlopCounterMode(display=False) as counter:
            F.linear(t, weight).components
        return counter.get_total_flops()

    plain = 2 * 32 * 256 * 256
    assert operations(again(d)) > 256 * plain
    assert operations(d) < 3 * plain  # of the value, and of all components together


def test_merged_and_ranked():
    for partition in PARTITIONS.values():
        d = F.gelu(np.decompose(X, baseline=0.5, **partition))
        dense = again(np.decompose(X, baseline=0.5, **partition))
        dense = np.DecomposedTensor(d.value, d.residual, F.gelu(dense).components, d.labels)
        for f in (lambda t: t.groupby(lambda label: label.index[0] // 2), lambda t: t.top(3), lambda t: t.top(0)):
            a, b = f(d), f(dense)
            check(torch.exp(a), torch.exp(b))
            torch.testing.assert_close(a.c_sum(), b.c_sum())
            torch.testing.assert_close(np.completeness(a), np.completeness(b), rtol=0, atol=1e-14)
        assert "components" not in vars(d)


def test_windows_save_memory():
    d = F.linear(np.decompose(torch.zeros(1, 512, 8), baseline=1.0, axis=1), torch.ones(64, 8))
    assert isinstance(d.kept, BlockSparse)
    assert d.kept.parts.numel() == d.value.numel()
    assert d.components.numel() == 512 * d.value.numel()


@pytest.mark.long
def test_a_long_vector_in_proportion_to_its_length():
    """A hundred thousand components of a hundred thousand numbers are never there as such."""
    n = fewer(100_000)
    x = np.decompose(np.linspace(0.1, 2.0, n), baseline=0.1)
    y = np.sqrt(x) * 3.0 + np.exp(-x)
    total = (y / 7.0).sum()
    assert is_lazy(y.tensor)
    wanted = (np.sqrt(x.value) * 3.0 + np.exp(-x.value) - np.sqrt(0.1) * 3.0 - np.exp(np.array(-0.1))) / 7.0
    numpy.testing.assert_allclose(total.components.to_numpy(), wanted.to_numpy(), rtol=1e-11, atol=1e-16)
    numpy.testing.assert_allclose(float(total.c_sum()), float(total.value), rtol=1e-12)
    assert float(np.abs(np.completeness(y)).max()) < 1e-14
    assert y.groupby(lambda label: label.index[0] % 3).sum().components.shape == (3,)
    assert y.top(2).labels[2] == "other"
    assert np.attribute(lambda a: (np.sin(a) ** 2).mean(), x.value, mode="forward").attribution.shape == (n,)


VIEWS = {
    "permuted and reshaped": lambda d: d.permute(0, 2, 3, 1).reshape(-1, 3),
    "permuted": lambda d: d.permute(0, 2, 3, 1),
    "one channel": lambda d: d[:, 1],
    "one image, reshaped": lambda d: d.permute(0, 2, 3, 1)[0].reshape(16, 36),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_views_whose_values_lie_otherwise_than_their_components(layout, view):
    plain = np.decompose(IMAGES, axis=2) * 2.0
    value = plain.value.to(memory_format=layout)
    d = np.DecomposedTensor(value, plain.residual.clone(), plain.kept, plain.labels)
    dense = np.DecomposedTensor(value.clone(), plain.residual.clone(), again(plain).components, plain.labels)
    a, b = VIEWS[view](d), VIEWS[view](dense)
    a[0], b[0] = 7.0, 7.0
    check(d, dense)
    check(a, b)
    d.mul_(3.0)
    dense.mul_(3.0)
    check(d, dense)
    check(a, b)


def test_views_of_arrays_stay_windows():
    x = np.decompose(np.ones((4, 6)), axis=0) * 2.0
    turned, flat = x.T, x.reshape(24)
    assert is_lazy(turned.tensor)
    turned[1] = 5.0
    for each in (x, turned, flat):
        assert float(each.components.sum()) == 40.0
        assert float(np.abs(np.completeness(each)).max()) == 0.0


FOLLOWING = {
    "rows": lambda t: t[1:],
    "transposed": lambda t: t.transpose(0, 1),
    "reshaped": lambda t: t.reshape(3, 5, 12, 1),
    "one of the rows": lambda t: t.unbind(0)[1],
    "parts": lambda t: t.split(2)[0],
    "through another": lambda t: t[1:].mT[0],
}


@pytest.mark.parametrize("looked", ["", "d", "seen", "seen d", "d seen"])
@pytest.mark.parametrize("view", FOLLOWING)
def test_views_follow_what_is_written(view, looked):
    """Whether or not the components of either have been made as a tensor before."""
    take = FOLLOWING[view]
    for partition in ("last axis", "another axis", "equal blocks"):
        d = np.decompose(X.clone(), **PARTITIONS[partition])
        parts = torch.stack([take(part) for part in again(d * 1.0).components])
        seen = take(d)
        assert is_lazy(seen)
        held = [{"d": d, "seen": seen}[name].components for name in looked.split()]
        if "d" in looked and "seen" in looked:  # in one memory, as their values are
            assert len({tensor.untyped_storage().data_ptr() for tensor in held}) == 1
        d.mul_(3.0)
        assert torch.equal(seen.value, 3 * take(X))
        assert torch.equal(seen.components, 3 * parts)
        seen.mul_(2.0)
        assert torch.equal(take(d).components, 6 * parts)
        assert torch.equal(d.c_sum(), d.value)
