"""Rules that users register: for functions, methods, modules and autograd Functions, for good or in a context."""

from __future__ import annotations

import threading

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._decomposed.registry import rows
from npdec.overrides import Linear, Multilinear, Opaque, Pointwise, Smooth
from npdec.overrides import _calls as calls

pytestmark = pytest.mark.usefixtures("nothing_stays_registered")

torch.manual_seed(0)
X = torch.tensor([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]], dtype=torch.float64)
R = torch.tensor([[0.5, 1.0, -0.5], [1.0, -0.25, 2.0]], dtype=torch.float64)


def decomposed() -> np.DecomposedTensor:
    return np.decompose(X, baseline=R)


def total(t: np.DecomposedTensor) -> torch.Tensor:
    return t.residual + t.components.sum(0)


# -- functions and methods ---------------------------------------------------------------------------------------------


def test_a_tagged_signature_is_the_rule_of_a_function():
    def cube(x, sign=1.0):
        if torch.overrides.has_torch_function((x,)):
            return torch.overrides.handle_torch_function(cube, (x,), x, sign=sign)
        return sign * x**3

    assert not np.overrides.is_registered(cube)

    @np.overrides.register_function(cube)
    def _(x: Pointwise, sign: float = 1.0): ...

    assert np.overrides.is_registered(cube)
    made = cube(decomposed(), sign=-1.0)
    assert torch.equal(made.value, -(X**3))
    assert torch.equal(made.residual, -(R**3))
    torch.testing.assert_close(made.components.sum(0), R**3 - X**3)
    assert (made.components != 0).sum() == X.numel()  # element by element


def test_a_function_with_a_body_answers():
    seen = []

    @np.overrides.register_function(F.relu)
    def relu(input, inplace=False):
        seen.append((type(input), inplace))
        return np.DecomposedTensor(input.value.relu(), input.residual * 0, input.components * 2, input.labels)

    made = F.relu(decomposed())
    assert seen == [(np.DecomposedTensor, False)]
    assert torch.equal(made.components, decomposed().components * 2)
    assert not made.residual.any()
    torch.nn.ReLU()(decomposed())
    assert len(seen) == 2
    assert torch.equal(torch.relu(decomposed()).residual, R.relu())  # another function
    assert torch.equal(F.relu(X), X.relu())  # a plain call asks nobody
    assert len(seen) == 2


def test_within_its_body_a_function_has_the_rule_it_had():
    def halved(input, inplace=False):
        made = F.relu(input)
        return np.DecomposedTensor(made.value, made.residual, made.components / 2, made.labels)

    before = F.relu(decomposed()).components
    np.overrides.register_function(F.relu)(halved)
    assert torch.equal(F.relu(decomposed()).components, before / 2)
    np.overrides.register_function(F.relu)(halved)  # on top of the first
    assert torch.equal(F.relu(decomposed()).components, before / 4)
    with np.overrides.registered(F.relu, halved):
        assert torch.equal(F.relu(decomposed()).components, before / 8)
    assert torch.equal(F.relu(decomposed()).components, before / 4)


def test_a_body_may_return_an_array_a_tuple_and_serve_reverse_mode():
    def both(x):
        return torch.overrides.handle_torch_function(both, (x,), x) if type(x) is not torch.Tensor else (x, 2 * x)

    @np.overrides.register_function(both)
    def _(x):
        double = np.DecomposedTensor(2 * x.value, 2 * x.residual, 2 * x.components, x.labels)
        return np.asarray(x), double

    one, two = both(decomposed())
    assert type(one) is type(two) is np.DecomposedTensor
    made = np.attribute(lambda x: both(x)[1].sum(), X, baseline=R)
    assert torch.equal(made.attribution, 2 * (X - R))


def test_inplace_is_served_by_rules_without_it():
    @np.overrides.register_function(F.relu)
    def relu(input: Smooth, inplace: bool = False): ...

    made = decomposed() * 1
    assert F.relu(made, inplace=True) is made
    torch.testing.assert_close(made.components.sum(0), X.relu() - R.relu(), rtol=1e-9, atol=1e-9)


def test_a_method_and_an_attribute():
    @np.overrides.register_method(torch.Tensor.flatten)
    def flatten(input, start_dim=0, end_dim=-1):
        return input.reshape(-1) * 10

    assert torch.equal(decomposed().flatten().value, X.flatten() * 10)
    assert torch.equal(torch.flatten(decomposed()).value, X.flatten())

    @np.overrides.register_method(torch.Tensor.T)
    def transposed(self):
        return self.transpose(0, 1) * 3

    assert torch.equal(decomposed().T.value, X.T * 3)
    assert np.overrides.is_registered(torch.Tensor.T)


