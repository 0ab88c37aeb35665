"""`np.attribute`: what it takes, which method it runs, and what it gives back."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from npdec._core.tracebacks import ends
from npdec._decomposed.tensor import carries
from npdec._torch.interrupts import undisturbed
from npdec._torch.tracing import refuse_trace
from npdec.attribution._result import Attribution

if TYPE_CHECKING:  # what is needed to attribute is imported with the first attribution
    from npdec._core.progress import Show
    from npdec.attribution._problem import Found, Problem

__all__ = ["attribute"]

# The options that a method takes beside those that all take (f, inputs, output, argnums, progress).
_COMMON = frozenset({"baseline", "baselines", "axis", "groups", "labels", "at"})
_OPTIONS = {
    "local": _COMMON | {"mode", "order", "create_graph", "paths"},
    "path": _COMMON | {"steps", "rtol", "order", "batched", "chunk_size", "create_graph"},
    "conductance": frozenset({"baseline", "baselines", "steps", "rtol", "at"}),
    "gradient": frozenset({"create_graph", "at"}),
    "input_x_gradient": _COMMON | {"create_graph"},
    "shapley": _COMMON | {"samples", "seed", "batched", "chunk_size", "create_graph", "hierarchy", "absent"},
    "occlusion": _COMMON | {"batched", "chunk_size", "create_graph", "absent"},
}
_FORWARD = (_OPTIONS["local"] - {"create_graph", "at", "paths"}) | {"chunk_size", "max_memory"}


@ends
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
) -> Attribution[Any]:
    """How much each part of the inputs contributes to the change of a function, f(x) − f(baseline).

    `f` takes the inputs: arrays (torch tensors where tensors are given), or dicts, tuples and lists of them, floating
    or complex; it returns a scalar, or anything of which `output` chooses. `argnums`: which inputs to attribute to, an
    int or several; all by default. `baseline`: a number or array that broadcasts to them, or a structure like theirs
    (for several inputs a tuple); 0 by default. `baselines`: a sample of baselines instead, each array with one more
    axis in front; the results are averaged (so do DeepSHAP, Lundberg and Lee, NIPS 2017, and expected gradients, Erion
    et al., Nature Machine Intelligence 2021).
    `output`: an index (an int or tuple) for one element; before it the keys that lead to an array in a dict, tuple or
    list, as `("logits", 0, 3)`; a function of the result; or a list of these, for several.

    Returns an `Attribution`, which unpacks into `value, residual, attribution`. The attribution has the structure and
    shapes of the inputs, with an axis in front for a list of outputs. `axis`, `groups` and `labels` are those of
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

    `batched=True`: f takes many inputs at once, all with one more axis in front, and returns as many outputs (for
    "path", "shapley" and "occlusion"; `chunk_size` bounds how many); "vmap": f is made so by torch.vmap. `progress`:
    True for a bar, a function `(done, total)`, or None: a bar on a terminal where the work is long.

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
    _check(
        method, mode, order,
        {name: given for name, given in locals().items() if name in _NAMES and not _is_default(name, given)},
    )  # fmt: skip
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
            problem.evaluated = method in ("shapley", "occlusion") and not create_graph
            tokens: list[Any] = []
            try:
                tokens.extend(map(graph_wanted.set, (create_graph,)))  # in one: an interrupt would lose the token
                if method == "shapley" and batched is True and samples is hierarchy is absent is located is None:
                    from npdec.attribution import _ensembles

                    rows = [problem.residuals] if baselines is None else list(baseline_rows(problem, baselines))
                    found = _ensembles.shapley(problem, [leaves[0] for leaves in rows])
                    if found is not None:
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


_NAMES = frozenset().union(_FORWARD, *_OPTIONS.values())
_DEFAULTS = {"order": 1, "batched": False, "create_graph": False, "paths": False}


def _is_default(name: str, given: Any) -> bool:
    default = _DEFAULTS.get(name)
    return given is default or (name == "order" and given == default)


