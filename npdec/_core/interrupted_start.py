"""What a process that is the command `npdec` does while it imports torch, which takes seconds. On Ctrl-C it says one
line and ends, with the exit code of its kind; and it looks for no garbage among what is loaded, which stays until it
ends. It is imported before all else; other programs keep what they have."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

__all__ = ["collect_again", "end_on_interrupt", "is_command", "raise_on_interrupt"]


def is_command() -> bool:
    """Whether this process is `npdec` or `python -m npdec`, and has not begun to run it."""
    if sys.argv[:1] == ["-m"]:  # what Python writes there until it has found the module
        return any(option == "-m" and name == "npdec" for option, name in zip(sys.orig_argv, sys.orig_argv[1:]))
    return bool(sys.argv) and os.path.basename(sys.argv[0]) in ("npdec", "npdec.exe")


def _end(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one, meanwhile
    os.write(2, b"npdec: interrupted\n")
    os._exit(130)


def end_on_interrupt() -> None:
    """From now on Ctrl-C ends the process."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_on_interrupt() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt again, if `end_on_interrupt` has changed that."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def collect_again() -> None:
    """From now on garbage is collected, but for what has been loaded, which is a third of the time of a short run. In
    another process than the command's this does nothing."""
    if _COMMAND and not gc.isenabled():
        gc.freeze()
        gc.enable()


_COMMAND = is_command()
if _COMMAND:
    end_on_interrupt()
    gc.disable()