def test_the_last_registration_wins():
    @np.overrides.register_function(torch.sigmoid)
    def first(input: Smooth): ...

    @np.overrides.register_function(torch.sigmoid)
    def second(input: Opaque, *args: object): ...

    with pytest.warns(np.DecompositionWarning, match="sigmoid"):
        assert type(torch.sigmoid(decomposed())) is torch.Tensor

    @np.overrides.register_function(torch.sigmoid, torch.Tensor.sigmoid)
    def third(input: Pointwise): ...

    assert type(torch.sigmoid(decomposed())) is type(decomposed().sigmoid()) is np.DecomposedTensor


@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")
def test_a_context_scopes_a_rule_to_its_thread():
    def opaque(input: Opaque): ...

    found = {}

    def work():
        found["thread"] = type(torch.tanh(decomposed()))

    with np.overrides.registered(torch.tanh, opaque):
        assert type(torch.tanh(decomposed())) is torch.Tensor
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        with np.overrides.registered(torch.exp, opaque):  # both hold
            assert type(torch.tanh(decomposed())) is type(torch.exp(decomposed())) is torch.Tensor
        assert type(torch.exp(decomposed())) is np.DecomposedTensor
        np.overrides.register_function(torch.tanh)(lambda input: 7)  # for good, but the context comes first
        assert type(torch.tanh(decomposed())) is torch.Tensor
    assert torch.tanh(decomposed()) == 7
    assert found["thread"] is np.DecomposedTensor

    @np.overrides.registered(torch.cosh, opaque)
    def decorated():
        return type(torch.cosh(decomposed()))

    assert decorated() is torch.Tensor
    with pytest.raises(ZeroDivisionError), np.overrides.registered(torch.sinh, opaque):
        1 / 0
    assert type(torch.sinh(decomposed())) is np.DecomposedTensor


def test_an_operator_of_torch_library():
    @torch.library.custom_op("npdec_test_overrides::scaled", mutates_args=())
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor

    @np.overrides.register_function(torch.ops.npdec_test_overrides.scaled)
    def _(x: Linear, factor: float): ...

    with pytest.raises(TypeError, match="'factor'"):
        np.overrides.register_function(torch.ops.npdec_test_overrides.scaled)(lambda x, times: x)
    made = torch.ops.npdec_test_overrides.scaled(decomposed(), 3.0)
    assert torch.equal(made.components, 3 * decomposed().components)


# -- signatures that differ --------------------------------------------------------------------------------------------


def no_inplace(input): ...
def other_name(x, inplace=False): ...
def other_default(input, inplace=True): ...
def no_default(input, inplace): ...
def one_more(input, inplace=False, gain=1.0): ...
def exchanged(inplace, input): ...
def keyword(input, *, inplace=False): ...


@pytest.mark.parametrize(
    ("target", "signature", "difference"),
    [
        (F.relu, no_inplace, "torch.nn.functional.relu: .*lacks the parameter 'inplace'"),
        (F.relu, other_name, "has 'x' in place of 'input'"),
        (F.relu, other_default, "has the default True for 'inplace' in place of the default False"),
        (F.relu, no_default, "has no default for 'inplace'"),
        (F.relu, one_more, "has a parameter 'gain' more"),
        (F.relu, exchanged, "lacks the parameter 'input' before 'inplace'"),
        (F.relu, keyword, "has 'inplace' as keyword only"),
        (torch.cumsum, lambda input, axis: 0, "torch.cumsum: .*has 'axis' in place of 'dim'"),  # written in C
        (torch.exp, lambda input, other: 0, "has a parameter 'other' more"),
        (F.max_pool2d, lambda input, kernel_size, padding: 0, "lacks the parameter 'stride' before 'padding'"),
        (torch.nn.Linear, lambda self, x: 0, "torch.nn.modules.linear.Linear: .*has 'x' in place of 'input'"),
        (torch.Tensor.flatten, lambda self, end_dim: 0, "torch.Tensor.flatten: .*lacks the parameter 'start_dim'"),
    ],
)
def test_a_signature_that_differs_is_refused(target, signature, difference):
    register = (
        np.overrides.register_module
        if isinstance(target, type)
        else np.overrides.register_method
        if target is torch.Tensor.flatten
        else np.overrides.register_function
    )
    before = dict(rows)
    with pytest.raises(TypeError, match=difference):
        register(target)(signature)
    with pytest.raises(TypeError, match=difference), np.overrides.registered(target, signature):
        pass
    assert rows == before


def test_the_rest_of_a_signature_may_be_left_open():
    @np.overrides.register_function(F.conv2d)
    def conv2d(
        input: Multilinear, weight: Multilinear, bias: Linear | None = None, *args: object, **kwargs: object
    ): ...

    weight = torch.randn(2, 1, 2, 2, dtype=torch.float64)
    made = F.conv2d(decomposed()[None, None], weight, padding=1)
    torch.testing.assert_close(made.components.sum(0), F.conv2d((X - R)[None, None], weight, padding=1))


