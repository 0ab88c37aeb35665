"""Coefficients of correlation: inner products of unit vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.kept_components import handed_on
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.size_warnings import warn_of_size
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import reduction_impl, statistics_impl
from npdec._rules.by_formula import own_numbers
from npdec._rules.rule import rule

Function = Callable[..., Any]


@rule(statistics_impl.correlations)
def _correlations(func: Function, m: Any, y: Any, rowvar: Any, dtype: Any) -> Any:
    """The inner products of the variables' deviations from their means, as unit vectors."""
    parts: list[Any] = list(statistics_impl.variables(m, y, rowvar, dtype))
    given = [handed_on(part) for part in parts if isinstance(part, DecomposedTensor)]
    parts = list(map(_units, parts))  # those of y apart, which may have no contributions
    blocks = list(map(statistics_impl.gram, parts))
    if len(parts) > 1:
        blocks.insert(1, torch.matmul(parts[0], parts[1].mT.conj()))
    parts.clear()  # of many components all that is kept is large
    if len(blocks) > 1:
        first, both, second = blocks
        blocks = [torch.cat([torch.cat([first, both], 1), torch.cat([both.mT.conj(), second], 1)])]
        del first, both, second
    product = blocks.pop().squeeze()
    made = own_numbers(func, (m, y, rowvar, dtype), {}, product if product.ndim else product / product)
    warn_of_size("corrcoef", [handed_on(made)], given, [made.value], [made.residual], made.reverse)
    return made


def _units(rows: Any) -> Any:
    """Deviations from the means of rows, as unit vectors."""
    deviations = rows - reduction_impl.mean(rows, (1,)).unsqueeze(1)
    return deviations / torch.linalg.vector_norm(deviations, dim=1, keepdim=True)


@rule(statistics_impl.gram)
def _gram(func: Function, x: Any) -> Any:
    """A product of a matrix with itself: in reverse mode what the one factor contributes, and its transpose, of which
    the graph keeps no more than one midpoint."""
    if not x.reverse:
        return torch.matmul(x, x.mT.conj())
    with no_graph(x.reverse):
        value, residual = func(x.value), func(x.residual)
        middle = torch.add(x.value / 2, x.residual, alpha=0.5).mT.conj()
    made: Any = torch.matmul(x, middle)
    return DecomposedTensor(value, residual, made.components + made.components.mT.conj(), x.labels, x.reverse)
