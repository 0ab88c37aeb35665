"""npdec's own checks find what is broken, and nothing else: completeness, check_decomposition, faithfulness."""

from __future__ import annotations

import inspect
import itertools
import math
import operator
import threading
from collections import namedtuple
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from npdec.exceptions import CompletenessError, DecompositionWarning
from npdec.overrides import Linear, Multilinear, register_function

Pair = namedtuple("Pair", "a b")

# -- completeness ------------------------------------------------------------------------------------------------------


@np.register_rule("doubled")
def doubled(f, value, residual, components, f_value, others):
    """A rule that breaks completeness: each component is twice what it should be."""
    slope = (f_value - f(residual, *others)) / (value - residual)
    return f(residual, *others), 2 * components * slope


def test_completeness_is_the_error():
    x = np.decompose(np.array([1.0, 2.0]))
    with np.rule("doubled"):
        y = np.exp(x)
    wanted = (y.value - y.residual - y.components.sum(0)).tolist()
    assert np.completeness(y).tolist() == wanted
    assert min(map(abs, wanted)) > 1
    assert type(np.completeness(y)) is np.ndarray
    assert not np.completeness(y).is_decomposed
    assert isinstance(np.completeness(y[0]), np.float64)
    assert type(np.completeness(y.tensor)) is torch.Tensor
    assert np.completeness(Pair(x, [np.arange(2)])) == Pair(pytest.approx([0, 0]), [pytest.approx([0, 0])])
    assert np.completeness(np.ones(3, dtype="float32")).dtype == np.float32
    with pytest.raises(TypeError, match="not str"):
        np.completeness(["text"])


def test_an_infinity_that_stays_is_complete():
    x = np.concatenate([np.decompose(np.array([1.0])), np.array([np.inf])])
    assert np.completeness(x * 2).tolist() == [0.0, 0.0]


def test_check_completeness_names_operation_and_line():
    x = np.decompose(np.array([1.0, 2.0]))
    with np.check_completeness():
        y = np.log(np.exp(x).sum() + 1)
    assert np.completeness(y) == pytest.approx(0)
    with np.check_completeness(), np.rule("doubled"):
        fine = x * 2
        with pytest.raises(CompletenessError) as caught:
            np.tanh(fine)
    line = inspect.currentframe().f_lineno - 1
    text = str(caught.value)
    assert text.startswith("npdec.tanh: value - residual - components.sum(0) is ")
    assert "shape (2,), dtype float64, 2 components" in text
    assert text.endswith(f"{__file__}:{line}, in {inspect.currentframe().f_code.co_name}: np.tanh(fine)")


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("npdec.exp", np.exp),
        ("npdec.linalg.norm", np.linalg.norm),
        ("npdec.power", lambda x: x**2.5),
        ("npdec.ndarray.sum", lambda x: x.sum()),
        ("npdec.subtract (sub", lambda x: x - 1),
        ("npdec.matmul", lambda x: x @ x),
        ("tanh", lambda x: torch.tanh(x.tensor)),
        ("npdec.concatenate (cat", lambda x: np.concatenate([x, x])),
        ("__setitem__", lambda x: operator.setitem(np.zeros(2), 0, x[1])),
    ],
)
def test_operations_of_any_kind_are_checked(name, act):
    x = np.decompose(np.array([1.0, 2.0]))
    x.tensor.components.mul_(3)
    with np.check_completeness(), pytest.raises(CompletenessError) as caught:
        act(x)
    if name != "__setitem__":  # its right side fails first
        assert str(caught.value).startswith(name)
        assert "argument 0 is incomplete already, by " in str(caught.value) or name == "npdec.concatenate (cat"
    else:
        assert "getitem" in str(caught.value)


CANCELLING = {
    "cross": lambda x, y: np.cross(x, x * 3),
    "the norm of it": lambda x, y: np.linalg.norm(np.cross(x, x * 3)),
    "products": lambda x, y: np.exp(x * y * 3 - y * 3 * x) * x,
    "sums": lambda x, y: (x.sum() - (x[:, 0] + x[:, 2] + x[:, 1]).sum()) * 7,
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CANCELLING)
def test_what_roundings_leave_is_measured_by_the_terms(name, dtype):
    """Where all terms cancel, what is left misses as much as it is: none of its digits are known."""
    rng = numpy.random.default_rng(7)
    for scale in (1e-3, 1.0, 1e3):
        x, y, r = (np.array(rng.normal(size=(4, 3)) * scale, dtype) for _ in range(3))
        x, y = np.decompose(x, baseline=r), np.decompose(y / scale)
        with np.check_completeness():
            made = CANCELLING[name](x, y)
        assert numpy.isfinite(made.components).all()


