"""np.overrides.strict and coverage: all that lacks a rule, at once, and nothing of the model moved to find it out."""

from __future__ import annotations

import random
import threading
import warnings

import numpy
import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._decomposed.registry import Row, rows
from npdec._rules import dispatch

X = torch.linspace(-1, 2, 12, dtype=torch.float64).reshape(4, 3)
# Functions without closed forms, of three kinds: a function, a method, one that a module calls.
MISSING = {torch.cumprod, torch.Tensor.logcumsumexp, torch.linalg.matrix_exp}


@pytest.fixture(autouse=True)
def _no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in MISSING:
        monkeypatch.setitem(rows, function, Row(dispatch.default_rule(function), found=True))


class Exponential(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.matrix_exp(x.T @ x / 10)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0
        self.norm = torch.nn.BatchNorm1d(3)
        self.linear = torch.nn.Linear(3, 3)
        self.drop = torch.nn.Dropout(0.5)
        self.tail = torch.nn.ModuleList([Exponential(), Exponential()])
        self.double()

    def forward(self, x, *, twice=False):
        x = self.drop(self.linear(self.norm(x)))
        self.steps += 1
        x = torch.cumprod(x, 0).logcumsumexp(1)
        for layer in self.tail:
            x = layer(x)
        return torch.cumprod(x, 1) if twice else x


def without_contributions(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_all_that_is_missing_is_named_at_once_and_nothing_has_moved():
    torch.manual_seed(3)
    model = Model()
    model.register_forward_hook(lambda *_: pytest.fail("the model did not get so far"))
    state, seen = without_contributions(model), []
    model.tail[0].register_forward_pre_hook(lambda *_: seen.append(1))
    generators = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[2]
    with np.overrides.strict(), pytest.raises(NotImplementedError) as raised:
        model(np.decompose(X), twice=True)
    text = str(raised.value)
    assert "3 functions of Model have no rule of their own" in text
    for name, calls, places in (
        ("torch.cumprod", "2 calls", "Model"),
        ("torch.Tensor.logcumsumexp", "1 call", "Model"),
        ("torch.linalg.matrix_exp", "2 calls", r"tail\.0 \(Exponential\), tail\.1 \(Exponential\)"),
    ):
        assert raised.match(rf"{name} +{calls}, in {places}")
    assert "linear" not in text.partition("Register")[0]
    assert model.steps == 0
    assert not seen
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), generators[0])
    assert (random.getstate(), numpy.random.get_state()[2]) == generators[1:]


def test_the_snippet_registers_the_first():
    with np.overrides.strict(), pytest.raises(NotImplementedError) as raised:
        torch.cumprod(np.decompose(X), 0)
    lines = str(raised.value).splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().startswith("@np.overrides.register"))
    snippet = "\n".join(line[2:] for line in lines[start:])
    assert snippet.startswith("@np.overrides.register_function(torch.cumprod)\ndef cumprod(input: np.overrides.Smooth")
    scope: dict = {}
    exec(snippet.replace("@np.overrides.register_function(torch.cumprod)\n", ""), {"np": np, "torch": torch}, scope)
    with np.overrides.registered(torch.cumprod, scope["cumprod"]), np.overrides.strict():
        made = torch.cumprod(np.decompose(X), 0)
    torch.testing.assert_close(made.components.sum(0), torch.cumprod(X, 0))


def test_a_model_with_all_its_rules_runs():
    model = Model().eval()

    def cumprod(input, dim, *, dtype=None):
        return input.cumsum(dim)

    def smooth(self: np.overrides.Smooth, dim: int): ...

    with np.overrides.strict():
        with pytest.raises(NotImplementedError, match="3 functions"):
            model(np.decompose(X))
        with np.overrides.registered(torch.cumprod, cumprod):
            with pytest.raises(NotImplementedError, match=r"2 functions[^:]*:\n  torch.Tensor.logcumsumexp"):
                model(np.decompose(X))
            with np.overrides.registered(torch.Tensor.logcumsumexp, smooth):
                with pytest.raises(NotImplementedError, match=r"1 function [^:]*:\n  torch.linalg.matrix_exp"):
                    model(np.decompose(X))
                with np.overrides.registered(Exponential, lambda self, x: x * 2):
                    made = model(np.decompose(X))
    h = model.linear(model.norm(X)).cumsum(0).logcumsumexp(1) * 4
    torch.testing.assert_close(made.value, h.detach())


def test_each_call_of_a_model_is_looked_through():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()).double()
    with np.overrides.strict():
        for _ in range(2):
            made = model(np.decompose(X))
        model[1].forward = lambda x: torch.cumprod(x, 0)
        with pytest.raises(NotImplementedError, match=r"torch.cumprod +1 call, in 1 \(Tanh\)"):
            model(np.decompose(X))
        with pytest.raises(NotImplementedError, match="1 function of Sequential"):
            np.attribute(lambda x: model(x).sum(), X)
    assert type(made) is np.DecomposedTensor


def test_outside_a_module_the_first_is_named():
    x = np.decompose(np.asarray(X))
    with np.overrides.strict():
        y = np.exp(x).sum(0)
        with pytest.raises(NotImplementedError, match=r"1 function has.*\n  torch.cumprod +1 call\n"):
            torch.cumprod(y.tensor, 0)
        torch.cumprod(X, 0)  # plain tensors
    assert np.allclose(np.completeness(y), 0)
    assert torch.cumprod(y.tensor, 0).components.shape == (12, 3)  # and afterwards, as ever


