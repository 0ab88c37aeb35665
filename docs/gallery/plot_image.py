"""
Patches of an image
===================

A small network learns to tell crosses from rings. Which patches of one image speak for the cross? ``groups=`` makes
each patch of the image one component."""

import matplotlib.pyplot as plt
import torch
from torch import nn

import npdec as np

torch.manual_seed(0)
SIZE = 24
rows, columns = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")


def images(count):
    """Rings (0) and crosses (1) at random places, with noise."""
    kind = torch.randint(2, (count,))
    y, x = torch.randint(8, SIZE - 8, (2, count, 1, 1))
    down, across = (rows - y).abs(), (columns - x).abs()
    ring = ((down**2 + across**2).sqrt() - 5).abs() < 1
    cross = ((down - across).abs() < 1) & (down < 6)
    drawn = torch.where(kind[:, None, None] == 1, cross, ring).float()
    return (drawn + 0.2 * torch.randn(count, SIZE, SIZE))[:, None], kind


net = nn.Sequential(
    nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(1),
    nn.Flatten(), nn.Linear(16, 2),
)  # fmt: skip
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(150):
    x, kind = images(64)
    loss = nn.functional.cross_entropy(net(x), kind)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.requires_grad_(False)
x, kind = images(300)
print(f"right: {float((net(x).argmax(1) == kind).float().mean()):.0%}")

# %%
# Plot the lead of "cross" over "ring" for one image, by patches of three by three pixels:

image = images(50)[0][0:1]
patches = (rows // 3 * (SIZE // 3) + columns // 3).expand(1, 1, SIZE, SIZE)
logits = net(np.decompose(image, groups=patches.numpy()))[0]
lead = logits[1] - logits[0]
lead.plot.image(image, shape=(SIZE // 3, SIZE // 3), title="Cross over ring")
plt.show()
