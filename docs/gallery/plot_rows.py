"""
All rows at once
================

This explains gradient boosting, with its trees written as thresholds on arrays, for all 442 rows of the diabetes data
in one pass. Each point is the contribution of one column to one row's prediction, coloured by the column's value."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

import npdec as np

data, target = load_diabetes(return_X_y=True)
names = load_diabetes().feature_names
fitted = GradientBoostingRegressor(n_estimators=40, max_depth=2, random_state=0).fit(data, target)


def predict(x):
    """Predictions of the trees for the rows of x, with conditions as arrays."""
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

y.plot.beeswarm(data, title="Predictions for 442 patients", unit="points")
plt.show()

# %%
# How the contribution of one column depends on the column, coloured by another:

y.plot.scatter("bmi", data, color="s5", unit="points")
plt.show()

# %%
# A notebook shows the numbers as a table:

y
