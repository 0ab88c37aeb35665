"""A small GPT with random weights: causal attention, a cache of keys and values, sampling tokens."""

import numpy as np


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def layer_norm(x, g, b, eps=1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return g * (x - mean) / np.sqrt(variance + eps) + b


def linear(x, w, b):
    return x @ w + b


def split_heads(x, n):
    return x.reshape(*x.shape[:-1], n, -1).swapaxes(-2, -3)


def attention(q, k, v, mask):
    scores = np.einsum("hqd,hkd->hqk", q, k) / np.sqrt(q.shape[-1])
    weights = softmax(scores + mask)
    return np.matmul(weights, v), weights


def block(x, mlp, attn, ln_1, ln_2, heads, past=None):
    qkv = linear(layer_norm(x, **ln_1), **attn["c_attn"])
    q, k, v = (split_heads(part, heads) for part in np.split(qkv, 3, axis=-1))
    if past is not None:
        k, v = (np.concatenate(pair, axis=1) for pair in zip(past, (k, v)))
    seen = k.shape[1]
    mask = (1 - np.tri(seen, dtype=x.dtype))[-x.shape[0] :] * -1e10
    heard, weights = attention(q, k, v, mask)
    x = x + linear(heard.swapaxes(0, 1).reshape(x.shape), **attn["c_proj"])
    h = gelu(linear(layer_norm(x, **ln_2), **mlp["c_fc"]))
    return x + linear(h, **mlp["c_proj"]), (k, v), weights


class GPT:
    def __init__(self, vocabulary, context, width, heads, depth, seed):
        rng = np.random.default_rng(seed)

        def dense(nin, nout):
            return {"w": 0.3 * rng.standard_normal((nin, nout)), "b": 0.02 * rng.standard_normal(nout)}

        def norm():
            return {"g": 1 + 0.1 * rng.standard_normal(width), "b": np.zeros(width)}

        self.heads, self.context = heads, context
        self.wte, self.wpe = rng.normal(0, 0.5, (vocabulary, width)), rng.normal(0, 0.1, (context, width))
        self.blocks = [
            {
                "mlp": {"c_fc": dense(width, 4 * width), "c_proj": dense(4 * width, width)},
                "attn": {"c_attn": dense(width, 3 * width), "c_proj": dense(width, width)},
                "ln_1": norm(),
                "ln_2": norm(),
            }
            for _ in range(depth)
        ]
        self.ln_f = norm()

    def embed(self, ids, start=0):
        return self.wte[ids] + self.wpe[np.arange(start, start + len(ids))]

    def run(self, x, cache=None):
        new = []
        for i, params in enumerate(self.blocks):
            x, kept, self.weights = block(x, **params, heads=self.heads, past=cache[i] if cache else None)
            new.append(kept)
        return layer_norm(x, **self.ln_f) @ self.wte.T, new

    def __call__(self, ids):
        return self.run(self.embed(ids))[0]

    def generate(self, ids, n, rng, temperature=1.0, top=None):
        ids = list(ids)
        logits, cache = self.run(self.embed(ids))
        for _ in range(n):
            last = logits[-1] / temperature
            if top is not None:
                last = np.where(last < np.partition(last, -top)[-top], -np.inf, last)
            ids.append(int(rng.choice(last.size, p=softmax(last))))
            logits, cache = self.run(self.embed(ids[-1:], len(ids) - 1), cache)
        return ids

    def greedy(self, ids, n):
        ids = [*ids]
        for _ in range(n):
            ids = np.append(ids, [np.argmax(self(ids)[-1])])
        return [int(i) for i in ids]

    def count(self, tree=None):
        tree = vars(self) if tree is None else tree
        if isinstance(tree, np.ndarray):
            return tree.size
        if isinstance(tree, (dict, list)):
            return sum(map(self.count, tree.values() if isinstance(tree, dict) else tree))
        return 0


def beam(model, ids, n, width):
    """The most probable continuations, with their log-probabilities."""
    kept = [(0.0, list(ids))]
    for _ in range(n):
        grown = []
        for score, one in kept:
            logp = np.log(softmax(model(one)[-1]))
            for token in np.argsort(logp)[-width:]:
                grown.append((score + float(logp[token]), [*one, int(token)]))
        kept = sorted(grown, reverse=True)[:width]
    return kept


def main():
    text = "attention"
    letters = sorted(set(text + " "))
    model = GPT(len(letters), 24, 16, 4, 2, seed=1337)
    ids = [letters.index(c) for c in text]
    logits = model(ids)
    print(model.count(), "parameters;", logits.shape)
    with np.printoptions(precision=3, suppress=True, linewidth=100):
        print(logits[-2:])
        print(model.weights[0].round(2))
    _, cache = model.run(model.embed(ids[:5]))
    tail, _ = model.run(model.embed(ids[5:], 5), cache)
    assert np.allclose(tail, logits[5:])
    rng = np.random.default_rng(0)
    for temperature in (0.5, 1.0):
        print(repr("".join(letters[i] for i in model.generate(ids, 12, rng, temperature, top=4))))
    greedy = model.greedy(ids, 5)
    best = beam(model, ids, 3, 2)
    print("".join(letters[i] for i in greedy), [f"{score:.4f}" for score, _ in best])
    loss = -np.log(softmax(logits[:-1])[np.arange(len(ids) - 1), ids[1:]])
    print(f"perplexity {np.exp(loss.mean()):.3f}")
    return dict(logits=logits, loss=loss, greedy=greedy, best=best, weights=model.weights)
