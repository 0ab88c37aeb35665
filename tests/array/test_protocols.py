"""NumPy's own functions on npdec arrays: each that dispatches gives what npdec's gives, contributions too."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy
import numpy.lib.recfunctions
import numpy.testing.overrides
import pytest
import torch
from torch.utils._pytree import tree_leaves

import npdec as np
import samples
from tiers import turns

FUNCTIONS = {
    ".".join([*function.__module__.split(".")[1:], function.__name__]): function
    for function in numpy.testing.overrides.get_overridable_numpy_array_functions()
    if function.__module__ != "numpy.lib.recfunctions"  # of records, which torch has not
    and not function.__name__.startswith("_")
    and not function.__module__.startswith("npdec_conformance.")  # what NumPy's own tests define
}
UFUNCS = {
    ufunc.__name__: ufunc
    for ufunc in numpy.testing.overrides.get_overridable_numpy_ufuncs()
    if getattr(numpy, ufunc.__name__, None) is ufunc  # the others are of text, or private
}
# Functions of NumPy's that look at no array but `like=`, whose results are NumPy's without it.
MADE_FOR_LIKE = set("array asarray asanyarray ascontiguousarray asfortranarray require full".split())


def test_every_function_has_a_counterpart():
    assert len(FUNCTIONS) > 250
    assert len(UFUNCS) > 80
    for name in (*FUNCTIONS, *UFUNCS):
        assert callable(samples.find(np, name)), name


def given(sample: samples.Sample, decomposed: bool) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments of a sample, if there is an array among them, or one that can be decomposed."""
    args, kwargs = sample.build(np)
    if not decomposed:
        found = any(isinstance(leaf, np.ndarray) for leaf in tree_leaves((args, kwargs)))
        return (args, kwargs) if found else None
    if sample.base == "nowhere":
        return None
    inexact = [isinstance(a, np.ndarray) and a.dtype.kind in "fc" and a.size > 0 for a in args]
    made = [np.decompose(a) if found else a for a, found in zip(args, inexact, strict=True)]
    return (made, kwargs) if any(inexact) else None


def came_of(function: Any, sample: samples.Sample, decomposed: bool) -> Any:
    """The arrays and numbers that a call gives, or the type of its error."""
    arguments = given(sample, decomposed)
    assert arguments is not None
    args, kwargs = arguments
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*args, **kwargs)
        except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
            return type(error)
    return [described(leaf, sample.shape_only) for leaf in tree_leaves(args[0] if sample.writes else result)]


def described(item: Any, shape_only: bool) -> Any:
    if not isinstance(item, (np.ndarray, np.generic)):
        return type(item), item if isinstance(item, (int, float, str, tuple)) else None
    parts = [item.value, item.residual, item.components] if isinstance(item.tensor, np.DecomposedTensor) else [item]
    numbers = [] if shape_only else [numpy.asarray(part).tobytes() for part in parts]
    return type(item), str(item.dtype), item.shape, len(parts), numbers


NAMES = sorted({*FUNCTIONS, *UFUNCS} - MADE_FOR_LIKE)


@pytest.mark.parametrize("name", NAMES)
def test_numpys_function_gives_what_npdecs_gives(name):
    function = FUNCTIONS.get(name) or UFUNCS[name]
    pairs = itertools.product(samples.SAMPLES.get(name, ())[:2], (False, True))
    for sample, decomposed in turns(pairs, NAMES.index(name), 3):
        if given(sample, decomposed) is not None:
            made = came_of(function, sample, decomposed)
            assert made == came_of(samples.find(np, name), sample, decomposed), (sample, decomposed)


def test_decomposed_arrays_stay_so():
    c = np.decompose(np.array([1.0, 2.0]), baseline=0.5)
    for made in (numpy.exp(c), numpy.concatenate([c, c]), numpy.linalg.norm(c), numpy.where(c > 0, c, 0.0),
                 numpy.add(numpy.ones(2), c), numpy.ones(2) * c, numpy.float64(2.0) * c, numpy.lib.scimath.sqrt(c),
                 numpy.lib.stride_tricks.sliding_window_view(c, 2)):  # fmt: skip
        assert made.components.shape[0] == 2
        numpy.testing.assert_allclose(
            numpy.asarray(made.value), numpy.asarray(made.residual + made.components.sum(0)), rtol=1e-14
        )


