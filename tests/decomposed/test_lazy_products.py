"""Products that are put off until somebody asks for components: as those that are made at once, whatever is written,
and to what, between the call and the look."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref

import numpy
import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import npdec as np
from npdec import DecomposedTensor
from npdec._decomposed import lazy_products
from npdec._decomposed.lazy_products import LazyProduct

F64 = torch.float64
B, T, K = 2, 3, 8  # examples, tokens, numbers of a token
GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(B, T, K, generator=GENERATOR, dtype=F64)
DOWN = torch.randn(2, K, generator=GENERATOR, dtype=F64)
UP = torch.randn(80, K, generator=GENERATOR, dtype=F64)
BIAS = torch.ones(2, dtype=F64)


@pytest.fixture(autouse=True)
def worth_it(monkeypatch):
    monkeypatch.setattr(lazy_products, "LARGE", 1)


def decomposed(labels="abc"):
    groups = torch.arange(B * T * K).reshape(B, T, K) % len(labels)
    made = np.decompose(X.clone(), baseline=0.25, groups=groups, labels=list(labels))
    made.components, made.kept = made.components, None  # nothing is known of where they are zero
    return made


def is_put_off(tensor):
    return type(tensor.kept) is LazyProduct and "components" not in vars(tensor)


def at_once(function, monkeypatch):
    """What the function gives if nothing is put off."""
    with monkeypatch.context() as patched:
        patched.setattr(lazy_products, "LARGE", 2**60)
        made = function(decomposed())
    assert not is_put_off(made)
    return made


MODULE = nn.Linear(K, 2, dtype=F64).requires_grad_(False)
KEPT = {
    "linear": lambda d: F.linear(d, DOWN, BIAS),
    "linear by name": lambda d: F.linear(input=d, weight=DOWN),
    "module": MODULE,
    "matmul": lambda d: d @ DOWN.T,
    "wide": lambda d: torch.matmul(d, UP.T),
    "numpy": lambda d: (np.asarray(d) @ np.asarray(DOWN.T)).tensor,
    "sum with dense": lambda d: d[..., :2] + F.linear(d, DOWN, BIAS),
    "dense and sum": lambda d: F.linear(d, DOWN, BIAS) + d[..., 1:3] + d[..., :2],
    "sum of two": lambda d: F.linear(d, DOWN) + F.linear(d * 2, DOWN),
    "cast to what it is": lambda d: F.linear(d, UP).double().contiguous().to(F64),
    "columns": lambda d: F.linear(d, UP)[..., 1:],
    "rows": lambda d: F.linear(d, UP)[:, 1:],
}
MADE = {
    "a row": lambda d: F.linear(d, UP)[:, -1],
    "a number": lambda d: F.linear(d, UP)[0, -1, 5],
    "every second column of a row": lambda d: F.linear(d, UP)[None, ..., -1, ::2],
    "new axes": lambda d: F.linear(d, UP)[:1, None, 1, None, 3:5],
    "a number and dots": lambda d: F.linear(d, UP)[0, 1, 5, ...],
    "a new axis at the end": lambda d: F.linear(d, UP)[..., None],
    "mean": lambda d: F.linear(d, DOWN, BIAS).mean(1),
    "means": lambda d: torch.mean(F.linear(d, DOWN, BIAS), dim=(0, 1), keepdim=True),
    "sum": lambda d: torch.sum(d[..., :2] + F.linear(d, DOWN, BIAS), [-2]),
    "sum of one with itself": lambda d: (made := F.linear(d, DOWN)) + made,
    "sum of the last axis": lambda d: F.linear(d, DOWN, BIAS).sum(-1),
    "sum of the last axis by its number": lambda d: F.linear(d, DOWN, BIAS).sum(2),
    "sum of all": lambda d: F.linear(d, DOWN, BIAS).sum(),
    "sum in another dtype": lambda d: F.linear(d, DOWN, BIAS).sum(1, dtype=torch.float32),
    "sum of rows and of numbers": lambda d: (F.linear(d, DOWN, BIAS) + d[..., :2])[0, 0, 1],
    "difference": lambda d: d[..., :2] - F.linear(d, DOWN, BIAS),
    "curve": lambda d: torch.tanh(F.linear(d, DOWN, BIAS)),
    "product": lambda d: F.linear(d, DOWN, BIAS) * d[..., :2],
    "norm": lambda d: F.layer_norm(F.linear(d, UP), (80,)),
    "attention": lambda d: F.scaled_dot_product_attention(F.linear(d, DOWN), F.linear(d, DOWN), F.linear(d, DOWN)),
    "fancy": lambda d: F.linear(d, UP)[:, [2, 0]],
    "with alpha": lambda d: torch.add(F.linear(d, DOWN), d[..., :2], alpha=2),
    "broadcast": lambda d: F.linear(d, DOWN) + d[0, 0, :2],
    "another dtype": lambda d: F.linear(d, DOWN).float(),
    "of few rows": lambda d: F.linear(d[:1, :1], DOWN),
    "square": lambda d: F.linear(d, UP[:K]),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", [*KEPT, *MADE])
def test_as_at_once(name, monkeypatch):
    function = {**KEPT, **MADE}[name]
    wanted = at_once(function, monkeypatch)
    made = function(decomposed())
    assert is_put_off(made) is (name in KEPT)
    assert torch.equal(made.value, wanted.value)
    assert torch.equal(made.residual, wanted.residual)
    tolerance = 1e-5 if made.dtype is torch.float32 else 1e-13
    torch.testing.assert_close(made.components, wanted.components, rtol=0, atol=tolerance * 100)
    torch.testing.assert_close(made.c_sum(), made.value)
    assert made.components is made.components
    assert made.components.is_contiguous() or wanted.components.stride() == made.components.stride()


def test_rows_are_taken_before_the_product():
    """Of the scores of many words after many tokens, those after the last are asked for: no others are computed."""
    words = torch.randn(100, K, dtype=F64)
    d = decomposed()
    with FlopCounterMode(display=False) as counted:
        scores = F.linear(d, words)
        _ = scores[:, -1].components
    rows = B * T + 1 + len(d.labels) * B  # the value has all tokens, the residual one row for all
    assert counted.get_total_flops() == 2 * K * 100 * rows
    assert is_put_off(scores)


# -- what is written between the call and the look ---------------------------------------------------------------------


WRITES = {
    "the matrix": lambda d, w: w.mul_(2),
    "the matrix, without a trace": lambda d, w: w.data.zero_(),
    "the input": lambda d, w: d.mul_(3),
    "a row of the input": lambda d, w: d[0].zero_(),
    "the input, with other labels": lambda d, w: d.add_(np.decompose(X.clone(), labels=["z"], axis=())),
    "the input's view": lambda d, w: d.transpose(0, 1).view(T, B, K)[1].fill_(1),
    "an array of the input": lambda d, w: np.asarray(d).__setitem__((0, 0), 5.0),
    "out=": lambda d, w: torch.neg(d, out=d),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("form", ["product", "sum", "rows"])
def test_writing_after_the_call(name, form, monkeypatch):
    def function(d, written):
        w = DOWN.clone()
        made = F.linear(d, w, BIAS)
        if form == "sum":
            made = d[..., :2] + made
        elif form == "rows":
            made = made[:, :2]
        if written:
            assert is_put_off(made)
            WRITES[name](d, w)
        return made

    wanted = at_once(lambda d: function(d, False), monkeypatch)
    d = decomposed()
    made = function(d, True)
    torch.testing.assert_close(made.components, wanted.components, rtol=0, atol=1e-13)
    torch.testing.assert_close(made.c_sum(), wanted.value)
    torch.testing.assert_close(d.c_sum(), d.value)


def test_writing_to_the_other_term():
    d = decomposed()
    other = d[..., :2] * 3
    made = other + F.linear(d, DOWN)
    assert is_put_off(made)
    value, wanted = made.value.clone(), other.components.clone() + d.components @ DOWN.T
    other.mul_(2)
    torch.testing.assert_close(made.components, wanted)
    torch.testing.assert_close(made.c_sum(), value)


def test_components_that_were_written_to_are_missed():
    d = decomposed()
    made = F.linear(d, DOWN)
    d.components.mul_(2)
    for read in (lambda: made.components, lambda: made[:, 0].components, lambda: (made + made.value).components):
        with pytest.raises(RuntimeError, match="were written to before those of its result were read"):
            read()


def test_no_graph_is_lost():
    weight = UP.clone().requires_grad_()
    made = F.linear(decomposed(), weight)
    assert not is_put_off(made)
    made.components[0].sum().backward()
    assert weight.grad is not None
    with torch.no_grad():
        made = F.linear(decomposed(), weight)
    assert is_put_off(made)
    assert not made.components.requires_grad


def test_inference_mode_makes_them_at_once():
    with torch.inference_mode():
        assert not is_put_off(F.linear(decomposed(), DOWN))
    made = F.linear(decomposed(), DOWN)
    with torch.inference_mode():
        assert not made.components.is_inference()
    made.add_(1)


def test_autocast_is_that_of_the_call():
    made = F.linear(decomposed().float(), DOWN.float())
    assert is_put_off(made)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert made.components.dtype is torch.float32
        assert not is_put_off(F.linear(decomposed().float(), DOWN.float()))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t)), "save"])
def test_copies(again, monkeypatch):
    made = F.linear(decomposed(), DOWN)
    if again == "save":
        memory = io.BytesIO()
        torch.save(made, memory)
        memory.seek(0)
        other = torch.load(memory, weights_only=False)
    else:
        other = again(made)
    wanted = at_once(lambda d: F.linear(d, DOWN), monkeypatch)
    torch.testing.assert_close(other.components, wanted.components)
    torch.testing.assert_close(made.components, wanted.components)


def test_functional_transforms_and_compiled_code_see_them():
    made = F.linear(decomposed(), DOWN)
    compiled = torch.compile(lambda t: t * 2, backend="eager")
    torch.testing.assert_close(compiled(made).components, 2 * F.linear(decomposed(), DOWN).components)
    made = F.linear(decomposed(), DOWN)
    mapped = torch.vmap(lambda t: (made * t).components)(torch.tensor([1.0, 3.0], dtype=F64))
    torch.testing.assert_close(mapped[1], 3 * made.components)


def test_all_is_let_go_of():
    """The product keeps neither its input nor the tensors that had the input's memory once it is made."""
    d = decomposed()
    made = F.linear(d, DOWN)
    matrix, rows = weakref.ref(made.kept.matrix), weakref.ref(made.kept.rows)
    _ = made.components
    gc.collect()
    assert matrix() is None
    assert rows() is None
    assert made.kept is None
    for _ in range(3):
        F.linear(d, DOWN)
    assert len(d.views.borrowers) == 0


