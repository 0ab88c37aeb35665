"""Objects of other libraries are asked what a call gives before their numbers are taken: as NumPy asks them, by every
function, ufunc and operator, and with the same arguments."""

from __future__ import annotations

import itertools
import operator
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy
import numpys_ducks
import pytest

import npdec
import samples
import tiers

BOTH = pytest.mark.parametrize("lib", [npdec, numpy], ids=["npdec", "numpy"])


def _own() -> dict[str, Any]:
    """The same classes in a module that names npdec."""
    names: dict[str, Any] = {"__name__": "npdecs_ducks", "npdec": npdec}
    exec(compile(Path(numpys_ducks.__file__).read_text("utf-8"), "npdecs_ducks.py", "exec"), names)
    return names


OWN = dict(zip(numpys_ducks.KINDS, _own()["KINDS"], strict=True))


def _places(args: tuple[Any, ...]) -> list[tuple[int, ...]]:
    """Where arrays stand among the arguments, and in lists among them."""
    found: list[tuple[int, ...]] = []
    for i, x in enumerate(args):
        if isinstance(x, samples.Arr):
            found.append((i,))
        elif isinstance(x, (list, tuple)):
            found += [(i, j) for j, item in enumerate(x) if isinstance(item, samples.Arr)]
    return found[:2]


def _put(args: list[Any], place: tuple[int, ...], x: Any) -> list[Any]:
    if len(place) == 1:
        return [x if i == place[0] else given for i, given in enumerate(args)]
    inner = args[place[0]]
    made = type(inner)(x if i == place[1] else given for i, given in enumerate(inner))
    return _put(args, place[:1], made)


def _asked(lib: Any, name: str, kind: type, sample: samples.Sample, place: tuple[int, ...]) -> tuple[Any, str]:
    """What an object was asked first that stands for an argument of a call, and what came of it."""
    args, kwargs = sample.build(lib)
    source = sample.args[place[0]] if len(place) == 1 else sample.args[place[0]][place[1]]
    duck: Any = kind(numpy.array(source.data, source.dtype))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = operator.attrgetter(name)(lib)(*_put(args, place, duck), **kwargs)
        outcome = "answered" if isinstance(made, str) and made == "answered" else "a value"
    except Exception as error:
        outcome = type(error).__name__
    return duck.asked[:1], outcome


# What NumPy looks into, and npdec takes as it is: lists of arrays that are no arrays to be computed with.
_LISTS = {("piecewise", (1, 0)), ("histogramdd", (0, 0)), ("histogramdd", (0, 1))}


def _calls() -> list[tuple[str, samples.Sample, tuple[int, ...]]]:
    calls = []
    for name, given in samples.SAMPLES.items():
        try:
            found = operator.attrgetter(name)(numpy)
        except AttributeError:
            continue
        if not isinstance(found, type):
            calls += [(name, s, place) for s in given[:2] for place in _places(s.args) if (name, place) not in _LISTS]
    return calls


@pytest.mark.parametrize(("turn", "kind"), enumerate(numpys_ducks.KINDS), ids=lambda x: getattr(x, "__name__", ""))
def test_objects_written_for_numpy_are_asked_by_every_function(turn, kind):
    calls = tiers.turns(_calls(), turn, len(numpys_ducks.KINDS))
    differing = {
        (name, repr(sample), place): (made, expected)
        for name, sample, place in calls
        if (made := _asked(npdec, name, kind, sample, place)) != (expected := _asked(numpy, name, kind, sample, place))
    }
    assert not differing
    assert len(calls) > 150


# Of these npdec's functions ask where NumPy's are made of others, or have another name.
_OTHERWISE = frozenset({"row_stack", "histogramdd", "poly", "roots"})


