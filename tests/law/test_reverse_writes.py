"""Reverse mode is forward mode, and both are what plain NumPy says, for every kind of write; so are derivatives."""

from __future__ import annotations

import itertools
import random
import warnings
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from decomposition_cases import CASES, FREEZES, baseline, inexact, leaves, run
from tiers import fewer
from writes import KEYS, TARGETS, WHOLE, R, X, contributions, is_numpys, keyed, keyed_cases, weighted, whole

pytestmark = pytest.mark.filterwarnings("error::npdec.exceptions.DecompositionWarning")


def _drawn(count: int) -> list[Any]:
    """So many programs that write at a key, every key among them; `scripts/fuzz_writes.py` goes over all."""
    source = random.Random(7)
    cases = list(keyed_cases())
    source.shuffle(cases)
    first = {(shape, key): (target, shape, key, write, of) for target, shape, key, write, of in reversed(cases)}
    return [*first.values(), *cases[: count - len(first)]]


def _programs(drawn: int) -> dict[str, Any]:
    targets = itertools.cycle(TARGETS)
    made = {f"{name} of {target}": whole(target, name) for name in WHOLE for target in itertools.islice(targets, 5)}
    for target, shape, key, write, of in _drawn(drawn):
        made[f"{write} {of} at {key} {shape} of {target}"] = keyed(target, shape, KEYS[shape][key], write, of)
    return {name: program for name, program in made.items() if is_numpys(program)}


PROGRAMS = _programs(fewer(250, 3))


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_modes_are_what_numpy_says(name):
    check_modes(PROGRAMS[name])


def check_modes(program: Any) -> None:
    value, residual, moved = contributions(program)
    forward = np.attribute(lambda x: program(np, x), np.array(X), baseline=np.array(R), mode="forward")
    numpy.testing.assert_array_equal(forward.value, value)
    numpy.testing.assert_allclose(forward.residual, residual, rtol=1e-12)
    numpy.testing.assert_allclose(forward.attribution, moved, rtol=0, atol=1e-12)
    reverse = np.attribute(lambda x: weighted(np, program(np, x)), np.array(X), baseline=np.array(R))
    numpy.testing.assert_allclose(reverse.residual, weighted(numpy, residual), rtol=1e-12)
    wanted = [weighted(numpy, moved[..., i]) for i in range(len(X))]
    numpy.testing.assert_allclose(reverse.attribution, wanted, rtol=1e-12, atol=1e-12 * abs(weighted(numpy, value)))


DERIVED = [name for i, name in enumerate(PROGRAMS) if i % 5 == 0]


@pytest.mark.parametrize("name", DERIVED)
def test_derivatives_go_through_writes(name):
    check_derivatives(PROGRAMS[name])


def check_derivatives(program: Any) -> None:
    """The program is linear: its derivatives are its differences, in single precision too."""
    value = program(numpy, X)
    step = numpy.eye(len(X)) / 4
    jacobian = numpy.stack([(program(numpy, X + d) - value) * 4 for d in step], -1)
    gradient = numpy.array([weighted(numpy, jacobian[..., i]) for i in range(len(X))])
    x, direction = np.array(X), numpy.array([1.0, -2, 3, 0.5, 1])

    def number(x: Any) -> Any:
        return weighted(np, program(np, x))

    def close(got: Any, want: Any) -> None:
        numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-12, atol=1e-12 * numpy.abs(gradient).max())

    close(np.grad(number)(x), gradient)
    found, slope = np.value_and_grad(number)(x)
    close(found, weighted(numpy, value))
    close(slope, gradient)
    found, pull = np.vjp(lambda x: program(np, x), x)
    close(found, value)
    weights = numpy.arange(1.0, 1 + value.size).reshape(value.shape).astype(value.dtype)
    close(pull(np.array(weights)), (weights.real[..., None] * jacobian.real).sum(tuple(range(value.ndim))))
    found, rate = np.jvp(lambda x: program(np, x), (x,), (np.array(direction),))
    close(found, value)
    close(rate, jacobian @ direction)
    close(np.vmap(lambda x: program(np, x))(np.stack([x, 2 * x])), [value, program(numpy, 2 * X)])
    close(np.vmap(np.grad(number))(np.stack([x, x])), [gradient, gradient])
    second = np.grad(lambda x: np.grad(lambda z: number(z) ** 2)(x).sum())(x)
    numpy.testing.assert_allclose(second, 2 * gradient * gradient.sum(), rtol=1e-10, atol=1e-9)


# -- what is written after it was computed with --------------------------------------------------------------------


def _is_finite(sample: Any) -> bool:
    return all(numpy.isfinite(numpy.array(leaf.data, leaf.dtype)).all() for leaf in leaves(sample).values())


