"""Pointwise functions, sums, products and quotients of few decomposed numbers: beside torch for values, and for
contributions beside derivatives along the path, added up at the nodes of a rule of Gauss."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as F

import npdec as np

SHAPES = {"a number": (), "three": (3,), "rows": (2, 3), "one": (1, 1)}
DTYPES = {torch.float64: 1e-11, torch.float32: 2e-5}
NODES, WEIGHTS = (torch.tensor(part) / 2 for part in numpy.polynomial.legendre.leggauss(48))
SMOOTH: dict[str, Callable[[Any], Any]] = {
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": lambda x: torch.tan(x / 4),
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "atan": torch.atan,
    "asinh": torch.asinh,
    "erf": torch.erf,
    "square": torch.square,
    "gelu": F.gelu,
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "softplus": F.softplus,
    "softplus, beta": lambda x: F.softplus(x, 2.0),
    "mish": F.mish,
    "logsigmoid": F.logsigmoid,
    "method": lambda x: x.sigmoid(),
    "2": lambda x: x**2,
    "3": lambda x: x**3,
    "4": lambda x: torch.pow(x, 4),
    "5": lambda x: x.pow(5),
    "1": lambda x: x**1,
    "0": lambda x: x**0,
}
POSITIVE: dict[str, Callable[[Any], Any]] = {
    "log": torch.log,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "log10": torch.log10,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "acosh": lambda x: torch.acosh(x + 1),
    "lgamma": torch.lgamma,
    "0.5": lambda x: x**0.5,
    "-0.5": lambda x: x**-0.5,
    "-1": lambda x: x**-1,
    "2.5": lambda x: torch.pow(x, 2.5),
    "0.3": lambda x: torch.pow(x, 0.3),
    "over it": lambda x: torch.div(2.0, x),
    "1 over it": lambda x: 1 / x,
}
IN_PIECES: dict[str, Callable[[Any], Any]] = {
    "relu": torch.relu,
    "F.relu": F.relu,
    "relu6": lambda x: F.relu6(x * 4) / 4,
    "leaky relu": F.leaky_relu,
    "leaky relu, slope": lambda x: F.leaky_relu(x, 0.3),
    "leaky relu, slope by name": lambda x: F.leaky_relu(x, negative_slope=0.3),
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.75),
    "hardsigmoid": lambda x: F.hardsigmoid(x * 4),
    "softshrink": F.softshrink,
    "elu": F.elu,
    "selu": F.selu,
    "celu": lambda x: F.celu(x, alpha=0.5),
    "abs": torch.abs,
}


def drawn(shape: tuple[int, ...], dtype: torch.dtype, seed: int, least: float = -2.0) -> tuple[Any, Any]:
    """A value and a residual; in the last element they are close."""
    generator = torch.Generator().manual_seed(seed)
    value, residual = torch.rand((2, *shape), generator=generator, dtype=torch.float64) * (2 - least) + least
    value.view(-1)[-1] = residual.view(-1)[-1] * (1 + 1e-3) if shape else value
    return value.to(dtype), residual.to(dtype)


def made(shape: tuple[int, ...], dtype: torch.dtype, seed: int, least: float = -2.0, labels: str = "abc") -> Any:
    value, residual = drawn(shape, dtype, seed, least)
    labels = labels[: value.numel()]
    groups = torch.arange(value.numel()).reshape(shape) % len(labels)
    return np.decompose(value, baseline=residual, groups=groups, labels=list(labels))


def mean_slope(function: Callable[[Any], Any], x: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """The mean of the derivative on the way from r to x, in double precision."""
    x, r = x.double(), r.double()
    step = (x - r).reshape(1, *x.shape)
    at = (r + x) / 2 + step * NODES.reshape(-1, *[1] * x.ndim)
    at.requires_grad_()
    (slopes,) = torch.autograd.grad(function(at).sum(), at)
    return torch.tensordot(WEIGHTS, slopes, 1)


def compared(result: Any, value: torch.Tensor, residual: torch.Tensor, wanted: dict[Any, Any], within: float) -> None:
    assert type(result) is np.DecomposedTensor
    assert result.dtype is value.dtype
    assert torch.equal(result.value, value)
    assert torch.equal(result.residual, residual)
    size = max(float(t.abs().max()) for t in (value, residual, torch.ones(())))
    assert set(result.labels) == set(wanted)
    for label, component in zip(result.labels, result.components, strict=True):
        assert component.shape == value.shape
        assert torch.allclose(component.double(), wanted[label].double(), rtol=10 * within, atol=within * size), label
    assert torch.allclose(result.residual + result.components.sum(0), value, rtol=within, atol=within * size)


def both(tables: tuple[tuple[dict[str, Any], float], ...]) -> Any:
    return [pytest.param(f, least, id=name) for table, least in tables for name, f in table.items()]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("function", "least"), both(((SMOOTH, -2.0), (POSITIVE, 0.25))))
def test_smooth_functions(function: Callable[[Any], Any], least: float, dtype: torch.dtype) -> None:
    for seed, shape in enumerate(SHAPES.values()):
        x = made(shape, dtype, seed, least)
        result = function(x)
        slope = mean_slope(function, x.value, x.residual)
        wanted = {label: c.double() * slope for label, c in zip(x.labels, x.components, strict=True)}
        compared(result, function(x.value), function(x.residual), wanted, DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in IN_PIECES.items()])
def test_functions_in_pieces(function: Callable[[Any], Any], dtype: torch.dtype) -> None:
    for seed, shape in enumerate(SHAPES.values()):
        x = made(shape, dtype, seed)
        value, residual = function(x.value), function(x.residual)
        exact = function(x.value.double()) - function(x.residual.double())
        slope = exact / (x.value.double() - x.residual.double())
        wanted = {label: c.double() * slope for label, c in zip(x.labels, x.components, strict=True)}
        compared(function(x), value, residual, wanted, DTYPES[dtype])


@pytest.mark.parametrize(
    "function", [torch.exp, torch.sigmoid, torch.tanh, torch.square, torch.sin, torch.log, torch.pow]
)
def test_what_does_not_move(function: Any) -> None:
    """The slope is the derivative there."""
    at = torch.tensor([0.5, 1.25, 2.0], dtype=torch.float64)
    x = np.DecomposedTensor(at, at, torch.tensor([[1.0, -2.0, 0.5], [-1.0, 2.0, -0.5]]).double(), ("a", "b"))
    call = (lambda u: torch.pow(u, 1.5)) if function is torch.pow else function
    result, leaf = call(x), at.clone().requires_grad_()
    (slope,) = torch.autograd.grad(call(leaf).sum(), leaf)
    assert torch.equal(result.value, call(at))
    assert torch.allclose(result.components, x.components * slope, rtol=1e-12)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "add": torch.add,
    "rsub": torch.rsub,
    "mul": torch.multiply,
    "div": torch.true_divide,
}
OF_WHAT = {
    "same labels": ((3,), "abc", (3,), "abc"),
    "other labels": ((3,), "abc", (3,), "xyz"),
    "labels in another order": ((2, 3), "abc", (2, 3), "cxa"),
    "a number and an array": ((), "a", (2, 3), "abc"),
    "an array and a number": ((3,), "abc", (), "b"),
    "two numbers": ((), "a", (), "b"),
    "two numbers of one label": ((), "a", (), "a"),
    "one element and an array": ((1, 1), "a", (2, 3), "abc"),
}


def weights_of(name: str, a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean derivatives by both; a quotient is the product of one with the reciprocal of the other."""
    x, r, y, s = torch.broadcast_tensors(*(t.double() for t in (a.value, a.residual, b.value, b.residual)))
    if name in ("*", "mul"):
        return (y + s) / 2, (x + r) / 2
    if name in ("/", "div"):
        return (1 / y + 1 / s) / 2, -(x + r) / 2 / (y * s)
    one = torch.ones_like(x)
    return (-one, one) if name == "rsub" else (one, -one if name == "-" else one)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("what", OF_WHAT)
