"""The examples of extending torch run, print what they found, and leave nothing behind."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch
import torch.utils.checkpoint

import npdec as np
import tiers

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "extending").glob("*.py"))
F64 = torch.float64

pytestmark = pytest.mark.usefixtures("nothing_stays_registered")


# torch.func.jvp compiles formulas with what torch has deprecated, when it is first used.
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(path.parent))  # where worker processes find it
    state = torch.get_rng_state()
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        torch.set_rng_state(state)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 3
    text = path.read_text("utf-8")
    assert f"python examples/extending/{path.name}" in text
    assert text.count("assert ") >= 4
    assert len(text.splitlines()) < 80


def test_there_is_an_example_of_each():
    assert {path.stem for path in EXAMPLES} == {
        "autograd_function", "batches", "custom_operator", "function_rules", "hooks", "modes", "module",
        "other_tensors", "transforms",
    }  # fmt: skip


# -- autograd Functions ------------------------------------------------------------------------------------------------


class Power(torch.autograd.Function):
    """x ** k, in the older style; subclasses differ in what they define."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.k = k
        return x**k

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.k * x ** (ctx.k - 1), None


class PowerForward(Power):
    @staticmethod
    def jvp(ctx, rate, _):
        (x,) = ctx.saved_tensors
        return rate * ctx.k * x ** (ctx.k - 1)


class PowerWithSetup(torch.autograd.Function):
    backward = Power.backward

    @staticmethod
    def forward(x, k):
        return x**k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])
        ctx.k = inputs[1]


class PowerForwardWithSetup(PowerWithSetup):
    jvp = PowerForward.jvp


class PowerMapped(PowerWithSetup):
    generate_vmap_rule = True


class PowerForwardMapped(PowerForwardWithSetup):
    generate_vmap_rule = True


class PowerOnce(Power):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return Power.backward(ctx, grad)


class PowerOfNumpy(Power):
    @staticmethod
    def forward(ctx, x, k):
        Power.forward(ctx, x, k)
        return torch.from_numpy(x.detach().numpy() ** k)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(grad.numpy() * ctx.k * x.detach().numpy() ** (ctx.k - 1)), None


X = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=F64)
R = torch.tensor([[0.5, 1.0], [-1.0, 2.0]], dtype=F64)
TWICE = [Power, PowerForward, PowerWithSetup, PowerForwardWithSetup, PowerMapped, PowerForwardMapped]


@pytest.mark.parametrize("function", [*TWICE, PowerOnce, PowerOfNumpy])
@pytest.mark.parametrize("register", [True, False])
def test_a_function_follows_its_own_derivative(function, register):
    if register:
        np.overrides.register_autograd(function)
    assert np.overrides.is_registered(function) is register
    made = function.apply(np.decompose(X, baseline=R), 3)
    assert torch.equal(made.value, X**3)
    assert torch.equal(made.residual, R**3)
    torch.testing.assert_close(made.components, torch.diag((X**3 - R**3).flatten()).reshape(4, 2, 2))
    backward = np.attribute(lambda x: function.apply(x, 3).sum(), X, baseline=R)
    torch.testing.assert_close(backward.attribution, X**3 - R**3)
    assert torch.equal(function.apply(X, 3), X**3)  # a plain call is as ever
    x = X.clone().requires_grad_()
    value = function.apply(np.decompose(x, baseline=R), 3).value
    torch.testing.assert_close(*torch.autograd.grad(value.sum(), x), 3 * X**2)
    assert function.__name__ in type(value.grad_fn).__name__


@pytest.mark.parametrize("function", TWICE)
@pytest.mark.parametrize("register", [True, False])
def test_gradients_of_contributions(function, register):
    if register:
        np.overrides.register_autograd(function)
    x = X[0].clone().requires_grad_()

    def components(x):
        return function.apply(np.decompose(x, baseline=R[0]), 3).components

    assert torch.autograd.gradcheck(components, (x,), fast_mode=tiers.quick)
    assert torch.autograd.gradgradcheck(components, (x,), fast_mode=tiers.quick)


@pytest.mark.parametrize("reentrant", [True, False])
def test_what_frames_other_functions_is_looked_through(reentrant):
    """A checkpoint runs a part of a model: contributions are those of the part."""
    torch.manual_seed(0)
    part = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)).double()
    d = np.decompose(X.clone().requires_grad_(), baseline=R)
    made = torch.utils.checkpoint.checkpoint(part, d, use_reentrant=reentrant)
    torch.testing.assert_close(made.components, part(d).components, rtol=1e-14, atol=1e-16)
    assert torch.equal(made.value, part(X))


def test_a_function_without_a_derivative_is_looked_through():
    class Forward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp()

    made = Forward.apply(np.decompose(X, baseline=R))
    torch.testing.assert_close(made.components.sum(0), X.exp() - R.exp())


