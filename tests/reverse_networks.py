"""Networks of many kinds, in a few lines each, of which tests look at the contributions to one number.

Each takes a width, a length and a generator, and returns a function of one input, and the shape of that."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

__all__ = ["NETWORKS"]

Network = Callable[[Any], Any]
NETWORKS: dict[str, Callable[[int, int, torch.Generator], tuple[Network, tuple[int, ...]]]] = {}


def _network(make: Any) -> Any:
    NETWORKS[make.__name__] = make
    return make


def _weights(generator: torch.Generator, *shapes: tuple[int, ...]) -> list[torch.Tensor]:
    made = [torch.randn(shape, generator=generator, dtype=torch.get_default_dtype()) for shape in shapes]
    return [w / math.sqrt(max(1, w[0].numel())) for w in made]


@_network
def cached_decoder(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """Attention token by token, over the keys and values that are kept of those before."""
    q, k, v, o, up, down = _weights(generator, *[(width, width)] * 4, (2 * width, width), (width, 2 * width))

    def f(x: Any) -> Any:
        keys, values, last = [], [], None
        for t in range(x.shape[1]):
            token = x[:, t]
            keys.append(token @ k.T)
            values.append(token @ v.T)
            kept = torch.stack(keys, 1), torch.stack(values, 1)
            scores = torch.einsum("bd,btd->bt", token @ q.T, kept[0]) / math.sqrt(width)
            read = (torch.softmax(scores, -1)[:, :, None] * kept[1]).sum(1)
            last = token + read @ o.T
            last = last + F.gelu(last @ up.T) @ down.T
        return last.sum()  # type: ignore[union-attr]

    return f, (3, length, width)


@_network
def edges_attention(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """Graph attention along edges, whose weights are added up at their ends by index_add."""
    w, a, b = _weights(generator, (width, width), (1, width), (1, width))
    source = torch.randint(0, length, (3 * length,), generator=generator)
    target = torch.cat([torch.arange(length), torch.randint(0, length, (2 * length,), generator=generator)])

    def f(x: Any) -> Any:
        h = F.linear(x, w)
        scores = F.leaky_relu(F.linear(h[source], a) + F.linear(h[target], b), 0.2).exp()
        total = x.new_zeros(length, 1).index_add(0, target, scores)
        mixed = x.new_zeros(length, width).index_add(0, target, scores * h[source])
        return F.elu(mixed / total).mean(0).sum()

    return f, (length, width)


@_network
def autoencoder(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """A variational autoencoder: its draw is given, and the loss is that of the data and of the code."""
    enc, mean, spread, dec, out = _weights(generator, (width, width), *[(4, width)] * 2, (width, 4), (width, width))
    noise = torch.randn(length, 4, generator=generator, dtype=torch.get_default_dtype())
    data = torch.randn(length, width, generator=generator, dtype=torch.get_default_dtype())

    def f(x: Any) -> Any:
        h = F.relu(F.linear(x, enc))
        mu, log = F.linear(h, mean), F.linear(h, spread)
        code = mu + torch.exp(0.5 * log) * noise
        made = F.linear(F.relu(F.linear(code, dec)), out)
        return F.mse_loss(made, data) - 0.5 * (1 + log - mu.pow(2) - log.exp()).mean()

    return f, (length, width)


@_network
def generator_of_images(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """Transposed convolutions, each behind a normalisation by given statistics."""
    first, a, b, s = _weights(generator, (8 * 16, width), (8, 4, 4, 4), (4, 1, 4, 4), (8,))

    def f(x: Any) -> Any:
        h = F.linear(x, first).reshape(len(x), 8, 4, 4)
        h = F.relu(F.batch_norm(h, s, s.abs() + 1, s, s))
        h = F.leaky_relu(F.conv_transpose2d(h, a, stride=2, padding=1), 0.2)
        return torch.tanh(F.conv_transpose2d(h, b, stride=2, padding=1))[:, :, 3, 5].sum()

    return f, (length, width)


@_network
def gated_dilated(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """Causal convolutions of growing dilation, with gates and skips, as WaveNet has them."""
    filters, gates, mixes = (
        _weights(generator, *[shape] * 3) for shape in [(width, width, 2)] * 2 + [(width, width, 1)]
    )

    def f(x: Any) -> Any:
        skips = 0
        for i, (a, b, c) in enumerate(zip(filters, gates, mixes, strict=True)):
            before = F.pad(x, (2**i, 0))
            h = torch.tanh(F.conv1d(before, a, dilation=2**i)) * torch.sigmoid(F.conv1d(before, b, dilation=2**i))
            made = F.conv1d(h, c)
            skips, x = skips + made, x + made
        return F.relu(skips)[:, :, -1].sum()  # type: ignore[call-overload]

    return f, (2, width, length)


@_network
def convolved_recurrence(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """A recurrent cell of images, whose gates are convolutions."""
    w, b = _weights(generator, (16, 5, 3, 3), (16,))

    def f(x: Any) -> Any:
        h = c = x.new_zeros(len(x), 4, *x.shape[3:])
        for t in range(x.shape[1]):
            i, r, o, n = F.conv2d(torch.cat([x[:, t], h], 1), w, b, padding=1).chunk(4, 1)
            c = torch.sigmoid(r) * c + torch.sigmoid(i) * torch.tanh(n)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h.mean((2, 3)).sum()

    return f, (2, min(length, 4), 1, 6, 6)


@_network
def latent_queries(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """Attention of constant queries to the tokens, and among what they read, as the Perceiver has it."""
    latents, k, v, q, o = _weights(generator, (4, width), *[(width, width)] * 4)

    def f(x: Any) -> Any:
        read = F.scaled_dot_product_attention(latents.expand(len(x), -1, -1), F.linear(x, k), F.linear(x, v))
        h = F.layer_norm(read + latents, (width,))
        h = h + F.linear(F.scaled_dot_product_attention(F.linear(h, q), h, h), o)
        return F.silu(h.mean(1)).sum()

    return f, (2, length, width)


@_network
def weights_of_inputs(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """A hypernetwork: one half of the input makes the layer that the other half goes through."""
    half = width // 2
    a, b = _weights(generator, (half * half, half), (half, half))

    def f(x: Any) -> Any:
        layer = torch.tanh(F.linear(x[:, :half], a)).reshape(-1, half, half)
        h = torch.bmm(layer, x[:, half:, None]).squeeze(-1)
        return torch.logsumexp(F.linear(F.softplus(h), b), -1).sum()

    return f, (length, 2 * half)


@_network
def soft_tree(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """A decision tree, whose branches are taken in part: a leaf has the product of its branches."""
    w, leaves = _weights(generator, (7, width), (8,))

    def f(x: Any) -> Any:
        right = torch.sigmoid(F.linear(x, w))
        reached = right.new_ones(len(x), 1)
        for level in range(3):
            its = right[:, 2**level - 1 : 2 ** (level + 1) - 1]
            reached = torch.stack([reached * (1 - its), reached * its], -1).flatten(1)
        return (reached * leaves).sum()

    return f, (length, width)


@_network
def skipping(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """A U-Net: strided convolutions, transposed ones, normalised groups, and skips between them."""
    a, b, c, d = _weights(generator, (4, 2, 3, 3), (8, 4, 3, 3), (8, 4, 2, 2), (1, 8, 1, 1))

    def f(x: Any) -> Any:
        high = F.silu(F.group_norm(F.conv2d(x, a, padding=1), 2))
        low = F.silu(F.group_norm(F.conv2d(high, b, stride=2, padding=1), 2))
        up = F.conv_transpose2d(low, c, stride=2)
        return F.conv2d(torch.cat([high, up], 1), d)[:, 0, 2, 3].sum()

    return f, (2, 2, 8, 8)


@_network
def addressed_memory(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """A memory that is read by likeness, sharpened, and written to by gates, step by step."""
    key, erase, add, start = _weights(generator, *[(width, width)] * 3, (5, width))

    def f(x: Any) -> Any:
        memory = start.expand(len(x), -1, -1)
        for t in range(min(x.shape[1], 3)):
            like = F.cosine_similarity(memory, F.linear(x[:, t], key)[:, None], dim=-1)
            weight = torch.softmax(4 * like, -1)[:, :, None]
            gate = torch.sigmoid(F.linear(x[:, t], erase))[:, None]
            memory = memory * (1 - weight * gate) + weight * F.linear(x[:, t], add)[:, None]
        return memory.amax(1).sum()

    return f, (2, length, width)


@_network
def runge_kutta(width: int, length: int, generator: torch.Generator) -> tuple[Network, tuple[int, ...]]:
    """A differential equation by steps of fourth order, whose right side is a network with rotated pairs."""
    a, b = _weights(generator, (2 * width, width), (width, 2 * width))
    angles = torch.linspace(0.1, 1.0, width // 2)

    def turned(h: Any) -> Any:
        first, second = h.chunk(2, -1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)

    def rate(h: Any) -> Any:
        return F.linear(F.silu(F.linear(turned(h), a)), b)

    def f(x: Any) -> Any:
        for _ in range(2):
            first = rate(x)
            second = rate(x + 0.25 * first)
            third = rate(x + 0.25 * second)
            x = x + (first + 2 * second + 2 * third + rate(x + 0.5 * third)) / 12
        return x.square().sum(-1).sqrt().sum()

    return f, (length, width // 2 * 2)
