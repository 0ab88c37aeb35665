"""Finding floating-point errors in operands and results.

An infinite result of finite operands is an overflow, or a division by zero where the ufunc says so; nan of operands
without nan is invalid; what is below the normal numbers and was rounded is an underflow.
"""

from __future__ import annotations

import cmath
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from npdec._array import fp_state
from npdec._core.base import UfuncBase
from npdec._core.tags import NoValue
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _util, dtypes_impl
from npdec._impl._flags import Flags

__all__ = ["check_cast", "check_number", "found_by_cast", "found_by_ufunc", "run", "watch"]


def _plain(x: Any) -> Any:
    """The numbers of an operand, without contributions or a graph."""
    if type(x) is DecomposedTensor:
        x = x.value
    return x.detach() if isinstance(x, torch.Tensor) else x


def _any(condition: torch.Tensor, mask: torch.Tensor | None = None) -> bool:
    return _util.is_known_true((condition if mask is None else condition & mask).any())


def _is_inexact(x: torch.Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def _below_normal(x: torch.Tensor) -> torch.Tensor:
    return x.abs() < torch.finfo(x.dtype).tiny


# --- ufuncs -----------------------------------------------------------------------------------------------------------


def found_by_ufunc(
    function: UfuncBase, operands: Sequence[Any], result: Any, mask: torch.Tensor | None = None, scalar: bool = False
) -> set[str]:
    """The kinds of errors in one computation of a ufunc, for operands in the dtype of the computation.

    `mask` says which elements count. `scalar`: the operands are scalars under an operator, which tells of the overflow
    of integers.
    """
    kinds = fp_state.current().kinds
    if not kinds:
        return set()
    operands = [_plain(x) for x in operands]
    if not all(isinstance(x, torch.Tensor) for x in operands):
        return set()  # integers that have no common dtype, under a comparison
    results = [_plain(r) for r in (result if isinstance(result, tuple) else (result,))]
    flags = function._flags
    whole = not _is_inexact(operands[0])
    found: set[str] = set()
    if whole:
        found = _found_in_integers(function, operands, results, mask, scalar)
        look_further = flags is not None
    else:
        look_further = (flags is not None and flags.silent) or any(map(_has_unusual, results))
        if look_further and not (flags is not None and flags.silent):
            found = _found_in_unusual(flags, operands, results, mask)
    if look_further and flags is not None and flags.extra is not None:
        found |= {kind for kind, where in flags.extra(*operands).items() if _any(where, mask)}
    if "under" in kinds and not whole and flags is not None and _rounds_below_normal(flags, operands, results[0], mask):
        found.add("under")
    return found & kinds


def _rounds_below_normal(
    flags: Flags, operands: Sequence[torch.Tensor], result: torch.Tensor, mask: torch.Tensor | None
) -> bool:
    if operands[0].is_complex():
        return flags.complex_tiny is not None and _any(flags.complex_tiny(*operands), mask)
    if flags.tiny is None or not result.is_floating_point():
        return False
    tiny = _below_normal(result)
    return _any(tiny, mask) and _any(tiny & flags.tiny(*torch.broadcast_tensors(*operands, result)), mask)


def _has_unusual(result: torch.Tensor) -> bool:
    """Whether a result has an infinity or nan; in doubt, as under torch.vmap, it has none."""
    if not _is_inexact(result):
        return False
    if not result.dim():
        try:
            return not cmath.isfinite(result.item())
        except RuntimeError:
            return False
    return _any(~torch.isfinite(result))


def _found_in_unusual(
    flags: Any, operands: Sequence[torch.Tensor], results: Sequence[torch.Tensor], mask: torch.Tensor | None
) -> set[str]:
    nan, finite = torch.isnan(operands[0]), torch.isfinite(operands[0])
    for x in operands[1:]:
        nan, finite = nan | torch.isnan(x), finite & torch.isfinite(x)
    pole = flags.pole(*operands) if flags is not None and flags.pole is not None else None
    found = set()
    for r in results:
        if not _is_inexact(r):
            continue
        infinite = torch.isinf(r)
        if pole is not None and _any(infinite & pole & ~nan, mask):
            found.add("divide")
        over = infinite & finite
        if _any(over if pole is None else over & ~pole, mask):
            found.add("over")
        if _any(torch.isnan(r) & ~nan, mask):
            found.add("invalid")
    return found


def _found_in_integers(
    function: UfuncBase,
    operands: Sequence[torch.Tensor],
    results: Sequence[torch.Tensor],
    mask: torch.Tensor | None,
    scalar: bool,
) -> set[str]:
    flags = function._flags
    found: set[str] = set()
    if flags is None or dtypes_impl.kind(operands[0].dtype) not in "ui" or _is_inexact(results[0]):
        return found
    if flags.pole is not None and function._loops != "power" and _any(flags.pole(*operands), mask):
        found.add("divide")
    if scalar and flags.whole is not None:
        exact = flags.whole(*[x.item() for x in operands])
        if not dtypes_impl.fits(exact, results[0].dtype):
            found.add("over")
    return found


# --- casts ------------------------------------------------------------------------------------------------------------


def found_by_cast(source: torch.Tensor, result: torch.Tensor, mask: torch.Tensor | None = None) -> set[str]:
    """The kinds of errors in a cast: of numbers that are too large, or of what is no number to integers."""
    kinds = fp_state.current().kinds
    source, result = _plain(source), _plain(result)
    if not kinds or source.dtype is result.dtype or result.dtype is torch.bool:
        return set()
    if _is_inexact(result):
        return _found_in_narrowing(source, result, mask) & kinds
    if not _is_inexact(source):
        return set()
    bits = max(result.dtype.itemsize * 8, 32)  # smaller integers are cut from those of 32 bits
    high = 2.0 ** (64 if result.dtype is torch.uint64 else bits - 1 if result.dtype is not torch.uint32 else 63)
    low = -(2.0**63) if result.dtype in (torch.uint32, torch.uint64) else -(2.0 ** (bits - 1))
    real = torch.real(source).double()
    return {"invalid"} & kinds if _any(~((real >= low) & (real < high)), mask) else set()


def _found_in_narrowing(source: torch.Tensor, result: torch.Tensor, mask: torch.Tensor | None) -> set[str]:
    found = set()
    before, after = source, result
    if result.is_complex():
        wide = torch.resolve_conj(source).to(torch.complex128)
        before, after = torch.view_as_real(wide), torch.view_as_real(torch.resolve_conj(result))
        mask = None if mask is None else mask.unsqueeze(-1)
    finite = torch.isfinite(before) if _is_inexact(before) else torch.ones_like(before, dtype=torch.bool)
    if _any(torch.isinf(after) & finite, mask):
        found.add("over")
    if _is_inexact(before) and _any(_below_normal(after) & (after.to(before.dtype) != before), mask):
        found.add("under")
    return found


def check_cast(source: torch.Tensor, result: torch.Tensor) -> None:
    """Report the errors in a cast."""
    fp_state.report(found_by_cast(source, result), "cast")


def check_number(source: torch.Tensor, result: torch.Tensor) -> None:
    """Report the errors in a Python number's conversion; of underflow NumPy says nothing there."""
    fp_state.report(found_by_cast(source, result) - {"under"}, "cast")


# --- other functions --------------------------------------------------------------------------------------------------


def run(function: Callable[..., Any], errors: str | dict[str, str], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The function's result; the errors that its arguments and the result tell of are reported.

    `errors` is the name to report, or one for each kind. For a function of one array with an `axis`, each result is
    compared with the slice that it comes from.
    """
    kinds = fp_state.current().kinds
    if not kinds or torch.compiler.is_compiling():
        return function(*args, **kwargs)
    with fp_state.ignored():  # of casts on the way the result tells as well
        result = function(*args, **kwargs)
    names = dict(errors) if isinstance(errors, dict) else {"over": errors, "invalid": errors}
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    found: set[str] = set()
    given = list(_tensors(list(bound.arguments.values())))
    for r in _tensors(result):
        if _is_inexact(r):
            found |= _found_by_function(bound.arguments, _plain(r))
            if given and not given[0].numel():  # a mean of nothing; the nan-functions warn of it in other words
                if names.pop("silent if empty", False):
                    return result
                names["invalid"] = "divide" if r.ndim else "scalar divide"
    fp_state.report(found & kinds & names.keys(), names)
    return result


def _tensors(item: Any) -> Iterable[torch.Tensor]:
    if isinstance(item, torch.Tensor):
        yield item
    elif isinstance(item, float):
        yield torch.tensor(item, dtype=torch.float64)
    elif isinstance(item, (tuple, list)):
        for i in item:
            yield from _tensors(i)


def _found_by_function(arguments: dict[str, Any], result: torch.Tensor) -> set[str]:
    infinite, nan = torch.isinf(result), torch.isnan(result)
    found: set[str] = set()
    tiny = _below_normal(result)
    if not (_any(infinite) or _any(nan) or _any(tiny)):
        return found
    given = [_plain(x) for x in _tensors(list(arguments.values()))]
    given = [x for x in given if x.dtype is not torch.bool]
    if not given:
        return found
    first, where = given[0], arguments.get("where")
    if isinstance(where, torch.Tensor) and len(given) == 1:
        first = torch.where(_plain(where), first, torch.ones_like(first))
    tests = [torch.isnan, torch.isinf, lambda x: x == 0]
    if len(given) == 1 and "axis" in arguments and first.ndim:
        had_nan, had_infinite, had_zero = (_spread(test(first), arguments, result) for test in tests)
    else:
        had_nan, had_infinite, had_zero = (torch.stack([test(x).any() for x in given]).any() for test in tests)
    if _any(infinite & ~had_infinite):
        found.add("over")
    if _any(nan & ~had_nan):
        found.add("invalid")
    if _any(tiny & ~had_zero & ~had_infinite):
        found.add("under")
    return found


def _spread(condition: torch.Tensor, arguments: dict[str, Any], result: torch.Tensor) -> torch.Tensor:
    """For each result whether the condition holds somewhere in what it comes from: its slice along `axis`, or, where
    the result keeps the axis, what lies before it."""
    axis = arguments["axis"]
    if axis is None or axis is NoValue:
        everywhere = condition.reshape(-1)
        if result.numel() == everywhere.numel() and result.ndim == 1:
            return torch.cumsum(everywhere, 0) > 0
        return everywhere.any()
    axes = _util.normalize_axes(axis, condition.ndim)
    if result.shape == condition.shape and len(axes) == 1 and condition.shape[axes[0]] > 1:
        return torch.cumsum(condition, axes[0]) > 0
    slices = _util.move_axes_last(condition, axes).any(-1)
    return slices.reshape(result.shape) if slices.numel() == result.numel() else slices.any()


def watch(scope: dict[str, Any], name: str, errors: Any) -> None:
    """Have the function of this name in a scope checked while errors are watched, and report them as `errors` says."""
    function = scope[name]

    def checked(*args: Any, **kwargs: Any) -> Any:
        return run(function, errors, args, kwargs)

    fp_state.functions.append((scope, name, function, checked))
    if fp_state.watching:
        scope[name] = checked
