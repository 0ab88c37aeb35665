"""Autocast, no_grad and inference_mode hold for decomposed tensors as for plain ones.

python examples/extending/modes.py
"""

import torch

import npdec as np

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
x = torch.randn(3, 8)
d = np.decompose(x, axis=1)

# The reference, by hand: a linear layer passes contributions on, and ReLU by the slope of its secant.
weight, bias = model[0].weight, model[0].bias
hidden, base = x @ weight.T + bias, bias.expand(3, 16)
slope = (hidden.relu() - base.relu()) / (hidden - base)
reference = torch.einsum("ni,hi,nh,h->in", x, weight, slope, model[2].weight[0])

# Under autocast the layers compute in bfloat16: the value bit for bit as in a plain run, the contributions alike.
with torch.autocast("cpu", dtype=torch.bfloat16):
    made, plain = model(d), model(x)
error = (made.components[..., 0] - reference).abs().max() / reference.abs().max()
print(f"autocast: {made.dtype}, error of contributions {error.item():.1e}")
assert made.dtype is made.components.dtype is torch.bfloat16
assert torch.equal(made.value, plain)
assert error < 0.02

# no_grad: no graph of parameters, neither of the value nor of the contributions.
with torch.no_grad():
    made = model(d)
assert not made.requires_grad
assert not made.components.requires_grad
assert torch.allclose(made.components[..., 0], reference, atol=1e-5)
assert model(d).components.requires_grad  # outside, there is one

# Attribution in reverse mode needs a graph of its own, and makes it also there: what is turned off is about parameters.
with torch.no_grad():
    backward = np.attribute(lambda x: model(x).sum(), x).attribution
print(f"reverse mode under no_grad: error {(backward - reference.detach().T).abs().max().item():.1e}")
assert torch.allclose(backward, reference.detach().T, atol=1e-5)

# inference_mode: all parts are inference tensors.
with torch.inference_mode():
    made = model(np.decompose(x, axis=1))
    backward = np.attribute(lambda x: model(x).sum(), x).attribution
print("inference tensors:", made.value.is_inference(), made.residual.is_inference(), made.components.is_inference())
assert made.value.is_inference()
assert made.components.is_inference()
assert torch.allclose(made.components[..., 0], reference, atol=1e-5)
assert torch.allclose(backward, reference.detach().T, atol=1e-5)
