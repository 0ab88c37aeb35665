"""Run NumPy's own test suite on npdec and write the summary, `docs/conformance.md`, and the table in the README.

`python scripts/conformance.py` runs the files that `tests/conformance/suite.toml` names, on all cores, and writes for
each file how many of its applicable test functions pass. A function is applicable if one of its sets of parameters is,
and passes if all that are do. `--report FILE` summarises a run that has been made, `--failures` lists what fails in it.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "tests" / "conformance" / "suite.toml"
SUMMARY = ROOT / "docs" / "conformance.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- conformance -->", "<!-- end of conformance -->"


def run(report: Path) -> None:
    """Run the suite; the outcome of every test goes to `report`."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-n", "auto", "-m", "", str(SUITE)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NPDEC_CONFORMANCE_REPORT": str(report)}, check=False)


def by_function(outcomes: dict[str, list[str]]) -> dict[str, str]:
    """What became of each test function: passed, failed or inapplicable."""
    kinds: dict[str, set[str]] = collections.defaultdict(set)
    for test, (kind, _) in outcomes.items():
        kinds[test.partition("[")[0]].add(kind)
    return {
        test: "failed" if "failed" in found else "passed" if "passed" in found else "inapplicable"
        for test, found in kinds.items()
        if found != {"skipped"}  # by NumPy itself, on this machine
    }


def counted(outcomes: dict[str, list[str]], separator: str) -> dict[str, collections.Counter[str]]:
    """How many functions of each kind there are, by what stands before the separator in their names."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for test, kind in by_function(outcomes).items():
        counts[test.partition(separator)[0]][kind] += 1
    return counts


def in_short(outcomes: dict[str, list[str]]) -> str:
    """The table of the README: a row for each of NumPy's packages."""
    packages = counted(outcomes, "/")
    total = sum(packages.values(), collections.Counter())
    head = ["| tests of | passed | applicable | share | inapplicable |", "| --- | ---: | ---: | ---: | ---: |"]
    rows = [f"| `numpy.{name}` | {row(count)} |" for name, count in sorted(packages.items())]
    return "\n".join([BEGIN, *head, *rows, f"| **all** | {row(total)} |", END])


def summary(outcomes: dict[str, list[str]]) -> str:
    files = counted(outcomes, "::")
    total = sum(files.values(), collections.Counter())
    rows = [f"| {name} | {row(count)} |" for name, count in sorted(files.items())]
    left_out = tomllib.loads(SUITE.read_text("utf-8"))["left out"]
    return "\n".join(
        [
            "# NumPy's own test suite",
            "",
            "The tests that ship inside NumPy's wheel, run with `numpy` resolved to npdec inside the test modules",
            "(`tests/conformance/`); this page is written by `scripts/conformance.py`. Counted are test functions. One",
            "is applicable unless all its sets of parameters end in an error that says that torch cannot hold or do",
            "what it needs (objects, text, dates, records, extended precision, the other byte order, a name that npdec",
            "says it does not have); it passes if all its applicable sets of parameters pass. What fails is listed,",
            "with reasons, in `tests/conformance/expected_failures.txt`. Thirteen of those that pass",
            "(7 in `_core/test_casting_unittests.py`, 6 in `_core/test_numerictypes.py`) ask NumPy's own objects in C",
            "and tables of types, which are handed npdec's dtypes as NumPy's, and give them back as npdec's.",
            "",
            "| file | passed | applicable | share | inapplicable |",
            "| --- | ---: | ---: | ---: | ---: |",
            *rows,
            f"| **all** | {row(total)} |",
            "",
            "Files that are not run, since they are not about numeric arrays:",
            "",
            *[f"- {', '.join(f'`{name}`' for name in names.split())}: {why}" for why, names in left_out.items()],
            "",
        ]
    )


def row(count: collections.Counter[str]) -> str:
    applicable = count["passed"] + count["failed"]
    share = f"{count['passed'] / applicable:.1%}" if applicable else ""
    return f"{count['passed']} | {applicable} | {share} | {count['inapplicable']}"


def failures(outcomes: dict[str, list[str]]) -> list[str]:
    """The failing tests (a function where it fails as a whole), as expected_failures.txt has them, and how they end."""
    alive = {test.partition("[")[0] for test, (kind, _) in outcomes.items() if kind == "passed"}
    lines = {}
    for test, (kind, text) in sorted(outcomes.items()):
        if kind == "failed":
            function = test.partition("[")[0]
            lines.setdefault(test if function in alive else function, text)
    return [f"{test}\t{text}" for test, text in lines.items()]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--report", type=Path, help="the outcomes of a run, instead of a new one")
    parser.add_argument("--failures", action="store_true", help="list the failing tests and write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = options.report or Path(folder, "outcomes.json")
        if options.report is None:
            run(report)
        outcomes = json.loads(report.read_text("utf-8"))
    if options.failures:
        print("\n".join(failures(outcomes)))
        return 0
    SUMMARY.parent.mkdir(exist_ok=True)
    SUMMARY.write_text(summary(outcomes), "utf-8")
    readme = README.read_text("utf-8")
    README.write_text(
        readme[: readme.index(BEGIN)] + in_short(outcomes) + readme[readme.index(END) + len(END) :], "utf-8"
    )
    print(SUMMARY.read_text("utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
