"""Ordinary calls, which the law answers by the shortest way: linear functions give each component as torch gives it,
what is not ordinary goes the general way, and every function runs once."""

import itertools
import operator
from fractions import Fraction
from typing import NamedTuple

import numpy
import pytest
import scipy.special
import torch
import torch.nn.functional as F

import npdec as np
from npdec.exceptions import DecompositionWarning

CUTS = {
    "split": lambda t: t.split(2),
    "split of an axis": lambda t: torch.split(t, 3, 1),
    "split into sizes": lambda t: t.split([1, 3], 0),
    "chunk": lambda t: t.chunk(3, -1),
    "unbind": lambda t: t.unbind(1),
    "rows": torch.unbind,
    "tensor_split": lambda t: t.tensor_split(3, 1),
    "hsplit": lambda t: t.hsplit(2),
}
KEYS = {
    "number": 1,
    "slice": slice(1, 3),
    "column": (slice(None), -1),
    "axis": None,
    "list": [0, 2],
    "indices": torch.tensor([[3, 0], [1, 1]]),
    "indices of two axes": (torch.tensor([0, 1]), torch.tensor([2, 2])),
    "mask": torch.tensor([True, False, True, True]),
    "mask of two axes": torch.ones(4, 6, dtype=torch.bool).triu(),
    "indices of the last axis": (slice(None), torch.tensor([[5, 0], [1, 1]])),
    "indices between": (slice(1, 3), None, torch.tensor([-1, 2])),
    "indices and an integer": (1, torch.tensor([-1, 2])),
    "no indices": torch.tensor([], dtype=torch.int64),
    "an index": torch.tensor(2),
    "true": True,
}


# Linear functions of one tensor, called in the ways that torch takes; the shapes that each is tried with.
AXES = {
    "ravel": (torch.ravel, [()]),
    "squeeze": (torch.squeeze, [(), (0,), (-1,), (1,)]),
    "expand": (torch.Tensor.expand, [(2, 4, 6), (2, -1, -1), ((3, 4, 6),), (5, 4, 4)]),
    "broadcast_to": (torch.broadcast_to, [((2, 4, 6),), ((2, 5, 4, 6),), ((4, 4),)]),
    "movedim": (torch.movedim, [(0, 1), (0, -1), (-1, 0), ((0, 1), (1, 0)), ((0,), (-1,))]),
    "T": (lambda t: t.T if t.ndim == 2 else t.mT, [()]),
    "mH": (lambda t: t.mH, [()]),
    "H": (lambda t: t.H, [()]),
    "adjoint": (torch.adjoint, [()]),
    "trace": (torch.trace, [()]),
    "diagonal": (torch.diagonal, [(), (1,), (-1,), (0, 1, 0), (0, -1, -2), (1, 0), (0, 0, 2)]),
    "diag": (torch.diag, [(), (1,), (-2,)]),
    "diag_embed": (torch.diag_embed, [(), (1,), (0, 0, 1), (0, -1, 0)]),
    "tril": (torch.tril, [(), (1,), (-1,)]),
    "triu": (torch.triu, [(), (2,)]),
    "fliplr": (torch.fliplr, [()]),
    "flipud": (torch.flipud, [()]),
    "roll": (torch.roll, [(1,), (2, 0), (-1, -1), ((1, 2), (0, 1)), ((1, 2), (0, -1)), ((1, 2),)]),
    "rot90": (torch.rot90, [(), (2,), (1, (1, 0)), (1, (0, -1)), (3, (0, 1))]),
    "repeat": (torch.Tensor.repeat, [(2,), (2, 1), (3, 2, 1), ((2, 2),), ((1, 2, 3, 1),), (0, 2)]),
    "tile": (torch.tile, [((2,),), ((2, 1),), ((3, 2, 1),), ((),)]),
    "gather": (torch.gather, [(0, KEYS["indices"]), (-1, torch.tensor([[3], [1]])), (0, torch.tensor([1]))]),
    "unfold": (torch.Tensor.unfold, [(0, 2, 1), (-1, 3, 2)]),
    "pixel_shuffle": (torch.pixel_shuffle, [(2,)]),
    "pixel_unshuffle": (torch.pixel_unshuffle, [(2,)]),
    "positive": (torch.positive, [()]),
    "negative": (torch.negative, [()]),
    "deg2rad": (torch.deg2rad, [()]),
    "rad2deg": (torch.rad2deg, [()]),
    "conj_physical": (torch.conj_physical, [()]),
    "view_as_complex": (lambda t: torch.view_as_complex(t.contiguous()), [()]),
    "view_as_real": (torch.view_as_real, [()]),
    **{
        name: (getattr(torch.fft, name), [(), (3,), (None, 0), (4, -1, "ortho")])
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        name: (getattr(torch.fft, name), [(), ((4, 4),), (None, (0, 1)), (None, (-1, 0), "forward")])
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
    },
    "fftshift": (torch.fft.fftshift, [(), (0,), ((-1,),)]),
    "ifftshift": (torch.fft.ifftshift, [(), (1,)]),
}  # fmt: skip
ONLY_REAL = ("deg2rad", "rad2deg", "rfft", "ihfft", "rfft2", "rfftn", "view_as_complex")
ONLY_COMPLEX = ("view_as_real",)
SHAPES = [(), (5,), (4, 6), (4, 4), (1, 2), (3, 4, 4, 2), (0, 3)]


