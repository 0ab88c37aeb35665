"""The law for factorisations: formulas where torch has no derivative, and signs that do not change along the path."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.choices import compare_choices, is_watched
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._linalg import OF_THE_BASELINE
from npdec._law import law
from npdec._law.create_graph import wants_graph
from npdec._rules.by_formula import with_numbers
from npdec._rules.casts_and_special import of_eig, of_eigh, phase_of
from npdec._rules.matrix_rates import (
    apart,
    equal_within,
    moved_hermitian,
    moved_singular,
    rates_of_eigen,
    rates_of_hermitian,
    rates_of_singular,
    rates_of_triangular,
)
from npdec._rules.rule import rule
from npdec._torch.tracing import name_of, tracing

Function = Callable[..., Any]
_KINDS: Any = torch.return_types


def _reflections(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Q, square, and R of the matrices, by Householder reflections with LAPACK's signs (its zlarfg)."""
    rows, columns = a.shape[-2:]
    q = torch.eye(rows, dtype=a.dtype, device=a.device).expand(*a.shape[:-2], rows, rows)
    r = a
    for k in range(min(rows, columns)):
        column = r[..., k:, k]
        head, tail = column[..., :1], column[..., 1:]
        done = (tail == 0).all(-1, keepdim=True) & (head.imag == 0 if head.is_complex() else True)
        norm = torch.linalg.vector_norm(torch.where(done, torch.ones_like(column), column), dim=-1, keepdim=True)
        beta = torch.where(head.real < 0, norm, -norm).to(a.dtype)
        scale = torch.where(done, torch.ones_like(head), head - beta)
        tau = torch.where(done, torch.zeros_like(head), (beta - head) / beta)
        v = torch.cat([torch.zeros_like(r[..., :k, k]), torch.ones_like(head), tail / scale], -1).unsqueeze(-1)
        tau = tau.unsqueeze(-1)
        r = r - tau.conj() * v @ (v.mH @ r)
        q = q - (q @ v) @ (tau * v.mH)
    return q, torch.triu(r)


# -- vectors up to their signs ----------------------------------------------------------------------------------------

# The signs of eigenvectors and singular vectors, and the order of eigenvalues, are LAPACK's choice, which may change
# anywhere on the path. Along the path, and in the residual, they are those that agree with the value's.


def _agreeing(dot: torch.Tensor) -> torch.Tensor:
    return torch.where(dot.detach() < 0, -1.0, 1.0).to(dot.dtype)


