"""Normalisation layers and norms against quadrature of their derivatives, written out here."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from path_integrals import F64, agree, decomposed, parts, randn, reference, uniform

W, B, W3, B3 = randn(5, seed=1), randn(5, seed=2), randn(3, seed=3), randn(3, seed=4)
MEAN, VARIANCE = randn(4, seed=5), randn(4, seed=6).exp()
LAYERS = {
    "layer_norm": (lambda x: F.layer_norm(x, (5,)), (3, 5)),
    "layer_norm of weights": (lambda x: F.layer_norm(x, [5], W, B, 1e-3), (2, 3, 5)),
    "layer_norm of keywords": (lambda x: F.layer_norm(input=x, normalized_shape=(5,), bias=B), (3, 5)),
    "layer_norm of two axes": (lambda x: F.layer_norm(x, (2, 5), W.expand(2, 5) * 2), (3, 2, 5)),
    "layer_norm of all": (lambda x: torch.layer_norm(x, (5,)), (5,)),
    "LayerNorm": (torch.nn.LayerNorm(5).double(), (2, 5)),
    "rms_norm": (lambda x: F.rms_norm(x, (5,)), (3, 5)),
    "rms_norm of weights": (lambda x: F.rms_norm(x, (5,), W, 1e-2), (3, 5)),
    "RMSNorm": (torch.nn.RMSNorm(5).double(), (2, 5)),
    "group_norm": (lambda x: F.group_norm(x, 2), (3, 4, 2)),
    "group_norm of weights": (lambda x: F.group_norm(x, 2, MEAN, VARIANCE), (3, 4, 2, 3)),
    "group_norm without space": (lambda x: F.group_norm(x, 2, MEAN, eps=0.1), (3, 4)),
    "instance_norm": (F.instance_norm, (2, 3, 6)),
    "instance_norm of weights": (lambda x: F.instance_norm(x, weight=W3, bias=B3, eps=0.1), (2, 3, 2, 2)),
    "instance_norm of statistics": (
        lambda x: F.instance_norm(x, MEAN, VARIANCE, use_input_stats=False), (2, 4, 3)
    ),
    "batch_norm": (lambda x: F.batch_norm(x, MEAN, VARIANCE, W[:4], B[:4]), (3, 4)),
    "batch_norm of images": (lambda x: F.batch_norm(x, MEAN, VARIANCE, eps=0.1), (3, 4, 2, 2)),
    "batch_norm in training": (lambda x: F.batch_norm(x, None, None, W[:4], B[:4], True), (6, 4)),
    "batch_norm of images in training": (lambda x: F.batch_norm(x, None, None, training=True), (2, 4, 2, 2)),
    "BatchNorm2d": (torch.nn.BatchNorm2d(3).double().eval(), (2, 3, 2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_the_path_integral_of_its_derivative(name):
    f, shape = LAYERS[name]
    x, r = randn(*shape), randn(*shape, seed=7)
    components = parts(x, r)
    with torch.no_grad():
        made = f(decomposed(x, r, components))
        assert torch.equal(made.value, f(x))
        assert torch.equal(made.residual, f(r))
    agree(made.components, reference(f, x, r, components), 1e-12)
    single = f.float() if isinstance(f, torch.nn.Module) else None
    if single is None:
        agree(made.c_sum(), made.value, 1e-13)
        return
    in_single = single(decomposed(x.float(), r.float(), components.float()))
    agree(in_single.components.double(), made.components, 2e-6)
    f.double()


@pytest.mark.parametrize("name", LAYERS)
def test_forward_is_reverse(name):
    f, shape = LAYERS[name]
    x, r = randn(*shape), randn(*shape, seed=7)
    weights = randn(*shape, seed=8)
    forward = (f(np.decompose(x, baseline=r)) * weights).sum()
    reverse = np.attribute(lambda u: (f(u) * weights).sum(), x, baseline=r)
    agree(forward.components.reshape(shape), reverse.attribution, 1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_components(name):
    f, shape = LAYERS[name]

    def made(x, r):
        fixed = randn(2, *x.shape, seed=9)
        return f(decomposed(x, r, torch.cat([fixed, (x - r - fixed.sum(0))[None]]))).components

    for distance in (1.0, 0.05):
        x = randn(*shape)
        r = x + distance * randn(*shape, seed=7)
        assert torch.autograd.gradcheck(made, (x.requires_grad_(), r.detach().requires_grad_()), fast_mode=True)


# -- norms -------------------------------------------------------------------------------------------------------------

NORMS = {
    "vector_norm": (torch.linalg.vector_norm, (5,)),
    "vector_norm along": (lambda x: torch.linalg.vector_norm(x, dim=1, keepdim=True), (3, 4, 2)),
    "vector_norm of two axes": (lambda x: torch.linalg.vector_norm(x, 2, (0, -1)), (3, 4, 2)),
    "vector_norm 1": (lambda x: torch.linalg.vector_norm(x, 1, -1), (3, 4)),
    "vector_norm 3": (lambda x: torch.linalg.vector_norm(x + 5, 3.0, -1), (3, 4)),
    "vector_norm of a number": (lambda x: torch.linalg.vector_norm(x + 5), ()),
    "torch.norm": (torch.norm, (3, 4)),
    "norm method": (lambda x: x.norm(dim=0), (3, 4)),
    "linalg.norm": (lambda x: torch.linalg.norm(x, dim=(0, 1)), (3, 4)),
    "matrix_norm": (torch.linalg.matrix_norm, (2, 3, 4)),
    "np.linalg.norm": (lambda x: np.linalg.norm(x, axis=1).tensor, (3, 4)),
    "var": (torch.var, (3, 4)),
    "var along": (lambda x: x.var(1, keepdim=True), (3, 4)),
    "var with a correction": (lambda x: torch.var(x, dim=(0, 2), correction=0), (3, 4, 2)),
    "var that is biased": (lambda x: torch.var(x, False), (3, 4)),
    "std": (lambda x: x.std(-1), (3, 4)),
    "std that is biased": (lambda x: torch.std(x, 0, False, True), (3, 4)),
    "var_mean": (lambda x: torch.cat(torch.var_mean(x, 1)), (3, 4)),
    "std_mean": (lambda x: torch.cat(torch.std_mean(x, dim=0, correction=0.5)), (3, 4)),
    "np.std": (lambda x: np.std(x, axis=1).tensor, (3, 4)),
    "normalize": (F.normalize, (3, 4)),
    "normalize along": (lambda x: F.normalize(x, dim=0, eps=0.1), (3, 4)),
    "normalize of 1": (lambda x: F.normalize(x + 5, 1.0, -1), (3, 4)),
}
OTHERS = {"vector_norm 1", "normalize of 1"}  # has kinks; is made of several functions, each of which has the law


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_is_the_path_integral_of_its_derivative(name):
    f, shape = NORMS[name]
    x, r = randn(*shape), randn(*shape, seed=7)
    components = parts(x, r)
    made = f(decomposed(x, r, components))
    plain = (lambda u: f(np.array(u))) if name.startswith("np.") else f
    assert torch.equal(made.value, torch.as_tensor(plain(x)))
    torch.testing.assert_close(made.residual, torch.as_tensor(plain(r)), rtol=1e-15, atol=0)
    agree(made.c_sum(), made.value, 1e-13)
    agree(f(decomposed(x.float(), r.float(), components.float())).components.double(), made.components, 3e-6)
    if name not in OTHERS and not name.startswith("np."):
        agree(made.components, reference(f, x, r, components, uniform(40)), 1e-11)


@pytest.mark.parametrize("name", NORMS)
def test_norms_forward_and_reverse(name):
    f, shape = NORMS[name]
    x, r = randn(*shape), randn(*shape, seed=7)
    weights = 1 + torch.arange(f(x).numel(), dtype=F64).reshape(f(x).shape)
    forward = (f(np.decompose(x, baseline=r)) * weights).sum()
    reverse = np.attribute(lambda u: (f(u) * weights).sum(), x, baseline=r)
    agree(forward.components.reshape(shape), reverse.attribution, 1e-11)


@pytest.mark.parametrize("name", [n for n in NORMS if not n.startswith("np.") and "1" not in n and "nuc" not in n])
def test_gradients_of_components_of_norms(name):
    f, shape = NORMS[name]

    def made(x, r):
        return f(decomposed(x, r, torch.stack([x * 0.3, x * 0.7 - r]))).components

    x, r = randn(*shape).requires_grad_(), randn(*shape, seed=7).requires_grad_()
    assert torch.autograd.gradcheck(made, (x, r), fast_mode=True)
