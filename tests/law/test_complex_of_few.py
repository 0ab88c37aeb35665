"""Ufuncs, operators and functions of torch of a few complex numbers, scalars and arrays: values and residuals are those
of plain numbers to the last bit, and contributions are those of the general way, which is gone where somebody looks on
(np.check_completeness)."""

from __future__ import annotations

import itertools
import operator
import warnings
from typing import Any

import numpy
import pytest
import torch

import npdec as np
import tiers
from npdec._decomposed import registry
from npdec._law import complex_of_few
from npdec._law.complex_order_of_few import ORDER
from npdec._native import calls
from npdec._rules import dispatch

DIGITS = {torch.float32: 1e-5, torch.float64: 1e-11, torch.complex64: 1e-5, torch.complex128: 1e-11}
OF_ONE = {
    "-": operator.neg, "abs": abs, "conj": lambda z: z.conj(), "real": lambda z: z.real, "imag": lambda z: z.imag,
    **{f"**{n}": lambda z, n=n: z**n for n in (-2, -1, 1, 2, 3, 4, 5, 2.0)},
}  # fmt: skip
UFUNCS = (
    "exp exp2 log log1p log10 sqrt square reciprocal sin cos tan sinh cosh tanh arctan arcsin arccos arcsinh arccosh "
    "arctanh expm1 negative positive absolute conjugate angle real imag sinc isfinite isnan"
).split()
OF_TWO = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "==": operator.eq,
    "!=": operator.ne, "divide": np.divide, "equal": np.equal, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin,
}  # fmt: skip
AFTER, BEFORE = [1.5 + 1j, -2j, 0.3 - 0.2j], [0.1 + 0.2j, 1.0, 0.3 - 0.2j]
ENDS = [
    (AFTER, BEFORE),
    ([2.0 + 1j, 3j, 0.5], [2.0 + 1.0001j, 3j + 1e-9, 0.5 + 1e-3j]),  # close ends
    ([1.0 + 1j, 0.0, 1e-7j], [-1.0 - 1j, 1.0, 1.0]),  # through the origin, or to it
    ([1e9 + 1j, 1e-9j, 1e30], [1.0, 2.0, 1j]),
    ([complex("inf"), complex("nan"), 1.0], [1.0, 2.0, 1j]),
    ([0.3 + 1j, 0.5j, 2.0 - 3j], [0.7 - 1j, 0.5j, 0.5 + 1j]),  # the imaginary parts decide, or jump where reals cross
]
OTHER, OTHER_BEFORE = [0.3 - 1j, -2j, 1.0 + 1j], [0.7 + 0.1j, 0.5j, 3.0]


def decomposed(after: Any, before: Any, dtype: str, labels: Any = None) -> Any:
    return np.decompose(np.asarray(after, dtype=dtype), baseline=np.asarray(before, dtype=dtype), labels=labels)


