"""`np.test`: the examples in the documentation of the installed npdec, run by pytest."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import torch

from npdec._core.unbound import unbound

__all__ = ["test"]


@unbound
def test(
    _: Any,
    label: str = "fast",
    verbose: int = 1,
    extra_argv: Sequence[str] | None = None,
    doctests: bool = False,
    coverage: bool = False,
    durations: int = -1,
    tests: str | Sequence[str] | None = None,
) -> bool:
    """Run the examples of npdec's documentation where it is installed, and tell whether all of them hold.

    `tests` names modules (`["npdec.linalg"]`) instead of all; `label="fast"` leaves out what is marked slow, "full"
    does not. `verbose` counts pytest's -v from 1, `durations` lists that many of the slowest (0: all), `coverage` needs
    pytest-cov, `extra_argv` goes to pytest. Raises ImportError without pytest, and ValueError for another label and
    for `doctests=True`, since nothing else is run anyway.

    >>> np.test("full", tests=["npdec.linalg"])  # doctest: +SKIP
    True
    """
    try:
        import pytest
    except ImportError:
        raise ImportError("np.test: the examples are run by pytest; install it") from None
    if label not in ("fast", "full"):
        raise ValueError(f"np.test: label must be 'fast' or 'full', not {label!r}")
    if doctests:
        raise ValueError("np.test: all that is run are examples of the documentation; leave doctests out")
    arguments = ["--doctest-modules", "-o", "doctest_optionflags=NORMALIZE_WHITESPACE ELLIPSIS"]
    arguments += ["-o", "markers=slow: takes long", "-m", "not slow"] if label == "fast" else []
    arguments += [f"-{'v' * (verbose - 1)}"] if verbose > 1 else []
    arguments += ["--cov=npdec"] if coverage else []
    arguments += [f"--durations={durations}"] if durations >= 0 else []
    arguments += ["--pyargs", *([tests] if isinstance(tests, str) else tests or ["npdec"])]

    class Names:
        """What the examples take for granted."""

        @pytest.fixture(autouse=True)
        def names(self, doctest_namespace: dict[str, Any]) -> None:
            doctest_namespace.update(np=importlib.import_module("npdec"), torch=torch)

    return pytest.main([*arguments, *(extra_argv or ())], plugins=[Names()]) == pytest.ExitCode.OK
