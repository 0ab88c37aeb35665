"""Scaled dot-product attention against its steps, each by the law: products at midpoints, and softmax by quadrature."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from path_integrals import F64, agree, decomposed, parts, randn, reference, uniform

TRIANGLE = torch.ones(4, 4, dtype=torch.bool).tril()
HOLES = torch.tensor([[1, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]], dtype=torch.bool)
SHAPES = {"q": (2, 2, 4, 3), "k": (2, 2, 4, 3), "v": (2, 2, 4, 5), "mask": (4, 4)}
OPTIONS = {
    "plain": {},
    "causal": {"is_causal": True},
    "holes": {"attn_mask": HOLES},
    "scale": {"scale": 0.7, "is_causal": True},
}


def by_hand(q, k, v, mask, options):
    """The components of attention for (x, r, c) of each argument, step by step."""
    scale = options.get("scale", 1 / math.sqrt(q[0].shape[-1]))
    mid = {name: (t[0] + t[1]) / 2 for name, t in {"q": q, "k": k, "v": v}.items()}
    allowed = TRIANGLE if options.get("is_causal") else options.get("attn_mask", torch.ones(4, 4, dtype=torch.bool))

    def scores(i):
        return (q[i] @ k[i].mT * scale + mask[i]).masked_fill(~allowed, -torch.inf)

    moved = (q[2] @ mid["k"].mT + mid["q"] @ k[2].mT) * scale
    moved = moved + mask[2].reshape(-1, *[1] * (moved.ndim - 3), *mask[2].shape[-2:])
    moved = moved.masked_fill(~allowed, 0)
    safe = [torch.where(allowed, scores(i), -1e3) for i in (0, 1)]
    weights = reference(lambda u: torch.softmax(u, -1), *safe, moved, uniform(40))
    ends = [torch.softmax(scores(i), -1) for i in (0, 1)]
    return weights @ mid["v"] + (ends[0] + ends[1]) / 2 @ v[2]


def drawn(moving, length=1.0):
    """x, r and components of each argument; what does not move is plain, with components of zero."""
    made = {}
    for i, (name, shape) in enumerate(SHAPES.items()):
        x, r = length * randn(*shape, seed=i), length * randn(*shape, seed=i + 9)
        if name == "mask" and "mask" not in moving:
            x = r = torch.zeros(shape, dtype=F64)
        if name not in moving:
            r = x
        made[name] = x, r, parts(x, r, seed=i + 20) if name in moving else torch.zeros(4, *shape, dtype=F64)
    return made


def attention(made, moving, options):
    given = {n: decomposed(*t) if n in moving else t[0] for n, t in made.items()}
    mask = {"attn_mask": given["mask"]} if "mask" in moving else {}
    return F.scaled_dot_product_attention(given["q"], given["k"], given["v"], **mask, **options)


@pytest.mark.parametrize("length", [1.0, 4.0])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("moving", ["q", "k", "v", "q k", "k v", "q k v"])
def test_attention_is_its_steps(moving, options, length):
    moving, options = moving.split(), OPTIONS[options]
    made = drawn(moving, length)
    y = attention(made, moving, options)
    plain = [F.scaled_dot_product_attention(*[made[n][i] for n in "qkv"], **options) for i in (0, 1)]
    assert torch.equal(y.value, plain[0])
    assert torch.equal(y.residual, plain[1])
    agree(y.components, by_hand(*made.values(), options), 1e-12, float(y.value.abs().max()))
    agree(y.c_sum(), y.value, 1e-12, float(y.components.abs().max()))
    single = {n: tuple(t.float() for t in ts) for n, ts in made.items()}
    agree(attention(single, moving, options).components.double(), y.components, 1e-5)


def test_a_decomposed_mask_is_added_to_the_scores():
    moving = ["q", "k", "v", "mask"]
    made = drawn(moving)
    agree(attention(made, moving, {}).components, by_hand(*made.values(), {}), 1e-12)


def eager(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.matmul(torch.softmax(scores, -1), v)


@pytest.mark.parametrize("frozen", ["frozen", "path"])
def test_attention_written_out_gives_the_same(frozen):
    x, r = randn(2, 2, 4, 3), randn(2, 2, 4, 3, seed=3)
    u = np.decompose(x, baseline=r, axis=2)
    with np.rule(attention=frozen):
        one = F.scaled_dot_product_attention(u * 2, u, u + 1, attn_mask=TRIANGLE)
        two = eager(u * 2, u, u + 1, TRIANGLE)
    agree(one.components, two.components, 1e-13)
    agree(one.residual, two.residual, 1e-13)
    if frozen == "frozen":
        weights = torch.softmax(((2 * x) @ x.mT / math.sqrt(3)).masked_fill(~TRIANGLE, -torch.inf), -1)
        agree(one.components, weights @ u.components, 1e-13)
        agree(one.residual, weights @ (r + 1), 1e-13)


def test_heads_may_share_keys_and_values():
    q, k, v = (
        np.decompose(randn(1, h, 4, 3, seed=h), baseline=randn(1, h, 4, 3, seed=h + 5), axis=2) for h in (6, 2, 2)
    )
    one = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    two = F.scaled_dot_product_attention(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1))
    assert torch.equal(one.value, F.scaled_dot_product_attention(q.value, k.value, v.value, enable_gqa=True))
    assert one.labels == two.labels
    agree(one.components, two.components, 1e-13)


def test_a_query_that_looks_at_nothing():
    mask = HOLES.clone()
    mask[1] = False
    x = randn(1, 2, 4, 3)
    y = F.scaled_dot_product_attention(np.decompose(x), x, np.decompose(x * 2), attn_mask=mask)
    assert torch.equal(y.value, F.scaled_dot_product_attention(x, x, x * 2, attn_mask=mask))
    assert not y.components[:, :, :, 1].any()
    agree(y.c_sum(), y.value, 1e-13)


@pytest.mark.parametrize("options", OPTIONS)
def test_forward_is_reverse(options):
    x, r = randn(1, 2, 4, 3), randn(1, 2, 4, 3, seed=3)
    weights = randn(1, 2, 4, 3, seed=4)

    def f(u):
        return (F.scaled_dot_product_attention(u, u * 2, u**2, **OPTIONS[options]) * weights).sum()

    forward, reverse = f(np.decompose(x, baseline=r)), np.attribute(f, x, baseline=r)
    agree(forward.components.reshape(x.shape), reverse.attribution, 1e-12)


@pytest.mark.parametrize("chosen", ["q", "k", "v", "mask", "qk", "qkv", "all"])
def test_forward_is_reverse_for_each_argument(chosen):
    shapes = {"q": (2, 4, 4, 3), "k": (1, 2, 4, 3), "v": (2, 2, 4, 5), "mask": (4, 4)}
    fixed = {name: randn(*shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}
    names = [name for name in shapes if chosen == "all" or name in chosen]
    weights = randn(2, 4, 4, 5, seed=4)

    def f(*inputs):
        q, k, v, mask = {**fixed, **dict(zip(names, inputs, strict=True))}.values()
        k = torch.broadcast_to(k, (2, 2, 4, 3))
        return (F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True) * weights).sum()

    inputs = tuple(fixed[name] for name in names)
    bases = tuple(randn(*shapes[name], seed=9) for name in names)
    forward = f(*np.decompose(inputs, baseline=bases))
    found = np.attribute(f, *inputs, baseline=bases if len(names) > 1 else bases[0]).attribution
    found = torch.cat([part.reshape(-1) for part in (found if len(names) > 1 else (found,))])
    agree(forward.components, found, 1e-12)


def test_components_in_blocks_are_the_same(monkeypatch):
    u = np.decompose(randn(1, 2, 4, 3))
    whole = F.scaled_dot_product_attention(u, u, u)
    monkeypatch.setattr("npdec._rules.attention._BLOCK", 100)
    assert torch.equal(F.scaled_dot_product_attention(u, u, u).components, whole.components)


def test_gradients_of_components():
    def f(x, r):
        u = decomposed(x, r, torch.stack([x * 0.3, x * 0.7 - r]))
        return F.scaled_dot_product_attention(u, u * 2, u, is_causal=True).components

    x, r = randn(1, 2, 4, 3).requires_grad_(), randn(1, 2, 4, 3, seed=3).requires_grad_()
    assert torch.autograd.gradcheck(f, (x, r), fast_mode=True)


def test_dropout_draws_one_mask():
    torch.manual_seed(0)
    x = randn(1, 2, 8, 3)
    y = F.scaled_dot_product_attention(np.decompose(x, axis=2), x, np.decompose(x, axis=2), dropout_p=0.5)
    agree(y.c_sum(), y.value, 1e-13)
