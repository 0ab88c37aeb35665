"""
A torch transformer, token by token
===================================

``nn.TransformerEncoder`` as torch ships it, not edited, without hooks. It learns in seconds to read a number off a
sentence, and then each token says what it contributed to the number. Nothing is downloaded.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import npdec as np

torch.manual_seed(0)

# %%
# The model
# ---------
#
# The words of a sentence are ``good``, ``bad``, ``very``, ``not`` and ``fine``. A sentence is worth the sum of its
# words, where ``very`` doubles the next word and ``not`` turns it round.

WORDS = ["good", "bad", "fine", "very", "not"]
WORTH = torch.tensor([2.0, -2.0, 1.0, 0.0, 0.0])
LENGTH = 6


def sentences(count):
    words = torch.randint(5, (count, LENGTH))
    factor = torch.ones(count, LENGTH)
    factor[:, 1:] = torch.where(words[:, :-1] == 3, 2.0, torch.where(words[:, :-1] == 4, -1.0, 1.0))
    return words, (WORTH[words] * factor).sum(1)


class Reader(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words = nn.Embedding(5, width)
        self.places = nn.Parameter(torch.randn(LENGTH, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 1)

    def read(self, embedded):
        return self.head(self.encoder(embedded + self.places).sum(1)).squeeze(-1)

    def forward(self, words):
        return self.read(self.words(words))


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for _ in range(500):
    words, worth = sentences(64)
    loss = (model(words) - worth).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval().requires_grad_(False)
words, worth = sentences(500)
print(
    f"mean error {float((model(words) - worth).abs().mean()):.2f}, where the sentences vary by {float(worth.std()):.2f}"
)

# %%
# Mark the tokens
# ---------------
#
# Tokens have no numbers, their embeddings have. One component for each place of the sentence (``axis=1``); the
# baseline is the mean embedding, a word without meaning. A tensor that is decomposed is a ``torch.Tensor``, so the
# model takes it.

text = "good very bad fine not good".split()
words = torch.tensor([[WORDS.index(word) for word in text]])
labels = [f"{i} {word}" for i, word in enumerate(text)]
embedded = np.decompose(model.words(words), axis=1, baseline=model.words.weight.mean(0), labels=labels)
y = model.read(embedded)[0]
for label, share in zip(y.labels, y.components, strict=True):
    print(f"{label:8} {float(share):+6.2f}")
print(f"{'sum':8} {float(y.components.sum()):+6.2f}  = {float(y.value):.2f} - {float(y.residual):.2f}")

# %%
# The second ``good`` adds next to nothing, though the word is worth two by itself: ``not`` turned it round, and what
# the pair lost is shared by both.
#
# The value is what the module computes without npdec. torch has a fused kernel for encoders that it takes for plain
# tensors only; beside the functions of the module its last digits differ.

print("value", float(y.value), "model", float(model(words)[0]))
missing = float((y.value - y.residual - y.components.sum(0)).abs())
print(f"off by {missing:.1e}, in single precision")

# %%
# Tokens and layers
# -----------------
#
# Each intermediate tensor carries as well. Where does the number of each place come from, after the first layer? The
# heat map shows the size of what each token (across) contributed to each place (down).

layer = model.encoder.layers[0](embedded + model.places)
mixed = layer.components[:, 0].norm(dim=-1).T

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=[1, 1.2])
bars = y.components.tolist()
axes[0].barh(labels, bars, color=["#0072b2" if s > 0 else "#d55e00" for s in bars])
axes[0].invert_yaxis()
axes[0].axvline(0, color="0.3", linewidth=0.8)
axes[0].set_title(f"worth {float(y.value):.2f}, from {float(y.residual):.2f} without words", fontsize=10)
image = axes[1].imshow(mixed.numpy(), cmap="cividis")
axes[1].set_xticks(range(LENGTH), labels, rotation=45, ha="right")
axes[1].set_yticks(range(LENGTH), labels)
axes[1].set(xlabel="token", ylabel="place")
axes[1].set_title("after one layer: what each token gave each place", fontsize=10)
figure.colorbar(image, ax=axes[1], label="norm of the contribution")
plt.show()

# %%
# Which rules a model meets
# -------------------------
#
# :py:func:`np.overrides.coverage <npdec.overrides.coverage>` lists the functions of torch that decomposed tensors
# meet, and how contributions pass through each. None goes without a rule here:

found = np.overrides.coverage(model.read, embedded)
print(found)
assert not found.missing

# %%
# A language model is explained in the same way: ``examples/transformer.py`` trains a small GPT-2 of the transformers
# library and explains its next word.
