"""`np.lib` and `np.emath` beside NumPy's own."""

from __future__ import annotations

import io
import warnings

import numpy
import numpy.lib.array_utils
import numpy.lib.stride_tricks
import pytest

import npdec as np
from npdec.exceptions import AbsentNameError
from outcomes import same

# -- strides -----------------------------------------------------------------------------------------------------------

TEXTS = """
AS(a, shape=(2, 2), strides=(8,))|AS(a, shape=(-1,))|AS(3)|AS(a, shape=4)|AS(a, shape=(3,), strides=8)|AS(a, ())|AS(a)
AS(a, (3, 2), (8, 24))|AS([1, 2, 3], (2, 2), (8, 8))|AS(a, strides=(24, 8))|AS(a, (2, 0), (8, 8))|AS(a[1:], (3,), (8,))
AS(a[1:], (3, 2), (8, -24))|AS(a.T, (3, 2))|AS(a, (3, 4), (0, 8))|AS(a, (3, 2))|AS(a, dtype=3)|AS(a).flags.writeable
AS(a, writeable=False).flags.writeable|SW(a, (2, 2))|SW(a, 2, 1)|SW(a, 2, (0, 1))|SW(a, (2, 2), (1, 1))|SW(a, -1)
SW(a, (3, 2))|SW(a, 2)|SW(a, (1, 2, 3))|SW(a, (0, 0))|SW(a, 2, 5)|SW(3, ())|SW(np.zeros((0,)), (0,))|SW(a, (1.5,), 0)
SW(np.zeros((3, 0)), (2,), 0)|SW(a, 2, 0).flags.writeable|SW(a, (2,), axis=-2)
SW(a, 2, 0, writeable=True).flags.writeable
au.normalize_axis_index(3, 2)|au.normalize_axis_index(-1, 2)|au.normalize_axis_index(3, 2, 'pre')
au.normalize_axis_index(1.5, 2)|au.normalize_axis_tuple(-1, 2)|au.normalize_axis_tuple((0, 0), 2)
au.normalize_axis_tuple((0, 0), 2, 'ax')|au.normalize_axis_tuple((0, 5), 2, 'ax')|au.normalize_axis_tuple(1.5, 2)
au.normalize_axis_tuple([0, -2], 2, allow_duplicate=True)|width(au.byte_bounds(a))|width(au.byte_bounds(a[:, ::2]))
width(au.byte_bounds(a.T[::2]))|width(au.byte_bounds(a[:0]))
"""


@pytest.mark.parametrize("text", [text for line in TEXTS.split("\n") for text in line.split("|") if text])
def test_views_and_axes_are_numpys(text):
    def program(lib):
        tricks, utils = lib.lib.stride_tricks, lib.lib.array_utils
        scope = {"np": lib, "AS": tricks.as_strided, "SW": tricks.sliding_window_view, "au": utils}
        scope |= {"a": lib.arange(6.0).reshape(2, 3), "width": lambda bounds: bounds[1] - bounds[0]}
        return eval(text, scope)

    same(program)


def test_views_are_written_through():
    def program(lib):
        a = lib.ones(10)
        tricks = lib.lib.stride_tricks
        whole, overlapping = tricks.as_strided(a), tricks.as_strided(a, (3, 3), (8, 8))
        windows, end = tricks.sliding_window_view(a, 3, writeable=True), tricks.as_strided(a[5:], (3,), (8,))
        backwards = tricks.as_strided(a[9:], (3,), (-8,))
        whole[...] = 3
        overlapping[1] = 7
        windows[0, 1] = -1
        end += 1
        backwards[1:] = 20
        return [a, whole, overlapping, windows, end, backwards]

    same(program)


def test_windows_are_read_only():
    same(lambda lib: lib.lib.stride_tricks.sliding_window_view(lib.arange(4), 2).__setitem__(0, 1))


@pytest.mark.parametrize(
    ("shape", "strides", "message"),
    [((3,), (3,), "multiples of the 8 bytes"), ((30,), (8,), "there are 6"), ((3,), (-8,), "no negative strides")],
)
def test_what_torch_cannot_view_says_so(shape, strides, message):
    with pytest.raises(ValueError, match=message):
        np.lib.stride_tricks.as_strided(np.arange(6.0), shape, strides)


