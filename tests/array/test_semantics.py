"""What drop-in replacements get wrong: scalars, promotion, aliasing, in-place writes of decomposed numbers."""

from __future__ import annotations

import copy
import gc
import itertools
import operator
import pickle
import threading

import numpy
import pytest
import torch

import npdec as np

BOTH = pytest.mark.parametrize("lib", [np, numpy], ids=["npdec", "numpy"])


# -- scalars -----------------------------------------------------------------------------------------------------------


@BOTH
def test_an_element_is_a_scalar_and_no_view(lib):
    x = lib.array([1.0, 2.0])
    s = x[0]
    s += 1
    assert (s, x[0]) == (2.0, 1.0)
    x[0] = 7
    assert s == 2.0
    assert isinstance(s, lib.float64)
    assert isinstance(s, lib.floating)
    assert isinstance(s, lib.generic)
    assert not isinstance(s, lib.ndarray)


@BOTH
def test_scalars_behave_as_python_numbers(lib):
    x = lib.array([1.25, 2.5])
    n = lib.array([2, 3])
    assert f"{x[0]:.3f}" == "1.250"
    assert list(range(n[0])) == [0, 1]
    assert [10, 20, 30, 40][n[1]] == 40
    assert {x[1]: "a"}[2.5] == "a"
    assert hash(n[0]) == hash(2)
    assert repr(x[0]) == "np.float64(1.25)"
    assert str(n[1]) == "3"
    assert round(x[0], 1) == round(numpy.float64(1.25), 1)
    assert "abc" * n[0] == "abcabc"
    with pytest.raises(TypeError):
        x[0][0] = 1
    with pytest.raises(TypeError):
        [1, 2][x[0]]


@BOTH
def test_where_0d_results_are_scalars_and_where_arrays(lib):
    z = lib.array(4.0)
    assert type(z) is lib.ndarray
    assert isinstance(z + 1, lib.float64)
    assert isinstance(lib.sqrt(z), lib.float64)
    assert isinstance(lib.array([1.0, 2.0]).sum(), lib.float64)
    assert isinstance(z[()], lib.float64)
    assert type(z[...]) is lib.ndarray
    assert type(z.reshape(())) is lib.ndarray
    assert type(lib.squeeze(lib.array([1.0]))) is lib.ndarray
    assert type(lib.where(True, 1.0, 2.0)) is lib.ndarray
    assert type(lib.transpose(z)) is lib.ndarray


@BOTH
def test_booleans_are_two(lib):
    x = lib.arange(3)
    for made in (x.any(), x[0] == 0, lib.bool(1), lib.array([True])[0], lib.array(True)[()], lib.True_ & lib.True_):
        assert made is lib.True_
    assert lib.isclose(lib.inf, -lib.inf) is lib.False_
    assert (lib.array(0) == "a") is lib.False_
    assert pickle.loads(pickle.dumps(lib.True_)) is lib.True_


@BOTH
def test_python_numbers_beside_float32_are_weak_in_isclose(lib):
    below = 1.0 - 2.0**-52  # 1 in float32
    one, many = lib.float32(1), lib.ones(2, dtype="f4")
    for x in (one, many):
        assert lib.isclose(x, below, atol=0, rtol=0).all()
        assert lib.isclose(x, lib.float32(0), atol=below).all()
        assert lib.isclose(x, 2, atol=0, rtol=below / 2).all()
        assert not lib.isclose(x, lib.float64(below), atol=0, rtol=0).any()
        assert not lib.isclose(x, lib.float32(0), atol=lib.float64(below)).any()
        assert not lib.isclose(x, 2, atol=0, rtol=lib.float64(below / 2)).any()


@BOTH
def test_python_integers_beside_int64(lib):
    for x in (lib.int64(3), lib.array([3])):
        assert (x + 2**62 == 3 + 2**62) & (2**62 ^ x == 3 + 2**62) & (x < 2**63) & (x > -(2**70))
        for combine in (operator.add, operator.sub, operator.mul, operator.and_, operator.xor):
            with pytest.raises(OverflowError):  # which torch would take for a negative number
                combine(x, 2**63)


