"""Run the array API standard's public test suite on npdec, and compare with what is known to fail.

    git clone --recurse-submodules https://github.com/data-apis/array-api-tests
    pip install -r array-api-tests/requirements.txt
    python scripts/array_api.py array-api-tests                      # all of it: a minute
    python scripts/array_api.py array-api-tests --only test_linalg   # the modules whose name contains this
    python scripts/array_api.py array-api-tests --examples 100 --seed 1 --version 2024.12

The exit code is 1 if a test fails that tests/array_api/expected_failures.txt does not list, or if one passes (or is no
longer there) that it lists. Its groups begin with a line `# reason`; in a group whose reason begins with "Sometimes:"
the outcome depends on the random examples, and both are right. The suite is not part of the repository: the checkout is
one's own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXPECTED = ROOT / "tests" / "array_api" / "expected_failures.txt"
TESTS = "array_api_tests"
SOMETIMES = "Sometimes:"


@dataclass(frozen=True)
class Expected:
    """The tests that fail, by their id within the suite's folder of tests, each with the reason of its group."""

    always: Mapping[str, str]
    sometimes: Mapping[str, str] = field(default_factory=dict)


def read_expected(text: str) -> Expected:
    """What the list says. ValueError for a test without a reason, or listed twice."""
    always: dict[str, str] = {}
    sometimes: dict[str, str] = {}
    reason = ""
    for line in text.splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line.strip():
            if not reason:
                raise ValueError(f"{line} has no reason: a line that begins with '# ' goes before it")
            if line in always or line in sometimes:
                raise ValueError(f"{line} is listed twice")
            (sometimes if reason.startswith(SOMETIMES) else always)[line] = reason
        else:
            reason = ""
    return Expected(always, sometimes)


def complaints(outcomes: Mapping[str, str], expected: Expected, modules: Iterable[str]) -> list[str]:
    """What differs from the list, of the modules that ran: a line for each test."""
    listed = expected.always.keys() | expected.sometimes.keys()
    failing = {test for test, outcome in outcomes.items() if outcome not in ("passed", "skipped")}
    ran = {test for test in listed if test.partition("::")[0] in set(modules)}
    wrong = [f"fails and is not listed: {test}" for test in sorted(failing - listed)]
    for test in sorted(ran):
        if test not in outcomes:
            wrong.append(f"listed, but there is no such test: {test}")
        elif test in expected.always and test not in failing:
            wrong.append(f"listed, but it {outcomes[test]}: {test}")
    return wrong


def run(checkout: Path, module: str, options: argparse.Namespace) -> dict[str, str]:
    """The outcome of each test of a module, by its id: "passed", "failed", "skipped" or "error"."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": options.module,
        "ARRAY_API_TESTS_VERSION": options.version,
        "PYTHONPATH": os.pathsep.join(paths),
    }
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable, "-m", "pytest", f"{TESTS}/{module}", "-q", "-p", "no:cacheprovider",
            f"--max-examples={options.examples}",
            "--disable-deadline", "--tb=short" if options.verbose else "--tb=no", "--json-report",
            f"--json-report-file={report}",
        ]  # fmt: skip
        if options.seed is not None:
            command.append(f"--hypothesis-seed={options.seed}")
        done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
        if options.verbose or not report.exists():
            print(done.stdout, done.stderr)
        if not report.exists() or done.returncode not in (0, 1):
            raise SystemExit(f"{module}: the suite did not run (pytest says {done.returncode})\n{done.stdout[-2000:]}")
        found = json.loads(report.read_text())
    return {test["nodeid"].partition(f"{TESTS}/")[2]: test["outcome"] for test in found["tests"]}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("checkout", type=Path, help="a checkout of array-api-tests with its submodule")
    parser.add_argument("--only", default="", help="the test modules whose name contains this")
    parser.add_argument("--examples", type=int, default=20, help="random examples a test (20)")
    parser.add_argument("--seed", type=int, help="of the random examples")
    parser.add_argument("--version", default="2024.12", help="of the standard (2024.12)")
    parser.add_argument("--module", default="npdec", help="the library to test, without a comparison (npdec)")
    parser.add_argument("--verbose", action="store_true", help="show what pytest says")
    options = parser.parse_args(arguments)
    modules = sorted(path.name for path in (options.checkout / TESTS).glob("test_*.py") if options.only in path.name)
    if not modules:
        raise SystemExit(f"{options.checkout / TESTS} has no test modules called so")
    outcomes: dict[str, str] = {}
    for module in modules:
        found = run(options.checkout, module, options)
        counted = Counter(found.values())
        print(f"{module:50} {counted['passed']:5} of {len(found)}", flush=True)
        outcomes |= found
    counted = Counter(outcomes.values())
    skipped, passed = counted["skipped"], counted["passed"]
    print(f"{passed} of {len(outcomes)} pass, {skipped} are skipped, {len(outcomes) - passed - skipped} fail")
    if options.module != "npdec":
        return 0
    wrong = complaints(outcomes, read_expected(EXPECTED.read_text()), modules)
    print("\n".join(wrong) if wrong else "as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