def decomposed(shape=(4, 6), labels=3, dtype=torch.float64):
    numbers = torch.Generator().manual_seed(sum(shape) + labels)
    components = torch.randn(labels, *shape, generator=numbers, dtype=dtype)
    residual = torch.randn(shape, generator=numbers, dtype=dtype)
    return np.DecomposedTensor(residual + components.sum(0), residual, components, tuple(range(labels)))


def assert_linear(function, *arguments, exact=True):
    """The function of the decomposed arguments has the parts that torch gives of their parts, to the bit if `exact`."""
    made = function(*arguments)
    parts = made if isinstance(made, (tuple, list)) else [made]

    def given(take):
        found = function(*map(take, arguments))
        return found if isinstance(found, (tuple, list)) else [found]

    for part, value, residual in zip(parts, given(lambda t: t.value), given(lambda t: t.residual), strict=True):
        assert torch.equal(part.value, value)
        assert torch.equal(part.residual, residual)
    for i in range(len(arguments[0].labels)):
        for part, component in zip(parts, given(lambda t, i=i: t.components[i]), strict=True):
            torch.testing.assert_close(
                part.components[i], component, rtol=0 if exact else 1e-14, atol=0 if exact else 1e-14
            )
    return parts


@pytest.mark.parametrize("name", CUTS)
def test_pieces_have_their_pieces_of_the_components(name):
    t = decomposed()
    pieces = assert_linear(CUTS[name], t)
    with torch.no_grad():
        pieces[-1].mul_(2)  # a view: it is written into the whole
    torch.testing.assert_close(t.c_sum(), t.value)
    assert torch.equal(CUTS[name](t.value)[-1], pieces[-1].value)


@pytest.mark.parametrize("name", KEYS)
def test_keys_choose_of_each_component(name):
    t = decomposed()
    equal = np.DecomposedTensor(
        t.components.sum(0) + 2, torch.tensor(2.0).double().expand(4, 6), t.components, t.labels
    )
    for source in (t, equal):
        assert_linear(lambda x: x[KEYS[name]], source)


def test_places_that_are_decomposed_themselves_are_looked_at():
    t, places = decomposed((5,)), np.decompose(np.array([3.0, 1.0]))._t.long()
    for function in (lambda x, i: x[i], lambda x, i: x.take(i), lambda x, i: x.gather(0, i)):
        with pytest.warns(DecompositionWarning):
            made = function(t, places)
        assert torch.equal(made.value, function(t.value, places.value))
        assert torch.equal(made.components, t.components[:, places.value])


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of transposes of scalars
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("name", AXES)
def test_each_component_goes_where_the_value_goes(name, dtype):
    function, ways = AXES[name]
    tried = 0
    for arguments, shape in itertools.product(ways, SHAPES):
        t = decomposed(shape, dtype=dtype)
        equal = np.DecomposedTensor(
            t.value - t.residual, t.residual.new_zeros(()).expand(shape), t.components, t.labels
        )
        for source in (t, equal):
            try:
                function(source.value, *arguments)
            except (RuntimeError, IndexError, TypeError) as error:
                with pytest.raises(type(error)):
                    function(source, *arguments)
                continue
            # The order in which torch adds up depends on how many transforms there are.
            assert_linear(lambda x, a=arguments: function(x, *a), source, exact="fft" not in name)
            tried += 1
    assert tried or name in (ONLY_REAL if dtype.is_complex else ONLY_COMPLEX)


