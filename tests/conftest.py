"""Settings of all tests: examples are drawn at random on a developer's machine and the same ones on every CI run."""

from __future__ import annotations

import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

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
# Inductor takes code of its cache that was made for a processor with other vector instructions, which then does not
# compile: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_inductor/codecache.py (FxGraphHashDetails).
if "ATEN_CPU_CAPABILITY" in os.environ:
    held = f"torchinductor_{os.getuid()}_{os.environ['ATEN_CPU_CAPABILITY']}"
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(tempfile.gettempdir()) / held))

# A shell starts what it runs in the background with interrupts ignored, and the programs that tests start inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# They hold no examples, and pytest would look for those in two modules of one name.
collect_ignore = ["conftest.py", "conformance/conftest.py"]


def pytest_configure(config: pytest.Config) -> None:
    tiers.quick = config.getoption("markexpr") in ("quick", "not slow")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Files of which all is slow are not even imported where only the quick tests are run: they import much."""
    return True if tiers.quick and collection_path.suffix == ".py" and tiers.is_slow(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test of many cases a part is run, unless all tests are, or some are asked for by name (`-k`)."""
    most, mark = tiers.CASES.get(config.getoption("markexpr"), (None, ""))
    if most is None or config.getoption("keyword"):
        return
    others = ("long", "whole", "slow") if tiers.quick else ("long", "whole")
    cases = {item.nodeid: item for item in items if not any(map(item.get_closest_marker, others))}
    for name in tiers.left_out(cases, most):
        cases[name].add_marker(mark)


DTYPE = torch.get_default_dtype()


# Hooks and no fixture, which for a small test takes as long as the test.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Each test starts from one seed."""
    seed(0)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """No test may leave another default dtype behind."""
    left = torch.get_default_dtype()
    torch.set_default_dtype(DTYPE)
    assert left is DTYPE, "the test (or the library) changed torch's default dtype"


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
