"""Hooks: of modules, which see decomposed tensors pass; of tensors and of backward, which see gradients of the value.

python examples/extending/hooks.py
"""

import torch

import npdec as np

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
d = np.decompose(x, axis=1, labels=["a", "b", "c"])

# A forward hook keeps what passes: the contributions to every hidden quantity, by one run.
kept = {}
handles = [
    module.register_forward_hook(lambda module, args, output, name=name: kept.__setitem__(name, output))
    for name, module in model.named_children()
]
made = model(d)
for name, hidden in kept.items():
    print(f"layer {name}: contributions of shape {tuple(hidden.components.shape)}")
    assert torch.allclose(hidden.value, hidden.c_sum())
assert torch.allclose(kept["0"].components.sum(0), x @ model[0].weight.T)
for handle in handles:
    handle.remove()

# A forward pre-hook may change what comes, a forward hook what goes.
handle = model[2].register_forward_pre_hook(lambda module, args: (args[0] * 2,))
doubled = model(d)
assert torch.equal(doubled.value, model(x))
handle.remove()
assert torch.allclose(doubled.components, 2 * made.components)

# Full backward hooks see the gradient of the value, as in a plain run.
seen = {"decomposed": [], "plain": []}
for run, argument in (("decomposed", d), ("plain", x)):
    handle = model[1].register_full_backward_hook(
        lambda module, inputs, outputs, run=run: seen[run].append((inputs[0], outputs[0]))
    )
    model(argument).sum().backward()
    handle.remove()
print("gradients seen by the backward hook:", [tuple(g.shape) for g in seen["decomposed"][0]])
assert all(torch.equal(a, b) for a, b in zip(*(seen[run][0] for run in seen)))

# A hook of a decomposed tensor is a hook of its value; those of contributions are hooks of `.components`.
hidden = torch.exp(d)
hidden.register_hook(lambda gradient: seen.setdefault("value", gradient))
hidden.components.register_hook(lambda gradient: seen.setdefault("components", gradient))
hidden.value.sum().backward(retain_graph=True)
(3 * hidden.components[0]).sum().backward()
print("hooks:", seen["value"].unique().tolist(), seen["components"].unique().tolist())
assert torch.equal(seen["value"], torch.ones_like(x))
assert torch.equal(seen["components"], torch.tensor([3.0, 0, 0], dtype=x.dtype)[:, None, None].expand(3, 5, 3))
