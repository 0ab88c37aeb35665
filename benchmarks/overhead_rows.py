"""The rows of `overhead.py --all`: small calls of every public function, method and operator, each beside raw torch.

Functions are those of the tests' table of samples (`tests/samples.py`), called as their first sample says. Raw torch is
torch's function of the name, or the one that `IN_TORCH` names, wherever it gives the same numbers, to the last bit, in
the same dtype for the same arguments; it is run here once to see that. Where there is none, it is the kernel of the
function, called with the tensors that the public function hands to it. Methods, operators, indexing and assignment are
the source text of `overhead_lines`.
"""

from __future__ import annotations

import copy
import re
import sys
import timeit
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy
import torch

import npdec
from overhead_lines import LINES, Line, arrays

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import samples

Timer = Callable[[int], float]


class Row(NamedTuple):
    """One call: its chapter, its text, what raw torch is ("" where torch computes nothing of it), and for each column
    the seconds of processor time that so many calls take."""

    chapter: str
    text: str
    raw: str
    timers: dict[str, Timer]


# --- functions --------------------------------------------------------------------------------------------------------

# Expressions of torch over the arguments of the sample, by place (a, b, c, d) or by name.
IN_TORCH = {
    "array": "torch.tensor(a, dtype=torch.float64)",
    "asarray": "torch.tensor(a, dtype=torch.float64)",
    "asanyarray": "torch.tensor(a, dtype=torch.float64)",
    # NumPy's looks whether all numbers are finite.
    "asarray_chkfinite": "[t for t in (torch.tensor(a, dtype=torch.float64),) if torch.isfinite(t).all()][0]",
    "ascontiguousarray": "torch.tensor(a, dtype=torch.float64)",
    "asfortranarray": "torch.tensor(a, dtype=torch.float64).mT.contiguous().mT",
    "fromiter": "torch.tensor(list(a), dtype=torch.int32)",
    "frombuffer": "torch.frombuffer(bytearray(a), dtype=torch.uint8)",
    "from_dlpack": "torch.from_dlpack(a)",
    "zeros": "torch.zeros(a, dtype=torch.float64)",
    "ones": "torch.ones(a, dtype=torch.float64)",
    "empty": "torch.empty(a, dtype=torch.float64)",
    "full": "torch.full(a, b, dtype=torch.float64)",
    "copy": "a.clone()",
    "eye": "torch.eye(a, dtype=torch.float64)",
    "identity": "torch.eye(a, dtype=torch.float64)",
    "linspace": "torch.linspace(a, b, 50, dtype=torch.float64)",
    "concatenate": "torch.cat(a)",
    "concat": "torch.cat(a)",
    "ravel": "a.reshape(-1)",
    "transpose": "a.T",
    "permute_dims": "a.T",
    "matrix_transpose": "a.mT",
    "linalg.matrix_transpose": "a.mT",
    "equal": "torch.eq(a, b)",
    "not_equal": "torch.ne(a, b)",
    "power": "torch.pow(a, b)",
    "rint": "torch.round(a)",
    "degrees": "torch.rad2deg(a)",
    "radians": "torch.deg2rad(a)",
    "invert": "torch.bitwise_not(a)",
    "partition": "torch.sort(a).values",
    "convolve": "torch.nn.functional.conv1d(a[None, None], b.flip(0)[None, None], padding=2)[0, 0]",
    "argpartition": "torch.argsort(a)",
    "expand_dims": "a.unsqueeze(b)",
    "flip": "torch.flip(a, (0, 1))",
    "flipud": "torch.flip(a, (0,))",
    "fliplr": "torch.flip(a, (1,))",
    "repeat": "torch.repeat_interleave(a, b)",
    "tile": "a.repeat(b)",
    "take": "a[torch.tensor(b)]",
    "take_along_axis": "torch.gather(a, c, b)",
    "put_along_axis": "a.scatter_(d, b, c)",
    "copyto": "a.copy_(b)",
    "putmask": "a.copy_(torch.where(b, c, a))",  # which writes
    "extract": "b[a]",
    "nonzero": "torch.nonzero(a, as_tuple=True)",
    "flatnonzero": "torch.nonzero(a.reshape(-1)).squeeze(1)",
    "append": "torch.cat([a, torch.tensor([b], dtype=a.dtype)])",
    "std": "torch.std(a, correction=0)",
    "var": "torch.var(a, correction=0)",
    "cumsum": "torch.cumsum(a.reshape(-1), 0)",
    "cumprod": "torch.cumprod(a.reshape(-1), 0)",
    "cumulative_sum": "torch.cumsum(a, 0)",
    "cumulative_prod": "torch.cumprod(a, 0)",
    "sort": "torch.sort(a).values",
    "argsort": "torch.argsort(a, stable=True)",
    "array_equal": "torch.equal(a, b)",
    "clip": "torch.clamp(a, b, c)",
    "round": "torch.round(a)",
    "around": "torch.round(a)",
    "sign": "torch.where(torch.isnan(a), a, torch.sign(a))",  # of nan torch makes 0
    "remainder": "torch.remainder(a, b).copysign_(b)",  # a zero too has the sign of the divisor
    "row_stack": "(warnings.warn('deprecated', DeprecationWarning), torch.row_stack(a))[1]",  # as NumPy's name warns
    "ix_": "(torch.tensor(a).reshape(-1, 1), torch.tensor(b).reshape(1, -1))",
    "conjugate": "torch.clone(a)",  # NumPy copies
    "positive": "torch.clone(a)",
    "ndim": "a.dim()",
    "shape": "a.shape",
    "size": "a.numel()",
    "dot": "torch.matmul(a, b)",
    "inner": "torch.dot(a, b)",
    "median": "torch.quantile(a, 0.5)",
    "trace": "torch.trace(a)",
    "linalg.trace": "torch.trace(a)",
    "linalg.norm": "torch.linalg.vector_norm(a)",
    "fft.fftfreq": "torch.fft.fftfreq(a, dtype=torch.float64)",
    "fft.rfftfreq": "torch.fft.rfftfreq(a, dtype=torch.float64)",
    "broadcast_to": "torch.broadcast_to(a, b)",
    "isrealobj": "not a.is_complex()",
    "iscomplexobj": "a.is_complex()",
    "astype": "a.to(torch.int64)",
    "diff": "torch.diff(a)",
    "where": "torch.where(a, b, c)",
    "vdot": "torch.vdot(a, b)",
    "max": "torch.max(a)",
    "min": "torch.min(a)",
    "fabs": "torch.abs(a)",
    "absolute": "torch.abs(a)",
    "arange": "torch.arange(a)",
    "full_like": "torch.full_like(a, b)",
    "bincount": "torch.bincount(a)",
    "digitize": "torch.bucketize(a, torch.tensor(b, dtype=torch.float64), right=True)",
    "searchsorted": "torch.searchsorted(torch.tensor(a, dtype=torch.float64), b)",
    "diagonal": "torch.diagonal(a)",
    "einsum": "torch.einsum(a, b, c)",
    "count_nonzero": "torch.count_nonzero(a)",
    "ediff1d": "torch.diff(a)",
    "trapezoid": "torch.trapezoid(a)",
    "unravel_index": "torch.unravel_index(torch.tensor(a), b)",
    "tri": "torch.ones((a, a), dtype=torch.float64).tril()",
    "indices": "torch.stack(torch.meshgrid(torch.arange(a[0]), torch.arange(a[1]), indexing='ij'))",
    "meshgrid": "tuple(t.clone() for t in torch.meshgrid(a, b, indexing='xy'))",  # NumPy's are copies
    "split": "a.split(1)",
    "vsplit": "a.split(1)",
    "hsplit": "a.split(1, 1)",
    "dsplit": "a.split(2, 2)",
    "array_split": "torch.tensor_split(a, b)",
    "vstack": "torch.vstack(a)",
    "atleast_1d": "torch.atleast_1d(torch.tensor(a, dtype=torch.float64))",
    "atleast_2d": "torch.atleast_2d(torch.tensor(a, dtype=torch.float64))",
    "atleast_3d": "torch.atleast_3d(torch.tensor(a, dtype=torch.float64))",
}

