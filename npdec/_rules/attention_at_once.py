"""Attention of ordinary tensors in reverse mode by the shortest way: one node of the graph, whose gradients are those
of `npdec._rules.attention_reverse`. The general way is `npdec._rules.attention`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.reverse_graph import with_vjp
from npdec._decomposed.settings import current as settings
from npdec._law.ordinary_reverse import on_graph
from npdec._law.overrides_scope import scope
from npdec._law.reverse_forms import operands_of
from npdec._rules.attention_reverse import Heads

__all__ = ["attention_in_reverse"]

Function = Callable[..., Any]
_NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
_USUAL: dict[str, Any] = {"attn_mask": None, "dropout_p": 0.0, "is_causal": False, "scale": None, "enable_gqa": False}


def attention_in_reverse(residual_of: Function) -> Function:
    """The form of a call; `residual_of` says what it makes of residuals (query, key, value, mask)."""
    return partial(_attention, residual_of)


def _attention(
    residual_of: Function, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None
) -> Any:
    given = {**_USUAL, **dict(zip(_NAMES, args, strict=False)), **(options or {})}
    if len(args) > 6 or len(given) != len(_NAMES) or given["dropout_p"] or scope() is not None:
        return NotImplemented
    parts, mask = [given[name] for name in _NAMES[:3]], given["attn_mask"]
    if settings.get().frozen_attention or not _is_mask(mask):
        return NotImplemented
    known = operands_of(parts)
    if known is None:
        return NotImplemented
    values, residuals, carriers, moving, like = known
    causal, scale, gqa = given["is_causal"], given["scale"], given["enable_gqa"]
    groups = 1
    if gqa and values[0].ndim == values[1].ndim == values[2].ndim > 2:
        heads, kept_heads = values[0].shape[-3], values[1].shape[-3]
        if not kept_heads or heads % kept_heads or values[2].shape[-3] != kept_heads:
            return NotImplemented
        groups = heads // kept_heads
    each = [t.repeat_interleave(groups, -3) if groups > 1 else t for t in values[1:]]
    if not Heads.serve([values[0], *each, mask], residuals, causal):
        return NotImplemented
    value = func(*values, mask, 0.0, causal, scale=scale, enable_gqa=gqa)
    residual = residual_of(func, [*residuals, mask], causal, {"scale": scale, "enable_gqa": gqa}, value.shape)
    width = 1 / math.sqrt(values[0].shape[-1]) if scale is None else scale
    vjp = _Back(Heads([values[0], *each], causal, width, moving), groups)
    held = [t for t in (*values, *residuals, mask) if t is not None]
    carrier = with_vjp(value, carriers, vjp, held)
    return on_graph(carrier.detach(), residual, carrier, like)


def _is_mask(mask: Any) -> bool:
    return mask is None or (type(mask) is torch.Tensor and not mask.requires_grad)


class _Back:
    """What takes gradients back: of keys and values that several heads of the queries share, those of all of these."""

    def __init__(self, heads: Heads, groups: int) -> None:
        self.heads, self.groups = heads, groups

    def __call__(self, grad: torch.Tensor, *held: torch.Tensor) -> tuple[torch.Tensor, ...]:
        groups, ends = self.groups, list(held)
        if groups > 1:
            for place in (1, 2, 4, 5):
                ends[place] = _shared(ends[place], groups)
        found = [g.squeeze(0) for g in self.heads.vjp(grad.unsqueeze(0), *ends)]
        if groups > 1:
            first = 1 if self.heads.moving[0] else 0
            found[first:] = [g.unflatten(-3, (-1, groups)).sum(-3) for g in found[first:]]
        return tuple(found)


def _shared(t: torch.Tensor, groups: int) -> torch.Tensor:
    """Keys or values, once for each head of the queries; equal examples stay one in memory."""
    first = 0
    while first < t.ndim - 3 and not t.stride(first):
        first += 1
    made = t[(0,) * first].repeat_interleave(groups, -3)
    return made.expand(*t.shape[:first], *made.shape)
