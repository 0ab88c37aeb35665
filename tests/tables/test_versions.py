"""The versions that are said to do are those that are tested."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import oldest  # noqa: E402


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_the_oldest_torch_is_the_one_that_these_tests_run_with():
    """Where a newer one is pinned, `scripts/oldest.py` has to be run, and what it finds written down there."""
    floor, pinned = numbers(oldest.floor("torch")), numbers(oldest.pinned("torch"))
    assert pinned[: len(floor)] == floor
    assert f"torch {oldest.floor('torch')} or later" in (ROOT / "docs" / "install.md").read_text("utf-8")


def test_every_pin_is_admitted():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    for line in lines:
        if match := re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", line):
            assert numbers(oldest.pinned(match[1].replace("opt-einsum", "opt_einsum"))) >= numbers(match[2]), line


def test_another_torch_is_put_into_the_constraints():
    text = oldest.constraints("9.8.7")
    assert "torch==9.8.7\n" in text
    assert len(text.splitlines()) == len((ROOT / "constraints.txt").read_text("utf-8").splitlines())
