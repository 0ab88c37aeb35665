"""`np.debug.compare`: a program under npdec and under others, and the first operation whose result differs."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from npdec._core.base import ArrayBase
from npdec._core.tracebacks import ends
from npdec._decomposed.tensor import DecomposedTensor
from npdec.debug._against_jit import compiled_beside
from npdec.debug._against_numpy import NumPyBeside
from npdec.debug._differences import Difference, departure
from npdec.debug._followed import Follower, on_device, to_single
from npdec.debug._looking import looking_on
from npdec.debug._under_numpy import as_numpy, under_numpy
from npdec.debug._values import arrays_in, elements_of, has_no_elements, is_array, name_of_dtype, shown

__all__ = ["Comparison", "Report", "compare"]

AGAINST = ("numpy", "jit", "float32", "cuda")
_SINGLE = 1e-4
_SAME = {64: 1e-9, 32: 1e-4, 16: 1e-2}


@dataclass(frozen=True)
class Comparison:
    """A program beside another world.

    `against` names it, `difference` is the first operation whose result differs (None: none does), `operations` how
    many were compared. `whole` is the largest difference of the results of the whole program under NumPy, relative to
    the largest magnitude (nan where it was not run). `verdict` says what follows, in one line.
    """

    against: str
    difference: Difference | None
    operations: int
    verdict: str
    whole: float = math.nan

    def __str__(self) -> str:
        text = f"{self.against}: {self.verdict}"
        return text if self.difference is None else f"{text}\n  {self.difference}"


@dataclass(frozen=True)
class Report:
    """What `np.debug.compare` has found: a `Comparison` for each of the others, by name; printed, a paragraph each.

    It is true where nothing differs.
    """

    comparisons: dict[str, Comparison] = field(default_factory=dict)

    def __getitem__(self, against: str) -> Comparison:
        return self.comparisons[against]

    def __bool__(self) -> bool:
        return all(one.difference is None and not one.whole > 0 for one in self.comparisons.values())

    def __str__(self) -> str:
        return "\n".join(map(str, self.comparisons.values()))

    __repr__ = __str__


@ends
def compare(
    f: Callable[..., Any],
    *args: Any,
    against: Sequence[str] = ("numpy", "jit", "float32"),
    rtol: float | None = None,
    backend: Any = "inductor",
) -> Report:
    """Run a function under npdec and under others, and name the first operation whose result differs.

    - ``"numpy"``: each operation beside NumPy's function of that name, on the same numbers: values, dtype, shape,
      scalar or array, whether the result is a view, what is written, and random numbers of one seed. Then the whole
      program runs under NumPy.
    - ``"jit"``: the graph of `np.jit`, compiled, beside the operations one by one.
    - ``"float32"``: the same operations, with arguments and arrays that are made in float32: where rounding first grows
      beyond `rtol`.
    - ``"cuda"``: the same operations on a GPU.

    So a wrong result is laid to the program (it is the same under NumPy), to npdec, to the compiler, or to rounding.
    The arguments are copied before each run and stay as they are. Operations of a program that branches follow the way
    of its first run. Not compared are functions of torch beside NumPy's, what NumPy has not, and operations that call
    functions of the program.

    Parameters
    ----------
    f : callable
        A function of arrays. It runs several times.
    *args
        Its arguments.
    against : sequence of str
        With what to compare it.
    rtol : float, optional
        The difference that is allowed: beside NumPy, of an element, relative to it (by default rounding of the
        operation's dtype, and of its condition); for the others relative to the largest magnitude of a result (1e-4 for
        ``"float32"``, 1e-9 in float64).
    backend : str or callable
        The compiler, as of `np.jit`.

    Raises
    ------
    ValueError
        For an unknown name in `against`, and for arrays on the device meta, which have no numbers.
    RuntimeError
        For ``"cuda"`` where torch finds no GPU.

    >>> def spread(x):
    ...     square = (x * x).mean()
    ...     return np.sqrt(square - x.mean() ** 2)
    >>> report = np.debug.compare(spread, 1e4 + np.arange(5.0), against=["numpy", "float32"])
    >>> report["numpy"].difference is None, report["float32"].difference.place.expression
    (True, 'square - x.mean() ** 2')
    """
    against = (against,) if isinstance(against, str) else tuple(against)
    for name in against:
        if name not in AGAINST:
            raise ValueError(f"np.debug.compare: against is {name!r}; it may be {', '.join(map(repr, AGAINST))}")
    if "cuda" in against and not torch.cuda.is_available():
        raise RuntimeError(
            "np.debug.compare: against='cuda' needs a GPU, and torch finds none here; leave it out "
            "(against=('numpy', 'jit', 'float32'))"
        )
    for array in arrays_in(args):
        if has_no_elements(array):
            raise ValueError(
                f"np.debug.compare: an argument, {shown(array)}, is on the device meta and has no numbers to compare; "
                "give arrays that have, on the host or on a GPU"
            )
    arguments = lambda: copied(args)  # noqa: E731
    made = {name: _BESIDE[name](f, arguments, rtol, backend) for name in against}
    return Report(made)


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, as often as they are needed: copies, of tensors without their graph."""
    memo: dict[int, Any] = {}
    for one in arrays_in(args):
        if isinstance(one, torch.Tensor) and type(one) is not DecomposedTensor:
            memo[id(one)] = one.detach().clone()  # deepcopy refuses what autograd has computed
    return copy.deepcopy(args, memo)


