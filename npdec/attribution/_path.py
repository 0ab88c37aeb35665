"""Attribution along the straight path from the baseline: integrated gradients, and their second order."""

from __future__ import annotations

import torch

from npdec._core.progress import Show
from npdec.attribution._integral import Integral, Rates, at_number, like
from npdec.attribution._problem import Found, Problem
from npdec.attribution._twice import twice

__all__ = ["assembled", "columns", "grad", "gradient", "input_x_gradient", "pairs", "path"]


def path(problem: Problem, steps: int | None, rtol: float | None, progress: Show) -> Found:
    """Integrated gradients: c_i · ∫ ∂f/∂c_i (r + t (x − r)) dt."""
    value, residual = problem.ends()

    def integrand(nodes: torch.Tensor) -> Rates:
        rates, values = _slopes(problem, _diagonal(problem, nodes))
        return Rates(rates, rates.sum(-1), values)

    def primitive(t: torch.Tensor) -> torch.Tensor:
        with problem.evaluating():
            return problem.many(problem.along(_diagonal(problem, t)))[0]

    shares = Integral(problem, integrand, primitive, value, residual, progress).over_path(steps, rtol)
    return Found(value, residual, shares)


def pairs(problem: Problem, steps: int | None, rtol: float | None, progress: Show) -> Found:
    """The second order: Taylor's formula with its remainder in integral form,

    f(x) − f(r) = Σ_i c_i ∂_i f(r) + Σ_ij c_i c_j ∫ (1 − t) ∂_ij f(r + t (x − r)) dt.
    """
    value, residual = problem.ends()

    def integrand(nodes: torch.Tensor) -> Rates:
        curves = _curvatures(problem, _diagonal(problem, nodes))
        curves = curves * like((1 - nodes), curves)
        return Rates(curves, curves.sum((-2, -1)))

    def primitive(t: torch.Tensor) -> torch.Tensor:
        """∫ (1 − t) φ'' = (1 − t) φ' + φ, for φ(t) = f(r + t (x − r))."""
        at = _diagonal(problem, t)
        slopes, values = _slopes(problem, at)
        return (1 - float(t)) * slopes[0].sum(-1) + values[0]

    ends = primitive(at_number(1.0)), primitive(at_number(0.0))
    mixed = Integral(problem, integrand, primitive, *ends, progress).over_path(steps, rtol)
    main = _slopes(problem, _diagonal(problem, at_number(0.0)))[0][0]
    matrix = (mixed + mixed.transpose(-1, -2)) / 2 + torch.diag_embed(main)
    return Found(value, residual, matrix)


def gradient(problem: Problem) -> Found:
    """The gradient itself, by each element."""
    leaves = [value.clone().requires_grad_() for value in problem.values]
    with twice(problem.graph):
        made = problem.one([leaf.clone() for leaf in leaves])
    flat = made.reshape(-1)
    rows = []
    for i, number in enumerate(flat):
        if number.is_complex():
            raise TypeError(
                "attribute: a complex output has no gradient: choose its real or imaginary part with output="
            )
        slopes = grad(number, leaves, retain=i + 1 < len(flat), create=problem.graph)
        rows.append(torch.cat([slope.reshape(-1).to(problem.device) for slope in slopes]))
    return Found(problem.kept(made), None, torch.stack(rows).reshape(*made.shape, -1))


def input_x_gradient(problem: Problem) -> Found:
    """Each component times the slope at the value."""
    value, residual = problem.ends()
    shares = _slopes(problem, _diagonal(problem, at_number(1.0)), inside=False)[0][0]
    return Found(value, residual, shares)


# -- derivatives with respect to the components' weights ---------------------------------------------------------------


def _diagonal(problem: Problem, nodes: torch.Tensor) -> torch.Tensor:
    """Points of the path, shape (m, C) for m nodes: all components by the same weight."""
    nodes = nodes.to(problem.device, problem.dtype).reshape(-1)
    return nodes[:, None].expand(len(nodes), problem.count).clone()


def grad(number: torch.Tensor, leaves: list[torch.Tensor], retain: bool, create: bool = False) -> list[torch.Tensor]:
    """The gradients of a number by the leaves; zeros for what it does not depend on."""
    if not number.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves]
    found: tuple[torch.Tensor | None, ...] = torch.autograd.grad(
        number, leaves, retain_graph=retain or create, create_graph=create, allow_unused=True
    )
    return [torch.zeros_like(leaf) if g is None else g for g, leaf in zip(found, leaves, strict=True)]


def columns(made: torch.Tensor) -> list[torch.Tensor]:
    """Outputs (m,) or (m, k) at m points, each as real numbers (m,): of complex ones the two parts."""
    flat = made.reshape(len(made), -1)
    if flat.is_complex():
        flat = torch.view_as_real(flat.resolve_conj()).flatten(1)
    return list(flat.unbind(1))


def assembled(parts: list[torch.Tensor], made: torch.Tensor) -> torch.Tensor:
    """Derivatives (m, *C) of the columns, as (m, *C) for one output or (m, k, *C)."""
    stacked = torch.stack(parts, 1)
    if made.is_complex():
        stacked = torch.complex(stacked[:, 0::2], stacked[:, 1::2])
    return stacked.reshape((*made.shape, *stacked.shape[2:]))


def _slopes(problem: Problem, weights: torch.Tensor, inside: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """∂f/∂w at weights (m, C), shape (m, *O, C), and f there, (m, *O)."""
    parts: list[torch.Tensor] = []
    pieces, values = [], []
    for piece in weights.split(problem.at_once()):
        piece = piece.requires_grad_()
        with twice(problem.graph):
            made = problem.many(problem.along(piece, inside))
        each = columns(made)
        last = len(each) - 1
        parts = [grad(c.sum(), [piece], i < last, problem.graph)[0] for i, c in enumerate(each)]
        pieces.append(problem.kept(assembled(parts, made)))
        values.append(problem.kept(made))
    return torch.cat(pieces), torch.cat(values)


def _curvatures(problem: Problem, weights: torch.Tensor) -> torch.Tensor:
    """∂²f/∂w∂w at weights (m, C): (m, *O, C, C)."""
    pieces = []
    for piece in weights.split(problem.at_once()):
        piece = piece.requires_grad_()
        parts = []
        with twice():
            made = problem.many(problem.along(piece))
            for column in columns(made):
                (slope,) = grad(column.sum(), [piece], retain=True, create=True)
                rows = [grad(slope[:, i].sum(), [piece], retain=True)[0] for i in range(problem.count)]
                parts.append(torch.stack(rows, 1))
        pieces.append(assembled(parts, made).detach())
    return torch.cat(pieces)
