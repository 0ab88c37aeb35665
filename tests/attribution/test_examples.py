"""The examples that go from data to a picture, run as their first lines say."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from typing import Any

import numpy
import pytest

import npdec as np
from explain_cases import EXAMPLES

pytest.importorskip("sklearn")
pytestmark = pytest.mark.slow


def run(name: str, *arguments: str, folder: Any) -> str:
    # By way of a shell: to a process's peak of memory Linux counts that of the one which starts it.
    command = shlex.join([sys.executable, str(EXAMPLES / name), *arguments])
    made = subprocess.run(["sh", "-c", f"{command}; exit $?"], cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return made.stdout


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
def test_passages(tmp_path):
    """The page names the guess, and colours the words by shares that add up; it guesses better than the commonest."""
    said = run("passages.py", "faces of people in grey pictures of many pixels", folder=tmp_path)
    right, commonest = map(int, re.findall(r"(\d+)%", said)[:2])
    assert right > commonest
    assert float(re.search(r"miss the change of the lead by (\S+)", said)[1]) < 1e-12
    page = (tmp_path / "words.html").read_text("utf-8")
    for word in ("faces", "pictures", "pixels"):
        assert word in page


@pytest.mark.long
def test_many_rows(tmp_path):
    pytest.importorskip("matplotlib")
    said = run("many_rows.py", folder=tmp_path)
    assert said.startswith("20000 rows")
    assert float(re.search(r"completeness misses (\S+) at most", said)[1]) < 1e-12
    # The imports take 400 of it; 3000 rows in one batch would take 900.
    assert int(re.search(r"peak of memory (\d+) MB", said)[1]) < 500
    assert (tmp_path / "columns.png").read_bytes().startswith(b"\x89PNG")


def test_the_forest_of_many_rows_is_the_fitted_one(monkeypatch):
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "forest", raising=False)  # another test may have imported another one
    example = loaded("many_rows")
    data = load_breast_cancer()
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(data.data, 1 - data.target)
    model = example.written_out(example.trees_of(forest), 0.0, 1 / 5)
    arrays = {name: np.array(value) for name, value in model.items()}
    made = example.evaluate(arrays, np.array(data.data[:50]))
    assert made.tolist() == pytest.approx(forest.predict_proba(data.data[:50])[:, 1].tolist(), abs=1e-12)
    (batch,) = example.batches(data.data, 40)
    assert batch.shape == (40, 30)
    assert numpy.abs(numpy.asarray(batch).mean(0) / data.data.mean(0) - 1).max() < 0.5


def test_the_table_of_methods_is_measured_by_its_script():
    """One problem of which the answer is known: of a sum, each share is its own term."""
    said = subprocess.run(
        [sys.executable, str(EXAMPLES.parent / "scripts" / "methods_table.py"), "--points", "2", "linear"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line for line in said.splitlines() if line.startswith("| w · x")]
    assert len(rows) == 4
    assert all(row.count("< 1e-12") == 7 for row in rows[:2])  # completeness and distance of each method
