"""What torch cannot hold is NumPy's own: values, dtypes and errors are NumPy's, what torch can hold comes back."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest

import npdec as np
from tiers import turns

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")

_DAYS = "M8[D]"

# Arrays of six elements of each kind.
KINDS: dict[str, Callable[[Any], Any]] = {
    "text": lambda lib: lib.array(["b", "abc", "", "a", "b", "é"]),
    "bytes": lambda lib: lib.array([b"b", b"abc", b"", b"a", b"b", b"x"]),
    "dates": lambda lib: lib.array(
        ["2024-01-03", "2023-05-01", "NaT", "2024-01-03", "1969-12-31", "2000-02-29"], "M8[D]"
    ),
    "spans": lambda lib: lib.array([3, -1, 0, 3, 100, 7], "m8[s]"),
    "objects": lambda lib: lib.array([Fraction(1, 2), 2, Decimal(3), True, Fraction(7, 3), 2], dtype=object),
    "containers": lambda lib: lib.array([None, "a", (1, 2), [3], {}, None], dtype=object),
    "records": lambda lib: lib.array([(i % 3, i / 2) for i in range(6)], dtype=[("n", "i8"), ("x", "f8")]),
    "packed": lambda lib: lib.array([(i, i / 2) for i in range(6)], dtype=[("n", "i1"), ("x", "f8")]),
    "long": lambda lib: lib.array([1.5, -2, 0, 4, 1.5, 8], dtype=lib.longdouble),
    "swapped": lambda lib: lib.array([1, -2, 0, 4, 1, 8], dtype=">i4"),
    "matrix": lambda lib: lib.matrix([[1.0, 2, 3], [4, 5, 6]]),
    "masked": lambda lib: lib.ma.array([1.0, 2, 3, 4, 5, 6], mask=[0, 1, 0, 0, 1, 0]),
    "masked records": lambda lib: lib.ma.array([(1, 2.0)], mask=[(0, 1)], dtype=[("n", "i8"), ("x", "f8")]),
}

# What is asked of each: functions, methods, operators.
CALLS = (
    """
