"""A neural network in plain NumPy that predicts how far diabetes progresses in a year, fitted to real data.

    python -m npdec explain examples/diabetes.py:predict --data examples/diabetes.csv --row 0 --baseline mean

The data are the 442 patients of Efron, Hastie, Johnstone and Tibshirani, "Least Angle Regression" (Annals of Statistics
32, 2004), which scikit-learn bundles: age, sex, body mass index, mean arterial pressure and six blood serum
measurements. The target is a measure of disease progression one year later, from 25 to 346.

`python examples/diabetes.py` fits the network anew and writes `diabetes.csv` and `diabetes_weights.json` beside this
file; it needs scikit-learn for the data. `predict` needs NumPy only, and those files.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np

DATA = Path(__file__).with_name("diabetes.csv")
WEIGHTS = Path(__file__).with_name("diabetes_weights.json")

# scikit-learn's s1 to s6, by the names that its description gives them.
COLUMNS = "age sex bmi blood_pressure cholesterol ldl hdl chol_hdl_ratio log_triglycerides glucose".split()
HIDDEN = 6
MEMBERS = 5


def forward(weights, x):
    """The mean of a few networks: standardised inputs, a tanh hidden layer, a linear output; x of shape (..., 10)."""
    z = (x - weights["mean"]) / weights["scale"]
    outputs = [np.tanh(z @ m["w1"] + m["b1"]) @ m["w2"] + m["b2"] for m in weights["members"]]
    return weights["y_mean"] + weights["y_scale"] * sum(outputs) / len(outputs)


@cache
def load():
    """The fitted weights as arrays."""
    weights = json.loads(WEIGHTS.read_text())
    arrays = {name: np.array(weights[name]) for name in ("mean", "scale", "y_mean", "y_scale")}
    members = [{name: np.array(value) for name, value in member.items()} for member in weights["members"]]
    return {**arrays, "members": members}


def predict(row):
    """The predicted progression of one patient, from the ten columns of diabetes.csv."""
    return forward(load(), row)


# Fitting, in float64 and by hand: gradients of the squared error with weight decay, and Adam.


def fit_member(z, t, rng, decay, steps=1500, rate=0.01):
    """Fit one network to standardised inputs z (n, 10) and targets t (n,)."""
    member = {
        "w1": rng.normal(size=(z.shape[1], HIDDEN)) / np.sqrt(z.shape[1]),
        "b1": np.zeros(HIDDEN),
        "w2": rng.normal(size=HIDDEN) / np.sqrt(HIDDEN),
        "b2": np.zeros(()),
    }
    first = {name: np.zeros_like(w) for name, w in member.items()}
    second = {name: np.zeros_like(w) for name, w in member.items()}
    for step in range(1, steps + 1):
        hidden = np.tanh(z @ member["w1"] + member["b1"])
        error = (hidden @ member["w2"] + member["b2"] - t) / len(t)
        back = error[:, None] * member["w2"] * (1 - hidden**2)
        gradient = {
            "w1": z.T @ back + decay * member["w1"],
            "b1": back.sum(0),
            "w2": hidden.T @ error + decay * member["w2"],
            "b2": error.sum(),
        }
        for name, g in gradient.items():
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.999 * second[name] + 0.001 * g**2
            size = np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8
            member[name] = member[name] - rate * first[name] / (1 - 0.9**step) / size
    return member


def fit(x, y, decay, seed=0):
    """Fit the networks from several random starts; x (n, 10), y (n,)."""
    rng = np.random.default_rng(seed)
    weights = {"mean": x.mean(0), "scale": x.std(0), "y_mean": y.mean(), "y_scale": y.std()}
    z, t = (x - weights["mean"]) / weights["scale"], (y - weights["y_mean"]) / weights["y_scale"]
    return {**weights, "members": [fit_member(z, t, rng, decay) for _ in range(MEMBERS)]}


def r2(weights, x, y):
    """The share of the variance of y that the network explains."""
    return 1 - ((y - forward(weights, x)) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def main():
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True, scaled=False)
    order = np.random.default_rng(0).permutation(len(y))
    held_out, train = order[:110], order[110:]

    # The weight decay is chosen by 4-fold cross-validation on the training patients; the held-out judge at the end.
    folds = np.array_split(train, 4)
    scores = {}
    for decay in (0.003, 0.01, 0.03, 0.1):
        parts = [(np.setdiff1d(train, fold), fold) for fold in folds]
        scores[decay] = float(np.mean([r2(fit(x[a], y[a], decay), x[b], y[b]) for a, b in parts]))
    decay = max(scores, key=scores.get)
    weights = fit(x[train], y[train], decay)

    ones = np.ones((len(y), 1))
    design = np.concatenate([x, ones], axis=1)
    slopes = np.linalg.lstsq(design[train], y[train], rcond=None)[0]
    straight = 1 - ((y - design @ slopes)[held_out] ** 2).sum() / ((y[held_out] - y[held_out].mean()) ** 2).sum()
    print(f"weight decay {decay}, cross-validated R2 {scores[decay]:.3f}")
    print(f"R2 on {len(train)} training patients  {r2(weights, x[train], y[train]):.3f}")
    print(f"R2 on {len(held_out)} held-out patients {r2(weights, x[held_out], y[held_out]):.3f}")
    print(f"R2 of a linear regression there {straight:.3f}")

    lines = [",".join(COLUMNS), *(",".join(f"{cell:.10g}" for cell in row) for row in x)]
    DATA.write_text("\n".join(lines) + "\n")
    members = [{name: np.round(w, 6).tolist() for name, w in member.items()} for member in weights["members"]]
    plain = {name: np.round(weights[name], 6).tolist() for name in ("mean", "scale", "y_mean", "y_scale")}
    WEIGHTS.write_text(json.dumps({**plain, "members": members}) + "\n")


if __name__ == "__main__":
    main()
