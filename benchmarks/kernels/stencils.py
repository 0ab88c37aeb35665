"""Stencils: what a cell becomes from its neighbours, for all cells at once, in steps."""

import numpy as np


def heat(u, steps):
    """Explicit heat equation on a plate whose rim is kept."""
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.2 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
        u = new
    return u


def relaxation(u, f, sweeps):
    """Red and black Gauss-Seidel sweeps of Poisson's equation, in the array that was given."""
    for _ in range(sweeps):
        for start in (1, 2):
            for other in (1, 2):
                left, right = slice(start - 1, -2, 2), slice(start + 1, None, 2)
                up, down = slice(other - 1, -2, 2), slice(other + 1, None, 2)
                mid, row = slice(start, -1, 2), slice(other, -1, 2)
                around = u[row, left][:, : u[row, mid].shape[1]] + u[row, right]
                around = around + u[up, mid][: u[row, mid].shape[0]] + u[down, mid]
                u[row, mid] = 0.25 * (around - f[row, mid])
    return np.abs(u).max()


def wave(u, steps):
    """Leapfrog steps of a string with fixed ends."""
    before = u.copy()
    for _ in range(steps):
        after = np.zeros_like(u)
        after[1:-1] = 2 * u[1:-1] - before[1:-1] + 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before, u = u, after
    return u


def reaction(a, b, steps):
    """Two substances that diffuse and react, on a torus."""

    def laplacian(z):
        return np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1) - 4 * z

    for _ in range(steps):
        met = a * b * b
        a = a + 0.16 * laplacian(a) - met + 0.035 * (1 - a)
        b = b + 0.08 * laplacian(b) + met - 0.1 * b
    return a, b


def life(board, steps):
    """Conway's game on a torus."""
    for _ in range(steps):
        around = np.zeros(board.shape, dtype=np.int64)
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                if i or j:
                    around += np.roll(board, (i, j), axis=(0, 1))
        board = (around == 3) | (board & (around == 2))
    return board, board.sum()


def advection(q, speed, steps):
    """Transport by the upwind scheme with a limiter."""
    for _ in range(steps):
        slope = np.diff(q, append=q[:1])
        back = np.roll(slope, 1)
        limited = np.where(slope * back > 0, np.sign(slope) * np.minimum(np.abs(slope), np.abs(back)), 0.0)
        flux = np.where(speed > 0, speed * (q + 0.4 * limited), speed * (np.roll(q, -1) - 0.4 * np.roll(limited, -1)))
        q = q - 0.1 * (flux - np.roll(flux, 1))
    return q


def burgers(u, steps):
    """Burgers' equation by the scheme of Lax and Friedrichs."""
    for _ in range(steps):
        f = 0.5 * u**2
        u[1:-1] = 0.5 * (u[2:] + u[:-2]) - 0.05 * (f[2:] - f[:-2])
    return u


def cases(rng):
    """Arguments by name: small ones and real ones."""
    grid = lambda *shape: rng.random(shape)  # noqa: E731
    yield heat, (grid(16, 16), 5), (grid(400, 400), 20)
    yield relaxation, (grid(17, 17), grid(17, 17), 3), (grid(401, 401), grid(401, 401), 8)
    yield wave, (grid(50), 10), (grid(100_000), 30)
    yield reaction, (grid(12, 12), grid(12, 12), 4), (grid(300, 300), grid(300, 300), 10)
    yield life, (grid(12, 12) < 0.4, 4), (grid(400, 400) < 0.4, 6)
    yield advection, (grid(40), grid(40) - 0.5, 5), (grid(100_000), grid(100_000) - 0.5, 10)
    yield burgers, (grid(50), 10), (grid(200_000), 20)
