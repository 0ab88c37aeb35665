"""The torch face: `DecomposedTensor`, a tensor that carries the contributions of the inputs it was computed from.

It is the tensor of its value (a `torch.Tensor` over the same memory), with three attributes beside it: the residual,
the components (one more axis, in front) and their labels. Every torch function that meets one arrives in
`__torch_function__` and is answered by its rule (`npdec._dispatch`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any
from weakref import ref

import torch

from npdec import _components, _windows
from npdec._tracing import Nested, carrier, constant_when_traced, tracing

__all__ = [
    "DecomposedTensor",
    "InputLabel",
    "Labels",
    "align",
    "are_in_common",
    "carries",
    "decompose_storage",
    "each_once",
    "link",
    "shares_memory",
    "expand_components",
    "is_broadcast",
    "union",
]

Labels = tuple[Hashable, ...]


@constant_when_traced
def _number(label: InputLabel) -> int:
    return id(label.source)


class InputLabel:
    """The label of a component that was given none: which input, and which element or index of it.

    Labels of separate `np.decompose` calls are different, even at the same index.
    """

    __slots__ = ("index", "source")

    def __init__(self, source: object, index: tuple[int, ...]) -> None:
        self.source = source
        self.index = index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InputLabel) or self.index != other.index:
            return False
        # A graph would not notice that two sources, different ones when it was made, are one.
        return _number(self) == _number(other) if tracing() else self.source is other.source

    def __hash__(self) -> int:
        return hash((id(self.source), self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return InputLabel, (self.source, self.index)

    def __repr__(self) -> str:
        return f"[{', '.join(map(str, self.index))}]"


class DecomposedTensor(torch.Tensor):
    """A tensor with `value == residual + components.sum(0)`.

    `value`, `residual`: plain tensors of the shape; `components`: shape `(C, *shape)`; `labels`: a tuple of C hashable
    labels. `whole` marks reverse mode: one component that stands for all inputs together and carries the graph.
    Raises ValueError if the shapes do not fit together.

    >>> t = np.decompose(torch.tensor([1.0, 2.0]), labels=["a", "b"])
    >>> (t * 3).sum().components
    tensor([3., 6.])
    """

    value: torch.Tensor
    residual: torch.Tensor
    components: Any = _windows.Components()  # a tensor; made of the windows when first read, if it has those
    labels: Labels
    whole: bool
    windows: _windows.Windows | _windows.Marked | None = None  # where alone the components are not zero, if known
    origin: Any  # what it is known to be of another tensor (npdec._written_out)
    writes: int = 0  # how often it was written to
    views: Views | None = None  # the decomposed tensors over the same memory
    leaf: tuple[torch.Tensor, torch.Tensor | None]  # of a pytree, that it is made of, and the components that it gives

    @staticmethod
    def __new__(
        cls,
        value: torch.Tensor,
        residual: torch.Tensor,
        components: torch.Tensor | _windows.Windows | _windows.Marked,
        labels: Labels,
        whole: bool = False,
    ) -> DecomposedTensor:
        shape = value.shape
        if residual.shape != shape or components.shape != (len(labels), *shape):
            raise ValueError(
                f"a decomposition of shape {tuple(shape)} with {len(labels)} labels needs a residual of that shape and "
                f"components of shape {(len(labels), *shape)}, "
                f"not {tuple(residual.shape)} and {tuple(components.shape)}"
            )
        if not dispatch:
            first_use[0]()
        self = carrier(value).as_subclass(cls)
        self.value = value
        self.residual = residual
        if isinstance(components, torch.Tensor):
            self.components = components
        else:
            self.windows = components
        self.labels = labels
        self.whole = whole
        self.origin = None
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        for t in types:
            if not issubclass(t, torch.Tensor):
                return NotImplemented
        if tracing():
            with Nested(cls, dispatch[0]):
                return dispatch[0](func, args, kwargs or {})
        return dispatch[0](func, args, kwargs or {})

    def covers(self, labels: Labels) -> bool:
        """Whether every one of the labels is among this tensor's."""
        return labels is self.labels or set(labels) <= set(self.labels)

    def has_broadcast_parts(self) -> bool:
        """Whether elements of a part are one in memory (a broadcast part), so that it cannot be written in place."""
        return is_broadcast(self.residual) or is_broadcast(self.components)

    def c_sum(self) -> torch.Tensor:
        """`residual + components.sum(0)`: the value, from its parts."""
        return self.residual + _windows.summed(self)

    @property
    def recovery(self) -> torch.Tensor:
        """As `c_sum()`."""
        return self.c_sum()

    def numc(self) -> int:
        """The number of components."""
        return len(self.labels)

    def c_size(self, dim: int | None = None) -> Any:
        """The shape of the components, `(C, *shape)`, or its length along one axis."""
        return self.components.shape if dim is None else self.components.shape[dim]

    groupby = _components.groupby
    top = _components.top
    to_dataframe = _components.to_dataframe
    to_xarray = _components.to_xarray

    # mypy drops the names of a dunder's keyword-only parameters, and then finds that they differ.
    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"DecomposedTensor({self.value!r}, components={len(self.labels)})"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return DecomposedTensor, (self.value, self.residual, self.components, self.labels, self.whole)

    def __deepcopy__(self, memo: dict[int, Any]) -> DecomposedTensor:
        return DecomposedTensor(
            self.value.clone(), self.residual.clone(), self.components.clone(), self.labels, self.whole
        )


