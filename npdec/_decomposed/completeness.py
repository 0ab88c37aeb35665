"""Completeness, checked after each operation: `np.check_completeness`.

Where a decomposed result is made (`npdec._rules.dispatch`, `npdec._law.law.ruled`), it is handed to `check` if a check
is on.
"""

from __future__ import annotations

import contextlib
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import Any

import torch

from npdec._decomposed.kept_components import summed
from npdec._decomposed.registry import rows
from npdec._decomposed.tensor import DecomposedTensor
from npdec._torch.tracing import holding, refuse_contexts, refuse_trace, tracing
from npdec.exceptions import CompletenessError

__all__ = ["check", "check_completeness", "current", "default_rtol", "is_on", "missing", "relative_error"]

# The tolerance of the check that is on in this thread or task, by the dtype of a result; None: there is none.
current: ContextVar[Callable[[torch.dtype], float] | None] = ContextVar("npdec.check_completeness", default=None)

_OWN = frozenset({"npdec", "torch", "contextlib", "functools"})
_WRAPPER = "<npdec wrapper of "


def default_rtol(dtype: torch.dtype) -> float:
    """The square root of the spacing at one: half of a number's digits."""
    return float(torch.finfo(dtype).eps ** 0.5)


@contextlib.contextmanager
def check_completeness(*, rtol: float | None = None) -> Iterator[None]:
    """Context manager and decorator: after each operation, check that value == residual + components.sum(0).

    `rtol` is the error that is allowed, relative to the largest magnitude among the value, the residual and the sum of
    the components' magnitudes; by default half of the digits of the dtype. Where a linear operation cancels (x * y
    minus y * x), it is allowed what it makes of the roundings of its arguments as well, and so is what is computed of
    such a result. Elements whose value or residual is infinite or NaN are not looked at.
    Raises `exceptions.CompletenessError` at the first operation that breaks it: it names the operation, the error, and
    the file and line that called it. The state is local to the thread or task, and restored on leaving.

    >>> x = np.decompose(np.array([1.0, 2.0]))
    >>> with np.check_completeness():
    ...     y = np.exp(x)
    >>> y.tensor.components[0] = 7.0
    >>> with np.check_completeness():
    ...     z = np.log(y)
    Traceback (most recent call last):
    npdec.exceptions.CompletenessError: npdec.log: value - residual - components.sum(0) is ...
    """
    refuse_trace("np.check_completeness", "enter it around a call of the function that is not compiled")
    with holding(current, default_rtol if rtol is None else lambda dtype: rtol):
        yield


def is_on(function: Callable[..., Any]) -> bool:
    """Whether the results of the function are to be checked."""
    if tracing():
        refuse_contexts(getattr(function, "__name__", "a decomposed operation"))
        return False
    return current.get() is not None


def missing(tensor: DecomposedTensor) -> torch.Tensor:
    """value − residual − components.sum(0); zero where both sides are one infinity."""
    parts = tensor.c_sum().detach()
    value, residual = tensor.value.detach().to(parts.dtype), tensor.residual.detach().to(parts.dtype)
    error = value - residual - summed(tensor).detach()
    return torch.where(value == parts, torch.zeros_like(error), error)


def relative_error(tensor: DecomposedTensor) -> tuple[float, tuple[int, ...], float]:
    """The largest error in units of the largest magnitude, where it is, and that magnitude; of what is finite."""
    finite = torch.isfinite(tensor.value) & torch.isfinite(tensor.residual)
    if not finite.any():
        return 0.0, (), 0.0
    error = torch.where(finite, missing(tensor).abs(), 0).double()
    error = torch.where(error.isnan(), torch.inf, error)
    total = summed(tensor, magnitudes=True)
    ends = (end.abs() if end.is_complex() else end.to(total.dtype) for end in (tensor.value, tensor.residual))
    sizes = (*ends, total)
    scale = max(float(torch.where(finite, size.detach().abs(), 0).nan_to_num().max()) for size in sizes)
    place = int(error.argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), tuple(error.shape)))
    worst = float(error.reshape(-1)[place])
    return (worst / scale if scale else worst), index, scale


def _number_dtype(tensor: DecomposedTensor) -> torch.dtype:
    return tensor.components.dtype if tensor.discrete else tensor.value.dtype


def check(
    function: Callable[..., Any],
    args: Sequence[Any],
    result: Any,
    options: Mapping[str, Any],
    tags: Mapping[int | str, str] | None = None,
) -> None:
    """Raise CompletenessError if a decomposed result of the function is not complete. `tags` say how arguments
    enter, of a function that has no row in the registry."""
    tolerance = current.get()
    if tolerance is None:
        return
    if result is None:  # written in place
        result = args[0] if args else None
    for item in result if isinstance(result, (tuple, list)) else (result,):
        if not isinstance(item, DecomposedTensor):
            continue
        error, index, scale = relative_error(item)
        allowed = tolerance(_number_dtype(item))
        if error > allowed:
            if _is_rounding(args) or _is_brought(function, args, options, tags, item, allowed * scale):
                vars(item)[_ROUNDING] = True
                continue
            raise CompletenessError(_message(function, args, item, error, index, scale, allowed))


