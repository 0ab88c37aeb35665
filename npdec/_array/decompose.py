"""The public face of decomposition: `np.decompose`, and what a decomposed array can be asked."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import torch

from npdec._array import memory, wrap
from npdec._array.convert import as_tensor, dtype_name
from npdec._array.elements import close
from npdec._array.shapes import as_axis
from npdec._core.base import ArrayBase, NDArrayBase, SubclassBase, plain_of
from npdec._core.containers import refilled
from npdec._core.door import subclasses
from npdec._core.tracebacks import ended, ends
from npdec._decomposed import block_sparse
from npdec._decomposed.axes import narrowed
from npdec._decomposed.completeness import missing
from npdec._decomposed.described import has_table
from npdec._decomposed.input_labels import Index, Indices, input_labels
from npdec._decomposed.merging import NewLabels
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor, Labels, carries, copy_of, is_broadcast
from npdec._impl import _util
from npdec._impl._storage import has_overlap
from npdec._law.half_precision import warn_beyond_range
from npdec._show.accessor import Plots
from npdec._show.contributions import Contributions
from npdec._show.methods import of_html
from npdec._show.parts import of_tensor
from npdec._torch.tracing import refuse_trace

__all__ = ["DecompositionMixin", "completeness", "components_of", "decompose", "split_input"]


def _read_only(name: str, part: Any) -> Any:
    if type(part) is wrap.ARRAY:
        memory.freeze(part, f"it is the {name} of a decomposed array; take .copy() to have an array to write")
    return part


class DecompositionMixin(ArrayBase):
    """What an array or scalar knows of its contributions. A plain one has none: its residual is itself."""

    __slots__ = ()

    @property
    def is_decomposed(self) -> bool:
        """Whether the array carries contributions."""
        return type(self._t) is DecomposedTensor

    @property
    def value(self) -> Any:
        """The numbers without their contributions, as a plain array or scalar. Of a decomposed array it is a read-only
        view: to what was written there the contributions would no longer add up."""
        if type(self) is not wrap.ARRAY:
            return self._as(self._t.value if type(self._t) is DecomposedTensor else self._t)
        if type(self._t) is not DecomposedTensor:
            return memory.view(self, self._t)
        return _read_only("value", memory.view(self, self._t.value))

    @property
    def residual(self) -> Any:
        """The same quantity computed from the baseline inputs; the shape of the value. Read-only as that is."""
        if type(self._t) is not DecomposedTensor:
            return self.value
        residual = self._t.residual
        return _read_only("residual", self._as(residual.clone() if is_broadcast(residual) else residual))

    @property
    def components(self) -> NDArrayBase:
        """The contributions, shape `(C, *shape)`: one row per label. `value == residual + components.sum(0)`.

        Read-only as the value is.

        >>> (2 * np.decompose(np.array([1.0, 5.0]), baseline=1.0)).components
        array([[0., 0.],
               [0., 8.]])
        """
        tensor = self._t
        if type(tensor) is DecomposedTensor:
            components = tensor.components
            made = wrap.wrap_array(components.clone() if is_broadcast(components) else components)
            return _read_only("components", made)
        return wrap.wrap_array(tensor.new_zeros((0, *tensor.shape)))

    @property
    def labels(self) -> Labels:
        """The label of each component."""
        return self._t.labels if type(self._t) is DecomposedTensor else ()

    def c_sum(self) -> Any:
        """`residual + components.sum(0)`: equal to the value, to rounding."""
        return self._as(self._t.c_sum() if type(self._t) is DecomposedTensor else self._t.clone())

    @ends
    def contributions(self, k: int | None = None) -> Contributions:
        """The labels and what each contributes, for reading: printed, a line each. With `k`, the largest (see `top`).

        Iterating gives (label, amount); `.value`, `.residual`, `.labels` and `.amounts` are the parts, and an index is
        a label. Raises ValueError for an array that is not decomposed.

        >>> sides = np.decompose(np.array([3.0, 4.0]), baseline=1.0, labels=["width", "height"])
        >>> sides.prod().contributions()
        value     12
        residual   1
        width     +5   45.5%
        height    +6   54.5%
        """
        tensor = self._decomposed("contributions")
        return Contributions(self._as(tensor if k is None else tensor.top(k)))

    @ends
    def groupby(self, labels: NewLabels) -> Any:
        """The same with components merged, those that get the same label: their sums, in order of first appearance.

        `labels`: a mapping from old labels to new ones (what it does not name keeps its label), a function of the old
        label, or a sequence with a new label for each component. Labels that were not given at `np.decompose` have
        `.index`, a tuple. Raises ValueError for an array that is not decomposed or a sequence of another length,
        KeyError if the mapping names a label that there is not.

        >>> x = np.decompose(np.array([1.0, 2.0, 4.0]), labels=["oil", "gas", "tax"])
        >>> merged = x.sum().groupby({"oil": "energy", "gas": "energy"})
        >>> merged.labels, merged.components
        (('energy', 'tax'), array([3., 4.]))
        """
        return self._as(self._decomposed("groupby").groupby(labels))

    @ends
    def top(self, k: int = 5, other: Hashable = "other") -> Any:
        """The same with the k largest components, in falling order, and all others merged into one named `other`.

        The size of a component is the sum of the magnitudes of its elements: index the array first to see the largest
        of one element. Raises ValueError for an array that is not decomposed, a negative k, or if one of the largest is
        named `other`.

        >>> x = np.decompose(np.array([1.0, -5.0, 2.0, 0.5]), labels=["a", "b", "c", "d"])
        >>> x.sum().top(2).labels, x.sum().top(2).components
        (('b', 'c', 'other'), array([-5. ,  2. ,  1.5]))
        """
        return self._as(self._decomposed("top").top(k, other))

    @ends
    def to_dataframe(self) -> Any:
        """A pandas DataFrame: a row for each element, with its index, and the columns value, residual and the labels.

        Raises ImportError where pandas is not installed, and ValueError for an array that is not decomposed, or if a
        label is "value" or "residual".
        """
        return self._decomposed("to_dataframe").to_dataframe()

    @ends
    def to_xarray(self, dims: Sequence[Hashable] | None = None) -> Any:
        """An xarray Dataset: value and residual over `dims` (axis_0, ... by default), and components over "component"
        and them, with the labels as its coordinate.

        Raises ImportError where xarray is not installed, and ValueError for an array that is not decomposed, or for
        another number of dims than axes.
        """
        return self._decomposed("to_xarray").to_xarray(dims)

    @ends
    def to_shap(self, inputs: Any = None) -> Any:
        """A `shap.Explanation`, which SHAP's own plots take: of a number, of the numbers of rows (n,), or of several
        for each row (n, m). `inputs`, of shape (n, labels), are its data.

        Raises ImportError where SHAP is not installed, ValueError for other shapes or an array that is not decomposed,
        and TypeError for complex numbers.
        """
        return self._decomposed("to_shap").to_shap(inputs)

    @property
    def plot(self) -> Plots:
        """The plots, `x.plot.waterfall()` and others (`np.attribution.Plots`), with matplotlib.

        >>> x = np.decompose(np.array([1.0, -5.0]), labels=["a", "b"])
        >>> x.sum().plot.bar().get_xlabel()
        'contribution'
        """
        return Plots(lambda name, most: of_tensor(self._decomposed(name), "array", name, most))

    def _repr_html_(self) -> str | None:
        tensor = self._t
        if type(tensor) is not DecomposedTensor or not has_table(tensor):
            return None
        return of_html(tensor, "array" if tensor.dim() else "number", dtype_name(tensor.dtype), str(self))

    def _decomposed(self, name: str) -> DecomposedTensor:
        if type(self._t) is not DecomposedTensor:
            raise ValueError(f"{name}: the array carries no contributions; decompose an input (np.decompose)")
        return self._t

    @property
    def tensor(self) -> torch.Tensor:
        """The torch face: the tensor itself, a DecomposedTensor if the array is decomposed."""
        close(self)
        return self._t

    def _as(self, tensor: torch.Tensor) -> Any:
        """The tensor as what this object is: an array, or a scalar."""
        return wrap.wrap_array(tensor) if type(self) is wrap.ARRAY else wrap.wrap_scalar(tensor)


def completeness(x: Any) -> Any:
    """The error of a decomposition, element by element: `value - residual - components.sum(0)`, ideally zero.

    `x`: an array or scalar, a torch tensor, or lists, tuples and dicts of them. Each gives what it is itself: plain, of
    its shape and dtype (zeros if it is not decomposed). An infinity that both sides are counts as no error.
    Raises TypeError for what is no array.

    >>> x = np.decompose(np.array([3.0, 4.0]))
    >>> np.completeness({"sum": x.sum(), "squares": x * x})
    {'sum': np.float64(0.0), 'squares': array([0., 0.])}
    """
    if isinstance(x, (list, tuple)):
        items = [completeness(item) for item in x]
        return refilled(x, items)
    if isinstance(x, dict):
        return {key: completeness(item) for key, item in x.items()}
    if not isinstance(x, (ArrayBase, torch.Tensor)):
        raise TypeError(f"completeness: an array, or lists, tuples and dicts of arrays, not {type(x).__name__}")
    x = plain_of(x)
    tensor = x._t if isinstance(x, ArrayBase) else x
    error = missing(tensor) if isinstance(tensor, DecomposedTensor) else torch.zeros_like(tensor)
    return x._as(error) if isinstance(x, DecompositionMixin) else error


def split_input(name: str, x: Any, baseline: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """(value, residual) tensors of an input to be decomposed; raises TypeError or ValueError if it cannot be."""
    value = as_tensor(x)
    if type(value) is DecomposedTensor:
        raise ValueError(f"{name}: the array is decomposed already; take its .value to start anew")
    if not carries(value.dtype):
        raise TypeError(
            f"{name}: contributions are real numbers, which {wrap.dtype_repr(value.dtype)} cannot hold: convert "
            "with .astype(float) first"
        )
    base = as_tensor(baseline)
    if value.is_meta or base.is_meta:
        raise ValueError(f"{name}: a tensor on the device meta has no numbers to decompose")
    if type(base) is DecomposedTensor:
        raise ValueError(f"{name}: the baseline is decomposed; take its .value")
    if base.is_complex() and not value.is_complex():
        raise TypeError(f"{name}: a complex baseline for an array of dtype {wrap.dtype_repr(value.dtype)}")
    try:
        base = torch.broadcast_to(copy_of(base.to(dtype=value.dtype, device=value.device)), tuple(value.shape))
    except RuntimeError:
        raise ValueError(
            f"{name}: a baseline of shape {tuple(base.shape)} does not broadcast to the shape {tuple(value.shape)}"
        ) from None
    # Equal rows of many elements are computed once. Those of a few are sooner computed than told apart.
    apart = base.numel() <= HANDFUL and value.is_contiguous()
    return copy_of(value), base.contiguous() if apart else base


def components_of(
    name: str,
    values: Sequence[torch.Tensor],
    axis: Any,
    partitions: Sequence[Any],
    labels: Sequence[Hashable] | None,
    several: bool,
) -> tuple[list[torch.Tensor], Labels]:
    """For each tensor the component that each of its elements belongs to, and the labels of the components."""
    if axis is not None and any(groups is not None for groups in partitions):
        raise ValueError(f"{name}: axis and groups exclude each other")
    members, indices = _partition(name, [tuple(v.shape) for v in values], axis, partitions, several)
    if labels is None:
        refuse_trace("np.decompose without labels=", "give labels, or decompose before the call")
        return members, input_labels(indices)
    names = tuple(labels)
    if len(names) != len(indices):
        raise ValueError(f"{name}: {len(indices)} components need as many labels, not {len(names)}")
    if len(set(names)) != len(names):
        raise ValueError(f"{name}: the labels must be distinct")
    return members, names


def _groups(name: str, shape: tuple[int, ...], axis: Any, groups: Any, offset: int) -> tuple[torch.Tensor, Index]:
    """The component that each element belongs to (counted from `offset`), and the lengths of the axes that tell it."""
    if groups is not None:
        ids = as_tensor(groups)
        if ids.dtype is torch.bool or ids.is_floating_point() or ids.is_complex():
            raise TypeError(f"{name}: groups must be integers, not {wrap.dtype_repr(ids.dtype)}")
        try:
            return torch.broadcast_to(ids, shape), ()
        except RuntimeError:
            raise ValueError(
                f"{name}: groups of shape {tuple(ids.shape)} do not broadcast to the shape {shape}"
            ) from None
    axes = tuple(range(len(shape))) if axis is None else _util.normalize_axes(as_axis(axis), len(shape))
    lengths = [shape[a] for a in axes]
    count = math.prod(lengths)
    numbers = torch.arange(offset, offset + count).reshape(lengths)
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    numbers = numbers.permute(order).reshape([shape[a] if a in axes else 1 for a in range(len(shape))])
    return numbers.expand(shape), tuple(lengths)


def decompose(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    *,
    baseline: Any = 0.0,
    groups: Any = None,
    labels: Sequence[Hashable] | None = None,
) -> Any:
    """Mark an input: every number computed from the result knows how much each part of the input contributed.

    `x`: an array of shape S and a floating or complex dtype (a torch tensor gives a DecomposedTensor), or a tuple of
    arrays, which share one set of labels: with `axis=None` the elements of all of them, one after the other; with
    `axis` or `groups`, equal indices or groups are one component. `axis`: None for one component per element, an int or
    tuple for one per index along it, `()` for one in all. `groups`: integers that broadcast to S, any partition (a
    tuple of them for a tuple of arrays). `baseline`: what the residual is computed from; it broadcasts to S (likewise a
    tuple).
    `labels`: C distinct hashable names; for groups in the order of the sorted group numbers. By default a label tells
    the input from all others and the index in it, in copies, pickles and other processes as well.

    Raises TypeError for integer dtypes, ValueError for shapes or a number of labels that do not fit.

    >>> price, volume = np.decompose((np.array(3.0), np.array(10.0)), baseline=(2.0, 8.0), labels=["price", "volume"])
    >>> revenue = price * volume
    >>> revenue.value, revenue.residual, revenue.labels
    (np.float64(30.0), np.float64(16.0), ('price', 'volume'))
    >>> revenue.components
    array([9., 5.])
    """
    try:
        several = isinstance(x, tuple)
        inputs = x if several else (x,)
        if any(isinstance(a, SubclassBase) for a in inputs):
            options = {"baseline": baseline, "groups": groups, "labels": labels}
            return subclasses.value().decomposed(decompose, x, axis, options)
        bases = baseline if several and isinstance(baseline, tuple) else (baseline,) * len(inputs)
        partitions = groups if several and isinstance(groups, tuple) else (groups,) * len(inputs)
        if len(bases) != len(inputs) or len(partitions) != len(inputs):
            raise ValueError(f"decompose: {len(inputs)} arrays need as many baselines and groups, or one for all")
        split = [split_input("decompose", a, b) for a, b in zip(inputs, bases, strict=True)]
        members, names = components_of("decompose", [v for v, _ in split], axis, partitions, labels, several)
        made = [_make(v, r, m, names) for (v, r), m in zip(split, members, strict=True)]
        results = tuple(t if isinstance(a, torch.Tensor) else _array(t) for a, t in zip(inputs, made, strict=True))
        return results if several else results[0]
    except Exception as error:
        raise ended(error)  # noqa: B904


def _array(tensor: DecomposedTensor) -> Any:
    """An array. It is read-only, as what it is a copy of, where several elements are one in memory."""
    array = wrap.wrap_array(tensor)
    if has_overlap(tensor.value):
        memory.freeze(array, memory.ONE_IN_MEMORY)
    return array


def _partition(
    name: str, shapes: list[tuple[int, ...]], axis: Any, partitions: Sequence[Any], several: bool
) -> tuple[list[torch.Tensor], Sequence[Index]]:
    """For each array the component of each element, and for each component its index."""
    members: list[torch.Tensor] = []
    found: list[Index] = []
    start = 0
    for shape, groups in zip(shapes, partitions, strict=True):
        concatenated = axis is None and groups is None
        member, lengths = _groups(name, shape, axis, groups, start if concatenated else 0)
        members.append(member)
        if concatenated:
            start += member.numel()
            found.append(lengths)
        elif groups is None:
            if found and found != [lengths]:
                raise ValueError(f"{name}: arrays that share labels need equal lengths along axis {axis}: {shapes}")
            found = [lengths]
    indices: Sequence[Index] = Indices(found, several and axis is None)
    if all(groups is not None for groups in partitions) and partitions:
        ids = torch.unique(torch.cat([m.reshape(-1).to(torch.int64) for m in members]))
        members = [_places(ids, m) for m in members]
        indices = [(i,) for i in ids.tolist()]
    return members, indices


def _places(ids: torch.Tensor, member: torch.Tensor) -> torch.Tensor:
    """Where the group numbers stand among all of them; a broadcast tensor stays one."""
    small = narrowed(member, member.ndim)
    return torch.searchsorted(ids.to(member.device), small.to(torch.int64).contiguous()).expand(member.shape)


def _make(value: torch.Tensor, residual: torch.Tensor, member: torch.Tensor, labels: Labels) -> DecomposedTensor:
    change = value - residual
    member, count = member.to(device=change.device, dtype=torch.int64), len(labels)
    if block_sparse.is_worth(change, member, count):
        made = DecomposedTensor(value, residual, block_sparse.marked(change, member, count), labels)
    else:
        made = DecomposedTensor(value, residual, block_sparse.scattered(change, member, count), labels)
    if change.dtype is torch.float16 and bool(torch.isfinite(value - value + residual - residual).all()):
        warn_beyond_range(decompose, (), made)
    return made
