"""Attention in reverse mode, on the processor: what takes gradients back, a few heads at a time.

The scores of these heads, their weights at the nodes of the path, and gradients, stay where the processor finds them
again; none of them is kept from the way forward.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from npdec._law.quadrature import tolerance
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._native import calls
from npdec._rules.softmax import SoftPath
from npdec._rules.softmax_of_few import digits_of, few_nodes, passed
from npdec._rules.softmax_reverse import nodes_of, rules_of, table_of
from npdec._torch.functorch import mapped

__all__ = ["Heads"]

_BLOCK = 2**17  # scores that are looked at together


class Heads:
    """What passes gradients back, where query, key and value, (..., L, E) and twice (..., S, E), have the same leading
    axes, and residuals these or some of length one. A mask is a constant."""

    def __init__(self, values: Sequence[Any], is_causal: bool, scale: float, moving: Sequence[bool]) -> None:
        self.lead, self.causal, self.scale, self.moving = values[0].shape[:-2], is_causal, scale, moving
        self.queries, self.keys = values[0].shape[-2], values[1].shape[-2]
        self.wanted = tolerance(values[0].dtype)

    @staticmethod
    def serve(values: Sequence[Any], residuals: Sequence[Any], is_causal: bool) -> bool:
        """Whether the call is such a one."""
        mask = values[3]
        tensors = [*values[:3], *residuals[:3]]
        if not all(
            type(t) is torch.Tensor and t.is_cpu and t.ndim > 2 and t.dtype is tensors[0].dtype for t in tensors
        ):
            return False
        if tensors[0].dtype not in (torch.float32, torch.float64) or mapped() or not all(t.numel() for t in tensors):
            return False
        if mask is not None and (type(mask) is not torch.Tensor or is_causal or mask.is_inference()):
            return False
        if any(t.is_inference() for t in tensors):
            return False
        return len({t.shape[:-2] for t in values[:3]}) == 1

    def vjp(self, grad: torch.Tensor, *held: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Gradients (1, ..., L, E) of the result, to those of query, key and value that have contributions; `held` are
        these at the values and at the residuals, and the mask."""
        *ends, mask = (*held, None) if len(held) == 6 else held
        found = self._at_once(grad.squeeze(0), ends[:3], ends[3:], mask) if calls is not None else None
        if found is None:
            found = self._in_blocks(grad, ends, mask)
        return tuple([f.reshape(1, *x.shape) for f, x in zip(found, ends[:3], strict=True) if f is not None])

    # -- the rows of scores by one pass over memory --------------------------------------------------------------------

    def _at_once(
        self, grad: torch.Tensor, x: Sequence[torch.Tensor], r: Sequence[torch.Tensor], mask: torch.Tensor | None
    ) -> Sequence[torch.Tensor | None] | None:
        """The gradients, by products of matrices of all heads (N, L, E); None where a row is not C's, or there are no
        heads whose rows are few."""
        count = self.lead.numel()
        together = max(1, _BLOCK // (self.queries * self.keys))
        if self.queries * self.keys > 4 * _BLOCK:
            return None
        grads = grad.reshape(count, *grad.shape[-2:])
        q, k = [t.reshape(count, *t.shape[-2:]) for t in x[:2]]
        middles = [
            (torch.lerp(a, b, 0.5) if moves else a).reshape(count, *a.shape[-2:])
            for a, b, moves in zip(x, r, self.moving, strict=True)
        ]
        first, second = _periodic(r[0]), _periodic(r[1])
        if 1 != first.shape[0] != second.shape[0] != 1:
            first, second = [
                t if len(t) == count else _periodic(of.expand(*self.lead, *of.shape[-2:]), True)
                for t, of in ((first, r[0]), (second, r[1]))
            ]
        low, rules = torch.matmul(first, second.mT), rules_of(digits_of(self.wanted), grad.dtype)
        masks = None if mask is None else self._masks(mask)
        pieces: list[list[torch.Tensor]] = []
        for head in range(0, count, together):
            if together < count:
                heads = slice(head, min(head + together, count))
                parts = [t[heads] for t in (q, k, grads, *middles)]
                seen = masks if masks is None or masks.ndim == 2 else masks[heads]
            else:
                parts, seen = [q, k, grads, *middles], masks
            found = self._of_heads(parts, low, seen, head, rules)
            if found is None:
                return None
            pieces.append(found)
        made = iter(pieces[0] if len(pieces) == 1 else [torch.cat(parts) for parts in zip(*pieces, strict=True)])
        return [next(made) if moves else None for moves in self.moving]

    def _of_heads(
        self,
        parts: Sequence[torch.Tensor],
        low: torch.Tensor,
        mask: torch.Tensor | None,
        head: int,
        rules: tuple[torch.Tensor, torch.Tensor],
    ) -> list[torch.Tensor] | None:
        q, k, grads, at_q, at_k, at_v = parts
        scores, through = torch.bmm(q, k.mT), torch.bmm(grads, at_v.mT)
        if not calls.heads_back(scores, low, through, mask, self.scale, self.causal, head, 0, *rules):
            return None
        by_q, by_k, by_v = self.moving
        made = [torch.bmm(through, at_k)] if by_q else []
        if by_k:
            made.append(torch.bmm(through.mT, at_q))
        return [*made, torch.bmm(scores.mT, grads)] if by_v else made

    def _masks(self, mask: torch.Tensor) -> torch.Tensor:
        """The mask of each head, or the one of all."""
        while mask.ndim > 2 and (mask.shape[0] == 1 or not mask.stride(0)):
            mask = mask[0]
        if mask.ndim <= 2:
            return mask.expand(self.queries, self.keys)
        return mask.expand(*self.lead, self.queries, self.keys).reshape(-1, self.queries, self.keys)

    # -- a few heads at a time, by torch -------------------------------------------------------------------------------

    def _in_blocks(
        self, grad: torch.Tensor, ends: Sequence[torch.Tensor], mask: torch.Tensor | None
    ) -> Sequence[torch.Tensor | None]:
        count = self.lead.numel()
        found = [
            x.new_zeros((count, *x.shape[-2:])) if moves else None
            for x, moves in zip(ends[:3], self.moving, strict=True)
        ]
        flat = [self._flat(t) for t in ends]
        masks = None if mask is None else mask.expand(*self.lead, self.queries, self.keys)
        masks = (
            None if masks is None else masks.reshape(count, self.queries, self.keys) if masks.stride()[:-2] else masks
        )
        grads = grad.reshape(count, *grad.shape[-2:])
        for heads, rows in self._blocks(count):
            q, k, v, q_r, k_r, v_r = [t[heads] if len(t) == count else t for t in flat]
            q, q_r = q[:, rows], q_r[:, rows] if q_r.shape[1] == self.queries else q_r
            part = None if masks is None else masks[heads, rows]
            self._back(
                [q, k, v],
                [q_r, k_r, v_r],
                part,
                grads[heads, rows],
                [f if f is None else f[heads] for f in found],
                rows,
            )
        return found

    def _flat(self, t: torch.Tensor) -> torch.Tensor:
        """The heads one after the other; of those that are equal, one."""
        if t.shape[:-2].numel() == 1:
            return t.reshape(1, *t.shape[-2:])
        return t.expand(*self.lead, *t.shape[-2:]).reshape(-1, *t.shape[-2:])

    def _blocks(self, count: int) -> Iterator[tuple[slice, slice]]:
        """Heads, and queries of these."""
        together = max(1, _BLOCK // (self.queries * self.keys))
        rows = self.queries if together > 1 else max(1, 4 * _BLOCK // self.keys)
        for head in range(0, count, together):
            for row in range(0, self.queries, rows):
                yield slice(head, min(head + together, count)), slice(row, min(row + rows, self.queries))

    def _scores(self, q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        scores = torch.matmul(q * self.scale, k.mT)
        if mask is None:
            return scores
        return scores.masked_fill(~mask, -torch.inf) if mask.dtype is torch.bool else scores + mask

    def _back(
        self,
        x: Sequence[torch.Tensor],
        r: Sequence[torch.Tensor],
        mask: torch.Tensor | None,
        grad: torch.Tensor,
        found: Sequence[torch.Tensor | None],
        rows: slice,
    ) -> None:
        """Add the gradients of some heads (and of some queries of these) to what is found of them."""
        if self.causal:
            mask = torch.ones((self.queries, self.keys), dtype=torch.bool, device=grad.device).tril()[rows]
        high, low = self._scores(x[0], x[1], mask), self._scores(r[0], r[1], mask)
        q, k, v = [torch.add(a / 2, b, alpha=0.5) if m else a for a, b, m in zip(x, r, self.moving, strict=True)]
        of_q, of_k, of_v = found
        if of_v is not None:
            weights = torch.add(_weights(high, mask).div_(2), _weights(low, mask), alpha=0.5)
            of_v.baddbmm_(weights.mT, grad)
        if of_q is None and of_k is None:
            return
        by_weights = torch.matmul(grad, v.mT)
        scores = self._through(high, low, by_weights, mask)
        if of_q is not None:
            of_q[:, rows] = torch.matmul(scores, k * self.scale)
        if of_k is not None:
            of_k.baddbmm_(scores.mT, q * self.scale)

    def _through(
        self, high: torch.Tensor, low: torch.Tensor, grad: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """Gradients of the weights, to those of the scores: the mean derivative of softmax is a symmetric matrix."""
        found = nodes_of(high.expand(grad.shape), low, digits_of)
        if found is not None:
            made, grad = torch.empty_like(grad, memory_format=torch.contiguous_format), grad.contiguous()
            value, row, _ = found
            if calls.soft_back(value, row, grad, table_of(value, digits_of), made):
                return made
        n = grad.shape[-1]
        start = low - low.amax(-1, keepdim=True)
        step = (high - high.amax(-1, keepdim=True)).sub_(start)
        if mask is not None:  # which does not move
            step.nan_to_num_(0.0)
        longest = float(step.amax(-1).sub_(step.amin(-1)).amax())
        nodes = few_nodes(longest, self.wanted)
        if nodes and (mask is None or bool((low.amax(-1) > -torch.inf).all())):
            made = torch.empty_like(grad)
            low, step, grads = [t.expand(grad.shape).reshape(-1, n) for t in (start, step, grad)]
            return passed(low, step, grads, gauss_legendre(nodes), made.view(-1, n)).view(grad.shape)
        ends = [t.expand(grad.shape).reshape(-1, n) for t in (high, low)]
        path = SoftPath("scaled_dot_product_attention", ends[0], ends[1], 1, empty_is_zero=mask is not None)
        return path.softmax(grad.reshape(1, -1, n)).reshape(grad.shape)


def _periodic(t: torch.Tensor, all_heads: bool = False) -> torch.Tensor:
    """The heads (n, L, E) of a residual, of equal examples once unless `all_heads`, and the rows of one that are equal
    once: those of all heads follow in the same order again and again."""
    shape, strides = t.shape, t.stride()
    if 0 in strides[:-1]:
        first = 0
        while not all_heads and first < t.ndim - 2 and (shape[first] == 1 or not strides[first]):
            first += 1
        rows = slice(0, 1) if not strides[-2] else slice(None)
        t = t[(0,) * first + (...,) + (rows, slice(None))]
    return t.reshape(-1, *t.shape[-2:])


def _weights(scores: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """softmax; zero for a query that may look at nothing."""
    weights = torch.softmax(scores, -1)
    return weights if mask is None else weights.masked_fill((scores == -torch.inf).all(-1, keepdim=True), 0)