@pytest.mark.parametrize("layout", ["as made", "transposed", "sliced", "row of a larger one"])
def test_contributions_of_views_alias(layout):
    x = np.decompose(np.arange(12.0).reshape(3, 4), labels=[str(i) for i in range(12)])
    a = {"as made": x, "transposed": x.T, "sliced": x[:, 1:], "row of a larger one": x[1]}[layout]
    plain = numpy.asarray(a.value)
    steps, size = (8, 16), (2, 2)
    view = np.lib.stride_tricks.as_strided(a, size, steps)
    numpy.testing.assert_array_equal(
        numpy.asarray(view.value), numpy.lib.stride_tricks.as_strided(plain, size, plain.itemsize * numpy.array([1, 2]))
    )
    numpy.testing.assert_array_equal(numpy.asarray(view.components.sum(0) + view.residual), numpy.asarray(view.value))
    for window in np.lib.stride_tricks.sliding_window_view(a, (1,) * a.ndim).components[5].ravel():
        assert float(window) in (0.0, 5.0)
    view[0, 1] = x[2, 3] * 10
    place = (0,) * a.ndim
    assert float(a.components[11].ravel().max()) == 110.0 if layout != "row of a larger one" else True
    assert view.components[:, 0, 1].tolist() == [0.0] * 11 + [110.0]
    a[place] = -1.0
    assert view.tolist()[0][0] == -1.0
    assert view.residual.tolist()[0][0] == -1.0
    assert view.components[:, 0, 0].tolist() == [0.0] * 12


def test_arrays_become_decomposed_with_their_views():
    x = np.zeros(4)
    view = np.lib.stride_tricks.as_strided(x, (3, 2), (8, 8))
    windows = np.lib.stride_tricks.sliding_window_view(x, 2)
    x[2] = np.decompose(np.array([3.0]), labels=["in"])[0]
    for seen in (view, windows):
        assert seen.components.tolist() == [[[0.0, 0.0], [0.0, 3.0], [3.0, 0.0]]]


# -- emath -------------------------------------------------------------------------------------------------------------

ARGUMENTS = [
    "[1.0, -2.0]", "[1.0, 2.0]", "-1", "-1.0", "2", "1", "0.5", "[0.5, -0.5]", "np.array([-1, 2], 'f4')",
    "np.array([-1, 2], 'i1')", "np.array([-1, 2], 'f2')", "np.array([3], 'u1')", "True", "np.array([-1, 2], 'i4')",
    "[1j, -1]", "np.array([1j, -2], 'c8')", "[]", "np.float32(-2)", "np.nan", "[[-3.0, 3.0]]",
]  # fmt: skip
EMATH = [
    f"{name}({argument})" for name in "sqrt log log2 log10 arccos arcsin arctanh".split() for argument in ARGUMENTS
]
EMATH += """
power([2, 4], 2)|power([2, 4], -2)|power([-2, 4], 2)|power([2, 4], [2, 4])|power(-4, .5)|power(np.float32(-4), .5)
power(4, -1)|power(2, np.array([-1]))|logn(2, [4, 8])|logn(2, [-4, -8, 8])|logn(-2, 3.0)
logn(np.float32(2), np.float32(-4))|power(np.array([-2], 'i1'), 2)|power([1, 2], [True, False])
""".strip().replace("\n", "|").split("|")  # fmt: skip


@pytest.mark.parametrize("text", EMATH)
def test_emath_is_numpys(text):
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        got, want = (eval(f"np.emath.{text}", {"np": lib}) for lib in (np, numpy))
    assert isinstance(got, np.ndarray) is isinstance(want, numpy.ndarray)
    assert str(got.dtype) == str(want.dtype)
    precision = numpy.finfo(want.dtype).eps * 8 if want.dtype.kind in "fc" else 0
    numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=precision, atol=precision)


def test_emath_is_scimath():
    assert np.emath.__all__ == np.lib.scimath.__all__
    assert all(getattr(np.emath, name) is getattr(np.lib.scimath, name) for name in np.emath.__all__)


def test_emath_passes_contributions():
    x = np.decompose(np.array([4.0, -9.0]), baseline=np.array([1.0, -1.0]), labels=["a", "b"])
    y = np.emath.sqrt(x)
    assert y.tolist() == [2.0, 3j]
    numpy.testing.assert_allclose(numpy.asarray(y.components), [[1.0, 0.0], [0.0, 2j]])


# -- the rest ----------------------------------------------------------------------------------------------------------

VERSIONS = """1.8.0 1.9.0 1.7.1 1.8.0rc1 1.8.0.dev-f5e6b2b 1.9.0.dev-f16acvda 1.10.0rc10 1.9.0b1 1.9.0a2 2.0.0
    1.8.0a1.dev-f16acvda 1.10.0+abc""".split()


@pytest.mark.parametrize("text", VERSIONS)
def test_versions_are_numpys(text):
    def program(lib):
        v = lib.lib.NumpyVersion(text)
        said = [v.version, v.major, v.minor, v.bugfix, v.pre_release, v.is_devversion, repr(v), v.vstring]
        others = [*VERSIONS, *map(lib.lib.NumpyVersion, VERSIONS)]
        return said + [(v < o, v <= o, v == o, v != o, v > o, v >= o) for o in others]

    same(program)


@pytest.mark.parametrize("text", ["1.9", "1,9.0", "1.7.x"])
def test_what_is_no_version(text):
    same(lambda lib: lib.lib.NumpyVersion(text))
    same(lambda lib: lib.lib.NumpyVersion("1.9.0") < 1.9)


