"""
A torch transformer, token by token
===================================

In this tutorial you train torch's own ``nn.TransformerEncoder`` for a few seconds to score sentences, and then plot how
much each token contributed to a score. The model is not edited, and there are no hooks or downloads.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import npdec as np

# %%
# The model
# ---------
#
# Sentences consist of ``good``, ``bad``, ``fine``, ``very`` and ``not``. The score of a sentence is the sum of its
# words' scores, where ``very`` doubles the next word and ``not`` reverses its sign.

torch.manual_seed(0)
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
error = float((model(words) - worth).abs().mean())
print(f"mean error {error:.2f}; the scores have a deviation of {float(worth.std()):.2f}")

# %%
# Mark the tokens
# ---------------
#
# Decompose the embeddings of the tokens, with one component per position of the sentence (``axis=1``). The baseline is
# the mean embedding, which stands for a word without meaning. A decomposed tensor is a ``torch.Tensor``, so the model
# takes it.

text = "good very bad fine not good".split()
words = torch.tensor([[WORDS.index(word) for word in text]])
labels = [f"{i} {word}" for i, word in enumerate(text)]
embedded = np.decompose(model.words(words), axis=1, baseline=model.words.weight.mean(0), labels=labels)
y = model.read(embedded)[0]
print(y.contributions())

# %%
# Plot the tokens
# ---------------

y.plot.bar(title="What each token adds to the score")
plt.show()

# %%
# The second ``good`` adds next to nothing, although the word by itself scores two: ``not`` reversed it, and both share
# the loss.
#
# The same as coloured text:

y.plot.text(text, title="What each token adds to the score")

# %%
# The value is the one that the model computes without npdec. Only the last digits may differ, because torch has a fused
# kernel for encoders that it uses for plain tensors only.

print("value", float(y.value), "model", float(model(words)[0]))
print(f"off by {float(np.completeness(y).abs()):.1e}, in single precision")

# %%
# Tokens and layers
# -----------------
#
# Intermediate tensors carry contributions too. The heat map shows how much each token (across) contributed to each
# position (down) after the first layer.

layer = model.encoder.layers[0](embedded + model.places)
mixed = layer.components[:, 0].norm(dim=-1).T

figure, axes = plt.subplots(figsize=(5.5, 4), layout="constrained")
image = axes.imshow(mixed.numpy(), cmap="cividis")
axes.set_xticks(range(LENGTH), labels, rotation=45, ha="right")
axes.set_yticks(range(LENGTH), labels)
axes.set(xlabel="token", ylabel="position")
axes.set_title("contributions of tokens to positions after one layer", fontsize=10)
figure.colorbar(image, ax=axes, label="norm of the contribution")
plt.show()

# %%
# Which rules the model uses
# --------------------------
#
# :py:func:`np.overrides.coverage <npdec.overrides.coverage>` lists the functions of torch that the model calls, and how
# contributions pass through each. Here every function has a rule:

found = np.overrides.coverage(model.read, embedded)
print(found)
assert not found.missing

# %%
# For a language model, see :doc:`/guides/language_models`. ``examples/transformer.py`` trains a small GPT-2 from the
# transformers library and explains its next word.
