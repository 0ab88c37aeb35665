"""einsum: the order in which operands are contracted, and the outputs that it is written into; as in NumPy."""

from __future__ import annotations

import random
import warnings

import numpy
import pytest

import npdec as np


def _problem(seed):
    draw = random.Random(seed)
    letters = "abcdef"
    terms = ["".join(draw.sample(letters, draw.randint(1, 4))) for _ in range(draw.randint(2, 5))]
    every = sorted(set("".join(terms)))
    output = "".join(draw.sample(every, draw.randint(0, min(3, len(every)))))
    sizes = {letter: draw.randint(2, 9) for letter in letters}
    shapes = [[sizes[letter] for letter in term] for term in terms]
    return f"{','.join(terms)}->{output}", shapes


@pytest.mark.parametrize("optimize", ["greedy", "optimal", ("greedy", 20), ("optimal", 20), ("optimal", 100)])
def test_paths_are_numpys(optimize):
    for seed in range(40):
        subscripts, shapes = _problem(seed)
        got = np.einsum_path(subscripts, *map(np.ones, shapes), optimize=optimize)
        want = numpy.einsum_path(subscripts, *map(numpy.ones, shapes), optimize=optimize)
        assert got[0] == want[0], subscripts


@pytest.mark.parametrize("subscripts", ["a,ac,ab,ad,cd,bd,bc->", "db,d,b->bd"])
@pytest.mark.parametrize("optimize", ["greedy", "optimal"])
def test_where_intermediates_are_large_or_nothing_is_summed(subscripts, optimize):
    terms = subscripts.partition("->")[0].split(",")
    got, want = (
        lib.einsum_path(subscripts, *[lib.ones((20,) * len(term)) for term in terms], optimize=optimize)[0]
        for lib in (np, numpy)
    )
    assert got == want


@pytest.mark.parametrize(("subscripts", "path"), [("ab,bc,cd,de->ae", [(2, 3), (0, 1)]), ("a,a,a->a", [(1,), (0, 1)])])
@pytest.mark.parametrize("name", ["einsum", "einsum_path"])
def test_paths_that_leave_operands(name, subscripts, path):
    for lib in (np, numpy):
        operands = [lib.ones((2,) * len(term)) for term in subscripts.partition("->")[0].split(",")]
        with pytest.raises(RuntimeError, match="Invalid einsum_path is specified: 1 more operands"):
            getattr(lib, name)(subscripts, *operands, optimize=["einsum_path", *path])


def test_outputs():
    for lib in (np, numpy):
        ones, out = lib.ones(7), lib.array(0)
        assert lib.einsum("i,i->", ones, ones, out=out, optimize="optimal") is out
        assert out == 7
        with pytest.raises(TypeError):
            lib.einsum("i,i->", ones, ones, out=out)


def test_memory_order_in_small_letters():
    a, b = np.ones((2, 3, 5), order="F"), np.ones((4, 3), order="F")
    for order, want in (("a", "f_contiguous"), ("f", "f_contiguous"), ("c", "c_contiguous")):
        assert getattr(np.einsum("...ft,mf->...mt", a, b, order=order).flags, want)


def test_complex_operands_computed_as_reals_warn():
    a = np.arange(3, dtype=complex)
    with pytest.warns(np.exceptions.ComplexWarning):
        got = np.einsum("i,i", a, a, dtype=float, casting="unsafe")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        assert np.einsum("i,i", a, a, dtype=float, casting="unsafe") == got == 5.0
