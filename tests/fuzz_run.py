"""Drawing programs for one function until one differs, and making that one short."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import fuzz_rules_functions  # noqa: F401  (rules are declared when they are imported)
import fuzz_rules_numpy  # noqa: F401
from fuzz_calls import profiles, subjects
from fuzz_compare import Differs, check, quietly
from fuzz_draw import Builder, Program

SUBJECTS = subjects()


@st.composite
def programs(draw: Any, name: str) -> Program:
    return SUBJECTS[name](Builder(draw, profiles(name)))


def explore(name: str, examples: int, start: int = 0) -> tuple[int, str | None]:
    """How many programs were run, and the shortest one that differs, with the difference."""
    count, last = 0, None

    @seed(start)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
    )
    @given(programs(name))
    def run(program: Program) -> None:
        nonlocal count, last
        count += 1
        try:
            check(program)
        except Exception as error:
            last = program, error
            raise

    try:
        quietly(run)
    except Exception as error:
        if last is None:
            raise
        program, difference = last
        kind = "" if isinstance(difference, Differs) else f"{type(difference).__name__}: "
        del error
        return count, f"{program.text}\n# {kind}{difference}"
    return count, None
