"""A rule for a function: as a tagged signature, or as a function that computes the answer; for good, or in a context.

python examples/extending/function_rules.py
"""

import torch
import torch.nn.functional as F

import npdec as np

x = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
r = torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64)
d = np.decompose(x, baseline=r, labels=["a", "b", "c"])


# 1. A function of your own takes part in torch's protocol, and says by tags how its arguments enter.
def swish(input, beta=1.0):
    if torch.overrides.has_torch_function_unary(input):
        return torch.overrides.handle_torch_function(swish, (input,), input, beta=beta)
    return input * torch.sigmoid(beta * input)


@np.overrides.register_function(swish)
def _(input: np.overrides.Pointwise, beta: float = 1.0): ...


made = swish(d, beta=2.0)
print("swish:", dict(zip(made.labels, made.components.diagonal())))
assert torch.equal(made.value, swish(x, beta=2.0))
assert torch.allclose(made.components, torch.diag(swish(x, beta=2.0) - swish(r, beta=2.0)))


# 2. A rule that computes: here a gate that is open where the value is positive lets components through as they are, and
# the residual is what is left. Within it, F.relu has the rule that it had before.
def gated(input, inplace=False):
    gate = (input.value > 0).to(input.dtype)
    value, components = F.relu(input.value), gate * input.components
    return np.DecomposedTensor(value, value - components.sum(0), components, input.labels)


with np.overrides.registered(F.relu, gated):
    guided = torch.nn.ReLU()(d)
print("guided:", guided.components.diagonal(), "the law:", F.relu(d).components.diagonal())
assert torch.equal(guided.components, torch.diag(torch.where(x > 0, x - r, 0)))
assert torch.allclose(guided.value, guided.c_sum())
assert torch.allclose(F.relu(d).components, torch.diag(F.relu(x) - F.relu(r)))  # outside, as ever


# 3. A signature that differs is refused, by name.
refused = ""
try:
    np.overrides.register_function(F.relu)(lambda x: x)
except TypeError as error:
    refused = str(error)
print("refused:", refused)
assert "has 'x' in place of 'input'" in refused


# 4. strict() finds what has no rule; registering it as Smooth allows it quadrature.
def smooth(input: np.overrides.Smooth): ...


with np.overrides.strict():
    try:
        torch.linalg.matrix_exp(d.outer(d))
    except NotImplementedError as error:
        print(error)
    with np.overrides.registered(torch.linalg.matrix_exp, smooth):
        made = torch.linalg.matrix_exp(d.outer(d) / 10)
assert torch.allclose(made.components.sum(0), torch.linalg.matrix_exp(x.outer(x) / 10) - made.residual)