@pytest.mark.parametrize("join", [torch.cat, torch.concat, torch.hstack, torch.vstack, torch.stack])
def test_joined_tensors_have_the_components_joined(join):
    assert_linear(lambda a, b: join([a, b]), decomposed(), decomposed(labels=3) * 2)


def test_an_empty_vector_is_joined_as_torch_joins_it():
    t, nothing = decomposed(), decomposed((0,))
    for arguments in ([t, nothing], [nothing, t], [nothing, t, nothing], [nothing, nothing]):
        for dim in (0, -1):
            assert_linear(lambda *tensors, dim=dim: torch.cat(tensors, dim), *arguments)
    with pytest.raises(RuntimeError, match=r"Sizes of tensors|Tensors must have"):
        torch.cat([t, decomposed((1,))])


@pytest.mark.parametrize("other", [torch.int64, torch.float32, torch.complex128])
def test_a_matrix_of_another_dtype_is_refused_as_torch_refuses_it(other):
    t, matrix = decomposed(), torch.ones(6, 6, dtype=other)
    for function in (torch.matmul, torch.mm, F.linear):
        with pytest.raises(RuntimeError) as expected:
            function(t.value, matrix)
        with pytest.raises(RuntimeError) as found:
            function(t, matrix)
        assert str(found.value) == str(expected.value)


def test_layers_of_tensors_without_memory_go_through():
    t = np.DecomposedTensor(*(torch.empty(s, device="meta") for s in ((4, 6), (4, 6), (3, 4, 6))), tuple("abc"))
    matrix = torch.empty(6, 5, device="meta")
    for function in (lambda t: t @ matrix, lambda t: F.linear(t, matrix.T), torch.neg, lambda t: t.sum(0)):
        assert function(t).components.shape == (3, *function(t.value).shape)


@pytest.mark.parametrize("baseline", [None, 0.25])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        *[((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 1)), ((2, 1, 3, 4), (2, 1, 4, 3)), ((0, 4), (4, 2))],
        *[((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((0,), (0,)), ((2, 3, 4), (4,)), ((3, 4), (2, 4, 3))],
    ],
)
def test_each_of_two_matrices_meets_the_midpoint_of_the_other(a, b, baseline):
    first, second = decomposed(a), decomposed(b)
    if baseline is not None:  # equal rows, which are one in memory
        base = torch.tensor(baseline, dtype=torch.float64)
        parts = [(base + t.components.sum(0), base.expand(t.shape), t.components, t.labels) for t in (first, second)]
        first, second = (np.DecomposedTensor(*each) for each in parts)
    made = torch.matmul(first, second)
    x, y, r, s = (t.numpy() for t in (first.value, second.value, first.residual, second.residual))
    numpy.testing.assert_allclose(made.value.numpy(), x @ y, rtol=1e-13, atol=1e-14)
    numpy.testing.assert_allclose(made.residual.numpy(), r @ s, rtol=1e-13, atol=1e-14)
    for i in range(len(first.labels)):
        wanted = first.components[i].numpy() @ ((y + s) / 2) + ((x + r) / 2) @ second.components[i].numpy()
        numpy.testing.assert_allclose(made.components[i].numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("biased", ["without", "plain", "decomposed"])
def test_rows_and_a_decomposed_weight_meet_at_their_midpoints(biased):
    x, weight, bias = decomposed((5, 4)), decomposed((3, 4)), decomposed((3,))
    made = F.linear(x, weight, {"without": None, "plain": bias.value, "decomposed": bias}[biased])
    added = {"without": (0, 0, [0] * 3), "plain": (bias.value, bias.value, [0] * 3)}.get(
        biased, (bias.value, bias.residual, bias.components)
    )
    ends = [(t.value, t.residual) for t in (x, weight)]
    middles = [(value + residual) / 2 for value, residual in ends]
    torch.testing.assert_close(made.value, x.value @ weight.value.T + added[0])
    torch.testing.assert_close(made.residual, x.residual @ weight.residual.T + added[1])
    for i in range(3):
        wanted = x.components[i] @ middles[1].T + middles[0] @ weight.components[i].T + added[2][i]
        torch.testing.assert_close(made.components[i], wanted)


@pytest.mark.parametrize("shape", [(), (1,), (5, 3), (1, 3)])
def test_a_bias_of_another_shape_is_added_as_torch_adds_it(shape):
    x, weight, bias = decomposed((5, 4)), decomposed((3, 4)), decomposed(shape)
    try:
        wanted = F.linear(x.value, weight.value, bias.value)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            F.linear(x, weight, bias)
        return
    made, apart = F.linear(x, weight, bias), F.linear(x, weight)
    assert torch.equal(made.value, wanted)
    for i in range(3):
        torch.testing.assert_close(made.components[i], apart.components[i] + bias.components[i])


MEANS = {
    "hypot": (torch.hypot, lambda x, y: (x / numpy.hypot(x, y), y / numpy.hypot(x, y))),
    "logaddexp": (torch.logaddexp, lambda x, y: (1 / (1 + numpy.exp(y - x)), 1 / (1 + numpy.exp(x - y)))),
    "atan2": (torch.atan2, lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y))),
    **{
        name: (getattr(torch.special, name), lambda x, f=derivative: (f(x),))
        for name, derivative in {
            "bessel_j0": lambda x: -scipy.special.j1(x),
            "bessel_y0": lambda x: -scipy.special.y1(x),
            "modified_bessel_i0": scipy.special.i1,
            "modified_bessel_k0": lambda x: -scipy.special.k1(x),
            "spherical_bessel_j0": lambda x: scipy.special.spherical_jn(0, x, derivative=True),
        }.items()
    },
}


