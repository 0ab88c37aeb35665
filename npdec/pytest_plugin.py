"""A plugin of pytest that runs a library's own tests with numpy meaning npdec: `pytest -p npdec.pytest_plugin
--npdec=PACKAGE`.

`numpy` is npdec in the packages that are named (the option may be given again) and in what lies below pytest's root
folder and the folders that it is given, tests and conftest.py, environments in it excepted. All other packages, pytest
among them, get NumPy. Without the option the plugin does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from npdec._guests.stand_ins import is_within
from npdec._running.finder import Installation, checked_names
from npdec._running.imports import own_builtins

__all__ = [
    "pytest_addoption",
    "pytest_load_initial_conftests",
    "pytest_report_header",
    "pytest_runtest_setup",
    "pytest_terminal_summary",
    "pytest_unconfigure",
]

_KEY = pytest.StashKey[Installation]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option `--npdec`."""
    parser.getgroup("npdec").addoption(
        "--npdec",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="numpy means npdec in this package and in its tests; may be given again",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Choose the modules, before the first conftest.py is imported."""
    options = early_config.known_args_namespace
    if options.npdec:
        try:
            names = checked_names("--npdec", options.npdec)
        except (RuntimeError, ValueError) as error:
            raise pytest.UsageError(str(error)) from None
        early_config.stash[_KEY] = Installation(names, _folders(early_config, options.file_or_dir))


def _folders(config: pytest.Config, given: list[str]) -> Iterator[Path]:
    """The root folder, and those of the files and folders that pytest is given."""
    yield config.rootpath
    for word in given:
        path = config.invocation_params.dir / word.partition("::")[0]
        if path.exists():
            yield path if path.is_dir() else path.parent


def pytest_report_header(config: pytest.Config) -> str | None:
    """Where numpy is npdec."""
    found = config.stash.get(_KEY, None)
    if found is None:
        return None
    return f"npdec: numpy is npdec in {', '.join(found.packages)} and below {', '.join(map(str, found.folders))}"


def pytest_runtest_setup(item: Any) -> None:
    """The examples of a text file import npdec too; those of a docstring have the builtins of its module."""
    if _KEY in item.config.stash and hasattr(item, "dtest"):
        item.dtest.globs.setdefault("__builtins__", vars(own_builtins()))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say so where a package that was named has not been imported: its name may be wrong."""
    found = config.stash.get(_KEY, None)
    if found is None or getattr(config.option, "numprocesses", None):
        return
    for package in found.packages:
        if not any(is_within(name, package) for name in found.loaded):
            terminalreporter.write_line(f"npdec: no module of {package!r} has been imported", yellow=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Choose no more modules."""
    found = config.stash.get(_KEY, None)
    if found is not None:
        found.undo()
