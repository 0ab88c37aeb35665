"""Run the quick tests with the oldest torch that pyproject.toml admits, or with another version.

    python scripts/oldest.py                    # the oldest that is admitted
    python scripts/oldest.py --torch 2.12.0     # whether an older one would do
    python scripts/oldest.py --index-url URL    # where pip finds builds of torch; what pip knows by default otherwise

A virtual environment is made in a temporary folder, torch is installed there in that version, and everything else as
constraints.txt pins it. On Linux the builds of the default index bring CUDA, some gigabytes. What was found on
2026-11-22 with Python 3.11, of the 24,500 quick tests of that day:

    2.13.0   passes: it is the version that constraints.txt pins, and CI runs
    2.12.0   no rule can be entered for torch.nn.functional.linear_cross_entropy and Tensor.const_data_ptr, which came
             with 2.13; without these two, 50 tests fail (nextafter, unique, comparisons of other dtypes, halves)
    2.10.0   the same two, and 50 failures
    2.9.1    Tensor.grad_dtype is missing besides: `import npdec.overrides` fails
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def floor(package: str) -> str:
    """The oldest version of a dependency that pyproject.toml admits."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    for line in (*project["dependencies"], *extras):
        if match := re.fullmatch(rf"{re.escape(package)}>=([\d.]+)", line):
            return match[1]
    raise LookupError(f"pyproject.toml does not say from which version on {package} will do")


def pinned(package: str) -> str:
    """The version of a package that constraints.txt pins."""
    match = re.search(rf"^{re.escape(package)}==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.M | re.I)
    if match is None:
        raise LookupError(f"constraints.txt does not pin {package}")
    return match[1]


def constraints(version: str) -> str:
    """constraints.txt with another version of torch."""
    text = (ROOT / "constraints.txt").read_text("utf-8")
    return re.sub(r"^torch==.*$", f"torch=={version}", text, flags=re.MULTILINE)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Run the quick tests with an old version of torch.")
    parser.add_argument("--torch", default=floor("torch"), metavar="VERSION")
    parser.add_argument("--index-url", metavar="URL")
    parser.add_argument("tests", nargs="*", help="tests to run (default: the quick ones)")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "Scripts" if sys.platform == "win32" else "bin", "python")
        pins = Path(folder, "constraints.txt")
        pins.write_text(constraints(options.torch), "utf-8")
        where = ["--index-url", options.index_url] if options.index_url else []
        install = [str(python), "-m", "pip", "install", "-q", "-c", str(pins)]
        for command in (
            [*install, *where, f"torch=={options.torch}"],
            [*install, "-e", f"{ROOT}[test]"],
            [str(python), "-m", "pytest", *(options.tests or ["-n", "auto", "-m", "quick"])],
        ):
            done = subprocess.run(command, cwd=ROOT, check=False)
            if done.returncode:
                sys.stderr.write(f"torch {options.torch}: {' '.join(command[2:6])} … ended with {done.returncode}\n")
                return 1
    sys.stdout.write(f"torch {options.torch} passes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
