"""Norms, unit vectors and layers of rows: against integrals along the path by plain NumPy, in one block and more."""

from __future__ import annotations

import functools
import math

import numpy
import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec._rules import normalisation_at_once, norms


@functools.cache
def _nodes():
    """Of quadrature; the eigenvalues that they come from take a second."""
    return numpy.polynomial.legendre.leggauss(400)


SHAPES = [((6, 3), 1), ((6, 2), 0), ((3, 4, 2), 1), ((7, 1), 1), ((5,), 0)]


def _integral(function, x, r, axis):
    """The mean Jacobian along the path, by differences, of a function of rows along the axis: (*x.shape, *result)."""
    nodes, weights = (_nodes()[0] + 1) / 2, _nodes()[1] / 2
    t = nodes.reshape(-1, *[1] * x.ndim)
    path, made = r + t * (x - r), []
    for place in numpy.ndindex(x.shape):
        step = numpy.zeros(x.shape)
        step[place] = 1e-6
        change = (function(path + step, axis + 1) - function(path - step, axis + 1)) / 2e-6
        made.append(numpy.tensordot(weights, change, 1) * (x[place] - r[place]))
    return numpy.stack(made)


def _unit(u, axis):
    return u / numpy.maximum(numpy.sqrt((u * u).sum(axis, keepdims=True)), 0.4)


@pytest.mark.parametrize("block", [pytest.param(1, marks=pytest.mark.slow), 7, 2**14])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_unit_vectors(monkeypatch, shape, axis, block):
    """Of rows that pass the ball within which they are divided by its radius, and of others."""
    monkeypatch.setattr(norms, "_BLOCK", block)
    source = numpy.random.default_rng(len(shape) + shape[0])
    x, r = source.normal(size=(2, *shape))
    x.reshape(-1)[::3] *= 0.1
    d = np.decompose(torch.tensor(x), baseline=torch.tensor(r))
    made = F.normalize(d, dim=axis, eps=0.4)
    assert torch.equal(made.value, F.normalize(torch.tensor(x), dim=axis, eps=0.4))
    numpy.testing.assert_allclose(made.c_sum(), made.value, rtol=0, atol=1e-14)
    numpy.testing.assert_allclose(made.components, _integral(_unit, x, r, axis), rtol=0, atol=5e-3)
    found = np.attribute(lambda u: (F.normalize(u, dim=axis, eps=0.4) ** 2).sum(), d.value, baseline=d.residual)
    squares = made.components * (made.value + made.residual)
    numpy.testing.assert_allclose(
        found.attribution.reshape(-1), squares.reshape(len(squares), -1).sum(1), rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("power", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_norms_except_one_axis(shape, axis, power):
    source = numpy.random.default_rng(len(shape) + shape[0])
    x, r = source.normal(size=(2, *shape))
    x += 4 * numpy.sign(x)  # no sign changes where a difference would have to see it
    r = abs(r) * numpy.sign(x)
    for dim in {0, len(shape) - 1, -1}:
        want = torch.norm_except_dim(torch.tensor(x), power, dim)
        made = torch.norm_except_dim(np.decompose(torch.tensor(x), baseline=torch.tensor(r)), power, dim)
        assert torch.equal(made.value, want)
        rest = tuple(a + 1 for a in range(len(shape)) if dim == -1 or a != dim)

        def norm(u, _, rest=rest):
            return (abs(u) ** power).sum(rest, keepdims=True) ** (1 / power)

        components = _integral(norm, x, r, axis).reshape(made.components.shape)
        numpy.testing.assert_allclose(made.components, components, rtol=0, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128])
def test_a_norm_of_order_zero_counts(dtype):
    x, r = torch.tensor([[1, 0, 3.0], [0, 0, 1.0]], dtype=dtype), torch.tensor([[0, 2, 1.0], [0, 1, 0]], dtype=dtype)
    counts = torch.tensor([[1.0, -1, 0], [0, -1, 1]], dtype=dtype.to_real())
    d = np.decompose(x, baseline=r)
    for made, want in (
        (torch.linalg.vector_norm(d, 0), counts.reshape(-1)),
        (torch.linalg.vector_norm(d, 0, 1), torch.block_diag(*counts[:, None])),
        (torch.linalg.vector_norm(d, 0, 0, True), torch.cat([torch.diag(row) for row in counts])[:, None]),
        (np.linalg.norm(np.asarray(d)[0], 0).tensor, torch.cat([counts[0], torch.zeros(3)])),
    ):
        components = made.components.T if want.shape != made.components.shape else made.components
        assert torch.equal(components, want.to(components.dtype))


@pytest.mark.quick
@pytest.mark.skipif(normalisation_at_once.calls is None, reason="the module in C is not built")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 6, 4, 3)])
def test_layers_by_rows_in_memory(monkeypatch, shape, dtype):
    """They agree with the general way; a weight keeps its graph."""
    torch.manual_seed(len(shape))
    x, r = torch.randn(2, *shape, dtype=dtype) * 3
    weight, bias = torch.randn(2, shape[-1], dtype=dtype, requires_grad=True)
    parts = torch.randn(4, *shape, dtype=dtype)
    d = np.decompose(x, baseline=r)
    d = type(d)(x, x - parts.sum(0), parts, tuple("abcd"), False)
    layers = [
        lambda u: F.layer_norm(u, shape[-1:], weight, bias),
        lambda u: F.layer_norm(u, shape),
        lambda u: F.rms_norm(u, shape[-1:], weight),
    ]
    if len(shape) == 4:
        layers.append(lambda u: F.group_norm(u, 2, bias=parts[0, 0, :, 0, 0]))
        layers.append(lambda u: F.group_norm(u, 3, parts[0, 0, :, 0, 0]))
    for layer in layers:
        made = layer(d)
        with monkeypatch.context() as patch:
            patch.setattr(normalisation_at_once, "calls", None)
            other = layer(d)
        assert torch.equal(made.value, other.value)
        assert torch.equal(made.residual, other.residual)
        assert made.components.requires_grad == other.components.requires_grad
        eps = 100 * torch.finfo(dtype).eps
        torch.testing.assert_close(made.components, other.components, rtol=eps, atol=eps * float(parts.abs().max()))
        torch.testing.assert_close(made.c_sum(), made.value, rtol=0, atol=eps * float(made.value.detach().abs().max()))


