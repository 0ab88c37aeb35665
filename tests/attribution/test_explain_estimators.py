"""`npdec explain` on estimators of scikit-learn that were saved: their predictions, explained completely."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy
import pytest

from explain_cases import EXAMPLES, make_folder, results
from npdec.__main__ import main
from tiers import turns

sklearn = pytest.importorskip("sklearn")
joblib = pytest.importorskip("joblib")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # they need not be good

from sklearn import decomposition, ensemble, linear_model, neighbors, neural_network, svm, tree  # noqa: E402
from sklearn import preprocessing as scaled  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

X = numpy.loadtxt(EXAMPLES / "diabetes.csv", delimiter=",", skiprows=1)
Y = X[:, 2] * 3 + X[:, 0] + X[:, 3] * X[:, 8] / 10
TWO = (Y > numpy.median(Y)).astype(int)
THREE = numpy.digitize(Y, numpy.quantile(Y, [0.3, 0.6]))
FEW = {"n_estimators": 8, "random_state": 0}

NETWORK = {"hidden_layer_sizes": (8, 4), "max_iter": 30, "random_state": 0}
KNOWN: list[tuple[Any, Any]] = [
    (linear_model.LinearRegression(), Y),
    (linear_model.Lasso(), Y),
    (linear_model.PoissonRegressor(max_iter=500), Y),
    (make_pipeline(scaled.StandardScaler(), linear_model.SGDRegressor(random_state=0)), Y),
    (make_pipeline(scaled.PolynomialFeatures(2), linear_model.Ridge()), Y),
    (make_pipeline(scaled.RobustScaler(), linear_model.LogisticRegression()), TWO),
    (make_pipeline(scaled.MaxAbsScaler(), linear_model.LogisticRegression()), THREE),
    (make_pipeline(scaled.StandardScaler(), svm.LinearSVC()), TWO),
    *[
        (make_pipeline(scaled.StandardScaler(), neural_network.MLPRegressor(activation=f, **NETWORK)), Y)
        for f in ("relu", "tanh", "logistic", "identity")
    ],
    (make_pipeline(scaled.StandardScaler(), neural_network.MLPClassifier(**NETWORK)), TWO),
    (make_pipeline(scaled.MinMaxScaler(), decomposition.PCA(4), neural_network.MLPClassifier(**NETWORK)), THREE),
    (tree.DecisionTreeRegressor(random_state=0), Y),
    (tree.DecisionTreeClassifier(max_depth=4, random_state=0), THREE),
    (ensemble.RandomForestRegressor(**FEW), Y),
    (ensemble.RandomForestClassifier(**FEW), TWO),
    (ensemble.ExtraTreesClassifier(max_depth=5, **FEW), THREE),
    (ensemble.GradientBoostingRegressor(**FEW), Y),
    (ensemble.GradientBoostingClassifier(**FEW), TWO),
    (ensemble.GradientBoostingClassifier(**FEW), THREE),
    (ensemble.HistGradientBoostingRegressor(max_iter=8), Y),
    (ensemble.HistGradientBoostingClassifier(max_iter=8), TWO),
    (ensemble.HistGradientBoostingClassifier(max_iter=8), THREE),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = make_folder(tmp_path, monkeypatch)
    (made / "d.csv").write_text((EXAMPLES / "diabetes.csv").read_text())
    return made


def command(*options: str, file: str = "m.joblib", row: str = "3:13") -> list[str]:
    return ["explain", file, "--data", "d.csv", "--row", row, "--baseline", "mean", *options]


def named(case: tuple[Any, Any]) -> str:
    return f"{type(case[0][-1] if hasattr(case[0], 'steps') else case[0]).__name__}-{len(set(case[1]))}"


def check(model: Any, method: str, output: int | None, file: str = "m.joblib") -> None:
    """Value and baseline are the estimator's own, and the contributions add up to the change."""
    options = [] if output is None else ["--output", str(output)]
    rows = results(*command(*options, file=file))["rows"]
    wanted = getattr(model, method)(numpy.vstack([X.mean(0), X[3:13]])).reshape(11, -1)[
        :, -1 if output is None else output
    ]
    for row, value in zip(rows, wanted[1:], strict=True):
        assert row["value"] == pytest.approx(value, rel=1e-9, abs=1e-12)
        assert row["baseline_value"] == pytest.approx(wanted[0], rel=1e-9, abs=1e-12)
        total = math.fsum(line["contribution"] for line in row["contributions"])
        assert total == pytest.approx(value - wanted[0], rel=1e-9, abs=1e-9 * abs(wanted).max())
        assert row["not_attributed"] == 0


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{i}-{named(c)}") for i, c in enumerate(turns(KNOWN, 0, 8))])
def test_estimators_are_explained_by_their_arrays(case):
    model, target = case
    joblib.dump(model.fit(X, target), "m.joblib")
    classes = 0 if target is Y else len(set(target))
    if not classes:
        check(model, "predict", None)
    else:
        check(
            model,
            "predict_proba" if hasattr(model, "predict_proba") else "decision_function",
            1 if classes > 2 else None,
        )