@pytest.mark.parametrize("name", MEANS)
def test_smooth_functions_pass_on_by_their_mean_gradients(name):
    """By the Gauss-Legendre quadrature of derivatives that are written out, or SciPy's."""
    function, gradient = MEANS[name]
    one, two = (
        np.DecomposedTensor(t.residual.abs() + 1 + t.components.abs().sum(0), t.residual.abs() + 1,
                            t.components.abs(), t.labels)
        for t in (decomposed((3, 5)), decomposed((5, 3)).T)
    )  # fmt: skip
    given = (one, two)[: 2 if name in ("hypot", "logaddexp", "atan2") else 1]
    made = function(*given)
    assert torch.equal(made.value, function(*[t.value for t in given]))
    assert torch.equal(made.residual, function(*[t.residual for t in given]))
    wanted = 0
    for node, weight in zip(*numpy.polynomial.legendre.leggauss(40), strict=True):
        points = [t.residual.numpy() + (node + 1) / 2 * (t.value - t.residual).numpy() for t in given]
        for slope, t in zip(gradient(*points), given, strict=True):
            wanted = wanted + weight / 2 * slope * t.components.numpy()
    exact = name not in ("bessel_j0", "bessel_y0")  # of which torch has eight digits
    numpy.testing.assert_allclose(made.components.numpy(), wanted, rtol=1e-10 if exact else 1e-5, atol=1e-12)


