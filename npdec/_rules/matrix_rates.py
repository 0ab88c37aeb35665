"""Derivatives of functions of matrices in formulas, for the quadrature of the law: at many points of the path and along
many tangents at once, as torch computes stacks of matrices (`npdec._law.differentiable.Stacked`).

Points come as (n, 1, ...) and tangents as (1, m, ...). Each formula is that of first order in the tangent, with the
choices (signs of vectors, the order of eigenvalues) that the function itself makes at the point.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from npdec._law.differentiable import Stacked

__all__ = [
    "apart",
    "equal_within",
    "hermitian_of",
    "moved_hermitian",
    "moved_singular",
    "rates_of_cholesky",
    "rates_of_eigen",
    "rates_of_hermitian",
    "rates_of_hermitian_values",
    "pseudo_inverse",
    "rates_of_inverse",
    "rates_of_pseudo_inverse",
    "rates_of_triangular",
    "rates_of_singular",
    "rates_of_singular_values",
    "rates_of_solution",
]

Tensors = Sequence[torch.Tensor]


def hermitian_of(a: torch.Tensor, upper: bool) -> torch.Tensor:
    """The Hermitian matrix that a triangle of `a` says, the diagonal read as real."""
    half = a.triu(1) if upper else a.tril(-1)
    diagonal = a.diagonal(dim1=-2, dim2=-1)
    if a.is_complex():
        diagonal = torch.complex(diagonal.real, torch.zeros_like(diagonal.real))
    return half + half.mH + torch.diag_embed(diagonal)


def equal_within(numbers: torch.Tensor) -> torch.Tensor:
    """How far numbers (..., n) may be apart that are equal to rounding."""
    size = numbers.abs().amax(-1, keepdim=True) if numbers.shape[-1] else numbers.new_zeros((*numbers.shape[:-1], 1))
    return 8 * numbers.shape[-1] * torch.finfo(numbers.dtype).eps * size


def apart(numbers: torch.Tensor) -> torch.Tensor:
    """1 / (n_j − n_i) for each pair of numbers, zero for equal ones."""
    gaps = numbers.unsqueeze(-2) - numbers.unsqueeze(-1)
    equal = gaps.abs() <= equal_within(numbers)[..., None]
    return torch.where(equal, 0, 1 / torch.where(equal, 1, gaps))


# -- equations ---------------------------------------------------------------------------------------------------------


def rates_of_solution(matrix: torch.Tensor | None, right: torch.Tensor | None, vector: bool, axes: int) -> Stacked:
    """Of the solution x of a x = b: a dx = db − da x. `matrix` and `right` are those of the two that stay; `axes` is
    the number of axes of the solution, as columns."""

    def stack(x: torch.Tensor, is_right: bool) -> torch.Tensor:
        x = x.unsqueeze(-1) if vector and is_right else x
        return x.reshape(*x.shape[:2], *[1] * (axes + 2 - x.ndim), *x.shape[2:])

    def rates(points: Tensors, tangents: Tensors) -> list[torch.Tensor]:
        moving = iter(zip(points, tangents, strict=True))
        a, da = next(moving) if matrix is None else (matrix[None, None], None)
        b, db = next(moving) if right is None else (right[None, None], None)
        a, b = stack(a, False), stack(b, True)
        change = None if db is None else stack(db, True)
        if da is not None:
            by_matrix = stack(da, False) @ torch.linalg.solve(a, b)
            change = -by_matrix if change is None else change - by_matrix
        assert change is not None
        made = torch.linalg.solve(a, change)
        return [made.squeeze(-1) if vector else made]

    return rates


def rates_of_inverse(points: Tensors, tangents: Tensors) -> list[torch.Tensor]:
    inverse = torch.linalg.inv(points[0])
    return [-(inverse @ tangents[0] @ inverse)]


def rates_of_pseudo_inverse(points: Tensors, tangents: Tensors) -> list[torch.Tensor]:
    """Of matrices whose columns (or rows, where these are fewer) are independent."""
    a, da = points[0], tangents[0]
    tall = a.shape[-2] >= a.shape[-1]
    a, da = (a, da) if tall else (a.mH, da.mH)
    inverse = pseudo_inverse(a)
    outside = torch.eye(a.shape[-2], dtype=a.dtype, device=a.device) - a @ inverse
    made = inverse @ inverse.mH @ (da.mH @ outside) - inverse @ da @ inverse
    return [made if tall else made.mH]


def pseudo_inverse(a: torch.Tensor) -> torch.Tensor:
    """By triangular factors, of matrices whose columns are independent."""
    q, r = torch.linalg.qr(a)
    return torch.linalg.solve_triangular(r, q.mH, upper=True)


# -- factors and spectra -----------------------------------------------------------------------------------------------


def rates_of_cholesky(points: Tensors, tangents: Tensors, upper: bool = False) -> list[torch.Tensor]:
    """Of the lower factor l: l times the lower triangle, with half the diagonal, of l⁻¹ da l⁻ᴴ."""
    root = torch.linalg.cholesky(hermitian_of(points[0], upper))
    half = torch.linalg.solve_triangular(root, hermitian_of(tangents[0], upper), upper=False)
    moved = torch.linalg.solve_triangular(root, half.mH, upper=False).mH
    lower = moved.tril()
    made = root @ (lower - torch.diag_embed(0.5 * lower.diagonal(dim1=-2, dim2=-1)))
    return [made.mH if upper else made]


def rates_of_eigen(points: Tensors, tangents: Tensors) -> tuple[Tensors, Tensors]:
    """Eigenvalues and vectors, and their derivatives, those of the vectors but for their length and phase: the values'
    are the diagonal of v⁻¹ da v."""
    values, vectors = torch.linalg.eig(points[0])
    moved = torch.linalg.solve(vectors, tangents[0].to(vectors.dtype) @ vectors)
    return (values, vectors), (moved.diagonal(dim1=-2, dim2=-1), moved)


def rates_of_hermitian_values(points: Tensors, tangents: Tensors, upper: bool) -> list[torch.Tensor]:
    _, vectors = torch.linalg.eigh(hermitian_of(points[0], upper))
    return [((hermitian_of(tangents[0], upper) @ vectors) * vectors.conj()).sum(-2).real]


def rates_of_hermitian(
    points: Tensors, tangents: Tensors, upper: bool
) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Eigenvalues and vectors, and their derivatives, but for rotations within a space of equal eigenvalues."""
    values, vectors = torch.linalg.eigh(hermitian_of(points[0], upper))
    moved = vectors.mH @ hermitian_of(tangents[0], upper) @ vectors
    return (values, vectors), moved_hermitian(values, vectors, moved)


