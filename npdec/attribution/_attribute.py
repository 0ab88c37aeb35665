"""`np.attribute`: what it takes, which method it runs, and what it gives back."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch

from npdec._core.tracebacks import ends
from npdec._decomposed.tensor import carries
from npdec._torch.interrupts import undisturbed
from npdec._torch.tracing import refuse_trace, tracing
from npdec.attribution import _options
from npdec.attribution._result import Attribution

if TYPE_CHECKING:  # what is needed to attribute is imported with the first attribution
    from npdec._core.progress import Show
    from npdec.attribution._problem import Found, Problem

__all__ = ["attribute"]


_F = TypeVar("_F", bound=Callable[..., Any])
_USUAL = frozenset({"baseline", "output"})  # what is read by `npdec.attribution._at_once`


def _at_once_first(function: _F) -> _F:
    """`attribute`, before which it is tried at once: to read as many arguments takes as long as a few operations."""

    @functools.wraps(function)
    def attribute(*inputs: Any, **options: Any) -> Any:
        if len(inputs) == 2 and (not options or options.keys() <= _USUAL) and not tracing():
            made = _at_once()(*inputs, options.get("baseline"), options.get("output"))
            if made is not None:
                return made
        return function(*inputs, **options)

    return cast(_F, attribute)


@ends
@_at_once_first
def attribute(
    f: Callable[..., Any],
    *inputs: Any,
    baseline: Any = None,
    baselines: Any = None,
    output: Any = None,
    argnums: int | Sequence[int] | None = None,
    method: str | None = None,
    mode: str | None = None,
    order: int = 1,
    axis: int | tuple[int, ...] | None = None,
    groups: Any = None,
    labels: Sequence[Hashable] | None = None,
    steps: int | None = None,
    rtol: float | None = None,
    samples: int | str | None = None,
    seed: int | None = None,
    batched: bool | str = False,
    chunk_size: int | None = None,
    max_memory: int | None = None,
    progress: Show = None,
    create_graph: bool = False,
    at: Any = None,
    paths: bool = False,
    hierarchy: Any = None,
    absent: Callable[..., Any] | None = None,
    mesh: Any = None,
) -> Attribution[Any]:
    """How much each part of the inputs contributes to the change of a function, f(x) − f(baseline).

    `f` takes the inputs: arrays (torch tensors where tensors are given), or dicts, tuples and lists of them, floating
    or complex; it returns a scalar, or anything of which `output` chooses. `argnums`: which inputs to attribute to, an
    int or several; all by default. `baseline`: a number or array that broadcasts to them, or a structure like theirs
    (for several inputs a tuple); 0 by default. `baselines`: a sample of baselines instead, each array with one more
    leading axis; the results are averaged (so do DeepSHAP, Lundberg and Lee, NIPS 2017, and expected gradients, Erion
    et al., Nature Machine Intelligence 2021).
    `output`: an index (an int or tuple) for one element; before it the keys that lead to an array in a dict, tuple or
    list, as `("logits", 0, 3)`; a function of the result; or a list of these, for several.

    Returns an `Attribution`, which unpacks into `value, residual, attribution`. The attribution has the structure and
    shapes of the inputs, with a leading axis for a list of outputs. `axis`, `groups` and `labels` are those of
    `np.decompose` (a tuple of groups for several inputs): the attribution is then one array (C,), for the components,
    which `.labels` names. `.error` is what completeness misses: value − residual − attribution.sum().

    `method`, where c = x − r is the change of the inputs:

    "local" (default): the law, operation by operation. With `mode="reverse"` (default) `f` runs once, at a cost that
    does not grow with the number of components. `mode="forward"` propagates the components, `chunk_size` (64) at a
    time, or as many as fit in `max_memory` bytes of tensors; `output` may then choose arrays of any shape O, and is the
    whole result by default; the attribution has shape (*O, *S), or (*O, C). With `order=2` it has shape (*O, C, C), for
    pairs: Taylor's formula below, of each operation by itself, whose linear part is that at the baseline and whose
    remainder pairs the components that meet there. A row sums to the law's first order. (C² numbers go along with each
    array; operations that are met as one although they are several are refused.)
    "path": integrated gradients, c_i · ∫ ∂_i f(r + t c) dt (Sundararajan, Taly and Yan, ICML 2017), by `steps`
    Gauss–Legendre nodes, or by as many as completeness to `rtol` asks for (of the largest magnitude: 4e-11 in double
    precision, 2e-5 in single; a DecompositionWarning where it is not reached). `order=2` gives pairs, a symmetric
    matrix (n, n) of all elements or components: c_i c_j ∫ (1 − t) ∂_ij f(r + t c) dt, and c_i ∂_i f(r) on the diagonal,
    which is Taylor's formula; a row sums to the integrated gradient, and the product x · y from 0 is all the pair's.
    (The Integrated Hessians of Janizek, Sturmfels and Lee, JMLR 2021, weigh ∂_ij by −t ln t, and so leave half of a
    product on the diagonal.) It is the default where order is 2.
    "gradient": ∂_i f(x), without a baseline. "input_x_gradient": c_i · ∂_i f(x).
    "shapley": Shapley values of the components, absent ones at the baseline: exact for up to 12 (16 if batched) or with
    `samples="all"`; else the mean of `samples` (25) random orders drawn with `seed` (0), each also gone through
    backwards (Mitchell et al., JMLR 2022), with `.standard_error`.
    With a sample of `baselines` these are interventional Shapley values. `hierarchy`: which components belong together,
    lists or tuples of their labels or numbers, of any depth, or a linkage matrix of SciPy; in an order the members of a
    group follow each other: Owen values (G. Owen, "Values of games with a priori unions", 1977) for groups, and for
    groups of groups those of E. Winter (1989). They are exact where up to 2**12 (2**16 batched) coalitions remain.
    Of a method of a fitted ensemble of trees (`forest.predict`, with `batched=True`) they come from the trees, by
    SHAP's TreeExplainer in single precision, where `shap` is installed; `samples="all"` asks for the coalitions.
    "occlusion": f(x) less f with the component at its baseline.
    `absent` (for these two): what absence means instead, a function of an input and of booleans that say what of it is
    present, which returns the input to be used: `np.attribution.dropped(axis)` cuts the others out.

    `at`: attribute to a layer of the network f, not to its inputs: the name of a module, the module, or a
    `np.attribution.Layer`, which divides it into units. The attribution has the shape of what the module returns (a
    tuple where that is several arrays), or (*O, K) for units. "local" gives what flows through the layer, in the same
    run: with what goes around it (`.around`) it is complete at every layer; a list of layers gives a tuple.
    `paths=True` follows the contributions through all the layers of a list, in the order of the computation: the
    attribution has an axis for the units of each, then one for the components of the inputs (or those of the arrays
    where none are asked for), at the cost of a way back for each combination of units.
    "conductance": ∫ ∂f/∂h · dh/dt dt for the elements h of the layer along the straight path of the inputs (Dhamdhere,
    Sundararajan and Yan, ICLR 2019), complete likewise. The other methods attribute the rest of the network to what the
    layer computes, which they put in its place, from what it computes at the baseline on: "path" is then layer
    integrated gradients, and the residual f with the layer at its baseline. So inputs may be integers, as tokens are.

    `batched=True`: f takes many inputs at once, all with one more leading axis, and returns as many outputs (for
    "path", "shapley" and "occlusion"; `chunk_size` bounds how many); "vmap": f is made so by torch.vmap. `progress`:
    True for a bar, a function `(done, total)`, or None: a bar on a terminal where the work is long.

    `mesh`: a `torch.distributed` DeviceMesh of one dimension, whose ranks all make this call with the same arguments
    and weights, and share the work: the chunks of components (by the law, with `mode="forward"`), the coalitions or
    orders ("shapley", "occlusion"), or by any method the `baselines`. Every rank is given the whole result, bit for bit
    that of one process: a rank computes every n-th of the pieces that one process would, which `chunk_size` makes
    smaller. Raises RuntimeError on every rank where one fails or is lost, ValueError where ranks were given different
    things, or where f draws random numbers (by the law it may: all draw those of rank 0).

    `create_graph=True`: value, residual and attribution carry autograd's graph, to what f computes with (the weights of
    a network) and to the inputs that have one, so that a function Ω of the attribution φ can be part of a loss:
    L(θ, x) + λ Ω(φ(θ, x)), an attribution prior (Erion et al., Nature Machine Intelligence 2021). By the law the
    gradient is that of its multipliers: ∂φ_i/∂θ = c_i ∂M_i(θ)/∂θ for φ_i = c_i M_i(θ), at the cost of keeping the
    graph.
    By every method, with order=1 and, for "local", in reverse mode; TypeError otherwise.

    Raises ValueError for what does not fit together (an output of several elements of which none is chosen), TypeError
    for an option that the method does not take and for results that are no arrays, MemoryError if a pass does not fit,
    and NotImplementedError under a rule that is not linear in the components (abs_affine, hybrid_affine).

    >>> np.attribute(lambda x: x[0] * x[1], np.array([3.0, 4.0]))
    Attribution(value=np.float64(12.0), residual=np.float64(0.0), attribution=array([6., 6.]))
    >>> np.attribute(lambda x: x[0] * x[1] + x[0], np.array([3.0, 4.0]), order=2).attribution
    array([[3., 6.],
           [6., 0.]])
    >>> found = np.attribute(lambda u, v: (u * v).sum(), np.ones(2), np.array([1.0, 3.0]), baseline=(0.5, 0.0))
    >>> found.attribution
    (array([0.25, 0.75]), array([0.75, 2.25]))
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> found = np.attribute(lambda x: (w * x).prod(), torch.tensor([3.0, 4.0]), create_graph=True)
    >>> found.attribution[1].backward()  # w₀ w₁ x₀ x₁ / 2
    >>> w.grad
    tensor([12.,  6.])
    """
    refuse_trace("np.attribute", "compile the function that it attributes, np.attribute(torch.compile(f), x)")
    method = ("path" if order == 2 else "local") if method is None else method
    _options.check(method, mode, order, locals())
    from npdec._law.create_graph import graph_wanted
    from npdec.attribution._problem import Problem, baseline_rows, split_input

    located: Any = None
    if at is not None:
        from npdec.attribution import _layers, _taps

        located = _taps.located(f, at)

    def run(problem: Problem, progress: Show) -> Found:
        def plainly(problem: Problem) -> Found:
            return _run(problem, method, mode, order, steps, rtol, samples, seed or 0, hierarchy, max_memory, progress)

        if located is None:
            return plainly(problem)
        if method == "local":
            return _layers.flow(problem, located, paths, progress)
        if method == "conductance":
            return _layers.conductance(problem, located, steps, rtol, progress)
        return _layers.rooted(problem, located, plainly, start=method != "gradient")

    def attributed() -> tuple[Problem, Found]:
        start = 0.0 if baseline is None else baseline
        read = split_input if located is None else _layers.split
        with torch.inference_mode(False), torch.enable_grad():  # what the caller disables is about its own gradients
            problem = Problem.make(f, inputs, argnums, start, axis, groups, labels, output, create_graph, read)
            problem.batched, problem.chunk_size, problem.absent = batched, chunk_size, absent
            if mesh is not None:
                from npdec.attribution._ranks import Ranks

                problem.ranks = Ranks("attribute", mesh, problem.device)
                arrays = [*problem.values, *problem.residuals, *(problem.member or ())]
                for leaves in [] if baselines is None else baseline_rows(problem, baselines):
                    arrays += leaves
                said = method, mode, order, steps, rtol, samples, seed, batched, chunk_size
                problem.ranks.agree("the arguments", *arrays, said)
            problem.evaluated = method in ("shapley", "occlusion") and not create_graph
            tokens: list[Any] = []
            try:
                tokens.extend(map(graph_wanted.set, (create_graph,)))  # in one: an interrupt would lose the token
                if method == "shapley" and batched is True and samples is hierarchy is absent is located is None:
                    from npdec.attribution import _ensembles

                    rows = [problem.residuals] if baselines is None else list(baseline_rows(problem, baselines))
                    found = _ensembles.shapley(problem, [leaves[0] for leaves in rows])
                    if found is not None:
                        if mesh is not None:
                            raise TypeError("attribute: an ensemble is asked of its trees, in one piece: leave mesh=")
                        return problem, found
                return problem, run(problem, progress) if baselines is None else _averaged(
                    problem, baselines, run, progress
                )
            finally:
                for token in tokens:
                    graph_wanted.reset(token)

    problem, found = undisturbed(attributed)
    if located is not None:
        return _layers.result(problem, located, paths, found)
    pairs = order == 2
    error = None
    if found.residual is not None:
        axes = tuple(range(found.value.ndim, found.shares.ndim))
        value, residual = (x if carries(x.dtype) else x.to(found.shares.dtype) for x in (found.value, found.residual))
        error = value - residual - found.shares.sum(axes)
    return Attribution(
        problem.number(found.value),
        problem.number(found.residual),
        problem.shaped(found.shares, pairs),
        problem.number(error),
        problem.shaped(found.standard_error, pairs),
        problem.labels,
    )


@functools.cache
def _at_once() -> Callable[..., Attribution[Any] | None]:
    """What is imported with the first attribution, and not asked for again: that takes as long as a small operation."""
    from npdec.attribution._at_once import attributed

    return attributed


def _run(
    problem: Problem,
    method: str,
    mode: str | None,
    order: int,
    steps: int | None,
    rtol: float | None,
    samples: int | str | None,
    seed: int,
    hierarchy: Any,
    max_memory: int | None,
    progress: Show,
) -> Found:
    if method == "local":
        from npdec.attribution import _local, _second

        if order == 2:
            return _second.pairs(problem, progress)
        if mode == "forward":
            return _local.forward(problem, max_memory, progress)
        return _local.reverse(problem, progress)
    if method in ("shapley", "occlusion"):
        from npdec.attribution import _games

        if method == "shapley":
            return _games.shapley(problem, samples, seed, hierarchy, progress)
        return _games.occlusion(problem, progress)
    from npdec.attribution import _path

    if method == "path":
        return (_path.pairs if order == 2 else _path.path)(problem, steps, rtol, progress)
    return _path.gradient(problem) if method == "gradient" else _path.input_x_gradient(problem)


def _averaged(problem: Problem, baselines: Any, run: Callable[[Problem, Show], Found], progress: Show) -> Found:
    """The mean over a sample of baselines, and its standard error."""
    from npdec._core.progress import Progress
    from npdec.attribution._problem import Found, baseline_rows
    from npdec.attribution._ranks import shared

    rows = baseline_rows(problem, baselines)
    alone = dataclasses.replace(problem, ranks=None)  # the baselines are shared, and nothing within one

    def one(leaves: list[Any]) -> tuple[Any, ...]:
        made = run(alone.with_baseline(leaves), False)
        units[:], own[:] = made.units, [made.value]
        return made.value, made.residual, made.shares, None, made.around

    units: list[Problem] = []
    own: list[torch.Tensor] = []
    found: list[Found] = []
    with Progress("attribute", len(rows), progress) as bar:
        for parts in shared(problem.ranks, rows, one):
            found.append(Found(*parts))
            bar.advance()
    if problem.ranks is not None:
        problem.ranks.agree("the outputs", *own)
    shares = torch.stack([one.shares for one in found])
    residuals = [one.residual for one in found if one.residual is not None]
    error = shares.std(0) / math.sqrt(len(found)) if len(found) > 1 else None
    arounds = [one.around for one in found if one.around is not None]
    around = torch.stack(arounds).mean(0) if arounds else None
    residual = torch.stack(residuals).mean(0)
    mean = Found(found[0].value, residual, shares.mean(0), error, around)
    mean.units = units
    return mean
