"""Normalisation layers and norms against quadrature of their derivatives, written out here."""

from __future__ import annotations

import pydec
import pytest
import torch
import torch.nn.functional as F

import npdec as np
from path_integrals import F64, agree, decomposed, graded, parts, randn, reference, uniform

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


@pytest.mark.parametrize("eps", [1e-5, 1e-12, 0.0])
@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-6, 1e-9])
def test_a_path_through_hardly_any_variance(distance, eps):
    """The slopes are as large as 1 / distance; the direction across the path has the digits that r and x leave it."""
    r = randn(4, 6, seed=1)
    x = 3 - 0.7 * r + distance * randn(4, 6, seed=2)
    components = parts(x, r)
    made = F.layer_norm(decomposed(x, r, components), (6,), eps=eps)
    agree(made.c_sum(), made.value, 1e-14, float(made.components.abs().max()))
    wanted = reference(lambda u: F.layer_norm(u, (6,), eps=eps), x, r, components, graded(1 / 1.7))
    agree(made.components, wanted, 1e-14 + 1e-16 / max(distance, eps**0.5))


def test_a_path_through_no_variance():
    x = torch.tensor([1.0, -1.0], dtype=F64)
    made = F.rms_norm(decomposed(x, -x, torch.stack([1.5 * x, 0.5 * x])), (2,), None, 1e-8)
    agree(made.c_sum(), made.value, 1e-14)
    agree(made.components, torch.stack([1.5 * x, 0.5 * x]), 1e-7)
    with pytest.warns(np.DecompositionWarning, match="layer_norm: the path .* passes through zero variance"):
        F.layer_norm(decomposed(x, -x, (2 * x)[None]), (2,), eps=0.0)


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-6, 1e-9, 1e-13, 0.0])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_a_short_path_keeps_its_digits(name, distance):
    def f(u):
        return getattr(F, name)(u, (6,))

    r = 100 + 5 * randn(4, 6, seed=1)
    x = r + distance * randn(4, 6, seed=2)
    for components in (parts(x, r), torch.stack([x - r, 2 * (x - r)])):
        made = f(decomposed(x, r, components)).components
        agree(made, reference(f, x, r, components, [0.0, 1.0]), 2e-14)
    in_single = f(decomposed(x.float(), r.float(), parts(x.float(), r.float()))).components
    agree(in_single.double(), f(decomposed(x, r, parts(x.float(), r.float()).double())).components, 1e-4)


def test_a_row_without_a_path():
    """The derivative itself, for what cancels; and its gradient."""
    x = randn(2, 5)
    c = torch.stack([W, -W]).expand(2, 2, 5).movedim(0, 1).contiguous().movedim(0, 1)
    made = F.layer_norm(decomposed(x, x.clone(), c), (5,)).components
    agree(made, torch.stack([torch.func.jvp(lambda u: F.layer_norm(u, (5,)), (x,), (part,))[1] for part in c]), 1e-14)
    assert torch.autograd.gradcheck(
        lambda u: F.layer_norm(decomposed(u, u * 1, c), (5,)).components, (x.requires_grad_(),)
    )


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("moving", ["w", "b", "x w", "x b", "w b", "x w b"])
def test_decomposed_weights(kind, moving):
    """A product with the normalised numbers, at the midpoints of both, and a sum."""
    x, r = randn(3, 5), randn(3, 5, seed=7)
    w, b = (W, W + randn(5, seed=8)), (B, B + randn(5, seed=9))
    cx, cw, cb = parts(x, r), parts(*w, seed=1), parts(*b, seed=2)
    given = [
        decomposed(*t, c) if n in moving else t[0] for n, t, c in zip("xwb", ((x, r), w, b), (cx, cw, cb), strict=True)
    ]
    bias = given[2:] if kind == "layer_norm" else []
    if kind == "rms_norm" and moving == "b":
        return
    if "x" not in moving:
        r, cx = x, torch.zeros_like(cx)
    w, cw = (w, cw) if "w" in moving else ((W, W), torch.zeros_like(cw))
    b, cb = (b, cb) if "b" in moving else ((B, B), torch.zeros_like(cb))
    f = getattr(F, kind)
    made = f(given[0], (5,), given[1], *bias, eps=0.01)
    ends = [f(end, (5,), eps=0.01) for end in (x, r)]
    wanted = reference(lambda u: f(u, (5,), eps=0.01), x, r, cx) * ((w[0] + w[1]) / 2)
    wanted = wanted + cw[:, None] * (ends[0] + ends[1]) / 2 + (cb[:, None] if bias else 0)
    agree(made.components, wanted, 1e-12)
    assert torch.equal(made.value, f(x, (5,), w[0], *(b[:1] if bias else []), eps=0.01))
    agree(made.residual, f(r, (5,), w[1], *(b[1:] if bias else []), eps=0.01), 1e-15)


