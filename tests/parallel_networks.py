"""Networks, and how torch lays them out over processes, for tests/parallel_cases.py."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

TOKENS, WIDTH, HEADS = 8, 16, 4


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(3 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        heads = [part(x).view(*x.shape[:2], -1, WIDTH // HEADS).transpose(1, 2) for part in (self.q, self.k, self.v)]
        return self.o(self.mixed(*heads).transpose(1, 2).flatten(2))

    def mixed(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Written(Attention):
    """Attention of operations that DTensors know."""

    def mixed(self, q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) / 2, -1) @ v


class Block(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.before, self.attention, self.between, self.mlp = nn.LayerNorm(WIDTH), attention, nn.RMSNorm(WIDTH), MLP()

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.mlp(self.between(x))


def of(place, plan):
    return {f"{place}.{name}": style for name, style in plan.items()}


def plans():
    """Networks, and how they are laid out, in turns."""
    kept = {"use_local_output": False}
    whole = {"input_layouts": Shard(1), "desired_input_layouts": Replicate()}
    mlp = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    attention = dict.fromkeys("qkv", ColwiseParallel()) | {"o": RowwiseParallel()}
    of_dtensors = dict.fromkeys("qkv", ColwiseParallel(**kept)) | {"o": RowwiseParallel(output_layouts=Shard(1))}
    sequence = {
        "before": SequenceParallel(), "between": SequenceParallel(), "attention": PrepareModuleInput(**whole),
        **of("attention", of_dtensors), "mlp": PrepareModuleInput(**whole), "mlp.up": ColwiseParallel(),
        "mlp.down": RowwiseParallel(output_layouts=Shard(1)),
    }  # fmt: skip
    cut = PrepareModuleInputOutput(
        input_layouts=Replicate(), desired_input_layouts=Shard(1), use_local_input=True, output_layouts=Shard(1),
        desired_output_layouts=Replicate(),
    )  # fmt: skip
    gathered = PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(1), use_local_output=False)
    return {
        "mlp": (MLP, mlp),
        "mlp of dtensors": (MLP, {"up": ColwiseParallel(**kept), "down": RowwiseParallel(**kept)}),
        "attention": (Attention, attention),
        "attention of dtensors": (Written, dict.fromkeys("qkv", ColwiseParallel(**kept)) | {"o": RowwiseParallel()}),
        "block": (lambda: Block(Attention()), of("attention", attention) | of("mlp", mlp)),
        "sequence": (lambda: Block(Written()), sequence, cut),
        "an output in parts": (MLP, mlp, gathered),
    }  # fmt: skip
