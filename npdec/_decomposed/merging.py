"""What can be done with the components of one decomposed tensor: merge them, keep the largest, hand them to others.

They are methods of `DecomposedTensor`, and of arrays and scalars. Completeness holds for whatever they give.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar, cast

import torch

from npdec._core.tracebacks import ends
from npdec._decomposed.components import Use
from npdec._decomposed.kept_components import sizes, stand_in
from npdec._decomposed.parts import Decomposed, Labels
from npdec._torch.tracing import refuse_trace

__all__ = ["NewLabels", "groupby", "to_dataframe", "to_xarray", "top"]

# Old labels to new ones: a mapping, a function, or a new label for each component.
T = TypeVar("T", bound=Decomposed)
NewLabels = Mapping[Any, Hashable] | Callable[[Any], Hashable] | Sequence[Hashable]


@ends
def groupby(self: T, labels: NewLabels) -> T:
    """The same with components merged, those that get the same label: their sums, in order of first appearance.

    `labels`: a mapping from old labels to new ones (what it does not name keeps its label), a function of the old
    label, or a sequence with a new label for each component. Labels that were not given at `np.decompose` have
    `.index`, a tuple. Raises KeyError if the mapping names a label that there is not, ValueError for a sequence of
    another length.

    >>> t = np.decompose(torch.tensor([1.0, 2.0, 4.0]), labels=["oil", "gas", "tax"])
    >>> merged = t.sum().groupby({"oil": "energy", "gas": "energy"})
    >>> merged.labels, merged.components
    (('energy', 'tax'), tensor([3., 4.]))
    """
    new = renamed(self.labels, labels)
    names = tuple(dict.fromkeys(new))
    place = {name: i for i, name in enumerate(names)}
    return _merged(self, [place[name] for name in new], names)


@ends
def top(self: T, k: int = 5, other: Hashable = "other") -> T:
    """The same with the k largest components, in falling order, and all others merged into one named `other`.

    The size of a component is the sum of the magnitudes of its elements. Index the tensor first to see the largest
    of one element. Without others there is no such component. Raises ValueError if k is negative, or if one of the
    largest is named `other`.

    >>> t = np.decompose(torch.tensor([1.0, -5.0, 2.0, 0.5]), labels=["a", "b", "c", "d"])
    >>> t.sum().top(2).labels, t.sum().top(2).components
    (('b', 'c', 'other'), tensor([-5.0000,  2.0000,  1.5000]))
    """
    if k < 0:
        raise ValueError(f"top: a number of components, not {k}")
    refuse_trace("top", "which components are the largest depends on numbers. Call it on what the function returns")
    largest = torch.nan_to_num(sizes(self).detach(), nan=torch.inf)
    order = torch.argsort(largest, descending=True, stable=True).tolist()
    names = tuple([self.labels[i] for i in order[:k]])
    if len(order) > k:
        if other in names:
            raise ValueError(f"top: one of the largest is named {other!r}: choose another name for the others")
        names = (*names, other)
    place = {i: min(rank, k) for rank, i in enumerate(order)}
    return _merged(self, [place[i] for i in range(len(order))], names)


def _merged(self: T, index: Sequence[int], labels: Labels) -> T:
    """The same with components merged: component i becomes, or is a part of, that of number index[i]."""
    found, cls = stand_in(self, Use.SUMS), cast(Any, type(self))
    if found is not None:
        return cls(self.value, self.residual, found.merged(index, len(labels)), labels, self.reverse)
    components: torch.Tensor = self.components
    made = components.new_zeros((len(labels), *components.shape[1:]))
    made = made.index_add(0, torch.tensor(index, dtype=torch.int64, device=made.device), components)
    return cls(self.value, self.residual, made, labels, self.reverse)


@ends
def to_dataframe(self: Decomposed) -> Any:
    """A pandas DataFrame: a row for each element, with its index, and the columns value, residual and the labels.

    Raises ImportError where pandas is not installed, and ValueError if a label is "value" or "residual".

    >>> t = np.decompose(torch.tensor([1.0, 2.0]), labels=["a", "b"])
    >>> print((t * 10).to_dataframe())
       value  residual     a     b
    0   10.0       0.0  10.0   0.0
    1   20.0       0.0   0.0  20.0
    """
    try:
        import pandas
    except ImportError:
        raise ImportError("to_dataframe: pandas is not installed: pip install pandas") from None
    taken = {"value", "residual"} & set(self.labels)
    if taken:
        raise ValueError(f"to_dataframe: {sorted(taken)} name columns of their own: rename the labels with groupby")
    rows: Any = None
    if self.value.dim() > 1:
        ranges = [range(n) for n in self.value.shape]
        rows = pandas.MultiIndex.from_product(ranges, names=[f"axis_{i}" for i in range(len(ranges))])
    columns = [
        self.value.reshape(-1),
        self.residual.reshape(-1),
        *self.components.reshape(len(self.labels), self.value.numel()),
    ]
    frame = pandas.DataFrame(dict(enumerate(map(_host, columns))), index=rows)
    names = ["value", "residual", *self.labels]
    frame.columns = pandas.Index(names if _plain(self.labels) else _objects(names), tupleize_cols=False)
    return frame


@ends
def to_xarray(self: Decomposed, dims: Sequence[Hashable] | None = None) -> Any:
    """An xarray Dataset: value and residual over `dims` (axis_0, ... by default), and components over a dimension
    "component", which the labels are the coordinate of, and them.

    Raises ImportError where xarray is not installed, and ValueError for another number of dims than axes.

    >>> t = np.decompose(torch.tensor([1.0, 2.0]), labels=["a", "b"])
    >>> (t * 10).to_xarray(["x"]).components.sel(component="b").values
    array([ 0., 20.], dtype=float32)
    """
    try:
        import xarray
    except ImportError:
        raise ImportError("to_xarray: xarray is not installed: pip install xarray") from None
    names = [f"axis_{i}" for i in range(self.value.dim())] if dims is None else list(dims)
    if len(names) != self.value.dim():
        raise ValueError(f"to_xarray: {len(names)} dims for {self.value.dim()} axes")
    labels: Any = list(self.labels) if _plain(self.labels) else _objects(self.labels)
    return xarray.Dataset(
        {
            "value": (names, _host(self.value)),
            "residual": (names, _host(self.residual)),
            "components": (["component", *names], _host(self.components)),
        },
        coords={"component": ("component", labels)},
    )


def renamed(old: Labels, labels: NewLabels) -> list[Hashable]:
    """The new label of each component."""
    if isinstance(labels, Mapping):
        unknown = [label for label in labels if label not in old]
        if unknown:
            raise KeyError(f"groupby: no component is labelled {unknown[0]!r}; there are {_some(old)}")
        return [labels.get(label, label) for label in old]
    if callable(labels):
        return [labels(label) for label in old]
    new = list(labels)
    if len(new) != len(old):
        raise ValueError(f"groupby: {len(old)} components need as many labels, not {len(new)}")
    return new


def _some(labels: Labels) -> str:
    return ", ".join(map(repr, labels[:10])) + (", ..." if len(labels) > 10 else "")


def _plain(labels: Labels) -> bool:
    """Whether the labels are all text or all numbers, which other packages have dtypes for."""
    return all(isinstance(label, str) for label in labels) or all(type(label) is int for label in labels)


def _objects(items: Sequence[Any]) -> Any:
    """A NumPy array of the items as they are, tuples too."""
    import numpy

    made = numpy.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        made[i] = item
    return made


def _host(tensor: torch.Tensor) -> Any:
    """The elements as a NumPy array of their own; bfloat16, which NumPy lacks, as float32."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy().copy()
