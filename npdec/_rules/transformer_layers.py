"""Rules of torch's fused functions of transformers."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

__all__ = ["encoder_layer", "linear_cross_entropy", "native_attention"]


def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """(The options are about how memory is used.)"""
    ignored = -100 if ignore_index is None else ignore_index
    classes = tuple(linear_weight.shape[:-1])  # and perhaps places, of which each has its own
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = F.linear(input, linear_weight.flatten(0, -2), bias).unflatten(-1, classes)
    return F.cross_entropy(scores, target, weight, None, ignored, None, reduction, label_smoothing)


def native_attention(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_head: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Any, Any]:
    """The inner part of nn.MultiheadAttention in evaluation."""
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    made = [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]
    q, k, v = [x.unflatten(-1, (num_head, -1)).transpose(1, 2) for x in made]
    scores = torch.matmul(q * (q.shape[-1] ** -0.5), k.transpose(-2, -1))
    if mask is not None:
        wide = mask if mask.ndim == 4 else mask[:, None, None, :] if mask_type == 1 else mask
        scores = scores.masked_fill(wide, -torch.inf) if mask.dtype is torch.bool else scores + wide
    shares = torch.softmax(scores, -1)
    mixed = torch.matmul(shares, v).transpose(1, 2).flatten(-2)
    result = F.linear(mixed, proj_weight, proj_bias)
    if not need_weights:
        return result, None
    return result, shares.mean(1) if average_attn_weights else shares


def encoder_layer(
    src: Any,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Any,
    norm_bias_1: Any,
    norm_weight_2: Any,
    norm_bias_2: Any,
    ffn_weight_1: Any,
    ffn_bias_1: Any,
    ffn_weight_2: Any,
    ffn_bias_2: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    """nn.TransformerEncoderLayer in evaluation."""

    def attended(x: Any) -> Any:
        return native_attention(
            x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type
        )[0]

    def fed(x: Any) -> Any:
        inner = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(inner) if use_gelu else F.relu(inner), ffn_weight_2, ffn_bias_2)

    def first(x: Any) -> Any:
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x: Any) -> Any:
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        src = src + attended(first(src))
        return src + fed(second(src))
    src = first(src + attended(src))
    return second(src + fed(src))
