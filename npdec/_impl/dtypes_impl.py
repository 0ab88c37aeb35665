"""Data types: NumPy 2's promotion (NEP 50), casting, and the dtypes that a ufunc computes in.

What a ufunc kernel may rely on. For every ufunc the face calls `resolve_loop(loops, operands, dtype, name)`, where
`loops` is the key of `LOOPS` that the kernel declares, and acts on the answer:

- a torch dtype: every operand is cast to it (a Python scalar becomes a 0-d tensor of it), so the kernel receives
  tensors that all have that one dtype. Where the decorator names a torch function, that function serves the dtypes in
  `LOOPS[loops].direct` (float32, float64, and where they make sense complex64, complex128) and the body all others.
  Between two tensors it serves those in `LOOPS[loops].direct_integers` too; with a Python number, torch would promote.
- None, which only "compare" answers: the operands have no common dtype that holds both exactly (uint64 beside a signed
  integer; an integer array beside a Python int outside its range). They go to the kernel as they are, tensors
  uncast, Python ints still Python ints.

Also part of the answer are NumPy's errors: TypeError where the ufunc has no loop, OverflowError where a Python int does
not fit the dtype. `LOOPS[loops].nout` is the number of results.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from npdec._impl._promotion import (
    KEEPS,
    RANGES,
    WHOLE,
    Operand,
    as_float,
    can_cast,
    check_fits,
    common_dtype,
    complex_dtype,
    fits,
    kept,
    kept_beside,
    kind,
    name_of,
    on_device,
    promote,
    promote_types,
    real_dtype,
    result_type,
    scalar_tensor,
    scalar_type,
)

__all__ = [
    "KEEPS",
    "KINDS",
    "LOOPS",
    "WHOLE",
    "Loops",
    "all_fit",
    "can_cast",
    "common_dtype",
    "complex_dtype",
    "fits",
    "kept",
    "kept_beside",
    "kind",
    "promote",
    "promote_types",
    "real_dtype",
    "resolve_loop",
    "result_type",
    "on_device",
    "scalar_tensor",
]

_TORCH_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
WIDE_UNSIGNED = frozenset({torch.uint16, torch.uint32, torch.uint64})


# The letters of NumPy's kinds of dtypes, by the names that the array API standard has for them.
KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


class Loops:
    """The dtypes in which ufuncs of one family compute.

    `bools`, `integers`, `floats`, `complexes` say what becomes of operands whose common dtype is of that kind: "same"
    (computed as it is), "float" (in the float that is wide enough for it), a dtype (in that one), None (no such loop).
    `output` is the dtype of the result: "same", "real" (the float of a complex), or one fixed dtype; None if `dtype=`
    can choose no loop. `direct_complex=False` says that the torch function does not serve complex numbers, and
    `direct_integers` whether it serves booleans ("b") and the integers that torch computes in ("i") as well.
    `mixed` says how operands of different dtypes combine: "promote", "bool", "ldexp", "exact" (see the head).
    """

    __slots__ = ("_rules", "direct", "direct_integers", "mixed", "nout", "output", "resolved")

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
        direct_integers: str = "",
        mixed: str = "promote",
    ) -> None:
        self._rules = {"b": bools, "u": integers, "i": integers, "f": floats, "c": complexes}
        self.output = output
        self.nout = nout
        self.mixed = mixed
        candidates = (torch.float32, torch.float64) + ((torch.complex64, torch.complex128) if direct_complex else ())
        self.direct = frozenset(dtype for dtype in candidates if self.loop(dtype) is dtype)
        letters = direct_integers.replace("i", "iu")  # of the unsigned ones uint8
        self.direct_integers = frozenset(dtype for dtype in _TORCH_INTEGERS if kind(dtype) in letters)
        self.resolved: dict[tuple[Operand, ...], torch.dtype | None] = {}

    def loop(self, dtype: torch.dtype) -> torch.dtype | None:
        """The dtype in which operands of one dtype are computed, None if there is no loop for them."""
        rule = self._rules[kind(dtype)]
        if rule == "same":
            return dtype
        return as_float(dtype) if rule == "float" else rule  # type: ignore[return-value]

    def resolve(self, key: tuple[Operand, ...], name: str) -> torch.dtype | None:
        """The compute dtype for operands that are in `key` dtypes or the types of Python scalars; it is remembered."""
        operands = tuple(x if isinstance(x, torch.dtype) else scalar_type(x) for x in key)
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
                common = functools.reduce(promote_types, map(as_float, strong))
            computed = self.loop(common)
        if computed is None:
            raise self._refusal(name, operands)
        self.resolved[key] = computed
        return computed

    def _resolve_ldexp(self, operands: tuple[Operand, ...]) -> torch.dtype | None:
        """ldexp computes in the float of its first operand, whatever integer (but uint64) the second one is."""
        mantissa, exponent = (common_dtype(x) for x in operands)
        if kind(exponent) not in "bui" or exponent is torch.uint64:
            return None
        if operands[0] is int and isinstance(operands[1], torch.dtype) and exponent is not torch.bool:
            return torch.float16  # NumPy's first loop, because a weak int casts safely to any float
        return self.loop(mantissa)

    def force(self, key: tuple[Operand, ...], dtype: torch.dtype, name: str, casting: str) -> torch.dtype | None:
        """The compute dtype under `dtype=`, if there is such a loop and the operands can be cast to it."""
        operands = tuple(x if isinstance(x, torch.dtype) else scalar_type(x) for x in key)
        if isinstance(self.output, torch.dtype) and dtype is self.output:
            computed = self.resolve(key, name)
            if computed is None or (self.mixed == "bool" and computed is torch.bool):
                return computed
        else:
            computed = self._forced(key, operands, dtype, name)
        self.check_casts(operands, computed, name, casting)
        return computed

    def choose(
        self, key: tuple[Operand, ...], inputs: set[torch.dtype], output: torch.dtype | None, name: str, casting: str
    ) -> torch.dtype:
        """The compute dtype of the loop that takes operands of these dtypes and gives the output, if there is one and
        the operands can be cast to it."""
        operands = tuple(x if isinstance(x, torch.dtype) else scalar_type(x) for x in key)
        computed = self.loop(next(iter(inputs))) if len(inputs) == 1 else None
        if computed is None or (output is not None and output is not self.result(computed)):
            raise _no_match(name)
        self.check_casts(operands, computed, name, casting)
        return computed

    def result(self, computed: torch.dtype) -> torch.dtype:
        """The dtype of the (first) result of the loop that computes in a dtype."""
        if self.output == "real":
            return real_dtype(computed)
        return self.output if isinstance(self.output, torch.dtype) else computed

    def check_casts(self, operands: tuple[Operand, ...], computed: torch.dtype, name: str, casting: str) -> None:
        """Raise TypeError where a casting rule keeps an operand from being computed in a dtype."""
        for i, x in enumerate(operands[:1] if self.mixed == "ldexp" else operands):
            source = common_dtype(x)
            weak = x is int and len(operands) > 1 and computed is not torch.bool
            if not weak and not can_cast(source, computed, casting):
                position = f" {i}" if len(operands) > 1 else ""
                raise TypeError(
                    f"Cannot cast ufunc '{name}' input{position} from dtype('{name_of(source)}') to "
                    f"dtype('{name_of(computed)}') with casting rule '{casting}'"
                )

    def _forced(
        self, key: tuple[Operand, ...], operands: tuple[Operand, ...], dtype: torch.dtype, name: str
    ) -> torch.dtype:
        """The compute dtype of the loop whose result has the dtype; TypeError if there is none."""
        if self.output not in ("same", "real") or self.loop(dtype) is not dtype:
            raise _no_match(name)
        if self.mixed == "ldexp":
            narrowest = self.resolve(key, name)
            if narrowest is None or not can_cast(narrowest, dtype):
                raise _no_match(name)
        if self.output == "real":
            if kind(dtype) == "c":
                raise _no_match(name)
            source = common_dtype(*operands)
            wide = complex_dtype(dtype)
            if kind(source) == "c" and can_cast(source, wide) and real_dtype(wide) is dtype:
                return wide
        return dtype

    def _refusal(self, name: str, operands: tuple[Operand, ...]) -> TypeError:
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


def _class_name(operand: Operand) -> str:
    python = {int: "_PyLong", float: "_PyFloat", complex: "_PyComplex"}
    stem = python[operand] if operand in python else name_of(operand).title().replace("Uint", "UInt")
    return f"<class 'numpy.dtypes.{stem}DType'>"


def _no_match(name: str) -> TypeError:
    return TypeError(f"No loop matching the specified signature and casting was found for ufunc {name}")


LOOPS: dict[str, Loops] = {
    "any": Loops("same", "same", "same", "same", direct_integers="bi"),  # multiply
    "add": Loops("same", "same", "same", "same", direct_complex=False, direct_integers="bi"),
    "ordered": Loops("same", "same", "same", "same", direct_complex=False, direct_integers="bi"),  # maximum, fmin
    "number": Loops(None, "same", "same", "same", direct_integers="i"),  # positive, sign
    "negative": Loops(None, "same", "same", "same", direct_complex=False, direct_integers="i"),
    "subtract": Loops(None, "same", "same", "same", direct_complex=False, direct_integers="i"),
    "arithmetic": Loops(torch.int8, "same", "same", "same"),  # square, reciprocal, conjugate
    "power": Loops(torch.int8, "same", "same", "same", direct_complex=False),
    "real_arithmetic": Loops(torch.int8, "same", "same"),  # floor_divide, remainder, fmod
    "divmod": Loops(torch.int8, "same", "same", nout=2),
    "divide": Loops(torch.float64, torch.float64, "same", "same"),
    "double": Loops(torch.float64, torch.float64, torch.float64, torch.complex128),  # float_power
    "inexact": Loops("float", "float", "same", "same"),  # sin, exp
    "inexact_real": Loops("float", "float", "same", "same", direct_complex=False),  # rint, log1p
    "float": Loops("float", "float", "same"),  # cbrt, arctan2
    "modf": Loops("float", "float", "same", nout=2),
    "frexp": Loops("float", "float", "same", output=None, nout=2),  # the second result is int32
    "ldexp": Loops("float", "float", "same", mixed="ldexp"),  # the exponents too are cast to the float
    "real": Loops("same", "same", "same"),  # floor, ceil, trunc
    "absolute": Loops("same", "same", "same", "same", output="real", direct_integers="i"),
    "integer": Loops("same", "same", direct_integers="bi"),  # bitwise_and, invert
    "shift": Loops(torch.int8, "same", direct_integers="i"),
    "bit_count": Loops(torch.int8, "same", output=torch.uint8),
    "strict_integer": Loops(None, "same"),  # gcd, lcm
    "compare": Loops(
        "same", "same", "same", "same", output=torch.bool, direct_complex=False, mixed="exact", direct_integers="bi"
    ),
    "logical": Loops("same", "same", "same", "same", output=torch.bool, mixed="bool", direct_integers="bi"),
    "test": Loops("same", "same", "same", "same", output=torch.bool, direct_integers="bi"),  # isnan, isfinite, isinf
    "signbit": Loops("float", "float", "same", output=torch.bool),
    "datetime": Loops(None, None, output=torch.bool),  # isnat: there are no dates
}


def resolve_loop(
    loops: str,
    operands: tuple[Any, ...],
    dtype: torch.dtype | None = None,
    name: str = "ufunc",
    casting: str = "same_kind",
    chosen: tuple[set[torch.dtype], torch.dtype | None] | None = None,
) -> torch.dtype | None:
    """The dtype in which a ufunc computes, for operands that are tensors and Python scalars.

    `dtype` is the ufunc's own `dtype=`, `name` its name for error messages, `chosen` what `signature=` asks for: the
    dtypes of operands, and that of the result. None means that the operands go to the
    kernel uncast (see the head of the file). Raises TypeError if there is no loop, OverflowError if a Python int is out
    of range.

    >>> resolve_loop("inexact", (torch.ones(2, dtype=torch.int8),))
    torch.float16
    """
    table = LOOPS[loops]
    key = tuple([x.dtype if isinstance(x, torch.Tensor) else type(x) for x in operands])
    computed: torch.dtype | None
    if chosen is not None:
        computed = table.choose(key, *chosen, name, casting)
    elif dtype is not None:
        computed = table.force(key, dtype, name, casting)
    else:
        try:
            computed = table.resolved[key]
        except KeyError:
            computed = table.resolve(key, name)
        if casting in ("no", "equiv") and computed is not None and table.mixed != "bool":
            weak = len(key) > 1  # Python scalars beside another operand
            given = tuple(
                torch.bool if x is bool else computed if weak and not isinstance(x, torch.dtype) else x for x in key
            )
            table.check_casts(given, computed, name, casting)
    if int in key and computed is not None:
        return _fit_integers(table, operands, computed)
    return computed


def _fit_integers(table: Loops, operands: tuple[Any, ...], computed: torch.dtype) -> torch.dtype | None:
    if table.mixed == "ldexp" and type(operands[1]) is int and isinstance(operands[0], torch.Tensor):
        check_fits(operands[1], torch.int32)
    for x in operands:
        if type(x) is not int:
            continue
        if computed in RANGES and not fits(x, computed):
            if table.mixed == "exact" and not any(getattr(other, "dtype", None) is torch.bool for other in operands):
                return None  # beside booleans a Python int is of the default dtype, and too large as elsewhere
            if len(operands) == 1 and fits(x, torch.uint64):
                return torch.uint64
        check_fits(x, torch.int64 if computed is torch.bool else computed)
    return computed


def all_fit(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Whether all numbers of a tensor, without their fractions, are in the range of a dtype of signed integers."""
    values = values.real if values.is_complex() else values
    low, high = RANGES[dtype]
    if values.is_floating_point():  # powers of two, and no integer below them, are what every float dtype holds
        values = values.trunc()
        return ((values >= float(low)) & (values < float(high + 1))).all()
    if values.dtype in WIDE_UNSIGNED:
        signed = values.to(torch.int64)
        return ((signed >= 0) & (signed <= high)).all()
    return ((values >= low) & (values <= high)).all()


def element(value: Any, dtype: torch.dtype, device: torch.device | None = None) -> torch.Tensor:
    """A Python number as an element of an array. OverflowError where it is out of range, ValueError for nan as an
    integer, TypeError for a complex number as a real one."""
    of = kind(dtype)
    if isinstance(value, complex) and of in "uif":
        what = "a string or" if of == "f" else "a string, a bytes-like object or"
        name = "float" if of == "f" else "int"
        raise TypeError(f"{name}() argument must be {what} a real number, not 'complex'")
    if of in "ui":
        value = int(value)
    return scalar_tensor(value, dtype, device)


def check_truth(value: complex) -> None:
    """Raise OverflowError for a Python int that is too large to be cast to booleans: by way of int64."""
    if type(value) is int:
        check_fits(value, torch.int64)
