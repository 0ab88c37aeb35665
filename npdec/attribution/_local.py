"""The law, operation by operation: in reverse mode, or forward in chunks of components."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from npdec._core.memory_meter import Meter
from npdec._core.progress import Progress, Show
from npdec._decomposed import block_sparse, completeness
from npdec._decomposed.axes import narrowed
from npdec._decomposed.reverse_graph import freed, overwritten
from npdec._decomposed.size_limits import HANDFUL, is_for_one_thread
from npdec._decomposed.size_warnings import STEEP
from npdec._decomposed.tensor import DecomposedTensor, Labels, copy_of, dispatch, first_use, is_broadcast
from npdec._impl import _util
from npdec._law.all_components import with_chunk
from npdec._law.named_rules import current_rule
from npdec._native import calls
from npdec.attribution._problem import Found, Problem, choose, plain
from npdec.attribution._ranks import shared
from npdec.exceptions import DecompositionWarning

__all__ = ["Run", "component_of", "forward", "look_at", "marked_in_reverse", "reverse", "share", "shares_of"]

_ALL = ("all inputs",)
_CHUNK = 64  # components in one pass, unless the caller says otherwise
_ROUNDINGS = 64  # of numbers on the way to a result


class Run(NamedTuple):
    """One call with all contributions as one: what was chosen of its result, and what that is linear in."""

    chosen: list[torch.Tensor]
    several: bool
    carriers: list[torch.Tensor]
    changes: list[torch.Tensor]


def reverse(
    problem: Problem, progress: Show, differentiated: Callable[[Problem, Run, Show], Found] | None = None
) -> Found:
    """One pass with all contributions as one, differentiated with the multipliers held fixed: `differentiated` finds
    the shares; by default those of the inputs.

    Where the function writes over what the way back needs (a buffer that it has multiplied with), autograd says so, or
    the write finds a view that the graph keeps, and the function is called once more, with copies of all that is kept.
    So it is where the function frees it, as fully_shard does with the weights of each layer: then the copies are on the
    host, for the network may be one that no device holds.
    """
    differentiated = differentiated or _differentiated
    state = torch.random.get_rng_state()
    run = None
    try:
        run = _run(problem)
        return differentiated(problem, run, progress)
    except RuntimeError as error:
        if not (freed(error) or overwritten(error)):
            raise
        keep = _to_host if freed(error) else _copied
    with torch.autograd.graph.saved_tensors_hooks(keep, _taken):
        if run is None:
            torch.random.set_rng_state(state)
            run = _run(problem)
        torch.random.set_rng_state(state)
        again = _run(problem)
    if not all(_same(plain(a), plain(b)) for a, b in zip(run.chosen, again.chosen, strict=True)):
        raise ValueError(
            "attribute: the function writes over numbers that gradients need, and gave another value when it was "
            "called once more with copies of them: make it give the same each time, or choose mode='forward'"
        )
    return differentiated(problem, again, progress)


def _copied(kept: torch.Tensor) -> tuple[torch.Tensor, torch.device]:
    return kept.clone(), kept.device


def _to_host(kept: torch.Tensor) -> tuple[torch.Tensor, torch.device]:
    return kept.to("cpu", copy=True), kept.device


def _taken(kept: tuple[torch.Tensor, torch.device]) -> torch.Tensor:
    copy, device = kept
    return copy.to(device)


def _run(problem: Problem) -> Run:
    changes = [value - residual for value, residual in zip(problem.values, problem.residuals, strict=True)]
    marked, carriers = [], []
    for value, residual, change in zip(problem.values, problem.residuals, changes, strict=True):
        if problem.graph:
            # The multipliers of one component are those of all; where they need a graph, it is a component like others.
            carrier = change.detach().requires_grad_()  # over the memory of the change, which nobody writes
            marked.append(DecomposedTensor(copy_of(value), _own(residual), carrier.unsqueeze(0).clone(), _ALL))
        else:
            made, carrier = marked_in_reverse(copy_of(value), _own(residual))
            marked.append(made)
        carriers.append(carrier)
    return Run(*choose(problem.call(marked), problem.output), carriers, changes)


def marked_in_reverse(
    value: torch.Tensor, residual: torch.Tensor | None, row: torch.Tensor | None = None
) -> tuple[DecomposedTensor, torch.Tensor]:
    """An input in reverse mode, of parts that are its own, and what its component is linear in: the value itself, on a
    graph. The component, which lies elsewhere, is made when it is asked for; so is the residual of equal rows, of which
    there is one."""
    if not dispatch.filled:
        first_use.value()
    leaf = value.detach().requires_grad_()
    made: Any = value.as_subclass(DecomposedTensor)
    made.value, made.labels, made.on_graph = value, _ALL, leaf
    if residual is None:
        made.row = row
    else:
        made.residual = residual
    made.reverse, made.discrete, made.origin = True, False, None
    return made, leaf


def component_of(one: torch.Tensor) -> torch.Tensor | None:
    """What the contributions to an output in reverse mode are the derivative of; None where there are none."""
    if not isinstance(one, DecomposedTensor):
        return None
    known = vars(one)
    if "components" not in known and "on_graph" in known:
        found: torch.Tensor = known["on_graph"]
        return found
    made: torch.Tensor = one.components.squeeze(0)
    return made


def _differentiated(problem: Problem, run: Run, progress: Show) -> Found:
    rows, moved = [], []
    with Progress("attribute", len(run.chosen), progress) as bar:
        for i, one in enumerate(run.chosen):
            component = one.components.squeeze(0) if isinstance(one, DecomposedTensor) else torch.zeros_like(one)
            shares = shares_of(component, run.carriers, run.changes, i + 1 < len(run.chosen), problem.graph)
            rows.append(problem.collected(shares))
            moved.append(problem.kept(component))
            bar.advance()
    values = [problem.kept(plain(one)) for one in run.chosen]
    residuals = [problem.kept(one.residual if isinstance(one, DecomposedTensor) else one) for one in run.chosen]
    for value, residual, row, change in zip(values, residuals, rows, moved, strict=True):
        look_at(run.changes, value, residual, row, change.item())
    if not run.several:
        return Found(values[0], residuals[0], rows[0])
    return Found(torch.stack(values), torch.stack(residuals), torch.stack(rows))


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two results are equal, NaN to NaN."""
    return torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))