def called(function: Any, *args: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        made = function(*args)
    return made, sorted({str(warning.message) for warning in met})


def tensor_of(x: Any) -> Any:
    given = getattr(x, "_t", x)
    return given if isinstance(given, torch.Tensor) else torch.as_tensor(getattr(x, "_n", x))


def bytes_of(x: torch.Tensor) -> bytes:
    made: bytes = x.resolve_conj().resolve_neg().contiguous().numpy().tobytes()
    return made


def assert_as_in_general(function: Any, *args: Any) -> bool:
    """Values and contributions are those of the general way, with the same warnings; whether there is one to compare
    with. That way raises where numbers are not finite, and where contributions are not complete."""
    made, said = called(function, *args)
    try:
        with np.check_completeness():
            wanted, also_said = called(function, *args)
    except np.exceptions.CompletenessError:
        return False
    assert said == also_said
    assert type(made) is type(wanted)
    made, wanted = tensor_of(made), tensor_of(wanted)
    assert type(made) is type(wanted)
    if type(wanted) is not np.DecomposedTensor:
        assert torch.equal(made, wanted) or bool((made != made).any())
        return True
    assert made.discrete is wanted.discrete
    for part in ("value", "residual"):
        ours, theirs = getattr(made, part), getattr(wanted, part)
        assert ours.dtype is theirs.dtype
        assert ours.shape == theirs.shape
        assert bytes_of(ours) == bytes_of(theirs)
    assert made.components.dtype is wanted.components.dtype
    assert set(made.labels) == set(wanted.labels)
    order = [wanted.labels.index(label) for label in made.labels]
    digits = DIGITS[wanted.components.dtype]
    size = wanted.components.abs().nan_to_num(0, 0, 0).amax().item()
    ours, theirs = made.components, wanted.components[order]
    torch.testing.assert_close(ours, theirs, rtol=digits, atol=digits * (1 + size), equal_nan=True)
    return True


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("name", [*OF_ONE, *UFUNCS])
def test_of_one(name: str, dtype: str) -> None:
    """A function of one, of a scalar and of an array."""
    function = OF_ONE.get(name) or getattr(np, name)
    for after, before in tiers.turns(ENDS, [*OF_ONE, *UFUNCS].index(name), 3):
        x = decomposed(after, before, dtype)
        y = x * 1 + decomposed([0, 0, 0], [0.1, 0.1j, 0], dtype, ["p", "q", "r"])
        compared = [assert_as_in_general(function, given) for given in (x, x[0], x[1], y, y[2], x.reshape(3, 1))]
        assert any(compared) or after is not AFTER


@pytest.mark.quick
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_clipped_and_made_finite(dtype: str) -> None:
    """Functions that are made of the larger of two, and of what is finite."""
    x = decomposed(AFTER, BEFORE, dtype)
    for function in (lambda z: np.clip(z, 0, 1 + 1j), np.nan_to_num, lambda z: np.max(z, initial=1.0)):
        compared = [assert_as_in_general(function, given) for given in (x, x[0], x[2])]
        assert any(compared)


@pytest.mark.quick
@pytest.mark.parametrize("dtype", ["complex128", "complex64", "float64", "float32"])
@pytest.mark.parametrize("name", ["square", "cosh", "cos", "sinc", "i0"])
def test_even_functions_between_opposite_ends(name: str, dtype: str) -> None:
    """Nothing passes, whatever the parts are."""
    if name == "i0" and dtype.startswith("complex"):
        return
    x = decomposed([0.75, 0.5], [-0.5, -0.5], dtype, ["p", "q"]) + decomposed(
        [0.25, 0.0], [0.0, 0.0], dtype, ["r", "s"]
    )
    for given in (x[:1] - 0.25, x[0] - 0.25, x[1]):
        made = getattr(np, name)(given)
        assert not made._t.components.any()
        assert assert_as_in_general(getattr(np, name), given)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("name", OF_TWO)
def test_of_two(name: str, dtype: str) -> None:
    """A function of two that carry something, under the same labels or others, and of one and a constant."""
    function, real = OF_TWO[name], "float64" if dtype == "complex128" else "float32"
    for after, before in tiers.turns(ENDS, [*OF_TWO].index(name) + (dtype == "complex64"), 2, 2):
        x = decomposed(after, before, dtype)
        same = x * 0 + decomposed(OTHER, OTHER_BEFORE, dtype, list(x._t.labels))
        other = decomposed(OTHER, OTHER_BEFORE, dtype, ["p", "q", "r"])
        floats = decomposed([0.3, 4.0, 1.0], [0.7, 0.5, 3.0], real, ["p", "s", "t"])
        constants = [2.0, 2, 1j, 0, 1e-9, np.complex64(2 - 1j), np.asarray(OTHER, dtype=dtype)]
        beside = [same, other, same[0], other[1], floats, floats[1], floats[0] > 0.5, x]
        for a, b in [*itertools.product((x, x[0]), (*beside, *constants)), *itertools.product(constants, (x, x[0]))]:
            assert_as_in_general(function, a, b)


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("name", [*OF_ONE, "exp", "sqrt", "log", "sin", "tanh"])
def test_complete(name: str, dtype: str) -> None:
    """Contributions of a function of one add up to what has changed, and the value is NumPy's."""
    x = decomposed(AFTER, BEFORE, dtype)
    for z, value in ((x, numpy.asarray(AFTER, dtype=dtype)), (x[0], numpy.dtype(dtype).type(AFTER[0]))):
        made = (OF_ONE.get(name) or getattr(np, name))(z)._t
        wanted = (OF_ONE.get(name) or getattr(numpy, name))(value)
        digits = DIGITS[made.value.dtype]
        numpy.testing.assert_allclose(made.value.resolve_conj().numpy(), wanted, rtol=digits)
        torch.testing.assert_close(made.residual + made.components.sum(0), made.value, rtol=digits, atol=digits)


def test_functions_of_torch() -> None:
    """The functions of torch are answered in the same way."""
    x, y = (decomposed(*ends, "complex128")._t for ends in ((AFTER, BEFORE), (OTHER, OTHER_BEFORE)))
    for function in (torch.exp, torch.abs, torch.neg, torch.conj_physical, torch.square, torch.real, torch.conj):
        assert_as_in_general(function, x)
    for function in (torch.add, torch.sub, torch.rsub, torch.mul, torch.div, torch.eq, torch.ne):
        for a, b in ((x, y), (x, 2.5), (x, 1j), (x, y.value), (x, torch.tensor(2.0)), (x, x)):
            assert_as_in_general(function, a, b)
    for exponent in (2, 3, 0.5, True, 1j, y.value):
        assert_as_in_general(torch.pow, x, exponent)


POWERS = [
    (1.5 + 1j, 0.1 + 0.2j, -0.4, 0.2j),
    (-2j, 1.0, 1 + 1j, 2.5),
    (1 - 0.2j, 0.3 + 2j, 0.5, 0.5),
    (2, 3j, 1j, 1),
    (2, 2 + 1e-9, 1j, 1j - 1e-9),
]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("ends", POWERS, ids=str)
def test_powers(ends: Any, dtype: str) -> None:
    """Any power, of one or both, by the means of its derivatives; where the path meets negative numbers, too."""
    for turn in (1, -1):
        x, y = (decomposed([after, 2], [before, 2 + 1j], dtype, ["p", "q"]) for after, before in (ends[:2], ends[2:]))
        x = x * turn
        constant = np.asarray([0.5, 2 - 1j], dtype=dtype)
        for a, b in ((x, y), (x[0], y[0]), (x[0], y), (x[0], 2.5), (x, 0.5 - 1j), (2.5, y[0]), (x, constant)):
            for function in (np.power, np.float_power)[: 2 if dtype == "complex128" else 1]:  # another rounds wider
                assert assert_as_in_general(function, a, b) or turn < 0  # which is not complete there


def test_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ordinary calls ask no general rule, and those under another rule, or of many numbers, do."""
    seen: list[Any] = []
    own = dispatch.rule_of

    def rule_of(func: Any) -> Any:
        seen.append(func)
        return own(func)

    x = decomposed(AFTER, BEFORE, "complex128")
    given = x, x[0]
    monkeypatch.setattr(dispatch, "rule_of", rule_of)
    for function in (abs, np.exp, lambda z: z / (z + 3), lambda z: z**2, lambda z: z == 1j):
        for z in given:
            function(z)
            assert not seen
    for function in (abs, np.exp, lambda z: z / (z + 3), lambda z: z == 1j):
        for z in given:
            seen.clear()
            with np.rule("none"):
                function(z)
            assert seen
    many = decomposed(numpy.arange(20) + 1j, numpy.zeros(20), "complex128")
    seen.clear()
    np.exp(many)
    assert seen


LAW_CASES = [
    *((function, None) for function in (torch.add, torch.sub, torch.mul, torch.div, torch.eq, torch.ne)),
    *((function, ()) for function in (torch.exp, torch.log, torch.sqrt, torch.tanh, torch.abs)),
    *((torch.pow, (n,)) for n in (-2, 2, 3, 4, 5.0)),
    *((getattr(np, name).__kernel__, None) for name in ("less", "less_equal", "maximum", "minimum")),
]


@pytest.mark.skipif(calls is None, reason="npdec._native is not built")
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("case", LAW_CASES, ids=lambda case: f"{case[0].__name__} {case[1]}")
def test_in_memory(case: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What C finds is to the last bit what Python finds, which answers wherever C does."""
    function, more = case
    law, _ = ORDER.get(function.__name__) or (registry.rows[function].few_complex, False)
    found = 0
    for after, before in ENDS:
        x = decomposed(after, before, dtype)
        same = x * 0 + decomposed(OTHER, OTHER_BEFORE, dtype, list(x._t.labels))
        other = decomposed(OTHER, OTHER_BEFORE, dtype, ["p", 0, "r"])
        plain = np.asarray(OTHER, dtype=dtype)._t
        numbers = [] if function.__name__ in ORDER else [2.5, 1j]  # of which ufuncs make tensors
        beside = [same._t, other._t, other._t[1].clone(), plain, *numbers, x._t]
        calls_of: list[tuple[Any, ...]] = []
        for y in (x._t, x._t[0].clone(), x._t.reshape(3, 1), x._t.conj()):
            if more is not None:
                calls_of.append((y, *more))
            else:
                calls_of += [pair for z in beside for pair in ((y, z), (z, y))]
        for operands in calls_of:
            made = calls.complex_of_few(law, function, operands)
            if made is None:
                continue
            found += 1
            with monkeypatch.context() as patch:
                patch.setattr(complex_of_few, "calls", None)
                wanted = complex_of_few.answer(law, function, operands)
            assert wanted is not NotImplemented
            assert made.labels == wanted.labels
            assert made.discrete is wanted.discrete
            for part in ("value", "residual", "components"):
                ours, theirs = getattr(made, part), getattr(wanted, part)
                assert ours.dtype is theirs.dtype
                assert ours.shape == theirs.shape
                assert bytes_of(ours) == bytes_of(theirs)
    assert found > 4


def test_views_stay_views() -> None:
    """What is written into the real part of an array is written into the array."""
    x = decomposed(AFTER, BEFORE, "complex128")
    part = x.real
    x[0] = 7.0
    assert part._t.value[0] == 7.0
    negative = -x
    negative[1] = 0
    assert x._t.value[1] == -2j
