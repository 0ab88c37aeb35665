"""An operator of torch.library, here computed by NumPy: contributions follow from the derivative registered for it.

python examples/extending/custom_operator.py
"""

import numpy
import torch

import npdec as np


@torch.library.custom_op("npdec_examples::horner", mutates_args=())
def horner(x: torch.Tensor, coefficients: torch.Tensor) -> torch.Tensor:
    """The polynomial with these coefficients, the highest first, at x."""
    return torch.from_numpy(numpy.asarray(numpy.polyval(coefficients.numpy(force=True), x.numpy(force=True))))


def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, grad):
    x, coefficients = ctx.saved_tensors
    powers = torch.arange(len(coefficients) - 1, -1, -1)
    slope = (coefficients * powers * x[..., None] ** (powers - 1).clamp(min=0)).sum(-1)
    return grad * slope, (grad[..., None] * x[..., None] ** powers).flatten(0, -2).sum(0)


x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
r = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
p = torch.tensor([2.0, -1.0, 3.0], dtype=torch.float64)  # 2 x² − x + 3
d = np.decompose(x, baseline=r, labels=["x0", "x1", "x2"])

# Without a derivative there is nothing to decompose by, and torch says what is missing.
missing = ""
try:
    horner(d, p)
except RuntimeError as error:
    missing = str(error)
print("before:", missing)
assert "register_autograd" in missing

horner.register_autograd(backward, setup_context=setup_context)
made = horner(d, p)
print("value:", made.value, "contributions:", made.components.diagonal())
assert torch.allclose(made.value, 2 * x**2 - x + 3)
assert torch.allclose(made.components, torch.diag((2 * x**2 - x) - (2 * r**2 - r)))

# The coefficients' contributions too: by each coefficient's change, times the mean of its power of x along the path.
q = np.decompose(p, labels=["2nd", "1st", "0th"])
made = horner(x, q)
print("of the coefficients:", made.components)
assert torch.allclose(made.components, torch.stack([2 * x**2, -x, torch.full_like(x, 3)]))

# In reverse, at the cost of one pass.
made = np.attribute(lambda x: torch.ops.npdec_examples.horner(x, p).sum(), x, baseline=r)
assert torch.allclose(made.attribution, (2 * x**2 - x) - (2 * r**2 - r))


# A rule in place of the quadrature: with the coefficients held, the operator is element by element in x.
def by_elements(x: np.overrides.Pointwise, coefficients: np.overrides.Opaque): ...


with np.overrides.registered(torch.ops.npdec_examples.horner.default, by_elements), np.overrides.strict():
    made = horner(d, p)
assert torch.allclose(made.components, torch.diag((2 * x**2 - x) - (2 * r**2 - r)))