# Torch's functions of these names are others, although they give the same for the sample.
OTHERWISE = {
    "ldexp": "overflows where the power does, and rounds twice",
    "lcm": "has the wrong sign where it overflows",
    "size": "a method, where NumPy has a function",
    "shape": "an attribute, where NumPy has a function",
    "ndim": "a method, where NumPy has a function",
}

SAMPLES = {
    "fromiter": samples.call([1, 2, 3], "int32"),
    "inner": samples.call(samples.V, samples.W),
    "dot": samples.call(samples.V, samples.W),
    "append": samples.call(samples.V, 1.0),
}


def _tree(item: Any, leaf: Callable[[Any], Any]) -> Any:
    if isinstance(item, (list, tuple)):
        made = [_tree(i, leaf) for i in item]
        return type(item)(*made) if hasattr(item, "_fields") else type(item)(made)
    return leaf(item)


def _tensor(item: Any) -> Any:
    """What torch is given in the place of an argument of npdec's."""
    return item._t if hasattr(item, "_t") else item


def _leaves(item: Any) -> Iterator[Any]:
    if isinstance(item, (list, tuple)):
        for i in item:
            yield from _leaves(i)
    else:
        yield _tensor(item)


def same(one: Any, other: Any) -> bool:
    """Whether two results hold the same numbers, to the last bit, in the same shapes and dtypes."""
    ours, theirs = list(_leaves(one)), list(_leaves(other))
    return len(ours) == len(theirs) and all(map(_alike, ours, theirs))


def _alike(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return bool(a == b)
    return a.dtype is b.dtype and a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)


class _Recorder:
    """Stands in for a kernel and remembers its calls, but direct ones that have no answer."""

    def __init__(self, name: str, function: Callable[..., Any], calls: list[Any]) -> None:
        self.name, self.function, self.calls = name, function, calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self.function(*args, **kwargs)
        if (found is not None and found is not False) or self.name != "_common":
            self.calls.append((self.function, args, kwargs))
        return found


