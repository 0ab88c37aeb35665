"""Tables of calls with arrays on a device, each beside the same call on the host: what differs, in words.

    python tests/device_tables.py DEVICE [TABLE ...]

A call differs where it raises, where a number, a dtype or a shape is another one, and where a result of arrays of the
device lies on the host. `elsewhere` is a device whose kernels are the host's (`elsewhere.py`).
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import torch

import decomposition_cases as dc
import npdec as np
import samples
from npdec import DecomposedTensor

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

import overhead_lines

Row = tuple[str, samples.Sample | None, Callable[[Any], Any]]


class On:
    """npdec with its arrays made on a device, for `Sample.build`."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def array(self, data: Any, dtype: Any = None) -> Any:
        return np.array(data, dtype=dtype).to_device(self.device)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


# -- the tables --------------------------------------------------------------------------------------------------------


def _call(name: str, sample: samples.Sample, lib: Any, given: dict[dc.Path, Any] | None = None) -> Any:
    args, kwargs = dc.with_leaves(sample, given or {}).build(lib)
    made = samples.find(np, name)(*args, **kwargs)
    return args[0] if sample.writes else made


def _samples() -> Iterator[Row]:
    for name, sample in samples.cases():
        if dc.arrays(sample):
            yield f"{name}{sample!r}", sample, functools.partial(_call, name, sample)


def _lists() -> Iterator[Row]:
    """One argument stays an array, the others are lists and numbers, which have no device."""
    for name, sample in samples.cases():
        found = dc.arrays(sample)
        for kept in found if len(found) > 1 else ():
            if not sample.writes or kept == (0,):
                changed = dc.with_leaves(sample, {path: x.data for path, x in found.items() if path != kept})
                yield f"{name}{sample!r}, an array at {kept}", sample, functools.partial(_call, name, changed)


DTYPES = {
    "float64": "float32 float16 bfloat16",
    "complex128": "complex64",
    "int64": "int8 int16 int32 uint8 uint16 uint32 uint64",
}


def _dtypes() -> Iterator[Row]:
    for name, sample in samples.cases():
        found = dc.arrays(sample)
        for own in sorted({x.dtype for x in found.values()}):
            for dtype in DTYPES.get(own, "").split():
                make = numpy.abs if dtype.startswith("u") else numpy.asarray
                new = {p: samples.Arr(make(x.data).tolist(), dtype) for p, x in found.items() if x.dtype == own}
                changed = dc.with_leaves(sample, new)
                yield f"{name}{changed!r}", sample, functools.partial(_call, name, changed)


ON_HOST = "h"  # an array that stays there: torch takes it as an index


def _text(text: str, arrays: Callable[[Any], dict[str, Any]], lib: Any) -> Any:
    names = arrays(lib)
    try:
        made = eval(text, names)
    except SyntaxError:
        exec(text, names)
        made = None
    arrays_now = [names[name] for name in sorted(names) if isinstance(names[name], np.ndarray) and name != ON_HOST]
    return made, arrays_now


def _moved_arrays(lib: Any) -> dict[str, Any]:
    made = overhead_lines.arrays(np)
    moved = {name: lib.array(x) for name, x in made.items() if isinstance(x, np.ndarray)}
    return made | moved


def _lines() -> Iterator[Row]:
    for lines in overhead_lines.LINES.values():
        for line in lines:
            if "(x" in line.text or "[x" in line.text or not line.text.startswith("np."):
                yield line.text, None, functools.partial(_text, line.text, _moved_arrays)


KEYS = (
    "3", "-1", "1:5", "::-1", "::2", "...", "None", "i", "[1, 2]", "m", "(slice(None), 1)", "(i, j)", "(m, m)",
    "(0, i)", "(slice(1, 3), i)", "(m,)", "(slice(None), m)", "A > 10", "(1, 2)", "(i[:, None], j)", "h",
    "numpy.array([0, 2])",
)  # fmt: skip
ACTIONS = (
    "A[K]", "A[K] = 1.5", "A[K] += 1.0", "A[K] = D[K]", "A[K] = A[K].sum()", "A[::-1][K] = 7.0", "U[K]", "U[K] = 7",
    "U[K] = U[K] * 2", "np.add.at(A, K, 1.0)", "A[K] = [1.0]",
)  # fmt: skip


def _indexed(decomposed: bool, lib: Any) -> dict[str, Any]:
    a = lib.array([[6.0 * i + j for j in range(6)] for i in range(6)])
    return {
        "A": np.decompose(a, baseline=0.0) if decomposed else a,
        "D": np.decompose(a + 0.5, baseline=0.0),
        "U": lib.array([[6 * i + j for j in range(6)] for i in range(6)], "uint32"),
        "i": lib.array([1, 4, 2]),
        "j": lib.array([0, 1, 2]),
        "m": lib.array([True, False, True, False, True, False]),
        ON_HOST: np.array([1, 2]),
        "np": np,
        "numpy": numpy,
    }


def _keys() -> Iterator[Row]:
    for decomposed in (False, True):
        for key in KEYS:
            for action in ACTIONS:
                if ":" in key.replace("[:, None]", "") and "at(" in action:
                    continue
                text = action.replace("K", key)
                label = text + (" of a decomposed array" if decomposed else "")
                yield label, None, functools.partial(_text, text, functools.partial(_indexed, decomposed))


UFUNC_CALLS = (
    "f(*two)", "f(*two, out=o)", "f(*two, where=w, out=o)", "f(*two, dtype='float32')", "f.reduce(a)", "f(a, 2)",
    "f(2.5, a) if f.nin == 2 else 0", "f.reduce(a, axis=None, keepdims=True)", "f.accumulate(a, 1)", "f.outer(a, b[0])",
    "f.reduceat(a, [0, 2, 1], 1)", "f.at(a, i, 1.5)", "f.at(a, i)", "f(a, [1.0, 2.0, 3.0])", "f(a, a[0, 1])",
)  # fmt: skip


