"""Path integrals of derivatives by composite Gauss–Legendre quadrature: the law, computed the long way."""

from __future__ import annotations

import itertools
import warnings

import numpy
import torch

import npdec as np

F64 = torch.float64


def randn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + 31 * len(shape)), dtype=F64)


def panels(edges, nodes=20):
    """Nodes and weights of composite Gauss–Legendre quadrature over the edges."""
    t, w = numpy.polynomial.legendre.leggauss(nodes)
    for a, b in itertools.pairwise(edges):
        for node, weight in zip(t, w, strict=True):
            yield a + (b - a) * (1 + node) / 2, weight * (b - a) / 2


def uniform(count=6):
    return torch.linspace(0, 1, count + 1, dtype=F64).tolist()


def graded(center, finest=2.0**-60):
    """Edges that halve their distance towards a point of the path, from both sides."""
    left, right = [], []
    step = center
    while step > finest:
        left.append(center - step)
        step /= 2
    step = 1 - center
    while step > finest:
        right.append(center + step)
        step /= 2
    return [*left, center, *right[::-1]]


with warnings.catch_warnings():  # jvp compiles formulas with the deprecated torch.jit.script when it is first used
    warnings.simplefilter("ignore", DeprecationWarning)
    torch.func.jvp(torch.sin, (torch.zeros(()),), (torch.zeros(()),))


def reference(f, x, r, components, edges=None):
    """The path integral of the derivative of f on each component."""
    times, weights = (torch.tensor(t, dtype=F64) for t in zip(*panels(edges or uniform()), strict=True))

    def rate(t, c):
        return torch.func.jvp(f, (r + t * (x - r),), (c,))[1]

    def at(t, w):
        return w * torch.vmap(rate, (None, 0))(t, components)

    return torch.vmap(at, chunk_size=200)(times, weights).sum(0)


def parts(x, r, count=4, seed=5):
    """Components that add up to x − r."""
    free = randn(count - 1, *x.shape, seed=seed).to(x.dtype)
    return torch.cat([free, (x - r - free.sum(0))[None]])


def decomposed(x, r, components):
    return np.DecomposedTensor(x, r, components, tuple(range(len(components))))


def agree(made, wanted, rtol=1e-12, scale=0.0):
    """The tensors differ by no more than rtol of the largest number (or of `scale`, if that is larger)."""
    made, wanted = made.detach(), wanted.detach()
    scale = max(1e-300, float(wanted.abs().max()), scale)
    assert float((made - wanted).abs().max()) <= rtol * scale
