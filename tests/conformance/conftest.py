"""Runs the tests that ship inside the installed NumPy on npdec, and holds the list of those that are known to fail.

`suite.toml` beside this file says which files of NumPy's run, which do not and why, and which tests take so long that
they run only where the suite is named, as `scripts/conformance.py` does; so do those of more than `MOST` cases, of
which others run a part. `expected_failures.txt` lists the
tests that are known to fail, in groups with a reason each, a test function or one set of its parameters in a line. A
listed test that passes fails (stale), and so does an unlisted one that fails, and a line that names no test.

A test that ends in an `AbsentError`, or in an error that one led to, needs something that torch cannot hold or do:
objects, text, dates, records, extended precision, the other byte order, or a name of `npdec._core.absent`. It is
inapplicable. That is the whole rule.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import signal
import tomllib
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

import tiers

HERE = Path(__file__).parent
SECONDS = 240  # of the processor's time, for one test
MOST = 50  # cases of one test, as of npdec's own where `pytest -n auto` runs them

# Random examples: the same ones everywhere, and where a test fails on one, which takes no more than that to say whether
# it is applicable, that one is not made smaller. (What is kept of earlier runs is another thing that tests depend on.)
settings.register_profile(
    "npdec-conformance",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

# Tests that need more memory than that say so and are skipped, whatever the machine has: several run side by side. With
# NPY_AVAILABLE_MEM=20GB, and one process, they run as well.
os.environ.setdefault("NPY_AVAILABLE_MEM", "4 GB")
TOO_LARGE = {"TestConcatenate::test_huge_list_error", "test_arbitrary_number_of_ops_error"}  # 17 GB and more

_MARKERS = (
    "slow_pypy: very slow on PyPy",
    "leaks_references: tests that leak references",
    "valgrind_error: tests that valgrind reports",
    "thread_unsafe: tests that run in a single thread",
    "parallel_threads(n): how many threads run a test",
    "iterations(n): how often a thread runs a test",
)


def expected_failures() -> dict[str, dict[str, str]]:
    """The reasons of the tests that are expected to fail, by file and by name in the file."""
    found: dict[str, dict[str, str]] = {}
    reason = ""
    for line in (HERE / "expected_failures.txt").read_text("utf-8").splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line:
            file, _, name = line.partition("::")
            found.setdefault(file, {})[name] = reason
    return found


class Suite(pytest.File):
    """suite.toml: the files of NumPy's test suite that are run."""

    def collect(self) -> Iterator[pytest.Collector]:
        numpy = pytest.importorskip("numpy")
        root = Path(numpy.__file__).parent
        suite = tomllib.loads(self.path.read_text("utf-8"))
        expected = expected_failures()
        for folder, names in suite["files"].items():
            for name in names.split():
                path = root / folder / "tests" / f"test_{name}.py"
                below = f"{folder}/test_{name}.py"
                module: Any = NumpyTests.from_parent(self, path=path, name=below, nodeid=f"{self.nodeid}::{below}")
                module.expected = expected.get(below, {})
                yield module