def _operands(name: str, dtype: str, lib: Any) -> dict[str, Any]:
    f, a = getattr(np, name), lib.array([[1, 2, 3], [4, 5, 6]], dtype)
    b = a + lib.array(1, dtype)
    made = {"f": f, "a": a, "b": b, "two": (a, b)[: f.nin], "o": lib.array([[0.0] * 3] * 2), "i": lib.array([0, 1, 0])}
    return {**made, "w": lib.array([True, False, True])}


def _ufuncs() -> Iterator[Row]:
    for name in sorted(name for name in np.__all__ if isinstance(getattr(np, name), np.ufunc)):
        for dtype in ("float64", "int64", "uint32"):
            for text in UFUNC_CALLS:
                if dtype == "uint32" and "at(a" in text:
                    continue  # which casts nan and negative numbers, each device to other integers
                operands = functools.partial(_operands, name, dtype)
                yield f"{name}, {dtype}: {text}", None, functools.partial(_text, text, operands)


def _decomposed_call(name: str, sample: samples.Sample, chosen: tuple[dc.Path, ...], lib: Any) -> Any:
    found = dc.leaves(sample)
    plain = tuple(samples.make(lib, found[path]) for path in chosen)
    bases = tuple(lib.array(dc.baseline(found[path], sample.base, path)) for path in chosen)
    return _call(name, sample, lib, dict(zip(chosen, np.decompose(plain, baseline=bases), strict=True)))


def _decomposed() -> Iterator[Row]:
    for name, sample, chosen in dc.CHOICES:
        label = f"{name}{sample!r} of decomposed {dc.choice_id(chosen)}"
        yield label, sample, functools.partial(_decomposed_call, name, sample, chosen)


TABLES: dict[str, Callable[[], Iterator[Row]]] = {
    "samples": _samples,
    "lists": _lists,
    "dtypes": _dtypes,
    "lines": _lines,
    "keys": _keys,
    "ufuncs": _ufuncs,
    "decomposed": _decomposed,
}


# -- what differs ------------------------------------------------------------------------------------------------------

DIGITS = {torch.float16: 3e-3, torch.bfloat16: 2e-2, torch.float32: 2e-5, torch.complex64: 2e-5}


def _parts(x: Any) -> list[torch.Tensor]:
    """The tensors of an array, a scalar or a tensor."""
    tensor = x._t if isinstance(x, (np.ndarray, np.generic)) else x
    if isinstance(tensor, DecomposedTensor):
        return [tensor.value, tensor.residual, tensor.components]
    return [tensor] if isinstance(tensor, torch.Tensor) else []


def _unlike(got: torch.Tensor, want: torch.Tensor, sample: samples.Sample | None) -> str:
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"{got.dtype} {tuple(got.shape)}, not {want.dtype} {tuple(want.shape)}"
    if (sample is not None and (sample.shape_only or sample.up_to_order)) or not want.numel():
        return ""
    got, want = got.detach().cpu(), want.detach()
    if not (want.is_floating_point() or want.is_complex()):
        return "" if bool((got == want).all()) else "other integers"
    double = torch.complex128 if want.is_complex() else torch.float64
    a, b = got.to(double), want.to(double)
    if sample is not None and sample.up_to_sign:
        a, b = a.abs(), b.abs()
    finite = b.abs()[torch.isfinite(b)]
    scale = max(1.0, float(finite.max()) if finite.numel() else 1.0)
    error = torch.where((a == b) | (a.isnan() & b.isnan()), 0, (a - b).abs().nan_to_num(torch.inf, torch.inf)).max()
    return f"differs by {float(error):.0e}" if error > DIGITS.get(want.dtype, 1e-10) * scale else ""


def _compared(got: Any, want: Any, sample: samples.Sample | None, device: torch.device) -> str:
    ours, theirs = list(dc.flat(got)), list(dc.flat(want))
    if len(ours) != len(theirs):
        return f"{len(ours)} results, not {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        parts, wanted = _parts(a), _parts(b)
        if len(parts) != len(wanted):
            return f"{type(a).__name__} of {len(parts)} tensors, not {len(wanted)}"
        for part, other in zip(parts, wanted, strict=True):
            if part.device.type != device.type:
                return f"a result on {part.device}"
            if words := _unlike(part, other, sample):
                return words
    return ""


def _outcome(run: Callable[[Any], Any], lib: Any) -> Any:
    torch.manual_seed(0)
    try:
        return run(lib)
    except Exception as error:  # of whatever kind: the other device has to raise it as well
        return error


def differences(table: str, device: Any) -> tuple[int, list[str]]:
    """How many calls the table has, and what is said of those that differ."""
    there, found, count = On(torch.device(device)), [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for label, sample, run in TABLES[table]():
            want, got = _outcome(run, np), _outcome(run, there)
            count += 1
            if isinstance(want, Exception) or isinstance(got, Exception):
                same = type(want) is type(got) or (isinstance(want, Exception) and isinstance(got, Exception))
                words = "" if same else f"{got!r}" if isinstance(got, Exception) else f"does not raise {want!r}"
            else:
                words = _compared(got, want, sample, there.device)
            if words:
                found.append(f"{label}: {words}")
    return count, found


def main(device: str, *tables: str) -> int:
    if device == "elsewhere":
        import elsewhere

        elsewhere.install()
    failed = 0
    for table in tables or TABLES:
        count, found = differences(table, device)
        print(f"{table}: {count} calls, {len(found)} differ")  # noqa: T201
        print("".join(f"   {line}\n" for line in found), end="")  # noqa: T201
        failed += len(found)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
