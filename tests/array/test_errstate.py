"""Floating-point errors: found where NumPy finds them, reported in its words, by the state of the thread or task."""

from __future__ import annotations

import asyncio
import io
import itertools
import operator
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from npdec._array import fp_state
from npdec._core import tracebacks
from tiers import turns

KINDS = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}


@pytest.fixture(autouse=True)
def _state() -> Iterator[None]:
    """Each test begins with errors ignored, and leaves nothing behind."""
    before = np.geterr()
    yield
    assert np.geterr() == before
    assert not fp_state.watching, "a state is left behind"


def warned(lib: Any, expression: str) -> list[str]:
    """The warnings of an expression of `np`, all kinds of errors being watched."""
    with warnings.catch_warnings(record=True) as caught, lib.errstate(all="warn"):
        warnings.simplefilter("always")
        eval(expression, {"np": lib})
    return [str(w.message) for w in caught]


# -- the state ---------------------------------------------------------------------------------------------------------


def test_nothing_is_watched_by_default():
    assert set(np.geterr().values()) == {"ignore"}
    assert np.isinf(np.array([1.0]) / 0).all()


def test_states_nest_and_end():
    with np.errstate(divide="raise", over="warn"):
        assert np.geterr() == {"divide": "raise", "over": "warn", "under": "ignore", "invalid": "ignore"}
        with np.errstate(all="warn", divide="ignore"):
            assert np.geterr() == {"divide": "ignore", "over": "warn", "under": "warn", "invalid": "warn"}
            np.array([1.0]) / 0
        with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
            np.array([1.0]) / 0
    assert np.isinf(np.array([1.0]) / 0).all()


def test_seterr_gives_what_held_before():
    before = np.seterr(invalid="raise")
    try:
        assert before["invalid"] == "ignore"
        with pytest.raises(FloatingPointError, match="invalid value encountered in sqrt"):
            np.sqrt(np.array([-1.0]))
        assert np.seterr(all="warn", under="ignore") == {**before, "invalid": "raise"}
        assert np.geterr() == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
    finally:
        np.seterr(**before)


@pytest.mark.parametrize(
    "wrong",
    ["seterr(divide='foo')", "errstate(over='foo').__enter__()", "seterrcall(3)", "errstate(call=3).__enter__()"],
)
def test_refusals_are_numpys(wrong):
    errors = []
    for lib in (np, numpy):
        with pytest.raises((ValueError, TypeError)) as caught:
            eval(f"np.{wrong}", {"np": lib})
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]


def test_a_context_serves_once():
    state = np.errstate(invalid="warn")
    with state:
        pass
    with pytest.raises(TypeError, match=r"Cannot enter `np.errstate` twice"), state:
        pass


def _raised(statement: Callable[[], Any]) -> BaseException:
    with pytest.raises(BaseException) as caught:
        statement()
    return caught.value


def _divides():
    with np.errstate(all="raise"):
        return np.array([1.0]) / 0


def _divides_within():
    inner = np.errstate(over="ignore")
    with np.errstate(all="raise"), inner:
        return np.array([1.0]) / 0


def _divides_around():
    with np.errstate(all="raise"):
        return np.array([1.0]).dot(np.array(["text"]))


def _interrupted():
    def trace(frame, event, arg):
        if event == "line" and frame.f_code.co_name == "_turn":
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        with np.errstate(all="raise"):
            pass
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("statement", [_divides, _divides_within, _divides_around, _interrupted])
def test_an_error_that_is_kept_leaves_no_checks_on(statement):
    """As an interactive session keeps the last one. (All its frames, with what these hold, are kept with it.)"""
    token = tracebacks.full.set(True)
    error = _raised(statement)
    tracebacks.full.reset(token)
    assert error.__traceback__ is not None
    assert not fp_state.watching


def test_decorator():
    @np.errstate(all="raise")
    def divide(x):
        """Its own words."""
        return x / 0

    for _ in range(2):
        with pytest.raises(FloatingPointError):
            divide(np.array([1.0]))
    assert divide.__doc__ == "Its own words."
    assert np.isinf(np.array([1.0]) / 0).all()


