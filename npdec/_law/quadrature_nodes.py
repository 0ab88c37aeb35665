"""Nodes and weights of quadrature on [0, 1]."""

from __future__ import annotations

import functools

import torch

from npdec._torch.tracing import constant_when_traced

__all__ = ["gauss_legendre", "last_coefficients"]


@constant_when_traced
@functools.cache
def gauss_legendre(n: int) -> tuple[tuple[float, float], ...]:
    """(node, weight) pairs on [0, 1], exact for polynomials of degree 2n − 1.

    Golub and Welsch, "Calculation of Gauss quadrature rules" (1969): the nodes are the eigenvalues of the Jacobi
    matrix, the weights the squared first components of its eigenvectors.
    """
    k = torch.arange(1, n, dtype=torch.float64, device="cpu")
    off = k / torch.sqrt(4 * k * k - 1)
    jacobi = torch.diag(off, 1) + torch.diag(off, -1)
    nodes, vectors = torch.linalg.eigh(jacobi)
    return tuple(zip(((nodes + 1) / 2).tolist(), vectors[0].square().tolist(), strict=True))


@functools.cache
def last_coefficients(n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The coefficients, one for each of n nodes, that give of what is known at the nodes the two last coefficients by
    Legendre's polynomials. The square of what they are of the largest tells how far n nodes are from enough."""
    rows: list[list[float]] = []
    for node, weight in gauss_legendre(n):
        x, before, last = 2 * node - 1, 0.0, 1.0
        found = []
        for k in range(n):
            found.append((2 * k + 1) * weight * last)
            before, last = last, ((2 * k + 1) * x * last - k * before) / (k + 1)
        rows.append(found)
    return tuple(row[-2] for row in rows), tuple(row[-1] for row in rows)