def test_a_rule_of_a_function():
    def power(x: np.overrides.Pointwise, k: int): ...

    def linearised(x, k):
        return x * x.value ** (k - 1)

    for function in (Power, PowerWithSetup):  # with ctx and without, the signature is that of the call
        with np.overrides.registered(function, power):
            made = function.apply(np.decompose(X, baseline=R), 3)
        torch.testing.assert_close(made.components.sum(0), X**3 - R**3)
        with np.overrides.registered(function, linearised):
            made = function.apply(np.decompose(X, baseline=R), 3)
        torch.testing.assert_close(made.components.sum(0), (X - R) * X**2)
        with pytest.raises(TypeError, match="has 'exponent' in place of 'k'"):
            np.overrides.register_function(function)(lambda x, exponent: x)
    np.overrides.register_function(Power)(linearised)
    torch.testing.assert_close(Power.apply(np.decompose(X), 3).components.sum(0), X**3)


def test_strict_asks_for_a_declaration():
    d = np.decompose(X)
    with np.overrides.strict():
        with pytest.raises(NotImplementedError, match=r"test_extending.Power +1 call[^$]*register_autograd\(Power\)"):
            Power.apply(d, 3)
        np.overrides.register_autograd(Power)
        assert type(Power.apply(d, 3)) is np.DecomposedTensor


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*")
def test_plain_functions_are_as_ever():
    x = X.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: Power.apply(x, 3), (x,))
    compiled = torch.compile(lambda x: PowerWithSetup.apply(x, 3) + 1, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), x**3 + 1)
    torch.testing.assert_close(torch.func.vmap(lambda x: PowerMapped.apply(x, 3))(X), X**3)
    with pytest.raises(TypeError):
        Power.apply()


def test_a_registered_function_of_several_results_and_arguments():
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y, x.sin()

        @staticmethod
        def backward(ctx, product, sine):
            x, y = ctx.saved_tensors
            return product * y + sine * x.cos(), product * x

    a, b = np.decompose((X, 2 * X), baseline=(R, R + 1), groups=(0, 1), labels=["a", "b"])
    with np.overrides.registered(Both):
        product, sine = Both.apply(a, b)
    torch.testing.assert_close(product.components[0], (X - R) * (2 * X + R + 1) / 2)
    torch.testing.assert_close(product.components[1], (2 * X - R - 1) * (X + R) / 2)
    torch.testing.assert_close(sine.components, torch.stack([X.sin() - R.sin(), torch.zeros_like(X)]))
    assert not np.overrides.is_registered(Both)


def test_a_gradient_that_is_none_of_the_function_is_incomplete_and_says_so():
    class StraightThrough(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @classmethod
        def apply_by_parts(cls, x):
            return cls.apply(x)

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = torch.tensor([0.4, 1.7], dtype=F64)
    with pytest.warns(np.DecompositionWarning, match="StraightThrough: completeness"):
        made = StraightThrough.apply(np.decompose(x))
    torch.testing.assert_close(made.components.sum(0), x)
    with np.overrides.registered(StraightThrough, StraightThrough.apply_by_parts):
        by_parts = StraightThrough.apply(np.decompose(x))
    assert torch.equal(by_parts.components.sum(0), torch.tensor([0.0, 2.0], dtype=F64))


def test_strict_and_coverage_know_registered_functions():
    np.overrides.register_autograd(Power)
    with np.overrides.strict():
        Power.apply(np.decompose(X), 2)
    report = np.overrides.coverage(lambda x: Power.apply(x, 2), X)
    assert report.functions == report.quadrature == (Power,)
    assert report.used[0].rule == "registered: its own backward"


# -- what torch does with tensors --------------------------------------------------------------------------------------


def test_hooks_of_leaves_and_gradients_of_values():
    x = X.clone().requires_grad_()
    d = np.decompose(x)
    y = torch.exp(d)
    seen = []
    y.register_hook(seen.append)
    y.retain_grad()
    y.sum().backward()
    assert torch.equal(seen[0], torch.ones_like(X))
    assert torch.equal(y.grad, torch.ones_like(X))
    torch.testing.assert_close(x.grad, X.exp())


def test_backward_hooks_keep_contributions():
    layer = torch.nn.Linear(2, 3, dtype=F64)
    d = np.decompose(X.clone().requires_grad_())
    plain = layer(d).components
    order = []
    layer.register_full_backward_pre_hook(lambda *_: order.append("before"))
    layer.register_full_backward_hook(lambda *_: order.append("after"))
    made = layer(d)
    assert torch.equal(made.components, plain)
    made.sum().backward()
    assert order == ["before", "after"]


def test_vmap_over_code_that_decomposes():
    def components(row):
        h = torch.relu(torch.tanh(np.decompose(row)) * row.exp() - 0.2)
        return (h / (1 + torch.exp(h))).components

    rows = torch.rand(5, 3, dtype=F64)
    rows[0, 0] = 0.0  # no step at all
    rows[1, 1] = 1e-12  # a step that loses digits
    mapped = torch.vmap(components)(rows)
    torch.testing.assert_close(mapped, torch.stack([components(row) for row in rows]), rtol=1e-10, atol=1e-14)
    given = np.decompose(rows)
    torch.testing.assert_close(torch.vmap(torch.exp)(given).components, torch.exp(given).components, rtol=1e-15, atol=0)
    assert given.dim() == 2
