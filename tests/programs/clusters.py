"""k-means: k-means++ seeding, Lloyd's iteration, empty clusters, silhouettes, and a mixture of Gaussians."""

import numpy as np


class KMeans:
    def __init__(self, k, *, iterations=50, seed=None):
        self.k, self.iterations = k, iterations
        self.rng = np.random.default_rng(seed)

    def _seed(self, X):
        n = len(X)
        centres = np.empty((self.k, X.shape[1]))
        centres[0] = X[self.rng.integers(n)]
        nearest = ((X - centres[0]) ** 2).sum(axis=1)
        for j in range(1, self.k):
            pick = np.searchsorted(np.cumsum(nearest), self.rng.random() * nearest.sum())
            centres[j] = X[pick]
            np.minimum(nearest, ((X - centres[j]) ** 2).sum(axis=1), out=nearest)
        return centres

    @staticmethod
    def distances(X, C):
        d = np.einsum("ij,ij->i", X, X)[:, None] - 2 * X @ C.T + np.einsum("ij,ij->i", C, C)
        return np.maximum(d, 0, out=d)

    def fit(self, X):
        C = self._seed(X)
        history = []
        for step in range(self.iterations):
            D = self.distances(X, C)
            labels = D.argmin(axis=1)
            history.append(np.take_along_axis(D, labels[:, None], axis=1).sum())
            sums, counts = np.zeros_like(C), np.bincount(labels, minlength=self.k)
            np.add.at(sums, labels, X)
            if (empty := counts == 0).any():
                far = np.argsort(D.min(axis=1))[::-1][: empty.sum()]
                sums[empty], counts[empty] = X[far], 1
            new = sums / counts[:, np.newaxis]
            shift = np.linalg.norm(new - C, axis=1).max()
            C[...] = new
            if shift < 1e-9:
                break
        self.centres, self.labels, self.inertia = C, labels, history[-1]
        self.history, self.steps = np.array(history), step + 1
        return self


def silhouette(X, labels):
    D = np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(-1))
    kinds = np.unique(labels)
    to = np.stack([D[:, labels == k].sum(1) for k in kinds], axis=1)
    size = np.array([np.count_nonzero(labels == k) for k in kinds])
    own = np.arange(len(X)), np.searchsorted(kinds, labels)
    a = to[own] / np.maximum(size[own[1]] - 1, 1)
    means = to / size
    means[own] = np.inf
    b = means.min(axis=1)
    return (b - a) / np.maximum(a, b)


def mixture(X, means, steps=10):
    """Expectation and maximisation, with full covariances, in logarithms."""
    k, d = means.shape
    cov = np.repeat(np.cov(X, rowvar=False)[None], k, axis=0)
    weight = np.full(k, 1 / k)
    trace = []
    for _ in range(steps):
        diff = X[:, None] - means
        maha = np.einsum("nki,kij,nkj->nk", diff, np.linalg.inv(cov), diff)
        sign, logdet = np.linalg.slogdet(cov)
        assert (sign > 0).all()
        logp = np.log(weight) - 0.5 * (maha + logdet + d * np.log(2 * np.pi))
        norm = np.logaddexp.reduce(logp, axis=1, keepdims=True)
        trace.append(float(norm.mean()))
        r = np.exp(logp - norm)
        total = r.sum(0)
        weight = total / len(X)
        means = r.T @ X / total[:, None]
        diff = X[:, None] - means
        cov = np.einsum("nk,nki,nkj->kij", r, diff, diff) / total[:, None, None] + 1e-6 * np.eye(d)
    return weight, means, cov, trace


def confusion(a, b):
    table = np.zeros((a.max() + 1, b.max() + 1), dtype=int)
    np.add.at(table, (a, b), 1)
    return table


def main():
    rng = np.random.default_rng(11)
    truth = np.repeat(np.arange(3), [30, 40, 20])
    X = rng.normal(size=(truth.size, 2)) * 0.6 + np.array([[0, 0], [3, 1], [1, 4]])[truth]
    shuffled = rng.permutation(len(X))
    X, truth = X[shuffled], truth[shuffled]
    X -= X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)

    runs = [KMeans(3, seed=s).fit(X) for s in range(3)]
    best = min(runs, key=lambda m: m.inertia)
    print("inertia:", [f"{m.inertia:.3f}" for m in runs], "steps:", [m.steps for m in runs])
    order = np.lexsort(best.centres.T[::-1])
    relabel = np.empty(3, dtype=np.intp)
    relabel[order] = np.arange(3)
    labels = relabel[best.labels]
    print(best.centres[order])
    table = confusion(truth, labels)
    print(table, f"purity {table.max(axis=1).sum() / table.sum():.1%}")
    s = silhouette(X, labels)
    for k in np.unique(labels):
        part = s[labels == k]
        print(f"cluster {k}: n={part.size:3d} silhouette {part.mean():6.3f} in [{part.min():.3f}, {part.max():.3f}]")
    elbow = [KMeans(k, seed=5).fit(X).inertia for k in range(1, 6)]
    print(np.round(elbow, 2))
    weight, means, cov, trace = mixture(X, best.centres[order])
    assert np.all(np.diff(trace) > -1e-12)
    lo, hi = np.percentile(X, [5, 95], axis=0)
    inside = np.all((X > lo) & (X < hi), axis=1)
    return dict(
        histories=[m.history for m in runs],
        labels=labels,
        centres=best.centres,
        table=table,
        s=s,
        elbow=elbow,
        weight=weight,
        means=means,
        cov=cov,
        trace=trace,
        inside=inside,
        bounds=(lo, hi),
    )
