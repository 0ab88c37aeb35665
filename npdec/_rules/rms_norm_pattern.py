"""Normalisation by the root mean square, where a model writes it out: `x * torch.rsqrt(x.pow(2).mean(-1) + eps)`.

As a chain of functions, each of which has the law, its product takes x and the factor for independent, though the
factor is the inverse length of x. From a small baseline, where the factor is 1 / √eps, the contributions of the two are
thousands of times as large as their sum, and cancel. Taken as one function, which it is (torch calls it `rms_norm`), it
has the path integral of that. So a result remembers that it is the square, the mean square and its root of a tensor,
and the product of a tensor with its own inverse root has the rule of `rms_norm`; its value is the product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch

from npdec._decomposed.registry import Rule, Trait, functions, rows, wrap
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.settings import settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.native_forms import in_c
from npdec._torch.tracing import tracing

__all__ = ["FAR", "Watched", "remember", "watch"]

Function = Callable[..., Any]

_WIDER, _SQUARE, _MEAN_SQUARE, _ROOT, _INVERSE_ROOT = "wider", "square", "mean square", "root", "inverse root"
FAR = _WIDER, _SQUARE  # of which only the mean, and a square, are looked at


class Origin(NamedTuple):
    """What a tensor is of another one, which had this version then; `eps` is what was added to a mean square."""

    kind: str
    of: DecomposedTensor
    version: int
    eps: float = 0.0

    @property
    def is_near(self) -> bool:
        """Whether its functions have to be looked at."""
        return self.kind not in FAR

    def holds(self) -> bool:
        """Whether the tensor is still what it was."""
        return tracing() or self.version == _version(self.of)


def _version(tensor: DecomposedTensor) -> int:
    """A number that writing changes."""
    if tracing():
        return 0
    return tensor.writes if tensor.value.is_inference() else tensor.value._version


def remember(made: Any, kind: str, of: DecomposedTensor, eps: float = 0.0) -> Any:
    """What was made of a tensor, with its origin."""
    if isinstance(made, DecomposedTensor) and not of.value.is_complex():
        made.origin = Origin(kind, of, _version(of), eps)
    return made


def _origin(x: Any, *kinds: str) -> Origin | None:
    origin = x.origin if isinstance(x, DecomposedTensor) else None
    return origin if origin is not None and origin.kind in kinds and origin.holds() else None


def _second(args: Sequence[Any], kwargs: dict[str, Any], name: str) -> Any:
    return args[1] if len(args) > 1 else kwargs.get(name)


def _cast(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return _widened(rule(func, args, kwargs), args[0])


def _widened(made: Any, x: Any) -> Any:
    known = isinstance(made, DecomposedTensor) and isinstance(x, DecomposedTensor)
    return remember(made, _WIDER, x) if known and made.dtype.itemsize > x.dtype.itemsize else made


def _power(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    made = rule(func, args, kwargs)
    exponent = _second(args, kwargs, "exponent")
    if isinstance(exponent, (int, float)) and args:
        if exponent == 2 and isinstance(args[0], DecomposedTensor):
            return remember(made, _SQUARE, args[0])
        if exponent in (-0.5, 0.5):
            return _rooted(made, args[0], _ROOT if exponent > 0 else _INVERSE_ROOT)
    return made


def _square(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    made = rule(func, args, kwargs)
    return remember(made, _SQUARE, args[0]) if args and isinstance(args[0], DecomposedTensor) else made


def _mean(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The mean over the last axis, which stays."""
    return _mean_of_squares(rule(func, args, kwargs), args, kwargs)