def _rest(q: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Columns that complete the orthonormal ones of q to a basis: those nearest to the ones that complete `like`."""
    near = like[..., q.shape[-1] :]
    near = near - q @ (q.mT @ near)
    root = torch.linalg.cholesky(near.mT @ near)
    return torch.linalg.solve_triangular(root, near.mT, upper=False).mT


def _eigh_signs(made: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return made[0], made[1] * _agreeing((made[1] * like[1]).sum(-2, keepdim=True))


def _svd_signs(made: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    (u, s, vh), (u_like, _, vh_like) = made, like
    k = s.shape[-1]
    signs = _agreeing((u * u_like[..., :k]).sum(-2) + (vh * vh_like[..., :k, :]).sum(-1))
    u, vh = u * signs.unsqueeze(-2), vh * signs.unsqueeze(-1)
    if u_like.shape[-1] > k:
        u = torch.cat([u, _rest(u, u_like)], -1)
    if vh_like.shape[-2] > k:
        vh = torch.cat([vh, _rest(vh.mT, vh_like.mT).mT], -2)
    return u, s, vh


def _qr_signs(made: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    (q, r), (_, r_like) = made, like
    signs = _agreeing(r.diagonal(dim1=-2, dim2=-1) * r_like.diagonal(dim1=-2, dim2=-1))
    return (q * signs.unsqueeze(-2) if q.numel() else q), r * signs.unsqueeze(-1)


def _order(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """For each of the eigenvalues `like` the place of the one that is nearest, if all of them have their own."""
    places = torch.arange(values.shape[-1], device=values.device).expand(values.shape)
    nearest = (values.detach().unsqueeze(-1) - like.unsqueeze(-2)).abs().argmin(-2)
    own = (torch.sort(nearest, -1).values == places).all(-1, keepdim=True)
    return torch.where(own, nearest, places)


def _eig_order(made: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    order = _order(made[0], like[0])
    vectors = torch.take_along_dim(made[1], order.unsqueeze(-2), -1)
    return torch.take_along_dim(made[0], order, -1), vectors * _agreeing((vectors.conj() * like[1]).sum(-2, True).real)


def _eigvals_order(made: torch.Tensor, like: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.take_along_dim(made, _order(made, like[0]), -1)


# Their derivatives have the signs and the order of the function at the same point.


def _eigh_rates(points: Any, tangents: Any, like: Sequence[torch.Tensor], upper: bool) -> tuple[torch.Tensor, ...]:
    (_, vectors), (along, turned) = rates_of_hermitian(points, tangents, upper)
    return along, turned * _agreeing((vectors * like[1]).sum(-2, keepdim=True))


def _svd_rates(points: Any, tangents: Any, like: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    (u, _, vh), (by_u, along, by_vh) = rates_of_singular(points, tangents)
    signs = _agreeing((u * like[0]).sum(-2) + (vh * like[2]).sum(-1))
    return by_u * signs.unsqueeze(-2), along, by_vh * signs.unsqueeze(-1)


def _qr_rates(points: Any, tangents: Any, like: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    (_, r), (by_q, by_r) = rates_of_triangular(points, tangents)
    signs = _agreeing(r.diagonal(dim1=-2, dim2=-1) * like[1].diagonal(dim1=-2, dim2=-1))
    return by_q * signs.unsqueeze(-2), by_r * signs.unsqueeze(-1)


def _eigvals_rates(points: Any, tangents: Any, like: Sequence[torch.Tensor]) -> tuple[torch.Tensor]:
    (values, _), (along, _) = rates_of_eigen(points, tangents)
    return (torch.take_along_dim(along, _order(values, like[0]), -1),)


def _eig_rates(points: Any, tangents: Any, like: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    (values, vectors), (along, moved) = rates_of_eigen(points, tangents)
    turned = vectors @ (apart(values) * moved)
    order = _order(values, like[0])
    vectors, turned = (torch.take_along_dim(x, order.unsqueeze(-2), -1) for x in (vectors, turned))
    agreeing = _agreeing((vectors.conj() * like[1]).sum(-2, True).real)
    place = vectors.abs().argmax(-2, keepdim=True)
    turn = agreeing * phase_of(agreeing * vectors.gather(-2, place))
    vectors, turned = vectors * turn, turned * turn
    # They stay of length one, and their largest element stays real.
    length = (vectors.conj() * turned).sum(-2, keepdim=True).real
    there = turned.gather(-2, place.expand(turned.shape[:-2] + place.shape[-2:]))
    angle = there.imag / vectors.gather(-2, place).real
    return torch.take_along_dim(along, order, -1), turned - vectors * torch.complex(length, angle)


# -- equal eigenvalues and singular values -----------------------------------------------------------------------------

# Of equal eigenvalues the vectors are any basis of their space, and torch's derivative is nan. These forms leave out
# the part of it that has no meaning, a rotation within that space: the numbers are those of the factorisation, and
# their derivatives those of first order about a point at which it is held.


def _moving(made: torch.Tensor) -> torch.Tensor:
    """Zero, with the derivatives of a tensor."""
    return made - made.detach()


def _eigh_apart(A: torch.Tensor, UPLO: str = "L") -> Any:
    values, vectors = torch.linalg.eigh(A.detach(), UPLO)
    along, by_vectors = moved_hermitian(values, vectors, _moving(vectors.mH @ A @ vectors))
    return _KINDS.linalg_eigh((values + along, vectors + by_vectors))


def _eig_apart(A: torch.Tensor) -> Any:
    values, vectors = torch.linalg.eig(A.detach())
    moved = _moving(torch.linalg.solve(vectors, A.to(vectors.dtype) @ vectors))
    turned = vectors @ (apart(values) * moved)
    along = (vectors.conj() * turned).sum(-2, keepdim=True).real  # they stay of length one
    return _KINDS.linalg_eig((values + moved.diagonal(dim1=-2, dim2=-1), vectors + turned - vectors * along))


def _svd_apart(A: torch.Tensor, full_matrices: bool = False) -> Any:
    u, s, vh = torch.linalg.svd(A.detach(), full_matrices=False)
    by_u, along, by_vh = moved_singular(u, s, vh, _moving(A))
    return _KINDS.linalg_svd((u + by_u, s + along, vh + by_vh))


for _form, _name in ((_eigh_apart, "linalg_eigh"), (_eig_apart, "linalg_eig"), (_svd_apart, "linalg_svd")):
    _form.__name__ = _name  # that warnings know

# The function that a factorisation gives way to, and which of its results may be equal numbers.
_APART: dict[str, tuple[Function, int]] = {
    "linalg_eigh": (_eigh_apart, 0),
    "linalg_eig": (_eig_apart, 0),
    "linalg_svd": (_svd_apart, 1),
}


def _has_equal(numbers: torch.Tensor) -> bool:
    """Whether two of the numbers (..., n) are equal to rounding."""
    pairs = (numbers.unsqueeze(-1) - numbers.unsqueeze(-2)).abs() <= equal_within(numbers)[..., None]
    return int(pairs.sum()) > numbers.numel()


def _away_from_equal(func: Function, found: Any, base: Any) -> Function:
    """The function, or where two of its numbers are equal at an end of the path, its form that has a derivative there.
    `found` and `base` are what it makes of the value and of the residual."""
    if name_of(func) not in _APART:
        return func
    form, place = _APART[name_of(func)]
    return form if _has_equal(found[place].detach()) or _has_equal(base[place]) else func


def _has_graph(x: DecomposedTensor) -> bool:
    """Whether contributions are differentiated themselves: the forms for equal numbers have first derivatives alone,
    and between its ends the path is seldom of equal numbers."""
    given = (x.value, x.residual) if x.reverse else (x.value, x.residual, x.components)
    return wants_graph() or (torch.is_grad_enabled() and any(t.requires_grad for t in given))


def _ends(func: Function, x: DecomposedTensor, args: Sequence[Any], kwargs: Any) -> tuple[Any, Any]:
    """What the function makes of the value and of the residual."""
    with no_graph(x.reverse):
        found = func(x.value, *args, **kwargs)
        try:
            return found, func(x.residual.detach(), *args, **kwargs)
        except torch.linalg.LinAlgError as error:
            raise torch.linalg.LinAlgError(f"{error} {OF_THE_BASELINE}") from error


def _tuple_of(found: Any) -> tuple[torch.Tensor, ...]:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _kept(found: Any, reverse: bool) -> list[torch.Tensor]:
    """The results by which signs and orders are chosen: in reverse mode copies, for gradients come back along the path
    when the results may have been written to."""
    return [out.detach().clone() if reverse else out.detach() for out in _tuple_of(found)]


def _compare(name: str, signs: Function, base: Any, like: Sequence[torch.Tensor]) -> None:
    """Warn if at the baseline the signs or the order are others than the value's, which the residual has."""
    if not is_watched():
        return
    for turned, own in zip(_tuple_of(signs(base, like)), _tuple_of(base), strict=True):
        if not own.numel():
            continue
        within = 64 * max(own.shape) * torch.finfo(own.dtype).eps * own.abs().max()  # columns added to a basis
        if not bool(((turned - own).abs() <= within).all()):
            compare_choices(name, turned, own)
            return


def _aligned(func: Function, signs: Function, like: Any, rates: Function | None = None) -> Function:
    """The function with the signs that agree with these results, and its derivative from `rates` with them."""

    def aligned(*args: Any, **kwargs: Any) -> Any:
        found = func(*args, **kwargs)
        made = signs(found, like)
        return type(found)(made) if isinstance(found, tuple) else made

    named: Any = aligned
    named.__name__ = getattr(func, "__name__", "")
    named.stacked = None if rates is None else functools.partial(rates, like=like)
    return aligned


def _with_signs(signs: Function, inner: Function, rates: Function | None = None) -> Function:
    """The closed form of a factorisation of real matrices; `inner` is that of a function in its place, `rates` its
    derivative with the signs that agree with given results."""

    @functools.wraps(inner)
    def signed(func: Function, x: Any, *options: Any, **named: Any) -> Any:
        if not isinstance(x, DecomposedTensor) or tracing() or not x.value.numel():
            return inner(func, x, *options, **named)
        if x.value.is_complex():
            if name_of(func) in _APART and func is not torch.linalg.svd:  # of which the phases are free
                func = _away_from_equal(func, *_ends(func, x, options, named))
            return inner(func, x, *options, **named)
        found, base = _ends(func, x, options, named)
        like = _kept(found, x.reverse)
        _compare(name_of(func), signs, base, like)
        if not _has_graph(x):
            func = _away_from_equal(func, found, base)
        made = inner(_aligned(func, signs, like, rates), x, *options, **named)
        # The value as it lies in memory where nothing was turned or put in another order.
        residual = made.residual if isinstance(made, DecomposedTensor) else [part.residual for part in made]
        return with_numbers(found, residual, made)

    return signed


def _by_quadrature(func: Function, A: Any, *options: Any, **named: Any) -> Any:
    return law.quadrature(Call(func, None, (A, *options), named), stacked=getattr(func, "stacked", None))


def _thin(made: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    u, s, vh = made
    return u[..., : s.shape[-1]], s, vh[..., : s.shape[-1], :]


@rule(torch.linalg.svd)
def _svd(func: Function, x: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """svd: of the vectors that complete a basis torch has no derivative, and any will do."""
    named = {} if driver is None else {"driver": driver}  # which CUDA alone has
    if not full_matrices or x.value.is_complex() or tracing() or x.shape[-2] == x.shape[-1]:
        return _svd_reduced(func, x, full_matrices, **named)
    value, base = _ends(func, x, (), named)
    like, small = _kept(value, x.reverse), _away_from_equal(func, value, base)
    _compare(name_of(func), lambda made, like: _svd_signs(_thin(made), like), base, like)
    thin = _aligned(lambda a: small(a, full_matrices=False), _svd_signs, like)
    thin.__name__ = func.__name__
    made = _by_quadrature(thin, x)
    return type(value)(
        [
            DecomposedTensor(v, part.residual, part.components, part.labels, part.reverse)
            for v, part in zip(value, made, strict=True)
        ]
    )


@rule(torch.linalg.qr)
def _qr(func: Function, x: Any, mode: str = "reduced") -> Any:
    """qr: of the columns that complete a basis torch has no derivative, and the reflections have; nor has it any of R
    alone."""
    if mode == "r":
        with no_graph(x.reverse):
            value = func(x.value, mode)
        upper = _qr_reduced(func, x, "reduced")[1]
        return type(value)(
            (value[0], DecomposedTensor(value[1], upper.residual, upper.components, upper.labels, upper.reverse))
        )
    if mode == "complete" and x.shape[-2] > x.shape[-1]:
        return law.quadrature(Call(func, None, (x, mode), {}), lambda a, mode: _reflections(a))
    return _qr_reduced(func, x, mode)


_qr_reduced = _with_signs(_qr_signs, _by_quadrature, _qr_rates)
_svd_reduced = _with_signs(_svd_signs, _by_quadrature, _svd_rates)

rule(torch.linalg.eig)(_with_signs(_eig_order, of_eig, _eig_rates))
rule("eigvals")(_with_signs(_eigvals_order, _by_quadrature, _eigvals_rates))
rule("eigh")(_with_signs(_eigh_signs, of_eigh, _eigh_rates))
