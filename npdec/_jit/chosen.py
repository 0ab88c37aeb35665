"""`x[mask]` in a recording: the elements that a mask chooses, of which nobody knows how many there will be.

Such an array stands for one of the whole shape, and the mask beside it. Ufuncs compute with the whole, and so do sums;
written back through the same mask (`x[mask] *= 2`, `x[mask] = y[mask] + 1`) it is a choice between two arrays. Whatever
asks for more, its length for one, has no graph.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from npdec._array import wrap
from npdec._array.arguments import as_value
from npdec._array.ndarray import Composition
from npdec._array.output import write
from npdec._core.base import ArrayBase
from npdec._impl.getitem_impl import is_mask
from npdec._jit.sizes import Unsized
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import Refused

__all__ = ["Chosen", "Masks", "refusal"]

_REDUCTIONS = frozenset({"sum", "prod", "mean", "any", "all"})
# What npdec itself reads to find that an array is of a class of its own, and what is as of any other array.
_READ = frozenset(
    {"_t", "_d", "_m", "_full", "_mask", "_rest", "_same", "_whole", "_reduced", "_like", "astype", "copy"}
)
_BASIC = (int, slice, type(None), type(Ellipsis))
_FUNCTIONS = frozenset({"where", "clip"})  # that look at one element at a time


def refusal() -> Refused:
    """The reason why there is no graph for all numbers."""
    return Unsized("the shape of what a mask chooses depends on numbers: use np.where, or write through the same mask")


class Chosen(Composition):
    """What a mask chooses of an array. It stands before the whole array, which nobody else may read."""

    _full: Any
    _mask: torch.Tensor
    _rest: int  # how many axes of the array stand behind those of the mask
    _same: Any  # whether another mask has the same numbers

    def __getattribute__(self, name: str) -> Any:
        if name in _READ or (name.startswith("__") and name.endswith("__")):
            return super().__getattribute__(name)
        if name == "dtype":
            return self._full.dtype
        if name in _REDUCTIONS:
            return lambda *args, **kwargs: self._reduced(name, *args, **kwargs)
        raise refusal()

    def __array_ufunc__(self, /, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.signature is not None or ufunc.nout != 1:
            raise refusal()
        made = ufunc(*map(self._whole, inputs), **({"out": self._whole(out[0])} if out else {}))
        return out[0] if out else self._like(made)

    def __array_function__(self, /, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func.__name__ in _FUNCTIONS:
            made = func(*map(self._whole, args), **{name: self._whole(value) for name, value in kwargs.items()})
            return self._like(made)
        if func.__name__ in _REDUCTIONS:
            return self._reduced(func.__name__, *args[1:], **kwargs)
        raise refusal()

    def _reduced(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs:
            raise refusal()
        return getattr(self._full, name)(where=wrap.wrap_array(_over(self._mask, self._rest)))

    def _like(self, whole: Any) -> Chosen:
        return _standing(whole, self._mask, self._rest, self._same)

    def _whole(self, operand: Any) -> Any:
        """An operand beside the whole array, if it is one beside what is chosen of it too."""
        if isinstance(operand, Chosen):
            if operand._rest != self._rest or not self._same(operand._mask):
                raise refusal()
            return operand._full
        if isinstance(operand, ArrayBase) and operand._t.dim() > self._rest:
            raise refusal()
        if operand is None or isinstance(operand, (ArrayBase, bool, int, float, complex)):
            return operand
        raise refusal()

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Of another dtype."""
        return self._like(self._full.astype(dtype, *args, **kwargs))

    def copy(self, order: Any = "C") -> Any:
        """A copy, as it is one itself."""
        return self._like(self._full.copy(order))


def _refused(self: Any, *args: Any) -> Any:
    raise refusal()


def _refuse_the_rest() -> None:
    for name in (
        "len", "iter", "getitem", "setitem", "contains", "bool", "int", "float", "complex", "index", "array",
        "reversed", "copy", "deepcopy", "reduce", "reduce_ex", "repr", "str", "format", "matmul", "rmatmul", "divmod",
        "rdivmod",
    ):  # fmt: skip
        setattr(Chosen, f"__{name}__", _refused)


_refuse_the_rest()


def _standing(whole: Any, mask: torch.Tensor, rest: int, same: Any) -> Chosen:
    made = whole.view(Chosen)
    made._full, made._mask, made._rest, made._same = whole, mask, rest, same
    return made