@BOTH
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "uint32", "uint64", "int64", "float32", "complex64"])
def test_at_counts_repeated_indices(lib, dtype):
    indices = lib.array([0, 2, 0, 0, 2])
    sums, largest = lib.ones(3, dtype=dtype), lib.zeros(3, dtype=dtype)
    lib.add.at(sums, indices, lib.ones(5, dtype=dtype))
    lib.maximum.at(largest, indices, lib.array([1, 0, 3, 2, 1]).astype(dtype))
    assert sums.tolist() == numpy.array([4, 1, 3]).astype(dtype).tolist()
    assert largest.tolist() == numpy.array([3, 0, 1]).astype(dtype).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float64", "int64", "bool", "complex128", "uint8"])
def test_at_of_no_indices_refuses_what_it_refuses_of_some(dtype):
    def outcome(lib, name, indices, b):
        x, function = lib.array([1, 1, 0]).astype(dtype), getattr(lib, name)
        try:
            function.at(x, indices, *([b] if function.nin > 1 else []))
        except (TypeError, ValueError) as error:
            return isinstance(error, TypeError)
        return str(x.dtype), x.tolist()

    for name, b in itertools.product(dir(numpy), (1.5, 2, True, 1j)):
        function = getattr(numpy, name)
        plain = isinstance(function, numpy.ufunc) and function.signature is None and hasattr(np, name)
        if plain and function.nin < 3 and function.nout == 1:
            assert outcome(np, name, [], b) == outcome(numpy, name, [], b), (name, b)


def test_scalars_carry_gradients_and_contributions():
    t = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (np.asarray(t)[0] * 3.0).tensor.backward()
    assert t.grad.tolist() == [3.0, 0.0]
    s = np.decompose(np.array([1.0, 2.0]), labels=["a", "b"])[1]
    assert s.components.tolist() == [0.0, 2.0]
    with pytest.warns(np.DecompositionWarning, match=r"float\(\)"):
        assert float(s) == 2.0
    assert (s.item(), f"{s:.1f}", (s == 2.0).value, hash(s)) == (2.0, "2.0", True, hash(2.0))


# -- promotion ---------------------------------------------------------------------------------------------------------

NUMBERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
           "float64", "complex64", "complex128"]  # fmt: skip


@pytest.mark.parametrize("left", NUMBERS)
@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.truediv, operator.lt])
def test_promotion(left, op):
    for right in NUMBERS:
        a, b = numpy.ones(2, dtype=left), numpy.ones(2, dtype=right)
        assert str(op(np.array(a), np.array(b)).dtype) == str(op(a, b).dtype), right
        assert str(op(np.array(a), np.array(b)[0]).dtype) == str(op(a, b[0]).dtype), right
    for number in (True, 2, 2.0, 2j):
        assert str(op(np.array(numpy.ones(2, dtype=left)), number).dtype) == str(
            op(numpy.ones(2, dtype=left), number).dtype
        )


@BOTH
def test_integer_results(lib):
    n = lib.array([1, 2], dtype=lib.int32)
    assert n.sum().dtype == lib.int64
    assert (n / n).dtype == lib.float64
    assert n.mean().dtype == lib.float64
    assert (lib.array([1], dtype=lib.uint64) + lib.array([1], dtype=lib.int64)).dtype == lib.float64
    assert (lib.array([1], dtype=lib.float32) + 1.0).dtype == lib.float32
    assert (lib.array([1], dtype=lib.float32) + lib.float64(1.0)).dtype == lib.float64
    with pytest.raises(OverflowError):
        lib.array([1], dtype=lib.int8) + 300


# -- views -------------------------------------------------------------------------------------------------------------

VIEWS = {
    "row": lambda a: a[1],
    "slice": lambda a: a[:, 1:],
    "step": lambda a: a[::2, ::2],
    "newaxis": lambda a: a[None, 1],
    "ellipsis": lambda a: a[..., 0],
    "reshape": lambda a: a.reshape(4, 3),
    "ravel": lambda a: a.ravel(),
    "transpose": lambda a: a.T,
    "swapaxes": lambda a: a.swapaxes(0, 1),
    "squeeze": lambda a: a[None].squeeze(0),
    "view": lambda a: a.view(),
}


