"""A bar for long work, by rich: on a terminal only, unless it is asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Progress", "Show"]

Show = bool | Callable[[int, int | None], Any] | None
_PATIENCE = 1.0  # seconds of work before a bar appears that nobody asked for


class Progress:
    """Context manager that counts the steps of some work.

    `show`: a function, called as `show(done, total)` after each step (total None: not known beforehand); True: a bar on
    the standard error, for which rich has to be installed (ImportError); False: nothing; None: a bar if the standard
    error is a terminal, rich is installed and the work takes more than a second.
    """

    def __init__(self, what: str, total: int | None, show: Show) -> None:
        self.what, self.total, self.show = what, total, show
        self.done = 0
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self.show in (True, None) and sys.stderr is None:  # closed when Python started
            self.show = False
        elif self.show is True:
            self._start(required=True)
        elif self.show is None and not sys.stderr.isatty():
            self.show = False
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, steps: int = 1) -> None:
        """Say that so many steps are done."""
        self.done += steps
        if callable(self.show):
            self.show(self.done, self.total)
        elif self.show is None and self._bar is None and time.monotonic() - self._began > _PATIENCE:
            self._start(required=False)
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)

    def _start(self, required: bool) -> None:
        try:
            from rich.console import Console
            from rich.progress import Progress as Bar
        except ImportError:
            if required:
                raise ImportError(
                    "progress=True shows a bar by rich, which is not installed: pip install rich"
                ) from None
            self.show = False
            return
        self._bar = Bar(console=Console(file=sys.stderr), transient=not required)
        self._task = self._bar.add_task(self.what, total=self.total)
        self._bar.start()
