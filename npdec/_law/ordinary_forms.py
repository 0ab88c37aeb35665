"""Which functions have a short way, by their tags and traits (`npdec._law.ordinary`, `npdec._law.ordinary_pairs`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from npdec._decomposed.registry import Trait
from npdec._impl.quotients_impl import in_both_orders
from npdec._law import ordinary, ordinary_arithmetic, ordinary_linear, ordinary_pairs, ordinary_smooth, ordinary_steps

__all__ = ["form_of", "instead", "takes_options"]


Function = Callable[..., Any]


def form_of(
    given: Mapping[int | str, str],
    traits: int,
    slope: Function | None,
    mean: Any,
    batch: Function | None,
    rates: Function | None = None,
    reverse: Function | None = None,
) -> ordinary.Form | None:
    """The form of a function whose arguments, by position and by name, carry the tags; None if it has none. `reverse`
    answers what that of a linear function leaves, in reverse mode."""
    tags, places = set(given.values()), frozenset(key for key in given if isinstance(key, int))
    if traits & Trait.BLIND:
        return ordinary.of_the_value
    if tags == {"Linear"}:
        if traits & Trait.ARITHMETIC:
            return ordinary_arithmetic.added(traits)
        if batch is None:
            return ordinary_linear.of_each(traits) if traits & Trait.ELEMENTWISE and traits & Trait.EACH else None
        return ordinary_linear.of_one(batch, traits, reverse)
    if tags == {"Multilinear"} and traits & Trait.MULTIPLY:
        return ordinary_arithmetic.product
    if tags == {"Multilinear"} and traits & Trait.MATMUL:
        return ordinary_pairs.matmul
    if traits & Trait.LAYER:
        return ordinary_pairs.layer
    if tags == {"Pointwise"}:
        beside = ordinary.by_slopes(slope, traits, places)
        return beside if mean is None and rates is None else ordinary_smooth.by_means(mean, rates, beside)
    if tags == {"Stepwise"}:
        return ordinary_steps.of_steps(places, mean or in_both_orders)
    return None


def instead(own: Function) -> ordinary.Form:
    """The form of a pointwise function of one, by another that computes the same, and has a derivative."""
    return partial(_instead, own)


def _instead(own: Function, func: Function, args: Sequence[Any]) -> Any:
    return ordinary.pointwise(None, Trait.ELEMENTWISE, (0,), own, args)


def takes_options(form: Any) -> bool:
    """Whether a form takes numbers by name, as options of the function."""
    function = form.func if isinstance(form, partial) else form
    return form is not None and "options" in function.__code__.co_varnames
