"""Components of many labels: kept by their entries, or found backwards, they are what they are when all are made."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch

from decomposition_cases import inexact, run
from npdec import _sizes, _windows
from test_decomposition_table import CHOICES, _decomposed, choice_id

pytestmark = pytest.mark.usefixtures("decomposition_warnings_alone")


@contextlib.contextmanager
def every_array_is_large():
    """As if any number of components were many, and any size large: no rule makes those of more than one number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_windows, "_LEAST", 0)
        patch.setattr(_windows, "_SMALL", 0)
        patch.setattr(_sizes, "_MANY", 0)
        patch.setattr(_sizes, "_LARGE", 0)
        yield


def parts(made: list[Any]) -> list[Any]:
    return [(x.value.tensor, x.residual.tensor, x.components.tensor, x.labels) if inexact(x) else x for x in made]


# The first sample of each function.
SOME = {name: (name, sample, chosen) for name, sample, chosen in reversed(CHOICES)}


@pytest.mark.parametrize(("name", "sample", "chosen"), SOME.values(), ids=choice_id)
def test_functions(name, sample, chosen):
    _, _, marked = _decomposed(sample, chosen)
    dense = parts(run(name, sample, marked))
    with every_array_is_large():
        _, _, marked = _decomposed(sample, chosen)
        made = run(name, sample, marked)
    for got, want in zip(parts(made), dense, strict=True):
        if isinstance(want, tuple):
            assert len(got[3]) == len(want[3])
            tolerance = 1e-12 if got[0].dtype in (torch.float64, torch.complex128) else 1e-5
            for one, other in zip(got[:3], want[:3], strict=True):
                torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)
