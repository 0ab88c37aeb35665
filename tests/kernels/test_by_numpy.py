"""What NumPy computes in torch's place is what torch computes: the bits, the dtype, and how it lies in memory.

It is not asked where somebody follows what is computed."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from npdec._impl import _by_numpy, _order
from tiers import turns

FLOATS = ("float16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
REAL = ("bool", *INTEGERS, *FLOATS)
ALL = (*REAL, "complex64", "complex128")

MANY = _by_numpy.MANY + 200
SHAPES = ((MANY,), (MANY // 40, 40), (60, 5), (7,), (0, 3), ())


@pytest.fixture(autouse=True)
def in_python() -> Iterator[None]:
    """All calls are left to Python, which a profiler is told of: `npdec._native` computes some in memory itself."""
    before = sys.getprofile()
    sys.setprofile(lambda *event: None)
    yield
    sys.setprofile(before)


@functools.cache
def numbers(dtype: str, shape: tuple[int, ...], seed: int = 0) -> numpy.ndarray:
    """Numbers of a dtype, among which are those at its ends, zeros of both signs, infinities, nan, and equal ones."""
    rng = numpy.random.default_rng([seed, *shape])
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.4
    if kind in "iu":
        info = numpy.iinfo(dtype)
        made = rng.integers(max(info.min, -9), 10, shape).astype(dtype)
        ends = [info.min, info.max, 0, info.max - 1, 1]
    elif kind == "f":
        made = numpy.round(rng.standard_normal(shape) * 9, 2).astype(dtype)
        limits = numpy.finfo(dtype)
        ends = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, limits.max, limits.tiny, limits.smallest_subnormal, -0.5]
    else:
        made = numpy.round(rng.standard_normal(shape) + 1j * rng.standard_normal(shape), 1).astype(dtype)
        ends = [complex(a, b) for a, b in itertools.product([0.0, -0.0, numpy.nan, numpy.inf, 2.5], repeat=2)]
    if made.ndim:
        flat = made.reshape(-1)
        flat[::7] = rng.choice(numpy.array(ends, dtype=dtype), flat[::7].size)
    return made


def arrays(dtype: str, seed: int = 0) -> Iterator[Any]:
    """Arrays of many shapes, and views that do not lie in row-major order."""
    for shape in SHAPES:
        array = np.array(numbers(dtype, shape, seed))
        yield array
        if len(shape) == 2:
            yield array.T
            yield array[:, ::2]
        elif len(shape) == 1:
            yield array[::3]


def pairs(dtype: str) -> Iterator[tuple[Any, Any]]:
    """Pairs of arrays of one dtype that broadcast."""
    for a, b in zip(arrays(dtype), arrays(dtype, 1), strict=True):
        yield a, b
        if a.ndim == 2:
            yield a, b[:1]
            yield a[:, :1], b
        if a.ndim and a.size:
            yield a, b[(0,) * a.ndim]


def outcome(call: Callable[[], Any]) -> Any:
    """The bits of what a call gives, its dtype, shape and strides; or the type of its error and the words."""
    try:
        given = call()
    except Exception as error:
        return type(error), str(error)
    return [described(one) for one in (given if isinstance(given, (tuple, list)) else (given,))]


def described(given: Any) -> Any:
    held = given._t
    strides = tuple(step for n, step in zip(held.shape, held.stride(), strict=True) if n > 1) if held.numel() else ()
    bits = numpy.array(given)
    if bits.dtype.kind in "fc":
        parts = bits.reshape(-1).view(bits.real.dtype)  # of nan, which bits are set is left open
        parts[numpy.isnan(parts)] = numpy.nan
    return bits.dtype, tuple(held.shape), strides, bits.tobytes()


def one(name: str, dtypes: tuple[str, ...], **options: Any) -> Any:
    return name, dtypes, lambda dtype: [(lambda x=x: getattr(np, name)(x, **options)) for x in arrays(dtype)]


def two(name: str, dtypes: tuple[str, ...]) -> Any:
    return name, dtypes, lambda dtype: [(lambda x=x, y=y: getattr(np, name)(x, y)) for x, y in pairs(dtype)]


def operator(name: str, stem: str, dtypes: tuple[str, ...]) -> Any:
    """An operator between arrays, with a Python number on either side, and in place."""

    def calls(dtype: str) -> list[Callable[[], Any]]:
        number: Any = 3 if dtype in INTEGERS else dtype == "bool" or 2.5
        found = [(lambda x=x, y=y: getattr(x, f"__{stem}__")(y)) for x, y in pairs(dtype)]
        found += [(lambda x=x: getattr(x, f"__{stem}__")(number)) for x in arrays(dtype)]
        if stem not in ("lt", "le", "gt", "ge", "eq", "ne", "divmod"):
            found += [(lambda x=x: getattr(x, f"__r{stem}__")(number)) for x in arrays(dtype)]
            found += [(lambda x=x, y=y: getattr(x.copy(), f"__i{stem}__")(y)) for x, y in pairs(dtype)]
            found += [(lambda x=x: getattr(x.copy(), f"__i{stem}__")(number)) for x in arrays(dtype)]
            found += [(lambda x=x, y=y: getattr(x.copy(), f"__i{stem}__")(y > y)) for x, y in pairs(dtype)]
        return found

    return name, dtypes, calls


def by_mask(name: str, call: Callable[[Any, Any], Any]) -> Any:
    def calls(dtype: str) -> list[Callable[[], Any]]:
        masks = [np.array(numbers("bool", tuple(x.shape), 2)) for x in arrays(dtype)]
        return [(lambda x=x, mask=mask: call(x, mask)) for x, mask in zip(arrays(dtype), masks, strict=True) if x.ndim]

    return name, ALL, calls


def put(x: Any, mask: Any) -> Any:
    made = x.copy()
    made[mask] = x[mask][::-1]
    return made


def along(name: str, dtypes: tuple[str, ...]) -> Any:
    """A function along each axis, and of all elements."""

    def calls(dtype: str) -> list[Callable[[], Any]]:
        given = [(x, axis) for x in arrays(dtype) for axis in (None, *range(x.ndim))]
        return [(lambda x=x, axis=axis: getattr(np, name)(x, axis=axis)) for x, axis in given]

    return name, dtypes, calls


def lexsorted(dtype: str) -> list[Callable[[], Any]]:
    return [(lambda x=x, y=y, a=a: np.lexsort((y, x), axis=a)) for x, y in pairs(dtype) for a in range(x.ndim)]


def exponents(dtype: str) -> list[Callable[[], Any]]:
    return [(lambda x=x, y=y: np.ldexp(x, y)) for x, y in zip(arrays(dtype), arrays("int32"), strict=True)]


def unravelled(dtype: str) -> list[Callable[[], Any]]:
    indices = [numpy.arange(24).reshape(shape).astype(dtype) for shape in ((24,), (4, 6), (2, 12))]
    given = [(np.array(x), shape) for x in [*indices, indices[1].T, indices[0][:0], indices[0][7], indices[0] + 5]
             for shape in ((24,), (4, 6), (2, 3, 4), (30,), (0, 4), ())]  # fmt: skip
    return [(lambda x=x, s=s, o=o: np.unravel_index(x, s, o)) for x, s in given for o in "CF"]


def ravelled(dtype: str) -> list[Callable[[], Any]]:
    first, second = numpy.arange(6).astype(dtype), numpy.arange(6)[::-1].astype(dtype)
    given = [(first, second), (first[:, None], second), (first[2], second), (first[2], second[3]), (first[:0],) * 2]
    options = [(dims, mode) for dims in ((6, 6), (4, 6), (0, 6), (2, 3)) for mode in ("raise", "wrap", "clip")]
    return [
        (lambda g=g, d=d, m=m, o=o: np.ravel_multi_index(tuple(map(np.array, g)), d, m, o))
        for g in given
        for d, m in options
        for o in "CF"
    ]


def packed(dtype: str) -> list[Callable[[], Any]]:
    given = [(x, axis, order) for x in arrays(dtype) for axis in (None, 0, -1) for order in ("big", "little")]
    return [(lambda x=x, a=a, o=o: np.packbits(x, a, o)) for x, a, o in given]


def unpacked(dtype: str) -> list[Callable[[], Any]]:
    given = [(x, axis, count) for x in arrays(dtype) for axis in (None, 0, -1) for count in (None, 5, -3, 99999)]
    return [(lambda x=x, a=a, c=c: np.unpackbits(x, a, c)) for x, a, c in given]


def sets(name: str, *options: dict[str, Any]) -> Any:
    """A function of two arrays as sets; with `assume_unique` no array has an element twice."""

    def calls(dtype: str) -> list[Callable[[], Any]]:
        given = [(np.unique(x), np.unique(y)) if o.get("assume_unique") else (x, y)
                 for x, y in [*pairs(dtype)][4:] for o in options]  # fmt: skip
        return [
            (lambda x=x, y=y, o=o: getattr(np, name)(x, y, **o)) for (x, y), o in zip(given, list(options) * len(given))
        ]

    return name, ("bool", *INTEGERS), calls


def quantiles(dtype: str) -> list[Callable[[], Any]]:
    x = np.array(numbers(dtype, (_order.MANY // 40 + 1, 40)))
    given = [x, x.T, np.where(np.isfinite(x), x, 1), np.where(x > 0, x, 2)]
    made = [(x, axis) for x in given for axis in (None, -1)]
    calls = [(lambda x=x, axis=axis: np.percentile(x, [5, 50, 99.9], axis=axis)) for x, axis in made]
    calls += [(lambda x=x, axis=axis: np.quantile(x, 0.3, axis=axis)) for x, axis in made]
    return calls + [(lambda x=x, axis=axis: np.median(x, axis=axis)) for x, axis in made]


COMPARED = ("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal"), ("eq", "equal"), \
    ("ne", "not_equal")  # fmt: skip
TABLE = [
    one("bitwise_count", ("bool", *INTEGERS)), one("spacing", FLOATS), one("modf", FLOATS), one("frexp", FLOATS),
    one("isnan", ALL), one("isinf", ALL), one("isfinite", ALL), one("signbit", REAL), one("nonzero", ALL),
    one("argwhere", ALL), one("flatnonzero", ALL), one("argsort", ALL), one("sort", ALL), one("sort_complex", ALL),
    along("sort", ALL), along("argsort", ALL), along("argmax", ALL), along("argmin", ALL),
    along("count_nonzero", ALL), along("any", ALL), along("all", ALL),
    two("gcd", INTEGERS), two("lcm", INTEGERS), two("fmod", INTEGERS), two("divmod", INTEGERS),
    two("add", ("int64", *UNSIGNED)), two("multiply", ("int64", *UNSIGNED)), two("subtract", ("int64", *UNSIGNED)),
    *[two(name, REAL) for _, name in COMPARED],
    *[operator(name, stem, REAL) for stem, name in COMPARED],
    operator("add", "add", INTEGERS), operator("subtract", "sub", INTEGERS), operator("multiply", "mul", INTEGERS),
    operator("floor_divide", "floordiv", INTEGERS), operator("remainder", "mod", INTEGERS),
    operator("bitwise_and", "and", ("bool", *INTEGERS)), operator("bitwise_or", "or", ("bool", *INTEGERS)),
    operator("bitwise_xor", "xor", ("bool", *INTEGERS)),
    operator("left_shift", "lshift", INTEGERS), operator("right_shift", "rshift", INTEGERS),
    by_mask("x[mask]", lambda x, mask: x[mask]), by_mask("x[mask] = values", put),
    sets("intersect1d", {}, {"return_indices": True}, {"assume_unique": True}),
    sets("setdiff1d", {}, {"assume_unique": True}), sets("setxor1d", {}, {"assume_unique": True}), sets("union1d", {}),
    ("quantiles", (*INTEGERS, "float32", "float64"), quantiles),
    ("lexsort", ALL, lexsorted), ("ldexp", FLOATS, exponents), ("unravel_index", ("int8", "int64"), unravelled),
    ("ravel_multi_index", ("int8", "int64"), ravelled), ("packbits", ("bool", *INTEGERS), packed),
    ("unpackbits", ("uint8",), unpacked),
]  # fmt: skip


@pytest.mark.parametrize(("name", "dtypes", "calls"), TABLE, ids=[f"{i}-{row[0]}" for i, row in enumerate(TABLE)])
@pytest.mark.whole
def test_the_bits_are_those_of_torch(
    name: str, dtypes: tuple[str, ...], calls: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:

    def asked_for() -> list[Callable[[], Any]]:
        return [call for i, dtype in enumerate(dtypes) for call in turns(calls(dtype), i, 3)]

    found = [outcome(call) for call in asked_for()]
    asked: list[str] = []
    monkeypatch.setattr(_by_numpy, "_known", asked.append)
    for call, with_numpy in zip(asked_for(), found, strict=True):
        assert outcome(call) == with_numpy
    assert asked, f"NumPy is not asked for {name}"


def asking(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that NumPy is asked for, from now on."""
    asked, known = [], _by_numpy._known
    monkeypatch.setattr(_by_numpy, "_known", lambda name: asked.append(name) or known(name))
    return asked