class Views(list["ref[DecomposedTensor]"]):
    """Weak references to the decomposed tensors over one memory; dead ones are dropped when it has doubled.

    `loose` says that some have their values in common, but not their residuals or components: a view of a tensor whose
    parts do not lie in memory as its value does may be a copy of them. `lazy` says that of some it is not known yet.
    """

    __slots__ = ("lazy", "limit", "loose")

    def __init__(self) -> None:
        super().__init__()
        self.limit, self.loose, self.lazy = 16, False, False

    def living(self) -> list[DecomposedTensor]:
        return [tensor for member in self if (tensor := member()) is not None]


def link(view: DecomposedTensor, source: DecomposedTensor) -> None:
    """Make it known that `view` looks at the memory of `source`, if it does: what is written into one is in both.

    If it does not, its parts get memory of their own, where they lie otherwise than the value and are views yet.
    """
    if view is source or torch._C._functorch.is_functorch_wrapped_tensor(view.value):
        return  # within torch.vmap and its like a tensor has no memory to be looked at
    # Components that are yet to be made are a view, if they are to be.
    lazy = "components" not in view.__dict__ or "components" not in source.__dict__
    if not shares_memory(view.value, source.value):
        if shares_memory(view.residual, source.residual):
            view.residual = _copied(view.residual)
        if not lazy and shares_memory(view.components, source.components):
            view.components = _copied(view.components)
        return
    views = source.views
    if views is None:
        views = source.views = Views()
        views.append(ref(source))
    view.views = views
    views.append(ref(view))
    views.lazy |= lazy
    views.loose |= not (
        shares_memory(view.residual, source.residual) and (lazy or shares_memory(view.components, source.components))
    )
    if len(views) > views.limit:
        views[:] = [member for member in views if member() is not None]
        views.limit = max(16, 2 * len(views))


def are_in_common(tensor: DecomposedTensor) -> bool:
    """Whether the views of the tensor have their parts in common as they have their values."""
    views = tensor.views
    if views is None:
        return True
    if views.lazy:
        views.loose |= not all(shares_memory(member.components, tensor.components) for member in views.living())
        views.lazy = False
    return not views.loose


def _copied(part: torch.Tensor) -> torch.Tensor:
    with torch.set_grad_enabled(part.requires_grad):
        return part.clone()


