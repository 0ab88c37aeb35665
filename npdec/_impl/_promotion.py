"""Promotion and casting of dtypes, as in NumPy 2 (NEP 50).

Python scalars (int, float, complex; not bool) are weak: they take part by their kind only. Tensors are strong, 0-d ones
included. bfloat16, which NumPy lacks, behaves as float16 does; the two together are float32.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from torch.utils import _python_dispatch

from npdec._impl import _util

_KINDS = {
    torch.bool: "b",
    **dict.fromkeys((torch.uint8, torch.uint16, torch.uint32, torch.uint64), "u"),
    **dict.fromkeys((torch.int8, torch.int16, torch.int32, torch.int64), "i"),
    **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), "f"),
    **dict.fromkeys((torch.complex64, torch.complex128), "c"),
}
WEAK = {int: torch.int64, float: torch.float64, complex: torch.complex128}
_SIGNED = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}
_COMPLEX = {
    torch.float16: torch.complex64,
    torch.bfloat16: torch.complex64,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
RANGES = {dtype: (torch.iinfo(dtype).min, torch.iinfo(dtype).max) for dtype, k in _KINDS.items() if k in "ui"}

# What stands for an operand in promotion: its dtype, or int, float or complex for a Python scalar of that type.
Operand = Any


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def kind(dtype: torch.dtype) -> str:
    """The kind of a dtype: "b" bool, "u" unsigned, "i" signed, "f" float, "c" complex."""
    try:
        return _KINDS[dtype]
    except KeyError:
        raise TypeError(
            f"{dtype} has no counterpart among NumPy's dtypes; cast to one of {_supported()} first"
        ) from None


def _supported() -> str:
    return ", ".join(name_of(dtype) for dtype in _KINDS)


def _bits(dtype: torch.dtype) -> int:
    return dtype.itemsize * 8


def complex_dtype(dtype: torch.dtype) -> torch.dtype:
    """The complex dtype whose parts hold values of `dtype`: complex64 for floats up to float32, else complex128."""
    return dtype if dtype in _REAL else _COMPLEX[as_float(dtype)]


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the real part: of a complex dtype its float, any other dtype itself."""
    return _REAL.get(dtype, dtype)


def as_float(dtype: torch.dtype) -> torch.dtype:
    """The smallest float in which NumPy computes with values of a real dtype."""
    if kind(dtype) in "fc":
        return real_dtype(dtype)
    bits = _bits(dtype)
    return torch.float16 if bits == 8 else torch.float32 if bits == 16 else torch.float64


# --- promotion --------------------------------------------------------------------------------------------------------


