"""Which words say what a passage is about: a text classifier, trained in seconds, explained word by word.

    python examples/passages.py [--out words.html] ["all images show faces of famous people on the internet"]

The texts are the descriptions that scikit-learn bundles with its data sets, cut into passages: nothing is downloaded.
The network (embeddings, attention of two heads, a linear layer) learns whether a passage describes data of medicine, of
pictures, of texts or of the land. It is ordinary torch; `np.decompose` marks the embeddings by word, from the mean
embedding, a word without meaning. The contributions of the words to the lead of the guess over the other classes add up
to that lead, less that of the baseline; the page that is written shows them as colours.

It needs scikit-learn.
"""

import argparse
import re
from importlib import resources

import torch

import npdec as np

CLASSES = {
    "medicine": ("breast_cancer", "diabetes", "linnerud"),
    "pictures": ("digits", "lfw", "olivetti_faces"),
    "texts": ("twenty_newsgroups", "rcv1"),
    "land": ("california_housing", "covtype", "iris", "species_distributions", "wine_data"),
}
LENGTH = 12  # words of a passage
UNKNOWN = 0


def passages():
    """Lists of words, and the class of each."""
    found, labels = [], []
    for label, names in enumerate(CLASSES.values()):
        for name in names:
            text = resources.files("sklearn.datasets.descr").joinpath(f"{name}.rst").read_text("utf-8")
            words = re.findall(r"[a-z]{2,}", re.sub(r"`[^`]*`|http\S+|:\w+:", " ", text.lower()))
            pieces = [words[i : i + LENGTH] for i in range(0, len(words) - LENGTH + 1, LENGTH // 2)]
            found += pieces
            labels += [label] * len(pieces)
    return found, torch.tensor(labels)


class Classifier(torch.nn.Module):
    """From embeddings (m, words, size) to scores (m, classes)."""

    def __init__(self, count, size=32):
        super().__init__()
        self.embed = torch.nn.Embedding(count, size)
        self.attend = torch.nn.MultiheadAttention(size, 2, batch_first=True)
        self.score = torch.nn.Linear(size, len(CLASSES))

    def forward(self, embedded):
        met, _ = self.attend(embedded, embedded, embedded, need_weights=False)
        return self.score(torch.tanh(embedded + met).mean(1))


def numbered(words, places):
    return torch.tensor([[places.get(word, UNKNOWN) for word in piece] for piece in words])


def train(seed=0, epochs=30):
    """The network, the number of each word, how many passages that it has not seen it guesses right, and how many of
    these are of the commonest class."""
    words, labels = passages()
    torch.manual_seed(seed)
    order = torch.randperm(len(words) // 20) * 20  # every twentieth stretch of ten passages is held out
    held = {int(first) + i for first in order[: len(order) // 4] for i in range(10)}
    seen = torch.tensor([i for i in range(len(words)) if i not in held])
    new = torch.tensor(sorted(i for i in held if i < len(words)))
    known = [word for i in seen.tolist() for word in words[i]]
    common = sorted(word for word in set(known) if known.count(word) > 2)
    places = {word: i for i, word in enumerate(common, UNKNOWN + 1)}
    table = numbered(words, places)
    net = Classifier(len(places) + 1).double()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.1)
    for _ in range(epochs):
        for some in seen[torch.randperm(len(seen))].split(32):
            rows = torch.where(torch.rand(len(some), LENGTH) < 0.1, UNKNOWN, table[some])  # words may be unknown
            loss = torch.nn.functional.cross_entropy(net(net.embed(rows)), labels[some])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    net.eval().requires_grad_(False)
    right = net(net.embed(table[new])).argmax(1) == labels[new]
    return net, places, float(right.double().mean()), float(labels[new].bincount().max() / len(new))


def explain(net, places, words):
    """The guess, and the lead of its score over the mean of the others, decomposed by word."""
    embedded = net.embed(numbered([words], places))
    labels = [f"{i} {word}" for i, word in enumerate(words)]
    marked = np.decompose(embedded, axis=1, baseline=net.embed.weight.mean(0), labels=labels)
    scores = net(marked)[0]
    guess = int(scores.value.argmax())
    others = [i for i in range(len(CLASSES)) if i != guess]
    return list(CLASSES)[guess], scores[guess] - scores[others].mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", nargs="?", default="images show the faces of people and the pixels of each picture")
    parser.add_argument("--out", default="words.html")
    options = parser.parse_args()
    net, places, right, commonest = train()
    words = re.findall(r"[a-z]{2,}", options.text.lower())
    guess, lead = explain(net, places, words)
    print(f"{right:.0%} of the passages that were held out are guessed right; {commonest:.0%} are of one class")
    print(f"{guess}: {' '.join(words)}")
    print(lead.contributions())
    missed = lead.value - lead.residual - lead.components.sum()
    print(f"the contributions miss the change of the lead by {abs(float(missed)):.0e}")
    lead.plot.text(words, title=f"What says: {guess}").save(options.out)
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
