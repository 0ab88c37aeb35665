"""The programs of benchmarks/programs.py: under npdec, and compiled by np.jit, they give what they give under NumPy."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy
import pytest
from torch.utils._pytree import tree_flatten

import npdec as np

FOLDER = Path(__file__).parents[2] / "benchmarks"


def benchmark():
    spec = importlib.util.spec_from_file_location("benchmarked_programs", FOLDER / "programs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    return module


PROGRAMS = benchmark()
OURS, THEIRS = PROGRAMS.programs("npdec"), PROGRAMS.programs()


def run(function, library, arguments):
    """What the function returns, and what has become of its arguments."""
    args = PROGRAMS.given(arguments, library)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning, message=".*encountered")
        made = function(*args)
    return tree_flatten((made, args))


def compare(name, function):
    rtol = 1e-11
    arguments = THEIRS[name][1]["small"]
    (mine, nested), (theirs, want) = run(function, np, arguments), run(THEIRS[name][0], numpy, arguments)
    assert nested == want
    for ours, other in zip(mine, theirs, strict=True):
        if isinstance(other, (numpy.ndarray, numpy.generic)):
            got = numpy.asarray(ours)
            assert (got.dtype, got.shape) == (other.dtype, other.shape)
            assert isinstance(ours, np.ndarray if isinstance(other, numpy.ndarray) else np.generic)
            finite = numpy.abs(other[numpy.isfinite(other)]) if other.dtype.kind in "fc" else numpy.zeros(1)
            numpy.testing.assert_allclose(got, other, rtol=rtol, atol=rtol * finite.max(initial=0.0))
        elif isinstance(other, numpy.random.Generator):
            assert ours.random() == other.random()
        else:
            assert ours == other


@pytest.mark.parametrize("name", THEIRS)
def test_a_program_gives_what_it_gives_under_numpy(name):
    compare(name, OURS[name][0])


QUICK = list(THEIRS)[::8]


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in THEIRS])
def test_a_graph_of_a_program_gives_what_it_gives_under_numpy(name):
    fast = np.jit(OURS[name][0], backend="eager", fullgraph=True)
    for _ in range(2):
        compare(name, fast)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*")
@pytest.mark.filterwarnings("ignore:.*torch._prims_common.check:FutureWarning")
@pytest.mark.parametrize("name", ["heat", "thomas", "scrambled", "adam", "walks", "kalman"])
def test_a_compiled_program_gives_what_it_gives_under_numpy(name):
    fast = np.jit(OURS[name][0], fullgraph=True)
    for _ in range(2):
        compare(name, fast)


def test_there_are_programs_at_two_sizes():
    assert len(THEIRS) >= 40
    for _, arguments in THEIRS.values():
        small, real = (
            sum(leaf.size if isinstance(leaf, numpy.ndarray) else 1 for leaf in tree_flatten(arguments[size])[0])
            for size in PROGRAMS.SIZES
        )
        assert real >= small
