"""Arrays in files: what one library writes the other reads, and results, warnings and errors are NumPy's."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import re
import warnings
from typing import Any

import numpy
import pytest

import npdec as np
from npdec.exceptions import DecompositionWarning

BOTH = pytest.mark.parametrize("lib", [np, numpy], ids=["npdec", "numpy"])
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def same(got: Any, want: Any) -> None:
    """An array of npdec with the dtype, shape and elements of NumPy's."""
    assert type(got) is np.ndarray
    assert got.dtype.name == want.dtype.name
    assert got.shape == want.shape
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


# -- binary files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_npdec_saves_numpy_loads_and_the_other_way_round(tmp_path, dtype):
    want = numpy.arange(6).reshape(2, 3).astype(dtype)
    np.save(tmp_path / "ours", np.asarray(want))
    numpy.save(tmp_path / "theirs.npy", want)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()
    same(np.load(tmp_path / "theirs.npy"), want)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (1, 1)])
def test_shapes_survive(shape):
    file = io.BytesIO()
    np.save(file, np.ones(shape))
    file.seek(0)
    same(np.load(file), numpy.ones(shape))


def test_memory_order_survives():
    file = io.BytesIO()
    np.save(file, np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    file.seek(0)
    back = np.load(file)
    assert back.flags.f_contiguous
    assert not back.flags.c_contiguous


@BOTH
def test_save_takes_what_array_takes(lib):
    for data in (3, 2.5, [1, 2], [[1.0], [2.0]], (True, False), range(3)):
        file = io.BytesIO()
        lib.save(file, data)
        file.seek(0)
        assert lib.load(file).tolist() == numpy.asarray(data).tolist()


def test_big_endian_files_are_read_in_native_order():
    file = io.BytesIO()
    numpy.save(file, numpy.arange(3, dtype=">f8"))
    file.seek(0)
    same(np.load(file), numpy.arange(3.0))


def test_an_archive_is_a_lazy_mapping(tmp_path):
    path = tmp_path / "some.npz"
    np.savez(path, np.arange(3), weights=np.ones((2, 2), dtype="f4"), words=["a", "b"])
    theirs = numpy.load(path)
    with np.load(path) as ours:
        assert repr(ours) == repr(theirs)
        assert ours.files == theirs.files
        assert sorted(ours) == sorted(theirs)
        assert len(ours) == 3
        assert "weights" in ours
        assert "weights.npy" in ours
        assert "nothing" not in ours
        same(ours["arr_0"], theirs["arr_0"])
        same(ours["weights.npy"], theirs["weights"])
        same(ours.f.weights, theirs.f.weights)
        assert ours.get("nothing") is None
        assert set(ours.keys()) == set(ours.files)
        with pytest.raises(KeyError):
            ours["nothing"]
        assert ours["words"].tolist() == ["a", "b"]
        assert ours.zip is not None
    assert ours.zip is None
    theirs.close()


def test_a_compressed_archive(tmp_path):
    np.savez_compressed(tmp_path / "zeros", x=np.zeros(10_000))
    assert os.path.getsize(tmp_path / "zeros.npz") < 1000
    with numpy.load(tmp_path / "zeros.npz") as arrays:
        assert arrays["x"].shape == (10_000,)


@pytest.mark.parametrize("write", ["save", "savez", "savez_compressed", "savetxt"])
def test_of_a_decomposed_array_the_value_is_saved(tmp_path, write):
    path = tmp_path / ("x.txt" if write == "savetxt" else "x.npz" if "z" in write else "x.npy")
    d = np.decompose(np.array([1.0, 2.0])) * 2
    with pytest.warns(DecompositionWarning, match=write.removesuffix("_compressed")):
        getattr(np, write)(path, d)
    back = np.loadtxt(path) if write == "savetxt" else np.load(path)
    back = back["arr_0"] if "z" in write else back
    assert back.tolist() == [2.0, 4.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(np, write)(path, d.value)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda lib, path: lib.save(path, [object()], allow_pickle=False), ValueError),
        (lambda lib, path: lib.savez(path, lib.ones(2), [object()], allow_pickle=False), ValueError),
        (lambda lib, path: lib.save(path, [[1, 2], [3]]), ValueError),
        (lambda lib, path: lib.savetxt(path, lib.ones((2, 2, 2))), ValueError),
        (lambda lib, path: lib.savetxt(path, lib.ones((2, 2)), fmt=["%d"]), AttributeError),
        (lambda lib, path: lib.savetxt(path, lib.array([1.0, lib.nan]), fmt="%d"), ValueError),
        (lambda lib, path: lib.savetxt(path, lib.ones(2), fmt=3), ValueError),
    ],
)
def test_what_cannot_be_written_leaves_no_file(tmp_path, call, error):
    with pytest.raises(error) as theirs:
        call(numpy, str(tmp_path / "theirs"))
    with pytest.raises(error) as ours:
        call(np, str(tmp_path / "ours"))
    assert type(ours.value) is type(theirs.value)
    assert not list(tmp_path.glob("ours*"))