def test_callback_log_and_print(capsys):
    calls, log = [], io.StringIO()
    with np.errstate(all="call", call=lambda *args: calls.append(args)):
        np.array([1.0, 0.0]) / 0
        np.exp(np.array([1e4]))
    assert calls == [("divide by zero", 9), ("invalid value", 9), ("overflow", 2)]
    with np.errstate(divide="log", call=log):
        np.log(np.zeros(1))
    assert log.getvalue() == "Warning: divide by zero encountered in log\n"
    with np.errstate(divide="print"):
        np.log(np.zeros(1))
    assert capsys.readouterr().err == "Warning: divide by zero encountered in log\n"
    former = np.seterrcall(log)
    assert former is None
    assert np.geterrcall() is log
    assert np.seterrcall(None) is log
    for mode in ("call", "log"):
        errors = []
        for lib in (np, numpy):
            with lib.errstate(divide=mode, call=None), pytest.raises(NameError) as caught:
                lib.log(lib.zeros(1))
            errors.append(str(caught.value))
        assert errors[0] == errors[1]


def test_threads_know_nothing_of_each_other():
    results = []

    def work():
        results.append(np.geterr()["divide"])
        results.append((np.array([1.0, 2.0]) / 0).tolist())
        results.append(np.divide(np.array([1.0]), np.array([0.0])).tolist())

    with np.errstate(all="raise"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        with pytest.raises(FloatingPointError):
            np.array([1.0]) / 0
    assert results == ["ignore", [numpy.inf, numpy.inf], [numpy.inf]]


def test_tasks_keep_their_own_state():
    async def watch(mode):
        with np.errstate(invalid=mode):
            await asyncio.sleep(0)  # the others enter theirs
            return np.geterr()["invalid"]

    async def outlive():
        await left.wait()  # until the context in which the task began is left
        return np.geterr()["invalid"], fp_state.watching

    left = asyncio.Event()

    async def run():
        with np.errstate(invalid="raise"):
            task = asyncio.create_task(outlive())
            await asyncio.sleep(0)  # it begins
        left.set()
        return await asyncio.gather(watch("warn"), watch("raise"), watch("ignore"), task)

    assert asyncio.run(run()) == ["warn", "raise", "ignore", ("raise", True)]


def test_ufuncs_of_a_user_are_watched():
    scope = {dtype for sets in fp_state.guarded_sets.values() for dtype in sets}
    assert {torch.float32, torch.float64} <= scope
    with np.errstate(all="raise"):
        assert not any(fp_state.guarded_sets.values())


# -- where NumPy finds errors ------------------------------------------------------------------------------------------


def specials(dtype: numpy.dtype) -> Any:
    info = numpy.finfo(dtype)
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, 1.5, -0.5, 100.0, -100.0, 1000.0, -1000.0, 0.1]
    numbers += [numpy.inf, -numpy.inf, numpy.nan, info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal]
    return numpy.array([*numbers, 1 - info.epsneg, float(info.max) ** 0.6, float(info.tiny) ** 0.6], dtype=dtype)


def by_callback(lib: Any, function: Any, operands: list[Any]) -> tuple[set[str], Any]:
    found: list[str] = []
    with lib.errstate(all="call", call=lambda kind, _: found.append(KINDS[kind])):
        result = function(*operands)
    return set(found), result


FLOAT_UFUNCS = sorted(
    name
    for name, item in vars(np).items()
    if isinstance(item, np.ufunc) and item.signature is None and item.__name__ == name
    if any(t.startswith("d" * item.nin) for t in item.types)
)

