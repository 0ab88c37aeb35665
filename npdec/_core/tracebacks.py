"""Where the traceback of an error ends: at the line of the program, with at most two frames of npdec behind it.

Public functions run their body in `try`, which costs a call nothing, and raise what comes out of it by `ended`. Of the
frames below them that leaves the one in which the error was raised. What is not called often enough to have this
written out has it from `ends`; what all of a chapter's functions call at once raises by `cut`.
Frames of functions of the program, which an operation has called, stay, each run of npdec's between them as its first.
torch's functions of decomposed tensors raise by `met`, since npdec's own kernels call them too.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import sysconfig
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType, FunctionType, TracebackType
from typing import Any, TypeVar

import torch

__all__ = [
    "OWN",
    "PASSED",
    "THEIRS",
    "cut",
    "cuts",
    "ended",
    "ending",
    "ends",
    "full",
    "met",
    "owner_of",
    "standing_for",
]

_F = TypeVar("_F", bound=Callable[..., Any])

# Whether tracebacks have all frames here.
full: ContextVar[bool] = ContextVar("npdec.tracebacks", default=False)

_tracing = torch.compiler.is_dynamo_compiling
OWN, PASSED, THEIRS = "npdec's", "passed through", "the program's"
_OWN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_TORCH = os.path.join(os.path.dirname(torch.__file__), "")
_PYTHON = tuple(os.path.join(sysconfig.get_paths()[name], "") for name in ("stdlib", "platstdlib"))
_SITE = tuple(os.path.join(sysconfig.get_paths()[name], "") for name in ("purelib", "platlib"))
_BETWEEN = frozenset({"numpy", "array_api_compat"})


@functools.lru_cache(maxsize=4096)
def _owner(file: str) -> str | None:
    """Whose code a file has; None where its module says so: of what was compiled from a string, or by Cython."""
    if file.endswith((".pyx", ".pxd")):
        return None
    if file.startswith("<"):
        return OWN if file.startswith("<npdec.") else PASSED if file.startswith("<frozen ") else None
    if file.startswith(_OWN):
        return OWN
    if file.startswith(_TORCH):
        return PASSED
    for site in _SITE:
        if file.startswith(site):
            package = file[len(site) :].partition(os.sep)[0]
            return PASSED if package in _BETWEEN else THEIRS
    return PASSED if file.startswith(_PYTHON) else THEIRS


def owner_of(frame: FrameType) -> str:
    """Whose code a frame runs: npdec's (of its files, or of a wrapper that it has compiled, which stands in no module),
    that of libraries through which calls go, or the program's."""
    owner = _owner(frame.f_code.co_filename)
    if owner is not None:
        return owner
    module = frame.f_globals.get("__name__")
    return OWN if module is None else PASSED if module.partition(".")[0] in _BETWEEN else THEIRS


def ended(error: Exception) -> Exception:
    """The error, to be raised from the function that has caught it, with its traceback and its context cut short."""
    return _shortened(error, whole=False)


def cut(error: Exception) -> Exception:
    """The same for a function that public ones call at once: the traceback ends in it, whatever raised the error."""
    return _shortened(error, whole=True)


def met(error: Exception) -> Exception:
    """The error of a function of torch that has met a decomposed tensor, to be raised again: with the frame in which it
    was raised where the program, or torch for it, has called the function. Where npdec has, it ends in torch's
    function, one frame below what the program has called, which need not cut its errors itself."""
    if _tracing() or full.get():
        return error
    frame = sys._getframe(1).f_back
    while frame is not None and owner_of(frame) is PASSED:
        frame = frame.f_back
    return _shortened(error, whole=frame is not None and owner_of(frame) is OWN)


def _shortened(error: Exception, whole: bool) -> Exception:
    if _tracing() or full.get():
        return error
    last = _last(error.__traceback__)
    if last is None:  # a function of the program has a part in it
        return error.with_traceback(_around_the_program(error.__traceback__))
    before = error.__context__
    if before is not None and error.__cause__ is None and _last(before.__traceback__) is not None:
        error.__suppress_context__ = True  # torch's refusal, of which the error says more
    return error.with_traceback(None if whole or last is error.__traceback__ else last)


def _last(traceback: TracebackType | None) -> TracebackType | None:
    """The end of a traceback in which no frame is the program's."""
    last = None
    while traceback is not None:
        if owner_of(traceback.tb_frame) is THEIRS:
            return None
        last, traceback = traceback, traceback.tb_next
    return last


def _around_the_program(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback below the frame that has caught the error, which comes anew when it is raised: of each run of
    frames after one of npdec's only those of the program, and the one in which the error was raised."""
    kept: list[TracebackType] = []
    after_own, last = True, None
    entry = traceback.tb_next if traceback is not None else None
    while entry is not None:
        owner = owner_of(entry.tb_frame)
        if owner is THEIRS or not after_own:
            kept.append(entry)
            after_own = owner is OWN
        last, entry = entry, entry.tb_next
    if last is not None and last not in kept[-1:]:
        kept.append(last)
    for above, below in itertools.pairwise([*kept, None]):
        above.tb_next = below  # type: ignore[union-attr]
    return kept[0] if kept else None


def ending(source: str) -> str:
    """The source of a function that raises its errors by `_ended`, which it has to find among its globals."""
    head, _, body = source.strip("\n").partition(":\n")
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{head}:\n    try:\n{indented}    except Exception as _error: raise _ended(_error)\n"


def ends(function: _F) -> _F:
    """The function, whose errors end so: for those that are not called often enough to have it written out."""
    return _catching(function, ended)


def cuts(function: _F) -> _F:
    """The same for a function that public ones call at once."""
    return _catching(function, cut)


def _catching(function: _F, short: Callable[[Exception], Exception]) -> _F:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise short(error)  # noqa: B904

    # In the module of the function, where examples of docstrings are looked for.
    made: Any = FunctionType(call.__code__, function.__globals__, None, None, call.__closure__)
    standing: _F = standing_for(made, function)
    return standing


def standing_for(call: Any, function: Callable[..., Any]) -> Any:
    """The call under the name of the function, which tracebacks have too."""
    call.__code__ = call.__code__.replace(co_name=function.__name__)
    return functools.update_wrapper(call, function)
