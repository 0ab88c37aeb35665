"""Which options the methods of `np.attribute` take, and what is refused."""

from __future__ import annotations

from typing import Any

__all__ = ["check"]

# The options that a method takes beside those that all take (f, inputs, output, argnums, progress).
_COMMON = frozenset({"baseline", "baselines", "axis", "groups", "labels", "at"})
_OPTIONS = {
    "local": _COMMON | {"mode", "order", "create_graph", "paths"},
    "path": _COMMON | {"steps", "rtol", "order", "batched", "chunk_size", "create_graph"},
    "conductance": frozenset({"baseline", "baselines", "steps", "rtol", "at"}),
    "gradient": frozenset({"create_graph", "at"}),
    "input_x_gradient": _COMMON | {"create_graph"},
    "shapley": _COMMON | {"samples", "seed", "batched", "chunk_size", "create_graph", "hierarchy", "absent", "mesh"},
    "occlusion": _COMMON | {"batched", "chunk_size", "create_graph", "absent", "mesh"},
}
_FORWARD = (_OPTIONS["local"] - {"create_graph", "at", "paths"}) | {"chunk_size", "max_memory", "mesh"}

_NAMES = frozenset().union(_FORWARD, *_OPTIONS.values())
_DEFAULTS = {"order": 1, "batched": False, "create_graph": False, "paths": False}


def _is_default(name: str, given: Any) -> bool:
    default = _DEFAULTS.get(name)
    return given is default or (name == "order" and given == default)


def check(method: str, mode: str | None, order: int, named: dict[str, Any]) -> None:
    """Raise ValueError or TypeError for what a method does not take. `named`: the arguments by their names."""
    given = {name: value for name, value in named.items() if name in _NAMES and not _is_default(name, value)}
    if method not in _OPTIONS:
        raise ValueError(f"attribute: unknown method {method!r}: one of {', '.join(_OPTIONS)}")
    if mode not in (None, "reverse", "forward"):
        raise ValueError(f"attribute: mode is 'reverse' or 'forward', not {mode!r}")
    if order not in (1, 2):
        raise ValueError(f"attribute: order is 1 or 2, not {order!r}")
    if order == 2 and mode == "reverse":
        raise TypeError("attribute: order=2 with method='local' goes forward: leave mode='reverse'")
    if type(given.get("create_graph", False)) is not bool:
        raise TypeError(f"attribute: create_graph is True or False, not {given['create_graph']!r}")
    if "create_graph" in given and (order == 2 or mode == "forward"):
        said = "order=2" if order == 2 else "mode='forward'"
        raise TypeError(f"attribute: with {said} no graph is created: use mode='reverse' and order=1")
    forward = method == "local" and mode == "forward" and order == 1
    if "mesh" in given:
        _check_mesh(method, forward, given)
    for name in given:
        if name != "mesh" and name not in (_FORWARD if forward else _OPTIONS[method]):
            mode_said = " with order=2" if order == 2 else "" if forward else " in reverse mode"
            said = f"method {method!r}" + (mode_said if method == "local" else "")
            raise TypeError(f"attribute: {said} takes no {name}=")
    _check_at(method, order, given)
    if "baseline" in given and "baselines" in given:
        raise TypeError("attribute: give one baseline, or a sample of baselines")
    for name in ("steps", "chunk_size", "max_memory", "samples"):
        number = given.get(name)
        if number is None or (name == "samples" and number == "all"):
            continue
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"attribute: {name} is an int, not {number!r}")
        if number < 1:
            raise ValueError(f"attribute: {name} is positive, not {number}")
    if given.get("batched", False) not in (True, "vmap", False):
        raise ValueError(f"attribute: batched is True, False or 'vmap', not {given['batched']!r}")
    if "absent" in given:
        for name in ("baseline", "baselines", "batched", "chunk_size", "at"):
            if name in given:
                raise TypeError(f"attribute: absent= says what absence means: leave {name}=")
        if not callable(given["absent"]):
            raise TypeError(f"attribute: absent is a function (x, present), not {given['absent']!r}")
    if not isinstance(given.get("seed", 0), int):
        raise TypeError(f"attribute: seed is an int, not {given['seed']!r}")
    if "seed" in given and given.get("samples") == "all":
        raise TypeError("attribute: all coalitions need no seed")


def _check_mesh(method: str, forward: bool, given: dict[str, Any]) -> None:
    if "create_graph" in given:
        raise TypeError("attribute: what other ranks of a mesh compute has no graph: leave create_graph= or mesh=")
    if "max_memory" in given:
        raise TypeError("attribute: chunks are the same on all ranks of a mesh: say chunk_size=, not max_memory=")
    if "baselines" not in given and "mesh" not in (_FORWARD if forward else _OPTIONS[method]):
        more = " (mode='forward' goes in chunks of components)" if method == "local" else ""
        raise TypeError(
            f"attribute: method {method!r} runs in one piece, of which a mesh can share nothing{more}, unless several "
            "baselines are given"
        )


def _check_at(method: str, order: int, given: dict[str, Any]) -> None:
    if type(given.get("paths", False)) is not bool:
        raise TypeError(f"attribute: paths is True or False, not {given['paths']!r}")
    if "at" not in given:
        if "paths" in given or method == "conductance":
            said = "paths=True" if "paths" in given else "method 'conductance'"
            raise TypeError(f"attribute: {said} is about the layers of a network: say which, with at=")
        return
    if order == 2:
        raise TypeError("attribute: at with order=2: pairs are those of the inputs")
    for name in ("axis", "groups", "labels"):
        if name in given and "paths" not in given:
            raise TypeError(
                f"attribute: {name}= is about the inputs: the units of a layer are those of np.attribution.Layer(..., "
                f"{name}=), and paths=True leads to it from the inputs"
            )
