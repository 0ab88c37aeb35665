"""`npdec explain` on 60 and more awkward data files: an answer, or one clear line; and outputs that pandas reads."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import math
import re
import sys
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pytest

from explain_cases import make_folder, results
from npdec.__main__ import main
from npdec.explain.explanation import Explanation
from npdec.explain.numbers import Format, affixes, found_format
from tiers import turns

SUM = """
import numpy as np
def total(row): return np.sum(row ** 2)
def named(weight, height): return weight / height ** 2
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = make_folder(tmp_path, monkeypatch)
    (made / "sums.py").write_text(SUM)
    return made


Made = Callable[[Path], bytes]
ANSWERS: dict[str, tuple[bytes | Made, float, str]] = {}  # the file, the value of row 0, other options
REFUSED: dict[str, tuple[bytes | Made, str, str]] = {}  # the file, what the line says, other options


def answer(name: str, content: bytes | str | Made, value: float, options: str = "") -> None:
    ANSWERS[name] = (content.encode() if isinstance(content, str) else content, value, options)


def refused(name: str, content: bytes | str | Made, says: str, options: str = "") -> None:
    REFUSED[name] = (content.encode() if isinstance(content, str) else content, says, options)


def frame(write: Callable[[Any, io.BytesIO], None], **columns: Any) -> Made:
    def make(folder: Path) -> bytes:
        import pandas as pd

        buffer = io.BytesIO()
        write(pd.DataFrame(columns), buffer)
        return buffer.getvalue()

    return make


def array(content: Any) -> bytes:
    buffer = io.BytesIO()
    numpy.save(buffer, content)
    return buffer.getvalue()


def zipped(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, "a,b\n1,2\n")
    return buffer.getvalue()


def workbook(*rows: list[Any]) -> Made:
    def make(folder: Path) -> bytes:
        import openpyxl

        made, buffer = openpyxl.Workbook(), io.BytesIO()
        for row in rows:
            made.active.append(row)
        made.save(buffer)
        return buffer.getvalue()

    return make