def test_more_than_roundings_of_the_terms_is_found_where_they_cancel():
    x, y = np.decompose(np.array([0.1, 0.7])), np.decompose(np.array([1.7, -0.3]))
    a, b = x * y * 3, y * 3 * x
    a.tensor.components.mul_(1 + 1e-12)
    with np.check_completeness(), pytest.raises(CompletenessError, match="subtract"):
        a - b


def test_writes_in_place_are_checked():
    x, out = np.decompose(np.array([1.0, 2.0])), np.zeros(2)
    broken = x[1]
    broken._t.components.mul_(3)  # of what the scalar holds: its .tensor is a copy
    with np.check_completeness(), pytest.raises(CompletenessError, match=r"(?s)copy_: .*out.0. = broken"):
        out[0] = broken


def test_check_completeness_takes_a_tolerance_and_nests():
    x = np.decompose(np.array([1.0, 2.0]))
    x.tensor.components.mul_(1 + 1e-6)
    x * 2
    with np.check_completeness(rtol=1e-3):
        x * 2
        with np.check_completeness(), pytest.raises(CompletenessError, match=r"rtol=1\.5e-08"):
            x * 2
        x * 2

    @np.check_completeness(rtol=1e-9)
    def decorated():
        return x * 2

    with pytest.raises(CompletenessError):
        decorated()
    x * 2


def test_check_completeness_is_of_this_thread():
    x = np.decompose(np.array([1.0, 2.0]))
    x.tensor.components.mul_(3)
    found = []
    with np.check_completeness():
        thread = threading.Thread(target=lambda: found.append(x * 2))
        thread.start()
        thread.join()
    assert len(found) == 1


def test_check_completeness_in_reverse_mode():
    with np.check_completeness():
        found = np.attribute(lambda x: np.exp(x).var(), np.array([1.0, 2.0, 4.0]))
    assert float(found.residual) + float(found.attribution.sum()) == pytest.approx(float(found.value))
    with np.check_completeness(), np.rule("doubled"), pytest.raises(CompletenessError, match="exp"):
        np.attribute(lambda x: np.exp(x).sum(), np.array([1.0, 2.0]))


# -- check_decomposition -----------------------------------------------------------------------------------------------

RNG = numpy.random.default_rng(7)
A, B, V = (np.array(RNG.uniform(0.5, 2, shape)) for shape in ((3, 4), (4, 2), (4,)))


def _written(x):
    out = np.zeros((2, 4))
    out[0], out[1, :2] = x, x[2:] * x[0]
    return out


SOUND: dict[str, Any] = {
    "pointwise": (np.exp, A),
    "product": (np.multiply, A, V),
    "network": (lambda x, w, b: np.tanh(x @ w + b), A, B, V[:2]),
    "reduction": (lambda x: x.var(axis=0), A),
    "scalar": (lambda s, x: s * x, np.float64(1.5), V),
    "integers beside": (np.add, A, np.arange(4)),
    "dict": (lambda x: {"max": x.max(), "argmax": x.argmax(), "n": 3, "both": [x, (x * 2,)]}, A),
    "half precision": (np.sqrt, A.astype("float16")),
    "complex": (lambda x, y: x * y + np.conj(x), A + 1j, V * 1j),
    "torch": (lambda t: torch.softmax(t, 0), V.tensor),
    "nan": (np.nansum, np.array([1.0, np.nan, 3.0])),
    "written": (_written, V),
}


@pytest.mark.parametrize("case", SOUND)
def test_sound_functions_pass(case):
    f, *args = SOUND[case]
    before = [numpy.array(np.array(a)) for a in args]
    report = np.testing.check_decomposition(f, *args)
    assert report.outputs >= 1
    assert max(report.completeness, report.residual, report.reverse, report.linearity or 0) < 1e-2
    for arg, old in zip(args, before, strict=True):
        numpy.testing.assert_array_equal(numpy.array(np.array(arg)), old)


def _mixed(x):
    with np.rule("doubled"):
        return np.exp(x)


