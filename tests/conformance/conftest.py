"""Runs the tests that ship inside the installed NumPy on npdec, and holds the list of those that are known to fail.

`suite.toml` beside this file says which files of NumPy's run, which do not and why, and which tests are expected to
fail, in groups with a reason each. A listed test that passes fails (stale), and so does an unlisted one that fails. A
test that ends in an `AbsentError` is about something that npdec does not have on principle: it is inapplicable.
"""

from __future__ import annotations

import fnmatch
import signal
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SECONDS = 60  # for one test

_MARKERS = (
    "slow: very slow tests",
    "slow_pypy: very slow on PyPy",
    "leaks_references: tests that leak references",
    "valgrind_error: tests that valgrind reports",
    "thread_unsafe: tests that run in a single thread",
    "parallel_threads(n): how many threads run a test",
    "iterations(n): how often a thread runs a test",
)


class Suite(pytest.File):
    """suite.toml: the files of NumPy's test suite that are run."""

    def collect(self) -> Iterator[pytest.Collector]:
        numpy = pytest.importorskip("numpy")
        root = Path(numpy.__file__).parent
        suite = tomllib.loads(self.path.read_text("utf-8"))
        for folder, names in suite["files"].items():
            for name in names.split():
                path = root / folder / "tests" / f"test_{name}.py"
                below = f"{folder}/test_{name}.py"
                expected = {
                    pattern: group["reason"] for group in suite.get("expected", ()) for pattern in group.get(below, ())
                }
                module: Any = NumpyTests.from_parent(self, path=path, name=below, nodeid=f"{self.nodeid}::{below}")
                module.expected = expected
                yield module


class NumpyTests(pytest.Module):
    """One test module of NumPy, in which `numpy` is npdec."""

    expected: dict[str, str]

    def _getobj(self) -> Any:
        import numpy_face

        return numpy_face.load(self.path)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return Suite.from_parent(parent, path=file_path) if file_path == HERE / "suite.toml" else None


class Conformance:
    """What holds for the items of the suite, wherever the files lie."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            module = item.getparent(NumpyTests)
            if module is None:
                continue
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
            name = item.nodeid.removeprefix(f"{module.nodeid}::")
            for pattern, reason in module.expected.items():
                if name == pattern or name.partition("[")[0] == pattern or fnmatch.fnmatchcase(name, _literal(pattern)):
                    item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
                    item.stash[EXPECTED] = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if item.getparent(NumpyTests) is None:
            return (yield)
        import numpy_face

        numpy_face.Absent.running = True
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(SECONDS)
        try:
            return (yield)
        finally:
            signal.alarm(0)
            numpy_face.Absent.running = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report: Any = yield
        if item.getparent(NumpyTests) is None or call.excinfo is None:
            return report
        from npdec.exceptions import AbsentError

        if isinstance(call.excinfo.value, AbsentError):
            if EXPECTED in item.stash:
                report.outcome = "failed"
                report.longrepr = f"inapplicable, and listed among the expected failures: {call.excinfo.value}"
                del report.wasxfail
            else:
                report.outcome = "skipped"
                report.longrepr = (str(item.path), 0, f"inapplicable: {call.excinfo.value}")
        return report


EXPECTED = pytest.StashKey[bool]()


def _literal(pattern: str) -> str:
    """The pattern with brackets that mean themselves: parameters stand in them."""
    return pattern.replace("[", "[[]")


def _too_long(signum: int, frame: Any) -> None:
    raise TimeoutError(f"the test took more than {SECONDS} seconds")


def pytest_configure(config: pytest.Config) -> None:
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    config.pluginmanager.register(Conformance(), "npdec-conformance")
