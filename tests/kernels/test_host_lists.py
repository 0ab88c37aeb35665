"""Lists of places stay on the host: no tensor is made of them, which would go to an array's device and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import npdec as np
from npdec._impl import joining_impl

SPLITS: dict[str, Callable[[Any, Any], Any]] = {
    "split": lambda lib, x: lib.split(x, [1, 3]),
    "split along an axis": lambda lib, x: lib.split(x, (1, -1, 9), -1),
    "split beyond": lambda lib, x: lib.split(x, [3, 1, 50], 1),
    "array_split": lambda lib, x: lib.array_split(x, [2], axis=2),
    "hsplit": lambda lib, x: lib.hsplit(x, [1, 2]),
    "vsplit": lambda lib, x: lib.vsplit(x, [0]),
    "dsplit": lambda lib, x: lib.dsplit(x, [1]),
}


@pytest.mark.parametrize("name", SPLITS)
def test_places_to_cut_at_are_read_where_they_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(joining_impl._util, "integers", lambda x: asked.append(x) or x.tolist())
    x = numpy.arange(48.0).reshape(4, 4, 3)
    wanted, found = SPLITS[name](numpy, x), SPLITS[name](np, np.array(x))
    assert not asked
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        numpy.testing.assert_array_equal(a.to_numpy(), b)
