"""np.jit: which graph serves a call, and what is done where there is none."""

from __future__ import annotations

import inspect
import linecache
import math
import os
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any

import torch

from npdec._array import fp_state, wrap
from npdec._core.base import ArrayBase
from npdec._core.unbound import is_function
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _util
from npdec._impl._devices import current_device, is_unchosen
from npdec._jit.environment import Environment, is_atom, is_fixed_slice, is_of_program
from npdec._jit.operations import is_array
from npdec._jit.program import Mismatch, Program, Shared, recorded, tensor_of
from npdec._jit.rewording import reworded
from npdec._jit.sizes import Unsized
from npdec._random.generator import Generator
from npdec._torch.functorch import is_transformed
from npdec._torch.patch_inductor import joined
from npdec._torch.tracing import Refused, recording

__all__ = ["Carrying", "Jitted", "compiler", "static_places"]

Function = Callable[..., Any]

_MOST_PROGRAMS = 8  # for arguments of one kind, as conditions or what is read elsewhere differ
_MOST_KEYS = 64
_FEW_ANSWERS = 8  # numbers that Python asked for, which other arrays may well give too
_FIXED = frozenset((bool, int, str, bytes, type(None), type(Ellipsis), torch.dtype, torch.device))
_EAGERLY: Any = object()
_SHARED = "it writes, and two of its arguments lie in one memory"
_is_grad_enabled, _is_inference = torch.is_grad_enabled, torch.is_inference_mode_enabled
_default_dtype = torch.get_default_dtype
# What is used twice and is a longer formula than this is computed once. inductor writes formulas of up to 50 functions
# out wherever they are used, within each other too, which takes a time that doubles with each step of a recurrence.
_INDUCTOR: dict[str, Any] = {"realize_opcount_threshold": 12}
_lock = threading.RLock()


class Carrying(Exception):
    """An argument is decomposed."""


class _Awaited(Exception):
    """There is a graph for these answers to what Python asked for, which nobody knows to come again."""

    def __init__(self, answers: tuple[Any, ...]) -> None:
        super().__init__()
        self.answers = answers


def _is_carrying(tree: Any, within: tuple[int, ...] = ()) -> bool:
    """Whether an argument, or what it holds, is decomposed."""
    if isinstance(tree, ArrayBase):
        return type(tree._t) is DecomposedTensor
    if is_of_program(tree):
        if id(tree) in within:  # it holds itself
            return False
        return any(_is_carrying(item, (*within, id(tree))) for item in vars(tree).values())
    if isinstance(tree, (tuple, list)):
        return any(_is_carrying(item, within) for item in tree)
    if isinstance(tree, dict):
        return any(_is_carrying(item, within) for item in tree.values())
    return type(tree) is DecomposedTensor


class _Arguments:
    """The arguments of one call: leaves, and the key that says of which kind they are."""

    def __init__(self, static: frozenset[int], names: frozenset[str]) -> None:
        self.static, self.names = static, names
        self.leaves: list[Any] = []
        self.key: list[Any] = []
        self._seen: dict[int, int] = {}
        self._records: set[int] = set()

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for i, arg in enumerate(args):
            self._static(arg) if i in self.static else self._read(arg)
        for name, arg in kwargs.items():
            self.key.append(name)
            self._static(arg) if name in self.names else self._read(arg)

    def _static(self, value: Any) -> None:
        try:
            hash(value)
        except TypeError:
            raise ValueError(
                f"jit: a static argument must be hashable, which {type(value).__name__!r} is not"
            ) from None
        self.key.append((_static_kind, type(value), repr(value) if isinstance(value, float) else value))

    def _read(self, value: Any) -> None:
        kind = type(value)
        if kind is wrap.ARRAY:
            self._array(kind, value)
        elif kind in _FIXED:
            self.key += kind, value
        elif kind is float:  # a zero has a sign, and NaN is not itself
            self.key += kind, repr(value) if not value or math.isnan(value) else value
        elif is_array(value):
            self._array(kind, value)
        elif kind is tuple or kind is list or hasattr(kind, "_fields"):
            self.key.append((kind, len(value)))
            for item in value:
                self._read(item)
        elif kind is dict:
            self.key.append((kind, tuple(value)))
            for item in value.values():
                self._read(item)
        elif kind is complex:
            self.key.append((kind, repr(value)))
        elif is_fixed_slice(value):
            self.key.append((kind, value.start, value.stop, value.step))
        elif kind is Generator:
            self._once(kind, value)
        elif is_atom(value):
            self.key += kind, value
        elif is_of_program(value):
            self._record(kind, value)
        elif is_function(value) or isinstance(value, (types.BuiltinFunctionType, type)):
            self.key.append((kind, value))
        else:
            raise Refused(f"an argument is of type {kind.__name__!r}: name it in static_argnums or static_argnames")

    def _record(self, kind: type, value: Any) -> None:
        if id(value) in self._records:
            raise Refused(f"an argument, a {kind.__name__}, is given twice, or holds itself")
        self._records.add(id(value))
        self.key.append((kind, tuple(vars(value))))
        for item in vars(value).values():
            self._read(item)

    def _array(self, kind: Any, value: Any) -> None:
        if not self._once(kind, value):
            return
        tensor = value._t if kind is wrap.ARRAY else tensor_of(value)
        if type(tensor) is DecomposedTensor:
            raise Carrying
        layout = tensor.dtype, tensor.shape, tensor.stride(), tensor.device
        self.key.append((layout, tensor.requires_grad, getattr(value, "_ro", None)))

    def _once(self, kind: Any, value: Any) -> bool:
        """Note a leaf that may be given twice; whether it is new."""
        leaves = self.leaves
        place = self._seen.setdefault(id(value), len(leaves))
        leaves.append(value)
        if place < len(leaves) - 1:
            self.key.append((kind, place))
            return False
        self.key.append(kind)
        return True


