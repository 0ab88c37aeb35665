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

from npdec._decomposed.broadcast_residuals import of_rows
from npdec._decomposed.registry import Rule, Trait, functions, rows, wrap
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.settings import USUAL, current, settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.native_forms import asked, in_c
from npdec._law.ordinary_reverse import derived, is_ordinary
from npdec._native import calls
from npdec._rules.normalisation_at_once import Rows, back_through
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
    return _moved(rule(func, args, kwargs), args, kwargs)


def _moved(made: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
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
    return _inverted(rule(func, args, kwargs), args)


def _inverted(made: Any, args: Sequence[Any]) -> Any:
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
    found = _at_once(func, origin, a, b)
    if found is not None:
        return found
    made: Any = torch.rms_norm(origin.of, (origin.of.shape[-1],), None, origin.eps)
    with no_graph(made.reverse):
        value = func(a.value, b.value)
        if value.dtype is not made.value.dtype:
            return None
        frozen = settings("rms_norm").frozen_normalisation
        residual = made.residual if frozen else func(a.residual, b.residual)
    return DecomposedTensor(value, residual, made.components, made.labels, made.reverse)


def _at_once(func: Function, origin: Origin, a: DecomposedTensor, b: DecomposedTensor) -> Any:
    """The same in reverse mode by the shortest way; None of others."""
    x = origin.of
    if calls is None or not is_ordinary(x) or current.get() != USUAL:
        return None
    found = back_through(x, Rows(x.value.shape[-1], x.value.ndim - 1, 1, origin.eps, False), None)
    value = None if found is None else func(a.value, b.value)
    if found is None or value is None or value.dtype is not x.value.dtype:
        return None
    low = [None if tracing() else calls.equal_rows(t.residual, t.residual.ndim, False) for t in (a, b)]
    if all(t is not None and t.shape[:-1].numel() == 1 for t in low):
        return derived(x, value, func(*low).expand(value.shape), *found)
    return derived(x, value, of_rows(func, [a.residual, b.residual], (True, True), value.shape), *found)


def _times(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) == 2 and not kwargs:
        a, b = args
        if isinstance(a, DecomposedTensor) and isinstance(b, DecomposedTensor):
            if a is b:
                return remember(rule(func, args, kwargs), _SQUARE, a)
            made = _by_inverse_root(func, a, b)
            if made is not None:
                return made
    return rule(func, args, kwargs)


def _by_inverse_root(func: Function, a: DecomposedTensor, b: DecomposedTensor) -> Any:
    made = _normalised(func, a, b, _INVERSE_ROOT, a, b)
    return _normalised(func, b, a, _INVERSE_ROOT, a, b) if made is None else made


def _over(rule: Function, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) == 2 and not kwargs:
        a, b = args
        if isinstance(a, DecomposedTensor) and isinstance(b, DecomposedTensor):
            made = _normalised(func, a, b, _ROOT, a, b)
            if made is not None:
                return made
    return rule(func, args, kwargs)


_to_root, _to_inverse_root = _root(_ROOT), _root(_INVERSE_ROOT)
_WATCHED: dict[str, Function] = {
    "to float double type": _cast, "pow": _power, "square": _square, "mean": _mean, "add": _plus, "sqrt": _to_root,
    "rsqrt": _to_inverse_root, "reciprocal": _reciprocal, "mul multiply": _times, "div divide true_divide": _over,
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
    known: dict[tuple[Function, Function], Function] = {}
    for names, made in _WATCHED.items():
        targets = functions(names)
        wrap(targets, partial(Watched, made))
        for function in targets:
            row = rows[function]
            form = _SHORT.get(made)
            if row.short is not None and form is not None:
                key = made, row.short
                known[key] = known[key] if key in known else form(row.short)
                rows[function] = replace(row, short=known[key], options=row.options and made in _WITH_OPTIONS)


# The short ways of those. In reverse mode they take what is known of a tensor as well; elsewhere such a tensor is no
# ordinary one, and has the rule.


def _raised(short: Function) -> Function:
    """Of a power, which may be a square, or a root of a mean square."""

    @in_c("power", Trait.POWER)
    def form(func: Function, args: Sequence[Any]) -> Any:
        made = asked(short, func, args)
        if made is NotImplemented or len(args) != 2 or type(args[1]) not in (int, float):
            return made
        if args[1] == 2:
            return remember(made, _SQUARE, args[0])
        if args[1] in (-0.5, 0.5):
            return _rooted(made, args[0], _ROOT if args[1] > 0 else _INVERSE_ROOT)
        return made

    return form


def _multiplied(short: Function) -> Function:
    """Of a square, and of a product, which may be one, or a normalisation."""

    @in_c("or square", batch=short)
    def form(func: Function, args: Sequence[Any]) -> Any:
        a, b = args[0], args[-1]
        if a is not b and type(a) is type(b) is DecomposedTensor:
            made = _by_inverse_root(func, a, b)
            if made is not None:
                return made
        made = short(func, args)
        return remember(made, _SQUARE, a) if a is b and made is not NotImplemented else made

    return form


def _divided(short: Function) -> Function:
    """Of a quotient, which may be a normalisation."""

    @in_c("unless near", batch=short)
    def form(func: Function, args: Sequence[Any]) -> Any:
        if len(args) == 2 and type(args[0]) is type(args[1]) is DecomposedTensor:
            made = _normalised(func, args[0], args[1], _ROOT, args[0], args[1])
            if made is not None:
                return made
            if args[1].origin is not None:
                return asked(short, func, args)
        return short(func, args)

    return form


def _then(look: Callable[[Any, Sequence[Any]], Any], unless: str = "unless near") -> Function:
    """Of a function of which what it makes is looked at."""

    def around(short: Function) -> Function:
        @in_c(unless, batch=short)
        def form(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
            if options:
                return short(func, args, options)
            made = asked(short, func, args)
            return made if made is NotImplemented else look(made, args)

        return form

    return around


def _cast_shortly(short: Function) -> Function:
    """The short way of a cast, which may be to a wider dtype."""

    @in_c("cast")
    def form(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
        return _widened(short(func, args, options) if options else short(func, args), args[0])

    return form


_SHORT: dict[Function, Function] = {
    _power: _raised, _square: _multiplied, _times: _multiplied, _cast: _cast_shortly, _over: _divided,
    _mean: _then(lambda made, args: _mean_of_squares(made, args, {}), "unless square"),
    _plus: _then(lambda made, args: _moved(made, args, {})),
    _to_root: _then(lambda made, args: _rooted(made, args[0], _ROOT)),
    _to_inverse_root: _then(lambda made, args: _rooted(made, args[0], _INVERSE_ROOT)),
    _reciprocal: _then(_inverted),
    _one_over: _then(lambda made, args: _inverted(made, args) if args[-1] == 1 else made),
}  # fmt: skip
_WITH_OPTIONS = _cast, _plus  # a factor of the second term
