"""`x[mask]` in a recording: the elements that a mask chooses, of which nobody knows how many there will be.

Such an array stands for one of the whole shape, and the mask beside it. Ufuncs compute with the whole, and so do sums;
written back through the same mask (`x[mask] *= 2`, `x[mask] = y[mask] + 1`) it is a choice between two arrays. Whatever
asks for more, its length for one, has no graph.
"""

from __future__ import annotations

from typing import Any

import torch

from npdec._array import wrap
from npdec._array.ndarray import Composition
from npdec._array.output import write
from npdec._core.base import ArrayBase
from npdec._impl.getitem_impl import is_mask
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import Refused

__all__ = ["Chosen", "Masks", "refusal"]

_REDUCTIONS = frozenset({"sum", "prod", "mean", "any", "all"})
# What npdec itself reads to find that an array is of a class of its own, and what is as of any other array.
_READ = frozenset({"_full", "_t", "_d", "_m", "_mask", "_same", "_whole", "_reduced", "dtype", "astype", "copy"})
_FUNCTIONS = frozenset({"where", "clip"})  # that look at one element at a time


def refusal() -> Refused:
    """The reason why there is no graph."""
    return Refused("the shape of what a mask chooses depends on numbers: use np.where, or write through the same mask")


class Chosen(Composition):
    """What a mask chooses of an array. It stands before the whole array, which nobody else may read."""

    _full: Any
    _mask: torch.Tensor
    _same: Any  # whether another mask has the same numbers

    def __getattribute__(self, name: str) -> Any:
        if name in _READ or (name.startswith("__") and name.endswith("__")):
            return super().__getattribute__(name)
        if name in _REDUCTIONS:
            return lambda: self._reduced(name)
        raise refusal()

    def __array_ufunc__(self, /, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.signature is not None or ufunc.nout != 1:
            raise refusal()
        made = ufunc(*map(self._whole, inputs), **({"out": self._whole(out[0])} if out else {}))
        return out[0] if out else _standing(made, self._mask, self._same)

    def __array_function__(self, /, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func.__name__ in _FUNCTIONS:
            made = func(*map(self._whole, args), **{name: self._whole(value) for name, value in kwargs.items()})
            return _standing(made, self._mask, self._same)
        if not kwargs and func.__name__ in _REDUCTIONS and len(args) == 1:
            return self._reduced(func.__name__)
        raise refusal()

    def _reduced(self, name: str) -> Any:
        return getattr(self._full, name)(where=wrap.wrap_array(_over(self._mask, self._full._t)))

    def _whole(self, operand: Any) -> Any:
        """An operand beside the whole array, if it is one beside what is chosen of it too."""
        if isinstance(operand, Chosen):
            if not self._same(operand._mask):
                raise refusal()
            return operand._full
        if isinstance(operand, ArrayBase) and operand._t.dim() > self._full.ndim - self._mask.dim():
            raise refusal()
        if operand is None or isinstance(operand, (ArrayBase, bool, int, float, complex)):
            return operand
        raise refusal()

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Of another dtype."""
        return _standing(self._full.astype(dtype, *args, **kwargs), self._mask, self._same)

    def copy(self, order: Any = "C") -> Any:
        """A copy, as it is one itself."""
        return _standing(self._full.copy(order), self._mask, self._same)


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


def _standing(whole: Any, mask: torch.Tensor, same: Any) -> Chosen:
    made = whole.view(Chosen)
    made._full, made._mask, made._same = whole, mask, same
    return made


def _over(mask: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """A mask of the first axes, with the rest of a tensor's."""
    return mask.reshape(*mask.shape, *[1] * (tensor.dim() - mask.dim()))


def _mask_of(array: Any, items: tuple[Any, ...]) -> torch.Tensor | None:
    """The mask, if a key is one over the first axes of an array."""
    if len(items) != 1 or not is_mask(items[0]):
        return None
    mask = items[0]
    return mask if mask.dim() and mask.shape == array._t.shape[: mask.dim()] else None


class Masks:
    """What masks choose in a recording, and what is written through them."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder

    def chosen(self, array: Any, items: tuple[Any, ...]) -> Any:
        """What a mask that is no constant chooses of an array, None if the key is another one."""
        mask = _mask_of(array, items)
        if mask is None or self._recorder.is_constant(mask) or is_transformed() or array._t.requires_grad:
            return None
        # Where it does not choose there are ones, with which every function can do something.
        tensor = array._t
        one = torch.ones((), dtype=tensor.dtype, device=tensor.device)
        return _standing(wrap.wrap_array(torch.where(_over(mask, tensor), tensor, one)), mask, self._sameness(mask))

    def put(self, array: Any, items: tuple[Any, ...], value: Any) -> bool:
        """Whether what a mask chose of an array was written where it chooses of another."""
        if not isinstance(value, Chosen):
            return False
        mask, whole = _mask_of(array, items), value._full._t
        if mask is None or not value._same(mask) or whole.shape != array._t.shape:
            raise refusal()
        write("setitem", array, whole, mask=_over(mask, whole))
        return True

    def _sameness(self, mask: torch.Tensor) -> Any:
        """A function that says whether another mask has the numbers that this one has now."""
        recorder = self._recorder
        before = recorder.epoch(mask)

        def same(other: torch.Tensor) -> bool:
            if recorder.epoch(mask) != before:
                return False
            if other is mask:
                return True
            unwritten = not before and not recorder.epoch(other)
            return unwritten and self._are_alike(recorder.node(mask), recorder.node(other))

        return same

    def _are_alike(self, a: Any, b: Any) -> bool:
        """Whether two operations are the same, of the same, with no write between them."""
        if a is b or not isinstance(a, torch.fx.Node) or not isinstance(b, torch.fx.Node):
            return a is b or (type(a) is type(b) and isinstance(a, (bool, int, float)) and repr(a) == repr(b))
        after = self._recorder.after
        if a.target is not b.target or a not in after or after[a] != after.get(b) or a.kwargs != b.kwargs:
            return False
        return len(a.args) == len(b.args) and all(self._are_alike(*pair) for pair in zip(a.args, b.args))