_ROUNDINGS = 8  # of the terms of an argument, that its contributions may miss by and be complete
_ROUNDING = "is_rounding"  # the mark of a tensor that is what roundings leave, of which no digits are known


def _is_rounding(args: Sequence[Any]) -> bool:
    """Whether a decomposed argument, or one in a list of them, is nothing but roundings."""
    given = [item for x in args for item in (x if isinstance(x, (tuple, list)) else (x,))]
    return any(isinstance(x, DecomposedTensor) and _ROUNDING in vars(x) for x in given)


def _is_brought(
    function: Callable[..., Any],
    args: Sequence[Any],
    options: Mapping[str, Any],
    tags: Mapping[int | str, str] | None,
    item: DecomposedTensor,
    allowed: float,
) -> bool:
    """Whether what is missing of a result is no more than what the function makes of the roundings of its arguments: of
    a linear one, of which the terms may cancel but for these, as in x * y - y * x."""
    row = rows.get(function)
    if row is not None:
        tags = None if row.rule.in_place or row.rule.writes else row.rule.tags
    places = [i for i, x in enumerate(args) if isinstance(x, DecomposedTensor)]
    if tags is None or not places or any(isinstance(x, DecomposedTensor) for x in options.values()):
        return False
    for i in places:
        x = args[i]
        if (
            tags.get(i) != "Linear"
            or type(x) is not type(item)
            or x.discrete
            or relative_error(x)[0] > default_rtol(x.value.dtype)
        ):
            return False
    linear = [tags.get(i) == "Linear" for i, _ in enumerate(args)]
    nothing = [_nothing(x) if is_linear else x for x, is_linear in zip(args, linear, strict=True)]
    bound: Any = allowed
    for i in places:
        x, given = args[i], list(nothing)
        given[i] = (x.value.abs() + x.residual.abs() + summed(x, magnitudes=True)).to(x.value.dtype)
        unit = _ROUNDINGS * float(torch.finfo(x.value.dtype).eps)
        with torch.no_grad():
            bound = bound + unit * function(*given, **options).abs().double()
    finite = torch.isfinite(item.value) & torch.isfinite(item.residual)
    return bool((missing(item).abs().double() <= bound)[finite].all())


def _nothing(x: Any) -> Any:
    """Zero in place of an argument that enters linearly."""
    if isinstance(x, DecomposedTensor):
        return torch.zeros_like(x.value)
    return torch.zeros_like(x) if isinstance(x, torch.Tensor) else 0 if isinstance(x, (int, float, complex)) else x


def _message(
    function: Callable[..., Any],
    args: Sequence[Any],
    item: DecomposedTensor,
    error: float,
    index: tuple[int, ...],
    scale: float,
    allowed: float,
) -> str:
    name = getattr(function, "__name__", str(function))
    public, frame = _caller()
    title = name if public is None or public.rpartition(".")[2] == name else f"{public} ({name})"
    if public is not None and title == name:
        title = public
    place = f" at {list(index)}" if index else ""
    dtype = str(item.value.dtype).removeprefix("torch.")
    text = (
        f"{title}: value - residual - components.sum(0) is {error:.1e} of the largest magnitude ({scale:.3g}){place}, "
        f"more than rtol={allowed:.1e} allows; result of shape {tuple(item.value.shape)}, dtype {dtype}, "
        f"{len(item.labels)} components"
    )
    for i, arg in enumerate(args):
        if isinstance(arg, DecomposedTensor) and arg is not item:
            before = relative_error(arg)[0]
            if before > default_rtol(_number_dtype(arg)):
                text += f"; its argument {i} is incomplete already, by {before:.1e}"
    if frame is not None:
        code = frame.f_code
        line = linecache.getline(code.co_filename, frame.f_lineno, frame.f_globals).strip()
        text += f"\n  {code.co_filename}:{frame.f_lineno}, in {code.co_name}" + (f": {line}" if line else "")
    return text


def _caller() -> tuple[str | None, FrameType | None]:
    """The public function that the user called, if it is one of NumPy's, and the frame that called it."""
    public = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code, scope = frame.f_code, frame.f_globals
        function: Any = scope.get("_function") if code.co_name == "operator" else frame.f_locals.get("self")
        if code.co_filename.startswith(_WRAPPER):
            public = code.co_filename[len(_WRAPPER) :].removesuffix(">")
        elif hasattr(function, "nin") and hasattr(function, "__kernel__"):
            public = f"{function.__module__}.{function.__name__}"
        elif "__name__" in scope and scope["__name__"].partition(".")[0] not in _OWN:
            return public, frame
        frame = frame.f_back
    return public, None
