"""A torch.nn.Module of your own, with parameters and buffers: it decomposes as it is, and can have a rule as a whole.

python examples/extending/module.py
"""

import torch

import npdec as np

torch.manual_seed(0)


class Standardized(torch.nn.Module):
    """x, less its running mean, by a learned scale, squashed. In training the mean follows the data."""

    def __init__(self, size):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(size, dtype=torch.float64) + 0.5)
        self.register_buffer("mean", torch.zeros(size, dtype=torch.float64))

    def forward(self, input):
        if self.training:
            with torch.no_grad():
                self.mean.mul_(0.9).add_(0.1 * getattr(input, "value", input).mean(0))
        return torch.tanh(self.scale * (input - self.mean))


model = torch.nn.Sequential(Standardized(3), torch.nn.Linear(3, 1, dtype=torch.float64)).eval()
state = {name: value.clone() for name, value in model.state_dict().items()}
x, r = torch.randn(4, 3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)

made = model(np.decompose(x, baseline=r, axis=1, labels=["height", "width", "depth"]))
for label, part in zip(made.labels, made.components):
    print(f"{label:>7}: {part.squeeze()}")

# The reference: tanh passes its change on element by element, the layer is linear.
first, last = model
scale, weight = first.scale, last.weight
change = torch.tanh(scale * (x - first.mean)) - torch.tanh(scale * (r - first.mean))
assert torch.allclose(made.components.squeeze(-1).T, change * weight)
assert torch.allclose(made.residual, model(r.expand(4, 3)))
assert torch.equal(made.value, model(x))

# Nothing of the model was written, and nothing was added to it.
assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())

# Parameters learn from contributions: here, the share of the first input is to be zero.
made.components[0].square().sum().backward()
print("gradient of a contribution by the scale:", first.scale.grad)
assert first.scale.grad[0] != 0
assert not first.scale.grad[1:].any()


# A rule for the class answers for the module as a whole. This one sees the straight path only from baseline to value.
def standardized(self, input: np.overrides.Smooth): ...


with np.overrides.registered(Standardized, standardized):
    whole = model(np.decompose(x, baseline=r, axis=1))
    print(np.overrides.coverage(model, x))
assert torch.allclose(whole.components, made.components)  # one nonlinearity: the same path
assert not np.overrides.is_registered(Standardized)

# In training, a call with contributions moves the running mean once, by the values.
model.train()
model(np.decompose(x, axis=1))
assert torch.allclose(first.mean, 0.1 * x.mean(0))