lib.sort(x) | lib.argsort(x, kind="stable") | lib.unique(x)
lib.unique(x, return_inverse=True, return_counts=True) | lib.concatenate([x, x[:2]]) | lib.stack([x, x])
lib.reshape(x, (2, 3)) | lib.where(x == x, x, x) | lib.isin(x, x[:2]) | lib.take(x, [0, -1]) | lib.repeat(x, 2)
lib.roll(x, 1) | lib.flip(x) | lib.append(x, x[0]) | lib.insert(x, 1, x[0]) | lib.zeros_like(x)
lib.empty_like(x).dtype | lib.full_like(x, x[0]) | lib.copy(x) | lib.ravel(x) | lib.atleast_2d(x)
lib.broadcast_to(x, (2, 6)) | lib.transpose(x) | lib.tile(x, 2) | lib.delete(x, 0) | lib.split(x, 2)
lib.searchsorted(x, x) | lib.add(x, x) | lib.subtract(x, x) | lib.multiply(x, 2) | lib.maximum(x, x)
lib.equal(x, x) | lib.less(x, x[::-1]) | -x | x + x | x - x | x * 2 | x / x | x == x | x != x[0] | x < x[::-1]
x + lib.arange(6) | lib.arange(6) * x | lib.ones(6) - x | lib.sum(x) | lib.mean(x) | lib.max(x) | lib.argmax(x)
lib.any(x) | lib.all(x) | lib.cumsum(x) | lib.prod(x) | lib.ptp(x) | lib.add.reduce(x)
lib.maximum.accumulate(x) | lib.add.outer(x[:2], x[:2]) | lib.isnan(x) | lib.isfinite(x) | lib.sign(x)
lib.shape(x) | lib.ndim(x) | lib.size(x) | lib.result_type(x) | lib.result_type(x, lib.float32)
lib.min_scalar_type(x) | lib.can_cast(x.dtype, "f8") | lib.can_cast("i4", x.dtype)
lib.issubdtype(x.dtype, lib.number) | lib.iscomplexobj(x) | lib.issubdtype(x.dtype, lib.generic)
lib.issubdtype(x.dtype, lib.flexible) | lib.issubdtype(x.dtype, lib.inexact)
lib.promote_types(x.dtype, x.dtype) | lib.dtype(x.dtype) | lib.dtype(x.dtype).kind | lib.array_equal(x, x)
lib.exp(x) | lib.asarray(x) | lib.asarray(x) is x | lib.array(x) | lib.array(x, copy=None) is x
lib.ascontiguousarray(x) | lib.diff(x) | lib.array(x, dtype=object) | lib.array(x.tolist()) | lib.array([x, x])
lib.array(list(x)) | lib.asarray(list(x), x.dtype) | x.astype(object) | x.astype("U10") | x.astype(float)
x.astype(int) | x.astype(bool) | x.astype(x.dtype) | x.tolist() | x.view("u1") | x[1:4] | x[0] | x[[0, 2]]
x[x == x[0]] | x[...] | x[None] | x[lib.array([0, 1])] | x[lib.int64(1)] | x[::-1] | x.sum() | x.max()
x.argsort() | x.nonzero() | x.reshape(3, 2).T | x.copy() | x.repeat(2) | x.item(0) | len(x) | x.shape | x.dtype
x.dtype.names | x.itemsize | x.strides | x.flags.c_contiguous | x.size | x.ndim | x.nbytes | list(x)
lib.char.upper(x) | lib.strings.str_len(x) | lib.char.add(x, x) | lib.datetime_as_string(x) | lib.is_busday(x)
lib.ma.getmaskarray(x) | lib.ma.masked_equal(x, x[0]) | lib.rec.fromarrays([x, lib.arange(6)], names="a,b")
lib.array_repr(x) | x["n"] | x["x"] | x["x"].sum() | x[["n"]] | lib.sort(x, order="x") | lib.array_str(x)
lib.array2string(x) | lib.lexsort((x, x)) | lib.count_nonzero(x) | lib.nonzero(x) | lib.argwhere(x)
lib.extract(x == x, x) | lib.select([x == x], [x]) | lib.intersect1d(x, x) | lib.setdiff1d(x, x[:1])
lib.r_[x, x] | lib.c_[x, x] | lib.ix_([0, 1])[0] | lib.meshgrid(x, x)[1] | lib.vectorize(lambda e: 1)(x)
lib.vectorize(str)(x) | lib.apply_along_axis(lambda r: r[0], 0, x) | list(lib.ndenumerate(x))
lib.nan_to_num(x) | lib.clip(x, x[0], x[0]) | lib.interp(1, [0, 2], [1, 3]) | lib.matmul(x, x) | lib.dot(x, x)
lib.outer(x, x) | lib.piecewise(x, [x == x], [0]) | lib.partition(x, 2) | lib.median(x) | lib.std(x)
lib.histogram([1, 2], x) | lib.bincount(x) | lib.shares_memory(x, x) | lib.may_share_memory(x, lib.ones(2))
lib.isscalar(x[0]) | lib.real(x) | lib.iscomplex(x) | lib.require(x, requirements="C")
lib.lib.stride_tricks.sliding_window_view(x, 2) | lib.array_split(x, 4) | lib.rot90(lib.stack([x, x]))
lib.linalg.norm(x) | lib.fft.fft(x) | lib.einsum("i,i->", x, x) | lib.random.default_rng(0).permutation(x)
lib.block([x, x]) | lib.place(x, x == x, x[:1]) | x.sort() | x.fill(x[0]) | x.put([0], x[1:2])
lib.copyto(x, x[::-1]) | lib.put(x, [0], x[1:2])
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)
WRITES = ("lib.place", "x.sort", "x.fill", "x.put", "lib.copyto", "lib.put")


