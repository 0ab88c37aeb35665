"""softmax, its logarithm, logsumexp and attention against quadrature of their derivatives, written out here."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._rules import softmax
from path_integrals import F64, agree, decomposed, parts, randn, reference, uniform

MASK = torch.tensor([[0.0, 0, -torch.inf, 0, 0], [0.0, 0, 0, 0, -torch.inf], [0.0, -torch.inf, -torch.inf, 0, 0]])
FUNCTIONS = {
    "torch.softmax": (lambda x: torch.softmax(x, -1), (3, 5)),
    "softmax of the first axis": (lambda x: torch.softmax(x, 0), (4, 3)),
    "softmax of a middle axis": (lambda x: x.softmax(dim=1), (2, 4, 3)),
    "F.softmax": (lambda x: F.softmax(x, dim=1), (2, 4)),
    "special.softmax": (lambda x: torch.special.softmax(x, 0), (4,)),
    "softmax of two": (lambda x: torch.softmax(x, 0), (2,)),
    "softmax of a number": (lambda x: torch.softmax(x, 0), ()),
    "softmin": (lambda x: F.softmin(x, 1), (2, 4)),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), (3, 5)),
    "F.log_softmax of the first axis": (lambda x: F.log_softmax(input=x, dim=0), (4, 3)),
    "Tensor.log_softmax": (lambda x: x.log_softmax(0), (4,)),
    "logsumexp": (lambda x: torch.logsumexp(x, -1), (3, 5)),
    "logsumexp of two axes": (lambda x: torch.logsumexp(x, (0, 2), keepdim=True), (2, 3, 4)),
    "Tensor.logsumexp": (lambda x: x.logsumexp(dim=[0]), (5, 2)),
    "Softmax": (torch.nn.Softmax(dim=-1), (3, 4)),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 2])), (2, 4)),
}


@pytest.mark.parametrize("length", [1.0, 6.0, 30.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_the_path_integral_of_its_derivative(name, length):
    f, shape = FUNCTIONS[name]
    x, r = length * randn(*shape), length * randn(*shape, seed=7)
    components = parts(x, r)
    made = f(decomposed(x, r, components))
    assert torch.equal(made.value, f(x))
    assert torch.equal(made.residual, f(r))
    agree(made.components, reference(f, x, r, components, uniform(round(3 + 2 * length))), 1e-12, 1.0)
    agree(made.c_sum(), made.value, 1e-12)
    single = f(decomposed(x.float(), r.float(), components.float()))
    assert single.components.dtype == torch.float32
    agree(single.components.double(), made.components, 5e-5, 1.0)


@pytest.mark.parametrize("length", [1.0, 6.0, 30.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_is_reverse(name, length):
    f, shape = FUNCTIONS[name]
    x, r = length * randn(*shape), length * randn(*shape, seed=7)
    weights = randn(*f(x).shape, seed=8) if f(x).ndim else 1.0
    forward = (f(np.decompose(x, baseline=r)) * weights).sum()
    reverse = np.attribute(lambda u: (f(u) * weights).sum(), x, baseline=r)
    agree(forward.components.reshape(shape), reverse.attribution, 1e-12)


@pytest.mark.parametrize("length", [1.0, 6.0, 30.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_components(name, length):
    f, shape = FUNCTIONS[name]

    def made(x, r):
        fixed = randn(2, *x.shape, seed=9)
        return f(decomposed(x, r, torch.cat([fixed, (x - r - fixed.sum(0))[None]]))).components

    x, r = length * randn(*shape), length * randn(*shape, seed=7)
    assert torch.autograd.gradcheck(made, (x.requires_grad_(), r.requires_grad_()), fast_mode=True)


@pytest.mark.parametrize("length", [1.0, 10.0, 1e3])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_what_is_the_same_along_a_row_moves_nothing(name, length):
    """softmax and log_softmax do not know a shift: its contributions are exactly zero; logsumexp passes it on."""
    x, r = length * randn(4, 6), length * randn(4, 6, seed=1)
    shift = 1e6 * randn(4, 1, seed=2).expand(4, 6)
    u = decomposed(x, r, torch.stack([shift, x - r - shift]))
    made = getattr(torch, name)(u, -1).components[0]
    assert torch.equal(made, shift[:, 0] if name == "logsumexp" else torch.zeros(4, 6, dtype=F64))


def test_shifted_rows_have_the_same_components():
    x, r, far = randn(3, 5), randn(3, 5, seed=1), 2.0**40
    components = parts(x, r)
    here = torch.softmax(decomposed(x, r, components), -1).components
    x, r = (t.float().double() for t in (x, r))
    there = torch.softmax(decomposed(x + far, r - far, components), -1).components
    agree(there, here, 1e-3)  # 2 ** 40 leaves 12 binary digits behind the point
    components = parts(x.float(), r.float())
    near = torch.softmax(decomposed(x.float() + 1024, r.float() + 1024, components), -1)
    exact = torch.softmax(decomposed(near.value * 0 + x.float(), r.float(), components), -1)
    agree(near.components, exact.components, 3e-4)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("length", [1.0, 20.0])
def test_masked_entries(name, length):
    x, r = length * randn(3, 5) + MASK, length * randn(3, 5, seed=1) + MASK
    free = randn(3, 3, 5, seed=5)
    rest = torch.where(MASK == 0, x - r - free.sum(0), -free.sum(0))
    u = decomposed(x, r, torch.cat([free, rest[None]]))
    made = getattr(torch, name)(u, -1)
    left = MASK == 0
    small = [torch.where(left, t, -3e3) for t in (x, r)]
    wanted = reference(lambda t: getattr(torch, name)(t, -1), *small, u.components, uniform(40))
    agree(made.components[:, left], wanted[:, left], 1e-12, 1.0)
    agree(made.c_sum()[left], made.value[left], 1e-12, 1.0)
    if name == "softmax":
        assert not made.components[:, ~left].any()
        assert not made.value[~left].any()
    low = torch.finfo(torch.float32).min  # how transformers mask
    single = decomposed(*[torch.where(left, t, low).float() for t in (x, r)], u.components.float())
    agree(getattr(torch, name)(single, -1).components[:, left].double(), made.components[:, left], 1e-5 * length, 1.0)


def test_a_mask_that_changes_is_warned_of():
    x = randn(5)
    with pytest.warns(np.DecompositionWarning, match="softmax: the path .* no finite length"):
        torch.softmax(np.decompose(x, baseline=torch.where(x > 0, x, -torch.inf)), -1)


@pytest.mark.parametrize("distance", [1e-3, 1e-8, 1e-14, 0.0])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_a_short_path_keeps_its_digits(name, distance):
    def f(t):
        return getattr(torch, name)(t, -1)

    r = 5 * randn(4, 6, seed=1)
    x = r + distance * randn(4, 6, seed=2)
    for components in (parts(x, r), torch.stack([x - r, 2 * (x - r)])):
        agree(f(decomposed(x, r, components)).components, reference(f, x, r, components, [0.0, 1.0]), 1e-14)


def test_saturated_weights_keep_their_digits():
    x, r = torch.tensor([40.0, 0.0, 1.0], dtype=F64), torch.tensor([38.0, 0.0, 1.0], dtype=F64)
    made = torch.softmax(decomposed(x, r, torch.eye(3, dtype=F64)), -1).components
    top = (torch.exp(-r[0]) - torch.exp(-x[0])) / 2  # ∫ e^−(38 + 2t) dt, of which e¹ and 1 are moved
    wanted = torch.tensor([[1 + math.e, -1, -math.e], [-1, 1, 0], [-math.e, 0, math.e]], dtype=F64) * top
    assert float(((made - wanted) / wanted)[wanted != 0].abs().max()) < 1e-11


@pytest.mark.parametrize("length", [1e2, 1e4, 1e8])
def test_long_paths(length):
    """Each row switches from one weight to another within a small piece of the path."""
    x, r = length * randn(5, 7), length * randn(5, 7, seed=1)
    components = parts(x, r)
    for f in (lambda t: torch.softmax(t, -1), lambda t: torch.log_softmax(t, -1), lambda t: torch.logsumexp(t, -1)):
        made = f(decomposed(x, r, components))
        agree(made.c_sum(), made.value, 1e-14, 4 * length)  # the components are that large
        single = f(decomposed(x.float(), r.float(), parts(x.float(), r.float())))
        agree(single.c_sum(), single.value, 2e-7, 4 * length)
    share = torch.logsumexp(decomposed(x, r, torch.eye(7, dtype=F64)[:, None].expand(7, 5, 7)), -1).components
    t = (torch.arange(20_000, dtype=F64) + 0.5) / 20_000
    leads = torch.stack([(r + s * (x - r)).argmax(-1) for s in t])
    wanted = torch.stack([(leads == i).double().mean(0) for i in range(7)])
    agree(share, wanted, 2e-4 + 10 / length, 1.0)


def test_each_row_has_the_nodes_that_it_needs(monkeypatch):
    """A long row adds its own nodes to those of the others, which have few."""
    x = randn(100, 50)
    r = x + 0.1 * randn(100, 50, seed=1)
    x[7] *= 1e4
    counted = []
    plan = softmax.SoftPath._plan

    def planned(self, name, count):
        pieces = plan(self, name, count)
        counted.append(sum(p.times.shape[-1] * (100 if p.rows is None else len(p.rows)) for p in pieces))
        return pieces

    monkeypatch.setattr(softmax.SoftPath, "_plan", planned)
    made = torch.softmax(np.decompose(x, baseline=r, axis=1), -1)
    agree(made.c_sum(), made.value, 1e-11)
    assert counted[0] < 3000


@pytest.mark.parametrize("n", [3, 200])
def test_forms_for_many_and_few_numbers_agree(n):
    """Long rows of few numbers are computed by matrices, of many numbers by nodes."""
    x, r = 100 * randn(3, n), 100 * randn(3, n, seed=1)
    x[0] = r[0] + 0.1
    components = parts(x, r)
    made = torch.softmax(decomposed(x, r, components), -1)
    agree(made.c_sum(), made.value, 1e-12)
    one = torch.softmax(decomposed(x[1], r[1], components[:, 1]), -1)
    agree(made.components[:, 1], one.components, 1e-13)
    agree(made.components, reference(lambda t: torch.softmax(t, -1), x, r, components, uniform(100)), 1e-12, 1.0)


def test_a_dtype_is_computed_in():
    x, r = randn(3, 5).float(), randn(3, 5, seed=1).float()
    for f in (torch.softmax, F.log_softmax):
        made = f(np.decompose(x, baseline=r), dim=-1, dtype=F64)
        assert made.components.dtype == F64
        agree(made.c_sum(), made.value, 1e-6)  # the components that were given are single
    for dtype in (torch.float16, torch.bfloat16):
        made = torch.softmax(np.decompose(x.to(dtype), baseline=r.to(dtype)), -1)
        assert made.components.dtype == dtype
        agree(made.c_sum().double(), made.value.double(), 8 * torch.finfo(dtype).eps)


def test_nothing_to_weigh():
    assert torch.softmax(np.decompose(torch.ones(0, 3)), 1).components.shape == (0, 0, 3)
    u = decomposed(torch.ones(2, 3), torch.zeros(2, 3), torch.ones(0, 2, 3))
    assert torch.logsumexp(u, 1).components.shape == (0, 2)


def test_frozen_weights_have_no_contributions():
    x = np.decompose(randn(3, 5))
    with np.rule(attention="frozen"):
        made = torch.softmax(x, -1)
        assert torch.log_softmax(x, -1).components.any()
    assert not made.components.any()
    assert torch.equal(made.residual, torch.softmax(x.value, -1))


def test_the_tolerance_is_kept():
    x, r = 4 * randn(20, 6), 4 * randn(20, 6, seed=1)
    errors = []
    for rtol in (1e-3, 1e-6, 1e-9):
        with np.rule(rtol=rtol):
            made = torch.softmax(np.decompose(x, baseline=r), -1)
        errors.append(float((made.value - made.c_sum()).abs().max()))
        assert errors[-1] < rtol
    assert errors[0] > 1e-7 > errors[2]
