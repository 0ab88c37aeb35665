"""Functions with jumps: contributions to a jump are in proportion to what moves the argument across it, and bounded
where that cancels."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction

import numpy
import pytest
import torch

import npdec as np
from tiers import turns

STEPS = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "fix": np.fix,
    "sign": np.sign,
    "rint": np.rint,
    "round": np.round,
    "round to tenths": lambda x: np.round(x, 1),
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "// 0.7": lambda x: x // 0.7,
    "% 0.7": lambda x: x % 0.7,
    "fmod": lambda x: np.fmod(x, 0.7),
    "copysign": lambda x: np.copysign(2.0, x),
    "modf": lambda x: np.modf(x)[0],
    "frexp": lambda x: np.frexp(x)[0],
    "divmod": lambda x: np.divmod(x, 0.7)[0],
    "torch.floor": torch.floor,
    "torch.ceil": torch.ceil,
    "torch.trunc": torch.trunc,
    "torch.fix": torch.fix,
    "torch.round": torch.round,
    "torch.frac": torch.frac,
    "torch.sign": torch.sign,
    "torch.sgn": torch.sgn,
    "torch.angle": torch.angle,
    "torch.heaviside": lambda x: torch.heaviside(x, torch.tensor(0.5, dtype=x.dtype)),
    "torch.remainder": lambda x: torch.remainder(x, 0.7),
    "torch.fmod": lambda x: torch.fmod(x, 0.7),
    "torch.floor_divide": lambda x: torch.floor_divide(x, 0.7),
    "hardshrink": torch.nn.functional.hardshrink,
    "threshold": lambda x: torch.nn.functional.threshold(x, 0.0, -3.0),
}
DIFFERENCES = {"modf"}  # computed as a difference, whose rounding errors are those of x
# Numbers at a baseline and moves away from it: across jumps, within a piece, by rounding errors alone.
BASES = [
    (0.0, 0.0, 0.0),
    (0.5, 0.25, 0.25),
    (-1.0, 0.0, 0.0),
    (0.7, 0.2, 0.1),
    (0.7, 0.0, 0.0),
    (1.4, 0.0, 0.0),
    (1.0, -1.0, 0.5),
    (1e10, 0.0, 0.0),
]
MOVES = [
    (0.3, 0.4, 0.5),
    (0.1, 0.2, -0.3),
    (0.6, -0.5, -0.1),
    (1.0, -2.0, 4.0),
    (1e-17, 0.0, 0.0),
    (-1e-16, 0.0, 1e-17),
    (1e8, -1e8, 0.3),
    (1e8, -1e8, -1e-9),
    (-0.6, -0.1, 0.0),
    (1.0, 0.0, 0.0),
]


def ran(f, *args):
    """The result and the warnings."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        made = f(*args)
    assert all(issubclass(w.category, np.exceptions.DecompositionWarning) for w in met)
    return made, [str(w.message) for w in met]


def parts(made):
    tensor = made.tensor if isinstance(made, (np.ndarray, np.generic)) else made
    return float(tensor.value), float(tensor.residual), tensor.components.reshape(-1).tolist()


def call(name, x):
    return STEPS[name](x.tensor if name in ("hardshrink", "threshold") or name.startswith("torch.") else x)


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for i, name in enumerate(STEPS) for dtype in turns(["float64", "float32"], i, 2)]
)
def test_jumps_are_shared_by_what_moves(name, dtype):
    cancelled = 0
    eps = float(np.finfo(dtype).eps)
    for base, move in itertools.product(BASES, MOVES):
        base = numpy.array(base, dtype)
        given = base + numpy.array(move, dtype)
        inputs = np.decompose(np.array(given), baseline=np.array(base))
        x = inputs.sum()
        components = [Fraction(c) for c in x.components.tolist()]
        made, said = ran(call, name, x)
        value, residual, shares = parts(made)
        change, step = Fraction(value) - Fraction(residual), sum(components)
        gross = sum(map(abs, components))
        where = f"{name} from {base} by {move}: {shares}, {value} from {residual}; {said}"
        size = max(abs(value), abs(residual), 1e-300, abs(float(x.value)) if name in DIFFERENCES else 0)
        # Complete to rounding, with nothing larger than a million times what there is.
        assert abs(sum(map(Fraction, shares)) - change) <= 64 * eps * max(size, sum(map(abs, shares))), where
        assert max(map(abs, shares)) <= 2.0**20 * (abs(value) + abs(residual) + float(gross)), where
        if said:
            cancelled += 1
            assert "jump" in said[0]
            assert step == 0 or abs(step) <= max(2.0**-20, eps**0.5) * gross, where
            steepest = 8 if name == "frexp" else 1  # a mantissa's slope, of which the exponent's jump may be said
            assert max(map(abs, shares)) <= abs(change) + 2 * steepest * gross, where
        elif step and change:
            wanted = [change * c / step for c in components]
            if abs(step) > 1e-3 * gross:  # of what cancels further the sum has been rounded
                for share, c in zip(shares, wanted, strict=True):
                    assert abs(share - c) <= 1e4 * eps * max(size, *map(abs, wanted)), where
    assert cancelled


@pytest.mark.parametrize("name", STEPS)
def test_moves_that_cancel_have_the_slope_of_the_piece(name):
    """Nothing has moved, and yet each of two inputs would have, without the other."""
    d = np.decompose(np.array([1.0, -0.6875]), baseline=np.array([0.25, 0.0625])).sum(keepdims=True)
    assert d.value == d.residual == 0.3125
    near = [call(name, np.array([0.3125 + h])) for h in (-(2.0**-20), 2.0**-20)]
    slope = float((near[1] - near[0])[0]) * 2.0**19
    assert parts(call(name, d))[2] == [0.75 * slope, -0.75 * slope]


