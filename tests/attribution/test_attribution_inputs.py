"""np.attribute: structures of inputs and outputs, components, forward mode in chunks, progress, errors."""

from __future__ import annotations

import collections
import copy
import io
import math
import pickle
import sys
from typing import NamedTuple

import numpy
import pytest
import torch

import npdec as np
from npdec._core.memory_meter import Meter

METHODS = ["local", "path", "input_x_gradient", "shapley", "occlusion"]
each_method = pytest.mark.parametrize("method", METHODS)


def close(a, b, atol=1e-12):
    numpy.testing.assert_allclose(numpy.asarray(a), numpy.asarray(b), rtol=0, atol=atol)


def weights(*shape, seed=0):
    return np.array(numpy.random.default_rng(seed).normal(size=shape))


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "method 'local' runs in one piece, of which a mesh can share nothing"),
        ({"method": "path"}, "method 'path' runs in one piece"),
        ({"mode": "forward", "max_memory": 10**9}, "say chunk_size=, not max_memory="),
        ({"method": "occlusion", "create_graph": True}, "has no graph"),
        (
            {"mode": "forward"},
            "mesh is a DeviceMesh, which torch.distributed.device_mesh.init_device_mesh makes, not object",
        ),
    ],
)
def test_what_a_mesh_does_not_share(options, said):
    with pytest.raises(TypeError, match=said):
        np.attribute(lambda x: x.sum(), np.ones(2), mesh=object(), **options)


# -- inputs ------------------------------------------------------------------------------------------------------------


class Market(NamedTuple):
    price: object
    volume: object


@each_method
def test_several_inputs_share_the_attribution(method):
    a, b = np.array([1.0, 2.0]), np.array([[3.0], [4.0]])
    made = np.attribute(lambda u, v: (u * v).sum(), a, b, method=method, baseline=(0.5, 1.0))
    assert isinstance(made.attribution, tuple)
    assert [part.shape for part in made.attribution] == [(2,), (2, 1)]
    assert (made.value, made.residual) == (21.0, 2.0)
    flat = np.attribute(
        lambda x: (x[:2] * x[2:, None]).sum(),
        np.array([1.0, 2, 3, 4]),
        method=method,
        baseline=np.array([0.5, 0.5, 1, 1]),
    )
    close(np.concatenate([part.ravel() for part in made.attribution]), flat.attribution)
    close(made.error, flat.error)


@each_method
def test_structures(method):
    inputs = {
        "a": np.array([1.0, 2.0]),
        "rest": [np.array(3.0), (np.array([[0.5]]), None)],
        "market": Market(np.ones(2), np.ones(1)),
    }

    def f(tree):
        market = tree["market"]
        assert isinstance(market, Market)
        assert tree["rest"][1][1] is None
        return (tree["a"] * tree["rest"][0]).sum() * tree["rest"][1][0][0, 0] + (
            market.price * market.volume
        ).sum() ** 2

    base = {"a": np.array([0.1, 0.2]), "rest": 0.3, "market": Market(0.0, 0.5)}
    made = np.attribute(f, inputs, baseline=base, method=method)
    parts = made.attribution
    assert parts.keys() == inputs.keys()
    assert isinstance(parts["market"], Market)
    assert parts["rest"][1][1] is None
    assert parts["a"].shape == (2,)
    assert parts["rest"][1][0].shape == (1, 1)
    leaves = [parts["a"], parts["rest"][0], parts["rest"][1][0], *parts["market"]]
    total = sum(float(leaf.sum()) for leaf in leaves)
    close(made.value - made.residual - total, made.error, 1e-9)
    if method not in ("input_x_gradient", "occlusion"):
        close(made.error, 0.0, 1e-9)