def _mean_of_squares(made: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    origin = _origin(args[0], _SQUARE) if args else None
    if origin is None:
        return made
    dim = _second(args, kwargs, "dim")
    if isinstance(dim, (tuple, list)) and len(dim) == 1:
        dim = dim[0]
    if dim not in (-1, origin.of.ndim - 1) or made.ndim != origin.of.ndim or made.dtype is not origin.of.dtype:
        return made
    return remember(made, _MEAN_SQUARE, origin.of)


def _plus(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    made = rule(func, args, kwargs)
    origin = _origin(args[0], _MEAN_SQUARE) if args else None
    eps = _second(args, kwargs, "other")
    if origin is None or not isinstance(eps, (int, float)) or "alpha" in kwargs:
        return made
    return remember(made, _MEAN_SQUARE, origin.of, origin.eps + eps)


def _rooted(made: Any, x: Any, kind: str) -> Any:
    origin = _origin(x, _MEAN_SQUARE)
    return made if origin is None else remember(made, kind, origin.of, origin.eps)


def _root(kind: str) -> Function:
    def rule(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        made = rule(func, args, kwargs)
        return _rooted(made, args[0], kind) if args else made

    return rule


def _reciprocal(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    made = rule(func, args, kwargs)
    origin = _origin(args[0], _ROOT) if args else None
    return made if origin is None else remember(made, _INVERSE_ROOT, origin.of, origin.eps)


def _one_over(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    one = _second(args, kwargs, "other")
    if isinstance(one, (int, float)) and one == 1:
        return _reciprocal(rule, func, args, kwargs)
    return rule(func, args, kwargs)


def _normalised(func: Function, x: DecomposedTensor, other: Any, kind: str, a: Any, b: Any) -> Any:
    """`func(a, b)` if it is x over its own root mean square; else None."""
    origin = _origin(other, kind)
    if origin is None:
        return None
    wider = _origin(origin.of, _WIDER)
    if x is not origin.of and (wider is None or x is not wider.of):
        return None
    made: Any = torch.rms_norm(origin.of, (origin.of.shape[-1],), None, origin.eps)
    with no_graph(made.reverse):
        value = func(a.value, b.value)
        if value.dtype is not made.value.dtype:
            return None
        frozen = settings("rms_norm").frozen_normalisation
        residual = made.residual if frozen else func(a.residual, b.residual)
    return DecomposedTensor(value, residual, made.components, made.labels, made.reverse)


def _times(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) == 2 and not kwargs:
        a, b = args
        if isinstance(a, DecomposedTensor) and isinstance(b, DecomposedTensor):
            if a is b:
                return remember(rule(func, args, kwargs), _SQUARE, a)
            made = _normalised(func, a, b, _INVERSE_ROOT, a, b)
            if made is None:
                made = _normalised(func, b, a, _INVERSE_ROOT, a, b)
            if made is not None:
                return made
    return rule(func, args, kwargs)


def _over(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) == 2 and not kwargs:
        a, b = args
        if isinstance(a, DecomposedTensor) and isinstance(b, DecomposedTensor):
            made = _normalised(func, a, b, _ROOT, a, b)
            if made is not None:
                return made
    return rule(func, args, kwargs)


_WATCHED: dict[str, Function] = {
    "to float double type": _cast, "pow": _power, "square": _square, "mean": _mean, "add": _plus, "sqrt": _root(_ROOT),
    "rsqrt": _root(_INVERSE_ROOT), "reciprocal": _reciprocal, "mul multiply": _times, "div divide true_divide": _over,
    "__rdiv__": _one_over,
}  # fmt: skip


class Watched(Rule):
    """A rule that is looked at."""

    def __init__(self, watch: Function, inner: Rule) -> None:
        self.watch = watch
        self.inner = inner
        self.tags = inner.tags
        self.discrete = inner.discrete

    def __call__(self, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self.watch(self.inner, func, args, kwargs)


def watch() -> None:
    """Wrap the rules of the functions that such a normalisation is written in, each keeping its own rule otherwise."""
    for names, made in _WATCHED.items():
        targets = functions(names)
        wrap(targets, partial(Watched, made))
        for function in targets:
            row = rows[function]
            form = _SHORT.get(made)
            if row.short is not None and form is not None:
                rows[function] = replace(row, short=form(row.short), options=row.options and made is _cast)


def _raised(short: Function) -> Function:
    """The short way of a power, which may be a square."""

    @in_c("power", Trait.POWER)
    def form(func: Function, args: Sequence[Any]) -> Any:
        made = short(func, args)
        if made is NotImplemented or len(args) != 2 or type(args[1]) not in (int, float) or args[1] != 2:
            return made
        return remember(made, _SQUARE, args[0])

    return form


def _squared(short: Function) -> Function:
    """The short way of a square, and of a product, which may be one."""

    @in_c("or square", batch=short)
    def form(func: Function, args: Sequence[Any]) -> Any:
        made = short(func, args)
        return remember(made, _SQUARE, args[0]) if args[0] is args[-1] and made is not NotImplemented else made

    return form


def _averaged(short: Function) -> Function:
    """The short way of a mean, which may be one of squares."""

    @in_c("unless known", batch=short)
    def form(func: Function, args: Sequence[Any]) -> Any:
        made = short(func, args)
        return made if made is NotImplemented else _mean_of_squares(made, args, {})

    return form


def _cast_shortly(short: Function) -> Function:
    """The short way of a cast, which may be to a wider dtype."""

    @in_c("cast")
    def form(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
        return _widened(short(func, args, options) if options else short(func, args), args[0])

    return form


# The short ways of those whose results are remembered. What is known of a tensor beyond is no ordinary one.
_SHORT: dict[Function, Function] = {
    _power: _raised, _square: _squared, _times: _squared, _mean: _averaged, _cast: _cast_shortly
}  # fmt: skip