# -- the others --------------------------------------------------------------------------------------------------------


def _numpy(f: Any, arguments: Callable[[], tuple[Any, ...]], rtol: float | None, backend: Any) -> Comparison:
    beside = NumPyBeside(rtol)
    given = arguments()
    try:
        with looking_on(beside):
            result = f(*given)
    except Exception:
        if beside.difference is None:
            raise
    if beside.difference is not None:
        return Comparison("numpy", beside.difference, beside.count, "an operation of npdec gives another result")
    agree = _agree(beside.count)
    theirs = as_numpy(arguments())
    try:
        other = under_numpy(f)(*theirs)
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        return Comparison("numpy", None, beside.count, f"{agree}; the program itself does not run under NumPy ({said})")
    whole = _departure((result, given), (other, theirs), rtol)
    if whole is None:
        verdict = f"{agree}, and so does the whole program: what is wrong in it is wrong under NumPy too"
        return Comparison("numpy", None, beside.count, verdict, 0.0)
    verdict = (
        f"{agree}, but the results of the whole program differ by {whole:.1e} of the largest magnitude: rounding that "
        "grows, or the program goes another way under NumPy"
    )
    return Comparison("numpy", None, beside.count, verdict, whole)


def _departure(ours: Any, theirs: Any, rtol: float | None) -> float | None:
    """The largest relative difference of two programs' results, if it is not allowed."""
    a, b = list(arrays_in(ours)), list(arrays_in(theirs))
    if len(a) != len(b):
        return math.inf
    worst = 0.0
    for one, other in zip(a, b):
        found = departure(one, other)
        if found is None:
            return math.inf
        if found[1] > _allowed(one, rtol):
            worst = max(worst, found[1])
    return worst or None


def _allowed(array: Any, rtol: float | None) -> float:
    numbers = elements_of(array) if is_array(array) else None
    if rtol is not None or numbers is None or not (numbers.is_floating_point() or numbers.is_complex()):
        return rtol or 0.0
    return _SAME[min(64, int(torch.finfo(numbers.dtype).bits))]


def _agree(count: int) -> str:
    return "1 operation agrees" if count == 1 else f"{count} operations agree"


def _jit(f: Any, arguments: Callable[[], tuple[Any, ...]], rtol: float | None, backend: Any) -> Comparison:
    found = compiled_beside(f, arguments, backend, lambda array: _allowed(array, rtol))
    if found.note:
        return Comparison("jit", None, 0, found.note)
    if found.difference is None:
        return Comparison("jit", None, found.operations, _agree(found.operations))
    verdict = {
        "compiler": "the compiler gives another result than the graph that it was given",
        "recorder": "the graph that np.jit records gives another result, uncompiled too",
    }[found.layer]
    return Comparison("jit", found.difference, found.operations, verdict)


def _single(f: Any, arguments: Callable[[], tuple[Any, ...]], rtol: float | None, backend: Any) -> Comparison:
    bound = _SINGLE if rtol is None else rtol
    return _followed("float32", f, arguments, Follower(to_single, _is_narrow, bound), "rounding in float32")


def _is_narrow(array: Any) -> bool:
    return name_of_dtype(array) not in ("float64", "complex128")


def _cuda(f: Any, arguments: Callable[[], tuple[Any, ...]], rtol: float | None, backend: Any) -> Comparison:
    bound = _SAME[64] if rtol is None else rtol
    return _followed("cuda", f, arguments, Follower(on_device("cuda"), _is_on_gpu, bound), "the GPU")


def _is_on_gpu(array: Any) -> bool:
    tensor = array._t if isinstance(array, ArrayBase) else array
    return isinstance(tensor, torch.Tensor) and tensor.is_cuda


def _followed(name: str, f: Any, arguments: Any, follower: Follower, what: str) -> Comparison:
    with looking_on(follower):
        f(*arguments())
    if follower.difference is not None:
        return Comparison(name, follower.difference, follower.count, f"{what} departs by more than {follower.rtol:.0e}")
    verdict = f"{follower.count} operations stay within {follower.rtol:.0e}"
    if follower.worst is not None and follower.worst[0]:
        relative, call = follower.worst
        verdict += f"; most, {relative:.1e}, in {call.name}, line {call.place.line}"
    return Comparison(name, None, follower.count, verdict)


_BESIDE = {"numpy": _numpy, "jit": _jit, "float32": _single, "cuda": _cuda}
