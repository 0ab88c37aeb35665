"""Decomposed numbers that are read and made at once, in C where that is built: as Python does it, to the bit, and as
the general way says."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import npdec as np
from native_cases import in_python, native, told
from npdec._impl import elementwise_impl
from npdec._impl._quotient_of_numbers import divmod_in_numbers
from npdec._law.ordinary import condition_in, number_in, number_of
from npdec._native import calls

# Of decomposed numbers s and t, which may have labels in common, a condition c, a number k and a few of them, p.
CALLS = """
s + t | s - t | s * t | s / t | s ** t | s // t | s % t | 2.0 / s | 2.0 ** s | s ** k | s > t | s <= k | k == s | s != t
np.exp(s) | np.log(s) | np.sqrt(s) | np.arcsin(s) | np.tanh(s) | np.cbrt(s) | np.abs(s) | np.floor(s) | np.sign(s)
np.maximum(s, t) | np.minimum(s, k) | np.fmax(k, s) | np.where(c, s, t) | np.where(c, s, k) | np.where(True, s, t)
np.clip(s, k, t) | np.clip(s, t, k) | np.clip(k, s, t) | np.clip(s, 0.0, 1.0) | np.hypot(s, t) | np.arctan2(k, s)
np.logaddexp2(s, t) | np.copysign(s, t) | np.nextafter(s, t) | np.nextafter(k, s) | np.heaviside(s, t)
np.isclose(s, t) | np.isclose(k, s, rtol=0.5) | divmod(s, t) | divmod(s, k) | np.divmod(k, s) | np.modf(s)
s % 2 | 3 // s | np.frexp(s) | np.ldexp(s, 3)
c & (s > k) | True ^ c | ~c | np.logical_or(s, t) | np.logical_not(s) | np.isnan(s) | np.nan_to_num(s)
s.astype(np.float32) | s.astype(np.float64) | c * s | np.float_power(s, t) | np.std(s) | np.var(s) | np.nanstd(s)
np.logical_or(s, p) | np.logical_and(p, s)
s % p | p % s | s // p | np.fmod(s, p) | np.copysign(p, s) | np.heaviside(s, p) | divmod(p, s) | np.add(s, p)
np.median(s) | np.nanmedian(s) | np.ptp(s) | np.cumprod(s) | np.nanmean(s) | np.nanmin(s) | np.nanprod(s)
"""
CALLS = [text.strip() for line in CALLS.strip().splitlines() for text in line.split(" | ")]
NUMBERS = [0.0, -0.0, 1.0, 2.0, -1.0, 0.5, 1e-9, 1e30, math.inf, math.nan, 3.0]


@pytest.fixture(autouse=True)
def warned_each_time() -> Iterator[None]:
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


def drawn(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)

    def number() -> float:
        return rng.choice(NUMBERS) if rng.random() < 0.3 else rng.uniform(-3, 3)

    dtype = rng.choice([np.float64, np.float32])

    def numbers() -> Any:
        value, base = ([number() for _ in range(rng.randint(1, 3))] for _ in range(2))
        count = min(len(value), len(base))
        return np.decompose(np.array(value[:count], dtype=dtype), baseline=np.array(base[:count], dtype=dtype))

    x = numbers()
    t = x[-1] if rng.random() < 0.5 else numbers()[0]
    names = {"np": np, "s": x[0], "t": t * 0.5 + x[0] if rng.random() < 0.3 else t, "c": x[0] > 1.0, "k": number()}
    few = [number() for _ in range(rng.randint(1, 4))]
    return {**names, "p": np.array(few, dtype=dtype).reshape(rng.choice([(-1,), (1, -1), (-1, 1)]))}


def parts(found: Any) -> Any:
    """All that is to be seen of a result, in bits."""
    if isinstance(found, tuple):
        return [parts(item) for item in found]
    tensor = getattr(found, "_t", found)
    if type(tensor) is not np.DecomposedTensor:
        return type(found).__name__, str(found)
    seen = [(p.dtype, p.shape, p.numpy().tobytes()) for p in (tensor.value, tensor.residual, tensor.components)]
    return type(found).__name__, seen, [str(label) for label in tensor.labels], tensor.discrete


@native
@pytest.mark.parametrize("text", CALLS)
def test_as_in_python(text: str) -> None:
    for seed in range(12):
        run = lambda seed=seed: parts(eval(text, drawn(seed)))  # noqa: E731
        assert told(run) == in_python(run), seed


@pytest.mark.parametrize("text", CALLS)
def test_adds_up(text: str) -> None:
    for seed in range(12):
        names = drawn(seed)
        if "isclose" in text and not math.isfinite(names["s"].value + names["s"].residual):
            continue
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = eval(text, names)
        if any(issubclass(warning.category, np.exceptions.DecompositionWarning) for warning in said):
            continue
        for made in found if isinstance(found, tuple) else (found,):
            t = getattr(made, "_t", made)
            if type(t) is not np.DecomposedTensor or not bool(torch.isfinite(t.value + t.residual).all()):
                continue
            value, residual, components = t.value.double(), t.residual.double(), t.components.double()
            gross = value.abs() + residual.abs() + components.abs().sum(0)
            missing = value - residual - components.sum(0)
            if bool(t.components.isfinite().all()):  # or something was said of them
                assert bool((missing.abs() <= 8 * torch.finfo(t.components.dtype).eps * gross).all()), seed


@native
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_parts_are_read_where_they_lie(dtype: torch.dtype) -> None:
    x = np.decompose(torch.tensor([[1.5, -2.0], [0.1, 4.0]], dtype=dtype), baseline=0.25)
    for i, j in itertools.product(range(2), repeat=2):  # a view: the components lie apart
        number, condition = x[i, j], x[i, j] > 1
        assert calls.number_in(number) == in_numbers(number) == number_in(number)
        assert calls.condition_in(condition) == in_numbers(condition) == condition_in(condition)
        assert calls.condition_in(number) is calls.number_in(condition) is None
        made = number_of(number.value, 0.5, number.components.tolist(), number.labels, dtype)
        assert parts(made)[1][0] == parts(number)[1][0]
        assert made.residual.item() == 0.5


def in_numbers(x: Any) -> Any:
    return x.value.item(), x.residual.item(), x.components.tolist()


@native
def test_what_is_no_number_is_left_to_python() -> None:
    x = np.decompose(torch.tensor([1.0, 2.0]), baseline=0.5)
    for other in (x, x.value[0], 1.0, None, x[0].half(), np.decompose(torch.tensor(1.0, requires_grad=True))):
        assert calls.number_in(other) is None
    negated = torch.tensor(1 + 2j).conj().imag  # which has a bit that says so
    x = np.decompose(torch.tensor(1.0), baseline=0.5)
    x.residual = negated
    assert number_in(x) == (1.0, -2.0, [0.5])
    with torch.inference_mode():
        made = number_of(1.0, 2.0, [3.0], ("a",), torch.float32)
        assert made.value.is_inference()
    assert calls.number_of(1.0, 2.0, [], ("a",), torch.float32) is None


def test_the_next_float_goes_with_the_number() -> None:
    for dtype in (np.float64, np.float32):
        x = np.decompose(np.array([1.0, 2.0], dtype=dtype), baseline=np.array([0.5, 3.0], dtype=dtype))
        for found in (np.nextafter(x[0], x[1]), np.nextafter(x[0], x[0]), np.nextafter(x, x[::-1])[0]):
            missing = found.value - found.residual - np.asarray(found.components).sum(0)
            assert abs(float(missing)) <= np.finfo(dtype).eps
            assert found.components[0] == pytest.approx(0.5)


@pytest.mark.parametrize("function", [np.arcsin, np.arccosh, np.arctanh])
@pytest.mark.parametrize(("value", "base"), [(2.0, 0.5), (0.5, 2.0), (-3.0, -2.0)])
def test_out_of_the_domain_it_is_said(function: Callable[..., Any], value: float, base: float) -> None:
    number = np.decompose(np.array([value, 7.0]), baseline=np.array([base, 1.0]))[0]
    whole = np.decompose(np.array([value] * 40), baseline=base)
    if np.isfinite(function(value)) and np.isfinite(function(base)):
        return
    with pytest.warns(np.exceptions.DecompositionWarning, match="infinite or not a number") as said:
        found = function(number)
    with pytest.warns(np.exceptions.DecompositionWarning) as expected:
        function(whole)
    assert np.isnan(np.asarray(found.components)).all()
    assert [str(w.message) for w in said] == [str(w.message) for w in expected]


def test_quotients_and_rests_are_torchs_to_the_bit() -> None:
    rng = random.Random(5)
    for dtype in (torch.float64, torch.float32):
        for _ in range(3000):
            a, b = (rng.choice([rng.uniform(-9, 9), rng.gauss(0, 1e4), rng.randint(-9, 9) / 4, -0.0]) for _ in "ab")
            x, y = torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=dtype)
            found = divmod_in_numbers(x.item(), y.item(), dtype)
            if found is not None:
                expected = elementwise_impl.floor_divide(x, y), elementwise_impl.remainder(x, y)
                for number, tensor in zip(found, expected, strict=True):
                    assert torch.tensor(number, dtype=dtype).numpy().tobytes() == tensor.numpy().tobytes(), (a, b)
