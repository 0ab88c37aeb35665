"""Smooth functions of two decomposed numbers, and of one beside a constant, in C: to the last bit what the same
steps give in Python, which the general way is compared with where somebody looks on."""

from __future__ import annotations

import itertools
import random
import warnings
from typing import Any

import pytest
import torch

import npdec as np
from npdec._law import numbers_in_c, ordinary_smooth
from npdec._native import calls

pytestmark = pytest.mark.slow
FUNCTIONS = "hypot arctan2 logaddexp logaddexp2 nextafter power float_power".split()
PLACES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e-9, 1.0 + 1e-9, -2.5, 40.0, 1e-160]


def drawn(seed: int, dtype: Any) -> tuple[Any, Any]:
    """Two numbers whose ends are drawn from a few, or of any size, and whose components may cancel."""
    source = random.Random(seed)
    made = []
    for label in ("a", "b"):
        ends = [
            source.choice(PLACES) if source.random() < 0.6 else source.choice((-1, 1)) * 10 ** source.uniform(-6, 3)
            for _ in range(2)
        ]
        x = np.decompose(np.asarray(ends[:1], dtype=dtype), baseline=np.asarray(ends[1], dtype=dtype), labels=[label])[
            0
        ]
        if source.random() < 0.5:
            one = np.decompose(np.asarray([0.25], dtype=dtype), baseline=0.0, labels=["c"])[0]
            x = x + one - 0.25
        made.append(x)
    return made[0], made[1]


def called(function: Any, *args: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        made = function(*args)
    return made, sorted({str(warning.message) for warning in met})


def bits(made: Any) -> list[bytes]:
    tensor = made._t
    parts = tensor.value, tensor.residual, tensor.components
    return [part.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() for part in parts]


@pytest.mark.skipif(calls is None, reason="npdec._native is not built")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_in_python(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value, the residual, and the contributions."""
    function, answered = getattr(np, name), 0
    for seed in range(40):
        a, b = drawn(seed, dtype)
        for args in ((a, b), (a, 2.5), (0.5, b), (a, 2), (a, a)):
            made, said = called(function, *args)
            with monkeypatch.context() as patch:
                patch.setattr(ordinary_smooth, "smooth_numbers", lambda *_: None)
                patch.setattr(ordinary_smooth, "calls", None)
                wanted, also_said = called(function, *args)
            if all(np.isfinite(end) for end in (made.value, made.residual)):
                assert bits(made) == bits(wanted), (seed, args)
                answered += 1
            assert said == also_said
    assert answered > 40


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_general(name: str) -> None:
    """Contributions are those of the general way, the origin and the axes included."""
    function = getattr(np, name)
    ends = [0.0, 1.0, -2.5]
    for x, r, y, s in itertools.product(ends, repeat=4):
        a = np.decompose(np.asarray([x]), baseline=r, labels=["a"])[0]
        b = np.decompose(np.asarray([y]), baseline=s, labels=["b"])[0]
        made, _ = called(function, a, b)
        try:
            with np.check_completeness():
                wanted, _ = called(function, a, b)
        except np.exceptions.CompletenessError:
            continue
        if all(np.isfinite(end) for end in (made.value, made.residual)) and np.isfinite(wanted.components).all():
            size = 1 + abs(float(made.value)) + float(np.abs(wanted.components).sum())
            assert float(np.abs(made.components - wanted.components).max()) <= 1e-10 * size, (x, r, y, s)


def test_conditions_and_integers_beside_numbers() -> None:
    """A condition, or an integer, beside a number is the number that it is."""
    x = np.decompose(np.asarray([1.5, -0.4, 2.2]), baseline=0.1)
    for dtype in (np.float64, np.float32):
        s, c = x.astype(dtype)[0], x[2] > 0.5
        for name, discrete in itertools.product(FUNCTIONS, (c, c.astype(int), True, np.int64(3), np.bool_(True))):
            function = getattr(np, name)
            for args in ((s, discrete), (discrete, s)):
                made, said = called(function, *args)
                with np.check_completeness(rtol=1e-5):
                    wanted, also_said = called(function, *args)
                assert made.dtype == wanted.dtype
                assert bits(made)[:2] == bits(wanted)[:2]
                close = 1e-11 if made.dtype == np.float64 else 1e-5
                assert np.allclose(made.components, wanted.components, close, close)
                assert said == also_said


def test_functions_are_numbered() -> None:
    """Each form has its number, and other keys have none."""
    assert numbers_in_c.smooth_numbers(object(), torch.hypot, 1.0, 2.0) is None
