"""Whether contributions are to be differentiated themselves by what a function computes with (`create_graph=True`)."""

from __future__ import annotations

from contextvars import ContextVar

from npdec._torch.tracing import tracing

__all__ = ["graph_wanted", "wants_graph"]

graph_wanted: ContextVar[bool] = ContextVar("npdec_graph_wanted", default=False)


def wants_graph() -> bool:
    """Whether contributions keep the graph of what they are multiplied with. Code that torch.compile traces, which
    cannot read the state of the moment, makes none."""
    return not tracing() and graph_wanted.get()
