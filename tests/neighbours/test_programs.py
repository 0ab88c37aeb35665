"""Whole programs as people write them: under npdec they compute and print what they do under NumPy."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy
import pytest

from program_loader import load

PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*.py"))
ARRAYS = ("ndarray",)


def _run(path, library):
    main = load(path, library).main
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning, message=".*encountered")  # NumPy's errstate
        return main()


def _assert_same(ours, theirs, where):
    kind = type(theirs).__name__
    assert type(ours).__name__ in (ARRAYS if kind == "ndarray" else (kind,)), where
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key in theirs:
            _assert_same(ours[key], theirs[key], f"{where}.{key}")
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs)):
            _assert_same(a, b, f"{where}[{i}]")
    elif isinstance(theirs, (numpy.ndarray, numpy.generic)):
        assert (str(ours.dtype), ours.shape) == (str(theirs.dtype), theirs.shape), where
        exact = theirs.dtype.kind in "biu"
        scale = 0.0 if exact else float(numpy.abs(theirs[numpy.isfinite(theirs)]).max(initial=0.0))
        tolerance = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-12, "atol": 1e-12 * scale}
        numpy.testing.assert_allclose(numpy.asarray(ours), theirs, **tolerance, err_msg=where)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-12), where
    else:
        assert ours == theirs or str(ours) == str(theirs), where


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_gives_what_it_gives_under_numpy(path, capsys):
    theirs = _run(path, "numpy")
    printed = capsys.readouterr().out
    ours = _run(path, "npdec")
    assert capsys.readouterr().out == printed
    _assert_same(ours, theirs, path.stem)