def test_classes_of_dicts_and_torch_tensors():
    inputs = collections.OrderedDict(b=torch.tensor([1.0, 2.0]), a=np.array(3.0))

    def f(tree):
        assert isinstance(tree["b"], torch.Tensor)
        assert isinstance(tree["a"], np.ndarray)
        return tree["b"].sum() * tree["a"].tensor

    made = np.attribute(f, inputs)
    assert list(made.attribution) == ["b", "a"]
    assert isinstance(made.attribution, collections.OrderedDict)
    assert isinstance(made.attribution["b"], torch.Tensor)
    assert isinstance(made.attribution["a"], np.ndarray)
    assert made.attribution["a"] == 4.5


def test_lists_of_numbers_are_arrays():
    assert np.attribute(lambda x: x[0] * x[1], [3.0, 4.0]).attribution.tolist() == [6, 6]
    assert np.attribute(lambda x: x.sum(), ((1.0, 2.0), (3.0, 4.0))).attribution.shape == (2, 2)
    assert np.attribute(lambda x: x * x, 3.0).attribution == 9.0
    for inputs in ((3.0, 4.0), (np.float64(3.0), 4.0)):
        made = np.attribute(lambda u, v: u * v, *inputs, baseline=(1.0, 0.0))
        assert [float(part) for part in made.attribution] == [4.0, 8.0]
        assert type(made.attribution) is tuple


def test_argnums():
    def f(u, name, v):
        assert name == "name"
        return (u * v).sum()

    a, b = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    one = np.attribute(f, a, "name", b, argnums=-1)
    assert one.attribution.tolist() == [3.0, 10.0]
    both = np.attribute(f, a, "name", b, argnums=(2, 0), baseline=(np.array([1.0, 1.0]), 0.0))
    close(both.attribution[0], [1.0, 4.0])
    close(both.attribution[1], [2.0, 6.0])
    assert isinstance(np.attribute(f, a, "name", b, argnums=(0,)).attribution, tuple)


@each_method
def test_components(method):
    x = weights(3, 4)

    def f(a):
        return np.tanh(a.sum(0)).prod() + (a**2).sum()

    whole = np.attribute(f, x, method=method, baseline=0.1)
    for options, labels in (({"axis": 0, "labels": "abc"}, ("a", "b", "c")), ({"groups": [5, 1, 1, 2]}, None)):
        made = np.attribute(f, x, method=method, baseline=0.1, **options)
        assert made.attribution.shape == (3,)
        assert made.labels == labels if labels else [label.index for label in made.labels] == [(1,), (2,), (5,)]
        if method in ("local", "path", "input_x_gradient"):
            parts = numpy.asarray(whole.attribution)
            wanted = parts.sum(1) if labels else [parts[:, [1, 2]].sum(), parts[:, 3].sum(), parts[:, 0].sum()]
            close(made.attribution, wanted, 1e-9)
        if method == "shapley":
            close(made.error, 0.0)
    named = np.attribute(lambda a: a.sum(), np.array([1.0, 2.0]), method=method, labels=["x", "y"])
    assert named.labels == ("x", "y")
    several = np.attribute(lambda u, v: (u * v).sum(), x, x + 1, method=method, axis=1)
    assert several.attribution.shape == (4,)


# -- outputs -----------------------------------------------------------------------------------------------------------


def outputs(a):
    return {"logits": [np.outer(a, a), a.sum()], "loss": (a**2).sum(), "shape": a[:1]}


@each_method
@pytest.mark.parametrize("batched", [False, "vmap"])
def test_chosen_outputs(method, batched):
    x = np.array([1.0, 2.0])
    options = {"method": method, **({"batched": batched} if method not in ("local", "input_x_gradient") else {})}
    plain = np.attribute(lambda a: a[0] * a[1], x, method=method).attribution
    for output in (("logits", 0, 0, 1), lambda r: r["logits"][0][1, 0]):
        close(np.attribute(outputs, x, output=output, **options).attribution, plain)
    close(np.attribute(outputs, x, output="shape", **options).attribution, [1.0, 0.0])
    made = np.attribute(outputs, x, output=["loss", ("logits", 1), lambda r: r["loss"] * 2], **options)
    assert made.value.tolist() == [5.0, 3.0, 10.0]
    assert made.attribution.shape == (3, 2)
    close(made.attribution[1], [1.0, 2.0])
    close(made.attribution[2], 2 * made.attribution[0])
    assert made.error.shape == (3,)


