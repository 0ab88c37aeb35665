"""torch.func: programs that decompose within, or take what is decomposed, are differentiated and mapped like others.

python examples/extending/transforms.py
"""

import torch

import npdec as np

torch.manual_seed(0)
x = torch.rand(4, 3, dtype=torch.float64)
weight = torch.randn(3, 2, dtype=torch.float64)


def contributions(row):
    """What each of three inputs contributes to two outputs: (3, 2)."""
    return torch.tanh(np.decompose(row) @ weight).components


# One row by hand: the secant of tanh from 0 to the value, times each input's part of the value.
z = x[0] @ weight
by_hand = x[0][:, None] * weight * (torch.tanh(z) / z)
assert torch.allclose(contributions(x[0]), by_hand)

# vmap: a batch of rows at once, each decomposed by itself.
mapped = torch.func.vmap(contributions)(x)
print("vmap:", tuple(mapped.shape))
assert torch.allclose(mapped, torch.stack([contributions(row) for row in x]))


# grad and jacrev: how a contribution changes with the inputs. jvp: the same in forward mode.
def first(row):
    return contributions(row)[0, 0]


def first_by_hand(row):
    z = row @ weight[:, 0]
    return row[0] * weight[0, 0] * torch.tanh(z) / z


slope = torch.func.grad(first)(x[0])
print("grad:", slope)
assert torch.allclose(slope, torch.func.grad(first_by_hand)(x[0]))
assert torch.allclose(torch.func.jacrev(contributions)(x[0])[0, 0], slope)
value, rate = torch.func.jvp(first, (x[0],), (torch.ones(3, dtype=torch.float64),))
assert torch.allclose(rate, slope.sum())
assert torch.allclose(torch.func.hessian(first)(x[0]), torch.func.hessian(first_by_hand)(x[0]))

# Transforms nest: gradients of contributions, for each row.
slopes = torch.func.vmap(torch.func.grad(first))(x)
assert torch.allclose(slopes[0], slope)
print("vmap of grad:", tuple(slopes.shape))

# Decomposed arguments: vmap maps over their values, residuals and contributions together.
batch = np.decompose(x, axis=1, labels=["a", "b", "c"])
softmax = torch.func.vmap(lambda row: torch.softmax(row, 0))(batch)
assert softmax.labels == ("a", "b", "c")
assert torch.allclose(softmax.components, torch.stack([torch.softmax(row, 0).components for row in batch], 1))
print("vmap of decomposed rows:", tuple(softmax.components.shape))

# And grad differentiates by each of the three. The gradient is put together as its argument was.
gradient = torch.func.grad(lambda t: torch.tanh(t @ weight).components[0].sum())(batch)
tanh, z, z_r = torch.tanh(batch.value @ weight), batch.value @ weight, batch.residual @ weight
assert torch.allclose(gradient.components[0], (tanh / (z - z_r)) @ weight.T)
