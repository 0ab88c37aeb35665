"""What `np.overrides` changes in this thread or task: one ContextVar, which the dispatch of torch functions reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from npdec._decomposed.registry import Rule
from npdec._torch.tracing import holding, refuse_trace, tracing

__all__ = ["Scope", "Watcher", "current", "enter", "scope"]

Function = Callable[..., Any]


class Watcher(Protocol):
    """Who looks on while decomposed tensors pass through functions."""

    def run(self, rule: Rule, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Answer a call by the rule."""

    def quadrature(self, call: Any) -> Any:
        """Asked before a call goes by quadrature: a result to take its place, or None. It may raise."""


class Scope(NamedTuple):
    """The rules that hold here before all others, by function, module class or autograd Function; who looks on."""

    rules: Mapping[Any, Rule] = MappingProxyType({})
    watcher: Watcher | None = None

    @property
    def step_by_step(self) -> bool:
        """Whether the watcher wants to meet the operations that a function is made of, each by itself."""
        return getattr(self.watcher, "step_by_step", False)


current: ContextVar[Scope | None] = ContextVar("npdec.overrides", default=None)


def scope() -> Scope | None:
    """The scope that holds here; None almost always. (torch.compile traces none: see `_tracing.refuse_contexts`.)"""
    return None if tracing() else current.get()


@contextmanager
def enter(rules: Mapping[Any, Rule] | None = None, watcher: Watcher | None = None) -> Iterator[None]:
    """Within the context these rules hold before those of the scope around it, and this watcher in place of its."""
    refuse_trace("a context of np.overrides", "enter it around a call of the function that is not compiled")
    outer = current.get() or Scope()
    made = Scope({**outer.rules, **rules} if rules else outer.rules, outer.watcher if watcher is None else watcher)
    with holding(current, made):
        yield
