"""A few random programs for every function, and those that once differed from NumPy (`scripts/fuzz.py` draws more)."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from numpy._core._multiarray_umath import __cpu_features__

import npdec
import samples
import tiers
from fuzz_calls import NOT_FUZZED
from fuzz_compare import Differs, check, compare, quietly
from fuzz_draw import Program
from fuzz_rules import RULES, Difference
from fuzz_run import SUBJECTS, explore

FIXED = [
    program.strip()
    for program in (Path(__file__).parents[1] / "fuzz_fixed.txt").read_text().split("\n\n")
    if not program.startswith("#")
]


def test_every_function_is_drawn_for():
    public = {name for name in samples.public_callables() if samples.find(numpy, name) is not None}
    assert public <= SUBJECTS.keys() | NOT_FUZZED.keys()


@pytest.mark.parametrize("name", SUBJECTS)
def test_drawn_programs(name):
    _, failure = explore(name, 2 if tiers.quick else 3)
    assert failure is None, f"\n{failure}"


@pytest.mark.parametrize("text", FIXED)
def test_fixed_programs(text):
    setup, _, call = text.partition("\n")
    check(Program(_function_of(call), setup, call))


def _function_of(call: str) -> str:
    name = call.removeprefix("r = ").partition("(")[0]
    return name.removeprefix("np.") if name.startswith("np.") else f"ndarray.{name.partition('.')[2]}"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.applies.__name__)
def test_rules_are_not_stale(rule):
    setup, _, call = rule.example.partition("\n")
    program = Program(rule.name, setup, call)
    want, got = quietly(lambda: program.run(numpy)), quietly(lambda: program.run(npdec))
    difference = _difference(program, got, want)
    if difference is not None:
        assert rule.applies(Difference(program, got, want, difference)), difference
    if rule.feature is not None:
        assert (difference is not None) == __cpu_features__.get(rule.feature, False)
    elif not rule.varies:
        assert difference is not None, "it is no longer there"


def _difference(program, got, want):
    try:
        quietly(lambda: compare(program, got, want))
    except Differs as difference:
        return str(difference)
    return None
