"""A plugin of pytest for scripts/libraries.py: writes the outcome of each test, and the processor time of the session.

`--report FILE` names the file. The time begins when numpy, or npdec, has been imported.
"""

from __future__ import annotations

import importlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

_found: dict[str, Any] = {"outcomes": {}, "causes": {}}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--report", type=Path)


@pytest.hookimpl(trylast=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    importlib.import_module("numpy.testing")
    if early_config.pluginmanager.has_plugin("npdec.pytest_plugin"):
        importlib.import_module("npdec.testing")
    _found["start"] = time.process_time()


def _note(node: str, outcome: str, report: Any) -> None:
    worst = ("passed", "skipped", "failed")
    if worst.index(outcome) >= worst.index(_found["outcomes"].get(node, "passed")):
        _found["outcomes"][node] = outcome
    if outcome == "failed":
        crash = getattr(report.longrepr, "reprcrash", None)
        text = str(report.longrepr)
        lines = [line for line in text.splitlines() if line.startswith("E ")]
        said = crash.message if crash is not None else (lines or text.splitlines() or [""])[-1]
        _found["causes"][node] = said.strip()[:300]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note(report.nodeid, report.outcome, report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _note(f"{report.nodeid} (import)", "failed", report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("report")
    if path is not None:
        _found["seconds"] = time.process_time() - _found.pop("start")
        path.write_text(json.dumps(_found, indent=1))
