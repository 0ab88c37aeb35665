"""Names that every docstring's example may use, and one thread a process, since tests run in several processes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import npdec

torch.set_num_threads(1)


MARKERS = (
    "quick: every test that is neither slow nor long (`pytest -m quick`)",
    "slow: whole tables of which the quick tests have a sample, networks, compilers, processes, random programs",
    "whole: every case of it is quick, however many there are",
    "long: only where all tests are asked for (`pytest -m ''`): NumPy's own suite, the fuzzers at length, processes",
)


def pytest_configure(config: pytest.Config) -> None:
    """`np.test` runs the examples without pyproject.toml."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Tens of thousands of tests are no garbage: looking for it takes half as long again while they are collected, and
    more later, in tests that ask for it themselves."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        _freeze()


_known = {"modules": 0}


def _freeze() -> None:
    gc.freeze()
    _known["modules"] = len(sys.modules)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Nor are the packages that a test was the first to import, torch's compiler above all, and some tests, and writes
    that are refused, look for garbage again and again."""
    if len(sys.modules) > _known["modules"] + 100:
        gc.collect()
        _freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is long is slow, and what is not slow is quick."""
    for item in items:
        if item.get_closest_marker("long") is not None:
            item.add_marker("slow")
        elif item.get_closest_marker("slow") is None:
            item.add_marker("quick")


@pytest.fixture(autouse=True, scope="session")
def _names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["np"] = npdec
    doctest_namespace["torch"] = torch


@pytest.fixture
def nothing_stays_registered() -> Iterator[None]:
    """Take away what a test has registered for good in npdec.overrides."""
    from npdec._decomposed.registry import rows
    from npdec.overrides import _calls

    before, opened = dict(rows), set(_calls._opened)
    yield
    for cls in set(_calls._opened) - opened:
        _calls.close_class(cls)
    rows.clear()
    rows.update(before)


@pytest.fixture
def nothing_published() -> Iterator[None]:
    """Take away what a test has published as an operation of its own."""
    owners = (npdec, npdec.ndarray, npdec.generic)
    before = [set(vars(owner)) for owner in owners]
    yield
    for owner, names in zip(owners, before, strict=True):
        for name in set(vars(owner)) - names:
            delattr(owner, name)


@pytest.fixture(autouse=True)
def _of_examples(request: pytest.FixtureRequest) -> None:
    """What the examples of npdec.overrides and npdec.extend register is theirs alone."""
    if isinstance(request.node, pytest.DoctestItem) and any(
        name in request.node.name for name in ("overrides", "extend")
    ):
        request.getfixturevalue("nothing_stays_registered")
        request.getfixturevalue("nothing_published")