@BOTH
@pytest.mark.parametrize("name", VIEWS)
def test_views_alias(lib, name):
    a = lib.arange(12.0).reshape(3, 4)
    v = VIEWS[name](a)
    v += 100
    assert float(a.max()) > 100
    a[...] = 5
    assert (v == 5).all()
    assert lib.shares_memory(a, v)


@BOTH
def test_real_and_imag_alias(lib):
    z = lib.zeros(2, dtype=complex)
    z.real[0] = 1
    z.imag += 2
    assert z.tolist() == [1 + 2j, 2j]


@BOTH
def test_copies_do_not_alias(lib):
    a = lib.arange(4.0)
    for b in (
        a.copy(),
        a[[0, 1]],
        a[a > 0],
        a.flatten(),
        a + 0,
        lib.array(a),
        a.astype(float),
        copy.copy(a),
        copy.deepcopy(a),
    ):
        b[0] = 50
        assert a.max() == 3


REVERSED = ["x[::-1]", "x[..., ::-2]", "lib.flip(x)", "lib.flip(x)[1:]", "lib.rot90(x.reshape(2, 2))", "x[::-1][::-1]"]


@BOTH
@pytest.mark.parametrize("reverse", REVERSED)
def test_writes_to_a_reversed_array_reach_the_original(lib, reverse):
    x = lib.arange(4.0)
    names = {"lib": lib, "x": x}
    y, other = eval(reverse, names), x[::-1]
    y[0] = 10.0
    y += 1
    y[1:][...] = 5.0
    lib.multiply(y, 2.0, out=y)
    if lib is np:
        expected = numpy.arange(4.0)
        z = eval(reverse, {"lib": numpy, "x": expected})
        z[0] = 10.0
        z += 1
        z[1:][...] = 5.0
        numpy.multiply(z, 2.0, out=z)
        assert x.tolist() == expected.tolist()
    assert other.tolist() == x.tolist()[::-1]
    assert y.tolist() == eval(reverse, names).tolist()
    assert y.flags.writeable
    assert y.base is x


def test_a_reversed_array_of_a_read_only_one_is_read_only():
    x = np.arange(3.0)
    x.setflags(write=False)
    for y in (x[::-1], np.flip(x)):
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 1.0


def test_decomposed_writes_to_a_reversed_array_reach_the_original():
    x = np.zeros(3)
    row = x[1:]
    x[::-1][:2] = np.decompose(np.array([1.0, 2.0]))
    assert x.components.tolist() == [[0, 0, 1.0], [0, 2.0, 0]]
    assert row.components.tolist() == [[0, 1.0], [2.0, 0]]


@BOTH
@pytest.mark.parametrize("reverse", [*REVERSED, "x[::-1].copy()[::-1]"])
def test_reversed_arrays_follow_the_original(lib, reverse):
    x = lib.arange(4.0)
    y = eval(reverse, {"lib": lib, "x": x})
    before = y.tolist()
    x[0] = 9.0
    x += 1
    lib.put(x, [3], 7.0)
    wanted = before if "copy" in reverse else eval(reverse, {"lib": lib, "x": x}).tolist()
    assert y.tolist() == wanted


def test_reversed_arrays_that_are_gone_leave_nothing_behind():
    x = np.arange(4.0)
    kept = [x[::-1] for _ in range(3)]
    for _ in range(1000):
        x[::-1]
        x[1:]
    assert len(x._m.mirrors) < 100
    assert len(x._m) < 100
    x[0] = 9.0
    assert [y[-1] for y in kept] == [9.0, 9.0, 9.0]


def test_reversed_arrays_follow_into_decomposition():
    x = np.zeros(3)
    y = x[::-1]
    x[:] = np.decompose(np.array([1.0, 2.0, 3.0]))
    assert y.components.tolist() == [[0, 0, 1.0], [0, 2.0, 0], [3.0, 0, 0]]


