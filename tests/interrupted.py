"""Writes that are interrupted: by a signal at a random microsecond, by an exception at a random instruction, by a torch
operation that fails. After each, everything is as it was before the write or as it is after it, parts add up, copies
that stand for views are what they stand for, nothing that is switched off for a while stays so, and the memory can be
written."""

from __future__ import annotations

import contextlib
import contextvars
import gc
import math
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import sympy.utilities.exceptions  # noqa: F401  (torch imports it in the first mode; it adds a filter of warnings)
import torch
from torch._functorch import eager_transforms
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import npdec as np
from interrupted_cases import Case, drawn
from npdec import DecomposedTensor

ERRORS = (KeyboardInterrupt, MemoryError, KeyError)


class Broken(AssertionError):
    """What an interrupted write has left behind."""


# --- what is there ----------------------------------------------------------------------------------------------------


def _parts(obj: Any) -> tuple[Any, ...]:
    """The parts of an array or tensor as bytes, with what else tells of it."""
    if isinstance(obj, numpy.ndarray):
        return ("numpy", obj.tobytes())
    held = obj._t if type(obj) is np.ndarray else obj
    parts = [held]
    labels: Any = None
    if isinstance(held, DecomposedTensor):
        # Zeros among components have the sign that the way to compute them gives: with windows, or without.
        parts = [held.value, held.residual, held.components + 0]
        labels = held.labels, held.reverse
    texts = [part.detach().resolve_conj().resolve_neg().contiguous().numpy().tobytes() for part in parts]
    own = obj._d if type(obj) is np.ndarray else None
    return (type(held) is DecomposedTensor, tuple(held.shape), held.dtype, own, repr(labels), *texts)


def _state(case: Case) -> list[Any]:
    found: list[Any] = [_parts(obj) for obj in case.watched]
    if case.carriers:  # and what goes back through the graph
        held = [obj._t if type(obj) is np.ndarray else obj for obj in case.watched]
        for one in held:
            if isinstance(one, DecomposedTensor) and one.components.requires_grad:
                weights = torch.arange(1, one.components.numel() + 1, dtype=one.components.real.dtype)
                total = (one.components.reshape(-1) * weights).sum()
                total = total.real if total.is_complex() else total
                found.append(_slopes(total, case.carriers))
    return found


def _slopes(total: torch.Tensor, carriers: list[torch.Tensor]) -> list[bytes | None] | str:
    try:
        slopes = torch.autograd.grad(total, carriers, retain_graph=True, allow_unused=True)
    except RuntimeError as error:  # torch wants back what the step has overwritten
        return str(error)[:60]
    return [None if slope is None else slope.numpy().tobytes() for slope in slopes]


def _check_law(case: Case) -> None:
    for obj in case.watched:
        held = obj._t if type(obj) is np.ndarray else obj
        if isinstance(held, DecomposedTensor):
            found = held.residual + held.components.sum(0)
            value = held.value.to(found.dtype)  # integers carry real contributions
            finite = torch.isfinite(value) & torch.isfinite(found)
            tolerance = 1e-4 if value.real.dtype is torch.float32 else 1e-9
            if not torch.allclose(value[finite], found[finite], rtol=tolerance, atol=tolerance):
                raise Broken("the parts do not add up")
    for source, look, copy in case.mirrors:
        for name in ("value", "residual"):
            wanted, found = (numpy.asarray(getattr(x, name)) for x in (source, copy))
            if not numpy.array_equal(look(wanted).reshape(found.shape), found, equal_nan=found.dtype.kind in "fc"):
                raise Broken(f"a copy that stands for a view has another {name}")
        if source.is_decomposed is not copy.is_decomposed:
            raise Broken("of an array and a copy that stands for a view of it only one is decomposed")
        if source.is_decomposed:
            mine = dict(zip(copy.labels, numpy.asarray(copy.components), strict=True))
            for label, part in zip(source.labels, numpy.asarray(source.components), strict=True):
                if not numpy.array_equal(look(part).reshape(copy.shape), mine[label], equal_nan=True):
                    raise Broken("a copy that stands for a view has other components")


def guards() -> dict[str, Any]:
    """All that is switched off, or otherwise, for a while."""
    functorch = torch._C._functorch
    variables = {var.name: value for var, value in contextvars.copy_context().items() if "npdec" in var.name}
    from npdec._torch import tracing

    return {
        "gradients": torch.is_grad_enabled(),
        "forward gradients": torch._C._is_fwd_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "torch functions": torch._C._is_torch_function_enabled(),
        "torch function modes": torch._C._len_torch_function_stack(),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "transforms": functorch.get_dynamic_layer_stack_depth(),
        "dual levels": forward_ad._current_level,
        "forward derivatives": eager_transforms.JVP_NESTING,
        "contexts": len(tracing._contexts),
        "warnings": list(warnings.filters),
        "errors": np.geterr(),
        "rules": {name: value for name, value in variables.items() if "random" not in name},
    }


# --- interruptions ----------------------------------------------------------------------------------------------------


def _quietly(step: Callable[[], Any]) -> BaseException | None:
    try:
        step()
    except Exception as error:
        return error
    return None


