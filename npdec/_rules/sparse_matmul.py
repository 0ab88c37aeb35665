"""Products with a sparse matrix, which holds no contributions itself: those of the dense factor are more columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.registry import Trait
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law import law
from npdec._law.reverse_forms import affine
from npdec._rules.by_formula import own_numbers
from npdec._rules.rule import rule

__all__ = []

Function = Callable[..., Any]


def _is_sparse(t: Any) -> bool:
    return type(t) is not DecomposedTensor and isinstance(t, torch.Tensor) and t.layout is not torch.strided


class _Product(law.TaggedRule):
    """The rule of a product, one factor of which may be sparse."""

    __slots__ = ()

    def __call__(self, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if len(args) > 1 and (_is_sparse(args[0]) or _is_sparse(args[1])):
            if func is torch.Tensor.__rmatmul__:
                func, args = torch.matmul, (args[1], args[0])
            return _with_sparse(func, *args[:2])
        return super().__call__(func, args, kwargs)


def _with_sparse(func: Function, left: Any, right: Any) -> Any:
    if not isinstance(left, DecomposedTensor) and not isinstance(right, DecomposedTensor):
        return func(left, right)
    x = left if isinstance(left, DecomposedTensor) else right
    if x.ndim > 2:
        raise NotImplementedError(
            f"{func.__name__}: contributions of shape {tuple(x.shape)} do not pass through a product with a sparse "
            "tensor: use matrices, or .to_dense() of the sparse one"
        )
    c = x.components
    with no_graph(x.reverse):
        value, residual = (func(*[part if t is x else t for t in (left, right)]) for part in (x.value, x.residual))
    if x is left:
        made = (c.reshape(-1, c.shape[-1]) @ right).reshape(len(c), *value.shape)
    else:
        columns = c.movedim(0, -1).reshape(c.shape[1], -1)
        made = (left @ columns).reshape(*value.shape, len(c)).movedim(-1, 0)
    return DecomposedTensor(value, residual, made, x.labels, x.reverse)


_ADDED = law.TaggedRule.of("Linear", "Multilinear", "Multilinear")


@rule("addmm", traits=Trait.ADDMM, tags=_ADDED.tags, reverse=partial(affine, 0))
@rule(torch.sparse.addmm, tags=_ADDED.tags)
def _added(func: Function, input: Any, mat1: Any, mat2: Any, **scales: Any) -> Any:
    """beta · input + alpha · mat1 @ mat2. (Without scales it is a product that is known.)"""
    if not (_is_sparse(mat1) or _is_sparse(mat2)):
        return _ADDED(func, (input, mat1, mat2), scales)
    made = input * scales.get("beta", 1) + torch.matmul(mat1, mat2) * scales.get("alpha", 1)
    return own_numbers(func, (input, mat1, mat2), scales, made)


_PRODUCT = _Product.of("Multilinear", "Multilinear")
_T = torch.Tensor
rule("__rmatmul__ smm", torch.sparse.mm)(_PRODUCT)
rule("mm mv", torch.matmul, _T.matmul, torch.linalg.matmul, traits=Trait.MATMUL)(_PRODUCT)