@pytest.mark.parametrize(("turn", "kind"), enumerate(numpys_ducks.KINDS), ids=lambda x: getattr(x, "__name__", ""))
def test_objects_written_for_npdec_are_asked_with_its_functions(turn, kind):
    for name, sample, place in tiers.turns(_calls(), turn, len(numpys_ducks.KINDS)):
        if name in _OTHERWISE:
            continue
        asked, outcome = _asked(npdec, name, OWN[kind], sample, place)
        expected, wanted = _asked(numpy, name, OWN[kind], sample, place)
        assert ([x[0] for x in asked], outcome) == ([x[0] for x in expected], wanted), (name, sample, place)


# --- ufuncs, their methods and options; operators ---------------------------------------------------------------------

UFUNC_CALLS: dict[str, Any] = {
    "out": lambda np, x: np.exp(np.ones(2), out=x),
    "positional out": lambda np, x: np.exp(np.ones(2), x),
    "out of two": lambda np, x: np.modf(np.ones(2), out=(None, x)),
    "into": lambda np, x: np.add(np.ones(2), x, out=np.ones(2)),
    "where": lambda np, x: np.add(np.ones(2), 1.0, out=np.ones(2), where=x),
    "dtype": lambda np, x: np.add(x, 1.0, dtype=np.float32),
    "casting": lambda np, x: np.add(x, 1.0, casting="unsafe"),
    "reduce": lambda np, x: np.add.reduce(x, axis=0, keepdims=True),
    "reduce into": lambda np, x: np.add.reduce(np.ones(2), out=x),
    "reduce where": lambda np, x: np.add.reduce(np.ones(2), where=x),
    "accumulate": lambda np, x: np.add.accumulate(x),
    "reduceat": lambda np, x: np.add.reduceat(x, [0, 1]),
    "outer": lambda np, x: np.multiply.outer(np.ones(3), x),
    "at": lambda np, x: np.add.at(x, [0], 1.0),
    "at of it": lambda np, x: np.add.at(np.ones(2), [0, 1], x),
    "matmul": lambda np, x: np.matmul(np.ones(2), x),
    "vecdot": lambda np, x: np.vecdot(x, np.ones(2)),
    "number": lambda np, x: np.add(2.0, x),
    "scalar": lambda np, x: np.float64(2.0) * x,
    "integer": lambda np, x: np.int64(2) + x,
    "no ufunc": lambda np, x: np.ones(2).dot(x),
    "Python's": lambda np, x: np.frompyfunc(lambda a: a, 1, 1)(x),
    "Python's of two": lambda np, x: np.frompyfunc(lambda a, b: a, 2, 1)(1.0, x),
    "Python's reduce": lambda np, x: np.frompyfunc(lambda a, b: a, 2, 1).reduce(x),
    "Python's accumulate": lambda np, x: np.frompyfunc(lambda a, b: a, 2, 1).accumulate(x),
    "Python's outer": lambda np, x: np.frompyfunc(lambda a, b: a, 2, 1).outer(x, [1.0]),
    "no tuple of two": lambda np, x: np.modf(x, out=None),
    "too many to write": lambda np, x: np.multiply(x, 2.0, out=(x, x)),
    "none to write": lambda np, x: np.multiply.reduce(x, out=()),
    "reduce by place": lambda np, x: np.multiply.reduce(x, "axis", "dtype", "out", "keep"),
    "accumulate into nothing known": lambda np, x: np.multiply.accumulate(x, "axis", "dtype", "out"),
    "reduceat into nothing known": lambda np, x: np.multiply.reduceat(x, [0, 1], "axis", "dtype", "out"),
    "options that exclude each other": lambda np, x: np.multiply.outer(x, x, sig="a", signature="a"),
    "clip below": lambda np, x: np.ones(2).clip(x),
    "clip above": lambda np, x: np.ones(2).clip(max=x),
    "clip between": lambda np, x: np.ones(2).clip(x, 2.0),
    "clip into": lambda np, x: np.ones(2).clip(0.0, 2.0, out=x),
    "clip of a scalar": lambda np, x: np.float64(1.0).clip(x, 2.0),
}
for _symbol, _operator in {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
    "//": operator.floordiv, "%": operator.mod, "@": operator.matmul, "<": operator.lt, "==": operator.eq,
    "!=": operator.ne, ">=": operator.ge, "divmod": divmod, "+=": operator.iadd, "*=": operator.imul,
}.items():  # fmt: skip
    UFUNC_CALLS[_symbol] = lambda np, x, operator=_operator: operator(np.ones(2), x)
