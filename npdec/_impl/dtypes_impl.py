"""Data types: NumPy 2's promotion (NEP 50), casting, and the dtypes that a ufunc computes in.

What a ufunc kernel may rely on. For every ufunc the face calls `resolve_loop(loops, operands, dtype, name)`, where
`loops` is the key of `LOOPS` that the kernel declares, and acts on the answer:

- a torch dtype: every operand is cast to it (a Python scalar becomes a 0-d tensor of it), so the kernel receives
  tensors that all have that one dtype. Where the decorator names a torch function, that function serves the dtypes in
  `LOOPS[loops].direct` (float32, float64, and where they make sense complex64, complex128) and the body all others.
- None, which only "compare" answers: the operands have no common dtype that holds both exactly (uint64 beside a signed
  integer; an integer array beside a Python int outside its range). They go to the kernel as they are, tensors
  uncast, Python ints still Python ints.

Also part of the answer are NumPy's errors: TypeError where the ufunc has no loop, OverflowError where a Python int does
not fit the dtype. `LOOPS[loops].nout` is the number of results.

Python scalars (int, float, complex; not bool) are weak: they take part by their kind only. Tensors are strong, 0-d ones
included. bfloat16, which NumPy lacks, behaves as float16 does; the two together are float32.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

__all__ = [
    "LOOPS",
    "Loops",
    "can_cast",
    "common_dtype",
    "complex_dtype",
    "fits",
    "kind",
    "promote",
    "promote_types",
    "real_dtype",
    "resolve_loop",
    "result_type",
    "scalar_tensor",
]

_KINDS = {
    torch.bool: "b",
    **dict.fromkeys((torch.uint8, torch.uint16, torch.uint32, torch.uint64), "u"),
    **dict.fromkeys((torch.int8, torch.int16, torch.int32, torch.int64), "i"),
    **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), "f"),
    **dict.fromkeys((torch.complex64, torch.complex128), "c"),
}
_WEAK = {int: torch.int64, float: torch.float64, complex: torch.complex128}
_SIGNED = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}
_COMPLEX = {
    torch.float16: torch.complex64,
    torch.bfloat16: torch.complex64,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
_RANGES = {dtype: (torch.iinfo(dtype).min, torch.iinfo(dtype).max) for dtype, k in _KINDS.items() if k in "ui"}

# What stands for an operand in promotion: its dtype, or int, float or complex for a Python scalar of that type.
_Operand = Any


def _name(dtype: torch.dtype) -> str:
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
    return ", ".join(_name(dtype) for dtype in _KINDS)


def _bits(dtype: torch.dtype) -> int:
    return dtype.itemsize * 8


def complex_dtype(dtype: torch.dtype) -> torch.dtype:
    """The complex dtype whose parts hold values of `dtype`: complex64 for floats up to float32, else complex128."""
    return dtype if dtype in _REAL else _COMPLEX[_as_float(dtype)]


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the real part: of a complex dtype its float, any other dtype itself."""
    return _REAL.get(dtype, dtype)


def _as_float(dtype: torch.dtype) -> torch.dtype:
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
        return complex_dtype(promote_types(_as_float(a), _as_float(b)))
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
            return torch.bfloat16 if _bits(other) == 8 else _as_float(other)
        return torch.float64 if other is torch.float64 else torch.float32
    a, b = _as_float(a), _as_float(b)
    return a if _bits(a) > _bits(b) else b


@functools.cache
def common_dtype(*operands: _Operand) -> torch.dtype:
    """`result_type` of dtypes and of the weak types int, float, complex, which stand for Python scalars."""
    if not operands:
        raise ValueError("at least one array or dtype is required")
    strong = [x for x in operands if isinstance(x, torch.dtype)]
    # Floats first: NumPy promotes each integer with the float, not the integers among themselves.
    strong.sort(key=lambda dtype: {"c": 0, "f": 1}.get(kind(dtype), 2))
    weak = max((x for x in operands if x in _WEAK), key=list(_WEAK).index, default=bool)
    if not strong:
        return _WEAK[weak]
    common = functools.reduce(promote_types, strong)
    if weak is bool:
        return common
    if weak is int:
        return torch.int64 if common is torch.bool else common
    if kind(common) in "bui":
        return _WEAK[weak]
    return complex_dtype(common) if weak is complex else common


