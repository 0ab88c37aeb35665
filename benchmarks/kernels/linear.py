"""Linear algebra written out: triangular solves, factorisations, Krylov methods."""

import numpy as np


def forward_substitution(lower, b):
    """Solve a lower triangular system row by row."""
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def thomas(low, main, up, d):
    """A tridiagonal system for each column, by elimination and substitution."""
    n = len(main)
    c, x = np.zeros_like(d), d.copy()
    c[0], x[0] = up[0] / main[0], d[0] / main[0]
    for i in range(1, n):
        m = 1.0 / (main[i] - low[i] * c[i - 1])
        c[i] = up[i] * m
        x[i] = (d[i] - low[i] * x[i - 1]) * m
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return x


def gram_schmidt(a):
    """An orthonormal basis of the columns, the modified way."""
    q = a.copy()
    for j in range(q.shape[1]):
        q[:, j] /= np.sqrt(q[:, j] @ q[:, j])
        for k in range(j + 1, q.shape[1]):
            q[:, k] -= (q[:, j] @ q[:, k]) * q[:, j]
    return q


def factorised(a):
    """LU without pivots, in place."""
    n = len(a)
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.diagonal(a)


def power_iteration(a, x, steps):
    """The largest eigenvalue and its vector."""
    for _ in range(steps):
        x = a @ x
        x /= np.linalg.norm(x)
    return x @ a @ x, x


def conjugate_gradient(b, steps):
    """Poisson's equation on a square by a matrix that is never made."""

    def apply(p):
        padded = np.pad(p, 1)
        return 4 * p - padded[2:, 1:-1] - padded[:-2, 1:-1] - padded[1:-1, 2:] - padded[1:-1, :-2]

    x, r = np.zeros_like(b), b.copy()
    p, rho = r, (r * r).sum()
    for _ in range(steps):
        q = apply(p)
        alpha = rho / (p * q).sum()
        x = x + alpha * p
        r = r - alpha * q
        rho, last = (r * r).sum(), rho
        p = r + rho / last * p
    return x


def until_converged(a, b):
    """Jacobi's iteration, until nothing moves any more: how often is known when it has come to that."""
    d = np.diagonal(a)
    x = np.zeros_like(b)
    for step in range(1000):
        new = x + (b - a @ x) / d
        if np.abs(new - x).max() < 1e-10:
            break
        x = new
    return x, step


def least_squares(a, y):
    """By the normal equations, with the variance of what is found."""
    gram = a.T @ a
    beta = np.linalg.solve(gram, a.T @ y)
    rest = y - a @ beta
    return beta, np.sqrt(np.diag(np.linalg.inv(gram)) * (rest @ rest) / (len(y) - len(beta)))


def cases(rng):
    """Arguments by name: small ones and real ones."""
    make = lambda *shape: rng.random(shape)  # noqa: E731
    square = lambda n: make(n, n) + n * np.eye(n)  # noqa: E731
    yield forward_substitution, (square(8), make(8)), (square(60), make(60, 20_000))
    yield thomas, (make(8), make(8) + 4, make(8), make(8, 2)), (make(40), make(40) + 4, make(40), make(40, 20_000))
    yield gram_schmidt, (make(6, 4),), (make(100_000, 10),)
    yield factorised, (square(8),), (square(50),)
    yield power_iteration, (square(8), make(8), 5), (square(500), make(500), 30)
    yield conjugate_gradient, (make(8, 8), 5), (make(400, 400), 15)
    yield until_converged, (square(8), make(8)), (square(400), make(400))
    yield least_squares, (make(20, 3), make(20)), (make(20_000, 20), make(20_000))