@BOTH
def test_read_only_arrays(lib):
    x = lib.zeros(3)
    x.setflags(write=False)
    for write in (
        lambda: operator.setitem(x, 0, 1.0),
        lambda: operator.iadd(x, 1.0),
        lambda: lib.add(x, 1.0, out=x),
        lambda: x.fill(1.0),
        lambda: operator.setitem(x[1:], 0, 1.0),
        lambda: operator.setitem(x.reshape(3, 1), 0, 1.0),
        lambda: operator.setitem(lib.broadcast_to(lib.zeros(1), (3,)), 0, 1.0),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert x.tolist() == [0.0, 0.0, 0.0]


@BOTH
def test_overlapping_writes_are_buffered(lib):
    x = lib.arange(5.0)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3]
    y = lib.arange(5.0)
    y[1:] += y[:-1]
    assert y.tolist() == [0, 1, 3, 5, 7]


@BOTH
def test_failed_writes_leave_the_target_alone(lib):
    x = lib.array([1, 2, 3])
    for write in (
        lambda: operator.iadd(x, 1.5),
        lambda: lib.add(x, 1.5, out=x),
        lambda: operator.setitem(x, slice(None), [1, 2]),
        lambda: operator.iadd(x, lib.ones((2, 3), dtype=int)),
        lambda: lib.add(x, 1, out=lib.zeros(2, dtype=int)),
    ):
        with pytest.raises((TypeError, ValueError)):
            write()
    assert x.tolist() == [1, 2, 3]


# -- in-place writes of decomposed numbers -----------------------------------------------------------------------------


@pytest.fixture
def y():
    return np.decompose(np.array([1.0, 2.0, 3.0]), baseline=0.5, labels=["a", "b", "c"])


def complete(x):
    assert x.is_decomposed
    numpy.testing.assert_allclose(x.c_sum().value, x.value, rtol=1e-13)
    return x


def _out(out, y):
    np.multiply(y, 2.0, out=out)


