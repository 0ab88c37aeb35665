"""The array API standard: what a namespace says of itself, exchange of memory, tabulated special values, devices."""

from __future__ import annotations

import contextvars
import doctest
import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import array_api_compat
import numpy
import pytest
import torch

import npdec as np

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("array_api_script", ROOT / "scripts" / "array_api.py")
assert spec is not None
assert spec.loader is not None
script = sys.modules.setdefault("array_api_script", importlib.util.module_from_spec(spec))
spec.loader.exec_module(script)

INF, NAN, PI = float("inf"), float("nan"), numpy.pi
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()


# -- the namespace -----------------------------------------------------------------------------------------------------


def test_the_namespace_of_an_array():
    x = np.ones(3)
    assert x.__array_namespace__() is np
    for version in ("2021.12", "2022.12", "2023.12", "2024.12"):
        assert x.__array_namespace__(api_version=version) is np
    for lib in (np, numpy):
        with pytest.raises(ValueError, match="not supported"):
            lib.ones(3).__array_namespace__(api_version="1999.01")
    assert np.__array_api_version__ == numpy.__array_api_version__


def test_array_api_compat_knows_arrays():
    x = np.ones((2, 3))
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.array_namespace(x, np.zeros(2), 1.0) is np
    assert array_api_compat.device(x) == x.device == torch.device("cpu")
    assert array_api_compat.to_device(x, "cpu") is x
    assert array_api_compat.size(x) == 6
    assert array_api_compat.is_writeable_array(x)
    assert not array_api_compat.is_numpy_array(x)


@pytest.mark.parametrize(
    "kind",
    [
        None, (), "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
        "numeric", ("bool", "real floating"),
    ],
    ids=str,
)  # fmt: skip
def test_info_of_dtypes(kind):
    info, reference = np.__array_namespace_info__(), numpy.__array_namespace_info__()
    assert {name: str(d) for name, d in info.dtypes(kind=kind).items()} == {
        name: str(numpy.dtype(d)) for name, d in reference.dtypes(kind=kind).items()
    }
    assert all(np.isdtype(d, kind) for d in info.dtypes(kind=kind).values() if kind)


def test_info():
    info, reference = np.__array_namespace_info__(), numpy.__array_namespace_info__()
    assert info.capabilities() == reference.capabilities()
    assert {k: str(d) for k, d in info.default_dtypes().items()} == {
        k: str(d) for k, d in reference.default_dtypes().items()
    }
    assert info.default_device() == np.zeros(2).device
    assert info.default_device() in info.devices()
    for device in info.devices():
        assert np.zeros(2, device=device).device == device
        assert "float32" in info.dtypes(device=device)
    with torch.device("meta"):
        assert info.default_device() == np.zeros(2).device == torch.device("meta")
    with pytest.raises(ValueError, match="unsupported kind: 'text'"):
        info.dtypes(kind="text")
    for method in (info.dtypes, info.default_dtypes):
        with pytest.raises(ValueError, match="Device not understood"):
            method(device="nowhere")


def test_the_examples_of_the_documentation():
    page = ROOT / "docs" / "array_api.md"
    assert doctest.testfile(str(page), module_relative=False, encoding="utf-8") == (0, 4)


# -- devices -----------------------------------------------------------------------------------------------------------


def test_devices():
    x = np.asarray([1.0, 2.0], device="cpu")
    assert x.to_device("cpu") is x
    assert x.to_device("meta").device.type == "meta"
    for made in (np.zeros(2, device="meta"), np.arange(3, device="meta"), np.eye(2, device="meta"),
                 np.linspace(0, 1, 3, device="meta"), np.full((2,), 1.0, device="meta"),
                 np.zeros_like(x, device="meta"), np.fft.fftfreq(4, device="meta"),
                 np.astype(x, np.float32, device="meta")):  # fmt: skip
        assert made.device.type == "meta"
    assert (np.zeros(2, device="meta") + 1).device.type == "meta"
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)
    with pytest.raises(ValueError, match="Device not understood"):
        np.zeros(2, device="nowhere")


