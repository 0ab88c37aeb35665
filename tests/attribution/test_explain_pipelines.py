"""`npdec explain` on fitted pipelines of scikit-learn over tables with text and gaps: their own predictions, complete.

The reference is the pipeline itself: at the row, at the baseline, and, for the encoders, at the row with one cell
exchanged.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy
import pytest

from explain_cases import make_folder, results
from npdec.__main__ import main
from tiers import turns

joblib = pytest.importorskip("joblib")
pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from sklearn import ensemble, feature_selection, impute, linear_model, neural_network, pipeline  # noqa: E402
from sklearn import preprocessing as pre  # noqa: E402
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # they need not be good

DRAW = numpy.random.default_rng(0)
ROWS = 60
FRAME = pd.DataFrame(
    {
        "area": DRAW.normal(80, 20, ROWS).round(1),
        "city": DRAW.choice(["Oslo", "Rome", "São Paulo", " Bern"], ROWS),
        "rooms": DRAW.integers(1, 5, ROWS),
        "age": DRAW.normal(40, 10, ROWS).round(2),
        "heating": DRAW.choice(["gas", "oil"], ROWS),
    }
)
GAPS = FRAME.copy()
GAPS.loc[[2, 5, 11], "age"] = numpy.nan
GAPS.loc[[3, 5], "heating"] = numpy.nan
PRICE = (
    FRAME["area"] * (1 + (FRAME["city"] == "Rome")) + 5 * FRAME["rooms"] - FRAME["age"] * (FRAME["heating"] == "oil")
)
DEAR = (PRICE > PRICE.median()).astype(int)

NUMBERS, TEXTS = ["area", "age"], ["city", "heating"]
HOT = pre.OneHotEncoder


def by_columns(numbers: Any = None, texts: Any = None, **options: Any) -> Any:
    numbers = numbers or pre.StandardScaler()
    return ColumnTransformer([("n", numbers, NUMBERS), ("t", texts or HOT(), TEXTS)], **options)


FILLED = by_columns(
    pipeline.make_pipeline(impute.SimpleImputer(), pre.RobustScaler()),
    pipeline.make_pipeline(impute.SimpleImputer(strategy="most_frequent"), HOT(handle_unknown="ignore")),
    remainder="passthrough",
)
RIDGE, FOREST = linear_model.Ridge(), ensemble.RandomForestRegressor(8, max_depth=5, random_state=0)
NETWORK = neural_network.MLPRegressor(hidden_layer_sizes=(6,), activation="tanh", max_iter=60, random_state=0)
PIPELINES: list[tuple[str, Any, Any, Any]] = [
    ("linear", pipeline.make_pipeline(by_columns(), RIDGE), FRAME, PRICE),
    ("rest-passed", pipeline.make_pipeline(by_columns(remainder="passthrough"), RIDGE), FRAME, PRICE),
    ("dropped-first", pipeline.make_pipeline(by_columns(texts=HOT(drop="first")), NETWORK), FRAME, PRICE),
    ("infrequent", pipeline.make_pipeline(by_columns(texts=HOT(min_frequency=16)), RIDGE), FRAME, PRICE),
    ("gaps", pipeline.make_pipeline(FILLED, RIDGE), GAPS, PRICE),
    ("gaps-forest", pipeline.make_pipeline(FILLED, FOREST), GAPS, PRICE),
    ("gaps-category", pipeline.make_pipeline(by_columns(impute.SimpleImputer(), HOT()), RIDGE), GAPS, PRICE),
    (
        "products",
        pipeline.make_pipeline(by_columns(), pre.PolynomialFeatures(2), pre.MinMaxScaler(), RIDGE),
        FRAME,
        PRICE,
    ),
    ("ordinal", pipeline.make_pipeline(by_columns(texts=pre.OrdinalEncoder()), FOREST), FRAME, PRICE),
    ("target", pipeline.make_pipeline(by_columns(texts=pre.TargetEncoder(cv=2)), RIDGE), FRAME, PRICE),
    (
        "numbers-as-categories",
        pipeline.make_pipeline(make_column_transformer((HOT(), ["rooms", "city"]), ("passthrough", ["area"])), RIDGE),
        FRAME,
        PRICE,
    ),
    (
        "selectors-and-weights",
        pipeline.make_pipeline(
            ColumnTransformer(
                [
                    ("n", pre.StandardScaler(), make_column_selector(dtype_include="number")),
                    ("t", HOT(), make_column_selector(dtype_exclude="number")),
                ],
                transformer_weights={"t": 0.5},
            ),
            linear_model.LogisticRegression(),
        ),
        FRAME,
        DEAR,
    ),
    (
        "unions-and-functions",
        pipeline.make_pipeline(
            make_column_transformer(
                (
                    pipeline.make_union(
                        pre.FunctionTransformer(numpy.log1p), pre.KBinsDiscretizer(3, encode="onehot-dense")
                    ),
                    ["area", "age"],
                ),
                (pre.Binarizer(threshold=2.5), ["rooms"]),
                (pre.KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf"), ["age"]),
            ),
            pre.StandardScaler(),
            RIDGE,
        ),
        FRAME,
        PRICE,
    ),
    (
        "zeros-are-missing",
        pipeline.make_pipeline(
            make_column_transformer(
                (impute.SimpleImputer(missing_values=2, strategy="median"), ["rooms"]), (HOT(), ["city"])
            ),
            feature_selection.VarianceThreshold(0.2),
            RIDGE,
        ),
        FRAME,
        PRICE,
    ),
    (
        "classifier",
        pipeline.make_pipeline(FILLED, ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0)),
        GAPS,
        DEAR,
    ),
]


USED = {  # the others are dropped, where not all are used
    **dict.fromkeys(
        ("rest-passed", "gaps", "gaps-forest", "selectors-and-weights", "classifier"), tuple(FRAME.columns)
    ),
    "numbers-as-categories": ("rooms", "city", "area"),
    "unions-and-functions": ("area", "age", "rooms"),
    "zeros-are-missing": ("rooms", "city"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_folder(tmp_path, monkeypatch)


def command(row: str = "0:12", baseline: str = "20") -> list[str]:
    return ["explain", "m.joblib", "--data", "d.csv", "--row", row, "--baseline", baseline]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("case", [pytest.param(c, id=c[0]) for c in turns(PIPELINES, 0, 8)])
def test_pipelines_are_explained_by_their_arrays(case):
    name, model, frame, target = case
    model = model.fit(frame, target)
    joblib.dump(model, "m.joblib")
    frame.to_csv("d.csv", index=False)
    says = (lambda f: model.predict_proba(f)[:, -1]) if target is DEAR else model.predict
    wanted, start = says(frame.iloc[:12]), says(frame.iloc[[20]])[0]
    for row, value in zip(results(*command())["rows"], wanted, strict=True):
        assert row["value"] == pytest.approx(value, rel=1e-12)
        assert row["baseline_value"] == pytest.approx(start, rel=1e-12)
        total = math.fsum(line["contribution"] for line in row["contributions"])
        assert abs(total - (value - start)) <= 1e-12 * max(abs(value), abs(start))
        assert row["not_attributed"] == 0
        columns = [line["column"] for line in row["contributions"]]  # each is one component
        assert len(set(columns)) == len(columns)
        assert set(columns) == set(USED.get(name, (*NUMBERS, *TEXTS)))


def test_columns_have_what_they_alone_change():
    """Of a sum over columns each contribution is the change of the prediction when its cell alone is exchanged."""
    frame = FRAME[["area", "city", "age", "heating"]]
    model = pipeline.make_pipeline(by_columns(), RIDGE).fit(frame, PRICE)
    joblib.dump(model, "m.joblib")
    frame.to_csv("d.csv", index=False)
    for row in results(*command("0:4"))["rows"]:
        for line in row["contributions"]:
            exchanged = frame.iloc[[20]].copy()
            exchanged[line["column"]] = frame.iloc[row["row"]][line["column"]]
            alone = model.predict(exchanged)[0] - model.predict(frame.iloc[[20]])[0]
            assert line["contribution"] == pytest.approx(alone, rel=1e-9, abs=1e-9)


def test_pairs_of_columns_have_their_shapley_values():
    """Products of columns: what the pipeline predicts of all exchanges of cells says what they are."""
    frame = FRAME[["area", "age"]]
    model = pipeline.make_pipeline(pre.PolynomialFeatures(2, interaction_only=True), RIDGE).fit(frame, PRICE)
    joblib.dump(model, "m.joblib")
    frame.to_csv("d.csv", index=False)
    (row,) = results(*command("3"))["rows"]
    worth = {}
    for exchanged in itertools.product([False, True], repeat=2):
        cells = [frame.iloc[3 if own else 20][name] for own, name in zip(exchanged, frame.columns)]
        worth[exchanged] = model.predict(pd.DataFrame([cells], columns=frame.columns))[0]
    wanted = {
        "area": (worth[True, False] - worth[False, False] + worth[True, True] - worth[False, True]) / 2,
        "age": (worth[False, True] - worth[False, False] + worth[True, True] - worth[True, False]) / 2,
    }
    assert {line["column"]: line["contribution"] for line in row["contributions"]} == pytest.approx(wanted, rel=1e-9)


def test_means_start_from_the_shares_of_categories_and_models_fill_gaps(capsys):
    model = pipeline.make_pipeline(FILLED, RIDGE).fit(GAPS, PRICE)
    joblib.dump(model, "m.joblib")
    GAPS.to_csv("d.csv", index=False)
    (row,) = results(*command("5", "mean"))["rows"]
    assert "note: the model fills 2 missing cells" in capsys.readouterr().err
    assert row["value"] == pytest.approx(model.predict(GAPS.iloc[[5]])[0], rel=1e-12)
    numbers = {name: GAPS[name].mean() for name in ("area", "rooms", "age")}
    starts = 0.0
    for (city, heating), share in {
        (a, b): (GAPS["city"] == a).mean() * (GAPS["heating"].dropna() == b).mean()
        for a in GAPS["city"].unique()
        for b in ("gas", "oil")
    }.items():
        one = pd.DataFrame([{**numbers, "city": city, "heating": heating}])[GAPS.columns]
        starts += share * model.predict(one)[0]
    assert row["baseline_value"] == pytest.approx(starts, rel=1e-9)


def test_what_was_not_fitted_is_another_category():
    model = pipeline.make_pipeline(by_columns(texts=HOT(handle_unknown="ignore")), RIDGE).fit(FRAME, PRICE)
    joblib.dump(model, "m.joblib")
    frame = FRAME.copy()
    frame.loc[0, "city"] = "Atlantis"
    frame.to_csv("d.csv", index=False)
    (row,) = results(*command("0"))["rows"]
    assert row["value"] == pytest.approx(model.predict(frame.iloc[[0]])[0], rel=1e-12)


def own(x):
    return x


REFUSED: list[tuple[str, Any, str]] = [
    ("kernel", pre.PowerTransformer(), "a PowerTransformer before the estimator is not known: StandardScaler,"),
    ("function", pre.FunctionTransformer(own), "a FunctionTransformer of own is not known"),
    ("indicator", impute.SimpleImputer(add_indicator=True), "adds columns which say what was missing is not known"),
    ("twice", pipeline.make_pipeline(pre.StandardScaler(), HOT()), "of what another transformer makes is not known"),
    ("both", pipeline.make_union(HOT(), pre.StandardScaler()), "is both encoded and taken as a number"),
]


@pytest.mark.parametrize(("name", "step", "says"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_others_say_why_not(name, step, says, capsys):
    frame = FRAME[["rooms"]]
    joblib.dump(pipeline.make_pipeline(step, RIDGE).fit(frame, PRICE), "m.joblib")
    frame.to_csv("d.csv", index=False)
    assert main(command()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_cells_that_the_model_refuses_are_one_line(capsys):
    joblib.dump(pipeline.make_pipeline(by_columns(), RIDGE).fit(FRAME, PRICE), "m.joblib")
    frame = FRAME.copy()
    frame.loc[0, "city"] = "Atlantis"
    frame.to_csv("d.csv", index=False)
    assert main(command("0")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "'Atlantis' is none of the categories of the model" in line