# NumPy's own steps raise what the operation itself does not, or hide what it does: (function, kind) and where.
Where = Callable[..., bool]
QUIRKS: dict[tuple[str, str], tuple[str, Where]] = {
    ("logaddexp", "invalid"): ("one operand is nan", lambda *x: bool(numpy.isnan(x).any())),
    ("logaddexp2", "invalid"): ("one operand is nan", lambda *x: bool(numpy.isnan(x).any())),
    ("logaddexp", "over"): ("the difference overflows", lambda a, b: bool(numpy.isinf(a - b))),
    ("logaddexp2", "over"): ("the difference overflows", lambda a, b: bool(numpy.isinf(a - b))),
    # C leaves it open whether pow(0, -inf) reports a division; NumPy's vector code does, the C library does not.
    ("power", "divide"): ("0 ** -inf", lambda a, b: bool(a == 0 and b == -numpy.inf)),
    ("power", "over"): ("the exponent is infinite", lambda a, b: bool(numpy.isinf(b))),
    ("float_power", "divide"): ("the exponent is infinite", lambda a, b: bool(numpy.isinf(b))),
    ("float_power", "over"): ("the exponent is infinite", lambda a, b: bool(numpy.isinf(b))),
    ("exp", "under"): ("a step is below the normal numbers", lambda x: abs(x) < 1),
}
# Where a wider exponent range hides an underflow, or an approximation raises one.
UNDERFLOW = ["multiply", "divide", "square", "reciprocal", "add", "subtract", "exp", "ldexp", "nextafter", "absolute"]
UNDERFLOW += ["maximum", "fmod", "copysign", "negative", "radians", "degrees"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FLOAT_UFUNCS)
def test_errors_are_numpys_on_special_values(name, dtype):
    theirs, ours = getattr(numpy, name), getattr(np, name)
    wrong = []
    values = specials(numpy.dtype(dtype))
    if name == "ldexp":
        cases = itertools.product(values, numpy.array([0, 3, -3, 5000, -5000, -1060], dtype="i4"))
    else:
        cases = itertools.product(values, repeat=theirs.nin)
    turn = 2 * FLOAT_UFUNCS.index(name) + (dtype == "float64")
    with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        for case in turns(cases, turn, 3) if theirs.nin > 1 else cases:
            operands = [numpy.array([x]) for x in case]
            want, result = by_callback(numpy, theirs, operands)
            got, other = by_callback(np, ours, [np.array(x) for x in operands])
            if name not in UNDERFLOW:
                want, got = want - {"under"}, got - {"under"}
            if name == "multiply" and abs(result[0]) == numpy.finfo(dtype).tiny:
                continue  # rounded up to a normal number, or not
            numbers = [numpy.asarray(r[0] if isinstance(r, tuple) else r) for r in (result, other)]
            if numbers[0].dtype.kind == "f" and numpy.isfinite(numbers[0]).all() != numpy.isfinite(numbers[1]).all():
                continue  # at the edge of overflow the last digit decides
            for kind in want ^ got:
                if (name, kind) not in QUIRKS or not QUIRKS[name, kind][1](*case):
                    wrong.append((kind, kind in want, case))
    assert not wrong


def test_underflow_is_inexact():
    with np.errstate(under="raise"):
        assert float(np.multiply(np.array([0.5]), 2.0**-1073)[0]) == 2.0**-1074
        assert float(np.divide(np.array([2.0**-1022]), 4)[0]) == 2.0**-1024
        for call in (
            lambda: np.multiply(np.array([0.75]), 2.0**-1073),
            lambda: np.array([1e-200]) ** 2,
            lambda: np.array([1e-300], dtype="f8").astype("f4"),
            lambda: np.prod(np.array([1e-200, 1e-200])),
        ):
            with pytest.raises(FloatingPointError, match="underflow"):
                call()


def test_complex_numbers():
    for expression in (
        "np.array([1e200 + 0j]) * 1e200",
        "np.array([1 + 0j]) / 0",
        "np.log(np.array([0j]))",
        "np.array([np.inf + 0j]) - np.inf",
        "np.exp(np.array([1000 + 0j]))",
        "np.arctan(np.array([1j]))",
        "np.array([1e300 + 1j]).astype('c8')",
        "np.sqrt(np.array([-1 + 0j]))",
        "np.complex128(1) / 0",
    ):
        assert [w for w in warned(np, expression) if "under" not in w] == [
            w for w in warned(numpy, expression) if "under" not in w
        ], expression


def underflows(lib, call, *args):
    with lib.errstate(all="ignore", under="raise"):
        try:
            call(*args)
        except FloatingPointError as error:
            return str(error).partition(" encountered")[0]
    return ""


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["multiply", "divide", "square", "reciprocal"])
def test_underflow_of_complex_numbers(name, dtype):
    """Of scalars: in arrays NumPy's products are fused on some processors, and their rounding with them."""
    info = numpy.finfo(dtype)
    parts = [0.0, -1.0, 3.7, 1e-20, float(info.tiny), float(info.tiny) * 1.3, float(info.max), float(info.tiny) / 3]
    numbers = [complex(*pair) for pair in itertools.product(parts, repeat=2)]
    call = {"multiply": operator.mul, "divide": operator.truediv}.get(name)
    raised = {"": 0, "underflow": 0}
    for case in turns(itertools.product(numbers, repeat=2), 0, 9) if call else [(x,) for x in numbers]:
        want, got = (
            underflows(lib, call or getattr(lib, name), *[getattr(lib, dtype)(x) for x in case]) for lib in (numpy, np)
        )
        assert got == want, case
        raised[got] += 1
    assert min(raised.values()) > 5