MADE = """zeros(3) ones((2,2)) empty(3) full(3,1.5) full((2,),7) eye(3) identity(3) tri(3) arange(5) arange(1.0,3.0,0.5)
    arange(3,dtype='u1') linspace(0,1,4) logspace(0,1,4) array([1,2]) array(3.0) array([[1.0],[2.0]]) asarray(range(4))
    asarray([1]*5000) array([]) asarray(numpy.ones(3)) indices((2,3)) mgrid[0:3] ogrid[0:2,0:3] mgrid[0:1:5j]
    diag_indices(3) fromfunction(max,(2,)) fft.fftfreq(4) fft.rfftfreq(4) ndarray((2,2)) r_[1:4] c_[[1,2],[3,4]]
    random.rand(3) random.randint(0,5,3) meshgrid([1,2],[3,4]) fromiter([1,2],float) zeros_like([1,2]) vander([1,2])
    float64(3.0) add([1,2],[3,4])""".split()


@pytest.mark.parametrize("call", MADE)
def test_the_default_device(call):
    def devices():
        made = eval(f"np.{call}", {"np": np, "numpy": numpy, "max": lambda i: i})
        return {x.device.type for x in (made if isinstance(made, (tuple, list)) else [made])}

    with np.set_default_device("meta"):
        assert devices() == {"meta"}
        with np.set_default_device("cpu"):
            assert devices() == {"cpu"}
        with np.set_default_device(None):
            assert devices() == {torch.get_default_device().type}
        assert devices() == {"meta"}
    assert devices() == {"cpu"}


def test_the_default_device_is_of_a_context():
    x = np.ones(3)

    def elsewhere():
        np.set_default_device("meta")
        kept = [np.zeros_like(x), np.full_like(x, 2.0), x + 1, np.linspace(x, x + 1, 2), np.zeros(2, device="cpu")]
        return np.zeros(2).device.type, [y.device.type for y in kept], np.__array_namespace_info__().default_device()

    here, kept, told = contextvars.copy_context().run(elsewhere)
    assert (here, kept, told) == ("meta", ["cpu"] * 5, torch.device("meta"))
    assert np.zeros(2).device.type == "cpu"
    with ThreadPoolExecutor(1) as pool, np.set_default_device("meta"):
        assert pool.submit(lambda: np.zeros(2).device.type).result() == "cpu"
    with pytest.raises(ValueError, match="Device not understood"):
        np.set_default_device("nowhere")


# -- DLPack ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_is_shared_both_ways(dtype):
    theirs = numpy.zeros(3, dtype)
    ours = np.from_dlpack(theirs)
    assert str(ours.dtype) == dtype
    ours[0] = 1
    assert theirs.tolist() == [1, 0, 0]
    ours = np.zeros(3, dtype=dtype)
    for lib in (numpy, torch):
        there = lib.from_dlpack(ours)
        there[1] = 1
        assert ours.tolist() == there.tolist()
        ours[1] = 0
        assert not there[1]
    tensor = torch.zeros(3, dtype=ours.tensor.dtype)
    np.from_dlpack(tensor)[2] = 1
    assert tensor.tolist() == [0, 0, 1]


def test_layouts_pass_through_dlpack():
    x = np.arange(24.0).reshape(2, 3, 4)
    for view in (x.transpose(2, 0, 1), x[:, ::2], x[1], x[..., 0]):
        assert numpy.from_dlpack(view).strides == view.strides
        assert np.from_dlpack(numpy.from_dlpack(view)).strides == view.strides
    assert x.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(torch.ones(2, dtype=torch.bfloat16)).dtype == np.bfloat16


def test_what_dlpack_cannot_share():
    fixed = numpy.arange(6.0).reshape(2, 3)
    fixed.flags.writeable = False
    ours = np.from_dlpack(fixed)
    assert not ours.flags.writeable
    assert not ours[0].flags.writeable
    backwards = np.from_dlpack(numpy.arange(4.0)[::-1])
    assert backwards.tolist() == [3.0, 2.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="copy"):
        np.from_dlpack(numpy.arange(4.0)[::-1], copy=False)
    for lib in (np, numpy):
        with pytest.raises(AttributeError, match="__dlpack__"):
            lib.from_dlpack(3)
    lazy = np.asarray(torch.tensor([1 + 2j]).conj())
    assert numpy.from_dlpack(lazy).tolist() == [1 - 2j]
    assert numpy.from_dlpack(lazy.imag).tolist() == [-2.0]
    with pytest.raises(BufferError, match="copy"):
        lazy.__dlpack__(copy=False)


