"""Normalisation layers and norms against quadrature of their derivatives, written out here."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from path_integrals import agree, decomposed, parts, randn, reference

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