def moved_hermitian(
    values: torch.Tensor, vectors: torch.Tensor, moved: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What eigenvalues and vectors move by with a small change of their matrix, given between the vectors."""
    return moved.diagonal(dim1=-2, dim2=-1).real, vectors @ (apart(values) * moved)


def rates_of_singular_values(points: Tensors, tangents: Tensors) -> list[torch.Tensor]:
    left, _, right = torch.linalg.svd(points[0], full_matrices=False)
    return [((tangents[0] @ right.mH) * left.conj()).sum(-2).real]


def rates_of_singular(points: Tensors, tangents: Tensors) -> tuple[Tensors, Tensors]:
    """The reduced factors, and their derivatives (`moved_singular`)."""
    u, s, vh = torch.linalg.svd(points[0], full_matrices=False)
    return (u, s, vh), moved_singular(u, s, vh, tangents[0])


def moved_singular(
    u: torch.Tensor, s: torch.Tensor, vh: torch.Tensor, change: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What reduced factors move by with a small change of their matrix, but for rotations within a space of equal
    singular values."""
    v = vh.mH
    none = s <= equal_within(s)
    inverse = torch.where(none, 0, 1 / torch.where(none, 1, s)).unsqueeze(-2)
    moved = u.mH @ change @ v
    gaps = apart(s) / torch.where(none[..., None] & none[..., None, :], 1, s.unsqueeze(-1) + s.unsqueeze(-2))
    left, right = moved * s.unsqueeze(-2), moved * s.unsqueeze(-1)
    by_u = u @ (gaps * (left + left.mH)) + (change @ v - u @ moved) * inverse
    by_v = v @ (gaps * (right + right.mH)) + (change.mH @ u - v @ moved.mH) * inverse
    return by_u, moved.diagonal(dim1=-2, dim2=-1), by_v.mH


def rates_of_triangular(points: Tensors, tangents: Tensors) -> tuple[Tensors, Tensors]:
    """The reduced factors q r, and their derivatives: q turns by the part of qᴴ da r⁻¹ below the diagonal, of a matrix
    with more columns than rows by that of its first columns."""
    a, da = points[0], tangents[0]
    q, r = torch.linalg.qr(a)
    n = r.shape[-2]
    moved = torch.linalg.solve_triangular(r[..., :n], da[..., :n], upper=True, left=False)
    inside = q.mH @ moved
    turn = inside.tril(-1) - inside.tril(-1).mH
    return (q, r), (moved - q @ (inside - turn), q.mH @ da - turn @ r)