_static_kind = object()


def _rebuilt(environment: Environment, args: Any, kwargs: Any, given: _Arguments, leaves: list[Any]) -> Any:
    """The arguments with other leaves in the place of theirs."""
    found = iter(leaves)

    def read(value: Any) -> Any:
        kind = type(value)
        if is_array(value) or kind is Generator:
            return next(found)
        if kind is list:
            return environment.watched([read(item) for item in value], "a list that is given")
        if kind is tuple or hasattr(kind, "_fields"):
            items = [read(item) for item in value]
            return tuple(items) if kind is tuple else kind(*items)
        if kind is dict:
            return environment.watched({key: read(item) for key, item in value.items()}, "a dict that is given")
        if isinstance(value, types.FunctionType):
            return environment.read(lambda: value, value, "an argument")
        if not is_atom(value) and is_of_program(value):
            return environment.instance(kind, {name: read(item) for name, item in vars(value).items()}, "an argument")
        return value

    def one(value: Any, static: bool) -> Any:
        if not static:
            return read(value)
        return environment.read(lambda: value, value, "an argument") if isinstance(value, types.FunctionType) else value

    return (
        tuple([one(arg, i in given.static) for i, arg in enumerate(args)]),
        {name: one(arg, name in given.names) for name, arg in kwargs.items()},
    )


