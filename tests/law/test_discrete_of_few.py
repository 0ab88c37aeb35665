"""Calls with a handful of decomposed booleans and integers, scalars and arrays, which have shorter ways: what they give
is what the general way gives, which is gone where somebody looks on (np.check_completeness)."""

from __future__ import annotations

import contextlib
import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import npdec as np
import tiers

pytestmark = pytest.mark.quick
UFUNCS = sorted({f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}.items())
DIGITS = {torch.float16: 2e-3, torch.float32: 3e-6, torch.float64: 1e-12}


def operands() -> dict[str, Any]:
    """By letters: conditions, integers and numbers under the same labels, capitals for arrays; and plain ones."""
    x = np.decompose(np.asarray([1.5, -0.4, 2.2, 0.3]), baseline=[0.1, 1.0, 0.4, -2.0])
    y = np.decompose(np.asarray([1.5, -0.4, 2.2, 0.3]), baseline=[0.1, 1.0, 0.4, -2.0], labels=list("pqrs"))
    C, D, I = x > 0.5, x * y > 0.2, (x * 2).astype(int)
    plain = {"p": np.asarray([1.0, 2, 3, 4]), "n": 2, "h": 0.5, "b": np.True_, "k": np.float32(1.5)}
    return {"C": C, "D": D, "I": I, "x": x, "c": C[0], "d": D[1], "i": I[2], "s": x[0], **plain}


def found(call: Callable[[], Any]) -> Any:
    """What a call gives, or the type of what it raises; None where the general way says that it is not complete."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except np.exceptions.CompletenessError:
        return None
    except (TypeError, ValueError) as error:
        return type(error)


def looked_on(call: Callable[[], Any]) -> Any:
    with np.check_completeness():
        return found(call)


def assert_same(made: Any, general: Any) -> None:
    if isinstance(made, tuple):
        for pair in zip(made, general, strict=True):
            assert_same(*pair)
        return
    made, general = getattr(made, "_t", made), getattr(general, "_t", general)
    assert type(made) is type(general)
    if type(made) is not np.DecomposedTensor:
        return
    assert made.value.dtype is general.value.dtype
    if general.components.dtype is not torch.float16 or not made.discrete:  # which has fewer digits
        assert made.components.dtype is general.components.dtype
    assert made.discrete is general.discrete
    for part in ("value", "residual"):
        assert torch.equal(getattr(made, part).nan_to_num(7), getattr(general, part).nan_to_num(7))
    places = [general.labels.index(label) for label in made.labels]
    digits = DIGITS[made.components.dtype]
    wanted = general.components[places].double()
    torch.testing.assert_close(made.components.double(), wanted, rtol=digits, atol=digits, equal_nan=True)


@pytest.mark.parametrize(("name", "function"), UFUNCS)
def test_ufuncs_as_the_general_way(name: str, function: Any) -> None:
    if function.signature is not None:
        return
    known = operands()
    letters = "CDIcdi" if function.nin == 1 else "CDcixspnhk"
    turn = [its for its, _ in UFUNCS].index(name)
    for chosen in tiers.turns(itertools.product(letters, repeat=function.nin), turn, 9, 2):
        if not set(chosen) & set("CDIcdi"):
            continue
        call = lambda chosen=chosen: function(*[known[letter] for letter in chosen])  # noqa: E731
        made, general = found(call), looked_on(call)
        if general is not None and made is not None:
            assert_same(made, general)


CALLS = """
c + c | c * d | c + d | c - 1.0 | ~c | -i | i - c | c * x | C * x | C + C | C * C | C == C | C.sum() | C.mean()
C.any() | np.cumsum(C) | np.dot(C, x) | C.astype(int) * 2 | C.astype(float).mean() | np.count_nonzero(C) | (C * 2).max()
np.where(C, 1, 2) | np.prod(C) | c.sum() | np.max(C) | np.diff(C.astype(int)) | i // 2 | i % 2 | 2**i | i**2 | i > 0
divmod(i, 2) | i == c | np.add.reduce(C) | I.astype(np.int8) | I.astype(bool) | x.astype(np.int32) | s.astype(np.int16)
C.astype(np.uint8) + 1 | (I * I).astype(float) | np.sqrt(c) * s | np.exp(C) + 1
"""


@pytest.mark.parametrize("text", [text.strip() for line in CALLS.strip().splitlines() for text in line.split(" | ")])
def test_calls_as_the_general_way(text: str) -> None:
    known = operands()
    call = lambda: eval(text, {"np": np, **known})  # noqa: E731
    made, general = found(call), looked_on(call)
    assert general is not None
    assert_same(made, general)


CASTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
ROWS = [
    ([1.5, -0.4, 2.2], [0.1, 0.1, 0.1]), ([1.0, 2.0, -3.7], [1.0, -2.0, -3.2]), ([0.0, -0.0, 5e9], [3.0, 1e-300, 2.0]),
    ([-2.5, -1.0, 300.0], [-2.5, 1.0, 1.0]), ([-0.9, 0.9, 1e-320], [0.9, -0.9, -1e-320]),
]  # fmt: skip


@pytest.mark.parametrize("dtype", CASTS)
@pytest.mark.parametrize("real", [torch.float64, torch.float32])
def test_casts_as_the_general_way(dtype: torch.dtype, real: torch.dtype) -> None:
    for ends in ROWS:
        v, r = (torch.tensor(end, dtype=real) for end in ends)
        row = np.DecomposedTensor(v, r, torch.diag(v - r), ("a", "b", "c"))
        for x in (row, row[0], row[2], row > 0.5, (row > 0.5)[0]):
            call = lambda x=x: x.to(dtype)  # noqa: E731
            made, general = found(call), looked_on(call)
            if made is not None and general is not None:
                assert_same(made, general)


@pytest.mark.parametrize("number", [math.nan, math.inf, 1e300, 2.0**60])
def test_casts_of_what_no_integer_is(number: float) -> None:
    x = np.decompose(torch.tensor([number, 1.0], dtype=torch.float64), baseline=0.5)
    call = lambda: x.to(torch.int64)  # noqa: E731
    made, general = found(call), looked_on(call)
    assert type(made) is type(general)


def test_integers_that_overflow_are_left_to_the_general_way() -> None:
    large = np.decompose(np.asarray([2.0**33, 1.0]), baseline=0.0).astype(int)
    for call in (lambda: np.square(large), lambda: np.square(large[0]), lambda: large[0] * large[0]):
        made, general = found(call), looked_on(call)
        assert type(getattr(made, "_t", made)) is type(getattr(general, "_t", general))


def test_frozen_conditions_are_plain() -> None:
    known = operands()
    with np.rule(conditions="frozen"):
        assert type(np.exp(known["c"])._t) is type(looked_on(lambda: np.exp(known["c"]))._t)


def test_views_of_conditions() -> None:
    x = np.decompose(np.asarray([[1.5, -0.4], [2.2, 0.3], [0.1, 0.9]]), baseline=0.4)
    for C in ((x > 0.5).T, (x > 0.5)[::2, 1], (x > 0.5)[:, :1]):
        for call in (lambda C=C: np.exp(C), lambda C=C: C + 1, lambda C=C: C * 2.5, lambda C=C: C.astype(int)):
            assert_same(found(call), looked_on(call))


def test_booleans_whose_components_cancel() -> None:
    """Of what does not move, though its components are not zero, the slope is the general way's."""
    x = np.decompose(np.asarray([1.0, 2.0]), baseline=[2.0, 1.0])
    c = (x[0] > 1.5) ^ (x[1] > 1.5)
    for f in (np.exp, np.sqrt, np.floor, np.square):
        assert_same(found(lambda f=f: f(c)), looked_on(lambda f=f: f(c)))


