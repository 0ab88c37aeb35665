"""The command `npdec explain` on bad input: one line on stderr and exit code 2; and how it reads CSV files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain_cases import explain, make_folder, results
from npdec.__main__ import main
from npdec.explain import data
from npdec.explain.errors import InputError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_folder(tmp_path, monkeypatch)


def wrong(*arguments: str, make: Callable[[Path], None] | None = None, says: str) -> Any:
    return pytest.param(list(arguments), make, says, id=says)


def file(name: str, content: str | bytes) -> Callable[[Path], None]:
    return lambda folder: (
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode()) and None
    )


def csv_says(content: str | bytes, says: str, function: str = "row_model", **options: str) -> Any:
    return wrong(*explain(f"model.py:{function}", data="bad.csv", **options), make=file("bad.csv", content), says=says)


BAD = [
    wrong(says="the following arguments are required: COMMAND"),
    wrong("explain", "model.py:row_model", says="the following arguments are required: --data, --row, --baseline"),
    wrong(*explain("model.py:row_model", "--mode", "sideways"), says="invalid choice: 'sideways'"),
    wrong(*explain("model.py:row_model", "--output", "one"), says="invalid int value"),
    wrong(*explain("model.py"), says="'model.py' is not FILE.py:FUNCTION"),
    wrong(*explain("absent.py:f"), says="absent.py: no such file"),
    wrong(*explain(".:f"), says=".: is a directory"),
    wrong(*explain("model.py:absent"), says="model.py has no function 'absent'; it has row_model, by_name"),
    wrong(*explain("model.py:not_a_function"), says="is of type float, not a function"),
    wrong(*explain("bad.py:f"), make=file("bad.py", "def f(:\n"), says="bad.py, line 1: invalid syntax"),
    wrong(*explain("model.py:unrelated"), says="has a parameter 'price' that is no column"),
    wrong(*explain("model.py:no_arguments"), says="takes no arguments"),
    # the data
    wrong(*explain("model.py:row_model", data="absent.csv"), says="absent.csv: no such file"),
    wrong(*explain("model.py:row_model", data="."), says="is a directory, not a CSV file"),
    csv_says("", "bad.csv: the file is empty"),
    csv_says("\n\n", "bad.csv: the file is empty"),
    csv_says("a,b,c\n", "has a header and no rows"),
    csv_says("1,2,3\n4,5,6\n", "the first line must name the columns"),
    csv_says("a,b,a\n1,2,3\n", "two columns are named 'a'"),
    csv_says("a,b,c\n1,2,3\n\n1,2\n", "line 4: has 2 cells, but the header names 3 columns"),
    csv_says("a,b,c\n1,2,3\n1,high,2\n", "column 'b' is not numeric (line 3 has 'high')"),
    csv_says('a,b,c\n1,"1,234",2\n', "column 'b' is not numeric (line 2 has '1,234')"),
    csv_says("a;b;c\n1;1,234;2\n", "column 'b' is not numeric (line 2 has '1,234'); say whether commas are decimal"),
    csv_says("a,b,c\n1,1_000,2\n", "column 'b' is not numeric"),
    csv_says("a,b,c\n1,0x10,2\n", "column 'b' is not numeric"),
    csv_says('a,b,c\n1,2,3\n1,"2\n', "line 3: is not valid CSV"),
    csv_says("a,b,c\n1,nan,2\n", "line 2, column 'b': 'nan' is a missing value"),
    csv_says("a,b,c\n1,,2\n", "line 2, column 'b': the cell is empty", baseline="zero"),
    csv_says('a,b,c\n"1\n",2,3\n1,2,NA\n', "line 4, column 'c': 'NA' is a missing value", baseline="1"),
    csv_says("a,b,c\n1,inf,2\n", "line 2, column 'b': 'inf' is not finite"),
    csv_says("a,b,c\n1,1e999,2\n", "'1e999' is not finite"),
    csv_says("a,b,c\n1,é,2\n".encode("latin-1"), "is not text in UTF-8 (byte 8)"),
    csv_says("a,b\n1,2\n", "row_model failed at the baseline: IndexError"),
    csv_says("a,b\n1,2\n", "it was given the columns a, b"),
    csv_says("a,d\n1,2\n", "has a parameter 'b' that is no column", function="by_name"),
    wrong(*explain("model.py:row_model", "--columns", "a,z"), says="data.csv: has no column 'z'; it has a, b, c"),
    wrong(*explain("model.py:row_model", "--columns", "a,a,b"), says="names a column twice"),
    wrong(*explain("model.py:row_model", "--drop", "z"), says="has no column 'z'"),
    wrong(*explain("model.py:row_model", "--drop", "a,b,c"), says="no column is left"),
    wrong(*explain("model.py:row_model", "--target", "z"), says="has no column 'z'; it has a"),
    # rows and baseline
    wrong(*explain("model.py:row_model", row="3"), says="--row 3: the data has 3 rows, numbered 0 to 2"),
    wrong(*explain("model.py:row_model", row="-4"), says="--row -4: the data has 3 rows"),
    wrong(*explain("model.py:row_model", row="x"), says="'x' is no row number"),
    wrong(*explain("model.py:row_model", row="1.5"), says="'1.5' is no row number"),
    wrong(*explain("model.py:row_model", row="0,,1"), says="'' is no row number"),
    wrong(*explain("model.py:row_model", row="5:9"), says="5:9 selects none of the 3 rows"),
    wrong(*explain("model.py:row_model", row="::0"), says="the step is zero"),
    wrong(*explain("model.py:row_model", baseline="7"), says="--baseline 7: the data has 3 rows"),
    wrong(
        *explain("model.py:row_model", baseline="average"), says="neither mean, median, zero, a row number, nor a file"
    ),
    wrong(*explain("model.py:row_model", baseline="data.csv"), says="data.csv: has 3 rows; a baseline file has one"),
    wrong(
        *explain("model.py:row_model", baseline="start.csv"),
        make=file("start.csv", "a,b\n1,2\n"),
        says="start.csv: has no column 'c'",
    ),
    # what the function returns
    wrong(*explain("model.py:none"), says="none returned None at the baseline, not a number"),
    wrong(*explain("model.py:text"), says="returned str at the baseline, not a number"),
    wrong(*explain("model.py:truth"), says="returned a truth value"),
    wrong(*explain("model.py:unsure"), says="returned a complex number"),
    wrong(*explain("model.py:not_finite"), says="returned nan at the baseline, not a finite number"),
    wrong(*explain("model.py:infinite_at_row", row="2", baseline="zero"), says="returned inf at row 2"),
    wrong(
        *explain("model.py:vector"),
        says="an array of shape (3,) at the baseline, not one number; choose one with --output",
    ),
    wrong(*explain("model.py:vector", "--output", "3"), says="--output 3: vector returned 3 numbers, counted from 0"),
    wrong(*explain("model.py:through_math"), says="the result changes with the inputs but carries no contributions"),
    # what it raises
    wrong(*explain("model.py:raises"), says=r"KeyError: 'no such\nmodel' (model.py, line "),
    wrong(*explain("model.py:exits"), says="exits failed at the baseline: it called exit()"),
    wrong(*explain("model.py:too_wide"), says="too_wide failed at the baseline: IndexError"),
    # options
    wrong(*explain("model.py:row_model", "--rule", "golden"), says="--rule golden: unknown rule 'golden'"),
    wrong(*explain("model.py:row_model", "--top", "0"), says="--top 0: must be at least 1"),
    wrong(
        *explain("model.py:row_model", "--out", "x.xlsx"), says="the extension '.xlsx' is not known; use .csv or .json"
    ),
    wrong(*explain("model.py:row_model", "--out", "x"), says="a name without extension is not known"),
    wrong(*explain("model.py:row_model", "--out", "no/x.csv"), says="does not exist"),
    wrong(
        *explain("model.py:row_model", "--out", "x.csv"),
        make=lambda folder: (folder / "x.csv").mkdir(),
        says="--out x.csv: is a directory",
    ),
    wrong(*explain("model.py:row_model", "--plot", "x.bmp"), says="use .png or .svg or .pdf"),
]


@pytest.mark.parametrize(("arguments", "make", "says"), BAD)
def test_bad_input_gets_one_line_and_exit_code_2(
    arguments: list[str],
    make: Callable[[Path], None] | None,
    says: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if make:
        make(folder)
    before = sorted(folder.iterdir())
    assert main(arguments) == 2
    captured = capsys.readouterr()
    *warned, line = captured.err.splitlines()
    assert line.startswith("npdec explain: error: ")
    assert says in line
    assert not warned
    assert captured.out == ""
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_directory_without_permission(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "closed").mkdir(mode=0o500)
    assert main(explain("model.py:row_model", "--out", "closed/x.csv")) == 2
    assert "is not writable" in capsys.readouterr().err


def test_missing_cells_elsewhere_do_not_matter(folder: Path) -> None:
    (folder / "gaps.csv").write_text("a,b,c\n1,2,3\n4,,6\n1,5,3\n")
    assert main(explain("model.py:row_model", baseline="zero", data="gaps.csv")) == 0
    for baseline in ("mean", "median"):
        row = results(*explain("model.py:row_model", baseline=baseline, data="gaps.csv"))["rows"][0]
        starts = {line["column"]: line["baseline"] for line in row["contributions"]}
        assert starts == {"a": 2 if baseline == "mean" else 1, "b": 3.5, "c": 4 if baseline == "mean" else 3}


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffa,b,c\r\n1,2,3\r\n",
        '"a","b","c"\n"1"," 2 ","3"\n',
        "a;b;c\n1;2;3\n",
        "a\tb\tc\n1\t2\t3\n",
        "\n\na,b,c\n\n 1 ,+2.0,3e0\n\n",
        ' a , b ,"c"\n1.,.2e1,30e-1',
    ],
)
def test_csv_in_other_shapes(content: str, folder: Path) -> None:
    (folder / "odd.csv").write_bytes(content.encode())
    table = data.read_table(folder / "odd.csv")
    assert table.names == ("a", "b", "c")
    assert table.numbers(0, "abc") == [1, 2, 3]


def test_columns_without_a_name_get_one(folder: Path) -> None:
    (folder / "index.csv").write_text(",a,b,c\n0,1,2,3\n")
    assert data.read_table(folder / "index.csv").names == ("column 1", "a", "b", "c")
    assert main(explain("model.py:row_model", "--drop", "column 1", data="index.csv")) == 0


@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_numbers_are_read_to_the_last_digit(numbers: list[float], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("csv") / "numbers.csv"
    path.write_text("x\n" + "\n".join(map(repr, numbers)) + "\n")
    assert data.read_table(path).column("x") == numbers


@given(st.integers(1, 20), st.data())
def test_rows_are_pythons_slices(count: int, draw: st.DataObject) -> None:
    bounds = st.none() | st.integers(-25, 25)
    start, stop, step = draw.draw(bounds), draw.draw(bounds), draw.draw(bounds.filter(lambda n: n != 0))
    text = ":".join("" if n is None else str(n) for n in (start, stop, step))
    expected = list(range(count))[start:stop:step]
    if expected:
        assert data.select_rows(text, count) == expected
    else:
        with pytest.raises(InputError):
            data.select_rows(text, count)