# Encodings.
TABLE = "é,b\n1,2\n3,4\n"
answer("UTF-8", TABLE, 5)
answer("UTF-8 with a mark", TABLE.encode("utf-8-sig"), 5)
answer("UTF-16", TABLE.encode("utf-16"), 5)
answer("UTF-16, big-endian", b"\xfe\xff" + TABLE.encode("utf-16-be"), 5)
answer("UTF-32", TABLE.encode("utf-32"), 5)
answer("Latin-1, named", TABLE.encode("latin-1"), 5, "--encoding latin-1")
answer("cp1252, named", "€,b\n1,2\n3,4\n".encode("cp1252"), 5, "--encoding cp1252")
answer("Shift JIS, named", "日本,b\n1,2\n3,4\n".encode("shift-jis"), 5, "--encoding shift-jis")
refused("Latin-1", TABLE.encode("latin-1"), r"is not text in UTF-8 \(byte 0\); say its encoding")
refused("UTF-16 without a mark", TABLE.encode("utf-16-le"), "is not text in UTF-8|--encoding utf-16-le")
refused("UTF-16 without a mark, in ASCII", "a,b\n1,2\n".encode("utf-16-be"), "looks like UTF-16.*--encoding utf-16-be")
answer("UTF-16 without a mark, named", TABLE.encode("utf-16-le"), 5, "--encoding utf-16-le")
refused("half a character", b"a,b\n1,\xe2\x82", "is not text in UTF-8")
# Separators and lines.
answer("semicolons", "a;b\n1;2\n", 5)
answer("tabs", "a\tb\n1\t2\n", 5)
answer("bars", "a|b\n1|2\n", 5)
answer("named separator", "sep=;\na;b\n1;2\n", 5)
answer("lines of Windows", "a,b\r\n1,2\r\n", 5)
answer("lines of old Macs", "a,b\r1,2\r", 5)
answer("empty lines", "\n\na,b\n\n1,2\n\n\n", 5)
answer("quotes", '"a","b ""x"""\n"1"," 2 "\n', 5)
answer("no last line end", "a,b\n1,2", 5)
answer("a line end in a name", '"a\nb",c\n1,2\n', 5)
answer("an empty last column", "a,b,\n1,2,\n3,4,\n", 5)
answer("one column", "a\n3\n4\n", 9)
refused("rows of other lengths", "a,b\n1,2\n3\n", "line 3: has 1 cell, but the header names 2 columns")
refused("comments", "# made by x\n# y\na,b\n1,2\n", "line 3: has 2 cells.*take out the lines before the names")
refused("an open quote", 'a,b\n"1,2\n', "is not valid CSV")
refused("spaces for commas", "a b c\n1 2 3\nx\n", "column 'a b c' is not numeric|holds numbers")
refused("spaces in all lines", "a   b\n1   2\n33  4\n", "'a b', of several words; columns are separated by commas")
answer("one column of two words", "unit price\n1 000\n3 000\n", 1e6)
# Numbers.
answer("decimal commas", "a;b\n1,5;2\n0,25;4\n", 6.25)
answer("decimal commas, in quotes", 'a,b\n"1,5",2\n"0,25",4\n', 6.25)
answer("groups of digits", 'a;b\n"1,000.5";2\n1;2\n', 1000.5**2 + 4)
answer("groups of millions", 'a;b\n"3,456,789";2\n"1,234";2\n', 3456789.0**2 + 4)
answer("groups by points", "a;b\n1.000,5;2\n1;2\n", 1000.5**2 + 4)
answer("groups by spaces", "a;b\n1 000;2\n1;2\n", 1e6 + 4)
answer("groups, told", 'a,b\n"1,234",2\n', 1234.0**2 + 4, "--decimal .")
answer("decimal commas, told", 'a,b\n"1,234",2\n', 1.234**2 + 4, "--decimal ,")
answer("the minus sign of formulas", "a;b\n\u22121,5;2 kg\n3;\u22124 kg\n", 6.25)
answer("exponents", "a,b\n1e1,+.2E1\n", 104)
answer("money", "a,b\n$1.50,2\n$3,4\n", 6.25)
answer("units", "a,b\n15 kg,2%\n3 kg,4%\n", 229)
answer("money in groups", 'a,b\n"$1,000.50",2\n"$1.00",2\n', 1000.5**2 + 4)
answer("money in groups, below zero", 'a,b\n"-$1,000.50",2\n"$1.00",2\n', 1000.5**2 + 4)
answer("money in groups by points", "a;b\n1.000,50 €;2\n1,00 €;2\n", 1000.5**2 + 4)
answer("units beside decimal commas", "a;b\n2,5 kg;2\n3,25 kg;4\n", 10.25)
answer("digits of other scripts", "a,b\n\u0661,\uff12\n\u0663,\uff14\n", 5)
answer("truth values", "a,b\nTrue,2\nfalse,4\n", 5)
refused("either mark", 'a,b\n"1,234",2\n', "say whether commas are decimal")
refused("both marks", 'a;b\n"0,5";2\n0.5;3\n', "column 'a' is not numeric")
refused("numbers and words", "a,b\n1,2\n3,four\n", r"column 'b' is not numeric \(line 3 has 'four'\)")
refused("hexadecimal", "a,b\n0x10,2\n", "column 'a' is not numeric")
refused("too large", "a,b\n1e999,2\n", "is not finite")
# Gaps, text, dates, duplicates.
answer("a gap elsewhere", "a,b\n1,2\n,4\n", 5)
answer("a gap, filled by the mean", "a,b\n,2\n2,4\n4,4\n", 13, "--missing mean")
answer("a gap, filled by the median", "a,b\nNA,2\n2,4\n3,4\n10,4\n", 13, "--missing median")
answer("a gap, dropped", "a,b\n,2\n1,2\n", 5, "--missing drop")
answer("text", "name,a,b\nAnn,1,2\nBob,3,4\n", 5)
answer("dates", "day,a,b\n2026-03-02,1,2\n2026-03-03,3,4\n", 5)
answer("times", "at,a,b\n2026-03-02T10:00:00,1,2\n2026-03-03T10:00:00,3,4\n", 5)
answer("dates of Germany", "Tag;a;b\n02.03.2026;1,5;2\n03.03.2026;3,5;4\n", 6.25)
answer("text, encoded", "kind,a\nx,2\ny,3\nx,4\n", 5, "--encode")
answer("a cell of 300,000 characters", "a,b,c\n1,2," + "x" * 300_000 + "\n", 5)
refused("no number to fill with", "a,b\n,2\n,4\n", "column 'a' has no number whose mean", "--columns a --missing mean")
refused("a number of 400 digits", "a,b\n" + "1" * 400 + ",2\n", "1 … 1+' is not finite")
answer("equal rows", "a,b\n1,2\n1,2\n1,2\n", 5)
refused("a gap in the row", "a,b\n,2\n3,4\n", r"line 2, column 'a': the cell is empty; --missing")
refused("gaps in all rows", "a,b\n,2\n,4\n", "the cell is empty")
refused("text only", "a,b\nx,y\n", "no column holds numbers; --encode")
refused("columns of one name", "a,a\n1,2\n", "two columns are named 'a'")
refused("numbers for names", "1,2\n3,4\n", "the first line must name the columns")
refused("nothing", b"", "the file is empty")
refused("lines only", b"\n \n\r\n", "is empty|has a header and no rows")
refused("names only", "a,b\n", "has a header and no rows")
# Names.
answer("hostile names", '"=cmd()|x","<script>alert(1)</script>"\n1,2\n3,4\n', 5)
answer("names with escapes", "\x1b[31mred,b\n1,2\n", 5)
answer("a name of 10,000 characters", "x" * 10_000 + ",b\n1,2\n", 5)
answer("1,000 columns", ",".join(f"c{i}" for i in range(1000)) + "\n" + ",".join(["1"] * 1000) + "\n", 1000)
answer("20,000 rows", "a,b\n" + "1,2\n" * 20_000, 5)
answer("names with spaces", " a , b \n1,2\n", 5)
answer("names in two cases", "a,A\n1,2\n", 5)
answer("names from right to left", "שלום,b\n1,2\n3,4\n", 5)
# More of what people's programs write.
answer("lines of three systems", "a,b\r\n1,2\n3,4\r5,6\n", 5)
answer("empty columns and rows at the end", "a,b,,\n1,2,,\n3,4,,\n,,,\n", 5)
answer("totals below", "name,a,b\nx,1,2\nTotal,1,2\n", 5)
answer("groups by apostrophes", "a;b\n1'000.5;2\n3'000;4\n", 1000.5**2 + 4)
answer("narrow spaces", "a;b\n1\u202f000;2\n3\u00a0000;4\n", 1e6 + 4)
answer("words for no number", "a,b\n1,2\nNaN,4\nn/a,5\n", 5)
answer("yes and no", "a,b,c\nyes,1,2\nno,3,4\n", 5)
answer("durations", "a,b\n01:30:00,2\n02:00:00,4\n", 4)
answer("Parquet of decimals", frame(lambda f, b: f.to_parquet(b), a=[Decimal("1.5"), Decimal("3.5")], b=[2, 4]), 6.25)
answer("Parquet of lists", frame(lambda f, b: f.to_parquet(b), a=[[1, 2], [3]], b=[2, 4]), 4)
answer(".npy, big-endian", array(numpy.array([[1.0, 2.0], [3.0, 4.0]], ">f8")), 5)
answer(".npy of halves in Fortran's order", array(numpy.asfortranarray([[1, 2], [3, 4]], "f2")), 5)
# Other kinds of files.
answer("gzip", gzip.compress(b"a,b\n1,2\n"), 5)
answer(".npy", array(numpy.array([[1.0, 2.0], [3.0, 4.0]])), 5)
answer(".npy of one dimension", array(numpy.array([3, 4])), 9)
answer(".npy with names", array(numpy.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])), 5)
answer("Parquet", frame(lambda f, b: f.to_parquet(b), a=[1.0, None], b=[2, 4], name=["x", "y"]), 5)
answer("Feather", frame(lambda f, b: f.to_feather(b), a=[1.0, 3.0], b=[2, 4]), 5)
answer("Excel", frame(lambda f, b: f.to_excel(b, index=False), a=[1.0, 3.0], b=[2, 4], who=["x", "y"]), 5)
refused("half a Parquet file", b"PAR1" + bytes(50), "is Parquet that cannot be read|needs")
refused("half a Feather file", b"ARROW1" + bytes(50), "is Feather that cannot be read|needs")
refused("half a .npy", array(numpy.ones(9))[:-20], "is a .npy file that cannot be read")
refused(".npy without a header", b"\x93NUMPY\x01\x00" + b"x" * 60, "is a .npy file that cannot be read")
refused(".npy of objects", array(numpy.array([1, "x"], object)), "its elements are objects.*save it as Parquet")
refused(".npy of three dimensions", array(numpy.ones((2, 2, 2))), "has 3 dimensions")
refused(".npy of complex numbers", array(numpy.ones((2, 2)) * 1j), "complex; save their real parts")
refused(".npy of complex fields", array(numpy.ones(2, [("a", "c16"), ("b", "f8")])), "complex; save their real parts")
refused(".npy without rows", array(numpy.ones((0, 2))), "data: has no rows")
refused("a zip", b"PK\x03\x04" + bytes(50), "is a zip archive that cannot be read")
refused("half a gzip", gzip.compress(b"a,b\n1,2\n")[:-9], "cannot be unpacked")
refused("a pickle", b"\x80\x04\x95\x00", "is a pickle, which could run any code")
refused("an old workbook", b"\xd0\xcf\x11\xe0" + bytes(90), "is an old Excel workbook")
refused("a database", b"SQLite format 3\0" + bytes(90), "is an SQLite database")
refused("a picture", b"\x89PNG\r\n\x1a\n" + bytes(90), "is a picture")
refused("a PDF", b"%PDF-1.7\n", "is a PDF")
refused("JSON", '[{"a": 1, "b": 2}]', "looks like JSON")
refused("a web page", "<!DOCTYPE html><html><table>", "looks like a web page")
refused("a Stata file", b"<stata_dta><header>" + bytes(90), "is a Stata file; save")
refused("an SPSS file", b"$FL2@(#) SPSS" + bytes(90), "is an SPSS file; save")
refused("a MATLAB file", b"MATLAB 5.0 MAT-file" + bytes(90), "is a MATLAB file; save")
refused("data of R", gzip.compress(b"X\n\x00\x00" + bytes(50)), "is data of R; save")
refused("an ORC file", b"ORC" + bytes(90), "is an ORC file; save")
refused("an Avro file", b"Obj\x01" + bytes(50), "is an Avro file; save")
refused("a tar archive", b"x.csv" + bytes(95) + b"0000644\0a,b\n1,2\n", "is no text, and of no kind that is known")
refused("an old database", b"\x03\x7a\x01\x01" + bytes(100), "is no text, and of no kind that is known")
refused("bzip2", bz2.compress(b"a,b\n1,2\n"), "is compressed; unpack it first")
refused("a zip of a CSV", zipped("t.csv"), "is a zip archive, not an Excel workbook; unpack it first")
refused("OpenDocument", zipped("mimetype"), "is an OpenDocument file; save it as .xlsx or CSV")
refused("XML", '<?xml version="1.0"?><rows><r a="1"/></rows>', "looks like XML, not a table")
refused("lines of JSON", '{"a": 1}\n{"a": 2}\n', "looks like JSON")
refused(
    "a title above", "Report of sales\n\na,b\n1,2\n3,4\n", "'Report of sales'.; take out the lines before the names"
)
refused("comments above", "# by hand\na,b\n1,2\n3,4\n", "take out the lines before the names")
refused("a table of Markdown", "| a | b |\n|---|---|\n| 1 | 2 |\n", "column 'a' is not numeric .line 2 has '---'")
refused("names again", "a,b\n1,2\na,b\n3,4\n", "column 'a' is not numeric .line 3 has 'a'")
refused("negative numbers in brackets", "a,b\n(1.5),2\n3,4\n", "column 'a' is not numeric")
refused("a null character", "a,b\n1,2\0\n3,4\n", r"column 'b' is not numeric .line 2 has '2\\x00'")
refused("a mark only", b"\xef\xbb\xbf", "the file is empty")
refused("an empty workbook", workbook(), "has no columns")
refused("a title in a workbook", workbook(["Sales"], [], ["a", "b"], [1, 2]), "column 'Sales' is not numeric")
refused("all bytes", bytes(range(256)) * 4, "is not text in UTF-8")