def test_strict_is_of_one_thread_and_decorates():
    found = []

    @np.overrides.strict()
    def decorated():
        thread = threading.Thread(target=lambda: found.append(type(torch.cumprod(np.decompose(X), 0))))
        thread.start()
        thread.join()
        return torch.cumprod(np.decompose(X), 0)

    with pytest.raises(NotImplementedError, match=r"torch\.cumprod"):
        decorated()
    assert found == [np.DecomposedTensor]


def test_errors_of_the_model_itself_are_its_own():
    class Broken(torch.nn.Module):
        def forward(self, x):
            return (x + 1).nothing_of_the_kind()

    with np.overrides.strict(), pytest.raises(AttributeError, match="nothing_of_the_kind"):
        Broken()(np.decompose(X))


def test_a_model_that_cannot_be_copied_is_refused_at_the_first():
    class Locked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def forward(self, x):
            return torch.cumprod(x + 1, 0).logcumsumexp(0)

    with np.overrides.strict(), pytest.raises(NotImplementedError, match=r"1 function has.*\n  torch\.cumprod"):
        Locked()(np.decompose(X))


def test_inputs_are_not_written():
    class Writing(torch.nn.Module):
        def forward(self, x, plain):
            plain += 1
            x.mul_(2)
            return x + plain

    x, plain = np.decompose(X.clone()), torch.zeros(3, dtype=torch.float64)
    with np.overrides.strict():
        made = Writing()(x, plain)
    assert plain.tolist() == [1, 1, 1]
    assert torch.equal(made.value, 2 * X + 1)


def test_operations_of_ones_own_are_declared():
    from npdec.extend import Smooth, operation

    @operation(name="toy_strict_running")
    def running(a: Smooth):
        """The running sum of sines."""
        return torch.cumsum(torch.sin(a), 0)

    del np.toy_strict_running
    with np.overrides.strict():
        made = running(np.decompose(np.array([1.0, 2.0])))
    assert np.allclose(made.components.sum(0), [numpy.sin(1), numpy.sin(1) + numpy.sin(2)])
    report = np.overrides.coverage(lambda x: running(np.sinc(x)), np.ones(3))
    assert [row.name for row in report.used] == ["npdec.sinc", "npdec.toy_strict_running"]
    assert report.quadrature
    assert not report.missing


# -- coverage ----------------------------------------------------------------------------------------------------------


def test_a_report_of_what_a_model_uses():
    model = Model()
    state = without_contributions(model)
    report = np.overrides.coverage(model, X, twice=True)
    by_name = {row.name: row for row in report.used}
    assert set(report.missing) == set(report.quadrature) == MISSING
    assert {F.linear, F.dropout, torch.cumprod} <= set(report.functions)
    assert by_name["torch.cumprod"].calls == 2
    assert by_name["torch.cumprod"].rule == "quadrature"
    assert by_name["torch.nn.functional.linear"].rule == "input: Multilinear, weight: Multilinear, bias: Linear"
    assert by_name["torch.nn.functional.linear"].modules == ("linear (Linear)",)
    assert by_name["torch.linalg.matrix_exp"].modules == ("tail.0 (Exponential)", "tail.1 (Exponential)")
    assert not by_name["torch.nn.functional.linear"].missing
    lines = str(report).splitlines()
    assert lines[0].split() == ["calls", "function", "rule", "in"]
    assert len(lines) == len(report.used) + 2
    assert lines[-1] == f"{len(report.used)} functions: {len(report.used) - 3} with a rule, 3 without"
    assert any("torch.cumprod" in line and "quadrature (missing)" in line for line in lines)
    assert model.steps == 0
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


def test_what_is_registered_is_said_to_be():
    def smooth(input: np.overrides.Smooth, *args: object, **kwargs: object): ...

    with np.overrides.registered(torch.cumprod, smooth), np.overrides.registered(Exponential, lambda self, x: x):
        report = np.overrides.coverage(Model(), np.decompose(X))
    by_name = {row.name: row for row in report.used}
    assert by_name["torch.cumprod"].rule == "registered: input: Smooth"
    assert report.quadrature == (torch.cumprod, torch.Tensor.logcumsumexp)
    assert report.missing == (torch.Tensor.logcumsumexp,)
    assert Exponential in report.functions
    assert by_name[f"{__name__}.Exponential"].calls == 2


def test_any_callable_and_arrays():
    report = np.overrides.coverage(lambda x, n: np.where(x > 0, x, np.exp(x)).sum() * n + np.argmax(x), np.ones(3), 2)
    assert not report.missing
    assert {row.rule for row in report.used} >= {"value only"}
    with pytest.raises(TypeError, match="floating dtype"):
        np.overrides.coverage(Model(), torch.ones(3, dtype=torch.int64))


def test_no_quadrature_is_computed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = np.overrides.coverage(
            lambda x: torch.cumprod(1 / x, 0), torch.tensor([1e-200, -1e-200], dtype=torch.float64)
        )
    assert torch.cumprod in report.missing
