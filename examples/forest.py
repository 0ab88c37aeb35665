"""A random forest and gradient boosting, fitted by scikit-learn and evaluated by plain NumPy, that predict how far
diabetes progresses in a year.

    python -m npdec explain examples/forest.py:forest --data examples/diabetes.csv --row 0 --baseline mean
    python -m npdec explain examples/forest.py:boosting --data examples/diabetes.csv --row 0 --baseline mean

A tree is a sum over its leaves: the leaf's value where all comparisons on the way to it hold. Each comparison says
which column moved the patient across its threshold, and the products of them share what depends on several.

`python examples/forest.py` fits both anew on the data of `diabetes.csv` (see diabetes.py) and writes
`forest_trees.json` beside this file; it needs scikit-learn. `forest` and `boosting` need NumPy only, and that file.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np

TREES = Path(__file__).with_name("forest_trees.json")


@cache
def load():
    """The fitted trees as arrays."""
    models = json.loads(TREES.read_text())
    return {name: {key: np.array(value) for key, value in model.items()} for name, model in models.items()}


def evaluate(model, x):
    """The sum of all leaves that x lies in; x of shape (..., 10).

    Split s asks whether x[feature[s]] <= threshold[s]. Leaf l is reached where the `path[l]` hold: s stands for a split
    that holds, s + (number of splits) for one that does not, and the last number for what always holds.
    """
    holds = x[..., model["feature"]] <= model["threshold"]
    always = np.ones((*holds.shape[:-1], 1), dtype=bool)
    sides = np.concatenate([holds, ~holds, always], axis=-1)
    reached = np.all(sides[..., model["path"]], axis=-1)
    return model["start"] + np.sum(reached * model["value"], axis=-1)


def forest(row):
    """The mean of the trees of a random forest, for one patient or several."""
    return evaluate(load()["forest"], row)


def boosting(row):
    """The sum of the trees that gradient boosting has fitted one after the other, for one patient or several."""
    return evaluate(load()["boosting"], row)


# Fitting, by scikit-learn.


def threshold(split):
    """What a float64 has to stay below where scikit-learn compares it, rounded to float32, with this."""
    low = np.float32(split)
    low = low if low <= split else np.nextafter(low, np.float32(-np.inf))
    return (float(low) + float(np.nextafter(low, np.float32(np.inf)))) / 2


def leaves(tree):
    """The leaves of a fitted tree: for each its value, and the splits on the way there, with whether they hold."""
    found, todo = [], [(0, [])]
    while todo:
        node, way = todo.pop()
        if tree.children_left[node] < 0:
            found.append((float(tree.value[node].item()), way))
            continue
        todo.append((tree.children_left[node], [*way, (node, True)]))
        todo.append((tree.children_right[node], [*way, (node, False)]))
    return found


def written_out(trees, start, weight):
    """The trees, each times the weight, as `evaluate` wants them."""
    split_of = {}  # the splits of all trees, each distinct one once
    flat = []
    for tree in trees:
        for value, way in leaves(tree):
            splits = [(int(tree.feature[node]), threshold(tree.threshold[node])) for node, _ in way]
            steps = [(split_of.setdefault(split, len(split_of)), holds) for split, (_, holds) in zip(splits, way)]
            flat.append((value * weight, steps))
    count, depth = len(split_of), max(len(steps) for _, steps in flat)
    paths = [[split + (0 if holds else count) for split, holds in steps] for _, steps in flat]
    return {
        "start": start,
        "feature": [feature for feature, _ in split_of],
        "threshold": [place for _, place in split_of],
        "path": [path + [2 * count] * (depth - len(path)) for path in paths],
        "value": [value for value, _ in flat],
    }


def main():
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

    x, y = load_diabetes(return_X_y=True, scaled=False)
    order = np.random.default_rng(0).permutation(len(y))
    held_out, train = order[:110], order[110:]
    trees = RandomForestRegressor(30, max_depth=4, min_samples_leaf=5, max_features=0.5, random_state=0)
    boosted = GradientBoostingRegressor(n_estimators=60, max_depth=2, learning_rate=0.08, random_state=0)
    for model in (trees, boosted):
        model.fit(x[train], y[train])

    steps = [step.tree_ for step in boosted.estimators_[:, 0]]
    models = {
        "forest": written_out([tree.tree_ for tree in trees.estimators_], 0.0, 1 / len(trees.estimators_)),
        "boosting": written_out(steps, float(boosted.init_.constant_.item()), boosted.learning_rate),
    }
    TREES.write_text(json.dumps(models) + "\n")
    load.cache_clear()
    for function, model in ((forest, trees), (boosting, boosted)):
        error = np.abs(function(x) - model.predict(x)).max()
        train_r2, held_out_r2 = (model.score(x[rows], y[rows]) for rows in (train, held_out))
        print(
            f"{function.__name__}: R2 {train_r2:.3f} on training patients, {held_out_r2:.3f} on held-out ones;", end=" "
        )
        print(f"scikit-learn's predictions to {error:.0e}")


if __name__ == "__main__":
    main()
