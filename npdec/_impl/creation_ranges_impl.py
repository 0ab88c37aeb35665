"""Array creation of evenly spaced numbers (NumPy: "Array creation routines", numerical ranges)."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch.overrides import handle_torch_function, has_torch_function

from npdec._core.direct import Direct
from npdec._core.tags import Array, ArrayLikeOrScalar, DTypeLike, Like, NoValue, public, unshown
from npdec._impl import _devices, _flags, _util, dtypes_impl
from npdec._impl._by_elements import by_elements
from npdec._impl.creation_impl import as_device


def _number(x: Any) -> Any:
    """The Python number that an argument of arange holds."""
    if not isinstance(x, torch.Tensor):
        return x
    if x.ndim:
        raise TypeError(f"arange: start, stop and step must be numbers, not arrays of shape {tuple(x.shape)}")
    return x.item()


def _first_two(start: Any, step: Any, dtype: torch.dtype, device: Any) -> torch.Tensor:
    """The first two numbers of a range, of bounds through which something flows."""
    wide = torch.complex128 if dtype.is_complex else torch.float64
    start, step = (torch.as_tensor(x, dtype=wide, device=device) for x in (start, step))
    return torch.stack([start, start + step]).to(dtype)


def _bounds(start_or_stop: Any, start: Any, stop: Any) -> tuple[Any, Any]:
    """Where a range starts and stops, each given by place or by name."""
    if start_or_stop is NoValue:
        if stop is None:
            raise TypeError("arange() requires stop to be specified.")
        return (0 if start is NoValue else start), stop
    if start is not NoValue:
        raise TypeError("argument for arange() given by name ('start') and position (position 0)")
    return (0, start_or_stop) if stop is None else (start_or_stop, stop)


def _length(start: Any, stop: Any, step: Any) -> int:
    """How many numbers there are from start to below stop."""
    count = (stop - start) / step
    count = min(count.real, count.imag) if isinstance(count, complex) else count
    if math.isnan(count):
        raise ValueError("arange: cannot compute length")
    if not -(2**63) <= count < 2**63:
        raise ValueError("Maximum allowed size exceeded")
    # A step may be so long that the quotient is zero: then there is the first number only.
    if count == 0 and stop != start and not isinstance(stop - start, complex):
        return int(math.copysign(1, count) > 0)
    return max(0, math.ceil(count))


def _natural_dtype(x: Any) -> Any:
    return torch.uint64 if isinstance(x, int) and x > torch.iinfo(torch.int64).max else x


_PYTHON_NUMBERS = frozenset({int, float})
_LONG = 2.0**62


def _ordinary_range(start: Any, stop: Any, step: Any, dtype: torch.dtype | None) -> torch.Tensor | None:
    """A range of Python ints in int64, or of floats in float64, by the steps of `arange`; None for others."""
    start, stop = (0, start) if stop is None else (start, stop)
    a, b, c = type(start), type(stop), type(step)
    if not (a is b is c is float or {a, b, c} <= _PYTHON_NUMBERS) or not step:
        return None
    if a is b is c is int:
        if dtype not in (None, torch.int64) or max(abs(start), abs(stop), abs(step)) > dtypes_impl.WHOLE:
            return None
        # torch refuses a range that has no numbers.
        return torch.arange(start, stop if (stop - start) * step > 0 else start, step)
    if dtype not in (None, torch.float64):
        return None
    count = (stop - start) / step
    length = math.ceil(count) if 0 < count < _LONG else _length(start, stop, step)
    start = float(start)
    second = start + step
    distance = second - start
    if not math.isfinite(distance):
        return None
    numbers = torch.arange(length, dtype=torch.float64)
    if distance != 1.0:
        numbers.mul_(dtypes_impl.kept(distance, torch.float64))
    if start or distance < 0:
        numbers.add_(dtypes_impl.kept(start, torch.float64))
    if length > 1 and start + distance != second:
        numbers[1] = second
    return numbers


def _counted(start: Any, stop: Any, step: Any) -> torch.Tensor | None:
    if _devices.used:
        return None
    if type(start) is float or type(step) is float or type(stop) is float:
        return _ordinary_range(start, stop, step, None)
    return _of_integers(start, stop, step, None)


def _of_integers(start: Any, stop: Any, step: Any, device: torch.device | None) -> torch.Tensor | None:
    """The integers of a range, if these are integers and not too large."""
    if type(start) is not int or type(step) is not int:
        return None
    if stop is None:
        ordinary = step == 1 and 0 <= start <= dtypes_impl.WHOLE
        return torch.arange(start, device=device) if ordinary else None
    if type(stop) is not int or not step or max(abs(start), abs(stop), abs(step)) > dtypes_impl.WHOLE:
        return None
    return torch.arange(start, stop if (stop - start) * step > 0 else start, step, device=device)


@public(direct=Direct(_counted, given=("start_or_stop", "stop", "step")), unbound=True)
@unshown("start", by_place="dtype")
def arange(
    start_or_stop: ArrayLikeOrScalar = NoValue,
    /,
    stop: ArrayLikeOrScalar | None = None,
    step: ArrayLikeOrScalar | None = 1,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    like: Like = None,
    start: ArrayLikeOrScalar = NoValue,
) -> Array:
    """Numbers from start (0 if only one bound is given) to below stop, a step apart; 1-d.

    The dtype is int64 if all arguments are integers, else float64, unless given. As in NumPy all numbers continue the
    distance of the first two, rounded to the dtype. For a float step, `np.linspace` is the safer choice.
    Contributions of start and step flow on; how many numbers there are is chosen at the value.
    The bounds may also be given by name, as `start` and `stop`.
    Raises TypeError without a stop, ZeroDivisionError for a step of zero, ValueError if the length is not finite.

    >>> np.arange(5, 0, -2)
    array([5, 3, 1])
    """
    if start is NoValue and device is None and not _devices.used:
        made = _ordinary_range(start_or_stop, stop, step, dtype)
        if made is not None:
            return made
    elif start is NoValue and dtype is None:
        made = _of_integers(start_or_stop, stop, step, as_device(device))
        if made is not None:
            return made
    first, bound = _bounds(start_or_stop, start, stop)
    step = 1 if step is None else step
    stepped = isinstance(step, torch.Tensor)
    flowing: list[Any] = [x for x in (first, bound, step) if _util.carries(x)]
    ends = first, bound, step
    start, stop, step = _number(first), _number(bound), _number(step)
    if stepped and step == 0:
        raise ValueError("Maximum allowed size exceeded: the step is zero")
    if dtype is None:
        given = [x.dtype if isinstance(x, torch.Tensor) else x for x in (first, bound, step)]
        dtype = dtypes_impl.result_type(torch.int64, *map(_natural_dtype, given))
    if not dtype.is_complex and any(isinstance(x, complex) for x in (start, stop, step)):
        raise TypeError("must be real number, not complex")
    length = _length(start, stop, step)
    if flowing and not any(isinstance(x, complex) for x in (start, stop, step)):
        int(torch.ceil((ends[1] - ends[0]) / ends[2]))  # a choice that whoever looks at choices meets here
    device = as_device(device)
    if dtype is torch.bool:
        if length > 2:
            raise TypeError("arange() is only supported for booleans when the result has at most length 2.")
        return torch.tensor([bool(start), bool(start + step)][:length], dtype=torch.bool, device=device)
    second = start + step
    if dtypes_impl.kind(dtype) in "ui":
        # The distance is that of the first two numbers after rounding; int64 arithmetic wraps as any integer does.
        for x in flowing:
            x.to(dtype)  # which says that an integer cannot carry what is dropped
        stored = [dtypes_impl.scalar_tensor(int(x), dtype) for x in (start, second)[:length]]
        begin, after = (*(int(x.to(torch.int64)) for x in stored), 0, 0)[:2]
        counted = torch.arange(length, dtype=torch.int64, device=device)
        return (begin + counted * (after - begin)).to(dtype)
    compute = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    two = torch.tensor([start, second], dtype=dtype, device=device)
    if flowing:
        two = _first_two(ends[0], ends[2], dtype, device)
    origin, distance = two[0].to(compute), two[1].to(compute) - two[0].to(compute)
    counted = torch.arange(length, device=device).to(compute)
    # NumPy stores the first two numbers themselves; origin + distance may differ from the second in the last digit.
    numbers = (origin + counted * distance).to(dtype)
    return torch.cat([two[:length], numbers[2:]])


def evenly(start: torch.Tensor, stop: torch.Tensor, num: int, endpoint: bool) -> torch.Tensor:
    """The numbers along a new first axis, in the float or complex dtype of the ends, of which they are linear."""
    if has_torch_function((start, stop)):
        return handle_torch_function(evenly, (start, stop), start, stop, num, endpoint)
    return spaced(start, stop, num, endpoint)


def spaced(start: torch.Tensor, stop: torch.Tensor, num: int, endpoint: bool) -> torch.Tensor:
    """The same, step by step."""
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    intervals = num - 1 if endpoint else num
    distance = stop - start
    count = torch.arange(num, device=start.device).to(start.dtype).reshape(-1, *[1] * distance.ndim)
    if intervals <= 0:
        return count * distance + start
    step = distance / intervals
    # Where the step underflows to zero, the distance still has digits to share out.
    lost = (_util.numbers(step) == 0).any()  # how to compute them is no matter of contributions
    if _util.is_known_true(~lost):
        numbers = by_elements(lambda count, step, start: count * step + start, count, step, start)
    else:
        numbers = by_elements(
            lambda count, distance, step, start: torch.where(lost, count / intervals * distance, count * step) + start,
            *(count, distance, step, start),
        )
    if endpoint and num > 1:
        numbers = torch.cat([numbers[:-1], stop.expand(distance.shape).unsqueeze(0)])
    return cast(torch.Tensor, numbers)


def _step(start: torch.Tensor, stop: torch.Tensor, num: int, endpoint: bool) -> Any:
    """The step between such numbers."""
    intervals = num - 1 if endpoint else num
    return math.nan if intervals <= 0 else (stop - start) / intervals


def _ordinary_linspace(start: Any, stop: Any, num: int, endpoint: bool) -> torch.Tensor | None:
    """Numbers between Python numbers in float64, by the steps of `spaced`; None for others."""
    intervals = num - 1 if endpoint else num
    if type(start) not in _PYTHON_NUMBERS or type(stop) not in _PYTHON_NUMBERS or intervals <= 0:
        return None
    if not (-_LARGE <= start <= _LARGE and -_LARGE <= stop <= _LARGE):
        return None
    start, stop = float(start), float(stop)
    step = (stop - start) / intervals
    if not step:
        return None
    numbers = torch.arange(num, dtype=torch.float64).mul_(dtypes_impl.kept(step, torch.float64))
    if start or step < 0:  # which makes 0.0 of -0.0
        numbers.add_(dtypes_impl.kept(start, torch.float64))
    if endpoint and intervals * step + start != stop:
        numbers[-1] = stop
    return numbers


_LARGE = 1e300  # twice as much, the distance of the ends, is finite


def _ends(start: Any, stop: Any, device: Any = None, extra: torch.dtype | None = None) -> tuple[Any, Any]:
    """The ends as tensors of the float or complex dtype of the range between them; Python numbers are weak."""
    dtype = dtypes_impl.result_type(start, stop, 1.0)
    dtype = dtype if extra is None else dtypes_impl.promote_types(dtype, extra)
    given = next((x.device for x in (start, stop) if isinstance(x, torch.Tensor)), None)
    device = as_device(device if device is not None else given)
    ends = (x if isinstance(x, torch.Tensor) else dtypes_impl.scalar_tensor(x, dtype, device) for x in (start, stop))
    start, stop = ends
    return start.to(device=device, dtype=dtype), stop.to(device=device, dtype=dtype)


def _finish(numbers: torch.Tensor, dtype: torch.dtype | None, axis: int, *, floor: bool = False) -> torch.Tensor:
    axis = _util.normalize_axis(axis, numbers.ndim, "destination") if axis else 0
    numbers = torch.movedim(numbers, 0, axis) if axis else numbers
    if dtype is None:
        return numbers
    if floor and dtypes_impl.kind(dtype) in "ui":
        if numbers.is_complex():
            raise TypeError(f"linspace: complex numbers cannot be rounded down to {str(dtype).removeprefix('torch.')}")
        numbers = torch.floor(numbers)
    return _util.cast(numbers, dtype)


@public(errors=_flags.LINSPACE)
def linspace(
    start: ArrayLikeOrScalar,
    stop: ArrayLikeOrScalar,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
):
    """`num` evenly spaced numbers from start to stop, along a new axis; arrays are taken element by element.

    With `endpoint=False` the last number is one step before stop. With `retstep=True` the result is (numbers, step).
    An integer `dtype` rounds down. The numbers are linear in start and stop, and their contributions flow on so.
    Raises ValueError if num is negative.

    >>> np.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    if dtype is None and not axis and not retstep and device is None and not _devices.used:
        made = _ordinary_linspace(start, stop, num, endpoint)
        if made is not None:
            return made
    start, stop = _ends(start, stop, device)
    numbers = _finish(evenly(start, stop, num, endpoint), dtype, axis, floor=True)
    return (numbers, _step(start, stop, num, endpoint)) if retstep else numbers


