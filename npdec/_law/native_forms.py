"""Where `npdec._native` is built, the forms of linear functions are tried there first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from npdec._decomposed import batching_rules
from npdec._decomposed.registry import Trait
from npdec._native import calls

__all__ = ["asked", "in_c"]

Form = TypeVar("Form", bound=Callable[..., Any])

# What `npdec/_native/decomposed.h` calls FRESH, SUBTRACTS, SUBTRACTS_FROM, INDEXES, PIECEWISE, COARSE and SELECTS.
_BITS = {
    Trait.FRESH: 1,
    Trait.SUBTRACT: 2,
    Trait.SUBTRACT_FROM: 4,
    Trait.INDEX: 8,
    Trait.PIECEWISE_LINEAR: 16,
    Trait.COARSE: 32,
    Trait.SELECT: 64,
}
# The rules for one more leading axis that are known there; others are called.
_KINDS = {
    batching_rules.indexed: "of a key",
    batching_rules.permuted: "permuted",
    batching_rules.reduced: "reduced",
    batching_rules.reshaped: "reshaped",
    batching_rules.squeezed: "squeezed",
    batching_rules.swapped: "swapped",
    batching_rules.unsqueezed: "unsqueezed",
}


def asked(form: Callable[..., Any], func: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What a form answers, in C where it is there: until Python 3.12 calls of functions in Python do not come there."""
    made = None if calls is None or type(args) is not tuple else calls.answer(form, func, args)
    return form(func, args) if made is None else made


def in_c(name: str, traits: int = 0, batch: Any = None, known: tuple[Any, ...] = ()) -> Callable[[Form], Form]:
    """Marks a form, before which that of the name stands in C; `batch` is the rule for one more leading axis, or the
    form that it hands on to, and `known` what it calls that with."""

    def marked(form: Form) -> Form:
        if calls is not None:
            axes = batching_rules.axes_of(batch)
            kind = "of axes" if axes else _KINDS.get(batch, "by rule")
            first, last, missing = axes or (0, 0, ())
            bits = sum(bit for trait, bit in _BITS.items() if traits & trait)
            calls.attach_form(form, name, bits, traits, batch, kind, first, last, missing or known)
        return form

    return marked