def described(item: Any) -> Any:
    """A result as plain objects: of arrays and scalars the dtype, shape and elements."""
    if isinstance(item, (tuple, list)):
        return [type(item).__name__, *(described(i) for i in item)]
    if isinstance(item, numpy.ma.MaskedArray):
        return "masked", str(item.dtype), repr(item.filled().tolist())
    if isinstance(item, (np.ndarray, numpy.ndarray)):
        kind = "matrix" if isinstance(item, numpy.matrix) else "array"
        return kind, str(item.dtype), item.shape, repr(numpy.asarray(item).tolist())
    if isinstance(item, (np.generic, numpy.generic)):
        return str(item.dtype), repr(item.item())
    return str(item) if isinstance(item, (np.dtype, numpy.dtype)) else repr(item)


def outcome(lib: Any, kind: str, call: str) -> Any:
    x = KINDS[kind](lib)
    try:
        with numpy.errstate(all="ignore"):
            found = eval(call, {"lib": lib, "x": x})
            return described(x if call.startswith(WRITES) else found)
    except Exception as error:
        return type(error)


def known(error: Any) -> set[str]:
    return {cls.__name__ for cls in error.__mro__} - {"object", "BaseException", "Exception"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_guests_do_what_numpy_does(kind: str) -> None:
    wrong = []
    for call in turns(CALLS, list(KINDS).index(kind), 6):
        want, got = outcome(numpy, kind, call), outcome(np, kind, call)
        if isinstance(want, type):
            same = isinstance(got, type) and bool(known(got) & known(want))
        else:
            same = got == want
        if not same:
            wrong.append(f"{call}: {got} instead of {want}")
    assert not wrong, "\n".join(wrong)


def arrays_in(item: Any) -> Iterator[Any]:
    if isinstance(item, (tuple, list)):
        for one in item:
            yield from arrays_in(one)
    elif isinstance(item, (np.ndarray, np.generic, np.dtype)):
        yield item


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["text", "bytes", "dates", "spans", "objects", "records", "long", "swapped"])
def test_what_torch_can_hold_comes_back(kind: str) -> None:
    """Arrays, scalars and dtypes of numbers in a result are npdec's, all others NumPy's."""
    for call in turns(CALLS, list(KINDS).index(kind), 6):
        x = KINDS[kind](np)
        if kind == "swapped" or "tolist" in call or "item(" in call:
            continue
        try:
            found = eval(call, {"lib": np, "x": x})
        except Exception:
            continue
        for item in arrays_in(found):
            dtype = item if isinstance(item, np.dtype) else item.dtype
            held = dtype.kind in "biufc" and dtype.char not in "gG"
            assert isinstance(item, (numpy.ndarray, numpy.generic, numpy.dtype)) is not held, (call, item)


# -- what they are -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_guests_are_arrays(kind: str) -> None:
    x = KINDS[kind](np)
    assert isinstance(x, np.ndarray)
    assert isinstance(x, numpy.ndarray)
    assert issubclass(type(x), np.ndarray)
    assert type(x) is not np.ndarray
    assert isinstance(x.dtype, np.dtype)
    assert not isinstance(x, (np.generic, np.dtype))
    for twin in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert type(twin) is type(x)
        assert twin.tolist() == x.tolist()


def test_plain_arrays_are_of_the_class_itself() -> None:
    for x in (np.ones(2), np.array(["a", "b"]) == "a", np.array(["1"]).astype(int)):
        assert type(x) is np.ndarray
    assert not isinstance([1.0], np.ndarray)
    assert not isinstance(np.float64(1), np.ndarray)
    assert not issubclass(list, np.ndarray)
    assert not isinstance(None, np.dtype)


ABSTRACT = ("generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating", "flexible")