@public(errors="power")
def logspace(
    start: ArrayLikeOrScalar,
    stop: ArrayLikeOrScalar,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLikeOrScalar = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """`num` numbers from base**start to base**stop whose exponents are evenly spaced, along a new axis.

    start, stop and base broadcast against each other. With `endpoint=False` the last exponent is one step before stop.
    Raises ValueError if num is negative.

    >>> np.logspace(0, 3, 4)
    array([   1.,   10.,  100., 1000.])
    """
    if isinstance(base, torch.Tensor) and base.ndim:
        # Beside an array of bases, NumPy makes arrays of the ends too: Python numbers are not weak any more.
        start, stop = (dtypes_impl.promote(x)[0] for x in (start, stop))
        start, stop, base = torch.broadcast_tensors(*_ends(start, stop, base.device), base)
    else:
        start, stop = _ends(start, stop)
    return _finish(torch.pow(*dtypes_impl.promote(base, evenly(start, stop, num, endpoint))), dtype, axis)


@public
def geomspace(
    start: ArrayLikeOrScalar,
    stop: ArrayLikeOrScalar,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """`num` numbers from start to stop, each the same multiple of the one before, along a new axis.

    Arrays are taken element by element; complex ends give a logarithmic spiral. With `endpoint=False` the last number
    is one factor before stop. Raises ValueError if an end is zero.

    >>> np.geomspace(1, 1000, 4)
    array([   1.,   10.,  100., 1000.])
    """
    start, stop = torch.broadcast_tensors(*_ends(start, stop, extra=torch.float64 if dtype is None else dtype))
    if bool(((start == 0) | (stop == 0)).any()):
        raise ValueError("Geometric sequence cannot include zero")
    sign = torch.sgn(start)
    # Relative to the sign of start the sequence begins on the positive axis, so real sequences stay real.
    first, last = start / sign, stop / sign
    ten = torch.tensor(10.0, dtype=start.dtype, device=start.device)
    middle = torch.pow(ten, evenly(torch.log10(first), torch.log10(last), num, endpoint))
    ends = [first.unsqueeze(0)] if num > 0 else []
    tail = [last.unsqueeze(0)] if num > 1 and endpoint else []
    if num:
        middle = torch.cat([*ends, middle[len(ends) : num - len(tail)], *tail])
    return _finish(middle * sign, dtype, axis)