def kernel_call(function: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, Any, Any] | None:
    """The kernel of a public function, and what it is handed in a call; None if the function has none."""
    call = vars(type(function))["__call__"] if isinstance(function, npdec.ufunc) else function
    scopes: list[Any] = [getattr(call, "__globals__", {})]
    if isinstance(function, npdec.ufunc):
        scopes.append(vars(function))
    calls: list[Any] = []
    replaced = [
        (scope, name, scope[name])
        for scope in scopes
        for name in ("_kernel", "_common", "_bare", "_torch", "__kernel__")
        if scope.get(name)
    ]
    try:
        for scope, name, kernel in replaced:
            scope[name] = _Recorder(name, kernel, calls)
        function(*args, **kwargs)
    finally:
        for scope, name, kernel in replaced:
            scope[name] = kernel
    return calls[0] if calls else None


def _statement(args: Any, kwargs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    names = {f"a{i}": a for i, a in enumerate(args)}
    words = [*names, *(f"{k}=k_{k}" for k in kwargs)]
    return f"f({', '.join(words)})", {**names, **{f"k_{k}": v for k, v in kwargs.items()}}


def _timer(text: str, scope: dict[str, Any]) -> Timer:
    assigned = _IN_PLACE.match(text)  # a name that is assigned to is one of the timed function's own
    setup = f"{assigned[1]} = given" if assigned else "pass"
    scope = {**scope, "given": scope[assigned[1]]} if assigned else scope
    return timeit.Timer(text, setup, timer=process_time, globals=scope).timeit


_IN_PLACE = re.compile(r"(\w+) (?:\+|-|\*|/|//|%|\*\*|&|\||\^|<<|>>)= ")


def _torch_of(
    name: str, args: list[Any], kwargs: dict[str, Any], wanted: Any
) -> tuple[str, str, dict[str, Any]] | None:
    """Raw torch's call (what it is, its text, its names) that gives what npdec does; None if there is none."""
    if name in OTHERWISE:
        return None
    if name in IN_TORCH:
        scope = {**dict(zip("abcd", args)), **kwargs, "torch": torch, "warnings": warnings}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = eval(IN_TORCH[name], dict(scope))
        if wanted is None or same(wanted, found):
            return "torch", IN_TORCH[name], scope
    for module in (torch.linalg, torch.fft, torch.special, torch):
        function = getattr(module, name.rpartition(".")[2], None)
        if function is None:
            continue
        try:
            given = copy.deepcopy((args, kwargs))
            found = function(*given[0], **given[1])
        except Exception:
            continue
        if (
            wanted is not None
            and not (isinstance(wanted, npdec.ndarray) and isinstance(found, bool))
            and same(wanted, found)
        ):
            text, scope = _statement(args, kwargs)
            return "torch", text, {**scope, "f": function}
    return None


def function_row(chapter: str, name: str, sample: Any) -> Row:
    """The row of a function's sample."""
    function = samples.find(npdec, name)
    args, kwargs = sample.build(npdec)
    tensors = [_tree(a, _tensor) for a in args]
    words = {key: _tree(value, _tensor) for key, value in kwargs.items()}
    wanted = None if sample.shape_only or sample.writes else function(*copy.deepcopy(args), **kwargs)
    raw = _torch_of(name, tensors, words, wanted)
    if raw is None:
        call = kernel_call(function, *sample.build(npdec))
        if call is not None:
            text, scope = _statement(call[1], call[2])
            raw = "kernel", text, {**scope, "f": call[0]}
    text, scope = _statement(args, kwargs)
    timers = {"npdec": _timer(text, {**scope, "f": function})}
    if raw is not None:
        timers["torch"] = _timer(raw[1], raw[2])
    theirs = samples.find(numpy, name)
    if theirs is not None:
        given, more = sample.build(numpy)
        text, scope = _statement(given, more)
        timers["NumPy"] = _timer(text, {**scope, "f": theirs})
    return Row(chapter, f"{name}{sample!r}", raw[0] if raw else "", timers)


# --- lines ----


def line_row(chapter: str, line: Line) -> Row:
    """The row of a line."""
    timers = {}
    for name, lib in (("npdec", npdec), ("torch", torch), ("NumPy", numpy)):
        text = line.torch if name == "torch" and line.torch is not None else line.text
        timer = _timer(text, arrays(lib))
        if name == "NumPy":
            try:
                timer(1)
            except (TypeError, AttributeError):
                continue
        timers[name] = timer
    return Row(chapter, line.text, "torch", timers)


def rows(pattern: str = "") -> Iterator[Row]:
    """All rows whose chapter or text has the pattern in it."""
    for chapter, lines in LINES.items():
        for line in lines:
            if pattern in f"{chapter}: {line.text}":
                yield line_row(chapter, line)
    for chapter, table in samples.CHAPTERS.items():
        for name in table:
            if name in samples.SAMPLES and samples.find(npdec, name) is not None:
                sample = SAMPLES.get(name, table[name][0])
                if pattern in f"{chapter}: {name}{sample!r}":
                    yield function_row(chapter, name, sample)
