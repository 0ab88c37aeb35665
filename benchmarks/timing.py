"""Timing on a machine that does other work too: columns take turns, and ratios are formed within a turn."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median

import torch

_SHORT = 0.1  # seconds


def turns(columns: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Seconds per call of every column, one number a turn.

    In a turn all columns run, one right after the other, so that a slow spell of the machine hits them alike. The order
    moves on by one each turn, and a first turn only warms up. A short call is made once more before it is timed: the
    column before may have left the caches and the allocator to other numbers.
    """
    names = list(columns)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for turn in range(-1, repeats):
            shift = turn % len(names)
            for name in names[shift:] + names[:shift]:
                call = columns[name]
                if seconds[name] and seconds[name][-1] < _SHORT:
                    call()
                _wait()
                start = time.perf_counter()
                call()
                _wait()
                seconds[name].append(time.perf_counter() - start)
    finally:
        if enabled:
            gc.enable()
    return {name: values[1:] for name, values in seconds.items()}


def _wait() -> None:
    """Until an accelerator has done what it was told, if there is one."""
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()


def ratio(numerator: list[float], denominator: list[float]) -> float:
    """The median of the ratios, each within one turn."""
    return median(a / b for a, b in zip(numerator, denominator, strict=True))
