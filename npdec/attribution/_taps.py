"""A hand on the modules of a network: which place is meant by `at`, and what passes there while it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch

from npdec._decomposed.tensor import carries
from npdec.attribution import _trees

__all__ = ["At", "Layer", "Tapped", "Tensors", "located"]

Tensors = list[torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Layer:
    """A place in a network to attribute to: `np.attribute(f, x, at=Layer("encoder.layer.3", axis=-1))`.

    `module`: its name in the network that is attributed, or the module itself. What is attributed to are the arrays of
    floating numbers that it returns (of tuples, lists and dicts their leaves); with `inputs=True`, those it is given.
    `axis`, `groups`, `labels`: the units that it is divided into, as for `np.decompose`; by default each number is one.
    The heads of an attention are groups of the elements that the projection after them is given:
    `Layer("h.0.attn.c_proj", inputs=True, groups=np.arange(768) // 64)`. `call`: which of its calls, counted from 0,
    where a run calls it several times.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    >>> _ = [torch.nn.init.ones_(p) for p in net.parameters()]
    >>> np.attribute(net, torch.tensor([1.0, 3.0]), at=np.attribution.Layer("1", axis=0, labels=["a", "b"]))
    Attribution(value=tensor(11.), residual=tensor(3.), attribution=tensor([4., 4.]))
    """

    module: str | torch.nn.Module
    axis: int | tuple[int, ...] | None = None
    groups: Any = None
    labels: Sequence[Hashable] | None = None
    inputs: bool = False
    call: int | None = None

    @property
    def divided(self) -> bool:
        """Whether units were asked for."""
        return not (self.axis is None and self.groups is None and self.labels is None)

    def __str__(self) -> str:
        name = self.module if isinstance(self.module, str) else type(self.module).__name__
        return f"the {'input' if self.inputs else 'output'} of {name}"


@dataclasses.dataclass
class At:
    """The layers that were asked for, with their modules."""

    layers: list[Layer]
    modules: list[torch.nn.Module]
    single: bool


def located(f: Any, at: Any) -> At:
    """The layers that `at` names. Raises TypeError and ValueError for what is no layer of `f`."""
    single = not isinstance(at, (list, tuple))
    given = [at] if single else list(at)
    if not given:
        raise ValueError("attribute: at names no layer")
    layers = [one if isinstance(one, Layer) else Layer(one) for one in given]
    for call in (layer.call for layer in layers):
        if call is not None and (not isinstance(call, int) or call < 0):
            raise TypeError(f"attribute: call of a Layer is an int, which counts from 0, not {call!r}")
    return At(layers, [_module(f, layer.module) for layer in layers], single)


def _module(f: Any, named: Any) -> torch.nn.Module:
    if isinstance(named, torch.nn.Module):
        return named
    if not isinstance(named, str):
        raise TypeError(f"attribute: at is the name of a module, a module, a Layer or a list of these, not {named!r}")
    net = f if isinstance(f, torch.nn.Module) else getattr(f, "__self__", None)
    if not isinstance(net, torch.nn.Module):
        raise TypeError(
            f"attribute: at={named!r} names a part of a module, but the function is none: give the module, "
            "at=net.get_submodule(...), or attribute the module itself"
        )
    try:
        return net.get_submodule(named)
    except AttributeError:
        known = ", ".join(name for name, _ in net.named_modules() if name)
        said = known if len(known) < 600 else known[:600] + " ..."
        raise ValueError(f"attribute: {type(net).__name__} has no module {named!r}: it has {said}") from None


class Tapped:
    """A function that, while it runs, hands the arrays at some layers to `change(i, arrays)`, and goes on with what
    that returns; `seen` is then what it was for each layer."""

    def __init__(self, f: Callable[..., Any], at: At, change: Callable[[int, Tensors], Tensors]) -> None:
        self.f, self.at, self.change = f, at, change
        self.seen: list[Tensors] = []

    def __call__(self, *arguments: Any) -> Any:
        seen: dict[int, Tensors] = {}
        calls = [0] * len(self.at.layers)
        handles: list[Any] = []
        try:
            for i, (layer, module) in enumerate(zip(self.at.layers, self.at.modules, strict=True)):
                handles.append(self._hooked(i, layer, module, seen, calls))
            result = self.f(*arguments)
        finally:
            for handle in handles:
                handle.remove()
        for i, layer in enumerate(self.at.layers):
            if i not in seen:
                said = f"was called {calls[i]} times" if calls[i] else "was not called"
                raise ValueError(f"attribute: there is no such place as {layer}: it {said}")
        self.seen = [seen[i] for i in range(len(calls))]
        return result

    def _hooked(self, i: int, layer: Layer, module: torch.nn.Module, seen: dict[int, Tensors], calls: list[int]) -> Any:
        def arrived(tree: Any) -> Any:
            calls[i] += 1
            if calls[i] > 1 and layer.call is None:
                raise ValueError(
                    f"attribute: {layer} is several things, for it is called more than once: choose one with "
                    "Layer(..., call=0)"
                )
            if layer.call not in (None, calls[i] - 1):
                return tree
            leaves, rebuild = _trees.flatten(tree)
            places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and carries(leaf.dtype)]
            if not places:
                raise ValueError(f"attribute: {layer} has no array of floating numbers")
            put = self.change(i, [leaves[k] for k in places])
            seen[i] = put
            for k, one in zip(places, put, strict=True):
                leaves[k] = one
            return rebuild(leaves)

        if layer.inputs:
            return module.register_forward_pre_hook(lambda _, args, kw: arrived((args, kw)), with_kwargs=True)
        return module.register_forward_hook(lambda _, args, made: arrived(made))