for _symbol, _operator in {"&": operator.and_, "|": operator.or_, "<<": operator.lshift, "^=": operator.ixor}.items():
    UFUNC_CALLS[_symbol] = lambda np, x, operator=_operator: operator(np.arange(2), x)


class Reflecting(numpys_ducks.Ufuncs):
    """It has operators too, for which NumPy's arrays ask its ufuncs."""

    def __radd__(self, other: Any) -> Any:
        return "reflected"

    __rmul__ = __rsub__ = __rmatmul__ = __radd__


@pytest.mark.parametrize("kind", [*numpys_ducks.KINDS, Reflecting, *OWN.values()], ids=lambda kind: kind.__module__)
def test_ufuncs_and_operators_ask_as_numpys(kind):
    for name, call in UFUNC_CALLS.items():
        outcomes = []
        for lib in (npdec, numpy):
            duck = kind(numpy.array([1, 0]) if name in "&|<<^=" else numpy.array([1.0, 2.0]))
            try:
                made = call(lib, duck)
                outcome: Any = made if isinstance(made, str) else "a value"
            except Exception as error:
                outcome = type(error)
            outcomes.append((duck.asked[:1], outcome))
        assert outcomes[0] == outcomes[1], name


@BOTH
def test_a_class_that_takes_part_in_no_ufunc_is_left_its_operators(lib):
    class Aside:
        __array_ufunc__ = None

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return numpy.ones(2)

        def __radd__(self, other: Any) -> str:
            return "reflected"

    assert lib.ones(2) + Aside() == "reflected"
    with pytest.raises(TypeError, match="does not support ufuncs"):
        lib.add(lib.ones(2), Aside())


# --- what the classes of libraries give -------------------------------------------------------------------------------

CALLS: dict[str, Any] = {
    "exp": lambda np, x: np.exp(x),
    "add": lambda np, x: np.add(np.ones(2), x),
    "arctan2": lambda np, x: np.arctan2(x, np.ones(2)),
    "modf": lambda np, x: np.modf(x),
    "from the left": lambda np, x: np.ones(2) * x,
    "from the right": lambda np, x: x * np.ones(2),
    "compared": lambda np, x: np.ones(2) < x,
    "scalar": lambda np, x: np.float64(2) * x,
    "sum": lambda np, x: np.sum(x),
    "cumsum": lambda np, x: np.cumsum(x),
    "std": lambda np, x: np.std(x),
    "reduce": lambda np, x: np.add.reduce(x),
    "where": lambda np, x: np.where(x > 1, 1, 0),
    "concatenate": lambda np, x: np.concatenate([x, np.ones_like(x)]),
    "dot": lambda np, x: np.dot(np.ones(2), x),
    "matmul": lambda np, x: np.ones(2) @ x,
    "clip": lambda np, x: np.clip(x, 0, 1.5),
    "fix": lambda np, x: np.fix(x),
    "round": lambda np, x: np.round(x, 1),
    "argsort": lambda np, x: np.argsort(x),
    "median": lambda np, x: np.median(x, axis=0),
    "copyto": lambda np, x: np.copyto(np.ones(2), x),
    "at": lambda np, x: np.add.at(np.ones(2), [0, 1], x),
    "asarray": lambda np, x: np.asarray(x),
    "array of them": lambda np, x: np.array([x, x]),
    "einsum": lambda np, x: np.einsum("i,i", np.ones(2), x),
    "norm": lambda np, x: np.linalg.norm(x),
    "fft": lambda np, x: np.fft.fft(x),
    "unique": lambda np, x: np.unique(x),
    "interp": lambda np, x: np.interp(x, [0, 1], [0, 1]),
    "average": lambda np, x: np.average(x),
    "gradient": lambda np, x: np.gradient(x),
    "allclose": lambda np, x: np.allclose(x, 1.0),
}


