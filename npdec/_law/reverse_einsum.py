"""torch.einsum in reverse mode of several operands, of which two or more are decomposed: the result is linear in each,
and the gradient along the path a polynomial, of which a few nodes give the mean. These are one more axis of one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.reverse_graph import with_vjp
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary_reverse import on_graph
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._law.reverse_forms import einsum_in_reverse, operands_of

__all__ = ["einsum"]

Function = Callable[..., Any]
_FEW = 2**10  # elements, of which products are sooner made for the graph than a node in Python
_LETTERS = "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA"


def einsum(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """The form of torch.einsum."""
    made = NotImplemented
    if len(args) == 3 and not options and type(args[0]) is str and all(type(t) is DecomposedTensor for t in args[1:]):
        made = _of_two(func, args[0].replace(" ", ""), args[1:])
    if made is NotImplemented:
        made = einsum_in_reverse(func, args, options)
    if made is not NotImplemented or options or len(args) < 4 or type(args[0]) is not str:
        return made
    return _of_several(func, args)


def _of_two(func: Function, equation: str, operands: Sequence[Any]) -> Any:
    """Of two decomposed operands, each beside the other's midpoint: what goes back to one is the same kind of product
    of what comes and the other."""
    given, arrow, out = equation.partition("->")
    terms = given.split(",")
    if not arrow or "." in equation or len(terms) != 2 or any(len(set(t)) < len(t) for t in (*terms, out)):
        return NotImplemented
    if any(set(terms[i]) - set(out) - set(terms[1 - i]) for i in range(2)):  # an axis that is added up alone
        return NotImplemented
    known = operands_of(operands)
    if known is None or any(len(term) != t.ndim for term, t in zip(terms, known.values, strict=True)):
        return NotImplemented
    (a, b), (low_a, low_b), carriers, _, like = known
    value = func(equation, a, b)
    if value.dtype is not like.value.dtype or value.numel() == 0 or a.numel() <= _FEW >= b.numel():
        return NotImplemented
    if len({size for t, term in ((a, terms[0]), (b, terms[1])) for size in zip(term, t.shape)}) > len(set(given)) - 1:
        return NotImplemented  # axes of one element stand for longer ones
    residual = func(equation, *_rows(terms, out, (low_a, low_b))).expand(value.shape)

    def vjp(grad: torch.Tensor, *ends: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        at_a, at_b = [torch.add(end / 2, low, alpha=0.5) for end, low in zip(ends[:2], ends[2:], strict=True)]
        return func(f"{out},{terms[1]}->{terms[0]}", grad, at_b), func(f"{out},{terms[0]}->{terms[1]}", grad, at_a)

    carrier = with_vjp(value, carriers, vjp, (a, b, low_a, low_b))
    return on_graph(carrier.detach(), residual, carrier, like)


def _of_several(func: Function, args: Sequence[Any]) -> Any:
    """Of (equation, operand, ...), of a result that is named and of no axes that are not."""
    equation, *operands = args
    equation = equation.replace(" ", "")
    letter = next((letter for letter in _LETTERS if letter not in equation), None)
    if "->" not in equation or "." in equation or letter is None:
        return NotImplemented
    known = operands_of(operands)
    if known is None:
        return NotImplemented
    given, out = equation.split("->")
    terms, (values, residuals, carriers, moving, like) = given.split(","), known
    places = [place for place, moves in enumerate(moving) if moves]
    if len(terms) != len(values) or any(len(term) != t.ndim for term, t in zip(terms, values, strict=True)):
        return NotImplemented
    value = func(equation, *values)
    if value.dtype is not like.value.dtype or not value.numel():
        return NotImplemented
    residual = func(equation, *_rows(terms, out, residuals)).expand(value.shape)
    nodes = gauss_legendre((len(places) + 1) // 2)
    path = ",".join([letter + term if i in places else term for i, term in enumerate(terms)]) + "->" + letter + out

    def vjp(grad: torch.Tensor, *held: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ends, starts = held[: len(values)], held[len(values) :]
        points = list(ends)
        leaves: list[torch.Tensor] = []
        with torch.enable_grad():
            for place, start in zip(places, starts, strict=True):
                moved = torch.stack([torch.lerp(start, ends[place], time) for time, _ in nodes])
                points[place] = moved.requires_grad_()
                leaves.append(moved)
            made = func(path, *points)
        weighted = torch.stack([grad * weight for _, weight in nodes])
        return tuple([g.sum(0) for g in torch.autograd.grad(made, leaves, weighted)])

    carrier = with_vjp(value, carriers, vjp, (*values, *[residuals[place] for place in places]))
    return on_graph(carrier.detach(), residual, carrier, like)


def _rows(terms: Sequence[str], out: str, residuals: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The residuals, once of the rows that are equal along an axis of the result in all operands that have it."""
    equal = {
        letter
        for letter in out
        if all(
            letter not in term or (term.count(letter) == 1 and not t.stride(term.index(letter)))
            for term, t in zip(terms, residuals, strict=True)
        )
    }
    return [
        t[tuple([slice(0, 1) if letter in equal else slice(None) for letter in term])]
        for term, t in zip(terms, residuals, strict=True)
    ]