WRITES = {
    "slice": lambda out, y: operator.setitem(out, slice(None), y * 2),
    "elements": lambda out, y: [operator.setitem(out, i, y[i] * 2) for i in range(3)],
    "fancy": lambda out, y: operator.setitem(out, [2, 0, 1], (y * 2)[[2, 0, 1]]),
    "mask": lambda out, y: operator.setitem(out, np.array([True, True, True]), y * 2),
    "out": _out,
    "iadd": lambda out, y: operator.iadd(out, y * 2),
    "copyto": lambda out, y: np.copyto(out, y * 2),
    "put": lambda out, y: np.put(out, [0, 1, 2], y * 2),
    "torch": lambda out, y: (
        torch.mul(y, 2.0, out=out.tensor) if out.is_decomposed else operator.setitem(out, slice(None), 2 * y)
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_written_array_is_decomposed_with_all_its_views(name, y):
    out = np.zeros(3)
    before, nested = out[1:], out.reshape(3, 1)[1:]
    WRITES[name](out, y)
    after = out[1:]
    assert out.tolist() == [2.0, 4.0, 6.0]
    wanted = [[1.0, 0, 0], [0, 3.0, 0], [0, 0, 5.0]]
    assert complete(out).components.tolist() == wanted
    for v in (before, after):
        assert complete(v).components.tolist() == [row[1:] for row in wanted]
    assert complete(nested).components[:, :, 0].tolist() == [row[1:] for row in wanted]
    before[0] = 0.0
    assert out.components.tolist() == [[1.0, 0, 0], [0, 0, 0], [0, 0, 5.0]]
    assert after.value.tolist() == [0.0, 6.0]


def test_writing_into_a_view_decomposes_its_base(y):
    out = np.zeros((2, 3))
    row, column = out[0], out[:, 1]
    row += y
    assert complete(out).components[:, 0].tolist() == [[0.5, 0, 0], [0, 1.5, 0], [0, 0, 2.5]]
    assert complete(column).components.tolist() == [[0, 0], [1.5, 0], [0, 0]]
    del out
    gc.collect()
    column[1] = row[2]
    assert complete(column).components.tolist() == [[0, 0], [1.5, 0], [0, 2.5]]


def test_labels_grow_in_place(y):
    out = y * 1.0
    view = out[:2]
    out[0] = np.decompose(np.array(10.0), labels=["d"])
    assert out.labels == ("a", "b", "c", "d")
    assert view.labels == out.labels
    assert complete(view).components.tolist() == [[0, 0], [0, 1.5], [0, 0], [10.0, 0]]
    assert y.labels == ("a", "b", "c")


def test_complex_parts_follow(y):
    z = np.zeros(3, dtype=complex)
    real = z.real
    z.imag = y
    assert complete(z).components.tolist() == [[0.5j, 0, 0], [0, 1.5j, 0], [0, 0, 2.5j]]
    real[0] = y[2]
    assert z.components[2].tolist() == [2.5, 0, 2.5j]


def test_dropping_contributions_warns(y):
    with pytest.warns(np.DecompositionWarning):
        numpy.asarray(y)
    with pytest.warns(np.DecompositionWarning, match="argmax"):
        assert not np.argmax(y).is_decomposed


def test_inputs_decomposed_apart_combine_under_the_union(y):
    z = np.decompose(np.array([1.0, 1.0, 2.0]), axis=(), labels=["z"])
    w = complete(y * z + y)
    assert w.labels == ("a", "b", "c", "z")
    assert w.residual.tolist() == [0.5, 0.5, 0.5]
    again = complete(np.decompose(np.ones(1)) - np.decompose(np.ones(1)))
    assert len(again.labels) == 2


# -- the rest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16", "uint32", "uint64", "int64", "float16", "complex64"])
def test_arrays_and_scalars_of_every_dtype_are_pickled(dtype):
    x = np.array([1, 0, 1], dtype=dtype)
    clone, scalar = pickle.loads(pickle.dumps((x, x[0])))
    assert (clone.dtype, scalar.dtype) == (x.dtype, x.dtype)
    assert clone.tolist() == x.tolist()
    assert scalar == x[0]


def test_classes_are_dtypes_of_objects():
    for dtype in (list, dict, type("Some", (), {}), numpy.ndarray):
        assert numpy.dtype(dtype) == object
        assert np.dtype(dtype).hasobject
    x = np.arange(3)
    assert x.view(np.ndarray).tolist() == x.view(type=np.ndarray).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="sub-type of ndarray"):
        x.view(type=list)


def test_pickle_and_copy_keep_decompositions(y):
    for x in (pickle.loads(pickle.dumps(y)), copy.deepcopy(y), copy.copy(y), y.copy()):
        assert x.labels == y.labels
        assert x.components.tolist() == y.components.tolist()
        x[0] = 0.0
        assert y[0].value == 1.0


def test_rules_are_local_to_the_thread_and_restored():
    x = np.decompose(np.array([1.0, 2.0]))
    seen = []

    def other():
        seen.append(np.exp(x).components.tolist())

    def failing():
        with np.rule("none"):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            assert np.exp(x).components.tolist() == [[0, 0], [0, 0]]
            raise KeyError

    plain = np.exp(x).components.tolist()
    with pytest.raises(KeyError):
        failing()
    assert seen == [plain]
    assert np.exp(x).components.tolist() == plain


def test_numpy_meets_npdec():
    x = numpy.array([1.0, 2.0])
    d = np.decompose(np.array([3.0, 4.0]))
    for made in (x * d, d * x, numpy.multiply(x, d), numpy.exp(d), numpy.concatenate([d, d]), numpy.linalg.norm(d)):
        assert made.is_decomposed
    assert isinstance(x + np.array([1.0, 2.0]), np.ndarray)
    shared = np.asarray(x)
    shared[0] = 9
    assert x[0] == 9


@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: d.tensor], ids=["array", "tensor"])
def test_torch_meets_npdec(wrap):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).double()
    d = np.decompose(np.array([1.0, -2.0, 3.0]), labels=["a", "b", "c"])
    made = net(wrap(d))
    assert type(made) is (np.ndarray if wrap(d) is d else np.DecomposedTensor)
    total = made.c_sum().tensor if isinstance(made, np.ndarray) else made.c_sum()
    numpy.testing.assert_allclose(total.detach(), net(d.value.tensor).detach(), rtol=1e-13)
    doubled = torch.mul(wrap(d), 2)
    assert doubled.labels == ("a", "b", "c")
    assert doubled.components.tolist() == [[2.0, 0, 0], [0, -4.0, 0], [0, 0, 6.0]]