# -- the methods and options of ufuncs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["reduce", "accumulate", "outer", "reduceat", "at"])
def test_methods_of_ufuncs(method):
    def run(lib: Any, x: Any) -> Any:
        if method == "at":
            lib.add.at(x, [0, 0], 5.0)
            return x
        arguments = {"outer": (x, x), "reduceat": (x, [0, 2])}.get(method, (x,))
        return getattr(lib.multiply, method)(*arguments)

    values = numpy.array([1.0, 2.0, 3.0])
    got = run(numpy, np.array(values))
    assert isinstance(got, (np.ndarray, np.generic))
    assert got.tolist() == run(numpy, values.copy()).tolist()
    c = np.decompose(np.array(values))
    got, want = run(numpy, c), run(np, np.decompose(np.array(values)))
    assert got.components.tolist() == want.components.tolist()


def test_options_of_ufuncs():
    x, mask = np.array([1.0, 4.0, 9.0]), numpy.array([True, False, True])
    out = np.zeros(3)
    assert numpy.sqrt(x, out=out, where=mask) is out
    assert out.tolist() == [1.0, 0.0, 3.0]
    assert numpy.add(x, 1, dtype="f4").dtype == np.float32
    assert [part.tolist() for part in numpy.divmod(x, 2.0)] == [[0.0, 2.0, 4.0], [1.0, 0.0, 1.0]]
    assert float(numpy.add.reduce(x, where=mask, initial=100.0)) == 110.0
    c = np.decompose(x)
    numpy.multiply(c, 2.0, out=out)
    assert out.components.sum(0).tolist() == [2.0, 8.0, 18.0]
    theirs = numpy.zeros(3)
    assert numpy.add(x, x, out=theirs) is theirs
    assert theirs.tolist() == [2.0, 8.0, 18.0]
    theirs += x
    assert type(theirs) is numpy.ndarray
    with pytest.warns(np.DecompositionWarning, match="NumPy array"):
        numpy.add(c, c, out=theirs)
    low, high = np.decompose(np.array([0.0, 0.0, 0.0])), np.array([2.0, 2.0, 2.0])
    assert numpy.clip(x, low, high).tolist() == [1.0, 2.0, 2.0]
    assert numpy.ones(3).clip(low, high).labels == low.labels


def test_arrays_take_part_before_numpys():
    x, theirs = np.ones(2), numpy.ones(2)
    assert x.__array_priority__ > getattr(theirs, "__array_priority__", 0.0)
    for made in (theirs + x, theirs @ x, theirs > x, numpy.float32(2.0) * x, theirs**x):
        assert isinstance(made, (np.ndarray, np.generic))


# -- plain NumPy arrays ------------------------------------------------------------------------------------------------


def test_conversion_to_numpy():
    x = np.arange(3.0)
    assert numpy.shares_memory(numpy.asarray(x), numpy.asarray(x))
    assert not numpy.shares_memory(numpy.array(x, copy=True), numpy.asarray(x))
    assert numpy.asarray(x, dtype="i4").dtype == numpy.int32
    with pytest.raises(ValueError, match="copy"):
        numpy.array(x, dtype="i4", copy=False)
    lazy = np.asarray(torch.tensor([1 + 2j, 3 - 1j]).conj())
    assert numpy.asarray(lazy).tolist() == [1 - 2j, 3 + 1j]
    assert numpy.asarray(lazy.imag).tolist() == [-2.0, 1.0]
    assert numpy.asarray(np.asarray(torch.ones(2, requires_grad=True))).tolist() == [1.0, 1.0]
    interface = x.__array_interface__
    assert interface["shape"] == (3,)
    assert interface["typestr"] == "<f8"


def test_what_leaves_contributions_behind_says_where():
    c = np.decompose(np.ones(2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            numpy.asarray(c)  # this line
    assert [w.category for w in caught] == [np.DecompositionWarning]
    assert caught[0].filename == __file__
    with open(__file__, encoding="utf-8") as source:
        assert "# this line" in source.read().splitlines()[caught[0].lineno - 1]