def shares_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have one storage."""
    return a.untyped_storage()._cdata == b.untyped_storage()._cdata


# Set once by `npdec._dispatch`, which imports this module, and which `first_use` imports: nobody who decomposes nothing
# waits for the rules of torch's functions, or finds a class of torch's changed.
dispatch: list[Any] = []
first_use: list[Callable[[], Any]] = []


def carries(dtype: torch.dtype) -> bool:
    """Whether numbers of the dtype can carry contributions: integers and booleans cannot."""
    return dtype.is_floating_point or dtype.is_complex


def is_broadcast(tensor: torch.Tensor) -> bool:
    """Whether several elements of the tensor are one in memory."""
    return 0 in tensor.stride() and any(
        n > 1 and not step for n, step in zip(tensor.shape, tensor.stride(), strict=True)
    )


def union(parts: Sequence[DecomposedTensor]) -> Labels:
    """The labels of all the tensors, in order of first appearance."""
    first = parts[0].labels
    if all(_are_equal(part.labels, first) for part in parts):
        return first
    if tracing():
        labels = list(first)
        for part in parts:
            labels += [label for label in part.labels if label not in labels]
        return tuple(labels)
    if any(part.whole is not parts[0].whole for part in parts):
        raise ValueError(
            "a tensor in reverse mode (np.attribute's argument) meets one that np.decompose made: attribute to both "
            "inputs with np.attribute(f, x, y), or decompose both"
        )
    return tuple(dict.fromkeys(itertools.chain.from_iterable(part.labels for part in parts)))


def _are_equal(labels: Labels, others: Labels) -> bool:
    """torch.compile cannot see whether two tuples are one."""
    if not tracing():
        return labels is others or labels == others
    if len(labels) != len(others):
        return False
    return all(label is other or label == other for label, other in zip(labels, others, strict=True))


def expand_components(components: torch.Tensor, labels: Labels, wanted: Labels) -> torch.Tensor:
    """The components under the wanted labels, which include `labels`: zero where there was none."""
    if _are_equal(labels, wanted):
        return components
    if tracing():
        places = [wanted.index(label) for label in labels]
    else:
        place = {label: i for i, label in enumerate(wanted)}
        places = [place[label] for label in labels]
    index = torch.tensor(places, dtype=torch.int64, device=components.device)
    full = components.new_zeros((len(wanted), *components.shape[1:]))
    return full.index_copy(0, index, components)


def align(parts: Sequence[DecomposedTensor], sparse: bool = False) -> tuple[Labels, list[Any]]:
    """The union of the labels, and the components of each tensor under it; if `sparse`, windows where known."""
    labels = parts[0].labels if len(parts) == 1 else union(parts)
    return labels, [
        (sparse and _are_equal(part.labels, labels) and _windows.known(part))
        or expand_components(part.components, part.labels, labels)
        for part in parts
    ]


def decompose_storage(
    tensors: Sequence[torch.Tensor], labels: Labels, like: DecomposedTensor
) -> list[DecomposedTensor]:
    """Decomposed versions of tensors that share one storage, which share their residuals and components likewise.

    The values stay where they are. Plain tensors gain a residual equal to the value and components of zero; decomposed
    ones gain the labels that they lack. `like` tells device and mode. The parts are laid out as the storage of the
    values is, so each view of the value has its counterpart view of the parts.
    """
    decomposed = [t for t in tensors if isinstance(t, DecomposedTensor)]
    labels = union([*decomposed, like]) if decomposed else labels
    plain = [t.value if isinstance(t, DecomposedTensor) else t for t in tensors]
    largest = max(range(len(plain)), key=lambda i: (plain[i].untyped_storage().nbytes(), plain[i].dtype.itemsize))
    dtype = plain[largest].dtype
    length = plain[largest].untyped_storage().nbytes() // dtype.itemsize
    flat = plain[largest].detach().as_strided((length,), (1,), 0)
    residual = flat.clone()
    components = residual.new_zeros((len(labels), length))
    for part in sorted(decomposed, key=lambda t: t.value.numel()):
        place = each_once(part.value)
        _counterpart(residual, part.value)[place].copy_(part.residual[place])
        full = expand_components(part.components, part.labels, labels)
        _counterpart(components, part.value)[(slice(None), *place)].copy_(full[(slice(None), *place)])
    return [
        DecomposedTensor(value, _counterpart(residual, value), _counterpart(components, value), labels, like.whole)
        for value in plain
    ]


def become(tensor: torch.Tensor, parts: DecomposedTensor) -> None:
    """Turn a plain tensor into a decomposed one, with these parts."""
    tensor.__class__ = DecomposedTensor
    assert isinstance(tensor, DecomposedTensor)
    tensor.value, tensor.residual, tensor.components = parts.value, parts.residual, parts.components
    tensor.labels, tensor.whole = parts.labels, parts.whole
    tensor.origin = tensor.windows = tensor.views = None


def each_once(view: torch.Tensor) -> tuple[slice, ...]:
    """The key of a view's elements without those that a broadcast repeats."""
    return tuple(slice(None) if step else slice(1) for step in view.stride())


def _counterpart(flat: torch.Tensor, view: torch.Tensor) -> torch.Tensor:
    """The view of `flat` (a copy of a whole storage, perhaps with a components axis) that `view` is of its storage."""
    if view.dtype is not flat.dtype:
        if flat.dtype.is_complex and not view.dtype.is_complex:
            flat = torch.view_as_real(flat).flatten(-2)
        else:
            flat = flat.view(view.dtype)
    lead = flat.ndim - 1
    size = (*flat.shape[:lead], *view.shape)
    stride = (*flat.stride()[:lead], *view.stride())
    return flat.as_strided(size, stride, flat.storage_offset() + view.storage_offset())
