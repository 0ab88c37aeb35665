"""Heat and waves on grids: stencils on views, updates in place, two buffers that swap."""

import numpy as np


class Heat:
    """Explicit steps of the heat equation on a plate with fixed edges; the views are taken once."""

    def __init__(self, n, m, alpha=0.2):
        self.u = np.zeros((n, m))
        self.alpha = alpha
        self._new = np.empty_like(self.u[1:-1, 1:-1])
        self.inner = self.u[1:-1, 1:-1]
        self.north, self.south = self.u[:-2, 1:-1], self.u[2:, 1:-1]
        self.west, self.east = self.u[1:-1, :-2], self.u[1:-1, 2:]
        self.steps = 0

    def edges(self, top, left):
        self.u[0, :] = top
        self.u[:, 0] = np.linspace(top, left, self.u.shape[0])
        self.u[-1] = left
        self.u[:, -1] = self.u[::-1, 0]

    def step(self):
        np.add(self.north, self.south, out=self._new)
        self._new += self.west
        self._new += self.east
        self._new -= 4 * self.inner
        np.multiply(self._new, self.alpha, out=self._new)
        change = np.abs(self._new).max()
        self.inner += self._new
        self.steps += 1
        return change

    def run(self, tolerance, most=400):
        while (change := self.step()) > tolerance and self.steps < most:
            pass
        return change

    def __repr__(self):
        return f"Heat({self.u.shape[0]}x{self.u.shape[1]}, steps={self.steps}, mean={self.u.mean():.4f})"


def gauss_seidel(b, sweeps):
    """Poisson's equation by red and black points, each half updated in place through strided slices."""
    u = np.zeros_like(b)
    residuals = np.empty(sweeps)
    i, j = np.indices(b.shape)
    inside = np.pad(np.ones(np.array(b.shape) - 2, dtype=bool), 1)
    for k in range(sweeps):
        for colour in (0, 1):
            at = inside & ((i + j) % 2 == colour)
            around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
            u[at] = (around[at] + b[at]) / 4
        lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        residuals[k] = np.linalg.norm(lap + b[1:-1, 1:-1])
    return u, residuals


def string(n, steps, courant=0.9):
    """A plucked string by leapfrog; the rows of the history are views of one array."""
    x = np.linspace(0, 1, n)
    history = np.zeros((steps, n))
    history[0] = np.where(x < 0.3, x / 0.3, (1 - x) / 0.7)
    history[1, 1:-1] = history[0, 1:-1] + 0.5 * courant**2 * np.diff(history[0], 2)
    for past, now, new in zip(history, history[1:], history[2:]):
        new[1:-1] = 2 * now[1:-1] - past[1:-1] + courant**2 * np.diff(now, n=2)
    return history


def tridiagonal(lower, diag, upper, rhs):
    """Thomas's algorithm, on copies."""
    c, d = upper.copy(), rhs.astype(float)
    c[0] /= diag[0]
    d[0] /= diag[0]
    for k in range(1, len(d)):
        w = diag[k] - lower[k - 1] * c[k - 1]
        if k < len(c):
            c[k] /= w
        d[k] = (d[k] - lower[k - 1] * d[k - 1]) / w
    for k in reversed(range(len(d) - 1)):
        d[k] -= c[k] * d[k + 1]
    return d


def crank_nicolson(u, r, steps):
    n = u.size
    main, off = np.full(n, 2 + 2 * r), np.full(n - 1, -r)
    for _ in range(steps):
        rhs = (2 - 2 * r) * u
        rhs[1:] += r * u[:-1]
        rhs[:-1] += r * u[1:]
        u = tridiagonal(off, main, off, rhs)
    return u


def drop(n, steps):
    """Waves from a drop on a pond with an island: a mask holds the water still."""
    y, x = np.ogrid[-1 : 1 : n * 1j, -1 : 1 : n * 1j]
    now = np.exp(-80 * ((x + 0.4) ** 2 + y**2)).astype(np.float32)
    past = now.copy()
    island = (x - 0.3) ** 2 + y**2 < 0.04
    energy = []
    for _ in range(steps):
        new = 2 * now - past
        new[1:-1, 1:-1] += np.float32(0.25) * (
            now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        )
        new[island] = 0
        new[[0, -1]] = new[:, [0, -1]] = 0
        past, now = now, new
        energy.append(((now - past) ** 2).sum(dtype=np.float64).item())
    return now, island, energy


def main():
    plate = Heat(12, 17)
    plate.edges(100, 20)
    last = plate.run(1e-2)
    print(plate, f"last change {last:.2e}")
    print(plate.u[::4, ::4].round(1))
    b = np.zeros((9, 11))
    b[4, 3:8] = [1, 2, 3, 2, 1]
    u, residuals = gauss_seidel(b, 20)
    print("residual:", " ".join(f"{r:.4f}" for r in residuals[::5]))
    history = string(41, 60)
    print(np.array2string(history[::20, ::10], precision=3, suppress_small=True))
    rod = crank_nicolson(np.sin(np.pi * np.linspace(0, 1, 21)), 0.5, 10)
    water, island, energy = drop(24, 15)
    for row in water[::6]:
        print("".join(" .:-=+*#"[min(int(abs(v) * 40), 7)] for v in row))
    print(f"island of {island.sum()} cells, energy {energy[0]:.3f} -> {energy[-1]:.3f}")
    return dict(
        plate=plate.u,
        steps=plate.steps,
        last=last,
        u=u,
        residuals=residuals,
        history=history,
        rod=rod,
        water=water.astype(np.float64).round(5),
        island=island,
    )
