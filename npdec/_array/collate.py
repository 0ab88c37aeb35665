"""Batches: `torch.utils.data.DataLoader` makes tensors of arrays, as it does of NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data._utils.collate import collate, default_collate_fn_map

from npdec._array import wrap
from npdec._array.ndarray import Composition
from npdec._array.scalars import CONCRETE
from npdec._core.base import ArrayBase
from npdec._decomposed.tensor import DecomposedTensor

__all__: list[str] = []


def _tensors(batch: Sequence[ArrayBase], *, collate_fn_map: Any = None) -> Any:
    """One tensor of the arrays or scalars, decomposed if they are."""
    return collate([x._t for x in batch], collate_fn_map=collate_fn_map)


def _stacked(batch: Sequence[DecomposedTensor], *, collate_fn_map: Any = None) -> Any:
    """One decomposed tensor. (In a worker process torch would write the value alone into shared memory; the parts are
    put there when they are sent.)"""
    return torch.stack(tuple(batch))


# The registry for the types of other libraries, by torch's documentation of `torch.utils.data.default_collate`. It asks
# for the very type first: by isinstance a float64 would be a float.
default_collate_fn_map.update(dict.fromkeys((Composition, *CONCRETE, *wrap.CARRIERS.values()), _tensors))
default_collate_fn_map[DecomposedTensor] = _stacked
