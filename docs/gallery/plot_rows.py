"""
All rows at once
================

Gradient boosting, its trees written as arrays and thresholds, for all 442 rows of the diabetes data in one pass: each
point is one row's contribution of one column, its colour the value of the column.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

import npdec as np

data, target = load_diabetes(return_X_y=True)
names = load_diabetes().feature_names
fitted = GradientBoostingRegressor(n_estimators=40, max_depth=2, random_state=0).fit(data, target)


def predict(x):
    """What the trees of depth two say of the rows of x, with conditions as arrays."""
    total = np.full(x.shape[0], fitted.init_.constant_[0, 0])
    for (estimator,) in fitted.estimators_:
        tree = estimator.tree_

        def node(i, tree=tree):
            if tree.children_left[i] < 0:
                return tree.value[i, 0, 0]
            # scikit-learn compares in single precision
            low = x[:, int(tree.feature[i])].astype(np.float32) <= tree.threshold[i]
            return np.where(low, node(tree.children_left[i]), node(tree.children_right[i]))

        total = total + 0.1 * node(0)
    return total


x = np.decompose(np.array(data), axis=1, baseline=data.mean(axis=0), labels=names)
y = predict(x)
print("as scikit-learn:", bool(np.allclose(y.value, fitted.predict(data))))
print("off by at most", float(np.abs(np.completeness(y)).max()))

order = np.argsort(np.abs(y.components).mean(axis=1))
rng = np.random.default_rng(0)
figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for place, i in enumerate(int(i) for i in order):
    shade = np.argsort(np.argsort(np.array(data[:, i]))) / len(data)
    dots = axes.scatter(
        y.components[i], place + 0.12 * rng.standard_normal(len(data)), c=shade, s=6, cmap="cividis", linewidths=0
    )
axes.set_yticks(range(len(names)), [names[int(i)] for i in order])
axes.axvline(0, color="0.4", linewidth=0.8)
axes.set_xlabel("contribution, from the mean of the data")
figure.colorbar(dots, ax=axes, label="value of the column, from low to high", ticks=[])
plt.show()
