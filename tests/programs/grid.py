"""Differences on grids: boundary slices, in-place updates, sweeps."""

import numpy as np


def laplacian(u, h):
    lap = np.zeros_like(u)
    lap[1:-1, 1:-1] = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]) / h**2
    return lap


def thomas(a, b, c, d):
    n = len(d)
    cp, dp = np.zeros(n), np.zeros(n)
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def main():
    n = 16
    x = np.linspace(0, 1, n)
    h = x[1] - x[0]
    X, Y = np.meshgrid(x, x, indexing="ij")
    u = np.sin(np.pi * X) * np.sin(np.pi * Y)
    u[0, :] = u[-1, :] = 0
    u[:, [0, -1]] = 0.0
    dt = 0.2 * h**2
    for step in range(20):
        u += dt * laplacian(u, h)
        u[:, 0] = u[:, 1]
        u[:, -1] = u[:, -2]
        if np.abs(u).max() > 1e3:
            raise RuntimeError
    gx, gy = np.gradient(u, h)
    g2 = np.gradient(u, h, axis=0, edge_order=2)
    T = thomas(np.full(n, -1.0), np.full(n, 2.5), np.full(n, -1.0), np.sin(x))
    M = np.diag(np.full(n, 2.5)) + np.diag(np.full(n - 1, -1.0), 1) + np.diag(np.full(n - 1, -1.0), -1)
    assert np.allclose(M @ T, np.sin(x))
    # wave with roll, upwind
    q = np.exp(-100 * (x - 0.5) ** 2)
    for _ in range(10):
        q = q - 0.5 * (q - np.roll(q, 1))
    # gauss seidel
    p = np.zeros((6, 6))
    p[0] = 1
    for it in range(100):
        old = p.copy()
        for i in range(1, 5):
            for j in range(1, 5):
                p[i, j] = 0.25 * (p[i + 1, j] + p[i - 1, j] + p[i, j + 1] + p[i, j - 1])
        if np.linalg.norm(p - old, np.inf) < 1e-4:
            break
    print("sweeps", it, p[2, 2:4].round(3))
    red = np.add.outer(np.arange(4), np.arange(4)) % 2 == 0
    chk = np.indices((3, 3)).sum(axis=0) % 2
    a = np.arange(12.0).reshape(3, 4)
    a[::2] += 100
    a[:, 1::2] *= -1
    a[1] -= a[0]
    b = a[:, ::-1].copy()
    b.T[0] = 5
    c = np.zeros((3, 3))
    c[np.arange(3), [2, 0, 1]] = [7, 8, 9]
    c[c == 0] = -1
    v = np.arange(10)
    v[2:5] = v[5:8]
    v[::3] = 0
    v[[1, 1, 2]] += 10
    tz = np.trapezoid(np.sin(x), x)
    pad = np.pad(a, ((1, 1), (0, 2)), mode="edge")
    pad2 = np.pad(v, 2, mode="reflect")
    pad3 = np.pad(a, 1, constant_values=9)
    w = np.arange(24).reshape(2, 3, 4)
    w.shape = (4, 6)
    w[..., -1] = 0
    ww = w.reshape(-1, 2).swapaxes(0, 1)
    u0 = u.ravel()[::17]
    bl = np.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 2)), 5 * np.ones((1, 1))]])
    return dict(
        u=u,
        gx=gx,
        gy=gy,
        g2=g2,
        T=T,
        q=q,
        p=p,
        it=it,
        red=red,
        chk=chk,
        a=a,
        b=b,
        c=c,
        v=v,
        tz=tz,
        pad=pad,
        pad2=pad2,
        pad3=pad3,
        w=w,
        ww=ww,
        u0=u0,
        bl=bl,
    )