@pytest.mark.parametrize("name", [*ABSTRACT, "complexfloating", "character", "float64", "int8", "bool_"])
def test_scalars_of_numpy_are_of_the_kinds_that_numpy_says(name: str) -> None:
    ours, theirs = getattr(np, name), getattr(numpy, name)
    for code in numpy.typecodes["All"]:
        for cls in (numpy.dtype(code).type,):
            assert issubclass(cls, ours) is issubclass(cls, theirs), cls
            try:
                scalar = cls(1, "D") if code in "mM" else cls(1)
            except TypeError:
                continue
            if isinstance(scalar, numpy.generic):
                assert isinstance(scalar, ours) is isinstance(scalar, theirs), cls


def test_all_names_of_numpy_exist() -> None:
    names = [name for name in dir(numpy) if not name.startswith("_")]
    assert len(names) > 450
    for name in names:
        ours, theirs = getattr(np, name), getattr(numpy, name)
        assert callable(ours) is callable(theirs), name
        assert isinstance(ours, type) is isinstance(theirs, type), name


# -- memory ------------------------------------------------------------------------------------------------------------


def test_fields_are_views() -> None:
    records = np.zeros(4, dtype=[("x", "f8"), ("n", "i4"), ("m", "i4"), ("part", "f4", (2,))])
    x, n, part = records["x"], records["n"], records["part"]
    assert type(x) is type(n) is type(part) is np.ndarray
    assert part.shape == (4, 2)
    x[1] = 5
    n[:] += 2
    part[2, 1] = 3
    assert records[1]["x"] == 5
    assert records["n"].tolist() == [2] * 4
    assert records["part"][2].tolist() == [0, 3]
    records["x"] = np.arange(4.0)
    assert x.tolist() == [0, 1, 2, 3]
    assert x.base is records


def test_what_torch_cannot_address_stays_a_view_of_numpys() -> None:
    packed = np.zeros(3, dtype=[("n", "i1"), ("x", "f8")])
    packed["x"][1] = 7
    assert packed["x"].tolist() == [0, 7, 0]
    assert packed["x"].dtype == np.float64
    assert np.decompose(packed["x"]).components.tolist() == np.decompose([0.0, 7, 0]).components.tolist()


def test_views_of_dates_are_of_the_same_memory() -> None:
    dates = np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]")
    days = dates.view("i8")
    assert type(days) is np.ndarray
    days += 1
    assert dates.tolist() == np.array(["2024-01-02", "2024-01-03"], dtype="M8[D]").tolist()
    assert ((dates[1:] - dates[:-1]) / np.timedelta64(1, "h")).tolist() == [24]


def test_results_are_written_where_out_says() -> None:
    words, found = np.array(["a", "b"]), np.zeros(2, dtype=bool)
    assert np.equal(words, "a", out=found) is found
    assert found.tolist() == [True, False]
    spans = np.array([1, 2], "m8[s]")
    assert np.add(spans, spans, out=spans) is spans
    assert spans.tolist() == np.array([2, 4], "m8[s]").tolist()
    spans += spans
    assert np.divide(spans, np.timedelta64(1, "s"), out=np.zeros(2)).tolist() == [4, 8]
    x = np.zeros(2)
    view = x[::-1]
    np.copyto(x, np.array([Fraction(1, 2), 3], dtype=object), casting="unsafe")
    assert x.tolist() == [0.5, 3]
    assert view.tolist() == [3, 0.5]
    with pytest.raises(TypeError, match="Cannot cast"):
        np.copyto(x, np.array(["1", "2"]))
    x[:] = np.array(["4", "5"])
    assert x.tolist() == [4, 5]


PUT_IN = """
x = np.zeros(4, object); x[:] = [[1], [2], [3], [4]]
x = np.zeros((2, 2), object); x[0] = [1, [2, 3]]
x = np.zeros((), object); x[()] = np.arange(2)
x = np.zeros(2, object); x[0] = [1, 2]; x[1] = np.arange(2)
x = np.zeros((2, 1), object); x[0] = [np.arange(2)]
x = np.zeros((2, 3), object); x[:] = np.arange(3)
x = np.zeros(3, object); x[:2] = [np.int64(1), None]
x = np.array([[None] * 2] * 2); x[1, 0] = (1, 2)
x = np.empty((1, 1), dtype=object); x[0, 0] = np.eye(2)
x = np.array((np.eye(2), np.arange(3), None), dtype=object)
"""


