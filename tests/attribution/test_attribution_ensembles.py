"""Shapley values of fitted ensembles of trees: by SHAP, by plain loops over coalitions, and beside those of the law."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction

import numpy
import pytest

import npdec as np
import tree_paths
from npdec.explain.estimators import translated
from npdec.explain.transformers import Columns, Raw

pytest.importorskip("sklearn")

from sklearn import ensemble, tree

DRAW = numpy.random.default_rng(0)
ROWS = DRAW.normal(size=(80, 5))
NUMBER = ROWS[:, 0] * ROWS[:, 1] + numpy.sin(ROWS[:, 2]) + (ROWS[:, 3] > 0)
SOME = {"n_estimators": 6, "random_state": 0}
MODELS = [
    (tree.DecisionTreeRegressor(max_depth=5, random_state=0), "predict", None),
    (ensemble.RandomForestRegressor(**SOME), "predict", None),
    (ensemble.ExtraTreesRegressor(max_depth=4, **SOME), "predict", None),
    (ensemble.GradientBoostingRegressor(**SOME), "predict", None),
    (ensemble.HistGradientBoostingRegressor(max_iter=6), "predict", None),
    (ensemble.RandomForestClassifier(**SOME), "predict_proba", 1),
    (ensemble.GradientBoostingClassifier(**SOME), "decision_function", None),
]


def fitted(model, method):
    return model.fit(ROWS, NUMBER if method == "predict" else (NUMBER > 0.5).astype(int))


def by_coalitions(f, x, background):
    """The interventional Shapley values, by all subsets and plain loops."""
    n = len(x)
    worth = {}
    for members in itertools.product([False, True], repeat=n):
        mixed = numpy.where(members, x, background)
        worth[members] = f(mixed).mean()
    shares = []
    for i in range(n):
        total = 0.0
        for members, value in worth.items():
            if members[i]:
                size = sum(members) - 1
                weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
                total += weight * (value - worth[(*members[:i], False, *members[i + 1 :])])
        shares.append(total)
    return numpy.array(shares)


@pytest.mark.slow  # SHAP is loaded
@pytest.mark.parametrize(("model", "method", "output"), MODELS, ids=[type(m).__name__ for m, *_ in MODELS])
def test_of_trees_and_of_coalitions_are_the_same(model, method, output):
    pytest.importorskip("shap")
    call = getattr(fitted(model, method), method)
    plain = call if output is None else lambda rows: call(rows)[:, output]
    for row in range(3):
        x, background = ROWS[row], ROWS[10:18]
        made = np.attribute(
            call, np.array(x), baselines=np.array(background), method="shapley", batched=True, output=output
        )
        wanted = by_coalitions(plain, x, background)
        size = max(1.0, abs(plain(background)).max())
        assert made.value.item() == pytest.approx(plain(x[None])[0], rel=1e-12)
        assert made.residual.item() == pytest.approx(plain(background).mean(), rel=1e-12)
        assert (
            abs(numpy.asarray(made.attribution) - wanted).max() <= 1e-6 * size
        )  # SHAP's trees are of single precision
        every = np.attribute(
            call,
            np.array(x),
            baselines=np.array(background),
            method="shapley",
            batched=True,
            output=output,
            samples="all",
        )
        assert abs(numpy.asarray(every.attribution) - wanted).max() <= 1e-12 * size


@pytest.mark.slow
def test_it_is_shap_that_is_asked(monkeypatch):
    shap = pytest.importorskip("shap")
    asked = []
    explainer = shap.TreeExplainer
    monkeypatch.setattr(shap, "TreeExplainer", lambda *args, **kwargs: asked.append(args) or explainer(*args, **kwargs))
    wide = DRAW.normal(size=(60, 30))
    forest = ensemble.RandomForestRegressor(5, random_state=0).fit(wide, wide[:, 0] * wide[:, 7])
    made = np.attribute(forest.predict, np.array(wide[0]), baseline=np.array(wide[1]), method="shapley", batched=True)
    assert len(asked) == 1
    assert abs(float(made.error)) <= 1e-6  # 2**30 coalitions were not tried
    np.attribute(forest.predict, np.array(wide[0]), method="shapley", batched=True, samples=2)
    assert len(asked) == 1


@pytest.mark.slow
def test_without_shap_coalitions_are_tried(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    call = fitted(ensemble.RandomForestRegressor(**SOME), "predict").predict
    made = np.attribute(call, np.array(ROWS[0]), baseline=np.array(ROWS[1]), method="shapley", batched=True)
    assert numpy.asarray(made.attribution) == pytest.approx(by_coalitions(call, ROWS[0], ROWS[1:2]), abs=1e-12)


def leaves_of(forest):
    """The leaves of all trees by exact fractions, each tree with its part of the mean, and whether a way asks for a
    column twice."""
    found, twice = [], False
    for one in forest.estimators_:
        t = one.tree_
        todo = [(0, ())]
        while todo:
            node, way = todo.pop()
            if t.children_left[node] < 0:
                value = Fraction(float(t.value[node].item())) / len(forest.estimators_)
                found.append(tree_paths.Leaf(value, way))
                twice |= len({feature for feature, *_ in way}) < len(way)
                continue
            step = int(t.feature[node]), Fraction(float(t.threshold[node]))
            todo += [(t.children_left[node], (*way, (*step, True))), (t.children_right[node], (*way, (*step, False)))]
    return found, twice


@pytest.mark.slow
def test_the_law_agrees_where_no_way_asks_for_a_column_twice():
    """Each leaf is a product of comparisons, whose Shapley values the law gives. Where a column is compared twice on
    the way, each of its comparisons is one of the factors, while coalitions know the column alone; both add up."""
    same = differ = 0
    for depth, columns, seed in ((1, 3, 0), (2, 5, 1), (2, 5, 2), (2, 5, 3), (6, 3, 4)):
        forest = ensemble.RandomForestRegressor(3, max_depth=depth, random_state=seed)
        forest.fit(ROWS[:, :columns], NUMBER)
        leaves, twice = leaves_of(forest)
        f = translated(forest, "predict", Raw(tuple(range(columns)), Columns(None, columns)))
        for row in range(8):
            x, r = ROWS[row, :columns], ROWS[30 + row, :columns]
            law = np.attribute(lambda v, f=f: f(v)[0], np.array(x), baseline=np.array(r)).attribution
            wanted = [float(share) for share in tree_paths.by_products(leaves, x.tolist(), r.tolist())]
            assert law.tolist() == pytest.approx(wanted, abs=1e-12)
            coalitions = by_coalitions(forest.predict, x, r[None])
            assert law.sum().item() == pytest.approx(coalitions.sum(), abs=1e-12)
            if not twice:
                assert law.tolist() == pytest.approx(coalitions.tolist(), abs=1e-12)
            same += not twice
            differ += not numpy.allclose(numpy.asarray(law), coalitions, atol=1e-9)
    assert same
    assert differ


@pytest.mark.slow
def test_the_law_beside_shaps_trees():
    """What SHAP's TreeExplainer says of a forest is what the law does where no way asks for a column twice. Elsewhere
    they differ by that: SHAP's are Shapley values of columns, and the law's those of the comparisons, added up."""
    shap = pytest.importorskip("shap")
    for depth, columns, alike in ((1, 5, True), (3, 3, False)):
        forest = ensemble.RandomForestRegressor(3, max_depth=depth, random_state=0).fit(ROWS[:, :columns], NUMBER)
        leaves, twice = leaves_of(forest)
        assert twice != alike
        f = translated(forest, "predict", Raw(tuple(range(columns)), Columns(None, columns)))
        apart = 0.0
        for row in range(8):
            x, r = ROWS[row, :columns], ROWS[30 + row, :columns]
            found = np.attribute(lambda v, f=f: f(v)[0], np.array(x), baseline=np.array(r))
            law = numpy.asarray(found.attribution)
            explainer = shap.TreeExplainer(forest, r[None], feature_perturbation="interventional")
            theirs = explainer.shap_values(x[None])[0]
            assert abs(found.error) < 1e-12
            assert theirs.sum() == pytest.approx(law.sum(), abs=1e-6)  # in single precision
            wanted = [float(share) for share in tree_paths.by_products(leaves, x.tolist(), r.tolist())]
            explained = numpy.array(wanted) - by_coalitions(forest.predict, x, r[None])
            assert law - theirs == pytest.approx(explained, abs=1e-6)
            apart = max(apart, abs(explained).max())
        assert (apart < 1e-12) == alike


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["InvalidModelError", "ExplainerError"])
def test_what_shap_refuses_goes_by_coalitions(monkeypatch, kind):
    shap = pytest.importorskip("shap")
    call = fitted(ensemble.RandomForestRegressor(**SOME), "predict").predict
    given = {"baseline": np.array(ROWS[1]), "method": "shapley", "batched": True}
    expected = np.attribute(call, np.array(ROWS[0]), **given)

    def refusing(error):
        def explainer(*args, **kwargs):
            raise error

        monkeypatch.setattr(shap, "TreeExplainer", explainer)

    refusing(getattr(shap.utils._exceptions, kind)("no"))
    made = np.attribute(call, np.array(ROWS[0]), **given)
    numpy.testing.assert_allclose(made.attribution, expected.attribution, atol=1e-6)  # SHAP computes in float32
    refusing(ZeroDivisionError("a fault"))
    with pytest.raises(ZeroDivisionError, match="a fault"):
        np.attribute(call, np.array(ROWS[0]), **given)