def test_bounds_that_are_numbers_are_crossed_by_the_secant():
    t = decomposed()
    x, r, parts = t.value.numpy(), t.residual.numpy(), t.components.numpy()
    for bounds in ((-0.5, 1), (None, 0.2), (0.1, None)):
        made, clipped = torch.clamp(t, *bounds), [numpy.clip(end, *bounds) for end in (x, r)]
        assert numpy.array_equal(made.value.numpy(), clipped[0])
        assert numpy.array_equal(made.residual.numpy(), clipped[1])
        wanted = parts * (clipped[0] - clipped[1]) / (x - r)
        numpy.testing.assert_allclose(made.components.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_a_function_that_gives_nothing_runs_once():
    t = decomposed()
    t.value.requires_grad_()
    seen = []
    total = (t * 2.0).sum()
    total.register_hook(seen.append)
    assert t.grad is None
    total.backward()
    assert len(seen) == 1
    assert torch.equal(t.value.grad, torch.full((4, 6), 2.0, dtype=torch.float64))


# -- functions of two: the law in rational numbers, element by element -------------------------------------------------


class Path(NamedTuple):
    """An argument's element: its value, its residual, and its components by label; constants have none."""

    x: Fraction
    r: Fraction
    parts: dict


def _mean(path):
    return (path.x + path.r) / 2


def _inverse(path):
    return Path(1 / path.x, 1 / path.r, {k: -c / (path.x * path.r) for k, c in path.parts.items()})


def _weighted(a, wa, b, wb):
    return {k: wa * a.parts.get(k, 0) + wb * b.parts.get(k, 0) for k in (*a.parts, *b.parts)}


def _product(a, b):
    return _weighted(a, _mean(b), b, _mean(a))


def _larger(a, b):
    """By the point of the path where the two lines cross."""
    before, after = a.r - b.r, a.x - b.x
    if before == after == 0:
        share = Fraction(1, 2)
    elif before * after >= 0:
        share = Fraction(before + after > 0)
    else:
        crossing = before / (before - after)
        share = crossing if before > 0 else 1 - crossing
    return _weighted(a, share, b, 1 - share)


def _negative(a):
    return Path(-a.x, -a.r, {k: -c for k, c in a.parts.items()})


def _smaller(a, b):
    return {k: -c for k, c in _larger(_negative(a), _negative(b)).items()}


def _compared(holds):
    def law(a, b):
        jump = int(holds(a.x, b.x)) - int(holds(a.r, b.r))
        slope = jump / ((a.x - b.x) - (a.r - b.r)) if jump else Fraction(0)
        return _weighted(a, slope, b, -slope)

    return law


def _chosen(a, b):
    """a where it is above 1, else b: the condition's step times the difference of the midpoints, and its own mean."""
    condition = _compared(operator.gt)(a, Path(Fraction(1), Fraction(1), {}))
    share, moved = Fraction((a.x > 1) + (a.r > 1), 2), _mean(a) - _mean(b)
    made = _weighted(a, share, b, 1 - share)
    return {k: made.get(k, 0) + moved * condition.get(k, 0) for k in (*made, *condition)}


PAIRS = {
    torch.add: lambda a, b: _weighted(a, 1, b, 1),
    torch.sub: lambda a, b: _weighted(a, 1, b, -1),
    torch.rsub: lambda a, b: _weighted(a, -1, b, 1),
    torch.mul: _product,
    torch.div: lambda a, b: _product(a, _inverse(b)),
    torch.maximum: _larger,
    torch.minimum: _smaller,
    torch.fmax: _larger,
    torch.gt: _compared(operator.gt),
    torch.le: _compared(operator.le),
    torch.ne: _compared(operator.ne),
    (lambda a, b: torch.where(a > 1, a, b)): _chosen,
}
KINDS = (
    "one baseline for all",
    "its own labels",
    "other labels",
    "some labels",
    "a tensor",
    "a row",
    "an element",
    1.5,
    2,
)


def _argument(kind, seed):
    numbers = numpy.random.default_rng(seed)
    if not isinstance(kind, str):
        return kind
    shape = {"a row": (3,), "an element": ()}.get(kind, (2, 3))
    value = torch.tensor(numbers.integers(1, 9, shape) / 4.0)
    if kind in ("a tensor", "a row", "an element"):
        return value
    residual = torch.tensor(numbers.integers(1, 9, shape) / 4.0)
    if kind == "one baseline for all":
        residual = residual[:1].expand(shape)
    parts = torch.from_numpy(numbers.integers(-8, 9, (2, *shape)) / 8.0)
    parts = torch.cat([parts, (value - residual - parts.sum(0))[None]])
    labels = {"other labels": "xyz", "some labels": "cbx"}.get(kind, "abc")
    return np.DecomposedTensor(value, residual, parts, tuple(labels))


def _paths(argument, shape):
    """Each element's path."""
    if not isinstance(argument, np.DecomposedTensor):
        plain = numpy.broadcast_to(numpy.asarray(argument, dtype=float), shape)
        return [Path(Fraction(v), Fraction(v), {}) for v in plain.flat]
    columns = argument.components.flatten(1).T.tolist()
    ends = zip(argument.value.flatten().tolist(), argument.residual.flatten().tolist(), columns, strict=True)
    return [
        Path(Fraction(x), Fraction(r), dict(zip(argument.labels, map(Fraction, c), strict=True))) for x, r, c in ends
    ]


def _ends(*arguments):
    """The arguments at the value, and at the baseline."""
    for part in ("value", "residual"):
        yield [getattr(x, part) if isinstance(x, np.DecomposedTensor) else x for x in arguments]


NO_NUMBERS = (torch.maximum, torch.minimum, torch.fmax)  # torch takes tensors there
NO_NUMBER_FIRST = (
    *NO_NUMBERS,
    torch.rsub,
    torch.gt,
    torch.le,
    torch.ne,
    *[f for f in PAIRS if f.__name__ == "<lambda>"],
)


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("function", PAIRS, ids=lambda f: f.__name__.strip("<>"))
def test_functions_of_two_have_the_laws_contributions(function, first):
    if function in NO_NUMBER_FIRST and not isinstance(first, str):
        pytest.skip("torch takes no number there")
    for seed, second in enumerate(KINDS if first in KINDS[:3] else KINDS[:2]):
        if function in NO_NUMBERS and not isinstance(second, str):
            continue
        a, b = _argument(first, seed), _argument(second, seed + 100)
        made = function(a, b)
        value, residual = (function(*ends) for ends in _ends(a, b))
        assert torch.equal(made.value, value)
        assert torch.equal(made.residual, residual)
        laws = [PAIRS[function](*paths) for paths in zip(_paths(a, (2, 3)), _paths(b, (2, 3)), strict=True)]
        for label, components in zip(made.labels, made.components, strict=True):
            wanted = [float(law.get(label, 0)) for law in laws]
            numpy.testing.assert_allclose(components.flatten().numpy(), wanted, rtol=1e-13, atol=1e-14)


# -- reverse mode ------------------------------------------------------------------------------------------------------

WEIGHT = torch.tensor([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], dtype=torch.float64)


def _without_gradients(x):
    with torch.no_grad():
        return torch.tanh(F.linear(x, WEIGHT)).sum()


CHAINS = {
    "a layer": lambda x: F.linear(x, WEIGHT).sum(),
    "a layer with a bias": lambda x: F.linear(x, WEIGHT, torch.ones(2, dtype=torch.float64)).mean(),
    "a row": lambda x: F.linear(x[1], WEIGHT)[0],
    "views": lambda x: (x.reshape(3, 2).mT.unsqueeze(0).flatten() * torch.arange(6.0)).sum(),
    "view": lambda x: x.view(6)[2:5].sum(),
    "pieces": lambda x: sum((i + 1.0) * part.sum() for i, part in enumerate(x.unbind(1))),
    "flipped": lambda x: (x.flip(0) * torch.arange(6.0).reshape(2, 3)).sum(),
    "pointwise": lambda x: torch.exp(x).sum() + torch.tanh(x[0]).sum() + torch.relu(x - 1).sum(),
    "a network": lambda x: torch.sigmoid(F.linear(torch.relu(F.linear(x, WEIGHT)), WEIGHT.mT)).sum(),
    "without gradients": _without_gradients,
}


def _by_the_law(f, x, r):
    """Each element's own pass: the law forward, of components that are zero elsewhere."""
    shares = torch.zeros_like(x)
    for i in itertools.product(*map(range, x.shape)):
        part = torch.zeros_like(x)
        part[i] = (x - r)[i]
        made = f(np.DecomposedTensor(x.clone(), r.clone(), torch.stack([part, x - r - part]), ("it", "the rest")))
        shares[i] = made.components[0]
    return shares


@pytest.mark.parametrize("baseline", [0.25, "rows", "dense"])
@pytest.mark.parametrize("name", CHAINS)
def test_reverse_mode_is_the_law_forward(name, baseline):
    numbers = torch.Generator().manual_seed(len(name))
    x = torch.rand(2, 3, generator=numbers, dtype=torch.float64) * 2
    r = torch.rand(2, 3, generator=numbers, dtype=torch.float64)
    given = {"rows": r[:1], "dense": r}.get(baseline, baseline)
    r = torch.as_tensor(given, dtype=torch.float64).expand(2, 3)
    found = np.attribute(CHAINS[name], x, baseline=given if baseline != "rows" else r)
    assert torch.equal(found.value, CHAINS[name](x))
    torch.testing.assert_close(found.residual, CHAINS[name](r.clone()), rtol=1e-14, atol=1e-15)
    torch.testing.assert_close(found.attribution, _by_the_law(CHAINS[name], x, r), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(found.attribution.sum(), found.value - found.residual, rtol=1e-12, atol=1e-13)
