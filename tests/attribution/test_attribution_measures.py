"""Measures of attributions beside Captum's, SciPy's correlations, and cases of which the answer is known."""

from __future__ import annotations

import itertools
import math
import warnings

import captum.metrics
import numpy
import pytest
import scipy.stats
import torch
from torch import nn

import npdec as np

F64 = torch.float64


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 1)).double()


def point(seed=1, rows=()):
    source = torch.Generator().manual_seed(seed)
    return torch.randn(*rows, 5, generator=source, dtype=F64)


# -- infidelity and sensitivity ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("batched", [False, True])
def test_infidelity_is_captums(batched):
    net, x, base = network(), point(1), point(2)
    taken = torch.rand(20, 5, generator=torch.Generator().manual_seed(3), dtype=F64)
    for method in ("local", "path", "occlusion", "input_x_gradient"):
        shares = np.attribute(net, x, baseline=base, method=method).attribution

        def perturbed(inputs):
            return taken, inputs - taken * (x - base)

        want = captum.metrics.infidelity(
            lambda rows: net(rows)[:, 0], perturbed, x[None], shares[None], n_perturb_samples=20, normalize=False
        )
        f = (lambda rows: net(rows)[:, 0]) if batched else (lambda row: net(row)[0])
        found = np.testing.infidelity(f, x, base, shares, parts=taken, batched=batched)
        assert found == pytest.approx(float(want), rel=1e-9)


def test_infidelity_of_all_subsets_by_hand():
    def f(x):
        return x[..., 0] * x[..., 1] + x[..., 2]

    x, shares = np.array([3.0, 2.0, 1.0]), numpy.array([4.0, 1.0, 2.0])
    parts = numpy.array(list(itertools.product([0.0, 1.0], repeat=3)))
    want = numpy.mean([(p @ shares - (7 - f(numpy.asarray(x) * (1 - p)))) ** 2 for p in parts])
    assert np.testing.infidelity(f, x, 0.0, shares, parts=parts, batched=True) == pytest.approx(want)
    drawn = np.testing.infidelity(f, x, 0.0, shares, samples=4000, batched=True)
    assert drawn == pytest.approx(want, rel=0.1)
    assert drawn == np.testing.infidelity(f, x, 0.0, shares, samples=4000)
    whole = np.testing.faithfulness(f, x, 0.0, shares, samples=4000, batched=True).infidelity
    assert whole == pytest.approx(want, rel=0.1)
    for wrong, said in ((numpy.ones((2, 2)), "parts of shape"), (numpy.ones((0, 3)), "parts of shape")):
        with pytest.raises(ValueError, match=said):
            np.testing.infidelity(f, x, 0.0, shares, parts=wrong)


def test_max_sensitivity_is_captums():
    net, x = network(), point(1)
    moves = 0.1 * point(4, (6,))

    def attribute(x):
        return np.attribute(net, x, method="input_x_gradient").attribution

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = captum.metrics.sensitivity_max(
            lambda inputs: (torch.stack([attribute(row) for row in inputs[0]]),),
            (x[None],),
            perturb_func=lambda inputs, radius: (x + moves,),
            n_perturb_samples=6,
        )
    found = np.testing.max_sensitivity(attribute, x, moves=moves)
    assert found == pytest.approx(float(want), rel=1e-9)
    assert (
        np.testing.max_sensitivity(lambda x: x, np.array([0.0, 3.0, 4.0]), radius=0.5, samples=200) <= 0.5 * 3**0.5 / 5
    )
    assert np.testing.max_sensitivity(lambda x: x, np.array([3.0, 4.0]), radius=0.5, samples=200) > 0.5 / 5
    assert math.isnan(np.testing.max_sensitivity(lambda x: 0 * x, np.ones(2)))
    with pytest.raises(ValueError, match="moves of shape"):
        np.testing.max_sensitivity(lambda x: x, np.ones(2), moves=numpy.ones((3, 3)))


# -- randomisation -----------------------------------------------------------------------------------------------------


def test_randomization_goes_from_the_output_down_and_leaves_the_network_alone():
    net, x = network(), point(1)
    before = [parameter.clone() for parameter in net.parameters()]
    seen = []

    def attribute(given):
        seen.append([parameter.detach().clone() for parameter in given.parameters()])
        return np.attribute(given, x)

    found = np.testing.randomization(net, attribute)
    assert found.modules == ("2", "0")
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), before, strict=True))
    same = [[torch.equal(a, b) for a, b in zip(one, before, strict=True)] for one in seen]
    assert same == [[True] * 4, [True, True, False, True], [False] * 2 + [False, True]]  # one bias has no spread
    first = seen[0]
    again = [np.attribute(_with(net, one), x).attribution for one in seen]
    for i in (1, 2):
        for got, change in ((found.correlation, lambda a: a), (found.magnitudes, torch.abs)):
            want = scipy.stats.spearmanr(change(again[i]), change(again[0])).statistic
            assert float(got[i - 1]) == pytest.approx(want, abs=1e-12)
    alone = np.testing.randomization(net, attribute, modules=["0", "2"], cascade=False)
    assert alone.modules == ("0", "2")
    assert torch.equal(seen[-1][0], first[0])
    assert not torch.equal(seen[-2][0], first[0])
    what_ignores_it = np.testing.randomization(net, lambda net: x)
    assert what_ignores_it.correlation.tolist() == [pytest.approx(1.0)] * 2
    assert "correlation" in repr(found)
    for wrong, said in ({"modules": ["1"]}, "no modules"), ({"modules": []}, "no parameters"):
        with pytest.raises(ValueError, match=said):
            np.testing.randomization(net, attribute, **wrong)


