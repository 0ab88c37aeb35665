"""`np.overrides.coverage`: which functions a model uses, and the rule that each one has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree

from npdec._core.base import ArrayBase
from npdec._core.tracebacks import ends
from npdec._decomposed.pytree import is_decomposed
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._law import law
from npdec.overrides._registry import Registered
from npdec.overrides._signatures import title
from npdec.overrides._watchers import Recorder, prepared

__all__ = ["Coverage", "Used", "coverage"]


class Used(NamedTuple):
    """A function, method or module class that a model uses: its full name, the rule, how many calls, in which modules;
    `quadrature` and `missing` say that some call went by quadrature, and that no rule of its own provides for it."""

    function: Any
    name: str
    rule: str
    calls: int
    modules: tuple[str, ...]
    quadrature: bool
    missing: bool


class Coverage(NamedTuple):
    """What a model uses, in order of first use. As text, a table."""

    used: tuple[Used, ...]

    @property
    def functions(self) -> tuple[Any, ...]:
        """All functions, methods and module classes that met a decomposed tensor."""
        return tuple(row.function for row in self.used)

    @property
    def quadrature(self) -> tuple[Any, ...]:
        """Those of which some call goes by quadrature."""
        return tuple(row.function for row in self.used if row.quadrature)

    @property
    def missing(self) -> tuple[Any, ...]:
        """Those that np.overrides.strict() refuses: they go by quadrature, and no registered rule says so."""
        return tuple(row.function for row in self.used if row.missing)

    def __str__(self) -> str:
        rows = [("calls", "function", "rule", "in")]
        for row in self.used:
            rule = row.rule + (" (missing)" if row.missing else "")
            places = ", ".join(row.modules[:3]) + (", …" if len(row.modules) > 3 else "")
            rows.append((str(row.calls), row.name, rule, places))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = [
            f"{calls:>{widths[0]}}  {name:<{widths[1]}}  {rule:<{widths[2]}}  {places}".rstrip()
            for calls, name, rule, places in rows
        ]
        own = len(self.used) - len(self.missing)
        lines.append(f"{len(self.used)} functions: {own} with a rule, {len(self.missing)} without")
        return "\n".join(lines)


@ends
def coverage(model: Callable[..., Any], *inputs: Any, **options: Any) -> Coverage:
    """Which functions, methods and modules `model(*inputs, **options)` uses on decomposed tensors, and by which rules.

    `model` is a module or any callable; of the inputs those that are decomposed count, or if none is, all of floating
    dtype. A copy of the module runs, so that its buffers and random numbers stay as they are; contributions are not
    computed. Raises TypeError if there is nothing to decompose, and what the model itself raises.

    >>> print(np.overrides.coverage(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()), torch.ones(2)))
    calls  function                    rule                                                   in
        1  torch.nn.functional.linear  input: Multilinear, weight: Multilinear, bias: Linear  0 (Linear)
        1  torch.tanh                  input: Pointwise                                       1 (Tanh)
    2 functions: 2 with a rule, 0 without
    """
    recorder = Recorder()
    prepared(recorder, model, inputs, options, decompose=_nothing_decomposed(inputs, options))()
    return report(recorder)


def _nothing_decomposed(inputs: Any, options: Any) -> bool:
    leaves = _pytree.tree_leaves((inputs, options), is_leaf=is_decomposed)
    tensors = [leaf._t if isinstance(leaf, ArrayBase) else leaf for leaf in leaves]
    if any(type(t) is DecomposedTensor for t in tensors):
        return False
    if not any(isinstance(t, torch.Tensor) and carries(t.dtype) for t in tensors):
        raise TypeError("coverage: none of the inputs has a floating dtype, so nothing can be decomposed")
    return True


def report(recorder: Recorder) -> Coverage:
    used = []
    for target, (rule, places) in recorder.rows.items():
        used.append(
            Used(
                target,
                title(target),
                _described(rule, target in recorder.quadrature_of),
                len(places),
                tuple(dict.fromkeys(place for place in places if place)),
                target in recorder.quadrature_of,
                target in recorder.missing,
            )
        )
    return Coverage(tuple(used))


def _described(rule: Any, quadrature: bool) -> str:
    if isinstance(rule, Registered):
        return f"registered: {rule.description}"
    if quadrature:
        return "quadrature"
    rule = law.innermost(rule)
    if isinstance(rule, law.TaggedRule):
        return ", ".join(f"{key}: {tag}" for key, tag in rule.tags.items() if isinstance(key, str))
    return "value only" if rule.opaque else "closed form"
