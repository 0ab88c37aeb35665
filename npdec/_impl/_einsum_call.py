"""torch.einsum of three operands and more: the path that it looks for anew at each call is kept, by the shapes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import _VF
from torch.backends import opt_einsum

__all__ = ["einsum"]

_functions: Any = _VF


@functools.lru_cache(256)
def _path(equation: str, shapes: tuple[torch.Size, ...], strategy: str | None) -> list[int]:
    """The path that torch looks for, its pairs one after the other."""
    pairs = opt_einsum.get_opt_einsum().contract_path(equation, *shapes, shapes=True, optimize=strategy)[0]
    return [*itertools.chain.from_iterable(pairs)]


def _has_path(operands: Sequence[torch.Tensor]) -> bool:
    return opt_einsum.enabled and opt_einsum.is_available() and all(type(x) is torch.Tensor for x in operands)


def einsum(equation: str, operands: Sequence[torch.Tensor]) -> Any:
    """`torch.einsum(equation, *operands)`."""
    if len(operands) > 2 and not torch.compiler.is_dynamo_compiling() and _has_path(operands):
        path = _path(equation, tuple([x.shape for x in operands]), opt_einsum.strategy)
        return _functions.einsum(equation, operands, path=path)
    return torch.einsum(equation, *operands)
