"""The rules of torch functions that are written as formulas or closed forms of their own, gathered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npdec._rules import arithmetic, casts_and_special, layers, losses, recurrent, reductions, sparse_matmul

__all__ = ["RULES"]

RULES: dict[Callable[..., Any], Callable[..., Any]] = {
    **reductions.RULES,
    **sparse_matmul.RULES,
    **arithmetic.RULES,
    **casts_and_special.RULES,
    **losses.RULES,
    **layers.RULES,
    **recurrent.RULES,
}
