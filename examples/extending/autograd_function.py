"""A torch.autograd.Function of your own: its contributions follow from the derivative that it defines.

    python examples/extending/autograd_function.py

A Function is one operation: its contributions are the integral of its own `jvp` (without one, of its `backward`) along
the path from baseline to value. So its forward may compute in any way: the first one here is NumPy's.
`register_autograd` declares that this is meant, which `np.overrides.strict` asks for.
"""

import numpy
import torch
from torch.autograd import gradcheck, gradgradcheck

import npdec as np


@np.overrides.register_autograd
class Cosh(torch.autograd.Function):
    """In the older style: the forward saves what the backward needs. There is no jvp: the backward is used."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(numpy.cosh(x.detach().numpy()))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.sinh(x)


@np.overrides.register_autograd
class Product(torch.autograd.Function):
    """In the newer style. The jvp is used, and vmap makes one call of it for all components."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    @staticmethod
    def jvp(ctx, x_rate, y_rate):
        x, y = ctx.saved_tensors
        return x_rate * y + x * y_rate


x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
r = torch.tensor([0.0, 1.5, 1.0], dtype=torch.float64)

made = Cosh.apply(np.decompose(x, baseline=r))
print("cosh:", made.components.diagonal())
assert torch.allclose(made.residual, r.cosh())
assert torch.allclose(made.components, torch.diag(x.cosh() - r.cosh()))  # element by element: the whole change

# The contributions of a product are its Shapley values: each factor times the mean of the other.
y = (3 * x + 1).detach()
a, b = np.decompose(x, baseline=r, axis=(), labels=["x"]), np.decompose(y, baseline=r, axis=(), labels=["y"])
made = Product.apply(a, b)
print("product:", dict(zip(made.labels, made.components)))
assert torch.allclose(made.components[0], (x - r) * (y + r) / 2)
assert torch.allclose(made.components[1], (y - r) * (x + r) / 2)

# Gradients pass through contributions, twice.
assert gradcheck(lambda x: Product.apply(np.decompose(x, baseline=r), y).components, (x,))
assert gradgradcheck(lambda x: Product.apply(np.decompose(x, baseline=r), y).components, (x,))
print("first and second derivatives of the contributions are right")