def by_signal(step: Callable[[], Any], chance: random.Random, twin: Case) -> bool:
    """A KeyboardInterrupt at a random microsecond of the step, by a timer of the system."""
    start = time.perf_counter()
    _quietly(twin.step)
    delay = max(1e-6, chance.uniform(0, 1.05) * (time.perf_counter() - start))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    hit = True
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            _quietly(step)
            hit = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return hit


class Places:
    """What Python is to trace with, so that an error is raised before the line, or the instruction, of a number."""

    def __init__(self, at: float, error: BaseException, events: tuple[str, ...]) -> None:
        self.count, self.at, self.error, self.events = 0, at, error, events
        # Held here: where Python collects garbage before it calls this, a callback may end the tracing and free it:
        # https://github.com/python/cpython/blob/v3.11.7/Python/ceval.c (call_trace)
        self.trace = self._trace

    def _trace(self, frame: Any, event: str, arg: Any) -> Any:
        frame.f_trace_opcodes = "opcode" in self.events
        if event in self.events:
            self.count += 1
            if self.count == self.at:
                sys.settrace(None)
                raise self.error
        return self.trace


def by_instruction(step: Callable[[], Any], chance: random.Random, twin: Case) -> bool:
    """An exception before a random instruction of the step, in whatever Python code that calls."""
    lines = chance.random() < 0.3  # all that one line does is rarely all that an instruction does
    error, events = chance.choice(ERRORS), ("line",) if lines else ("line", "opcode")

    def traced(step: Callable[[], Any], places: Places) -> BaseException | None:
        try:
            sys.settrace(places.trace)
            step()
        except BaseException as raised:
            return raised
        finally:
            sys.settrace(None)
        return None

    counted = Places(math.inf, error("injected"), events)
    traced(twin.step, counted)
    raised = traced(step, Places(chance.randint(1, max(1, counted.count)), error("injected"), events))
    return raised is not None and raised.args == ("injected",)


class _Failing(TorchDispatchMode):
    """The operation of this number fails."""

    def __init__(self, at: int, error: type[BaseException]) -> None:
        super().__init__()
        self.count, self.at, self.error = 0, at, error

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        if self.count == self.at:
            raise self.error("injected")
        return func(*args, **(kwargs or {}))


def by_operation(step: Callable[[], Any], chance: random.Random, twin: Case) -> bool:
    """An exception in place of a random operation of torch in the step: there was no memory for it, say."""
    with _Failing(0, KeyError) as counted:
        _quietly(twin.step)
    with _Failing(chance.randint(1, max(1, counted.count)), chance.choice(ERRORS)):
        try:
            step()
        except BaseException as raised:
            return raised.args == ("injected",)
    return False


WAYS = {"signal": by_signal, "instruction": by_instruction, "operation": by_operation}


# --- one run ----------------------------------------------------------------------------------------------------------


def _check(case: Case, before: list[Any], after: list[Any], here: dict[str, Any]) -> None:
    now = guards()
    if now != here:
        raise Broken(f"left switched: {[name for name in here if now[name] != here[name]]}")
    _check_law(case)
    found = _state(case)
    if found not in (before, after):
        changed = [i for i, (a, b) in enumerate(zip(found, before, strict=False)) if a != b]
        missing = [i for i, (a, b) in enumerate(zip(found, after, strict=False)) if a != b]
        raise Broken(f"neither the state before (differ: {changed}) nor that after (differ: {missing})")
    if found == before:  # and it can be done
        error = _quietly(case.step)
        if _state(case) != after:
            raise Broken(f"the step cannot be done any more: {error!r}")


def run(seed: int, way: str) -> tuple[bool, str | None]:
    """Whether the write of a seed was interrupted, and what that has broken."""
    with warnings.catch_warnings(), _silent():
        warnings.simplefilter("ignore")
        start = drawn(seed)
        before = _state(start)
        _quietly(start.step)
        after = _state(start)
        text = start.text
        case, twin = drawn(seed), drawn(seed)
        here = guards()
        gc.disable()
        try:
            hit = WAYS[way](case.step, random.Random(seed), twin)
        finally:
            gc.enable()
        try:
            _check(case, before, after, here)
        except Broken as broken:
            _restore()
            return hit, f"{way} {seed}: {text}: {broken}"
        except (ValueError, RuntimeError, TypeError, AttributeError, IndexError) as error:
            _restore()
            return hit, f"{way} {seed}: {text}: it cannot be looked at: {error!r}"
    return hit, None


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """What is raised where Python cannot raise (while an object goes) is no failure."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = hook


def _restore() -> None:
    torch._C._set_grad_enabled(True)
    torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(0)


def explore(way: str, count: int, seed: int = 0) -> tuple[int, list[str]]:
    """Interrupted writes, as many as were asked for, and what was broken."""
    assert threading.current_thread() is threading.main_thread(), "signals arrive in the main thread"
    hits, tried, failures = 0, 0, []
    while hits < count:
        hit, failure = run(seed + tried, way)
        tried += 1
        hits += hit
        if failure:
            failures.append(failure)
        assert tried < 20 * count + 100, f"{way}: only {hits} of {tried} steps were interrupted"
    return hits, failures
