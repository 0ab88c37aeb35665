"""The trees of examples/forest.py: what scikit-learn fitted, and contributions to them against plain loops."""

from __future__ import annotations

import csv
import itertools
import json
import random
from fractions import Fraction

import numpy
import pytest

import npdec as np
import tree_paths
from explain_cases import EXAMPLES, results
from npdec.explain.loader import Script

MODELS = json.loads((EXAMPLES / "forest_trees.json").read_text())
PATIENTS = numpy.loadtxt(EXAMPLES / "diabetes.csv", delimiter=",", skiprows=1)
MEAN = PATIENTS.mean(0).tolist()
NAMES = ["forest", "boosting"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def arguments(name: str, rows: str, baseline: str) -> list[str]:
    data = str(EXAMPLES / "diabetes.csv")
    return ["explain", f"{EXAMPLES / 'forest.py'}:{name}", "--data", data, "--row", rows, "--baseline", baseline]


# -- the reference itself ----------------------------------------------------------------------------------------------


def random_trees(draw: random.Random, columns: int, depth: int) -> list[tree_paths.Leaf]:
    leaves = []
    for _ in range(3):
        ways: list[tuple[tuple[int, Fraction, bool], ...]] = [()]
        for _ in range(depth):
            grown = []
            for way in ways:
                split = draw.randrange(columns), Fraction(draw.randrange(-3, 4))
                grown += [(*way, (*split, side)) for side in (True, False)]
            ways = grown
        leaves += [tree_paths.Leaf(Fraction(draw.randrange(-9, 10)), way) for way in ways]
    return leaves


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_references_add_up(depth):
    """To f(x) − f(baseline), exactly; along the line, as a sum of small steps has it; and as one where a tree has one
    column."""
    draw = random.Random(depth)
    for _ in range(30):
        leaves = random_trees(draw, 3, depth)
        x, r = ([draw.randrange(-8, 9) / 2 for _ in range(3)] for _ in range(2))
        change = tree_paths.value_at(leaves, x) - tree_paths.value_at(leaves, r)
        crossings, products = (f(leaves, x, r) for f in (tree_paths.by_crossings, tree_paths.by_products))
        assert sum(crossings) == sum(products) == change
        if depth == 1:
            assert crossings == products


def test_crossings_are_steps_along_the_line():
    """Where no two columns cross at once, small steps change one column's side at a time."""
    draw = random.Random(5)
    for _ in range(10):
        leaves = random_trees(draw, 3, 3)
        x, r = ([draw.uniform(-4, 4) for _ in range(3)] for _ in range(2))
        shares = [Fraction(0)] * 3
        steps = 400
        points = [[a + (b - a) * k / steps for a, b in zip(r, x, strict=True)] for k in range(steps + 1)]
        for before, after in itertools.pairwise(points):
            moved = tree_paths.value_at(leaves, after) - tree_paths.value_at(leaves, before)
            if moved:
                mixed = [[*after[: i + 1], *before[i + 1 :]] for i in range(3)]
                levels = [tree_paths.value_at(leaves, point) for point in (before, *mixed)]
                alone = [i for i in range(3) if levels[i + 1] != levels[i]]
                assert len(alone) == 1, "two columns crossed within a step; take more steps"
                shares[alone[0]] += moved
        assert shares == tree_paths.by_crossings(leaves, x, r)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_products_have_their_shapley_values(count):
    for starts in itertools.product([False, True], repeat=count):
        for ends in itertools.product([False, True], repeat=count):
            shares = [
                (ends[i] - starts[i]) * tree_paths.integral([(starts[j], ends[j]) for j in range(count) if j != i])
                for i in range(count)
            ]
            assert shares == tree_paths.shapley_of_product(starts, ends)


# -- the models --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_values_are_the_trees(name):
    leaves = tree_paths.leaves_of(MODELS[name])
    start = MODELS[name]["start"]
    with Script(EXAMPLES / "forest.py") as script:
        made = script.find(name)(np.array(PATIENTS))
        rows = [script.find(name)(np.array(row)).item() for row in PATIENTS[::40]]
    wanted = [start + float(tree_paths.value_at(leaves, row)) for row in PATIENTS[::40].tolist()]
    assert made[::40].tolist() == pytest.approx(wanted, rel=1e-13)
    assert rows == pytest.approx(wanted, rel=1e-13)


@pytest.mark.slow
def test_they_are_what_scikit_learn_fits(tmp_path):
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

    x, y = load_diabetes(return_X_y=True, scaled=False)
    train = numpy.random.default_rng(0).permutation(len(y))[110:]
    fitted = {
        "forest": RandomForestRegressor(30, max_depth=4, min_samples_leaf=5, max_features=0.5, random_state=0),
        "boosting": GradientBoostingRegressor(n_estimators=60, max_depth=2, learning_rate=0.08, random_state=0),
    }
    with Script(EXAMPLES / "forest.py") as script:
        for name, model in fitted.items():
            made = script.find(name)(np.array(x))
            assert made.tolist() == pytest.approx(model.fit(x[train], y[train]).predict(x).tolist(), rel=1e-12)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", NAMES)
def test_contributions_are_those_of_the_law(name, mode):
    """Each comparison is its column's, each leaf the product of those on the way there: exactly, by fractions."""
    leaves = tree_paths.leaves_of(MODELS[name])
    for baseline, start in (("mean", MEAN), ("17", PATIENTS[17].tolist())):
        for row in results(*arguments(name, "0,5,100:104", baseline), "--mode", mode)["rows"]:
            wanted = tree_paths.by_products(leaves, PATIENTS[row["row"]].tolist(), start)
            found = {line["column"]: line["contribution"] for line in row["contributions"]}
            with (EXAMPLES / "diabetes.csv").open() as lines:
                columns = next(csv.reader(lines))
            assert [found[column] for column in columns] == pytest.approx([float(w) for w in wanted], abs=1e-12)
            assert row["completeness_error"]["relative"] <= 1e-12
            assert row["not_attributed"] == 0
            assert row["residual"] == row["baseline_value"]


def test_stumps_have_their_path_integral():
    """Trees of one comparison: what the law gives is the path integral of the whole sum."""
    from sklearn.ensemble import GradientBoostingRegressor

    y = PATIENTS @ numpy.linspace(-1, 1, 10) + 3 * (PATIENTS[:, 2] > 25)
    boosted = GradientBoostingRegressor(n_estimators=80, max_depth=1, random_state=0).fit(PATIENTS, y)
    with Script(EXAMPLES / "forest.py") as script:
        trees = [step.tree_ for step in boosted.estimators_[:, 0]]
        model = script.find("written_out")(trees, float(boosted.init_.constant_.item()), boosted.learning_rate)
        leaves = tree_paths.leaves_of(model)
        arrays = {name: np.array(value) for name, value in model.items()}
        for row in (0, 5, 300):
            x = PATIENTS[row].tolist()
            made = np.attribute(lambda v: script.find("evaluate")(arrays, v), np.array(x), baseline=np.array(MEAN))
            wanted = [float(share) for share in tree_paths.by_crossings(leaves, x, MEAN)]
            assert made.attribution.tolist() == pytest.approx(wanted, abs=1e-12)
            assert made.value.item() == pytest.approx(boosted.predict([x]).item(), rel=1e-13)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_trees_that_are_nested_choices(depth):
    """`np.where` from the leaves up, as people write trees, adds up as well; of one comparison it has the integral."""
    draw = random.Random(depth)

    def tree(level):
        if not level:
            return draw.randrange(-9, 10)
        return draw.randrange(3), draw.randrange(-3, 4), tree(level - 1), tree(level - 1)

    def evaluate(node, x):
        if isinstance(node, int):
            return float(node)
        column, threshold, left, right = node
        return np.where(x[column] <= threshold, evaluate(left, x), evaluate(right, x))

    def leaves(node, way=()):
        if isinstance(node, int):
            return [tree_paths.Leaf(Fraction(node), way)]
        column, threshold, left, right = node
        split = column, Fraction(threshold)
        return leaves(left, (*way, (*split, True))) + leaves(right, (*way, (*split, False)))

    for _ in range(20):
        made = tree(depth)
        x, r = ([draw.uniform(-4, 4) for _ in range(3)] for _ in range(2))
        found = np.attribute(lambda v, made=made: evaluate(made, v), np.array(x), baseline=np.array(r))
        change = tree_paths.value_at(leaves(made), x) - tree_paths.value_at(leaves(made), r)
        assert found.residual.item() == float(tree_paths.value_at(leaves(made), r))
        assert found.attribution.sum().item() == pytest.approx(float(change), abs=1e-12)
        if depth == 1:
            wanted = tree_paths.by_crossings(leaves(made), x, r)
            assert found.attribution.tolist() == pytest.approx([float(w) for w in wanted], abs=1e-12)