NUMBERS = """
    x.dtype.type(z) | np.array(z, x.dtype) | np.array([z], x.dtype) | np.full(2, z, x.dtype) | np.full_like(x, z)
    x + z | x[0] * z | x == z | np.maximum(x, z) | np.copyto(x, z) | x.fill(z) | x.put(0, z) | np.putmask(x, x == 0, z)
    x.__setitem__(0, z) | x.__setitem__(..., z) | x.__setitem__(x == 0, z) | x.__setitem__([0, 1], [z, 0])
    x.flat.__setitem__(0, z) | x.__iadd__(z) | np.insert(x, 0, z) | np.append(x, z) | np.where(x == 0, z, x)
    np.select([x == 0], [z], x) | np.array(z).astype(x.dtype) | np.array([np.array(z)], x.dtype)
"""


@pytest.mark.parametrize("number", [1e-46, 1e-46j], ids=["real", "complex"])
@pytest.mark.parametrize("expression", [e.strip() for e in NUMBERS.replace("\n", "|").split("|") if e.strip()])
def test_python_numbers_become_small_ones_silently(expression, number):
    """NumPy converts them one by one, but where it makes an array of them first."""
    found = []
    for lib in (numpy, np):
        x = lib.zeros(2, lib.complex64 if isinstance(number, complex) else lib.float32)
        scope = {"np": lib, "x": x, "z": number}
        found.append(underflows(lib, lambda scope=scope: eval(expression, scope)))
    assert found[0] == found[1]


