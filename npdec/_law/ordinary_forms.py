"""Which functions have a short way, by their tags and traits (`npdec._law.ordinary`, `npdec._law.ordinary_pairs`)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from npdec._decomposed.registry import Trait
from npdec._law import ordinary, ordinary_pairs

__all__ = ["form_of"]


Function = Callable[..., Any]


def form_of(
    tags: Collection[str], traits: int, slope: Function | None, mean: Function | None, batch: Function | None
) -> ordinary.Form | None:
    """The form of a function whose arguments carry the tags; None if it has none."""
    if traits & Trait.BLIND:
        return ordinary.of_the_value
    if tags == {"Linear"}:
        if traits & Trait.ARITHMETIC:
            return partial(ordinary_pairs.added, traits)
        if batch is None:
            return ordinary.each if traits & Trait.ELEMENTWISE and traits & Trait.EACH else None
        return ordinary.of_one(batch, traits)
    if tags == {"Multilinear"} and traits & Trait.MULTIPLY:
        return ordinary_pairs.product
    if tags == {"Multilinear"} and traits & Trait.MATMUL:
        return ordinary_pairs.matmul
    if traits & Trait.LAYER:
        return ordinary_pairs.layer
    if mean is not None:
        return ordinary_pairs.by_means(mean)
    if tags == {"Pointwise"} and not traits & Trait.POWER:
        return partial(ordinary.pointwise, slope, traits)
    return None
