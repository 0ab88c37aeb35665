"""Dynamic programming and recurrences, of vectors and of single numbers."""

import numpy as np


def knapsack(values, weights, room):
    """The most that fits: each thing is taken once or not."""
    best = np.zeros(room + 1)
    for i, weight in enumerate(weights):
        new = best.copy()
        new[weight:] = np.maximum(best[weight:], best[:-weight] + values[i])
        best = new
    return best[-1], best


def edit_distance(a, b):
    """Levenshtein's, cell by cell."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    table[0] = np.arange(len(b) + 1)
    table[:, 0] = np.arange(len(a) + 1)
    for i in range(len(a)):
        for j in range(len(b)):
            change = table[i, j] + (a[i] != b[j])
            table[i + 1, j + 1] = np.minimum(change, np.minimum(table[i, j + 1], table[i + 1, j]) + 1)
    return table[-1, -1]


def warping(a, b):
    """Dynamic time warping of many pairs of series."""
    n, m = a.shape[1], b.shape[1]
    cost = np.full((n + 1, m + 1, len(a)), np.inf)
    cost[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            least = np.minimum(np.minimum(cost[i, j], cost[i, j + 1]), cost[i + 1, j])
            cost[i + 1, j + 1] = (a[:, i] - b[:, j]) ** 2 + least
    return cost[-1, -1]


def viterbi(start, move, seen):
    """The most probable states of many chains, and their probability."""
    score, back = start + seen[0], []
    for t in range(1, len(seen)):
        paths = score[:, :, None] + move
        back.append(paths.argmax(1))
        score = paths.max(1) + seen[t]
    state = score.argmax(1)
    path = [state]
    rows = np.arange(len(state))
    for choice in back[::-1]:
        state = choice[rows, state]
        path.append(state)
    return np.stack(path[::-1]), score.max(1)


def longest_rise(x):
    """The length of the longest rising subsequence, from the left to each place."""
    length = np.ones(len(x), dtype=np.int64)
    for i in range(1, len(x)):
        length[i] += np.where(x[:i] < x[i], length[:i], 0).max()
    return length


def smoothed(x, weight):
    """An exponential moving average, number by number."""
    out = np.empty_like(x)
    level = x[0]
    for i in range(len(x)):
        level = weight * x[i] + (1 - weight) * level
        out[i] = level
    return out


def logistic_map(x, rate, steps):
    """A number that becomes the next one."""
    for _ in range(steps):
        x = rate * x * (1.0 - x)
    return x


def epidemic(s, i, r, rates, days):
    """Susceptible, infected and recovered, in numbers, one day after the other."""
    history = np.zeros((days, 3))
    for day in range(days):
        new = rates[0] * s * i / (s + i + r)
        gone = rates[1] * i
        s, i, r = s - new, i + new - gone, r + gone
        history[day, 0], history[day, 1], history[day, 2] = s, i, r
    return history, history[:, 1].max()


def lorenz(state, step, steps):
    """Runge and Kutta's steps through Lorenz's equations, of one path or many."""

    def slope(p):
        x, y, z = p[0], p[1], p[2]
        return np.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    for _ in range(steps):
        a = slope(state)
        b = slope(state + step / 2 * a)
        c = slope(state + step / 2 * b)
        d = slope(state + step * c)
        state = state + step / 6 * (a + 2 * b + 2 * c + d)
    return state


def horner(x, coefficients):
    """A polynomial and its derivative."""
    value, slope = np.zeros_like(x), np.zeros_like(x)
    for c in coefficients:
        slope = slope * x + value
        value = value * x + c
    return value, slope


def cases(rng):
    """Arguments by name: small ones and real ones."""
    make = lambda *shape: rng.random(shape)  # noqa: E731
    drawn = lambda n: [int(w) for w in rng.integers(1, 9, n)]  # noqa: E731
    word = lambda n: rng.integers(0, 4, n)  # noqa: E731
    yield knapsack, (make(6), drawn(6), 20), (make(40), drawn(40), 100_000)
    yield edit_distance, (word(4), word(5)), (word(14), word(16))
    yield warping, (make(2, 4), make(2, 5)), (make(20_000, 10), make(20_000, 10))
    yield viterbi, (make(1, 3), make(3, 3), make(5, 1, 3)), (make(400, 20), make(20, 20), make(25, 400, 20))
    yield longest_rise, (make(8),), (make(100),)
    yield smoothed, (make(10), 0.3), (make(150), 0.3)
    yield logistic_map, (np.float64(0.3), 3.7, 20), (np.float64(0.3), 3.7, 400)
    yield epidemic, (0.9, 0.1, 0.0, make(2), 10), (0.9, 0.1, 0.0, make(2), 60)
    yield lorenz, (make(3), 0.01, 3), (make(3, 20_000), 0.01, 10)
    yield horner, (make(5), make(4)), (make(100_000), make(20))
