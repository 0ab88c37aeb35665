"""The rule of nn.MultiheadAttention in reverse mode.

torch joins the axes of examples and heads, and takes them apart again; then equal rows of a residual are no longer one
in memory. Where nothing else is done in between, the heads are an axis of their own from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.registry import Rule
from npdec._law.ordinary import FACTORS, is_observed
from npdec._law.ordinary_reverse import is_ordinary, made_of
from npdec._law.overrides_scope import scope

__all__ = ["MultiHead"]

_PLAIN: dict[str, Any] = {
    "key_padding_mask": None, "attn_mask": None, "is_causal": False, "need_weights": False, "static_k": None,
    "static_v": None, "use_separate_proj_weight": False,
}  # fmt: skip


class MultiHead(Rule):
    """The body of the function, or a shorter one for what attends to itself, without masks, and weights are not asked
    for."""

    delegates = True
    passes = True

    def __init__(self, body: Rule) -> None:
        self.body = body

    def __call__(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        found = _of_itself(*args, **kwargs) if len(args) == 13 else NotImplemented
        return self.body(func, args, kwargs) if found is NotImplemented else found


def _of_itself(
    query: Any,
    key: Any,
    value: Any,
    width: int,
    heads: int,
    into: Any,
    bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out: Any,
    out_bias: Any,
    training: bool = True,
    **options: Any,
) -> Any:
    if query is not key or query is not value or query.ndim != 3 or is_observed() or scope() is not None:
        return NotImplemented
    if bias_k is not None or bias_v is not None or add_zero_attn or (training and dropout_p):
        return NotImplemented
    if any(options.get(name, True) is not wanted for name, wanted in _PLAIN.items()):
        return NotImplemented
    if not is_ordinary(query) or query.shape[-1] != width or width % heads or type(into) not in FACTORS:
        return NotImplemented
    joined: Any = F.linear(query, into, bias)
    if not is_ordinary(joined):
        return NotImplemented
    length, batch = joined.shape[:2]
    shape = (length, batch, heads, width // heads)
    # As torch lays them out: its kernel is given the same numbers at the same places.
    ends = joined.value.unflatten(-1, (3, width)).permute(2, 0, 1, 3).contiguous()
    values = [part.view(shape).permute(1, 2, 0, 3) for part in ends.unbind(0)]
    residuals = joined.residual.unflatten(-1, (3, *shape[2:])).permute(2, 1, 3, 0, 4).unbind(0)
    components = joined.components.unflatten(-1, (3, *shape[2:])).permute(3, 0, 2, 4, 1, 5).unbind(0)
    parts = zip(values, residuals, components, strict=True)
    made: Any = F.scaled_dot_product_attention(*[made_of(*part, joined) for part in parts])
    if not is_ordinary(made):
        return NotImplemented
    rows = (length * batch, width)
    seen = made_of(
        made.value.permute(2, 0, 1, 3).reshape(rows),
        made.residual.permute(2, 0, 1, 3).reshape(rows),
        made.components.permute(0, 3, 1, 2, 4).reshape((1, *rows)),
        made,
    )
    result: torch.Tensor = F.linear(seen, out, out_bias)
    return result.view(length, batch, result.shape[1]), None