NEEDS = {
    "Parquet": "pyarrow",
    "Parquet of decimals": "pyarrow",
    "Parquet of lists": "pyarrow",
    "Feather": "pyarrow",
    "Excel": "openpyxl",
}


def command(options: str = "", row: str = "0", baseline: str = "zero") -> list[str]:
    return f"explain sums.py:total --data data --row {row} --baseline {baseline} {options}".split()


def write(folder: Path, content: bytes | Made) -> None:
    (folder / "data").write_bytes(content if isinstance(content, bytes) else content(folder))


def test_there_are_60() -> None:
    assert len(ANSWERS) + len(REFUSED) >= 60


@pytest.mark.parametrize("name", turns(ANSWERS, 0, 3))
def test_awkward_data_has_an_answer(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if name in NEEDS:
        pytest.importorskip("pandas")
        pytest.importorskip(NEEDS[name])
    content, value, options = ANSWERS[name]
    write(folder, content)
    before = (folder / "data").read_bytes()
    row = "all" if "drop" in options else "0"
    assert main([*command(options, row), "--out", "out.json"]) == 0, capsys.readouterr().err
    captured = capsys.readouterr()
    assert all(line.startswith("npdec explain: note: ") for line in captured.err.splitlines())
    (found, *_) = json.loads((folder / "out.json").read_text())["rows"]
    assert found["value"] == pytest.approx(value, rel=1e-14)
    total = math.fsum(line["contribution"] for line in found["contributions"])
    assert total == pytest.approx(value, rel=1e-12)
    assert (folder / "data").read_bytes() == before


@pytest.mark.parametrize("name", REFUSED)
def test_awkward_data_has_one_clear_line(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, says, options = REFUSED[name]
    write(folder, content)
    before = sorted(folder.iterdir())
    assert main([*command(options), "--out", "out.csv"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("npdec explain: error: ")
    assert re.search(says, line), line
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("name", ["text", "dates", "hostile names", "text, encoded", "decimal commas", "UTF-8"])
def test_outputs_go_through_pandas(name: str, folder: Path) -> None:
    pd = pytest.importorskip("pandas")
    content, _, options = ANSWERS[name]
    write(folder, content)
    assert main([*command(options, "all"), "--out", "out.csv"]) == 0
    assert main([*command(options, "all"), "--out", "out.json"]) == 0
    table = pd.read_csv(folder / "out.csv")
    rows = json.loads((folder / "out.json").read_text())["rows"]
    wanted = [(row["row"], line) for row in rows for line in row["contributions"]]
    assert len(table) == len(wanted)
    for (_, found), (row, line) in zip(table.iterrows(), wanted, strict=True):
        assert found["row"] == row
        assert found["column"].removeprefix("'") == line["column"]
        assert found["contribution"] == line["contribution"]
    again = pd.read_csv(io.StringIO(table.to_csv(index=False)))
    assert again.equals(table)


# What is said, and what is used.


def test_columns_of_text_are_left_out_with_a_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data").write_text("who,a,day,b\nAnn,1,2026-03-02,2\nBob,3,2026-03-03,4\n")
    assert main(command()) == 0
    captured = capsys.readouterr()
    assert captured.err == (
        "npdec explain: note: left out, as text: who and dates: day; --encode takes such columns as categories\n"
    )
    assert "row 0 who=Ann day=2026-03-02" in captured.out


def test_columns_that_no_parameter_names_are_not_spoken_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data").write_text("who,weight,height\nAnn,60,1.7\nBob,,1.8\n")
    arguments = "explain sums.py:named --data data --row 0 --baseline 0".split()
    assert main(arguments) == 0
    assert capsys.readouterr().err == ""


def test_categories_are_one_component_each(folder: Path) -> None:
    """A number for each category, in their order, as one-hot columns of a model are; their contributions are added."""
    (folder / "data").write_text("city,a\nRome,1\nParis,2\nRome,3\nOslo,4\n")
    (folder / "homes.py").write_text(
        "import numpy as np\ndef price(row): return row[3] * (10 * row[0] + 20 * row[1] + 40 * row[2])\n"
        "def named(city, a): return a * (city * np.array([10.0, 20.0, 40.0])).sum()\n"
    )
    for function in ("price", "named"):
        arguments = f"explain homes.py:{function} --data data --row 1 --baseline 0 --encode".split()
        (row,) = results(*arguments)["rows"]
        found = {line["column"]: line for line in row["contributions"]}
        assert (row["value"], row["baseline_value"]) == (40, 40)
        assert found["city"]["input"] == "Paris"
        assert found["city"]["baseline"] == "Rome"
        assert found["city"]["contribution"] == pytest.approx((20 - 40) * 1.5)
        assert found["a"]["contribution"] == pytest.approx((2 - 1) * 30)
    (row,) = results(*"explain homes.py:price --data data --row 0 --baseline mean --encode".split())["rows"]
    assert row["baseline_value"] == pytest.approx(2.5 * (10 / 4 + 20 / 4 + 40 / 2))


def test_too_many_categories(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data").write_text("a,b\n" + "".join(f"t{i},1\n" for i in range(1500)))
    assert main(command("--encode")) == 2
    assert "column 'a' has 1500 different texts" in capsys.readouterr().err


def test_rows_with_gaps_are_dropped_and_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data").write_text("a,b\n1,2\n,2\n3,4\n5,\n")
    assert [row["row"] for row in results(*command("--missing drop", "all"))["rows"]] == [0, 2]
    assert "note: left out 2 rows with missing cells: 1, 3" in capsys.readouterr().err
    assert main(command("--missing drop", "1")) == 2
    assert "every row that was asked for has missing cells" in capsys.readouterr().err


def test_data_is_piped_in(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "explain sums.py:total --data - --row 0 --baseline zero".split()
    for content in (b"a,b\n1,2\n", array(numpy.array([[1.0, 2.0]]))):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert main(arguments) == 0
        assert "standard input" in capsys.readouterr().out


@pytest.mark.parametrize(
    "option",
    ["--encoding nonsense", "--format q", "--format x", "--jobs 0", "--by nobody", "--sheet 2", "--columns ,"],
)
def test_options_without_meaning(option: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data").write_text("a,b\n1,2\n")
    assert main(command(option)) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_encoding_is_of_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data").write_bytes(array(numpy.ones((2, 2))))
    assert main(command("--encoding cp1252")) == 2
    assert "--encoding cp1252: data is no text" in capsys.readouterr().err


def test_shares_of_many_columns_look_at_each_once() -> None:
    class Number(float):
        asked = 0

        def __abs__(self) -> float:
            Number.asked += 1
            return float(self)

    for columns in (100, 1000):
        names = tuple(map(str, range(columns)))
        moves = tuple(map(Number, range(columns)))
        Number.asked = 0
        ranked = Explanation(0, "", names, moves, moves, moves, 10.0, 0.0, 0.0).ranked()
        assert [line.share for line in ranked[:2]] == [(columns - 1) / 10, (columns - 2) / 10]
        assert Number.asked <= 3 * columns


def test_readers_that_are_not_installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "data").write_bytes(b"PAR1" + bytes(20))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(command()) == 2
    assert "reading it needs pyarrow: pip install 'npdec[explain]'" in capsys.readouterr().err
    (folder / "data").write_text("a,b\n1,2\n")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert main(command()) == 0


def test_formats_of_numbers() -> None:
    point, comma = Format(), Format(",", True)
    assert [point.number(text) for text in ("1.5", "1e3", "1 234", "0,5", "x")] == [1.5, 1e3, 1234, None, None]
    assert [comma.number(text) for text in ("1,5", "1.234,5", "1'234", "0.5")] == [1.5, 1234.5, 1234, None]
    assert found_format([["1,234"], ["5"]]) == (Format(), None)
    assert found_format([["1"], ["0,5"]]) == (Format(",", True), (1, "0,5"))
    assert affixes(["3 kg", "4 kg", ""], point) == ("kg", [3, 4, pytest.approx(math.nan, nan_ok=True)])
    for cells in (["3 kg", "4 g"], ["3", "4"], ["A1", "A2"], ["12 High Street", "14 High Street"]):
        assert affixes(cells, point) is None
