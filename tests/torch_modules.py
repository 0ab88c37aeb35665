"""The table of torch's own samples of modules."""

from __future__ import annotations

import warnings

import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_modules import module_db

D = torch.float64


def name_of(cls: type) -> str:
    return cls.__name__


# Arguments of forward that are looked at only.
LOOKED_AT: dict[str, tuple[int | str, ...]] = {"CosineEmbeddingLoss": (2,), "HingeEmbeddingLoss": (1,)}
LARGE = {"CTCLoss": "see test_torch_coverage.py", "FractionalMaxPool3d": "a small one is below"}
TABLE = {name_of(info.module_cls): info for info in module_db if D in info.dtypes}
MODES = [
    (name, training)
    for name, info in TABLE.items()
    if name not in LARGE
    for training in ((True, False) if info.train_and_eval_differ else (False,))
]