_calls = itertools.count()

BROKEN = {
    "completeness, value == residual": _mixed,
    "decomposing changes the values": lambda x: x * float(next(_calls)),
    "decomposing changes the result": lambda x: x[:2] if x.is_decomposed else x,
    "the residual is not f": lambda x: np.sort(x * np.array([[1.0, -1.0, 2.0, -2.0]])) * np.arange(4),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_functions_are_found(what):
    with pytest.raises(AssertionError) as caught:
        np.testing.check_decomposition(BROKEN[what], A, baselines=2 - A[::-1])
    text = str(caught.value)
    assert text.startswith(f"check_decomposition({BROKEN[what].__name__}): ")
    assert what in text
    assert "arguments: 0: shape (3, 4), dtype float64; decomposed: 0" in text


@np.register_rule("cut")
def cut(f, value, residual, components, f_value, others):
    """A rule that is right forward, and cuts the graph that reverse mode goes back on."""
    f_residual = f(residual, *others)
    return f_residual, components.detach() * (f_value - f_residual) / (value - residual)


def test_a_disagreement_of_the_modes_is_found():
    def f(x):
        with np.rule("cut"):
            return np.exp(x)

    said = pytest.warns(DecompositionWarning, match="contributions miss more than a hundredth")
    with said, pytest.raises(AssertionError, match="forward and reverse mode disagree on argument 0"):
        np.testing.check_decomposition(f, V)


def test_lost_contributions_are_found():
    with pytest.raises(AssertionError, match="the residual is not f"):
        np.testing.check_decomposition(lambda x: np.exp(x.value), V)


def test_freezes_lets_a_selection_pass():
    f = BROKEN["the residual is not f"]
    assert np.testing.check_decomposition(f, A, baselines=2 - A[::-1], freezes=True).residual is None


def test_tolerances_and_baselines():
    def f(x):
        return np.exp(x) / 3

    with pytest.raises(AssertionError, match=r"rtol=1\.0e-30 allow"):
        np.testing.check_decomposition(f, V, rtol=1e-30)
    np.testing.check_decomposition(f, V, rtol=1e-30, atol=1e-6)
    np.testing.check_decomposition(np.arccosh, V + 1, baselines=1.5)
    np.testing.check_decomposition(np.multiply, A, V, baselines=(0.0, 1.0))
    with pytest.raises(ValueError, match="2 arguments are decomposed, but there are 1 baselines"):
        np.testing.check_decomposition(np.multiply, A, V, baselines=0.0)
    with pytest.raises(TypeError, match="of a floating dtype is needed; given: shape"):
        np.testing.check_decomposition(np.add, np.arange(2), 1.0)
    report = np.testing.check_decomposition(np.sum, A, kwargs={"axis": 0})
    assert report.arguments == (0,)


def _ruled(body):
    def function(a, b):
        if torch.overrides.has_torch_function((a, b)):
            return torch.overrides.handle_torch_function(function, (a, b), a, b)
        return body(a, b)

    return function


@pytest.mark.parametrize("body", [lambda a, b: a * b, lambda a, b: a * b + 1, lambda a, b: a * a * b])
def test_what_is_declared_multilinear_has_to_be(body):
    function = _ruled(body)

    @register_function(function)
    def _(a: Multilinear, b: Multilinear): ...

    a, b = torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([0.5, 3.0], dtype=torch.float64)
    check = np.testing.check_decomposition
    if body(2, 3) == 6:
        assert check(function, a, b).linearity < 1e-12
    else:
        with pytest.raises(AssertionError, match=r"declared Multilinear in argument 0, and is not|is broken"):
            check(function, a, b)


def test_what_is_declared_linear_has_to_be():
    """Of positive numbers the magnitude passes by everything else: only superposition tells."""
    function = _ruled(lambda a, b: abs(a) + b)

    @register_function(function)
    def _(a: Linear, b: Linear): ...

    a = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    with pytest.raises(AssertionError, match="declared Linear in arguments 0, 1, and is not"):
        np.testing.check_decomposition(function, a, a + 1)
    assert np.testing.check_decomposition(np.subtract, np.asarray(a), np.asarray(a) + 1).linearity < 1e-12


# -- faithfulness ------------------------------------------------------------------------------------------------------


def game(x):
    return x[..., 0] * x[..., 1] + np.exp(x[..., 2]) - x[..., 3] * x[..., 0] * x[..., 1]


def brute_shapley(f, x, base):
    """By all orders in which the features arrive."""
    n = len(x)
    total = numpy.zeros(n)
    for order in itertools.permutations(range(n)):
        at = base.copy()
        for i in order:
            before = float(f(np.array(at)))
            at[i] = x[i]
            total[i] += float(f(np.array(at))) - before
    return total / math.factorial(n)


X, BASE = numpy.array([1.0, 2.0, 0.5, -1.0]), numpy.array([0.5, -1.0, 0.0, 0.25])


@pytest.mark.parametrize("batched", [False, True])
def test_faithfulness_of_shapley_values(batched):
    exact = brute_shapley(game, X, BASE)
    found = np.testing.faithfulness(game, np.array(X), np.array(BASE), np.array(exact), batched=batched)
    numpy.testing.assert_allclose(numpy.asarray(found.shapley), exact, rtol=1e-12)
    assert found.shapley_distance < 1e-12
    assert abs(found.completeness) < 1e-12
    order = numpy.argsort(-exact, kind="stable")
    for curve, start, end in ((found.deletion, X, BASE), (found.insertion, BASE, X)):
        at, wanted = start.copy(), [float(game(np.array(start)))]
        for i in order:
            at[i] = end[i]
            wanted.append(float(game(np.array(at))))
        numpy.testing.assert_allclose(numpy.asarray(curve), wanted, rtol=1e-12)
    assert found.deletion_area == pytest.approx(numpy.trapezoid(numpy.asarray(found.deletion), dx=0.25))
    assert found.insertion_area > found.deletion_area


def test_faithfulness_of_a_linear_function_is_perfect():
    w = numpy.linspace(-1, 2, 20)
    x = numpy.sin(numpy.arange(20.0))
    found = np.testing.faithfulness(lambda x: x @ np.array(w), np.array(x), 0.0, np.array(w * x), batched=True)
    assert found.shapley is None
    assert found.shapley_distance is None
    assert found.sizes[0] == 1
    assert found.sizes[-1] == 19
    numpy.testing.assert_allclose(numpy.asarray(found.sensitivity), 1.0, rtol=1e-9)
    wrong = np.testing.faithfulness(
        lambda x: x @ np.array(w), np.array(x), 0.0, np.array(-w * x), batched=True, steps=5
    )
    numpy.testing.assert_allclose(numpy.asarray(wrong.sensitivity), -1.0, rtol=1e-9)
    assert wrong.deletion.shape == (6,)
    assert wrong.deletion_area > found.deletion_area
    assert wrong.completeness == pytest.approx(2 * w @ x)


def test_faithfulness_takes_tensors_and_shapes():
    t = torch.arange(6.0).reshape(2, 3)
    found = np.testing.faithfulness(
        lambda t: (t**2).sum((-1, -2)), t, 1.0, np.attribute(lambda t: (t**2).sum(), t, baseline=1.0)
    )
    assert found.shapley.shape == (2, 3)
    assert found.shapley_distance < 1e-6
    assert math.isnan(np.testing.faithfulness(lambda x: x[0] * 0, np.ones(3), 0.0, np.ones(3)).sensitivity[0])


def test_faithfulness_says_what_does_not_fit():
    x = np.ones(3)
    with pytest.raises(ValueError, match=r"attribution of shape \(2,\) for an input of shape \(3,\)"):
        np.testing.faithfulness(game, x, 0.0, np.ones(2))
    with pytest.raises(ValueError, match=r"a real scalar here, not shape \(3,\)"):
        np.testing.faithfulness(lambda x: x, x, 0.0, x)
    with pytest.raises(ValueError, match=r"numbers of shape \(2,\) here, not shape \(\)"):
        np.testing.faithfulness(lambda x: x.sum(), x, 0.0, x, batched=True)
    with pytest.raises(ValueError, match="steps must be from 1 to"):
        np.testing.faithfulness(lambda x: x.sum(), x, 0.0, x, steps=4)
    with pytest.raises(ValueError, match="there are no features"):
        np.testing.faithfulness(lambda x: x.sum(), np.ones(0), 0.0, np.ones(0))
    with pytest.raises(TypeError, match="must be real"):
        np.testing.faithfulness(lambda x: x.sum(), np.ones(2) * 1j, 0.0, np.ones(2))