FIRST = {
    name: sample
    for name, sample in reversed(CASES)
    if name not in FREEZES and not sample.freezes and _is_finite(sample)
}


@pytest.mark.parametrize("name", FIRST)
def test_a_result_is_written_before_gradients_go_back(name):
    """Each result is copied and then overwritten. What the inputs contribute adds up to the change all the same."""
    sample = FIRST[name]
    found = leaves(sample)
    inputs = [np.array(leaf.data, leaf.dtype) for leaf in found.values()]
    bases = [np.array(baseline(leaf, sample.base, path)) for path, leaf in found.items()]

    def total(*arrays: Any) -> Any:
        made = run(name, sample, dict(zip(found, [x + 0 for x in arrays], strict=True)))
        numbers = [out for out in made if inexact(out) and out.size]
        kept = [out + 0 for out in numbers]
        for out in numbers:
            if isinstance(out, np.ndarray) and out.flags.writeable:
                out[...] = 7.5
        return sum((weighted(np, out) for out in kept), np.zeros(())[()])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = [float(total(*arrays)) for arrays in (inputs, bases)]
        got = np.attribute(total, *inputs, baseline=tuple(bases) if len(bases) > 1 else bases[0])
    assert float(got.value) == ends[0]
    shares = got.attribution if isinstance(got.attribution, tuple) else (got.attribution,)
    moved = sum(float(share.real.sum()) for share in shares)
    size = sum(abs(number) for number in ends) + sum(float(abs(share).sum()) for share in shares)
    assert abs(moved - (ends[0] - float(got.residual))) <= 1e-5 * size  # some are of single precision


PRODUCTS = {
    "multiply": lambda np, y, a: y * a,
    "outer": lambda np, y, a: np.outer(y, a),
    "linalg.outer": lambda np, y, a: np.linalg.outer(y, a),
    "multiply.outer": lambda np, y, a: np.multiply.outer(y, a),
    "einsum": lambda np, y, a: np.einsum("i,j->ij", y, a),
    "kron": lambda np, y, a: np.kron(y, a),
    "tensordot": lambda np, y, a: np.tensordot(y, a, 0),
    "inner": lambda np, y, a: np.inner(y, a),
    "vdot": lambda np, y, a: np.vdot(y, a),
    "cross": lambda np, y, a: np.cross(y, a),
    "correlate": lambda np, y, a: np.correlate(y, a),
    "multi_dot": lambda np, y, a: np.linalg.multi_dot([y, np.outer(a, np.ones(3)), y]),
    "matmul of views": lambda np, y, a: y[None] @ np.stack([a, a]).T,
    "quotient": lambda np, y, a: a / y[::-1],
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_constant_factor_is_written_before_gradients_go_back(name):
    """The products are linear: what an input contributes is what the program gives for it alone, less for none."""

    def f(lib, x):
        y = lib.array([5.0, 6.0, 7.0])
        made = PRODUCTS[name](lib, y, x)
        y[0] = x[1]
        return made.sum() + y.sum()

    x = numpy.array([1.0, 2.0, 3.0])
    wanted = [f(numpy, part) - f(numpy, 0 * x) for part in numpy.diag(x)]
    for mode in ("forward", "reverse"):
        found = np.attribute(lambda x: f(np, x), np.array(x), mode=mode).attribution
        numpy.testing.assert_allclose(numpy.asarray(found), wanted, rtol=1e-13)


def test_a_function_that_gives_another_number_each_time_is_refused():
    state = np.ones(2)

    def f(x):
        y = np.ones(2)
        made = np.outer(y, x) * state[0]
        state[0] = state[0] + 1
        y[0] = x[1]
        return made.sum() + y.sum()

    with pytest.raises(ValueError, match="gave another value"):
        np.attribute(f, np.array([1.0, 2.0]))


# Views that are made together, of tensors over one memory.
TOGETHER = {
    "broadcast_tensors": lambda b: torch.broadcast_tensors(b[:2], b[1:]),
    "of a number": lambda b: torch.broadcast_tensors(b[0], b),
    "with a plain one": lambda b: torch.broadcast_tensors(torch.ones(3, dtype=torch.float64), b),
    "with itself": lambda b: torch.broadcast_tensors(b, b),
    "meshgrid": lambda b: torch.meshgrid(b[:2], b[1:], indexing="ij"),
    "atleast_1d": lambda b: torch.atleast_1d(b[:1], b[1], b[1:]),
    "split": lambda b: torch.split(b[1:], 1),
    "unbind": lambda b: torch.unbind(b[1:]),
    "mse_loss": lambda b: [torch.nn.functional.mse_loss(b[0], b) * 3],
}


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", TOGETHER)
def test_views_that_are_made_together_are_each_of_their_own(name):
    x = torch.tensor([-0.5, 0.25, 2.0], dtype=torch.float64)
    for i in range(len(TOGETHER[name](x))):

        def number(b: Any, i: int = i) -> Any:
            made = TOGETHER[name](b)[i]
            return (made * torch.arange(1.0, 1 + made.numel(), dtype=torch.float64).reshape(made.shape)).sum()

        got = np.attribute(number, x).attribution
        nodes = [0.5 - 0.5 / 3**0.5, 0.5 + 0.5 / 3**0.5]  # exact for squares
        wanted = sum(torch.autograd.functional.jacobian(number, node * x) for node in nodes) / 2 * x
        torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-14)


