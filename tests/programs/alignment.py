"""Tables of dynamic programming: edit distance by diagonals, local alignment, warping, knapsack, chains of matrices."""

from itertools import pairwise

import numpy as np

DNA = "ACGT"


def encode(text):
    return np.array([DNA.index(c) for c in text], dtype=np.int8)


def levenshtein(a, b):
    """Row by row: the insertions within a row are a running minimum."""
    a, b = (np.frombuffer(s.encode(), dtype=np.uint8) for s in (a, b))
    offset = np.arange(b.size + 1)
    row = offset.copy()
    for i, c in enumerate(a, start=1):
        best = np.minimum(row[1:] + 1, row[:-1] + (b != c))
        row = np.minimum.accumulate(np.concatenate(([i], best)) - offset) + offset
    return row[-1]


def smith_waterman(a, b, score, gap):
    """The table of local scores, filled along its anti-diagonals."""
    n, m = len(a), len(b)
    H = np.zeros((n + 1, m + 1), dtype=score.dtype)
    match = score[a[:, None], b]
    for d in range(2, n + m + 1):
        i = np.arange(max(1, d - m), min(n, d - 1) + 1)
        j = d - i
        options = np.stack((H[i - 1, j - 1] + match[i - 1, j - 1], H[i - 1, j] - gap, H[i, j - 1] - gap))
        H[i, j] = np.maximum(options.max(axis=0), 0)
    return H, match


def traceback(H, match, gap, a, b):
    i, j = np.unravel_index(H.argmax(), H.shape)
    top, mid, low = [], [], []
    while H[i, j] > 0:
        if H[i, j] == H[i - 1, j - 1] + match[i - 1, j - 1]:
            i, j = i - 1, j - 1
            top.append(DNA[a[i]])
            low.append(DNA[b[j]])
            mid.append("|" if a[i] == b[j] else ".")
        elif H[i, j] == H[i - 1, j] - gap:
            i -= 1
            top.append(DNA[a[i]])
            mid.append(" ")
            low.append("-")
        else:
            j -= 1
            top.append("-")
            mid.append(" ")
            low.append(DNA[b[j]])
    return ["".join(reversed(line)) for line in (top, mid, low)], (int(i), int(j))


def warp(x, y, window=None):
    """Dynamic time warping: the distance, and the path as two arrays of indices."""
    cost = np.abs(x[:, None] - y[None, :])
    if window is not None:
        i, j = np.indices(cost.shape)
        cost[np.abs(i - j) > window] = np.inf
    D = np.full(np.add(cost.shape, 1), np.inf)
    D[0, 0] = 0
    for i in range(1, D.shape[0]):
        for j in range(1, D.shape[1]):
            D[i, j] = cost[i - 1, j - 1] + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    i, j = cost.shape
    path = [(i - 1, j - 1)]
    while (i, j) != (1, 1):
        steps = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
        i, j = min(steps, key=lambda s: D[s])
        path.append((i - 1, j - 1))
    return D[-1, -1], np.array(path[::-1]).T


def knapsack(weights, values, capacity):
    """0/1: each item updates the row from a shifted copy of itself."""
    best = np.zeros(capacity + 1, dtype=np.int64)
    taken = np.zeros((len(weights), capacity + 1), dtype=bool)
    for k, (w, v) in enumerate(zip(weights, values)):
        candidate = best[:-w] + v
        np.greater(candidate, best[w:], out=taken[k, w:])
        np.maximum(best[w:], candidate, out=best[w:])
    c, chosen = capacity, []
    for k in range(len(weights) - 1, -1, -1):
        if taken[k, c]:
            chosen.append(k)
            c -= weights[k]
    return best, sorted(chosen)


def matrix_chain(dims):
    n = len(dims) - 1
    cost, cut = np.zeros((n, n), dtype=int), np.zeros((n, n), dtype=int)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            k = np.arange(i, j)
            total = cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1]
            cut[i, j] = k[total.argmin()]
            cost[i, j] = total.min()

    def brackets(i, j):
        if i == j:
            return "ABCDEFGH"[i]
        return f"({brackets(i, cut[i, j])}{brackets(cut[i, j] + 1, j)})"

    return cost, brackets(0, n - 1)


def floyd_warshall(w):
    d = w.copy()
    via = np.where(np.isfinite(w), np.arange(len(w))[:, None], -1)
    for k in range(len(d)):
        through = d[:, k, None] + d[None, k, :]
        shorter = through < d
        d[shorter] = through[shorter]
        via = np.where(shorter, via[k], via)
    return d, via


def seam(energy):
    """The cheapest path from top to bottom of a picture."""
    total = energy.astype(float)
    for above, row in pairwise(total):
        padded = np.pad(above, 1, constant_values=np.inf)
        row += np.lib.stride_tricks.sliding_window_view(padded, 3).min(axis=1)
    columns = [int(total[-1].argmin())]
    for row in total[-2::-1]:
        c = columns[-1]
        lo = max(c - 1, 0)
        columns.append(lo + int(np.argmin(row[lo : c + 2])))
    return total, columns[::-1]


def main():
    pairs = [("kitten", "sitting"), ("intention", "execution"), ("", "abc"), ("same", "same")]
    distances = [levenshtein(*p) for p in pairs]
    print({f"{a}/{b}": int(d) for (a, b), d in zip(pairs, distances)})
    a, b = encode("ACACACTATTGACCGT"), encode("AGCACACATTGCCG")
    score = np.where(np.eye(4, dtype=bool), 3, -2)
    H, match = smith_waterman(a, b, score, gap=2)
    lines, start = traceback(H, match, 2, a, b)
    print(*lines, start, H.max(), sep="\n")
    print(H[::3, ::3])
    t = np.linspace(0, 2 * np.pi, 14)
    distance, path = warp(np.sin(t), np.sin(1.2 * t - 0.3))
    banded, _ = warp(np.sin(t), np.cos(t), window=3)
    print(f"warped {distance:.4f}, banded {banded:.4f}")
    print(path)
    weights, values = np.array([12, 7, 11, 8, 9]), np.array([24, 13, 23, 15, 16])
    best, chosen = knapsack(weights, values, 26)
    print("knapsack:", best[-1], chosen, values[chosen].sum(), weights[chosen].sum())
    cost, brackets = matrix_chain(np.array([30, 35, 15, 5, 10, 20, 25]))
    print(cost[0, -1], brackets)
    w = np.full((5, 5), np.inf)
    np.fill_diagonal(w, 0)
    tail, head = np.array([0, 0, 1, 1, 2, 3, 4, 4]), np.array([1, 2, 2, 3, 4, 0, 3, 1])
    w[tail, head] = [3, 8, 2, 5, 1, 2, 4, 7]
    shortest, via = floyd_warshall(w)
    print(shortest)
    energy = np.random.default_rng(8).integers(0, 10, (6, 7))
    total, columns = seam(energy)
    energy[np.arange(6), columns] = -1
    print(energy)
    return dict(
        distances=distances,
        H=H,
        warped=(distance, path, banded),
        best=best,
        chosen=chosen,
        cost=cost,
        shortest=shortest,
        via=via,
        total=total,
        columns=columns,
    )
