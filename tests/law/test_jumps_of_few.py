"""Functions with jumps of two decomposed arrays of few elements, and of one and a number: they give in C what they give
of the elements one by one."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from npdec._law import numbers_in_c
from npdec._native import calls

pytestmark = pytest.mark.quick
FUNCTIONS = "remainder fmod floor_divide copysign heaviside divmod".split()
AFTER, BEFORE = [7.25, -0.4, 2.2, 5.0], [0.1, 1.3, 2.2, -5.0]
OTHER, OTHER_BEFORE = [2.0, 0.7, -1.5, 3.0], [1.5, 0.7, -1.0, 2.0]


def decomposed(after: Any, before: Any, dtype: str, labels: Any) -> Any:
    return np.decompose(np.asarray(after, dtype=dtype), baseline=np.asarray(before, dtype=dtype), labels=labels)


def called(function: Any, *args: Any) -> tuple[tuple[Any, ...], list[str]]:
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        made = function(*args)
    return made if isinstance(made, tuple) else (made,), sorted({str(warning.message) for warning in met})


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_one_by_one(name: str, dtype: str) -> None:
    """Of arrays of one shape, of two axes, and beside a number, under labels of both."""
    function = getattr(np, name)
    x, y = decomposed(AFTER, BEFORE, dtype, "pqrs"), decomposed(OTHER, OTHER_BEFORE, dtype, "stuv")
    pairs = [(x, y), (y, x), (x, y[0]), (y[2], x), (x.reshape(2, 2), y.reshape(2, 2)), (x, x + 0.25)]
    for a, b in pairs:
        made, _ = called(function, a, b)
        for place in itertools.product(*map(range, made[0].shape)):
            alone, _ = called(function, *[x[place] if x.ndim else x for x in (a, b)])
            for part, its in zip(made, alone, strict=True):
                assert part.value[place] == its.value
                assert part.residual[place] == its.residual
                found = dict(zip(part._t.labels, torch.Tensor(part._t.components)[(slice(None), *place)], strict=True))
                for label, wanted in zip(its._t.labels, its._t.components, strict=True):
                    close = 1e-12 if dtype == "float64" else 1e-5
                    assert float(found.pop(label)) == pytest.approx(float(wanted), rel=close, abs=close)
                assert not any(map(float, found.values()))


@pytest.mark.skipif(calls is None, reason="npdec._native is not built")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where numbers are drawn, that are zero, or far from each other, too; warnings included."""
    function, source = getattr(np, name), numpy.random.default_rng(5)
    for _ in range(60):
        ends = source.choice([0.0, 1.0, -1.0, 2.5, 1e9, 1e-9], (4, 3)) * source.choice([1.0, 1.5, 0.3], (4, 3))
        x, y = decomposed(ends[0], ends[1], "float64", "pqr"), decomposed(ends[2], ends[3], "float64", "rst")
        for args in ((x, y), (x, y[1]), (x[0], y)):
            with numpy.errstate(all="ignore"):
                made, said = called(function, *args)
                with monkeypatch.context() as patch:
                    patch.setattr(numbers_in_c, "calls", None)
                    wanted, also_said = called(function, *args)
            assert said == also_said
            for part, its in zip(made, wanted, strict=True):
                for ours, theirs in zip(_parts(part), _parts(its), strict=True):
                    assert numpy.allclose(ours, theirs, 1e-12, 1e-12, equal_nan=True), (ends, args)


def _parts(made: Any) -> list[Any]:
    tensor = made._t
    return [torch.Tensor(part).numpy() for part in (tensor.value, tensor.residual, tensor.components)]
