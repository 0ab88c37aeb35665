"""How much a function has torch compute, counted: the same in each run, whatever else the machine does meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["Counting"]

# Functions that sum over products of their arguments' elements.
_PRODUCTS = frozenset("""
    addbmm addmm addmv baddbmm bilinear bmm chain_matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d cdist dot einsum gru inner linear lstm matmul mm multi_dot multi_head_attention_forward mv rnn_relu
    rnn_tanh scaled_dot_product_attention tensordot __matmul__ __rmatmul__
""".split())  # fmt: skip
_ELEMENT = 10  # an element that is read, computed and written takes as long as so many multiplications of matrices


class Counting(TorchFunctionMode):
    """Context manager: `multiplications` is how many the functions that torch is called with come to, about: exact for
    a product of two matrices, and what a result takes that has a formula for each element."""

    def __init__(self) -> None:
        super().__init__()
        self.multiplications = 0.0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name != "__get__":
            made = max(_sizes(result), default=0)
            self.multiplications += _ELEMENT * made
            if name in _PRODUCTS:
                self.multiplications += math.sqrt(math.prod(sorted(_sizes((args, kwargs)))[-2:]) * made)
        return result


def _sizes(tree: Any) -> Iterator[int]:
    if isinstance(tree, torch.Tensor):
        yield tree.numel()
    elif isinstance(tree, (tuple, list)):
        for item in tree:
            yield from _sizes(item)
    elif isinstance(tree, dict):
        yield from _sizes(tuple(tree.values()))
