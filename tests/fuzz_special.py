"""How to compare the results of functions that have several right answers: orders of equal elements, vectors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy

import samples
from fuzz_calls import ELEMENTWISE
from fuzz_draw import Program


def given(program: Program) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of the call, made by NumPy."""
    scope: dict[str, Any] = {"np": numpy, "samples": samples, "given": lambda *args, **kwargs: (args, kwargs)}
    name = program.name.removeprefix("ndarray.")
    call = re.sub(rf"\b([a-q])\.{name}\(", r"given(\1, ", program.call) if name != program.name else program.call
    exec(f"{program.setup}\n{call.replace('np.' + name + '(', 'given(', 1)}", scope)
    found: tuple[tuple[Any, ...], dict[str, Any]] = scope["r"]
    return found


def _alike(got: Any, want: Any) -> None:
    """Only dtypes and shapes: the numbers are whatever was in memory, or the places of equal elements."""
    from fuzz_compare import pairs

    for _ in pairs(got, want):
        pass


def _partitioned(program: Program, got: Any, want: Any) -> None:
    from fuzz_compare import Differs, pairs

    for where, g, w in pairs(got["r"], want["r"]):
        if not numpy.array_equal(numpy.sort(g, None), numpy.sort(w, None), equal_nan=g.dtype.kind in "fc"):
            raise Differs(f"{where}: {g} are other elements than {w}")


def _up_to_order(program: Program, got: Any, want: Any) -> None:
    from fuzz_compare import RTOL, Differs, agree, largest, pairs

    for where, g, w in pairs(got["r"], want["r"]):
        g, w = numpy.sort(g, None), numpy.sort(w, None)
        if not agree(g, w, 1e3 * RTOL.get(str(w.dtype), 0.0), largest(w)):
            raise Differs(f"{where}: {g} instead of {w}, in whatever order")


def _rebuilt(name: str, a: Any, parts: Any) -> Any:
    """What the parts of a decomposition make, and what it has to be equal to."""
    if name == "qr":
        return parts[0] @ parts[1], a
    if name == "svd":
        u, s, vh = parts
        k = s.shape[-1]
        return (u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a
    w, v = parts
    return a @ v, v * w[..., None, :]


def _decomposition(program: Program, got: Any, want: Any) -> None:
    """Vectors are one choice of many: the parts are compared by what they make, the values by themselves."""
    from fuzz_compare import RTOL, Differs, agree, largest, pairs

    name = program.name.removeprefix("linalg.")
    found = list(pairs(got["r"], want["r"]))
    if any(not numpy.isfinite(w).all() for _, _, w in found):
        return
    for where, g, w in found:
        if w.shape[-1:] and where == {"svd": "r[1]", "eig": "r[0]", "eigh": "r[0]"}.get(name, "r"):
            g, w = numpy.sort(g, -1), numpy.sort(w, -1)
            if not agree(abs(g), abs(w), 1e3 * RTOL[str(w.dtype)], largest(w) + _size(want)):
                raise Differs(f"{where}: {g} instead of {w}")
    if len(found) < 2 or (name == "qr" and "raw" in program.call):
        return
    scope: dict[str, Any] = {"np": numpy, "samples": samples, "given": lambda a, *args, **kwargs: numpy.asarray(a)}
    exec(f"{program.setup}\n{program.call.replace('np.' + program.name, 'given')}", scope)
    a = scope["r"]
    if not numpy.isfinite(a).all():
        return
    if name == "eigh" or "hermitian=True" in program.call:
        lower = name == "svd" or "'U'" not in program.call.upper()
        half = numpy.tril(a, -1) if lower else numpy.triu(a, 1)
        a = half + half.swapaxes(-1, -2).conj() + numpy.real(a) * numpy.eye(a.shape[-1])
    made, wanted = _rebuilt(name, a, [g for _, g, _ in found])
    if not agree(made, wanted.astype(made.dtype), 100 * RTOL[str(found[-1][2].dtype)], _size(want) + largest(made)):
        raise Differs(f"the parts make {made} instead of {wanted}")


def _size(scope: Any) -> float:
    from fuzz_compare import largest

    found = [
        largest(x.astype(complex)) for x in scope.values() if isinstance(x, numpy.ndarray) and x.dtype.kind in "biufc"
    ]
    return max([1.0, *found])


def _ordered(program: Program, got: Any, want: Any) -> None:
    from fuzz_compare import Differs, pairs

    args, kwargs = given(program)
    a = numpy.asarray(args[0])
    axis = kwargs.get("axis", args[1] if len(args) > 1 else -1)
    for where, g, w in pairs(got["r"], want["r"]):
        taken = [
            numpy.take_along_axis(a.reshape(-1) if axis is None else a, x, axis) if x.ndim and a.ndim else x
            for x in (g, w)
        ]
        if not numpy.array_equal(*taken, equal_nan=a.dtype.kind in "fc"):
            raise Differs(f"{where}: {g} instead of {w}, the order of other elements")


def special(program: Program) -> Callable[[Any, Any], None] | None:
    """How to compare the results of the program, if not number by number."""
    name = program.name.removeprefix("ndarray.")
    if name.startswith("fft.") and "np.zeros(" in program.setup and not numpy.size(given(program)[0][0]):
        return lambda got, want: _alike(got["r"], want["r"])  # NumPy leaves the result uninitialised
    if name in ("empty", "empty_like", "argpartition"):
        return lambda got, want: _alike(got["r"], want["r"])
    if name in ELEMENTWISE and "where=" in program.call and "out=" not in program.call:
        return lambda got, want: _alike(got["r"], want["r"])  # NumPy leaves uninitialised what the mask leaves out
    if name == "argsort" and "stable" not in program.call:
        return lambda got, want: _ordered(program, got, want)
    if name in ("linalg.eig", "linalg.eigh", "linalg.svd", "linalg.qr"):
        return lambda got, want: _decomposition(program, got, want)
    if any(sample.up_to_order for sample in samples.SAMPLES.get(name, ())):
        return lambda got, want: _up_to_order(program, got, want)
    if name == "partition":
        return lambda got, want: _partitioned(program, got, want)
    return None
