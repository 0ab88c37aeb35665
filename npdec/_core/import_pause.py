"""No garbage is looked for while npdec is imported: it makes many objects, and none that goes again. Every look goes
through all of torch's objects too, which took nearly half of the import. A program that makes many objects has that
look later, a short one never."""

from __future__ import annotations

import gc

__all__ = ["Pause"]


class Pause:
    """Within, Python's collector does nothing."""

    __slots__ = ("_paused",)

    def __enter__(self) -> None:
        self._paused = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self._paused:
            gc.enable()