# -- any program -------------------------------------------------------------------------------------------------------


class Model:
    """A decomposed tensor and plain ones for its parts, which torch computes, writes and looks at itself."""

    def __init__(self, tensor, parts):
        self.tensor = tensor
        self.parts = parts

    def is_moderate(self):
        return all(bool((part.abs() < 1e6).all()) for part in self.parts.values())


class Programs(RuleBasedStateMachine):
    """Linear functions in any order: components are looked at now and then, and all at the end."""

    def __init__(self):
        super().__init__()
        self.kept = []
        self.matrices = [DOWN.clone(), UP.clone()]

    def teardown(self):
        for i in range(len(self.kept)):
            self.compare(i)

    def keep(self, tensor, parts):
        self.kept.append(Model(tensor, parts))
        if len(self.kept) > 6:
            self.compare(0)
            self.kept.pop(0)

    def pick(self, n):
        return self.kept[n % len(self.kept)]

    def alike(self, one, n):
        """Another of the same shape; the same, if there is none."""
        found = [other for other in self.kept if other is not one and other.tensor.shape == one.tensor.shape]
        return found[n % len(found)] if found else one

    def apply(self, function, *models):
        """A linear function of tensors."""
        tensor = function(*[model.tensor for model in models])
        parts = {name: function(*[model.parts[name] for model in models]) for name in models[0].parts}
        assert isinstance(tensor, DecomposedTensor)
        self.keep(tensor, parts)

    def compare(self, n):
        model = self.kept[n]
        tensor = model.tensor
        found = {"value": tensor.value, "residual": tensor.residual}
        found |= dict(zip(tensor.labels, tensor.components, strict=True))
        assert found.keys() == model.parts.keys()
        for name, part in model.parts.items():
            scale = max([1.0, *(float(one.abs().max()) for one in model.parts.values() if one.numel())])
            torch.testing.assert_close(found[name], part, rtol=0, atol=1e-12 * scale)

    @initialize()
    def start(self):
        self.fresh(0)

    @rule(seed=st.integers(0, 2**20))
    def fresh(self, seed):
        rng = torch.Generator().manual_seed(seed)
        value, residual = torch.randn(2, B, T, (K, K, 2)[seed % 3], generator=rng, dtype=F64)
        groups = torch.arange(value.numel()).reshape(value.shape) % 3
        tensor = np.decompose(value.clone(), baseline=residual.clone(), groups=groups, labels=list("abc"))
        if seed % 2:
            _ = tensor.components
            tensor.kept = None
        parts = {"value": value, "residual": residual}
        parts |= {label: torch.where(groups == i, value - residual, 0) for i, label in enumerate("abc")}
        self.keep(tensor, parts)

    @rule(n=st.integers(0, 20), which=st.integers(0, 1), product=st.booleans())
    def layer(self, n, which, product):
        model = self.pick(n)
        matrix = self.matrices[which]
        if model.tensor.ndim < 1 or model.tensor.shape[-1] != K:
            return
        self.apply((lambda t: t @ matrix.T) if product else (lambda t: F.linear(t, matrix)), model)

    @rule(n=st.integers(0, 20), other=st.integers(0, 20))
    def block(self, n, other):
        """A layer's result added to another tensor."""
        inputs = [one for one in self.kept if one.tensor.shape == (B, T, K)]
        others = [one for one in self.kept if one.tensor.shape == (B, T, 2)]
        if inputs and others:
            models = inputs[n % len(inputs)], others[other % len(others)]
            self.apply(lambda h, x: x + F.linear(h, self.matrices[0]), *models)

    @rule(n=st.integers(0, 20), other=st.integers(0, 20), sign=st.booleans())
    def add(self, n, other, sign):
        a = self.pick(n)
        b = self.alike(a, other)
        if a.is_moderate():
            self.apply((lambda x, y: x + y) if sign else (lambda x, y: x - y), a, b)

    @rule(n=st.integers(0, 20), kind=st.integers(0, 16))
    def take(self, n, kind):
        model = self.pick(n)
        if model.tensor.ndim != 3 or 0 in model.tensor.shape:
            return
        takes = [
            lambda t: t[0], lambda t: t[:, -1], lambda t: t[:, 1:], lambda t: t[..., :1], lambda t: t[..., -1],
            lambda t: t[:, :, ::2], lambda t: t[None, 0], lambda t: t.mean(1, keepdim=True), lambda t: t.sum(0),
            lambda t: t.mean((0, 1)), lambda t: t.sum(-1), lambda t: t.mT, lambda t: t.contiguous(),
            lambda t: t.double(), lambda t: t[..., :2] * 2, lambda t: t[:, 0, 1:], lambda t: t[..., 1:].contiguous(),
        ]  # fmt: skip
        self.apply(takes[kind], model)

    @rule(n=st.integers(0, 20), kind=st.integers(0, 6), other=st.integers(0, 20))
    def write(self, n, kind, other):
        model = self.pick(n)
        if model.tensor.ndim < 1 or not model.tensor.numel() or not model.is_moderate():
            return
        source = self.alike(model, other)
        writes = [
            lambda t, s: t.mul_(-2),
            lambda t, s: t[0].zero_(),
            lambda t, s: t[..., -1:].mul_(0.5),
            lambda t, s: t.add_(s.clone()),
            lambda t, s: t.copy_(s.clone()),
            lambda t, s: t.__setitem__(0, s[-1].clone()),
            lambda t, s: t.sub_(s.clone()),
        ]
        write = writes[kind]
        taken = {name: part.clone() for name, part in source.parts.items()}
        write(model.tensor, source.tensor)
        for name, part in model.parts.items():
            write(part, taken[name])

    @rule(which=st.integers(0, 1), kind=st.integers(0, 2))
    def train(self, which, kind):
        matrix = self.matrices[which]
        if kind == 0:
            matrix.neg_()
        elif kind == 1:
            matrix.data.copy_(matrix.flip(0))
        else:
            matrix.numpy()[...] = numpy.roll(matrix.numpy(), 1)

    @rule(n=st.integers(0, 20))
    def look(self, n):
        self.compare(n % len(self.kept))

    @rule(n=st.integers(0, 20))
    def drop(self, n):
        if len(self.kept) > 1:
            self.kept.pop(n % len(self.kept))


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