def test_a_forest_shares_by_comparisons():
    """A stump's whole step is its column's."""
    joblib.dump(tree.DecisionTreeRegressor(max_depth=1).fit(X, Y), "m.joblib")
    for row in results(*command())["rows"]:
        column, *others = row["contributions"]
        assert column["contribution"] == pytest.approx(row["value"] - row["baseline_value"])
        assert not any(line["contribution"] for line in others)


@pytest.mark.slow
def test_of_skops():
    io = pytest.importorskip("skops.io")
    model = make_pipeline(scaled.StandardScaler(), linear_model.Ridge()).fit(X, Y)
    io.dump(model, "m.skops")
    check(model, "predict", None, "m.skops")


def test_columns_by_their_names(folder, capsys):
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv("d.csv")[["glucose", "bmi"]]
    model = linear_model.LinearRegression().fit(frame, Y)
    joblib.dump(model, "m.joblib")
    (row,) = results(*command(row="0"))["rows"]
    assert row["value"] == pytest.approx(model.predict(frame.iloc[:1])[0])
    assert {line["column"] for line in row["contributions"]} == {"glucose", "bmi"}
    joblib.dump(linear_model.LinearRegression().fit(frame.rename(columns={"bmi": "gone"}), Y), "m.joblib")
    assert main(command()) == 2
    assert "was fitted on a column 'gone', which the data does not have" in capsys.readouterr().err


REFUSED: list[tuple[str, Any, str]] = [
    ("m.joblib", lambda: neighbors.KNeighborsRegressor().fit(X, Y), "KNeighborsRegressor is not known: linear models,"),
    ("m.joblib", linear_model.LinearRegression, "cannot be read, as if it were not fitted"),
    ("m.joblib", lambda: linear_model.LinearRegression().fit(X[:, :3], Y), "was fitted on 3 columns without names"),
    ("m.joblib", lambda: {"a": 1}, "holds a dict, not a fitted estimator"),
    (
        "m.joblib:predict",
        lambda: linear_model.LogisticRegression(max_iter=9000).fit(X[:, :10], TWO),
        "a classifier's predict",
    ),
    ("m.joblib:fit_everything", lambda: linear_model.Ridge().fit(X, Y), "has no method 'fit_everything'"),
    ("absent.joblib", lambda: 1, "absent.joblib: no such file"),
    ("text.joblib", lambda: 1, "cannot be loaded"),
]


@pytest.mark.parametrize(("file", "make", "says"), REFUSED, ids=[says for *_, says in REFUSED])
def test_others_say_why_not(file, make, says, capsys):
    joblib.dump(make(), "m.joblib")
    Path("text.joblib").write_text("nothing of the kind")
    assert main(command(file=file)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
