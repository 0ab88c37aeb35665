"""Decomposed tensors made of their parts, as PyDec makes its compositions: the value is the sum of components and
residual."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._convert import as_dtype, as_shape
from npdec._decomposed import DecomposedTensor, carries

__all__ = [
    "as_composition",
    "c_apply",
    "c_cat",
    "c_index_select",
    "c_map",
    "c_masked_fill",
    "c_numel",
    "c_stack",
    "c_sum",
    "composition",
    "diagonal_init",
    "numc",
    "parts_of",
]


def as_composition(components: torch.Tensor, residual: torch.Tensor | None = None) -> DecomposedTensor:
    """The decomposed tensor of these parts, which are not copied: components (C, *S), a residual of shape S (by default
    zeros). Its labels are 0 to C − 1, so that components of equal number belong together.

    Raises TypeError for integers, ValueError for shapes or dtypes that do not fit together.

    >>> np.as_composition(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    DecomposedTensor(tensor([1., 2.]), components=2)
    """
    if not isinstance(components, torch.Tensor) or not components.ndim:
        raise TypeError(f"as_composition: components are a torch.Tensor of shape (C, *S), not {components!r}")
    if residual is None:
        residual = components.new_zeros(components.shape[1:])
    if not carries(components.dtype):
        raise TypeError(f"as_composition: components are real or complex numbers, not {components.dtype}")
    if residual.dtype is not components.dtype or residual.device != components.device:
        raise ValueError(
            f"as_composition: components of dtype {components.dtype} on {components.device} need a residual like them, "
            f"not of {residual.dtype} on {residual.device}"
        )
    labels = tuple(range(len(components)))
    if residual.shape != components.shape[1:]:
        raise ValueError(
            f"as_composition: components of shape {tuple(components.shape)} need a residual of shape "
            f"{tuple(components.shape[1:])}, not {tuple(residual.shape)}"
        )
    return DecomposedTensor(residual + components.sum(0), residual, components, labels)


def composition(components: Any, residual: torch.Tensor | None = None) -> DecomposedTensor:
    """A decomposed tensor of copies of these parts, or of the parts of another one, without autograd's graph."""
    if isinstance(components, DecomposedTensor):
        if residual is not None:
            raise TypeError("Composition: another composition has its residual already")
        components, residual = components.components, components.residual
    if residual is not None and not isinstance(residual, torch.Tensor):
        raise TypeError(f"Composition: a residual is a torch.Tensor, not {residual!r}")
    return as_composition(components.detach().clone(), None if residual is None else residual.detach().clone())


def parts_of(name: str, shape: Any, dtype: Any, order: str, device: Any, like: Any, c_num: int) -> DecomposedTensor:
    """`np.zeros(shape, c_num=...)`."""
    if order != "C" or like is not None:
        raise ValueError(f"{name}: with c_num, a torch tensor is made, which order= and like= do not describe")
    made = None if dtype is None else as_dtype(dtype)
    return as_composition(torch.zeros((int(c_num), *as_shape(shape)), dtype=made, device=device))


def diagonal_init(input: DecomposedTensor, src: torch.Tensor, dim: int, offset: int = 0) -> DecomposedTensor:
    """`input` with `src`, of its shape, spread over the components: component i has what `src` has at index i of axis
    `dim`, at that index; with an `offset`, component i is written at index i + `offset`.

    >>> x = torch.tensor([1.0, 2.0])
    >>> np.diagonal_init(np.zeros(x.size(), c_num=2), src=x, dim=0).components
    tensor([[1., 0.],
            [0., 2.]])
    """
    dim %= src.ndim
    components = input.components.diagonal_scatter(src.movedim(dim, -1), offset=offset, dim1=0, dim2=dim + 1)
    return as_composition(components, input.residual.clone())


def c_apply(input: DecomposedTensor, callable: Callable[[torch.Tensor], torch.Tensor]) -> DecomposedTensor:
    """What the function makes of the components, as they stand in one tensor, and of the residual."""
    return as_composition(callable(input.components), callable(input.residual))


def c_map(
    input: DecomposedTensor, other: DecomposedTensor, callable: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> DecomposedTensor:
    """What the function makes of the components of both, and of the residuals."""
    return as_composition(callable(input.components, other.components), callable(input.residual, other.residual))


def c_cat(compositions: Sequence[DecomposedTensor], *, sum_residual: bool = True) -> DecomposedTensor:
    """All components, one set after the other; the residual is the sum of the residuals, or zero.

    Raises ValueError for different shapes.
    """
    if any(c.shape != compositions[0].shape for c in compositions):
        raise ValueError(f"c_cat: one shape is needed, not {', '.join(str(tuple(c.shape)) for c in compositions)}")
    residual = torch.stack([c.residual for c in compositions]).sum(0) if sum_residual else None
    return as_composition(torch.cat([c.components for c in compositions]), residual)


def c_stack(components: Sequence[torch.Tensor]) -> DecomposedTensor:
    """A composition with these tensors, of one shape, for components."""
    return as_composition(torch.stack(list(components)))


def c_index_select(input: DecomposedTensor, index: torch.Tensor, with_residual: bool = True) -> DecomposedTensor:
    """The chosen components; the residual is that of the input, or zero."""
    return as_composition(input.components.index_select(0, index), input.residual.clone() if with_residual else None)


def c_masked_fill(input: DecomposedTensor, mask: torch.Tensor, value: Any) -> DecomposedTensor:
    """The components with `value` where the mask, one boolean for each or a tensor that broadcasts to them, is true."""
    if mask.ndim == 1:
        if len(mask) != len(input.labels):
            raise ValueError(f"c_masked_fill: a mask of {len(mask)} for {len(input.labels)} components")
        mask = mask.reshape((-1,) + (1,) * input.ndim)
    return as_composition(input.components.masked_fill(mask, value), input.residual.clone())


def numc(input: Any) -> int:
    """The number of components of a decomposed tensor or array."""
    return len(input.labels)


def c_numel(input: Any, count_residual: bool = False) -> int:
    """The number of elements of all components, and of the residual if that is wanted."""
    return math.prod(input.shape) * (len(input.labels) + bool(count_residual))


def c_sum(input: Any, *, dtype: torch.dtype | None = None) -> Any:
    """`residual + components.sum(0)`: the value, from its parts."""
    made = input.c_sum()
    return made if dtype is None else made.to(dtype)
