"""
NumPy code on autograd, vmap and jit
====================================

In this tutorial you differentiate, batch and compile functions written in NumPy. Arrays without contributions are plain
torch tensors underneath, so all of this works, and so does another device.
"""

import matplotlib.pyplot as plt
import torch

import npdec as np

# %%
# A loss in NumPy
# ---------------
#
# A network with two layers, written as usual in NumPy. Its parameters are a dict of arrays.


def predict(parameters, x):
    hidden = np.tanh(x @ parameters["w1"] + parameters["b1"])
    return hidden @ parameters["w2"] + parameters["b2"]


def loss(parameters, x, y):
    return np.mean((predict(parameters, x) - y) ** 2)


rng = np.random.default_rng(1)
parameters = {
    "w1": rng.standard_normal((1, 24)) * 2,
    "b1": rng.standard_normal(24),
    "w2": rng.standard_normal(24) / 5,
    "b2": np.float64(0.0),
}
x = np.linspace(-2, 2, 80)[:, np.newaxis]
y = np.sin(3 * x[:, 0]) * np.exp(-(x[:, 0] ** 2) / 2) + 0.05 * rng.standard_normal(80)

# %%
# Derivatives
# -----------
#
# :py:func:`np.value_and_grad <npdec.value_and_grad>` differentiates with respect to the first argument and keeps its
# structure, so the gradient is a dict with the same keys. Loops, assignments and Python's ``if`` are differentiated as
# they run.

step = np.value_and_grad(loss)
losses = []
velocity = {name: np.zeros_like(p) for name, p in parameters.items()}
for _ in range(400):
    value, slope = step(parameters, x, y)
    velocity = {name: 0.9 * velocity[name] - 0.02 * g for name, g in slope.items()}
    parameters = {name: p + velocity[name] for name, p in parameters.items()}
    losses.append(float(value))
print(f"loss {losses[0]:.3f}, after {len(losses)} steps {losses[-1]:.4f}")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
axes[0].semilogy(losses, color="#0072b2")
axes[0].set(xlabel="step", ylabel="loss")
axes[1].plot(x[:, 0], y, ".", color="0.6", label="data")
axes[1].plot(x[:, 0], predict(parameters, x), color="#d55e00", label="fit")
axes[1].legend(frameon=False)
plt.show()

# %%
# The gradient agrees with central differences:

shifted = [{**parameters, "b2": parameters["b2"] + h} for h in (1e-5, -1e-5)]
central = (loss(shifted[0], x, y) - loss(shifted[1], x, y)) / 2e-5
print(float(step(parameters, x, y)[1]["b2"]), float(central))

# %%
# Batches
# -------
#
# :py:func:`np.vmap <npdec.vmap>` runs a function of one sample on many samples at once. Here it computes the gradient
# for each sample, without a loop.

each = np.vmap(np.grad(loss), (None, 0, 0))(parameters, x, y)
print("one gradient for each sample:", {name: g.shape for name, g in each.items()})
assert np.allclose(each["w1"].mean(0), step(parameters, x, y)[1]["w1"])

# %%
# Compilation
# -----------
#
# :py:func:`np.jit <npdec.jit>` records what a function does with arrays and passes the graph to the compiler of
# ``torch.compile``. The compiled function writes into the same arrays and returns the same views. The first call takes
# seconds to compile. This page uses ``backend="eager"``, which runs the graph without compiling, so that it builds
# quickly.


@np.jit(backend="eager")
def smooth(u, steps):
    for _ in range(steps):
        u[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[2:] + u[:-2])
    return u[1:-1]


u = np.zeros(9)
u[4] = 16.0
inner = smooth(u, 2)
print(u, "a view of its argument:", inner.base is u)

# %%
# torch on either side
# --------------------
#
# ``.tensor`` gives the tensor of an array, and ``np.asarray`` turns a tensor into an array. Both share memory, so
# torch's optimizers can train NumPy code. ``np.set_default_device("cuda")`` makes arrays on another device.

weights = torch.zeros(2, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.LBFGS([weights])


def closure():
    optimizer.zero_grad()
    w = np.asarray(weights)
    error = ((w[0] * np.exp(-w[1] * np.arange(4.0)) - np.array([2.0, 1.0, 0.5, 0.25])) ** 2).sum()
    error.tensor.backward()
    return error.tensor


for _ in range(20):
    optimizer.step(closure)
print("2 · exp(−ln 2 · t):", weights.detach().numpy().round(6))

# %%
# See :doc:`/func` for the differences from jax and autograd, and :doc:`/compile` for what ``np.jit`` refuses.
