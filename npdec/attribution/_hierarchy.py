"""Components in a hierarchy: which of them come together, what that leaves of the coalitions, and where it is found."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._core.tracebacks import ends
from npdec._decomposed.tensor import Labels

__all__ = ["contexts", "correlated", "number_of_coalitions", "orders", "parsed"]

_LINKAGES = "single", "complete", "average", "weighted", "centroid", "median", "ward"  # SciPy's

Tree = int | list[Any]  # a component, or a list of trees


def parsed(hierarchy: Any, count: int, labels: Labels | None) -> Tree:
    """The tree of the components' numbers: of lists and tuples of labels or numbers, or of SciPy's linkage matrix.
    Components that are named alone stand by themselves at the top; all that are not named too."""
    if not isinstance(hierarchy, (list, tuple)) and not hasattr(hierarchy, "shape"):
        raise ValueError(
            f"attribute: hierarchy is lists or tuples of labels or numbers, or a linkage matrix, not {hierarchy!r}"
        )
    if hasattr(hierarchy, "shape"):
        tree = _of_linkage(as_tensor(hierarchy), count)
    else:
        place = {} if labels is None else {label: i for i, label in enumerate(labels)}
        tree = _numbered(hierarchy, place)
    leaves = list(_leaves(tree))
    wrong = [leaf for leaf in leaves if not 0 <= leaf < count]
    if wrong or len(set(leaves)) < len(leaves):
        said = f"there is no component {wrong[0]}" if wrong else "a component is named twice"
        raise ValueError(f"attribute: hierarchy of {count} components: {said}")
    missing = sorted(set(range(count)) - set(leaves))
    return [*(tree if isinstance(tree, list) else [tree]), *missing] if missing else tree


def _numbered(item: Any, place: dict[Any, int]) -> Tree:
    if isinstance(item, (list, tuple)):
        if not item:
            raise ValueError("attribute: hierarchy holds an empty group")
        return [_numbered(inner, place) for inner in item]
    if isinstance(item, Hashable) and item in place:
        return place[item]
    number = None
    with contextlib.suppress(TypeError):
        number = operator.index(item)
    if number is None or isinstance(item, bool):
        raise ValueError(f"attribute: hierarchy names {item!r}, which is neither a label nor a number of a component")
    return number


def _of_linkage(matrix: torch.Tensor, count: int) -> Tree:
    if tuple(matrix.shape) != (count - 1, 4):
        raise ValueError(
            f"attribute: the linkage matrix of {count} components has shape ({count - 1}, 4), not {tuple(matrix.shape)}"
        )
    trees: list[Tree] = list(range(count))
    for a, b in matrix[:, :2].to(torch.int64).tolist():
        if not (0 <= a < len(trees) and 0 <= b < len(trees)):
            raise ValueError("attribute: the linkage matrix joins clusters before they are there")
        trees.append([trees[a], trees[b]])
    return trees[-1]


def _leaves(tree: Tree) -> Iterator[int]:
    if isinstance(tree, int):
        yield tree
    else:
        for child in tree:
            yield from _leaves(child)


def number_of_coalitions(tree: Tree, above: int = 1) -> int:
    """At most how many coalitions are asked about."""
    if isinstance(tree, int):
        return 2 * above
    return sum(number_of_coalitions(child, above * 2 ** (len(tree) - 1)) for child in tree)


def contexts(tree: Tree) -> dict[int, dict[int, float]]:
    """For each component the coalitions without it that it is added to, as bits, and their weights: at each group that
    it is in, some of the other members are there as a whole, and are so with the weights of Shapley values."""
    found: dict[int, dict[int, float]] = {}

    def walk(tree: Tree, outside: dict[int, float]) -> None:
        if isinstance(tree, int):
            found[tree] = outside
            return
        members = [sum(1 << leaf for leaf in _leaves(child)) for child in tree]
        k = len(tree)
        for j, child in enumerate(tree):
            others = members[:j] + members[j + 1 :]
            inside: dict[int, float] = {}
            for subset in range(2 ** (k - 1)):
                here = sum(others[i] for i in range(k - 1) if subset >> i & 1)
                weight = 1 / (k * math.comb(k - 1, subset.bit_count()))
                for coalition, share in outside.items():
                    inside[coalition | here] = inside.get(coalition | here, 0.0) + weight * share
            walk(child, inside)

    walk(tree, {0: 1.0})
    return found


def orders(tree: Tree, samples: int, source: torch.Generator) -> torch.Tensor:
    """Random orders (samples, n) of the components, in which the members of each group follow each other."""

    def drawn(tree: Tree) -> list[int]:
        if isinstance(tree, int):
            return [tree]
        return [leaf for i in torch.randperm(len(tree), generator=source).tolist() for leaf in drawn(tree[i])]

    return torch.tensor([drawn(tree) for _ in range(samples)])


@ends
def correlated(rows: Any, *, linkage: str = "average", labels: Sequence[Any] | None = None) -> Any:
    """A hierarchy of the columns of a table by how they are correlated, for `np.attribute(..., hierarchy=...)`.

    `rows`: shape (m, n), real numbers. Columns are joined by SciPy, from the distance 1 − |correlation|; a constant
    column is correlated with no other. `linkage`: how clusters are joined, SciPy's `method`. Returns pairs of pairs of
    column numbers, or of `labels`, as nested tuples.

    Raises ValueError for an array that is no table or not finite, and ImportError where SciPy is not installed.

    >>> rows = np.array([[0.0, 1.0, 0.1], [1.0, 0.0, 1.0], [2.0, 1.0, 2.1], [3.0, 0.0, 2.9]])
    >>> np.attribution.correlated(rows, labels=["a", "b", "c"])
    ('b', ('a', 'c'))
    """
    try:
        from scipy.cluster.hierarchy import linkage as joined
    except ImportError:
        raise ImportError("correlated needs SciPy, which joins clusters: pip install scipy") from None
    table = as_tensor(rows).detach().cpu()
    if table.ndim != 2 or table.shape[0] < 2 or not table.shape[1] or table.is_complex():
        raise ValueError(f"correlated: rows is a table (m, n) of two rows or more, not of shape {tuple(table.shape)}")
    n = table.shape[1]
    if linkage not in _LINKAGES:
        raise ValueError(f"correlated: linkage is one of {', '.join(_LINKAGES)}, not {linkage!r}")
    gone = (~table.isfinite()).any(0).nonzero()[:, 0].tolist()
    if gone:
        raise ValueError(f"correlated: column {gone[0]} holds what is not finite: leave those rows out, or fill them")
    if labels is not None and len(labels) != n:
        raise ValueError(f"correlated: {n} columns need as many labels, not {len(labels)}")
    if n == 1:
        return (0 if labels is None else labels[0],)
    centred = table.to(torch.float64) - table.to(torch.float64).mean(0)
    size = centred.norm(dim=0)
    alike = (centred.T @ centred) / (size[:, None] * size)
    alike = torch.where((size[:, None] > 0) & (size > 0), alike, 0.0)
    distance = (1 - alike.abs()).clamp(min=0)[tuple(torch.triu_indices(n, n, 1))]
    tree = _of_linkage(torch.as_tensor(joined(wrap.wrap_array(distance), method=linkage)), n)

    def named(tree: Tree) -> Any:
        if isinstance(tree, int):
            return tree if labels is None else labels[tree]
        return tuple(named(child) for child in tree)

    return named(tree)
