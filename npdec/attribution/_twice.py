"""Functions that are differentiated twice: torch's fast kernels of attention have one derivative only."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["twice"]


class _Attention(TorchFunctionMode):
    """Computes attention in products and a softmax, in this thread alone (`torch.nn.attention.sdpa_kernel` says it to
    all of them)."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.nn.functional.scaled_dot_product_attention and not types:
            return _in_products(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _in_products(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    of_torch = torch.ops.aten._scaled_dot_product_attention_math
    options = {"scale": scale, "enable_gqa": enable_gqa}
    return of_torch(query, key, value, attn_mask, dropout_p, is_causal, None, **options)[0]


@contextlib.contextmanager
def twice(wanted: bool = True) -> Iterator[None]:
    """What runs here can be differentiated twice, if that is wanted. Raises NotImplementedError for what torch has no
    second derivative of."""
    if not wanted:
        yield
        return
    try:
        with _Attention():
            yield
    except RuntimeError as error:
        found = re.search(r"derivative for '?(\S+?)'? is not implemented", str(error))
        if found is None:
            raise
        raise NotImplementedError(
            f"attribute: this takes a second derivative, and torch has none of {found[1]}: pairs and layers have "
            "method='local', which takes first ones alone"
        ) from error