def test_complex_outputs():
    x = np.array([1.0, 2.0])
    for method in METHODS:
        made = np.attribute(lambda a: np.exp(1j * a).sum() * a[0], x, method=method)
        assert made.attribution.dtype == np.complex128
        if method not in ("input_x_gradient", "occlusion"):
            assert abs(made.error) < 1e-9
    with pytest.raises(TypeError, match="a complex output has no gradient"):
        np.attribute(lambda a: (a * 1j).sum(), x, method="gradient")


# -- forward -----------------------------------------------------------------------------------------------------------


def model(a):
    hidden = np.tanh(a @ weights(5, 7))
    scores = np.exp(hidden @ weights(7, 3, seed=1))
    return scores / scores.sum(-1, keepdims=True)


@pytest.mark.parametrize("chunk_size", [1, 2, 7, 100])
def test_forward_is_one_pass(chunk_size):
    x = weights(4, 5, seed=2)
    whole = model(np.decompose(x, baseline=0.1))
    made = np.attribute(model, x, baseline=0.1, mode="forward", chunk_size=chunk_size)
    assert made.attribution.shape == (4, 3, 4, 5)
    close(made.value, whole.value, 0)
    close(made.residual, whole.residual, 0)
    close(made.attribution.reshape(12, 20).T, whole.components.reshape(20, 12), 1e-15)
    close(made.error, numpy.zeros((4, 3)))
    reverse = np.attribute(model, x, baseline=0.1, output=[(0, 0), (3, 2)])
    forward = np.attribute(model, x, baseline=0.1, mode="forward", chunk_size=chunk_size, output=[(0, 0), (3, 2)])
    close(forward.attribution, reverse.attribution, 1e-15)


@pytest.mark.parametrize("options", [{"axis": 1}, {"groups": [0, 1, 0, 2, 2]}, {"axis": (0, 1), "labels": range(20)}])
def test_forward_of_components(options):
    x = weights(4, 5, seed=2)
    whole = model(np.decompose(x, **options))
    made = np.attribute(model, x, mode="forward", chunk_size=2, **options)
    close(np.moveaxis(made.attribution, -1, 0), whole.components, 1e-15)
    assert [getattr(label, "index", label) for label in made.labels] == [
        getattr(label, "index", label) for label in whole.labels
    ]


def told(steps):
    return lambda *step: steps.append(step)


def test_forward_stays_in_memory():
    x = torch.randn(800)
    first, second = torch.randn(300, 800) / 30, torch.randn(20, 300)

    def f(a):
        return torch.tanh(torch.nn.functional.linear(torch.tanh(torch.nn.functional.linear(a, first)), second))

    wanted = np.attribute(f, x, mode="forward", chunk_size=500)
    results = 2 * 4 * 20 * 800
    for bound in (100_000, 1_000_000):
        passes: list[tuple[int, int]] = []
        with Meter() as meter:
            made = np.attribute(f, x, mode="forward", max_memory=bound, progress=told(passes))
        assert bound / 8 < meter.peak < bound + 2 * results
        torch.testing.assert_close(made.attribution, wanted.attribution, rtol=1e-5, atol=1e-6)
        assert 2 < len(passes) < 500
    with pytest.raises(
        MemoryError, match=r"a pass with 1 of 800 components takes \d+ bytes, more than max_memory=1000"
    ):
        np.attribute(f, x, mode="forward", max_memory=1000)


def test_the_meter_counts_what_lives():
    with Meter() as meter:
        a = torch.zeros(1000)
        b = a + 1
        c = b.view(10, 100)[2:]
        assert (meter.live, meter.peak) == (8000, 8000)
        del a
        assert meter.live == 4000
        b.add_(1)
        del b
        assert meter.live == 4000  # the view keeps it
        del c
    assert (meter.live, meter.peak) == (0, 8000)