def _kind(made: Any) -> Any:
    """What a result is: of one name in NumPy and npdec, by its class elsewhere, with its numbers."""
    if isinstance(made, tuple):
        return tuple(map(_kind, made))
    if made is None or isinstance(made, bool):
        return made
    module = type(made).__module__.partition(".")[0]
    name = type(made).__name__
    numbers = numpy.asarray(made)
    return module if module not in ("numpy", "npdec") else "array", name, numbers.dtype.str, numbers.tolist()


def _of(library: str) -> list[Any]:
    module = pytest.importorskip(library)
    if library == "pandas":
        return [module.Series([1.0, 2.0], index=["a", "b"]), module.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})]
    if library == "xarray":
        return [module.DataArray([1.0, 2.0], dims="time", coords={"time": [5, 6]})]
    return [pytest.importorskip("dask.array").from_array(numpy.array([1.0, 2.0]))]


@pytest.mark.parametrize("library", ["pandas", "xarray", "dask"])
def test_libraries_give_what_they_give_to_numpy(library):
    for x, (name, call) in itertools.product(_of(library), CALLS.items()):
        outcomes = []
        for lib in (npdec, numpy):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    outcomes.append(_kind(call(lib, x)))
            except Exception as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1], (type(x), name)


def test_series_hold_numpys_arrays():
    pandas = pytest.importorskip("pandas")
    series, frame = pandas.Series([1.0, 4.0], index=["a", "b"]), pandas.DataFrame({"a": [1.0, 4.0]})
    roots = npdec.sqrt(series)
    assert roots["b"] == 2.0
    assert type(npdec.sqrt(frame)._mgr.blocks[0].values) is numpy.ndarray
    x = npdec.ones(2)
    x += series
    assert type(x) is not numpy.ndarray
    into = npdec.zeros(2)
    npdec.sqrt(series, out=into)
    assert into.tolist() == [1.0, 2.0]


# --- what nobody may lose ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "xarray", "dask"])
def test_contributions_stay_beside_objects_that_could_not_hold_them(library):
    for other in _of(library)[:1]:
        x = npdec.decompose(npdec.array([1.0, 3.0]))
        for made in (
            x * other,
            npdec.add(other, x),
            npdec.dot(other, x),
            npdec.where(npdec.asarray(other) > 1, x, other),
        ):
            assert made.is_decomposed
            assert numpy.allclose((made.residual + made.components.sum(0)).tolist(), made.value.tolist())
        assert npdec.concatenate([other, x]).is_decomposed
        assert x.dot(other).is_decomposed


def test_gradients_go_through_them():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, 2.0])
    slope = npdec.grad(lambda x: (x * series).sum())(npdec.array([1.0, 3.0]))
    assert slope.tolist() == [1.0, 2.0]


@pytest.mark.slow
def test_without_numpy_they_are_asked_with_npdecs_functions():
    code = """
import sys
sys.modules["numpy"] = None
import npdec as np

class Asked:
    def __array_ufunc__(self, function, method, *inputs, **kwargs):
        return function is np.exp, method
    def __array_function__(self, function, types, args, kwargs):
        return function is np.sum

class Silent:
    __array_function__ = None
    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0])

assert np.exp(Asked()) == (True, "__call__")
assert np.sum(Asked()) is True
assert np.sum(Silent()) == 3.0
"""
    subprocess.run([sys.executable, "-c", code], check=True)