def test_one_number_before_an_array_stays_to_torch() -> None:
    assert _by_numpy.by_numpy_elementwise("add", 1, torch.arange(3)) is None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e5m2])
def test_dtypes_that_numpy_lacks(dtype: torch.dtype) -> None:
    x = torch.ones(_by_numpy.MANY, dtype=dtype)
    assert _by_numpy.by_numpy_elementwise("isnan", x) is None
    assert _by_numpy.by_numpy("argmax", x) is None


def test_conjugates_and_negatives_that_are_put_off() -> None:
    x = torch.full((_by_numpy.MANY,), 1 + 2j)
    assert _by_numpy.by_numpy_elementwise("isnan", x.conj()) is None
    assert _by_numpy.by_numpy_elementwise("less", x.conj().imag, x.real) is None
    assert torch.equal(np.array(x.conj())[np.array(x.real == 1)]._t, x.conj())


class Looking(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


def compared(x: torch.Tensor) -> Any:
    y = np.asarray(x)
    return [(y < 0.5)._t, np.packbits(y > 0)._t, np.argmax(y), np.spacing(y)._t, np.nonzero(y)[0]._t]


def test_who_follows_is_answered_by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.linspace(-1, 1, _by_numpy.MANY)
    asked = asking(monkeypatch)
    want = compared(x)
    assert set(asked) == {"less", "greater", "packbits", "argmax", "spacing", "nonzero"}
    asked.clear()
    with Looking():
        got = compared(x)
    for a, b in zip(want, got, strict=True):
        assert torch.equal(torch.as_tensor(a), torch.as_tensor(b))
    with torch.autograd.forward_ad.dual_level():
        compared(x)
    torch.vmap(lambda row: (np.asarray(row) < 0.5)._t)(x.reshape(2, -1))
    torch.func.vmap(lambda row: np.spacing(np.asarray(row))._t)(x.reshape(2, -1))
    assert not asked


def test_a_graph_goes_on_through_what_a_mask_selects(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.linspace(-1, 1, _by_numpy.MANY, dtype=torch.float64, requires_grad=True)
    y = np.asarray(x)
    assert not (y > 0)._t.requires_grad
    chosen = y[y > 0]
    chosen._t.sum().backward()
    assert torch.equal(x.grad, (x > 0).double())


def test_a_write_is_seen_by_a_graph_that_kept_what_was_there() -> None:
    w = torch.ones(_by_numpy.MANY, dtype=torch.float64, requires_grad=True)
    n = np.arange(_by_numpy.MANY)
    kept = w * n._t
    n += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.sum().backward()


def test_numpy_says_nothing_of_its_errors_and_its_state_is_not_changed(recwarn: pytest.WarningsRecorder) -> None:
    state = numpy.geterr()
    n = np.arange(_by_numpy.MANY)
    assert int((n // (n - n))[3]) == 0
    np.ldexp(np.ones(3), np.array([5000, -5000, 0]))
    np.spacing(np.array([np.inf, np.nan]))
    assert numpy.geterr() == state
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning) and "numpy" in str(w.filename)]


@pytest.mark.filterwarnings("ignore::npdec.exceptions.DecompositionWarning")
def test_what_carries_contributions_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    given = np.array(numpy.random.default_rng(0).standard_normal(_by_numpy.MANY))
    mask, other = given > 0.3, np.decompose(given[::-1] * 2.0, axis=())
    calls: list[Callable[[Any], Any]] = [
        np.spacing, np.sort, np.argsort, np.nonzero, np.argmax, np.isnan, lambda x: np.modf(x)[0],
        lambda x: np.frexp(x)[0],
        lambda x: np.ldexp(x, 3), lambda x: x < 0.5, lambda x: x >= other, lambda x: x[mask], lambda x: x > 0,
        lambda x: np.packbits(x > 0), lambda x: np.add(x, other), lambda x: put(x, mask), lambda x: x[other > 0],
    ]  # fmt: skip

    def parts(call: Callable[[Any], Any]) -> Any:
        with np.errstate(all="ignore"):
            made = call(np.decompose(given, axis=()))
        made = made[0] if isinstance(made, tuple) else made
        if not isinstance(getattr(made, "_t", None), np.DecomposedTensor):
            return described(np.asarray(made))
        return [described(np.array(part)) for part in (made.value, made.residual, made.components)]

    found = [parts(call) for call in calls]
    monkeypatch.setattr(_by_numpy, "_known", lambda name: None)
    assert [parts(call) for call in calls] == found


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_many_numbers_among_few_are_where_numpy_finds_them(dtype: str) -> None:
    values = numbers(dtype, (MANY,))
    for count in (1, 3, 64, 65):
        edges = numpy.sort(numbers(dtype, (count,), 3))
        few = [edges, edges[~numpy.isnan(edges)], edges[numpy.isfinite(edges)]]
        for a, side in itertools.product(few, ("left", "right")):
            if a.size:
                want = numpy.searchsorted(a, values, side)
                got = np.searchsorted(np.array(a), np.array(values), side)
                assert got.dtype == np.int64
                numpy.testing.assert_array_equal(numpy.asarray(got), want)
    got, want = np.histogram(np.array(values), 40, (-9, 9))[0], numpy.histogram(values, 40, (-9, 9))[0]
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


def test_many_indices_of_several_axes_choose_what_numpy_chooses() -> None:
    places = numpy.random.default_rng(0).integers(-7, 7, (90, 7))
    for dtype in ALL:
        for x in (numbers(dtype, (7,)), numbers(dtype, (60, 5)), numbers(dtype, (60, 5)).T):
            for index in (places % len(x), places % len(x) - 1, places.T % len(x)):
                want, got = x[index], np.array(x)[np.array(index)]
                assert got.shape == want.shape
                assert numpy.asarray(got).tobytes() == want.tobytes()
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        np.ones(7)[np.array(numpy.where(places == 3, 7, 0))]


def test_many_complex_numbers_beside_one_are_added_by_their_parts() -> None:
    z = numbers("complex128", (MANY,))
    with numpy.errstate(all="ignore"):
        for one in (1 + 2j, complex(numpy.inf, 0.0), complex(-0.0, -0.0)):
            for got, want in ((np.array(z) + one, z + one), (one - np.array(z), one - z)):
                assert described(got) == described(np.array(want))