def test_forward_draws_the_same_numbers_for_each_chunk():
    x, net = torch.ones(6), torch.nn.Dropout(0.5)
    torch.manual_seed(0)
    after = net(x)
    state = torch.random.get_rng_state()
    torch.manual_seed(0)
    made = np.attribute(net, x, mode="forward", chunk_size=1)
    torch.testing.assert_close(made.value, after)
    torch.testing.assert_close(made.attribution, torch.diag(after))
    assert torch.equal(torch.random.get_rng_state(), state)
    calls = []
    with pytest.raises(ValueError, match="another value when it was called again"):
        np.attribute(lambda a: calls.append(0) or a * len(calls), np.ones(3), mode="forward", chunk_size=1)


def test_forward_under_a_check_and_under_rules():
    x = weights(6)

    def f(a):
        return np.exp(a).sum() * np.tanh(a[0])

    with np.check_completeness():
        made = np.attribute(f, x, mode="forward", chunk_size=2)
    close(made.attribution, np.attribute(f, x).attribution, 1e-14)
    with np.rule("scaling"):
        close(np.attribute(f, x, mode="forward", chunk_size=2).attribution, np.attribute(f, x).attribution, 1e-14)
    with np.rule("abs_affine"):
        whole = f(np.decompose(x))
        close(np.attribute(f, x, mode="forward").attribution, whole.components, 1e-14)
        with pytest.raises(NotImplementedError, match="not linear in the components"):
            np.attribute(f, x, mode="forward", chunk_size=2)


def test_forward_of_what_does_not_depend_on_the_input():
    made = np.attribute(lambda a: np.float64(3.0), np.ones(2), mode="forward")
    assert (made.value, made.residual, made.attribution.tolist()) == (3.0, 3.0, [0.0, 0.0])
    for method in METHODS[1:]:
        made = np.attribute(lambda a: np.float64(3.0), np.ones(2), method=method)
        assert (made.value, made.error, made.attribution.tolist()) == (3.0, 0.0, [0.0, 0.0])


def test_inputs_are_left_alone():
    x, base = np.ones(3), np.zeros(3)

    def f(a):
        a += 1
        b = np.exp(a)
        a *= 2
        return (a * b).sum()

    for options in (
        {},
        {"mode": "forward", "chunk_size": 1},
        *({"method": m} for m in METHODS[1:]),
        {"method": "gradient"},
    ):
        if options.get("method") != "gradient":
            made = np.attribute(f, x, baseline=base, **options)
            close(made.value, 12 * numpy.exp(2.0))
            close(made.residual, 6 * numpy.exp(1.0))
        else:
            close(np.attribute(f, x, method="gradient").attribution, [6 * numpy.exp(2.0)] * 3)
        assert x.tolist() == [1, 1, 1]
        assert base.tolist() == [0, 0, 0]


def test_attribution_within_no_grad_and_inference_mode():
    net = torch.nn.Linear(3, 1)
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            x = torch.ones(3)
            for options in ({"method": m} for m in [*METHODS, "gradient"]):
                made = np.attribute(net, x, **options)
                assert not made.attribution.requires_grad
                factor = net.weight[0] if options["method"] == "gradient" else net.weight[0] * x
                torch.testing.assert_close(made.attribution, factor.detach(), rtol=1e-5, atol=1e-6)


# -- the result --------------------------------------------------------------------------------------------------------


