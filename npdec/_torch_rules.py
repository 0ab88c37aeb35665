"""The rules of torch functions that are written as formulas or closed forms of their own, gathered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npdec import (
    _closed_arithmetic,
    _closed_forms,
    _closed_layers,
    _closed_losses,
    _closed_recurrent,
    _closed_sparse,
    _closed_torch,
)

__all__ = ["RULES"]

RULES: dict[Callable[..., Any], Callable[..., Any]] = {
    **_closed_torch.RULES,
    **_closed_sparse.RULES,
    **_closed_arithmetic.RULES,
    **_closed_forms.RULES,
    **_closed_losses.RULES,
    **_closed_layers.RULES,
    **_closed_recurrent.RULES,
}