@functools.cache
def promote_types(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    """The smallest dtype to which both can be cast safely; uint64 beside a signed integer gives float64.

    >>> promote_types(torch.int32, torch.float32)
    torch.float64
    """
    if a is b:
        return a
    kinds = kind(a) + kind(b)
    if "c" in kinds:
        return complex_dtype(promote_types(as_float(a), as_float(b)))
    if "b" in kinds:
        return b if kinds[0] == "b" else a
    if "f" in kinds:
        return _promote_floats(a, b)
    if kinds in ("ii", "uu"):
        return a if _bits(a) > _bits(b) else b
    signed, unsigned = (a, b) if kinds == "iu" else (b, a)
    if _bits(signed) > _bits(unsigned):
        return signed
    return _SIGNED.get(2 * _bits(unsigned), torch.float64)


def _promote_floats(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    if torch.bfloat16 in (a, b):
        other = b if a is torch.bfloat16 else a
        if kind(other) != "f":
            return torch.bfloat16 if _bits(other) == 8 else as_float(other)
        return torch.float64 if other is torch.float64 else torch.float32
    a, b = as_float(a), as_float(b)
    return a if _bits(a) > _bits(b) else b


@functools.cache
def common_dtype(*operands: Operand) -> torch.dtype:
    """`result_type` of dtypes and of the weak types int, float, complex, which stand for Python scalars."""
    if not operands:
        raise ValueError("at least one array or dtype is required")
    strong = [x for x in operands if isinstance(x, torch.dtype)]
    # Floats first: NumPy promotes each integer with the float, not the integers among themselves.
    strong.sort(key=lambda dtype: {"c": 0, "f": 1}.get(kind(dtype), 2))
    weak = next((cls for cls in (complex, float, int) if cls in operands), bool)
    if not strong:
        return WEAK[weak]
    common = functools.reduce(promote_types, strong)
    if weak is bool:
        return common
    if weak is int:
        return torch.int64 if common is torch.bool else common
    if kind(common) in "bui":
        return WEAK[weak]
    return complex_dtype(common) if weak is complex else common


def _operand(x: Any) -> Operand:
    """What an operand is to promotion."""
    if isinstance(x, torch.Tensor):
        return x.dtype
    if isinstance(x, (torch.dtype, type)):
        return torch.bool if x is bool else x
    return scalar_type(type(x))


def scalar_type(cls: type) -> Operand:
    """What a Python scalar of this class is to promotion: a weak type, or for a bool the dtype."""
    if issubclass(cls, bool):
        return torch.bool
    for weak in WEAK:
        if issubclass(cls, weak):
            return weak
    raise TypeError(f"a tensor, a dtype or a Python number is needed, not {cls.__name__}")


def result_type(*args: Any) -> torch.dtype:
    """The dtype of a computation with these tensors, torch dtypes and Python scalars.

    >>> result_type(torch.ones(2, dtype=torch.float32), 1.5), result_type(torch.int8, 1.5)
    (torch.float32, torch.float64)
    """
    return common_dtype(*map(_operand, args))


def promote(*args: Any) -> tuple[torch.Tensor, ...]:
    """Tensors of the common dtype. Python scalars become 0-d tensors on the device of the first tensor.

    Raises OverflowError for a Python int outside the range of an integer dtype.
    """
    first = args[0]
    if isinstance(first, torch.Tensor) and all(isinstance(x, torch.Tensor) and x.dtype is first.dtype for x in args):
        return args
    dtype = result_type(*args)
    device = next((x.device for x in args if isinstance(x, torch.Tensor)), None)
    return tuple(x.to(dtype=dtype) if isinstance(x, torch.Tensor) else scalar_tensor(x, dtype, device) for x in args)


_QUICK: dict[torch.dtype, type] = {
    torch.float64: float,
    torch.complex128: complex,
    torch.bool: bool,
    **{dtype: int for dtype in RANGES if dtype is not torch.uint64},  # of which torch.scalar_tensor holds half
}


def number_on(value: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """The 0-d tensor of a Python number on an accelerator, for which nobody waits, as for what is copied there."""
    if dtype is torch.uint64 and value > RANGES[torch.int64][1]:
        return torch.tensor(value, dtype=dtype, device=device)
    if dtype in _BY_INT64:  # which torch does not fill
        return torch.full((), value, dtype=torch.int64, device=device).to(dtype)
    return torch.full((), value, dtype=dtype, device=device)


def on_device(x: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor on another device. One number of the host's is made there anew, for which nobody waits."""
    if x.dim() or not _util.are_numbers(x) or device.type == "cpu":
        return x.to(device)
    return number_on(x.item(), x.dtype, device)


_BY_INT64 = frozenset({torch.uint16, torch.uint32, torch.uint64})


def scalar_tensor(value: Any, dtype: torch.dtype, device: torch.device | None = None) -> torch.Tensor:
    """The 0-d tensor of a Python scalar; raises OverflowError for an int outside the range of an integer dtype."""
    if isinstance(value, int) and not isinstance(value, bool):
        check_fits(value, dtype)
        value = value if dtype in RANGES else bool(value) if dtype is torch.bool else float(value)
    if device is None and type(value) is _QUICK.get(dtype):
        made = torch.scalar_tensor(value, dtype=dtype)  # type: ignore[arg-type]  # in two thirds of the time
    elif device is not None and device.type == "cpu" and type(value) is float and dtype is torch.float64:
        made = _util.tensor_of(value, dtype)
    elif device is None or device.type == "cpu":
        made = torch.tensor(value, dtype=dtype, device=device)
    else:
        made = number_on(value, dtype, device)
    if _util.on_number is not None and type(value) in (float, complex):
        _util.on_number(torch.tensor(value, dtype=WEAK[type(value)], device=device), made)
    return made


# Numbers that stand in a program beside arrays, as 0-d tensors: torch would make one for every call.
KEPT: dict[torch.dtype, dict[float | None, torch.Tensor]] = {
    torch.float64: {}, torch.float32: {}, torch.int64: {}, torch.int32: {},
    torch.uint16: {}, torch.uint32: {}, torch.uint64: {},
}  # fmt: skip
WHOLE = 2**53  # up to which integers are exact in double precision
# Up to which absolute value a tensor that is kept is what torch makes of a number beside an array.
KEEPS = {torch.float64: 2**63 - 1, torch.float32: WHOLE, torch.int64: 2**63 - 1, torch.int32: 2**31 - 1}
_WHOLE = {torch.float64: (-WHOLE, WHOLE), torch.float32: (-WHOLE, WHOLE)}
_WHOLE |= {dtype: RANGES[dtype] for dtype in (torch.int64, torch.int32)}
_MOST_KEPT = 256
_HOST = torch.device("cpu")
_is_compiling = torch.compiler.is_dynamo_compiling


def kept(value: float, dtype: torch.dtype) -> torch.Tensor:
    """The 0-d tensor of an int or float on the host, in one of the dtypes of `KEPT`, to be read by torch and by nobody
    else: not to be written, nor to be handed on. What a trace or mode of torch's makes is for that alone."""
    if _is_compiling() or _python_dispatch._is_in_torch_dispatch_mode:
        return torch.scalar_tensor(value, dtype=dtype, device=_HOST)
    numbers = KEPT[dtype]
    key = value or (None if math.copysign(1.0, value) < 0 else 0)  # zeros of either sign are equal
    found = numbers.get(key)
    if found is None:
        found = torch.scalar_tensor(value, dtype=dtype, device=_HOST)
        if not (torch._C._are_functorch_transforms_active() or found.is_inference()):
            if len(numbers) >= _MOST_KEPT:
                numbers.clear()
            numbers[key] = found
    return found


def kept_beside(number: Any, dtype: torch.dtype) -> torch.Tensor | None:
    """The tensor that is kept of an int or float beside arrays of a dtype which it takes; None of anything else."""
    kind = type(number)
    if kind is float:
        if dtype is torch.float64:
            return kept(number, dtype)
        if dtype is not torch.float32 or _util.on_number is not None:
            return None
        return kept(number, dtype) if -WHOLE <= number <= WHOLE or number - number != 0 else None  # not finite
    if kind is not int or dtype not in _WHOLE:
        return None
    low, high = _WHOLE[dtype]
    return kept(number, dtype) if low <= number <= high else None


def converts(value: complex, dtype: torch.dtype) -> bool:
    """Whether a dtype takes a Python number of this kind without a cast: not 1.5 as an integer, nor 1j as a float."""
    return isinstance(value, int) or dtype.is_complex or (dtype.is_floating_point and not isinstance(value, complex))


def fits(value: int, dtype: torch.dtype) -> bool:
    """Whether a Python int is in the range of an integer dtype."""
    low, high = RANGES[dtype]
    return low <= value <= high


def check_fits(value: int, dtype: torch.dtype) -> None:
    """Raise NumPy's OverflowError if a Python int cannot be cast to the dtype."""
    if dtype in RANGES:
        if not fits(value, dtype):
            if dtype is torch.int64 or not fits(value, torch.int64):
                raise OverflowError("Python int too large to convert to C long")
            raise OverflowError(f"Python integer {value} out of bounds for {name_of(dtype)}")
    elif dtype is not torch.bool:
        float(value)  # OverflowError: int too large to convert to float


@functools.cache
def can_cast(from_: torch.dtype, to: torch.dtype, casting: str = "safe") -> bool:
    """Whether a cast is allowed under a rule: "no", "equiv", "safe", "same_kind" or "unsafe"."""
    if casting in ("no", "equiv"):
        return from_ is to
    if casting == "safe":
        return promote_types(from_, to) is to
    if casting == "same_kind":
        return "buifc".index(kind(from_)) <= "buifc".index(kind(to))
    if casting == "unsafe":
        return True
    if not isinstance(casting, str):
        raise TypeError(f"casting must be str, not {type(casting).__name__}")
    raise ValueError(f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe' (got {casting!r})")
