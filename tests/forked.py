"""Processes of one program, as the ranks of a group."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable


def forked(ranks: int, run: Callable[[int], object]) -> list[int]:
    """`run(rank)` in as many processes: their exit codes, 1 where it raised, and minus the signal that killed one."""
    children = []
    for rank in range(ranks):
        child = os.fork()
        if not child:
            code = 1
            try:
                run(rank)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