class NumpyTests(pytest.Module):
    """One test module of NumPy, in which `numpy` is npdec."""

    expected: dict[str, str]

    def _getobj(self) -> Any:
        import numpy_face

        with same_examples(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of matrices, and of what NumPy deprecates
            return numpy_face.load(self.path)

    def teardown(self) -> None:
        import npdec

        npdec.polynomial.set_default_printstyle("unicode")  # where tests of a class set "ascii"


@contextlib.contextmanager
def same_examples() -> Iterator[None]:
    """Tests that are defined within draw their random examples as the profile above says."""
    before = settings.get_current_profile_name()
    settings.load_profile("npdec-conformance")
    try:
        yield
    finally:
        settings.load_profile(before)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path != HERE / "suite.toml" or parent.config.getoption("markexpr") in ("quick", "not slow", "not long"):
        return None  # only to read the suite takes longer than many tests
    suite: Suite = Suite.from_parent(parent, path=file_path)
    suite.add_marker("long")
    return suite


class Conformance:
    """What holds for the items of the suite, wherever the files lie."""

    def __init__(self) -> None:
        self.report = os.environ.get("NPDEC_CONFORMANCE_REPORT")
        self.outcomes: dict[str, list[str]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        unmatched: dict[str, set[str]] = {}
        for item in items:
            module = item.getparent(NumpyTests)
            if module is None:
                continue
            for category in ("PytestUnraisableExceptionWarning", "PytestDeprecationWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::pytest.{category}"))
            item.add_marker(pytest.mark.filterwarnings("ignore:the matrix subclass is not:PendingDeprecationWarning"))
            for mark in item.iter_markers("filterwarnings"):  # a warning of NumPy's is npdec's own here
                for filtered in mark.args:
                    if "numpy." in filtered:
                        item.add_marker(pytest.mark.filterwarnings(filtered.replace("numpy.", "npdec.")))
            # pytest's own tracebacks parse the whole test file again, for every test that fails.
            item.repr_failure = _traceback  # type: ignore[method-assign]
            if item.get_closest_marker("xfail") is not None:
                item.add_marker(pytest.mark.skip("NumPy itself is expected to fail"))
                continue
            name = item.nodeid.removeprefix(f"{module.nodeid}::")
            if name in TOO_LARGE:
                item.add_marker(pytest.mark.skip("needs more memory than a small machine has"))
                continue
            rest = unmatched.setdefault(module.name, set(module.expected))
            for listed in (name, name.partition("[")[0]):
                if listed in module.expected:
                    rest.discard(listed)
                    reason = module.expected[listed]
                    item.add_marker(pytest.mark.xfail(reason=reason, strict=MACHINE not in reason))
                    item.stash[LISTED] = listed == name
                    break
        unknown = [f"{module}::{name}" for module, names in unmatched.items() for name in names]
        if unknown and not any(arg.count("::") > 1 for arg in config.args):  # some of a file's tests
            raise pytest.UsageError(f"expected_failures.txt names tests that NumPy does not have: {sorted(unknown)}")
        if not config.getoption("keyword") and not any(HERE.name in arg for arg in config.args):
            _thin(config, items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if item.getparent(NumpyTests) is None:
            return (yield)
        import numpy_face

        import npdec

        numpy_face.Absent.running = True
        buffer = npdec.getbufsize()  # which a test that fails may leave behind
        signal.signal(signal.SIGPROF, _too_long)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            # NumPy's default, which its tests take for granted. npdec's is to ignore errors.
            with npdec.errstate(divide="warn", over="warn", invalid="warn"):
                return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            npdec.setbufsize(buffer)
            numpy_face.Absent.running = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report: Any = yield
        report.listed = LISTED in item.stash
        if item.getparent(NumpyTests) is None or call.excinfo is None:
            return report
        error = absent_behind(call.excinfo.value)
        if error is not None:
            vars(report).pop("wasxfail", None)
            if item.stash.get(LISTED, False):
                report.outcome = "failed"
                report.longrepr = f"inapplicable, and yet listed as an expected failure: {error}"
            else:
                report.outcome = "skipped"
                report.longrepr = (str(item.path), 0, f"{INAPPLICABLE}: {error}")
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What became of each test, for the file that the environment variable NPDEC_CONFORMANCE_REPORT names."""
        if self.report is None or not report.nodeid.startswith(SUITE) or (report.passed and report.when != "call"):
            return
        kind, text = report.outcome, ""
        if isinstance(report.longrepr, tuple):
            text = report.longrepr[2]
            kind = "inapplicable" if INAPPLICABLE in text else kind
        elif report.longrepr is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else str(report.longrepr)
        if hasattr(report, "wasxfail"):
            kind = "failed" if report.listed else "skipped"  # by pytest.xfail, in the test
        said = text.strip().rpartition("\n")[2]  # of a traceback, the exception
        self.outcomes[report.nodeid.removeprefix(f"{SUITE}::")] = [kind, said]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.report is not None and not hasattr(session.config, "workerinput"):
            Path(self.report).write_text(json.dumps(self.outcomes, indent=1, sort_keys=True), "utf-8")


def _thin(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, and cases of tests of very many."""
    names = {item.nodeid: item for item in items if item.getparent(NumpyTests) is not None}
    if not names:
        return
    suite = tomllib.loads((HERE / "suite.toml").read_text("utf-8"))
    most = dict.fromkeys((name for some in suite["long"].values() for name in some.split()), 0) | suite["cases"]
    cases = collections.defaultdict(list)
    for name in names:
        cases[name.removeprefix(f"{SUITE}::").partition("[")[0]].append(name)
    if most.keys() - cases:
        raise pytest.UsageError(f"suite.toml names tests that NumPy does not have: {sorted(most.keys() - cases)}")
    out = {name for test, its in cases.items() for name in tiers.left_out(its, most.get(test, MOST))}
    config.hook.pytest_deselected(items=[names[name] for name in out])
    items[:] = [item for item in items if item.nodeid not in out]


LISTED = pytest.StashKey[bool]()  # whether the very test is listed, and not the function whose parameters it has
INAPPLICABLE = "inapplicable"
MACHINE = "depends on the machine"  # in the reason of a group: its tests may pass as well
SUITE = "tests/conformance/suite.toml"


def _traceback(excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
    return "".join(traceback.format_exception(excinfo.value))


def absent_behind(error: BaseException | None) -> BaseException | None:
    """The `AbsentError` that the error is, or that led to it."""
    from npdec._core.base import MetSubclass
    from npdec.exceptions import AbsentError

    while error is not None and (not isinstance(error, AbsentError) or isinstance(error, MetSubclass)):
        error = error.__cause__ or error.__context__
    return error


def _too_long(signum: int, frame: Any) -> None:
    raise TimeoutError(f"the test took more than {SECONDS} seconds of the processor's time")


def pytest_configure(config: pytest.Config) -> None:
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    config.pluginmanager.register(Conformance(), "npdec-conformance")