@pytest.mark.parametrize("key", ["()", "slice(1, None)", "(slice(None), slice(None, None, 2))", "(..., 1)", "1"])
@pytest.mark.parametrize(("shape", "size"), [((3, 4), 8), ((2, 3, 4), 5), ((4, 3, 2), None), ((2, 3), 100)])
def test_arrayterator_is_numpys(shape, size, key):
    def program(lib):
        part = lib.lib.Arrayterator(lib.arange(numpy.prod(shape)).reshape(shape), size)[eval(key)]
        return [part.shape, list(part), list(part.flat), lib.asarray(numpy.asarray(part)), part.ndim]

    same(program)


class Boxed(np.lib.mixins.NDArrayOperatorsMixin):
    """An array in a box; operations are done on the array."""

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [x.value if isinstance(x, Boxed) else x for x in inputs]
        if any(isinstance(x, str) for x in plain):
            return NotImplemented
        if "out" in kwargs:
            kwargs["out"] = tuple(x.value if isinstance(x, Boxed) else x for x in kwargs["out"])
        result = getattr(ufunc, method)(*plain, **kwargs)
        return tuple(map(Boxed, result)) if isinstance(result, tuple) else Boxed(result)


class Deaf:
    __array_ufunc__ = None

    def __radd__(self, other):
        return "mine"


def test_operators_of_the_mixin():
    def boxed(x):
        return [item.value.tolist() for item in x] if isinstance(x, tuple) else x.value.tolist()

    b = Boxed(np.array([1, 2]))
    assert boxed(b + 1) == [2, 3]
    assert boxed(1 - b) == [0, -1]
    assert boxed(np.array([5, 6]) - b) == [4, 4]
    assert boxed(b**2) == [1, 4]
    assert boxed(-b) == boxed(~b + 1) == [-1, -2]
    assert boxed(b < 2) == [True, False]
    assert boxed(divmod(b, 2)) == [[0, 1], [1, 0]]
    assert boxed(b @ b) == 5
    same_box = b
    b += 1
    assert boxed(b) == [2, 3]
    assert isinstance(same_box, Boxed)
    assert b + Deaf() == "mine"
    with pytest.raises(TypeError, match="all returned NotImplemented"):
        b + "text"
    members = set(vars(numpy.lib.mixins.NDArrayOperatorsMixin)) - {"_module_source"}
    assert not members - set(dir(np.lib.mixins.NDArrayOperatorsMixin))
    x = np.decompose(np.array([1.0, 2.0]), labels=["a", "b"])
    assert (2 * Boxed(x)).value.components.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_files_in_the_npy_format():
    fmt, x = np.lib.format, np.arange(6.0).reshape(2, 3)
    for array in (x, numpy.asarray(x)):
        file = io.BytesIO()
        fmt.write_array(file, array)
        file.seek(0)
        assert fmt.read_magic(file) == (1, 0)
        assert fmt.read_array_header_1_0(file) == ((2, 3), False, np.dtype(float))
        file.seek(0)
        back = fmt.read_array(file)
        assert isinstance(back, np.ndarray)
        assert back.tolist() == x.tolist()
    file = io.BytesIO()
    fmt.write_array(file, x, version=(2, 0))
    file.seek(fmt.MAGIC_LEN)
    assert fmt.read_array_header_2_0(file)[0] == (2, 3)
    assert fmt.descr_to_dtype(fmt.dtype_to_descr(np.dtype("int8"))) is np.dtype("int8")
    assert set(fmt.__all__) <= set(dir(numpy.lib.format))
    assert {name for name in dir(numpy.lib.format) if not name.startswith("_")} <= {*dir(fmt), "open_memmap"}


def test_names_are_numpys_or_absent():
    assert set(np.lib.__all__) <= set(numpy.lib.__all__)
    for name in set(numpy.lib.__all__) - set(np.lib.__all__):
        assert type(getattr(np.lib, name)) is type(getattr(numpy.lib, name)) or callable(getattr(np.lib, name)), name
    for name in ("stride_tricks", "array_utils", "scimath", "mixins", "npyio"):
        reference = getattr(numpy.lib, name)
        public = getattr(reference, "__all__", [n for n in dir(reference) if not n.startswith("_")])
        assert set(getattr(np.lib, name).__all__) == set(public)
        assert all(getattr(getattr(np.lib, name), member) for member in getattr(np.lib, name).__all__)
    with pytest.raises(AbsentNameError, match="torch"):
        np.lib.introspect.opt_func_info
    with pytest.raises(AbsentNameError, match="mmap_mode"):
        np.lib.format.open_memmap


def test_the_zeroth_difference_is_what_was_given():
    for lib in (np, numpy):
        for given in ([1, 2], lib.ones(3), lib.ones((2, 3)), lib.float64(1.0)):
            assert lib.diff(given, n=0) is given
        assert lib.diff([1, 2], 0, prepend=1.0) == [1, 2]
    x = np.decompose(np.array([1.0, 3.0]))
    assert np.diff(x, n=0) is x
    assert np.diff(x, n=1).is_decomposed
