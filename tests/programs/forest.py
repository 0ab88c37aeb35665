"""A regression and a classification tree grown by sorted cumulative sums, pruned, bagged; recursion on index arrays."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Node:
    value: np.ndarray
    size: int
    feature: int = -1
    threshold: float = np.nan
    left: "Node | None" = None
    right: "Node | None" = None

    @property
    def is_leaf(self):
        return self.left is None

    def leaves(self):
        return 1 if self.is_leaf else self.left.leaves() + self.right.leaves()


class Tree:
    """Splits by the largest drop of squared error; with one-hot targets that is Gini's."""

    def __init__(self, depth=3, least=2, features=None, rng=None):
        self.depth, self.least, self.features, self.rng = depth, least, features, rng

    def fit(self, X, Y):
        self.X, self.Y = X, Y.reshape(len(Y), -1)
        self.importance = np.zeros(X.shape[1])
        self.root = self._grow(np.arange(len(X)), self.depth)
        self.importance /= self.importance.sum() or 1
        return self

    def _grow(self, rows, depth):
        Y = self.Y[rows]
        node = Node(Y.mean(axis=0), rows.size)
        if depth == 0 or rows.size < 2 * self.least or np.ptp(Y, axis=0).max() == 0:
            return node
        split = self._best(rows)
        if split is None:
            return node
        gain, node.feature, node.threshold = split
        self.importance[node.feature] += gain
        goes_left = self.X[rows, node.feature] <= node.threshold
        node.left = self._grow(rows[goes_left], depth - 1)
        node.right = self._grow(rows[~goes_left], depth - 1)
        return node

    def _best(self, rows):
        columns = np.arange(self.X.shape[1])
        if self.features is not None:
            columns = np.sort(self.rng.choice(columns, self.features, replace=False))
        sub = self.X[np.ix_(rows, columns)]
        order = np.argsort(sub, axis=0, kind="stable")
        x = np.take_along_axis(sub, order, axis=0)
        y = self.Y[rows][order]  # rows, features, targets
        left = y.cumsum(axis=0)[:-1]
        total = y.sum(axis=0)
        n = np.arange(1, len(rows))[:, None]
        gain = ((left**2).sum(-1) / n + ((total - left) ** 2).sum(-1) / (len(rows) - n)) - (total**2).sum(-1) / len(
            rows
        )
        allowed = (x[1:] > x[:-1]) & (n >= self.least) & (len(rows) - n >= self.least)
        gain = np.where(allowed, gain, -np.inf)
        i, j = np.unravel_index(np.argmax(gain), gain.shape)
        if not np.isfinite(gain[i, j]) or gain[i, j] <= 1e-12:
            return None
        return gain[i, j], columns[j], (x[i, j] + x[i + 1, j]) / 2

    def predict(self, X):
        out = np.empty((len(X), self.Y.shape[1]))

        def walk(node, rows):
            if not rows.size:
                return
            if node.is_leaf:
                out[rows] = node.value
                return
            mask = X[rows, node.feature] <= node.threshold
            walk(node.left, rows[mask])
            walk(node.right, rows[~mask])

        walk(self.root, np.arange(len(X)))
        return out

    def show(self, node=None, indent=0):
        node = node or self.root
        pad = "|  " * indent
        if node.is_leaf:
            print(f"{pad}{np.array2string(node.value, precision=2)} ({node.size})")
            return
        print(f"{pad}x[{node.feature}] <= {node.threshold:.4f}")
        self.show(node.left, indent + 1)
        self.show(node.right, indent + 1)


def forest(X, Y, count, seed):
    rng = np.random.default_rng(seed)
    votes, used = np.zeros((len(X), Y.shape[1])), np.zeros(len(X), dtype=int)
    importance = np.zeros(X.shape[1])
    for _ in range(count):
        rows = rng.integers(len(X), size=len(X))
        held = np.ones(len(X), dtype=bool)
        held[rows] = False
        tree = Tree(depth=4, features=2, rng=rng).fit(X[rows], Y[rows])
        votes[held] += tree.predict(X[held])
        used[held] += 1
        importance += tree.importance
    ok = used > 0
    return np.divide(votes, used[:, None], out=np.zeros_like(votes), where=ok[:, None]), ok, importance / count


def main():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (90, 4)).round(3)
    label = (np.hypot(X[:, 0], X[:, 1]) > 0.7).astype(int) + (X[:, 2] > 0.4)
    onehot = np.eye(3)[label]
    tree = Tree(depth=3, least=3).fit(X, onehot)
    tree.show()
    guess = tree.predict(X).argmax(axis=1)
    print("accuracy", np.mean(guess == label), "leaves", tree.root.leaves())
    y = 2 * X[:, 0] - X[:, 3] ** 2 + 0.1 * rng.standard_normal(len(X))
    curve = [((Tree(depth=d).fit(X, y).predict(X)[:, 0] - y) ** 2).mean() for d in range(5)]
    print("mse", *(f"{m:.4f}" for m in curve))
    votes, ok, importance = forest(X, onehot, 7, seed=9)
    oob = (votes[ok].argmax(1) == label[ok]).mean()
    ranked = np.argsort(-importance, kind="stable")
    print(f"out of bag {oob:.3f}, features {ranked.tolist()}, importance {np.round(importance[ranked], 3)}")
    return dict(guess=guess, curve=curve, votes=votes, ok=ok, importance=importance, first=tree.importance)
