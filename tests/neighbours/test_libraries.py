"""The own tests of three libraries pass with numpy meaning npdec; docs/libraries.md has more of them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# The packages, and how their tests end under NumPy: two of one have pytest compare tuples of arrays, which it refuses.
LIBRARIES = {"vg": "13 passed", "numpy_financial": "26 passed", "pymap3d": "2 failed, 333 passed"}


@pytest.mark.long
@pytest.mark.parametrize("package", LIBRARIES)
def test_the_tests_of_a_library_pass(package, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install -c constraints.txt -e '.[libraries]'")
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\n")
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "npdec.pytest_plugin", f"--npdec={package}"]
    ended = subprocess.run(
        [sys.executable, *words, "--pyargs", package, "-c", "pytest.ini", "-rN"],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert ended.stdout.splitlines()[-1].startswith(LIBRARIES[package]), ended.stdout[-2000:] + ended.stderr[-2000:]
    assert "has been imported" not in ended.stdout  # "no module of the package has been imported"