def _check(method: str, mode: str | None, order: int, given: dict[str, Any]) -> None:
    if method not in _OPTIONS:
        raise ValueError(f"attribute: unknown method {method!r}: one of {', '.join(_OPTIONS)}")
    if mode not in (None, "reverse", "forward"):
        raise ValueError(f"attribute: mode is 'reverse' or 'forward', not {mode!r}")
    if order not in (1, 2):
        raise ValueError(f"attribute: order is 1 or 2, not {order!r}")
    if order == 2 and mode == "reverse":
        raise TypeError("attribute: order=2 with method='local' goes forward: leave mode='reverse'")
    if type(given.get("create_graph", False)) is not bool:
        raise TypeError(f"attribute: create_graph is True or False, not {given['create_graph']!r}")
    if "create_graph" in given and (order == 2 or mode == "forward"):
        said = "order=2" if order == 2 else "mode='forward'"
        raise TypeError(f"attribute: with {said} no graph is created: use mode='reverse' and order=1")
    forward = method == "local" and mode == "forward" and order == 1
    for name in given:
        if name not in (_FORWARD if forward else _OPTIONS[method]):
            mode_said = " with order=2" if order == 2 else "" if forward else " in reverse mode"
            said = f"method {method!r}" + (mode_said if method == "local" else "")
            raise TypeError(f"attribute: {said} takes no {name}=")
    _check_at(method, order, given)
    if "baseline" in given and "baselines" in given:
        raise TypeError("attribute: give one baseline, or a sample of baselines")
    for name in ("steps", "chunk_size", "max_memory", "samples"):
        number = given.get(name)
        if number is None or (name == "samples" and number == "all"):
            continue
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"attribute: {name} is an int, not {number!r}")
        if number < 1:
            raise ValueError(f"attribute: {name} is positive, not {number}")
    if given.get("batched", False) not in (True, "vmap", False):
        raise ValueError(f"attribute: batched is True, False or 'vmap', not {given['batched']!r}")
    if "absent" in given:
        for name in ("baseline", "baselines", "batched", "chunk_size", "at"):
            if name in given:
                raise TypeError(f"attribute: absent= says what absence means: leave {name}=")
        if not callable(given["absent"]):
            raise TypeError(f"attribute: absent is a function (x, present), not {given['absent']!r}")
    if "seed" in given and given.get("samples") == "all":
        raise TypeError("attribute: all coalitions need no seed")


def _check_at(method: str, order: int, given: dict[str, Any]) -> None:
    if type(given.get("paths", False)) is not bool:
        raise TypeError(f"attribute: paths is True or False, not {given['paths']!r}")
    if "at" not in given:
        if "paths" in given or method == "conductance":
            said = "paths=True" if "paths" in given else "method 'conductance'"
            raise TypeError(f"attribute: {said} is about the layers of a network: say which, with at=")
        return
    if order == 2:
        raise TypeError("attribute: at with order=2: pairs are those of the inputs")
    for name in ("axis", "groups", "labels"):
        if name in given and "paths" not in given:
            raise TypeError(
                f"attribute: {name}= is about the inputs: the units of a layer are those of np.attribution.Layer(..., "
                f"{name}=), and paths=True leads to it from the inputs"
            )


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

    rows = baseline_rows(problem, baselines)
    found = []
    with Progress("attribute", len(rows), progress) as bar:
        for leaves in rows:
            found.append(run(problem.with_baseline(leaves), False))
            bar.advance()
    shares = torch.stack([one.shares for one in found])
    residuals = [one.residual for one in found if one.residual is not None]
    error = shares.std(0) / math.sqrt(len(found)) if len(found) > 1 else None
    arounds = [one.around for one in found if one.around is not None]
    around = torch.stack(arounds).mean(0) if arounds else None
    residual = torch.stack(residuals).mean(0)
    mean = Found(found[0].value, residual, shares.mean(0), error, around)
    mean.units = found[0].units
    return mean