def test_the_result_is_a_tuple_of_three():
    made = np.attribute(lambda a: (a**2).sum(), np.array([1.0, 2.0]), method="shapley", samples=3, labels="ab")
    value, residual, attribution = made
    assert (value, residual) == (5.0, 0.0)
    assert attribution is made.attribution
    assert made[0] is made.value
    assert repr(made) == "Attribution(value=np.float64(5.0), residual=np.float64(0.0), attribution=array([1., 4.]))"
    for other in (copy.copy(made), pickle.loads(pickle.dumps(made))):
        assert isinstance(other, np.Attribution)
        assert other.labels == ("a", "b")
        assert other.error == 0.0
        assert other.standard_error.tolist() == [0.0, 0.0]
    assert made._replace(value=1.0).value == 1.0
    assert np.Attribution(1.0, 0.0, 1.0).standard_error is None


# -- progress ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "total"),
    [
        ({"mode": "forward", "chunk_size": 2}, 5),
        ({"method": "path", "steps": 6}, 6),
        ({"method": "path"}, None),
        ({"method": "shapley"}, 32),
        ({"method": "shapley", "samples": 2}, 16),  # four orders, whose ends are known
        ({"method": "occlusion"}, 5),
        ({"baselines": numpy.zeros((3, 5))}, 3),
        ({}, 1),
    ],
)
def test_progress_is_told(options, total):
    steps = []
    np.attribute(lambda a: np.tanh(a).sum(), np.ones(5), progress=told(steps), **options)
    assert all(step[1] == total for step in steps)
    done = [step[0] for step in steps]
    assert done == sorted(set(done))
    assert total is None or done[-1] == total