def look_at(
    changes: Sequence[torch.Tensor],
    value: torch.Tensor,
    residual: torch.Tensor,
    row: torch.Tensor,
    moved: complex,
    found: tuple[float, float] | None = None,
    ends: tuple[complex, complex] | None = None,
) -> complex:
    """Say what is to be said of the contributions to one number, by sums that mostly tell that nothing is: Python
    compares them sooner than torch does. What they are the derivative of is `moved`; `found` are the sum of their
    magnitudes and their sum, and `ends` the value and the residual, where these are known. Returns their sum."""
    row, most = row.detach(), _most(row.dtype)
    if found is None and calls is not None and is_for_one_thread(row.numel()):
        found = calls.sums(row)
    if found is not None:
        made, total = found
    elif row.is_cpu and row.numel() <= HANDFUL and not row.is_complex():
        numbers = row.reshape(-1).tolist()
        made, total = sum(map(abs, numbers)), sum(numbers)
    else:
        made, total = torch.linalg.vector_norm(row, 1).item(), row.sum().item()
    high, low = map(abs, (value.item(), residual.item()) if ends is None else ends)
    more = ": mode='forward' shares out what is left, and names the operation"
    if not made <= most * max(high, low) and _warn_if_large(changes, value, residual, row.reshape(-1), more):
        return total
    missed, gross = abs(moved - total), abs(moved) + made
    if math.isfinite(gross) and missed > _loose(row.dtype) * gross:
        _warn_if_lost(changes, missed, high + low)
    return total


@functools.cache
def _loose(dtype: torch.dtype) -> float:
    """Which part of what they add up to contributions may miss without a warning."""
    return max(0.01, torch.finfo(dtype).eps ** 0.5)


@functools.cache
def _most(dtype: torch.dtype) -> float:
    """How many times larger than what they come from and add up to contributions are without a warning."""
    return min(STEEP, 1 / torch.finfo(dtype).eps)