def _with(net, parameters):
    made = network()
    with torch.no_grad():
        for own, given in zip(made.parameters(), parameters, strict=True):
            own.copy_(given)
    return made


# -- agreement ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_agreement_is_the_mean_of_scipys_correlations():
    source = numpy.random.default_rng(5)
    one = source.standard_normal((40, 2, 4))
    two = one + source.standard_normal(one.shape)
    three = numpy.round(source.standard_normal(one.shape))  # ties
    found = np.testing.agreement({"one": one, "two": np.array(two), "three": torch.as_tensor(three)})
    given = [one, two, three]
    for i, j in itertools.product(range(3), repeat=2):
        each = [scipy.stats.spearmanr(a.ravel(), b.ravel()).statistic for a, b in zip(given[i], given[j], strict=True)]
        assert float(found.mean[i, j]) == pytest.approx(numpy.mean(each), abs=1e-12)
        if i != j:
            want = scipy.stats.bootstrap((each,), numpy.mean, method="percentile", rng=1).confidence_interval
            got = float(found.low[i, j]), float(found.high[i, j])
            width = want.high - want.low
            assert got == pytest.approx((want.low, want.high), abs=0.15 * width)
    assert repr(found).splitlines()[0].split("  ")[0] == "rank correlation"


def test_agreement_of_the_largest_and_rows_without_order():
    one = numpy.array([[3.0, -2.0, 1.0, 0.0], [1.0, 2.0, 3.0, 4.0]])
    two = numpy.array([[3.0, 1.0, -2.0, 0.0], [1.0, 2.0, 3.0, 4.0]])
    assert np.testing.agreement({"a": one, "b": two}, top=2).mean.tolist() == [[1.0, 0.75], [0.75, 1.0]]
    flat = numpy.array([[1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
    assert float(np.testing.agreement({"a": one, "b": flat}).mean[0, 1]) == pytest.approx(1.0)
    for wrong, options in (({"a": one, "b": two[:1]}, {}), ({"a": one}, {"top": 5}), ({"a": one}, {"confidence": 95})):
        with pytest.raises(ValueError, match="agreement: "):
            np.testing.agreement(wrong, **options)


# -- several methods ---------------------------------------------------------------------------------------------------


def test_several_methods_in_one_table_are_each_by_itself():
    net, x, base = network(), point(1), point(2)

    def f(rows):
        return net(rows)[..., 0]

    local = np.attribute(f, x, baseline=base)
    table = np.testing.faithfulness(
        f, x, base, {"local": local, "path": lambda: np.attribute(f, x, baseline=base, method="path")}, batched=True
    )
    assert list(table) == ["local", "path"]
    alone = np.testing.faithfulness(f, x, base, local, batched=True)
    assert table["local"].deletion.tolist() == alone.deletion.tolist()
    assert (table["local"].infidelity, table["local"].shapley_distance) == (alone.infidelity, alone.shapley_distance)
    assert set(table.seconds) == {"path"}
    lines = repr(table).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["local", "path"]
    assert f"{table['path'].infidelity:.3g}" in lines[2]
    figure = table.plot()
    drawn = [line.get_ydata() for axes in figure.axes for line in axes.get_lines()]
    assert [list(line) for line in drawn] == [
        getattr(table[name], kind).tolist() for kind in ("deletion", "insertion") for name in table
    ]
    with pytest.raises(ValueError, match="no attributions to compare"):
        np.testing.faithfulness(f, x, base, {}, batched=True)


def test_what_is_wrong_in_a_measure_is_named():
    net, x = network(), point(1)
    with pytest.raises(TypeError, match=r"randomization: net is a torch module, not function"):
        np.testing.randomization(lambda x: x, lambda net: x)
    with pytest.raises(TypeError, match=r"agreement: attributions by name, a dict, not list"):
        np.testing.agreement([point(1, (4,)), point(2, (4,))])
    for radius in (-1.0, 0.0, math.nan):
        with pytest.raises(ValueError, match=r"max_sensitivity: radius is a positive number, not"):
            np.testing.max_sensitivity(lambda x: x, x, radius=radius)
    for measured in (
        lambda: np.testing.randomization(net, lambda net: None),
        lambda: np.testing.max_sensitivity(lambda x: None, x),
    ):
        with pytest.raises(TypeError, match=r": attribute\(.*\) returns an attribution or an array, not NoneType"):
            measured()
