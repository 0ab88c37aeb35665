"""Operators and ufuncs of two scalars, decomposed booleans, integers and floats beside each other and beside plain
numbers: the value is NumPy's, and contributions are those of the general way, which is gone where somebody looks on
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

pytestmark = pytest.mark.quick
DIGITS = {torch.float32: 3e-6, torch.float64: 1e-12}
OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne, "divmod": divmod,
}  # fmt: skip
UFUNCS = (
    "maximum minimum fmax fmin hypot arctan2 copysign heaviside logaddexp logaddexp2 float_power floor_divide fmod "
    "remainder divmod power true_divide add subtract multiply less equal not_equal logical_and logical_or logical_xor"
).split()
ENDS = [([1.5, 0.4], [0.1, 0.1]), ([1.5, -0.4], [0.3, 0.7]), ([-2.5, 3.25], [4.0, -1.0]), ([2.0, 1.0], [2.0, 3.0])]


def operands(ends: tuple[list[float], list[float]], dtype: str, labels: Any = None) -> dict[str, Any]:
    """Two each: numbers, conditions, and integers of which none is zero at one end."""
    x = np.decompose(np.asarray(ends[0], dtype=dtype), baseline=np.asarray(ends[1], dtype=dtype), labels=labels)
    s, t = x[0], x[1]
    c, d = s > 0.5, t > 0.2
    return {"s": s, "t": t, "c": c, "d": d, "i": c * 2 + 1, "j": d.astype(int) * 3 - 5}


PLAIN = {
    "2": 2, "2.5": 2.5, "True": True, "np.True_": np.True_, "np.int64(3)": np.int64(3),
    "np.float64(0.3)": np.float64(0.3), "np.float32(1.5)": np.float32(1.5),
}  # fmt: skip
PAIRS = [*itertools.product("sci", "tdj"), *itertools.product("sci", PLAIN), *itertools.product(PLAIN, "sci")]


def parts_of(given: Any) -> list[Any]:
    return [getattr(part, "_t", part) for part in (given if isinstance(given, tuple) else (given,))]


def plain(x: Any, part: str) -> Any:
    """NumPy's own scalar, or Python's number, of an end."""
    tensor = getattr(x, "_t", None)
    if type(tensor) is np.DecomposedTensor:
        return numpy.asarray(getattr(tensor, part).numpy())[()]
    return numpy.dtype(str(x.dtype)).type(x.item()) if isinstance(x, np.generic) else x


def general(function: Any, a: Any, b: Any) -> Any:
    """What the general way gives; None where it says that it is not complete."""
    try:
        with np.check_completeness():
            return function(a, b)
    except np.exceptions.CompletenessError:
        return None


def assert_as_numpy(tensor: Any, wanted: Any, part: str, rounded: bool) -> None:
    end = (
        getattr(tensor, part) if type(tensor) is np.DecomposedTensor else torch.as_tensor(getattr(tensor, "_n", tensor))
    )
    its = end.numpy()
    assert type(tensor) is not np.DecomposedTensor or its.dtype == wanted.dtype
    close = False
    if rounded and its.dtype.kind == "f":
        close = numpy.isclose(its, wanted, rtol=4 * numpy.finfo(its.dtype).eps, equal_nan=True)
    assert close or its.tobytes() == wanted.astype(its.dtype).tobytes() or (its != its and wanted != wanted)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [*OPERATORS, *UFUNCS])
def test_two_scalars(name: str, dtype: str) -> None:
    ours = OPERATORS.get(name) or getattr(np, name)
    theirs = OPERATORS.get(name) or getattr(numpy, name)
    rounded = name in ("**", "power", "float_power", "hypot", "arctan2", "logaddexp", "logaddexp2")
    for which, ends in tiers.turns(enumerate(ENDS), [*OPERATORS, *UFUNCS].index(name), 2):
        known = {**PLAIN, **operands(ends, dtype)}
        if which == 1:  # of another label
            known["t"] = operands(ends, dtype, ["p", "q"])["t"]
        for first, second in PAIRS:
            a, b = known[first], known[second]
            with warnings.catch_warnings(), numpy.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    value, residual = (theirs(plain(a, part), plain(b, part)) for part in ("value", "residual"))
                except (TypeError, ValueError) as error:
                    with pytest.raises(type(error)):
                        ours(a, b)
                    continue
                made, wanted = ours(a, b), general(ours, a, b)
            for i, tensor in enumerate(parts_of(made)):
                for part, whole in (("value", value), ("residual", residual)):
                    if part == "value" or type(tensor) is np.DecomposedTensor:
                        assert_as_numpy(tensor, whole[i] if isinstance(whole, tuple) else whole, part, rounded)
            if wanted is None:
                continue
            for tensor, its in zip(parts_of(made), parts_of(wanted), strict=True):
                assert type(tensor) is type(its)
                if type(its) is np.DecomposedTensor:
                    assert tensor.components.dtype is its.components.dtype
                    assert tensor.discrete is its.discrete
                    digits = DIGITS.get(its.components.dtype, 2e-3)
                    order = [its.labels.index(label) for label in tensor.labels]
                    torch.testing.assert_close(
                        tensor.components, its.components[order], rtol=digits, atol=digits, equal_nan=True
                    )


COMPLEX = [
    *itertools.product("zw", ["w", "s", "c", "i", *PLAIN, "1j", "np.complex64(2-1j)"]),
    *itertools.product(["s", "c", "i", *PLAIN, "1j", "np.complex64(2-1j)"], "zw"),
    *itertools.product("sci", ["1j", "np.complex64(2-1j)"]), *itertools.product(["1j", "np.complex64(2-1j)"], "sci"),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["+", "-", "*", "add", "subtract", "multiply"])
def test_two_scalars_one_complex(name: str, dtype: str) -> None:
    ours, theirs = OPERATORS.get(name) or getattr(np, name), OPERATORS.get(name) or getattr(numpy, name)
    wide = "complex128" if dtype == "float64" else "complex64"
    x = np.decompose(np.asarray([1.5 + 1j, -2j], dtype=wide), baseline=np.asarray([0.1 + 0.2j, 0.0], dtype=wide))
    y = np.decompose(np.asarray([0.3 - 1j, 4.0], dtype=wide), labels=["p", 1])
    known = {**PLAIN, **operands(ENDS[0], dtype), "z": x[0], "w": y[1] + x[1]}
    known |= {"1j": 1j, "np.complex64(2-1j)": np.complex64(2 - 1j)}
    for first, second in COMPLEX:
        a, b = known[first], known[second]
        made, wanted = ours(a, b)._t, getattr(general(ours, a, b), "_t", None)
        for part in ("value", "residual"):
            its = numpy.asarray(theirs(plain(a, part), plain(b, part)))[()]
            assert_as_numpy(made, its, part, rounded=False)
            assert wanted is None or torch.equal(getattr(made, part), getattr(wanted, part))
        complete = made.residual + made.components.sum(0)
        digits = 3e-6 if dtype == "float32" else 1e-12
        torch.testing.assert_close(made.value, complete, rtol=4 * digits, atol=4 * digits)
        if wanted is None:
            continue
        assert made.components.dtype is wanted.components.dtype
        order = [wanted.labels.index(label) for label in made.labels]
        torch.testing.assert_close(made.components, wanted.components[order], rtol=digits, atol=digits)
