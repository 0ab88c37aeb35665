"""Products of a few kinds that torch has no batched function for, of few components: each by the function itself.

Of a product with a constant every component is one product; of two decomposed factors it is two, each with the other
one's midpoint. The general law comes to the same by `torch.vmap`, which takes longer than a handful of products do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import row_by_row
from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary import FACTORS, FEW, has_elements, is_moderate, is_ordinary, made_of
from npdec._law.ordinary_pairs import aligned, middles

__all__ = ["convolution", "product"]

Function = Callable[..., Any]
_SETTINGS = frozenset({int, float, bool, str, type(None)})


def product(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """Of the first two arguments; all others are numbers, words or axes."""
    if len(args) < 2:
        return NotImplemented
    rest, named = args[2:], options or {}
    if not all(map(_is_setting, rest)) or not all(map(_is_setting, named.values())):
        return NotImplemented
    return _product(lambda a, b: func(a, b, *rest, **named), args, 0, lambda a, b: func(a, b, *rest, **named))


def convolution(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """Of a batch or a part of one, with weights, to which a bias may be added, which is a constant here."""
    if len(args) < 2 or not all(isinstance(t, torch.Tensor) for t in args[:2]):
        return NotImplemented
    bias, rest, named = args[2] if len(args) > 2 else None, args[3:], options or {}
    if not (bias is None or _is_factor(bias)) or not all(map(_is_setting, [*rest, *named.values()])):
        return NotImplemented
    if len(args) < 3:
        linear = lambda a, b: func(a, b, **named)  # noqa: E731
    else:
        linear = lambda a, b: func(a, b, None, *rest, **named)  # noqa: E731
    whole = linear if bias is None else lambda a, b: func(a, b, bias, *rest, **named)
    return _product(whole, args, int(args[0].ndim == args[1].ndim), linear)


def _is_setting(item: Any) -> bool:
    return type(item) in _SETTINGS or (type(item) in (tuple, list, torch.Size) and all(map(_is_setting, item)))


def _is_factor(t: Any) -> bool:
    return type(t) in FACTORS and has_elements(t)


def _is_of_few(x: Any) -> bool:
    return is_ordinary(x) and 0 < len(x.labels) <= HANDFUL and x.components.numel() <= FEW


def _product(whole: Function, args: Sequence[Any], rows: int, linear: Function) -> Any:
    """`whole` gives value and residual, and `linear` the components. So many leading axes of the first factor are rows
    that it looks at one by one."""
    a, b = args[:2]
    if type(a) is type(b) is DecomposedTensor:
        return _of_two(whole, a, b, rows, linear) if _is_of_few(a) and _is_of_few(b) else NotImplemented
    is_first = type(a) is DecomposedTensor
    x, factor = (a, b) if is_first else (b, a)
    if not _is_of_few(x) or not _is_factor(factor) or factor.dtype is not x.value.dtype or not is_moderate(factor):
        return NotImplemented

    def beside(function: Function, part: torch.Tensor) -> Any:
        return function(part, factor) if is_first else function(factor, part)

    components = torch.stack([beside(linear, c) for c in x.components.unbind()])
    residual = _at_the_start(lambda row: beside(whole, row), x, rows if is_first else 0)
    return made_of(beside(whole, x.value), residual, components, x)


def _at_the_start(function: Function, x: DecomposedTensor, rows: int) -> Any:
    return row_by_row(function, x.residual, rows) if rows else function(materialised_residual(x))


def _of_two(whole: Function, a: DecomposedTensor, b: DecomposedTensor, rows: int, linear: Function) -> Any:
    found = middles(a, b)
    labels, parts = aligned(a, b) if found is not None else (a.labels, None)
    if found is None or parts is None or len(labels) > HANDFUL:
        return NotImplemented
    held = materialised_residual(b)
    residual = _at_the_start(lambda row: whole(row, held), a, rows)
    pairs = zip(parts[0].unbind(), parts[1].unbind(), strict=True)
    components = torch.stack([linear(c, found[1]) + linear(found[0], d) for c, d in pairs])
    return made_of(whole(a.value, b.value), residual, components, a, labels)
