"""The law to second order, operation by operation: what each pair of components contributes together.

Beside the residual r a quantity has single contributions m_i and those of pairs P_ij, symmetric, with

    x = r + Σ_i m_i + Σ_ij P_ij,    c_i = m_i + Σ_j P_ij,

where c_i is its component by the law. Through y = f(u) they pass by Taylor's formula with its remainder in integral
form, the derivatives J = f' and H = f'' being those along the path from r to x (Δ = x − r):

    m_i → J(r) m_i,    P_ij → J(r) P_ij + Q[c_i, c_j],    Q[a, b] = ∫ (1 − t) H(r + tΔ)[a, b] dt.

Integration by parts, ∫ J(r + tΔ) dt = J(r) + ∫ (1 − t) H(r + tΔ)[Δ, ·] dt, says that c_i passes by the law: so pairs
sum to the first order, whatever the operation. Q needs no formula of its own: ∫ (1 − t) H[a, b] dt is the derivative of
the law's ∫ J(r + tΔ) a dt by r, in the direction b. All of it is linear but Q, so that m and P travel as components.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._core.containers import refilled
from npdec._core.progress import Show
from npdec._decomposed import completeness
from npdec._decomposed.call import Call
from npdec._decomposed.choices import compare_choices
from npdec._decomposed.registry import Rule
from npdec._decomposed.tensor import DecomposedTensor, Labels, copy_of
from npdec._law import law
from npdec._law.discrete import as_numbers
from npdec._law.named_rules import is_affine, rule
from npdec._law.overrides_scope import enter
from npdec._rules import inplace
from npdec.attribution import _local
from npdec.attribution._problem import Found, Problem, choose

__all__ = ["pairs"]

Function = Callable[..., Any]


def pairs(problem: Problem, progress: Show) -> Found:
    """Symmetric matrices (*O, C, C), of which the diagonal holds the single contributions too."""
    if not is_affine(reverse=True):
        raise NotImplementedError("attribute: pairs are those of the law itself, not of another rule: leave np.rule")
    state = torch.random.get_rng_state()
    with rule(conditions="frozen"):  # a step has no second derivative
        first = _local.forward(problem, None, progress)
    assert first.residual is not None
    with torch.no_grad():
        plain, _ = choose(problem.call(problem.residuals), problem.output, whole=True)
    compare_choices("attribute (order=2)", first.residual.reshape(-1), torch.stack(plain).reshape(-1))
    torch.random.set_rng_state(state)
    count = problem.count
    i, j = torch.triu_indices(count, count)
    labels: Labels = (*range(count), *zip(i.tolist(), j.tolist(), strict=True))
    marked = []
    for value, residual, change in zip(problem.values, problem.residuals, _changes(problem), strict=True):
        rows = torch.cat([change, change.new_zeros((len(i), *value.shape))])
        marked.append(DecomposedTensor(copy_of(value), copy_of(residual), rows, labels))
    with enter(watcher=_Second(count, labels)), rule(conditions="frozen"):
        chosen, several = choose(problem.call(marked), problem.output, whole=True)
    rows = torch.stack([_rows_of(one, labels) for one in chosen]) if several else _rows_of(chosen[0], labels)
    rows = rows.movedim(int(several), -1).detach()
    shares = rows.new_zeros((*rows.shape[:-1], count, count))
    shares[..., i, j] += rows[..., count:] / 2
    shares[..., j, i] += rows[..., count:] / 2
    shares[..., range(count), range(count)] += rows[..., :count]
    if not _agree(shares.sum(-1), first.shares, first.value - first.residual):
        raise NotImplementedError(
            "attribute: order=2 with method='local' cannot follow a function of which several operations are taken as "
            "one (a normalisation that is written out): use method='path'"
        )
    return Found(first.value, first.residual, shares)


def _changes(problem: Problem) -> list[torch.Tensor]:
    """The components (C, *S) of each leaf of the inputs."""
    numbers = torch.eye(problem.count, dtype=problem.dtype, device=problem.device)
    ends = zip(problem.values, problem.residuals, problem.of_elements(numbers), strict=True)
    return [torch.where(own != 0, value - residual, 0) for value, residual, own in ends]


def _rows_of(one: torch.Tensor, labels: Labels) -> torch.Tensor:
    if isinstance(one, DecomposedTensor):
        return one.components
    return one.new_zeros((len(labels), *one.shape))


def _agree(a: torch.Tensor, b: torch.Tensor, like: torch.Tensor) -> bool:
    size = float(torch.stack([t.detach().abs().amax() for t in (a, b, like) if t.numel()] or [a.new_zeros(())]).amax())
    far = (a - b).detach().abs()
    return not far.numel() or bool(far.amax() <= torch.finfo(far.dtype).eps ** 0.5 * size)


class _Second:
    """A watcher that adds to what passes linearly the pairs that each operation makes."""

    step_by_step = True

    def __init__(self, count: int, labels: Labels) -> None:
        self.count, self.labels = count, labels
        self.pair = torch.triu_indices(count, count)
        self.busy = False

    def quadrature(self, call: Call) -> Any:
        return None

    def run(self, rule: Rule, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        own = law.innermost(rule)
        if not self.busy and isinstance(func, types.FunctionType) and "inplace" in func.__code__.co_varnames:
            bound = inspect.signature(func).bind(*args, **kwargs)
            if bound.arguments.get("inplace"):
                bound.arguments["inplace"] = False
                made = self.run(rule, func, bound.args, bound.kwargs)
                return inplace.assign(next(iter(bound.arguments.values())), made)
        through = any(one.delegates or one.passes or one.formula for one in (rule, own))
        if self.busy or through or rule.opaque or own.writes:
            return rule(func, args, kwargs)
        call = Call(func, None, args, kwargs)
        if not call.decomposed or _is_linear(own, func, args, kwargs):
            return rule(func, args, kwargs)
        state = torch.random.get_rng_state()
        made, straight = self._made(rule, call)
        if made is not None:
            return made
        torch.random.set_rng_state(state)
        made = rule(func, args, kwargs)
        for one, plain in zip(_flat(made), straight, strict=False):
            # That of an operation which is made of others has met each of them, if its single contributions are J(r) m.
            if isinstance(plain, DecomposedTensor) and not self._agree_singly(one, plain):
                raise NotImplementedError(
                    f"attribute: {getattr(func, '__name__', func)} is computed by several operations that order=2 with "
                    "method='local' cannot tell apart: use method='path'"
                )
        return made

    def _agree_singly(self, one: DecomposedTensor, plain: DecomposedTensor) -> bool:
        a, b = (t.components[: self.count] for t in (one, plain))
        return _agree(a, b, one.value - one.residual)

    def _made(self, rule: Function, call: Call) -> tuple[Any, Sequence[Any]]:
        """The result of an operation that is one function; or None, and the derivative at the baseline of one that is
        made of several."""
        tensors = call.tensors
        starts = [t.residual.detach().requires_grad_() for t in tensors]
        values = [t.value.detach() for t in tensors]
        first = [self._first(t.components.detach()) for t in tensors]
        state = torch.random.get_rng_state()
        labels = tuple(range(self.count))
        ends = zip(values, starts, first, strict=True)
        given = [DecomposedTensor(x, s, c, labels) for x, s, c in ends]
        found = self._by_rule(rule, call, given)
        torch.random.set_rng_state(state)
        still = [(t.residual.detach(), t.components.detach()) for t in tensors]
        straight = self._by_rule(rule, call, [DecomposedTensor(r, r, c, self.labels) for r, c in still])
        outputs = _flat(found)
        pairs = [self._pairs(one, starts, first) for one in outputs]
        if all(one is None for one in pairs):
            return None, ()  # it is linear
        made: list[Any] = []
        for one, plain, more in zip(outputs, _flat(straight), pairs, strict=True):
            if not isinstance(one, DecomposedTensor):
                made.append(one)
                continue
            rows = plain.components.detach()
            if more is not None:
                twice = more + more.transpose(0, 1)
                i, j = self.pair.to(twice.device)
                added = twice[i, j] / torch.where(i == j, 2, 1).reshape(-1, *[1] * (twice.ndim - 2)).to(twice.dtype)
                rows = torch.cat([rows[: self.count], rows[self.count :] + added])
            numbers = as_numbers(one)
            if not _agree(self._first(rows), one.components, numbers.value - numbers.residual):
                return None, _flat(straight)
            made.append(DecomposedTensor(one.value.detach(), one.residual.detach(), rows, self.labels))
        return _like(found, made), ()

    def _by_rule(self, rule: Function, call: Call, tensors: Sequence[DecomposedTensor]) -> Any:
        self.busy = True
        checking = completeness.current.set(None)  # components at the baseline are not those of a change
        try:
            with torch.enable_grad():
                return call.of(lambda *args, **kwargs: rule(call.func, args, kwargs))(*tensors)
        finally:
            self.busy = False
            completeness.current.reset(checking)

    def _first(self, rows: torch.Tensor) -> torch.Tensor:
        """The components c of rows m and P, in which a pair of two has what both orders of it have together."""
        half = rows[self.count :] / 2
        i, j = self.pair.to(rows.device)
        return rows[: self.count].index_add(0, i, half).index_add(0, j, half)

    def _pairs(self, one: Any, starts: Sequence[torch.Tensor], first: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """Q[c_i, c_j] of an output, (C, C, *S): the derivatives of its components by the residuals, in each direction,
        from two transposed ones; None where there are none."""
        if not isinstance(one, DecomposedTensor) or not one.components.requires_grad:
            return None
        weights = torch.zeros_like(one.components, requires_grad=True)
        slopes = torch.autograd.grad(
            one.components, starts, weights, create_graph=True, allow_unused=True, materialize_grads=False
        )
        there = [(s, c) for s, c in zip(slopes, first, strict=True) if s is not None and s.requires_grad]
        if not there:
            return None
        rows = [
            torch.autograd.grad(
                [s for s, _ in there], weights, [c[j] for _, c in there], retain_graph=True, materialize_grads=True
            )[0]
            for j in range(self.count)
        ]
        return torch.stack(rows, 1)


def _is_linear(rule: Any, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    if not isinstance(rule, law.TaggedRule):
        return False
    tags = [leaf.tag for leaf in Call(func, rule.tags, args, kwargs, rule.optional).decomposed]
    return set(tags) == {"Linear"} or (set(tags) <= {"Linear", "Multilinear"} and len(tags) == 1)


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _like(result: Any, parts: list[Any]) -> Any:
    if not isinstance(result, (tuple, list)):
        return parts[0]
    return refilled(result, parts)