def test_what_is_no_rule_is_refused():
    register = np.overrides.register_function
    with pytest.raises(TypeError, match="unknown type tag 'Matrix'"):

        @register(torch.exp)
        def _(input: Matrix): ...  # noqa: F821

    with pytest.raises(TypeError, match="needs a type tag"):

        @register(torch.exp)
        def _(input): ...

    with pytest.raises(TypeError, match="no parameter has a tag"):

        @register(torch.exp)
        def _(input: object): ...

    with pytest.raises(TypeError, match="knows the tags"):

        @register(torch.exp)
        def _(input: np.extend.ArrayLike): ...

    for wrong, hint in (
        (torch.nn.Linear, "use register_module"),
        (torch.nn.Linear(1, 1), "use register_module"),
        (3, "no function"),
    ):
        with pytest.raises(TypeError, match=hint):
            register(wrong)
    with pytest.raises(TypeError, match=r"no method of torch\.Tensor"):
        np.overrides.register_method(torch.flatten)
    with pytest.raises(TypeError, match=r"no class of torch\.nn\.Module"):
        np.overrides.register_module(torch.relu)
    with pytest.raises(TypeError, match=r"no class of torch\.autograd\.Function"):
        np.overrides.register_autograd(torch.nn.Linear)
    with pytest.raises(TypeError, match="which function"):
        register()(lambda input: 0)
    with pytest.raises(TypeError, match="which rule"), np.overrides.registered(torch.exp):
        pass


# -- modules -----------------------------------------------------------------------------------------------------------


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, input):
        self.calls += 1
        return self.scale * input * torch.sigmoid(input)


class Wider(Gate):
    pass


class Other(Gate):
    def forward(self, input):
        return input * 2


def gate(x):
    return 2 * x * torch.sigmoid(x)


def test_a_module_answers_as_a_whole():
    plain = Gate()
    by_parts = plain(decomposed())

    @np.overrides.register_module(Gate)
    def _(self, input: Pointwise): ...

    for module in (plain, Wider()):
        made = module(decomposed())
        assert torch.equal(made.value, plain(X))
        slope = (gate(X) - gate(R)) / (X - R)
        torch.testing.assert_close(made.components.sum(0), slope * (X - R), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(made.components, decomposed().components * slope, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(total(by_parts), made.value)
    assert np.overrides.is_registered(Gate)
    assert np.overrides.is_registered(plain)
    assert np.overrides.is_registered(Wider)
    assert not np.overrides.is_registered(Other)  # it has another forward
    assert torch.equal(Other()(decomposed()).components, decomposed().components * 2)
    made = np.attribute(lambda x: torch.nn.Sequential(plain)(x).sum(), X, baseline=R)
    torch.testing.assert_close(made.attribution, gate(X) - gate(R))


def test_a_rule_of_a_module_with_a_body():
    def linear(self, input):
        made = self(input)  # as it was
        return np.DecomposedTensor(made.value, made.value, made.components * 0, made.labels)

    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    with np.overrides.registered(torch.nn.Linear, linear):
        made = model(decomposed())
        assert np.overrides.is_registered(torch.nn.Linear)
    assert torch.equal(made.value, model(X))
    assert not made.components.any()
    assert not np.overrides.is_registered(torch.nn.Linear)
    torch.testing.assert_close(model(decomposed()).residual, model(R))


def test_only_the_registered_class_is_touched_and_only_for_as_long():
    assert torch.nn.Linear._compiled_call_impl is None
    with np.overrides.registered(torch.nn.Linear, lambda self, input: 0):
        with np.overrides.registered(torch.nn.Linear, lambda self, input: 1):
            assert torch.nn.Linear(3, 2).double()(decomposed()) == 1
            assert torch.nn.Tanh._compiled_call_impl is torch.nn.Module._compiled_call_impl is None
        assert torch.nn.Linear(3, 2).double()(decomposed()) == 0
        layer = torch.nn.Linear(3, 2).double()
        assert torch.equal(layer(X), F.linear(X, layer.weight, layer.bias))
    assert "_compiled_call_impl" not in vars(torch.nn.Linear)
    assert torch.nn.Linear not in calls._opened


def test_hooks_of_a_module_see_what_passes():
    seen = []
    module = Gate()
    module.register_forward_pre_hook(lambda m, args: seen.append(type(args[0])) or (args[0] * 2,))
    module.register_forward_hook(lambda m, args, kwargs, out: seen.append(type(out)) or -out, with_kwargs=True)
    with np.overrides.registered(Gate, lambda self, input: input * 10):
        made = module(decomposed())
    assert seen == [np.DecomposedTensor] * 2
    assert torch.equal(made.value, -(X * 2 * 10))


def test_the_state_of_a_module_stays_what_it_is():
    module = Gate()
    before = list(module.state_dict())
    with np.overrides.registered(Gate, lambda self, input: input):
        module(decomposed())
        assert list(module.state_dict()) == before
        assert not [name for name in vars(module) if "compiled" in name]
