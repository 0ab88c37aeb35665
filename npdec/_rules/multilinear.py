"""Torch's functions that are linear in each of several arguments: products of every kind, and convolutions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._core.signatures import read_parameters
from npdec._core.tags import Linear, Multilinear
from npdec._decomposed.registry import Trait
from npdec._law import ordinary_pairs, ordinary_products, ordinary_reverse
from npdec._law.discrete import as_numbers
from npdec._law.law import TaggedRule
from npdec._law.reverse_einsum import einsum as einsum_in_reverse
from npdec._rules.rule import rule


@rule("mul multiply", traits=Trait.ELEMENTWISE | Trait.MULTIPLY)
@rule("bmm dot", traits=Trait.MATMUL)
@rule("kron", traits=Trait.HIDES_WRITES, short=ordinary_products.product)
@rule("inner vdot outer ger", short=ordinary_products.product)
def product(input: Multilinear, other: Multilinear) -> Any: ...


@rule("cross vecdot tensordot", short=ordinary_products.product)
def product_along(input: Multilinear, other: Multilinear, *args: Any, **kwargs: Any) -> Any: ...


@rule("einsum", short=ordinary_pairs.einsum, reverse=einsum_in_reverse)
def einsum(equation: Any, *operands: Multilinear) -> Any: ...


@rule("multi_dot chain_matmul")
def multi_dot(tensors: Multilinear) -> Any: ...


@rule("addmv addbmm baddbmm")
def addmv(input: Linear, mat1: Multilinear, mat2: Multilinear, *, beta: Any = 1, alpha: Any = 1) -> Any: ...


class _Promoted(TaggedRule):
    """Of a function that takes integers beside other numbers, which its gradient does not."""

    def __call__(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        given = [item.dtype for item in (*args, *kwargs.values()) if isinstance(item, torch.Tensor)]
        dtype = functools.reduce(torch.promote_types, given)
        named = {name: as_numbers(item, dtype) for name, item in kwargs.items()}
        return super().__call__(func, [as_numbers(item, dtype) for item in args], named)


rule("addr")(_Promoted(read_parameters(addmv)))


@rule("addcmul", traits=Trait.ELEMENTWISE)
def addcmul(input: Linear, tensor1: Multilinear, tensor2: Multilinear, *, value: Any = 1) -> Any: ...


@rule(F.linear, traits=Trait.LAYER)
def linear(input: Multilinear, weight: Multilinear, bias: Linear | None = None) -> Any: ...


@rule("bilinear")
def bilinear(input1: Multilinear, input2: Multilinear, weight: Multilinear, bias: Linear | None = None) -> Any: ...


@rule(
    "conv1d conv2d conv3d",
    traits=Trait.CONV,
    short=ordinary_products.convolution,
    reverse=ordinary_reverse.convolution,
)
@rule("convolution")
@rule(
    *(F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d),
    short=ordinary_products.convolution,
    reverse=ordinary_reverse.convolution,
)
def convolution(
    input: Multilinear, weight: Multilinear, bias: Linear | None = None, *args: Any, **kwargs: Any
) -> Any: ...


@rule("conv_tbc")
def conv_tbc(input: Multilinear, weight: Multilinear, bias: Linear, pad: int = 0) -> Any: ...
