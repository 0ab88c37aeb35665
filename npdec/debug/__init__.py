"""Debugging NumPy code eagerly: the operations as they run, the first that goes wrong, and which layer it is in."""

from __future__ import annotations

from npdec.debug._compare import Comparison, Report, compare
from npdec.debug._differences import Difference
from npdec.debug._places import Place
from npdec.debug._steps import Step, Trace, trace
from npdec.debug._stops import full_tracebacks, watch

__all__ = [
    "Comparison", "Difference", "Place", "Report", "Step", "Trace", "compare", "full_tracebacks", "trace", "watch",
]  # fmt: skip
