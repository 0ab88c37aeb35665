"""A Kalman filter and a hidden Markov model."""

from collections import namedtuple

import numpy as np

State = namedtuple("State", "mean cov")


def predict(s, F, Q):
    return State(F @ s.mean, F @ s.cov @ F.T + Q)


def update(s, z, H, R):
    y = z - H @ s.mean
    S = H @ s.cov @ H.T + R
    K = s.cov @ H.T @ np.linalg.inv(S)
    mean = s.mean + K @ y
    I = np.eye(s.mean.size)
    cov = (I - K @ H) @ s.cov @ (I - K @ H).T + K @ R @ K.T
    ll = -0.5 * (y @ np.linalg.solve(S, y) + np.log(np.linalg.det(2 * np.pi * S)))
    return State(mean, cov), ll


def hmm(A, B, pi, obs):
    T, N = len(obs), A.shape[0]
    alpha = np.empty((T, N))
    c = np.zeros(T)
    alpha[0] = pi * B[:, obs[0]]
    c[0] = 1 / alpha[0].sum()
    alpha[0] *= c[0]
    for t in range(1, T):
        alpha[t] = alpha[t - 1] @ A * B[:, obs[t]]
        c[t] = 1.0 / alpha[t].sum()
        alpha[t] *= c[t]
    beta = np.ones_like(alpha)
    for t in reversed(range(T - 1)):
        beta[t] = A @ (B[:, obs[t + 1]] * beta[t + 1]) * c[t + 1]
    gamma = alpha * beta
    gamma /= gamma.sum(axis=1, keepdims=True)
    xi = np.zeros((N, N))
    for t in range(T - 1):
        x = alpha[t][:, None] * A * (B[:, obs[t + 1]] * beta[t + 1])[None, :]
        xi += x / x.sum()
    # viterbi
    delta = np.log(pi) + np.log(B[:, obs[0]])
    psi = np.zeros((T, N), dtype=np.intp)
    for t in range(1, T):
        m = delta[:, None] + np.log(A)
        psi[t] = m.argmax(0)
        delta = m.max(axis=0) + np.log(B[:, obs[t]])
    path = [int(delta.argmax())]
    for t in range(T - 1, 0, -1):
        path.insert(0, psi[t, path[0]])
    return gamma, xi, -np.log(c).sum(), path, delta.max()


def main():
    dt = 0.1
    F = np.array([[1, dt], [0, 1]])
    H = np.array([[1.0, 0.0]])
    Q = 0.01 * np.diag([dt**2, 1])
    R = np.atleast_2d(0.25)
    rng = np.random.default_rng(3)
    truth = np.cumsum(np.ones(30) * dt)
    zs = truth + 0.5 * rng.standard_normal(truth.shape)
    s = State(np.zeros(2), np.eye(2) * 10)
    total = 0.0
    means = []
    for z in zs:
        s = predict(s, F, Q)
        s, ll = update(s, np.array([z]), H, R)
        total += ll
        means.append(s.mean)
    M = np.stack(means)
    print("state:", s.mean.round(3), "ll: %8.3f" % total)
    obs = np.array([0, 1, 1, 0, 2, 2, 1])
    A = np.array([[0.7, 0.3], [0.4, 0.6]])
    B = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    gamma, xi, ll2, path, d = hmm(A, B, np.array([0.6, 0.4]), obs)
    print(gamma.round(3), path[0], path)
    rmse = np.sqrt(np.mean((M[:, 0] - truth) ** 2))
    mp = np.linalg.matrix_power(A, 10)
    w, v = np.linalg.eig(A.T)
    st = v[:, np.argmax(w)].real
    st = st / st.sum()
    return dict(M=M, P=s.cov, total=total, gamma=gamma, xi=xi, ll2=ll2, path=path, d=d, rmse=rmse, mp=mp, st=st, s=s)
