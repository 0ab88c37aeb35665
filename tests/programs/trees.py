"""A decision tree and boosted stumps."""

import numpy as np


def gini(y):
    _, counts = np.unique(y, return_counts=True)
    p = counts / counts.sum()
    return 1 - (p**2).sum()


def best_split(X, y):
    best = (None, None, np.inf)
    for j in range(X.shape[1]):
        for t in np.unique(X[:, j])[:-1]:
            left = X[:, j] <= t
            if left.sum() < 2 or (~left).sum() < 2:
                continue
            score = (left.sum() * gini(y[left]) + (~left).sum() * gini(y[~left])) / len(y)
            if score < best[2]:
                best = (j, t, score)
    return best


def grow(X, y, depth=0):
    vals, counts = np.unique(y, return_counts=True)
    if depth == 2 or len(vals) == 1:
        return {"leaf": int(vals[np.argmax(counts)]), "n": len(y)}
    j, t, s = best_split(X, y)
    if j is None:
        return {"leaf": int(vals[counts.argmax()]), "n": len(y)}
    m = X[:, j] <= t
    return {"feature": j, "t": t, "left": grow(X[m], y[m], depth + 1), "right": grow(X[~m], y[~m], depth + 1)}


def predict(node, x):
    while "leaf" not in node:
        node = node["left"] if x[node["feature"]] <= node["t"] else node["right"]
    return node["leaf"]


def show(node, indent=""):
    if "leaf" in node:
        print(f"{indent}-> {node['leaf']} (n={node['n']})")
        return
    print(f"{indent}x{node['feature']} <= {node['t']:.3f}")
    show(node["left"], indent + "  ")
    show(node["right"], indent + "  ")


def boost(X, y, rounds=5, lr=0.3):
    F = np.full(len(y), y.mean())
    stumps = []
    for _ in range(rounds):
        r = y - F
        best = None
        for j in range(X.shape[1]):
            order = np.argsort(X[:, j], kind="stable")
            cs = np.cumsum(r[order])
            n = np.arange(1, len(r))
            total = cs[-1]
            gain = cs[:-1] ** 2 / n + (total - cs[:-1]) ** 2 / (len(r) - n)
            i = gain.argmax()
            if best is None or gain[i] > best[0]:
                best = (gain[i], j, X[order[i : i + 2], j].mean(), cs[i] / (i + 1), (total - cs[i]) / (len(r) - i - 1))
        stumps.append(best)
        _, j, t, a, b = best
        F += lr * np.where(X[:, j] <= t, a, b)
    return F, stumps


def main():
    rng = np.random.default_rng(7)
    X = rng.random((40, 3)).round(2)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0.8).astype(int) + (X[:, 2] > 0.9)
    tree = grow(X, y)
    show(tree)
    pred = np.array([predict(tree, x) for x in X])
    F, stumps = boost(X, y.astype(float))
    print([round(float(s[2]), 3) for s in stumps])
    print(stumps[0][1:3])
    cm = np.zeros((3, 3), int)
    np.add.at(cm, (y, pred), 1)
    return dict(
        tree=tree,
        pred=pred,
        acc=np.mean(pred == y),
        F=F,
        stumps=stumps,
        cm=cm,
        err=np.count_nonzero(pred != y),
        g=gini(y),
    )