def _operand(x: Any) -> _Operand:
    """What an operand is to promotion."""
    if isinstance(x, torch.Tensor):
        return x.dtype
    if isinstance(x, (torch.dtype, type)):
        return torch.bool if x is bool else x
    return _scalar_type(type(x))


def _scalar_type(cls: type) -> _Operand:
    if issubclass(cls, bool):
        return torch.bool
    for weak in _WEAK:
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
    dtype = result_type(*args)
    device = next((x.device for x in args if isinstance(x, torch.Tensor)), None)
    return tuple(x.to(dtype) if isinstance(x, torch.Tensor) else scalar_tensor(x, dtype, device) for x in args)


def scalar_tensor(value: Any, dtype: torch.dtype, device: torch.device | None = None) -> torch.Tensor:
    """The 0-d tensor of a Python scalar; raises OverflowError for an int outside the range of an integer dtype."""
    if isinstance(value, int) and not isinstance(value, bool):
        _check_fits(value, dtype)
        if dtype is torch.bool:
            value = bool(value)
    return torch.tensor(value, dtype=dtype, device=device)


def fits(value: int, dtype: torch.dtype) -> bool:
    """Whether a Python int is in the range of an integer dtype."""
    low, high = _RANGES[dtype]
    return low <= value <= high


def _check_fits(value: int, dtype: torch.dtype) -> None:
    if dtype in _RANGES:
        if not fits(value, dtype):
            if dtype is torch.int64 or not fits(value, torch.int64):
                raise OverflowError("Python int too large to convert to C long")
            raise OverflowError(f"Python integer {value} out of bounds for {_name(dtype)}")
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
    raise ValueError(f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe' (got {casting!r})")


# --- the loops of ufuncs ----------------------------------------------------------------------------------------------


class Loops:
    """The dtypes in which ufuncs of one family compute.

    `bools`, `integers`, `floats`, `complexes` say what becomes of operands whose common dtype is of that kind: "same"
    (computed as it is), "float" (in the float that is wide enough for it), a dtype (in that one), None (no such loop).
    `output` is the dtype of the result: "same", "real" (the float of a complex), or one fixed dtype; None if `dtype=`
    can choose no loop. `direct_complex=False` says that the torch function does not serve complex numbers.
    `mixed` says how operands of different dtypes combine: "promote", "bool", "ldexp", "exact" (see the head).
    """

    __slots__ = ("_rules", "direct", "mixed", "nout", "output", "resolved")

    def __init__(
        self,
        bools: str | torch.dtype | None,
        integers: str | torch.dtype | None,
        floats: str | torch.dtype | None = None,
        complexes: str | torch.dtype | None = None,
        *,
        output: str | torch.dtype | None = "same",
        nout: int = 1,
        direct_complex: bool = True,
        mixed: str = "promote",
    ) -> None:
        self._rules = {"b": bools, "u": integers, "i": integers, "f": floats, "c": complexes}
        self.output = output
        self.nout = nout
        self.mixed = mixed
        candidates = (torch.float32, torch.float64) + ((torch.complex64, torch.complex128) if direct_complex else ())
        self.direct = frozenset(dtype for dtype in candidates if self.loop(dtype) is dtype)
        self.resolved: dict[tuple[_Operand, ...], torch.dtype | None] = {}

    def loop(self, dtype: torch.dtype) -> torch.dtype | None:
        """The dtype in which operands of one dtype are computed, None if there is no loop for them."""
        rule = self._rules[kind(dtype)]
        if rule == "same":
            return dtype
        return _as_float(dtype) if rule == "float" else rule  # type: ignore[return-value]

    def resolve(self, key: tuple[_Operand, ...], name: str) -> torch.dtype | None:
        """The compute dtype for operands that are in `key` dtypes or the types of Python scalars; it is remembered."""
        operands = tuple(x if isinstance(x, torch.dtype) else _scalar_type(x) for x in key)
        common = common_dtype(*operands)
        if self.mixed == "ldexp":
            computed = self._resolve_ldexp(operands)
        elif self.mixed == "bool" and len(set(operands)) > 1:
            computed = torch.bool
        elif self.mixed == "exact" and common is torch.float64 and all(kind(common_dtype(x)) in "ui" for x in operands):
            self.resolved[key] = None
            return None
        else:
            if self._rules["i"] == "float" and kind(common) in "ui":
                # NumPy takes the first loop to which each operand casts safely: int8 and uint8 give float16.
                strong = [x if isinstance(x, torch.dtype) else common for x in operands]
                common = functools.reduce(promote_types, map(_as_float, strong))
            computed = self.loop(common)
        if computed is None:
            raise self._refusal(name, operands)
        self.resolved[key] = computed
        return computed

    def _resolve_ldexp(self, operands: tuple[_Operand, ...]) -> torch.dtype | None:
        """ldexp computes in the float of its first operand, whatever integer (but uint64) the second one is."""
        mantissa, exponent = (common_dtype(x) for x in operands)
        if kind(exponent) not in "bui" or exponent is torch.uint64:
            return None
        if operands[0] is int and isinstance(operands[1], torch.dtype) and exponent is not torch.bool:
            return torch.float16  # NumPy's first loop, because a weak int casts safely to any float
        return self.loop(mantissa)

    def force(self, key: tuple[_Operand, ...], dtype: torch.dtype, name: str, casting: str) -> torch.dtype | None:
        """The compute dtype under `dtype=`, if there is such a loop and the operands can be cast to it."""
        operands = tuple(x if isinstance(x, torch.dtype) else _scalar_type(x) for x in key)
        if isinstance(self.output, torch.dtype) and dtype is self.output:
            return self.resolve(key, name)
        if self.output not in ("same", "real") or self.loop(dtype) is not dtype:
            raise _no_match(name)
        computed = dtype
        if self.output == "real":
            if kind(dtype) == "c":
                raise _no_match(name)
            source = common_dtype(*operands)
            if (
                kind(source) == "c"
                and can_cast(source, complex_dtype(dtype))
                and real_dtype(complex_dtype(dtype)) is dtype
            ):
                computed = complex_dtype(dtype)
        if self.mixed == "ldexp":
            narrowest = self.resolve(key, name)
            if narrowest is None or not can_cast(narrowest, dtype):
                raise _no_match(name)
            return dtype
        for i, x in enumerate(operands):
            source = common_dtype(x)
            weak = x is int and len(operands) > 1 and computed is not torch.bool
            if not weak and not can_cast(source, computed, casting):
                position = f" {i}" if len(operands) > 1 else ""
                raise TypeError(
                    f"Cannot cast ufunc '{name}' input{position} from dtype('{_name(source)}') to "
                    f"dtype('{_name(computed)}') with casting rule '{casting}'"
                )
        return computed

    def _refusal(self, name: str, operands: tuple[_Operand, ...]) -> TypeError:
        if name == "negative":
            return TypeError(
                "The numpy boolean negative, the `-` operator, is not supported, "
                "use the `~` operator or the logical_not function instead."
            )
        if name == "subtract":
            return TypeError(
                "numpy boolean subtract, the `-` operator, is not supported, "
                "use the bitwise_xor, the `^` operator, or the logical_xor function instead."
            )
        if name == "isnat":
            return TypeError("ufunc 'isnat' is only defined for np.datetime64 and np.timedelta64.")
        if self._rules["b"] is None:
            types = ", ".join(map(_class_name, operands))
            types = f"({types})" if len(operands) > 1 else types
            return TypeError(f"ufunc '{name}' did not contain a loop with signature matching types {types} -> None")
        return TypeError(
            f"ufunc '{name}' not supported for the input types, and the inputs could not be safely coerced to any "
            "supported types according to the casting rule ''safe''"
        )


def _class_name(operand: _Operand) -> str:
    python = {int: "_PyLong", float: "_PyFloat", complex: "_PyComplex"}
    stem = python[operand] if operand in python else _name(operand).title().replace("Uint", "UInt")
    return f"<class 'numpy.dtypes.{stem}DType'>"


def _no_match(name: str) -> TypeError:
    return TypeError(f"No loop matching the specified signature and casting was found for ufunc {name}")


LOOPS: dict[str, Loops] = {
    "any": Loops("same", "same", "same", "same"),  # multiply
    "add": Loops("same", "same", "same", "same", direct_complex=False),
    "ordered": Loops("same", "same", "same", "same", direct_complex=False),  # maximum, fmin
    "number": Loops(None, "same", "same", "same"),  # negative, positive, sign
    "subtract": Loops(None, "same", "same", "same", direct_complex=False),
    "arithmetic": Loops(torch.int8, "same", "same", "same"),  # square, reciprocal, conjugate
    "power": Loops(torch.int8, "same", "same", "same", direct_complex=False),
    "real_arithmetic": Loops(torch.int8, "same", "same"),  # floor_divide, remainder, fmod
    "divmod": Loops(torch.int8, "same", "same", nout=2),
    "divide": Loops(torch.float64, torch.float64, "same", "same"),
    "double": Loops(torch.float64, torch.float64, torch.float64, torch.complex128),  # float_power
    "inexact": Loops("float", "float", "same", "same"),  # sin, exp
    "rint": Loops("float", "float", "same", "same", direct_complex=False),
    "float": Loops("float", "float", "same"),  # cbrt, arctan2
    "modf": Loops("float", "float", "same", nout=2),
    "frexp": Loops("float", "float", "same", output=None, nout=2),  # the second result is int32
    "ldexp": Loops("float", "float", "same", mixed="ldexp"),  # the exponents too are cast to the float
    "real": Loops("same", "same", "same"),  # floor, ceil, trunc
    "absolute": Loops("same", "same", "same", "same", output="real"),
    "integer": Loops("same", "same"),  # bitwise_and, invert
    "shift": Loops(torch.int8, "same"),
    "bit_count": Loops(torch.int8, "same", output=torch.uint8),
    "strict_integer": Loops(None, "same"),  # gcd, lcm
    "compare": Loops("same", "same", "same", "same", output=torch.bool, direct_complex=False, mixed="exact"),
    "logical": Loops("same", "same", "same", "same", output=torch.bool, mixed="bool"),
    "test": Loops("same", "same", "same", "same", output=torch.bool),  # isnan, isfinite, isinf
    "signbit": Loops("float", "float", "same", output=torch.bool),
    "datetime": Loops(None, None, output=torch.bool),  # isnat: there are no dates
}


def resolve_loop(
    loops: str,
    operands: tuple[Any, ...],
    dtype: torch.dtype | None = None,
    name: str = "ufunc",
    casting: str = "same_kind",
) -> torch.dtype | None:
    """The dtype in which a ufunc computes, for operands that are tensors and Python scalars.

    `dtype` is the ufunc's own `dtype=`, `name` its name for error messages. None means that the operands go to the
    kernel uncast (see the head of the file). Raises TypeError if there is no loop, OverflowError if a Python int is out
    of range.

    >>> resolve_loop("inexact", (torch.ones(2, dtype=torch.int8),))
    torch.float16
    """
    table = LOOPS[loops]
    key = tuple([x.dtype if isinstance(x, torch.Tensor) else type(x) for x in operands])
    if dtype is not None:
        computed = table.force(key, dtype, name, casting)
    else:
        try:
            computed = table.resolved[key]
        except KeyError:
            computed = table.resolve(key, name)
    if int in key and computed is not None:
        return _fit_integers(table, operands, computed)
    return computed


def _fit_integers(table: Loops, operands: tuple[Any, ...], computed: torch.dtype) -> torch.dtype | None:
    if table.mixed == "ldexp" and type(operands[1]) is int and isinstance(operands[0], torch.Tensor):
        _check_fits(operands[1], torch.int32)
    for x in operands:
        if type(x) is not int:
            continue
        if computed in _RANGES and not fits(x, computed):
            if table.mixed == "exact":
                return None
            if len(operands) == 1 and fits(x, torch.uint64):
                return torch.uint64
        _check_fits(x, torch.int64 if computed is torch.bool else computed)
    return computed
