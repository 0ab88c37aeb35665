"""A call with decomposed tensors among its arguments, to be made again with other tensors in their place."""

from __future__ import annotations

import cmath
import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import torch

from npdec._decomposed.choices import compare_choices
from npdec._decomposed.registry import traits_of
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.size_warnings import is_large
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._impl._util import single, working_dtype
from npdec._torch.functorch import mapped
from npdec._torch.tracing import name_of, tracing

__all__ = ["Call"]

Function = Callable[..., Any]


class _Leaf:
    """One decomposed tensor among the arguments: where it stands, and its tag."""

    __slots__ = ("key", "place", "tag", "tensor")

    def __init__(self, key: int | str, place: int | None, tag: str, tensor: DecomposedTensor) -> None:
        self.key = key
        self.place = place
        self.tag = tag
        self.tensor = tensor


class Call:
    """A call of a function with decomposed tensors among its arguments, to be made again with other tensors there."""

    def __init__(
        self,
        func: Function,
        tags: dict[int | str, str] | None,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        optional: Collection[int | str] = (),
    ) -> None:
        self.func = func
        self.tags = tags
        self.traits = traits_of(func)
        self.optional = optional
        self.args = list(args)
        self.kwargs = dict(kwargs)
        self.decomposed: list[_Leaf] = []
        self.constant_linear: list[int | str] = []
        self.constant_factors: list[int | str] = []
        for i, arg in enumerate(args):
            self._scan(i, arg, "Smooth" if tags is None else tags.get(i))
        for name, arg in kwargs.items():
            self._scan(name, arg, "Smooth" if tags is None else tags.get(name))

    def _scan(self, key: int | str, arg: Any, tag: str | None) -> None:
        kind = type(arg)
        if kind is DecomposedTensor:
            if tag == "Opaque" or (tag is None and arg.discrete):
                self._put(key, self._looked_at(arg))
            else:  # of an argument without a tag nothing is known but that it may matter
                self.decomposed.append(_Leaf(key, None, tag or "Smooth", arg))
        elif kind is tuple or kind is list or kind is torch.Size:
            found = False
            for i, item in enumerate(arg):
                if type(item) is DecomposedTensor:
                    if not found:
                        arg = list(arg)
                        self._put(key, arg)
                        found = True
                    if tag == "Opaque" or (tag is None and item.discrete):
                        arg[i] = self._looked_at(item)
                    else:
                        self.decomposed.append(_Leaf(key, i, tag or "Smooth", item))
            if arg and not any(type(item) is DecomposedTensor for item in arg):
                self._constant(key, tag)
        elif tag is not None and isinstance(arg, (torch.Tensor, int, float, complex)):
            if isinstance(arg, torch.Tensor) and arg.layout is not torch.strided and tag != "Smooth":
                name = getattr(self.func, "__name__", self.func)
                raise NotImplementedError(
                    f"{name}: contributions do not pass through it with a tensor of the layout {arg.layout}; matrix "
                    "products aside, use .to_dense() of that"
                )
            self._constant(key, tag)

    def _looked_at(self, arg: DecomposedTensor) -> torch.Tensor:
        compare_choices(name_of(self.func), arg.value, arg.residual)
        return arg.value

    def _constant(self, key: int | str, tag: str | None) -> None:
        if tag == "Linear":
            self.constant_linear.append(key)
        elif tag == "Multilinear":
            self.constant_factors.append(key)

    def _put(self, key: int | str, value: Any) -> None:
        if isinstance(key, int):
            self.args[key] = value
        else:
            self.kwargs[key] = value

    @property
    def tensors(self) -> list[DecomposedTensor]:
        return [leaf.tensor for leaf in self.decomposed]

    @property
    def reverse(self) -> bool:
        return self.decomposed[0].tensor.reverse

    def __call__(self, *tensors: Any) -> Any:
        """The function with these tensors in place of the decomposed ones."""
        return self._with(tensors, [], linear_only=False)

    def ends(self) -> tuple[Any, Any]:
        """What the function gives of the values, and of the residuals."""
        with no_graph(self.reverse):
            return self(*[t.value for t in self.tensors]), self(*[t.residual for t in self.tensors])

    def _factors(self) -> Iterator[Any]:
        """The arguments that are not decomposed, and that components are multiplied with."""
        for key in self.constant_factors:
            yield self.args[key] if isinstance(key, int) else self.kwargs[key]

    def has_tensor_factor(self) -> bool:
        """Whether components are multiplied with a tensor that is not decomposed."""
        return any(isinstance(factor, torch.Tensor) for factor in self._factors())

    def has_large_factor(self) -> bool:
        """Whether an argument that is not decomposed may make what is multiplied with it a million times as large."""
        return not (tracing() or mapped()) and any(map(is_large, self._factors()))

    def has_infinite_factor(self) -> bool:
        """Whether an argument that is not decomposed, and that components are multiplied with, holds an infinity."""
        if tracing():
            return False
        for factor in self._factors():
            if isinstance(factor, torch.Tensor):
                if carries(factor.dtype) and not mapped() and bool(torch.isinf(factor).any()):
                    return True
            elif not isinstance(factor, (tuple, list)) and cmath.isinf(factor):
                return True
        return False

    def widened(self) -> Call:
        """The same call with the plain arguments of half precision in single precision; the others will be given so."""
        other = copy.copy(self)
        other.args = [_widened(arg) for arg in self.args]
        other.kwargs = {name: _widened(arg) for name, arg in self.kwargs.items()}
        return other

    def of(self, func: Function) -> Call:
        """The same call of another function."""
        other = copy.copy(self)
        other.func = func
        return other

    def keeping_constants(self) -> Call:
        """The same call with copies of the tensors that are not decomposed: one that is made again when gradients go
        back, when they may have been written to."""
        other = copy.copy(self)
        other.args = [_kept(arg) for arg in self.args]
        other.kwargs = {name: _kept(arg) for name, arg in self.kwargs.items()}
        return other

    def linear_part(self, *tensors: Any) -> Any:
        """The same without its constant terms: Linear arguments that are not decomposed are zero, and so is a product
        of constants."""
        zeroed = self.constant_linear
        if self.constant_factors and all(leaf.tag == "Linear" for leaf in self.decomposed):
            zeroed = zeroed + self.constant_factors
        return self._with(tensors, zeroed, linear_only=True)

    def _with(self, tensors: Sequence[Any], zeroed: Sequence[int | str], linear_only: bool) -> Any:
        leaf = self.decomposed[0]
        if len(self.decomposed) == 1 and leaf.key == 0 and leaf.place is None and not zeroed:
            return self.func(tensors[0], *self.args[1:], **self.kwargs)
        args, kwargs = list(self.args), dict(self.kwargs)
        copied: set[int | str] = set()
        for key in zeroed:
            target: Any = args if isinstance(key, int) else kwargs
            target[key] = None if key in self.optional else _zero(target[key], tensors[0].dtype)
        for leaf, tensor in zip(self.decomposed, tensors, strict=True):
            target = args if isinstance(leaf.key, int) else kwargs
            if leaf.place is None:
                target[leaf.key] = tensor
                continue
            if leaf.key not in copied:
                copied.add(leaf.key)
                items = list(target[leaf.key])
                if linear_only and leaf.tag == "Linear":
                    items = [i if type(i) is DecomposedTensor else _zero(i, tensor.dtype) for i in items]
                target[leaf.key] = items
            target[leaf.key][leaf.place] = tensor
        return self.func(*args, **kwargs)


def _kept(arg: Any) -> Any:
    if type(arg) in (tuple, list):
        return type(arg)(_kept(item) for item in arg)
    if isinstance(arg, torch.Tensor) and not isinstance(arg, DecomposedTensor):
        return arg.detach().clone()
    return arg


def _widened(arg: Any) -> Any:
    if type(arg) is tuple or type(arg) is list:
        return type(arg)([_widened(item) for item in arg])
    if isinstance(arg, torch.dtype):
        return working_dtype(arg)
    return arg if type(arg) is DecomposedTensor or not isinstance(arg, torch.Tensor) else single(arg)


def _zero(constant: Any, dtype: torch.dtype) -> Any:
    """Nothing, in the shape of a constant that enters linearly; of integers a floating one, of the dtype of what is
    beside it."""
    if isinstance(constant, torch.Tensor):
        return torch.zeros_like(constant, dtype=constant.dtype if carries(constant.dtype) else dtype)
    if isinstance(constant, (tuple, list)):
        return [_zero(item, dtype) for item in constant]
    return type(constant)(0)
