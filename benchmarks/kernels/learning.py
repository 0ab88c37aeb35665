"""Training loops, layers, filters and what is drawn at random."""

import numpy as np


def logistic_regression(x, y, rate, steps):
    """Gradient descent with a penalty."""
    w = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-(x @ w)))
        w -= rate * (x.T @ (p - y) / len(y) + 0.01 * w)
    return w


def two_layers(x, y, w1, w2, steps):
    """A network with its gradient written out."""
    losses = []
    for _ in range(steps):
        hidden = np.tanh(x @ w1)
        error = hidden @ w2 - y
        losses.append((error**2).mean())
        slope = 2 * error / error.size
        back = slope @ w2.T * (1 - hidden**2)
        w2 = w2 - 0.1 * hidden.T @ slope
        w1 = w1 - 0.1 * x.T @ back
    return w1, w2, np.array(losses)


def adam(x, y, params, steps):
    """Kingma and Ba's steps on a dict of parameters, changed in place."""
    first = {k: np.zeros_like(v) for k, v in params.items()}
    second = {k: np.zeros_like(v) for k, v in params.items()}
    for t in range(1, steps + 1):
        error = x @ params["w"] + params["b"] - y
        slopes = {"w": x.T @ error / len(x), "b": error.mean(0)}
        for k, slope in slopes.items():
            first[k] = 0.9 * first[k] + 0.1 * slope
            second[k] = 0.999 * second[k] + 0.001 * slope**2
            params[k] -= 0.01 * (first[k] / (1 - 0.9**t)) / (np.sqrt(second[k] / (1 - 0.999**t)) + 1e-8)
    return params


def centres(x, middle, rounds):
    """Lloyd's rounds of k means."""
    for _ in range(rounds):
        far = ((x[:, None, :] - middle) ** 2).sum(-1)
        member = far.argmin(1)[:, None] == np.arange(len(middle))
        middle = member.T @ x / np.maximum(member.sum(0), 1)[:, None]
    return middle, far.min(1).sum()


def attention(x, wq, wk, wv, heads):
    """A layer of a transformer: norm, heads, softmax, residual."""
    n, d = x.shape
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    q, k, v = ((normal @ w).reshape(n, heads, d // heads).transpose(1, 0, 2) for w in (wq, wk, wv))
    score = q @ k.transpose(0, 2, 1) / np.sqrt(d // heads)
    score = np.where(np.tri(n, dtype=bool), score, -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    return x + (weight @ v).transpose(1, 0, 2).reshape(n, d)


def recurrent(x, w, u, b):
    """A gated recurrent unit along a sequence of batches."""
    h = np.zeros((x.shape[1], u.shape[0]))
    for t in range(len(x)):
        gates = x[t] @ w + h @ u + b
        z, r, n = np.split(gates, 3, axis=1)
        z, r = 1 / (1 + np.exp(-z)), 1 / (1 + np.exp(-r))
        h = (1 - z) * np.tanh(n * r) + z * h
    return h


def kalman(y, f, q, r):
    """Kalman's filter of one coordinate of a state, with its likelihood."""
    mean, cov, fit = np.zeros(len(f)), np.eye(len(f)), 0.0
    means = np.empty((len(y), len(f)))
    for t in range(len(y)):
        mean, cov = f @ mean, f @ cov @ f.T + q
        spread = cov[0, 0] + r
        gain, wrong = cov[:, 0] / spread, y[t] - mean[0]
        mean = mean + gain * wrong
        cov = cov - np.outer(gain, cov[0])
        fit = fit - 0.5 * (np.log(2 * np.pi * spread) + wrong**2 / spread)
        means[t] = mean
    return means, fit


def particles(seen, moved, offset):
    """A particle filter with systematic resampling; what is drawn is given."""
    n = moved.shape[1]
    x, fit = moved[0], 0.0
    places = (np.arange(n) + offset[:, None]) / n
    for t in range(len(seen)):
        x = 0.9 * x + 0.3 * moved[t]
        weight = np.exp(-0.5 * (seen[t] - x) ** 2)
        fit = fit + np.log(weight.mean())
        edges = np.cumsum(weight / weight.sum())
        x = x[np.minimum(np.searchsorted(edges, places[t]), n - 1)]
    return x.mean(), fit


def option(draws, spot, strike):
    """An option on the mean of a path, its price and error by Monte Carlo."""
    step = 1.0 / draws.shape[1]
    path = spot * np.exp(np.cumsum(0.02 * step + 0.2 * np.sqrt(step) * draws, axis=1))
    gain = np.maximum(path.mean(1) - strike, 0.0)
    return gain.mean() * np.exp(-0.04), gain.std() / np.sqrt(len(gain))


def ising(spins, draws, steps):
    """Metropolis' steps on the two colours of a board, in place."""
    rows, columns = np.indices(spins.shape)
    for t in range(steps):
        for colour in (0, 1):
            around = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            flip = draws[t] < np.exp(-0.8 * spins * around)
            spins[flip & ((rows + columns) % 2 == colour)] *= -1
    return spins.mean()


def walks(rng, paths, steps):
    """Random walks of a generator that is given, and how far they come."""
    x = rng.normal(size=(paths, steps)).cumsum(1)
    return x[:, -1].std(), np.abs(x).max(1).mean()


def bootstrap(x, places):
    """The error of a median-like mean, by resampling."""
    means = x[places].mean(1)
    low, high = np.quantile(means, [0.05, 0.95])
    return means.std(ddof=1), low, high


def cases(rng):
    """Arguments by name: small ones and real ones."""
    make = lambda *shape: rng.random(shape)  # noqa: E731
    normal = lambda *shape: rng.normal(size=shape)  # noqa: E731
    board = lambda n: np.where(make(n, n) < 0.5, -1, 1)  # noqa: E731
    some = lambda n, d, k: (normal(n, d), normal(n, k))  # noqa: E731
    yield logistic_regression, (normal(9, 3), make(9) < 0.5, 0.5, 5), (normal(20_000, 20), make(20_000) < 0.5, 0.5, 30)
    yield two_layers, (*some(8, 3, 1), make(3, 4), make(4, 1), 3), (*some(4000, 20, 2), make(20, 64), make(64, 2), 10)
    params = lambda d, k: {"w": make(d, k), "b": make(k)}  # noqa: E731
    yield adam, (*some(8, 3, 2), params(3, 2), 3), (*some(4000, 30, 5), params(30, 5), 15)
    yield centres, (make(12, 2), make(3, 2), 3), (make(20_000, 3), make(10, 3), 8)
    yield attention, (normal(5, 8), *make(3, 8, 8), 2), (normal(256, 128), *make(3, 128, 128), 8)
    yield recurrent, (make(4, 2, 3), make(3, 9), make(3, 9), make(9)), (
        make(20, 64, 32), make(32, 192), make(64, 192), make(192))  # fmt: skip
    yield kalman, (make(6), make(2, 2), np.eye(2), 0.5), (make(60), make(4, 4) / 3, np.eye(4), 0.5)
    yield particles, (make(4), normal(4, 10), make(4)), (make(12), normal(12, 20_000), make(12))
    yield option, (normal(10, 5), 100.0, 100.0), (normal(20_000, 30), 100.0, 100.0)
    yield ising, (board(6), make(3, 6, 6), 3), (board(200), make(8, 200, 200), 8)
    yield walks, (np.random.default_rng(7), 6, 5), (np.random.default_rng(7), 5000, 60)
    yield bootstrap, (make(10), rng.integers(0, 10, (6, 10))), (make(2000), rng.integers(0, 2000, (200, 2000)))