def test_two_arguments_of_which_one_cancels():
    x = np.decompose(np.array([0.1, 0.2, -0.3]), labels=["a", "b", "c"]).sum()
    y = np.decompose(np.array(2.0), baseline=1.0, labels=["d"])
    made, said = ran(np.copysign, y, x - 1e-17)
    assert (made.value, made.residual) == (2.0, -1.0)
    assert np.completeness(made) == 0
    assert (abs(made.components) <= 3).all()
    assert said[0].startswith("copysign: ")


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("name", STEPS)
def test_chunks_and_reverse_mode_agree_with_one_pass(name, size):
    given, base = np.array([0.3, 1.6, -0.7, 0.25]), np.array([0.1, -0.5, 0.2, 0.0])

    def f(x):
        return np.asarray(call(name, x.sum() * 2))

    one = np.attribute(f, given, baseline=base, mode="forward").attribution
    assert np.allclose(np.attribute(f, given, baseline=base, mode="forward", chunk_size=size).attribution, one, 1e-13)
    assert np.allclose(np.attribute(f, given, baseline=base).attribution, one, 1e-13)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_chunks_share_a_jump_of_what_cancels(size):
    def f(x):
        return np.floor(1e-17 + x.sum())

    given, base = np.array([0.1, 0.2, -0.3]), 0.0
    found, said = ran(lambda: np.attribute(f, given, baseline=base, mode="forward", chunk_size=size))
    assert abs(found.attribution.sum() - (found.value - found.residual)) < 1e-14
    assert (abs(found.attribution) <= 1).all()
    assert bool(said) == bool(found.value != found.residual)


@pytest.mark.parametrize("name", ["sign", "heaviside", "torch.sign"])
def test_an_infinite_step_has_the_jump_to_itself(name):
    x = np.decompose(np.array([1.0, np.inf]), baseline=-1.0).sum()
    made, said = ran(call, name, x)
    value, residual, shares = parts(made)
    assert shares == [0.0, value - residual]
    assert not said


def test_what_only_rounding_has_moved_is_said_to_be_missing():
    """Parts that do not move, of a value that is not its residual."""
    ends = torch.tensor([1.0 + 2.0**-52, 1.0], dtype=torch.float64)
    x = np.DecomposedTensor(ends[0], ends[1] - 2.0**-53, torch.zeros(2, dtype=torch.float64), ("a", "b"))
    made, said = ran(torch.floor, x)
    assert made.components.tolist() == [0.0, 0.0]
    assert "missing" in said[0]


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide", "copysign"])
@pytest.mark.parametrize("argument", [0, 1])
def test_what_only_rounding_has_moved_has_the_slope_of_the_function(name, argument):
    """The mean of these is moved by one rounding error, of which a quotient of differences would be any number. By
    formula: x1 − trunc(x1 / x2) x2 and its like have the slope 1 by x1, and minus the whole quotient by x2."""
    x, base = np.array([0.063, -0.435]), np.array([-1.91, 1.538])
    half = (x - base) / 2  # of the components of the mean
    whole = {"fmod": (1, 3), "remainder": (1, 4), "floor_divide": (0, 0), "copysign": (-1, 0)}[name][argument]
    pairs = [(lambda m: (m, 0.7)), (lambda m: (0.7, m))]

    def function(u):
        return getattr(np, name)(*pairs[argument](np.average(u)))

    for mode in ("forward", "reverse"):
        made = np.attribute(function, x, baseline=base, mode=mode)
        assert np.allclose(made.attribution, whole * half, rtol=1e-12, atol=1e-12), mode


OF_ZEROS = {
    "angle": np.angle,
    "angle in degrees": lambda x: np.angle(x, True),
    "arctan2": lambda x: np.arctan2(np.zeros(2), x),
    "torch.atan2": lambda x: torch.atan2(torch.zeros(2, dtype=torch.float64), np.asarray(x).tensor),
    "copysign": lambda x: np.copysign(2.0, x),
    "signbit": lambda x: np.signbit(x) * 1.0,
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", OF_ZEROS)
def test_a_jump_between_zeros_of_two_signs_is_said_to_be_missing(name, mode):
    """The two are one number, so that nothing contributes."""

    def run(x):
        return np.asarray(OF_ZEROS[name](x)).sum()

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", np.exceptions.DecompositionWarning)
        found = np.attribute(run, np.array([-0.0, 1.0]), baseline=0.0, mode=mode)
    assert "jumped from the residual" in str(said[0].message)
    assert not numpy.asarray(found.attribution).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.attribute(run, np.array([0.0, 1.0]), baseline=0.0, mode=mode)


def test_the_warning_names_the_line():
    x = np.decompose(np.array([0.1, 0.2, -0.3])).sum()
    with pytest.warns(np.exceptions.DecompositionWarning, match="^ceil: ") as met:
        np.ceil(x)
    assert met[0].filename == __file__


def test_windows_stay_windows():
    x = np.decompose(np.linspace(-2, 2, 4096))
    y = np.floor(x)
    assert y.tensor.kept is not None
    assert "components" not in vars(y.tensor)
    assert np.allclose(y.sum().components, np.floor(np.linspace(-2, 2, 4096)))