def test_running_statistics_see_the_value_alone():
    layers = [torch.nn.BatchNorm1d(4).double(), torch.nn.InstanceNorm1d(4, track_running_stats=True).double()]
    for layer in layers:
        x, other = randn(3, 4, 5), type(layer)(4, track_running_stats=True).double()
        made, plain = layer(np.decompose(x)), other(x)
        assert torch.equal(made.value, plain)
        assert torch.equal(layer.running_mean, other.running_mean)
        assert torch.equal(layer.running_var, other.running_var)


def test_nothing_is_normalised():
    made = F.layer_norm(np.decompose(torch.ones(0, 5)), (5,))
    assert made.components.shape == (0, 0, 5)
    made = F.layer_norm(decomposed(torch.ones(0, 5), torch.ones(0, 5), torch.ones(3, 0, 5)), (5,))
    assert made.components.shape == (3, 0, 5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    x, r = randn(3, 8).to(dtype), randn(3, 8, seed=7).to(dtype)
    made = F.layer_norm(decomposed(x, r, (x - r)[None]), (8,))
    assert made.components.dtype == dtype
    agree(made.components[0].double(), (made.value - made.residual).double(), 8 * torch.finfo(dtype).eps)


# -- frozen statistics -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_frozen_layer_norm_is_pydecs(weighted):
    x, c, r = randn(3, 5), randn(2, 3, 5), randn(3, 5, seed=7)
    x = r + c.sum(0)
    w, b = (W, B) if weighted else (None, None)
    theirs = pydec.nn.functional.layer_norm(pydec.as_composition(c, r), (5,), w, b)
    with np.rule(normalisation="frozen"):
        made = F.layer_norm(decomposed(x, r, c), (5,), w, b)
    agree(made.components, theirs.components, 1e-13)
    agree(made.residual, theirs.residual, 1e-13)
    assert torch.equal(made.value, F.layer_norm(x, (5,), w, b))


@pytest.mark.parametrize("name", LAYERS)
def test_frozen_layers_are_complete_and_linear(name):
    f, shape = LAYERS[name]
    x, r = randn(*shape), randn(*shape, seed=7)
    components = parts(x, r)
    with np.rule(normalisation="frozen"):
        made = f(decomposed(x, r, components))
        agree(made.c_sum(), made.value, 1e-13)
        weights = randn(*shape, seed=8)
        reverse = np.attribute(lambda u: (f(u) * weights).sum(), x, baseline=r)
        forward = (f(np.decompose(x, baseline=r)) * weights).sum()
        with np.rule(normalisation="path"):
            law = f(decomposed(x, r, components))
    agree(forward.components.reshape(shape), reverse.attribution, 1e-13)
    agree(law.components, f(decomposed(x, r, components)).components, 0.0)


def test_frozen_layers_with_decomposed_weights_are_complete():
    x, w, b = np.decompose((randn(3, 5), W, B), baseline=(randn(3, 5, seed=7), 1.0, 0.5))
    with np.rule(normalisation="frozen"):
        made = F.layer_norm(x, (5,), w, b)
    agree(made.c_sum(), made.value, 1e-13)


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


def test_lengths_of_paths_from_the_origin():
    """From zero a length is shared as the components are along the vector; across it they cancel."""
    x, zero = randn(3, 4), torch.zeros(3, 4, dtype=F64)
    unit = x / x.norm(dim=1, keepdim=True)
    c = parts(x, zero)
    made = torch.linalg.vector_norm(decomposed(x, zero, c), dim=1)
    agree(made.components, (c * unit).sum(-1), 1e-14)
    still = torch.linalg.vector_norm(decomposed(zero, zero, torch.stack([x, -x])), dim=1)
    assert not still.components.any()
    assert torch.autograd.gradcheck(
        lambda u: torch.linalg.vector_norm(decomposed(u, zero, u[None]), dim=1).components, (x.requires_grad_(),)
    )


def test_unit_vectors_of_paths_through_the_origin():
    x = randn(3, 4)
    for baseline in (0.0, -0.5 * x):
        made = F.normalize(np.decompose(x, baseline=baseline, axis=1))
        agree(made.c_sum(), made.value, 1e-13, float(made.components.abs().max()))
        assert float(made.components.abs().max()) < 100  # across the path they grow with log(1 / eps) alone
    tiny = 1e-3 * x
    made = F.normalize(np.decompose(tiny, baseline=2 * tiny, axis=1), eps=1.0)
    agree(
        made.components, made.value.new_zeros(4, 3, 4) + np.decompose(tiny, baseline=2 * tiny, axis=1).components, 1e-14
    )
    still = F.normalize(decomposed(x, x.clone(), torch.stack([x, -x])))
    agree(still.components, torch.zeros(2, 3, 4, dtype=F64), 1e-15, 1.0)


def test_cosine_similarity():
    x, y = np.decompose((randn(3, 4), randn(3, 4, seed=1)), baseline=(randn(3, 4, seed=2), 0.5))
    made = F.cosine_similarity(x, y, dim=0)
    assert torch.equal(made.value, F.cosine_similarity(x.value, y.value, dim=0))
    agree(made.c_sum(), made.value, 1e-14)


def test_sums_and_maxima_of_magnitudes():
    """Against a fine grid of the path."""
    x, r = randn(6), randn(6, seed=7)
    t = (torch.arange(100_000, dtype=F64) + 0.5) / 100_000
    path = r + t[:, None] * (x - r)
    c = parts(x, r)
    made = torch.linalg.vector_norm(decomposed(x, r, c), 1)
    agree(made.components, (c * torch.sign(path).mean(0)).sum(1), 1e-4)
    leader = path.abs().argmax(1)
    signs = torch.zeros_like(path).scatter(1, leader[:, None], torch.sign(path.gather(1, leader[:, None])))
    made = torch.linalg.vector_norm(decomposed(x, r, c), float("inf"))
    agree(made.components, (c * signs.mean(0)).sum(1), 1e-4)
    agree(made.c_sum(), made.value, 1e-14)
    for order in (1, -1, float("inf"), -float("inf"), 2):
        whole = torch.linalg.matrix_norm(np.decompose(randn(3, 4), baseline=randn(3, 4, seed=2)), order)
        assert torch.equal(whole.value, torch.linalg.matrix_norm(randn(3, 4), order))
        agree(whole.c_sum(), whole.value, 1e-11)


def test_the_length_of_complex_numbers():
    x, r = torch.complex(randn(4), randn(4, seed=1)), torch.complex(randn(4, seed=2), randn(4, seed=3))
    made = torch.linalg.vector_norm(np.decompose(x, baseline=r))
    both = torch.linalg.vector_norm(np.decompose(torch.view_as_real(x), baseline=torch.view_as_real(r), axis=0))
    agree(made.components, both.components, 1e-14)


MAPPED = {
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "logsumexp": lambda x: torch.logsumexp(x, -1),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
    "layer_norm": lambda x: F.layer_norm(x, (4,), W[:4]),
    "rms_norm": lambda x: F.rms_norm(x, (4,)),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x, 2, eps=0.1),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "std": lambda x: x.std(-1),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x.flip(0)),
}


@pytest.mark.parametrize("name", MAPPED)
def test_code_that_decomposes_is_mapped(name):
    """Within torch.vmap no branch looks at numbers; the numbers are the same."""

    def made(u):
        return MAPPED[name](np.decompose(u, baseline=0.3)).components

    x = randn(5, 3, 4)
    agree(torch.vmap(made)(x), torch.stack([made(u) for u in x]), 1e-12, 1.0)
    agree(torch.func.jacrev(made)(x[0]), torch.autograd.functional.jacobian(made, x[0]), 1e-11)
