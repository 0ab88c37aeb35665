"""Index arrays and bits: sparse products, graphs, hashes."""

import numpy as np


def sparse_product(rows, columns, values, x):
    """A sparse matrix, given by its entries, times a vector."""
    y = np.zeros(len(x))
    np.add.at(y, rows, values * x[columns])
    return y


def page_rank(source, target, n, steps):
    """Where a surfer is who follows links."""
    out = np.bincount(source, minlength=n)
    share = 1.0 / np.maximum(out, 1)
    rank = np.full(n, 1.0 / n)
    for _ in range(steps):
        rank = 0.15 / n + 0.85 * np.bincount(target, weights=(rank * share)[source], minlength=n)
    return rank


def embedding(table, words, weights):
    """Weighted means of rows of a table."""
    return (table[words] * weights[:, :, None]).sum(1) / weights.sum(1, keepdims=True)


def gather_means(values, groups, n):
    """Mean and variance by group."""
    count = np.bincount(groups, minlength=n)
    mean = np.bincount(groups, weights=values, minlength=n) / np.maximum(count, 1)
    rest = values - mean[groups]
    return mean, np.bincount(groups, weights=rest * rest, minlength=n) / np.maximum(count, 1)


def shortest_paths(w):
    """Floyd and Warshall's, between all pairs."""
    d = w.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k])
    return d


def bellman_ford(source, target, length, n, rounds):
    """Distances from the first node, by edges."""
    far = np.full(n, np.inf)
    far[0] = 0.0
    for _ in range(rounds):
        np.minimum.at(far, target, far[source] + length)
    return far


def reached(adjacency, levels):
    """How many steps each node is away from the first."""
    level = np.full(len(adjacency), -1)
    front = np.zeros(len(adjacency), dtype=bool)
    front[0] = True
    for depth in range(levels):
        level = np.where(front & (level < 0), depth, level)
        front = (adjacency & front[:, None]).any(0) & (level < 0)
    return level


def components(source, target, n):
    """The least node that each node hangs together with: labels spread until none changes."""
    label = np.arange(n)
    changed = True
    while changed:
        before = label.copy()
        np.minimum.at(label, target, label[source])
        np.minimum.at(label, source, label[target])
        changed = bool((label != before).any())
    return label


def triangles(a):
    """Triangles of a graph, and how clustered its nodes are."""
    closed = (a @ a * a).sum(1)
    degree = a.sum(1)
    return closed.sum() / 6, closed / np.maximum(degree * (degree - 1), 1)


def bit_counts(x):
    """Ones of 64-bit integers, by masks."""
    x = x - ((x >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    x = x + (x >> 8)
    x = x + (x >> 16)
    return (x + (x >> 32)) & 0x7F


def scrambled(x, rounds):
    """Marsaglia's shifts, in 64 bits."""
    total = np.zeros_like(x)
    for _ in range(rounds):
        x = x ^ (x << 13)
        x = x ^ ((x >> 7) & 0x1FFFFFFFFFFFFFF)
        x = x ^ (x << 17)
        total += x & 0xFF
    return x, total


def interleaved(x, y):
    """Morton's order: the bits of two numbers in turns."""

    def spread(v):
        v = (v | (v << 8)) & 0x00FF00FF
        v = (v | (v << 4)) & 0x0F0F0F0F
        v = (v | (v << 2)) & 0x33333333
        return (v | (v << 1)) & 0x55555555

    return spread(x) | (spread(y) << 1)


def checksums(messages, table):
    """A cyclic redundancy check of many messages, byte by byte."""
    state = np.full(len(messages), 0xFFFFFFFF)
    for i in range(messages.shape[1]):
        state = table[(state ^ messages[:, i]) & 0xFF] ^ (state >> 8)
    return state ^ 0xFFFFFFFF


def cases(rng):
    """Arguments by name: small ones and real ones."""
    make = lambda *shape: rng.random(shape)  # noqa: E731
    below = lambda n, *shape: rng.integers(0, n, shape)  # noqa: E731
    entries = lambda n, k: (below(n, k), below(n, k), make(k))  # noqa: E731
    bits = lambda n: rng.integers(0, 2**62, n)  # noqa: E731
    graph = lambda n, p: np.triu(make(n, n) < p, 1).astype(float)  # noqa: E731
    both = lambda a: a + a.T  # noqa: E731
    yield sparse_product, (*entries(10, 20), make(10)), (*entries(50_000, 500_000), make(50_000))
    yield page_rank, (below(10, 30), below(10, 30), 10, 4), (below(20_000, 200_000), below(20_000, 200_000), 20_000, 10)
    yield embedding, (make(10, 4), below(10, 3, 2), make(3, 2)), (make(5000, 64), below(5000, 2000, 20), make(2000, 20))
    yield gather_means, (make(20), below(4, 20), 4), (make(500_000), below(1000, 500_000), 1000)
    yield shortest_paths, (make(6, 6),), (make(100, 100),)
    yield bellman_ford, (*entries(8, 20), 8, 4), (*entries(10_000, 100_000), 10_000, 8)
    yield reached, (make(8, 8) < 0.2, 4), (make(800, 800) < 0.005, 8)
    yield components, (below(10, 8), below(10, 8), 10), (below(20_000, 16_000), below(20_000, 16_000), 20_000)
    yield triangles, (both(graph(8, 0.4)),), (both(graph(600, 0.1)),)
    yield bit_counts, (bits(10),), (bits(500_000),)
    yield scrambled, (bits(10), 4), (bits(300_000), 10)
    yield interleaved, (below(2**16, 10), below(2**16, 10)), (below(2**16, 500_000), below(2**16, 500_000))
    yield checksums, (below(256, 3, 6), bits(256) & 0xFFFFFFFF), (below(256, 20_000, 40), bits(256) & 0xFFFFFFFF)
