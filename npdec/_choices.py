"""Choices that are frozen at the value: an order, the place of a maximum, a size, Python's own `if`.

Completeness holds behind them, but the residual follows the value's choice. Where the choice at the baseline is another
one it is not the function of the baseline any more, and a warning says so.
"""

from __future__ import annotations

import cmath
from typing import Any

import torch

from npdec._decomposed import DecomposedTensor
from npdec._impl import _util
from npdec._settings import conditions_are_frozen
from npdec._tracing import mapped, tracing
from npdec.exceptions import DecompositionWarning

__all__ = ["chosen", "compare_choices", "is_watched"]


def compare_choices(name: str, value: Any, residual: Any) -> None:
    """Warn if what was chosen at the value is not what is chosen at the baseline."""
    if not is_watched() or _are_equal(value, residual):
        return
    _util.warn(
        f"{name}: what it chooses at the value is frozen, and at the baseline it would choose otherwise. The residual "
        "follows the choice at the value: it is not the function of the baseline. Choose by np.where or masks, which "
        'carry contributions, or accept it with np.rule(conditions="frozen")',
        DecompositionWarning,
    )


def is_watched() -> bool:
    """Whether choices are compared: not where values cannot be looked at, and not if nobody wants it."""
    return not (tracing() or mapped() or conditions_are_frozen())


def _are_equal(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.shape != b.shape:
            return False
        return bool(torch.equal(a, b)) or bool(((a == b) | (torch.isnan(a) & torch.isnan(b))).all())
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_are_equal, a, b))
    return bool(a == b) or bool(cmath.isnan(a) and cmath.isnan(b))


def chosen(name: str, tensor: Any) -> Any:
    """The value of a tensor that a function looks at only; anything else as it is."""
    if type(tensor) is not DecomposedTensor:
        return tensor
    compare_choices(name, tensor.value, tensor.residual)
    return tensor.value
