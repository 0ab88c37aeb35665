"""Looking on while a model runs: which functions it uses, by which rules, and which would go by quadrature."""

from __future__ import annotations

import contextlib
import copy
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from npdec._core.base import ArrayBase
from npdec._decomposed.call import Call
from npdec._decomposed.pytree import is_decomposed
from npdec._decomposed.registry import Rule
from npdec._decomposed.tensor import DecomposedTensor, align, carries
from npdec._law import law, pack
from npdec._law.overrides_scope import enter
from npdec._rules.autograd_function import StandsFor
from npdec.overrides._registry import Registered

__all__ = ["Recorder", "is_declared", "prepared", "target_of"]

Function = Callable[..., Any]


def target_of(func: Any) -> Any:
    """What is registered for a function that is called: itself, or the class that it stands for."""
    return func.target if isinstance(func, StandsFor) else func


def is_declared(target: Any, rule: Function | None) -> bool:
    """Whether a user has said how contributions pass: by a registered rule, or by the tags of his own operation
    (npdec.extend). Quadrature is then what he wants."""
    own = hasattr(target, "__npdec__") and target.__module__.partition(".")[0] != "npdec"
    return own or isinstance(rule, Registered)


class Recorder:
    """A watcher that notes each function that meets a decomposed tensor, and answers for those without a rule by their
    value alone. `rows` has for each function its rule and the modules of its calls; `missing` those without a rule."""

    def __init__(self) -> None:
        self.rows: dict[Any, tuple[Function, list[str]]] = {}
        self.quadrature_of: dict[Any, None] = {}  # an ordered set
        self.missing: dict[Any, None] = {}
        self.modules: list[tuple[str, torch.nn.Module]] = []  # those that are being called
        self._current: tuple[Any, Function] | None = None

    def run(self, rule: Rule, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if self._current is not None:
            return rule(func, args, kwargs)
        delegates = rule.delegates
        target = target_of(func)
        if rule.opaque:
            result = rule(func, args, kwargs)
            if isinstance(result, torch.Tensor) and getattr(func, "__name__", "") != "__get__":  # not a size or a flag
                self.note(target, rule)
            return result
        if not delegates or isinstance(rule, Registered):
            self.note(target, rule)
        if delegates:
            return rule(func, args, kwargs)
        self._current = target, rule
        try:
            return rule(func, args, kwargs)
        finally:
            self._current = None

    def note(self, target: Any, rule: Function) -> None:
        self.rows.setdefault(target, (rule, []))[1].append(self.place())

    def place(self) -> str:
        """The innermost module that is being called."""
        if not self.modules:
            return ""
        name, module = self.modules[-1]
        return f"{name} ({type(module).__name__})" if name else type(module).__name__

    def quadrature(self, call: Call) -> Any:
        target, rule = self._current or (target_of(call.func), None)
        self.quadrature_of[target] = None
        if is_declared(target, rule):
            return _values_only(call)
        self.missing[target] = None
        if target not in self.rows:
            self.rows[target] = (law.quadrature, [self.place()])
        return _values_only(call)


def _values_only(call: Call) -> Any:
    """The result with a residual and components that say nothing."""
    tensors = call.tensors
    value = call(*[t.value for t in tensors])
    labels, _ = align(tensors)

    def bare(t: Any) -> Any:
        if isinstance(t, torch.Tensor) and carries(t.dtype):
            return t.new_zeros((len(labels), *t.shape))
        return None

    rows = [bare(t) for t in value] if isinstance(value, (tuple, list)) else bare(value)
    return pack.pack(value, value, rows, labels, call.reverse)


# -- running a copy ----------------------------------------------------------------------------------------------------


def prepared(
    recorder: Recorder, model: Any, args: Sequence[Any], kwargs: dict[str, Any], *, decompose: bool
) -> Callable[[], None]:
    """A run of a copy of the model on copies of the inputs, without contributions, of which the recorder takes notes.

    Parameters are shared with the copy; buffers, attributes, hooks and random numbers of the model stay as they are.
    `decompose` says that inputs which are not decomposed are to be. Raises what copying raises.
    """
    inputs = _copied((list(args), kwargs))
    inputs = _pytree.tree_map(lambda leaf: _bare(leaf, decompose), inputs, is_leaf=is_decomposed)
    if isinstance(model, torch.nn.Module):
        model = _watched_copy(model, recorder)

    def run() -> None:
        with _same_random_numbers(), enter(watcher=recorder):
            model(*inputs[0], **inputs[1])

    return run


def _copied(thing: Any) -> Any:
    memo: dict[int, Any] = {}
    for leaf in _pytree.tree_leaves(thing, is_leaf=is_decomposed):
        if isinstance(leaf, torch.Tensor) and type(leaf) is not DecomposedTensor:
            memo[id(leaf)] = leaf.detach().clone()  # deepcopy refuses what autograd has computed
    return copy.deepcopy(thing, memo)


def _bare(leaf: Any, decompose: bool) -> Any:
    """An input that is decomposed, but has no contributions."""
    tensor = leaf._t if isinstance(leaf, ArrayBase) else leaf
    if type(tensor) is DecomposedTensor:
        made = DecomposedTensor(tensor.value, tensor.residual, tensor.components.detach()[:0], ())
    elif decompose and isinstance(tensor, torch.Tensor) and carries(tensor.dtype):
        made = DecomposedTensor(tensor, tensor.clone(), tensor.new_zeros((0, *tensor.shape)), ())
    else:
        return leaf
    return leaf._as(made) if isinstance(leaf, ArrayBase) else made  # type: ignore[attr-defined]


def _watched_copy(model: torch.nn.Module, recorder: Recorder) -> torch.nn.Module:
    """A copy of the model that shares its parameters, has none of its hooks, and says which module is being called."""
    memo: dict[int, Any] = {id(item): item for item in model.parameters()}
    for module in model.modules():
        for item in vars(module).values():
            if isinstance(item, torch.Tensor) and type(item) is not DecomposedTensor:
                memo.setdefault(id(item), item.detach().clone())
        for name, slot in vars(module).items():
            if name.endswith("_hooks"):
                memo[id(slot)] = type(slot)()
    made = copy.deepcopy(model, memo)
    for name, module in made.named_modules():
        module.register_forward_pre_hook(lambda m, _, name=name: recorder.modules.append((name, m)))
        module.register_forward_hook(lambda *_: recorder.modules.pop() and None, always_call=True)
    return made


@contextlib.contextmanager
def _same_random_numbers() -> Iterator[None]:
    """Leave the generators of torch, Python and NumPy as they are found."""
    numpy = sys.modules.get("numpy")
    python, legacy = random.getstate(), None if numpy is None else numpy.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        random.setstate(python)
        if numpy is not None:
            numpy.random.set_state(legacy)
