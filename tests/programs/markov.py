"""A hidden Markov model: sampling, scaled forward and backward passes, Viterbi, Baum and Welch."""

import numpy as np


class HMM:
    def __init__(self, start, step, emit):
        self.start, self.step, self.emit = (np.asarray(p, dtype=float) for p in (start, step, emit))
        for p in (self.start, self.step, self.emit):
            assert np.allclose(p.sum(axis=-1), 1), p

    def sample(self, n, rng):
        states, seen = np.empty(n, dtype=int), np.empty(n, dtype=int)
        k, m = self.emit.shape
        states[0] = rng.choice(k, p=self.start)
        for t in range(n):
            if t:
                states[t] = rng.choice(k, p=self.step[states[t - 1]])
            seen[t] = rng.choice(m, p=self.emit[states[t]])
        return states, seen

    def forward(self, seen):
        alpha = np.empty((len(seen), len(self.start)))
        scale = np.empty(len(seen))
        for t, o in enumerate(seen):
            alpha[t] = (self.start if t == 0 else alpha[t - 1] @ self.step) * self.emit[:, o]
            scale[t] = alpha[t].sum()
            alpha[t] /= scale[t]
        return alpha, scale

    def backward(self, seen, scale):
        beta = np.ones((len(seen), self.start.size))
        for t in range(len(seen) - 2, -1, -1):
            beta[t] = self.step @ (self.emit[:, seen[t + 1]] * beta[t + 1]) / scale[t + 1]
        return beta

    def posterior(self, seen):
        alpha, scale = self.forward(seen)
        beta = self.backward(seen, scale)
        gamma = alpha * beta
        xi = alpha[:-1, :, None] * self.step * (self.emit[:, seen[1:]].T * beta[1:] / scale[1:, None])[:, None, :]
        return gamma, xi, np.log(scale).sum()

    def viterbi(self, seen):
        with_log = [np.log(np.clip(p, 1e-300, None)) for p in (self.start, self.step, self.emit)]
        start, step, emit = with_log
        score = start + emit[:, seen[0]]
        back = np.zeros((len(seen), score.size), dtype=np.intp)
        for t in range(1, len(seen)):
            via = score[:, None] + step
            back[t] = via.argmax(axis=0)
            score = via[back[t], np.arange(score.size)] + emit[:, seen[t]]
        path = [score.argmax()]
        for row in back[:0:-1]:
            path.append(row[path[-1]])
        return np.array(path[::-1]), score.max()

    def learn(self, seen, rounds):
        history = []
        for _ in range(rounds):
            gamma, xi, loglik = self.posterior(seen)
            history.append(loglik)
            self.start = gamma[0] / gamma[0].sum()
            self.step = xi.sum(0) / xi.sum(axis=(0, 2))[:, None]
            onehot = np.eye(self.emit.shape[1])[seen]
            self.emit = gamma.T @ onehot
            self.emit /= self.emit.sum(axis=1, keepdims=True)
        return np.array(history)

    def stationary(self):
        w, v = np.linalg.eig(self.step.T)
        p = np.real(v[:, np.argmin(np.abs(w - 1))])
        return p / p.sum()

    def __str__(self):
        with np.printoptions(precision=3, suppress=True):
            return f"start {self.start}\nstep\n{self.step}\nemit\n{self.emit}"


def brute_force(model, seen):
    """The likelihood as a sum over all paths."""
    k = len(model.start)
    total = 0.0
    for path in np.ndindex(*(k,) * len(seen)):
        p = model.start[path[0]] * model.emit[path[0], seen[0]]
        for a, b, o in zip(path, path[1:], seen[1:]):
            p *= model.step[a, b] * model.emit[b, o]
        total += p
    return total


def main():
    rng = np.random.default_rng(2024)
    casino = HMM([0.9, 0.1], [[0.95, 0.05], [0.1, 0.9]], [[1 / 6] * 6, [0.1] * 5 + [0.5]])
    states, rolls = casino.sample(120, rng)
    print("rolls ", "".join(str(r + 1) for r in rolls[:60]))
    print("hidden", "".join("FL"[s] for s in states[:60]))
    path, score = casino.viterbi(rolls)
    print("guess ", "".join("FL"[s] for s in path[:60]))
    gamma, xi, loglik = casino.posterior(rolls)
    print(f"log-likelihood {loglik:.6f}, best path {score:.6f}, agreement {np.mean(path == states):.1%}")
    assert np.allclose(xi.sum(2), gamma[:-1])
    few = rolls[:5]
    exact, scaled = brute_force(casino, few), np.exp(np.log(casino.forward(few)[1]).sum())
    print(f"{exact:.6e} {scaled:.6e} {np.isclose(exact, scaled)}")
    guess = rng.dirichlet(np.ones(6) * 5, size=2)
    learner = HMM(np.full(2, 0.5), 0.8 * np.eye(2) + 0.1, guess)
    history = learner.learn(rolls, 15)
    print(learner)
    print(np.diff(history) > 0)
    entropy = -np.sum(gamma * np.log2(gamma, where=gamma > 0, out=np.zeros_like(gamma)), axis=1)
    runs = np.flatnonzero(np.diff(path, prepend=-1, append=-1))
    return dict(
        states=states,
        rolls=rolls,
        path=path,
        score=score,
        gamma=gamma,
        xi=xi,
        loglik=loglik,
        exact=exact,
        history=history,
        emit=learner.emit,
        stationary=casino.stationary(),
        entropy=entropy,
        runs=runs,
    )