@torch.no_grad()
def _warn_if_large(
    changes: Iterable[torch.Tensor], value: torch.Tensor, residual: torch.Tensor, shares: torch.Tensor, more: str = ""
) -> bool:
    """Warn of contributions, shape (*O, C) to numbers of shape O, that cancel to a millionth of what they are, or (in
    half precision) to their rounding errors: an operation that goes forward sees the components that cancel, and shares
    a jump or the like among them. Whether it did is returned."""
    most = _most(shares.dtype)
    made, size, base = shares.abs().sum(-1), (value * 1.0).abs(), (residual * 1.0).abs()
    if bool((made <= most * torch.maximum(size, base)).all()):
        return False
    there = size + base
    for change in changes:
        there = there + change.abs().sum().to(there.device)
    if found := bool((torch.isfinite(there) & ~(made <= most * there)).any()):
        times = "a million" if most == STEEP else f"{most:.0f}"
        _util.warn(
            f"attribute: contributions are more than {times} times as large as the value, the residual and the "
            f"changes of the inputs: they cancel, before a jump, a pole or a steep slope{more}",
            DecompositionWarning,
        )
    return found


@torch.no_grad()
def _warn_if_lost(changes: Sequence[torch.Tensor], missed: float, size: float) -> None:
    """Warn of contributions that miss more of the component, which they are the derivative of, than rounding does: what
    leaves the graph (in a pickle, to another process) comes back without it. The component is not the change of the
    value, in which there is the rounding of all that cancels; and what is not larger than the rounding of the inputs'
    changes, and of the value and residual, of this `size`, is nothing but such."""
    eps = torch.finfo(changes[0].dtype).eps
    if missed > eps * (sum(float(step.abs().double().sum()) for step in changes) + _ROUNDINGS * size):
        _util.warn(
            "attribute: contributions miss more than a hundredth of what the value changes by (.error): the function "
            "takes numbers off the graph of reverse mode, as pickles and other processes do: choose mode='forward'",
            DecompositionWarning,
        )


def _own(residual: torch.Tensor) -> torch.Tensor:
    """A residual that the function may write to. A broadcast one is copied then; until then equal rows are one row."""
    return residual if is_broadcast(residual) else copy_of(residual)


def shares_of(
    component: torch.Tensor,
    carriers: Sequence[torch.Tensor],
    changes: Sequence[torch.Tensor],
    retain: bool,
    graph: bool,
) -> list[torch.Tensor]:
    """What each element of the changes contributes to one number, which is linear in the carriers."""
    if not component.requires_grad:
        return [torch.zeros_like(change.real) for change in changes]
    if component.is_complex():
        real, imag = torch.view_as_real(component)
        parts = shares_of(real, carriers, changes, True, graph), shares_of(imag, carriers, changes, retain, graph)
        return [torch.complex(re, im) for re, im in zip(*parts, strict=True)]
    slopes: Sequence[torch.Tensor | None] = torch.autograd.grad(
        component, carriers, retain_graph=retain or graph, create_graph=graph, allow_unused=True
    )
    return [share(slope, change) for slope, change in zip(slopes, changes, strict=True)]


def share(slope: torch.Tensor | None, change: torch.Tensor) -> torch.Tensor:
    """What each element of a change contributes, where the number has that slope by it. The gradient of a real number
    by a complex one is du + i dv for the change u + i v: the share is the real product."""
    if slope is None:
        return torch.zeros_like(change.real)
    return (slope.conj() * change).real if change.is_complex() else slope * change


# -- forward -----------------------------------------------------------------------------------------------------------


def forward(problem: Problem, max_memory: int | None, progress: Show) -> Found:
    """Passes with a chunk of the components each. They do not interact, so that the chunks together are what one pass
    with all of them gives; every pass draws the same random numbers. On a mesh each rank makes some of the passes."""
    labels = problem.element_labels()
    chunked = max_memory is not None or (problem.chunk_size or _CHUNK) < problem.count
    if chunked:
        current_rule(reverse=True)  # which refuses rules that are not linear in the components: chunks ask no less
    chunks = _measured(problem, labels, max_memory) if max_memory is not None else _passes(problem, labels)
    shares: list[torch.Tensor] = []
    value = residual = None
    with torch.no_grad(), Progress("attribute", problem.count, progress) as bar:
        for made in chunks:
            if value is not None and not _same(made.value, value):
                raise ValueError(
                    "attribute: the function gave another value when it was called again, for the next components: "
                    "make it give the same each time (and on all ranks of a mesh, with the same weights), or choose a "
                    "chunk_size of all components"
                )
            value, residual = made.value, made.residual
            shares.append(made.shares)
            bar.advance(made.shares.shape[-1])
    if value is None:
        raise ValueError("attribute: the inputs have no elements")
    found = Found(value, residual, torch.cat(shares, -1))
    assert residual is not None
    changes = (v - r for v, r in zip(problem.values, problem.residuals, strict=True))
    _warn_if_large(changes, value, residual, found.shares)
    return found


