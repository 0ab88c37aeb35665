"""
What softmax attention mixes
============================

This is scaled dot-product attention in NumPy. Each output position is a mixture of all input positions. An attention
weight is not what a position contributes, because the weights depend on the inputs too.
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
read = mixed @ rng.standard_normal(8)  # a number for each output position

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
shown = axes[0].imshow(weights.value.T, cmap="cividis", vmin=0)
axes[0].set_xticks(range(5), labels, rotation=45, ha="right")
axes[0].set_yticks(range(5), labels)
axes[0].set_title("Attention weights", loc="left", weight="bold", fontsize=11)
figure.colorbar(shown, ax=axes[0])
read.plot.heatmap(labels, title="Contributions to what is read", ax=axes[1])
plt.show()

print("off by at most", float(np.abs(np.completeness(read)).max()))

# %%
# Colour the words by what they contribute to the last number:

read[-1].plot.text(WORDS, title="The last position")
