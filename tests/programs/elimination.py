"""Linear algebra in loops: elimination with row swaps, rotations, iterations; graphs."""

import numpy as np


def lu(A):
    A = A.astype(float).copy()
    n = len(A)
    P = np.arange(n)
    sign = 1
    for k in range(n - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if A[p, k] == 0:
            raise ValueError("singular")
        if p != k:
            A[[k, p]] = A[[p, k]]
            P[k], P[p] = P[p], P[k]
            sign = -sign
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return np.tril(A, -1) + np.eye(n), np.triu(A), P, sign


def gauss(A, b):
    M = np.hstack((A.astype(float), b.reshape(-1, 1)))
    n = len(M)
    for i in range(n):
        piv = i + abs(M[i:, i]).argmax()
        if piv != i:
            tmp = M[i].copy()
            M[i] = M[piv]
            M[piv] = tmp
        M[i] /= M[i, i]
        for j in range(n):
            if j != i:
                M[j] -= M[j, i] * M[i]
    return M[:, -1]


def gram_schmidt(A):
    Q = np.zeros_like(A, dtype=float)
    for j in range(A.shape[1]):
        v = A[:, j].astype(float)
        for i in range(j):
            v -= (Q[:, i] @ A[:, j]) * Q[:, i]
        Q[:, j] = v / np.sqrt(v @ v)
    return Q


def jacobi_eig(A, sweeps=10):
    A = A.copy()
    n = A.shape[0]
    V = np.identity(n)
    for _ in range(sweeps):
        for p in range(n):
            for q in range(p + 1, n):
                if abs(A[p, q]) < 1e-15:
                    continue
                th = 0.5 * np.arctan2(2 * A[p, q], A[q, q] - A[p, p])
                c, s = np.cos(th), np.sin(th)
                J = np.eye(n)
                J[p, p] = J[q, q] = c
                J[p, q] = s
                J[q, p] = -s
                A = J.T @ A @ J
                V = V @ J
    return np.sort(np.diag(A)), V


def power(A, tol=1e-12):
    x = np.ones(A.shape[0]) / np.sqrt(A.shape[0])
    lam = 0
    for it in range(500):
        y = A @ x
        new = x.dot(y)
        x = y / np.linalg.norm(y)
        if abs(new - lam) < tol:
            break
        lam = new
    return lam, x, it


def cg(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for i in range(len(b) * 2):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rn = r @ r
        if np.sqrt(rn) < 1e-12:
            break
        p = r + rn / rs * p
        rs = rn
    return x, i


def pagerank(edges, n, d=0.85):
    A = np.zeros((n, n))
    for i, j in edges:
        A[j, i] += 1
    out = A.sum(axis=0)
    dang = out == 0
    A[:, dang] = 1 / n
    out[dang] = 1
    A = A / out
    r = np.ones(n) / n
    while True:
        new = (1 - d) / n + d * A.dot(r)
        if np.abs(new - r).sum() < 1e-10:
            return new
        r = new


def floyd(W):
    D = W.copy()
    for k in range(len(D)):
        D = np.minimum(D, D[:, k, None] + D[None, k, :])
    return D


def main():
    rng = np.random.default_rng(11)
    A = rng.integers(-5, 6, (5, 5)) + 6 * np.eye(5, dtype=int)
    b = rng.standard_normal(5)
    L, U, P, sg = lu(A)
    assert np.allclose(L @ U, A[P])
    det = sg * np.prod(np.diag(U))
    x = gauss(A, b)
    assert np.isclose(det, np.linalg.det(A)), (det, np.linalg.det(A))
    S = A @ A.T / 10.0
    Q = gram_schmidt(A)
    e, V = jacobi_eig(S)
    lam, v, it = power(S)
    sol, its = cg(S, b)
    edges = [(0, 1), (1, 2), (2, 0), (3, 2), (3, 0), (4, 3), (1, 5)]
    pr = pagerank(np.array(edges), 6)
    for rank, i in enumerate(np.argsort(-pr)[:3], 1):
        print(f"{rank:>2}. node {i:<3d} {pr[i]:.5f}")
    W = np.full((5, 5), np.inf)
    np.fill_diagonal(W, 0)
    for i, j, w in [(0, 1, 3), (1, 2, 1.5), (2, 3, 4), (3, 4, 1), (0, 4, 20)]:
        W[i, j] = W[j, i] = w
    D = floyd(W)
    print(W)
    print(D)
    print("%d %s %r" % (sg, P, P))
    try:
        np.linalg.inv(np.zeros((2, 2)))
    except np.linalg.LinAlgError as ex:
        print("caught", type(ex).__name__)
    try:
        A @ np.ones(4)
    except ValueError as ex:
        print("caught", type(ex).__name__)
    try:
        np.zeros(3) + np.zeros(4)
    except ValueError as ex:
        print(ex)
    deg = (W < np.inf).sum(1) - 1
    Lap = np.diag(deg) - ((W < np.inf) & ~np.eye(5, dtype=bool)).astype(int)
    fied = np.sort(np.linalg.eigvalsh(Lap))[1]
    return dict(
        L=L,
        U=U,
        P=P,
        sg=sg,
        det=det,
        x=x,
        Q=Q,
        e=e,
        lam=lam,
        it=it,
        sol=sol,
        its=its,
        pr=pr,
        D=D,
        deg=deg,
        Lap=Lap,
        fied=fied,
        tri=np.tril(S),
        rank=np.linalg.matrix_rank(A),
    )
