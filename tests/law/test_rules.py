"""The named rules for pointwise functions against their formulas, written out number by number."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import numpy
import pytest
import torch

import npdec as np
from npdec._decomposed import settings
from npdec._law import named_rules

FUNCTIONS: dict[str, tuple[Callable, Callable]] = {
    "tanh": (np.tanh, math.tanh),
    "exp": (np.exp, math.exp),
    "square": (np.square, lambda u: u * u),
    "absolute": (np.absolute, abs),
    "floor": (np.floor, math.floor),
    "relu": (torch.nn.functional.relu, lambda u: max(u, 0.0)),
    "sigmoid": (torch.sigmoid, lambda u: 1 / (1 + math.exp(-u))),
}
ELEMENTS, COMPONENTS = 12, 3


def drawn() -> tuple[np.ndarray, list[float], list[list[float]]]:
    """A decomposed array, its residual and the components of each element; some elements' components nearly cancel."""
    source = random.Random(3)
    residual = [source.uniform(-1.5, 1.5) for _ in range(ELEMENTS)]
    components = [[source.uniform(-1, 1) for _ in range(COMPONENTS)] for _ in range(ELEMENTS)]
    for row in components[: ELEMENTS // 3]:
        row[-1] = 0.01 - row[0] - row[1]
    x = np.decompose(np.array(components), axis=1, labels=["a", "b", "c"]).sum(axis=1) + np.array(residual)
    return x, residual, components


Expected = tuple[list[float], list[list[float]]]


def affine(f: Callable, r: float, c: list[float]) -> tuple[float, list[float]]:
    x = r + sum(c)
    return f(r), [ci * (f(x) - f(r)) / (x - r) for ci in c]


def abs_affine(f: Callable, r: float, c: list[float]) -> tuple[float, list[float]]:
    x, total = r + sum(c), sum(abs(ci) for ci in c)
    return f(r), [abs(ci) / total * (f(x) - f(r)) for ci in c]


def hybrid_affine(f: Callable, r: float, c: list[float], threshold: float = 0.0) -> tuple[float, list[float]]:
    cancel = abs(sum(c)) < threshold * sum(abs(ci) for ci in c)
    return (abs_affine if cancel else affine)(f, r, c)


def scaling(f: Callable, r: float, c: list[float]) -> tuple[float, list[float]]:
    x = r + sum(c)
    return r * f(x) / x, [ci * f(x) / x for ci in c]


def none(f: Callable, r: float, c: list[float]) -> tuple[float, list[float]]:
    return f(r + sum(c)), [0.0 for _ in c]


RULES: list[tuple[str, Callable, dict[str, float]]] = [
    ("affine", affine, {}),
    ("abs_affine", abs_affine, {}),
    ("hybrid_affine", hybrid_affine, {}),
    ("hybrid_affine", hybrid_affine, {"threshold": 0.2}),
    ("hybrid_affine", hybrid_affine, {"threshold": 2.0}),
    ("scaling", scaling, {}),
    ("none", none, {}),
]
each_rule = pytest.mark.parametrize(("name", "formula", "options"), RULES)


@each_rule
@pytest.mark.parametrize("function", FUNCTIONS)
def test_rule_is_its_formula(function, name, formula, options):
    x, residual, components = drawn()
    f, scalar = FUNCTIONS[function]
    with np.rule(name, **options):
        made = np.asarray(f(x))
    wanted = [formula(scalar, r, c, **options) for r, c in zip(residual, components, strict=True)]
    numpy.testing.assert_allclose(numpy.asarray(made.value), numpy.asarray(np.asarray(f(x.value))), rtol=0)
    numpy.testing.assert_allclose(numpy.asarray(made.residual), [r for r, _ in wanted], rtol=1e-12, atol=1e-13)
    numpy.testing.assert_allclose(numpy.asarray(made.components).T, [c for _, c in wanted], rtol=1e-9, atol=1e-12)
    assert made.labels == ("a", "b", "c")


@each_rule
@pytest.mark.parametrize("function", FUNCTIONS)
def test_rule_is_complete(function, name, formula, options):
    x, _, _ = drawn()
    with np.rule(name, **options):
        made = np.asarray(FUNCTIONS[function][0](x))
    numpy.testing.assert_allclose(numpy.asarray(made.c_sum()), numpy.asarray(made.value), rtol=1e-12, atol=1e-13)


@each_rule
def test_rule_is_complete_at_zero_and_without_a_step(name, formula, options):
    x = np.decompose(np.array([0.0, 1.0, 2.0]), baseline=np.array([0.0, 1.0, 0.0]))
    for f in (np.exp, np.tanh, np.square, torch.nn.functional.relu):
        with np.rule(name, **options):
            made = np.asarray(f(x))
        numpy.testing.assert_allclose(numpy.asarray(made.c_sum()), numpy.asarray(made.value), rtol=1e-14, atol=0)


def test_rules_leave_products_and_sums_alone():
    x = np.decompose(np.array([1.0, 2.0]), baseline=0.5)
    plain = (x * x + 3 * x).components.tolist()
    for name, _, options in RULES:
        with np.rule(name, **options):
            assert (x * x + 3 * x).components.tolist() == plain


def test_rule_on_several_decomposed_arguments():
    """Two decomposed arguments of a pointwise function share out by the law, whatever the rule."""
    a, b = np.decompose((np.array(2.0), np.array(3.0)), baseline=(1.0, 1.0))
    plain = np.power(a, b)
    with np.rule("none"):
        numpy.testing.assert_allclose(np.power(a, b).components, plain.components, rtol=1e-15)


def test_rules_nest_and_decorate():
    x = np.decompose(np.array([1.0, 2.0]))

    @np.rule("none")
    def silent(u):
        return np.exp(u)

    affine_parts = np.exp(x).components.tolist()
    with np.rule("scaling"):
        scaled = np.exp(x).components.tolist()
        with np.rule("affine"):
            assert np.exp(x).components.tolist() == affine_parts
        assert np.exp(x).components.tolist() == scaled != affine_parts
        assert silent(x).components.tolist() == [[0, 0], [0, 0]]
        assert silent(x).components.tolist() == [[0, 0], [0, 0]]  # a decorated function can be called again
        assert np.exp(x).components.tolist() == scaled
    assert np.exp(x).components.tolist() == affine_parts


def test_bad_rules_are_refused():
    with pytest.raises(ValueError, match=r"unknown rule 'secant'.*affine"), np.rule("secant"):
        pass
    x = np.decompose(np.array([1.0]))
    with pytest.raises(TypeError, match="treshold"), np.rule("hybrid_affine", treshold=0.1):
        np.exp(x)
    with pytest.raises(ValueError, match="registered already"):
        np.register_rule("affine")(affine)


@pytest.fixture
def halving() -> Iterator[str]:
    @np.register_rule("halving")
    def rule(f, value, residual, components, f_value, others, *, share=0.5):
        parts = components / components.sum(0) * share
        return f_value * (1 - share), parts * f_value

    yield "halving"
    del named_rules._rules["halving"]


def test_a_registered_rule_is_used_on_both_faces(halving):
    x = np.decompose(np.array([1.0, 2.0]), axis=(), labels=["x"])
    with np.rule(halving):
        assert np.exp(x).components.tolist() == [[math.e / 2, math.exp(2.0) / 2]]
        assert torch.exp(x.tensor).components.tolist() == [[math.e / 2, math.exp(2.0) / 2]]
    with np.rule(halving, share=0.25):
        assert np.exp(x).residual.tolist() == [0.75 * math.e, 0.75 * math.exp(2.0)]


@pytest.mark.parametrize("name", ["affine", "scaling", "none"])
def test_reverse_mode_follows_linear_rules(name):
    def f(u):
        return (np.tanh(u * np.array([1.0, -2.0, 0.5])).sum() * 2).sum()

    x = np.array([0.3, 0.4, -1.0])
    with np.rule(name):
        forward = f(np.decompose(x, baseline=0.1))
        reverse = np.attribute(f, x, baseline=0.1)
    assert reverse.value == forward.value
    numpy.testing.assert_allclose(float(reverse.residual), float(forward.residual), rtol=1e-14)
    numpy.testing.assert_allclose(numpy.asarray(reverse.attribution), numpy.asarray(forward.components), rtol=1e-12)


@pytest.mark.parametrize("name", ["abs_affine", "hybrid_affine"])
def test_reverse_mode_refuses_rules_that_are_not_linear(name):
    options = {"threshold": 0.1} if name == "hybrid_affine" else {}
    with np.rule(name, **options), pytest.raises(NotImplementedError, match=f"{name}.*not linear"):
        np.attribute(lambda u: np.tanh(u).sum(), np.array([1.0, 2.0]))


def test_choices_are_inherited_and_restored():
    def set_now() -> tuple:
        now = settings.current.get()
        return now.rule, dict(now.options), now.rtol, now.frozen_normalisation, now.frozen_attention

    before = set_now()
    with np.rule("hybrid_affine", threshold=0.5, normalisation="frozen"):
        with np.rule(rtol=1e-3, attention="frozen"):
            assert set_now() == ("hybrid_affine", {"threshold": 0.5}, 1e-3, True, True)
            with np.rule("affine", normalisation="path"):
                assert set_now() == ("affine", {}, 1e-3, False, True)
        assert set_now() == ("hybrid_affine", {"threshold": 0.5}, None, True, False)
    assert set_now() == before
    with pytest.raises(KeyError), np.rule(rtol=1e-3):
        raise KeyError
    assert set_now() == before


def test_bad_choices_are_refused():
    with pytest.raises(ValueError, match=r"is 'frozen' or 'path', not 'none'"), np.rule(normalisation="none"):
        pass
    with pytest.raises(ValueError, match=r"attention is 'frozen' or 'path'"), np.rule(attention=True):
        pass
    for rtol in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match=r"rtol must be positive"), np.rule(rtol=rtol):
            pass
    with pytest.raises(TypeError, match=r"threshold: options of a rule .* need its name"), np.rule(threshold=0.1):
        pass