def _passes(problem: Problem, labels: Labels) -> Iterator[Found]:
    size = problem.chunk_size or _CHUNK
    if problem.ranks is not None:
        problem.ranks.share_random_state()
    state = torch.random.get_rng_state()

    def one(first: int) -> tuple[Any, ...]:
        torch.random.set_rng_state(state)
        made = _pass(problem, labels, first, min(first + size, problem.count))
        return made.value, made.residual, made.shares

    for made in shared(problem.ranks, range(0, problem.count, size), one, seeded=True):
        yield Found(*made)
    if problem.ranks is not None:
        problem.ranks.share_random_state()


def _measured(problem: Problem, labels: Labels, max_memory: int) -> Iterator[Found]:
    """Chunks as large as the memory allows. What k components take, measured, is at least k/m of what m > k will."""
    state = torch.random.get_rng_state()
    first, size = 0, 1
    while first < problem.count:
        stop = min(first + size, problem.count)
        torch.random.set_rng_state(state)
        with Meter() as meter:
            found = _pass(problem, labels, first, stop)
        if meter.peak > max_memory:
            raise MemoryError(
                f"attribute: a pass with {stop - first} of {problem.count} components takes {meter.peak} bytes, more "
                f"than max_memory={max_memory}"
            )
        yield found
        size = max(1, (stop - first) * max_memory // max(1, meter.peak))
        size = min(size, problem.chunk_size or size)
        first = stop


def _pass(problem: Problem, labels: Labels, first: int, stop: int) -> Found:
    """The outputs with components first to stop: shape O, and shares (*O, stop − first). A check of completeness, and
    functions that have to know all components, are given the others as one more; other passes do without."""
    if stop - first == problem.count:
        return _with(problem, labels[first:stop], first, stop)
    if completeness.current.get() is None and not problem.needs_all:
        state = torch.random.get_rng_state()
        with with_chunk() as chunk:
            found = _with(problem, labels[first:stop], first, stop)
        if not chunk.needs_all:
            return found
        problem.needs_all = True
        torch.random.set_rng_state(state)
    return _with(problem, labels[first:stop] + _ALL, first, stop)


def _with(problem: Problem, names: Labels, first: int, stop: int) -> Found:
    """A pass with these components; with one name more than there are, that is of all others."""
    rest = len(names) > stop - first
    marked = []
    members: Sequence[torch.Tensor | None] = problem.member or [None] * len(problem.values)
    start = 0
    for value, residual, member in zip(problem.values, problem.residuals, members, strict=True):
        if member is None:
            member = torch.arange(start, start + value.numel(), device=value.device).reshape(value.shape)
            start += value.numel()
        change = value - residual
        member = narrowed(member.to(value.device), member.ndim) - first
        inside = (member >= 0) & (member < stop - first)
        member = torch.where(inside, member, stop - first if rest else -1).expand(value.shape)
        own = change if rest else torch.where(inside, change, 0)
        if block_sparse.is_worth(own, member, len(names)):
            components: Any = block_sparse.marked(own, member, len(names))
        else:
            components = block_sparse.scattered(own, member.clamp(min=0), len(names))
        marked.append(DecomposedTensor(copy_of(value), _own(residual), components, names))
    chosen, several = choose(problem.call(marked), problem.output, whole=True)
    found = [_of_output(one, names[: stop - first]) for one in chosen]
    if not several:
        return found[0]
    return Found(*[torch.stack(parts) for parts in zip(*[(f.value, f.residual, f.shares) for f in found], strict=True)])


def _of_output(one: torch.Tensor, names: Labels) -> Found:
    if not isinstance(one, DecomposedTensor):
        value = one.detach()
        return Found(value, value, value.new_zeros((*value.shape, len(names))))
    components = one.components
    if one.labels[: len(names)] != names:
        place = {label: i for i, label in enumerate(one.labels)}
        rows = [components[place[n]] if n in place else torch.zeros_like(one.value) for n in names]
        components = torch.stack(rows)
    return Found(one.value.detach(), one.residual.detach(), components[: len(names)].detach().movedim(0, -1))