@pytest.mark.parametrize("name", OPERATIONS)
def test_two(name: str, what: str, dtype: torch.dtype) -> None:
    operation, (shape, labels, other, its) = OPERATIONS[name], OF_WHAT[what]
    a, b = made(shape, dtype, 1, -1.0, labels), made(other, dtype, 2, 0.5, its)
    wanted: dict[Any, Any] = {}
    for t, weight in zip((a, b), weights_of(name, a, b), strict=True):
        for label, component in zip(t.labels, t.components, strict=True):
            wanted[label] = wanted.get(label, 0.0) + component.double() * weight
    compared(operation(a, b), operation(a.value, b.value), operation(a.residual, b.residual), wanted, DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_with_itself(dtype: torch.dtype) -> None:
    for seed, shape in enumerate(SHAPES.values()):
        x = made(shape, dtype, seed, 0.5)
        for operation, slope in (
            (torch.mul, x.value + x.residual),
            (torch.sub, 0.0 * x.value),
            (torch.div, 0.0 * x.value),
        ):
            wanted = {label: c * slope for label, c in zip(x.labels, x.components, strict=True)}
            ends = operation(x.value, x.value), operation(x.residual, x.residual)
            compared(operation(x, x), *ends, wanted, DTYPES[dtype])


def test_views_lie_anyhow() -> None:
    """Strides of views are those of their elements."""
    A, B = made((3, 4), torch.float64, 1, 0.5, "abc"), made((3, 4), torch.float64, 2, 0.5, "abc")
    views: tuple[Callable[[Any], Any], ...] = lambda t: t.mT, lambda t: t[:, 1], lambda t: t[::2, 1:3], lambda t: t[1]
    for view, (name, f) in itertools.product(views, {**SMOOTH, **POSITIVE}.items()):
        result, wanted = f(view(A)), view(f(A))
        assert torch.equal(result.value, f(view(A.value))), name
        assert torch.allclose(result.components, wanted.components, rtol=1e-12, atol=1e-13), name
    for view, operation in itertools.product(views, OPERATIONS.values()):
        result, wanted = operation(view(A), view(B)), view(operation(A, B))
        assert torch.equal(result.value, operation(view(A.value), view(B.value)))
        assert torch.allclose(result.components, wanted.components, rtol=1e-12, atol=1e-13)


def test_squares_are_remembered() -> None:
    """What follows a square is computed as of any other tensor, and its mean square as that of a normalisation."""
    x = made((2, 3), torch.float64, 3)
    for square in (x * x, x**2, torch.square(x), x.pow(2)):
        moved = square * 2 + 1
        assert torch.allclose(moved.components, x.components * (x.value + x.residual) * 2, rtol=1e-12)
        normal = x * torch.rsqrt(square.mean(-1, keepdim=True) + 1e-6)
        assert torch.allclose(normal.components, F.rms_norm(x, (3,), eps=1e-6).components, rtol=1e-9)


def test_options_in_place_are_in_place() -> None:
    x = made((3,), torch.float64, 4)
    value, components = torch.relu(x.value), torch.relu(x).components
    assert F.relu(x, True) is x
    assert torch.equal(x.value, value)
    assert torch.equal(x.components, components)


def test_rules_are_asked() -> None:
    """Under another rule nothing is answered by the usual one."""
    x = made((3,), torch.float64, 5, 0.5)
    functions: tuple[Callable[[Any], Any], ...] = torch.exp, torch.sigmoid, lambda t: t**3, lambda t: torch.div(2.0, t)
    for f in functions:
        usual = f(x)
        with np.rule("none"):
            assert not f(x).components.any()
        with np.check_completeness():
            assert torch.allclose(f(x).components, usual.components, rtol=1e-10)


CASTS: dict[str, Callable[[Any], Any]] = {
    "to": lambda t: t.to(torch.float32 if t.dtype is torch.float64 else torch.float64),
    "to, by name": lambda t: t.to(dtype=torch.float64),
    "double": lambda t: t.double(),
    "float": lambda t: t.float(),
    "type": lambda t: t.type(torch.float32),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASTS)
def test_casts(name: str, dtype: torch.dtype) -> None:
    """All parts are cast; what is of the dtype is handed on."""
    for seed, shape in enumerate(SHAPES.values()):
        x, cast = made(shape, dtype, seed), CASTS[name]
        result = cast(x)
        for part, its in ((x.value, result.value), (x.residual, result.residual), (x.components, result.components)):
            assert its.dtype is cast(x.value).dtype
            assert torch.equal(its, cast(part))
        assert (result is x) == (cast(x.value) is x.value)
        assert result.labels == x.labels


def test_casts_beyond_the_range_are_infinite() -> None:
    at = torch.tensor([1e39, 1.0, -1e300], dtype=torch.float64)
    x = np.decompose(at, baseline=torch.zeros(3, dtype=torch.float64))
    assert torch.equal(x.float().value, at.float())


IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": lambda t, v: t.add_(v),
    "-= 1": lambda t, v: t.sub_(1),
    "*=": lambda t, v: t.mul_(v),
    "/=": lambda t, v: t.div_(v),
    "neg_": lambda t, v: t.neg_(),
    "exp_": lambda t, v: t.exp_(),
    "relu_": lambda t, v: t.relu_(),
    "pow_": lambda t, v: t.pow_(2),
    "square_": lambda t, v: t.square_(),
    "sigmoid_": lambda t, v: torch.sigmoid_(t),
}
OUT_OF_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": lambda t, v: t + v,
    "-= 1": lambda t, v: t - 1,
    "*=": lambda t, v: t * v,
    "/=": lambda t, v: t / v,
    "neg_": lambda t, v: -t,
    "exp_": lambda t, v: t.exp(),
    "relu_": lambda t, v: t.relu(),
    "pow_": lambda t, v: t**2,
    "square_": lambda t, v: t.square(),
    "sigmoid_": lambda t, v: torch.sigmoid(t),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_writes_in_place(name: str) -> None:
    """The parts are written where they lie, by a constant and by another tensor, and what looks at them sees it."""
    for shape in SHAPES.values():
        other = made(shape, torch.float64, 2, 0.5)
        for v in (other, other.value):
            x = made(shape, torch.float64, 1, 0.5)
            seen, memory, wanted = x.view(-1) if shape else x, x.value.data_ptr(), OUT_OF_PLACE[name](x.clone(), v)
            writes = x.value._version
            assert IN_PLACE[name](x, v) is x
            assert x.value.data_ptr() == memory
            assert x.value._version > writes
            for tensor in (x, seen.view(shape)):
                assert torch.equal(tensor.value, wanted.value)
                assert torch.equal(tensor.residual, wanted.residual)
                assert torch.allclose(tensor.components, wanted.components, rtol=1e-13)
            moved = x * 2.0
            assert torch.equal(moved.components, x.components * 2)


def test_what_was_written_is_no_square_any_more() -> None:
    x = made((2, 3), torch.float64, 3, 0.5)
    square = x * x
    square.mul_(2.0)
    mean = square.mean(-1, keepdim=True)
    assert torch.allclose(mean.components, square.components.mean(-1, keepdim=True), rtol=1e-12)
    assert not torch.allclose((x * torch.rsqrt(mean)).components, F.rms_norm(x, (3,), eps=0.0).components, rtol=1e-6)


@pytest.mark.parametrize("function", [torch.exp, torch.tanh, torch.Tensor.floor, torch.Tensor.double])
def test_more_arguments_than_any_function_takes(function: Any) -> None:
    """They are torch's to refuse, however many there are."""
    with pytest.raises(TypeError):
        function(made((3,), torch.float64, 1), *["x"] * 40)