def test_a_bar_is_shown_when_asked_for(capsys):
    np.attribute(lambda a: a.sum(), np.ones(5), mode="forward", chunk_size=1, progress=True)
    shown = capsys.readouterr()
    assert "attribute" in shown.err
    assert "100%" in shown.err
    assert not shown.out
    np.attribute(lambda a: a.sum(), np.ones(5), mode="forward", chunk_size=1)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("patience", "progress", "shown"), [(0.0, None, True), (math.inf, None, False), (0.0, False, False)]
)
def test_a_bar_is_shown_on_a_terminal_where_work_is_long(monkeypatch, patience, progress, shown):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("npdec._core.progress._PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    np.attribute(lambda a: a.sum(), np.ones(5), mode="forward", chunk_size=1, progress=progress)
    assert ("attribute" in screen.getvalue()) is shown


def test_without_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("npdec._core.progress._PATIENCE", 0.0)
    assert np.attribute(lambda a: a.sum(), np.ones(5), mode="forward", chunk_size=1).value == 5.0
    with pytest.raises(ImportError, match="rich, which is not installed"):
        np.attribute(lambda a: a.sum(), np.ones(5), progress=True)


# -- errors ------------------------------------------------------------------------------------------------------------


def total(a):
    return a.sum()


ONES = np.ones(2)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: np.attribute(total), TypeError, "nothing to attribute to"),
        (lambda: np.attribute(total, ONES, method="magic"), ValueError, "unknown method 'magic': one of local, path"),
        (lambda: np.attribute(total, ONES, mode="sideways"), ValueError, "mode is 'reverse' or 'forward'"),
        (lambda: np.attribute(total, ONES, order=3), ValueError, "order is 1 or 2, not 3"),
        (
            lambda: np.attribute(total, ONES, method="local", order=2, max_memory=10),
            TypeError,
            "'local' with order=2 takes no max_memory=",
        ),
        (lambda: np.attribute(total, ONES, steps=3), TypeError, "takes no steps="),
        (lambda: np.attribute(total, ONES, chunk_size=3), TypeError, "in reverse mode takes no chunk_size="),
        (lambda: np.attribute(total, ONES, method="gradient", baseline=0.0), TypeError, "takes no baseline="),
        (lambda: np.attribute(total, ONES, method="path", mode="forward"), TypeError, "takes no mode="),
        (lambda: np.attribute(total, ONES, method="path", steps=0), ValueError, "steps is positive, not 0"),
        (lambda: np.attribute(total, ONES, method="path", steps=1.5), TypeError, "steps is an int, not 1.5"),
        (lambda: np.attribute(total, ONES, method="shapley", samples="some"), TypeError, "samples is an int"),
        (lambda: np.attribute(total, ONES, method="shapley", samples="all", seed=1), TypeError, "need no seed"),
        (
            lambda: np.attribute(total, ONES, method="path", batched="yes"),
            ValueError,
            "batched is True, False or 'vmap'",
        ),
        (lambda: np.attribute(total, ONES, baseline=0.0, baselines=ONES), TypeError, "one baseline, or a sample"),
        (lambda: np.attribute(total, ONES, baselines=0.0), ValueError, "stacked along a first axis"),
        (lambda: np.attribute(total, ONES, baselines=np.zeros((0, 2))), ValueError, "stacked along a first axis"),
        (lambda: np.attribute(total, ONES, baselines=np.zeros((2, 3))), ValueError, "does not broadcast"),
        (lambda: np.attribute(total, ONES, argnums=1), ValueError, "argnums 1 for a function of 1 inputs"),
        (lambda: np.attribute(total, ONES, argnums="x"), TypeError, "argnums is an int or a tuple of ints"),
        (lambda: np.attribute(total, ONES, ONES, argnums=(0, 0)), ValueError, "names each input once"),
        (lambda: np.attribute(total, ONES, ONES, baseline=(0.0,)), ValueError, "baseline has 1 items for 2 arrays"),
        (lambda: np.attribute(total, {"a": ONES}, baseline={"b": 0.0}), ValueError, r"baseline has the keys \['b'\]"),
        (lambda: np.attribute(total, {}), ValueError, "hold no array"),
        (lambda: np.attribute(total, ONES, axis=0, groups=[0, 1]), ValueError, "attribute: axis and groups exclude"),
        (lambda: np.attribute(total, ONES, labels="abc"), ValueError, "attribute: 2 components need as many labels"),
        (lambda: np.attribute(total, np.arange(2)), TypeError, "attribute: contributions are real numbers"),
        (lambda: np.attribute(lambda a: {"y": a}, ONES), TypeError, "returned a dict: choose one"),
        (lambda: np.attribute(lambda a: {"y": a}, ONES, output="z"), ValueError, "without 'z'.*y"),
        (lambda: np.attribute(lambda a: a, ONES, method="path"), ValueError, r"shape \(2,\): choose one"),
        (lambda: np.attribute(total, ONES, method="path", batched=True), ValueError, "has to return as many outputs"),
        (lambda: np.attribute(lambda a: 1.0, ONES, method="occlusion"), TypeError, "returned float"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("call", ["forward", "reverse", "layer", "paths", "graph", "rows", "blurred"])
def test_what_is_computed_stays_on_the_device_of_the_inputs(call):
    """As on a GPU beside the processor: what is made without a word about its device lands on one without numbers."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    x, many = torch.randn(3), torch.randn(6, 3)
    start, starts = torch.zeros(3), torch.zeros(6, 3)

    def f(x):
        jumps = (x > 0.1).sum() * x.max() + torch.where(x > 0, x, 2 * x).std()
        return jumps + x.softmax(-1)[0] * x.exp().mean() + net(x)[0] + (x @ torch.outer(x, x)).sum()

    calls = {
        "forward": lambda: np.attribute(f, x, baseline=start, mode="forward", chunk_size=2),
        "reverse": lambda: np.attribute(f, x, baseline=start),
        "layer": lambda: np.attribute(net, x, baseline=start, at="2"),
        "paths": lambda: np.attribute(net, x, baseline=start, at="2", paths=True),
        "graph": lambda: np.attribute(f, x, baseline=start, create_graph=True),
        "rows": lambda: next(np.attribution.attribute_rows(net, many, baseline=starts)),
        "blurred": lambda: (np.attribution.blurred(many, 1.0),) * 3,
    }
    want = [part.detach() for part in calls[call]()]
    with torch.device("meta"):
        found = [part.detach() for part in calls[call]()]
    assert all(torch.equal(a, b) for a, b in zip(found, want, strict=True))
