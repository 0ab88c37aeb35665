"""The loops of a ufunc: their list, and the choice of one by `signature=`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import SPELLINGS, as_dtype
from npdec._core.base import UfuncBase
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._impl import dtypes_impl

__all__ = ["CASTINGS", "check_casting", "list_types", "read_signature", "resolve_dtypes"]

CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
_CHARACTERS = "?bBhHiIlLqQefdFD"  # NumPy's, in its order
_PYTHON = {int, float, complex}


def check_casting(casting: Any) -> None:
    if not isinstance(casting, str):
        raise TypeError(f"casting must be str, not {type(casting).__name__}")
    if casting not in CASTINGS:
        raise ValueError(f"casting must be one of {', '.join(map(repr, CASTINGS))} (got {casting!r})")


def list_types(function: UfuncBase) -> list[str]:
    """The loops, as NumPy writes them ("dd->d"): those of the dtypes that torch has."""
    loops = dtypes_impl.LOOPS.get(function._loops)
    found = []
    for character in _CHARACTERS:
        dtype = SPELLINGS[character]
        if loops is None:
            found.append(f"{character * function.nin}->{character * function.nout}")
            continue
        computed = loops.loop(dtype)
        divides = function._loops == "divide" and dtype is not torch.bool
        if computed is not dtype and not divides:
            continue
        outputs = [loops.result(computed or dtype)] * function.nout
        if function._loops == "frexp":
            outputs[1] = torch.int32
        same = character if character in "qQ" else None
        written = [same if same and output is dtype else dtype_class(output).char for output in outputs]
        if function._loops == "ldexp":
            found += [f"{character}{exponent}->{character}" for exponent in "il"]
        else:
            found.append(f"{character * function.nin}->{''.join(written)}")
    return found


def read_signature(function: UfuncBase, signature: Any) -> tuple[torch.dtype | None, ...]:
    """What `signature=` says of each operand and result: a dtype, or None. Raises TypeError, ValueError."""
    nin, nargs = function.nin, function.nargs
    if isinstance(signature, bytes):
        signature = signature.decode("ascii")
    if isinstance(signature, str) and len(signature) != 1:
        before, arrow, after = signature.partition("->")
        if not arrow or len(before) != nin or len(after) != function.nout:
            raise ValueError(
                f"a type-string for {function.__name__}, {nin} typecode(s) before and {function.nout} after the -> sign"
            )
        unknown = [c for c in before + after if c not in _CHARACTERS + "npNPgGOMmSUV"]
        if unknown:
            raise ValueError(f"{signature!r}: no dtype has the character {unknown[0]!r}")
        return tuple(map(as_dtype, before + after))
    if not isinstance(signature, (str, tuple)):
        raise TypeError("the signature object to ufunc must be a string or a tuple.")
    if len(signature) == 1 and nargs != 1:
        raise TypeError("Use `dtype` or  fill the tuple with more than one 'None'.")
    if len(signature) != nargs:
        raise ValueError(f"a type-tuple must be specified of length {nargs} for ufunc '{function.__name__}'")
    return tuple(None if item is None else as_dtype(item) for item in signature)


def resolve_dtypes(
    self: UfuncBase,
    dtypes: tuple[Any, ...],
    *,
    signature: Any = None,
    casting: str | None = None,
    reduction: bool = False,
) -> tuple[dtype_class, ...]:
    """The dtypes of the loop that computes with operands of these dtypes: one for each operand and result.

    `dtypes` names a dtype for each of them, Python's int, float or complex for a Python number, None for a result that
    is to be made. With `reduction`, it is for `reduce`, and the first may be None. Raises TypeError where no loop fits.

    >>> np.add.resolve_dtypes((np.dtype("float32"), int, None))
    (dtype('float32'), dtype('float32'), dtype('float32'))
    """
    if not isinstance(dtypes, tuple) or len(dtypes) != self.nargs:
        raise TypeError("resolve_dtypes: The dtypes must be a tuple of `ufunc.nargs` length.")
    strict = casting
    check_casting(casting := casting or "same_kind")
    if reduction and (self.nin, self.nout) != (2, 1):
        raise ValueError("ufunc is not compatible with reduction operations.")
    if reduction and dtypes[2] is not None:
        raise TypeError("resolve_dtypes: the result of a reduction is the first of the dtypes, and the last is None")
    given = [_operand(item) for item in dtypes]
    inputs, outputs = given[: self.nin], given[self.nin :]
    wanted = None if signature is None else read_signature(self, signature)
    if reduction and inputs[0] is None:
        inputs[0] = outputs[0] = outputs[0] or inputs[1]
        if self.sums and wanted is None and dtypes[2] is None and isinstance(inputs[1], torch.dtype):
            inputs = [_long(inputs[1])] * 2
    if any(item is None for item in inputs):
        raise TypeError("All input dtypes must be provided (except the first one in reductions)")
    operands = tuple(torch.empty((), dtype=x) if isinstance(x, torch.dtype) else x(0) for x in inputs)
    name = self.__name__
    chosen, dtype = split(self, wanted)
    loops = dtypes_impl.LOOPS.get(self._loops)
    if loops is None:
        computed: torch.dtype | None = dtype or dtypes_impl.result_type(*operands)
    else:
        computed = dtypes_impl.resolve_loop(self._loops, operands, dtype, name, casting, chosen)
    if computed is None:  # integers without a common dtype are compared as they are
        return (*[dtype_class(x) for x in inputs], dtype_class(torch.bool))
    if loops is not None and strict is not None:
        loops.check_casts(tuple(inputs), computed, name, strict)
    result = computed if loops is None else loops.result(computed)
    for item in outputs:
        if isinstance(item, torch.dtype) and not dtypes_impl.can_cast(result, item, casting):
            raise TypeError(
                f"Cannot cast ufunc '{name}' output from {wrap.dtype_repr(result)} to {wrap.dtype_repr(item)} with "
                f"casting rule '{casting}'"
            )
    results = [result] * self.nout
    if self._loops == "frexp":
        results[1] = torch.int32
    return tuple(dtype_class(x) for x in (*[computed] * self.nin, *results))


def _long(dtype: torch.dtype) -> torch.dtype:
    kind = dtypes_impl.kind(dtype)
    return torch.uint64 if kind == "u" else torch.int64 if kind in "bi" else dtype


def _operand(item: Any) -> Any:
    if item is None or item in _PYTHON:
        return item
    if not isinstance(item, (dtype_class, torch.dtype)):
        raise TypeError("Provided dtype must be a valid NumPy dtype, int, float, complex, or None.")
    return as_dtype(item)


def split(
    function: UfuncBase, wanted: Sequence[torch.dtype | None] | None
) -> tuple[tuple[set[torch.dtype], torch.dtype | None] | None, torch.dtype | None]:
    """What a signature asks for: the dtypes of operands with that of the result, or that of the result alone."""
    if wanted is None:
        return None, None
    inputs = {x for x in wanted[: function.nin] if x is not None}
    output = wanted[function.nin]
    if function._loops == "ldexp":
        inputs = {x for x in wanted[:1] if x is not None}
    if not inputs and output is not None and function._loops == "frexp":
        inputs = {output}
    return ((inputs, output), None) if inputs else (None, output)
