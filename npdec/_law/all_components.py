"""Functions that have to know all components of their argument, and passes that have a chunk of them.

How a jump is shared depends on how far all components together move across it, which value and residual do not say:
their difference has the rounding errors of whatever numbers it was made of. Nothing else needs to know, so that a pass
with a chunk has the others, as one more component, only where such a function was met.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

__all__ = ["AllAreNeeded", "Chunk", "current", "need_all", "with_chunk"]


class AllAreNeeded(BaseException):
    """Ends a pass that has a chunk of the components; no `except Exception` of what it runs is meant."""


class Chunk:
    """A pass with some of the components, and whether it met a function that needs all."""

    needs_all = False


current: ContextVar[Chunk | None] = ContextVar("npdec.chunk", default=None)


@contextlib.contextmanager
def with_chunk() -> Iterator[Chunk]:
    """A pass that ends, with `needs_all` set, at the first function that needs all components."""
    chunk = Chunk()
    token = current.set(chunk)
    try:
        with contextlib.suppress(AllAreNeeded):
            yield chunk
    finally:
        current.reset(token)


def need_all() -> None:
    """End the pass if it has a chunk of the components alone."""
    chunk = current.get()
    if chunk is not None:
        chunk.needs_all = True
        raise AllAreNeeded
