"""The graphs that np.jit makes, as tests look at them."""

from __future__ import annotations

from typing import Any

import npdec as np


def graphs(function: Any) -> tuple[Any, list[Any]]:
    """The compiled function, and the graphs that it makes."""
    made: list[Any] = []

    def backend(graph, inputs):
        made.append(graph)
        return graph.forward

    return np.jit(function, fullgraph=True, backend=backend), made
