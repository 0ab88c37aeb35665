"""What `np.rule` sets, in this thread or task: one ContextVar, which the law's modules read."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple

from npdec._torch.tracing import refuse_contexts, tracing

__all__ = ["USUAL", "Settings", "conditions_are_frozen", "current", "settings"]


class Settings(NamedTuple):
    """The rule of pointwise functions with its options; the tolerance of adaptive quadrature (None: by the dtype); and
    whether normalisation layers, attention weights and conditions are held at the value."""

    rule: str = "affine"
    options: Mapping[str, Any] = MappingProxyType({})
    rtol: float | None = None
    frozen_normalisation: bool = False
    frozen_attention: bool = False
    frozen_conditions: bool = False


USUAL = Settings()
current: ContextVar[Settings] = ContextVar("npdec.rule", default=USUAL)


def settings(operation: str) -> Settings:
    """The settings that hold here. A graph of torch.compile knows the default alone (NotImplementedError, naming the
    operation, where a context is entered)."""
    if tracing():
        refuse_contexts(operation)
        return USUAL
    return current.get()


def conditions_are_frozen() -> bool:
    """Whether comparisons give plain booleans, those of the value. (Under the rule "none" nothing carries on.)"""
    if tracing():
        return False
    here = current.get()
    return here.frozen_conditions or here.rule == "none"
