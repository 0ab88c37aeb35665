"""The larger and the smaller of two: two lines, and the part of the path on which each one leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch

from npdec._decomposed.registry import Trait
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor, is_reverse
from npdec._law import reverse_elements
from npdec._law.ordinary_choices import larger
from npdec._law.pairs_of_numbers import MAXIMUM, MINIMUM
from npdec._rules.elementary import routed
from npdec._rules.rule import rule

Function = Callable[..., Any]
_EACH = Trait.ELEMENTWISE


def _pairwise(sign: int) -> Function:
    def pairwise(func: Function, a: Any, other: Any) -> Any:
        """maximum, minimum, fmax, fmin."""
        b = other
        plain = [t.value if isinstance(t, DecomposedTensor) else t for t in (a, b)]
        with no_graph(is_reverse((a, b))):
            value = func(*plain)
            base = func(*[t.residual if isinstance(t, DecomposedTensor) else t for t in (a, b)])
        pair = cast(DecomposedTensor, torch.stack([_spread(a, value), _spread(b, value)]))
        result = routed(pair, 0, sign, value, False)
        if func in (torch.fmax, torch.fmin):
            result = _alone(pair, result)
        result.residual = base
        return result

    return pairwise


def _alone(pair: DecomposedTensor, result: DecomposedTensor) -> DecomposedTensor:
    """Where one of two is NaN all along the path, the other one leads: fmax and fmin leave NaN out."""
    missing = pair.value.isnan() & pair.residual.isnan()
    for one, other in ((0, 1), (1, 0)):
        gone = missing[one] & ~missing[other]
        if gone.any():
            result = cast(DecomposedTensor, torch.where(gone, pair[other], result))
    return result


def _spread(t: Any, like: torch.Tensor) -> torch.Tensor:
    t = t if isinstance(t, torch.Tensor) else torch.as_tensor(t, dtype=like.dtype, device=like.device)
    return torch.broadcast_to(t.to(like.dtype), tuple(like.shape))


rule("maximum fmax", traits=_EACH, short=larger(1), reverse=reverse_elements.larger, numbers=MAXIMUM)(_pairwise(1))
rule("minimum fmin", traits=_EACH, short=larger(-1), reverse=reverse_elements.smaller, numbers=MINIMUM)(_pairwise(-1))