@pytest.mark.parametrize("text", PUT_IN.strip().splitlines())
def test_objects_are_put_in_as_they_are(text: str) -> None:
    found = []
    for lib in (numpy, np):
        scope: dict[str, Any] = {"np": lib}
        exec(text, scope)
        found.append(repr(scope["x"].tolist()))
    assert found[0] == found[1]


def test_containers_stay_the_same_objects() -> None:
    one, two = {"a": 1}, [np.ones(2)]
    made = np.array([[one, None], [one, None]])
    assert made[0, 0] is made[1, 0] is one
    made[0, 1] = two
    assert made[0, 1] is two
    assert made.copy()[0, 0] is one


def test_errors_of_numpy_are_those_of_npdec() -> None:
    words, long = np.array(["a", "b"]), np.ones((2, 3), np.longdouble)
    with pytest.raises(np.exceptions.AxisError, match="axis 3"):
        np.sort(words, axis=3)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.matrix_power(long, 2)
    with pytest.raises(np.exceptions.DTypePromotionError):
        np.promote_types("M8[s]", "f8")


def test_what_makes_arrays_of_itself_may_make_npdecs() -> None:
    class Row:
        """As a matrix of symbols does it, in a library that imports npdec."""

        def __array__(self, dtype: Any = object, copy: bool | None = None) -> Any:
            made = np.empty((2,), dtype=dtype)
            made[0], made[1] = Fraction(1, 2), 2
            return made

    assert np.asarray(Row()).dtype == object
    for make in (np.array, np.asarray, np.asanyarray):
        made = make(Row(), dtype=float)
        assert type(made) is np.ndarray
        assert made.tolist() == [0.5, 2.0]


class Pair:
    """Two numbers that may be arrays: of numbers its length raises, though it can be indexed."""

    def __init__(self, first: object, second: object) -> None:
        self.first, self.second = numpy.asarray(first), numpy.asarray(second)

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: object) -> Pair:
        return Pair(self.first[index], self.second[index])

    def __radd__(self, other: object) -> tuple[str, float]:
        return "added", float(other)


def test_what_has_no_length_at_the_moment_is_one_object():
    one, three = Pair(1.0, 2.0), Pair([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    for lib in (np, numpy):
        assert (lib.shape(one), lib.size(three), lib.ndim(three)) == ((), 3, 1)
        assert [lib.array(x).shape for x in (one, three, [one, one], [three, three])] == [(), (3,), (2,), (2, 3)]
        assert lib.atleast_1d(one)[0] is one
        assert (lib.ones(3) + three).tolist() == [("added", 1.0)] * 3
        assert lib.ones(()) + one == ("added", 1.0)


def test_where_to_write_is_no_guest_beside_contributions() -> None:
    plain = np.ones(3)
    np.copyto(plain, 7.0, where={"a": 1})  # by its truth
    assert plain.tolist() == [7.0, 7.0, 7.0]
    x = np.decompose(np.ones(3))
    for call in (
        lambda: np.put(x, {}, 1.0),
        lambda: np.copyto(x, 7.0, where={"a": 1}),
        lambda: np.place(x, "", np.ones(1)),
    ):
        with pytest.raises(TypeError, match="holds numbers"):
            call()
    assert x.components.shape[0] == 3
    assert x.value.tolist() == [1.0, 1.0, 1.0]


def test_numpy_gets_arrays_of_dtypes_that_it_alone_has() -> None:
    for dtype in (object, "U", "S8", "m8[s]", ">i4"):
        made, wanted = np.arange(3).__array__(dtype), numpy.arange(3).astype(dtype)
        assert made.dtype == wanted.dtype
        assert made.tolist() == wanted.tolist()