def test_copies_by_dlpack():
    theirs = numpy.ones(2)
    ours = np.from_dlpack(theirs, copy=True)
    ours[0] = 5
    assert theirs[0] == 1
    assert np.from_dlpack(theirs, device="cpu", copy=False).tolist() == [1.0, 1.0]
    x = np.decompose(np.ones(2))
    assert np.from_dlpack(x).labels == x.labels
    with pytest.raises(BufferError, match="contributions"):
        numpy.from_dlpack(x)


# -- special values ----------------------------------------------------------------------------------------------------

# Rows of the standard's tables: function, arguments, result. Signs of zeros count.
REAL = [
    ("abs", (-0.0,), 0.0), ("abs", (-INF,), INF),
    ("acos", (1.5,), NAN), ("acos", (1.0,), 0.0), ("acosh", (0.5,), NAN), ("acosh", (1.0,), 0.0),
    ("acosh", (INF,), INF), ("asin", (-0.0,), -0.0), ("asin", (2.0,), NAN), ("asinh", (-0.0,), -0.0),
    ("asinh", (-INF,), -INF), ("atan", (INF,), PI / 2), ("atan", (-0.0,), -0.0), ("atanh", (1.0,), INF),
    ("atanh", (-1.0,), -INF), ("atanh", (-1.5,), NAN),
    ("atan2", (1.0, 0.0), PI / 2), ("atan2", (0.0, -0.0), PI), ("atan2", (-0.0, 0.0), -0.0),
    ("atan2", (-0.0, -0.0), -PI), ("atan2", (INF, INF), PI / 4), ("atan2", (-INF, -INF), -3 * PI / 4),
    ("atan2", (1.0, -INF), PI), ("atan2", (-1.0, INF), -0.0), ("atan2", (NAN, 1.0), NAN),
    ("add", (INF, -INF), NAN), ("add", (-0.0, -0.0), -0.0), ("add", (-0.0, 0.0), 0.0), ("add", (1.0, -1.0), 0.0),
    ("subtract", (INF, INF), NAN), ("subtract", (0.0, 0.0), 0.0),
    ("multiply", (INF, 0.0), NAN), ("multiply", (-INF, INF), -INF), ("multiply", (-0.0, 1.0), -0.0),
    ("divide", (0.0, 0.0), NAN), ("divide", (1.0, -0.0), -INF), ("divide", (-1.0, INF), -0.0),
    ("divide", (INF, INF), NAN), ("divide", (INF, -1.0), -INF),
    ("floor_divide", (INF, INF), NAN), ("floor_divide", (0.0, -1.0), -0.0), ("floor_divide", (1.0, 0.0), INF),
    ("remainder", (INF, 1.0), NAN), ("remainder", (0.0, -1.0), -0.0), ("remainder", (-0.0, 1.0), 0.0),
    ("remainder", (1.0, INF), 1.0), ("remainder", (1.0, -INF), -INF), ("remainder", (-1.0, INF), INF),
    ("pow", (NAN, 0.0), 1.0), ("pow", (1.0, NAN), 1.0), ("pow", (-0.0, -3.0), -INF), ("pow", (-0.0, -2.0), INF),
    ("pow", (-0.0, 3.0), -0.0), ("pow", (-INF, -3.0), -0.0), ("pow", (-INF, 3.0), -INF), ("pow", (-1.0, INF), 1.0),
    ("pow", (-2.0, 0.5), NAN), ("pow", (0.5, INF), 0.0), ("pow", (2.0, -INF), 0.0), ("pow", (0.5, -INF), INF),
    ("ceil", (-0.5,), -0.0), ("ceil", (-INF,), -INF), ("floor", (-0.0,), -0.0), ("trunc", (-0.5,), -0.0),
    ("round", (-0.5,), -0.0), ("round", (2.5,), 2.0), ("round", (INF,), INF),
    ("copysign", (1.0, -0.0), -1.0), ("copysign", (-1.0, 0.0), 1.0), ("copysign", (0.0, -2.0), -0.0),
    ("cos", (-0.0,), 1.0), ("cos", (INF,), NAN), ("cosh", (-INF,), INF), ("exp", (-INF,), 0.0), ("exp", (-0.0,), 1.0),
    ("expm1", (-0.0,), -0.0), ("expm1", (-INF,), -1.0),
    ("hypot", (INF, NAN), INF), ("hypot", (NAN, -INF), INF), ("hypot", (-0.0, -3.0), 3.0), ("hypot", (NAN, 1.0), NAN),
    ("log", (-0.0,), -INF), ("log", (-1.0,), NAN), ("log", (1.0,), 0.0), ("log1p", (-1.0,), -INF),
    ("log1p", (-0.0,), -0.0), ("log2", (0.0,), -INF), ("log10", (-2.0,), NAN),
    ("logaddexp", (NAN, 1.0), NAN), ("logaddexp", (INF, 1.0), INF), ("logaddexp", (-INF, -INF), -INF),
    ("maximum", (NAN, 1.0), NAN), ("minimum", (1.0, NAN), NAN),
    ("nextafter", (NAN, 1.0), NAN), ("nextafter", (0.0, -0.0), -0.0), ("nextafter", (-0.0, 0.0), 0.0),
    ("reciprocal", (-0.0,), -INF), ("reciprocal", (-INF,), -0.0),
    ("sign", (-0.0,), 0.0), ("sign", (NAN,), NAN), ("sin", (-0.0,), -0.0), ("sin", (-INF,), NAN),
    ("sinh", (-0.0,), -0.0), ("sqrt", (-0.0,), -0.0), ("sqrt", (-1.0,), NAN), ("tan", (-0.0,), -0.0),
    ("tanh", (-INF,), -1.0), ("tanh", (-0.0,), -0.0),
    ("isfinite", (-INF,), False), ("isinf", (-INF,), True), ("isnan", (NAN,), True),
    ("signbit", (-0.0,), True), ("signbit", (0.0,), False), ("equal", (NAN, NAN), False), ("equal", (-0.0, 0.0), True),
    ("less", (NAN, 1.0), False), ("not_equal", (NAN, NAN), True),
]  # fmt: skip