def _over(mask: torch.Tensor, rest: int) -> torch.Tensor:
    """A mask that broadcasts over the axes behind it as well."""
    return mask.reshape(*mask.shape, *[1] * rest)


class _Place(NamedTuple):
    """A key with one mask, among slices, ints beside it, and new axes: the mask chooses of what the rest gives."""

    mask: torch.Tensor
    key: tuple[Any, ...]  # with slices for the axes of the mask
    rest: int  # how many axes of what it gives stand behind those of the mask


def _place(array: Any, items: tuple[Any, ...]) -> _Place | None:
    masks = [item for item in items if is_mask(item)]
    if len(masks) != 1 or not masks[0].dim() or not all(item is masks[0] or type(item) in _BASIC for item in items):
        return None
    mask, at = masks[0], next(i for i, item in enumerate(items) if item is masks[0])
    ints = [i for i, item in enumerate(items) if type(item) is int or i == at]
    if ints[-1] - ints[0] >= len(ints):  # apart from each other, arrays and ints make leading axes
        return None
    key = (*items[:at], *[slice(None)] * mask.dim(), *items[at + 1 :])
    used = sum(type(item) in (int, slice) for item in key)
    left = array._t.dim() - used
    if left < 0 or key.count(Ellipsis) > 1:
        return None
    behind = [left if item is Ellipsis else int(type(item) is not int) for item in items[at + 1 :]]
    rest = sum(behind) + (0 if Ellipsis in key else left)
    axis = sum(left if item is Ellipsis else int(type(item) is int) + int(type(item) is slice) for item in items[:at])
    return _Place(mask, key, rest) if array._t.shape[axis : axis + mask.dim()] == mask.shape else None


class Masks:
    """What masks choose in a recording, and what is written through them."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder

    def chosen(self, array: Any, items: tuple[Any, ...]) -> Any:
        """What a mask that is no constant chooses of an array, None if the key is another one."""
        place = self._place(array, items)
        if place is None:
            return None
        # Where it does not choose there are ones, with which every function can do something.
        tensor = array[place.key]._t
        one = torch.ones((), dtype=tensor.dtype, device=tensor.device)
        whole = wrap.wrap_array(torch.where(_over(place.mask, place.rest), tensor, one))
        return _standing(whole, place.mask, place.rest, self._sameness(place.mask))

    def put(self, array: Any, items: tuple[Any, ...], value: Any) -> bool:
        """Whether a value was written where a mask that is no constant chooses: a number for all, or what the same mask
        has chosen of another array."""
        place = self._place(array, items)
        if isinstance(value, Chosen):
            if place is None or value._rest != place.rest or not value._same(place.mask):
                raise refusal()
            written = value._full._t
        elif place is None or len(items) == 1:
            return False
        else:
            written = as_value(value, array._d, array._t.device)
            if written.dim() > place.rest:
                raise refusal()
        seen = array[place.key]
        if written.dim() > seen.ndim:
            raise refusal()
        write("setitem", seen, written, mask=_over(place.mask, place.rest))
        return True

    def _place(self, array: Any, items: tuple[Any, ...]) -> _Place | None:
        place = _place(array, items)
        if place is None or is_transformed() or array._t.requires_grad or self._recorder.sizes.asked:
            return None
        return None if self._recorder.is_constant(place.mask) else place

    def _sameness(self, mask: torch.Tensor) -> Any:
        """A function that says whether another mask has the numbers that this one has now."""
        recorder = self._recorder
        before = recorder.epoch(mask)

        def same(other: torch.Tensor) -> bool:
            if recorder.epoch(mask) != before:
                return False
            if other is mask:
                return True
            if before or recorder.epoch(other):
                return False
            a, b = recorder.node(mask), recorder.node(other)
            return a in recorder.after and self._are_alike(a, b, recorder.after[a])

        return same

    def _are_alike(self, a: Any, b: Any, writes: int) -> bool:
        """Whether two operations are the same, of the same, all done between two writes."""
        if a is b or not isinstance(a, torch.fx.Node) or not isinstance(b, torch.fx.Node):
            return a is b or (type(a) is type(b) and isinstance(a, (bool, int, float)) and repr(a) == repr(b))
        after = self._recorder.after
        if a.target is not b.target or not after.get(a) == after.get(b) == writes or a.kwargs != b.kwargs:
            return False
        return len(a.args) == len(b.args) and all(self._are_alike(*pair, writes) for pair in zip(a.args, b.args))
