"""Settings of all tests: examples are drawn at random on a developer's machine and the same ones on every CI run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, settings

import tiers
from seeds import seed

settings.register_profile("npdec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("npdec-ci", settings.get_profile("npdec"), derandomize=True, database=None, print_blob=True)
settings.load_profile("npdec-ci" if os.environ.get("CI") else "npdec")

os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # which SciPy reads when it is imported

# They hold no examples, and pytest would look for those in two modules of one name.
collect_ignore = ["conftest.py", "conformance/conftest.py"]


def pytest_configure(config: pytest.Config) -> None:
    tiers.quick = config.getoption("markexpr") in ("quick", "not slow")


@pytest.fixture(autouse=True)
def _torch_state() -> Iterator[None]:
    """Each test starts from one seed, and none may leave another default dtype behind."""
    seed(0)
    dtype = torch.get_default_dtype()
    yield
    assert torch.get_default_dtype() is dtype, "the test (or the library) changed torch's default dtype"


@pytest.fixture
def decomposition_warnings_alone() -> Iterator[None]:
    """Only what is said of decompositions matters: it is an error, but for choices that are frozen, of which tests of
    the residual know."""
    from npdec import DecompositionWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", DecompositionWarning)
        warnings.filterwarnings("ignore", ".*at the baseline it would choose otherwise", DecompositionWarning)
        # Some samples of torch's functions are at poles, or take roots of negative numbers.
        warnings.filterwarnings("ignore", ".* infinite or not a number", DecompositionWarning)
        yield


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
