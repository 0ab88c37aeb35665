"""`np.overrides.strict`: no quadrature, and all that lacks a rule named at once, before the model runs."""

from __future__ import annotations

import contextlib
import copy
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.registry import Rule
from npdec._law.overrides_scope import enter
from npdec.overrides._coverage import Used, report
from npdec.overrides._signatures import originals, title
from npdec.overrides._watchers import Recorder, is_declared, prepared, target_of

__all__ = ["strict"]

Function = Callable[..., Any]
_MODULE_CALL = torch.nn.Module._wrapped_call_impl.__code__


@contextlib.contextmanager
def strict() -> Iterator[None]:
    """Context manager and decorator: contributions pass by rules alone, never by quadrature.

    A model that is called with decomposed tensors is looked through first (as `coverage` does it: on a copy, so that
    buffers and random numbers stay as they are), when its first operation meets one. If functions, methods or modules
    in it lack a rule, one NotImplementedError names them all, and shows how to register the first. Outside a
    torch.nn.Module it is raised at the first such function. A function that is registered as `Smooth` is accepted: that
    is how to allow it quadrature (so is an operation of `npdec.extend` whose tag is `Smooth`). The state is local to
    the thread or task, and restored on leaving.

    >>> with np.overrides.strict():
    ...     torch.linalg.matrix_exp(np.decompose(torch.eye(2)))
    Traceback (most recent call last):
    NotImplementedError: strict: 1 function has no rule of its own, and would go by quadrature:
      torch.linalg.matrix_exp  1 call
    Register a rule, for example for the first (Smooth allows it quadrature):
      @np.overrides.register_function(torch.linalg.matrix_exp)
      def matrix_exp(input: np.overrides.Smooth): ...
    """
    with enter(watcher=_Strict()):
        yield


class _Strict:
    """A watcher that looks through the model whose call has led here, and refuses quadrature."""

    def __init__(self) -> None:
        self._seen: FrameType | None = None  # the call of a model that was looked through
        self._current: tuple[Any, Function] | None = None

    def run(self, rule: Rule, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        frame = _outermost_module_call()
        if frame is not None and frame is not self._seen:
            self._seen = frame
            _look_through(frame)
        if self._current is not None or rule.delegates:
            return rule(func, args, kwargs)
        self._current = target_of(func), rule
        try:
            return rule(func, args, kwargs)
        finally:
            self._current = None

    def quadrature(self, call: Call) -> Any:
        target, rule = self._current or (target_of(call.func), None)
        if is_declared(target, rule):
            return None
        raise NotImplementedError(_message([Used(target, title(target), "quadrature", 1, (), True, True)], None))


def _outermost_module_call() -> FrameType | None:
    """The frame of the module call in which all others are made."""
    frame: FrameType | None = sys._getframe(1)
    found = None
    while frame is not None:
        if frame.f_code is _MODULE_CALL:
            found = frame
        frame = frame.f_back
    return found


def _look_through(frame: FrameType) -> None:
    """Raise NotImplementedError if the model that is called there needs functions without a rule."""
    values = frame.f_locals
    model, recorder = values["self"], Recorder()
    try:
        run = prepared(recorder, model, values["args"], values["kwargs"], decompose=False)
    except (copy.Error, TypeError, RuntimeError):  # no copy can be made: the first function without a rule is refused
        return
    try:
        run()
    finally:  # an error of the model itself says less than what is missing until there
        missing = [row for row in report(recorder).used if row.missing]
        if missing:
            raise NotImplementedError(_message(missing, model))


def _message(missing: Sequence[Used], model: torch.nn.Module | None) -> str:
    count = len(missing)
    of = "" if model is None else f" of {type(model).__name__}"
    many = count > 1
    noun, rule = ("functions", "have no rule of their own") if many else ("function", "has no rule of its own")
    lines = [f"strict: {count} {noun}{of} {rule}, and would go by quadrature:"]
    width = max(len(row.name) for row in missing)
    for row in missing:
        places = f", in {', '.join(row.modules)}" if row.modules else ""
        lines.append(f"  {row.name:<{width}}  {row.calls} call{'s' if row.calls > 1 else ''}{places}")
    snippet = _snippet(missing[0].function)
    if snippet:
        lines += ["Register a rule, for example for the first (Smooth allows it quadrature):", *snippet]
    return "\n".join(lines)


def _snippet(target: Any) -> list[str]:
    """How to register a rule for the function."""
    if isinstance(target, type) and issubclass(target, torch.autograd.Function):
        return [f"  np.overrides.register_autograd({target.__qualname__})"]
    known = originals(target)
    name = title(target)
    if not known or not name.startswith("torch."):
        return []
    written: list[str] = []
    for i, p in enumerate(known[0].parameters):
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            written.append(f"*{p.name}: object")
            continue
        if p.kind is inspect.Parameter.VAR_KEYWORD:
            written.append(f"**{p.name}: object")
            continue
        if p.kind is inspect.Parameter.KEYWORD_ONLY and not any(w.startswith("*") for w in written):
            written.append("*")
        tag = "object" if i else "np.overrides.Smooth"
        default = "" if p.default is inspect.Parameter.empty else f" = {p.default!r}"
        written.append(f"{p.name}: {tag}{default}")
    kind = "method" if name.startswith("torch.Tensor.") else "function"
    own = name.rpartition(".")[2]
    return [f"  @np.overrides.register_{kind}({name})", f"  def {own}({', '.join(written)}): ..."]
