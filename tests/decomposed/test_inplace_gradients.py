"""Tensors that are written in place with weights that require gradients: values, contributions and gradients are those
of the program that writes nothing."""

import pytest
import torch
import torch.nn.functional as F

import npdec as np


def made():
    v = 0.2 + torch.arange(12, dtype=torch.float64).reshape(3, 4) * 7 % 12 / 15
    return np.decompose(v, baseline=v - 0.15 + torch.arange(4) / 100, groups=torch.arange(4).expand(3, 4))


def weights():
    w = 0.3 + torch.arange(12, dtype=torch.float64).reshape(3, 4) * 5 % 12 / 11
    return w.requires_grad_(), (1.7 - w.detach()).requires_grad_()


# In place, and what it stands for: of a decomposed tensor and two weights.
METHODS = {
    "mul_": (lambda x, w, u: x.mul_(w), lambda x, w, u: x * w),
    "add_": (lambda x, w, u: x.add_(w, alpha=2), lambda x, w, u: x + 2 * w),
    "sub_": (lambda x, w, u: x.sub_(w), lambda x, w, u: x - w),
    "div_": (lambda x, w, u: x.div_(w), lambda x, w, u: x / w),
    "pow_": (lambda x, w, u: x.pow_(w), lambda x, w, u: x**w),
    "addcmul_": (lambda x, w, u: x.addcmul_(w, u, value=0.5), lambda x, w, u: torch.addcmul(x, w, u, value=0.5)),
    "addcdiv_": (lambda x, w, u: x.addcdiv_(w, u), torch.addcdiv),
    "lerp_": (lambda x, w, u: x.lerp_(w, u), torch.lerp),
    "clamp_": (lambda x, w, u: x.clamp_(min=w), lambda x, w, u: x.clamp(min=w)),
    "hypot_": (lambda x, w, u: x.hypot_(w), lambda x, w, u: torch.hypot(x, w)),
    "atan2_": (lambda x, w, u: x.atan2_(w), lambda x, w, u: torch.atan2(x, w)),
    "addmm_": (lambda x, w, u: x.addmm_(w[:, :3], u), lambda x, w, u: torch.addmm(x, w[:, :3], u)),
    "twice": (lambda x, w, u: x.mul_(w).mul_(u).mul_(w), lambda x, w, u: x * w * u * w),
    "masked_fill_": (
        lambda x, w, u: x.mul_(w).masked_fill_(torch.eye(3, 4).bool(), 0.5),
        lambda x, w, u: (x * w).masked_fill(torch.eye(3, 4).bool(), 0.5),
    ),
    "index_add_": (
        lambda x, w, u: x.mul_(w).index_add_(0, torch.tensor([0, 1]), u[:2]),
        lambda x, w, u: (x * w).index_add(0, torch.tensor([0, 1]), u[:2]),
    ),
    "*=": (lambda x, w, u: x.__imul__(w).__itruediv__(u), lambda x, w, u: x * w / u),
    "of a view": (
        lambda x, w, u: (x[0].mul_(w[0]), x.mul_(u))[1],
        lambda x, w, u: torch.cat([x[:1] * w[:1], x[1:]]) * u,
    ),
    "of a result": (lambda x, w, u: (x * w).mul_(u), lambda x, w, u: x * w * u),
    "of a layer": (
        lambda x, w, u: F.layer_norm(x.mul_(w), (4,)).mul_(u),
        lambda x, w, u: F.layer_norm(x * w, (4,)) * u,
    ),
    "relu, flagged": (lambda x, w, u: F.relu(x.sub_(w), inplace=True), lambda x, w, u: F.relu(x - w)),
    "elu, flagged": (lambda x, w, u: F.elu(x.sub_(w), inplace=True), lambda x, w, u: F.elu(x - w)),
    "silu, flagged": (lambda x, w, u: F.silu(x.sub_(w), inplace=True), lambda x, w, u: F.silu(x - w)),
}
ALONE = "relu_ exp_ log_ sqrt_ rsqrt_ reciprocal_ square_ neg_ abs_ sin_ cos_ tanh_ sigmoid_ erf_ expm1_ floor_ sign_"
METHODS |= {
    name: (
        lambda x, w, u, name=name: getattr(x.mul_(w), name)(),
        lambda x, w, u, name=name: getattr(x * w, name[:-1])(),
    )
    for name in ALONE.split()
}


def told(program, *given):
    """The value, the components, and the gradients of the value, the residual and the components."""
    y = program(*given)
    parts = [getattr(y, name) for name in ("value", "residual", "components")]
    parts = [getattr(part, "tensor", part) for part in parts]
    weighted = [(part * torch.arange(1, 1 + part.numel()).reshape(part.shape)).sum() for part in parts]
    tensors = [x.tensor if isinstance(x, np.ndarray) else x for x in given[1:]]
    grads = [
        torch.autograd.grad(total, tensors, retain_graph=True, allow_unused=True, materialize_grads=True)
        for total in weighted
        if total.requires_grad
    ]
    return parts, [grad for pair in grads for grad in pair]


def check(found, wanted):
    assert torch.equal(found[0][0], wanted[0][0])
    for mine, its in zip((*found[0], *found[1]), (*wanted[0], *wanted[1]), strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_tensors(name):
    in_place, apart = METHODS[name]
    check(told(in_place, made(), *weights()), told(apart, made(), *weights()))


def of_row(x, w, u):
    row = x[1]
    row *= w[1]
    return x * u


def written(write):
    def program(x, w, u):
        write(x, w, u)
        return x

    return program


# The same of arrays.
ARRAYS = {
    "*=": (lambda x, w, u: x.__imul__(w), lambda x, w, u: x * w),
    "/=": (lambda x, w, u: x.__itruediv__(w), lambda x, w, u: x / w),
    "**=": (lambda x, w, u: x.__ipow__(w), lambda x, w, u: x**w),
    "out=": (lambda x, w, u: np.multiply(x, w, out=x), lambda x, w, u: x * w),
    "of a part": (
        written(lambda x, w, u: x.__setitem__(0, x[0].__imul__(w[0]))),
        lambda x, w, u: np.concatenate([x[:1] * w[:1], x[1:]]),
    ),
    "of a row": (of_row, lambda x, w, u: np.concatenate([x[:1], x[1:2] * w[1:2], x[2:]]) * u),
}


@pytest.mark.parametrize("decomposed", [True, False])
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name, decomposed):
    in_place, apart = ARRAYS[name]
    found = []
    for program in (in_place, apart):
        x = made() if decomposed else made().value
        if decomposed:
            found.append(told(program, np.asarray(x), *map(np.asarray, weights())))
            continue
        given = weights()
        value = program(np.asarray(x), *map(np.asarray, given)).tensor
        total = (value * torch.arange(1.0, 13).reshape(3, 4)).sum()
        grads = torch.autograd.grad(total, given, allow_unused=True, materialize_grads=True)
        found.append(([value], grads))
    check(*found)
