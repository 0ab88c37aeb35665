"""Where `npdec._native` is built, elements and scalars are tried there first."""

from __future__ import annotations

import torch
from torch.utils import _python_dispatch as _dispatch

from npdec._array import fp_state, wrap
from npdec._array.element_memory import LETTERS
from npdec._array.elements import ElementAccess, sample_array
from npdec._array.family import Family
from npdec._core.base import NDArrayBase
from npdec._dtypes.dtype import SCALARS
from npdec._native import calls
from npdec._normalizer.number_operators import BETWEEN

__all__ = ["attach_native"]


def attach_native() -> None:
    """Called once, when arrays and scalars have their methods and operators."""
    if calls is None:
        return
    numbers = {letter: (SCALARS[dtype], vars(SCALARS[dtype])["_n"]) for dtype, letter in LETTERS.items()}
    calls.attach_scalars(numbers, tuple(wrap.BOOLS), vars(fp_state))
    for cls, _ in numbers.values():
        for stem in BETWEEN:
            for name, reflected in ((f"__{stem}__", False), (f"__r{stem}__", True)):
                if name in vars(cls):
                    calls.attach_operator(vars(cls)[name], stem, reflected)
    sample = sample_array()
    calls.attach_elements(
        ElementAccess.__getitem__,
        ElementAccess.__setitem__,
        (wrap.ARRAY, torch.Tensor, Family, calls.Elements),
        tuple(vars(NDArrayBase)[name] for name in ("_t", "_w", "_m")),
        tuple(vars(Family)[name] for name in ("limit", "mirrors", "mixed")),
        vars(_dispatch),
        torch._C._increment_version,
        calls.references(sample._w),
    )