COMPLEX = [
    ("abs", complex(NAN, -INF), INF), ("abs", complex(1, NAN), NAN),
    ("acos", 0j, complex(PI / 2, -0.0)), ("acos", complex(1, INF), complex(PI / 2, -INF)),
    ("acos", complex(INF, 1), complex(0, -INF)), ("acos", complex(-INF, 1), complex(PI, -INF)),
    ("acos", complex(INF, INF), complex(PI / 4, -INF)), ("acos", complex(NAN, NAN), complex(NAN, NAN)),
    ("acosh", complex(-INF, 1), complex(INF, PI)), ("acosh", 0j, complex(0, PI / 2)),
    ("asinh", complex(INF, INF), complex(INF, PI / 4)), ("asinh", complex(1, INF), complex(INF, PI / 2)),
    ("atanh", complex(INF, 1), complex(0, PI / 2)), ("atanh", complex(1, 0), complex(INF, 0)),
    ("exp", complex(-INF, INF), complex(0, 0)), ("exp", complex(INF, 0), complex(INF, 0)),
    ("exp", complex(NAN, 0), complex(NAN, 0)),
    ("expm1", complex(-0.0, 0), 0j), ("expm1", complex(INF, 0), complex(INF, 0)),
    ("expm1", complex(-INF, INF), complex(-1, 0)), ("expm1", complex(INF, INF), complex(INF, NAN)),
    ("expm1", complex(-INF, NAN), complex(-1, 0)), ("expm1", complex(INF, NAN), complex(INF, NAN)),
    ("expm1", complex(NAN, 0), complex(NAN, 0)), ("expm1", complex(1, INF), complex(NAN, NAN)),
    ("log", complex(-0.0, 0), complex(-INF, PI)), ("log", complex(INF, INF), complex(INF, PI / 4)),
    ("log", complex(NAN, INF), complex(INF, NAN)),
    ("log1p", complex(-1, 0), complex(-INF, 0)), ("log1p", complex(1, INF), complex(INF, PI / 2)),
    ("log1p", complex(-INF, 1), complex(INF, PI)), ("log1p", complex(INF, NAN), complex(INF, NAN)),
    ("log1p", complex(NAN, INF), complex(INF, NAN)), ("log1p", complex(-0.0, 0), 0j),
    ("log1p", complex(1e-200, INF), complex(INF, PI / 2)), ("log1p", complex(1e-200, 1e-300), complex(1e-200, 1e-300)),
    ("negative", 0j, complex(-0.0, -0.0)), ("conj", complex(1, 0), complex(1, -0.0)),
    ("sign", 0j, 0j), ("sinh", complex(INF, 0), complex(INF, 0)), ("cosh", complex(0, INF), complex(NAN, 0)),
    ("sqrt", complex(NAN, INF), complex(INF, INF)), ("sqrt", complex(-INF, 1), complex(0, INF)),
    ("tanh", complex(INF, INF), complex(1, 0)), ("tanh", complex(0, NAN), complex(0, NAN)),
]  # fmt: skip