def test_like_hands_the_call_to_the_library_of_the_array():
    class Theirs:
        def __array_function__(self, function, types, args, kwargs):
            return NotImplemented if function is np.ones else (function, types, args, kwargs)

    like = Theirs()
    assert np.zeros((2, 3), int, like=like) == (np.zeros, (Theirs,), ((2, 3),), {"dtype": int})
    assert np.eye(3, k=1, like=like) == (np.eye, (Theirs,), (3,), {"k": 1})
    assert np.asarray([1], like=like)[:2] == (np.asarray, (Theirs,))
    assert np.fromstring("1,2", sep=",", like=like)[3]["sep"] == ","
    with pytest.raises(TypeError, match="no implementation found"):
        np.ones(2, like=like)
    for function, *args in ((np.zeros, 2), (np.array, [1]), (np.arange, 3), (np.fromiter, [1], int)):
        with pytest.raises(TypeError, match="must be an array-like that implements"):
            function(*args, like=1)
        made = function(*args, like=np.ones(1))
        assert type(made) is np.ndarray
        assert made.tolist() == function(*args).tolist()


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        ([1.5], "int32"), ([2.0], "int32"), ([-1], "uint64"), ([1e300], "float32"), ([0.5], "float32"), ([300], "int8"),
        ([numpy.inf], "float16"), ([numpy.nan], "float16"), ([numpy.nan], "int64"), ([2**53 + 1], "float64"),
        (numpy.array([2**64 - 1], "uint64"), "int64"), ([7], "complex64"), ([1.5], "bool"),
    ],
)  # fmt: skip
def test_a_cast_to_the_same_value(source, dtype):
    results = []
    for lib in (numpy, np):
        try:
            results.append(lib.array(source).astype(dtype, casting="same_value").tolist())
        except ValueError as error:
            results.append(str(error)[:23])
    assert repr(results[0]) == repr(results[1])


def test_scalars_print_as_before_numpy_2_on_demand():
    with np.printoptions(legacy="1.25"):
        assert repr(np.float64(1.5)) == "1.5"
    assert repr(np.float64(1.5)) == "np.float64(1.5)"


class _Neighbour:
    """What has operators of its own, and gives no array."""

    def __array__(self, dtype=None, copy=None):
        raise ArithmeticError

    def __radd__(self, other):
        return "theirs"

    def __rmatmul__(self, other):
        return "theirs"


class _WithoutUfuncs(_Neighbour):
    __array_ufunc__ = None


class _Above(_Neighbour):
    __array_priority__ = 1


class _Below(_Neighbour):
    __array_priority__ = -5


@pytest.mark.parametrize("lib", [numpy, np], ids=["numpy", "npdec"])
def test_an_operator_is_left_to_who_asks_for_it(lib):
    array, scalar = lib.ones((2, 2)), lib.float64(1)
    for asking in (_WithoutUfuncs(), _Above()):
        assert array + asking == scalar + asking == array @ asking == "theirs"
        with pytest.raises(TypeError):
            array < asking  # noqa: B015
        assert not array == asking  # noqa: SIM201
    assert scalar + _Below() == "theirs"
    for other in (_Below(), _Neighbour()):
        with pytest.raises(ArithmeticError):
            array + other
    with pytest.raises(TypeError, match="does not support ufuncs"):
        array += _WithoutUfuncs()


@pytest.mark.parametrize("lib", [numpy, np], ids=["numpy", "npdec"])
def test_matrix_multiplication_in_place_and_of_scalars(lib):
    for a, b in (((3,), (3,)), ((3, 3), (3,)), ((2, 3, 3), (3,))):
        with pytest.raises(ValueError, match="first operand to have at least one and the second at least two"):
            operator.imatmul(lib.ones(a), lib.ones(b))
    with pytest.raises(TypeError, match="unsupported operand"):
        lib.int8(5) @ lib.int8(5)
    with pytest.raises(ValueError, match="enough dimensions"):
        lib.int8(5) @ lib.ones(2)


