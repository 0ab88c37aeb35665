"""Path integrals of derivatives by composite Gauss–Legendre quadrature: the law, computed the long way."""

from __future__ import annotations

import warnings

import numpy
import torch

import npdec as np

F64 = torch.float64


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + 31 * len(shape)), dtype=F64)


def panels(edges, nodes=20):
    """Nodes and weights of composite Gauss–Legendre quadrature over the edges."""
    t, w = numpy.polynomial.legendre.leggauss(nodes)
    for a, b in zip(edges[:-1], edges[1:], strict=True):
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
    total = None
    for t, w in panels(uniform() if edges is None else edges):
        point = r + t * (x - r)
        rate = torch.stack([torch.func.jvp(f, (point,), (c,))[1] for c in components]) * w
        total = rate if total is None else total + rate
    return total


def parts(x, r, count=4, seed=5):
    """Components that add up to x − r."""
    free = randn(count - 1, *x.shape, seed=seed).to(x.dtype)
    return torch.cat([free, (x - r - free.sum(0))[None]])


def decomposed(x, r, components):
    return np.DecomposedTensor(x, r, components, tuple(range(len(components))))


def agree(made, wanted, rtol=1e-12):
    made, wanted = made.detach(), wanted.detach()
    scale = max(1e-300, float(wanted.abs().max()))
    assert float((made - wanted).abs().max()) <= rtol * scale