def test_quadrature_aims_at_the_tolerance():
    """The matrix exponential has the law by quadrature of its derivative: fewer panels for a larger tolerance."""
    x = torch.tensor([[0.0, 9.0], [-9.0, 0.5]], dtype=torch.float64)
    evaluated: list[int] = []

    def counted(u: torch.Tensor) -> torch.Tensor:
        if torch.overrides.has_torch_function_unary(u):
            return torch.overrides.handle_torch_function(counted, (u,), u)
        evaluated.append(1)
        return torch.linalg.matrix_exp(u)

    def tagged(u: np.overrides.Smooth): ...

    np.overrides.register_function(counted)(tagged)
    counts = []
    for rtol in (1e-2, None):
        evaluated.clear()
        with np.rule(rtol=rtol):
            made = counted(np.decompose(x))
        counts.append(len(evaluated))
        error = (made.value - made.c_sum()).abs().max() / made.value.abs().max()
        assert float(error) < (rtol or 1e-12)
    assert counts[0] < counts[1]


@pytest.mark.parametrize("name", ["scaling", "none", "frozen"])
def test_formulas_are_complete_under_rules_with_residuals_of_their_own(name):
    """Functions that are written with others (a cell of a network, layer_norm with its statistics) miss nothing."""
    source = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(4, 4, generator=source, dtype=torch.float64) for _ in range(2))
    marked = np.decompose(x, axis=0, baseline=torch.full_like(x, 0.3))
    with np.rule(normalisation="frozen") if name == "frozen" else np.rule(name):
        made = [
            torch.ldexp(x, marked),
            torch.native_layer_norm(marked, (4,), None, None, 1e-5)[0],
            torch.rnn_tanh_cell(marked, x, weight, weight),
            torch.native_group_norm(marked, None, None, 4, 4, 1, 2, 1e-5)[0],
        ]
    for one in made:
        torch.testing.assert_close(one.c_sum(), one.value)


@pytest.mark.parametrize("times", [3.0, 20.0, 200.0])
def test_numbers_that_grow_alike_share_what_their_ratio_is_not_changed_by(times):
    """It does not change along the path, so that any nodes are complete."""

    def ratio(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if torch.overrides.has_torch_function((x, y)):
            return torch.overrides.handle_torch_function(ratio, (x, y), x, y)
        return x / y

    def tagged(x: np.overrides.Pointwise, y: np.overrides.Pointwise): ...

    np.overrides.register_function(ratio)(tagged)
    base = torch.tensor([1.0, 2.0], dtype=torch.float64)
    marked = np.decompose(times * base, baseline=base)
    made = ratio(marked[0], marked[1])
    share = math.log(times) / 2
    torch.testing.assert_close(made.components, torch.tensor([share, -share], dtype=torch.float64), rtol=1e-12, atol=0)