def parts(number):
    return (number.real, number.imag) if isinstance(number, complex) else (number,)


def exactly(got, want):
    for g, w in zip(parts(got), parts(want), strict=True):
        if numpy.isnan(w):
            assert numpy.isnan(g)
        else:
            assert g == pytest.approx(w, rel=1e-6, abs=0)
            assert numpy.signbit(g) == numpy.signbit(w)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "arguments", "want"), REAL, ids=str)
def test_special_values(name, arguments, want, dtype):
    for size in (1, 9):  # torch takes many at a time where there are many
        made = getattr(np, name)(*[np.full(size, a, dtype=dtype) for a in arguments])
        assert all(item is want for item in made.tolist()) if isinstance(want, bool) else made.dtype == dtype
        for got in made.tolist():
            exactly(got, want)


UNSIGNED = {("cosh", complex(0, INF)), ("tanh", complex(INF, INF)), ("expm1", complex(-INF, NAN)),
            ("expm1", complex(INF, INF)), ("exp", complex(-INF, INF))}  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("name", "argument", "want"), COMPLEX, ids=str)
def test_complex_special_values(name, argument, want, dtype):
    if dtype == "complex64" and 0 < abs(argument.real) < 1e-100:
        argument = complex(1e-30, argument.imag and max(argument.imag, 1e-35))
        want = complex(want.real and max(want.real, 1e-30), want.imag and max(want.imag, 1e-35))
    for size in (1, 9):
        for got in getattr(np, name)(np.full(size, argument, dtype=dtype)).tolist():
            if (name, argument) in UNSIGNED:  # the sign of a zero is left open
                got, want = (complex(abs(z.real) if not z.real else z.real, abs(z.imag)) for z in (got, want))
            exactly(got, want)


def test_where_numpy_differs_from_the_standard_it_is_followed():
    for lib in (np, numpy):
        with lib.errstate(all="ignore"):
            assert numpy.isnan(float(lib.floor_divide(lib.asarray(INF), lib.asarray(2.0))))
        assert float(lib.floor_divide(lib.asarray(1.0), lib.asarray(-INF))) == -1.0
        assert type(lib.meshgrid(lib.arange(2), lib.arange(3))) is tuple


# -- functions of the standard that NumPy has otherwise or not at all --------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")
def test_descending_orders():
    x = np.asarray([2.0, 3.0, 1.0, 3.0])
    assert np.sort(x, descending=True).tolist() == [3.0, 3.0, 2.0, 1.0]
    assert np.argsort(x, descending=True).tolist() == [1, 3, 0, 2]
    assert x.argsort(descending=True).tolist() == [1, 3, 0, 2]
    for dtype in DTYPES:
        y = numpy.asarray([[1, 0, 1], [0, 1, 1]], dtype=dtype)
        for axis in (0, 1):
            made = np.sort(np.asarray(y), axis=axis, descending=True)
            assert made.tolist() == numpy.flip(numpy.sort(y, axis=axis), axis).tolist()
            order = numpy.asarray(np.argsort(np.asarray(y), axis=axis, descending=True))
            assert order.tolist() == numpy.argsort(-y.astype(complex).real, axis=axis, kind="stable").tolist()
    z = np.decompose(np.asarray([3.0, 1.0, 2.0]))
    assert np.sort(z, descending=True).components.sum(0).tolist() == [3.0, 2.0, 1.0]


def test_frequencies_have_a_dtype():
    for name in ("fftfreq", "rfftfreq"):
        made, reference = getattr(np.fft, name)(6, d=0.5, dtype=np.float32), getattr(numpy.fft, name)(6, d=0.5)
        assert made.dtype == np.float32
        numpy.testing.assert_allclose(numpy.asarray(made), reference, rtol=1e-7)
        with pytest.raises(TypeError, match="int64"):
            getattr(np.fft, name)(4, dtype=np.int64)


def test_a_mask_axis_of_no_length_fits_any_axis():
    for shape in [(2,), (2, 3), (0, 3)]:
        for mask in [(0,), (0, 3), (2, 0), (0, 4), (5, 0), (0, 0)]:
            outcomes = []
            for lib in (np, numpy):
                try:
                    outcomes.append(lib.zeros(shape)[lib.zeros(mask, dtype=bool)].shape)
                except IndexError as error:
                    outcomes.append(str(error))
            assert outcomes[0] == outcomes[1]


