"""Steps of numbers that nothing but rounding has moved, of whatever size the numbers were that were rounded: a part of
a complex result has the rounding errors of the whole, a difference those of what it is the difference of. All jumps
are contributions, to the last component, in one pass and in chunks."""

from __future__ import annotations

import warnings

import numpy
import pytest
import torch

import npdec as np
from tiers import fewer

# Of complex numbers with imaginary parts; each gives numbers whose imaginary (or real) part is nearly 0 or 1.
MADE = {
    "quotient": lambda x: np.exp(np.tanh(x)) / np.exp(np.tanh(x)),
    "product": lambda x: (2 + x) * np.conj(2 + x) / 3,
    "inverse": lambda x: (1 / (2 + x)) * (2 + x),
    "logarithm": lambda x: np.log(np.exp(x / 3)) / (x / 3 + 1e-3) * (x + 3e-3),
    "square root": lambda x: np.sqrt(x + 4) ** 2 / (x + 4),
    "sum": lambda x: (x + 1000.0) - x,
}
STEPS = {
    "isreal": np.isreal,
    "iscomplex": np.iscomplex,
    "imag == 0": lambda z: z.imag == 0,
    "imag > 0": lambda z: z.imag > 0,
    "imag[::-1] <= imag": lambda z: z.imag[::-1] <= z.imag,
    "imag + 0.5 >= 0.5": lambda z: z.imag + 0.5 >= 0.5,
    "sign imag": lambda z: np.sign(z.imag),
    "floor real": lambda z: np.floor(z.real),
    "real == 1": lambda z: z.real == 1,
    "== 1": lambda z: z == 1,
    "!= itself": lambda z: z[::-1] != z,
    "isclose": lambda z: np.isclose(z, 1, rtol=0, atol=2.0**-52 if z.dtype == np.complex128 else 2.0**-23),
    "real isclose": lambda z: np.isclose(z.real, z.real[::-1], rtol=2.0**-23, atol=0),
    "where": lambda z: np.where(z.imag > 0, 2.0, z.real),
}
QUICK = ("isreal", "imag > 0", "real isclose", "where")
BASELINES = [0.1, 0.0, 0.5 - 0.25j]


def _drawn(seed, dtype):
    source = numpy.random.default_rng(seed)
    return (source.uniform(-2, 2, 8) + 1j * source.uniform(-2, 2, 8)).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex64", pytest.param("complex128", marks=pytest.mark.slow)])
@pytest.mark.parametrize("step", [pytest.param(s, marks=[] if s in QUICK else pytest.mark.slow) for s in STEPS])
def test_parts_of_complex_numbers(step, dtype):
    moved = 0
    for seed, (name, made) in enumerate(list(MADE.items()) * fewer(3)):
        x, base = _drawn(seed, dtype), BASELINES[seed % len(BASELINES)]
        inputs = np.decompose(np.array(x), baseline=base, groups=np.arange(8) % 3)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            y = STEPS[step](made(inputs))
        value, residual = numpy.asarray(y.value, float), numpy.asarray(y.residual, float)
        components = numpy.asarray(y.components)
        missing = abs(value - residual - components.sum(0))
        where = f"{step} of {name}, seed {seed}: {components}, {value} from {residual}"
        if not any("jump" in str(w.message) or "infinite" in str(w.message) for w in said):
            assert (missing <= 1e3 * numpy.finfo(dtype).eps * (1 + abs(components).sum(0))).all(), where
        assert (abs(components) <= 1e6).all(), where
        moved += int((value != residual).sum())
    assert moved


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("size", [1, 2])
def test_chunks_are_one_pass(size, dtype):
    """Though each chunk knows few of those that have moved a number by a rounding error."""
    for seed, made in enumerate(MADE.values()):
        x = np.array(_drawn(seed, dtype))
        for step in ("isreal", "imag > 0", "real == 1", "isclose", "sign imag"):

            def f(x, made=made, step=step):
                return (STEPS[step](made(x)) * np.arange(1.0, 9.0)).sum()

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                one = np.attribute(f, x, baseline=0.1, groups=np.arange(8) % 4, mode="forward")
                some = np.attribute(f, x, baseline=0.1, groups=np.arange(8) % 4, mode="forward", chunk_size=size)
            tolerance = 1e3 * numpy.finfo(dtype).eps * (1 + abs(numpy.asarray(one.attribution)).sum())
            numpy.testing.assert_allclose(some.attribution, one.attribution, rtol=0, atol=tolerance, err_msg=step)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"mode": "forward"}, {"mode": "forward", "chunk_size": 1}], ids=str)
def test_differences_of_large_numbers(options, dtype):
    """A step whose rounding errors are those of numbers a million times as large as itself."""
    source = numpy.random.default_rng(0)
    big = 2.0**13 if dtype == "float32" else 2.0**40
    for _ in range(fewer(40)):
        x = np.array(source.uniform(-1, 1, 4).astype(dtype) / 64)

        def f(x):
            return (np.floor(((x.sum() + big) - big) * 64)) * 1.0

        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = np.attribute(f, x, **options)
        if said:
            continue
        shares, change = numpy.asarray(found.attribution, float), float(found.value) - float(found.residual)
        assert abs(shares.sum() - change) <= 1e3 * numpy.finfo(dtype).eps * (1 + abs(shares).sum()), (x, shares, change)


def test_passes_that_meet_no_jump_have_no_component_more():
    """And a pass that was begun without is begun anew: with the same random numbers, whatever the function catches."""
    seen = []

    def smooth(x):
        seen.append(len(x.tensor.labels))
        return np.tanh(x).sum()

    x = np.array([0.3, 1.6, -0.7, 0.25, 0.5])
    np.attribute(smooth, x, mode="forward", chunk_size=2)
    assert seen == [2, 2, 1]

    def steps(x):
        y = smooth(x * np.asarray(torch.rand(5, dtype=torch.float64)))
        try:
            return np.floor(3 * y) + y
        except BaseException:
            return y

    seen.clear()
    state = torch.random.get_rng_state()
    one = np.attribute(steps, x, mode="forward")
    torch.random.set_rng_state(state)
    some = np.attribute(steps, x, mode="forward", chunk_size=2)
    assert seen == [5, 2, 3, 3, 2]
    numpy.testing.assert_allclose(some.attribution, one.attribution, rtol=1e-13)
