"""The torch face: `DecomposedTensor`, a tensor that carries the contributions of the inputs it was computed from.

It is the tensor of its value (a `torch.Tensor` over the same memory), with three attributes beside it: the residual,
the components (one more axis, leading) and their labels. Every torch function that meets one arrives in
`__torch_function__` and is answered by its rule (`npdec._rules.dispatch`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch

from npdec._core.slots import Slot
from npdec._core.tracebacks import met
from npdec._decomposed import kept_components, merging
from npdec._decomposed.components import Components, Use
from npdec._decomposed.described import described, has_table
from npdec._decomposed.parts import Labels, Views
from npdec._decomposed.pickling import Stored, safe
from npdec._decomposed.plain_values import ResidualOnce, ValueOnce
from npdec._decomposed.size_limits import MANY, has_many, zeros
from npdec._impl._storage import laid_out_alike
from npdec._show import methods, summary
from npdec._torch.functorch import is_wrapped
from npdec._torch.interrupts import undisturbed
from npdec._torch.patch_dynamo import patch_dynamo
from npdec._torch.tracing import Nested, carrier, constant_when_traced, tracing

__all__ = [
    "CARRIERS", "DecomposedTensor", "InputLabel", "Labels", "align", "carries", "copy_of", "expand_components",
    "is_broadcast", "is_reverse", "merged", "new_source", "ordinary", "placed", "under_labels_of", "union",
]  # fmt: skip


def new_source() -> bytes:
    """What tells an input from all others, in every process and on every machine.

    It is drawn at once, so that two workers that were given one input agree on it, and of the system's entropy, which
    forked processes do not share.
    """
    return os.urandom(16)


@constant_when_traced
def _source(label: InputLabel) -> bytes:
    return label.source


@safe
class InputLabel:
    """The label of a component that was given none: which input, and which element or index of it.

    Labels of separate `np.decompose` calls are different, even at the same index; those of one stay equal in copies,
    pickles and other processes.
    """

    __slots__ = ("index", "source")

    def __init__(self, source: bytes, index: tuple[int, ...]) -> None:
        self.source = source
        self.index = index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InputLabel) or self.index != other.index:
            return False
        # A graph would not notice that two sources, different ones when it was made, are one.
        return _source(self) == _source(other) if tracing() else self.source == other.source

    def __hash__(self) -> int:
        return hash((self.source, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return InputLabel, (self.source, self.index)

    def __repr__(self) -> str:
        return f"[{', '.join(map(str, self.index))}]"


@safe
class DecomposedTensor(torch.Tensor):
    """A tensor with `value == residual + components.sum(0)`.

    `value`, `residual`: plain tensors of the shape; `components`: shape `(C, *shape)`; `labels`: a tuple of C hashable
    labels. `reverse` marks reverse mode: one component that stands for all inputs together and carries the graph.
    Raises ValueError if the shapes do not fit together.

    >>> t = np.decompose(torch.tensor([1.0, 2.0]), labels=["a", "b"])
    >>> (t * 3).sum().components
    tensor([3., 6.])
    """

    value: Any = ValueOnce()  # a plain tensor; made where a view is first asked for it
    residual: Any = ResidualOnce()  # in reverse mode perhaps made of `row`
    components: Any = kept_components.MadeOnce()  # a tensor; made of what is kept when first read
    labels: Labels
    reverse: bool
    discrete: bool  # whether value and residual are booleans or integers, of which the components are real
    kept: Components | None = None  # where alone they are not zero, if that is known, or what they are to be made of
    # In reverse mode perhaps: a residual, and one of the rows that it repeats; the latter alone while it is not made.
    row: tuple[torch.Tensor, torch.Tensor] | torch.Tensor
    origin: Any  # what it is known to be of another tensor (npdec._rules.rms_norm_pattern)
    writes: int = 0  # how often it was written to
    views: Views | None = None  # the decomposed tensors over the same memory
    _element: ClassVar[Callable[[DecomposedTensor, tuple[int, ...]], Any]]  # filled by `npdec._rules.direct`

    @staticmethod
    def __new__(
        cls,
        value: torch.Tensor,
        residual: torch.Tensor,
        components: torch.Tensor | Components,
        labels: Labels,
        reverse: bool = False,
    ) -> DecomposedTensor:
        shape = value.shape
        if residual.shape != shape or components.shape != (len(labels), *shape):
            raise ValueError(
                f"a decomposition of shape {tuple(shape)} with {len(labels)} labels needs a residual of that shape and "
                f"components of {(len(labels), *shape)}, not {tuple(residual.shape)} and {tuple(components.shape)}"
            )
        if not dispatch.filled:
            first_use.value()
        if tracing():
            patch_dynamo()
        self = carrier(value).as_subclass(cls)
        self.value = value
        self.residual = residual
        if isinstance(components, torch.Tensor):
            self.components = components
        else:
            self.kept = components
        self.labels = labels
        self.reverse = reverse
        self.discrete = not carries(value.dtype)
        self.origin = None
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        raise TypeError(f"{cls.__name__}: DecomposedTensor cannot be subclassed; keep one as an attribute instead")

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if len(types) > 1:
            for t in types:
                if not issubclass(t, torch.Tensor):
                    return NotImplemented
        if tracing():
            with Nested(cls, dispatch.value):
                return dispatch.value(func, args, kwargs or {})
        try:
            made = ordinary.value(func, args, {} if not kwargs or kwargs == _NOT_IN_PLACE else kwargs)
            if made is not NotImplemented:
                return made
            return undisturbed(dispatch.value, func, args, kwargs or {})
        except Exception as error:
            raise met(error)  # noqa: B904

    def covers(self, labels: Labels) -> bool:
        """Whether every one of the labels is among this tensor's."""
        try:
            return labels is self.labels or labels == self.labels or set(labels) <= set(self.labels)
        except Exception as error:
            raise met(error)  # noqa: B904

    def c_sum(self) -> torch.Tensor:
        """`residual + components.sum(0)`: the value, from its parts."""
        return self.residual + kept_components.summed(self)

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

    groupby = merging.groupby
    top = merging.top
    to_dataframe = merging.to_dataframe
    to_xarray = merging.to_xarray
    contributions = methods.contributions
    plot = methods.plot
    to_shap = methods.to_shap

    @property
    def is_decomposed(self) -> bool:
        """True: it carries contributions. Arrays say it of themselves too."""
        return True

    @property
    def tensor(self) -> DecomposedTensor:
        """Itself, which is the torch face of an array."""
        return self

    def set_(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Raises RuntimeError. torch asks nobody about this method, which would leave the contributions behind."""
        raise RuntimeError(
            "set_: a decomposed tensor does not take another's memory, where it has no contributions: use the other "
            "tensor in its place, or write its numbers (copy_)"
        )

    # mypy drops the names of a dunder's keyword-only parameters, and then finds that they differ.
    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return summary.laid_out(f"DecomposedTensor({self.value!r})", described(self), 80, len("DecomposedTensor("))

    def _repr_html_(self) -> str | None:
        if not has_table(self):
            return None
        return methods.of_html(self, "tensor", str(self.dtype).removeprefix("torch."), repr(self.value))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        components = kept_components.kept(self, Use.FILES) or Stored(self.components)
        return DecomposedTensor, (Stored(self.value), Stored(self.residual), components, self.labels, self.reverse)

    def __copy__(self) -> torch.Tensor:
        return self.view_as(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        made: Any = self.clone()
        components = kept_components.kept(made, Use.FILES) or made.components
        return DecomposedTensor(copy_of(self.value), copy_of(self.residual), components, self.labels, self.reverse)


# What kernels read most is read off the value, without a call of __torch_function__.
_SHOWN: dict[str, Callable[[DecomposedTensor], Any]] = {
    "shape": lambda t: t.value.shape,
    "dtype": lambda t: t.value.dtype,
    "ndim": lambda t: t.value.ndim,
    "device": lambda t: t.value.device,
    "is_cpu": lambda t: t.value.is_cpu,
}
for _name, _get in _SHOWN.items():
    setattr(DecomposedTensor, _name, property(_get, doc=f"The {_name} of the value."))

# The classes of tensors that carry contributions: this one, and that of DTensors, once there are any
# (`npdec._rules.distributed`).
CARRIERS: set[type] = {DecomposedTensor}

# Filled by `npdec.overrides._calls`, which imports this module, and which `first_use` imports: nobody who decomposes
# nothing waits for the rules of torch's functions, or finds a class of torch's changed.
dispatch: Slot[Callable[..., Any]] = Slot("dispatch of torch functions")
first_use: Slot[Callable[[], Any]] = Slot("import of the rules")
# The short way of dispatch, which answers ordinary calls, and others with NotImplemented.
ordinary: Slot[Callable[..., Any]] = Slot("dispatch of ordinary calls")
_NOT_IN_PLACE = {"inplace": False}  # what torch.nn.functional hands on


def carries(dtype: torch.dtype) -> bool:
    """Whether elements of the dtype can carry contributions: integers and booleans cannot."""
    return dtype.is_floating_point or dtype.is_complex


def is_reverse(args: Sequence[Any]) -> bool:
    """Whether one of the arguments (or an item of a sequence among them) is a tensor in reverse mode."""
    for arg in args:
        if type(arg) is DecomposedTensor:
            return arg.reverse
        if isinstance(arg, (tuple, list)) and is_reverse(arg):
            return True
    return False


def is_broadcast(tensor: torch.Tensor) -> bool:
    """Whether several elements of the tensor are one in memory."""
    strides = tensor.stride()
    if 0 in strides:
        for n, stride in zip(tensor.shape, strides):
            if n > 1 and not stride:
                return True
    return False


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of a plain tensor that lies in memory as they do, so that what is computed with it is so to the last bit;
    where tensors have no memory that could be looked at, only a copy."""
    wrapped = tracing() or is_wrapped(tensor)
    kind: Any = type(tensor)
    if wrapped or kind.__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl:
        return tensor.clone()
    return laid_out_alike(tensor)


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
    if any(part.reverse is not parts[0].reverse for part in parts):
        raise ValueError(
            "a tensor in reverse mode (np.attribute's argument) meets one that np.decompose made: attribute to both "
            "inputs with np.attribute(f, x, y), or decompose both"
        )
    for part in parts:
        first = merged(first, part.labels)[0]
    return first


def merged(labels: Labels, others: Labels) -> tuple[Labels, Sequence[int]]:
    """Labels and others behind them, each once, and the places of the others."""
    if isinstance(labels, tuple) and isinstance(others, tuple):  # others are made when they are asked for, and let go
        # Labels that have been handed on are the same objects, and to compare those of inputs takes Python code.
        known = {id(label): i for i, label in enumerate(labels)}
        if not others or id(others[0]) in known:
            places = [known.get(id(label), -1) for label in others]
            if -1 not in places:
                return labels, places
    count = len(labels)
    sources = {label.source if type(label) is InputLabel else None for label in others}
    if None not in sources and sources.isdisjoint({getattr(label, "source", None) for label in labels}):
        return (*labels, *others), range(count, count + len(others))
    found = {label: i for i, label in enumerate(labels)}
    places = [found.setdefault(label, len(found)) for label in others]
    return (labels if len(found) == count else tuple(found)), places


def under_labels_of(parts: Sequence[DecomposedTensor]) -> DecomposedTensor | None:
    """A tensor without elements under the labels of all the tensors; None of none."""
    if not parts:
        return None
    labels, like = union(parts), next((part for part in parts if not part.discrete), parts[0])
    nothing = like.value.new_empty(0)
    components = nothing.new_empty((len(labels), 0), dtype=kept_components.component_dtype(like))
    return DecomposedTensor(nothing, nothing, components, labels, like.reverse)


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
    places = [wanted.index(label) for label in labels] if tracing() else places_of(labels, wanted)
    return placed(components, places, len(wanted))


def placed(components: torch.Tensor, places: Sequence[int], count: int) -> torch.Tensor:
    """As many components, with these at the places, and zeros elsewhere."""
    first, behind = (places[0], places[0] + len(places)) if places else (0, 0)
    if count < MANY and (isinstance(places, range) or places == list(range(first, behind))):
        return torch.constant_pad_nd(components, (0, 0) * (components.ndim - 1) + (first, count - behind))
    index = torch.tensor(places, dtype=torch.int64, device=components.device)
    return zeros(components, (count, *components.shape[1:])).index_copy(0, index, components)


def align(parts: Sequence[DecomposedTensor], use: int | None = None) -> tuple[Labels, list[Any]]:
    """The union of the labels, and the components of each tensor under it: tensors, or what stands for them if that is
    good for the use."""
    labels = parts[0].labels if len(parts) == 1 else union(parts)
    return labels, [_under(part, labels, use) for part in parts]


def _under(part: DecomposedTensor, labels: Labels, use: int | None) -> Any:
    equal = _are_equal(part.labels, labels)
    found = None
    if use is not None and part.kept is not None and (equal or has_many(len(labels))):
        found = kept_components.stand_in(part, use)
    if found is None:
        return expand_components(part.components, part.labels, labels)
    return found if equal else found.merged(places_of(part.labels, labels), len(labels))


def places_of(labels: Labels, wanted: Labels) -> Sequence[int]:
    """Where the labels are among the wanted ones."""
    return merged(wanted, labels)[1]