def test_text_beyond_the_encoding_leaves_no_file(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        np.savetxt(tmp_path / "x", np.ones(2), header="θ", encoding="latin1")
    assert not (tmp_path / "x").exists()


def test_bfloat16_has_to_be_converted_first(tmp_path):
    with pytest.raises(TypeError, match="bfloat16"):
        np.save(tmp_path / "x.npy", np.ones(2, dtype=np.bfloat16))
    assert not (tmp_path / "x.npy").exists()


@BOTH
def test_pickles_are_read_on_request_only(lib, tmp_path):
    path = tmp_path / "x.pkl"
    lib.array([1.0, 2.0]).dump(path)
    with pytest.raises(ValueError, match="allow_pickle"):
        lib.load(path)
    back = lib.load(path, allow_pickle=True)
    assert type(back) is lib.ndarray
    assert back.tolist() == [1.0, 2.0]
    assert pickle.loads(lib.array([1.0]).dumps()).tolist() == [1.0]


@BOTH
def test_bad_files_raise(lib, tmp_path):
    with pytest.raises(FileNotFoundError):
        lib.load(tmp_path / "nothing.npy")
    (tmp_path / "empty.npy").write_bytes(b"")
    with pytest.raises(EOFError, match="No data left in file"):
        lib.load(tmp_path / "empty.npy")
    file = io.BytesIO()
    numpy.save(file, numpy.array([None]))
    file.seek(0)
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        lib.load(file)


def test_several_arrays_in_one_file():
    file = io.BytesIO()
    for i in range(3):
        np.save(file, np.full(2, i))
    file.seek(0)
    assert [np.load(file).tolist() for _ in range(3)] == [[0, 0], [1, 1], [2, 2]]


def test_what_torch_cannot_hold_is_numpys():
    for data in (numpy.array(["a"]), numpy.zeros(2, "i4,f8"), numpy.array("2024", "M8[D]"), numpy.ones(2, "g")):
        file = io.BytesIO()
        numpy.save(file, data)
        file.seek(0)
        made = np.load(file)
        assert isinstance(made, numpy.ndarray)
        assert made.dtype == data.dtype
        assert made.tolist() == data.tolist()
    found = np.fromregex(io.StringIO("a1 b2"), r"(\w)(\d)", [("letter", "U1"), ("number", "i8")])
    assert found.tolist() == [("a", 1), ("b", 2)]
    assert found["number"].dtype == int


@BOTH
def test_files_mapped_to_memory(lib, tmp_path):
    path = tmp_path / "x.npy"
    lib.save(path, lib.arange(6.0).reshape(2, 3))
    private = lib.load(path, mmap_mode="c")
    private[0, 0] = 7
    assert lib.load(path)[0, 0] == 0
    fixed = lib.load(path, mmap_mode="r")
    with pytest.raises(ValueError, match="read-only"):
        fixed[0, 0] = 7
    assert fixed.sum() == 15
    shared = lib.load(path, mmap_mode="r+")
    shared[1] *= 2
    assert lib.load(path).tolist() == [[0, 1, 2], [6, 8, 10]]
    assert fixed[1].tolist() == [6, 8, 10]
    with pytest.raises(ValueError):
        lib.load(path, mmap_mode="z")


def test_foreign_bytes_are_mapped_by_numpy(tmp_path):
    numpy.save(tmp_path / "x.npy", numpy.arange(3, dtype=">f8"))
    np.load(tmp_path / "x.npy", mmap_mode="r+")[1] = 7
    assert numpy.load(tmp_path / "x.npy").tolist() == [0, 7, 2]


@BOTH
def test_numbers_as_bytes(lib, tmp_path):
    path = tmp_path / "raw"
    x = lib.arange(6, dtype="i2").reshape(2, 3).T
    x.tofile(path)
    assert path.read_bytes() == x.tobytes()
    assert lib.fromfile(path, dtype="i2").tolist() == [0, 3, 1, 4, 2, 5]
    assert lib.fromfile(path, "i2", count=2, offset=2).tolist() == [3, 1]
    with open(path, "rb") as file:
        file.seek(8)
        assert lib.fromfile(file, dtype=lib.int16).tolist() == [2, 5]
    with open(path, "w+b") as file:
        lib.array([1.5, 2.0]).tofile(file)
        lib.array([3.0]).tofile(file)
    assert lib.fromfile(path).tolist() == [1.5, 2.0, 3.0]
    assert lib.fromfile(path).dtype == lib.float64
    lib.array([[1.5, 2.25]]).tofile(path, sep=",", format="%.1f")
    assert path.read_text() == "1.5,2.2"
    assert lib.fromfile(path, sep=",").tolist() == [1.5, 2.2]


# -- text --------------------------------------------------------------------------------------------------------------

TABLES: list[tuple[str, dict[str, Any]]] = [
    ("1 2\n3 4", {}),
    ("1 2\n3 4", {"dtype": int}),
    ("1,2\n3,4", {"delimiter": ",", "unpack": True}),
    ("a\n# b\n1 2 # c\n", {"skiprows": 1}),
    ("1 2 3\n4 5 6", {"usecols": (0, -1), "dtype": "f4"}),
    ("1 2 3\n4 5 6", {"usecols": 1, "ndmin": 2}),
    ("1", {}),
    ("1", {"ndmin": 1}),
    ("1 2\n3 4\n5 6", {"max_rows": 2}),
    ("1.5\n2.5", {"converters": lambda s: float(s) * 2}),
    ("x 1\ny 2", {"converters": {0: ord}, "dtype": "i8"}),
    ("1+2j 3", {"dtype": complex}),
    ('"1";"2"', {"delimiter": ";", "quotechar": '"'}),
]


@pytest.mark.parametrize(("text", "options"), TABLES)
def test_loadtxt(text, options):
    same(np.loadtxt(io.StringIO(text), **options), numpy.loadtxt(io.StringIO(text), **options))


def test_loadtxt_takes_arguments_of_npdec():
    text = "1 2 3\n4 5 6"
    got = np.loadtxt(
        text.splitlines(), dtype=np.float32, usecols=np.array([0, 2]), converters={np.int64(0): np.float64}
    )
    same(got, numpy.array([[1, 3], [4, 6]], "f4"))


@pytest.mark.parametrize("text", ["1 x", "1 2\n3", "1.5"])
def test_loadtxt_errors(text):
    dtype = int if text == "1.5" else float
    with pytest.raises(ValueError) as theirs:
        numpy.loadtxt([text] if "\n" not in text else text.split("\n"), dtype=dtype)
    with pytest.raises(ValueError) as ours:
        np.loadtxt([text] if "\n" not in text else text.split("\n"), dtype=dtype)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("dtype", [str, "U3", object, "i4,f8", [("a", int), ("b", float)], "m8[D]", "g", ">f8"])
def test_text_and_records_are_read_by_numpy(dtype):
    text = ["1 2", "3 4"]
    theirs, ours = numpy.loadtxt(text, dtype=dtype), np.loadtxt(text, dtype=dtype)
    assert isinstance(ours, np.ndarray)
    assert ours.dtype == theirs.dtype
    assert ours.tolist() == theirs.tolist()


GENERATED: list[tuple[str, dict[str, Any]]] = [
    ("1,2\n3,", {"delimiter": ","}),
    ("1,2\n3,", {"delimiter": ",", "dtype": int, "filling_values": 7}),
    ("1,2\n3,N/A", {"delimiter": ",", "missing_values": "N/A", "filling_values": {1: -1.0}}),
    ("123456", {"delimiter": (1, 2, 3)}),
    ("h\n1 2\n3 4\nend 1", {"skip_header": 1, "skip_footer": 1}),
    ("1 2\n3 4", {"dtype": None}),
    ("1 2\n3 4", {"unpack": True, "usecols": [1]}),
    ("5", {"ndmin": 1}),
]


@pytest.mark.parametrize(("text", "options"), GENERATED)
def test_genfromtxt(text, options):
    same(np.genfromtxt(io.StringIO(text), **options), numpy.genfromtxt(io.StringIO(text), **options))


def test_genfromtxt_gives_numpys_records_and_masks():
    for options in ({"names": True}, {"dtype": None}, {"usemask": True}):
        text = ["a b", "1 x"] if "dtype" in options else ["a b", "1 2"]
        theirs, ours = numpy.genfromtxt(text, **options), np.genfromtxt(text, **options)
        assert isinstance(ours, np.ndarray)
        assert ours.dtype == theirs.dtype
        assert repr(ours.tolist()) == repr(theirs.tolist())
        assert isinstance(ours, numpy.ma.MaskedArray) is isinstance(theirs, numpy.ma.MaskedArray)


SAVED: list[tuple[Any, dict[str, Any]]] = [
    ([[1.0, 2.5], [3.0, 4.0]], {}),
    ([1.0, 2.0], {"fmt": "%.2f", "newline": "\r\n"}),
    ([[1, 2], [3, 4]], {"fmt": "%d", "delimiter": ","}),
    ([[1, 2], [3, 4]], {"fmt": ["%d", "%.1f"], "header": "a b\nc", "footer": "end", "comments": "! "}),
    ([[1 + 2j]], {}),
    ([[1 + 2j]], {"fmt": "%.1f%+.1fj"}),
    ([True, False], {"fmt": "%d"}),
    (3.0, {}),
]


@pytest.mark.parametrize(("data", "options"), SAVED)
def test_savetxt(tmp_path, data, options):
    refused = ""
    try:
        numpy.savetxt(tmp_path / "theirs", numpy.array(data), **options)
    except ValueError as error:
        refused = str(error)
    if refused:
        with pytest.raises(ValueError, match=re.escape(refused)):
            np.savetxt(tmp_path / "ours", np.array(data), **options)
        return
    np.savetxt(tmp_path / "ours", np.array(data), **options)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    for file, want in ((io.StringIO(), "read_text"), (io.BytesIO(), "read_bytes")):
        np.savetxt(file, np.array(data), **options)
        written = file.getvalue()
        assert (written if isinstance(written, bytes) else written.encode()) == (tmp_path / "theirs").read_bytes(), want


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_text_files_are_compressed_by_their_name(tmp_path, suffix):
    np.savetxt(tmp_path / f"x{suffix}", np.arange(3))
    same(np.loadtxt(str(tmp_path / f"x{suffix}")), numpy.arange(3.0))
    if suffix == ".gz":
        assert gzip.decompress((tmp_path / "x.gz").read_bytes()).startswith(b"0.0")


@BOTH
def test_savetxt_needs_a_file(lib):
    with pytest.raises(ValueError, match="fname must be"):
        lib.savetxt(3, lib.ones(2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fromstring():
    for options in ({"sep": " "}, {"sep": " ", "dtype": int}, {"sep": " ", "count": 2, "dtype": "f4"}):
        same(np.fromstring("1 2 3", **options), numpy.fromstring("1 2 3", **options))
    for lib in (np, numpy):
        with pytest.raises(ValueError, match="binary mode"):
            lib.fromstring("1 2")
        with pytest.raises(ValueError, match="binary mode"):
            lib.fromstring(b"12345678", sep="")


def test_like_chooses_the_library():
    assert type(np.loadtxt(["1 2"], like=np.ones(1))) is np.ndarray
    assert type(np.fromstring("1", sep=" ", like=numpy.ones(1))) is np.ndarray
    for lib in (np, numpy):
        with pytest.raises(TypeError, match="`like` argument"):
            lib.loadtxt(["1"], like=3)
