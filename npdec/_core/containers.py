"""Lists and tuples with other items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["refilled"]


def refilled(container: Any, items: Iterable[Any]) -> Any:
    """The items in a list or tuple of the class of another, named ones too."""
    kind = type(container)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)