ENDS = {
    "zero": [0.0, 0.0, 0.0],
    "within eps": [1e-14, 0.0, -3e-15],
    "just outside of eps": [1e-12, 1e-13, 0.0],
    "far beyond": [2.0, 0.5, -1.0],
    "opposite": [-0.3, 1.2, -2.0],
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("start", [*ENDS, "row"])
@pytest.mark.parametrize("end", [*ENDS, "row"])
def test_unit_vectors_of_paths_that_end_at_zero(end, start, dtype):
    """Contributions add up, where most of the path is far from the origin and its last part within eps of it."""
    ends = {**ENDS, "row": [0.3, -1.2, 2.0]}
    x, r = (torch.tensor([ends[name]], dtype=dtype) for name in (end, start))
    made = F.normalize(np.decompose(x, baseline=r, labels=["a", "b", "c"]))
    change = F.normalize(x) - F.normalize(r)
    digits = 1e-14 if dtype is torch.float64 else 1e-5
    size = 1 + float(made.components.abs().max())
    torch.testing.assert_close(made.components.sum(0), change, rtol=0, atol=digits * size)
    explained = np.attribute(lambda t: F.normalize(t).sum(), x, baseline=r)
    torch.testing.assert_close(explained.attribution, made.components.sum(-1).T, rtol=digits, atol=digits * size)


def test_a_path_into_the_origin():
    """(1 - u uᵀ) c times the integral of 1 / max(|x|, eps) outside of eps, and c / eps inside."""
    r = torch.tensor([[0.3, -1.2, 2.0]], dtype=torch.float64)
    made = F.normalize(np.decompose(torch.zeros_like(r), baseline=r, labels=["a", "b", "c"]))
    length = float(torch.linalg.vector_norm(r))
    unit, outside = r[0] / length, math.log(length / 1e-12) / length
    steps = torch.diag(-r[0])
    wanted = outside * (steps - torch.outer(steps @ unit, unit)) + steps / length
    torch.testing.assert_close(made.components[:, 0], wanted, rtol=1e-13, atol=1e-13)