# -- the reports, and what is beside the tables ------------------------------------------------------------------------


def _both(f: Any, x: Any, **options: Any) -> None:
    reverse, forward = (np.attribute(f, x, mode=mode, **options) for mode in ("reverse", "forward"))
    numpy.testing.assert_allclose(reverse.attribution, forward.attribution, rtol=0, atol=1e-12)


def test_the_last_of_two_writes_has_the_gradient():
    def f(x):
        y = np.zeros(1)
        y[[0, 0]] = x
        return y[0]

    assert np.attribute(f, np.array([2.0, 4.0])).attribution.tolist() == [0, 4]
    assert np.grad(f)(np.array([2.0, 4.0])).tolist() == [0, 1]


def test_a_buffer_that_is_used_again():
    def f(x):
        buffer, total = np.zeros(3), np.zeros(3)
        for i in range(3):
            buffer[:] = i + 1
            total += x * buffer
            buffer[:] = x
            total += np.tanh(buffer)
            buffer *= 2
        return (total * np.arange(3)).sum()

    _both(f, np.array([0.3, -1.0, 2.0]))


def test_a_function_that_writes_over_its_own_state_is_refused():
    state = np.ones(2)

    def f(x):
        y = (x * state).sum()
        state[:] = state + 1
        return y

    with pytest.raises(ValueError, match="writes over numbers that gradients need"):
        np.attribute(f, np.array([1.0, 2.0]))


def test_vmap_writes_into_arrays_of_its_own_alone():
    outside = np.zeros(2)

    def f(x):
        outside[:] = x
        return outside.sum()

    with pytest.raises(RuntimeError, match="was not made by the mapped function"):
        np.vmap(f)(np.ones((3, 2)))
    assert outside.tolist() == [0, 0]

    def given(x, y):
        y[0] = x
        return y.sum()

    y = np.zeros(2)
    with pytest.raises(RuntimeError, match="was not made by the mapped function"):
        np.vmap(given, in_dims=(0, None))(np.ones(3), y)
    assert y.tolist() == [0, 0]
    assert np.vmap(given)(np.ones(3), np.zeros((3, 2))).tolist() == [1, 1, 1]


# Writes that are not linear: over what their own graph, or another one, needs.


def _power(x):
    y = x * 1
    y **= 2
    y *= x
    return y


def _exponential(x):
    y = x * 1
    z = np.sin(y)
    np.exp(y, out=y)
    return y + z


def _neighbours(x):
    y = x * 1
    y[1:] *= y[:-1]
    y[[0, 1]] *= y[[1, 0]]
    y[::-1][0] *= x[0]
    return y


def _normalised(x):
    y = x * 1
    y /= y.sum()
    np.multiply(y, y, out=y)
    return y


def _product(x):
    y = np.outer(x, x + 1)
    y @= y
    y[0].sort()
    return y[0]


def _at(x):
    y = x * 1
    np.multiply.at(y, [0, 0, 1], x[1])
    np.put_along_axis(y, np.array([2, 2]), y[:2] * x[:2], 0)
    return y


def _through_a_view(x):
    table = np.zeros((2, 3))
    row = table[1]
    row[:] = x
    table *= table
    row *= x
    return table[1]


@pytest.mark.parametrize(
    "f", [_power, _exponential, _neighbours, _normalised, _product, _at, _through_a_view], ids=lambda f: f.__name__
)
def test_writes_over_what_a_graph_needs(f):
    x = numpy.array([1.0, 2.0, 3.5])
    weights = numpy.array([1.0, 2.0, 3.0])

    def number(x: Any) -> Any:
        return (f(x) * weights).sum()

    steps = 1e-5 * numpy.eye(3)
    want = [float(number(np.array(x + d)) - number(np.array(x - d))) / 2e-5 for d in steps]
    numpy.testing.assert_allclose(np.grad(number)(np.array(x)), want, rtol=1e-6)
    numpy.testing.assert_allclose(np.vmap(np.grad(number))(np.array([x, x])), [want, want], rtol=1e-6)
    numpy.testing.assert_allclose(np.jvp(number, (np.array(x),), (np.ones(3),))[1], sum(want), rtol=1e-6)
    _both(number, np.array(x), baseline=np.array([0.75, 1.5, 3.0]))