def test_views_of_booleans_and_integers_stay_views() -> None:
    for made in (operands()["C"], operands()["I"]):
        tensor = made._t
        for view in (tensor[1:], tensor[0:1], tensor.reshape(2, 2), tensor.contiguous(), tensor.squeeze()):
            assert view.value.data_ptr() == tensor.value[-view.numel() :].data_ptr() or view.numel() == 1
        part = tensor[1:]
        tensor[1] = tensor[0]
        assert torch.equal(part.value[0], tensor.value[0])
        assert torch.equal(part.components[:, 0], tensor.components[:, 0])
        assert torch.equal(part.residual[0], tensor.residual[0])


ENDLESS = [
    (np.log, 1, 0), (np.log2, 1, 0), (np.log10, 1, 0), (np.log1p, -1, 0), (np.arctanh, 1, 0), (np.arctanh, 0, -1),
    (np.arccosh, 1, 0), (np.arccosh, 0, 2), (np.sqrt, -1, 0), (np.arcsin, 2, 1),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [bool, int])
@pytest.mark.parametrize(("function", "value", "base"), ENDLESS)
def test_of_an_infinite_end_it_is_said_as_of_an_array(function: Any, value: int, base: int, dtype: type) -> None:
    if dtype is bool and {value, base} != {0, 1}:
        return
    array = np.decompose(np.asarray([float(value), 3.0]), baseline=np.asarray([float(base), 3.0])).astype(dtype)
    alone = np.decompose(np.asarray([[float(value)] * 9]), baseline=np.asarray([[float(base)] * 9])).astype(dtype)
    met: list[set[str]] = []
    found: list[Any] = []
    for given in (array[0], alone):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(function(given))
        met.append({str(warning.message) for warning in caught})
    assert met[0] == met[1] != set()
    one, many = found[0]._t, found[1]._t[0, 0]
    assert one.value.dtype is many.value.dtype
    for part in ("value", "residual"):
        assert torch.equal(getattr(one, part).nan_to_num(7), getattr(many, part).nan_to_num(7))
    assert torch.equal(one.components[0].nan_to_num(7), many.components[0].nan_to_num(7))
    assert one.components[1].nan_to_num(7) == (7 if one.components[0].isnan() else 0)


@pytest.mark.parametrize("name", ["divide", "floor_divide", "remainder", "fmod", "divmod"])
def test_division_by_zero_is_spoken_of_once(name):
    """Of what is not finite the general way speaks, and nothing before it."""
    x = np.decompose(np.asarray([1.5, -0.4]), baseline=0.1)
    conditions = x > 0.5
    numbers = [conditions[0], conditions[1], conditions[0].astype(int), x[0]]
    for a, b in itertools.product(numbers, numbers[:3]):
        said = []
        for looking in (contextlib.nullcontext(), np.check_completeness()):
            with warnings.catch_warnings(record=True) as met, looking:
                warnings.simplefilter("always")
                getattr(np, name)(a, b)
            said.append(sorted(str(warning.message) for warning in met))
        assert said[0] == said[1]
