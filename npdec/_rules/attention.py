"""The law for scaled dot-product attention, step by step, as attention written with matmul and softmax has it.

softmax(q kᵀ · scale + mask) v is a product (the midpoints of q and k), a softmax along its path, and a product again
(the midpoints of weights and values). The value and the residual are the function's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.axes import axes_of_heads, lead
from npdec._decomposed.broadcast_residuals import equal_axes, row_along
from npdec._decomposed.reverse_graph import by_vjp, no_graph, uses_vjp
from npdec._decomposed.settings import settings
from npdec._decomposed.tensor import DecomposedTensor, align, is_broadcast
from npdec._impl._util import working_dtype
from npdec._law.overrides_scope import scope
from npdec._rules.attention_at_once import attention_in_reverse
from npdec._rules.attention_reverse import Heads
from npdec._rules.by_formula import same_draws, value_of, with_numbers
from npdec._rules.rule import rule
from npdec._rules.softmax import SoftPath
from npdec._torch.functorch import mapped
from npdec._torch.tracing import tracing

Function = Callable[..., Any]

_BLOCK = 2**24  # elements of the components of the scores that are held together


def _residual_of(func: Function, parts: Sequence[Any], is_causal: bool, options: Any, shape: Sequence[int]) -> Any:
    return _of_the_residuals(func, _equal_once(parts, shape), 0.0, is_causal, options, shape)


@rule("scaled_dot_product_attention", along=axes_of_heads, reverse=attention_in_reverse(_residual_of))
def _attention(
    func: Function,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    given = [query, key, value, attn_mask]
    here = scope()
    if dropout_p or (here is not None and here.step_by_step):
        options = {"scale": scale, "enable_gqa": enable_gqa}
        numbers = same_draws(func, (*given, dropout_p, is_causal), options, value_of(query).device)
        dropped = _with_dropout(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        frozen = settings("scaled_dot_product_attention").frozen_attention
        return dropped if numbers is None or frozen else with_numbers(*numbers, dropped)
    parts = [t for t in given if isinstance(t, DecomposedTensor)]
    reverse = parts[0].reverse
    labels, aligned = align(parts)
    rest = iter(aligned)
    components = [next(rest) if isinstance(t, DecomposedTensor) else None for t in given]
    values = [t.value if isinstance(t, DecomposedTensor) else t for t in given]
    residuals = [t.residual if isinstance(t, DecomposedTensor) else t for t in given]
    frozen = settings("scaled_dot_product_attention").frozen_attention
    with no_graph(reverse):
        found = func(*values, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        residuals = _equal_once(residuals, found.shape)
        options = {"scale": scale, "enable_gqa": enable_gqa}
        residual = None if frozen else _of_the_residuals(func, residuals, dropout_p, is_causal, options, found.shape)
    if not found.numel() or not labels:
        nothing = found.new_zeros((len(labels), *found.shape))
        return DecomposedTensor(found, found.clone() if residual is None else residual, nothing, labels, reverse)
    if residual is not None and uses_vjp(reverse) and all(part.dtype is found.dtype for part in parts):
        carriers = [c for c in components if c is not None]
        held: list[torch.Tensor] = []
        if components[3] is None and not enable_gqa and Heads.serve(values, residuals, is_causal):
            vjp: Function = Heads(values, is_causal, scale, [c is not None for c in components[:3]]).vjp
            held = [t.detach() for t in (*values[:3], *residuals[:3], attn_mask) if t is not None]
        else:
            vjp = _Attention(values, residuals, components, is_causal, scale, enable_gqa, True, frozen).vjp
        return DecomposedTensor(found, residual, by_vjp(found, residual, carriers, vjp, held=held), labels, True)
    step = _Attention(values, residuals, components, is_causal, scale, enable_gqa, reverse, frozen)
    if residual is None:
        residual = step.frozen_residual().to(found.dtype)
    made = step.contributions(len(labels))
    if made is None:  # weights that are held, and values without contributions
        made = found.new_zeros((len(labels), *found.shape))
    return DecomposedTensor(found, residual, made.to(found.dtype).reshape(-1, *found.shape), labels, reverse)


def _equal_once(parts: Sequence[Any], shape: Sequence[int]) -> list[Any]:
    """Queries, keys, values and mask, of which those of a batch that are one in memory are there once."""
    tensors = [t for t in parts if t is not None]
    if tracing() or mapped() or not all(type(t) is torch.Tensor and 0 in t.stride() for t in tensors[:3]):
        return list(parts)
    axes = [axis for axis in equal_axes(tensors, (), shape) if axis < -2]
    return [t if t is None else row_along(t, axes) for t in parts]


def _of_the_residuals(
    func: Function, parts: Sequence[Any], dropout_p: float, is_causal: bool, options: Any, shape: Sequence[int]
) -> torch.Tensor:
    """The call, which takes many times as long of elements that are one in memory, and of equal queries needs one."""
    query, key, value, mask = parts
    if not (tracing() or mapped()) and query.numel() and all(type(t) is torch.Tensor for t in parts[:3]):
        if mask is None and not is_causal and not query.stride(-2):
            query = query[..., :1, :]
        query, key, value = [t.contiguous() if is_broadcast(t) else t for t in (query, key, value)]
    made: torch.Tensor = func(query, key, value, mask, dropout_p, is_causal, **options)
    return made.expand(shape)


class _Attention:
    """The multipliers of one call: the midpoints of the factors and the path of the scores, over batches (*B, H)."""

    def __init__(
        self,
        values: Sequence[Any],
        residuals: Sequence[Any],
        components: Sequence[torch.Tensor | None],
        is_causal: bool,
        scale: float,
        gqa: bool,
        reverse: bool,
        frozen: bool,
    ) -> None:
        dtype = working_dtype(values[0].dtype)
        self.groups = groups = values[0].shape[-3] // values[1].shape[-3] if gqa else 1

        def wide(t: torch.Tensor, i: int) -> torch.Tensor:
            """In the working dtype; keys and values once for each head of the queries."""
            return t.to(dtype).repeat_interleave(groups, -3) if i in (1, 2) and groups > 1 else t.to(dtype)

        kept = [None if frozen and i != 2 else c for i, c in enumerate(components)]
        self.components: list[torch.Tensor | None] = kept
        self.wide = wide
        with no_graph(reverse):
            x, r = [[wide(t, i) for i, t in enumerate(ends[:3])] for ends in (values, residuals)]
            ends = [_scores(q * scale, k, mask, is_causal) for (q, k, _), mask in ((x, values[3]), (r, residuals[3]))]
            batch = torch.broadcast_shapes(ends[0].shape[:-2], x[2].shape[:-2])
            self.shape = (*batch, *ends[0].shape[-2:])
            masked = values[3] is not None
            at_value = _weights(ends[0], masked)
            self.last_residual = r[2]
            self.weights = at_value
            if frozen:
                return
            if components[2] is not None:
                self.weights = torch.add(at_value / 2, _weights(ends[1], masked), alpha=0.5)
            factors = zip(x, r, components[:3], strict=True)
            q, k, v = (a if c is None else torch.add(a / 2, b, alpha=0.5) for a, b, c in factors)
            # A copy of values that are no mean: they may be written to before gradients go back.
            self.q, self.k, self.v = q * scale, k * scale, v.clone() if reverse and components[2] is None else v
            count = next(len(c) for c in components if c is not None)
            rows = [s.expand(self.shape).reshape(-1, self.shape[-1]) for s in ends]
            self.path = SoftPath("scaled_dot_product_attention", rows[0], rows[1], count, empty_is_zero=masked)

    def frozen_residual(self) -> torch.Tensor:
        return torch.matmul(self.weights, self.last_residual)

    def contributions(self, count: int) -> torch.Tensor | None:
        """The components (C, *B, L, E) of the result, as many at a time as memory is well spent on."""
        if all(c is None for c in self.components):
            return None
        step = max(1, _BLOCK // math.prod(self.shape))
        if step >= count:
            return self._of(self.components)
        starts = range(0, count, step)
        return torch.cat([self._of([None if c is None else c[i : i + step] for c in self.components]) for i in starts])

    def vjp(self, grad: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Gradients (1, *B, L, E) of the contributions, to those of the components that there are."""
        cq, ck, cv, mask = self.components
        made: list[torch.Tensor] = []
        dtype, grad = grad.dtype, grad.to(self.weights.dtype)
        if cq is not None or ck is not None or mask is not None:
            rows = torch.matmul(grad, self.v.mT).expand(1, *self.shape).reshape(1, -1, self.shape[-1])
            scores = self.path.softmax(rows).reshape(1, *self.shape)  # the mean derivative is a symmetric matrix
            if cq is not None:
                made.append(torch.matmul(scores, self.k))
            if ck is not None:
                made.append(self.narrow(torch.matmul(scores.mT, self.q)))
        if cv is not None:
            made.append(self.narrow(torch.matmul(self.weights.mT, grad)))
        if mask is not None:
            made.append(scores)
        return tuple([g.to(dtype) for g in made])

    def narrow(self, grad: torch.Tensor) -> torch.Tensor:
        """The gradients of keys or values that several heads of the queries share."""
        return grad if self.groups == 1 else grad.unflatten(-3, (-1, self.groups)).sum(-3)

    def _of(self, components: Sequence[torch.Tensor | None]) -> Any:
        cq, ck, cv = (None if c is None else self.wide(c, i) for i, c in enumerate(components[:3]))
        mask = components[3]
        scores = None
        if cq is not None:
            scores = torch.matmul(cq, self.k.mT)
        if ck is not None:
            scores = _plus(scores, torch.matmul(self.q, ck.mT))
        if mask is not None:
            scores = _plus(scores, lead(mask.to(self.q.dtype), len(self.shape)))
        made: torch.Tensor | None = None
        if scores is not None:
            count = len(scores)
            rows = scores.expand(count, *self.shape).reshape(count, -1, self.shape[-1])
            made = torch.matmul(self.path.softmax(rows).reshape(count, *self.shape), self.v)
        if cv is not None:
            made = _plus(made, torch.matmul(self.weights, cv))
        return made


def _plus(a: torch.Tensor | None, b: torch.Tensor) -> torch.Tensor:
    return b if a is None else a + b


def _scores(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor | None, is_causal: bool) -> torch.Tensor:
    scores = torch.matmul(q, k.mT)
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if mask is None:
        return scores
    return scores.masked_fill(~mask, -torch.inf) if mask.dtype is torch.bool else scores + mask.to(scores.dtype)


def _weights(scores: torch.Tensor, masked: bool) -> torch.Tensor:
    """softmax; zero for a query that may look at nothing."""
    weights = torch.softmax(scores, -1)
    return weights.masked_fill((scores == -torch.inf).all(-1, keepdim=True), 0) if masked else weights


def _with_dropout(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, scale: float, gqa: bool) -> Any:
    """Step by step: one mask is drawn for value, residual and components."""
    if gqa:
        k, v = (torch.repeat_interleave(t, q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = torch.matmul(q * scale, k.transpose(-2, -1))
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype is torch.bool else scores + mask
    return torch.matmul(F.dropout(torch.softmax(scores, -1), dropout_p), v)
