"""
What softmax attention mixes
============================

Scaled dot-product attention in NumPy. Each output position is a mixture of all input positions; how much of it each
one contributed is not the attention weight: the weights themselves moved, and contribute too.
"""

import matplotlib.pyplot as plt

import npdec as np

rng = np.random.default_rng(4)
WORDS = "the bank of the river".split()
labels = [f"{i} {word}" for i, word in enumerate(WORDS)]
tokens = rng.standard_normal((5, 8))
query, key, content = (rng.standard_normal((8, 8)) / np.sqrt(8) for _ in range(3))


def attention(x):
    scores = (x @ query) @ (x @ key).T / np.sqrt(8)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return weights, weights @ (x @ content)


weights, mixed = attention(np.decompose(tokens, axis=0, labels=labels))
given = np.linalg.norm(mixed.components, axis=2).T  # outputs by inputs

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for axis, image, title in [
    (axes[0], weights.value, "attention weights"),
    (axes[1], given, "norm of the contributions"),
]:
    shown = axis.imshow(image, cmap="cividis", vmin=0)
    axis.set_xticks(range(5), labels, rotation=45, ha="right")
    axis.set_yticks(range(5), labels)
    axis.set_title(title)
    figure.colorbar(shown, ax=axis, shrink=0.75)
plt.show()

print("off by at most", float(np.abs(np.completeness(mixed)).max()))
