"""A small convolutional network written by hand: im2col by windows, gradients by hand, Adam."""

import numpy as np


class Layer:
    params = ()

    def gradients(self):
        return [getattr(self, "d" + name) for name in self.params]


class Conv(Layer):
    params = ("W", "b")

    def __init__(self, cin, cout, size, rng, stride=1, pad=0):
        self.W = rng.normal(scale=np.sqrt(2 / (cin * size * size)), size=(cout, cin, size, size))
        self.b = np.zeros(cout)
        self.size, self.stride, self.pad = size, stride, pad

    def windows(self, x):
        x = np.pad(x, ((0, 0), (0, 0), (self.pad,) * 2, (self.pad,) * 2))
        view = np.lib.stride_tricks.sliding_window_view(x, (self.size, self.size), axis=(2, 3))
        return view[:, :, :: self.stride, :: self.stride], x.shape

    def forward(self, x):
        view, self.padded = self.windows(x)
        n, c, h, w = view.shape[:4]
        self.cols = view.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, -1)
        y = self.cols @ self.W.reshape(len(self.W), -1).T + self.b
        return y.reshape(n, h, w, -1).transpose(0, 3, 1, 2)

    def backward(self, dy):
        n, cout, h, w = dy.shape
        flat = dy.transpose(0, 2, 3, 1).reshape(-1, cout)
        self.dW = (flat.T @ self.cols).reshape(self.W.shape)
        self.db = flat.sum(axis=0)
        dcols = (flat @ self.W.reshape(cout, -1)).reshape(n, h, w, -1, self.size, self.size)
        dx = np.zeros(self.padded)
        s = self.stride
        for i in range(self.size):
            for j in range(self.size):
                dx[:, :, i : i + h * s : s, j : j + w * s : s] += dcols[..., i, j].transpose(0, 3, 1, 2)
        p = self.pad
        return dx[:, :, p:-p, p:-p] if p else dx


class ReLU(Layer):
    def forward(self, x):
        self.on = x > 0
        return x * self.on

    def backward(self, dy):
        return np.where(self.on, dy, 0)


class MaxPool(Layer):
    def forward(self, x):
        n, c, h, w = x.shape
        tiles = x.reshape(n, c, h // 2, 2, w // 2, 2).swapaxes(3, 4).reshape(n, c, h // 2, w // 2, 4)
        self.pick = tiles.argmax(axis=-1)
        return np.take_along_axis(tiles, self.pick[..., None], axis=-1)[..., 0]

    def backward(self, dy):
        n, c, h, w = dy.shape
        d = np.zeros((n, c, h, w, 4))
        np.put_along_axis(d, self.pick[..., None], dy[..., None], axis=-1)
        return d.reshape(n, c, h, w, 2, 2).swapaxes(3, 4).reshape(n, c, 2 * h, 2 * w)


class Dense(Layer):
    params = ("W", "b")

    def __init__(self, nin, nout, rng):
        self.W = rng.standard_normal((nin, nout)) / nin**0.5
        self.b = np.zeros((1, nout))

    def forward(self, x):
        self.shape = x.shape
        self.x = x.reshape(len(x), -1)
        return np.dot(self.x, self.W) + self.b

    def backward(self, dy):
        self.dW = np.einsum("ni,nj->ij", self.x, dy)
        self.db = dy.sum(0, keepdims=True)
        return (dy @ self.W.T).reshape(self.shape)


def cross_entropy(logits, labels):
    z = logits - logits.max(axis=1, keepdims=True)
    logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    n = np.arange(len(labels))
    grad = np.exp(logp)
    grad[n, labels] -= 1
    return -logp[n, labels].mean(), grad / len(labels)


class Adam:
    def __init__(self, layers, rate):
        self.slots = [(layer, name) for layer in layers for name in layer.params]
        self.m = [np.zeros_like(getattr(*slot)) for slot in self.slots]
        self.v = [np.zeros_like(getattr(*slot)) for slot in self.slots]
        self.rate, self.t = rate, 0

    def step(self):
        self.t += 1
        for (layer, name), m, v in zip(self.slots, self.m, self.v):
            g = getattr(layer, "d" + name)
            m += 0.1 * (g - m)
            v += 0.001 * (g**2 - v)
            p = getattr(layer, name)
            p -= self.rate * (m / (1 - 0.9**self.t)) / (np.sqrt(v / (1 - 0.999**self.t)) + 1e-8)


def network(rng):
    return [Conv(1, 3, 3, rng, pad=1), ReLU(), MaxPool(), Conv(3, 4, 2, rng), ReLU(), Dense(36, 3, rng)]


def forward(layers, x):
    for layer in layers:
        x = layer.forward(x)
    return x


def check(layers, x, labels, rng, eps=1e-6):
    """The largest difference between gradients by hand and central differences, at a few parameters."""
    worst = 0.0
    for layer in layers:
        for name, grad in zip(layer.params, layer.gradients()):
            p = getattr(layer, name)
            for at in rng.integers(p.size, size=3):
                at = np.unravel_index(at, p.shape)
                kept = p[at]
                losses = []
                for shift in (eps, -eps):
                    p[at] = kept + shift
                    losses.append(cross_entropy(forward(layers, x), labels)[0])
                p[at] = kept
                worst = max(worst, abs((losses[0] - losses[1]) / (2 * eps) - grad[at]))
    return worst


def bars(n, rng):
    """Pictures of a horizontal bar, a vertical bar or a diagonal, with noise."""
    x, kind = 0.2 * rng.standard_normal((n, 1, 8, 8)), rng.integers(0, 3, n)
    for image, k, at in zip(x[:, 0], kind, rng.integers(1, 7, size=n)):
        if k == 0:
            image[at] += 1
        elif k == 1:
            image[:, at] += 1
        else:
            image[np.arange(8), (np.arange(8) + at) % 8] += 1
    return x, kind


def strided_patches(x, size):
    """The same windows through strides given by hand."""
    h, w = x.shape
    sh, sw = x.strides
    return np.lib.stride_tricks.as_strided(x, (h - size + 1, w - size + 1, size, size), (sh, sw, sh, sw))


def main():
    rng = np.random.default_rng(5)
    x, labels = bars(48, rng)
    layers = network(rng)
    adam = Adam(layers, 0.02)
    losses = []
    for epoch in range(6):
        for part in np.array_split(rng.permutation(len(x)), 4):
            loss, grad = cross_entropy(forward(layers, x[part]), labels[part])
            for layer in layers[::-1]:
                grad = layer.backward(grad)
            adam.step()
            losses.append(loss)
        logits = forward(layers, x)
        print(f"epoch {epoch}: loss {np.mean(losses[-4:]):.4f}, accuracy {(logits.argmax(1) == labels).mean():.3f}")
    loss, grad = cross_entropy(forward(layers, x[:4]), labels[:4])
    for layer in reversed(layers):
        grad = layer.backward(grad)
    worst = check(layers, x[:4], labels[:4], rng)
    print("gradients agree:", worst < 1e-7, grad.shape)
    picture = x[0, 0]
    patches = strided_patches(picture, 3)
    edges = np.tensordot(patches, np.outer([1, 2, 1], [1, 0, -1]), axes=2)
    same = np.array_equal(patches, layers[0].windows(picture[None, None])[0][0, 0][1:-1, 1:-1])
    return dict(
        losses=losses,
        logits=logits,
        grad=grad,
        params=[getattr(*slot) for slot in adam.slots],
        edges=edges,
        same=same,
        norms=np.array([np.linalg.norm(g) for layer in layers for g in layer.gradients()]),
    )