EXPRESSIONS = """
np.array([1, 0]) // 0
np.array([1, 0]) % 0
np.floor_divide(np.array([1, 0]), 0)
np.fmod(np.array([1, 0]), 0)
np.remainder(np.array([1, 0], dtype='u1'), np.uint8(0))
np.divmod(np.array([1, 0]), 0)
np.array([-128], dtype='i1') // np.int8(-1)
np.array([-2**63]) // -1
np.array([-2**63]) % -1
np.divmod(np.array([-2**63]), -1)
np.fmod(np.array([-2**63]), -1)
np.array([5], dtype='u2') // np.array([0], dtype='u2')
np.array([5], dtype='u8') // np.array([0], dtype='u8')
np.array([5], dtype='u8') % np.array([0], dtype='u8')
np.reciprocal(np.array([0, 2]))
np.reciprocal(np.array([0, 2], dtype='u1'))
np.array([1]) / 0
np.array(1) / 0
np.array([0.0]) / 0
np.float64(1) / np.array(0.0)
np.float64(1) / np.array([0.0])
np.divide(np.float64(1), np.float64(0))
np.float64(1) / 0
np.float64(0) / 0
1.0 / np.float64(0)
np.float64(1) // 0
np.float64(1) % 0
divmod(np.float64(1), 0)
np.float64(0) ** -1
np.float64(-8) ** (1 / 3)
np.float64(1e300) * 1e300
1e300 * np.float64(1e300)
np.float32(1e38) * np.float32(1e38)
np.int8(127) + 1
np.int8(127) + np.int8(1)
np.int8(1) + np.int16(32767)
np.int8(100) + np.array([100], 'i1')
np.uint8(3) - np.uint8(5)
np.uint64(3) - np.uint64(5)
np.int64(2**62) * np.int64(2)
np.int64(-2**63) - np.int64(1)
-np.uint8(3)
-np.int8(-128)
abs(np.int8(-128))
np.int8(-128) // np.int8(-1)
np.int8(5) // np.int8(0)
np.int8(5) % np.int8(0)
divmod(np.int8(5), np.int8(0))
np.int8(5) << 9
np.int8(100) ** 2
np.add(np.int8(127), np.int8(1))
np.negative(np.int8(-128))
np.array([-128], dtype='i1').__neg__()
np.float32(3) + 1e300
np.array([3], 'f4') + 1e300
np.array([3], 'f2') * 1e5
np.array([1e300]).astype('f4')
np.array([1e-300]).astype('f4')
np.array([1e300, np.nan]).astype('i4')
np.array([np.inf]).astype('i8')
np.array([300.0]).astype('u1')
np.array([3e9]).astype('i4')
np.array([1e10]).astype('i8')
np.array([1e20]).astype('i8')
np.array([300.0], 'f4').astype('i1')
np.array([1e5], 'f4').astype('f2')
np.array([100000]).astype('f2')
np.array([np.nan]).astype(bool)
np.float64(np.nan).astype('i4')
np.array(np.nan).astype('i4')
np.array([1e300], dtype='f4')
np.array(1e300, dtype='f4')
np.float32(1e300)
np.float32(np.float64(1e300))
np.asarray(np.array([1e300]), dtype='f4')
np.zeros(2, 'f4').__setitem__(0, 1e300)
np.zeros(2, 'f4').__setitem__(slice(None), np.array([1e300, 1]))
np.zeros(2, 'i4').__setitem__([0, 1], np.array([np.nan, 1]))
np.zeros(2, 'i4').__setitem__(np.array([True, False]), np.array([np.nan]))
np.full(2, 1e300, dtype='f4')
np.zeros(2, 'f4').fill(1e300)
np.copyto(np.zeros(2, 'f4'), np.array([1e300]), casting='unsafe')
np.add(np.array([1e300]), 1, out=np.zeros(1, 'f4'))
np.add(np.array([1e300]), 1, dtype='f4')
np.multiply(np.array([1e300]), 1e300, out=np.zeros(1))
np.array([1e300]).__imul__(1e300)
np.array([1.0]).__itruediv__(0)
np.array([5]).__ifloordiv__(0)
np.divide(np.array([1.0, 1]), np.array([0.0, 1]), where=np.array([False, True]), out=np.zeros(2))
np.divide(np.array([1.0, 1]), np.array([0.0, 1]), where=np.array([True, False]), out=np.zeros(2))
np.add.reduce(np.array([1e308, 1e308]))
np.add.reduce(np.array([[1e308, np.inf], [1e308, 1]]))
np.multiply.reduce(np.array([1e308, 1e308]))
np.add.accumulate(np.array([1e308, 1e308]))
np.add.reduceat(np.array([1e308, 1e308]), [0])
np.multiply.outer(np.array([1e308, 1e308]), np.array([1e308]))
np.add.at(np.array([1e308, 1]), [0], 1e308)
np.divide.at(np.array([1e308, 1]), [0], 0)
np.negative.at(np.array([1e308, 1]), [0])
np.floor_divide.reduce(np.array([5, 0]))
np.divide.reduce(np.array([1.0, 0]))
np.add.reduce(np.array([1e308, 1e308]), dtype='f4')
np.sum(np.array([1e308, 1e308]))
np.sum(np.array([[1e308, np.inf], [1e308, 1]]), axis=0)
np.sum(np.array([[np.inf, np.inf], [np.inf, -np.inf]]), axis=1)
np.array([1e308, 1e308]).sum()
np.sum(np.array([1e308, 1e308]), where=[True, False])
np.prod(np.array([1e308, 1e308]))
np.prod(np.array([1e-308, 1e-308]))
np.cumsum(np.array([np.inf, 1e308, 1e308]))
np.cumsum(np.array([1e308, 1e308]))
np.cumprod(np.array([1e308, 1e308]))
np.mean(np.array([1e308, 1e308]))
np.mean(np.array([np.inf, -np.inf]))
np.var(np.array([1e200, -1e200]))
np.std(np.array([np.inf, 1]))
np.nansum(np.array([1e308, 1e308, np.nan]))
np.nanmean(np.array([1e308, 1e308]))
np.median(np.array([1e308, 1e308]))
np.average(np.array([1e308, 1e308]), weights=[1, 1])
np.dot(np.array([1e308, 1e308]), np.array([10, 10.0]))
np.inner(np.array([1e308, 1e308]), np.array([10, 10.0]))
np.vdot(np.array([1e308, 1e308]), np.array([10, 10.0]))
np.matmul(np.array([1e308, 1e308]), np.array([10, 10.0]))
np.array([[1e308, 1e308]]) @ np.array([[10], [10.0]])
np.array([[np.inf, np.inf]]) @ np.array([[0], [10.0]])
np.vecdot(np.array([1e308, 1e308]), np.array([10, 10.0]))
np.outer(np.array([1e308, 1e308]), np.array([10, 10.0]))
np.kron(np.array([1e308, 1e308]), np.array([10, 10.0]))
np.diff(np.array([np.inf, np.inf]))
np.diff(np.array([1e308, -1e308]))
np.ptp(np.array([1e308, -1e308]))
np.trapezoid(np.array([1e308, 1e308, 2]))
np.polyval([1e308, 1e308], 10.0)
np.linspace(0, np.inf, 3)
np.logspace(0, 400, 3)
np.round(np.array([1e308]), 5)
np.trace(np.array([[1e308, 1], [1, 1e308]]))
np.linalg.norm(np.array([1e200, 1e200]))
np.linalg.det(np.eye(2) * 1e200)
np.linalg.matrix_power(np.eye(2) * 1e200, 2)
np.fft.fft(np.array([1e308, 1e308]))
np.convolve(np.array([1e308, 1e308]), np.array([10, 10.0]))
np.clip(np.array([np.nan]), 0, 1)
np.nan_to_num(np.array([np.nan]))
np.maximum(np.nan, 1)
np.array([np.nan]) < 1
np.float64('nan') < 1
np.isclose(np.array([np.inf]), np.array([np.inf]))
np.frexp(np.inf)
np.modf(np.inf)
np.ldexp(1.0, 2000)
np.hypot(1e308, 1e308)
np.logaddexp(1e308, 1e308)
np.sqrt(-1)
np.log(0)
np.sin(np.inf)
np.exp(np.array([1000], 'f2'))
np.nanmean(np.zeros((0, 3)), axis=0)
np.nanmean(np.zeros(0))
np.nanmean([1.7e308, 1.7e308, np.nan])
np.nanvar(np.zeros((0, 3)), axis=0)
np.nanvar([1.7e308, -1.7e308, np.nan])
np.nanvar([np.inf, 1.0])
np.nanstd(np.zeros(0), ddof=1)
np.nanmedian(np.zeros((0, 3)), axis=0)
np.nanmedian(np.full((3, 4), np.nan), axis=0)
np.nanpercentile(np.zeros((0, 3)), 40, axis=0)
np.nanquantile(np.full((3, 4), np.nan), [0.5, 0.6], axis=1)
np.var(np.zeros((0, 3)), axis=1)
np.std(np.zeros((0, 3)), axis=1)
np.matmul([[True]], [[2.0]])
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_warnings_are_numpys(expression):
    assert warned(np, expression) == warned(numpy, expression)


def test_results_are_written_before_the_error():
    out = np.zeros(2)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.divide(np.ones(2), np.array([0.0, 2.0]), out=out)
    assert out.tolist() == [numpy.inf, 0.5]


def test_the_warning_points_at_the_caller():
    with np.errstate(divide="warn"), pytest.warns(RuntimeWarning) as caught:
        np.array([1.0]) / 0
    assert caught[0].filename == __file__


def test_results_are_the_same_under_watch():
    x, y = np.array([1.5, -2.0, 0.25]), np.array([2.0, 0.5, 3.0])
    calls: list[Callable[[], Any]] = [
        lambda: x + y, lambda: x + 1, lambda: 2.0 - x, lambda: np.exp(x), lambda: x < y, lambda: -x, lambda: abs(x),
        lambda: np.float64(2) * 3, lambda: divmod(x, y), x.sum, lambda: np.add.reduce(x), lambda: x @ y,
    ]  # fmt: skip
    plain = [repr(call()) for call in calls]
    with np.errstate(all="raise"):
        assert [repr(call()) for call in calls] == plain


@pytest.mark.filterwarnings("ignore:.*infinite or not a number at the baseline")
def test_decomposed_arrays_are_watched_and_stay_decomposed():
    x = np.decompose(np.array([1.0, 2.0]))
    with np.errstate(divide="warn", over="warn"):
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
            y = x / np.array([0.0, 1.0])
        assert y.is_decomposed
        with pytest.warns(RuntimeWarning, match="overflow encountered in reduce"):
            assert np.decompose(np.array([1e308, 1e308])).sum().is_decomposed


def test_vmap_is_not_watched():
    with np.errstate(all="raise"):
        made = torch.vmap(lambda t: (np.asarray(t) / 0).tensor)(torch.ones(2, 3))
    assert torch.equal(made, torch.full((2, 3), torch.inf))