_SCALARS = {
    "nan": ("float64", "nan"), "infinity": ("float32", "inf"), "huge": ("float64", "1e30"),
    "300.7": ("float64", "300.7"),
    "-1.5": ("float64", "-1.5"), "300": ("int64", "300"), "wide": ("uint64", str(2**64 - 1)), "-1": ("int8", "-1"),
    "half": ("float16", "2.5"),
}  # fmt: skip
_WRITES = {
    "list": lambda lib, x, v: lib.array([v, 1], dtype=x.dtype),
    "nested": lambda lib, x, v: lib.asarray([[v], [v]], dtype=x.dtype),
    "type": lambda lib, x, v: x.dtype.type([v]),
    "iterator": lambda lib, x, v: lib.fromiter([v], x.dtype),
    "element": lambda lib, x, v: operator.setitem(x, 0, v),
    "slice": lambda lib, x, v: operator.setitem(x, slice(None), v),
    "fill": lambda lib, x, v: x.fill(v),
    "array": lambda lib, x, v: lib.array(v, dtype=x.dtype),
    "indices": lambda lib, x, v: operator.setitem(x, [0], v),
    "0-d array": lambda lib, x, v: operator.setitem(x, 0, lib.array(v)),
    "full": lambda lib, x, v: lib.full(2, v, dtype=x.dtype),
}


@pytest.mark.parametrize("scalar", _SCALARS.values(), ids=_SCALARS)
def test_a_scalar_among_signed_integers_is_read_as_a_python_integer(scalar):
    def written(lib, write, dtype):
        kind, text = scalar
        x = lib.zeros(2, dtype=dtype)
        try:
            with lib.errstate(all="ignore"):
                made = write(lib, x, getattr(lib, kind)(int(text) if "int" in kind else text))
        except (ValueError, OverflowError) as error:
            return type(error), str(error)
        return repr((x if made is None else made).tolist())

    for (name, write), dtype in itertools.product(_WRITES.items(), ["int8", "int64", "uint8", "float32"]):
        assert written(np, write, dtype) == written(numpy, write, dtype), (name, dtype)


def test_ufuncs_that_npdec_has_not_are_computed_by_their_library():
    special = pytest.importorskip("scipy.special")
    x = np.array([[0.1, 0.5], [2.0, -1.0]])
    given = numpy.asarray(x)
    for made, expected in ((special.erf(x), special.erf(given)), (special.gammaln(x[0, 0]), special.gammaln(0.1))):
        assert isinstance(made, (np.ndarray, np.float64))
        numpy.testing.assert_array_equal(numpy.asarray(made), expected)
    out = np.zeros((2, 2))
    reversed_view = out[::-1]
    assert special.erf(x, out=out) is out
    assert out.tolist() == reversed_view.tolist()[::-1] == special.erf(given).tolist()
    with pytest.warns(np.DecompositionWarning):
        assert special.erf(np.decompose(x)).tolist() == special.erf(given).tolist()
    with pytest.raises(TypeError, match="plain arrays on the host"):
        special.erf(x, out=np.decompose(x))


def _squeezed(x):
    x.tensor.squeeze_()


def _squeezed_by_torch(x):
    torch.as_strided_(x, (), ())


@pytest.mark.parametrize(
    "change",
    [
        lambda x: setattr(x, "shape", ()),
        lambda x: x.resize(()),
        lambda x: x.resize((), refcheck=False),
        _squeezed,
        _squeezed_by_torch,
    ],
)
def test_an_array_that_loses_its_axes_is_computed_with_as_one_of_none(change):
    """In place, also by who holds its tensor: of all other fresh arrays nobody asks whether they have axes."""
    for compute in (lambda x: x + x, lambda x: x * 2.0, lambda x: x > 1.0, np.exp, lambda x: np.add(x, x), abs):
        x = np.array([1.5]) + 1.0
        assert type(compute(x)) is np.ndarray
        change(x)
        assert x.shape == ()
        assert isinstance(compute(x), np.generic)


def test_keys_and_axes_that_short_ways_leave_to_the_general_one():
    x, index = np.ones((1,) * 64), np.array([0])
    with pytest.raises(IndexError):
        x[(index,) * 64]
    assert x[(index,) * 63].shape == (1, 1)
    y = np.arange(6).reshape(2, 3)
    assert y.transpose(np.array([1, 0])).tolist() == y.T.tolist()
