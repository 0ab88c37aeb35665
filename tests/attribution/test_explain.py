"""The command `npdec explain`: its numbers, and whose imports it redirects."""

from __future__ import annotations

import csv
import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest

from explain_cases import DIABETES, EXAMPLES, MARKET, explain, make_folder, results
from npdec.__main__ import main
from npdec.explain.errors import InputError
from npdec.explain.loader import Script


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_folder(tmp_path, monkeypatch)


def plain(path: Path) -> ModuleType:
    """The script under plain NumPy."""
    spec = importlib.util.spec_from_file_location(f"plain_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.np is numpy
    return module


def check_bridge(row: dict[str, Any], tolerance: float = 1e-12) -> None:
    """The parts add up to the value, and the reported sum and error are those of the parts."""
    total = math.fsum(line["contribution"] for line in row["contributions"])
    assert row["sum"] == pytest.approx(total, rel=1e-15)
    assert row["value"] - row["residual"] - total == pytest.approx(row["completeness_error"]["absolute"], abs=1e-12)
    assert abs(row["completeness_error"]["relative"]) <= tolerance
    sizes = [abs(line["contribution"]) for line in row["contributions"]]
    assert sizes == sorted(sizes, reverse=True)


# The numbers.


@pytest.mark.parametrize("function", ["row_model", "by_name", "branch", "constant"])
@pytest.mark.parametrize("baseline", ["mean", "median", "zero", "1", "-1"])
def test_value_is_numpys_and_contributions_bridge_to_it(function: str, baseline: str, folder: Path) -> None:
    row = results(*explain(f"model.py:{function}", baseline=baseline))["rows"][0]
    model = getattr(plain(folder / "model.py"), function)
    inputs = {line["column"]: line["input"] for line in row["contributions"]}
    starts = {line["column"]: line["baseline"] for line in row["contributions"]}
    for cells, expected in ((inputs, row["value"]), (starts, row["baseline_value"])):
        called = model(**cells) if function == "by_name" else model(numpy.array([cells[name] for name in "abc"]))
        assert expected == pytest.approx(float(called), rel=1e-15)
    assert inputs == {"a": 1, "b": 2, "c": 3}
    check_bridge(row)
    assert row["not_attributed"] == pytest.approx(row["residual"] - row["baseline_value"], abs=1e-9)


def test_baselines_are_what_they_say(folder: Path) -> None:
    (folder / "start.csv").write_text("c,other,b,a\n3,x,2,1\n")
    expected = {"mean": (-1 / 6, 5 / 3, 1.75), "median": (0.5, 2, 2), "zero": (0, 0, 0), "1": (0.5, -1, 2)}
    expected |= {"start.csv": (1, 2, 3)}
    for baseline, starts in expected.items():
        row = results(*explain("model.py:row_model", baseline=baseline))["rows"][0]
        found = {line["column"]: line["baseline"] for line in row["contributions"]}
        assert [found[name] for name in "abc"] == pytest.approx(starts)


def test_product_has_its_shapley_values() -> None:
    row = results(*explain("model.py:by_name", "--columns", "a,b", baseline="1"))["rows"][0]
    found = {line["column"]: line["contribution"] for line in row["contributions"]}
    assert found == pytest.approx({"a": 2 * 0.5 * (2 - 1) / 2, "b": 2 * 3 * (1 + 0.5) / 2})
    assert [line["share"] for line in row["contributions"]] == pytest.approx([0.9, 0.1])


@pytest.mark.parametrize("arguments", [DIABETES, MARKET], ids=["diabetes", "market"])
def test_forward_is_reverse(arguments: list[str]) -> None:
    options = ["explain", *arguments, "--row", "1:4", "--baseline", "0"]
    ways = [results(*options, "--mode", mode)["rows"] for mode in ("reverse", "forward")]
    for reverse, forward in zip(*ways):
        assert reverse["value"] == forward["value"]
        assert reverse["residual"] == forward["residual"] == reverse["baseline_value"]
        there = {line["column"]: line["contribution"] for line in forward["contributions"]}
        scale = max(map(abs, there.values()))
        for line in reverse["contributions"]:
            assert line["contribution"] == pytest.approx(there[line["column"]], rel=1e-10, abs=1e-13 * scale)
        check_bridge(reverse)
        check_bridge(forward)


def test_examples_are_the_same_under_plain_numpy() -> None:
    network, portfolio = plain(EXAMPLES / "diabetes.py"), plain(EXAMPLES / "black_scholes.py")
    patients = numpy.loadtxt(EXAMPLES / "diabetes.csv", delimiter=",", skiprows=1)
    made = results("explain", *DIABETES, "--row", "::20", "--baseline", "mean")["rows"]
    assert [row["value"] for row in made] == pytest.approx(network.predict(patients[::20]).tolist(), rel=1e-13)
    with (EXAMPLES / "market.csv").open() as lines:
        markets = [{k: float(v) for k, v in row.items() if k != "date"} for row in csv.DictReader(lines)]
    made = results("explain", *MARKET, "--row", "all", "--baseline", "0")["rows"]
    assert [row["value"] for row in made] == pytest.approx([portfolio.value(**m) for m in markets], rel=1e-11)
    assert max(row["completeness_error"]["relative"] for row in made) < 1e-12


def test_portfolio_agrees_with_scipys_normal_distribution() -> None:
    from scipy.stats import norm

    x = numpy.linspace(-40, 40, 20001)
    assert numpy.abs(plain(EXAMPLES / "black_scholes.py").normal_cdf(x) - norm.cdf(x)).max() < 2e-15


def test_network_is_as_good_as_its_description() -> None:
    from sklearn.datasets import load_diabetes

    network = plain(EXAMPLES / "diabetes.py")
    x, y = load_diabetes(return_X_y=True, scaled=False)
    held_out = numpy.random.default_rng(0).permutation(len(y))[:110]
    assert network.r2(network.load(), x[held_out], y[held_out]) > 0.48


def test_one_element_of_several() -> None:
    assert results(*explain("model.py:vector", "--output", "2"))["rows"][0]["value"] == 9
    assert results(*explain("model.py:vector", "--output", "-1"))["rows"][0]["value"] == 9
    assert results(*explain("model.py:pair", "--output", "1"))["rows"][0]["value"] == 2


def test_selection_that_differs_is_shown_as_not_attributed(capsys: pytest.CaptureFixture[str]) -> None:
    row = results(*explain("model.py:branch", "--columns", "c,b,a", row="0", baseline="2"))["rows"][0]
    assert row["value"] == 2 * 1
    assert row["baseline_value"] == 4  # c = 0.25 takes the other branch
    assert row["residual"] == 4 * -2
    assert row["not_attributed"] == -12
    check_bridge(row)
    assert "(not attributed)" in capsys.readouterr().out


def test_rule(capsys: pytest.CaptureFixture[str]) -> None:
    made = results(*explain("model.py:row_model", "--rule", "none", "--columns", "a,b,c"))
    assert made["rule"] == "none"
    assert made["rows"][0]["not_attributed"] != 0
    assert main(explain("model.py:row_model", "--rule", "abs_affine", "--mode", "forward")) == 0
    capsys.readouterr()
    assert main(explain("model.py:row_model", "--rule", "abs_affine")) == 2
    assert "--mode forward" in capsys.readouterr().err


def test_dropped_and_chosen_columns(folder: Path) -> None:
    (folder / "named.csv").write_text("name,a,b,c,y\nAnn,1,2,3,0\nBob,4,5,6,1\n")
    made = results(*explain("model.py:row_model", "--drop", "name", "--target", "y", data="named.csv"))
    assert {line["column"] for line in made["rows"][0]["contributions"]} == {"a", "b", "c"}
    made = results(*explain("model.py:vector", "--columns", "c,b,a", "--output", "0", data="named.csv"))
    assert made["rows"][0]["value"] == 3
    assert results(*explain("model.py:by_name", data="named.csv"))["rows"][0]["value"] == 2 * 2 + 3


# Whose imports are redirected.


def test_numpy_is_npdec_inside_the_script_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = folder / "site"
    site.mkdir()
    (site / "third_party.py").write_text("import numpy\ndef late():\n    import numpy\n    return numpy\n")
    monkeypatch.syspath_prepend(site)
    work = folder / "work"
    (work / "package").mkdir(parents=True)
    (work / "loose").mkdir()
    (work / "helper.py").write_text("import numpy as np\nimport package.inner as inner\nfrom loose import leaf\n")
    (work / "package/__init__.py").write_text("from . import inner\nfrom .inner import np as again\n")
    (work / "package/inner.py").write_text("import numpy as np\n__all__ = ['np']\n")
    (work / "loose/leaf.py").write_text("from package.inner import *\n")
    (work / "main.py").write_text(
        "from __future__ import annotations\n"
        "import numpy as np, math\n"
        "from dataclasses import dataclass\n"
        "import sys, sklearn.linear_model, third_party, helper, package\n"
        "if __name__ == '__main__':\n    raise RuntimeError\n"
        "@dataclass\nclass Setting:\n    a: np.ndarray\n"
        "def f(row):\n"
        "    import numpy\n    from numpy import exp\n    return numpy, exp\n"
    )
    import npdec

    before = sys.modules["numpy"]
    with Script(Path("work/main.py")) as script:
        names = script.find("f").__globals__
        assert names["np"] is npdec
        assert names["math"] is math
        assert script.find("f")(None) == (npdec, npdec.exp)
        assert names["helper"].np is npdec
        assert names["helper"].inner is names["package"].inner
        assert names["helper"].leaf.np is names["package"].again is npdec
        assert names["third_party"].numpy is numpy
        assert names["third_party"].late() is numpy
        assert names["sklearn"].linear_model.LinearRegression.fit.__globals__["np"] is numpy
        assert names["__file__"] == str(work / "main.py")
        assert sys.modules["numpy"] is before
    assert not [name for name in sys.modules if name.startswith("npdec_explained")]
    assert "helper" not in sys.modules
    assert not (work / "__pycache__").exists()
    import numpy as after

    assert after is before


def test_submodules_of_numpy(folder: Path) -> None:
    (folder / "sub.py").write_text(
        "import numpy\nimport numpy.linalg\nimport numpy.linalg as la\nfrom numpy import linalg, pi\n"
        "from numpy.linalg import norm\n"
    )
    import npdec

    with Script(Path("sub.py")) as script:
        names = vars(script._modules["sub"])
        assert names["numpy"] is npdec
        assert names["la"] is names["linalg"] is npdec.linalg
        assert names["norm"] is npdec.linalg.norm
        assert names["pi"] == math.pi


def test_script_inside_a_package(folder: Path) -> None:
    package = folder / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("import numpy as np\n")
    (package / "tool.py").write_text("import numpy as np\n")
    (package / "main.py").write_text("from . import np\nfrom .tool import np as a\nfrom pkg.tool import np as b\n")
    import npdec

    with Script(Path("pkg/main.py")) as script:
        names = vars(script._modules["pkg.main"])
        assert names["np"] is names["a"] is names["b"] is npdec


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import numpy.nonsense\n", r"No|has no module 'numpy\.nonsense'.*\(late\.py, line 1\)"),
        ("from numpy import nonsense\n", r"cannot import name 'nonsense'.*\(late\.py, line 1\)"),
        ("import a_package_that_is_not_there\n", r"No module named 'a_package_that_is_not_there'"),
        ("from . import helper\n", "no known parent package"),
        ("def f(row:\n", r"late\.py, line 1: .*never closed"),
        ("1 / 0\n", r"ZeroDivisionError: division by zero \(late\.py, line 1\)"),
        ("raise SystemExit\n", r"called exit\(\)"),
        ("x = '\0'\n", "null byte"),
        ("import broken\n", r"broken\.py, line 1: invalid syntax"),
        ("import failing\n", r"NameError.*\(failing\.py, line 2\)"),
    ],
)
def test_script_that_cannot_be_loaded(source: str, message: str, folder: Path) -> None:
    (folder / "late.py").write_text(source)
    (folder / "broken.py").write_text("x =\n")
    (folder / "failing.py").write_text("\nundefined\n")
    with pytest.raises(InputError, match=message), Script(Path("late.py")):
        pass
    assert not [name for name in sys.modules if name.startswith("npdec_explained")]
