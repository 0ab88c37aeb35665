"""Run the own tests of other people's libraries, first under NumPy and then with numpy meaning npdec, and write
docs/libraries.md.

    python scripts/libraries.py                    # all of scripts/libraries.toml, and the page
    python scripts/libraries.py cmaes vg           # some: prints the failures, and ends with 1 if there are any
    python scripts/libraries.py --install cmaes    # only installs them, into --folder
    python scripts/libraries.py --page             # the page, from the results in --folder

The libraries are installed, at the versions that the file names, into an environment of their own (`--folder`) that
sees the packages of this one. Counted are the tests that pass under NumPy; the times are processor time of the whole
session after numpy, or npdec, has been imported.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import venv
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIST = ROOT / "scripts" / "libraries.toml"
PAGE = ROOT / "docs" / "libraries.md"
LONGEST = 3600  # seconds that the tests of one library may take


@dataclass(frozen=True)
class Library:
    """A row of the list."""

    name: str
    version: str
    kind: str
    packages: list[str]
    tests: list[str]
    needs: list[str] = field(default_factory=list)
    source: bool = False
    files: str = ""
    deselect: list[str] = field(default_factory=list)
    why: str = ""


def libraries(names: list[str]) -> list[Library]:
    """The libraries of these names, or all."""
    found = [Library(**row) for row in tomllib.loads(LIST.read_text("utf-8"))["library"]]
    unknown = set(names) - {one.name for one in found}
    if unknown:
        raise SystemExit(f"not in {LIST.name}: {', '.join(sorted(unknown))}")
    return [one for one in found if not names or one.name in names]


# -- installing --------------------------------------------------------------------------------------------------------


class Environment:
    """A virtual environment that sees the packages of this one, and folders with sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        if not self.python.exists():
            venv.create(folder, with_pip=True)
        inner = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.packages = folder / "lib" / inner / "site-packages"
        self.packages.joinpath("base.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")

    def pip(self, *words: str) -> None:
        quiet = ["-q", "--disable-pip-version-check"]
        subprocess.run([self.python, "-m", "pip", words[0], *quiet, "--no-deps", *words[1:]], check=True)

    def has(self, name: str, version: str) -> bool:
        call = "import sys, importlib.metadata as m; sys.exit(m.version(sys.argv[1]) != sys.argv[2])"
        words = [self.python, "-c", call, name, version]
        return subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode == 0

    def install(self, library: Library) -> None:
        """The library and what it needs; its source too where that has the tests."""
        for pinned in (f"{library.name}=={library.version}", *library.needs):
            if not self.has(*pinned.split("==")):
                self.pip("install", pinned)
        if library.source and not self.source(library).is_dir():
            with tempfile.TemporaryDirectory() as place:
                self.pip("download", "--no-binary", library.name, "-d", place, f"{library.name}=={library.version}")
                (archive,) = Path(place).glob("*.tar.gz")
                with tarfile.open(archive) as opened:
                    opened.extractall(self.folder / "sources", filter="data")

    def source(self, library: Library) -> Path:
        return self.folder / "sources" / f"{library.name.replace('-', '_')}-{library.version}"


# -- running -----------------------------------------------------------------------------------------------------------