def standardized(x, axis):
    """What code for any array library looks like."""
    xp = x.__array_namespace__()
    floating = xp.isdtype(x.dtype, "real floating")
    x = x if floating else xp.astype(x, xp.__array_namespace_info__().default_dtypes()["real floating"])
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    scale = xp.std(x, axis=axis, correction=1, keepdims=True)
    order = xp.argsort(centred, axis=axis, stable=True)
    ranked = xp.take_along_axis(centred / scale, order, axis=axis)
    values, inverse = xp.unique_inverse(x)
    total = xp.cumulative_sum(xp.concat([xp.permute_dims(ranked, (1, 0)), xp.zeros((1, x.shape[0]))]), axis=0)
    norms = xp.linalg.vector_norm(ranked, axis=axis)
    spectrum = xp.real(xp.fft.fft(ranked, axis=axis))
    joined = xp.linalg.matrix_transpose(xp.matmul(ranked, xp.linalg.pinv(ranked)))
    return SimpleNamespace(
        ranked=ranked, values=values, inverse=inverse, total=total, norms=norms, spectrum=spectrum, joined=joined
    )


@pytest.mark.parametrize("dtype", ["int16", "uint8", "uint32", "float32", "float64"])
def test_code_for_any_library(dtype):
    numbers = numpy.random.default_rng(0).integers(0, 50, (3, 5)).astype(dtype)
    got, want = standardized(np.asarray(numbers), 1), standardized(numbers, 1)
    for name, value in vars(want).items():
        made = getattr(got, name)
        assert isinstance(made, np.ndarray)
        assert str(made.dtype) == str(value.dtype)
        numpy.testing.assert_allclose(numpy.asarray(made), value, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_unsigned_integers_are_complete(dtype):
    """torch has few kernels for them."""
    a, b = numpy.asarray([1, 200, 65535, 7], dtype), numpy.asarray([3, 0, 2, 65535], dtype)
    x, y = np.asarray(a), np.asarray(b)
    for name in """add subtract multiply bitwise_and bitwise_or bitwise_xor less equal greater_equal maximum minimum
                   bitwise_left_shift bitwise_right_shift""".split():
        arguments = (b % 5, y % 5) if "shift" in name else (b, y)
        got, want = getattr(np, name)(x, arguments[1]), getattr(numpy, name)(a, arguments[0])
        assert str(got.dtype) == str(want.dtype)
        assert got.tolist() == want.tolist()
    for name in "sum prod max min sort argsort unique cumulative_sum bitwise_invert sign square flip".split():
        got, want = getattr(np, name)(x), getattr(numpy, name)(a)
        assert str(got.dtype) == str(want.dtype)
        assert got.tolist() == want.tolist()
    assert (x // (y + np.asarray(1, dtype=dtype) % 2)).dtype == dtype
    assert np.take_along_axis(x, np.argsort(x), axis=0).tolist() == numpy.sort(a).tolist()


# -- the list of the suite's expected failures -------------------------------------------------------------------------


def test_the_list_of_expected_failures():
    listed = script.read_expected(script.EXPECTED.read_text())
    assert len(listed.always) <= 25
    assert all(test.startswith("test_") and "::" in test for test in (*listed.always, *listed.sometimes))


def test_stale_and_unlisted_failures_are_found():
    listed = script.read_expected("# a reason\ntest_a.py::one\ntest_b.py::two\n\n# Sometimes: luck\ntest_a.py::three\n")
    assert listed.always == {"test_a.py::one": "a reason", "test_b.py::two": "a reason"}
    good = {"test_a.py::one": "failed", "test_a.py::three": "passed", "test_a.py::four": "passed"}
    assert script.complaints(good, listed, ["test_a.py"]) == []
    assert script.complaints({**good, "test_a.py::three": "failed"}, listed, ["test_a.py"]) == []
    bad = {"test_a.py::one": "passed", "test_a.py::four": "failed"}
    assert script.complaints(bad, listed, ["test_a.py"]) == [
        "fails and is not listed: test_a.py::four",
        "listed, but it passed: test_a.py::one",
        "listed, but there is no such test: test_a.py::three",
    ]
    for wrong in ("test_a.py::one", "# why\ntest_a.py::one\ntest_a.py::one"):
        with pytest.raises(ValueError, match=r"test_a\.py::one"):
            script.read_expected(wrong)