class Jitted:
    """A function, and its graphs. Raises Carrying if an argument is decomposed, before anything is done."""

    def __init__(
        self, function: Function, backend: Any, fullgraph: bool, static: frozenset[int], names: frozenset[str]
    ) -> None:
        self.function, self.backend, self.fullgraph = function, backend, fullgraph
        self.static, self.names = static, names
        self.programs: dict[Any, Any] = {}
        self._answers: dict[Any, list[tuple[Any, ...]]] = {}  # that Python got in calls that were not compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if recording.get() is not None or _is_transformed():
            if _is_carrying((args, kwargs)):
                raise Carrying
            return self.function(*args, **kwargs)
        given = _Arguments(self.static, self.names)
        try:
            given.read(args, kwargs)
        except Refused as refusal:
            if _is_carrying((args, kwargs)):
                raise Carrying from None
            return self._eagerly(None, refusal, args, kwargs)
        device = None if is_unchosen() else current_device()
        state = _is_grad_enabled(), _is_inference(), device, _default_dtype()
        key = (*given.key, state)
        programs = self.programs.get(key, ())
        if programs is _EAGERLY or (fp_state.watching and fp_state.current().kinds):
            return self.function(*args, **kwargs)
        for i, program in enumerate(programs):
            if program.environment.holds():
                try:
                    made = program(given.leaves)
                except Mismatch:
                    continue
                except Shared:
                    return self._eagerly(None, Refused(_SHARED), args, kwargs)
                if i:  # that which served last is asked first
                    programs.remove(program)
                    programs.insert(0, program)
                return made
        return self._recorded(key, given, args, kwargs)

    def _recorded(self, key: Any, given: _Arguments, args: Any, kwargs: Any) -> Any:
        with _lock:
            programs = self.programs.setdefault(key, [])
            if programs is _EAGERLY:
                return self.function(*args, **kwargs)
            try:
                if len(programs) + len(self._answers.get(key, ())) >= _MOST_PROGRAMS:
                    raise Refused(f"the numbers that it asks for were others in each of {_MOST_PROGRAMS} calls")
                if len(self.programs) > _MOST_KEYS:
                    raise Refused(f"graphs were made for {_MOST_KEYS} kinds of arguments, numbers of Python's included")
                program = self._program(key, given, args, kwargs)
            except _Awaited as awaited:
                self._answers.setdefault(key, []).append(awaited.answers)
                return self.function(*args, **kwargs)
            except Refused as refusal:
                return self._eagerly(key, refusal, args, kwargs)
            except Exception as error:  # whatever stops the function on stand-ins: eagerly it may run, or says why not
                return self._eagerly(key, error, args, kwargs)
        try:
            made = program(given.leaves)
        except Shared:  # others of these kinds may lie apart
            programs.insert(0, program)
            return self._eagerly(None, Refused(_SHARED), args, kwargs)
        except Mismatch:
            return self._eagerly(key, Refused("the graph gives other numbers than the function"), args, kwargs)
        programs.insert(0, program)
        return made

    def _program(self, key: Any, given: _Arguments, args: Any, kwargs: Any) -> Program:
        def build(environment: Environment, leaves: list[Any]) -> Any:
            return _rebuilt(environment, args, kwargs, given, leaves)

        seen = self._answers.get(key, [])

        def check(answers: tuple[Any, ...]) -> None:
            if answers in seen:
                seen.remove(answers)
            elif unsized is not None and (seen or self.programs[key]):
                raise unsized
            elif not self.fullgraph and (unsized is not None or len(answers) > _FEW_ANSWERS):
                raise _Awaited(answers)

        unsized: Unsized | None = None
        try:
            return recorded(self.function, given.leaves, build, self.backend, check)
        except Unsized as refusal:
            unsized = refusal
        return recorded(self.function, given.leaves, build, self.backend, check, asks_sizes=True)

    def _eagerly(self, key: Any, why: BaseException, args: Any, kwargs: Any) -> Any:
        """Run the function as it is, and say so once, unless it raises itself."""
        made = None
        if self.fullgraph:
            made = self.function(*args, **kwargs) if not isinstance(why, Refused) else None
            raise RuntimeError(self._said(why)) from why
        made = self.function(*args, **kwargs)
        if key is None or self.programs.get(key) is not _EAGERLY:
            if key is not None:
                self.programs[key] = _EAGERLY
            else:
                key = str(why)
                if key in self.programs:
                    return made
                self.programs[key] = _EAGERLY
            _util.warn(self._said(why), UserWarning)
        return made

    def _said(self, why: BaseException) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        reason = (
            str(why).splitlines()[0] if isinstance(why, Refused) else f"{type(why).__name__}: {why}".splitlines()[0]
        )
        place = ""
        for frame, line in traceback.walk_tb(why.__traceback__):
            module = frame.f_globals.get("__name__") or ""
            if module and module.partition(".")[0] not in ("npdec", "torch"):  # compiled wrappers stand in no module
                file = frame.f_code.co_filename
                text = linecache.getline(file, line).strip()
                place = f" (line {line} of {os.path.basename(file)}{': ' if text else ''}{text})"
        return f"np.jit runs {name} uncompiled: {reason}{place}"


def _is_transformed() -> bool:
    return is_transformed() or torch.compiler.is_compiling()


def static_places(function: Function, argnums: Any, argnames: Any) -> tuple[frozenset[int], frozenset[str]]:
    """The places and names of static arguments: what is named in one way is so in the other too."""
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    names = [argnames] if isinstance(argnames, str) else list(argnames)
    if not numbers and not names:
        return frozenset(), frozenset()
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return frozenset(numbers), frozenset(names)
    placed = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    known = {p.name for p in parameters}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name in names:
        if name not in known and not takes_any:
            raise ValueError(f"jit: static_argnames names {name!r}, which is no parameter of {function}")
    count = len(placed)
    takes_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    for i, number in enumerate(numbers):
        if not takes_more and not -count <= number < count:
            raise ValueError(f"jit: static_argnums names parameter {number} of {function}, which has {count}")
        numbers[i] = number + count if number < 0 else number
    named = {placed[number] for number in numbers if number < count} | set(names)
    return frozenset({*numbers, *(placed.index(name) for name in names if name in placed)}), frozenset(named)


def compiler(backend: Any, mode: str | None, options: dict[str, Any] | None) -> Callable[..., Callable[..., Any]]:
    """What compiles a graph, as torch.compile would with these options."""

    def compiled(graph: torch.fx.GraphModule, tensors: list[torch.Tensor]) -> Callable[..., Any]:
        if backend == "eager":
            return graph.forward
        if backend == "inductor":
            with joined():
                inductor = torch._TorchCompileInductorWrapper(mode, {**_INDUCTOR, **(options or {})}, None)
                return inductor(reworded(graph, any(one.requires_grad for one in tensors)), tensors)
        from torch._dynamo.backends.registry import lookup_backend

        made = lookup_backend(backend) if isinstance(backend, str) else backend
        return made(graph, tensors, **({"options": options} if options else {}))

    return compiled