def run(library: Library, there: Environment, on_npdec: bool) -> dict[str, Any]:
    """The outcomes of the library's tests, and the processor time."""
    top = library.tests[0].partition(".")[0]
    installed = there.packages if (there.packages / top).exists() else Path(sysconfig.get_paths()["purelib"])
    base = there.source(library) if library.source else installed
    paths = [base.joinpath(*name.split(".")) for name in library.tests]
    paths = [path if path.is_dir() else path.with_suffix(".py") for path in paths]
    with tempfile.TemporaryDirectory() as place:
        report, settings = Path(place, "report.json"), Path(place, "pytest.ini")
        files = library.files or "test_*.py *_test.py"
        settings.write_text(f"[pytest]\npython_files = {files}\naddopts = -p no:cacheprovider\n")
        words = [
            "-m",
            "pytest",
            "-q",
            "--continue-on-collection-errors",
            "-c",
            settings,
            "--rootdir",
            base,
            "-p",
            "libraries_report",
            "--report",
            report,
        ]
        words += [f"--deselect={node}" for node in library.deselect]
        if on_npdec:
            words += ["-p", "npdec.pytest_plugin", *(f"--npdec={name}" for name in library.packages)]
        env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), str(ROOT / "scripts")]), MPLBACKEND="agg")
        env.update(OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
        ended = subprocess.run(
            [there.python, *map(str, words), *map(str, paths)],
            check=False,
            cwd=base if library.source else place,
            env=env,
            timeout=LONGEST,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if not report.exists():
            raise SystemExit(f"{library.name}: the tests did not run\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
        made: dict[str, Any] = json.loads(report.read_text())
        return made


@dataclass(frozen=True)
class Row:
    """What came out for one library."""

    library: Library
    theirs: dict[str, Any]
    ours: dict[str, Any]

    @property
    def counted(self) -> list[str]:
        """The tests that pass under NumPy."""
        return [name for name, outcome in self.theirs["outcomes"].items() if outcome == "passed"]

    @property
    def failures(self) -> dict[str, str]:
        """Those of them that do not on npdec, each with what it said."""
        outcomes = self.ours["outcomes"]
        lost = [name for name in self.counted if outcomes.get(name) != "passed"]
        return {name: self.ours["causes"].get(name, outcomes.get(name, "not collected")) for name in lost}

    @property
    def slower(self) -> float:
        return float(self.ours["seconds"] / self.theirs["seconds"])


# -- the page ----------------------------------------------------------------------------------------------------------

HEAD = """# Other people's libraries

Written by `python scripts/libraries.py`, which runs the own tests of libraries written in NumPy: first under NumPy,
then with `numpy` meaning npdec in the library and its tests ([how](guides/unedited.md)), nothing edited. Counted are
the tests that pass under NumPy. The time is processor time, after numpy, or npdec, has been imported.
"""


EARLIER = "Rows with a † are of an earlier run."


def of_earlier_runs(text: str) -> dict[str, tuple[str, str]]:
    """The rows of a page, and what fails, by the names of the libraries."""
    table, _, below = text.partition("## What fails")
    rows = {line.split()[1]: line for line in table.splitlines() if line.startswith("| ") and line[2:3].isalnum()}
    parts = re.split(r"^(?=\*\*)", below, flags=re.MULTILINE)
    fails = {part.split("**")[1]: part.strip() for part in parts if part.startswith("**")}
    return {name: (row, fails.get(name, "")) for name, row in rows.items()}


def page(rows: list[Row], before: str = "") -> str:
    """The table, and what the tests say that fail. Of libraries without a row it has what stood on the page before."""
    lines = [HEAD, "| library | of | tests | pass on npdec | time, of NumPy's |", "| --- | --- | ---: | ---: | ---: |"]
    known, earlier = {row.library.name: row for row in rows}, of_earlier_runs(before)
    kept: list[str] = []
    for one in libraries([]):
        if one.name not in known:
            if one.name in earlier:
                line, fails = earlier[one.name]
                lines.append(line if "†" in line else line.replace(f" {one.version}", f" {one.version} †", 1))
                kept += [fails, ""] if fails else []
            continue
        row = known[one.name]
        counted, lost = len(row.counted), len(row.failures)
        what = "" if {*one.tests} <= {*one.packages, "tests"} else f" ({', '.join(one.tests)})"
        lines.append(
            f"| {one.name} {one.version}{what} | {one.kind} | {counted} | {counted - lost} "
            f"({100 * (counted - lost) / max(counted, 1):.1f} %) | {row.slower:.1f} |"
        )
    lines += [summary(lines[3:]).join(("| **all** | | ", " |")), ""]
    lines += [EARLIER, ""] if any("†" in line for line in lines) else []
    lines += ["## What fails", ""]
    for row in rows:
        if row.failures:
            lines += [f"**{row.library.name}**{': ' if row.library.why else ''}{row.library.why}", ""]
            lines += [f"- {count} × `{cause}`" for cause, count in causes(row).items()]
            lines.append("")
    lines += kept
    return "\n".join(lines).rstrip() + "\n"


def summary(lines: list[str]) -> str:
    """Of all rows of the table: tests, those that pass, and the median of the times."""
    found = [re.search(r"\| (\d+) \| (\d+) \(.*\) \| ([\d.]+) \|$", line) for line in lines]
    numbers = [[float(number) for number in row.groups()] for row in found if row]
    counted, passed = (sum(int(row[i]) for row in numbers) for i in (0, 1))
    share = 100 * passed / max(counted, 1)
    return f"{counted} | {passed} ({share:.1f} %) | {statistics.median(row[2] for row in numbers):.1f} (median)"


def causes(row: Row) -> dict[str, int]:
    """What the failing tests say, the most frequent first."""
    said = (" ".join(cause.partition(" at 0x")[0].split())[:160].replace("`", "'") for cause in row.failures.values())
    return dict(Counter(said).most_common())


def kept(there: Environment, names: list[str]) -> list[Row]:
    """The results of earlier runs."""
    found = []
    for library in libraries(names):
        path = there.folder / "results" / f"{library.name}.json"
        if path.exists():
            found.append(Row(library, *json.loads(path.read_text())))
    return found


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The own tests of other people's libraries, on npdec.")
    parser.add_argument("names", nargs="*", help="libraries of scripts/libraries.toml (default: all)")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "npdec-libraries"))
    parser.add_argument("--install", action="store_true", help="install them, and run nothing")
    parser.add_argument(
        "--page", action="store_true", help="write the page from results that are there, and run nothing"
    )
    options = parser.parse_args(words)
    there = Environment(options.folder)
    there.folder.joinpath("results").mkdir(exist_ok=True)
    lost = 0
    for library in libraries(options.names) if not options.page else ():
        there.install(library)
        if not options.install:
            row = Row(library, run(library, there, False), run(library, there, True))
            there.folder.joinpath("results", f"{library.name}.json").write_text(json.dumps([row.theirs, row.ours]))
            lost += len(row.failures)
            passed = len(row.counted) - len(row.failures)
            print(f"{library.name:<18} {passed} of {len(row.counted)}, {row.slower:.1f} times NumPy's time", flush=True)
            for name, cause in row.failures.items():
                print(f"    {name}: {' '.join(cause.split())[:200]}", flush=True)
    if options.page or not (options.names or options.install):
        PAGE.write_text(page(kept(there, []), PAGE.read_text()))
    return 1 if lost and options.names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
